"""Two systems on the same samples: by how much one is better, and whether that can be told."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deciban._arrays import listed
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.report import several_classes, two_classes
from deciban.report.assessment import (
    class_counts,
    codes_of,
    described,
    operating_point,
    plain,
    sample_values,
)
from deciban.report.intervals import Counts, Plan, Range, checked_plan, mean_ranges, ranges
from deciban.report.meanings import SEVERAL_CLASSES, TWO_CLASSES
from deciban.report.two_classes import Point

_MANY = 50_000  # samples from which on pairs of LLRs are held in cells
_COARSE = 256  # bins of either LLR that make up these cells


@dataclass(frozen=True)
class Difference:
    """A quantity of two systems, and the difference ``a - b`` with its interval.

    Attributes
    ----------
    key, label : str
    a, b, difference, low, high : float
    unit : str
    better : {"lower", "higher", ""}
    verdict : {"a better", "b better", "cannot tell"}
        Whether the interval leaves zero out, and on which side.
    """

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
    """Two systems on the same samples.

    Attributes
    ----------
    classes : tuple
    counts : tuple of int
    differences : tuple of Difference
    confidence : float
    warnings : tuple of str
    """

    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    differences: tuple[Difference, ...]
    confidence: float
    warnings: tuple[str, ...]

    def __getitem__(self, key: str) -> Difference:
        """A difference by the key of its quantity."""
        for one in self.differences:
            if one.key == key:
                return one
        keys = [one.key for one in self.differences]
        raise KeyError(f"key must be one of {', '.join(keys)}; got {key!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        return {
            "classes": [plain(label) for label in self.classes],
            "counts": list(self.counts),
            "confidence": self.confidence,
            "differences": [
                {name: plain(value) for name, value in asdict(one).items()}
                for one in self.differences
            ],
            "warnings": list(self.warnings),
        }


def difference(
    y_true: Any,
    a: Evidence,
    b: Evidence,
    *,
    prior: Any = None,
    costs: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Every metric of two systems on the same samples, and the paired difference ``a - b``.

    Each resample takes the same samples for both, so that what makes samples hard for either
    cancels: differences are told that two separate intervals would hide.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    a, b : Evidence
        Row by row of the same samples, over the same classes.
    prior, costs, confidence, n_resamples, seed
        As for :func:`assess`.

    Examples
    --------
    >>> y = np.arange(400) % 2
    >>> llr = np.random.default_rng(0).normal(2 * y - 1, 1) * 2
    >>> a, b = Evidence.from_llr(llr), Evidence.from_llr(4 * llr)  # b is overconfident
    >>> difference(y, a, b, n_resamples=200)["cllr"].verdict
    'a better'
    """
    for name, one in (("a", a), ("b", b)):
        if not isinstance(one, Evidence):
            raise InputError(f"{name} must be Evidence; got {type(one).__name__}. Wrap it first.")
    truth = codes_of(y_true, a.classes, len(a))
    plan = checked_plan(confidence, n_resamples, seed)
    return compare_codes(truth, a, b, prior=prior, costs=costs, plan=plan)


def compare_codes(
    truth: np.ndarray, a: Evidence, b: Evidence, *, prior: Any, costs: Any, plan: Plan
) -> Comparison:
    """:func:`difference` where the truth is positions among the classes of ``a``."""
    if len(a) != len(b):
        raise InputError(
            f"a and b must hold the same samples; got {len(a)} and {len(b)}. Match them first."
        )
    if set(a.classes) != set(b.classes):
        raise InputError(
            f"a and b must be over the same classes; got {listed(a.classes)} and "
            f"{listed(b.classes)}. Restrict or rename those of one."
        )
    b = b if a.classes == b.classes else b.restrict(a.classes)
    counts = class_counts(truth, a.classes)
    point = operating_point(prior, costs, a.classes)
    judged = _of_two if a.n_classes == 2 else _of_several
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        differences, notes = judged(truth, a, b, point, plan)
    return Comparison(
        a.classes, tuple(counts.tolist()), tuple(differences), plan.confidence, tuple(notes)
    )


