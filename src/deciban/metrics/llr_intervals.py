"""Intervals of every quantity of a set of LLRs, or of the differences between two sets.

Quantities are of three kinds. Means of costs, such as Cllr, are resampled. Rates of errors at a
given threshold have Wilson's intervals. Quantities for which a recalibration is fitted are means or
rates, too, and known from both sides (:mod:`deciban.metrics.recalibration`): the lower end of their
interval is that of the lower bound, the upper end that of the upper bound.

``benchmarks/intervals.py`` prints how often these intervals contain the truth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from deciban._validation.arrays import Floats
from deciban.metrics.costs import CLLR, cllr, cllr_cal, cllr_min
from deciban.metrics.designs import Design
from deciban.metrics.detection import (
    ErrorWeights,
    OperatingPoint,
    c_primary,
    detection_cost,
    eer,
    equal_error_corner,
    min_detection_cost,
    read_operating_points,
)
from deciban.metrics.intervals import Interval, Plan, hull
from deciban.metrics.labelled import EvidenceLike, Scores, Trials, read_trials
from deciban.metrics.pav import PooledBlocks, pool, pool_masses
from deciban.metrics.proportions import EventCounts, count_events, exclusive, sum_interval
from deciban.metrics.recalibration import (
    Bounds,
    RecalibratedCosts,
    Recalibration,
    recalibrate_llrs,
)
from deciban.metrics.sample_costs import Allowance, SampleCosts, mean_intervals

Terms = Callable[[Floats, int], Floats]  # of the LLRs of the first (0) or second (1) class
Parts = Mapping[tuple[str, str], Terms]  # names of a cost after recalibration and of its saving
BestSteps = Callable[["LlrUnits"], Sequence["Step"]]  # costs to average at the best thresholds
_BLOCKS = 5  # of groups or items that are held out one or two at a time
_LARGEST_COST = 1e300  # relative to that of no evidence; sums of larger ones would overflow
_STEEPEST = 3.0  # nats; the largest slope of the ROC curve that is believed


@dataclass(frozen=True)
class Step:
    """A quantity that depends only on which side of a threshold each LLR lies.

    ``worth`` is what a sample adds to the mean of its class: true classes on rows, and a column
    each for LLRs below and above the threshold.
    """

    threshold: float
    inclusive: bool  # whether an LLR on the threshold counts as above it
    worth: tuple[tuple[float, float], tuple[float, float]]

    def above(self, llr: Floats) -> NDArray[np.bool_]:
        """Whether LLRs are above the threshold."""
        return llr >= self.threshold if self.inclusive else llr > self.threshold

    def __call__(self, llr: Floats, t: int) -> Floats:
        """What each sample of the first (0) or second (1) class adds."""
        below, above = self.worth[t]
        return np.where(self.above(llr), above, below)

    def gain(self, t: int) -> float:
        """How much more a sample of a class adds above the threshold than below it."""
        below, above = self.worth[t]
        return above - below


class LlrUnits(ABC):
    """LLRs in favor of the second class beside the true classes, 0 or 1; both occur.

    Their costs are arrays with one entry for each sample, or sums with one for each bag of samples:
    all that intervals need of them are sums.
    """

    codes: NDArray[np.intp]  # of the class of each sample or bag
    counts: NDArray[Any]  # number of samples of each class
    rows: list[NDArray[np.intp]]  # positions of the samples or bags of each class
    mass: Floats | None  # number of samples in each bag
    blocks: PooledBlocks  # PAV's of all samples
    share: float  # fraction of the samples that maps without a fold are fitted to

    @abstractmethod
    def column(self, kind: str, terms: Terms) -> Floats:
        """Costs: of LLRs "as is", or after recalibration as :class:`RecalibratedCosts` has them.

        The kinds "gain by …" and "loss by …" are what recalibration saves and what it costs where
        it costs more, with the :attr:`Bounds.by` of the upper bound.
        """

    @abstractmethod
    def events(self, step: Step, t: int, *others: Any) -> list[NDArray[Any]]:
        """Samples of a class above a threshold, or those with one of two systems only."""

    @abstractmethod
    def actual_costs(self, terms: Mapping[str, Terms], threshold: float) -> SampleCosts:
        """What LLRs cost, and what they would cost with the opposite sign."""

    @abstractmethod
    def bounded_costs(
        self, costs: dict[str, Floats], allowances: dict[str, Allowance]
    ) -> SampleCosts:
        """Costs of LLRs that are right where they are after recalibration."""

    @abstractmethod
    def affine_slope(self, k: int) -> float:
        """Recalibrated LLR of a block by the affine map; by PAV where LLRs are infinite."""

    @abstractmethod
    def same_fit(self, other: Any) -> bool:
        """Whether recalibration by PAV makes the same of the LLRs of another system."""

    def total(self, costs: Floats) -> float:
        """The sum over both classes of their mean costs."""
        sums = (costs[rows].sum() for rows in self.rows)
        return float(sum(x / n for x, n in zip(sums, self.counts, strict=True)))

    def recalibrated(self, terms: Terms) -> RecalibratedCosts:
        """What recalibrated LLRs cost."""
        names = (name.replace("_", " ") for name in RecalibratedCosts._fields)
        return RecalibratedCosts(*(self.column(name, terms) for name in names))

    def bounds(self, terms: Terms) -> Bounds:
        """What samples cost after the best recalibration, at least and at most."""
        return self.recalibrated(terms).bounds(self.share, self.total)


class LlrSample(LlrUnits):
    """LLRs of single samples."""

    mass = None

    def __init__(
        self,
        llr: Floats,
        codes: NDArray[np.intp],
        design: Design | None = None,
        recalibration: Recalibration | None = None,
    ) -> None:
        self.llr, self.codes, self.design = llr, codes, design
        self.rows = [np.flatnonzero(codes == t) for t in (0, 1)]
        self.counts = np.array([len(rows) for rows in self.rows])
        n = self.counts[0]
        in_order = not codes[:n].any()  # class by class: then nothing need be gathered
        self._places: list[Any] = [slice(n), slice(n, None)] if in_order else self.rows
        self._last: tuple[Terms, RecalibratedCosts] | None = None  # asked for several times
        if recalibration is not None:
            self.recalibration = recalibration

    @cached_property
    def blocks(self) -> PooledBlocks:  # type: ignore[override]
        """PAV's blocks of all samples."""
        return pool(Trials(*(Scores(self.llr[self.rows[t]]) for t in (1, 0))))

    @cached_property
    def recalibration(self) -> Recalibration:
        """The LLRs after recalibration."""
        splits = None
        if self.design is not None:  # what is held out must not share an item with the rest
            splits = [*self.design.folds(_BLOCKS, np.random.default_rng(0))]
        return recalibrate_llrs(self.llr, self.codes, splits)

    @property
    def share(self) -> float:  # type: ignore[override]
        """Fraction of the samples that maps without a fold are fitted to."""
        return self.recalibration.share

    def costs(self, terms: Terms, llr: Floats) -> Floats:
        """What each sample costs with these LLRs."""
        values = np.empty(len(llr))
        for t, rows in enumerate(self._places):
            values[rows] = terms(llr[rows], t)
        return values

    def column(self, kind: str, terms: Terms) -> Floats:
        """Costs of the samples by the kind of their LLRs."""
        if kind == "as is":
            return self.costs(terms, self.llr)
        if " by " in kind:
            sign, after = (1.0 if kind.startswith("gain") else -1.0), self.recalibrated(terms)
            by = kind.partition(" by ")[2]
            upper = after.rising(self.share) if by == "rising" else getattr(after, by)
            return np.maximum(sign * (self.column("as is", terms) - upper), 0.0)
        return getattr(self.recalibrated(terms), kind.replace(" ", "_"))

    def recalibrated(self, terms: Terms) -> RecalibratedCosts:
        """What each recalibrated LLR costs."""
        if self._last is not None and self._last[0] == terms:
            return self._last[1]
        after = self.recalibration
        fitted, held_out = self.costs(terms, after.fitted), self.costs(terms, after.held_out)
        affine = None if after.affine is None else self.costs(terms, after.affine)
        shown = [
            None if costs is None else np.where(after.alone, fitted, costs)
            for costs in (held_out, affine)
        ]
        costs = RecalibratedCosts(fitted, held_out, affine, *shown)  # type: ignore[arg-type]
        self._last = (terms, costs)
        return costs

    def events(self, step: Step, t: int, *others: LlrSample) -> list[NDArray[Any]]:
        """Samples of a class above a threshold, or those with one of two systems only."""
        return exclusive([step.above(s.llr[self.rows[t]]) for s in (self, *others)])

    def right(self, threshold: float) -> NDArray[np.bool_]:
        """Whether LLRs are on the right side of a threshold, or on it."""
        return np.where(self.codes == 1, self.llr >= threshold, self.llr <= threshold)

    def actual_costs(self, terms: Mapping[str, Terms], threshold: float) -> SampleCosts:
        """What each LLR costs, and what it would cost with the opposite sign."""
        actual, mirrored = (
            {key: self.costs(one, sign * self.llr) for key, one in terms.items()}
            for sign in (1.0, -1.0)
        )
        return SampleCosts(self.codes, actual, mirrored, self.right(threshold))

    @property
    def right_after(self) -> NDArray[np.bool_]:
        """Whether recalibrated LLRs support the true class, or none."""
        fitted = self.recalibration.fitted
        return np.where(self.codes == 1, fitted >= 0, fitted <= 0)

    def bounded_costs(
        self, costs: dict[str, Floats], allowances: dict[str, Allowance]
    ) -> SampleCosts:
        """Costs of LLRs that are right where they are after recalibration."""
        return SampleCosts(self.codes, costs, {}, self.right_after, allowances)

    def affine_slope(self, k: int) -> float:
        """Median of the recalibrated LLRs of the samples of a block, by the affine map."""
        after, slope = self.recalibration, self.blocks.llr[k]
        return float(
            slope if after.affine is None else np.median(after.affine[after.fitted == slope])
        )

    def same_fit(self, other: LlrSample) -> bool:
        """Whether recalibration by PAV makes the same of the LLRs of another system."""
        return np.array_equal(self.recalibration.fitted, other.recalibration.fitted)


