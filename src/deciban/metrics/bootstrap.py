"""Bootstrap intervals for any metric, by class or by group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from deciban._validation import align_by_index, factorize_labels, is_number, read_labels
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.resampler import Resampler, entropy

_JACKKNIFE = 200  # blocks left out one by one; one sample each would take a metric a sample
_BIASED = 1.5  # standard deviations between the metric and the median of its resamples


class Interval(NamedTuple):
    """A number with the ends of its confidence interval and its standard error, NaN if unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan
    standard_error: float = math.nan


def bootstrap(
    metric: Callable[..., float],
    y_true: ArrayLike,
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

    Metrics that fit something to the samples that they judge, such as ``cllr_cal``, ``dev_pav``
    and to a lesser degree ``cllr_min``, come out larger or smaller on resamples than on fresh
    data. Where that spoils the interval, a warning says so, and it holds the percentiles moved back
    by twice what the resamples have more or less. Data that every resample judges
    alike, such as perfectly separated classes, give an interval of no width.

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
        Passed on to the metric; none with one entry a sample, such as weights.

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
    if not callable(metric):
        raise InputError(f"metric must be a function; got {metric!r}. Pass metrics.cllr, say.")
    _require_options(confidence, method, n_resamples, options)
    y_true, evidence, groups = align_by_index(y_true=y_true, evidence=evidence, groups=groups)
    values = _indexable(evidence)
    labels = read_labels(y_true, len(values))
    resampler = Resampler(factorize_labels(labels)[1], groups)
    seeds = np.random.SeedSequence(entropy(rng)).spawn(n_resamples)

    def at(rows: np.ndarray) -> float:
        return _number(metric(labels[rows], values[rows], **options))

    value = at(np.arange(len(labels)))
    resamples = np.array(
        Parallel(n_jobs=n_jobs)(delayed(_resampled)(at, resampler, seed) for seed in seeds)
    )
    undefined = int(np.isnan(resamples).sum())
    if undefined:
        raise InputError(
            f"metric must be defined on every resample; it is NaN on {undefined} of {n_resamples}. "
            f"Give more samples, or another metric."
        )
    if method == "bca":
        left_out = np.array([at(rows) for rows in _left_out(resampler)])
        low, high = bca(value, resamples, left_out, confidence)
        _warn_if_biased(_bias(value, resamples))
        if not low <= value <= high:
            low, high = _moved(value, resamples, confidence)
    else:
        low, high = percentiles(resamples, confidence)
    spread = float(resamples.std(ddof=1)) if np.isfinite(resamples).all() else np.inf
    return Interval(value, low, high, spread)


def percentiles(resamples: np.ndarray, confidence: float) -> tuple[float, float]:
    """Ends of the interval that holds the central part of the resamples."""
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(resamples, tails, method="inverted_cdf")
    return float(low), float(high)


def bca(
    value: float, resamples: np.ndarray, left_out: np.ndarray, confidence: float
) -> tuple[float, float]:
    """Ends of the bias-corrected and accelerated interval.

    ``left_out`` holds the metric of the samples without one block at a time; without blocks, or
    where one of them is infinite, the interval is bias-corrected only.
    """
    bias = _bias(value, resamples)
    z = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    tails = ndtr(bias + z / (1 - _acceleration(left_out) * z))
    low, high = np.quantile(resamples, tails, method="inverted_cdf")
    return float(low), float(high)


def _bias(value: float, resamples: np.ndarray) -> float:
    """How far the metric lies above the median of its resamples, in standard deviations."""
    n = len(resamples)
    below = np.mean(resamples < value) + np.mean(resamples == value) / 2
    return float(ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n)))


def _moved(value: float, resamples: np.ndarray, confidence: float) -> tuple[float, float]:
    """Percentiles, moved back: resamples are off from the samples as these are from the truth."""
    excess = float(np.mean(resamples)) - value
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(resamples, tails) - 2 * excess
    return float(low), float(high)


def _indexable(evidence: Any) -> Any:
    """Evidence, or an array; a frame of named columns is evidence over these classes."""
    columns = getattr(evidence, "columns", None)
    if columns is not None and tuple(columns) != tuple(range(len(columns))):
        return Evidence(evidence)
    if isinstance(evidence, Evidence):
        return evidence
    values = np.asarray(evidence)
    if values.ndim == 0 or len(values) == 0:
        raise InputError("evidence must hold samples; got none. Give one LLR or row a sample.")
    return values


def _number(value: Any) -> float:
    if not is_number(value):
        raise InputError(
            f"metric must return one number; got {type(value).__name__}. Wrap it, as in "
            f"lambda y, e: decompose(y, e).calibration."
        )
    return float(value)


def _require_options(confidence: float, method: str, n_resamples: int, options: Any) -> None:
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}. Give 0.95.")
    if method not in ("bca", "percentile"):
        raise InputError(f"method must be 'bca' or 'percentile'; got {method!r}. Choose one.")
    if not isinstance(n_resamples, int | np.integer) or n_resamples < 2:
        raise InputError(
            f"n_resamples must be a whole number, 2 or more; got {n_resamples!r}. Give 1000."
        )
    if "sample_weight" in options:
        raise InputError(
            "sample_weight must not be passed on; a resample would not match it. "
            "Repeat samples instead, or draw by groups."
        )


def _resampled(
    at: Callable[[np.ndarray], float], resampler: Resampler, seed: np.random.SeedSequence
) -> float:
    return at(resampler.rows(np.random.default_rng(seed)))


def _left_out(resampler: Resampler) -> list[np.ndarray]:
    """Rows without one block at a time, each block with as much of every class as can be."""
    truth, place = resampler.truth, resampler.group
    if place is None:
        count = min(_JACKKNIFE, len(truth))
        block = np.empty(len(truth), dtype=int)
        block[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % count
    else:
        count = min(_JACKKNIFE, int(place.max()) + 1)
        block = place % count
    kept = (np.flatnonzero(block != k) for k in range(count))
    classes = int(truth.max()) + 1
    return [rows for rows in kept if np.bincount(truth[rows], minlength=classes).all()]


def _acceleration(left_out: np.ndarray) -> float:
    if len(left_out) == 0 or not np.isfinite(left_out).all():
        return 0.0
    gap = left_out.mean() - left_out
    largest = float(np.abs(gap).max())
    if not 0 < largest < np.inf:
        return 0.0
    gap = gap / largest  # cubes of 1e103 overflow
    spread = float(np.sum(gap**2))
    return float(np.nan_to_num(np.sum(gap**3) / (6 * spread**1.5), posinf=0.0, neginf=0.0))


def _warn_if_biased(bias: float) -> None:
    if abs(bias) > _BIASED:
        warnings.warn(
            f"{ndtr(bias):.0%} of the resamples lie below the metric: it is biased under "
            f"resampling, as what is fitted on the samples themselves is. Take its interval with "
            f"care, or judge fresh samples.",
            stacklevel=3,
        )
