"""Two systems on the same samples: by how much one is better, and whether that can be told."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deciban._validation import quote_each
from deciban.assessment import several_classes, two_classes
from deciban.assessment.assess import (
    class_counts,
    codes_of,
    comparable,
    few_samples,
    operating_point,
    score_notes,
)
from deciban.assessment.intervals import (
    NO_RANGE,
    Counts,
    Plan,
    Range,
    checked_plan,
    mean_resamples,
    resampled,
)
from deciban.assessment.meanings import SEVERAL_CLASSES, TWO_CLASSES
from deciban.assessment.proportions import Cells, sum_range, wider, with_unseen
from deciban.assessment.quantities import described, plain
from deciban.assessment.several_classes import class_means
from deciban.assessment.two_classes import Point
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics import pairwise_cllr

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
    verdict : {"a better", "b better", "same", "cannot tell", ""}
        Whether the interval leaves zero out, and on which side; "same" where the two do not differ
        in any resample, "" without an interval.
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
            f"a and b must be over the same classes; got {quote_each(a.classes)} and "
            f"{quote_each(b.classes)}. Restrict or rename those of one."
        )
    b = b if a.classes == b.classes else b.restrict(a.classes)
    counts = class_counts(truth, a.classes)
    point = operating_point(prior, costs, a.classes)
    judged = _of_two if a.n_classes == 2 else _of_several
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        differences, notes = judged(truth, a, b, point, plan)
    if np.array_equal(a.log_likelihoods, b.log_likelihoods):
        notes = ["A and B are the same evidence.", *notes]
        differences = [_same(one) for one in differences]
    return Comparison(
        a.classes, tuple(counts.tolist()), tuple(differences), plan.confidence,
        (*few_samples(counts, a.classes, plan), *notes),
    )  # fmt: skip


_Judged = tuple[list[Difference], list[str]]


def _of_two(truth: np.ndarray, a: Evidence, b: Evidence, point: Point, plan: Plan) -> _Judged:
    other, target = a.classes
    llrs, is_target = [e.llr(target, other) for e in (a, b)], truth == 1
    values = [two_classes.exact_values(llr, is_target, point) for llr in llrs]
    found = _two_class_ranges(llrs, is_target, point, values, plan) if plan.n_resamples else {}
    named = {"target": target, "other": other, "nothing": ""}
    notes = [
        f"{name}: {note}"
        for name, llr in zip("AB", llrs, strict=True)
        for note in score_notes(llr, is_target, target, other)
    ]
    return [
        _difference(key, values[0][key], values[1][key], found.get(key, NO_RANGE), named)
        for key in TWO_CLASSES
        if key in values[0]
    ], notes


def _two_class_ranges(
    llrs: list[np.ndarray],
    is_target: np.ndarray,
    point: Point,
    values: list[dict[str, float]],
    plan: Plan,
) -> dict[str, Range]:
    bins = two_classes.BINS if len(is_target) <= _MANY else _COARSE
    pair = [two_classes.Binned(llr, is_target, point, bins) for llr in llrs]
    cells = [_PairedBins(pair, is_target == side) for side in (False, True)]
    keys = ("cllr", "cross_entropy", *two_classes.FITTED)
    exact = np.array([_gap(values[0][key], values[1][key]) for key in keys])

    def statistic(counts: Counts) -> np.ndarray:
        of = [
            binned.values(
                tuple(cell.counts_of(k, c) for cell, c in zip(cells, counts, strict=True))
            )
            for k, binned in enumerate(pair)
        ]
        return np.array([_gap(of[0][key], of[1][key]) for key in keys])

    resamples = resampled(statistic, tuple(cell.counts for cell in cells), exact, plan).resamples
    found = {key: _wide(exact[k], resamples[:, k], plan.confidence) for k, key in enumerate(keys)}
    for key in two_classes.FITTED:
        if values[0][key] == values[1][key] == 0:  # neither has made an error that could be drawn
            found[key] = NO_RANGE
    for key, unseen in two_classes.unseen(llrs, is_target, point, plan.confidence).items():
        found[key] = with_unseen(exact[keys.index(key)], found[key], unseen)
    for key, step in two_classes.steps(point).items():
        only = _discordant(step, [step.above(llr) for llr in llrs], is_target)
        found[key] = sum_range(_gap(values[0][key], values[1][key]), only, plan.confidence)
    return found


def _discordant(
    step: two_classes.Step, above: list[np.ndarray], is_target: np.ndarray
) -> list[Cells]:
    """How often only one of the systems is above a limit, and what that adds to the difference."""
    only = [above[0] & ~above[1], above[1] & ~above[0]]
    gain = step.worth[:, 1] - step.worth[:, 0]
    return [
        Cells(
            np.array([gain[t], -gain[t]]),
            np.array([one[is_target == t].sum() for one in only]),
            int((is_target == t).sum()),
        )
        for t in (0, 1)
    ]


def _wide(value: float, resamples: np.ndarray, confidence: float) -> Range:
    """Percentiles, widened by what PAV may have taken more from one system than from the other.

    What the difference has more in resamples than in the samples tells which one, but not well by
    how much: two to five times that. ``benchmarks/intervals.py`` prints how often alike
    systems are told apart.
    """
    resamples = resamples[~np.isnan(resamples)]
    if np.isnan(value) or len(resamples) == 0:
        return NO_RANGE
    if np.isinf(value):  # one infinite cost proves that the mean is infinite
        return Range(value, value)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(resamples, tails, method="inverted_cdf")
    if np.isfinite(resamples).all() and np.isfinite(value):
        moved = 5 * (float(np.mean(resamples)) - value)
        low, high = min(low, low - moved, value), max(high, high - moved, value)
    return Range(float(low), float(high))


class _PairedBins:
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
    both = [comparable(truth, e) for e in (a, b)]
    (costs_a, notes_a), (costs_b, notes_b) = (
        several_classes.sample_costs(truth, e, point) for e in both
    )
    of = [_used(costs) for costs in (costs_a, costs_b)]
    keys = [key for key in of[0].of if key in of[1].of]
    intervals = dict.fromkeys(keys, NO_RANGE)
    if plan.n_resamples:
        intervals = _several_ranges(of[0], of[1], keys, plan)
        intervals["accuracy"] = _accuracy_range(of[0], of[1], point, plan)
    means = [{key: costs.total(key) for key in keys} for costs in of]
    nothing = float(-point.prior @ np.log(point.prior))
    tables: list[dict[str, Any]] = [*means, intervals]
    for found in tables:
        found["normalized_cross_entropy"] = _scaled(found["cross_entropy"], 1 / nothing)
        if "saving" in found:
            found["calibration"] = found.pop("saving")
    made = [
        _difference(key, means[0][key], means[1][key], intervals[key], {"nothing": ""})
        for key in SEVERAL_CLASSES
        if key in means[0]
    ]
    made.append(_hardest_pair(truth, both, a.classes))
    return made, list(dict.fromkeys([*notes_a, *notes_b]))


def _scaled(value: Any, by: float) -> Any:
    return Range(*(x * by for x in value)) if isinstance(value, Range) else value * by


def _used(costs: several_classes.SampleCosts) -> several_classes.SampleCosts:
    """The costs; recalibration that does not pay is not used."""
    if "saving" not in costs.of or costs.total("saving") >= 0:
        return costs
    nothing = np.zeros(len(costs.truth))
    of, mirrored = (
        before | {"discrimination": before["cross_entropy"], "saving": nothing}
        for before in (costs.of, costs.mirrored)
    )
    return replace(costs, of=of, mirrored=mirrored)


def _several_ranges(
    a: several_classes.SampleCosts, b: several_classes.SampleCosts, keys: list[str], plan: Plan
) -> dict[str, Range]:
    with np.errstate(invalid="ignore"):
        gaps = {key: a.of[key] - b.of[key] for key in keys}
        mirrored = {key: a.mirrored[key] - b.mirrored[key] for key in keys if key in a.mirrored}
    mirrored.pop("expected_cost", None)
    gap = replace(a, of=gaps, mirrored=mirrored, right=a.right & b.right)
    shared = gap.error_rates(plan.confidence)
    own = [np.maximum(0.0, e.error_rates(plan.confidence) - shared) for e in (a, b)]
    resamples = mean_resamples(gap.by_class(keys), plan).resamples
    found = {}
    for k, key in enumerate(keys):
        found[key] = _wide(gap.total(key), resamples[:, k], plan.confidence)
        if key in mirrored:
            extra = (gap.unseen(key, shared), a.unseen(key, own[0]), -b.unseen(key, own[1]))
            found[key] = with_unseen(gap.total(key), found[key], np.concatenate(extra))
    if "expected_cost" in keys:
        worst = a.mirrored["expected_cost"]
        apart = _cost_range(gap.of["expected_cost"], worst, gap, plan.confidence)
        found["expected_cost"] = wider(found["expected_cost"], apart)
    if "saving" in keys and a.total("saving") == b.total("saving") == 0:
        found["saving"] = NO_RANGE  # neither is recalibrated
    return found


def _cost_range(
    gaps: np.ndarray, worst: np.ndarray, costs: several_classes.SampleCosts, confidence: float
) -> Range:
    """From how often the decision of one system costs more than that of the other.

    It then costs as much more as it did on average, or the worst that it could.
    """
    cells = []
    for k in range(costs.n_classes):
        mine, most = gaps[costs.truth == k], float(worst[costs.truth == k][0])
        sides = (mine[mine > 0], mine[mine < 0])
        weight = [
            float(side.mean()) if len(side) else sign * most
            for sign, side in zip((1, -1), sides, strict=True)
        ]
        cells.append(Cells(np.array(weight), np.array([len(s) for s in sides]), len(mine)))
    return sum_range(class_means(gaps, costs.truth), cells, confidence)


def _accuracy_range(
    a: several_classes.SampleCosts, b: several_classes.SampleCosts, point: Point, plan: Plan
) -> Range:
    """From how often one system decides right where the other does not."""
    D, times = a.n_classes, np.bincount(a.truth)
    only = [
        np.bincount(a.truth[one], minlength=D) for one in (a.right & ~b.right, b.right & ~a.right)
    ]
    cells = [
        Cells(np.array([p, -p]), np.array([only[0][k], only[1][k]]), int(times[k]))
        for k, p in enumerate(point.prior)
    ]
    return sum_range(a.total("accuracy") - b.total("accuracy"), cells, plan.confidence)


def _hardest_pair(
    truth: np.ndarray, both: list[Evidence], names: tuple[Hashable, ...]
) -> Difference:
    """The Cllr of the two classes that cost the most with either system.

    There is no interval: the pair was chosen because one of them was worst there.
    """
    tables = [pairwise_cllr(truth, e).cllr for e in both]
    worst = np.maximum(*tables)
    i, j = (int(k) for k in np.unravel_index(np.nanargmax(worst), worst.shape))
    a, b = (float(table[i, j]) for table in tables)
    return _difference("worst_pair_cllr", a, b, NO_RANGE, {"a": names[i], "b": names[j]})


def _same(one: Difference) -> Difference:
    known = not math.isnan(one.low)
    return replace(one, low=0.0, high=0.0, verdict="same") if known else one


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
    if math.isnan(interval.low):
        return ""
    if interval.low == interval.high == 0:
        return "same"
    if interval.low <= 0 <= interval.high:
        return "cannot tell"
    return "a better" if (interval.high < 0) == (better == "lower") else "b better"