def mean_cost_intervals(
    samples: Sequence[LlrUnits], terms: Mapping[str, Terms], plan: Plan, threshold: float = 0.0
) -> dict[str, Interval]:
    """Intervals of mean costs of the LLRs as they are.

    LLRs on the wrong side of the threshold are the errors that may be more frequent than was seen.
    """
    return mean_intervals([sample.actual_costs(terms, threshold) for sample in samples], plan)


# --- costs after recalibration ------------------------------------------------------------


def recalibrated_cost_intervals(
    samples: Sequence[LlrUnits],
    plan: Plan,
    best: Mapping[str, BestSteps] | None = None,
    parts: Parts | None = None,
) -> dict[str, Interval]:
    """Intervals of Cllr_min and Cllr_cal, and of other quantities after recalibration.

    ``best`` are mean costs of steps at the best thresholds; ``parts`` are further costs.
    """
    parts = {("cllr_min", "cllr_cal"): CLLR} | dict(parts or {})
    names = [*(name for pair in parts for name in pair), *(best or {})]
    found = mean_intervals([_bounded_costs(sample, best or {}, parts) for sample in samples], plan)
    return {name: _join(found[f"{name} low"], found[f"{name} high"], samples) for name in names}


def _join(low: Interval, high: Interval, samples: Sequence[LlrUnits]) -> Interval:
    """The interval from the low end of one to the high end of the other.

    Of two systems, either bound may be the better estimate of the difference.
    """
    value = (low.value + high.value) / 2
    if len(samples) == 2:
        low, high = hull(low, high), hull(high, low)
    return Interval(value, low.low, high.high, max(low.standard_error, high.standard_error))


