"""Whether evidence means what it says: devPAV, misleading evidence, posteriors in bins."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of
from deciban._validation.scalars import (
    require_fraction,
    require_one_of,
    require_positive_number,
    require_whole,
)
from deciban.evidence import Unit, from_nats
from deciban.evidence.bayes import balance_weights, log_prior
from deciban.evidence.units import to_nats
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, open_trials
from deciban.metrics.pav import PooledBlocks, pool
from deciban.metrics.proportions import wilson

Kind = Literal["class", "decided", "each"]


class MisleadingRates(NamedTuple):
    """Fractions of each class whose LLR points the wrong way by more than a given strength.

    Attributes
    ----------
    target, other : float
        Fractions of ``pos_label`` and of the other class.

    See Also
    --------
    misleading_rates : Returns it.

    Examples
    --------
    >>> misleading_rates([1, 0], [-1.0, 3.0], strength=2).other
    1.0
    """

    target: float
    other: float


def dev_pav(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    unit: Unit = "ban",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> float:
    """Mean distance between the LLRs and their recalibrated values, over the range of the LLRs.

    The line through the recalibrated LLRs of :func:`pav`, where they are finite, against the
    identity: the area between them, over the range of LLRs that it spans.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``, in nats.
    unit : {"nat", "bit", "ban", "deciban"}, default "ban"
        Unit of the result; the literature has bans, logarithms to the base 10.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    float
        NaN where no LLR has a finite recalibrated value, as under perfect separation; infinite
        where an infinite LLR has a finite one.

    See Also
    --------
    pav : The recalibrated LLRs.
    cllr_cal : What miscalibration costs, which weighs LLRs by how often they occur.

    References
    ----------
    Vergeer, van Schaik and Sjerps (2021), Measuring calibration of likelihood-ratio systems.

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1, 0, 1], [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
    >>> dev_pav(y, llr, unit="nat")
    1.0
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(from_nats(deviation_from_pav(pool(trials, levels=True)), unit))


def deviation_from_pav(blocks: PooledBlocks) -> float:
    """DevPAV of PAV's blocks of LLRs, where rounding does not tell them apart, in nats.

    Within a block, the line through the recalibrated LLRs is level.
    """
    y = blocks.llr
    finite = np.isfinite(y)
    x = np.column_stack([blocks.low, blocks.high])[finite].ravel()
    y = np.repeat(y[finite], 2)
    if len(x) == 0:
        return float("nan")
    if not np.isfinite(x).all():
        return float("inf")
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()), 1.0)  # squares may overflow
    x, gap = x / scale, y / scale - x / scale
    width = float(x[-1] - x[0])
    area = float(np.sum(_area(gap[:-1], gap[1:]) * np.diff(x)))
    return scale * (area / width if width > 0 else float(abs(gap[0])))


class _Misleading(NamedTuple):
    limit: float

    def __call__(self, llr: Floats, t: int) -> Any:
        return llr < -self.limit if t else llr > self.limit


