"""Decisions at a threshold: error rates, their trade-off and their cost."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote, require_fraction, require_positive_number
from deciban.exceptions import InputError
from deciban.metrics.labelled import EvidenceLike, Trials, Weights, open_trials, read_trials
from deciban.metrics.pav import pool


class ErrorRates(NamedTuple):
    """Error rates at rising thresholds; a sample is accepted if its LLR reaches the threshold.

    Attributes
    ----------
    p_miss : array of shape (n_thresholds,)
        Fraction of ``pos_label`` that is rejected; rises from 0 to 1.
    p_false_alarm : array of shape (n_thresholds,)
        Fraction of the other class that is accepted; falls from 1 to 0.
    threshold : array of shape (n_thresholds,)
        The last, +inf, accepts nothing, not even an infinite LLR.

    See Also
    --------
    det_curve : Returns it.

    Examples
    --------
    >>> det_curve([0, 1], [-1.0, 2.0]).threshold
    array([-1.,  2., inf])
    """

    p_miss: Floats
    p_false_alarm: Floats
    threshold: Floats


def det_curve(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> ErrorRates:
    """Miss rate against false-alarm rate at every LLR that occurs, and above them all.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`; any score that rises with the LLRs will do.

    See Also
    --------
    roc_curve, eer, deciban.plots.DETDisplay

    Examples
    --------
    >>> p_miss, p_false_alarm, threshold = det_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> p_miss
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> p_false_alarm
    array([1. , 0.5, 0.5, 0. , 0. ])
    """
    return error_rates(read_trials(y_true, llr, sample_weight, pos_label))


def error_rates(trials: Trials) -> ErrorRates:
    threshold = np.append(np.unique(trials.llr), np.inf)
    p_miss, p_false_alarm = trials.target.below(threshold), 1 - trials.other.below(threshold)
    p_miss[-1], p_false_alarm[-1] = 1, 0  # even an infinite LLR is rejected there
    return ErrorRates(p_miss, p_false_alarm, threshold)


def roc_curve(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> tuple[Floats, Floats, Floats]:
    """``p_false_alarm, p_hit, threshold``, by falling threshold as in scikit-learn.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`.

    See Also
    --------
    det_curve, pav

    Examples
    --------
    >>> p_false_alarm, p_hit, threshold = roc_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> p_hit
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    rates = det_curve(y_true, llr, sample_weight=sample_weight, pos_label=pos_label)
    return rates.p_false_alarm[::-1], 1 - rates.p_miss[::-1], rates.threshold[::-1]


