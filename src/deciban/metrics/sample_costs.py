"""Costs of single samples, and intervals of their means that allow for errors not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.designs import Design
from deciban.metrics.intervals import Interval, Plan, expand_confidence, resampled_interval
from deciban.metrics.labelled import split_by_class
from deciban.metrics.proportions import add_unseen, unseen_rate

Allowance = Callable[[Floats], Floats]  # what errors add in each class, if they rise by these rates


@dataclass(frozen=True)
class SampleCosts:
    """What each sample adds to the quantities of one system, or to the differences of two.

    The prior is included: a quantity is the sum over the classes of means over their samples.
    Costs have the key of their quantity, and one entry for each sample. ``saving`` is what
    recalibration saves, which may be negative; ``calibration`` is zero where it does not pay.
    ``mirrored`` is what samples would cost if they were as sure of the runner-up as they are of
    their class. ``allowances`` tell what unseen errors may add where this is not linear in their
    rates.
    """

    codes: NDArray[np.intp]  # positions of the true classes; every class occurs
    actual: dict[str, Floats]
    mirrored: dict[str, Floats]
    right: NDArray[np.bool_]  # whether the evidence supports the true class most
    allowances: dict[str, Allowance] = field(default_factory=dict)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Number of samples of each class."""
        return np.bincount(self.codes)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        """Positions of the samples of each class."""
        return split_by_class(self.codes, len(self.counts))

    def total(self, key: str) -> float:
        """Value of a quantity over all samples."""
        return float(np.sum(np.bincount(self.codes, self.actual[key]) / self.counts))

    def degrees_of_freedom(self, key: str) -> float:
        """Those of the variance of a quantity, which Welch and Satterthwaite estimate."""
        means = [self.actual[key][rows] for rows in self.rows_by_class if len(rows) > 1]
        v = np.array([x.var() / len(x) for x in means])
        rest = np.sum(v**2 / (np.array([len(x) for x in means]) - 1))
        return float(v.sum() ** 2 / rest) if 0 < rest < np.inf else np.inf

    def unseen_error_rates(self, plan: Plan) -> Floats:
        """Upper bound on the error rate of each class, beyond the most that resamples contain."""
        found = []
        for t, rows in enumerate(self.rows_by_class):
            wrong = ~self.right[rows]
            size = max(1, round(plan.effective_size(t, wrong)))
            found.append(unseen_rate(round(wrong.mean() * size), size, plan.confidence))
        return np.array(found)

    def unseen(self, key: str, rates: Floats) -> Floats:
        """What errors may add in each class, if they are more frequent by these rates.

        Their mean cost is that of the errors seen and of one right sample turned around.
        """
        if key in self.allowances:
            return self.allowances[key](rates)

        def sums(values: Floats, rows: NDArray[np.bool_]) -> Floats:
            return np.bincount(self.codes[rows], values[rows], len(self.counts)).astype(float)

        n_wrong = np.bincount(self.codes[~self.right], minlength=len(self.counts))
        n_right = np.maximum(self.counts - n_wrong, 1)
        right = sums(self.actual[key], self.right) / n_right
        turned = sums(self.mirrored[key], self.right) / n_right
        wrong = (turned + sums(self.actual[key], ~self.right)) / (1 + n_wrong)
        return np.asarray(rates * (wrong - right))


def subtract_costs(systems: Sequence[SampleCosts]) -> SampleCosts:
    """The costs of one system, or those that both of two have: the first's less the second's."""
    if len(systems) == 1:
        return systems[0]
    a, b = systems
    actual, mirrored = (
        {key: mine[key] - theirs[key] for key in mine if key in theirs}
        for mine, theirs in ((a.actual, b.actual), (a.mirrored, b.mirrored))
    )
    mirrored = {key: gap for key, gap in mirrored.items() if gap.any()}  # the same says nothing
    allowances = {key: _subtract(a.allowances[key], b.allowances[key]) for key in a.allowances}
    right = a.right & b.right
    return replace(a, actual=actual, mirrored=mirrored, right=right, allowances=allowances)


def _subtract(a: Allowance, b: Allowance) -> Allowance:
    return lambda rates: a(rates) - b(rates)


def mean_intervals(systems: Sequence[SampleCosts], plan: Plan) -> dict[str, Interval]:
    """Intervals of the quantities of one system, or of the differences of two."""
    costs = subtract_costs(systems)
    design = Design(costs.codes) if plan.design is None else plan.design
    rng = np.random.default_rng(plan.seed)
    drawn, left_out = design.resample_means([*costs.actual.values()], plan.n_resamples, rng)
    intervals = {}
    for k, key in enumerate(costs.actual):
        df = design.fewest_units - 1 if design.depends else costs.degrees_of_freedom(key)
        level = expand_confidence(plan.confidence, df)
        intervals[key] = resampled_interval(costs.total(key), drawn[:, k], left_out[:, k], level)
    # Errors that no resample contains: of all systems, or of one of them alone.
    shared = costs.unseen_error_rates(plan)
    own = [np.maximum(0.0, s.unseen_error_rates(plan) - shared) for s in systems]
    for key in (*costs.mirrored, *costs.allowances):
        extra = [costs.unseen(key, shared)]
        for sign, system, rates in zip((1.0, -1.0), systems, own, strict=False):
            extra.append(sign * system.unseen(key, rates))
        intervals[key] = add_unseen(intervals[key], np.concatenate(extra))
    return intervals
