"""Curves of the LLRs of two classes: Tippett and DET plots, and costs over all priors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from deciban.evidence import Unit, from_nats
from deciban.metrics.costs import (
    PriorCurve,
    empirical_cross_entropy_curve,
    normalized_bayes_error_curve,
)
from deciban.metrics.detection import equal_errors, error_rates
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import pool
from deciban.metrics.proportions import wilson
from deciban.metrics.tippett import tippett_curve
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import PairDisplay

_TALLEST = 2.0  # top of the view in multiples of the neutral cost; what is above is marked
#: Ticks of probit axes.
PERCENT = (0.001, 0.01, 0.1, 0.5, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99.5, 99.9)
_CONFIDENCE = 0.95  # of the bounds on error rates where no error was seen
_MIDDLE = 0.45  # share of the width beyond which a text would not fit
_NOTHING = 1e-12  # what stands for a rate of 0, far outside of any view
_ALONG = np.concatenate([[0.0], expit(np.linspace(-10, 10, 31)), [1.0]])  # each edge of the hull


@dataclass(eq=False, repr=False)
class TippettDisplay(PairDisplay):
    r"""Cumulative distributions of the LLRs of two classes.

    For each class the share of its samples with an LLR of x or more,
    :math:`P(\mathrm{LLR} \ge x)`. At x = 0 the curves show the rates of misleading evidence. Where
    there are infinite LLRs the curves end on the frame at a marker, and the legend says how many.
    Long curves are thinned to the points that can be seen.

    Parameters
    ----------
    llr, target, other : arrays of shape (n_levels,)
        LLRs in nats, rising, and the shares of ``pos_label`` and of the other class, from 0 to 1:
        a :class:`deciban.metrics.TippettCurve`.
    kind : {"exceeding", "misleading"}, default "exceeding"
        Whether the curve of ``pos_label`` is the share at or above x, or at or below it. An option
        of :meth:`compute`, too.
    pos_label, other_label : labels, default 1 and 0
        The class that a positive LLR supports, and the other one.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    lines_ : list of lines
        Of ``pos_label`` and of the other class.
    edges_ : list of markers
        For infinite LLRs.

    See Also
    --------
    deciban.metrics.tippett_curve : The numbers behind it.
    deciban.metrics.misleading_rates : Shares of LLRs that point the wrong way.
    LLRHistogramDisplay : The same LLRs as histograms.

    Examples
    --------
    >>> display = TippettDisplay.compute([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0])
    >>> display.llr, display.target, display.other
    (array([-3. ,  0.5,  1. ,  2. ]), array([1. , 1. , 0.5, 0.5]), array([1. , 0.5, 0.5, 0. ]))
    """

    llr: Floats
    target: Floats
    other: Floats
    kind: Literal["exceeding", "misleading"] = field(default="exceeding", kw_only=True)

    _settings = (*PairDisplay._settings, "kind")

    @classmethod
    def _from_data(cls, trials: Trials, kind: Any = "exceeding") -> Self:
        curve = tippett_curve(trials.y_true, trials.llr, kind=kind, sample_weight=trials.weight)
        return cls(*curve, kind=kind)

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.llr, unit)
        _axes.set_view(ax, not ax.has_data(), _axes.span(x), (-3, 103))
        self.lines_: list[Any] = []
        self.edges_: list[Any] = []
        first, second = (
            {"color": color, "ls": _style.dashes_of(k), "lw": 1.5} | line_options
            for k, color in enumerate(_axes.unused_colors(ax, 2))
        )
        rising = self.kind == "misleading"
        self._draw_curve(ax, x, self.pos_label, 100 * self.target, rising, first)
        self._draw_curve(ax, x, self.other_label, 100 * self.other, False, second)
        ax.set_xlabel(f"x: {_style.llr_label(self.pos_label, self.other_label, unit)}")
        ax.set_ylabel("share of LLRs (%)")
        _axes.draw_legend(ax, headroom=True)

    def _draw_curve(
        self, ax: Axes, x: Floats, label: Hashable, y: Floats, rising: bool, style: Style
    ) -> None:
        below, above = _shares_at_infinity(x, y, rising)
        left, right = (below, 100 - above) if rising else (100 - below, above)
        finite = np.flatnonzero(np.isfinite(x))
        seen = finite[_axes.visible_points(x[finite], y[finite])]
        low, high = _axes.span(x)
        far = _axes.FAR * (high - low)
        xs = np.concatenate([[low - far], x[seen], [high + far]])
        ys = np.concatenate([[left], y[seen], [right]])
        text = f"{_style.literal(label)}, {'≤' if rising else '≥'} x"
        text = self._label(text) + _style.infinite_note(below, above, "{:.2g} %")
        style = {"drawstyle": "steps-post" if rising else "steps-pre", "label": text, **style}
        self.lines_ += ax.plot(xs, ys, **style)
        for share, end in ((below, (-np.inf, left)), (above, (np.inf, right))):
            if share > 0:
                self.edges_ += _axes.mark_on_frame(ax, *end, color=self.lines_[-1].get_color())


def _shares_at_infinity(llr: Floats, percent: Floats, rising: bool) -> tuple[float, float]:
    """Percentage of LLRs at -inf and at +inf, from a cumulative distribution."""
    if rising:
        below, above = percent[0], 100 - np.append(0.0, percent)[-2]
    else:
        below, above = 100 - np.append(percent, 0.0)[1], percent[-1]
    return float(below * (llr[0] == -np.inf)), float(above * (llr[-1] == np.inf))


@dataclass(eq=False, repr=False)
class DETDisplay(PairDisplay):
    r"""Miss rate against false-alarm rate on probit axes; for Gaussian scores a straight line.

    Both axes are :math:`\Phi^{-1}` of a rate, with the standard normal distribution :math:`\Phi`.
    The marker is the equal-error rate on the convex hull of the ROC curve. Only the order of the
    LLRs counts, so infinite ones are as good as others, and any scores that rise with the LLR give
    the same curve. Long curves are thinned to the points that can be seen.

    Parameters
    ----------
    p_miss, p_false_alarm : arrays of shape (n_thresholds,)
        Error rates at rising thresholds.
    eer : float
        Equal-error rate.
    hull : (array, array), optional
        Miss and false-alarm rates at the corners of the convex hull.
    n_samples : (int, int), optional
        Number of samples of ``pos_label`` and of the other class. Where no error was seen, it
        bounds the error rates.
    pos_label, other_label : labels, default 1 and 0
        The class that a positive LLR supports, and the other one.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    line_, marker_ : lines
    hull_ : line, or None
    bound_, note_ : area and text, or None
        The error rates that samples without an error allow, with 95 % confidence, and their
        description; None where there are errors.

    See Also
    --------
    deciban.metrics.det_curve : The numbers behind it.
    deciban.metrics.eer : The equal-error rate.

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
        eer = equal_errors(*hull)
        return cls(rates.p_miss, rates.p_false_alarm, eer, hull=hull, n_samples=n_samples)

    def plot(self, ax: Axes | None = None, *, hull: bool = False, **line_options: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        hull : bool, default False
            Whether to draw the convex hull of the ROC curve too.
        **line_options
            Options of matplotlib's ``plot``.

        Returns
        -------
        DETDisplay
            Itself, drawn.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> fig, ax = plt.subplots()
        >>> display = DETDisplay.compute([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0], name="system 1")
        >>> display.plot(ax, hull=True).line_.get_label()
        'system 1 (EER 25 %)'
        >>> plt.close(fig)
        """
        ax = _axes.get_axes(ax)
        fresh = not ax.has_data()
        self._set_scales(ax, fresh)
        if fresh:
            _axes.draw_identity(ax, lw=0.8)
        color = _axes.unused_colors(ax, 1)[0]
        dashes = _style.dashes_of(_style.COLORS.index(color))
        style = {"color": color, "ls": dashes, "lw": 1.5} | line_options
        label = f"{_style.literal(self.name or 'DET')} (EER {100 * self.eer:.2g} %)"
        self.line_ = _draw_rates(ax, self.p_miss, self.p_false_alarm, label=label, **style)
        at = max(float(probit(self.eer)), ax.get_xlim()[0])
        color = self.line_.get_color()
        ring: Style = {"color": color, "mfc": "w", "mew": 1.5, "clip_on": False, "zorder": 5}
        self.marker_ = ax.plot([at], [at], "o", **ring)[0]
        self.hull_ = self._draw_hull(ax, color) if hull and self.hull is not None else None
        self.bound_: Any = None
        self.note_: Any = None
        if self.eer == 0:
            self.bound_, self.note_ = self._draw_bound(ax, color)
        ax.set_xlabel("false-alarm rate (%)")
        ax.set_ylabel("miss rate (%)")
        _axes.draw_legend(ax)
        return self._finish(ax)

    def _set_scales(self, ax: Axes, fresh: bool) -> None:
        rates = np.concatenate([self.p_miss, self.p_false_alarm])
        least = rates[rates > 0].min()
        if self.eer == 0 and self.n_samples is not None:  # the bound must be within the view
            least = min(least, 1 / max(self.n_samples))
        lowest = np.clip(least / 1.5, 1e-6, 0.01)
        low, high = (float(p) for p in probit([lowest, np.clip(2.5 * self.eer, 0.5, 0.99)]))
        _axes.set_view(ax, fresh, (low, high), (low, high))
        low, high = ax.get_xlim()
        ticks = {float(probit(p / 100)): f"{p:g}" for p in PERCENT}
        ticks = {at: name for at, name in ticks.items() if low <= at <= high}
        ax.set_xticks(list(ticks), ticks.values())
        ax.set_yticks(list(ticks), ticks.values())
        ax.set_aspect("equal")

    def _draw_bound(self, ax: Axes, color: Any) -> tuple[Any, Any]:
        """Shade the error rates that are possible though none was seen, and say so."""
        (low, high), edge = ax.get_xlim(), 0.0
        text, area = f"{_style.literal(self.name)}: no errors" if self.name else "no errors", None
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
    seen = _axes.visible_points(x, y)
    return ax.plot(x[seen], y[seen], **style)[0]


def probit(p: ArrayLike) -> Floats:
    """Quantile of the standard normal distribution; rates of 0 and 1 lie far out."""
    return np.asarray(ndtri(np.clip(p, _NOTHING, 1 - _NOTHING)))


@dataclass(eq=False, repr=False)
class _PriorDisplay(PairDisplay):
    """A cost over prior log-odds: of the LLRs, after recalibration, and without LLRs."""

    log_odds: Floats
    actual: Floats
    minimum: Floats
    neutral: Floats

    _settings = (*PairDisplay._settings, "log_odds")
    _metric: ClassVar[Callable[..., PriorCurve]]
    _cost: ClassVar[str]

    @classmethod
    def _from_data(cls, trials: Trials, log_odds: ArrayLike | None = None) -> Self:
        options = {"log_odds": log_odds, "sample_weight": trials.weight}
        return cls(*cls._metric(trials.y_true, trials.llr, **options))

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.log_odds, unit)
        _axes.set_view(ax, not ax.has_data(), _axes.span(x), (0, self._top()))
        style: Style = {"color": _axes.unused_colors(ax, 1)[0], "ls": "-", "lw": 1.5} | line_options
        inside = np.where(self.actual <= self._top(), self.actual, np.nan)
        (self.line_,) = ax.plot(x, inside, label=self._label("actual"), **style)
        color = self.line_.get_color()
        style = {"color": color, "ls": (0, (4, 1.5)), "label": self._label("minimum, PAV")}
        (self.minimum_,) = ax.plot(x, self.minimum, **style)
        style = {"color": _style.REFERENCE, "ls": ":", "lw": 1.2, "label": "neutral, LLR = 0"}
        (self.neutral_,) = ax.plot(x, self.neutral, **style)
        self.edges_ = self._mark_costs_above(ax, x, color)
        of_class = f"of {_style.literal(self.pos_label)} ({unit})"
        ax.set_xlabel(_style.fold("prior log-odds", of_class))
        ax.set_ylabel(self._cost)
        _axes.draw_legend(ax, headroom=True)

    def _top(self) -> float:
        costs = np.concatenate([self.actual, self.neutral])
        tallest = _TALLEST * float(self.neutral.max())
        return 1.05 * min(float(costs[np.isfinite(costs)].max()), tallest)

    def _mark_costs_above(self, ax: Axes, x: Floats, color: Any) -> list[Any]:
        """Triangles on the frame where the cost is above it, infinite ones filled."""
        infinite = np.isinf(self.actual)
        above = (self.actual > self._top()) & ~infinite
        top = ax.get_xaxis_transform()
        style: Style = {"color": color, "ms": 5, "clip_on": False, "transform": top}
        edges = []
        for here, fill, what in ((above, "w", "above the frame"), (infinite, color, "infinite")):
            at = np.flatnonzero(here)[:: max(1, len(x) // 20)]
            if at.size:
                label = self._label(f"actual, {what}")
                edges += ax.plot(x[at], np.ones(at.size), "^", mfc=fill, label=label, **style)
        return edges


class EmpiricalCrossEntropyDisplay(_PriorDisplay):
    r"""Cross-entropy of the posteriors over prior log-odds; at even odds it is Cllr.

    At a prior :math:`P` of ``pos_label`` with log-odds :math:`\omega`, the cost is :math:`P` times
    the mean of :math:`\log_2(1 + e^{-l - \omega})` over the LLRs :math:`l` of ``pos_label``, plus
    :math:`1 - P` times the mean of :math:`\log_2(1 + e^{l + \omega})` over those of the other
    class. The minimum is the cost after recalibration by PAV, and the neutral cost that of LLRs of
    zero. The view reaches up to twice the neutral cost. Where the cost is above it, or infinite,
    triangles on the frame say so.

    Parameters
    ----------
    log_odds : array of shape (n_points,)
        Prior log-odds of ``pos_label`` in nats. An option of :meth:`compute`, too, by default 101
        points from -3 to 3 bans.
    actual, minimum, neutral : arrays of shape (n_points,)
        Costs in bits, as in :class:`deciban.metrics.PriorCurve`.
    pos_label, other_label : labels, default 1 and 0
        The class that a positive LLR supports, and the other one.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
        For costs above the view.

    See Also
    --------
    deciban.metrics.empirical_cross_entropy_curve : The numbers behind it.
    deciban.metrics.cllr : The cost at even odds.
    NormalizedBayesErrorDisplay : Errors of decisions in place of cross-entropy.

    Examples
    --------
    >>> y_true, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 0.5, -0.5, 2.0, 4.0]
    >>> display = EmpiricalCrossEntropyDisplay.compute(y_true, llr, log_odds=[0.0])
    >>> display.actual.round(3), display.minimum.round(3), display.neutral
    (array([0.59]), array([0.333]), array([1.]))
    """

    _metric = staticmethod(empirical_cross_entropy_curve)
    _cost = "empirical cross-entropy (bit)"


class NormalizedBayesErrorDisplay(_PriorDisplay):
    r"""Error rate of Bayes decisions over prior log-odds, over that of deciding without LLRs.

    At a prior :math:`P` of ``pos_label`` with log-odds :math:`\omega`, a sample is decided for
    ``pos_label`` where its LLR is above :math:`-\omega`. The curve is
    :math:`(P P_{\mathrm{miss}} + (1 - P) P_{\mathrm{fa}}) / \min(P, 1 - P)`: above 1, the LLRs do
    harm. The minimum is that of the best thresholds. The view reaches up to 2; where the curve is
    above it, triangles on the frame say so.

    Parameters
    ----------
    log_odds : array of shape (n_points,)
        Prior log-odds of ``pos_label`` in nats. An option of :meth:`compute`, too, by default 101
        points from -3 to 3 bans.
    actual, minimum, neutral : arrays of shape (n_points,)
        Ratios, as in :class:`deciban.metrics.PriorCurve`.
    pos_label, other_label : labels, default 1 and 0
        The class that a positive LLR supports, and the other one.
    name : str, optional
        Name of the system in the legend.

    Attributes
    ----------
    line_, minimum_, neutral_ : lines
    edges_ : list of markers
        For ratios above the view.

    See Also
    --------
    deciban.metrics.normalized_bayes_error_curve : The numbers behind it.
    deciban.metrics.detection_cost : The same for one prior and any costs.
    EmpiricalCrossEntropyDisplay : Cross-entropy in place of errors.

    Examples
    --------
    >>> y_true, llr = [0, 0, 0, 1, 1, 1], [-3.0, -1.0, 0.5, -0.5, 2.0, 4.0]
    >>> display = NormalizedBayesErrorDisplay.compute(y_true, llr, log_odds=[0.0])
    >>> display.actual.round(3), display.minimum.round(3), display.neutral
    (array([0.667]), array([0.333]), array([1.]))
    """

    _metric = staticmethod(normalized_bayes_error_curve)
    _cost = "normalized Bayes error (ratio)"
