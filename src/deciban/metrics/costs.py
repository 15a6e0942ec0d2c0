"""Costs of LLRs: Cllr and its parts, and curves over all priors."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from deciban._validation.arrays import Floats, require_finite, to_numpy
from deciban.evidence import from_nats
from deciban.exceptions import InputError
from deciban.metrics.detection import Errors, ErrorWeights
from deciban.metrics.labelled import EvidenceLike, Weights, open_trials
from deciban.metrics.pav import PooledBlocks, pool


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)), which neither overflows nor is clipped."""
    values = np.log1p(np.exp(-np.abs(x)))
    values += np.maximum(x, 0)
    return values


@dataclass(frozen=True)
class LogCost:
    """Minus the log-posterior for the true class at these prior log-odds, times a weight."""

    log_odds: float
    weight: tuple[float, float]  # for the first and for the second class

    def __call__(self, llr: Floats, t: int) -> Floats:
        log_odds = llr + self.log_odds
        return self.weight[t] * softplus(-log_odds if t else log_odds)


CLLR = LogCost(0.0, (float(from_nats(0.5, "bit")),) * 2)


def cllr(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    r"""Cost of LLRs, in bits: 0 is perfect, and saying nothing costs 1.

    :math:`\frac{1}{2} (E_1 \log_2(1 + e^{-llr}) + E_0 \log_2(1 + e^{llr}))`, a mean over the
    samples in each class: the cross-entropy at even odds.

    See Brümmer and du Preez (2006), Application-independent evaluation of speaker detection.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``, in nats. An infinite LLR on the wrong side costs infinitely much.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Warns
    -----
    ProbabilityWarning
        If 20 numbers or more all lie between 0 and 1: they may be probabilities.

    See Also
    --------
    cllr_min, cllr_cal, cross_entropy, deciban.assess

    Examples
    --------
    >>> cllr([1, 1, 0, 0], [0.0, 0.0, 0.0, 0.0])
    1.0
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(trials.means([CLLR]).sum())


def cllr_min(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    """Discrimination in bits: the Cllr that remains after the best monotone recalibration.

    :func:`pav` finds it on the same samples, so it is optimistic if they are few. It is 0 if the
    LLRs separate the classes, and 1 if they tell nothing.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`; only the order matters.

    See Also
    --------
    cllr, decompose

    Examples
    --------
    >>> cllr_min([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0])
    0.0
    """
    return cost_of_blocks(pool(open_trials(y_true, llr, sample_weight, pos_label)))


def cllr_cal(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    """Miscalibration in bits, ``cllr - cllr_min``: the cost that recalibration removes.

    It is above 0 even for calibrated LLRs, since :func:`pav` also fits noise.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`.

    See Also
    --------
    calibration_test, deciban.calibration.AffineCalibrator

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-4.0, -1.0, 0.5, 3.0]
    >>> round(cllr_cal(y, llr), 4)
    0.3491
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(trials.means([CLLR]).sum()) - cost_of_blocks(pool(trials))


def cost_of_blocks(blocks: PooledBlocks) -> float:
    """Cllr of the recalibrated LLRs; a block with one class only costs nothing."""
    both = (blocks.target > 0) & (blocks.other > 0)
    p, q = blocks.target[both], blocks.other[both]
    # The ratio could only overflow with 1e308 samples.
    return float(from_nats((p @ np.log1p(q / p) + q @ np.log1p(p / q)) / 2, "bit"))


class PriorCurve(NamedTuple):
    """A cost over prior log-odds: with the LLRs, after recalibration, and without LLRs.

    Attributes
    ----------
    log_odds : array of shape (n_points,)
        Prior log-odds, in nats.
    actual, minimum, neutral : arrays of shape (n_points,)
        Cost with the LLRs, cost after the best monotone recalibration, and cost without LLRs.

    See Also
    --------
    empirical_cross_entropy_curve, normalized_bayes_error_curve

    Examples
    --------
    >>> curve = empirical_cross_entropy_curve([0, 1], [-1.0, 2.0], log_odds=[0.0])
    >>> curve.minimum, curve.neutral
    (array([0.]), array([1.]))
    """

    log_odds: Floats
    actual: Floats
    minimum: Floats
    neutral: Floats


