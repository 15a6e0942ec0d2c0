"""PAV plots: LLRs against what the data say that they should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import PooledBlocks, pool
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import PairDisplay

_WIDER = 1.5  # how far a PAV plot may reach beyond recalibrated LLRs, in widths of their range


@dataclass(eq=False, repr=False)
class PAVDisplay(PairDisplay):
    r"""LLRs against their values after the best monotone recalibration.

    Pool adjacent violators (PAV) finds blocks of neighboring LLRs; a block with the shares
    :math:`p` of ``pos_label`` and :math:`q` of the other class has the recalibrated LLR
    :math:`\log(p / q)`. A calibrated system follows the identity. Between it and zero, which is
    shaded, LLRs are too strong: recalibration makes them smaller. Values that are infinite, before
    or after recalibration, lie on the frame. Both axes have the same limits, which follow the
    recalibrated LLRs: where the LLRs themselves reach further, their line leaves the view, and a
    note says how far they go.

    Parameters
    ----------
    blocks : PooledBlocks
        What :func:`deciban.metrics.pav` returns.
    n_infinite : (int, int), default (0, 0)
        How many LLRs are -inf and +inf.
    pos_label, other_label : labels, default 1 and 0
        The class that a positive LLR supports, and the other one.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    line_ : line
        Through the finite blocks.
    identity_ : line
    too_strong_ : shaded area
    edges_ : list of lines and markers
        On the frame.
    notes_ : list of texts
        How far LLRs go beyond the view.

    See Also
    --------
    deciban.metrics.pav : The numbers behind it.
    deciban.metrics.dev_pav : Mean distance from the identity.
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
        _axes.set_view(ax, fresh, view, view)
        ax.set_aspect("equal")
        far = _axes.FAR * (view[1] - view[0])
        if fresh:
            self.identity_ = _axes.draw_identity(ax, label="identity")
            area: Style = {"color": _style.REFERENCE, "alpha": 0.16, "lw": 0, "zorder": 0}
            ends = np.array([-far, 0, far])
            self.too_strong_ = ax.fill_between(ends, ends, label="LLR too strong", **area)
        color = _axes.unused_colors(ax, 1)[0]
        style = {"color": color, "lw": 1.5, "marker": "o", "ms": 3} | line_options
        self._draw_blocks(ax, x, y, far, style)
        self.notes_ = _note_ends(ax, self.line_, x)
        ax.set_xlabel(_style.llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel(f"LLR after PAV ({unit})")
        _axes.draw_legend(ax, loc="lower right")

    def _draw_blocks(self, ax: Axes, x: Floats, y: Floats, far: float, style: Style) -> None:
        ends = np.where(np.isinf(x), np.sign(x) * far, x)  # lines that leave the frame
        finite = np.isfinite(y)
        counts = _style.infinite_note(*self.n_infinite, "{}", head="LLRs: ")
        label = _style.literal(self.name or "PAV") + counts
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
        markers = _axes.mark_on_frame(ax, x[outside], y[outside], color=color, marker="D")
        if markers:
            markers[0].set_label("infinite, on the frame")
        self.edges_ += markers


def _view(x: Floats, y: Floats) -> _axes.Limits:
    """Limits of both axes of a PAV plot.

    They hold all recalibrated LLRs, and the LLRs themselves as long as these do not squeeze them.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any():
        return _axes.span(x)
    (left, right), (low, high) = _axes.span(x[finite]), _axes.span(y)
    room = _WIDER * (high - low)
    return min(low, max(left, low - room)), max(high, min(right, high + room))


def _note_ends(ax: Axes, line: Any, x: Floats) -> list[Any]:
    """Write beside a line that leaves the view how far it goes to the left and to the right.

    Where it goes to infinity, there is a marker on the frame.
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
