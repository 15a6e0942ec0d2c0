"""Units of samples: what each adds to quantities, and intervals of their means.

A unit is a sample, or all samples of a class in a bucket where samples are many. A sample belongs
to the bucket that a hash of its group sets, or of its number where samples are independent.
Columns of units are sums, so that those of partitions add up, whatever the partitions are. The
mean of resampled buckets varies as much as the mean of resampled samples or groups.

References
----------
Chamandy et al. (2012), Estimating uncertainty for massive data streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.designs import Design
from deciban.metrics.intervals import (
    Interval,
    Plan,
    add_unseen,
    expand_confidence,
    resampled_interval,
    unseen_rate,
)

# What each unit adds, by the kind of the term, the system, another system beside it, and the term.
Columns = dict[tuple[Any, ...], NDArray[Any]]
Allowance = Callable[[Floats], Floats]  # what errors add in each class, if they rise by these rates

_MASS = ("mass",)
_BUCKETS, _MIN_BUCKETS = 1 << 14, 1 << 9
_MAX_SUMS = 1 << 19  # of one column: buckets times classes


class BucketSums(NamedTuple):
    """Column sums over the buckets of each class; ``places`` are the buckets with samples."""

    keys: list[tuple[Any, ...]]
    places: Any
    sums: Floats  # (n_columns, n_places)

    @classmethod
    def of_samples(
        cls, columns: Columns, codes: NDArray[Any], hashes: NDArray[np.uint64], n_classes: int
    ) -> BucketSums:
        n = count_buckets(n_classes)
        unit, size = codes * n + (hashes & np.uint64(n - 1)).astype(np.intp), n_classes * n
        places: Any = slice(None)
        if len(codes) < size:
            places, unit = np.unique(unit, return_inverse=True)
            size = len(places)
        columns = {_MASS: np.ones(len(codes))} | columns
        return cls([*columns], places, np.stack([np.bincount(unit, x, size)
                                                for x in columns.values()]))  # fmt: skip


class Buckets:
    """Sums over all buckets; partitions add to them."""

    def __init__(self, n_classes: int, depends: bool) -> None:
        self.n_classes, self.depends = n_classes, depends
        self.keys: list[tuple[Any, ...]] = []
        self._sums = np.zeros(0)

    def add(self, part: BucketSums) -> None:
        if not self.keys:
            self.keys = part.keys
            self._sums = np.zeros((len(part.keys), self.n_classes * count_buckets(self.n_classes)))
        self._sums[:, part.places] += part.sums

    @property
    def sums(self) -> BucketSums:
        return BucketSums(self.keys, slice(None), self._sums)

    @property
    def columns(self) -> Columns:
        return dict(zip(self.keys, self._sums, strict=True))

    @property
    def design(self) -> Design:
        """Each draw takes the same buckets for all classes."""
        n, D = count_buckets(self.n_classes), self.n_classes
        description = f"samples were resampled in {n:,} buckets, as if they were independent"
        if self.depends:
            description = f"whole groups were resampled, in {n:,} buckets"
        return Design(
            np.repeat(np.arange(D), n), np.tile(np.arange(n), D), None, (n,), description,
            self.depends, self.columns[_MASS],
        )  # fmt: skip


def count_buckets(n_classes: int) -> int:
    """Number of buckets, a power of two; fewer for many classes."""
    most = _MAX_SUMS // n_classes
    return max(_MIN_BUCKETS, min(_BUCKETS, 1 << (most.bit_length() - 1)))


class SampleCosts(NamedTuple):
    """Contributions of samples, weighted by the prior: class means add up to the quantities."""

    actual: dict[Any, Floats]
    mirrored: dict[Any, Floats]  # if a sample were as sure of the runner-up as of its class
    right: NDArray[np.bool_]  # whether the evidence supports the true class most


def pair_up(n_systems: int) -> list[tuple[int, int | None]]:
    """Each system alone, then the first and each other one side by side."""
    pairs = [pair for k in range(1, n_systems) for pair in ((0, k), (k, 0))]
    return [*((k, None) for k in range(n_systems)), *pairs]


def cost_columns(
    systems: Sequence[SampleCosts], has_sides: Callable[[str], bool] = lambda key: False
) -> Columns:
    """``has_sides`` selects the quantities whose positive and negative costs are counted."""
    columns: Columns = {}
    for k, beside in pair_up(len(systems)):
        one = systems[k]
        other = None if beside is None else systems[beside]
        right = one.right if other is None else one.right & other.right
        columns["right", k, beside] = right
        for key, costs in one.actual.items():
            if other is None:
                columns["actual", k, beside, key] = costs
            elif key in other.actual:
                costs = costs - other.actual[key]
            if key in one.mirrored:
                columns["of right", k, beside, key] = np.where(right, one.actual[key], 0.0)
                columns["turned", k, beside, key] = np.where(right, one.mirrored[key], 0.0)
            if k == 0 and has_sides(key):
                for side, mask in (("above", costs > 0), ("below", costs < 0)):
                    columns[side, k, beside, key] = np.where(mask, costs, 0.0)
                    columns[f"number {side}", k, beside, key] = mask
    return columns


@dataclass(frozen=True)
class UnitCosts:
    """Contributions of units to the quantities of one system, or to differences between two."""

    design: Design
    actual: dict[str, Floats]
    right: NDArray[Any]  # number of right samples
    of_right: dict[str, Floats] = field(default_factory=dict)  # their costs
    turned: dict[str, Floats] = field(default_factory=dict)  # their mirrored costs
    allowances: dict[str, Allowance] = field(default_factory=dict)  # that rates do not scale

    @classmethod
    def read(
        cls,
        columns: Columns,
        design: Design,
        system: int,
        beside: int | None = None,
        changes: Mapping[str, str | None] | None = None,
    ) -> UnitCosts:
        """Costs of a system; ``changes`` replace a key by another key, or by zero."""

        def pick(kind: str, beside: int | None) -> dict[str, Floats]:
            start = (kind, system, beside)
            found = {key[3]: x for key, x in columns.items() if key[:3] == start}
            for key, other in (changes or {}).items():
                if key in found:
                    found[key] = found[other] if other else np.zeros_like(found[key])
            return found

        right = columns["right", system, beside]
        return cls(
            design, pick("actual", None), right, pick("of right", beside), pick("turned", beside)
        )

    def total(self, key: str) -> float:
        return float(np.sum(self._by_class(self.actual[key]) / self.design.counts))

    def _by_class(self, column: Floats) -> Floats:
        return np.bincount(self.design.codes, column).astype(float)

    def wrong(self, t: int) -> Floats:
        """Number of wrong samples in each unit of a class."""
        rows = self.design.rows_by_class[t]
        return self.design.masses(rows) - self.right[rows]

    def degrees_of_freedom(self, key: str) -> float:
        """Welch-Satterthwaite degrees of freedom."""
        if self.design.depends:
            return self.design.min_units - 1
        v, df = [], []
        for rows, n in zip(self.design.rows_by_class, self.design.counts, strict=True):
            x, mass = self.actual[key][rows], self.design.masses(rows)
            units = np.count_nonzero(mass)
            if units > 1:
                v.append(float(np.sum((x - x.sum() / n * mass) ** 2)) / n**2)
                df.append(units - 1)
        rest = np.sum(np.square(v) / df)
        return float(sum(v) ** 2 / rest) if 0 < rest < np.inf else np.inf

    def unseen_error_rates(self, confidence: float) -> Floats:
        """Upper bounds on error rates, beyond the most that resamples contain."""
        found = []
        for t, n in enumerate(self.design.counts):
            wrong = self.wrong(t)
            size = max(1, round(self.design.effective_size(t, wrong)))
            found.append(unseen_rate(round(float(wrong.sum() / n) * size), size, confidence))
        return np.array(found)

    def unseen(self, key: str, rates: Floats) -> Floats:
        """By class, if an error costs the mean of those seen and one right sample turned."""
        if key in self.allowances:
            return self.allowances[key](rates)
        n_wrong = np.array([self.wrong(t).sum() for t in range(len(rates))])
        n_right = np.maximum(self.design.counts - n_wrong, 1)
        every, right, turned = (
            self._by_class(one[key]) for one in (self.actual, self.of_right, self.turned)
        )
        wrong = (turned / n_right + (every - right)) / (1 + n_wrong)
        return np.asarray(rates * (wrong - right / n_right))

    def subtract(self, other: UnitCosts) -> UnitCosts:
        """The costs that both systems have: these minus the other's."""
        actual, of_right, turned = (
            {key: mine[key] - theirs[key] for key in mine if key in theirs}
            for mine, theirs in (
                (self.actual, other.actual),
                (self.of_right, other.of_right),
                (self.turned, other.turned),
            )
        )
        turned = {key: gap for key, gap in turned.items() if gap.any()}  # the same says nothing
        allowances: dict[str, Allowance] = {
            key: lambda rates, key=key: self.allowances[key](rates) - other.allowances[key](rates)  # type: ignore[misc]
            for key in self.allowances
        }
        return UnitCosts(self.design, actual, self.right, of_right, turned, allowances)


def mean_intervals(
    costs: UnitCosts, plan: Plan, systems: Sequence[UnitCosts] = ()
) -> dict[str, Interval]:
    """Intervals for one system, or for the differences between two ``systems``."""
    rng = np.random.default_rng(plan.seed)
    values = [*costs.actual.values()]
    drawn, left_out = costs.design.resample_means(values, plan.n_resamples, rng)
    intervals = {}
    for k, key in enumerate(costs.actual):
        level = expand_confidence(plan.confidence, costs.degrees_of_freedom(key))
        intervals[key] = resampled_interval(costs.total(key), drawn[:, k], left_out[:, k], level)
    # Errors that no resample contains: of all systems, or of one of them alone.
    shared = costs.unseen_error_rates(plan.confidence)
    own = [np.maximum(0.0, s.unseen_error_rates(plan.confidence) - shared) for s in systems]
    for key in (*costs.turned, *costs.allowances):
        extra = [costs.unseen(key, shared)]
        for sign, system, rates in zip((1.0, -1.0), systems, own, strict=False):
            extra.append(sign * system.unseen(key, rates))
        intervals[key] = add_unseen(intervals[key], np.concatenate(extra))
    return intervals
