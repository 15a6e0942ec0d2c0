"""Intervals of rates, and of costs that are sums of rates, which hold where no error was seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from deciban.report.intervals import Range


class Rate(NamedTuple):
    """How often something happened, and by how much one such event raises a quantity."""

    weight: float
    happened: int
    times: int


def wilson(happened: np.ndarray, times: np.ndarray, confidence: float) -> np.ndarray:
    """Wilson's interval of each rate, (2, n_rates)."""
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    p = happened / times
    middle = p + z2 / (2 * times)
    half = np.sqrt(z2 * (p * (1 - p) + z2 / (4 * times)) / times)
    low, high = (middle - half) / (1 + z2 / times), (middle + half) / (1 + z2 / times)
    # Rounding must not shut out a rate of zero or one.
    return np.array([np.where(happened == 0, 0.0, low), np.where(happened == times, 1.0, high)])


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
