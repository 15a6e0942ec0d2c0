"""The plane of ILRLs: three classes in full, or two chosen coordinates of more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.scalars import Rng, as_generator, quote
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.plots import _axes, _plane, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.simplex import Basis


class ILRDisplay(_plane.PlaneDisplay):
    """Evidence in the plane of two ILR coordinates: samples, densities, decisions, updates.

    Evidence that rules out a class has no finite ILRL; it is drawn on the frame, in its direction.

    Parameters
    ----------
    evidence : Evidence over three classes or more
    y_true : array of shape (n_samples,), optional
        True classes, which color the samples.
    basis : Basis, default Gram-Schmidt
    coordinates : (int, int), default (0, 1)
        Which two coordinates of the basis, counted from 0.
    family : CalibratedGaussian, default the one fitted to the evidence
        Family whose contours are drawn.

    Attributes
    ----------
    samples_, contours_, boundaries_, arrows_, edges_ : lists of artists
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
        """Draw the samples, contours of their densities, and where the decision changes.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}
        contours : {"gaussian", "kernel"}, optional
            ``gaussian``: of the calibrated Gaussian family. ``kernel``: of the samples.
        masses : sequence of float, default 50 % and 90 %
            How much of each class a contour holds.
        decisions : bool, default True
            Whether to draw, for three classes, where the decision changes: by maximum likelihood,
            or under ``costs`` and ``prior`` as in :meth:`Evidence.decide`.
        costs : array of shape (3, 3), optional
        prior : array of shape (3,) or mapping, optional
        max_samples : int, default 2000
            Largest number of samples of a class to draw, chosen at random with ``rng``.
        rng : int or Generator, default 0
        **scatter_options : options of matplotlib's ``scatter``
        """
        from_nats(1.0, unit)  # a unit that does not exist is refused before anything is drawn
        self.unit_, rng = unit, as_generator(rng)
        finite = _plane.is_finite(self.evidence)
        curves = self._contours(contours, masses, rng)
        ax = _axes.get_axes(ax)
        self._set_frame(ax, [self._points(finite), *(curve for _, _, curve in curves)])
        self._draw_samples(ax, finite, max_samples, rng, scatter_options)
        self._mark_infinite(ax, ~finite)
        self._draw_contours(ax, curves, masses)
        self.boundaries_, self.arrows_ = [], []
        if decisions and self.evidence.n_classes == 3:
            self._draw_boundaries(ax, self._reach(ax), costs, prior)
        _axes.draw_legend(ax)
        return self._finish(ax)

    def plot_update(
        self,
        prior: Any,
        evidence: Mapping[str, Evidence] | Sequence[Evidence] | Evidence,
        ax: Axes | None = None,
        *,
        unit: Unit | None = None,
    ) -> Self:
        """Draw Bayes' rule: the walk from a prior to the posterior, an arrow for each evidence.

        Parameters
        ----------
        prior : array of shape (n_classes,) or mapping
        evidence : Evidence of one sample, or a mapping from names to such, or a list of such
            Independent pieces, in the order in which they come.
        ax : matplotlib Axes, default those drawn into before, else those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default that of :meth:`plot`, else "nat"
        """
        self.unit_ = unit or self.unit_
        at = list(self.coordinates)
        pieces = _name_pieces(evidence)
        steps = [piece.ilr(self.basis)[0, at] for piece in pieces.values()]
        start = (log_prior(prior, self.evidence.classes, 1) @ self.basis.contrast)[0, at]
        path = start + np.vstack([np.zeros(2), np.cumsum(np.reshape(steps, (-1, 2)), axis=0)])
        walk = self._place(path)
        ax = _axes.get_axes(self.ax_ if ax is None else ax)
        fresh = not ax.has_data()
        self._set_frame(ax, [1.5 * path])  # room for what is written beside it
        if fresh and self.evidence.n_classes == 3:
            self._draw_boundaries(ax, self._reach(ax), None, None)
        self.arrows_ = _draw_walk(ax, walk, [_style.literal(name) for name in pieces])
        return self._finish(ax)

    def _place(self, l: Floats) -> Floats:
        return np.asarray(from_nats(l, self.unit_))

    def _reach(self, ax: Axes) -> float:
        """How far to draw boundaries, in nats."""
        return 1.5 * float(ax.get_xlim()[1] / from_nats(1.0, self.unit_))

    def _set_frame(self, ax: Axes, points: list[Floats]) -> None:
        """Square limits around zero evidence that hold all points; names of axes and classes."""
        fresh = not ax.has_data()
        reach = 1.12 * max(1.0, *(float(np.abs(p).max(initial=0.0)) for p in points))
        before = 0.0 if fresh else float(np.abs([*ax.get_xlim(), *ax.get_ylim()]).max())
        reach = max(float(from_nats(reach, self.unit_)), before)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        if fresh:
            first, second = (axis_label(self.basis, k, self.unit_) for k in self.coordinates)
            ax.set_xlabel(first, **_axes.axis_text(ax))
            ax.set_ylabel(second, **_axes.axis_text(ax))
            if self.evidence.n_classes == 3:
                self._name_directions(ax)

    def _name_directions(self, ax: Axes) -> None:
        """Write the name of each class where the evidence for it lies."""
        for k, label in enumerate(self.evidence.classes):
            v = self.basis.contrast[k, list(self.coordinates)]
            x, y = 0.97 * v / np.abs(v).max()
            style = _sides(-x, -y) | {"color": _style.color_of(k), "weight": "bold", "zorder": 6}
            at = (1 + x) / 2, (1 + y) / 2  # on the frame, whatever the limits
            ax.annotate(_style.literal(label), at, xycoords="axes fraction", **style)

    def _mark_infinite(self, ax: Axes, infinite: Any) -> None:
        """Mark evidence that rules a class out on the frame, in its direction."""
        style: Style = {"ls": "none", "ms": 6, "mec": "k", "mew": 0.8}
        style |= {"clip_on": False, "zorder": 5}
        self.edges_: list[Any] = []
        for k, group in enumerate(_plane.rows_by_class(self.truth, self.evidence)):
            rows = group[infinite[group]]
            if rows.size:
                l = _plane.toward_infinity(self.evidence[rows], self.basis)
                at = (1 + np.unique(l[:, list(self.coordinates)].round(3), axis=0)) / 2
                look = _style.look_of(k, self.truth is not None) | style
                self.edges_ += ax.plot(*at.T, transform=ax.transAxes, **look)
        if self.edges_:
            self.edges_[0].set_label(f"{infinite.sum()} infinite, on the frame")


