"""DET plots: misses against false alarms on probit axes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from scipy.special import expit, ndtri

from deciban.metrics import det_curve, eer, pav
from deciban.plots._axes import axes_for, legend, show, thinned, unused_colours
from deciban.plots._display import NamedDisplay
from deciban.plots._pairs import pair_of
from deciban.plots._style import COLOURS, REFERENCE, dashes_of

_PERCENT = (0.001, 0.01, 0.1, 0.5, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99.5, 99.9)
_NOTHING = 1e-12  # what stands for a rate of 0, far outside of any view
_ALONG = np.concatenate([[0.0], expit(np.linspace(-10, 10, 31)), [1.0]])  # an edge of the hull


class DETDisplay(NamedDisplay):
    """Miss rate against false-alarm rate on probit axes; for Gaussian scores a straight line.

    The marker is the equal-error rate on the convex hull of the ROC curve. Infinite LLRs count by
    their order, as all others do. Curves of a million LLRs are thinned to what can be seen.

    Parameters
    ----------
    p_miss, p_false_alarm : arrays
        Error rates at rising thresholds.
    eer : float
        Equal-error rate.
    hull : (array, array), optional
        Miss and false-alarm rates at the corners of the convex hull.
    pos_label, other_label : labels
    name : str, optional

    Attributes
    ----------
    line_, marker_ : lines
    hull_ : line, or None
    """

    def __init__(
        self,
        p_miss: np.ndarray,
        p_false_alarm: np.ndarray,
        eer: float,
        *,
        hull: tuple[np.ndarray, np.ndarray] | None = None,
        pos_label: Hashable = 1,
        other_label: Hashable = 0,
        name: str | None = None,
    ) -> None:
        self.p_miss, self.p_false_alarm, self.eer = p_miss, p_false_alarm, eer
        self.hull, self.name = hull, name
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
        """Draw LLRs, or scores that rise with them, beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        llr : array of shape (n_samples,), log-likelihoods, or Evidence
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
        rates = det_curve(**pair.metric_arguments)
        display = cls(
            rates.p_miss,
            rates.p_false_alarm,
            eer(**pair.metric_arguments),
            hull=pav(**pair.metric_arguments).hull(),
            name=name,
            **pair.labels,
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, hull: bool = False, **line_options: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        hull : bool, default False
            Whether to draw the convex hull of the ROC curve too.
        **line_options
            For matplotlib's ``plot``.
        """
        ax = axes_for(ax)
        fresh = not ax.has_data()
        self._set_scales(ax, fresh)
        if fresh:
            ax.axline((0, 0), slope=1, color=REFERENCE, lw=0.8, ls=":")
        colour = unused_colours(ax, 1)[0]
        style = {"color": colour, "ls": dashes_of(COLOURS.index(colour)), "lw": 1.5} | line_options
        x, y = probit(self.p_false_alarm), probit(self.p_miss)
        keep = thinned(x, y)
        label = f"{self.name or 'DET'} (EER {100 * self.eer:.2g} %)"
        (self.line_,) = ax.plot(x[keep], y[keep], label=label, **style)
        at = max(float(probit(self.eer)), ax.get_xlim()[0])
        colour = self.line_.get_color()
        (self.marker_,) = ax.plot(
            [at], [at], "o", color=colour, mfc="w", mew=1.5, clip_on=False, zorder=5
        )
        self.hull_ = self._draw_hull(ax, colour) if hull else None
        ax.set_xlabel("false-alarm rate (%)")
        ax.set_ylabel("miss rate (%)")
        legend(ax)
        return self._drawn_into(ax)

    def _set_scales(self, ax: Any, fresh: bool) -> None:
        rates = np.concatenate([self.p_miss, self.p_false_alarm])
        smallest = float(rates[rates > 0].min())
        limits = (
            float(probit(np.clip(smallest / 1.5, 1e-6, 0.01))),
            float(probit(np.clip(2.5 * self.eer, 0.5, 0.99))),
        )
        show(ax, fresh, limits, limits)
        low, high = ax.get_xlim()
        percent = [p for p in _PERCENT if low <= probit(p / 100) <= high]
        ticks, names = [float(probit(p / 100)) for p in percent], [f"{p:g}" for p in percent]
        ax.set_xticks(ticks, names)
        ax.set_yticks(ticks, names)
        ax.set_aspect("equal")

    def _draw_hull(self, ax: Any, colour: Any) -> Any:
        if self.hull is None:
            return None
        # The edges are straight between error rates, but not between their probits.
        p_miss, p_false_alarm = (
            np.append(p[:-1, None] + np.diff(p)[:, None] * _ALONG[:-1], p[-1]) for p in self.hull
        )
        x, y = probit(p_false_alarm), probit(p_miss)
        keep = thinned(x, y)
        label = "ROC hull" if self.name is None else f"{self.name}: ROC hull"
        (line,) = ax.plot(x[keep], y[keep], color=colour, lw=0.9, ls=(0, (1, 1)), label=label)
        return line


def probit(p: Any) -> np.ndarray:
    """Quantile of the standard normal distribution; rates of 0 and 1 lie far out."""
    return np.asarray(ndtri(np.clip(p, _NOTHING, 1 - _NOTHING)))
