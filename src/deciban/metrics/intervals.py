"""Confidence intervals: from resamples, and for rates, which hold if no error was seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrik, gammaincinv, ndtr, ndtri, stdtrit

from deciban._validation.arrays import Floats
from deciban._validation.scalars import as_generator, require_fraction, require_whole
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.metrics.designs import Design

Seed = np.random.Generator | int | None

_HIGHEST_CONFIDENCE = 0.99999
_SMALL = 50  # number of samples up to which only two events count as few
_TINY = 1e-9
JACKKNIFE = 200  # blocks to leave out one by one; single samples would be too many
_LARGE = 200_000  # samples above which the skewness that blocks show is negligible
_DRAWS = 1 << 18  # random numbers held in memory at once
_BUCKETS = 4096  # that stand for the samples of a large class


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
    return one._replace(low=min(one.low, other.low), high=max(one.high, other.high))


class Plan(NamedTuple):
    """Confidence level and resamples."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


def make_plan(confidence: float, n_resamples: int, rng: Seed) -> Plan:
    """Check the options for intervals."""
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


def tails(confidence: float) -> list[float]:
    """Quantiles at both ends of an interval."""
    return [(1 - confidence) / 2, (1 + confidence) / 2]


def bca(
    value: float, resamples: Floats, left_out: Floats, confidence: float
) -> tuple[float, float]:
    """Bias-corrected interval, accelerated if metrics without each block are there and finite."""
    shift = bias(value, resamples)
    z = shift + ndtri(tails(confidence))
    quantiles = ndtr(shift + z / (1 - _acceleration(left_out) * z))
    low, high = np.quantile(resamples, quantiles, method="inverted_cdf")
    return float(low), float(high)


def bias(value: float, resamples: Floats) -> float:
    """Distance from the median resample to the metric, in standard deviations."""
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
    """Interval for a mean, bias-corrected and accelerated."""
    drawn = drawn[~np.isnan(drawn)]
    if np.isinf(value):  # one infinite cost proves that the mean is infinite
        return Interval(value, value, value, np.inf)
    if np.isnan(value) or len(drawn) == 0:
        return Interval(value)
    spread = float(drawn.std(ddof=1)) if np.isfinite(drawn).all() else np.inf
    return Interval(value, *bca(value, drawn, left_out, confidence), spread)


def expand_confidence(confidence: float, degrees_of_freedom: float) -> float:
    """Confidence level at which percentiles are as wide as Student's (Hesterberg, 2015)."""
    df = min(max(degrees_of_freedom, 1.0), 1e9)
    z = math.sqrt((df + 1) / df) * float(stdtrit(df, (1 + confidence) / 2))
    return min(float(2 * ndtr(z) - 1), _HIGHEST_CONFIDENCE)


def seed_from(rng: Seed) -> int:
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))


def resample_classes(
    values: Sequence[Floats],
    rows_by_class: Sequence[NDArray[np.intp]],
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Resample each class; large classes in random buckets with a few samples each."""
    by_class = [_bucket_means(values, rows, rng) for rows in rows_by_class]
    drawn = np.zeros((n_resamples, len(values)))
    for table in by_class:  # all resamples at once: there may be a thousand small classes
        n = table.shape[1]
        width = max(1, _DRAWS // n)
        for start in range(0, n_resamples, width):
            rows = rng.integers(n, size=(min(width, n_resamples - start), n))
            drawn[start : start + width] += table[:, rows].mean(axis=2).T
    # Blocks to leave out have their share of every class.
    sizes = [table.shape[1] for table in by_class]
    n_blocks = min(JACKKNIFE, sum(sizes)) if sum(sizes) <= _LARGE else 0
    starts, left_out = np.cumsum(sizes) - sizes, []
    places = zip(starts, sizes, strict=True)
    blocks = [(start + rng.permutation(n)) % max(n_blocks, 1) for start, n in places]
    for k in range(n_blocks):
        rest = [table[:, block != k] for table, block in zip(by_class, blocks, strict=True)]
        if all(table.shape[1] for table in rest):
            left_out.append(np.sum([table.mean(axis=1) for table in rest], axis=0))
    return drawn, np.array(left_out).reshape(-1, len(values))


def _bucket_means(
    values: Sequence[Floats], rows: NDArray[np.intp], rng: np.random.Generator
) -> Floats:
    """Means over random buckets vary as much as samples do; small classes stay samples."""
    n = len(rows)
    if n <= 2 * _BUCKETS:
        return np.array([one[rows] for one in values])
    bucket = rng.permutation(n) % _BUCKETS
    size = np.bincount(bucket)
    return np.array([np.bincount(bucket, one[rows], _BUCKETS) / size for one in values])


# --- rates ----------------------------------------------------------------------------------


def wilson(count: ArrayLike, n_samples: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's (1927) score interval for one rate or for many.

    With up to three events, or all but three, the end on the rare side is that of a Poisson number:
    Wilson's would cover too seldom there (Brown, Cai and DasGupta, 2001).
    """
    k, n = (np.asarray(x, dtype=np.float64) for x in (count, n_samples))
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    rate = k / n
    middle = rate + z2 / (2 * n)
    half = np.sqrt(z2 * (rate * (1 - rate) + z2 / (4 * n)) / n)
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    few, tail = np.where(n <= _SMALL, 2, 3), (1 - confidence) / 2
    low = np.where(k <= few, np.minimum(low, gammaincinv(np.maximum(k, _TINY), tail) / n), low)
    rest = np.maximum(n - k, _TINY)
    high = np.where(n - k <= few, np.maximum(high, 1 - gammaincinv(rest, tail) / n), high)
    # Rounding must not shut out a rate of zero or one.
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, high)


