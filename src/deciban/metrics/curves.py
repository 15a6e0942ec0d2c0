"""LLRs over all thresholds and all priors: Tippett, empirical cross-entropy, Bayes error."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from deciban._validation.arrays import Floats, require_finite, to_numpy
from deciban._validation.scalars import require_one_of
from deciban.evidence import from_nats
from deciban.exceptions import InputError
from deciban.metrics.costs import LogCost, softplus
from deciban.metrics.detection import Errors, ErrorWeights
from deciban.metrics.labelled import EvidenceLike, Weights, open_trials, read_trials
from deciban.metrics.pav import pool


class TippettCurve(NamedTuple):
    """Fraction of each class on one side of each LLR that occurs.

    Attributes
    ----------
    llr : array of shape (n_levels,)
        Rising, in nats.
    target, other : arrays of shape (n_levels,)
        Fractions of ``pos_label`` and of the other class.

    See Also
    --------
    tippett_curve : Returns it.

    Examples
    --------
    >>> tippett_curve([0, 1], [-1.0, 2.0]).other
    array([1., 0.])
    """

    llr: Floats
    target: Floats
    other: Floats


class PriorCurve(NamedTuple):
    """A cost over prior log-odds: of the LLRs, after recalibration, and without LLRs.

    Attributes
    ----------
    log_odds : array of shape (n_points,)
        Prior log-odds, in nats.
    actual, minimum, neutral : arrays of shape (n_points,)
        Cost of the LLRs, cost after the best monotone recalibration, and cost without LLRs.

    See Also
    --------
    empirical_cross_entropy_curve : Returns it.
    normalized_bayes_error_curve : Returns it.

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


def tippett_curve(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    kind: Literal["exceeding", "misleading"] = "exceeding",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> TippettCurve:
    """Cumulative distributions of the LLRs of each class, at each LLR that occurs.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``, in nats. Infinite LLRs are kept.
    kind : {"exceeding", "misleading"}
        ``exceeding``: for both classes, the fraction at or above each LLR. ``misleading``: for
        targets, the fraction at or below, so that the curves cross where both errors are equal.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    TippettCurve

    See Also
    --------
    misleading_rates : The fractions on the wrong side of zero.
    deciban.plots.TippettDisplay : Draws it.

    Examples
    --------
    >>> tippett_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0]).target
    array([1. , 1. , 0.5, 0.5])
    """
    require_one_of(kind, "kind", ("exceeding", "misleading"))
    trials = read_trials(y_true, llr, sample_weight, pos_label)
    at = trials.distinct()
    if kind == "exceeding":
        target = 1 - trials.target.below(at)
    else:
        target = trials.target.below(at, inclusive=True)
    return TippettCurve(at, target, 1 - trials.other.below(at))


def empirical_cross_entropy_curve(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    log_odds: ArrayLike | None = None,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> PriorCurve:
    r"""Cross-entropy of the posterior over prior log-odds, in bits.

    :math:`p E_1 \log_2(1 + e^{-(llr + o)}) + (1 - p) E_0 \log_2(1 + e^{llr + o})` with p the prior
    probability at log-odds o. At 0 it is Cllr.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`.
    log_odds : array, default 101 points from -3 to 3 bans
        Prior log-odds of ``pos_label``, in nats.

    Returns
    -------
    PriorCurve
        ``minimum`` is after :func:`pav`, ``neutral`` the entropy of the prior.

    See Also
    --------
    cllr : The value at even odds.
    normalized_bayes_error_curve : The same for the error rate.
    deciban.plots.EmpiricalCrossEntropyDisplay : Draws it.

    References
    ----------
    Ramos and Gonzalez-Rodriguez (2013), Reliable support: measuring calibration of likelihood
    ratios.

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
    odds, blocks = _log_odds(log_odds), pool(trials)
    false_alarms, misses = trials.means([LogCost(lo, (1.0, 1.0)) for lo in odds.tolist()]).T
    mixed = np.isfinite(blocks.llr)  # recalibrated blocks of one class cost nothing at any prior
    best, target, other = blocks.llr[mixed], blocks.target[mixed], blocks.other[mixed]
    p, q = expit(odds), expit(-odds)
    certain = np.isinf(misses) | np.isinf(false_alarms)  # a prior is only rounded to zero
    with np.errstate(invalid="ignore"):
        actual = np.where(certain, np.inf, p * misses + q * false_alarms)
    minimum = np.empty_like(odds)
    for k, lo in enumerate(odds):
        minimum[k] = p[k] * target @ softplus(-(best + lo)) + q[k] * other @ softplus(best + lo)
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
    r"""Error rate of Bayes decisions over prior log-odds, over that of deciding without LLRs.

    :math:`(p P_{miss} + (1 - p) P_{fa}) / \min(p, 1 - p)`, where p is the prior probability of
    ``pos_label`` and the error rates are those at the threshold :math:`-\mathrm{logit}\ p`.

    Parameters
    ----------
    y_true, llr, log_odds, sample_weight, pos_label
        As for :func:`empirical_cross_entropy_curve`.

    Returns
    -------
    PriorCurve
        ``minimum`` is that of the best threshold at each prior, and ``neutral`` is 1.

    See Also
    --------
    detection_cost : The cost at one prior.
    deciban.plots.NormalizedBayesErrorDisplay : Draws it.

    References
    ----------
    Brümmer and de Villiers (2011), The BOSARIS toolkit: theory, algorithms and code.

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-4.0, -1.0, 0.5, 3.0]
    >>> normalized_bayes_error_curve(y, llr, log_odds=[-2.0, 0.0, 2.0]).actual
    array([0.5, 1. , 0.5])
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    odds = _log_odds(log_odds)
    p_false_alarm, p_miss = trials.means([Errors(-lo) for lo in odds.tolist()]).T
    actual = ErrorWeights(odds, 0.0).cost(p_miss, p_false_alarm, normalize=True)
    costs = ErrorWeights(odds[:, None], 0.0).cost(*pool(trials).hull(), normalize=True)
    return PriorCurve(odds, actual, costs.min(axis=1), np.ones_like(odds))


def _log_odds(log_odds: ArrayLike | None) -> Floats:
    if log_odds is None:
        return np.linspace(-3, 3, 101) * np.log(10)
    odds = np.atleast_1d(to_numpy(log_odds, "log_odds"))
    if odds.ndim != 1:
        raise InputError(
            f"log_odds must be one row of numbers; got shape {odds.shape}. Flatten it."
        )
    require_finite(np, odds, "log_odds")
    return odds
