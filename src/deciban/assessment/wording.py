"""Numbers and names in plain text, for readers of an assessment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deciban._markup.text import clean_text, number, percent, shorten

__all__ = ["CRITERIA", "clean_text", "criteria_rows", "in_unit", "number", "percent", "shorten"]


def in_unit(value: float, unit: str) -> str:
    """A number without its unit; a fraction in percent.

    >>> in_unit(0.12345, "bit"), in_unit(0.12345, "fraction"), in_unit(float("nan"), "fraction")
    ('0.123', '12.3 %', '–')
    """
    return percent(value, 3) if unit == "fraction" and value == value else number(value)


CRITERIA = ("criterion", "judged on", "found", "result")  # header of the rows below


def criteria_rows(criteria: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """What was required, on what that was judged, what was found, and whether it passes."""
    rows = []
    for one in criteria:
        in_percent = one["criterion"].endswith("%")
        found = f"{float(one['found']) * (100 if in_percent else 1):.6g}{' %' * in_percent}"
        result = "pass" if one["passed"] else "FAIL"
        rows.append((one["criterion"], one["judged_on"], found, result))
    return rows
