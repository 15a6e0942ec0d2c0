"""Confidence intervals from resamples, and the plan that they follow."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from deciban._validation.arrays import Floats
from deciban._validation.scalars import as_generator, require_fraction, require_whole
from deciban.exceptions import InputError

Seed = np.random.Generator | int | None

_HIGHEST_CONFIDENCE = 0.99999


class Interval(NamedTuple):
    """A number with the ends of its confidence interval and its standard error, NaN if unknown.

    Attributes
    ----------
    value, low, high, standard_error : float

    See Also
    --------
    bootstrap : Returns it.
    deciban.assessment.Quantity : Has one.

    Examples
    --------
    >>> Interval(0.25, 0.2, 0.3)
    Interval(value=0.25, low=0.2, high=0.3, standard_error=nan)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    standard_error: float = math.nan


def hull(one: Interval, other: Interval) -> Interval:
    """The smallest interval that contains both."""
    return one._replace(low=min(one.low, other.low), high=max(one.high, other.high))


class Plan(NamedTuple):
    """Confidence level of intervals, and the resamples behind them."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


def make_plan(confidence: float, n_resamples: int, rng: Seed) -> Plan:
    """Check the options of an assessment that concern its intervals."""
    require_fraction(confidence, "confidence")
    if confidence > _HIGHEST_CONFIDENCE:
        raise InputError(
            f"confidence must be at most {_HIGHEST_CONFIDENCE}; got {confidence!r}. Resamples "
            f"say nothing about rarer events."
        )
    if n_resamples != 0:
        require_whole(n_resamples, "n_resamples", 2, remedy="Give 1000, or 0 for no intervals.")
    as_generator(rng)
    return Plan(float(confidence), int(n_resamples), seed_from(rng))


def percentiles(resamples: Floats, confidence: float) -> tuple[float, float]:
    """Ends of the interval that holds the central part of the resamples."""
    low, high = np.quantile(resamples, tails(confidence), method="inverted_cdf")
    return float(low), float(high)


def tails(confidence: float) -> list[float]:
    """Quantiles at the two ends of an interval."""
    return [(1 - confidence) / 2, (1 + confidence) / 2]


def bca(
    value: float, resamples: Floats, left_out: Floats, confidence: float
) -> tuple[float, float]:
    """Ends of the bias-corrected and accelerated interval.

    ``left_out`` holds the metric of the samples without one block at a time; without blocks, or
    where one of them is infinite, the interval is bias-corrected only.
    """
    shift = bias(value, resamples)
    z = shift + ndtri(tails(confidence))
    quantiles = ndtr(shift + z / (1 - _acceleration(left_out) * z))
    low, high = np.quantile(resamples, quantiles, method="inverted_cdf")
    return float(low), float(high)


def bias(value: float, resamples: Floats) -> float:
    """How far the metric lies above the median of its resamples, in standard deviations."""
    n = len(resamples)
    below = np.mean(resamples < value) + np.mean(resamples == value) / 2
    return float(ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n)))


def _acceleration(left_out: Floats) -> float:
    if len(left_out) == 0 or not np.isfinite(left_out).all():
        return 0.0
    gap = left_out.mean() - left_out
    largest = float(np.abs(gap).max())
    if not 0 < largest < np.inf:
        return 0.0
    gap = gap / largest  # cubes of 1e103 overflow
    spread = float(np.sum(gap**2))
    return float(np.nan_to_num(np.sum(gap**3) / (6 * spread**1.5), posinf=0.0, neginf=0.0))


def resampled_interval(
    value: float, drawn: Floats, left_out: Floats, confidence: float
) -> Interval:
    """Interval of a mean, bias-corrected and accelerated."""
    drawn = drawn[~np.isnan(drawn)]
    if np.isinf(value):  # one infinite cost proves that the mean is infinite
        return Interval(value, value, value, np.inf)
    if np.isnan(value) or len(drawn) == 0:
        return Interval(value)
    spread = float(drawn.std(ddof=1)) if np.isfinite(drawn).all() else np.inf
    return Interval(value, *bca(value, drawn, left_out, confidence), spread)


def expand_confidence(confidence: float, degrees_of_freedom: float) -> float:
    """The confidence level at which percentiles of resamples are as wide as Student's intervals.

    Resamples of n samples vary less than the mean does, by a factor of (n - 1) / n in variance, and
    their percentiles take this variance for known.

    References
    ----------
    Hesterberg (2015), What teachers should know about the bootstrap.
    """
    df = min(max(degrees_of_freedom, 1.0), 1e9)
    z = math.sqrt((df + 1) / df) * float(stdtrit(df, (1 + confidence) / 2))
    return min(float(2 * ndtr(z) - 1), _HIGHEST_CONFIDENCE)


def seed_from(rng: Seed) -> int:
    """A seed drawn from the generator, or the seed itself."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))
