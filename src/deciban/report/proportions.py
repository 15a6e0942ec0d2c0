"""Intervals of rates, and of costs that are sums of rates, which hold where no error was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from deciban.metrics.rates import wilson
from deciban.report.intervals import Range


class Rate(NamedTuple):
    """How often something happened, and by how much one such event raises a quantity."""

    weight: float
    happened: int
    times: int


def sum_range(value: float, rates: Iterable[Rate], confidence: float) -> Range:
    """Interval of a value that is a constant and a weighted sum of rates of separate samples.

    Distances from each rate to the ends of its own interval are added as squares. With one rate,
    that is Wilson's interval; with all rates zero it is still above zero.

    References
    ----------
    Zou, Huang and Zhang (2009), A note on confidence interval estimation for a linear function of
    binomial proportions.
    """
    table = np.array([(rate.weight, rate.happened, rate.times) for rate in rates], dtype=float)
    weight, happened, times = table.reshape(-1, 3).T
    p = happened / times
    low, high = wilson(happened, times, confidence)
    down, up = weight * (p - low), weight * (high - p)
    down, up = np.where(weight > 0, down, -up), np.where(weight > 0, up, -down)
    return Range(value - float(np.sqrt(np.sum(down**2))), value + float(np.sqrt(np.sum(up**2))))


def with_unseen(value: float, interval: Range, unseen: np.ndarray) -> Range:
    """An interval of costs that knows of errors that were not seen.

    ``unseen`` is what they may add in each class, at the upper end of their rate: costs of samples
    that are all right say nothing of what a wrong one would cost.
    """
    if np.isinf(value):
        return interval
    high = value + float(np.sqrt((interval.high - value) ** 2 + np.sum(unseen**2)))
    return interval._replace(high=high)
