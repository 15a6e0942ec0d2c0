"""Posteriors against relative frequencies: reliability in bins, calibration error."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct, idct
from scipy.optimize import brentq
from scipy.special import betainc

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of
from deciban._validation.scalars import require_fraction, require_one_of, require_whole
from deciban.evidence.bayes import Prior, balance_weights, log_prior
from deciban.metrics.intervals import wilson
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled

EventKind = Literal["class", "decided", "each"]
_EVENTS: dict[str, EventKind] = {"top-label": "decided", "classwise": "each"}
_CELLS = 4096  # of the interval from 0 to 1: smaller widths are not smoothed


@dataclass(frozen=True)
class Reliability:
    """Mean posteriors for an event in bins, beside its relative frequencies there.

    Attributes
    ----------
    of : str
        The predicted event: a class, or that the decided class is true.
    predicted, observed, low, high : arrays of shape (n_bins,)
        Mean posterior; relative frequency under the prior, and the ends of its interval.
    count, events : arrays of shape (n_bins,)
        Number of samples, and of samples with the event.
    ratio : array of shape (n_bins,)
        Weight of a sample with the event, relative to a sample without it, in the frequency.
    histogram : array of shape (20,)
        Share of the posteriors in each of 20 equal parts of 0 to 1.

    See Also
    --------
    deciban.plots.ReliabilityDisplay : Computes and draws it.

    Examples
    --------
    >>> from deciban.plots import ReliabilityDisplay
    >>> from deciban import Evidence
    >>> data = [0, 0, 1, 1, 1], Evidence.from_llr([-1.0, 1.0, 1.0, -1.0, 1.0])
    >>> [curve] = ReliabilityDisplay.compute(*data, n_bins=2).curves
    >>> curve.predicted.round(3)
    array([0.269, 0.731])
    """

    of: str
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    count: NDArray[np.intp]
    events: Floats
    ratio: Floats
    histogram: Floats


def reliability_curves(
    data: Labelled,
    *,
    prior: Any = None,
    kind: EventKind | None = None,
    pos_label: Hashable | None = None,
    n_bins: int = 10,
    confidence: float = 0.95,
    independent: float = 1.0,
) -> list[Reliability]:
    """Reliability of the posteriors for a class, for the decided class, or for each class.

    Samples are weighted by the prior of their class, so that their mix does not matter. Bins hold
    equally many samples. Frequencies have Wilson's intervals for the counts in a bin, and their
    odds are shifted from the sample mix to the prior. ``independent`` is the effective sample size
    per sample. The ``kind`` "class", ``pos_label`` or else the last class against the rest, is the
    default for two classes; "decided", the class with the largest posterior, is that for more.
    """
    require_whole(n_bins, "n_bins", least=1)
    require_fraction(confidence, "confidence")
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    weight = balance_weights(data.codes, data.weight, p)
    return [
        _bin_posteriors(data, p, event, weight, n_bins, confidence, independent)
        for event in _predict_events(data, p, kind, pos_label)
    ]


class ReliabilityBin(NamedTuple):
    """Mean posterior for an event in a bin, and its relative frequency with its interval.

    Calibrated evidence has a bin that is as far off with probability ``p_value``.
    """

    predicted: float
    observed: float
    low: float
    high: float
    n_samples: int
    p_value: float


def worst_bin(
    data: Labelled, *, gap: float, confidence: float = 0.95, independent: float = 1.0
) -> ReliabilityBin | None:
    """The bin whose frequency chance explains least, at the uniform prior.

    Considers bins whose posterior and frequency differ by more than ``gap``, each with a binomial
    test, and corrects for their number (Bonferroni).
    """
    (curve,) = reliability_curves(data, confidence=confidence, independent=independent)
    n, k = independent * curve.count, independent * curve.events
    # The rate in the bin's own class mix that the prior turns into the mean posterior.
    rate = curve.predicted / (curve.predicted + curve.ratio * (1 - curve.predicted))
    below = np.where(k < n, betainc(np.maximum(n - k, 1e-9), k + 1, 1 - rate), 1.0)
    above = np.where(k > 0, betainc(np.maximum(k, 1e-9), n - k + 1, rate), 1.0)
    p_value = np.minimum(1.0, 2 * len(n) * np.minimum(below, above))
    p_value[np.abs(curve.predicted - curve.observed) <= gap] = np.inf
    worst = int(np.argmin(p_value))
    if p_value[worst] > 1:
        return None
    columns = curve.predicted, curve.observed, curve.low, curve.high, curve.count, p_value
    return ReliabilityBin(*(column[worst].item() for column in columns))


def calibration_error(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    kind: Literal["top-label", "classwise"] = "top-label",
    method: Literal["smooth", "equal-mass", "equal-width"] = "smooth",
    n_bins: int = 15,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Mean distance between posteriors and relative frequencies, from 0 to 1.

    In bins, :math:`\sum_b |\sum_{n \in b} v_n (e_n - p_n)|`. Here p are the posteriors for an
    event, e is 1 if it happened, and the weights v give each class its prior and sum to one.
    Smoothed, the width s at which :math:`\int_0^1 |\sum_n v_n (e_n - p_n) K_s(t, p_n)| dt = s`,
    with the Gaussian kernel K reflected at 0 and 1.

    All are above zero for calibrated evidence, the more so the fewer samples and the more bins, and
    ignore discrimination: prefer :func:`decompose` and :func:`calibration_test`.

    See Błasiok and Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel
    smoothing.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.
    kind : {"top-label", "classwise"}
        Event: the class with the largest posterior is true; or each class is true, averaged over
        classes.
    method : {"smooth", "equal-mass", "equal-width"}
        Bins with equal mass hold equally many samples.
    n_bins : int, default 15

    See Also
    --------
    decompose, calibration_test, deciban.plots.ReliabilityDisplay

    Examples
    --------
    >>> llr = [-1.0, 1.0, -1.0, 1.0]                  # right half the time, and 73 % sure
    >>> round(calibration_error([0, 0, 1, 1], [[0.0, x] for x in llr]), 4)
    0.2311
    """
    require_one_of(kind, "kind", _EVENTS)
    require_one_of(method, "method", ("smooth", "equal-mass", "equal-width"))
    require_whole(n_bins, "n_bins", 1)
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    weight = balance_weights(data.codes, data.weight, p)
    errors = []
    for event in _predict_events(data, p, _EVENTS[kind], None):
        gap = weight * (event.happened - event.posterior)
        if method == "smooth":
            errors.append(_smooth_error(event.posterior, gap))
        elif method == "equal-mass":
            errors.append(np.abs(np.bincount(_bin_equally(event.posterior, n_bins), gap)).sum())
        else:
            errors.append(np.abs(_sum_in_cells(event.posterior, gap, n_bins)).sum())
    return float(np.mean(errors))