def empirical_cross_entropy_curve(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    log_odds: ArrayLike | None = None,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> PriorCurve:
    r"""Empirical cross-entropy (ECE) over prior log-odds, in bits.

    :math:`p E_1 \log_2(1 + e^{-(llr + o)}) + (1 - p) E_0 \log_2(1 + e^{llr + o})`, with the prior
    probability p at log-odds o. At 0 it is Cllr. ``minimum`` is after :func:`pav`, and ``neutral``
    the entropy of the prior.

    See Ramos and Gonzalez-Rodriguez (2013), Reliable support: measuring calibration of likelihood
    ratios.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`.
    log_odds : array, default 101 points from -3 to 3 bans
        Prior log-odds for ``pos_label``, in nats.

    See Also
    --------
    cllr, normalized_bayes_error_curve, deciban.plots.EmpiricalCrossEntropyDisplay

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-4.0, -1.0, 0.5, 3.0]
    >>> curve = empirical_cross_entropy_curve(y, llr, log_odds=[-2.0, 0.0, 2.0])
    >>> curve.actual.round(3)
    array([0.419, 0.849, 0.436])
    >>> curve.minimum.round(3)
    array([0.264, 0.5  , 0.264])
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    odds, blocks = _read_log_odds(log_odds), pool(trials)
    terms = [LogCost(lo, (1.0, 1.0)) for lo in odds.tolist()]
    false_alarms, misses = np.reshape(trials.means(terms), (-1, 2)).T
    mixed = np.isfinite(blocks.llr)  # recalibrated blocks with one class cost nothing at any prior
    best, target, other = blocks.llr[mixed], blocks.target[mixed], blocks.other[mixed]
    p, q = expit(odds), expit(-odds)
    certain = np.isinf(misses) | np.isinf(false_alarms)  # a prior is only rounded to zero
    with np.errstate(invalid="ignore"):
        actual = np.where(certain, np.inf, p * misses + q * false_alarms)
    shifted = [best + lo for lo in odds]
    minimum = p * [softplus(-x) @ target for x in shifted]
    minimum += q * [softplus(x) @ other for x in shifted]
    neutral = p * softplus(-odds) + q * softplus(odds)
    return PriorCurve(odds, *(from_nats(cost, "bit") for cost in (actual, minimum, neutral)))


def normalized_bayes_error_curve(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    log_odds: ArrayLike | None = None,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> PriorCurve:
    r"""Bayes error rate over prior log-odds, relative to decisions without LLRs.

    :math:`(p P_{miss} + (1 - p) P_{fa}) / \min(p, 1 - p)` at the threshold
    :math:`-\mathrm{logit}\ p`, with the prior probability p for ``pos_label``. ``minimum`` has the
    best threshold at each prior, and ``neutral`` is 1.

    See Brümmer and de Villiers (2011), The BOSARIS toolkit: theory, algorithms and code.

    Parameters
    ----------
    y_true, llr, log_odds, sample_weight, pos_label
        As for :func:`empirical_cross_entropy_curve`.

    See Also
    --------
    detection_cost, deciban.plots.NormalizedBayesErrorDisplay

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-4.0, -1.0, 0.5, 3.0]
    >>> normalized_bayes_error_curve(y, llr, log_odds=[-2.0, 0.0, 2.0]).actual
    array([0.5, 1. , 0.5])
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    odds = _read_log_odds(log_odds)
    p_false_alarm, p_miss = np.reshape(trials.means([Errors(-lo) for lo in odds]), (-1, 2)).T
    actual = ErrorWeights(odds, 0.0).cost(p_miss, p_false_alarm, normalize=True)
    costs = ErrorWeights(odds[:, None], 0.0).cost(*pool(trials).hull(), normalize=True)
    return PriorCurve(odds, actual, costs.min(axis=1), np.ones_like(odds))


def _read_log_odds(log_odds: ArrayLike | None) -> Floats:
    if log_odds is None:
        return np.linspace(-3, 3, 101) * np.log(10)
    odds = np.atleast_1d(to_numpy(log_odds, "log_odds"))
    if odds.ndim != 1:
        raise InputError(f"log_odds must be one-dimensional; got shape {odds.shape}. Flatten it.")
    require_finite(np, odds, "log_odds")
    return odds