_Judged = tuple[list[Difference], list[str]]


def _of_two(truth: np.ndarray, a: Evidence, b: Evidence, point: Point, plan: Plan) -> _Judged:
    other, target = a.classes
    llrs, is_target = [e.llr(target, other) for e in (a, b)], truth == 1
    values = [two_classes.exact_values(llr, is_target, point) for llr in llrs]
    keys = [key for key in TWO_CLASSES if key in values[0]]
    exact = np.array([_gap(values[0][key], values[1][key]) for key in keys])
    bins = two_classes.BINS if len(truth) <= _MANY else _COARSE
    pair = [two_classes.Binned(llr, is_target, point, bins) for llr in llrs]
    cells = [_Cells(pair, is_target == side) for side in (False, True)]

    def statistic(counts: Counts) -> np.ndarray:
        of = [
            binned.values(
                tuple(cell.counts_of(k, c) for cell, c in zip(cells, counts, strict=True))
            )
            for k, binned in enumerate(pair)
        ]
        return np.array([_gap(of[0][key], of[1][key]) for key in keys])

    found = ranges(statistic, tuple(cell.counts for cell in cells), exact, plan)
    named = {"target": target, "other": other}
    return [
        _difference(key, values[0][key], values[1][key], interval, named)
        for key, interval in zip(keys, found, strict=True)
    ], []


class _Cells:
    """The samples of a class by the bins of both of their LLRs."""

    def __init__(self, pair: list[two_classes.Binned], members: np.ndarray) -> None:
        self.sizes = [len(binned.counts[0]) for binned in pair]
        first, second = (binned.place[members].astype(np.int64) for binned in pair)
        cell, self.counts = np.unique(first * self.sizes[1] + second, return_counts=True)
        self._places = (cell // self.sizes[1], cell % self.sizes[1])

    def counts_of(self, k: int, counts: np.ndarray) -> np.ndarray:
        """Counts of the bins of one system."""
        return np.bincount(self._places[k], weights=counts, minlength=self.sizes[k])


def _of_several(truth: np.ndarray, a: Evidence, b: Evidence, point: Point, plan: Plan) -> _Judged:
    D = a.n_classes
    found_a, notes_a = sample_values(truth, a.rename(range(D)), point)
    found_b, notes_b = sample_values(truth, b.rename(range(D)), point)
    keys = [key for key in SEVERAL_CLASSES if key in found_a and key in found_b]
    with np.errstate(invalid="ignore"):
        gaps = {key: found_a[key] - found_b[key] for key in keys}
    intervals = mean_ranges(several_classes.by_class(gaps, truth, D), plan)
    means = [
        {key: _class_means(values[key], truth) for key in keys} for values in (found_a, found_b)
    ]
    return [
        _difference(key, means[0][key], means[1][key], interval, {})
        for key, interval in zip(keys, intervals, strict=True)
    ], list(dict.fromkeys([*notes_a, *notes_b]))


def _class_means(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sum(np.bincount(truth, weights=values) / np.bincount(truth)))


def _gap(a: float, b: float) -> float:
    """``a - b``; two infinite costs are no different."""
    return 0.0 if a == b else a - b


def _difference(key: str, a: float, b: float, interval: Range, named: Any) -> Difference:
    words = described(key, a, interval, named)
    return Difference(
        key=key, label=words.label, a=a, b=b, difference=_gap(a, b), low=interval.low,
        high=interval.high, unit=words.unit, better=words.better,
        verdict=_verdict(interval, words.better),
    )  # fmt: skip


def _verdict(interval: Range, better: str) -> str:
    if math.isnan(interval.low) or interval.low <= 0 <= interval.high:
        return "cannot tell"
    return "a better" if (interval.high < 0) == (better == "lower") else "b better"