def _sum_in_cells(p: Floats, gap: Floats, n_cells: int) -> Floats:
    cell = np.minimum((p * n_cells).astype(int), n_cells - 1)
    return np.bincount(cell, gap, n_cells).astype(np.float64)


def _smooth_error(p: Floats, gap: Floats) -> float:
    """The width at which the smoothed gaps are as large as the width."""
    waves = dct(_sum_in_cells(p, gap, _CELLS))  # a reflected kernel only damps cosines
    decay = (np.pi * np.arange(_CELLS)) ** 2 / 2

    def excess(width: float) -> float:
        return float(np.abs(idct(waves * np.exp(-decay * width**2))).sum()) - width

    return float(brentq(excess, 0.0, 1.0, xtol=1e-9)) if excess(0.0) > 0 else 0.0


class _Event(NamedTuple):
    name: str
    posterior: Floats
    code: NDArray[np.intp]  # the class that the event is, for each sample
    happened: NDArray[np.bool_]


def _predict_events(
    data: Labelled, prior: Floats, kind: EventKind | None, pos_label: Hashable | None
) -> list[_Event]:
    posterior, names = data.evidence.posterior(prior), data.evidence.classes
    if kind is None:
        kind = "class" if pos_label is not None or len(names) == 2 else "decided"
    require_one_of(kind, "kind", get_args(EventKind))
    n = len(posterior)
    if kind == "decided":
        choice = posterior.argmax(axis=1)
        largest = posterior[np.arange(n), choice]
        return [_Event("the decided class", largest, choice, choice == data.codes)]
    one = len(names) - 1 if pos_label is None else index_of(pos_label, names)
    return [
        _Event(str(names[k]), posterior[:, k], np.full(n, k), data.codes == k)
        for k in (range(len(names)) if kind == "each" else [one])
    ]