def _bounded_costs(sample: LlrUnits, best: Mapping[str, BestSteps], parts: Parts) -> SampleCosts:
    """Both bounds on what each sample costs after recalibration, and on what that saves."""
    actual: dict[str, Floats] = {}
    allowances: dict[str, Allowance] = {}
    as_is = sample.actual_costs({rest: terms for (rest, _), terms in parts.items()}, 0.0)
    for (rest, saved), terms in parts.items():
        least = sample.bounds(terms)
        actual[f"{rest} low"], actual[f"{rest} high"] = least.lower, least.upper
        actual[f"{saved} low"] = as_is.actual[rest] - least.upper
        actual[f"{saved} high"] = as_is.actual[rest] - least.lower

        def after(rates: Floats, terms: Terms = terms) -> Floats:
            return unseen_cost(sample.blocks, rates, terms)

        def saving(rates: Floats, rest: str = rest, after: Allowance = after) -> Floats:
            return as_is.unseen(rest, rates) - after(rates)

        allowances |= {f"{rest} high": after, f"{saved} high": saving}
        # Maps that are held out know of a misleading sample of each class. At even odds, the saving
        # that they prove needs no allowance for more.
        if terms is not CLLR:
            allowances[f"{saved} low"] = lambda rates, after=after: -after(rates)  # type: ignore[misc]
    for name, steps_of in best.items():
        steps = steps_of(sample)
        bounds = [sample.bounds(step) for step in steps]
        actual[f"{name} low"] = np.mean([b.lower for b in bounds], axis=0)
        actual[f"{name} high"] = np.mean([b.upper for b in bounds], axis=0)
        losses = np.mean([[abs(step.gain(t)) for t in (0, 1)] for step in steps], axis=0)
        allowances[f"{name} high"] = losses.__mul__
    return sample.bounded_costs(actual, allowances)


