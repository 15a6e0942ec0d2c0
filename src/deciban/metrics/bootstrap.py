"""Bootstrap intervals for any metric, by class, by group or by the items of comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from deciban._validation.arrays import Floats, refuse_masked
from deciban._validation.labels import align_by_index, factorize_labels, read_labels
from deciban._validation.scalars import (
    is_number,
    quote,
    require_fraction,
    require_one_of,
    require_whole,
)
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.designs import Items, read_design, split_items
from deciban.metrics.intervals import (
    Interval,
    Seed,
    bca,
    bias,
    make_plan,
    seed_from,
    tails,
)
from deciban.metrics.labelled import EvidenceLike
from deciban.metrics.llr_intervals import LLR_INTERVALS, llr_interval

_BIASED = 1.5  # standard deviations between the metric and the median of its resamples


def bootstrap(
    metric: Callable[..., float],
    y_true: ArrayLike,
    evidence: EvidenceLike,
    *,
    confidence: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 1000,
    groups: ArrayLike | None = None,
    items: Items = None,
    rng: Seed = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Interval:
    """Interval of a metric, the same that :func:`deciban.assess` gives.

    The metrics of two classes (``cllr``, ``cllr_min``, ``cllr_cal``, ``eer``, ``detection_cost``,
    ``min_detection_cost`` and ``c_primary``) have intervals of their own, which allow for errors
    that were not seen and for the noise that PAV fits: the value of the samples may lie outside.
    Any other function is computed on resamples. If it fits something to the samples that it judges,
    as ``dev_pav`` does, it is biased on resamples: there is a warning where that spoils the
    interval, which then holds the percentiles of the resamples moved back by twice their bias.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y_true, evidence, **options)``; returns a number.
    y_true : array of shape (n_samples,)
    evidence : array of shape (n_samples, ...), or Evidence
    confidence : float, default 0.95
    method : {"bca", "percentile"}
        Bias-corrected and accelerated, or the plain percentiles of the resamples of any metric.
    n_resamples : int, default 1000
    groups : array of shape (n_samples,), optional
        Unit that was sampled, such as the speaker or the source: whole groups are drawn. Without
        groups or items, samples are drawn within each class, as many as it has.
    items : array of shape (n_samples, 2), or a pair of arrays, optional
        Both items of each comparison, best by the source that each comes from. Items are drawn, and
        a comparison is taken as often as the product of how often its items were. An item on the
        left is the same as the item of this name on the right.
    rng : numpy Generator or seed, default 0
        The result does not depend on ``n_jobs``.
    n_jobs : int, optional
        Number of processes, as in joblib; by default one.
    **options
        Passed on to the metric; none with one entry for each sample, such as weights.

    Returns
    -------
    Interval

    See Also
    --------
    deciban.assess : All metrics with their intervals.
    deciban.compare : Differences between systems, with intervals.

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
        raise InputError(f"metric must be a function; got {quote(metric)}. Pass metrics.cllr, say.")
    require_fraction(confidence, "confidence")
    require_one_of(method, "method", ("bca", "percentile"))
    require_whole(n_resamples, "n_resamples", 2)
    if "sample_weight" in options:
        raise InputError(
            "sample_weight must not be passed on; a resample would not match it. "
            "Repeat samples instead, or draw by groups."
        )
    y_true, evidence, groups, *pair = align_by_index(
        y_true=y_true, evidence=evidence, groups=groups, **split_items(items)
    )
    values = _indexable(evidence)
    labels = read_labels(y_true, len(values))
    design = read_design(factorize_labels(labels)[1], groups, pair)
    if design.warning:
        warnings.warn(design.warning, stacklevel=2)
    if method == "bca" and metric in LLR_INTERVALS:
        plan = make_plan(confidence, n_resamples, rng)
        return llr_interval(metric, labels, values, design, plan, **options)

    def evaluate(rows: NDArray[np.intp]) -> float:
        value = metric(labels[rows], values[rows], **options)
        if not is_number(value):
            raise InputError(
                f"metric must return one number; got {type(value).__name__}. Wrap it, as in "
                f"lambda y, e: decompose(y, e).calibration."
            )
        return float(value)

    def resample(seed: np.random.SeedSequence) -> float:
        return evaluate(design.draw_rows(np.random.default_rng(seed)))

    value, left_out = evaluate(np.arange(len(labels))), None
    seeds = np.random.SeedSequence(seed_from(rng)).spawn(n_resamples)
    resamples = np.array(Parallel(n_jobs=n_jobs)(delayed(resample)(seed) for seed in seeds))
    if method == "bca":
        left_out = np.array([evaluate(np.flatnonzero(rest)) for rest in design.leave_out()])
    return _interval(value, resamples, left_out, confidence)


def _interval(
    value: float, resamples: Floats, left_out: Floats | None, confidence: float
) -> Interval:
    undefined = int(np.isnan(resamples).sum())
    if undefined:
        raise InputError(
            f"metric must be defined on every resample; it is NaN on {undefined} of "
            f"{len(resamples)}. Give more samples, or another metric."
        )
    low, high = np.quantile(resamples, tails(confidence), method="inverted_cdf")
    if left_out is not None:
        shift = bias(value, resamples)
        if abs(shift) > _BIASED:
            warnings.warn(
                f"{ndtr(shift):.0%} of the resamples lie below the metric: it is biased under "
                f"resampling, as metrics that are fitted to the samples are. Take its interval "
                f"with care, or judge fresh samples.",
                stacklevel=3,
            )
        low, high = bca(value, resamples, left_out, confidence)
        if not low <= value <= high:  # resamples are off from the samples as these are from truth
            low, high = np.quantile(resamples, tails(confidence)) - 2 * (np.mean(resamples) - value)
    spread = float(resamples.std(ddof=1)) if np.isfinite(resamples).all() else np.inf
    return Interval(value, float(low), float(high), spread)


def _indexable(evidence: Any) -> Any:
    """Evidence or an array; a frame with named columns is evidence over these classes."""
    columns = getattr(evidence, "columns", None)
    if columns is not None and tuple(columns) != tuple(range(len(columns))):
        return Evidence(evidence)
    if isinstance(evidence, Evidence):
        return evidence
    refuse_masked(evidence, "evidence")
    values = np.asarray(evidence)
    if values.ndim == 0 or len(values) == 0:
        raise InputError("evidence must hold samples; got none. Give one LLR or row a sample.")
    return values
