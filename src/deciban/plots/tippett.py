"""Tippett plots: how the LLRs of each class are spread."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics import tippett_curve
from deciban.plots._axes import (
    FAR,
    axes_for,
    legend,
    on_frame,
    show,
    span_of,
    thinned,
    unused_colours,
)
from deciban.plots._display import NamedDisplay
from deciban.plots._pairs import pair_of
from deciban.plots._style import dashes_of, infinite_part, llr_label, named, require_unit

Kind = Literal["exceeding", "misleading"]


class TippettDisplay(NamedDisplay):
    """Cumulative distributions of the LLRs of two classes.

    Where there are infinite LLRs the curves end on the frame at a marker, and the legend says
    how many. Curves of a million LLRs are thinned to the points that can be seen.

    Parameters
    ----------
    llr, target, other : arrays
        As in :class:`deciban.metrics.TippettCurve`, in nats.
    kind : {"exceeding", "misleading"}
    pos_label, other_label : labels
    name : str, optional
        Of the system, for the legend.

    Attributes
    ----------
    lines_ : list of two lines, of ``pos_label`` and of the other class
    edges_ : list of markers for infinite LLRs
    """

    def __init__(
        self,
        llr: np.ndarray,
        target: np.ndarray,
        other: np.ndarray,
        *,
        kind: Kind = "exceeding",
        pos_label: Hashable = 1,
        other_label: Hashable = 0,
        name: str | None = None,
    ) -> None:
        self.llr, self.target, self.other = llr, target, other
        self.kind, self.name = kind, name
        self.pos_label, self.other_label = pos_label, other_label

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        llr: Any,
        *,
        kind: Kind = "exceeding",
        sample_weight: Any = None,
        pos_label: Hashable = 1,
        other_label: Hashable | None = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw LLRs beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        llr : array of shape (n_samples,) in nats, log-likelihoods, or Evidence
        kind : {"exceeding", "misleading"}
            As for :func:`deciban.metrics.tippett_curve`.
        sample_weight : array of shape (n_samples,), optional
        pos_label : label, default 1
        other_label : label, optional
            The other class, where there are more than two; samples of the rest are left out.
        name : str, optional
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        pair = pair_of(y_true, llr, pos_label, other_label, sample_weight)
        curve = tippett_curve(kind=kind, **pair.metric_arguments)
        return cls(*curve, kind=kind, name=name, **pair.labels).plot(ax, **options)

    def plot(self, ax: Any = None, *, unit: Unit = "ban", **line_options: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}
        **line_options
            For matplotlib's ``plot``.
        """
        require_unit(unit)
        ax = axes_for(ax)
        fresh = not ax.has_data()
        x = from_nats(self.llr, unit)
        show(ax, fresh, span_of(x), (-3, 103))
        self.lines_, self.edges_ = [], []
        curves = (
            (self.pos_label, 100 * self.target, self.kind == "misleading"),
            (self.other_label, 100 * self.other, False),
        )
        for k, colour in enumerate(unused_colours(ax, 2)):
            style = {"color": colour, "ls": dashes_of(k), "lw": 1.5} | line_options
            self._curve(ax, x, *curves[k], style)
        ax.set_xlabel(f"x: {llr_label(self.pos_label, self.other_label, unit)}")
        ax.set_ylabel("share of LLRs (%)")
        legend(ax, headroom=True)
        return self._drawn_into(ax)

    def _curve(
        self, ax: Any, x: np.ndarray, label: Hashable, y: np.ndarray, rising: bool, style: Any
    ) -> None:
        below, above = mass_at_infinity(x, y, rising)
        left, right = (below, 100 - above) if rising else (100 - below, above)
        finite = np.flatnonzero(np.isfinite(x))
        keep = finite[thinned(x[finite], y[finite])]
        low, high = span_of(x)
        far = FAR * (high - low)
        xs = np.concatenate([[low - far], x[keep], [high + far]])
        ys = np.concatenate([[left], y[keep], [right]])
        text = named(self.name, f"{label}, {'≤' if rising else '≥'} x")
        text += infinite_part(below, above)
        steps = {"drawstyle": "steps-post" if rising else "steps-pre"}
        self.lines_ += ax.plot(xs, ys, label=text, **steps | style)
        for mass, end in ((below, (-np.inf, left)), (above, (np.inf, right))):
            if mass > 0:
                self.edges_ += on_frame(ax, *end, color=self.lines_[-1].get_color())


def mass_at_infinity(llr: np.ndarray, percent: np.ndarray, rising: bool) -> tuple[float, float]:
    """Percentage of LLRs at -inf and at +inf, from a cumulative distribution."""
    inside = percent[1] if len(llr) > 1 else 0.0
    before = percent[-2] if len(llr) > 1 else 0.0
    at_minus, at_plus = llr[0] == -np.inf, llr[-1] == np.inf
    if rising:
        return float(percent[0]) * at_minus, float(100 - before) * at_plus
    return float(100 - inside) * at_minus, float(percent[-1]) * at_plus
