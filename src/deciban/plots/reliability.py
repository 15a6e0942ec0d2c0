"""Posteriors against relative frequencies: reliability under a prior."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation import index_of, require_fraction, require_one_of, require_whole
from deciban.evidence import Evidence
from deciban.evidence.bayes import log_prior
from deciban.metrics.labelled import read_labelled, read_trials
from deciban.metrics.proportions import wilson
from deciban.plots import _axes, _style
from deciban.plots._axes import Array, Axes, Style
from deciban.plots._display import Display

Kind = Literal["class", "decided", "each"]


@dataclass(frozen=True)
class Reliability:
    """Mean posteriors in bins beside the relative frequencies of the predicted event.

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


class ReliabilityDisplay(Display):
    """Reliability of posteriors under a prior: how often what has probability p is true.

    The samples of each class are weighted by its prior, so that their mix does not matter. Bins
    hold equally many samples. Intervals are Wilson's for the counts of the bin, reweighted by the
    prior as the frequency is.

    Parameters
    ----------
    curves : sequence of Reliability
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    curves : tuple of Reliability
    lines_ : list of error-bar containers, one for each curve
    identity_ : line
    histogram_ : bars along the bottom, or None
    """

    def __init__(self, curves: Sequence[Reliability], *, name: str | None = None) -> None:
        self.curves, self.name = tuple(curves), name

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        prior: Any = None,
        kind: Kind | None = None,
        pos_label: Hashable | None = None,
        classes: Sequence[Hashable] | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
    ) -> Self:
        """The display of evidence beside the truth, not drawn yet.

        Parameters
        ----------
        y_true, evidence
            As for :meth:`from_predictions`; LLRs are in favor of ``pos_label``, else of 1.
        prior : array of shape (n_classes,) or mapping, default uniform
        kind : {"class", "decided", "each"}, optional
            ``class``: one class against the rest, the default where ``pos_label`` is given and
            for two classes. ``decided``: the class with the largest posterior, the default for
            more. ``each``: a curve for every class against the rest.
        pos_label : label, default the last class
        classes : sequence of labels, default those of the evidence, else the sorted labels
        n_bins : int, default 10
        confidence : float, default 0.95
            Confidence of the intervals.
        sample_weight : array of shape (n_samples,), optional
        name : str, optional
            Name of the system in the legend.
        """
        if not isinstance(evidence, Evidence) and np.ndim(evidence) == 1:
            positive = 1 if pos_label is None else pos_label
            other = read_trials(y_true, evidence, None, positive).other_label
            evidence = Evidence.from_llr(evidence, positive, other)
            if classes is None:  # a prior is in the order of the sorted labels, as elsewhere
                classes = np.unique([other, positive]).tolist()
        data = read_labelled(y_true, evidence, classes, sample_weight)
        p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
        weight = np.ones(len(data.codes)) if data.weight is None else data.weight
        weight = weight * (p / np.bincount(data.codes, weight))[data.codes]
        require_whole(n_bins, "n_bins", least=1)
        require_fraction(confidence, "confidence")
        events = predicted_events(data.evidence, data.codes, p, kind, pos_label)
        curves = [bin_posteriors(*event, weight, n_bins, confidence) for event in events]
        return cls(curves, name=name)

    def plot(
        self, ax: Axes | None = None, *, histogram: bool | None = None, **line_options: Any
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        histogram : bool, default True for a single curve
            Whether to draw how the posteriors are spread, as bars along the bottom.
        **line_options
            For matplotlib's ``errorbar``.
        """
        ax = _axes.get_axes(ax)
        fresh = not ax.has_data()
        if fresh:
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
            self.identity_ = _axes.draw_identity(ax)
        alone = len(self.curves) == 1
        self.lines_ = [
            self._draw_curve(ax, k, color, line_options)
            for k, color in enumerate(_axes.unused_colors(ax, len(self.curves)))
        ]
        wanted = alone if histogram is None else histogram
        self.histogram_ = self._draw_histogram(ax) if wanted and fresh else None
        of = _style.literal(self.curves[0].of) if alone else "each class"
        ax.set_xlabel(
            f"posterior probability of {of}", **_axes.axis_text(ax) if len(of) > 10 else {}
        )
        ax.set_ylabel("relative frequency")
        _axes.draw_legend(ax)
        return self._finish(ax)

    def _draw_curve(self, ax: Axes, k: int, color: str, options: Style) -> Any:
        curve = self.curves[k]
        at = _style.COLORS.index(color) + len(_style.COLORS) * (k // len(_style.COLORS))
        look = {"color": color, "marker": _style.marker_of(at), "ls": _style.dashes_of(at)}
        style = look | {"ms": 4, "lw": 1.2, "elinewidth": 0.9, "capsize": 2} | options
        errors = np.abs([curve.observed - curve.low, curve.high - curve.observed])
        label = _style.legend_label(self.name, _style.literal(curve.of))
        if len(self.curves) == 1:
            label = _style.literal(self.name or f"n = {curve.count.sum()}")
        return ax.errorbar(curve.predicted, curve.observed, errors, label=label, **style)

    def _draw_histogram(self, ax: Axes) -> Any:
        share = self.curves[0].histogram
        x = (np.arange(len(share)) + 0.5) / len(share)
        height = 0.18 * share / max(float(share.max()), 1e-300)
        style: Style = {"color": "0.8", "zorder": 0, "transform": ax.get_xaxis_transform()}
        return ax.bar(x, height, 0.9 / len(share), label="spread of posteriors", **style)


def predicted_events(
    evidence: Evidence,
    truth: NDArray[np.intp],
    prior: Array,
    kind: Kind | None,
    pos_label: Hashable | None,
) -> list[tuple[str, Array, NDArray[np.bool_]]]:
    """Name of each predicted event, its posteriors, and where it is true."""
    posterior, names = evidence.posterior(prior), evidence.classes
    if kind is None:
        kind = "class" if pos_label is not None or len(names) == 2 else "decided"
    require_one_of(kind, "kind", get_args(Kind))
    if kind == "decided":
        choice = posterior.argmax(axis=1)
        return [("the decided class", posterior.max(axis=1), choice == truth)]
    one = len(names) - 1 if pos_label is None else index_of(pos_label, names)
    return [
        (str(names[k]), posterior[:, k], truth == k)
        for k in (range(len(names)) if kind == "each" else [one])
    ]


def bin_posteriors(
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
