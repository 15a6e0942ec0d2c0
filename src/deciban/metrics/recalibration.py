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
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._validation.arrays import Floats
from deciban.evidence.bayes import balance_weights
from deciban.metrics.designs import Design
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.partitions import FOLDS
from deciban.metrics.pav import PooledBlocks, pool, pool_with_misleading
from deciban.metrics.pav_in_parts import PooledRuns
from deciban.simplex import Basis

Split = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # samples held out, and samples to fit to
Total = Callable[[Floats], float]  # of what each sample costs, the cost of all

_FOLDS, _FEW_FOLDS = 5, 2
_MANY = 200_000  # samples, to which PAV hardly overfits: few folds are enough
ENOUGH = 20_000  # samples of a class that determine an affine map of LLRs


class Bounds(NamedTuple):
    """Lower and upper bounds on the cost of each sample after recalibration.

    ``by`` names the upper bound: "fitted", "affine", or "rising" for costs between PAV fitted to
    all samples and PAV without the sample's fold.
    """

    lower: Floats
    upper: Floats
    by: str


class RecalibratedCosts(NamedTuple):
    """Costs after recalibration by several maps, for each sample or bucket.

    The last two are those of PAV on all samples if a sample is held out beyond the whole other
    class: nothing shows then that it costs anything.
    """

    fitted: Floats  # by PAV on all samples
    held_out: Floats  # by PAV without the sample's fold, but with a misleading sample of each class
    affine: Floats | None  # by an affine map without the fold; None where LLRs are infinite
    shown_held_out: Floats
    shown_affine: Floats | None

    def bounds(self, share: float, total: Total) -> Bounds:
        fitted, by = self.fitted, "rising"
        upper = rising_costs(fitted, self.held_out, share)
        best, shown = self.held_out, self.shown_held_out
        if self.affine is not None and self.shown_affine is not None:
            if total(self.affine) < total(upper):
                upper, by = self.affine, "affine"
            if total(self.affine) < total(best):
                shown = self.shown_affine
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


class Recalibration(NamedTuple):
    """Recalibrated LLRs; ``alone`` marks samples held out beyond the whole other class."""

    fitted: Floats
    held_out: Floats
    affine: Floats | None
    alone: NDArray[np.bool_]


@dataclass(frozen=True)
class Recalibrator:
    """PAV fitted to all samples, and maps for each fold, fitted without it.

    A fold has no maps if the others lack a class. ``some`` are LLRs in each fold, and ``share`` is
    the fraction of the samples that maps without a fold are fitted to.
    """

    blocks: PooledBlocks
    folds: Sequence[FoldMaps | None]
    some: Sequence[Floats]
    share: float
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
        counts, ends, by_fold = pooled.counts, pooled.ends, range(FOLDS)
        finite = bool(np.isfinite([ends[..., 0].min(), ends[..., 1].max()]).all())
        folds: list[FoldMaps | None] = []
        for known, rest in zip(pooled.known, ([j for j in by_fold if j != k] for k in by_fold),
                               strict=True):  # fmt: skip
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
        some = [np.concatenate(pooled.some[k::FOLDS]) for k in by_fold]
        return cls(pooled.blocks, folds, some, share, finite)

    def apply(
        self, llr: Floats, codes: NDArray[np.intp], held_out: Iterable[NDArray[np.bool_]]
    ) -> Recalibration:
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
        return Recalibration(self.blocks.transform(llr), after, affine, alone)

    def affine_slope(self, k: int) -> float:
        """Median affine LLR in a block; PAV's LLR if some are infinite."""
        if not self.finite:
            return float(self.blocks.llr[k])
        ends = np.array([self.blocks.low[k], self.blocks.high[k]])
        inside = [llr[(llr >= ends[0]) & (llr <= ends[1])] for llr in self.some]
        if not any(map(len, inside)):
            inside = [ends for _ in inside]
        return float(
            np.median(
                np.concatenate(
                    [
                        0 * llr if maps is None or maps.affine is None else maps.affine(llr)
                        for llr, maps in zip(inside, self.folds, strict=True)
                    ]
                )
            )
        )


def split_samples(llr: Floats, codes: NDArray[np.intp], design: Design) -> list[Split]:
    """Samples to hold out and samples to fit to; random splits ignore the order of the samples."""
    return [*design.folds(_FOLDS)] if design.depends else _random_splits(llr, codes)


def _random_splits(llr: Floats, codes: NDArray[np.intp]) -> list[Split]:
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
