"""Costs of samples beyond memory, over any number of classes: sums over bags, and over classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.bags import BagDesign, BagSums, Hashes, PartSums, count_bags
from deciban.metrics.sample_costs import CostSides, SampleCosts, change_keys

Key = tuple[Any, ...]  # what is summed, of which systems, and the quantity


class CostSums(NamedTuple):
    """Sums of the costs of the samples of a part: over bags of each class, and over classes."""

    by_bag: PartSums
    bag_keys: tuple[Key, ...]
    by_class: dict[Key, Floats]

    @classmethod
    def of_samples(
        cls,
        systems: Sequence[SampleCosts],
        hashes: Hashes,
        n_classes: int,
        has_sides: Callable[[str], bool] = lambda key: False,
    ) -> Self:
        """The sums of what samples cost with each system.

        With two systems or more, the first is compared with each of the others. ``has_sides`` tells
        the quantities whose positive and negative costs are counted.
        """
        codes = systems[0].codes
        add = BagSums(codes, hashes, n_classes)
        by_bag: dict[Key, Floats] = {("mass",): add(np.ones(len(codes)))}
        by_class: dict[Key, Floats] = {}

        def sum_by_class(costs: Floats, mask: NDArray[np.bool_]) -> Floats:
            return np.bincount(codes[mask], costs[mask], n_classes).astype(float)

        def sum_right(names: Key, right: NDArray[np.bool_]) -> None:
            by_bag["right", *names] = add(right)
            for k in names:
                one = systems[k]
                for key in one.mirrored:
                    for kind, costs in (("actual", one.actual), ("mirrored", one.mirrored)):
                        sums = sum_by_class(costs[key], right)
                        by_class["right", k, names, kind, key] = sums

        def sum_sides(names: Key, costs: Mapping[str, Floats]) -> None:
            for key in filter(has_sides, costs):
                for side, mask in (("above", costs[key] > 0), ("below", costs[key] < 0)):
                    by_bag[side, *names, key] = add(mask)
                    by_class[side, *names, key] = sum_by_class(costs[key], mask)

        for k, one in enumerate(systems):
            for key, costs in one.actual.items():
                by_bag["actual", k, key] = add(costs)
            sum_right((k,), one.right)
            for key in filter(has_sides, one.mirrored):
                worst = np.full(n_classes, -np.inf)
                worst[codes] = one.mirrored[key]  # the same for all samples of a class
                by_class["worst", k, key] = worst
        if len(systems) == 1:
            sum_sides((0,), systems[0].actual)
        for k, other in enumerate(systems[1:], 1):
            both = systems[0].subtract(other)
            sum_right((0, k), both.right)
            sum_sides((0, k), both.actual)
        sums = PartSums(add.places, np.stack([*by_bag.values()]))
        return cls(sums, tuple(by_bag), by_class)


class TotalSums:
    """Sums over all samples, by key; parts are added one after another."""

    def __init__(self, n_classes: int, depends: bool) -> None:
        self.n_classes, self.n_bags, self.depends = n_classes, count_bags(n_classes), depends
        self.keys: tuple[Key, ...] = ()
        self.table = np.zeros(0)
        self.by_class: dict[Key, Floats] = {}

    def add(self, part: CostSums) -> None:
        """Add the sums of a part."""
        if not self.keys:
            self.keys = part.bag_keys
            self.table = np.zeros((len(self.keys), self.n_classes * self.n_bags))
        part.by_bag.add_to(self.table)
        for key, sums in part.by_class.items():
            held = self.by_class.get(key)
            if held is not None:
                sums = np.maximum(held, sums) if key[0] == "worst" else held + sums
            self.by_class[key] = sums

    @cached_property
    def by_bag(self) -> dict[Key, Floats]:
        """Sums over bags, by key."""
        return dict(zip(self.keys, self.table, strict=True))

    @cached_property
    def design(self) -> BagDesign:
        """The bags of the samples."""
        return BagDesign(self.by_bag["mass",], self.depends, self.n_bags)

    def of_system(self, k: int) -> SummedCosts:
        """What bags of samples add to the quantities of one system."""
        actual = {key[2]: x for key, x in self.by_bag.items() if key[:2] == ("actual", k)}
        right = {key[2:]: x for key, x in self.by_class.items() if key[:2] == ("right", k)}
        mirrored = {key: np.zeros(0) for _, kind, key in right if kind == "mirrored"}
        return SummedCosts(
            self.design.codes, actual, mirrored, self.by_bag["right", k],
            mass=self.design.mass, sums=self, systems=(k,), of_right=[right],
        )  # fmt: skip


@dataclass(frozen=True)
class SummedCosts(SampleCosts):
    """What bags of samples add to quantities; ``right`` are numbers of samples.

    ``systems`` are the number of one system, or those of two whose costs are subtracted.
    ``of_right`` are sums over the right samples of each class, of each of these systems; they take
    the place of the costs in ``mirrored``, which holds keys alone.
    """

    sums: TotalSums = field(kw_only=True)
    systems: tuple[int, ...] = field(kw_only=True)
    of_right: list[dict[Key, Floats]] = field(kw_only=True)

    def wrong(self, t: int) -> NDArray[Any]:
        """How many samples of each bag of a class are not right."""
        rows = self.rows_by_class[t]
        return self.sums.design.mass[rows] - self.right[rows]

    def costs_of_right(self, key: str) -> tuple[Floats, Floats]:
        """Sums over the right samples of each class: of their costs, and of these mirrored."""
        actual, mirrored = (
            [one[self.systems, kind, key] for one in self.of_right]
            for kind in ("actual", "mirrored")
        )
        return _difference(actual), _difference(mirrored)

    def right_events(self, t: int, *others: Self) -> list[NDArray[Any]]:
        """Right samples in each bag of a class, or those that one of two systems has right."""
        rows = self.rows_by_class[t]
        if not others:
            return [self.right[rows]]
        both = self.subtract(others[0]).right
        return [one.right[rows] - both[rows] for one in (self, others[0])]

    def sides(self, key: str, t: int) -> CostSides:
        """Samples of a class that cost something, and those that save something."""
        rows, names = self.rows_by_class[t], (*self.systems, key)
        above, below = (self.sums.by_bag[side, *names][rows] for side in ("above", "below"))
        more, less = (float(self.sums.by_class[side, *names][t]) for side in ("above", "below"))
        counts = (float(above.sum()), float(below.sum()))
        return CostSides((more, less), counts, above - below)

    def worst(self, key: str) -> Floats:
        """What a sample of each class costs where it is an error."""
        return self.sums.by_class["worst", self.systems[0], key]

    def replace_costs(self, changes: Mapping[str, str | None]) -> None:
        """Let costs be those of another key, or nothing where it is None."""
        change_keys(self.actual, changes)
        (right,) = self.of_right
        for names, kind in {key[:2] for key in right}:
            some = {key[2]: x for key, x in right.items() if key[:2] == (names, kind)}
            change_keys(some, changes)
            right |= {(names, kind, key): x for key, x in some.items()}

    def subtract(self, other: Self) -> Self:
        """The costs that both of two systems have: these less the other's."""
        actual = {
            key: x - other.actual[key] for key, x in self.actual.items() if key in other.actual
        }
        names = (*self.systems, *other.systems)
        both = replace(
            self, actual=actual, systems=names, of_right=[*self.of_right, *other.of_right],
            right=self.sums.by_bag["right", *names],
        )  # fmt: skip
        shared = [key for key in self.mirrored if key in other.mirrored]
        mirrored = {key: np.zeros(0) for key in shared if both.costs_of_right(key)[1].any()}
        return replace(both, mirrored=mirrored)


def _difference(values: Sequence[Floats]) -> Floats:
    with np.errstate(invalid="ignore"):
        return values[0] if len(values) == 1 else values[0] - values[1]
