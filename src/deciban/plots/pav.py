"""LLRs against their values after recalibration: the PAV plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import PooledBlocks, pool
from deciban.plots import _axes, _style
from deciban.plots._axes import Array, Axes, Style
from deciban.plots._display import PairDisplay

_WIDER = 3  # times the LLRs of finite recalibration, on either side, before others are cut off


@dataclass(eq=False, repr=False)
class PAVDisplay(PairDisplay):
    """LLRs against their values after the best monotone recalibration.

    A calibrated system follows the identity; above it LLRs are too low, below it too high.
    Values that are infinite, before or after recalibration, lie on the frame. The view is on the
    finite ones: where the LLRs beyond all errors reach far, their line leaves it along the frame.

    Parameters
    ----------
    blocks : PooledBlocks
        What :func:`deciban.metrics.pav` returns.
    n_infinite : (int, int), default (0, 0)
        How many LLRs are -inf and +inf.
    pos_label, other_label, name
        As for :meth:`compute`.

    Attributes
    ----------
    line_ : line through the finite blocks
    identity_ : line
    edges_ : list of lines and markers on the frame
    """

    blocks: PooledBlocks
    n_infinite: tuple[int, int] = field(default=(0, 0), kw_only=True)

    @classmethod
    def _from_trials(cls, trials: Trials) -> Self:
        n_infinite = int((trials.llr == -np.inf).sum()), int((trials.llr == np.inf).sum())
        return cls(pool(trials), n_infinite=n_infinite)

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(np.column_stack([self.blocks.low, self.blocks.high]).ravel(), unit)
        y = from_nats(np.repeat(self.blocks.llr, 2), unit)
        fresh = not ax.has_data()
        x_span = _view(x, y)
        _axes.set_view(ax, fresh, x_span, _axes.span(y))
        if fresh:
            self.identity_ = _axes.draw_identity(ax, label="identity")
        color = _axes.unused_colors(ax, 1)[0]
        style = {"color": color, "lw": 1.5, "marker": "o", "ms": 3} | line_options
        self._draw_blocks(ax, x, y, _axes.FAR * (x_span[1] - x_span[0]), style)
        ax.set_xlabel(_style.llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel(f"LLR after PAV ({unit})")
        _axes.draw_legend(ax, loc="lower right")

    def _draw_blocks(self, ax: Axes, x: Array, y: Array, far: float, style: Style) -> None:
        ends = np.where(np.isinf(x), np.sign(x) * far, x)  # lines that leave the frame
        seen = np.flatnonzero(np.isfinite(y))
        if np.isfinite(x[seen]).all():
            seen = seen[_axes.visible_points(x[seen], y[seen])]
        label = _style.literal(self.name or "PAV") + self._infinite_counts()
        (self.line_,) = ax.plot(ends[seen], y[seen], label=label, **style)
        color = self.line_.get_color()
        along = style | {"color": color, "marker": "", "lw": 3, "zorder": 5}
        self.edges_ = []
        for k in np.flatnonzero(np.isinf(y[::2])) * 2:
            # Its line runs along the frame; its ends are drawn apart, as they may be corners.
            self.edges_ += ax.plot(
                ends[k : k + 2], [float(y[k] > 0)] * 2, transform=ax.get_xaxis_transform(), **along
            )
        low, high = ax.get_xlim()
        outside = np.isinf(x) | (np.isinf(y) & (low <= x) & (x <= high))
        markers = _axes.mark_on_frame(ax, x[outside], y[outside], color=color, marker="D")
        if markers:
            markers[0].set_label("infinite, on the frame")
        self.edges_ += markers

    def _infinite_counts(self) -> str:
        parts = [
            f"{n} at {sign}" for n, sign in zip(self.n_infinite, ("−∞", "+∞"), strict=True) if n
        ]
        return f" (LLRs: {', '.join(parts)})" if parts else ""


def _view(x: Array, y: Array) -> _axes.Limits:
    """LLRs to show: all, unless those with a finite recalibration would hardly be seen."""
    (low, high), finite = _axes.span(x), x[np.isfinite(y) & np.isfinite(x)]
    if finite.size == 0:
        return low, high
    inner = _axes.span(finite)
    room = _WIDER * (inner[1] - inner[0])
    return max(low, inner[0] - room), min(high, inner[1] + room)
