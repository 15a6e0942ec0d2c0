"""Intervals of every quantity of a set of LLRs, or of the differences between two sets.

Quantities are of three kinds. Means of costs, such as Cllr, are resampled. Rates of errors at a
given threshold have Wilson's intervals. Quantities for which a recalibration is fitted are means or
rates, too, and known from both sides (:mod:`deciban.metrics.recalibration`): the lower end of their
interval is that of the lower bound, the upper end that of the upper bound.

``benchmarks/intervals.py metrics`` prints how often these intervals contain the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
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
from deciban.metrics.intervals import EventCounts, Interval, Plan, count_events, hull, sum_interval
from deciban.metrics.labelled import EvidenceLike, Terms, read_trials
from deciban.metrics.llr_units import LlrTerms, LlrUnits, Step, units_of_samples
from deciban.metrics.pav import PooledBlocks, pool_masses
from deciban.metrics.recalibration import Recalibrator
from deciban.metrics.units import Allowance, UnitCosts, mean_intervals

Parts = Mapping[tuple[str, str], Terms]  # names of a cost after recalibration and of its saving
_LARGEST_COST = 1e300  # relative to that of no evidence; sums of larger ones would overflow
_STEEPEST = 3.0  # nats; the largest slope of the ROC curve that is believed


def mean_cost_intervals(
    samples: Sequence[LlrUnits], terms: Mapping[str, Terms], plan: Plan, threshold: float = 0.0
) -> dict[str, Interval]:
    """Intervals for mean costs as they are, or for differences between two systems."""
    costs = [one.costs(terms, threshold) for one in samples]
    if len(samples) == 1:
        return mean_intervals(costs[0], plan)
    a, b = samples
    gap = a.costs(terms, threshold, b.system).subtract(b.costs(terms, threshold, a.system))
    return mean_intervals(gap, plan, costs)


# --- costs after recalibration ------------------------------------------------------------


def recalibrated_cost_intervals(
    samples: Sequence[LlrUnits],
    plan: Plan,
    best: Mapping[str, Sequence[Sequence[Step]]] | None = None,
    parts: Parts | None = None,
) -> dict[str, Interval]:
    """``best`` has the steps of each system whose costs are averaged; ``parts`` are more costs."""
    parts = {("cllr_min", "cllr_cal"): CLLR} | dict(parts or {})
    names = [*(name for pair in parts for name in pair), *(best or {})]
    costs = [
        _bounded_costs(sample, {name: steps[k] for name, steps in (best or {}).items()}, parts)
        for k, sample in enumerate(samples)
    ]
    if len(samples) == 1:
        found = mean_intervals(costs[0], plan)
    else:
        right = samples[0].right_after(samples[1].system)
        found = mean_intervals(replace(costs[0], right=right).subtract(costs[1]), plan, costs)
    return {name: _join(found[f"{name} low"], found[f"{name} high"], samples) for name in names}


def _join(low: Interval, high: Interval, samples: Sequence[LlrUnits]) -> Interval:
    """From the low end of one to the high end of the other, whichever system has the better."""
    value = (low.value + high.value) / 2
    if len(samples) == 2:
        low, high = hull(low, high), hull(high, low)
    return Interval(value, low.low, high.high, max(low.standard_error, high.standard_error))


def _bounded_costs(sample: LlrUnits, best: Mapping[str, Sequence[Step]], parts: Parts) -> UnitCosts:
    """Both bounds on costs after recalibration, and on the savings."""
    actual: dict[str, Floats] = {}
    allowances: dict[str, Allowance] = {}
    as_is = sample.costs({rest: terms for (rest, _), terms in parts.items()}, 0.0)
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
    for name, steps in best.items():
        bounds = [sample.bounds(step) for step in steps]
        actual[f"{name} low"] = np.mean([b.lower for b in bounds], axis=0)
        actual[f"{name} high"] = np.mean([b.upper for b in bounds], axis=0)
        losses = np.mean([[abs(step.gain(t)) for t in (0, 1)] for step in steps], axis=0)
        allowances[f"{name} high"] = losses.__mul__
    return UnitCosts(sample.design, actual, sample.right_after(), allowances=allowances)


def unseen_cost(blocks: PooledBlocks, rates: Floats, terms: Terms = CLLR) -> Floats:
    """Rise in cost if samples in a class, at these rates, look like those in the other."""
    masses, least = (blocks.other, blocks.target), mean_cost_of_blocks(blocks, terms)
    rises = []
    for t, rate in enumerate(rates):
        mixed = (1 - rate) * masses[t] + rate * masses[1 - t]
        pair = (mixed, blocks.other) if t else (blocks.target, mixed)
        rises.append(mean_cost_of_blocks(pool_masses(*pair), terms) - least)
    return np.array(rises)


def mean_cost_of_blocks(blocks: PooledBlocks, terms: Terms) -> float:
    """Mean cost after PAV, summed over both classes."""
    return float(
        sum(
            m[m > 0] @ terms(blocks.llr[m > 0], t)
            for t, m in enumerate((blocks.other, blocks.target))
        )
    )


# --- rates --------------------------------------------------------------------------------


def step_interval(samples: Sequence[LlrUnits], step: Step, plan: Plan) -> Interval:
    """Interval for a quantity at a given threshold."""
    totals = [s.total(s.column("as is", step)) for s in samples]
    first, *others = samples
    events = [
        count_events(step.gain(t), first.events(step, t, *others), first.design, t) for t in (0, 1)
    ]
    value = totals[0] if len(totals) == 1 else totals[0] - totals[1]
    return sum_interval(value, events, plan.confidence)


def mean_step_interval(samples: Sequence[LlrUnits], steps: Sequence[Step], plan: Plan) -> Interval:
    """Mean interval: distances are added in quadrature, with correlation (Zou and Donner, 2008)."""
    value, low, high, _ = np.array([step_interval(samples, step, plan) for step in steps]).T
    costs = [np.array([s.column("as is", step) for step in steps]) for s in samples]
    gaps = costs[0] if len(costs) == 1 else costs[0] - costs[1]
    gaps /= np.maximum(np.abs(gaps).max(axis=1, keepdims=True), 1 / _LARGEST_COST)  # or overflow
    covariance = np.zeros((len(steps), len(steps)))
    design = samples[0].design
    for rows, n in zip(design.rows_by_class, design.counts, strict=True):
        x = gaps[:, rows]
        x = x - x.sum(axis=1, keepdims=True) / n * design.masses(rows)
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
    """Interval for a quantity at the best threshold."""
    low, high = (
        _rates_interval(sample, {1.0: costs}, step, plan) for costs in sample.bounds(step)[:2]
    )
    return Interval((low.value + high.value) / 2, low.low, high.high)


def saving_interval(sample: LlrUnits, step: Step, plan: Plan) -> Interval:
    """By decisions that recalibration corrects and spoils: resamples may not contain any."""
    by = sample.bounds(step).by
    costs = {1.0: sample.column(f"gain by {by}", step), -1.0: sample.column(f"loss by {by}", step)}
    return _rates_interval(sample, costs, step, plan)


def _rates_interval(
    sample: LlrUnits, costs: Mapping[float, Floats], step: Step, plan: Plan
) -> Interval:
    """Wilson's interval from costs, by their sign, as fractions of the cost of one error."""
    events, signs = [], np.array([*costs])
    for t, rows in enumerate(sample.design.rows_by_class):
        worst = max(step.worth[t])
        rates = [one[rows] / worst if worst > 0 else 0.0 * one[rows] for one in costs.values()]
        either = sum(s * rate for s, rate in zip(signs, rates, strict=True))
        size = sample.design.effective_size(t, either)
        counts = np.array([rate.sum() for rate in rates]) * (size / sample.design.counts[t])
        events.append(EventCounts(worst * signs, counts, size))
    value = sum(sign * sample.total(one) for sign, one in costs.items())
    return sum_interval(value, events, plan.confidence)


