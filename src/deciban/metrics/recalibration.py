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

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._validation.arrays import Floats
from deciban.evidence.bayes import balance_weights
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import add_misleading, pool
from deciban.simplex import Basis

Split = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # samples held out, and samples to fit to
Terms = Callable[[Floats], Floats]  # of the LLRs of all samples, what each of them costs
Total = Callable[[Floats], float]  # of what each sample costs, the cost of all

_FOLDS, _FEW_FOLDS = 5, 2
_MANY = 200_000  # samples, to which PAV hardly overfits: few folds are enough
_ENOUGH = 20_000  # samples of a class that determine an affine map of LLRs


class Bounds(NamedTuple):
    """What each sample costs after recalibration: a little less and a little more than it does."""

    lower: Floats
    upper: Floats


class Recalibration(NamedTuple):
    """LLRs of the samples after recalibration by several maps.

    ``alone`` tells whether a sample is held out beyond all samples of the other class: nothing
    shows then that it costs anything.
    """

    fitted: Floats  # by PAV on all samples
    held_out: Floats  # by PAV without the sample's fold, but with a misleading sample of each class
    affine: Floats | None  # by an affine map without the fold; None where LLRs are infinite
    alone: NDArray[np.bool_]
    share: float  # fraction of the samples that maps without a fold are fitted to

    def bounds(self, terms: Terms, total: Total) -> Bounds:
        """What samples cost, at least and at most."""
        fitted, held_out = terms(self.fitted), terms(self.held_out)
        rising = 1 / (1 + self.share ** (-2 / 3) / 3)  # G / (G + R) of a map that rises strictly
        steps = 1 / (1 + 1 / self.share)  # the same of a map that is made of steps
        upper, best = fitted + rising * (held_out - fitted), held_out
        if self.affine is not None:
            affine = terms(self.affine)
            upper, best = min(upper, affine, key=total), min(best, affine, key=total)
        lower = fitted + steps * (np.where(self.alone, fitted, best) - fitted)
        upper = max(upper, fitted, key=total)
        most, excess = total(upper) - total(fitted), total(lower) - total(fitted)
        if excess > most:  # what PAV costs in either class, but no more than the upper bound
            lower = fitted + most / excess * (lower - fitted)
        return Bounds(lower, upper)


def recalibrate_llrs(
    llr: Floats, codes: NDArray[np.intp], splits: Sequence[Split] | None = None
) -> Recalibration:
    """Recalibrate LLRs in favor of the class whose code is 1, by maps with and without each sample.

    ``splits`` hold out each sample once; by default they are random and do not depend on the order
    of the samples.
    """
    is_target = codes == 1
    held_out, alone = np.zeros(len(llr)), np.zeros(len(llr), dtype=bool)
    affine = np.zeros(len(llr)) if np.isfinite(llr).all() else None
    splits = splits or _random_splits(llr, codes)
    for new, known in splits:
        target, other = llr[known & is_target], llr[known & ~is_target]
        if len(target) == 0 or len(other) == 0:
            alone[new] = True  # nothing is known, and an LLR of zero says so
            continue
        trials = Trials(Scores(target), Scores(other))
        held_out[new] = pool(add_misleading(trials)).transform(llr[new])
        alone[new] = np.where(is_target[new], llr[new] > other.max(), llr[new] < target.min())
        if affine is not None:
            affine[new] = _fit_affine_map(trials)(llr[new])
    trials = Trials(Scores(llr[is_target]), Scores(llr[~is_target]))
    share = sum(float(new.mean() * known.mean()) for new, known in splits)
    share = share or np.inf  # one sample of each class: what is held out is all that bounds costs
    return Recalibration(pool(trials).transform(llr), held_out, affine, alone, share)


def _random_splits(llr: Floats, codes: NDArray[np.intp]) -> list[Split]:
    """Folds that each hold their share of every class."""
    rng, n_folds = np.random.default_rng(0), _FEW_FOLDS if len(llr) > _MANY else _FOLDS
    fold = np.empty(len(llr), dtype=np.int8)
    for k in range(2):
        rows = np.flatnonzero(codes == k)
        fold[rows[np.argsort(llr[rows], kind="stable")]] = rng.permutation(len(rows)) % n_folds
    return [(fold == k, fold != k) for k in range(n_folds)]


def _fit_affine_map(trials: Trials) -> Terms:
    """The affine map of LLRs, if possible a rising one, that costs the least at even odds.

    As for PAV a misleading sample of each class is added, here at the mean of the other class and
    with half the weight: classes that are far apart in these samples need not be so in others.
    """
    some = [x.llr[:: len(x.llr) // _ENOUGH + 1] for x in (trials.other, trials.target)]
    size = max(float(np.abs(x).max()) for x in some) or 1.0  # of which the square may overflow
    some = [x / size for x in some]
    llr = np.concatenate([*some, [some[1].mean(), some[0].mean()]])
    codes = np.concatenate([np.repeat([0, 1], [len(x) for x in some]), [0, 1]])
    weight = np.concatenate([np.ones(len(llr) - 2), [0.5, 0.5]])
    V, even = Basis.gram_schmidt(2).contrast, np.full(2, 0.5)
    unit = float(V[1, 0] - V[0, 0])  # an LLR is this multiple of the ILRL
    to_calibrated = fit_affine(
        llr[:, None] / unit, codes, balance_weights(codes, weight, even), np.log(even), V, "scalar"
    )
    if to_calibrated.matrix[0, 0] < 0:  # LLRs that point the wrong way are best ignored
        return np.zeros_like
    return lambda llr: unit * to_calibrated(llr[:, None] / (size * unit))[:, 0]