def axis_label(basis: Basis, k: int, unit: Unit) -> str:
    """What coordinate k compares, as far as it fits."""
    short = f"$l_{{{k + 1}}}$ ({unit})"
    if basis.signs is None:
        return short
    names = [_style.literal(label) for label in basis.classes or ()]
    plus, minus = (
        ", ".join(name for name, sign in zip(names, basis.signs[k], strict=True) if sign == side)
        for side in (1, -1)
    )
    text = f"{short}: {plus} (+) against {minus} (−)"
    if max(len(plus), len(minus)) > _style.LONG:
        return short
    return text if len(text) < _style.LONG + 12 else f"{short}: {plus} (+)\nagainst {minus} (−)"


def _draw_walk(ax: Axes, path: Floats, names: list[str]) -> list[Any]:
    ax.plot(*path[0], "o", color="k", ms=5)
    ax.plot(*path[-1], "s", color="k", ms=5)
    down = np.sign(path[-1, 1] - path[0, 1]) or 1.0
    for text, point, side in (("prior", path[0], -down), ("posterior", path[-1], down)):
        inwards = np.array([-np.sign(point[0]), 2.0 * side])  # so that the frame does not cut it
        _write_beside(ax, text, point, inwards, weight="bold")
    arrows = []
    for name, here, there in zip(names, path[:-1], path[1:], strict=True):
        look = {"arrowstyle": "-|>", "color": "k", "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        arrows.append(ax.annotate("", there, here, arrowprops=look))
        across = np.array([there[1] - here[1], here[0] - there[0]])
        across = across if across @ (here + there) >= 0 else -across  # outwards
        _write_beside(ax, f"+ {name}", (here + there) / 2, across, style="italic")
    return arrows


def _write_beside(ax: Axes, text: str, point: Floats, direction: Floats, **style: Any) -> None:
    """Write next to a point, on the side that the direction says."""
    dx, dy = direction / max(float(np.linalg.norm(direction)), 1e-12)
    style |= _sides(dx, dy) | {"textcoords": "offset points", "zorder": 7, "fontsize": "small"}
    ax.annotate(text, (point[0], point[1]), (6 * dx, 6 * dy), **style)


def _sides(dx: float, dy: float) -> Style:
    """Alignment of a text that stands in this direction."""
    return {
        "ha": "center" if abs(dx) < 0.3 else "left" if dx > 0 else "right",
        "va": "center" if abs(dy) < 0.3 else "bottom" if dy > 0 else "top",
    }


def _name_pieces(evidence: Any) -> Mapping[str, Evidence]:
    """Pieces of evidence by name, each about one sample."""
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
