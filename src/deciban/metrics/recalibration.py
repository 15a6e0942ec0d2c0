r"""The cost of LLRs after the best monotone recalibration, bounded from both sides.

Cllr_min, the equal-error rate and the minimum detection cost are means of what samples cost after
recalibration, and the best monotone map has to be found on the samples themselves. PAV fits their
noise, too. Its map costs less on these samples than the best map does, by an optimism :math:`G`,
and more on new samples, by an excess :math:`R`. The cost on the samples is known, the cost on new
samples is estimated by cross-fitting, and the truth lies between the two.

Scaling tells where. Let the noise have standard deviation :math:`\sigma` and the fit :math:`df`
degrees of freedom. Then :math:`G + R = 2 \sigma^2 df` (Stein), and since the fit minimizes the
cost, :math:`\sigma \, dG / d\sigma = 2 \sigma^2 df`. Where the optimism grows as :math:`\sigma^a`,
this gives :math:`R = (a - 1) G`. A best map that rises strictly has :math:`a = 4/3` (PAV converges
at the rate of a cube root), so that :math:`R = G / 3`; one that is made of steps has :math:`a = 2`
and :math:`R = G`, like a model with a fixed number of parameters. Maps of K folds are fitted to
a share of :math:`s = (K - 1) / K` of the samples, for which R is larger by :math:`s^{-2/3}` and
:math:`s^{-1}`.

An affine map that was fitted without the sample bounds the cost from above just as well, and often
more closely: it needs far fewer samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._validation.arrays import Floats
from deciban.evidence.bayes import balance_weights
from deciban.metrics.designs import Design
from deciban.metrics.labelled import Scores, Terms, Trials
from deciban.metrics.partitions import FOLDS
from deciban.metrics.pav import PooledBlocks, pool, pool_with_misleading
from deciban.metrics.pav_in_parts import PooledRuns
from deciban.simplex import Basis

Split = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # samples held out, and samples to fit to

_FOLDS, _FEW_FOLDS = 5, 2
_MANY = 200_000  # samples, to which PAV hardly overfits: few folds are enough
ENOUGH = 20_000  # samples of a class that determine an affine map of LLRs


class Bounds(NamedTuple):
    """Bounds on the cost of each sample after recalibration."""

    lower: Floats
    upper: Floats
    by: str  # "fitted", "affine", or "rising": between PAV with and without the sample's fold


def bound_costs(
    fitted: Floats,
    held_out: Floats,
    affine: Floats | None,
    shown: Floats,
    shown_affine: Floats | None,
    *,
    share: float,
    total: Callable[[Floats], float],
) -> Bounds:
    """Bounds from the costs of each sample or bucket after recalibration by several maps.

    ``shown`` are held-out costs, but PAV's if a sample lies beyond the whole other class.
    """
    upper, by = rising_costs(fitted, held_out, share), "rising"
    if affine is not None and shown_affine is not None:
        if total(affine) < total(upper):
            upper, by = affine, "affine"
        if total(affine) < total(held_out):
            shown = shown_affine
    steps = 1 / (1 + 1 / share)  # G / (G + R) of a map that is made of steps
    lower = fitted + steps * (shown - fitted)
    if total(fitted) > total(upper):
        upper, by = fitted, "fitted"
    most, excess = total(upper) - total(fitted), total(lower) - total(fitted)
    if excess > most:  # what PAV costs in either class, but no more than the upper bound
        lower = fitted + most / excess * (lower - fitted)
    return Bounds(lower, upper, by)


def rising_costs(fitted: Floats, held_out: Floats, share: float) -> Floats:
    """Costs of the best map if it rises strictly; ``share`` is the fraction it was fitted to."""
    weight = 1 / (1 + share ** (-2 / 3) / 3)  # G / (G + R)
    return fitted + weight * (held_out - fitted)


class LlrMap(NamedTuple):
    factor: float
    offset: float

    def __call__(self, llr: Floats) -> Floats:
        return self.factor * llr + self.offset


class FoldMaps(NamedTuple):
    """Maps for the samples in a fold, fitted to the others; no affine map for infinite LLRs."""

    blocks: PooledBlocks
    affine: LlrMap | None
    smallest_target: float
    largest_other: float


@dataclass(frozen=True)
class LlrSample:
    """LLRs in favor of class 1, the true classes, and LLRs recalibrated by several maps."""

    llr: Floats
    codes: NDArray[np.intp]
    fitted: Any = None  # by PAV on all samples
    held_out: Any = None  # by PAV without the fold, with a misleading sample a class
    affine: Any = None  # by an affine map without the fold; None with infinite LLRs
    alone: Any = None  # whether a sample is held out beyond the whole other class

    @cached_property
    def _places(self) -> list[Any]:
        n = len(self.codes) - int(self.codes.sum())
        if not self.codes[:n].any():  # class by class: then nothing need be gathered
            return [slice(n), slice(n, None)]
        return [np.flatnonzero(self.codes == t) for t in (0, 1)]

    def cost(self, terms: Terms, llr: Floats) -> Floats:
        values = np.empty(len(llr))
        for t, rows in enumerate(self._places):
            values[rows] = terms(llr[rows], t)
        return values

    def right(self, threshold: float | None) -> NDArray[np.bool_]:
        """Correct side of a threshold; None asks the recalibrated LLRs, at zero."""
        llr, at = (self.fitted, 0.0) if threshold is None else (self.llr, threshold)
        return np.where(self.codes == 1, llr >= at, llr <= at)

    def fitted_columns(self, terms: Terms, share: float, *, saving: bool) -> dict[str, Floats]:
        """Costs after recalibration, and what that gains or loses."""
        columns = {"fitted": self.cost(terms, self.fitted)}
        for kind, llr in (("held_out", self.held_out), ("affine", self.affine)):
            if llr is not None:
                columns[kind] = self.cost(terms, llr)
                columns[f"shown_{kind}"] = np.where(self.alone, columns["fitted"], columns[kind])
        if saving:
            rising = rising_costs(columns["fitted"], columns["held_out"], share)
            for by in ("rising", "fitted", "affine"):
                if (after := rising if by == "rising" else columns.get(by)) is None:
                    continue
                gap = self.cost(terms, self.llr) - after
                columns[f"gain by {by}"] = np.maximum(gap, 0.0)
                columns[f"loss by {by}"] = np.maximum(-gap, 0.0)
        return columns


@dataclass(frozen=True)
class Recalibrator:
    """PAV fitted to all samples, and maps for each fold, fitted without it."""

    blocks: PooledBlocks
    folds: Sequence[FoldMaps | None]  # none if the others lack a class
    some: Sequence[Floats]  # LLRs in each fold
    share: float  # fraction of the samples that maps without a fold are fitted to
    finite: bool

    @classmethod
    def fit(cls, llr: Floats, codes: NDArray[np.intp], splits: Sequence[Split]) -> Self:
        is_target, finite = codes == 1, bool(np.isfinite(llr).all())
        folds: list[FoldMaps | None] = []
        for _, known in splits:
            target, other = llr[known & is_target], llr[known & ~is_target]
            if not (len(target) and len(other)):
                folds.append(None)
                continue
            some = [x[:: len(x) // ENOUGH + 1] for x in (other, target)]
            affine = fit_llr_map(*some) if finite else None
            blocks = pool_with_misleading(Trials(Scores(target), Scores(other)))
            folds.append(FoldMaps(blocks, affine, float(target.min()), float(other.max())))
        # One sample of each class: what is held out is all that bounds costs.
        share = sum(float(new.mean() * known.mean()) for new, known in splits) or np.inf
        blocks = pool(Trials(Scores(llr[is_target]), Scores(llr[~is_target])))
        return cls(blocks, folds, [llr[new] for new, _ in splits], share, finite)

    @classmethod
    def of_runs(cls, pooled: PooledRuns) -> Self:
        counts, ends, some = pooled.counts, pooled.ends, pooled.some
        finite = bool(np.isfinite([ends[..., 0].min(), ends[..., 1].max()]).all())
        folds: list[FoldMaps | None] = []
        for known, rest in zip(pooled.known, (1, 0), strict=True):
            if known is None:
                folds.append(None)
                continue
            affine = fit_llr_map(some[rest], some[FOLDS + rest]) if finite else None
            folds.append(FoldMaps(known, affine, float(ends[1, rest, 0]), float(ends[0, rest, 1])))
        fractions = counts.sum(axis=0) / counts.sum()
        share = float(fractions @ (1 - fractions)) or np.inf
        by_fold = [np.concatenate(some[k::FOLDS]) for k in range(FOLDS)]
        return cls(pooled.blocks, folds, by_fold, share, finite)

    def apply(
        self, llr: Floats, codes: NDArray[np.intp], held_out: Iterable[NDArray[np.bool_]]
    ) -> LlrSample:
        """Recalibrate LLRs; ``held_out`` has a mask for each fold."""
        after, alone = np.zeros(len(llr)), np.zeros(len(llr), dtype=bool)
        affine = np.zeros(len(llr)) if self.finite else None
        for new, maps in zip(held_out, self.folds, strict=True):
            if maps is None:
                alone[new] = True  # nothing is known, and an LLR of zero says so
                continue
            some = llr[new]
            after[new] = maps.blocks.transform(some)
            beyond = some > maps.largest_other, some < maps.smallest_target
            alone[new] = np.where(codes[new] == 1, *beyond)
            if affine is not None and maps.affine is not None:
                affine[new] = maps.affine(some)
        return LlrSample(llr, codes, self.blocks.transform(llr), after, affine, alone)

    def affine_slope(self, k: int) -> float:
        """Median affine LLR in a block; PAV's LLR if some are infinite."""
        if not self.finite:
            return float(self.blocks.llr[k])
        ends = np.array([self.blocks.low[k], self.blocks.high[k]])
        inside = [llr[(llr >= ends[0]) & (llr <= ends[1])] for llr in self.some]
        if not any(map(len, inside)):
            inside = [ends for _ in inside]
        after = [
            0 * llr if maps is None or maps.affine is None else maps.affine(llr)
            for llr, maps in zip(inside, self.folds, strict=True)
        ]
        return float(np.median(np.concatenate(after)))


