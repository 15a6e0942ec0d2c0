"""What an assessment and a comparison hold: numbers with intervals, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban.metrics import Interval


class Meaning(NamedTuple):
    """Words for a quantity; ``{target}``, ``{other}``, ``{a}`` and ``{b}`` are classes."""

    label: str
    unit: str
    better: str
    meaning: str
    smallest: float = 0.0
    largest: float = math.inf


_FRACTION = "fraction"
MEANINGS = {
    "cllr": Meaning(
        "Cllr", "bit", "lower", "Cost of the LLRs; 0 is perfect, 1 is the cost of no evidence."
    ),
    "cllr_min": Meaning(
        "Cllr_min", "bit", "lower", "Cost of the LLRs after perfect calibration.", largest=1.0
    ),
    "cllr_cal": Meaning(
        "Cllr_cal", "bit", "lower", "Cost of poor calibration, which recalibration would save."
    ),
    "eer": Meaning(
        "Equal-error rate", _FRACTION, "lower",
        "Error rate at the threshold where misses are as frequent as false alarms.", largest=0.5,
    ),
    "dev_pav": Meaning(
        "devPAV", "ban", "lower",
        "Mean distance of an LLR from its calibrated value; overstated with few samples.",
    ),
    "misleading_target": Meaning(
        "Misleading, {target} true", _FRACTION, "lower",
        "How often the evidence points away from {target} when it is true.", largest=1.0,
    ),
    "misleading_other": Meaning(
        "Misleading, {other} true", _FRACTION, "lower",
        "How often the evidence points away from {other} when it is true.", largest=1.0,
    ),
    "cross_entropy": Meaning(
        "Cross-entropy", "nat", "lower",
        "Average remaining uncertainty about the class, under the prior.",
    ),
    "normalized_cross_entropy": Meaning(
        "Cross-entropy, relative", "", "lower",
        "Remaining uncertainty relative to that of the prior alone, which is 1.",
    ),
    "discrimination": Meaning(
        "Discrimination", "nat", "lower", "Uncertainty that would remain after recalibration."
    ),
    "calibration": Meaning(
        "Calibration", "nat", "lower", "Uncertainty that recalibration would remove."
    ),
    "accuracy": Meaning(
        "Accuracy", _FRACTION, "higher",
        "How often the likeliest class under the prior is the true one.", largest=1.0,
    ),
    "detection_cost": Meaning(
        "Detection cost", "", "lower",
        "Cost of decisions by these LLRs; 1 is the cost of deciding without them.",
    ),
    "min_detection_cost": Meaning(
        "Minimum detection cost", "", "lower", "The same with the best threshold.", largest=1.0
    ),
    "expected_cost": Meaning(
        "Expected cost", "", "lower",
        "Average cost of a decision; the best decision without evidence costs {nothing}.",
        -math.inf,
    ),
    "worst_pair_cllr": Meaning(
        "Cllr, {a} and {b}", "bit", "lower",
        "The pair of classes whose LLRs cost the most; 1 is the cost of no evidence.",
    ),
}  # fmt: skip

TWO_CLASSES = (
    "cllr", "cllr_min", "cllr_cal", "eer", "dev_pav", "misleading_target", "misleading_other",
    "cross_entropy", "accuracy", "detection_cost", "min_detection_cost", "expected_cost",
)  # fmt: skip
SEVERAL_CLASSES = (
    "cross_entropy", "normalized_cross_entropy", "discrimination", "calibration", "accuracy",
    "expected_cost", "worst_pair_cllr",
)  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """A number with its interval.

    Attributes
    ----------
    key : str
        Stable name, for programs.
    label : str
        Name for readers.
    value, low, high : float
        The ends are NaN where there is no interval.
    unit : str
        "bit", "nat", "ban", "fraction" or "".
    better : {"lower", "higher", ""}
    meaning : str
        One sentence for a reader in a hurry.
    corrected : float
        The value without the bias of being judged on the samples that it was fitted to; for most
        quantities the value itself. The interval is around this one.
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
    """How good a set of evidence is.

    Attributes
    ----------
    classes : tuple
    counts : tuple of int
        Number of samples of each class.
    quantities : tuple of Quantity
    pairwise_cllr, pairwise_cllr_min : arrays of shape (n_classes, n_classes)
        Costs of each pair of classes in bits; NaN on the diagonal.
    confidence : float
        Confidence level of the intervals.
    warnings : tuple of str
        What a reader should know before quoting a number.
    prior : tuple of float, optional
        Prior of the cross-entropy, the accuracy and the expected cost; None for the uniform one.
    costs : array of shape (n_classes, n_classes), optional
        Costs of the expected cost, the truth on rows.
    n_infinite : int
        Number of samples whose evidence rules a class out altogether.
    n_wrong : int
        Number of wrong decisions for the likelier class under the prior; -1 where not counted.
    expected_wrong : float
        Number of wrong decisions to be expected by the posteriors themselves.
    """

    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    pairwise_cllr: NDArray[np.float64]
    pairwise_cllr_min: NDArray[np.float64]
    confidence: float
    warnings: tuple[str, ...]
    prior: tuple[float, ...] | None = None
    costs: NDArray[np.float64] | None = None
    n_infinite: int = 0
    n_wrong: int = -1
    expected_wrong: float = math.nan

    def __getitem__(self, key: str) -> Quantity:
        """A quantity by its key."""
        return _find(key, self.quantities)

    def difficulty(self) -> NDArray[np.float64]:
        """How hard each pair of classes is to tell apart: its Cllr_min, or its Cllr in a tie."""
        least, cost = (
            np.nan_to_num(np.asarray(table, dtype=float), nan=0.0, posinf=1e3)
            for table in (self.pairwise_cllr_min, self.pairwise_cllr)
        )
        return np.asarray(least + 1e-6 * cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        names = ("classes", "counts", "prior", "costs", "confidence", "quantities",
                 "pairwise_cllr", "pairwise_cllr_min", "warnings")  # fmt: skip
        return {name: to_plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class Difference:
    """A quantity of two systems, and the difference ``a - b`` with its interval.

    Attributes
    ----------
    systems : tuple of two str
        Names of the systems a and b.
    key, label : str
    a, b : float
        The quantity of either system.
    difference, low, high : float
    unit : str
    better : {"lower", "higher", ""}
    verdict : {"a better", "b better", "same", "cannot tell", ""}
        Whether the interval excludes zero, and on which side; "same" where the two do not differ
        in any resample, "" without an interval.
    """

    systems: tuple[str, str]
    key: str
    label: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    unit: str
    better: str
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Systems on the same samples, each further one beside the first.

    Attributes
    ----------
    systems : tuple of str
    classes : tuple
    counts : tuple of int
        Number of samples of each class.
    differences : tuple of Difference
        Of the first and the second system, then of the first and the third, and so on.
    confidence : float
        Confidence level of the intervals.
    warnings : tuple of str
    """

    systems: tuple[str, ...]
    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    differences: tuple[Difference, ...]
    confidence: float
    warnings: tuple[str, ...]

    def __getitem__(self, key: str | tuple[str, str]) -> Difference:
        """A difference by the key of its quantity, and the name of the further system.

        The name may be left out where there are two systems.
        """
        if isinstance(key, str) and len(self.systems) > 2:
            raise KeyError(f"key must be a quantity and one of {self.systems[1:]}; got {key!r}")
        key, name = (key, self.systems[1]) if isinstance(key, str) else key
        return _find(key, [one for one in self.differences if one.systems[1] == name])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        names = ("systems", "classes", "counts", "confidence", "differences", "warnings")
        return {name: to_plain(getattr(self, name)) for name in names}


_Found = TypeVar("_Found", Quantity, Difference)


def _find(key: str, items: Sequence[_Found]) -> _Found:
    for item in items:
        if item.key == key:
            return item
    raise KeyError(f"key must be one of {', '.join(item.key for item in items)}; got {key!r}")


def to_plain(value: Any) -> Any:
    """A label, a number, or a sequence or record of these, as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Quantity | Difference):
        return {name: to_plain(entry) for name, entry in asdict(value).items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


def quantity(
    key: str, interval: Interval, corrected: float, words: Mapping[str, Hashable]
) -> Quantity:  # fmt: skip
    """A quantity with its words, within the range that it can take."""
    about = MEANINGS[key]
    low, high, corrected = (
        end if math.isnan(end) else min(max(end, about.smallest), about.largest)
        for end in (interval.low, interval.high, corrected)
    )
    value = interval.value
    return Quantity(
        key=key, label=about.label.format_map(words),
        value=about.largest if 0 < value - about.largest < 1e-9 else float(value) + 0.0,  # no -0.0
        low=float(low) + 0.0, high=float(high) + 0.0, unit=about.unit, better=about.better,
        meaning=about.meaning.format_map(words), corrected=float(corrected),
    )  # fmt: skip


def difference(
    systems: tuple[str, str], key: str, values: tuple[float, float], interval: Interval,
    words: Mapping[str, Hashable],
) -> Difference:  # fmt: skip
    """A difference with its words and its verdict."""
    about = MEANINGS[key]
    return Difference(
        systems=systems, key=key, label=about.label.format_map(words), a=values[0], b=values[1],
        difference=interval.value, low=interval.low, high=interval.high, unit=about.unit,
        better=about.better, verdict=_verdict(interval, about.better),
    )  # fmt: skip


def _verdict(interval: Interval, better: str) -> str:
    if math.isnan(interval.low):
        return ""
    if interval.low == interval.high == 0:
        return "same"
    if interval.low <= 0 <= interval.high:
        return "cannot tell"
    return "a better" if (interval.high < 0) == (better == "lower") else "b better"
