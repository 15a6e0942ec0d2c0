"""Decompose cross-entropy into calibration and discrimination, for any number of classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._estimation.affine import NewtonTerms, fit_affine, improve_affine, newton_terms
from deciban._estimation.logistic import AffineMap, Scale
from deciban._estimation.monotone import fit_monotone
from deciban._validation.arrays import Floats
from deciban._validation.labels import align_by_index, factorize_labels, read_labels
from deciban._validation.scalars import as_generator, require_one_of, require_whole
from deciban.evidence import Unit, from_nats
from deciban.evidence.bayes import Prior, balance_weights, log_prior
from deciban.exceptions import InputError
from deciban.metrics.costs import softplus
from deciban.metrics.intervals import Seed
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, class_sizes, read_labelled
from deciban.metrics.partitions import FOLDS, Partitions, Rows, folds_of
from deciban.metrics.pav import pool_with_misleading
from deciban.simplex import Basis, logparts

MANY_FOLDS = 5  # in memory
_SORTED_BY = 3  # columns of evidence that define an order of the samples
_MAX_FULL = 20  # classes; the full matrix of a hundred has 10,000 entries and takes minutes
_STEPS = 12  # of Newton's, each a pass over the samples; separable classes would take many
_LARGEST = 1e100  # nats; squares of larger ones overflow

Family = Literal["scalar", "diagonal", "full", "pav", "monotone"]


class Decomposition(NamedTuple):
    """A cross-entropy and its parts: ``total = calibration + discrimination``.

    Attributes
    ----------
    total, calibration, discrimination : float
        The cost, the part that recalibration removes, and the part that remains.

    See Also
    --------
    decompose : Returns it.

    Examples
    --------
    >>> llr = np.where(np.arange(40) % 4 > 0, 9.0, -9.0) * np.where(np.arange(40) % 2, 1, -1)
    >>> parts = decompose([0, 1] * 20, np.column_stack([0 * llr, llr]), calibrator="scalar")
    >>> round(parts.total, 2), parts.calibration > parts.discrimination
    (2.25, True)
    """

    total: float
    calibration: float
    discrimination: float


def decompose(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    calibrator: Family = "full",
    cv: int = 5,
    groups: ArrayLike | None = None,
    prior: Prior = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
    rng: Seed = 0,
) -> Decomposition:
    """Split cross-entropy into the part that recalibration removes and the part that remains.

    Discrimination is the cross-entropy after the best map from a family, fitted without the sample
    that it recalibrates. Such a map, learned from this much data, would save the calibration part;
    another family might save more. A map that does not help is not used: discrimination is never
    above the total.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur at least ``cv`` times.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
    calibrator : {"scalar", "diagonal", "full", "pav", "monotone"}, default "full"
        Family of maps. Affine maps of the ILRLs have a factor for all coordinates (a temperature),
        one for each, or a matrix, and always an offset. For two classes, "pav" is any monotone map,
        fitted with one misleading sample added to each class, so that no LLR becomes infinite.
        "monotone" is the same for two classes; for more it is the gradient of a smooth convex
        function.
    cv : int, default 5
        Number of folds.
    groups : array of shape (n_samples,), optional
        Sampling unit, such as the speaker: no group is in two folds. Repeated samples are a group.
    prior : array of shape (n_classes,) or mapping, default uniform
    unit : {"nat", "bit", "ban", "deciban"}
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0
        For the folds.

    See Also
    --------
    cross_entropy, cllr_cal, deciban.calibration.AffineCalibrator
    deciban.calibration.MonotoneCalibrator

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([500, 500, 500], rng=0)
    >>> parts = decompose(y, family.evidence(3 * l))  # three times as confident as it may be
    >>> parts.calibration > 10 * decompose(y, family.evidence(l)).calibration
    True
    """
    y_true, log_likelihoods, sample_weight, groups = align_by_index(
        y_true=y_true, log_likelihoods=log_likelihoods, sample_weight=sample_weight, groups=groups
    )
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    require_one_of(calibrator, "calibrator", get_args(Family))
    recalibrated = recalibrate(data, calibrator, p, split_folds(data.codes, cv, groups, rng))
    weight = balance_weights(data.codes, data.weight, p)
    truth = np.arange(len(data.codes)), data.codes
    total = float(-weight @ data.evidence.log_posterior(p)[truth])
    discrimination = min(total, float(-weight @ recalibrated[truth]))
    parts = (total, total - discrimination, discrimination)
    return Decomposition(*(float(from_nats(part, unit)) for part in parts))


def recalibrate(data: Labelled, family: Family, prior: Floats, fold: NDArray[np.intp]) -> Floats:
    """Log-posteriors after the best map, fitted without the sample's fold."""
    if family == "monotone" and len(prior) == 2:
        family = "pav"
    if family == "pav" and len(prior) != 2:
        raise InputError(
            f"evidence for calibrator 'pav' must be over two classes; got {len(prior)}. Choose "
            f"another family, or use evidence.restrict."
        )
    log_p = np.empty((len(data.codes), len(prior)))
    first, second = data.classes[:2]
    l = data.evidence.llr(second, first) if family == "pav" else gram_schmidt_ilr(data)
    for k in range(fold.max() + 1):
        rest = fold != k
        if family == "pav":
            blocks = pool_with_misleading(data.select(rest).pair(1, 0))
            log_odds = blocks.transform(l[~rest]) + np.log(prior[1] / prior[0])
            log_p[~rest] = -np.column_stack([softplus(log_odds), softplus(-log_odds)])
        else:
            weight = None if data.weight is None else data.weight[rest]
            fitted = PosteriorMap.fit(l[rest], data.codes[rest], prior, family, weight)
            log_p[~rest] = fitted(l[~rest])
    return log_p