def split_samples(llr: Floats, codes: NDArray[np.intp], design: Design) -> list[Split]:
    """Samples to hold out and samples to fit to; random splits ignore the order of the samples."""
    if design.depends:
        return [*design.folds(_FOLDS)]
    rng, n_folds = np.random.default_rng(0), _FEW_FOLDS if len(llr) > _MANY else _FOLDS
    fold = np.empty(len(llr), dtype=np.int8)
    for k in range(2):
        rows = np.flatnonzero(codes == k)
        fold[rows[np.argsort(llr[rows], kind="stable")]] = rng.permutation(len(rows)) % n_folds
    return [(fold == k, fold != k) for k in range(n_folds)]


def fit_llr_map(other: Floats, target: Floats) -> LlrMap:
    """The affine map, rising if possible, with the lowest cost at even odds.

    As for PAV, a misleading sample is added to each class, here at the mean of the other class and
    with half the weight: classes far apart in these samples need not be so in others.
    """
    some = [other, target]
    size = max(float(np.abs(x).max()) for x in some) or 1.0  # of which the square may overflow
    some = [x / size for x in some]
    llr = np.concatenate([*some, [some[1].mean(), some[0].mean()]])
    codes = np.concatenate([np.repeat([0, 1], [len(x) for x in some]), [0, 1]])
    weight = np.concatenate([np.ones(len(llr) - 2), [0.5, 0.5]])
    V, even = Basis.gram_schmidt(2).contrast, np.full(2, 0.5)
    unit = float(V[1, 0] - V[0, 0])  # an LLR is this multiple of the ILRL
    matrix, offset = fit_affine(
        llr[:, None] / unit, codes, balance_weights(codes, weight, even), np.log(even), V, "scalar"
    )
    if matrix[0, 0] < 0:  # LLRs that point the wrong way are best ignored
        return LlrMap(0.0, 0.0)
    return LlrMap(float(matrix[0, 0] / size), float(unit * offset[0]))
