"""What LLRs cost over all priors: empirical cross-entropy and normalized Bayes error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban.evidence import Unit, from_nats
from deciban.metrics import PriorCurve, empirical_cross_entropy_curve, normalized_bayes_error_curve
from deciban.metrics.labelled import Trials
from deciban.plots import _axes, _style
from deciban.plots._axes import Array, Axes, Style
from deciban.plots._display import PairDisplay

_TALLEST = 2.0  # how many times the neutral cost the view reaches; what is above is marked


@dataclass(eq=False, repr=False)
class _PriorDisplay(PairDisplay):
    """A cost over prior log-odds: of the LLRs, after recalibration, and without LLRs."""

    log_odds: Array
    actual: Array
    minimum: Array
    neutral: Array

    _metric: ClassVar[Callable[..., PriorCurve]]
    _cost: ClassVar[str]

    @classmethod
    def _from_trials(cls, trials: Trials, log_odds: ArrayLike | None = None) -> Self:
        weight = trials.weight
        return cls(*cls._metric(trials.y_true, trials.llr, log_odds=log_odds, sample_weight=weight))

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.log_odds, unit)
        _axes.set_view(ax, not ax.has_data(), _axes.span(x), (0, self._top()))
        style: Style = {"color": _axes.unused_colors(ax, 1)[0], "ls": "-", "lw": 1.5} | line_options
        inside = np.where(self.actual <= self._top(), self.actual, np.nan)
        (self.line_,) = ax.plot(x, inside, label=_style.legend_label(self.name, "actual"), **style)
        color = self.line_.get_color()
        label = _style.legend_label(self.name, "minimum, PAV")
        (self.minimum_,) = ax.plot(x, self.minimum, color=color, ls=(0, (4, 1.5)), label=label)
        (self.neutral_,) = ax.plot(
            x, self.neutral, color=_style.REFERENCE, ls=":", lw=1.2, label="neutral, LLR = 0"
        )
        self.edges_ = self._mark_costs_above(ax, x, color)
        ax.set_xlabel(_style.log_odds_label(self.pos_label, unit))
        ax.set_ylabel(self._cost)
        _axes.draw_legend(ax, headroom=True)

    def _top(self) -> float:
        costs = np.concatenate([self.actual, self.neutral])
        tallest = _TALLEST * float(self.neutral.max())
        return 1.05 * min(float(costs[np.isfinite(costs)].max()), tallest)

    def _mark_costs_above(self, ax: Axes, x: Array, color: Any) -> list[Any]:
        """Triangles on the frame where the cost is above it, infinite ones filled."""
        infinite = np.isinf(self.actual)
        above = (self.actual > self._top()) & ~infinite
        marks: Style = {
            "color": color,
            "ms": 5,
            "clip_on": False,
            "transform": ax.get_xaxis_transform(),
        }
        edges = []
        for here, fill, what in ((above, "w", "above the frame"), (infinite, color, "infinite")):
            at = np.flatnonzero(here)[:: max(1, len(x) // 20)]
            if at.size:
                label = _style.legend_label(self.name, f"actual, {what}")
                edges += ax.plot(x[at], np.ones(at.size), "^", mfc=fill, label=label, **marks)
        return edges


class EmpiricalCrossEntropyDisplay(_PriorDisplay):
    """Cross-entropy of the posteriors over prior log-odds; at even odds it is Cllr.

    The view reaches up to twice the neutral cost. Where the cost is above it, or infinite,
    triangles on the frame say so.

    Parameters
    ----------
    log_odds, actual, minimum, neutral : arrays
        As in :class:`deciban.metrics.PriorCurve`: nats, then bits. :meth:`compute` takes
        ``log_odds`` too, by default 101 points from -3 to 3 bans.
    pos_label, other_label, name
        As for :meth:`compute`.

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
    """

    _metric = staticmethod(empirical_cross_entropy_curve)
    _cost = "empirical cross-entropy (bit)"


class NormalizedBayesErrorDisplay(_PriorDisplay):
    """Error rate of Bayes decisions over prior log-odds, over that of deciding without LLRs.

    The view reaches up to 2. Where the cost is above it, triangles on the frame say so.

    Parameters
    ----------
    log_odds, actual, minimum, neutral : arrays
        As in :class:`deciban.metrics.PriorCurve`: nats, then ratios. :meth:`compute` takes
        ``log_odds`` too, by default 101 points from -3 to 3 bans.
    pos_label, other_label, name
        As for :meth:`compute`.

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
    """

    _metric = staticmethod(normalized_bayes_error_curve)
    _cost = "normalized Bayes error (ratio)"