def misleading_rates(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    strength: float = 0.0,
    unit: Unit = "nat",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> MisleadingRates:
    """Fractions of each class whose LLR supports the other class, by more than ``strength``.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`dev_pav`.
    strength : float, default 0
        How far past zero an LLR must lie to count.
    unit : {"nat", "bit", "ban", "deciban"}
        Unit of ``strength``.

    Returns
    -------
    MisleadingRates

    See Also
    --------
    tippett_curve : The same at every strength.

    Examples
    --------
    >>> misleading_rates([1, 1, 0, 0], [2.0, -1.0, -3.0, -1.0])
    MisleadingRates(target=0.5, other=0.0)
    """
    require_positive_number(strength, "strength", or_zero=True)
    limit = to_nats(strength, unit)
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    ((other, target),) = trials.means([_Misleading(limit)]).tolist()
    return MisleadingRates(target, other)


def _area(left: Floats, right: Floats) -> Floats:
    """Mean absolute value of a line from one height to another, which may cross zero."""
    total = np.abs(left) + np.abs(right)
    crossing = (left * right < 0) & (total > 0)
    crossed = np.divide(left**2 + right**2, 2 * total, out=np.zeros_like(total), where=crossing)
    return np.where(crossing, crossed, total / 2)


@dataclass(frozen=True)
class Reliability:
    """Mean posteriors of an event in bins, beside its relative frequencies there.

    Attributes
    ----------
    of : str
        What the posteriors predict: a class, or that the decided class is true.
    predicted, observed, low, high : arrays of shape (n_bins,)
        Mean posterior; relative frequency under the prior, and the ends of its interval.
    count, events : arrays of shape (n_bins,)
        Number of samples, and of samples with the event.
    ratio : array of shape (n_bins,)
        Weight of a sample with the event, relative to one without, in the frequency.
    histogram : array of shape (20,)
        Share of the posteriors in each of 20 equal parts of 0 to 1.

    See Also
    --------
    deciban.plots.ReliabilityDisplay : Computes and draws it.

    Examples
    --------
    >>> from deciban.plots import ReliabilityDisplay
    >>> llr = np.array([-1.0, 1.0, 1.0, -1.0, 1.0])
    >>> data = [0, 0, 1, 1, 1], np.column_stack([0 * llr, llr])
    >>> [curve] = ReliabilityDisplay.compute(*data, n_bins=2).curves
    >>> curve.predicted.round(3)
    array([0.269, 0.731])
    """

    of: str  # what the posteriors predict: a class, or that the decided class is true
    predicted: Floats  # mean posterior
    observed: Floats  # relative frequency, with the ends of its interval
    low: Floats
    high: Floats
    count: NDArray[np.intp]  # samples
    events: Floats  # samples with the event
    ratio: Floats  # weight of a sample with the event, relative to one without, in the frequency
    histogram: Floats  # share of the posteriors


def reliability_curves(
    data: Labelled,
    *,
    prior: Any = None,
    kind: Kind | None = None,
    pos_label: Hashable | None = None,
    n_bins: int = 10,
    confidence: float = 0.95,
    independent: float = 1.0,
) -> list[Reliability]:
    """Reliability of the posteriors of one class, of the decided class, or of each class.

    The samples of each class are weighted by its prior, so that their mix does not matter. Bins
    hold equally many samples. Frequencies are those of the counts in a bin, with Wilson's
    intervals, and odds shifted from the mix of the samples to the prior; ``independent`` is the
    number of independent samples that would tell as much as one of these.

    The ``kind`` is "class" for one class against the rest (``pos_label``, by default the last), the
    default where that is given and for two classes; "decided" for the class with the largest
    posterior, the default for more; or "each" for every class against the rest.
    """
    require_whole(n_bins, "n_bins", least=1)
    require_fraction(confidence, "confidence")
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    weight = balance_weights(data.codes, data.weight, p)
    return [
        _bin_posteriors(data, p, event, weight, n_bins, confidence, independent)
        for event in predicted_events(data, p, kind, pos_label)
    ]


class ReliabilityBin(NamedTuple):
    """Mean posterior of an event in a bin, and its relative frequency with its interval.

    ``p_value`` tells how often calibrated evidence has a bin that is as far off.
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
    """The bin whose frequency chance explains the least, at the uniform prior.

    Of the bins of :func:`reliability_curves` whose posterior and frequency differ by more than
    ``gap``, by the binomial test of each bin, corrected for their number (Bonferroni).
    """
    (curve,) = reliability_curves(data, confidence=confidence, independent=independent)
    n, k = independent * curve.count, independent * curve.events
    # The rate in the bin's own mix of classes that the prior turns into the mean posterior.
    rate = curve.predicted / (curve.predicted + curve.ratio * (1 - curve.predicted))
    below = np.where(k < n, betainc(np.maximum(n - k, 1e-9), k + 1, 1 - rate), 1.0)
    above = np.where(k > 0, betainc(np.maximum(k, 1e-9), n - k + 1, rate), 1.0)
    p_value = np.minimum(1.0, 2 * len(n) * np.minimum(below, above))
    p_value[np.abs(curve.predicted - curve.observed) <= gap] = np.inf
    worst = int(np.argmin(p_value))
    if p_value[worst] > 1:
        return None
    columns = (curve.predicted, curve.observed, curve.low, curve.high)
    predicted, observed, low, high = (float(column[worst]) for column in columns)
    return ReliabilityBin(
        predicted, observed, low, high, int(curve.count[worst]), float(p_value[worst])
    )


class PredictedEvent(NamedTuple):
    """An event, its posteriors, the class that it is for each sample, and where it is true."""

    of: str
    posterior: Floats
    code: NDArray[np.intp]
    happened: NDArray[np.bool_]


def predicted_events(
    data: Labelled, prior: Floats, kind: Kind | None, pos_label: Hashable | None
) -> list[PredictedEvent]:
    """That a class is true, that the decided class is, or that each class is."""
    posterior, names = data.evidence.posterior(prior), data.evidence.classes
    if kind is None:
        kind = "class" if pos_label is not None or len(names) == 2 else "decided"
    require_one_of(kind, "kind", get_args(Kind))
    if kind == "decided":
        choice = posterior.argmax(axis=1)
        most = posterior.max(axis=1)
        return [PredictedEvent("the decided class", most, choice, choice == data.codes)]
    one = len(names) - 1 if pos_label is None else index_of(pos_label, names)
    n = len(posterior)
    return [
        PredictedEvent(str(names[k]), posterior[:, k], np.full(n, k), data.codes == k)
        for k in (range(len(names)) if kind == "each" else [one])
    ]


def _bin_posteriors(
    data: Labelled,
    prior: Floats,
    event: PredictedEvent,
    w: Floats,
    n_bins: int,
    confidence: float,
    independent: float,
) -> Reliability:
    """Posteriors of an event in bins of equally many samples, and how often it happened there."""
    p, happened = event.posterior, event.happened
    bin_of = bins_of_equal_counts(p, n_bins)
    total, count = np.bincount(bin_of, w), np.bincount(bin_of)
    events = np.bincount(bin_of, happened).astype(float)
    yes, no = (_mean_weight(bin_of, w, kind, len(count)) for kind in (happened, ~happened))
    ratio = yes / no
    if len(prior) > 2:
        shift = _shift_of_odds(data, prior, event, w, bin_of)
        ratio = np.where(np.isfinite(shift) & (shift > 0), shift, ratio)
    rates = (events / count, *wilson(independent * events, independent * count, confidence))
    observed, low, high = (ratio * rate / (ratio * rate + 1 - rate) for rate in rates)
    return Reliability(
        event.of,
        np.bincount(bin_of, w * p) / total,
        observed,
        low,
        high,
        count,
        events,
        ratio,
        np.histogram(p, 20, (0, 1), weights=w)[0] / w.sum(),
    )


def _shift_of_odds(
    data: Labelled, prior: Floats, event: PredictedEvent, w: Floats, bin_of: NDArray[np.intp]
) -> Floats:
    """Odds of an event under the prior over those in the mix of the samples, in each bin.

    Both are what the posteriors say. The weights of the samples in a bin would do for two classes,
    but not for more: a bin happens to have more or fewer of the heavy samples of a rare class, and
    neither its frequency nor an interval by counts would allow for that. NaN where all posteriors
    are 0 or 1.
    """
    posterior = data.evidence.posterior(prior)
    own = posterior * (data.counts / prior)
    own /= np.maximum(own.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    is_event = event.code[:, None] == np.arange(len(prior))

    def odds(p: Floats, weight: Floats | None) -> Floats:
        yes, no = (
            np.where(kind, p, 0.0).sum(axis=1) * (1.0 if weight is None else weight)
            for kind in (is_event, ~is_event)
        )
        return np.bincount(bin_of, yes) / np.bincount(bin_of, no)

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(odds(posterior, w) / odds(own, None))


def bins_of_equal_counts(p: Floats, n_bins: int) -> NDArray[np.intp]:
    """The bin of each posterior, where bins hold equally many; no bin is empty.

    Where many posteriors are the same, quantiles coincide, and there are fewer bins.
    """
    quantiles = np.quantile(p, np.linspace(0, 1, n_bins + 1))
    edges = np.unique(quantiles)
    last = len(edges) - (1 if quantiles[-2] == quantiles[-1] else 2)  # the largest fill a bin
    bin_of = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, last)
    return np.unique(bin_of, return_inverse=True)[1]


def _mean_weight(
    bin_of: NDArray[np.intp], w: Floats, kind: NDArray[np.bool_], n_bins: int
) -> Floats:
    """Mean weight of some samples in each bin; that over all bins where a bin has none."""
    bin_of, mine = bin_of[kind], w[kind]
    count = np.bincount(bin_of, minlength=n_bins)
    everywhere = np.full(n_bins, mine.mean() if mine.size else w.mean())
    return np.divide(np.bincount(bin_of, mine, n_bins), count, out=everywhere, where=count > 0)
