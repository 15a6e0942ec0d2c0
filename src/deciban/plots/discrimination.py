"""The order of LLRs, and monotone maps of them: DET and PAV plots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from deciban.evidence import Unit, from_nats
from deciban.metrics.detection import equal_errors, error_rates
from deciban.metrics.intervals import wilson
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import PooledBlocks, pool
from deciban.plots import _display as draw
from deciban.plots._display import Axes, Floats, Limits, PairDisplay, Style

#: Ticks of probit axes.
PERCENT = (0.001, 0.01, 0.1, 0.5, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99.5, 99.9)
_CONFIDENCE = 0.95  # of the bounds on error rates where no error was seen
_MIDDLE = 0.45  # share of the width beyond which a text would not fit
_NOTHING = 1e-12  # what stands for a rate of 0, far outside of any view
_ALONG = np.concatenate([[0.0], expit(np.linspace(-10, 10, 31)), [1.0]])  # each edge of the hull
_WIDER = 1.5  # how far a PAV plot may reach beyond recalibrated LLRs, in widths of their range


@dataclass(eq=False, repr=False)
class DETDisplay(PairDisplay):
    r"""Miss rate against false-alarm rate on probit axes; for Gaussian scores a straight line.

    Both axes are :math:`\Phi^{-1}` of a rate, with the standard normal distribution :math:`\Phi`.
    The marker is the equal-error rate on the convex hull of the ROC curve. Only the order of the
    LLRs counts, so that any scores that rise with the LLR give the same curve. Long curves are
    thinned to visible points. Without errors, the rates that are still possible are shaded.

    The display holds the error rates ``p_miss`` and ``p_false_alarm`` at rising thresholds,
    ``eer``, the corners of the ``hull``, and ``n_samples`` of both classes. Drawn artists are
    ``line_``, ``marker_``, ``hull_``, ``bound_`` and ``note_``.

    See Also
    --------
    deciban.metrics.det_curve : The numbers behind it.

    Examples
    --------
    >>> display = DETDisplay.compute([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0])
    >>> display.p_miss, display.p_false_alarm
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([1. , 0.5, 0.5, 0. , 0. ]))
    >>> round(display.eer, 3)
    0.25
    """

    p_miss: Floats
    p_false_alarm: Floats
    eer: float
    hull: tuple[Floats, Floats] | None = field(default=None, kw_only=True)
    n_samples: tuple[int, int] | None = field(default=None, kw_only=True)

    @classmethod
    def _from_data(cls, trials: Trials) -> Self:
        rates, hull = error_rates(trials), pool(trials).hull()
        n_samples = len(trials.target.llr), len(trials.other.llr)
        rates_and_eer = rates.p_miss, rates.p_false_alarm, equal_errors(*hull)
        return cls(*rates_and_eer, hull=hull, n_samples=n_samples)

    def plot(self, ax: Axes | None = None, *, hull: bool = False, **line_options: Any) -> Self:
        """Draw the curve, and the convex hull of the ROC curve if ``hull`` is True.

        Options are those of matplotlib's ``plot``.
        """
        ax = draw.get_axes(ax)
        fresh = not ax.has_data()
        self._set_scales(ax, fresh)
        if fresh:
            draw.draw_identity(ax, lw=0.8)
        color = draw.unused_colors(ax, 1)[0]
        dashes = draw.dashes_of(draw.COLORS.index(color))
        style = {"color": color, "ls": dashes, "lw": 1.5} | line_options
        label = f"{draw.literal(self.name or 'DET')} (EER {100 * self.eer:.2g} %)"
        self.line_ = _draw_rates(ax, self.p_miss, self.p_false_alarm, label=label, **style)
        at = max(float(probit(self.eer)), ax.get_xlim()[0])
        color = self.line_.get_color()
        ring: Style = {"color": color, "mfc": "w", "mew": 1.5, "clip_on": False, "zorder": 5}
        self.marker_ = ax.plot([at], [at], "o", **ring)[0]
        self.hull_ = self._draw_hull(ax, color) if hull and self.hull is not None else None
        nothing: Any = None, None
        self.bound_, self.note_ = self._draw_bound(ax, color) if self.eer == 0 else nothing
        ax.set_xlabel("false-alarm rate (%)")
        ax.set_ylabel("miss rate (%)")
        draw.draw_legend(ax)
        return self._finish(ax)

    def _set_scales(self, ax: Axes, fresh: bool) -> None:
        rates = np.concatenate([self.p_miss, self.p_false_alarm])
        least = rates[rates > 0].min()
        if self.eer == 0 and self.n_samples is not None:  # the bound must be within the view
            least = min(least, 1 / max(self.n_samples))
        lowest = np.clip(least / 1.5, 1e-6, 0.01)
        low, high = (float(p) for p in probit([lowest, np.clip(2.5 * self.eer, 0.5, 0.99)]))
        draw.set_view(ax, fresh, (low, high), (low, high))
        low, high = ax.get_xlim()
        ticks = {float(probit(p / 100)): f"{p:g}" for p in PERCENT}
        ticks = {at: name for at, name in ticks.items() if low <= at <= high}
        ax.set_xticks(list(ticks), ticks.values())
        ax.set_yticks(list(ticks), ticks.values())
        ax.set_aspect("equal")

    def _draw_bound(self, ax: Axes, color: Any) -> tuple[Any, Any]:
        (low, high), edge = ax.get_xlim(), 0.0
        text, area = f"{draw.literal(self.name)}: no errors" if self.name else "no errors", None
        if self.n_samples is not None:
            miss, false_alarm = (float(wilson(0, n, _CONFIDENCE)[1]) for n in self.n_samples)
            text += (
                f"\nin {self.n_samples[0]:,} + {self.n_samples[1]:,} samples;"
                f"\nwith {100 * _CONFIDENCE:g} % confidence,\nmisses below {100 * miss:.2g} %"
                f"\nand false alarms below {100 * false_alarm:.2g} %"
            )
            style: Style = {"color": color, "alpha": 0.2, "lw": 0, "zorder": 0}
            right = float(probit(false_alarm))
            area = ax.fill_between([low, right], low, float(probit(miss)), **style)
            edge = (right - low) / (high - low)
        at = (edge if edge < _MIDDLE else 0.0), 0.0  # beside the area, or within a wide one
        units: Style = {"xycoords": "axes fraction", "textcoords": "offset points"}
        look: Style = {"color": color, "fontsize": "small", "va": "bottom", "zorder": 6}
        return area, ax.annotate(text, at, (8, 6), **units, **look)

    def _draw_hull(self, ax: Axes, color: Any) -> Any:
        # The edges are straight between error rates, but not between their probits.
        rates = (
            np.append(p[:-1, None] + np.diff(p)[:, None] * _ALONG[:-1], p[-1])
            for p in self.hull or ()
        )
        style: Style = {"color": color, "lw": 0.9, "ls": (0, (1, 1))}
        return _draw_rates(ax, *rates, label=self._label("ROC hull"), **style)


def _draw_rates(ax: Axes, p_miss: Floats, p_false_alarm: Floats, **style: Any) -> Any:
    x, y = probit(p_false_alarm), probit(p_miss)
    seen = draw.visible_points(x, y)
    return ax.plot(x[seen], y[seen], **style)[0]


def probit(p: ArrayLike) -> Floats:
    """Quantile of the standard normal distribution; rates of 0 and 1 lie far out."""
    return np.asarray(ndtri(np.clip(p, _NOTHING, 1 - _NOTHING)))


@dataclass(eq=False, repr=False)
class PAVDisplay(PairDisplay):
    r"""LLRs against their values after the best monotone recalibration (PAV).

    Pool adjacent violators finds blocks of neighboring LLRs; a block with the shares :math:`p` of
    ``pos_label`` and :math:`q` of the other class has the recalibrated LLR :math:`\log(p / q)`. A
    calibrated system follows the identity. Between it and zero, which is shaded, LLRs are too
    strong. Infinite values lie on the frame. The limits of both axes follow the recalibrated LLRs;
    a note says how far the LLRs go beyond.

    The display holds the ``blocks`` of :func:`deciban.metrics.pav`, and ``n_infinite``, the number
    of LLRs at -inf and +inf. Drawn artists are ``line_``, ``identity_``, ``too_strong_``,
    ``edges_`` and ``notes_``.

    See Also
    --------
    deciban.metrics.pav : The numbers behind it.
    deciban.calibration.IsotonicCalibrator : The recalibration itself, for new samples.

    Examples
    --------
    >>> display = PAVDisplay.compute([0, 0, 1, 0, 1, 1], [-3.0, -1.0, -0.5, 0.5, 2.0, 4.0])
    >>> display.blocks.low, display.blocks.high, display.blocks.llr
    (array([-3. , -0.5,  2. ]), array([-1. ,  0.5,  4. ]), array([-inf,   0.,  inf]))
    """

    blocks: PooledBlocks
    n_infinite: tuple[int, int] = field(default=(0, 0), kw_only=True)

    @classmethod
    def _from_data(cls, trials: Trials) -> Self:
        n_infinite = int((trials.llr == -np.inf).sum()), int((trials.llr == np.inf).sum())
        return cls(pool(trials), n_infinite=n_infinite)

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(np.column_stack([self.blocks.low, self.blocks.high]).ravel(), unit)
        y = from_nats(np.repeat(self.blocks.llr, 2), unit)
        fresh = not ax.has_data()
        view = _view(x, y)
        draw.set_view(ax, fresh, view, view)
        ax.set_aspect("equal")
        far = draw.FAR * (view[1] - view[0])
        if fresh:
            self.identity_ = draw.draw_identity(ax, label="identity")
            area: Style = {"color": draw.REFERENCE, "alpha": 0.16, "lw": 0, "zorder": 0}
            ends = np.array([-far, 0, far])
            self.too_strong_ = ax.fill_between(ends, ends, label="LLR too strong", **area)
        color = draw.unused_colors(ax, 1)[0]
        style = {"color": color, "lw": 1.5, "marker": "o", "ms": 3} | line_options
        self._draw_blocks(ax, x, y, far, style)
        self.notes_ = _note_ends(ax, self.line_, x)
        ax.set_xlabel(draw.llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel(f"LLR after PAV ({unit})")
        draw.draw_legend(ax, loc="lower right")

    def _draw_blocks(self, ax: Axes, x: Floats, y: Floats, far: float, style: Style) -> None:
        ends = np.where(np.isinf(x), np.sign(x) * far, x)  # lines that leave the frame
        finite = np.isfinite(y)
        counts = draw.infinite_note(*self.n_infinite, "{}", head="LLRs: ")
        label = draw.literal(self.name or "PAV") + counts
        (self.line_,) = ax.plot(ends[finite], y[finite], label=label, **style)
        color = self.line_.get_color()
        along = style | {"color": color, "marker": "", "lw": 3, "zorder": 5}
        self.edges_ = []
        for k in np.flatnonzero(np.isinf(y[::2])) * 2:
            # A line along the frame. Its ends are drawn below, since they may be in a corner.
            self.edges_ += ax.plot(
                ends[k : k + 2], [float(y[k] > 0)] * 2, transform=ax.get_xaxis_transform(), **along
            )
        low, high = ax.get_xlim()
        outside = np.isinf(x) | (np.isinf(y) & (low <= x) & (x <= high))
        markers = draw.mark_on_frame(ax, x[outside], y[outside], color=color, marker="D")
        if markers:
            markers[0].set_label("infinite, on the frame")
        self.edges_ += markers


def _view(x: Floats, y: Floats) -> Limits:
    """Limits of both axes of a PAV plot.

    They hold all recalibrated LLRs, and the LLRs themselves as long as these do not squeeze them.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any():
        return draw.span(x)
    (left, right), (low, high) = draw.span(x[finite]), draw.span(y)
    room = _WIDER * (high - low)
    return min(low, max(left, low - room)), max(high, min(right, high + room))


def _note_ends(ax: Axes, line: Any, x: Floats) -> list[Any]:
    """Write beside a line that leaves the view how far it goes to the left and to the right.

    If it goes to infinity, there is a marker on the frame.
    """
    notes = []
    xs, ys = line.get_data()
    for side, end in enumerate(x[[0, -1]] if len(xs) else ()):
        edge = ax.get_xlim()[side]
        if np.isfinite(end) and (end < edge, end > edge)[side]:
            number = f"{end:,.0f}" if 100 <= abs(end) < 1e6 else f"{end:.3g}"
            text = ("← from {}", "to {} →")[side].format(number.replace("-", "−"))
            at, align = (side, np.interp(edge, xs, ys)), ("left", "right")[side]
            units: Style = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
            style: Style = {"color": line.get_color(), "fontsize": "small", "ha": align}
            style["va"] = ("top", "bottom")[side]  # where a rising line is not
            notes.append(ax.annotate(text, at, ((4, -4), (-4, 4))[side], **units, **style))
    return notes
