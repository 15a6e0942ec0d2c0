"""Intervals of what PAV makes of the samples that it judges: Cllr_min, EER and the like.

PAV takes the noise of the samples for knowledge, so that what is left after it comes out too small.
In a resample it finds the noise of the samples and more: what it takes there beyond what it took
from the samples is a third to a half of what it took from these without cause, as simulation
shows, whatever the number of samples. Percentiles of resamples are therefore moved back by two to
three times the difference.

That fails where few samples are on the wrong side: resamples cannot hold an error that was not
seen. So the end of the interval that says how bad things may be comes from resamples to which
misleading samples were added, one of each class on average. ``benchmarks/intervals.py``
prints how often these intervals hold the truth: 93 to 100 % for Gaussian LLRs, 20 to 500 samples a
class and EERs of 4 to 31 %; at an EER of 0.3 %, where hardly an error is to be expected, 84 % at
worst. With heavy tails that of Cllr_cal does less well.
"""

from __future__ import annotations

import numpy as np

from deciban.assessment.intervals import Range

MISLEADING = 1.0  # samples of each class that are added to a resample, on average


def of_smaller(
    value: float, resamples: np.ndarray, doubted: np.ndarray, confidence: float
) -> Range:
    """Interval of a quantity that comes out too small, such as Cllr_min.

    Parameters
    ----------
    value : float
        Of the samples.
    resamples : array of shape (n_resamples,)
    doubted : array of shape (n_resamples,)
        Of the same resamples with misleading samples added.
    confidence : float
    """
    if not (np.isfinite(value) and np.isfinite(resamples).all() and np.isfinite(doubted).all()):
        return Range(np.nan, np.nan)
    excess = min(0.0, float(np.mean(resamples)) - value)
    low = np.quantile(resamples, (1 - confidence) / 2) - 2 * excess
    high = np.quantile(doubted, (1 + confidence) / 2) - 3 * excess
    return Range(float(low), float(high), value - 2 * excess)


def of_larger(value: float, resamples: np.ndarray, doubted: np.ndarray, confidence: float) -> Range:
    """Interval of a quantity that comes out too large, such as Cllr_cal."""
    low, high, corrected = of_smaller(-value, -resamples, -doubted, confidence)
    return Range(-high, -low, -corrected)
