"""Posteriors against relative frequencies, in bins: reliability under a prior."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deciban._validation.labels import index_of
from deciban._validation.scalars import require_fraction, require_one_of, require_whole
from deciban.evidence.bayes import log_prior
from deciban.metrics.labelled import Labelled
from deciban.metrics.proportions import wilson

Array = NDArray[np.float64]
Kind = Literal["class", "decided", "each"]


@dataclass(frozen=True)
class Reliability:
    """Mean posteriors of an event in bins, beside its relative frequencies there.

    Attributes
    ----------
    of : str
        The event that the posteriors predict: a class, or that the decided class is true.
    predicted, observed, low, high : arrays of shape (n_bins,)
        Mean posterior and relative frequency in each bin, with its interval.
    count : array of shape (n_bins,)
        Number of samples in each bin.
    histogram : array of shape (20,)
        Share of the posteriors in 20 equal parts of 0 to 1.
    """

    of: str
    predicted: Array
    observed: Array
    low: Array
    high: Array
    count: NDArray[np.intp]
    histogram: Array


def reliability_curves(
    data: Labelled,
    *,
    prior: Any = None,
    kind: Kind | None = None,
    pos_label: Hashable | None = None,
    n_bins: int = 10,
    confidence: float = 0.95,
) -> list[Reliability]:
    """Reliability of the posteriors of one class, of the decided class, or of each class.

    The samples of each class are weighted by its prior, so that their mix does not matter. Bins
    hold equally many samples. Intervals are Wilson's for the counts of the bin, reweighted by the
    prior as the frequency is.

    Parameters
    ----------
    data : Labelled
        With samples of each class.
    prior : array of shape (n_classes,) or mapping, default uniform
    kind : {"class", "decided", "each"}, optional
        ``class``: one class against the rest, the default where ``pos_label`` is given and for two
        classes. ``decided``: the class with the largest posterior, the default for more. ``each``:
        every class against the rest.
    pos_label : label, default the last class
    n_bins : int, default 10
    confidence : float, default 0.95
        Confidence of the intervals.
    """
    require_whole(n_bins, "n_bins", least=1)
    require_fraction(confidence, "confidence")
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    weight = np.ones(len(data.codes)) if data.weight is None else data.weight
    weight = weight * (p / np.bincount(data.codes, weight))[data.codes]
    return [
        _bin_posteriors(*event, weight, n_bins, confidence)
        for event in _predicted_events(data, p, kind, pos_label)
    ]


def _predicted_events(
    data: Labelled, prior: Array, kind: Kind | None, pos_label: Hashable | None
) -> list[tuple[str, Array, NDArray[np.bool_]]]:
    """Name of each predicted event, its posteriors, and where it is true."""
    posterior, names = data.evidence.posterior(prior), data.evidence.classes
    if kind is None:
        kind = "class" if pos_label is not None or len(names) == 2 else "decided"
    require_one_of(kind, "kind", get_args(Kind))
    if kind == "decided":
        choice = posterior.argmax(axis=1)
        return [("the decided class", posterior.max(axis=1), choice == data.codes)]
    one = len(names) - 1 if pos_label is None else index_of(pos_label, names)
    return [
        (str(names[k]), posterior[:, k], data.codes == k)
        for k in (range(len(names)) if kind == "each" else [one])
    ]


def _bin_posteriors(
    of: str, p: Array, happened: NDArray[np.bool_], w: Array, n_bins: int, confidence: float
) -> Reliability:
    """Posteriors of an event in bins of equally many samples, and how often it happened there."""
    # Where many posteriors are the same, quantiles coincide, and there are fewer bins.
    edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)))
    bin_of = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(len(edges) - 2, 0))
    _, bin_of = np.unique(bin_of, return_inverse=True)  # no bin is empty
    total, count = np.bincount(bin_of, w), np.bincount(bin_of)
    low, high = wilson(np.bincount(bin_of, happened), count, confidence)
    # Both kinds of samples have weights of their own, which turn counts into the prior's shares.
    yes, no = (_mean_weight(bin_of, w, kind, len(count)) for kind in (happened, ~happened))
    return Reliability(
        of,
        np.bincount(bin_of, w * p) / total,
        np.bincount(bin_of, w * happened) / total,
        yes * low / (yes * low + no * (1 - low)),
        yes * high / (yes * high + no * (1 - high)),
        count,
        np.histogram(p, 20, (0, 1), weights=w)[0] / w.sum(),
    )


def _mean_weight(bin_of: NDArray[np.intp], w: Array, kind: NDArray[np.bool_], n_bins: int) -> Array:
    """Mean weight of some samples in each bin; that over all bins where a bin has none."""
    bin_of, mine = bin_of[kind], w[kind]
    count = np.bincount(bin_of, minlength=n_bins)
    everywhere = np.full(n_bins, mine.mean() if mine.size else w.mean())
    return np.divide(np.bincount(bin_of, mine, n_bins), count, out=everywhere, where=count > 0)