class PosteriorMap(NamedTuple):
    """A map of the ILRLs in the Gram-Schmidt basis, and the prior to apply after it."""

    ilrl: Any  # AffineMap or ConvexGradient
    prior: Floats

    @classmethod
    def fit(
        cls, l: Floats, codes: NDArray[np.intp], prior: Floats,
        family: Scale | Literal["monotone"], weight: Floats | None = None,
    ) -> Self:  # fmt: skip
        problem = l, codes, balance_weights(codes, weight, prior), np.log(prior)
        V = Basis.gram_schmidt(len(prior)).contrast
        sizes = class_sizes(codes, np.ones(len(codes)) if weight is None else weight)
        if family == "monotone":
            return cls(fit_monotone(*problem, V, sizes), prior)
        return cls(fit_affine(*problem, V, family, class_sizes=sizes), prior)

    def __call__(self, l: Floats) -> Floats:
        V = Basis.gram_schmidt(len(self.prior)).contrast
        return np.asarray(logparts.closure(self.ilrl(l) @ V.T + np.log(self.prior)))


def gram_schmidt_ilr(data: Labelled) -> Floats:
    basis = Basis.gram_schmidt(data.evidence.n_classes)
    return data.evidence.ilr(Basis(basis.contrast, data.classes))


def split_folds(
    codes: NDArray[np.intp], cv: int, groups: ArrayLike | None, rng: Seed
) -> NDArray[np.intp]:
    require_whole(cv, "cv", 2, remedy="Give a number of folds, such as 5.")
    fewest = int(np.bincount(codes).min())
    if fewest < cv:
        raise InputError(
            f"y_true must hold every class at least cv = {cv} times; the rarest occurs {fewest} "
            f"times. Give more samples or fewer folds."
        )
    generator = as_generator(rng)
    if groups is not None:
        return _split_groups(codes, cv, read_labels(groups, len(codes), "groups"), generator)
    shuffled = generator.permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=int)
    fold[order] = np.arange(len(codes)) % cv
    return fold


def _split_groups(
    codes: NDArray[Any], cv: int, groups: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.intp]:
    place = factorize_labels(groups)[1]
    counts = np.zeros((place.max() + 1, codes.max() + 1))
    np.add.at(counts, (place, codes), 1)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]  # the largest first
    held = np.zeros((cv, counts.shape[1]))
    fold = np.empty(len(counts), dtype=int)
    share = counts.sum(axis=0)
    for group in order:
        crowding = ((2 * held + counts[group]) * counts[group] / share).sum(axis=1)
        fold[group] = int(np.argmin(crowding))
        held[fold[group]] += counts[group]
    if ((share - held) == 0).any():
        raise InputError(
            f"groups must leave every class in the samples of {cv - 1} of {cv} folds; they do not. "
            f"Give more groups of the rarest class, or fewer folds."
        )
    return fold[place]


class FoldMaps(NamedTuple):
    """Affine maps fitted without each fold, and one fitted to all samples."""

    squares: Floats  # of the mean size of the ILRLs
    scale: Scale
    without: tuple[PosteriorMap, ...]
    fitted: PosteriorMap

    def apply(self, l: Floats, fold: NDArray[Any]) -> tuple[Floats, Floats]:
        """Log-posteriors held out, and by the map fitted to all."""
        return _hold_out(self.without, l, fold), self.fitted(l)


