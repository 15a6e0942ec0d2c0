"""The paper's printed numbers, and the verdicts on ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from reproduction.experiment import Measurement

Verdict = Literal["matched", "beaten", "worse", "not comparable", "not run"]
Group = Literal["formulas", "baselines", "cda", "parameters"]
VERDICTS: tuple[Verdict, ...] = ("beaten", "matched", "worse", "not comparable", "not run")


@dataclass(frozen=True)
class PrintedNumber:
    """A number as the paper prints it.

    Attributes
    ----------
    key : str
        Such as "table1.circles.cda.cllr"; it begins with the place.
    text, value, half_unit : str, float, float
        The printed text, its value, and half a unit of its last digit: the rounding error.
    unit : str
    where, what : str
        Place in the paper, and what the number is.
    experiment : str
        Name of the experiment that measures it.
    better : {"lower", "higher", "exact", "neither"}
        Direction of improvement; "exact" for results of formulas, "neither" for learned parameters.
    baseline : bool
        Whether the method is a baseline, LDA or QDA.
    in_source : bool
        Whether the number occurs only in the LaTeX source: in a comment, or the code of a figure.
    not_comparable : str
        Why ours cannot be compared with it, where that is known beforehand, such as an erratum.
    remark : str
        What we found out about a difference.
    """

    key: str
    text: str
    value: float
    half_unit: float
    unit: str
    where: str
    what: str
    experiment: str
    better: Literal["lower", "higher", "exact", "neither"]
    baseline: bool = False
    in_source: bool = False
    not_comparable: str = ""
    remark: str = ""

    @property
    def group(self) -> Group:
        """The row of the overview that counts it."""
        if self.better in ("exact", "neither"):
            return "formulas" if self.better == "exact" else "parameters"
        return "baselines" if self.baseline else "cda"


@cache
def printed_numbers() -> dict[str, PrintedNumber]:
    """All printed numbers by key, in the order of the paper."""
    text = files("reproduction").joinpath("printed.json").read_text(encoding="utf-8")
    numbers = {}
    for entry in json.loads(text)["numbers"]:
        fields: dict[str, Any] = {"half_unit": half_unit(entry["text"]), **entry}
        numbers[entry["key"]] = PrintedNumber(value=float(entry["text"]), **fields)
    return numbers


def half_unit(text: str) -> float:
    """Half a unit of the last printed digit.

    >>> half_unit("0.118"), half_unit("38.3"), half_unit("4.85e-5")
    (0.0005, 0.05, 5e-08)
    """
    digits, _, exponent = text.lower().partition("e")
    decimals = len(digits.partition(".")[2]) - int(exponent or 0)
    return float(f"5e{-decimals - 1}")


def verdict(printed: PrintedNumber, ours: Measurement | None) -> Verdict:
    """Verdict on our number and its interval, compared with the printed one.

    A number is beaten if the whole interval lies on its better side, beyond the rounding error, and
    worse if it lies on the other side. A learned parameter is matched or not comparable; the result
    of a formula is matched or worse. LDA and QDA are the same methods here and in the paper: if
    ours is better, the data or the code differ, and the numbers are not comparable.
    """
    if ours is None:
        return "not run"
    if printed.not_comparable:
        return "not comparable"
    low, high = ours.low - printed.half_unit, ours.high + printed.half_unit
    slack = 1e-9 * abs(printed.value)  # 4.155 is not a binary number
    if low - slack <= printed.value <= high + slack:
        return "matched"
    if printed.better == "neither":
        return "not comparable"
    if printed.better == "exact":
        return "worse"
    below = ours.value < printed.value
    if below != (printed.better == "lower"):
        return "worse"
    return "not comparable" if printed.baseline else "beaten"