def unseen_cost(blocks: PooledBlocks, rates: Floats, terms: Terms = CLLR) -> Floats:
    """What Cllr_min, or another cost, rises by if samples of a class look like those of the other.

    ``rates`` are their fractions of the first and of the second class; so are the results.
    """
    masses, least = (blocks.other, blocks.target), mean_cost_of_blocks(blocks, terms)
    rises = []
    for t, rate in enumerate(rates):
        mixed = (1 - rate) * masses[t] + rate * masses[1 - t]
        pair = (mixed, blocks.other) if t else (blocks.target, mixed)
        rises.append(mean_cost_of_blocks(pool_masses(*pair), terms) - least)
    return np.array(rises)


def mean_cost_of_blocks(blocks: PooledBlocks, terms: Terms) -> float:
    """Mean cost of the recalibrated LLRs, summed over both classes."""
    return float(
        sum(
            m[m > 0] @ terms(blocks.llr[m > 0], t)
            for t, m in enumerate((blocks.other, blocks.target))
        )
    )


# --- rates --------------------------------------------------------------------------------


def step_interval(samples: Sequence[LlrUnits], step: Step, plan: Plan) -> Interval:
    """Interval of a quantity at a given threshold."""
    totals = [s.total(s.column("as is", step)) for s in samples]
    first, *others = samples
    events = [
        count_events(step.gain(t), first.events(step, t, *others), first.counts[t], plan, t)
        for t in (0, 1)
    ]
    value = totals[0] if len(totals) == 1 else totals[0] - totals[1]
    return sum_interval(value, events, plan.confidence)


def mean_step_interval(samples: Sequence[LlrUnits], steps: Sequence[Step], plan: Plan) -> Interval:
    """Interval of the mean of quantities at given thresholds.

    The distances to the ends of each are added in quadrature, with the correlation of quantities
    that rest on the same samples (Zou and Donner, 2008).
    """
    value, low, high, _ = np.array([step_interval(samples, step, plan) for step in steps]).T
    costs = [np.array([s.column("as is", step) for step in steps]) for s in samples]
    gaps = costs[0] if len(costs) == 1 else costs[0] - costs[1]
    gaps /= np.maximum(np.abs(gaps).max(axis=1, keepdims=True), 1 / _LARGEST_COST)  # or overflow
    covariance = np.zeros((len(steps), len(steps)))
    for rows, n in zip(samples[0].rows, samples[0].counts, strict=True):
        mass = 1.0 if samples[0].mass is None else samples[0].mass[rows]
        x = gaps[:, rows]
        x = x - x.sum(axis=1, keepdims=True) / n * mass
        covariance += x @ x.T / n**2
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    correlation = np.divide(covariance, scale, out=np.ones_like(scale), where=scale > 0)
    down, up = (
        float(np.sqrt(max(0.0, gap @ correlation @ gap))) / len(steps)
        for gap in (value - low, high - value)
    )
    mean = float(value.mean())
    return Interval(mean, mean - down, mean + up)


def best_step_interval(sample: LlrUnits, step: Step, plan: Plan) -> Interval:
    """Interval of a quantity at the threshold that is best after recalibration."""
    low, high = (
        _rates_interval(sample, {1.0: costs}, step, plan) for costs in sample.bounds(step)[:2]
    )
    return Interval((low.value + high.value) / 2, low.low, high.high)


def saving_interval(sample: LlrUnits, step: Step, plan: Plan) -> Interval:
    """Interval of what recalibration saves, by the decisions that it corrects and those it spoils.

    Where it changes a few decisions only, resamples hardly contain any that it spoils.
    """
    by = sample.bounds(step).by
    costs = {1.0: sample.column(f"gain by {by}", step), -1.0: sample.column(f"loss by {by}", step)}
    return _rates_interval(sample, costs, step, plan)


def _rates_interval(
    sample: LlrUnits, costs: Mapping[float, Floats], step: Step, plan: Plan
) -> Interval:
    """Wilson's interval from costs, by their sign, that are fractions of what one error costs."""
    events, signs = [], np.array([*costs])
    for t, rows in enumerate(sample.rows):
        worst = max(step.worth[t])
        rates = [one[rows] / worst if worst > 0 else 0.0 * one[rows] for one in costs.values()]
        size = plan.effective_size(t, sum(s * rate for s, rate in zip(signs, rates, strict=True)))
        counts = np.array([rate.sum() for rate in rates]) * (size / sample.counts[t])
        events.append(EventCounts(worst * signs, counts, size))
    value = sum(sign * sample.total(one) for sign, one in costs.items())
    return sum_interval(value, events, plan.confidence)


