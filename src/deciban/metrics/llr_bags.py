"""LLRs of samples beyond memory: sums of their costs over bags, in the place of the samples.

The functions of :mod:`deciban.metrics.llr_intervals` say which sums they need when they are called
with those of a :class:`Recorder`. One pass over the samples then computes all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.bags import BagDesign, BagSums, Hashes, PartSums, folds_of
from deciban.metrics.llr_intervals import LlrSample, LlrUnits, Step, Terms
from deciban.metrics.recalibration import (
    ENOUGH,
    FoldMaps,
    Recalibration,
    apply_maps,
    fit_llr_map,
)
from deciban.metrics.sample_costs import Allowance, SampleCosts
from deciban.metrics.sorted_runs import FOLDS, PooledRuns

N_SOME = ENOUGH  # LLRs of each class and fold to fit affine maps to


_AS_THEY_ARE = ("mass", "as is", "above", "right", "costs", "mirrored costs")  # kinds of columns


class Column(NamedTuple):
    """A cost, or an event, that every sample has of one of the systems.

    The kinds are those of :meth:`LlrUnits.column`; "mass", one for each; "above" a threshold;
    "right" for LLRs on the right side of a ``threshold``, or after recalibration where it is None;
    "costs" and "mirrored costs" of samples that are right. ``beside`` is another system that is
    right, too, or that is not above the threshold.
    """

    system: int
    kind: str
    terms: Terms | None = None
    threshold: float | None = 0.0
    beside: int | None = None


class Recorder(Mapping[Column, Floats]):
    """Sums that stand for those that are not known yet, and remember which were asked for."""

    def __init__(self, mass: Floats) -> None:
        self.mass = mass
        self.columns: dict[Column, None] = {}

    def __getitem__(self, column: Column) -> Floats:
        kind, by, _ = column.kind.partition(" by ")
        kinds = [f"{kind} by {one}" for one in ("rising", "affine", "fitted")] if by else [kind]
        self.columns |= dict.fromkeys(column._replace(kind=one) for one in kinds)
        return self.mass * (0.2 + 0.1 * column.system)  # systems that are not the same

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class LlrMaps:
    """The maps that recalibrate the LLRs of one system, fitted with and without each fold."""

    pooled: PooledRuns
    folds: tuple[FoldMaps | None, ...]
    share: float
    finite: bool

    @classmethod
    def fit(cls, pooled: PooledRuns) -> Self:
        """Maps from what is known of all samples in the order of their LLRs."""
        counts, ends = pooled.counts, pooled.ends
        low, high = ends[..., 0].min(), ends[..., 1].max()
        finite = bool(np.isfinite([low, high]).all())
        folds: list[FoldMaps | None] = []
        for k in range(FOLDS):
            known, rest = pooled.known[k], [j for j in range(FOLDS) if j != k]
            if known is None:
                folds.append(None)
                continue
            other, target = (
                np.concatenate([pooled.some[t * FOLDS + j] for j in rest]) for t in (0, 1)
            )
            affine = fit_llr_map(other, target) if finite else None
            smallest, largest = float(ends[1, rest, 0].min()), float(ends[0, rest, 1].max())
            folds.append(FoldMaps(known, affine, smallest, largest))
        fractions = counts.sum(axis=0) / counts.sum()
        share = float(fractions @ (1 - fractions)) or np.inf
        return cls(pooled, tuple(folds), share, finite)

    def apply(self, llr: Floats, codes: NDArray[np.intp], fold: NDArray[np.int8]) -> Recalibration:
        """Recalibrate LLRs of samples of these folds."""
        folds = [(fold == k, maps) for k, maps in enumerate(self.folds)]
        return apply_maps(llr, codes == 1, self.pooled.blocks, folds, self.share, self.finite)


def sum_columns(
    llrs: Sequence[Floats],
    codes: NDArray[np.intp],
    hashes: Hashes,
    columns: Sequence[Column],
    maps: Sequence[LlrMaps],
) -> PartSums:
    """Sums of columns over the bags of these samples."""
    rows = np.concatenate([np.flatnonzero(codes == t) for t in (0, 1)])
    codes, hashes = codes[rows], hashes[rows]  # class by class, which is faster
    llrs = [llr[rows] for llr in llrs]
    fold, add = folds_of(hashes), BagSums(codes, hashes, 2)
    after = {one.system for one in columns if one.kind not in _AS_THEY_ARE or one.threshold is None}
    samples = []
    for k, (llr, one) in enumerate(zip(llrs, maps, strict=True)):
        recalibration = one.apply(llr, codes, fold) if k in after else None
        samples.append(LlrSample(llr, codes, recalibration=recalibration))
    order = sorted(columns, key=lambda one: str((one.system, one.terms)))  # one cost after another
    sums = {one: add(_evaluate(one, samples)) for one in order}
    return PartSums(add.places, np.stack([sums[one] for one in columns]))


def _evaluate(column: Column, samples: Sequence[LlrSample]) -> NDArray[Any]:
    sample, terms = samples[column.system], column.terms
    if column.kind == "mass":
        return np.ones(len(sample.llr))
    if column.kind == "above":
        assert isinstance(terms, Step)
        above = terms.above(sample.llr)
        return above if column.beside is None else above & ~terms.above(samples[column.beside].llr)
    if terms is not None and "costs" not in column.kind:
        if "affine" in column.kind and sample.recalibration.affine is None:
            return np.zeros(len(sample.llr))  # no affine map suits infinite LLRs: nobody will ask
        return sample.column(column.kind, terms)
    both = [sample] if column.beside is None else [sample, samples[column.beside]]
    sides = [s.right_after if column.threshold is None else s.right(column.threshold) for s in both]
    right = sides[0] if len(sides) == 1 else sides[0] & sides[1]
    if terms is None:
        return right
    sign = -1.0 if column.kind.startswith("mirrored") else 1.0
    return np.where(right, sample.costs(terms, sign * sample.llr), 0.0)


class LlrBags(LlrUnits):
    """Sums of the costs of LLRs over bags of samples."""

    mass: Floats

    def __init__(
        self, sums: Mapping[Column, Floats], design: BagDesign, maps: LlrMaps, system: int = 0
    ) -> None:
        self.sums, self.maps, self.system = sums, maps, system
        self.codes, self.rows, self.mass = design.codes, design.rows_by_class, design.mass
        self.counts = maps.pooled.counts.sum(axis=1)
        self.blocks, self.share = maps.pooled.blocks, maps.share

    def column(self, kind: str, terms: Terms) -> Floats:
        """Sums of costs by the kind of their LLRs."""
        if "affine" in kind and not self.maps.finite:
            return None  # type: ignore[return-value]
        return self.sums[Column(self.system, kind, terms)]

    def events(self, step: Step, t: int, *others: LlrBags) -> list[NDArray[Any]]:
        """Numbers of samples of a class above a threshold, or with one of two systems only."""
        columns = [Column(self.system, "above", step)]
        if others:
            pair = self.system, others[0].system
            columns = [Column(a, "above", step, beside=b) for a, b in (pair, pair[::-1])]
        return [self.sums[column][self.rows[t]] for column in columns]

    def actual_costs(self, terms: Mapping[str, Terms], threshold: float) -> SampleCosts:
        """What LLRs cost, and what they would cost with the opposite sign."""
        actual = {key: self.column("as is", one) for key, one in terms.items()}
        return self._costs(actual, terms, threshold, {})

    def bounded_costs(
        self, costs: dict[str, Floats], allowances: dict[str, Allowance]
    ) -> SampleCosts:
        """Costs of LLRs that are right where they are after recalibration."""
        return self._costs(costs, {}, None, allowances)

    def _costs(
        self,
        actual: dict[str, Floats],
        terms: Mapping[str, Terms],
        threshold: float | None,
        allowances: dict[str, Allowance],
    ) -> BagCosts:
        mirrored = {
            key: self.of_right("mirrored costs", one, threshold) for key, one in terms.items()
        }
        right = self.of_right("right", None, threshold)
        return BagCosts(
            self.codes, actual, mirrored, right, allowances, self.mass, (self,), terms, threshold
        )

    def of_right(
        self, kind: str, terms: Terms | None, threshold: float | None, beside: int | None = None
    ) -> Floats:
        """Sums over samples that are right, with another system, too, where one is given."""
        return self.sums[Column(self.system, kind, terms, threshold, beside)]

    def affine_slope(self, k: int) -> float:
        """Median of the recalibrated LLRs of some samples of a block, by the affine maps."""
        low, high = self.blocks.low[k], self.blocks.high[k]
        values = []
        for j, llr in enumerate(self.maps.pooled.some):
            maps = self.maps.folds[j % FOLDS]
            if maps is not None and maps.affine is not None:
                inside = llr[(llr >= low) & (llr <= high)]
                ends = np.array([low, high])
                values.append(maps.affine(inside if len(inside) else ends))
        return float(np.median(np.concatenate(values)) if values else self.blocks.llr[k])

    def same_fit(self, other: LlrBags) -> bool:
        """Whether recalibration by PAV makes the same of both."""
        a, b = self.blocks, other.blocks
        return all(np.array_equal(getattr(a, x), getattr(b, x)) for x in ("target", "other")) and (
            np.array_equal(self.of_right("right", None, None), other.of_right("right", None, None))
        )


@dataclass(frozen=True)
class BagCosts(SampleCosts):
    """What bags of samples add to quantities; ``right`` are numbers of samples.

    ``units`` are the bags of one system, or of two whose costs are subtracted.
    """

    units: tuple[LlrBags, ...] = ()
    terms: Mapping[str, Terms] = field(default_factory=dict)
    threshold: float | None = None

    def wrong(self, t: int) -> NDArray[Any]:
        """How many samples of each bag of a class are not right."""
        rows = self.rows_by_class[t]
        return self.units[0].mass[rows] - self.right[rows]

    def costs_of_right(self, key: str) -> tuple[Floats, Floats]:
        """Sums over the right samples of each class: of their costs, and of these mirrored."""
        D = len(self.counts)
        actual, mirrored = (
            np.bincount(self.codes, self._of_right(kind, self.terms[key]), D).astype(float)
            for kind in ("costs", "mirrored costs")
        )
        return actual, mirrored

    def _of_right(self, kind: str, terms: Terms) -> Floats:
        if len(self.units) == 1:
            return self.units[0].of_right(kind, terms, self.threshold)
        a, b = self.units
        mine, theirs = (
            one.of_right(kind, terms, self.threshold, beside.system)
            for one, beside in ((a, b), (b, a))
        )
        return mine - theirs

    def subtract(self, other: Self) -> Self:
        """The costs that both of two systems have: these less the other's."""
        actual = {
            key: x - other.actual[key] for key, x in self.actual.items() if key in other.actual
        }
        both = replace(
            self, actual=actual, mirrored={}, units=(*self.units, *other.units),
            right=self.units[0].of_right("right", None, self.threshold, other.units[0].system),
            allowances=self._subtract_allowances(other),
        )  # fmt: skip
        gaps = {key: both._of_right("mirrored costs", one) for key, one in self.terms.items()}
        return replace(both, mirrored={key: gap for key, gap in gaps.items() if gap.any()})
