"""What LLRs cost over all priors: empirical cross-entropy and normalized Bayes error."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Self

import numpy as np

from deciban.evidence import Unit, from_nats
from deciban.metrics import PriorCurve, empirical_cross_entropy_curve, normalized_bayes_error_curve
from deciban.plots._axes import axes_for, legend, show, span_of, unused_colours
from deciban.plots._display import NamedDisplay
from deciban.plots._pairs import pair_of
from deciban.plots._style import LONG, REFERENCE, named, require_unit

_TALLEST = 2.0  # how many times the neutral cost the view reaches; what is above is marked


class _PriorDisplay(NamedDisplay):
    """A cost over prior log-odds: of the LLRs, after recalibration, and without LLRs."""

    _curve_of: ClassVar[Callable[..., PriorCurve]]
    _cost: ClassVar[str]

    def __init__(
        self,
        log_odds: np.ndarray,
        actual: np.ndarray,
        minimum: np.ndarray,
        neutral: np.ndarray,
        *,
        pos_label: Hashable = 1,
        other_label: Hashable = 0,
        name: str | None = None,
    ) -> None:
        self.log_odds, self.actual, self.minimum = log_odds, actual, minimum
        self.neutral, self.name = neutral, name
        self.pos_label, self.other_label = pos_label, other_label

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        llr: Any,
        *,
        log_odds: Any = None,
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
        log_odds : array, default 101 points from -3 to 3 bans
            Prior log-odds of ``pos_label``, in nats.
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
        curve = cls._curve_of(log_odds=log_odds, **pair.metric_arguments)
        return cls(*curve, name=name, **pair.labels).plot(ax, **options)

    def plot(self, ax: Any = None, *, unit: Unit = "ban", **line_options: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}
            Of the prior log-odds; "ban" is their logarithm to the base 10.
        **line_options
            For matplotlib's ``plot``, for the curve of the LLRs as they are.
        """
        require_unit(unit)
        ax = axes_for(ax)
        fresh = not ax.has_data()
        x = from_nats(self.log_odds, unit)
        show(ax, fresh, span_of(x), (0, self._top()))
        colour = unused_colours(ax, 1)[0]
        style = {"color": colour, "ls": "-", "lw": 1.5} | line_options
        shown = np.where(self.actual <= self._top(), self.actual, np.nan)
        (self.line_,) = ax.plot(x, shown, label=named(self.name, "actual"), **style)
        colour = self.line_.get_color()
        (self.minimum_,) = ax.plot(
            x, self.minimum, color=colour, ls=(0, (4, 1.5)), label=named(self.name, "minimum, PAV")
        )
        (self.neutral_,) = ax.plot(
            x, self.neutral, color=REFERENCE, ls=":", lw=1.2, label="neutral, LLR = 0"
        )
        self.edges_ = self._mark_what_is_above(ax, x, colour)
        gap = "\n" if len(f"prior log-odds of {self.pos_label} ({unit})") > LONG else " "
        ax.set_xlabel(f"prior log-odds{gap}of {self.pos_label} ({unit})")
        ax.set_ylabel(self._cost)
        legend(ax, headroom=True)
        return self._drawn_into(ax)

    def _top(self) -> float:
        costs = np.concatenate([self.actual, self.neutral])
        tallest = _TALLEST * float(self.neutral.max())
        return 1.05 * min(float(costs[np.isfinite(costs)].max()), tallest)

    def _mark_what_is_above(self, ax: Any, x: np.ndarray, colour: Any) -> list[Any]:
        """Triangles on the frame where the cost is above it, infinite ones filled."""
        infinite = np.isinf(self.actual)
        above = (self.actual > self._top()) & ~infinite
        edges = []
        for here, fill, what in ((above, "w", "above the frame"), (infinite, colour, "infinite")):
            at = np.flatnonzero(here)[:: max(1, len(x) // 20)]
            if at.size:
                top, label = np.full(at.size, 1.0), named(self.name, f"actual, {what}")
                edges += ax.plot(
                    x[at],
                    top,
                    "^",
                    color=colour,
                    mfc=fill,
                    ms=5,
                    transform=ax.get_xaxis_transform(),
                    clip_on=False,
                    label=label,
                )
        return edges


class EmpiricalCrossEntropyDisplay(_PriorDisplay):
    """Cross-entropy of the posteriors over prior log-odds; at even odds it is Cllr.

    The view reaches up to twice the neutral cost. Where the cost is above it, or infinite,
    triangles on the frame say so.

    Parameters
    ----------
    log_odds, actual, minimum, neutral : arrays
        As in :class:`deciban.metrics.PriorCurve`: nats, then bits.
    pos_label, other_label : labels
    name : str, optional

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
    """

    _curve_of = staticmethod(empirical_cross_entropy_curve)
    _cost = "empirical cross-entropy (bit)"


class NormalizedBayesErrorDisplay(_PriorDisplay):
    """Error rate of Bayes decisions over prior log-odds, over that of deciding without LLRs.

    The view reaches up to 2. Where the cost is above it, triangles on the frame say so.

    Parameters
    ----------
    log_odds, actual, minimum, neutral : arrays
        As in :class:`deciban.metrics.PriorCurve`: nats, then ratios.
    pos_label, other_label : labels
    name : str, optional

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
    """

    _curve_of = staticmethod(normalized_bayes_error_curve)
    _cost = "normalized Bayes error (ratio)"
