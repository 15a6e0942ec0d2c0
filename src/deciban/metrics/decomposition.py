"""Total cost = calibration + discrimination, for any number of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._estimation.affine import fit_affine
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
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled
from deciban.metrics.pav import pool_with_misleading
from deciban.simplex import Basis, logparts

Family = Literal["scalar", "diagonal", "full", "pav", "monotone"]
_Recalibration = Callable[[Labelled, Labelled, Floats, Any], Floats]


class Decomposition(NamedTuple):
    """A cross-entropy and its parts, in one unit; ``total = calibration + discrimination``.

    Attributes
    ----------
    total : float
        Cross-entropy of the evidence as it is.
    calibration : float
        The part that recalibration takes away.
    discrimination : float
        The part that stays.

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
    """Cross-entropy as the part that recalibration would take away, and the part that stays.

    Discrimination is the cross-entropy of the evidence after the best map of a family, each sample
    recalibrated by a map that was fitted without it. A map of this family, learned from this much
    data, would save the calibration part; another kind of recalibration might save more. Where the
    map does not help it is not used: discrimination is never above the total.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur at least ``cv`` times.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
    calibrator : {"scalar", "diagonal", "full", "pav", "monotone"}, default "full"
        Family of maps. Affine maps of the ILRLs have one factor for all coordinates (a
        temperature), one for each, or a whole matrix, and always an offset. For two classes, "pav"
        is any monotone map, fitted with one misleading sample of each class added, so that no LLR
        becomes infinite; "monotone" is the same for two classes, and for more a smooth map that is
        the gradient of a convex function, which is what monotone means there.
    cv : int, default 5
        Number of folds.
    groups : array of shape (n_samples,), optional
        Unit that was sampled, such as the speaker: no group is in two folds. Repeated samples, too,
        are a group.
    prior : array of shape (n_classes,) or mapping, default uniform
        Prior of the cross-entropy.
    unit : {"nat", "bit", "ban", "deciban"}
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0
        Source of the folds.

    Returns
    -------
    Decomposition

    See Also
    --------
    cross_entropy : The total.
    cllr_cal : Two classes, any monotone map, fitted on the same samples.
    deciban.calibration.AffineCalibrator : The affine map as a calibrator.
    deciban.calibration.MonotoneCalibrator : The monotone map as a calibrator.

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


def recalibrate(
    data: Labelled, family: Family, prior: Floats, folds: list[NDArray[np.bool_]] | None = None
) -> Floats:
    """Log-posteriors of each sample after the best map of a family, fitted without its fold.

    Without folds the map is fitted to all samples.
    """
    apply: _Recalibration = _MAPS.get(family, _recalibrate_affinely)
    if folds is None:
        return apply(data, data, prior, family)
    log_p = np.empty((len(data.codes), data.evidence.n_classes))
    for held_out in folds:
        fitted, new = (data.select(np.flatnonzero(rows)) for rows in (~held_out, held_out))
        log_p[held_out] = apply(fitted, new, prior, family)
    return log_p


class PosteriorMap(NamedTuple):
    """An affine map of the ILRLs in the Gram-Schmidt basis, and the prior to apply after it."""

    affine: AffineMap
    prior: Floats

    @classmethod
    def fit(cls, data: Labelled, prior: Floats, scale: Scale) -> Self:
        """The map that suits these samples best."""
        weight = balance_weights(data.codes, data.weight, prior)
        V, log_p = Basis.gram_schmidt(len(prior)).contrast, np.log(prior)
        l, sizes = gram_schmidt_ilr(data), data.sizes
        return cls(fit_affine(l, data.codes, weight, log_p, V, scale, class_sizes=sizes), prior)

    def __call__(self, data: Labelled) -> Floats:
        """Log-posteriors of samples after the map."""
        V = Basis.gram_schmidt(len(self.prior)).contrast
        return np.asarray(
            logparts.closure(self.affine(gram_schmidt_ilr(data)) @ V.T + np.log(self.prior))
        )


def gram_schmidt_ilr(data: Labelled) -> Floats:
    """ILRLs in the Gram-Schmidt basis of the classes in their order."""
    D = data.evidence.n_classes
    return data.evidence.ilr(Basis(Basis.gram_schmidt(D).contrast, data.evidence.classes))


def _recalibrate_affinely(data: Labelled, new: Labelled, prior: Floats, scale: Any) -> Floats:
    """Log-posteriors of new samples after the affine map that suits the data best."""
    return PosteriorMap.fit(data, prior, scale)(new)


def _recalibrate_by_pav(data: Labelled, new: Labelled, prior: Floats, family: str) -> Floats:
    """Log-posteriors of new samples after the monotone map that suits the data best."""
    if data.evidence.n_classes != 2:
        raise InputError(
            f"evidence for calibrator {family!r} must be over two classes; got "
            f"{data.evidence.n_classes}. Choose another family, or use evidence.restrict."
        )
    first, second = data.evidence.classes
    blocks = pool_with_misleading(data.pair(1, 0))
    log_odds = blocks.transform(new.evidence.llr(second, first)) + np.log(prior[1] / prior[0])
    return -np.column_stack([softplus(log_odds), softplus(-log_odds)])


def _recalibrate_monotonely(data: Labelled, new: Labelled, prior: Floats, family: str) -> Floats:
    """Log-posteriors of new samples after PAV, or the gradient of a convex function."""
    if len(prior) == 2:
        return _recalibrate_by_pav(data, new, prior, family)
    weight = balance_weights(data.codes, data.weight, prior)
    V, log_p = Basis.gram_schmidt(len(prior)).contrast, np.log(prior)
    fitted = fit_monotone(gram_schmidt_ilr(data), data.codes, weight, log_p, V, data.sizes)
    return np.asarray(logparts.closure(fitted(gram_schmidt_ilr(new)) @ V.T + log_p))


_MAPS: dict[str, _Recalibration] = {
    "pav": _recalibrate_by_pav,
    "monotone": _recalibrate_monotonely,
}


def split_folds(
    codes: NDArray[np.intp], cv: int, groups: ArrayLike | None, rng: Seed
) -> list[NDArray[np.bool_]]:
    """Masks of the folds, each with its share of every class."""
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
    return [fold == k for k in range(cv)]


def _split_groups(
    codes: NDArray[Any], cv: int, groups: NDArray[Any], rng: np.random.Generator
) -> list[NDArray[np.bool_]]:
    """Masks of folds that share no group: each group goes to the fold that needs its classes."""
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
    return [fold[place] == k for k in range(cv)]