def equal_error_step(maps: Recalibrator) -> Step:
    """Errors at the prior that the ROC curve's slope sets; PAV's slope is too noisy for few."""
    slope = maps.affine_slope(equal_error_corner(*maps.blocks.hull()) - 1)
    return weighted_errors(float(np.clip(slope, -_STEEPEST, _STEEPEST)))


def equal_error_interval(sample: LlrUnits, plan: Plan) -> Interval:
    """The largest cost at any prior, hardly known for a small class: even odds bound it, too."""
    interval = best_step_interval(sample, equal_error_step(sample.maps), plan)
    at_even_odds = best_step_interval(sample, EVEN_ERRORS, plan)
    return interval._replace(high=max(interval.high, at_even_odds.high))


def weighted_errors(slope: float) -> Step:
    """Errors at the prior whose best threshold has this slope on the ROC curve."""
    return Step(slope, True, ((0.0, float(expit(slope))), (float(expit(-slope)), 0.0)))


EVEN_ERRORS = weighted_errors(0.0)


# --- the same intervals for the functions -------------------------------------------------


def llr_interval(
    metric: Callable[..., float],
    y_true: ArrayLike,
    llr: EvidenceLike,
    design: Design,
    plan: Plan,
    *,
    pos_label: Hashable = 1,
    **options: Any,
) -> Interval:
    """Interval for a metric on two classes."""
    value = metric(y_true, llr, pos_label=pos_label, **options)
    largest = _LARGEST.get(metric, np.inf) if options.get("normalize", True) else np.inf
    trials = read_trials(y_true, llr, pos_label=pos_label)
    others = [label != pos_label for label in np.asarray(y_true).tolist()]
    design = design.select(np.argsort(others, kind="stable"), trials.y_true)  # targets first
    minimum = options.pop("minimum", metric is min_detection_cost)
    if "operating_points" in options:
        points = read_operating_points(options["operating_points"])
        steps = [detection_step(point.weights) for point in points]
    else:
        normalize = options.pop("normalize", True)
        steps = [detection_step(OperatingPoint(**options).weights, normalize)]
    fit = minimum or metric in (cllr_min, cllr_cal, eer)

    def asked(maps: Recalibrator) -> LlrTerms:
        fitted: list[Terms] = [CLLR, equal_error_step(maps), EVEN_ERRORS, *steps] if fit else []
        return LlrTerms(costs=[(CLLR, 0.0)], steps=steps, fitted=fitted)

    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        (units,) = units_of_samples([trials.llr], design, asked, fit=fit)
        interval = LLR_INTERVALS[metric](units, plan, steps, minimum)
    low, high = np.clip([interval.low, interval.high], 0.0, largest).tolist()
    return interval._replace(value=value, low=low, high=high)


