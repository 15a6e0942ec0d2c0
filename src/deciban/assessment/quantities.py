"""What an assessment is made of: numbers with intervals, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deciban.assessment.intervals import Range
from deciban.assessment.meanings import MEANINGS


@dataclass(frozen=True)
class Quantity:
    """A number with its interval.

    Attributes
    ----------
    key : str
        Stable, for programs.
    label : str
    value, low, high : float
        The ends are NaN where there is no interval.
    corrected : float
        The value without what comes of judging the samples that it was fitted on; the value
        itself for most quantities. Intervals are about this one.
    unit : str
        "bit", "nat", "ban", "fraction" or "".
    better : {"lower", "higher", ""}
    meaning : str
        One sentence for a reader in a hurry.
    """

    key: str
    label: str
    value: float
    low: float
    high: float
    unit: str
    better: str
    meaning: str
    corrected: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.corrected):
            object.__setattr__(self, "corrected", self.value)


@dataclass(frozen=True)
class Assessment:
    """What a set of evidence is worth.

    Attributes
    ----------
    classes : tuple
    counts : tuple of int
        Samples of each class.
    quantities : tuple of Quantity
    pairwise_cllr, pairwise_cllr_min : arrays of shape (n_classes, n_classes)
        In bits; NaN on the diagonal.
    confidence : float
        Of the intervals.
    warnings : tuple of str
        What a reader should know before quoting a number.
    prior : tuple of float, optional
        Of the cross-entropy, the accuracy and the expected cost; None for the uniform one.
    costs : array of shape (n_classes, n_classes), optional
        Of the expected cost, the truth on rows.
    infinite : int
        Samples whose evidence rules a class out altogether.
    wrong : int
        Decisions for the likelier class, under the prior, that are wrong; -1 where not counted.
    expected_wrong : float
        How many of them should be, by the posteriors themselves.
    """

    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    pairwise_cllr: np.ndarray
    pairwise_cllr_min: np.ndarray
    confidence: float
    warnings: tuple[str, ...]
    prior: tuple[float, ...] | None = None
    costs: np.ndarray | None = None
    infinite: int = 0
    wrong: int = -1
    expected_wrong: float = math.nan

    def __getitem__(self, key: str) -> Quantity:
        """A quantity by its key."""
        for quantity in self.quantities:
            if quantity.key == key:
                return quantity
        keys = [quantity.key for quantity in self.quantities]
        raise KeyError(f"key must be one of {', '.join(keys)}; got {key!r}")

    def difficulty(self) -> np.ndarray:
        """How hard each two classes are to tell apart: by Cllr_min, by Cllr where that ties."""
        least, cost = (
            np.nan_to_num(np.asarray(table, dtype=float), nan=0.0, posinf=1e3)
            for table in (self.pairwise_cllr_min, self.pairwise_cllr)
        )
        return np.asarray(least + 1e-6 * cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        return {
            "classes": [plain(label) for label in self.classes],
            "counts": list(self.counts),
            "prior": None if self.prior is None else list(self.prior),
            "costs": None if self.costs is None else self.costs.tolist(),
            "confidence": self.confidence,
            "quantities": [
                {name: plain(value) for name, value in asdict(quantity).items()}
                for quantity in self.quantities
            ],
            "pairwise_cllr": [[plain(x) for x in row] for row in self.pairwise_cllr.tolist()],
            "pairwise_cllr_min": [
                [plain(x) for x in row] for row in self.pairwise_cllr_min.tolist()
            ],
            "warnings": list(self.warnings),
        }


def plain(value: Any) -> Any:
    """A label or number as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


def described(key: str, value: float, interval: Range, named: Mapping[str, Hashable]) -> Quantity:
    """A quantity with its words."""
    words = MEANINGS[key]
    low, high, corrected = (
        end if math.isnan(end) else min(max(end, words.smallest), words.largest) for end in interval
    )
    return Quantity(
        key=key, label=words.label.format_map(named),
        value=words.largest if 0 < value - words.largest < 1e-9 else float(value) + 0.0,  # no -0.0
        low=float(low) + 0.0, high=float(high) + 0.0, unit=words.unit, better=words.better,
        meaning=words.meaning.format_map(named), corrected=float(corrected),
    )  # fmt: skip