class EventCounts(NamedTuple):
    """Mutually exclusive events in one class, and their effect on a quantity."""

    weight: Floats  # (n_events,): the change if an event happened to every sample in the class
    counts: NDArray[np.int64] | Floats  # (n_events,); fractions if they are estimates
    n_samples: float  # of the class, or of independent samples that would tell as much


def count_events(
    weight: float, events: Sequence[NDArray[Any]], design: Design, t: int
) -> EventCounts:
    """Count events for one system, or for each of two, as independent samples would show them."""
    signs = [1.0, -1.0][: len(events)]
    either = events[0] if len(events) == 1 else events[0] * 1.0 - events[1]
    size = design.effective_size(t, either, float(sum(one.sum() for one in events)))
    counts = np.array([one.sum() for one in events]) * (size / design.counts[t])
    return EventCounts(weight * np.array(signs), counts, size)


def sum_interval(value: float, classes: Iterable[EventCounts], confidence: float) -> Interval:
    """Interval for a constant plus a weighted sum of rates (Zou, Huang and Zhang, 2009).

    Distances from each rate to the ends of its Wilson interval are added in quadrature, with the
    correlation between rates in the same class: exclusive events compete for its samples.
    """
    down, up = np.sum([_squares(events, confidence) for events in classes], axis=0)
    return Interval(value, value - float(np.sqrt(down)), value + float(np.sqrt(up)))


def _squares(events: EventCounts, confidence: float) -> tuple[float, float]:
    """Squared distances from the contribution of a class to both ends."""
    w, p = events.weight, events.counts / events.n_samples
    low, high = wilson(events.counts, events.n_samples, confidence)
    odds = np.sqrt(np.divide(p, 1 - p, out=np.zeros_like(p), where=p < 1))
    correlation = -np.outer(odds, odds)
    np.fill_diagonal(correlation, 1.0)
    down = np.where(w > 0, w * (p - low), w * (high - p))
    up = np.where(w > 0, w * (high - p), w * (p - low))
    return max(0.0, float(down @ correlation @ down)), max(0.0, float(up @ correlation @ up))


def pooled_interval(value: float, classes: list[EventCounts], confidence: float) -> Interval:
    """Interval for a mean rate over many classes of a sample or two, as if all had one rate."""
    weight = np.array([float(events.weight[0]) for events in classes])
    n_samples = np.array([events.n_samples for events in classes])
    total = float(weight.sum())
    size = total**2 / float(np.sum(weight**2 / n_samples))
    rate = min(max(value / total, 0.0), 1.0)
    low, high = wilson(rate * size, size, confidence)
    return Interval(value, total * float(low), total * float(high))


def unseen_rate(count: int, n_samples: int, confidence: float) -> float:
    """Upper bound on a rate, beyond the most that resamples contain."""
    quantile, rate = (1 + confidence) / 2, count / n_samples
    most = count  # an event of no sample, or of all of them, is as frequent in every resample
    if 0 < count < n_samples:  # a binomial quantile; scipy.stats takes a second to import
        most = math.ceil(bdtrik(quantile, n_samples, rate))
        most -= bool(most > 0 and bdtr(most - 1, n_samples, rate) >= quantile)
    return max(0.0, float(wilson(count, n_samples, confidence)[1]) - most / n_samples)


def add_unseen(interval: Interval, extra: Floats) -> Interval:
    """Widen the interval of a cost by what each kind of error may add that was hardly seen."""
    value, low, high, _ = interval
    if np.isinf(value) or np.isnan(low):
        return interval
    # Squares of 1e200 would overflow.
    down, up = (
        float(np.hypot.reduce(np.append(extra[sign * extra > 0], gap)))
        for sign, gap in ((-1, value - low), (1, high - value))
    )
    return interval._replace(low=value - down, high=value + up)
