"""DET plots: misses against false alarms on probit axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from deciban.metrics.detection import equal_errors, error_rates
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import pool
from deciban.plots import _axes, _style
from deciban.plots._axes import Array, Axes, Style
from deciban.plots._display import PairDisplay

_PERCENT = (0.001, 0.01, 0.1, 0.5, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99.5, 99.9)
_NOTHING = 1e-12  # what stands for a rate of 0, far outside of any view
_ALONG = np.concatenate([[0.0], expit(np.linspace(-10, 10, 31)), [1.0]])  # an edge of the hull


@dataclass(eq=False, repr=False)
class DETDisplay(PairDisplay):
    """Miss rate against false-alarm rate on probit axes; for Gaussian scores a straight line.

    The marker is the equal-error rate on the convex hull of the ROC curve. Scores that rise with
    the LLR give the same curve. Infinite LLRs count by their order, as all others do. Curves of a
    million LLRs are thinned to the points that can be seen.

    Parameters
    ----------
    p_miss, p_false_alarm : arrays
        Error rates at rising thresholds.
    eer : float
        Equal-error rate.
    hull : (array, array), optional
        Miss and false-alarm rates at the corners of the convex hull.
    pos_label, other_label, name
        As for :meth:`compute`.

    Attributes
    ----------
    line_, marker_ : lines
    hull_ : line, or None
    """

    p_miss: Array
    p_false_alarm: Array
    eer: float
    hull: tuple[Array, Array] | None = field(default=None, kw_only=True)

    @classmethod
    def _from_trials(cls, trials: Trials) -> Self:
        rates, hull = error_rates(trials), pool(trials).hull()
        return cls(rates.p_miss, rates.p_false_alarm, equal_errors(*hull), hull=hull)

    def plot(self, ax: Axes | None = None, *, hull: bool = False, **line_options: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        hull : bool, default False
            Whether to draw the convex hull of the ROC curve too.
        **line_options
            For matplotlib's ``plot``.
        """
        ax = _axes.get_axes(ax)
        fresh = not ax.has_data()
        self._set_scales(ax, fresh)
        if fresh:
            _axes.draw_identity(ax, lw=0.8)
        color = _axes.unused_colors(ax, 1)[0]
        style = {
            "color": color,
            "ls": _style.dashes_of(_style.COLORS.index(color)),
            "lw": 1.5,
        } | line_options
        label = f"{_style.literal(self.name or 'DET')} (EER {100 * self.eer:.2g} %)"
        self.line_ = _draw_rates(ax, self.p_miss, self.p_false_alarm, label=label, **style)
        at = max(float(probit(self.eer)), ax.get_xlim()[0])
        color = self.line_.get_color()
        ring: Style = {"color": color, "mfc": "w", "mew": 1.5, "clip_on": False, "zorder": 5}
        self.marker_ = ax.plot([at], [at], "o", **ring)[0]
        self.hull_ = self._draw_hull(ax, color) if hull and self.hull is not None else None
        ax.set_xlabel("false-alarm rate (%)")
        ax.set_ylabel("miss rate (%)")
        _axes.draw_legend(ax)
        return self._finish(ax)

    def _set_scales(self, ax: Axes, fresh: bool) -> None:
        rates = np.concatenate([self.p_miss, self.p_false_alarm])
        smallest = float(rates[rates > 0].min())
        limits = (
            float(probit(np.clip(smallest / 1.5, 1e-6, 0.01))),
            float(probit(np.clip(2.5 * self.eer, 0.5, 0.99))),
        )
        _axes.set_view(ax, fresh, limits, limits)
        low, high = ax.get_xlim()
        percent = [p for p in _PERCENT if low <= probit(p / 100) <= high]
        ticks, names = [float(probit(p / 100)) for p in percent], [f"{p:g}" for p in percent]
        ax.set_xticks(ticks, names)
        ax.set_yticks(ticks, names)
        ax.set_aspect("equal")

    def _draw_hull(self, ax: Axes, color: Any) -> Any:
        # The edges are straight between error rates, but not between their probits.
        rates = (
            np.append(p[:-1, None] + np.diff(p)[:, None] * _ALONG[:-1], p[-1])
            for p in self.hull or ()
        )
        label = _style.legend_label(self.name, "ROC hull")
        return _draw_rates(ax, *rates, color=color, lw=0.9, ls=(0, (1, 1)), label=label)


def _draw_rates(ax: Axes, p_miss: Array, p_false_alarm: Array, **style: Any) -> Any:
    x, y = probit(p_false_alarm), probit(p_miss)
    seen = _axes.visible_points(x, y)
    return ax.plot(x[seen], y[seen], **style)[0]


def probit(p: ArrayLike) -> Array:
    """Quantile of the standard normal distribution; rates of 0 and 1 lie far out."""
    return np.asarray(ndtri(np.clip(p, _NOTHING, 1 - _NOTHING)))
