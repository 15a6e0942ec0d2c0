"""LLRs against what they should have been: the PAV plot."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics import PooledBlocks, pav
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
from deciban.plots._style import REFERENCE, llr_label, require_unit

_WIDER = 3  # times the LLRs of finite recalibration, on either side, before others are cut off


class PAVDisplay(NamedDisplay):
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
    pos_label, other_label : labels
    name : str, optional

    Attributes
    ----------
    line_ : line through the finite blocks
    identity_ : line
    edges_ : list of lines and markers on the frame
    """

    def __init__(
        self,
        blocks: PooledBlocks,
        *,
        n_infinite: tuple[int, int] = (0, 0),
        pos_label: Hashable = 1,
        other_label: Hashable = 0,
        name: str | None = None,
    ) -> None:
        self.blocks, self.n_infinite, self.name = blocks, n_infinite, name
        self.pos_label, self.other_label = pos_label, other_label

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        llr: Any,
        *,
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
        infinite = int((pair.llr == -np.inf).sum()), int((pair.llr == np.inf).sum())
        blocks = pav(**pair.metric_arguments)
        return cls(blocks, n_infinite=infinite, name=name, **pair.labels).plot(ax, **options)

    def plot(self, ax: Any = None, *, unit: Unit = "ban", **line_options: Any) -> Self:
        """Draw the recalibration.

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
        blocks = self.blocks
        x = from_nats(np.column_stack([blocks.low, blocks.high]).ravel(), unit)
        y = from_nats(np.repeat(blocks.llr, 2), unit)
        x_span, y_span = _view(x, y), span_of(y)
        show(ax, fresh, x_span, y_span)
        if fresh:
            self.identity_ = ax.axline((0, 0), slope=1, color=REFERENCE, lw=1, ls=":")
            self.identity_.set_label("identity")
        colour = unused_colours(ax, 1)[0]
        style = {"color": colour, "lw": 1.5, "marker": "o", "ms": 3} | line_options
        self._blocks(ax, x, y, FAR * (x_span[1] - x_span[0]), style)
        ax.set_xlabel(llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel(f"LLR after PAV ({unit})")
        legend(ax, loc="lower right")
        return self._drawn_into(ax)

    def _blocks(self, ax: Any, x: np.ndarray, y: np.ndarray, far: float, style: Any) -> None:
        ends = np.where(np.isinf(x), np.sign(x) * far, x)  # lines that leave the frame
        finite = np.flatnonzero(np.isfinite(y))
        keep = finite[thinned(x[finite], y[finite])] if np.isfinite(x[finite]).all() else finite
        label = (self.name or "PAV") + self._counts()
        (self.line_,) = ax.plot(ends[keep], y[keep], label=label, **style)
        style = style | {"color": self.line_.get_color(), "clip_on": False, "zorder": 5}
        self.edges_ = []
        for k in range(0, len(y), 2):
            if np.isinf(y[k]):
                # Its line runs along the frame; its ends are drawn apart, as they may be corners.
                self.edges_ += ax.plot(
                    ends[k : k + 2],
                    [float(y[k] > 0)] * 2,
                    transform=ax.get_xaxis_transform(),
                    **style | {"marker": "", "clip_on": True, "lw": 3},
                )
        low, high = ax.get_xlim()
        outside = np.isinf(x) | (np.isinf(y) & (low <= x) & (x <= high))
        markers = on_frame(ax, x[outside], y[outside], color=style["color"], marker="D")
        if markers:
            markers[0].set_label("infinite, on the frame")
        self.edges_ += markers

    def _counts(self) -> str:
        parts = [
            f"{n} at {sign}" for n, sign in zip(self.n_infinite, ("−∞", "+∞"), strict=True) if n
        ]
        return f" (LLRs: {', '.join(parts)})" if parts else ""


def _view(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """LLRs to show: all, unless those with a finite recalibration would hardly be seen."""
    (low, high), finite = span_of(x), x[np.isfinite(y) & np.isfinite(x)]
    if finite.size == 0:
        return low, high
    inner = span_of(finite)
    room = _WIDER * (inner[1] - inner[0])
    return max(low, inner[0] - room), min(high, inner[1] + room)
