"""The paper's printed numbers, and what ours say of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from reproduction.experiment import Measured

Verdict = Literal["matched", "beaten", "worse", "not comparable", "not run"]
Group = Literal["formulas", "baselines", "cda", "parameters"]
VERDICTS: tuple[Verdict, ...] = ("beaten", "matched", "worse", "not comparable", "not run")


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it.

    Attributes
    ----------
    key : str
        Such as "table1.circles.cda.cllr"; it begins with the place.
    text, value, half_unit : str, float, float
        As printed, its value, and half a unit of its last digit: what rounding leaves open.
    unit : str
    where, what : str
        Place in the paper, and what the number is.
    experiment : str
        Which of ours measures it.
    better : {"lower", "higher", "exact", "neither"}
        Which side of it is the better one; "exact" for what a formula gives, "neither" for what a
        model learns and that is no aim in itself.
    baseline : bool
        Whether it is of a method that is not the paper's own, LDA or QDA.
    in_source : bool
        Whether it stands in the LaTeX source alone: in a comment, or in the code of a figure.
    not_comparable : str
        Why ours cannot be held against it, where that is known beforehand: an erratum.
    remark : str
        What was looked into, where ours differs.
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
        """What kind of number it is."""
        if self.better in ("exact", "neither"):
            return "formulas" if self.better == "exact" else "parameters"
        return "baselines" if self.baseline else "cda"


@cache
def printed_numbers() -> dict[str, Printed]:
    """Each printed number by its key, in the order of the paper."""
    text = files("reproduction").joinpath("printed.json").read_text(encoding="utf-8")
    entries = json.loads(text)["numbers"]
    return {entry["key"]: _printed(entry) for entry in entries}


def _printed(entry: dict[str, Any]) -> Printed:
    text = entry["text"]
    rest = {"half_unit": half_unit(text), **entry}
    return Printed(value=float(text), **rest)


def half_unit(text: str) -> float:
    """Half a unit of the last printed digit.

    >>> half_unit("0.118"), half_unit("38.3"), half_unit("4.85e-5")
    (0.0005, 0.05, 5e-08)
    """
    digits, _, exponent = text.lower().partition("e")
    decimals = len(digits.partition(".")[2]) - int(exponent or 0)
    return float(f"5e{-decimals - 1}")


def verdict(printed: Printed, ours: Measured | None) -> Verdict:
    """What our number and its interval say of the printed one.

    A number is beaten where the whole interval is on its better side, beyond what rounding leaves
    open, and worse where the whole interval is on the other. What has no better side is matched or
    cannot be compared; what a formula gives is matched or worse. LDA and QDA are the same methods
    here and there: where ours is better, the data or the paper's code were others, which cannot be
    compared.
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
