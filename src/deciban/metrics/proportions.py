"""Intervals of rates, and of costs that are sums of rates; they hold where no error was seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrik, gammaincinv, ndtri

from deciban._validation.arrays import Floats
from deciban.metrics.designs import Design
from deciban.metrics.intervals import Interval

_SMALL = 50  # number of samples up to which only two events count as few
_TINY = 1e-9


def wilson(count: ArrayLike, n_samples: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Both ends of Wilson's score interval of one rate or of many.

    Where up to three events were seen, or all samples but three show one, the end towards the rare
    side is that of a Poisson number: Wilson's would cover too seldom there.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference. Brown, Cai
    and DasGupta (2001), Interval estimation for a binomial proportion.
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
    """Mutually exclusive events among the samples of one class, and their effect on a quantity.

    ``weight`` is the change of the quantity if an event happened to every sample of the class.
    Counts are fractions where they are estimates.
    """

    weight: Floats  # (n_events,)
    counts: NDArray[np.int64] | Floats  # (n_events,)
    n_samples: float  # of the class, or of independent samples that would tell as much


def count_events(
    weight: float, events: Sequence[NDArray[Any]], design: Design, t: int
) -> EventCounts:
    """Count exclusive events among the samples of a class, of one system or of each of two.

    Where samples share groups or items, counts are of as many as there are independent ones.
    """
    signs = [1.0, -1.0][: len(events)]
    either = events[0] if len(events) == 1 else events[0] * 1.0 - events[1]
    size = design.effective_size(t, either, float(sum(one.sum() for one in events)))
    counts = np.array([one.sum() for one in events]) * (size / design.counts[t])
    return EventCounts(weight * np.array(signs), counts, size)


def sum_interval(value: float, classes: Iterable[EventCounts], confidence: float) -> Interval:
    """Interval of a value that is a constant plus a weighted sum of rates.

    The distances from each rate to the ends of its own Wilson interval are added in quadrature,
    with the correlation of rates of the same class: exclusive events compete for its samples. For
    one rate this is Wilson's interval; with all rates zero there is still an upper end.

    References
    ----------
    Zou, Huang and Zhang (2009), A note on confidence interval estimation for a linear function of
    binomial proportions. Donner and Zou (2012), Closed-form confidence intervals for functions of
    the normal mean and standard deviation.
    """
    down, up = np.sum([_squares(events, confidence) for events in classes], axis=0)
    return Interval(value, value - float(np.sqrt(down)), value + float(np.sqrt(up)))


def _squares(events: EventCounts, confidence: float) -> tuple[float, float]:
    """Squared distances to both ends of what one class contributes."""
    w, p = events.weight, events.counts / events.n_samples
    low, high = wilson(events.counts, events.n_samples, confidence)
    odds = np.sqrt(np.divide(p, 1 - p, out=np.zeros_like(p), where=p < 1))
    correlation = -np.outer(odds, odds)
    np.fill_diagonal(correlation, 1.0)
    down = np.where(w > 0, w * (p - low), w * (high - p))
    up = np.where(w > 0, w * (high - p), w * (p - low))
    return max(0.0, float(down @ correlation @ down)), max(0.0, float(up @ correlation @ up))


def pooled_interval(value: float, classes: list[EventCounts], confidence: float) -> Interval:
    """Interval of a mean of rates over many classes of few samples, as if all had one rate.

    Where each class has a sample or two, the intervals of the single rates say next to nothing
    about their sum.
    """
    weight = np.array([float(events.weight[0]) for events in classes])
    n_samples = np.array([events.n_samples for events in classes])
    total = float(weight.sum())
    size = total**2 / float(np.sum(weight**2 / n_samples))
    rate = min(max(value / total, 0.0), 1.0)
    low, high = wilson(rate * size, size, confidence)
    return Interval(value, total * float(low), total * float(high))


def unseen_rate(count: int, n_samples: int, confidence: float) -> float:
    """Upper bound on the rate of an event, beyond the most that resamples contain.

    Resamples of samples to which it happened k times contain it about 2 sqrt(k) times more often
    at most, and never where k is zero; the upper end of its rate is above that, the less so the
    larger k is.
    """
    quantile, rate = (1 + confidence) / 2, count / n_samples
    most = count  # an event of no sample, or of all of them, is as frequent in every resample
    if 0 < count < n_samples:  # a binomial quantile; scipy.stats takes a second to import
        most = math.ceil(bdtrik(quantile, n_samples, rate))
        most -= bool(most > 0 and bdtr(most - 1, n_samples, rate) >= quantile)
    return max(0.0, float(wilson(count, n_samples, confidence)[1]) - most / n_samples)


def add_unseen(interval: Interval, extra: Floats) -> Interval:
    """Widen an interval of a cost by errors that were not seen, or seldom.

    ``extra`` holds what each kind of error may add to the cost: the costs of samples that are all
    right say nothing about what a wrong one would cost.
    """
    value, low, high, _ = interval
    if np.isinf(value) or np.isnan(low):
        return interval
    # Squares of 1e200 would overflow.
    down, up = (
        float(np.hypot.reduce(np.append(extra[sign * extra > 0], gap)))
        for sign, gap in ((-1, value - low), (1, high - value))
    )
    return interval._replace(low=value - down, high=value + up)
