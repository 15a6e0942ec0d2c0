"""Costs of single samples, and intervals of their means that allow for errors not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.designs import Design
from deciban.metrics.intervals import Interval, Plan, expand_confidence, resampled_interval
from deciban.metrics.labelled import split_by_class
from deciban.metrics.proportions import add_unseen, exclusive, unseen_rate

Allowance = Callable[[Floats], Floats]  # what errors add in each class, if they rise by these rates


@dataclass(frozen=True)
class SampleCosts:
    """What each sample adds to the quantities of one system, or to the differences of two.

    The prior is included: a quantity is the sum over the classes of means over their samples.
    Costs have the key of their quantity, and one entry for each sample, or sums with one for each
    bag of ``mass`` samples (:class:`~deciban.metrics.bags.BagCosts`). ``saving`` is what
    recalibration saves, which may be negative; ``calibration`` is zero where it does not pay.
    ``mirrored`` is what samples would cost if they were as sure of the runner-up as they are of
    their class. ``allowances`` tell what unseen errors may add where this is not linear in their
    rates.
    """

    codes: NDArray[np.intp]  # positions of the true classes; every class occurs
    actual: dict[str, Floats]
    mirrored: dict[str, Floats]
    right: NDArray[Any]  # whether the evidence supports the true class most
    allowances: dict[str, Allowance] = field(default_factory=dict)

    mass: Floats | None = None

    @cached_property
    def counts(self) -> NDArray[Any]:
        """Number of samples of each class."""
        return np.bincount(self.codes, self.mass)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        """Positions of the samples of each class."""
        return split_by_class(self.codes, len(self.counts))

    def total(self, key: str) -> float:
        """Value of a quantity over all samples."""
        return float(np.sum(np.bincount(self.codes, self.actual[key]) / self.counts))

    def degrees_of_freedom(self, key: str) -> float:
        """Those of the variance of a quantity, which Welch and Satterthwaite estimate."""
        v, df = [], []
        for rows, n in zip(self.rows_by_class, self.counts, strict=True):
            x, mass = self.actual[key][rows], 1.0 if self.mass is None else self.mass[rows]
            units = len(rows) if self.mass is None else np.count_nonzero(mass)
            if units > 1:
                v.append(float(np.sum((x - x.sum() / n * mass) ** 2)) / n**2)
                df.append(units - 1)
        rest = np.sum(np.square(v) / df)
        return float(sum(v) ** 2 / rest) if 0 < rest < np.inf else np.inf

    def wrong(self, t: int) -> NDArray[Any]:
        """Which samples of a class are not right, or how many of each bag."""
        return ~self.right[self.rows_by_class[t]]

    def costs_of_right(self, key: str) -> tuple[Floats, Floats]:
        """Sums over the right samples of each class: of their costs, and of these mirrored."""
        codes, D = self.codes[self.right], len(self.counts)
        actual, mirrored = (
            np.bincount(codes, costs[key][self.right], D).astype(float)
            for costs in (self.actual, self.mirrored)
        )
        return actual, mirrored

    def right_events(self, t: int, *others: Self) -> list[NDArray[Any]]:
        """Samples of a class that are right, or those that only one of two systems has right."""
        return exclusive([s.right[self.rows_by_class[t]] for s in (self, *others)])

    def sides(self, key: str, t: int) -> CostSides:
        """Samples of a class that cost something, and those that save something."""
        costs = self.actual[key][self.rows_by_class[t]]
        above, below = costs[costs > 0], costs[costs < 0]
        totals = (float(above.sum()), float(below.sum()))
        return CostSides(totals, (len(above), len(below)), np.sign(costs))

    def worst(self, key: str) -> Floats:
        """What a sample of each class costs where it is an error, the same for all of them."""
        return np.array([self.mirrored[key][rows[0]] for rows in self.rows_by_class])

    def replace_costs(self, changes: Mapping[str, str | None]) -> None:
        """Let costs be those of another key, or nothing where it is None."""
        for costs in (self.actual, self.mirrored):
            change_keys(costs, changes)

    def unseen_error_rates(self, plan: Plan) -> Floats:
        """Upper bound on the error rate of each class, beyond the most that resamples contain."""
        found = []
        for t, n in enumerate(self.counts):
            wrong = self.wrong(t)
            size = max(1, round(plan.effective_size(t, wrong)))
            found.append(unseen_rate(round(float(wrong.sum() / n) * size), size, plan.confidence))
        return np.array(found)

    def unseen(self, key: str, rates: Floats) -> Floats:
        """What errors may add in each class, if they are more frequent by these rates.

        Their mean cost is that of the errors seen and of one right sample turned around.
        """
        if key in self.allowances:
            return self.allowances[key](rates)
        n_wrong = np.array([self.wrong(t).sum() for t in range(len(self.counts))])
        n_right = np.maximum(self.counts - n_wrong, 1)
        right, turned = self.costs_of_right(key)
        every = np.bincount(self.codes, self.actual[key], len(self.counts))
        wrong = (turned / n_right + (every - right)) / (1 + n_wrong)
        return np.asarray(rates * (wrong - right / n_right))

    def subtract(self, other: Self) -> Self:
        """The costs that both of two systems have: these less the other's."""
        actual, mirrored = (
            {key: mine[key] - theirs[key] for key in mine if key in theirs}
            for mine, theirs in ((self.actual, other.actual), (self.mirrored, other.mirrored))
        )
        mirrored = {key: gap for key, gap in mirrored.items() if gap.any()}  # the same says nothing
        right = self.right & other.right
        allowances = self._subtract_allowances(other)
        return replace(self, actual=actual, mirrored=mirrored, right=right, allowances=allowances)

    def _subtract_allowances(self, other: Self) -> dict[str, Allowance]:
        mine, theirs = self.allowances, other.allowances
        return {key: _subtract(mine[key], theirs[key]) for key in mine}


class CostSides(NamedTuple):
    """Costs above zero, and those below: their sums, numbers of samples, and signs."""

    totals: tuple[float, float]
    counts: tuple[float, float]
    signs: NDArray[Any]  # of samples, or their sums over bags


def change_keys(costs: dict[str, Floats], changes: Mapping[str, str | None]) -> None:
    """Let entries be those of another key, or zeros where it is None."""
    for key, other in changes.items():
        if key in costs:
            costs[key] = np.zeros_like(costs[key]) if other is None else costs[other]


def _subtract(a: Allowance, b: Allowance) -> Allowance:
    return lambda rates: a(rates) - b(rates)


def mean_intervals(systems: Sequence[SampleCosts], plan: Plan) -> dict[str, Interval]:
    """Intervals of the quantities of one system, or of the differences of two."""
    costs = systems[0] if len(systems) == 1 else systems[0].subtract(systems[1])
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