def _bin_posteriors(
    data: Labelled, prior: Floats, event: _Event, w: Floats, n_bins: int, confidence: float,
    independent: float,
) -> Reliability:  # fmt: skip
    p, happened = event.posterior, event.happened
    bin_of = _bin_equally(p, n_bins)
    total, count = np.bincount(bin_of, w), np.bincount(bin_of)
    events = np.bincount(bin_of, happened).astype(float)
    yes, no = (_mean_weight(bin_of, w, kind, len(count)) for kind in (happened, ~happened))
    ratio = yes / no
    if len(prior) > 2:
        shift = _odds_shift(data, prior, event, w, bin_of)
        ratio = np.where(np.isfinite(shift) & (shift > 0), shift, ratio)
    rates = (events / count, *wilson(independent * events, independent * count, confidence))
    observed, low, high = (ratio * rate / (ratio * rate + 1 - rate) for rate in rates)
    predicted = np.bincount(bin_of, w * p) / total
    histogram = np.histogram(p, 20, (0, 1), weights=w)[0] / w.sum()
    return Reliability(event.name, predicted, observed, low, high, count, events, ratio, histogram)


def _odds_shift(
    data: Labelled, prior: Floats, event: _Event, w: Floats, bin_of: NDArray[np.intp]
) -> Floats:
    """Odds of an event under the prior over those in the sample mix, in each bin, by posteriors.

    The weights of the samples would do for two classes, but not for more: a bin happens to have
    more or fewer heavy samples from a rare class, and neither its frequency nor an interval by
    counts would allow for that. NaN if all posteriors are 0 or 1.
    """
    posterior = data.evidence.posterior(prior)
    own = posterior * (data.counts / prior)
    own /= np.maximum(own.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    is_event = event.code[:, None] == np.arange(len(prior))

    def odds(p: Floats, weight: Any) -> Floats:
        yes, no = (np.where(kind, p, 0.0).sum(axis=1) * weight for kind in (is_event, ~is_event))
        return np.bincount(bin_of, yes) / np.bincount(bin_of, no)

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(odds(posterior, w) / odds(own, 1.0))


def _bin_equally(p: Floats, n_bins: int) -> NDArray[np.intp]:
    """The bin of each posterior; bins hold equally many, and none is empty.

    Ties make quantiles coincide, and leave fewer bins.
    """
    quantiles = np.quantile(p, np.linspace(0, 1, n_bins + 1))
    edges = np.unique(quantiles)
    last = len(edges) - (1 if quantiles[-2] == quantiles[-1] else 2)  # the largest fill a bin
    bin_of = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, last)
    return np.unique(bin_of, return_inverse=True)[1]


def _mean_weight(
    bin_of: NDArray[np.intp], w: Floats, kind: NDArray[np.bool_], n_bins: int
) -> Floats:
    """Mean weight in each bin; over all bins if a bin has no such sample."""
    bin_of, mine = bin_of[kind], w[kind]
    count = np.bincount(bin_of, minlength=n_bins)
    overall = np.full(n_bins, mine.mean() if mine.size else w.mean())
    return np.divide(np.bincount(bin_of, mine, n_bins), count, out=overall, where=count > 0)
