"""Three classes on the simplex: posteriors in a triangle."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from deciban.evidence import Evidence
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.plots._axes import axes_for, legend, pyplot, register_ternary
from deciban.plots._curves import Contours, boundaries, contours_of, name_masses
from deciban.plots._display import Display
from deciban.plots._samples import (
    MOST,
    evidence_and_truth,
    groups,
    positions_of,
    require_three,
    some_of,
)
from deciban.plots._style import REFERENCE, colour_of, dashes_of, marker_of
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

_REACH = 12.0  # nats: nearer to the edge of the triangle than a line is wide


class TernaryDisplay(Display):
    """Posteriors of three classes in a triangle; under the uniform prior, likelihood functions.

    Each corner is a class; the numbers in its colour are its probability. Evidence that rules a
    class out lies on the side opposite to it. More than 2,000 samples of a class are thinned out
    by chance, with ``seed``.

    Parameters
    ----------
    evidence : Evidence over three classes
    y_true : array of shape (n_samples,), optional
    prior : array of shape (3,) or mapping, default uniform
    family : CalibratedGaussian, optional
        Whose contours to draw; by default the one fitted to the evidence.

    Attributes
    ----------
    samples_, contours_, boundaries_ : lists of artists
    """

    def __init__(
        self,
        evidence: Evidence,
        y_true: Any = None,
        *,
        prior: Any = None,
        family: CalibratedGaussian | None = None,
    ) -> None:
        require_three(evidence, "a triangle")
        self.evidence, self.truth = evidence, positions_of(y_true, evidence)
        self.prior = np.exp(log_prior(prior, evidence.classes, 1)[0])
        self.basis = Basis.gram_schmidt(3).aligned_to(evidence.classes)
        self.family = None if family is None else family.in_basis(self.basis)
        self.coordinates = (0, 1)
        self.posterior = evidence.posterior(self.prior)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        log_likelihoods: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        prior: Any = None,
        family: CalibratedGaussian | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw evidence beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        log_likelihoods : array of shape (n_samples, 3), or Evidence
        classes : sequence of labels, optional
        prior, family
            As for the class.
        ax : ternary Axes, optional
            ``fig.add_subplot(projection="ternary")``, after ``import mpltern``.
        **options
            Those of :meth:`plot`.
        """
        evidence, truth = evidence_and_truth(y_true, log_likelihoods, classes)
        display = cls(evidence, prior=prior, family=family)
        display.truth = truth
        return display.plot(ax, **options)

    @classmethod
    def from_family(
        cls,
        family: CalibratedGaussian,
        *,
        n_samples: int = 200,
        seed: int = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a calibrated Gaussian family, with samples of each class.

        Parameters
        ----------
        family : CalibratedGaussian of three classes
        n_samples : int, default 200
            How many samples of each class.
        seed : int, default 0
        ax : ternary Axes, optional
        **options
            Those of :meth:`plot`.
        """
        l, y = family.sample([n_samples] * family.n_classes, rng=seed)
        display = cls(family.evidence(l), y, family=family)
        return display.plot(ax, **{"contours": "gaussian"} | options)

    def plot(
        self,
        ax: Any = None,
        *,
        contours: Contours | None = None,
        masses: Sequence[float] = (0.5, 0.9),
        decisions: bool = True,
        costs: Any = None,
        max_samples: int = MOST,
        seed: int = 0,
        **scatter_options: Any,
    ) -> Self:
        """Draw the samples and what is asked for around them.

        Parameters
        ----------
        ax : ternary Axes, optional
        contours, masses, max_samples, seed
            As for :meth:`ILRDisplay.plot`.
        decisions : bool, default True
            Whether to draw where the decision changes, under ``costs``.
        costs : array of shape (3, 3), optional
        **scatter_options
            For matplotlib's ``scatter``.
        """
        rng = np.random.default_rng(seed)
        ax = _ternary_axes(ax)
        rows = groups(self.truth, len(self.evidence), 3)
        style = {"s": 8, "lw": 0, "alpha": 0.4, "clip_on": False, "zorder": 3} | scatter_options
        self.samples_ = []
        for k, group in enumerate(rows):
            look = {"color": REFERENCE if self.truth is None else colour_of(k)}
            points = self.posterior[some_of(group, max_samples, rng)]
            self.samples_.append(ax.scatter(*points.T, marker=marker_of(k), **look | style))
        curves = contours_of(self, rows, contours, masses, rng)
        name_masses(ax, masses if curves else ())
        self.contours_ = [
            ax.plot(*self._on_simplex(curve).T, color=colour_of(k), lw=1.3, ls=dashes_of(m))[0]
            for k, m, curve in curves
        ]
        self.boundaries_ = self._boundaries(ax, costs) if decisions else []
        self._name_corners(ax)
        legend(ax, loc="upper left", bbox_to_anchor=(-0.05, 1.03))
        return self._drawn_into(ax)

    def _on_simplex(self, l: np.ndarray) -> np.ndarray:
        return Evidence.from_ilr(l, self.basis, self.evidence.classes).posterior(self.prior)

    def _boundaries(self, ax: Any, costs: Any) -> list[Any]:
        curves = boundaries(self.basis, self.evidence.classes, _REACH, costs, self.prior)
        style = {"color": REFERENCE, "lw": 0.8, "zorder": 0}
        return [ax.plot(*self._on_simplex(curve).T, **style)[0] for curve in curves]

    def _name_corners(self, ax: Any) -> None:
        for k, (axis, label) in enumerate(zip("tlr", self.evidence.classes, strict=True)):
            text = f"P({label})" if len(str(label)) < 4 else str(label)
            getattr(ax, f"set_{axis}label")(text, color=colour_of(k), weight="bold")
            side = getattr(ax, f"{axis}axis")
            side.set_ticks([0.2, 0.4, 0.6, 0.8])
            side.set_tick_params(labelcolor=colour_of(k), labelsize="small")


def _ternary_axes(ax: Any) -> Any:
    pyplot()  # without matplotlib, that is what is missing
    register_ternary()
    ax = axes_for(ax, projection="ternary")
    if ax.name != "ternary":
        raise InputError(
            f"ax must be ternary axes; got {ax.name} axes. Make them with "
            f"fig.add_subplot(projection='ternary')."
        )
    return ax
