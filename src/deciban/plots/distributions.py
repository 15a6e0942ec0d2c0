"""How the LLRs of two classes are distributed: Tippett plots and histograms."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from scipy.special import ndtr

from deciban._validation.arrays import read_llrs
from deciban._validation.scalars import require_whole
from deciban.evidence import Unit, from_nats
from deciban.metrics.labelled import Trials
from deciban.metrics.tippett import tippett_curve
from deciban.plots import _display as draw
from deciban.plots._display import Axes, Floats, PairDisplay, Style

_HATCHES = ("", "////")
_TAILS = 3.0  # standard deviations of the calibrated Gaussians on both sides of their means


@dataclass(eq=False, repr=False)
class TippettDisplay(PairDisplay):
    r"""Tippett plot: share of each class with an LLR of x or more, :math:`P(\mathrm{LLR} \ge x)`.

    At x = 0 the curves show the rates of misleading evidence. With infinite LLRs the curves end on
    the frame at a marker, and the legend gives their share. Long curves are thinned to visible
    points.

    The display holds a :class:`deciban.metrics.TippettCurve`: rising LLRs ``llr`` in nats, and the
    shares ``target`` of ``pos_label`` and ``other`` of the other class. ``kind``, also an option of
    :meth:`compute`, is "exceeding", or "misleading" for the share of ``pos_label`` at or below x.
    Drawn artists are ``lines_`` and ``edges_``.

    See Also
    --------
    deciban.metrics.tippett_curve : The numbers behind it.
    LLRHistogramDisplay : The same LLRs as histograms.

    Examples
    --------
    >>> display = TippettDisplay.compute([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0])
    >>> display.llr, display.target, display.other
    (array([-3. ,  0.5,  1. ,  2. ]), array([1. , 1. , 0.5, 0.5]), array([1. , 0.5, 0.5, 0. ]))
    """

    llr: Floats
    target: Floats
    other: Floats
    kind: Literal["exceeding", "misleading"] = field(default="exceeding", kw_only=True)

    settings = (*PairDisplay.settings, "kind")

    @classmethod
    def _from_data(cls, trials: Trials, kind: Any = "exceeding") -> Self:
        curve = tippett_curve(trials.y_true, trials.llr, kind=kind, sample_weight=trials.weight)
        return cls(*curve, kind=kind)

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.llr, unit)
        draw.set_view(ax, not ax.has_data(), draw.span(x), (-3, 103))
        self.lines_: list[Any] = []
        self.edges_: list[Any] = []
        curves = (self.pos_label, self.target), (self.other_label, self.other)
        for k, (color, curve) in enumerate(zip(draw.unused_colors(ax, 2), curves, strict=True)):
            style = {"color": color, "ls": draw.dashes_of(k), "lw": 1.5} | line_options
            rising = k == 0 and self.kind == "misleading"
            self._draw_curve(ax, x, curve[0], 100 * curve[1], rising, style)
        ax.set_xlabel(f"x: {draw.llr_label(self.pos_label, self.other_label, unit)}")
        ax.set_ylabel("share of LLRs (%)")
        draw.draw_legend(ax, headroom=True)

    def _draw_curve(
        self, ax: Axes, x: Floats, label: Hashable, y: Floats, rising: bool, style: Style
    ) -> None:
        below, above = _shares_at_infinity(x, y, rising)
        left, right = (below, 100 - above) if rising else (100 - below, above)
        finite = np.flatnonzero(np.isfinite(x))
        seen = finite[draw.visible_points(x[finite], y[finite])]
        low, high = draw.span(x)
        far = draw.FAR * (high - low)
        xs = np.concatenate([[low - far], x[seen], [high + far]])
        ys = np.concatenate([[left], y[seen], [right]])
        text = f"{draw.literal(label)}, {'≤' if rising else '≥'} x"
        text = self._label(text) + draw.infinite_note(below, above, "{:.2g} %")
        style = {"drawstyle": "steps-post" if rising else "steps-pre", "label": text, **style}
        self.lines_ += ax.plot(xs, ys, **style)
        for share, end in ((below, (-np.inf, left)), (above, (np.inf, right))):
            if share > 0:
                self.edges_ += draw.mark_on_frame(ax, *end, color=self.lines_[-1].get_color())


def _shares_at_infinity(llr: Floats, percent: Floats, rising: bool) -> tuple[float, float]:
    if rising:
        below, above = percent[0], 100 - np.append(0.0, percent)[-2]
    else:
        below, above = 100 - np.append(percent, 0.0)[1], percent[-1]
    return float(below * (llr[0] == -np.inf)), float(above * (llr[-1] == np.inf))


@dataclass(eq=False, repr=False)
class LLRHistogramDisplay(PairDisplay):
    """Histograms of the LLRs of two classes, with the calibrated Gaussians :math:`N(±d, 2d)`.

    The divergence d that fits best has the mean square of the LLRs, :math:`d^2 + 2d`, in nats.
    Infinite LLRs have bins of their own at the edges, marked −∞ and +∞.

    The display holds the LLRs ``target`` of ``pos_label`` and ``other`` of the other class, in
    nats, with a pair of ``weights``, and the ``divergence``. Drawn artists are ``bars_`` and
    ``lines_``.

    See Also
    --------
    deciban.CalibratedGaussian : The family of calibrated Gaussians, for any number of classes.

    Examples
    --------
    >>> display = LLRHistogramDisplay.compute([0, 0, 1, 1], [-3.0, -1.0, 2.0, float("inf")])
    >>> round(display.divergence, 4)
    1.3805
    """

    target: Floats
    other: Floats
    divergence: float | None = field(default=None, kw_only=True)
    weights: tuple[Floats, Floats] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.target, self.other = read_llrs(self.target), read_llrs(self.other)

    @classmethod
    def _from_data(cls, trials: Trials) -> Self:
        target, other = trials.target, trials.other
        weights = None
        if target.weight is not None and other.weight is not None:
            weights = target.weight, other.weight
        return cls(target.llr, other.llr, divergence=_fit_divergence(trials), weights=weights)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: Unit = "ban",
        bins: int | None = None,
        gaussian: bool = True,
        **bar_options: Any,
    ) -> Self:
        """Draw the histograms, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "ban"
        bins : int, default from 10 to 60 by the number of samples
            Number of bins for the finite LLRs.
        gaussian : bool, default True
            Whether to draw the calibrated Gaussians, if there are any.
        **bar_options
            Options of matplotlib's ``bar``.
        """
        edges = self._edges(bins)
        d = self.divergence if gaussian else None
        reach = -np.inf
        if d is not None:  # the view holds the curves
            reach = d + _TAILS * math.sqrt(2 * d) + (edges[1] - edges[0]) / 2
        view = from_nats(np.array([min(edges[0], -reach), max(edges[-1], reach)]), unit)
        edges = from_nats(edges, unit)
        ax = draw.get_axes(ax)
        self.bars_ = [self._draw_bars(ax, k, edges, view, unit, bar_options) for k in (0, 1)]
        self.lines_: list[Any] = []
        if d is not None:
            self.lines_ = self._draw_gaussians(ax, edges[1] - edges[0], view, d, unit)
        self._name_ends(ax, edges[1] - edges[0], view)
        ax.set_xlabel(draw.llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel("share of the class per bin (%)", **draw.axis_text(ax))
        draw.draw_legend(ax, headroom=True)
        return self._finish(ax)

    def _edges(self, bins: int | None) -> Floats:
        both = np.concatenate([self.target, self.other])
        usual = min(60, max(10, math.ceil(3 * np.cbrt(len(both) / 2))))
        bins = usual if bins is None else require_whole(bins, "bins", least=1)
        finite = both[np.isfinite(both)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
        if low == high:
            low, high = low - 1, high + 1
        return np.linspace(low, high, bins + 1)

    def _shares(self, k: int) -> tuple[Floats, Floats]:
        """LLRs of one class, and the percentage of the class that each of them is."""
        llr = (self.target, self.other)[k]
        weight = np.ones(len(llr)) if self.weights is None else self.weights[k]
        return llr, 100 * weight / max(float(weight.sum()), 1e-300)

    def _draw_bars(
        self, ax: Axes, k: int, edges: Floats, view: Floats, unit: Unit, options: Style
    ) -> Any:
        llr, share = self._shares(k)
        finite = np.isfinite(llr)
        heights, _ = np.histogram(from_nats(llr[finite], unit), edges, weights=share[finite])
        ends = np.array([share[llr == -np.inf].sum(), share[llr == np.inf].sum()])
        some = ends > 0  # an empty bin would only take room
        places, width = _end_bins(edges[1] - edges[0], view)
        centers = np.append((edges[1:] + edges[:-1]) / 2, places[some])
        widths = np.append(np.diff(edges), np.full(some.sum(), width))
        heights, color = np.append(heights, ends[some]), draw.color_of(k)
        label = self._label(draw.literal((self.pos_label, self.other_label)[k]))
        label += draw.infinite_note(ends[0], ends[1], "{:.2g} %")
        style: Style = {"alpha": 0.5, "hatch": _HATCHES[k], "edgecolor": color, "lw": 0.4} | options
        return ax.bar(centers, heights, widths, color=color, label=label, **style)

    def _draw_gaussians(
        self, ax: Axes, width: float, view: Floats, divergence: float, unit: Unit
    ) -> list[Any]:
        d, scale = from_nats(divergence, unit), from_nats(math.sqrt(2 * divergence), unit)
        # Evenly spaced points alone would miss the peak of a narrow curve.
        near = np.linspace(-_TAILS - width / scale, _TAILS + width / scale, 200) * scale
        x = np.unique(np.concatenate([np.linspace(view[0], view[1], 400), near - d, near + d]))
        x, lines = x[(view[0] <= x) & (x <= view[1])], []
        for k, mean in enumerate((d, -d)):
            llr, share = self._shares(k)
            # The share of a bin around x; unlike density times width, it is 100 % at most.
            high, low = (ndtr((x - mean + end) / scale) for end in (width / 2, -width / 2))
            y = share[np.isfinite(llr)].sum() * (high - low)
            label = f"calibrated, d = {d:.3g} {unit}" if k == 0 else None
            style: Style = {"color": "k", "lw": 1.3, "ls": ("-", (0, (4, 1.5)))[k]}
            lines += ax.plot(x, y, label=label, **style)
        return lines

    def _name_ends(self, ax: Axes, bin_width: float, view: Floats) -> None:
        both = np.concatenate([self.target, self.other])
        width = view[1] - view[0]
        inner = (t for t in ax.get_xticks() if view[0] <= t <= view[1])
        ticks = {t: f"{t:g}".replace("-", "−") for t in inner}
        places, _ = _end_bins(bin_width, view)
        ends = zip((-1, 1), ("−∞", "+∞"), view, places, strict=True)
        infinite = [end for end in ends if (both == end[0] * np.inf).any()]
        for sign, name, edge, place in infinite:
            ax.axvline(edge + sign * 0.03 * width, color=draw.REFERENCE, lw=0.8, ls=":")
            # Names must not touch.
            ticks = {t: text for t, text in ticks.items() if abs(t - place) > 0.16 * width}
            ticks[place] = name
        if infinite:
            ax.set_xticks(list(ticks), ticks.values())


def _fit_divergence(trials: Trials) -> float | None:
    """Divergence of the calibrated Gaussian fitted to the finite LLRs; None if all are zero.

    The LLRs of :math:`N(±d, 2d)` have the mean square :math:`d² + 2d`, whatever their class.
    """
    llr, y = trials.llr, trials.y_true
    weight = np.ones(len(llr))
    if trials.weight is not None:  # they sum to one in each class; a class counts by its size
        weight = trials.weight * np.bincount(y)[y]
    finite = np.isfinite(llr)
    largest = np.abs(llr[finite]).max(initial=0.0)
    if largest == 0:
        return None
    # Squares of large LLRs would overflow.
    squares = np.average((llr[finite] / largest) ** 2, weights=weight[finite])
    size = largest * np.sqrt(squares)
    return float(size * (size / (1 + np.hypot(1, size))))


def _end_bins(bin_width: float, view: Floats) -> tuple[Floats, float]:
    """Centers and width of the bins of infinite LLRs, a little apart from the others."""
    reach = float(view[1] - view[0])
    width = max(float(bin_width), 0.03 * reach)
    beyond = 0.06 * reach + width / 2
    return view + beyond * np.array([-1.0, 1.0]), width
