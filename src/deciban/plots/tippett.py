"""Tippett plots: cumulative distributions of the LLRs of two classes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics import tippett_curve
from deciban.metrics.labelled import Trials
from deciban.plots import _axes, _style
from deciban.plots._axes import Array, Axes, Style
from deciban.plots._display import PairDisplay

Kind = Literal["exceeding", "misleading"]


@dataclass(eq=False, repr=False)
class TippettDisplay(PairDisplay):
    """Cumulative distributions of the LLRs of two classes.

    Where there are infinite LLRs the curves end on the frame at a marker, and the legend says
    how many. Curves of a million LLRs are thinned to the points that can be seen.

    Parameters
    ----------
    llr, target, other : arrays
        As in :class:`deciban.metrics.TippettCurve`, in nats.
    kind : {"exceeding", "misleading"}
        As for :func:`deciban.metrics.tippett_curve`; :meth:`compute` takes it too.
    pos_label, other_label, name
        As for :meth:`compute`.

    Attributes
    ----------
    lines_ : list of two lines, of ``pos_label`` and of the other class
    edges_ : list of markers for infinite LLRs
    """

    llr: Array
    target: Array
    other: Array
    kind: Kind = field(default="exceeding", kw_only=True)

    @classmethod
    def _from_trials(cls, trials: Trials, kind: Kind = "exceeding") -> Self:
        curve = tippett_curve(trials.y_true, trials.llr, kind=kind, sample_weight=trials.weight)
        return cls(*curve, kind=kind)

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.llr, unit)
        _axes.set_view(ax, not ax.has_data(), _axes.span(x), (-3, 103))
        self.lines_: list[Any] = []
        self.edges_: list[Any] = []
        curves = (
            (self.pos_label, 100 * self.target, self.kind == "misleading"),
            (self.other_label, 100 * self.other, False),
        )
        for k, color in enumerate(_axes.unused_colors(ax, 2)):
            style = {"color": color, "ls": _style.dashes_of(k), "lw": 1.5} | line_options
            self._draw_curve(ax, x, *curves[k], style)
        ax.set_xlabel(f"x: {_style.llr_label(self.pos_label, self.other_label, unit)}")
        ax.set_ylabel("share of LLRs (%)")
        _axes.draw_legend(ax, headroom=True)

    def _draw_curve(
        self, ax: Axes, x: Array, label: Hashable, y: Array, rising: bool, style: Style
    ) -> None:
        below, above = _shares_at_infinity(x, y, rising)
        left, right = (below, 100 - above) if rising else (100 - below, above)
        finite = np.flatnonzero(np.isfinite(x))
        seen = finite[_axes.visible_points(x[finite], y[finite])]
        low, high = _axes.span(x)
        far = _axes.FAR * (high - low)
        xs = np.concatenate([[low - far], x[seen], [high + far]])
        ys = np.concatenate([[left], y[seen], [right]])
        text = _style.legend_label(
            self.name, f"{_style.literal(label)}, {'≤' if rising else '≥'} x"
        )
        text += _style.infinite_shares(below, above)
        style = {"drawstyle": "steps-post" if rising else "steps-pre", "label": text, **style}
        self.lines_ += ax.plot(xs, ys, **style)
        for share, end in ((below, (-np.inf, left)), (above, (np.inf, right))):
            if share > 0:
                self.edges_ += _axes.mark_on_frame(ax, *end, color=self.lines_[-1].get_color())


def _shares_at_infinity(llr: Array, percent: Array, rising: bool) -> tuple[float, float]:
    """Percentage of LLRs at -inf and at +inf, from a cumulative distribution."""
    inside = percent[1] if len(llr) > 1 else 0.0
    before = percent[-2] if len(llr) > 1 else 0.0
    at_minus, at_plus = llr[0] == -np.inf, llr[-1] == np.inf
    if rising:
        return float(percent[0]) * at_minus, float(100 - before) * at_plus
    return float(100 - inside) * at_minus, float(percent[-1]) * at_plus
