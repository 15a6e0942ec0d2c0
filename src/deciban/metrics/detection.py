"""Decisions at a threshold: error rates, their trade-off and what they cost."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from deciban._validation import is_number
from deciban.exceptions import InputError
from deciban.metrics.labelled import Trials, two_class_trials
from deciban.metrics.pav import pool


class ErrorRates(NamedTuple):
    """Error rates at rising thresholds; a sample is accepted where its LLR reaches the threshold.

    ``p_miss`` rises from 0 to 1, ``p_false_alarm`` falls from 1 to 0. The last entry, at +inf,
    is that of accepting nothing, not even an infinite LLR.
    """

    p_miss: np.ndarray
    p_false_alarm: np.ndarray
    threshold: np.ndarray


def det_curve(
    y_true: Any, llr: Any, *, sample_weight: Any = None, pos_label: Hashable = 1
) -> ErrorRates:
    """Miss rate against false-alarm rate at every LLR that occurs, and above all of them.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favour of ``pos_label``; any score that rises with them will do.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    ErrorRates

    Examples
    --------
    >>> p_miss, p_false_alarm, threshold = det_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> p_miss
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> p_false_alarm
    array([1. , 0.5, 0.5, 0. , 0. ])
    """
    return error_rates(two_class_trials(y_true, llr, sample_weight, pos_label))


def roc_curve(
    y_true: Any, llr: Any, *, sample_weight: Any = None, pos_label: Hashable = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """False-alarm rate, hit rate and threshold, thresholds falling, as in scikit-learn.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`.

    Examples
    --------
    >>> p_false_alarm, p_hit, threshold = roc_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> p_hit
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    rates = det_curve(y_true, llr, sample_weight=sample_weight, pos_label=pos_label)
    return rates.p_false_alarm[::-1], 1 - rates.p_miss[::-1], rates.threshold[::-1]


def eer(y_true: Any, llr: Any, *, sample_weight: Any = None, pos_label: Hashable = 1) -> float:
    """Equal-error rate, where the convex hull of the ROC curve has as many misses as false alarms.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`.

    Examples
    --------
    >>> eer([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    0.25
    """
    return equal_errors(*pool(two_class_trials(y_true, llr, sample_weight, pos_label)).hull())


def equal_errors(p_miss: np.ndarray, p_false_alarm: np.ndarray) -> float:
    """Where a line of error rates, by rising threshold, has as many misses as false alarms."""
    k = int(np.searchsorted(p_miss - p_false_alarm, 0, side="right"))  # the first corner past it
    k = min(k, len(p_miss) - 1)
    gap_before, gap_after = (p_miss - p_false_alarm)[k - 1 : k + 1]
    share = -gap_before / (gap_after - gap_before)
    return float(p_miss[k - 1] + share * (p_miss[k] - p_miss[k - 1]))


def detection_cost(
    y_true: Any,
    llr: Any,
    *,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    normalize: bool = True,
    sample_weight: Any = None,
    pos_label: Hashable = 1,
) -> float:
    """Expected cost of the decisions that the LLRs themselves ask for at an operating point.

    :math:`prior c_miss P_miss + (1 - prior) c_fa P_fa` at the Bayes threshold; an LLR on the
    threshold is accepted.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`; the LLRs in nats.
    prior : float, default 0.5
        Probability of ``pos_label``.
    cost_miss, cost_false_alarm : float, default 1
    normalize : bool, default True
        Divide by the cost of the better decision without any LLR.

    Examples
    --------
    >>> detection_cost([0, 1, 0, 1], [-2.0, -1.0, 0.5, 3.0], prior=0.5)
    1.0
    """
    point = operating_point(prior, cost_miss, cost_false_alarm)
    trials = two_class_trials(y_true, llr, sample_weight, pos_label)
    p_miss = trials.target.mean(trials.target.llr < point.threshold)
    p_false_alarm = trials.other.mean(trials.other.llr >= point.threshold)
    return float(point.cost(p_miss, p_false_alarm, normalize))


def min_detection_cost(
    y_true: Any,
    llr: Any,
    *,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    normalize: bool = True,
    sample_weight: Any = None,
    pos_label: Hashable = 1,
) -> float:
    """Expected cost at an operating point with the best threshold, chosen on the same samples.

    Parameters
    ----------
    y_true, llr, prior, cost_miss, cost_false_alarm, normalize, sample_weight, pos_label
        As for :func:`detection_cost`.
    """
    point = operating_point(prior, cost_miss, cost_false_alarm)
    hull = pool(two_class_trials(y_true, llr, sample_weight, pos_label)).hull()
    return float(np.min(point.cost(*hull, normalize)))


class OperatingPoint(NamedTuple):
    """Logarithms of what a miss and a false alarm cost, prior and all."""

    log_miss: float
    log_false_alarm: float

    @property
    def threshold(self) -> float:
        """The LLR from which on accepting is the better decision, in nats."""
        return self.log_false_alarm - self.log_miss

    def cost(self, p_miss: Any, p_false_alarm: Any, normalize: bool) -> Any:
        """Expected cost of these error rates."""
        unit = min(self) if normalize else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            costs = (
                np.where(np.equal(rate, 0), 0.0, np.exp(log_cost - unit) * rate)
                for log_cost, rate in zip(self, (p_miss, p_false_alarm), strict=True)
            )
            return sum(costs)


def operating_point(prior: float, cost_miss: float, cost_false_alarm: float) -> OperatingPoint:
    """An operating point, checked."""
    if not is_number(prior) or not 0 < prior < 1:
        raise InputError(
            f"prior must be a number between 0 and 1, exclusive; got {prior!r}. Give the "
            f"probability of pos_label."
        )
    for name, cost in (("cost_miss", cost_miss), ("cost_false_alarm", cost_false_alarm)):
        if not is_number(cost) or not 0 < cost < math.inf:
            raise InputError(
                f"{name} must be positive and finite; got {cost!r}. An error that costs nothing "
                f"needs no evidence."
            )
    return OperatingPoint(
        math.log(prior) + math.log(cost_miss), math.log1p(-prior) + math.log(cost_false_alarm)
    )


def error_rates(trials: Trials) -> ErrorRates:
    """Error rates of checked trials at every threshold where they change."""
    threshold = np.append(trials.distinct(), np.inf)
    p_miss, p_false_alarm = trials.target.below(threshold), 1 - trials.other.below(threshold)
    p_miss[-1], p_false_alarm[-1] = 1, 0  # nothing is accepted there, not even an infinite LLR
    return ErrorRates(p_miss, p_false_alarm, threshold)
