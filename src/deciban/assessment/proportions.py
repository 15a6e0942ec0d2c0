"""Intervals of rates, and of costs that are sums of rates, which hold where no error was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from deciban.assessment.intervals import Range
from deciban.metrics.proportions import wilson


class Cells(NamedTuple):
    """Things that can happen to a sample of a class, at most one of them to each.

    Attributes
    ----------
    weight : array of shape (n_cells,)
        By how much a quantity rises where it happens to all samples of the class.
    happened : array of shape (n_cells,)
    times : int
        Samples of the class.
    """

    weight: np.ndarray
    happened: np.ndarray
    times: int


def sum_range(value: float, classes: Iterable[Cells], confidence: float) -> Range:
    """Interval of a value that is a constant and a weighted sum of rates.

    Distances from each rate to the ends of its own interval are added as squares, less what goes
    with one another: of one class, what happens to a sample does not happen to it twice. Of one
    rate, that is Wilson's interval; with all rates zero there is still an upper end.

    References
    ----------
    Zou, Huang and Zhang (2009), A note on confidence interval estimation for a linear function of
    binomial proportions. Donner and Zou (2012), Closed-form confidence intervals for functions of
    the normal mean and standard deviation.
    """
    down = up = 0.0
    for cells in classes:
        to_low, to_high = _squares(cells, confidence)
        down, up = down + to_low, up + to_high
    return Range(value - float(np.sqrt(down)), value + float(np.sqrt(up)))


def _squares(cells: Cells, confidence: float) -> tuple[float, float]:
    """Squared distances to both ends of the part of a class."""
    w = np.asarray(cells.weight, dtype=np.float64)
    p = np.asarray(cells.happened) / cells.times
    low, high = wilson(cells.happened, cells.times, confidence)
    odds = np.sqrt(np.divide(p, 1 - p, out=np.zeros_like(p), where=p < 1))
    together = -np.outer(odds, odds)  # correlation of the rates
    np.fill_diagonal(together, 1.0)
    down = np.where(w > 0, w * (p - low), w * (high - p))
    up = np.where(w > 0, w * (high - p), w * (p - low))
    squares = (float(d @ together @ d) for d in (down, up))
    to_low, to_high = (max(0.0, square) for square in squares)
    return to_low, to_high


def pooled_range(value: float, classes: list[Cells], confidence: float) -> Range:
    """Interval of a mean of rates over many classes of few samples, as if all had one rate.

    Where each class has a sample or two, their own intervals say next to nothing of their sum.
    """
    weight = np.array([float(cells.weight[0]) for cells in classes])
    times = np.array([cells.times for cells in classes])
    size = weight.sum() ** 2 / float(np.sum(weight**2 / times))
    rate = min(max(value / float(weight.sum()), 0.0), 1.0)
    low, high = wilson(rate * size, size, confidence)
    return Range(float(weight.sum() * low), float(weight.sum() * high))


def wider(one: Range, other: Range) -> Range:
    """An interval that holds both."""
    return Range(min(one.low, other.low), max(one.high, other.high))


def unseen_rate(happened: int, times: int, confidence: float) -> float:
    """How much more often than any resample has it something may happen.

    Resamples of samples that hold it k times hold it about 2 sqrt(k) times more at most, and none
    where k is zero; the upper end of its rate is above that, and the less so the larger k is.
    """
    drawn = float(binom.ppf((1 + confidence) / 2, times, happened / times)) / times
    return max(0.0, float(wilson(happened, times, confidence)[1]) - drawn)


def with_unseen(value: float, interval: Range, extra: np.ndarray) -> Range:
    """An interval of costs that knows of errors that were not seen, or seldom.

    ``extra`` is what they may add in each class: costs of samples that are all right say nothing
    of what a wrong one would cost.
    """
    if np.isinf(value) or np.isnan(interval.low):
        return interval
    extra = np.asarray(extra, dtype=np.float64)
    down, up = (np.sum(np.where(sign * extra > 0, extra, 0.0) ** 2) for sign in (-1, 1))
    low = value - float(np.sqrt((value - interval.low) ** 2 + down))
    high = value + float(np.sqrt((interval.high - value) ** 2 + up))
    return interval._replace(low=low, high=high)
