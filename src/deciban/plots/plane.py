"""Evidence in the plane of two ILR coordinates, and posteriors of three classes in a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.scalars import Rng, as_generator, quote
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.plots import _display as draw
from deciban.plots import _plane
from deciban.plots._display import Axes, Display, Floats, Style
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

_REACH = 12.0  # nats: nearer to the edge of the triangle than a line is wide


class ILRDisplay(_plane.PlaneDisplay):
    r"""Evidence in the plane of two ILR coordinates: samples, densities, decisions, updates.

    The coordinates are :math:`l = V^T \log w` for likelihoods :math:`w`, with two columns of the
    contrast matrix :math:`V` of the basis. Zero is no evidence. Evidence that rules out a class has
    no finite ILRL; it is drawn on the frame, in its direction.

    The evidence is over three classes or more, and true classes color the samples. ``coordinates``
    are two of the basis, counted from 0, and contours are those of ``family``, by default the one
    fitted to the evidence. Drawn artists are ``samples_``, ``contours_``, ``boundaries_``,
    ``arrows_`` and ``edges_``.

    See Also
    --------
    TernaryDisplay : The same evidence as posteriors in a triangle.
    deciban.CalibratedGaussian : The family whose contours are drawn.

    Examples
    --------
    >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> evidence.ilr(ILRDisplay(evidence).basis).round(2)
    array([[ 0.49,  1.18],
           [-0.89,  1.08]])
    """

    unit_: Unit = "nat"
    ax_: Any = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: Unit = "nat",
        contours: _plane.ContourKind | None = None,
        masses: Sequence[float] = (0.5, 0.9),
        decisions: bool = True,
        costs: ArrayLike | None = None,
        prior: Any = None,
        max_samples: int = _plane.MOST_SAMPLES,
        rng: Rng = 0,
        **scatter_options: Any,
    ) -> Self:
        """Draw samples, contours of their densities, and decision boundaries.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "nat"
        contours : {"gaussian", "kernel"}, optional
            Densities to draw: of the calibrated Gaussian family, or of the samples.
        masses : sequence of float, default (0.5, 0.9)
            Shares of a class that the contours enclose.
        decisions : bool, default True
            Whether to draw boundaries between three classes: by maximum likelihood, or
            under ``costs`` and ``prior`` as in :meth:`deciban.Evidence.decide`.
        costs : array of shape (3, 3), optional
            Cost of each decision (columns) for each true class (rows).
        prior : array of shape (3,) or mapping, optional
        max_samples : int, default 2000
            Largest number of samples of a class to draw, chosen at random with ``rng``.
        rng : int or Generator, default 0
        **scatter_options
            Options of matplotlib's ``scatter``.
        """
        from_nats(1.0, unit)  # a unit that does not exist is refused before anything is drawn
        self.unit_, rng = unit, as_generator(rng)
        finite = _plane.is_finite(self.evidence)
        curves = self._contours(contours, masses, rng)
        ax = draw.get_axes(ax)
        self._set_frame(ax, [self._points(finite), *(curve for _, _, curve in curves)])
        self._draw_samples(ax, finite, max_samples, rng, scatter_options)
        self._mark_infinite(ax, ~finite)
        self._draw_contours(ax, curves, masses)
        self.boundaries_, self.arrows_ = [], []
        if decisions and self.evidence.n_classes == 3:
            self._draw_boundaries(ax, self._reach(ax), costs, prior)
        draw.draw_legend(ax)
        return self._finish(ax)

    def plot_update(
        self,
        prior: Any,
        evidence: Mapping[str, Evidence] | Sequence[Evidence] | Evidence,
        ax: Axes | None = None,
        *,
        unit: Unit | None = None,
    ) -> Self:
        """Draw Bayes' rule: the way from prior to posterior, an arrow for each piece of evidence.

        Each piece, an Evidence or an entry of a list or mapping, is independent and about one
        sample. They are drawn into the axes of :meth:`plot`, in its unit, unless ``ax`` and
        ``unit`` say otherwise.
        """
        self.unit_ = unit or self.unit_
        pieces = _name_pieces(evidence)
        start = log_prior(prior, self.evidence.classes, 1) @ self.basis.contrast
        steps = [piece.ilr(self.basis) for piece in pieces.values()]
        path = np.cumsum(np.vstack([start, *steps]), axis=0)[:, list(self.coordinates)]
        return self.plot_walk(path, list(pieces), ("prior", "posterior"), ax)

    def plot_walk(
        self,
        path: Floats,
        names: list[str],
        ends: tuple[str, str],
        ax: Axes | None,
        *,
        zoom: bool = False,
    ) -> Self:
        """Draw arrows along points of the plane, in nats, with a name for each and for the ends.

        With ``zoom``, new axes show the path, and zero evidence only if that is near.
        """
        ax = draw.get_axes(self.ax_ if ax is None else ax)
        fresh = not ax.has_data()
        self._set_frame(ax, [1.5 * path])  # room for what is written beside it
        if fresh and zoom:
            x, y = _plane.square_around(self._place(path))
            ax.set(xlim=x, ylim=y)
        if fresh and self.evidence.n_classes == 3:
            self._draw_boundaries(ax, self._reach(ax), None, None)
        names = [draw.literal(name) for name in names]
        self.arrows_ = _plane.draw_walk(ax, self._place(path), names, ends)
        return self._finish(ax)

    def _place(self, l: Floats) -> Floats:
        return np.asarray(from_nats(l, self.unit_))

    def _reach(self, ax: Axes) -> float:
        farthest = float(np.abs([*ax.get_xlim(), *ax.get_ylim()]).max())
        return 1.5 * farthest / float(from_nats(1.0, self.unit_))

    def _set_frame(self, ax: Axes, points: list[Floats]) -> None:
        """Square limits around zero evidence that hold all points; names of axes and classes."""
        fresh = not ax.has_data()
        reach = 1.12 * max(1.0, *(float(np.abs(p).max(initial=0.0)) for p in points))
        before = 0.0 if fresh else float(np.abs([*ax.get_xlim(), *ax.get_ylim()]).max())
        reach = max(float(from_nats(reach, self.unit_)), before)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        if fresh:
            first, second = (axis_label(self.basis, k, self.unit_) for k in self.coordinates)
            ax.set_xlabel(first, **draw.axis_text(ax))
            ax.set_ylabel(second, **draw.axis_text(ax))
            if self.evidence.n_classes == 3:
                self._name_directions(ax)

    def _name_directions(self, ax: Axes) -> None:
        for k, label in enumerate(self.evidence.classes):
            v = self.basis.contrast[k, list(self.coordinates)]
            x, y = 0.97 * v / np.abs(v).max()
            style: Style = {"color": draw.color_of(k), "weight": "bold", "zorder": 6}
            style |= _plane.sides(-x, -y) | {"xycoords": "axes fraction"}
            at = (1 + x) / 2, (1 + y) / 2  # on the frame, whatever the limits
            ax.annotate(draw.wrap_name(label), at, **style)

    def _mark_infinite(self, ax: Axes, infinite: Any) -> None:
        style: Style = {
            "ls": "none",
            "ms": 6,
            "mec": "k",
            "mew": 0.8,
            "clip_on": False,
            "zorder": 5,
        }
        self.edges_: list[Any] = []
        for k, group in enumerate(_plane.rows_by_class(self.truth, self.evidence)):
            rows = group[infinite[group]]
            if rows.size:
                l = _plane.toward_infinity(self.evidence[rows], self.basis)
                at = (1 + np.unique(l[:, list(self.coordinates)].round(3), axis=0)) / 2
                look = draw.look_of(k, self.truth is not None) | style
                self.edges_ += ax.plot(*at.T, transform=ax.transAxes, **look)
        if self.edges_:
            self.edges_[0].set_label(f"{infinite.sum()} infinite, on the frame")


class TernaryDisplay(_plane.PlaneDisplay):
    """Posteriors of three classes in a triangle; under the uniform prior, likelihood functions.

    Each corner is a class; the numbers in its color are its probability. Evidence that rules out a
    class lies on the opposite side. It is described as for :class:`ILRDisplay`, and the attribute
    ``posterior`` holds the posteriors under the prior.

    See Also
    --------
    ILRDisplay : The same evidence in a plane, which keeps strong evidence apart.

    Examples
    --------
    >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> TernaryDisplay(evidence, prior=[0.2, 0.2, 0.6]).posterior.round(2)
    array([[0.5 , 0.25, 0.25],
           [0.17, 0.58, 0.25]])
    """

    settings = (*Display.settings, "prior", "family")

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
        contours: _plane.ContourKind | None = None,
        masses: Sequence[float] = (0.5, 0.9),
        decisions: bool = True,
        costs: ArrayLike | None = None,
        max_samples: int = _plane.MOST_SAMPLES,
        rng: Rng = 0,
        **scatter_options: Any,
    ) -> Self:
        """Draw samples, contours of their densities and decision boundaries; return the display.

        ``ax`` are ternary axes, ``fig.add_subplot(projection="ternary")`` after ``import mpltern``,
        by default those of a new figure. All other options are those of :meth:`ILRDisplay.plot`.
        """
        rng = as_generator(rng)
        curves = self._contours(contours, masses, rng)
        ax = draw.get_axes(ax, projection="ternary")
        style = {"clip_on": False, "zorder": 3} | scatter_options
        self._draw_samples(ax, np.full(len(self.evidence), True), max_samples, rng, style)
        self._draw_contours(ax, curves, masses)
        self.boundaries_ = []
        if decisions:
            self._draw_boundaries(ax, _REACH, costs, self.prior)
        self._name_corners(ax)
        draw.draw_legend(ax, loc="upper left", bbox_to_anchor=(-0.05, 1.03))
        return self._finish(ax)

    def _place(self, l: Floats) -> Floats:
        return Evidence.from_ilr(l, self.basis, self.evidence.classes).posterior(self.prior)

    def _place_samples(self, rows: NDArray[np.intp]) -> Floats:
        return self.posterior[rows]  # where a class is ruled out, there is no ILRL

    def _name_corners(self, ax: Any) -> None:
        for k, (axis, label) in enumerate(zip("tlr", self.evidence.classes, strict=True)):
            text = f"P({draw.literal(label)})" if len(str(label)) < 4 else draw.wrap_name(label)
            getattr(ax, f"set_{axis}label")(text, color=draw.color_of(k), weight="bold")
            side = getattr(ax, f"{axis}axis")
            side.set_ticks([0.2, 0.4, 0.6, 0.8])
            side.set_tick_params(labelcolor=draw.color_of(k), labelsize="small")


def axis_label(basis: Basis, k: int, unit: Unit) -> str:
    """Label with the classes that coordinate k compares, if there is room."""
    short = f"$l_{{{k + 1}}}$ ({unit})"
    if basis.signs is None:
        return short
    names = [draw.literal(label) for label in basis.classes or ()]
    plus, minus = (
        ", ".join(name for name, sign in zip(names, basis.signs[k], strict=True) if sign == side)
        for side in (1, -1)
    )
    text = f"{short}: {plus} (+) against {minus} (−)"
    if max(len(plus), len(minus)) > draw.LONG:
        return short
    return text if len(text) < draw.LONG + 12 else f"{short}: {plus} (+)\nagainst {minus} (−)"


def _name_pieces(evidence: Any) -> Mapping[str, Evidence]:
    if isinstance(evidence, Evidence):
        evidence = {"evidence": evidence}
    if not isinstance(evidence, Mapping):
        evidence = {f"evidence {k + 1}": piece for k, piece in enumerate(evidence)}
    for name, piece in evidence.items():
        if not isinstance(piece, Evidence) or len(piece) != 1:
            raise InputError(
                f"evidence must be about one sample in each piece; {quote(name)} is not. "
                f"Choose a sample with evidence[k], or add samples up with evidence.sum()."
            )
    return evidence
