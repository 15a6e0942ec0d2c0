"""Costs of evidence: over all priors, and for each pair of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import to_numpy
from deciban._validation.labels import as_labels
from deciban.evidence import Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.costs import (
    PriorCurve,
    empirical_cross_entropy_curve,
    normalized_bayes_error_curve,
)
from deciban.metrics.labelled import Labelled, Trials
from deciban.metrics.multiclass import pairwise_costs
from deciban.plots import _display as draw
from deciban.plots._display import Axes, Display, Floats, PairDisplay, Style

_TALLEST = 2.0  # top of the view in multiples of the neutral cost; what is above is marked
_WITH_NUMBERS = 12  # classes up to which cells are large enough for a number
_WITH_NAMES = 30  # classes up to which every one is named


@dataclass(eq=False, repr=False)
class _PriorDisplay(PairDisplay):
    """A cost over prior log-odds: of the LLRs, after recalibration, and without LLRs."""

    log_odds: Floats
    actual: Floats
    minimum: Floats
    neutral: Floats

    settings = (*PairDisplay.settings, "log_odds")
    _metric: ClassVar[Callable[..., PriorCurve]]
    _cost: ClassVar[str]

    @classmethod
    def _from_data(cls, trials: Trials, log_odds: ArrayLike | None = None) -> Self:
        options = {"log_odds": log_odds, "sample_weight": trials.weight}
        return cls(*cls._metric(trials.y_true, trials.llr, **options))

    def _draw(self, ax: Axes, unit: Unit, line_options: Style) -> None:
        x = from_nats(self.log_odds, unit)
        draw.set_view(ax, not ax.has_data(), draw.span(x), (0, self._top()))
        style: Style = {"color": draw.unused_colors(ax, 1)[0], "ls": "-", "lw": 1.5} | line_options
        inside = np.where(self.actual <= self._top(), self.actual, np.nan)
        (self.line_,) = ax.plot(x, inside, label=self._label("actual"), **style)
        color = self.line_.get_color()
        style = {"color": color, "ls": (0, (4, 1.5)), "label": self._label("minimum, PAV")}
        (self.minimum_,) = ax.plot(x, self.minimum, **style)
        style = {"color": draw.REFERENCE, "ls": ":", "lw": 1.2, "label": "neutral, LLR = 0"}
        (self.neutral_,) = ax.plot(x, self.neutral, **style)
        self.edges_ = self._mark_costs_above(ax, x, color)
        of_class = f"of {draw.literal(self.pos_label)} ({unit})"
        ax.set_xlabel(draw.fold("prior log-odds", of_class))
        ax.set_ylabel(self._cost)
        draw.draw_legend(ax, headroom=True)

    def _top(self) -> float:
        costs = np.concatenate([self.actual, self.neutral])
        tallest = _TALLEST * float(self.neutral.max())
        return 1.05 * min(float(costs[np.isfinite(costs)].max()), tallest)

    def _mark_costs_above(self, ax: Axes, x: Floats, color: Any) -> list[Any]:
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
    r"""Cross-entropy of the posteriors, in bits, over prior log-odds; at even odds it is Cllr.

    At a prior :math:`P` of ``pos_label`` with log-odds :math:`\omega`, the cost is :math:`P` times
    the mean :math:`\log_2(1 + e^{-l - \omega})` over the LLRs :math:`l` of ``pos_label``, plus
    :math:`1 - P` times the mean of :math:`\log_2(1 + e^{l + \omega})` over those of the other
    class. The minimum is the cost after PAV, the neutral cost that of LLRs of zero. The view
    reaches twice the neutral cost; triangles on the frame mark costs above it, filled if infinite.

    The display holds a :class:`deciban.metrics.PriorCurve`: ``log_odds`` in nats, also an option of
    :meth:`compute`, by default 101 points from -3 to 3 bans, and the costs ``actual``, ``minimum``
    and ``neutral``. Drawn artists are ``line_``, ``minimum_``, ``neutral_`` and ``edges_``.

    See Also
    --------
    deciban.metrics.empirical_cross_entropy_curve : The numbers behind it.
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
    r"""Error rate of Bayes decisions over prior log-odds, divided by that without LLRs.

    At a prior :math:`P` of ``pos_label`` with log-odds :math:`\omega`, samples with an LLR above
    :math:`-\omega` are decided for ``pos_label``. The curve is
    :math:`(P P_{\mathrm{miss}} + (1 - P) P_{\mathrm{fa}}) / \min(P, 1 - P)`: above 1, the LLRs do
    harm. The minimum is that of the best thresholds. The view reaches up to 2; triangles on the
    frame mark ratios above it. Parameters and attributes are those of
    :class:`EmpiricalCrossEntropyDisplay`.

    See Also
    --------
    deciban.metrics.normalized_bayes_error_curve : The numbers behind it.
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


class PairwiseDisplay(Display):
    """Cost of the LLRs of each pair of classes: Cllr above the diagonal, Cllr_min below it.

    Both classes of a pair have equal weights. Bright pairs are hard to tell apart. If a cell above
    the diagonal is brighter than its mirror image below, the evidence is badly calibrated. Costs
    above 1 bit, the cost without any evidence, have the last color. Drawn artists are ``image_``,
    ``colorbar_`` and ``texts_``.

    See Also
    --------
    deciban.metrics.pairwise_cllr : The numbers behind it.

    Examples
    --------
    >>> from deciban import Evidence
    >>> display = PairwiseDisplay.compute([0, 1, 1], Evidence.from_llr([-1.0, 1.0, 2.0]))
    >>> display.matrix.round(2)
    array([[ nan, 0.38],
           [0.  ,  nan]])
    """

    def __init__(
        self, cllr: ArrayLike, cllr_min: ArrayLike, classes: Sequence[Hashable] | None = None
    ) -> None:
        self.cllr, self.cllr_min = to_numpy(cllr, "cllr"), to_numpy(cllr_min, "cllr_min")
        shape = self.cllr.shape
        if len(shape) != 2 or shape[0] != shape[1] or self.cllr_min.shape != shape:
            raise InputError(
                f"cllr and cllr_min must be square and of one shape; got {shape} and "
                f"{self.cllr_min.shape}. Give what metrics.pairwise_cllr returns."
            )
        self.classes = as_labels(classes, shape[0])

    @classmethod
    def _from_data(cls, data: Labelled) -> Self:
        return cls(*pairwise_costs(data), data.evidence.classes)

    @property
    def matrix(self) -> Floats:
        """Cllr above the diagonal, Cllr_min below, NaN on it."""
        matrix = np.triu(self.cllr, 1) + np.tril(self.cllr_min, -1)
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def plot(
        self,
        ax: Axes | None = None,
        *,
        numbers: bool | None = None,
        cmap: Any = "cividis",
        **options: Any,
    ) -> Self:
        """Draw the map, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        numbers : bool, default True for 12 classes or fewer
            Whether to write the costs into the cells.
        cmap, **options
            Of matplotlib's ``imshow``.
        """
        ax = draw.get_axes(ax)
        matrix = self.matrix
        top = min(1.0, float(matrix[np.isfinite(matrix)].max(initial=0.0))) or 1.0
        style: Style = {"vmin": 0.0, "vmax": top, "interpolation": "none"} | options
        self.image_ = ax.imshow(matrix, cmap=cmap, **style)
        extend = "max" if (matrix > top).any() else "neither"
        bar: Style = {"ax": ax, "extend": extend, "label": "cost of the LLRs (bit)"}
        self.colorbar_ = ax.figure.colorbar(self.image_, **bar)
        self._name_classes(ax)
        numbers = len(self.classes) <= _WITH_NUMBERS if numbers is None else numbers
        self.texts_ = self._write_numbers(ax, matrix) if numbers else []
        ax.set_xlabel(r"class (below: $C_{\mathrm{llr}}^{\min}$)")
        ax.set_ylabel(r"class (above: $C_{\mathrm{llr}}$)")
        return self._finish(ax)

    def _name_classes(self, ax: Axes) -> None:
        D = len(self.classes)
        at = np.arange(0, D, 1 if D <= _WITH_NAMES else int(np.ceil(D / 10)))
        names = [draw.literal(self.classes[k]) for k in at]
        slanted: Style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        longest = max(map(len, names))
        ax.set_xticks(at, names, **(slanted if longest * len(at) > 24 and longest > 2 else {}))
        ax.set_yticks(at, names)

    def _write_numbers(self, ax: Axes, matrix: Floats) -> list[Any]:
        D = len(matrix)
        inches = min(ax.get_window_extent().size) / ax.figure.dpi
        size = float(np.clip(72 * inches / D / 2.6, 3.5, 9.0))
        low, high = self.image_.get_clim()
        texts = []
        for i, j in np.argwhere(~np.isnan(matrix)):
            dark = (min(matrix[i, j], high) - low) / (high - low) < 0.55
            style: Style = {"color": "w" if dark else "k", "ha": "center", "va": "center"}
            texts.append(ax.text(j, i, _format_cost(matrix[i, j]), fontsize=size, **style))
        return texts


def _format_cost(cost: float) -> str:
    if np.isinf(cost):
        return "∞"
    text = f"{cost:.2f}" if cost < 10 else f"{cost:.0f}"
    return text.removeprefix("0") if cost < 1 and text != "1.00" else text