def equal_error_step(sample: LlrUnits) -> Step:
    """The errors at the prior for which the best decisions miss as often as they alarm falsely.

    The slope of the ROC curve there tells the prior. That of PAV's block is far too noisy where a
    class is small, so it is taken from the affine map.
    """
    slope = sample.affine_slope(equal_error_corner(*sample.blocks.hull()) - 1)
    return weighted_errors(float(np.clip(slope, -_STEEPEST, _STEEPEST)))


def equal_error_interval(sample: LlrUnits, plan: Plan) -> Interval:
    """Interval of the equal-error rate.

    It is the largest of the costs at all priors. Where a class is small, the prior at which it is
    reached is hardly known, so that the cost at even odds bounds it, too.
    """
    interval = best_step_interval(sample, equal_error_step(sample), plan)
    at_even_odds = best_step_interval(sample, weighted_errors(0.0), plan)
    return interval._replace(high=max(interval.high, at_even_odds.high))


def weighted_errors(slope: float) -> Step:
    """The errors at a prior, of the slope that the ROC curve has where they are the fewest."""
    return Step(slope, True, ((0.0, float(expit(slope))), (float(expit(-slope)), 0.0)))


# --- the same intervals for the functions -------------------------------------------------


def llr_interval(
    metric: Callable[..., float],
    y_true: ArrayLike,
    llr: EvidenceLike,
    plan: Plan,
    *,
    pos_label: Hashable = 1,
    **options: Any,
) -> Interval:
    """Interval of one of the metrics of two classes, on the samples themselves."""
    value = metric(y_true, llr, pos_label=pos_label, **options)
    trials = read_trials(y_true, llr, pos_label=pos_label)
    if plan.design is not None:  # its samples in the order of the trials, targets first
        others = [label != pos_label for label in np.asarray(y_true).tolist()]
        plan = plan.select(np.argsort(others, kind="stable"), trials.y_true)
    design = plan.design if isinstance(plan.design, Design) else None
    sample = LlrSample(trials.llr, trials.y_true, design)
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        interval = LLR_INTERVALS[metric](sample, plan, **options)
    largest = _LARGEST.get(metric, np.inf) if options.get("normalize", True) else np.inf
    low, high = np.clip([interval.low, interval.high], 0.0, largest).tolist()
    return interval._replace(value=value, low=low, high=high)


def _c_primary_interval(
    sample: LlrUnits, plan: Plan, operating_points: Iterable[Any], minimum: bool = False
) -> Interval:
    steps = [detection_step(point.weights) for point in read_operating_points(operating_points)]
    if minimum:
        key = "min_c_primary"
        interval = recalibrated_cost_intervals([sample], plan, {key: lambda _: steps})[key]
        return interval._replace(high=min(1.0, interval.high))
    return mean_step_interval([sample], steps, plan)


def detection_step(weights: ErrorWeights, normalize: bool = True) -> Step:
    """The cost of decisions at an operating point; an LLR on its threshold is accepted."""
    false_alarm, miss = (
        min(float(weights.cost(*rates, normalize)), _LARGEST_COST) for rates in ((0, 1), (1, 0))
    )
    return Step(float(weights.threshold), True, ((0.0, false_alarm), (miss, 0.0)))


def _step_at(normalize: bool = True, **point: float) -> Step:
    return detection_step(OperatingPoint(**point).weights, normalize)


LLR_INTERVALS: dict[Callable[..., float], Callable[..., Interval]] = {
    cllr: lambda sample, plan: mean_cost_intervals([sample], {"cllr": CLLR}, plan)["cllr"],
    cllr_min: lambda sample, plan: recalibrated_cost_intervals([sample], plan)["cllr_min"],
    cllr_cal: lambda sample, plan: recalibrated_cost_intervals([sample], plan)["cllr_cal"],
    eer: equal_error_interval,
    detection_cost: lambda sample, plan, **at: step_interval([sample], _step_at(**at), plan),
    min_detection_cost: lambda sample, plan, **at: best_step_interval(sample, _step_at(**at), plan),
    c_primary: _c_primary_interval,
}
_LARGEST = {cllr_min: 1.0, eer: 0.5, min_detection_cost: 1.0}