def _c_primary_interval(
    units: LlrUnits, plan: Plan, steps: Sequence[Step], minimum: bool
) -> Interval:
    if not minimum:
        return mean_step_interval([units], steps, plan)
    found = recalibrated_cost_intervals([units], plan, {"c": [steps]})["c"]
    return found._replace(high=min(1.0, found.high))


def detection_step(weights: ErrorWeights, normalize: bool = True) -> Step:
    """Decision cost at an operating point; an LLR on the threshold is accepted."""
    false_alarm, miss = (
        min(float(weights.cost(*rates, normalize)), _LARGEST_COST) for rates in ((0, 1), (1, 0))
    )
    return Step(float(weights.threshold), True, ((0.0, false_alarm), (miss, 0.0)))


# From the units, the plan, the steps that are asked for, and whether thresholds are the best ones.
LLR_INTERVALS: dict[Any, Callable[..., Interval]] = {
    cllr: lambda units, plan, *_: mean_cost_intervals([units], {"": CLLR}, plan)[""],
    cllr_min: lambda units, plan, *_: recalibrated_cost_intervals([units], plan)["cllr_min"],
    cllr_cal: lambda units, plan, *_: recalibrated_cost_intervals([units], plan)["cllr_cal"],
    eer: lambda units, plan, *_: equal_error_interval(units, plan),
    detection_cost: lambda units, plan, steps, _: step_interval([units], steps[0], plan),
    min_detection_cost: lambda units, plan, steps, _: best_step_interval(units, steps[0], plan),
    c_primary: _c_primary_interval,
}
_LARGEST = {cllr_min: 1.0, eer: 0.5, min_detection_cost: 1.0}
