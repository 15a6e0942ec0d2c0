"""Intervals of our numbers: over runs, or over the samples of one test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deciban import metrics
from reproduction.experiment import Measurement

CONFIDENCE = 0.95


def mean_with_range(values: np.ndarray) -> tuple[float, float, float]:
    """Mean over runs, and the range of 95 % of single runs, widened to hold the mean.

    The mean of a cost lies outside where errors are so rare that nearly all runs have none.

    >>> mean_with_range(np.array([0.0] * 99 + [1.0]))
    (0.01, 0.0, 0.01)
    """
    mean = float(values.mean())
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return mean, min(float(low), mean), max(float(high), mean)


def over_runs(key: str, values: Any, what: str, *, described: bool = False) -> Measurement:
    """Mean over runs, with the range of 95 % of single runs (see :func:`mean_with_range`).

    The paper's number is that of one run that nobody can repeat, so it is compared with single
    runs, not with their mean. The ends are percentiles, since costs of rare errors do not follow
    a known distribution.

    Parameters
    ----------
    key : str
    values : array
        One value for each run.
    what : str
        What the runs are, such as "10 training draws × 50 test sets".
    described : bool
        As in :class:`Measurement`.
    """
    v = np.asarray(values, dtype=np.float64).ravel()
    how = f"{100 * CONFIDENCE:.0f} % of {len(v)} runs ({what})"
    return Measurement(key, *mean_with_range(v), how, described)


def over_samples(
    key: str,
    metric: Callable[..., Any],
    y_true: Any,
    evidence: Any,
    *,
    times: float = 1.0,
    n_resamples: int = 1000,
    described: bool = False,
) -> Measurement:
    """A number of one test set, with bootstrap percentiles; each class is resampled.

    Parameters
    ----------
    key : str
    metric : callable
        Function of `y_true` and `evidence`.
    y_true, evidence
        The test set; `evidence` may be any values that the metric takes.
    times : float
        Factor that the number is multiplied by, such as 100 for percent.
    n_resamples : int
    described : bool
        As in :class:`Measurement`.
    """
    found = metrics.bootstrap(
        metric, y_true, evidence, n_resamples=n_resamples, confidence=CONFIDENCE,
        method="percentile", rng=0,
    )  # fmt: skip
    return Measurement(
        key, times * found.value, times * found.low, times * found.high,
        f"{100 * CONFIDENCE:.0f} %, test samples resampled", described,
    )  # fmt: skip


def exact(key: str, value: float, how: str = "computed") -> Measurement:
    """A number without uncertainty: a formula, or a deterministic method on fixed data."""
    return Measurement(key, float(value), float(value), float(value), how)
