"""Intervals of our numbers: over draws of the data, and over the samples of one test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deciban import metrics
from deciban.paper.experiment import Measured

CONFIDENCE = 0.95


def over_draws(key: str, values: Any) -> Measured:
    """Mean over draws, with where 95 % of single draws fall.

    The paper's number is that of one draw that nobody can repeat, so it is held against single
    draws, not against their mean: Student's prediction interval, of the logarithms where all are
    positive, as costs are, which spread by factors.
    """
    from scipy.stats import t

    v = np.asarray(values, dtype=np.float64)
    n = len(v)
    if n < 2:
        return Measured(key, float(v[0]), float(v[0]), float(v[0]), "one draw: no interval")
    positive = bool((v > 0).all())
    x = np.log(v) if positive else v
    half = t.ppf((1 + CONFIDENCE) / 2, n - 1) * x.std(ddof=1) * np.sqrt(1 + 1 / n)
    ends = np.array([x.mean() - half, x.mean() + half])
    low, high = np.exp(ends) if positive else ends
    if v.min() >= 0:  # no cost is negative, and some are zero
        low = max(low, 0.0)
    how = f"{100 * CONFIDENCE:.0f} % of single draws, from {n}"
    return Measured(key, float(v.mean()), float(low), float(high), how)


def over_samples(
    key: str,
    metric: Callable[..., Any],
    truth: Any,
    evidence: Any,
    *,
    times: float = 1.0,
    n_resamples: int = 1000,
) -> Measured:
    """A number of one test set, with the percentiles of samples drawn again, class by class.

    Parameters
    ----------
    key : str
    metric : callable
        Of (y_true, evidence).
    truth, evidence
    times : float
        A factor of the number, such as 100 for percent.
    n_resamples : int
    """
    found = metrics.bootstrap(
        metric, truth, evidence, n_resamples=n_resamples, confidence=CONFIDENCE,
        method="percentile", rng=0,
    )  # fmt: skip
    return Measured(
        key, times * found.value, times * found.low, times * found.high,
        f"{100 * CONFIDENCE:.0f} %, test samples drawn again",
    )  # fmt: skip


def exact(key: str, value: float) -> Measured:
    """A number that a formula gives."""
    return Measured(key, float(value), float(value), float(value), "computed")
