"""Posteriors against relative frequencies: reliability under a prior."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.evidence import Evidence
from deciban.metrics.labelled import Labelled, read_trials
from deciban.metrics.reliability import Reliability, reliability_curves
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import Display

_FAR = 0.25  # posteriors further apart are not joined by a line
_TALL = 0.1  # share of the posteriors from which on a bar says how large it is


class ReliabilityDisplay(Display):
    """Reliability of posteriors under a prior: how often events of probability p come true.

    In each bin, the mean posterior stands against the relative frequency of the event, with
    Wilson's interval. The samples of each class are weighted by its prior, so that their mix does
    not matter. Bins hold equally many samples, and neighbors are joined by a line, unless they lie
    far apart or no posteriors lie between them. The legend says how many samples are in a bin, and
    bars along the bottom what percentage of the posteriors lies where.

    Parameters
    ----------
    curves : sequence of Reliability
        One curve for each event; :meth:`compute` makes them.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    lines_ : list of error-bar containers
        One for each curve.
    identity_ : line
    histogram_ : bars along the bottom, or None

    See Also
    --------
    Reliability : A curve, in numbers.
    deciban.metrics.calibration_error : Distance from the identity, in one number.
    deciban.metrics.calibration_test : Whether it may be due to chance.

    Examples
    --------
    >>> y_true, llr = [0, 0, 1, 0, 1, 1], [-3.0, -1.0, -0.5, 0.5, 2.0, 4.0]
    >>> curve = ReliabilityDisplay.compute(y_true, llr, n_bins=2).curves[0]
    >>> curve.predicted.round(2), curve.observed.round(2)
    (array([0.23, 0.83]), array([0.33, 0.67]))
    """

    _settings = (*Display._settings, "name", "pos_label", "prior", "kind", "n_bins", "confidence")

    def __init__(self, curves: Sequence[Reliability], *, name: str | None = None) -> None:
        self.curves, self.name = tuple(curves), name

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        pos_label: Hashable | None = None,
        **settings: Any,
    ) -> Self:
        """Compute what is drawn, without drawing it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True classes.
        evidence : Evidence, or array of shape (n_samples, n_classes) or (n_samples,)
            Log-likelihoods, or LLRs in favor of ``pos_label``, else of 1, in nats.
        pos_label : label, default the last class
            The class whose posterior is drawn, where ``kind`` is "class".
        **settings
            ``classes``, ``sample_weight`` and ``name``; ``prior``, the prior of the posteriors, by
            default uniform; ``n_bins``, by default 10; ``confidence`` of the intervals, by default
            0.95; and ``kind``: "class" for one class against the rest, the default for two classes
            and where ``pos_label`` is given, "decided" for the class with the largest posterior,
            the default for more, or "each" for every class against the rest.

        Returns
        -------
        ReliabilityDisplay
            Not drawn yet.

        Examples
        --------
        >>> w = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
        >>> evidence = Evidence.from_likelihoods(w)
        >>> display = ReliabilityDisplay.compute([0, 1, 2], evidence, kind="each", n_bins=1)
        >>> [curve.of for curve in display.curves]
        ['0', '1', '2']
        """
        if not isinstance(evidence, Evidence) and np.ndim(evidence) == 1:
            positive = 1 if pos_label is None else pos_label
            other = read_trials(y_true, evidence, None, positive).other_label
            evidence = Evidence.from_llr(evidence, positive, other)
            # A prior is in the order of the sorted labels, as elsewhere.
            settings = {"classes": np.unique([other, positive]).tolist()} | settings
        return super().compute(y_true, evidence, pos_label=pos_label, **settings)

    @classmethod
    def _from_data(cls, data: Labelled, name: str | None = None, **settings: Any) -> Self:
        return cls(reliability_curves(data, **settings), name=name)

    def plot(
        self, ax: Axes | None = None, *, histogram: bool | None = None, **line_options: Any
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        histogram : bool, default True for a single curve
            Whether to draw a histogram of the posteriors along the bottom; only in axes into which
            nothing was drawn before.
        **line_options
            Options of matplotlib's ``errorbar``.

        Returns
        -------
        ReliabilityDisplay
            Itself, drawn.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> fig, ax = plt.subplots()
        >>> display = ReliabilityDisplay.compute([0, 0, 1, 1], [-3.0, 1.0, -0.5, 2.0], n_bins=2)
        >>> ax = display.plot(ax).ax_
        >>> ax.get_xlabel()
        'posterior probability of 1'
        >>> plt.close(fig)
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
        small = _axes.axis_text(ax) if len(of) > 10 else {}
        ax.set_xlabel(f"posterior probability of {of}", **small)
        ax.set_ylabel("relative frequency")
        _axes.draw_legend(ax)
        return self._finish(ax)

    def _draw_curve(self, ax: Axes, k: int, color: str, options: Style) -> Any:
        curve = self.curves[k]
        at = _style.COLORS.index(color) + len(_style.COLORS) * (k // len(_style.COLORS))
        look = {"color": color, "marker": _style.marker_of(at), "ls": _style.dashes_of(at)}
        style = look | {"ms": 4, "lw": 1.2, "elinewidth": 0.9, "capsize": 2} | options
        errors = np.abs([curve.observed - curve.low, curve.high - curve.observed])
        label = self._label(_style.literal(curve.of))
        if len(self.curves) == 1:
            label = _style.literal(self.name or f"n = {curve.count.sum():,}")
        label += f" ({_describe_counts(curve.count)})"
        x, y = _break_line(curve)
        drawn = ax.errorbar(curve.predicted, curve.observed, errors, label=label, **style)
        drawn.lines[0].set_data(x, y)
        return drawn

    def _draw_histogram(self, ax: Axes) -> Any:
        share = self.curves[0].histogram
        x = (np.arange(len(share)) + 0.5) / len(share)
        height = 0.18 * share / max(float(share.max()), 1e-300)
        style: Style = {"color": "0.8", "zorder": 0, "transform": ax.get_xaxis_transform()}
        label = "spread of posteriors (%)"
        for k in np.flatnonzero(share >= _TALL):
            number: Style = {"ha": "center", "va": "bottom", "fontsize": "x-small", "color": "0.35"}
            ax.text(
                x[k], height[k], f"{100 * share[k]:.0f}", transform=style["transform"], **number
            )
        return ax.bar(x, height, 0.9 / len(share), label=label, **style)


def _describe_counts(count: NDArray[np.intp]) -> str:
    """How many samples the bins hold."""
    least, most = int(count.min()), int(count.max())
    return f"{least:,} per bin" if least == most else f"{least:,} to {most:,} per bin"


def _break_line(curve: Reliability) -> tuple[Floats, Floats]:
    """Points of the curve, with a gap between neighbors that should not be joined."""
    part = np.minimum(curve.predicted * len(curve.histogram), len(curve.histogram) - 1).astype(int)
    empty = np.concatenate([[0], np.cumsum(curve.histogram == 0)])
    # Number of empty parts between two points, without the parts that hold the points.
    between = empty[part[1:]] - empty[np.minimum(part[:-1] + 1, part[1:])]
    gaps = np.flatnonzero((between > 0) | (np.diff(curve.predicted) > _FAR)) + 1
    return np.insert(curve.predicted, gaps, np.nan), np.insert(curve.observed, gaps, np.nan)
