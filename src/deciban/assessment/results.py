"""Results: quantities with intervals, assessments and comparisons."""

from __future__ import annotations

import importlib
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._markup import align_cells, count_by_class, in_unit, shorten, to_plain
from deciban.assessment.html import represent_assessment, represent_comparison
from deciban.assessment.quantities import Wording, define, hint_replacement
from deciban.evidence import Evidence
from deciban.metrics import CalibrationTest, Interval
from deciban.metrics.reliability import ReliabilityBin


@dataclass(frozen=True, repr=False)
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
    better : {"lower", "higher"}
    meaning : str
        One sentence for a reader in a hurry.
    corrected : float
        The value without the bias from judging PAV on the samples that it was fitted to; for most
        quantities the value itself. The interval is around it.

    See Also
    --------
    deciban.assessment.Assessment : Holds quantities by key.

    Examples
    --------
    >>> from deciban import Evidence, assess
    >>> llr = [-2.0, -1.0, 1.0, -1.0, 1.0, 2.0]
    >>> found = assess([0, 0, 0, 1, 1, 1], Evidence.from_llr(llr), n_resamples=0)
    >>> found["eer"].label, found["eer"].unit
    ('Equal-error rate', 'fraction')
    """

    key: str
    label: str
    value: float
    low: float
    high: float
    unit: str
    better: str
    meaning: str
    corrected: float

    def __str__(self) -> str:
        """The value and its interval, without the unit; fractions are in percent."""
        return _with_interval(self.value, self.low, self.high, self.unit)

    def __repr__(self) -> str:
        return f"{self.key}: {self} {self.unit.replace('fraction', '')}".rstrip()


def _with_interval(value: float, low: float, high: float, unit: str) -> str:
    numbers = (0.0 if abs(x) < _ROUNDING else x for x in (value, low, high))
    said, *ends = (in_unit(x, unit) for x in numbers)
    return said if math.isnan(low) else f"{said} ({ends[0].removesuffix(' %')} to {ends[1]})"


class Verdict(NamedTuple):
    """A finding: a number for a tile, a word on it, and a sentence that explains it."""

    what: str
    big: str
    word: str
    tone: str  # "good", "fair", "poor" or ""
    sentence: str
    range: str = ""


@dataclass(frozen=True, repr=False)
class Assessment:
    """The quality of evidence; ``assessment[key]`` is a quantity.

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
        Notes to read before quoting a number.
    prior : tuple of float
        Prior for the cross-entropy, the accuracy and the expected cost.
    costs : array of shape (n_classes, n_classes), optional
        Costs of decisions, the truth on rows.
    n_infinite : int
        Number of samples whose evidence rules out a class.
    n_wrong, expected_wrong : int, float
        Wrong decisions for the likeliest class under the prior, seen and predicted by posteriors.
    design : str
        The unit that was resampled: samples, groups or items. Empty without intervals.
    calibration_test : CalibrationTest, optional
        Test on half a million samples at most; None without resamples, and if samples share groups
        or items.
    worst_bin : ReliabilityBin, optional
        The bin of posteriors at the uniform prior that chance explains the least, among those more
        than 0.03 away from the frequency that they predict; None without such a bin.
    action : str
        "use it", "recalibrate it", "get more samples" or "do not use it"; empty without intervals.
    verdicts : tuple of Verdict
        The meaning of the numbers in words, the action first.

    See Also
    --------
    deciban.assess : Returns it.
    deciban.report.report : A page for the browser that shows it.

    Examples
    --------
    >>> from deciban import Evidence, assess
    >>> llr = [-2.0, -1.0, 1.0, -1.0, 1.0, 2.0]
    >>> found = assess([0, 0, 0, 1, 1, 1], Evidence.from_llr(llr), n_resamples=0)
    >>> round(found["cllr"].value, 3), found.counts
    (0.843, (3, 3))
    """

    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    pairwise_cllr: NDArray[np.float64]
    pairwise_cllr_min: NDArray[np.float64]
    confidence: float
    warnings: tuple[str, ...]
    prior: tuple[float, ...]
    costs: NDArray[np.float64] | None = None
    n_infinite: int = 0
    n_wrong: int = 0
    expected_wrong: float = math.nan
    design: str = ""
    calibration_test: CalibrationTest | None = None
    worst_bin: ReliabilityBin | None = None
    action: str = ""
    verdicts: tuple[Verdict, ...] = ()

    def __getitem__(self, key: str) -> Quantity:
        """A quantity by its key."""
        found: Quantity = _find(key, self.quantities)
        return found

    def __iter__(self) -> Iterator[str]:
        """The keys of the quantities."""
        return (q.key for q in self.quantities)

    def __repr__(self) -> str:
        two = f"; positive class: {shorten(self.classes[1], 30)}" if len(self.classes) == 2 else ""
        lines = [f"Assessment: {count_by_class(self.classes, self.counts)}{two}"]
        lines += align_cells(
            (q.key, str(q), q.unit.replace("fraction", "")) for q in self.quantities
        )
        if self.design:
            lines.append(f"{100 * self.confidence:g} % intervals: {self.design}.")
            lines += [f"Note: {warning}" for warning in self.warnings]
            lines += [f"{one.big}. {one.sentence}" for one in self.verdicts[:1]]
        return "\n".join(lines)

    def difficulty(self) -> NDArray[np.float64]:
        """How hard each pair of classes is to tell apart: array (n_classes, n_classes)."""
        return difficulty(self.pairwise_cllr, self.pairwise_cllr_min)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        left_out = ("n_infinite", "n_wrong", "expected_wrong")
        return {name: value for name, value in to_plain(self).items() if name not in left_out}

    def show(self, y_true: Any = None, evidence: Evidence | None = None) -> Any:
        """The report on this assessment, in a notebook; needs the extra ``notebook``.

        Parameters
        ----------
        y_true : array of shape (n_samples,), optional
            True classes of the samples.
        evidence : Evidence, optional
            Their evidence. With both the report has figures, otherwise tables alone.

        Returns
        -------
        widget
            Its ``html`` is a page that also opens from disk.
        """
        # The front end is the layer above all others.
        notebook = importlib.import_module("deciban.report.notebook")
        return notebook.show_assessment(self, y_true, evidence)

    def _repr_html_(self) -> str:
        return represent_assessment(self)


def difficulty(cllr: NDArray[np.float64], cllr_min: NDArray[np.float64]) -> NDArray[np.float64]:
    """How hard each pair of classes is to tell apart: by Cllr_min, and by Cllr in a tie."""
    cost, least = (np.nan_to_num(table, nan=0.0, posinf=1e3) for table in (cllr, cllr_min))
    return np.asarray(least + 1e-6 * cost)


@dataclass(frozen=True, repr=False)
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
    better : {"lower", "higher"}
    verdict : str
        "<name> better" with the name of the better system where the interval excludes zero, "same"
        where the two do not differ in any resample, else "cannot tell"; "" without an interval.

    See Also
    --------
    Comparison : Holds differences by key.

    Examples
    --------
    >>> from deciban import Evidence, compare
    >>> a, b = Evidence.from_llr([-1.0, 1.0]), Evidence.from_llr([-9.0, 9.0])
    >>> found = compare([0, 1], {"a": a, "b": b}, n_resamples=0)["accuracy"]
    >>> found.a, found.b, found.difference
    (1.0, 1.0, 0.0)
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

    def __str__(self) -> str:
        """The difference and its interval, without the unit; fractions are in percent."""
        return _with_interval(self.difference, self.low, self.high, self.unit)

    def __repr__(self) -> str:
        unit = self.unit.replace("fraction", "")
        return f"{self.key}, {self.systems[0]} − {self.systems[1]}: {self} {unit}".rstrip()


@dataclass(frozen=True, repr=False)
class Comparison:
    """Systems on the same samples, each further one compared with the first.

    ``comparison[key]`` is a difference.

    Attributes
    ----------
    systems : tuple of str
    classes : tuple
    counts : tuple of int
        Number of samples of each class.
    differences : tuple of Difference
        The first system less the second, then the first less the third, and so on.
    confidence : float
        Confidence level of the intervals.
    warnings : tuple of str
    design : str
        The unit that was resampled.

    See Also
    --------
    deciban.compare : Returns it.
    deciban.report.comparison_report : A page for the browser that shows it.

    Examples
    --------
    >>> from deciban import Evidence, compare
    >>> a, b = Evidence.from_llr([-1.0, 1.0]), Evidence.from_llr([-9.0, 9.0])
    >>> found = compare([0, 1], {"a": a, "b": b}, n_resamples=0)
    >>> found["cllr"].difference > 0
    True
    """

    systems: tuple[str, ...]
    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    differences: tuple[Difference, ...]
    confidence: float
    warnings: tuple[str, ...]
    design: str = ""

    def __getitem__(self, key: str | tuple[str, str]) -> Difference:
        """A difference by key, with more than two systems by (key, name of the further system)."""
        if isinstance(key, str) and len(self.systems) > 2:
            raise KeyError(
                f"key must be a pair with more than two systems, such as "
                f"({key!r}, {self.systems[1]!r}); got {key!r}"
            )
        key, name = (key, self.systems[1]) if isinstance(key, str) else key
        found: Difference = _find(key, [d for d in self.differences if d.systems[1] == name])
        return found

    def __repr__(self) -> str:
        header, lines = ("", "a", "b", "a − b", ""), []
        for name in self.systems[1:]:
            rows = [
                (d.key, in_unit(d.a, d.unit), in_unit(d.b, d.unit), str(d), d.verdict)
                for d in self.differences
                if d.systems[1] == name
            ]
            lines.append(f"Comparison: a is {self.systems[0]}, b is {name}")
            lines += align_cells([header, *rows])
        if self.design:
            lines.append(f"{100 * self.confidence:g} % intervals: {self.design}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        return dict(to_plain(self))

    def _repr_html_(self) -> str:
        return represent_comparison(self)


_ROUNDING = 1e-12  # in the difference of equal numbers


def _find(key: str, items: Sequence[Any]) -> Any:
    found = {item.key: item for item in items}
    if key not in found:
        hint = hint_replacement(key, found)
        raise KeyError(f"key must be one of {', '.join(found)}; got {key!r}.{hint}")
    return found[key]


def make_quantity(key: str, value: float, interval: Interval, words: Wording) -> Quantity:
    """A quantity in its words; numbers are clipped to its range."""
    about = define(key, words)
    ends = np.clip([value, interval.low, interval.high, interval.value], *about.limits)
    value, low, high, corrected = (ends + 0.0).tolist()  # -0.0 becomes 0.0
    return Quantity(
        key=key, label=about.label, value=value, low=low, high=high, unit=about.unit,
        better=about.better, meaning=about.meaning, corrected=corrected,
    )  # fmt: skip


def make_difference(
    systems: tuple[str, str], key: str, values: tuple[float, float], interval: Interval,
    words: Wording,
) -> Difference:  # fmt: skip
    """A difference in its words, with its verdict."""
    about = define(key, words)
    return Difference(
        systems=systems, key=key, label=about.label, a=values[0], b=values[1],
        difference=interval.value, low=interval.low, high=interval.high, unit=about.unit,
        better=about.better, verdict=_verdict(systems, interval, about.better),
    )  # fmt: skip


def _verdict(systems: tuple[str, str], interval: Interval, better: str) -> str:
    if math.isnan(interval.low):
        return ""
    if interval.low == interval.high == 0:
        return "same"
    if interval.low <= 0 <= interval.high:
        return "cannot tell"
    first_is_better = (interval.high < 0) == (better == "lower")
    return f"{systems[0] if first_is_better else systems[1]} better"