def eer(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    """Equal-error rate on the convex hull of the ROC curve, between 0 and 0.5.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`.

    See Also
    --------
    det_curve, min_detection_cost

    Examples
    --------
    >>> eer([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    0.25
    """
    return equal_errors(*pool(open_trials(y_true, llr, sample_weight, pos_label)).hull())


def equal_errors(p_miss: Floats, p_false_alarm: Floats) -> float:
    """Error rate at which a line, by rising threshold, has as many misses as false alarms."""
    k = equal_error_corner(p_miss, p_false_alarm)
    gap_before, gap_after = (p_miss - p_false_alarm)[k - 1 : k + 1]
    share = -gap_before / (gap_after - gap_before)
    return float(p_miss[k - 1] + share * (p_miss[k] - p_miss[k - 1]))


def equal_error_corner(p_miss: Floats, p_false_alarm: Floats) -> int:
    k = int(np.searchsorted(p_miss - p_false_alarm, 0, side="right"))
    return min(k, len(p_miss) - 1)


class ErrorWeights(NamedTuple):
    """Logarithms of the costs of a miss and of a false alarm, each times its prior probability."""

    log_miss: Any
    log_false_alarm: Any

    @property
    def threshold(self) -> Any:
        return self.log_false_alarm - self.log_miss

    def cost(self, p_miss: Any, p_false_alarm: Any, normalize: bool) -> Any:
        """Expected cost at these error rates; a rate that is zero costs nothing."""
        unit = np.minimum(*self) if normalize else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            costs = (
                np.where(np.equal(rate, 0), 0.0, np.exp(log_cost - unit) * rate)
                for log_cost, rate in zip(self, (p_miss, p_false_alarm), strict=True)
            )
            return sum(costs)


class Errors(NamedTuple):
    """Errors at a threshold: misses in the second class, false alarms in the first."""

    threshold: float

    def __call__(self, llr: Floats, t: int) -> Any:
        return llr < self.threshold if t else llr >= self.threshold


@dataclass(frozen=True)
class OperatingPoint:
    """Costs of a detector's two errors, and the prior probability of its targets.

    The order is NIST's. A point is printed as ``10:1:0.01``.

    Parameters
    ----------
    cost_miss, cost_false_alarm : float, default 1
    prior : float, default 0.5
        Probability of the targets.

    See Also
    --------
    detection_cost, c_primary

    Examples
    --------
    >>> point = OperatingPoint(cost_miss=10, cost_false_alarm=1, prior=0.01)
    >>> print(point, round(point.threshold, 3))
    10:1:0.01 2.293
    """

    cost_miss: float = 1.0
    cost_false_alarm: float = 1.0
    prior: float = 0.5

    def __post_init__(self) -> None:
        remedy = "An error that costs nothing needs no evidence."
        require_positive_number(self.cost_miss, "cost_miss", remedy=remedy)
        require_positive_number(self.cost_false_alarm, "cost_false_alarm", remedy=remedy)
        require_fraction(self.prior, "prior", remedy="Give the probability of pos_label.")

    def __str__(self) -> str:
        return ":".join(f"{number:.15g}" for number in astuple(self))

    @property
    def weights(self) -> ErrorWeights:
        log_prior, log_rest = math.log(self.prior), math.log1p(-self.prior)
        return ErrorWeights(
            log_prior + math.log(self.cost_miss), log_rest + math.log(self.cost_false_alarm)
        )

    @property
    def threshold(self) -> float:
        r"""The LLR from which on acceptance costs less than rejection, in nats.

        :math:`\log (1 - \pi) C_{fa} - \log \pi C_{miss}`, with the prior :math:`\pi`.
        """
        return float(self.weights.threshold)


def read_operating_points(points: Iterable[Any]) -> tuple[OperatingPoint, ...]:
    """Operating points, from objects or tuples; no two may be the same."""
    found: list[OperatingPoint] = []
    for point in points:
        if not isinstance(point, OperatingPoint):
            if not isinstance(point, tuple | list) or len(point) != 3:
                raise InputError(
                    f"operating_points must be OperatingPoint or three numbers (cost_miss, "
                    f"cost_false_alarm, prior) each; got {quote(point)}. Write (10, 1, 0.01)."
                )
            point = OperatingPoint(*point)
        if point in found:
            raise InputError(f"operating_points must differ; {point} is given twice. Give it once.")
        found.append(point)
    return tuple(found)


def detection_cost(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    normalize: bool = True,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> float:
    r"""Expected cost of Bayes decisions at an operating point.

    :math:`\pi C_{miss} P_{miss} + (1 - \pi) C_{fa} P_{fa}` at the Bayes threshold, with the prior
    :math:`\pi`; an LLR on the threshold is accepted.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`det_curve`; the LLRs in nats.
    prior : float, default 0.5
        Probability of ``pos_label``.
    cost_miss, cost_false_alarm : float, default 1
    normalize : bool, default True
        Divide by the cost of the better decision without any LLR.

    See Also
    --------
    min_detection_cost, c_primary, normalized_bayes_error_curve, expected_cost

    Examples
    --------
    >>> detection_cost([0, 1, 0, 1], [-2.0, -1.0, 0.5, 3.0], prior=0.5)
    1.0
    """
    point = OperatingPoint(cost_miss, cost_false_alarm, prior)
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return _mean_detection_cost(trials, [point], minimum=False, normalize=normalize)


def min_detection_cost(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    normalize: bool = True,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> float:
    """Expected cost at an operating point with the threshold that is best for these samples.

    Parameters
    ----------
    y_true, llr, prior, cost_miss, cost_false_alarm, normalize, sample_weight, pos_label
        As for :func:`detection_cost`; only the order of the LLRs matters.

    See Also
    --------
    detection_cost : With the Bayes threshold.

    Examples
    --------
    >>> min_detection_cost([0, 1, 0, 1], [-2.0, -1.0, 0.5, 3.0])
    0.5
    """
    point = OperatingPoint(cost_miss, cost_false_alarm, prior)
    trials = open_trials(y_true, llr, sample_weight, pos_label)
    return _mean_detection_cost(trials, [point], minimum=True, normalize=normalize)


def c_primary(
    y_true: ArrayLike,
    llr: EvidenceLike,
    operating_points: Iterable[OperatingPoint | tuple[float, float, float]],
    *,
    minimum: bool = False,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> float:
    """NIST's C_primary: the mean of normalized detection costs at several operating points.

    See NIST 2016 Speaker Recognition Evaluation Plan.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`detection_cost`.
    operating_points : iterable of OperatingPoint, or of (cost_miss, cost_false_alarm, prior)
        SRE 2016 has ``[(1, 1, 0.01), (1, 1, 0.005)]``.
    minimum : bool, default False
        Take the best threshold at each point, as :func:`min_detection_cost` does.

    See Also
    --------
    detection_cost, OperatingPoint, c_avg

    Examples
    --------
    >>> c_primary([0, 0, 1, 1], [-2.0, 0.5, -1.0, 3.0], [(1, 1, 0.5), (10, 1, 0.01)])
    0.75
    """
    points = read_operating_points(operating_points)
    if not points:
        raise InputError("operating_points must hold a point; got none. Write [(10, 1, 0.01)].")
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=not minimum)
    return _mean_detection_cost(trials, points, minimum=minimum, normalize=True)


def _mean_detection_cost(
    trials: Any, points: Sequence[OperatingPoint], *, minimum: bool, normalize: bool
) -> float:
    if minimum:
        rates = [pool(trials).hull()] * len(points)
    else:
        means = trials.means([Errors(point.threshold) for point in points])
        rates = [(p_miss, p_false_alarm) for p_false_alarm, p_miss in means]
    costs = (
        np.min(point.weights.cost(*rate, normalize))
        for point, rate in zip(points, rates, strict=True)
    )
    return math.fsum(costs) / len(points)