def fit_maps(
    l: Floats, codes: NDArray[np.intp], fold: NDArray[Any], prior: Floats
) -> FoldMaps | None:
    """A temperature or full matrices of ILRLs, whichever suits held-out samples better.

    None if a fold lacks a class, or no map has a finite cost.
    """
    parts = [fold != k for k in range(int(fold.max()) + 1)]
    if not all(np.bincount(codes[part], minlength=len(prior)).all() for part in parts):
        return None
    truth, counts = (np.arange(len(codes)), codes), np.bincount(codes)
    scales: list[Scale] = ["scalar", "full"] if len(prior) <= _MAX_FULL else ["scalar"]
    best, least = None, np.inf
    for scale in scales:
        without = tuple(PosteriorMap.fit(l[part], codes[part], prior, scale) for part in parts)
        sums = np.bincount(codes, -_hold_out(without, l, fold)[truth])
        if (cost := float(prior @ (sums / counts))) < least:
            best, least = (scale, without), cost
    squares = np.minimum(np.abs(l).mean(axis=0), _LARGEST) ** 2
    return best and FoldMaps(squares, *best, PosteriorMap.fit(l, codes, prior, best[0]))


def _hold_out(maps: Sequence[PosteriorMap], l: Floats, fold: NDArray[Any]) -> Floats:
    log_p = np.empty((len(l), l.shape[1] + 1))
    for k, one in enumerate(maps):
        if (rows := fold == k).any():
            log_p[rows] = one(l[rows])
    return log_p


def recalibrate_posteriors(data: Labelled, prior: Floats) -> tuple[Floats, Floats] | None:
    """Held-out log-posteriors, and those by one map; None if nothing can be fitted.

    Folds are dealt to samples sorted by their evidence, so that their order does not matter.
    """
    fewest, values = int(data.counts.min()), data.evidence.log_likelihoods
    if fewest < 2 or np.isinf(values).any():
        return None
    order = np.lexsort([*values.T[:_SORTED_BY], data.codes])
    l, codes, back = gram_schmidt_ilr(data)[order], data.codes[order], np.argsort(order)
    fold = split_folds(codes, min(MANY_FOLDS, fewest), None, 0)
    maps = fit_maps(l, codes, fold, prior)
    if maps is None:
        return None
    held_out, fitted = maps.apply(l, fold)
    return held_out[back], fitted[back]


def improve_maps(
    data: Partitions, maps: Sequence[FoldMaps | None], prior: Floats, by_fold: NDArray[np.intp]
) -> list[FoldMaps | None]:
    """Newton steps over all samples, from maps for some of them.

    ``by_fold``, (n_folds, n_classes), are sample counts. All maps take each step in the same pass.
    """
    searches = {
        (k, fold): improve_affine(each.ilrl, one.scale, one.squares, _STEPS)
        for k, one in enumerate(maps)
        if one is not None
        for fold, each in enumerate((*one.without, one.fitted))
    }
    asked, found = {key: next(one) for key, one in searches.items()}, {}
    counts = by_fold.sum(axis=0)
    weights = prior / np.array([*(counts - by_fold), counts]).clip(1)
    scales: list[Scale] = ["scalar" if one is None else one.scale for one in maps]
    while asked:
        function = partial(
            _sum_terms, asked=asked, scales=scales, weights=weights, prior=prior,
            classes=data.classes,
        )  # fmt: skip
        terms: dict[tuple[int, int], NewtonTerms] = {}
        for part in data.map(function, "Fitting"):
            terms |= {key: terms[key] + one if key in terms else one for key, one in part.items()}
        new = {}
        for key in asked:
            try:
                new[key] = searches[key].send(terms[key])
            except StopIteration as end:
                found[key] = PosteriorMap(end.value, prior)
        asked = new
    return [
        one
        and one._replace(
            without=tuple(found[k, fold] for fold in range(FOLDS)), fitted=found[k, FOLDS]
        )
        for k, one in enumerate(maps)
    ]


def _sum_terms(
    rows: Rows, asked: Mapping[tuple[int, int], AffineMap], scales: Sequence[Scale],
    weights: Floats, prior: Floats, classes: tuple[Hashable, ...],
) -> dict[tuple[int, int], NewtonTerms]:  # fmt: skip
    """Newton terms at each map, over its samples."""
    fold, V = folds_of(rows.hashes), Basis.gram_schmidt(len(classes)).contrast
    ilrs = {k: gram_schmidt_ilr(rows.labelled(classes, k)) for k in {k for k, _ in asked}}
    with np.errstate(all="ignore"):  # squares of huge scores overflow: their step is not taken
        return {
            (k, j): newton_terms(
                ilrs[k][fold != j], rows.codes[fold != j], weights[j], np.log(prior), V, one,
                scales[k],
            )
            for (k, j), one in asked.items()
        }  # fmt: skip
