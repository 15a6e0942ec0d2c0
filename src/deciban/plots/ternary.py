"""Three classes on the simplex: posteriors in a triangle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.scalars import Rng, as_generator
from deciban.evidence import Evidence
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats
from deciban.plots._display import Display
from deciban.plots._plane import MOST_SAMPLES, ContourKind, PlaneDisplay
from deciban.reference import CalibratedGaussian

_REACH = 12.0  # nats: nearer to the edge of the triangle than a line is wide


class TernaryDisplay(PlaneDisplay):
    """Posteriors of three classes in a triangle; under the uniform prior, likelihood functions.

    Each corner is a class; the numbers in its color are its probability. Evidence that rules out a
    class lies on the side opposite to it.

    Parameters
    ----------
    evidence : Evidence over three classes
    y_true : array of shape (n_samples,), optional
        True classes, which color the samples.
    prior : array of shape (3,) or mapping, default uniform
    family : CalibratedGaussian, default the one fitted to the evidence
        Family whose contours are drawn.

    Attributes
    ----------
    posterior : array of shape (n_samples, 3)
    samples_, contours_, boundaries_ : lists of artists
    """

    _settings = (*Display._settings, "prior", "family")

    def __init__(
        self,
        evidence: Evidence,
        y_true: ArrayLike | None = None,
        *,
        prior: Any = None,
        family: CalibratedGaussian | None = None,
    ) -> None:
        if evidence.n_classes != 3:
            raise InputError(
                f"evidence must be over three classes for a triangle; got {evidence.n_classes}. "
                f"Choose three of them with evidence.restrict."
            )
        super().__init__(evidence, y_true, family=family)
        self.prior = np.exp(log_prior(prior, evidence.classes, 1)[0])
        self.posterior = evidence.posterior(self.prior)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        contours: ContourKind | None = None,
        masses: Sequence[float] = (0.5, 0.9),
        decisions: bool = True,
        costs: ArrayLike | None = None,
        max_samples: int = MOST_SAMPLES,
        rng: Rng = 0,
        **scatter_options: Any,
    ) -> Self:
        """Draw the samples, contours of their densities, and where the decision changes.

        Parameters
        ----------
        ax : ternary Axes, default those of a new figure
            ``fig.add_subplot(projection="ternary")``, after ``import mpltern``.
        contours, masses, max_samples, rng : as for :meth:`ILRDisplay.plot`
        decisions : bool, default True
            Whether to draw where the decision changes, under ``costs``.
        costs : array of shape (3, 3), optional
        **scatter_options : options of matplotlib's ``scatter``
        """
        rng = as_generator(rng)
        curves = self._contours(contours, masses, rng)
        ax = _axes.get_axes(ax, projection="ternary")
        style = {"clip_on": False, "zorder": 3} | scatter_options
        self._draw_samples(ax, np.full(len(self.evidence), True), max_samples, rng, style)
        self._draw_contours(ax, curves, masses)
        self.boundaries_ = []
        if decisions:
            self._draw_boundaries(ax, _REACH, costs, self.prior)
        self._name_corners(ax)
        _axes.draw_legend(ax, loc="upper left", bbox_to_anchor=(-0.05, 1.03))
        return self._finish(ax)

    def _place(self, l: Floats) -> Floats:
        return Evidence.from_ilr(l, self.basis, self.evidence.classes).posterior(self.prior)

    def _place_samples(self, rows: NDArray[np.intp]) -> Floats:
        return self.posterior[rows]  # a class that is ruled out has no place in the plane

    def _name_corners(self, ax: Any) -> None:
        for k, (axis, label) in enumerate(zip("tlr", self.evidence.classes, strict=True)):
            text = f"P({_style.literal(label)})" if len(str(label)) < 4 else _style.literal(label)
            getattr(ax, f"set_{axis}label")(text, color=_style.color_of(k), weight="bold")
            side = getattr(ax, f"{axis}axis")
            side.set_ticks([0.2, 0.4, 0.6, 0.8])
            side.set_tick_params(labelcolor=_style.color_of(k), labelsize="small")
