"""Bootstrap intervals for any metric, by class or by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtr, ndtri

from deciban.exceptions import InputError
from deciban.metrics.trials import as_label_vector

_JACKKNIFE = 200  # blocks left out one by one; one sample each would take a metric a sample
_REDRAWS = 100  # of a resample in which a class is missing


class Interval(NamedTuple):
    """A metric, its bootstrap interval and the standard deviation of its resamples."""

    value: float
    low: float
    high: float
    standard_error: float


def bootstrap(
    metric: Callable[..., float],
    y_true: Any,
    evidence: Any,
    *,
    confidence: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 1000,
    groups: Any = None,
    rng: Any = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Interval:
    """Bootstrap interval of a metric.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y_true, evidence, **options)``; returns a number.
    y_true : array of shape (n_samples,)
    evidence : array of shape (n_samples, ...), or Evidence
    confidence : float, default 0.95
    method : {"bca", "percentile"}
        Bias-corrected and accelerated, or the plain percentiles of the resamples.
    n_resamples : int, default 1000
    groups : array of shape (n_samples,), optional
        What was sampled, such as the speaker or the source: whole groups are drawn. Without it,
        samples are drawn within each class, as many as it has.
    rng : numpy Generator or seed, default 0
        The result does not depend on ``n_jobs``.
    n_jobs : int, optional
        Processes, as in joblib; by default one.
    **options
        Passed on to the metric. Options with one entry a sample are not resampled: give weights
        within ``groups`` instead.

    Returns
    -------
    Interval

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.

    Examples
    --------
    >>> from deciban.metrics import cllr
    >>> y, llr = [0] * 50 + [1] * 50, np.linspace(-3, 3, 100)
    >>> value, low, high, _ = bootstrap(cllr, y, llr, n_resamples=200)
    >>> bool(low < value < high)
    True
    """
    _require_options(confidence, method, n_resamples, options)
    values = evidence if hasattr(evidence, "classes") else np.asarray(evidence)
    labels = as_label_vector(y_true, len(values))
    units = _units(labels, groups)
    seeds = np.random.SeedSequence(_entropy(rng)).spawn(n_resamples)

    def at(rows: np.ndarray) -> float:
        return float(metric(labels[rows], values[rows], **options))

    everything = np.arange(len(labels))
    value = at(everything)
    resamples = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_resampled)(at, units, labels, seed) for seed in seeds)
    )
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        left_out = np.array([at(rows) for rows in _left_out(labels, groups)])
        tails = _adjusted(tails, value, resamples, left_out)
    low, high = np.quantile(resamples, tails, method="inverted_cdf")
    return Interval(value, float(low), float(high), float(resamples.std(ddof=1)))


def _require_options(confidence: float, method: str, n_resamples: int, options: Any) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}. Give 0.95.")
    if method not in ("bca", "percentile"):
        raise InputError(f"method must be 'bca' or 'percentile'; got {method!r}. Choose one.")
    if not isinstance(n_resamples, int | np.integer) or n_resamples < 2:
        raise InputError(f"n_resamples must be 2 or more; got {n_resamples!r}. Give 1000.")
    if "sample_weight" in options:
        raise InputError(
            "sample_weight must not be passed on; a resample would not match it. "
            "Repeat samples instead, or draw by groups."
        )


def _entropy(rng: Any) -> int:
    """A seed drawn from the generator, or the seed itself."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))


def _units(labels: np.ndarray, groups: Any) -> list[list[np.ndarray]] | list[np.ndarray]:
    """What is drawn: rows within each class, or whole groups."""
    if groups is None:
        return [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]
    place = _group_places(groups, len(labels))
    return [[np.flatnonzero(place == k) for k in range(place.max() + 1)]]


def _group_places(groups: Any, n_samples: int) -> np.ndarray:
    places = np.unique(as_label_vector(groups, n_samples), return_inverse=True)[1]
    if places.max() == 0:
        raise InputError("groups must hold at least two groups; got one. Name what was sampled.")
    return places


def _resampled(
    at: Callable[[np.ndarray], float],
    units: Any,
    labels: np.ndarray,
    seed: np.random.SeedSequence,
) -> float:
    rng = np.random.default_rng(seed)
    classes = len(set(labels.tolist()))
    for _ in range(_REDRAWS):
        rows = np.concatenate([_drawn(unit, rng) for unit in units])
        if len(set(labels[rows].tolist())) == classes:
            return at(rows)
    raise InputError(
        f"groups must be such that most resamples hold every class; {_REDRAWS} in a row did not. "
        f"Give more groups of the rarest class."
    )


def _drawn(unit: Any, rng: np.random.Generator) -> np.ndarray:
    picks = rng.integers(len(unit), size=len(unit))
    if isinstance(unit, np.ndarray):
        return unit[picks]
    return np.concatenate([unit[k] for k in picks])


def _left_out(labels: np.ndarray, groups: Any) -> list[np.ndarray]:
    """Rows without one block at a time, each block with as much of every class as can be."""
    if groups is None:
        order = np.argsort(np.unique(labels, return_inverse=True)[1], kind="stable")
        count = min(_JACKKNIFE, len(labels))
        block = np.empty(len(labels), dtype=int)
        block[order] = np.arange(len(labels)) % count
    else:
        place = _group_places(groups, len(labels))
        count = min(_JACKKNIFE, int(place.max()) + 1)
        block = place % count
    classes = len(set(labels.tolist()))
    kept = (np.flatnonzero(block != k) for k in range(count))
    return [rows for rows in kept if len(set(labels[rows].tolist())) == classes]


def _adjusted(
    tails: np.ndarray, value: float, resamples: np.ndarray, left_out: np.ndarray
) -> np.ndarray:
    """Tail probabilities of the BCa interval."""
    below = np.mean(resamples < value) + np.mean(resamples == value) / 2
    bias = ndtri(np.clip(below, 1 / (2 * len(resamples)), 1 - 1 / (2 * len(resamples))))
    gap = left_out.mean() - left_out if len(left_out) else np.zeros(1)
    spread = float(np.sum(gap**2)) if np.isfinite(gap).all() else 0.0
    acceleration = float(np.sum(gap**3)) / (6 * spread**1.5) if spread > 0 else 0.0
    z = bias + ndtri(tails)
    return ndtr(bias + z / (1 - acceleration * z))
