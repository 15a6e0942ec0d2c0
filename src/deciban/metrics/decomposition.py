"""Total cost = calibration + discrimination, for any number of classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from deciban._estimation.affine import fit_affine
from deciban._validation import align_by_index, factorize_labels, read_labels
from deciban.evidence import Unit, from_nats
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.metrics.costs import softplus
from deciban.metrics.labelled import Labelled, Scores, Trials, read_labelled, share_out
from deciban.metrics.pav import add_misleading, pool
from deciban.simplex import Basis, logparts

Family = Literal["scalar", "diagonal", "full", "pav"]


class Decomposition(NamedTuple):
    """A cross-entropy and its parts, in one unit; ``total = calibration + discrimination``."""

    total: float
    calibration: float
    discrimination: float


def decompose(
    y_true: ArrayLike,
    log_likelihoods: Any,
    *,
    calibrator: Family = "full",
    cv: int = 5,
    groups: Any = None,
    prior: Any = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    rng: Any = 0,
) -> Decomposition:
    """Cross-entropy as what recalibration would take away, and what would be left.

    Discrimination is the cross-entropy of the evidence after the best map of a named family,
    each sample recalibrated by a map that was fitted without it. The figures mean: a map of this
    family, learnt from this much data, would save the calibration part. They do not mean that no
    other recalibration could save more. Where the map does not pay, it is not used: discrimination
    is never above the total.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur at least ``cv`` times.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
    calibrator : {"scalar", "diagonal", "full", "pav"}, default "full"
        Affine maps of the ILRLs: one factor for all coordinates (a temperature), one for each, or
        a whole matrix; an offset in each case. For two classes also "pav": any monotone map, with
        one misleading sample of each class added so that no LLR becomes infinite.
    cv : int, default 5
        Number of folds.
    groups : array of shape (n_samples,), optional
        What was sampled, such as the speaker: no group is in two folds. Repeated samples, too, are
        a group.
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
    y_true, log_likelihoods, sample_weight, groups = align_by_index(
        y_true=y_true,
        log_likelihoods=log_likelihoods,
        sample_weight=sample_weight,
        groups=groups,
    )
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    prior_logs = log_prior(prior, data.evidence.classes, 1)[0]
    weight = balanced(data, np.exp(prior_logs))
    judge = judged(data, calibrator, weight, prior_logs)
    recalibrated = np.empty(len(weight))
    for held_out in folds_of(data.codes, cv, groups, rng):
        recalibrated[held_out] = judge(~held_out, held_out)
    log_p = data.evidence.log_posterior(np.exp(prior_logs))
    total = float(-weight @ log_p[np.arange(len(weight)), data.codes])
    discrimination = min(total, float(weight @ recalibrated))
    parts = (total, total - discrimination, discrimination)
    return Decomposition(*(float(from_nats(part, unit)) for part in parts))


def balanced(data: Labelled, prior: np.ndarray) -> np.ndarray:
    """Weights that give each class its prior probability; they sum to one."""
    weight = np.ones(len(data.codes)) if data.weight is None else data.weight / data.weight.max()
    total = np.bincount(data.codes, weights=weight, minlength=len(prior))
    return weight * (prior / total)[data.codes]


def judged(data: Labelled, family: str, weight: np.ndarray, prior_logs: np.ndarray) -> _Judge:
    """What fits a calibrator of a family to some samples and judges others."""
    if family not in get_args(Family):
        raise InputError(
            f"calibrator must be one of {', '.join(get_args(Family))}; got {family!r}. "
            f"Choose one of them."
        )
    if family != "pav":
        return AffineJudge(data, family, weight, prior_logs)
    if data.evidence.n_classes != 2:
        raise InputError(
            f"calibrator 'pav' must have two classes; got {data.evidence.n_classes}. "
            f"Choose an affine family, or two classes with evidence.restrict."
        )
    return _PavJudge(data, weight, prior_logs)


class AffineJudge:
    """Losses of held-out samples after the affine map that suits the others best."""

    def __init__(
        self, data: Labelled, scale: Any, weight: np.ndarray, prior_logs: np.ndarray
    ) -> None:
        self.V = Basis.gram_schmidt(data.evidence.n_classes).contrast
        self.l = data.evidence.ilr(Basis(self.V, data.evidence.classes))
        self.scale, self.truth = scale, data.codes
        self.weight, self.prior_logs = weight, prior_logs

    def log_posteriors(self, kept: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        """Of the held-out samples, after the map that suits the kept ones."""
        share = self.weight[kept] / self.weight[kept].sum()
        truth = self.truth[kept]
        fitted = fit_affine(self.l[kept], truth, share, self.prior_logs, self.V, self.scale)
        return np.asarray(logparts.closure(fitted(self.l[held_out]) @ self.V.T + self.prior_logs))

    def __call__(self, kept: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        """Losses of the held-out samples."""
        log_p = self.log_posteriors(kept, held_out)
        return -log_p[np.arange(len(log_p)), self.truth[held_out]]


class _PavJudge:
    """Losses of held-out samples after the monotone map that suits the others best."""

    def __init__(self, data: Labelled, weight: np.ndarray, prior_logs: np.ndarray) -> None:
        self.llr = data.evidence.llr(data.evidence.classes[1], data.evidence.classes[0])
        self.truth, self.weight = data.codes, weight
        self.log_odds = float(prior_logs[1] - prior_logs[0])

    def __call__(self, kept: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        target, other = (
            Scores(self.llr[rows], share_out(self.weight[rows]))
            for rows in (kept & (self.truth == 1), kept & (self.truth == 0))
        )
        blocks = pool(add_misleading(Trials(target, other)))
        log_odds = blocks.transform(self.llr[held_out]) + self.log_odds
        return softplus(np.where(self.truth[held_out] == 1, -log_odds, log_odds))


_Judge = AffineJudge | _PavJudge


def folds_of(truth: np.ndarray, cv: int, groups: Any, rng: Any) -> list[np.ndarray]:
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
    if groups is not None:
        return _grouped_folds(truth, cv, read_labels(groups, len(truth), "groups"), generator)
    shuffled = generator.permutation(len(truth))
    order = shuffled[np.argsort(truth[shuffled], kind="stable")]
    fold = np.empty(len(truth), dtype=int)
    fold[order] = np.arange(len(truth)) % cv
    return [fold == k for k in range(cv)]


def _grouped_folds(
    truth: np.ndarray, cv: int, groups: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Masks of folds that share no group: each group goes where its classes are fewest."""
    place = factorize_labels(groups)[1]
    counts = np.zeros((place.max() + 1, truth.max() + 1))
    np.add.at(counts, (place, truth), 1)
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
