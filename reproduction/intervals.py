"""Intervals of our numbers: over runs, and over the samples of one test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deciban import metrics
from reproduction.experiment import Measured

CONFIDENCE = 0.95


def over_runs(key: str, values: Any, what: str, *, described: bool = False) -> Measured:
    """Mean over runs, with where 95 % of single runs fall.

    The paper's number is that of one run that nobody can repeat, so it is held against single
    runs, not against their mean. The ends are percentiles: costs of rare errors have no shape that
    a formula would know.

    Parameters
    ----------
    key : str
    values : array
        One for each run.
    what : str
        What the runs are, such as "10 training draws × 50 test sets".
    described : bool
        As in :class:`Measured`.
    """
    v = np.asarray(values, dtype=np.float64).ravel()
    low, high = np.quantile(v, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    how = f"{100 * CONFIDENCE:.0f} % of {len(v)} runs ({what})"
    return Measured(key, float(v.mean()), float(low), float(high), how, described)


def over_samples(
    key: str,
    metric: Callable[..., Any],
    truth: Any,
    evidence: Any,
    *,
    times: float = 1.0,
    n_resamples: int = 1000,
    described: bool = False,
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
        f"{100 * CONFIDENCE:.0f} %, test samples drawn again", described,
    )  # fmt: skip


def exact(key: str, value: float, how: str = "computed") -> Measured:
    """A number that a formula gives, or a method without chance on data that are fixed."""
    return Measured(key, float(value), float(value), float(value), how)
