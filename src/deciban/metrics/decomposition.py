"""Total cost = calibration + discrimination, for any number of classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.evidence.priors import log_prior
from deciban.exceptions import InputError
from deciban.metrics.affine import Scale, fit_affine
from deciban.metrics.multiclass import Labelled, labelled
from deciban.simplex import Basis, logparts


class Decomposition(NamedTuple):
    """A cross-entropy and its parts, in one unit; ``total = calibration + discrimination``."""

    total: float
    calibration: float
    discrimination: float


def decompose(
    y_true: Any,
    log_likelihoods: Any,
    *,
    calibrator: Scale = "full",
    cv: int = 5,
    prior: Any = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
    rng: Any = 0,
) -> Decomposition:
    """Cross-entropy as what recalibration would take away, and what would be left.

    Discrimination is the cross-entropy of the evidence after the best affine map of its ILRLs,
    each sample recalibrated by a map that was fitted without it. The figures mean: a map of this
    family, learnt from this much data, would save the calibration part. They do not mean that no
    other recalibration could save more. Where the map does not pay, it is not used: discrimination
    is never above the total.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur at least ``cv`` times.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
    calibrator : {"scalar", "diagonal", "full"}, default "full"
        One factor for all ILR coordinates (a temperature), one for each, or a whole matrix; an
        offset in each case.
    cv : int, default 5
        Number of folds.
    prior : array of shape (n_classes,) or mapping, default uniform
        Under which the cross-entropy is taken.
    unit : {"nat", "bit", "ban", "deciban"}
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0
        Of the folds.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([500, 500, 500], rng=0)
    >>> parts = decompose(y, family.evidence(3 * l))  # three times as confident as it may be
    >>> parts.calibration > 10 * decompose(y, family.evidence(l)).calibration
    True
    """
    data = labelled(y_true, log_likelihoods, classes, sample_weight)
    prior_logs = log_prior(prior, data.evidence.classes, 1)[0]
    weight = _balanced(data, np.exp(prior_logs))
    basis = Basis.gram_schmidt(data.evidence.n_classes)
    l = data.evidence.ilr(Basis(basis.contrast, data.evidence.classes))
    loss = _losses(l, data.truth, prior_logs, basis)
    recalibrated = np.empty_like(loss)
    for held_out in _folds(data.truth, cv, rng):
        kept = ~held_out
        share = weight[kept] / weight[kept].sum()
        fitted = fit_affine(
            l[kept], data.truth[kept], share, prior_logs, basis.contrast, calibrator
        )
        recalibrated[held_out] = _losses(
            fitted(l[held_out]), data.truth[held_out], prior_logs, basis
        )
    total = float(weight @ loss)
    discrimination = min(total, float(weight @ recalibrated))
    parts = (total, total - discrimination, discrimination)
    return Decomposition(*(float(from_nats(part, unit)) for part in parts))


def _balanced(data: Labelled, prior: np.ndarray) -> np.ndarray:
    """Weights that give each class its prior probability; they sum to one."""
    weight = np.ones(len(data.truth)) if data.weight is None else data.weight / data.weight.max()
    total = np.bincount(data.truth, weights=weight, minlength=len(prior))
    return weight * (prior / total)[data.truth]


def _losses(l: np.ndarray, truth: np.ndarray, prior_logs: np.ndarray, basis: Basis) -> np.ndarray:
    log_p = logparts.closure(l @ basis.contrast.T + prior_logs)
    return -np.asarray(log_p)[np.arange(len(truth)), truth]


def _folds(truth: np.ndarray, cv: int, rng: Any) -> list[np.ndarray]:
    """Masks of the folds, each with its share of every class."""
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool) or cv < 2:
        raise InputError(f"cv must be a number of folds, 2 or more; got {cv!r}. Give 5.")
    fewest = int(np.bincount(truth).min())
    if fewest < cv:
        raise InputError(
            f"y_true must hold every class at least cv = {cv} times; the rarest occurs {fewest} "
            f"times. Give more samples or fewer folds."
        )
    generator = np.random.default_rng(rng)
    shuffled = generator.permutation(len(truth))
    order = shuffled[np.argsort(truth[shuffled], kind="stable")]
    fold = np.empty(len(truth), dtype=int)
    fold[order] = np.arange(len(truth)) % cv
    return [fold == k for k in range(cv)]
