"""Posteriors against what happened: reliability under a prior."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from deciban._validation import index_of, is_number
from deciban.evidence import Evidence
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_labelled
from deciban.metrics.proportions import wilson
from deciban.plots._axes import axes_for, is_narrow, legend, unused_colours
from deciban.plots._display import NamedDisplay
from deciban.plots._pairs import pair_of
from deciban.plots._style import COLOURS, REFERENCE, dashes_of, marker_of

Kind = Literal["class", "decided", "each"]


@dataclass(frozen=True)
class Reliability:
    """Posteriors in bins beside the frequencies of what they are of.

    Attributes
    ----------
    of : str
        What the posteriors are of.
    predicted, observed, low, high : arrays of shape (n_bins,)
        Mean posterior and relative frequency in each bin, with its interval.
    count : array of shape (n_bins,)
        How many samples there are in each bin.
    histogram : array of shape (20,)
        Share of the posteriors in 20 equal parts of 0 to 1.
    """

    of: str
    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    histogram: np.ndarray


class ReliabilityDisplay(NamedDisplay):
    """Reliability of posteriors under a prior: how often what has probability p is true.

    The samples of each class are weighted by its prior, so that their mix does not matter. Bins
    hold equally many samples. Intervals are Wilson's for the counts of the bin, carried over to the
    prior as the frequency is.

    Parameters
    ----------
    curves : sequence of Reliability
    name : str, optional

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
    def from_predictions(
        cls,
        y_true: Any,
        log_likelihoods: Any,
        *,
        prior: Any = None,
        kind: Kind | None = None,
        pos_label: Hashable | None = None,
        classes: Sequence[Hashable] | None = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw evidence beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        log_likelihoods : array of shape (n_samples, n_classes), Evidence, or LLRs of two classes
            LLRs are in favour of ``pos_label``, else of 1.
        prior : array of shape (n_classes,) or mapping, default uniform
        kind : {"class", "decided", "each"}, optional
            ``class``: one class against the rest, the default where ``pos_label`` is given and
            for two classes. ``decided``: the class with the largest posterior, the default for
            more. ``each``: a curve for every class against the rest.
        pos_label : label, default the last class
        classes : sequence of labels, optional
        n_bins : int, default 10
        confidence : float, default 0.95
            Of the intervals.
        sample_weight : array of shape (n_samples,), optional
        name : str, optional
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        if not isinstance(log_likelihoods, Evidence) and np.ndim(log_likelihoods) == 1:
            positive = 1 if pos_label is None else pos_label
            pair = pair_of(y_true, log_likelihoods, positive, None)
            log_likelihoods = Evidence.from_llr(log_likelihoods, positive, pair.other_label)
            if classes is None:  # a prior is in the order of the sorted labels, as elsewhere
                classes = np.unique([pair.other_label, positive]).tolist()
        data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
        p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
        weight = np.ones(len(data.codes)) if data.weight is None else data.weight
        weight = weight * (p / np.bincount(data.codes, weight))[data.codes]
        predicted = events(data.evidence, data.codes, p, kind, pos_label)
        _require_bins(n_bins, confidence)
        curves = [binned(*event, weight, n_bins, confidence) for event in predicted]
        return cls(curves, name=name).plot(ax, **options)

    def plot(self, ax: Any = None, *, histogram: bool | None = None, **line_options: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        histogram : bool, default where there is one curve
            Whether to draw how the posteriors are spread, as bars along the bottom.
        **line_options
            For matplotlib's ``errorbar``.
        """
        ax = axes_for(ax)
        fresh = not ax.has_data()
        if fresh:
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
            self.identity_ = ax.axline((0, 0), slope=1, color=REFERENCE, lw=1, ls=":")
        self.lines_ = []
        for k, colour in enumerate(unused_colours(ax, len(self.curves))):
            self._curve(ax, self.curves[k], colour, k, line_options)
        wanted = len(self.curves) == 1 if histogram is None else histogram
        self.histogram_ = self._bars(ax) if wanted and fresh else None
        of = self.curves[0].of if len(self.curves) == 1 else "each class"
        size = "small" if is_narrow(ax) and len(of) > 10 else None
        ax.set_xlabel(f"posterior probability of {of}", fontsize=size)
        ax.set_ylabel("relative frequency")
        legend(ax)
        return self._drawn_into(ax)

    def _curve(self, ax: Any, curve: Reliability, colour: str, k: int, options: Any) -> None:
        at = COLOURS.index(colour) + len(COLOURS) * (k // len(COLOURS))
        look = {"color": colour, "marker": marker_of(at), "ls": dashes_of(at)}
        style = look | {"ms": 4, "lw": 1.2, "elinewidth": 0.9, "capsize": 2} | options
        errors = np.abs([curve.observed - curve.low, curve.high - curve.observed])
        alone = len(self.curves) == 1
        label = (self.name or f"n = {curve.count.sum()}") if alone else curve.of
        if self.name is not None and not alone:
            label = f"{self.name}: {label}"
        self.lines_.append(
            ax.errorbar(curve.predicted, curve.observed, errors, label=label, **style)
        )

    def _bars(self, ax: Any) -> Any:
        share = self.curves[0].histogram
        x = (np.arange(len(share)) + 0.5) / len(share)
        height = 0.18 * share / max(float(share.max()), 1e-300)
        style = {"color": "0.8", "zorder": 0, "width": 0.9 / len(share)}
        return ax.bar(
            x, height, transform=ax.get_xaxis_transform(), label="spread of posteriors", **style
        )


def events(
    evidence: Evidence, truth: np.ndarray, prior: np.ndarray, kind: Any, pos_label: Any
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """What is predicted: its name, its posteriors, and where it is true."""
    if kind not in (None, "class", "decided", "each"):
        raise InputError(
            f"kind must be 'class', 'decided' or 'each'; got {kind!r}. Choose one of them."
        )
    posterior = evidence.posterior(prior)
    names = evidence.classes
    if kind is None:
        kind = "class" if pos_label is not None or len(names) == 2 else "decided"
    if kind == "decided":
        choice = posterior.argmax(axis=1)
        return [("the decided class", posterior.max(axis=1), choice == truth)]
    chosen = range(len(names)) if kind == "each" else [_position(pos_label, names)]
    return [(str(names[k]), posterior[:, k], truth == k) for k in chosen]


def _position(pos_label: Hashable | None, names: tuple[Hashable, ...]) -> int:
    return len(names) - 1 if pos_label is None else index_of(pos_label, names)


def _require_bins(n_bins: Any, confidence: Any) -> None:
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise InputError(
            f"n_bins must be a whole number, at least 1; got {n_bins!r}. Give how many."
        )
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InputError(
            f"confidence must lie between 0 and 1; got {confidence!r}. Give a share such as 0.95."
        )


def binned(
    of: str, p: np.ndarray, happened: np.ndarray, w: np.ndarray, n_bins: int, confidence: float
) -> Reliability:
    """How often something happened, in bins of as many predictions each."""
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


def _mean_weight(bin_of: np.ndarray, w: np.ndarray, kind: np.ndarray, n_bins: int) -> np.ndarray:
    """Mean weight of a kind of samples in each bin; of all bins, or all samples, where none is."""
    bin_of, mine = bin_of[kind], w[kind]
    count = np.bincount(bin_of, minlength=n_bins)
    everywhere = np.full(n_bins, mine.mean() if mine.size else w.mean())
    return np.divide(np.bincount(bin_of, mine, n_bins), count, out=everywhere, where=count > 0)
