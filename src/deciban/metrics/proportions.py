"""Intervals of rates that were seen in a number of trials."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri


def wilson(happened: Any, times: Any, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of Wilson's score interval, of one rate or of many.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    happened, times = (np.asarray(x, dtype=np.float64) for x in (happened, times))
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    rate = happened / times
    middle = rate + z2 / (2 * times)
    half = np.sqrt(z2 * (rate * (1 - rate) + z2 / (4 * times)) / times)
    low, high = (middle - half) / (1 + z2 / times), (middle + half) / (1 + z2 / times)
    # Rounding must not shut out a rate of zero or one.
    return np.where(happened == 0, 0.0, low), np.where(happened == times, 1.0, high)
