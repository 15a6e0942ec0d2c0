"""How the numbers of a page came about, in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_provenance(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A sheet of names and values, and a table of the files that were read; None without record."""
    if record is None:
        return None
    sheet = {"command": record["command"], "date": record["date"]}
    sheet["versions"] = _join_pairs(record["versions"])
    for one in record["scores"]:
        sheet[one["file"]] = " ".join([f"{one['rows_used']:,} rows used.", *one["notes"]])
    sheet["settings"] = _join_pairs(record["settings"])
    files = [(one["file"], one["sha256"], f"{one['bytes']:,}") for one in record["inputs"]]
    return {"sheet": sheet, "files": files}


def _join_pairs(values: Mapping[str, Any]) -> str:
    """Settings that were given; zero is one, such as a seed."""
    given = {
        name: " and ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None and value is not False and value not in ("", [])
    }
    return ", ".join(f"{name} {value}" for name, value in given.items())
