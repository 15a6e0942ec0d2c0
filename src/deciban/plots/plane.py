"""The plane of ILRLs: three classes in full, or two chosen coordinates of more."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError
from deciban.plots._axes import axes_for, is_narrow, legend
from deciban.plots._curves import Contours, boundaries, contours_of, name_masses, toward_infinity
from deciban.plots._display import Display
from deciban.plots._samples import MOST, evidence_and_truth, groups, positions_of, some_of
from deciban.plots._style import LONG, REFERENCE, colour_of, dashes_of, marker_of, require_unit
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for


class ILRDisplay(Display):
    """Evidence in the plane of two ILR coordinates: samples, densities, decisions, updates.

    Evidence that rules a class out has no finite ILRL; it is drawn on the frame, in the direction
    in which it lies. More than 2,000 samples of a class are thinned out by chance, with ``seed``.

    Parameters
    ----------
    evidence : Evidence over three classes or more
    y_true : array of shape (n_samples,), optional
        Colours the samples by class.
    basis : Basis, default Gram-Schmidt
    coordinates : (int, int), default (0, 1)
        Which two coordinates of the basis, counted from 0.
    family : CalibratedGaussian, optional
        Whose contours to draw; by default the one fitted to the evidence.

    Attributes
    ----------
    samples_, contours_, boundaries_, arrows_, edges_ : lists of artists
    """

    def __init__(
        self,
        evidence: Evidence,
        y_true: Any = None,
        *,
        basis: Basis | None = None,
        coordinates: tuple[int, int] = (0, 1),
        family: CalibratedGaussian | None = None,
    ) -> None:
        D = evidence.n_classes
        if D < 3:
            raise InputError(
                f"evidence must be over three classes or more for a plane; got {D}. "
                f"Draw two classes with LLRHistogramDisplay."
            )
        first, second = coordinates
        if first == second or not {first, second} <= set(range(D - 1)):
            raise InputError(
                f"coordinates must be two of 0 to {D - 2}; got {coordinates!r}. Count from 0."
            )
        self.evidence, self.coordinates = evidence, (first, second)
        self.basis = basis_for(basis, D).aligned_to(evidence.classes)
        self.family = None if family is None else family.in_basis(self.basis)
        self.truth = positions_of(y_true, evidence)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        log_likelihoods: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        basis: Basis | None = None,
        coordinates: tuple[int, int] = (0, 1),
        family: CalibratedGaussian | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw evidence beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        log_likelihoods : array of shape (n_samples, n_classes), or Evidence
        classes : sequence of labels, optional
        basis, coordinates, family
            As for the class.
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        evidence, truth = evidence_and_truth(y_true, log_likelihoods, classes)
        display = cls(evidence, basis=basis, coordinates=coordinates, family=family)
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
        family : CalibratedGaussian
        n_samples : int, default 200
            How many samples of each class.
        seed : int, default 0
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        l, y = family.sample([n_samples] * family.n_classes, rng=seed)
        display = cls(family.evidence(l), y, basis=family.basis, family=family)
        return display.plot(ax, **{"contours": "gaussian"} | options)

    def plot(
        self,
        ax: Any = None,
        *,
        unit: Unit = "nat",
        contours: Contours | None = None,
        masses: Sequence[float] = (0.5, 0.9),
        decisions: bool = True,
        costs: Any = None,
        prior: Any = None,
        max_samples: int = MOST,
        seed: int = 0,
        **scatter_options: Any,
    ) -> Self:
        """Draw the samples and what is asked for around them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}
        contours : {"gaussian", "kernel"}, optional
            ``gaussian``: of the calibrated Gaussian family. ``kernel``: of the samples.
        masses : sequence of float, default 50 % and 90 %
            How much of each class a contour holds.
        decisions : bool, default True
            Whether to draw, for three classes, where the decision changes: by maximum likelihood,
            or under ``costs`` and ``prior`` as in :meth:`Evidence.decide`.
        costs, prior : optional
        max_samples : int, default 2000
            Of each class; more are thinned out by chance.
        seed : int, default 0
        **scatter_options
            For matplotlib's ``scatter``.
        """
        require_unit(unit)
        rng = np.random.default_rng(seed)
        ax = axes_for(ax)
        self.unit_ = unit
        finite = np.isfinite(self.evidence.log_likelihoods).all(axis=1)
        l = self.evidence[finite].ilr(self.basis)[:, list(self.coordinates)]
        rows = groups(self.truth, len(self.evidence), self.evidence.n_classes)
        curves = contours_of(self, rows, contours, masses, rng)
        self._set_frame(ax, [l, *(curve for _, _, curve in curves)])
        self.samples_, self.edges_ = [], []
        style = {"s": 8, "lw": 0, "alpha": 0.4} | scatter_options
        self._samples(ax, finite, rows, (max_samples, rng), style)
        name_masses(ax, masses if curves else ())
        self.contours_ = [
            ax.plot(*from_nats(curve, unit).T, color=colour_of(k), lw=1.3, ls=dashes_of(m))[0]
            for k, m, curve in curves
        ]
        self.boundaries_, self.arrows_ = [], []
        if decisions and self.evidence.n_classes == 3:
            self.boundaries_ = self._boundaries(ax, costs, prior)
        legend(ax)
        return self._drawn_into(ax)

    def plot_update(
        self,
        prior: Any,
        evidence: Mapping[str, Evidence] | Sequence[Evidence] | Evidence,
        ax: Any = None,
        *,
        unit: Unit | None = None,
    ) -> Self:
        """Draw Bayes' rule: the walk from a prior to the posterior, an arrow for each evidence.

        Parameters
        ----------
        prior : array of shape (n_classes,) or mapping
        evidence : Evidence of one sample, or a mapping from names to such, or a list of such
            Independent pieces, in the order in which they come.
        ax : matplotlib Axes, default those drawn into before, else new ones
        unit : {"nat", "bit", "ban", "deciban"}, default that of :meth:`plot`, else "nat"
        """
        chosen: Any = unit or getattr(self, "unit_", "nat")
        require_unit(chosen)
        self.unit_ = chosen
        at = list(self.coordinates)
        pieces = _pieces(evidence)
        steps = [_one_row(piece, name).ilr(self.basis)[0, at] for name, piece in pieces]
        start = (log_prior(prior, self.evidence.classes, 1) @ self.basis.contrast)[0, at]
        path = start + np.vstack([np.zeros(2), np.cumsum(np.reshape(steps, (-1, 2)), axis=0)])
        ax = axes_for(getattr(self, "ax_", None) if ax is None else ax)
        fresh = not ax.has_data()
        self._set_frame(ax, [1.5 * path])  # room for what is written beside it
        if fresh and self.evidence.n_classes == 3:
            self.boundaries_ = self._boundaries(ax, None, None)
        self.arrows_ = self._walk(ax, from_nats(path, self.unit_), [name for name, _ in pieces])
        return self._drawn_into(ax)

    # --- inside -----------------------------------------------------------------------

    def _set_frame(self, ax: Any, drawn: list[np.ndarray]) -> None:
        """Square limits around no evidence that hold everything; the names of the axes."""
        fresh = not ax.has_data()
        everything = np.concatenate([np.reshape(points, (-1, 2)) for points in drawn])
        reach = 1.12 * max(1.0, float(np.abs(everything).max(initial=0.0)))
        before = 0.0 if fresh else float(np.abs([*ax.get_xlim(), *ax.get_ylim()]).max())
        reach = max(float(from_nats(reach, self.unit_)), before)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        if fresh:
            for axis, k in zip("xy", self.coordinates, strict=True):
                size = "small" if is_narrow(ax) else None
                label = axis_label(self.basis, k, self.unit_)
                getattr(ax, f"set_{axis}label")(label, fontsize=size)
            self._directions(ax, reach)

    def _directions(self, ax: Any, reach: float) -> None:
        """The names of the classes where the evidence for them lies."""
        for k, label in enumerate(self.evidence.classes):
            v = self.basis.contrast[k, list(self.coordinates)]
            if self.evidence.n_classes == 3:
                x, y = 0.97 * v / np.abs(v).max()
                sides = {"ha": _side(-x, "left", "right"), "va": _side(-y, "bottom", "top")}
                ax.annotate(
                    str(label),
                    ((1 + x) / 2, (1 + y) / 2),  # a place on the frame, whatever the limits
                    xycoords="axes fraction",
                    color=colour_of(k),
                    weight="bold",
                    zorder=6,
                    **sides,
                )

    def _samples(self, ax: Any, finite: Any, rows: Any, thinning: Any, style: Any) -> None:
        for k, group in enumerate(rows):
            colour = REFERENCE if self.truth is None else colour_of(k)
            look = {"color": colour, "marker": marker_of(k)}
            some = some_of(group[finite[group]], *thinning)
            points = self.evidence[some].ilr(self.basis)[:, list(self.coordinates)]
            named = self.truth is not None and self.evidence.n_classes > 3
            label = str(self.evidence.classes[k]) if named else None
            points = from_nats(points, self.unit_)
            self.samples_.append(ax.scatter(*points.T, label=label, **look | style))
            self._infinite(ax, group[~finite[group]], look)
        if self.edges_:
            self.edges_[0].set_label(f"{(~finite).sum()} infinite, on the frame")

    def _infinite(self, ax: Any, rows: np.ndarray, look: dict[str, Any]) -> None:
        """Evidence that rules a class out, on the frame in its direction."""
        if rows.size == 0:
            return
        l = toward_infinity(self.evidence[rows], self.basis)[:, list(self.coordinates)]
        l = np.unique(l.round(3), axis=0)
        (line,) = ax.plot(
            *(1 + l.T) / 2,
            ls="none",
            transform=ax.transAxes,
            clip_on=False,
            mec="k",
            mew=0.8,
            ms=6,
            zorder=5,
            **look,
        )
        self.edges_.append(line)

    def _boundaries(self, ax: Any, costs: Any, prior: Any) -> list[Any]:
        reach = 1.5 * float(ax.get_xlim()[1] / from_nats(1.0, self.unit_))
        curves = boundaries(self.basis, self.evidence.classes, reach, costs, prior)
        style = {"color": REFERENCE, "lw": 0.8, "zorder": 0}
        at = list(self.coordinates)
        return [ax.plot(*from_nats(curve[:, at], self.unit_).T, **style)[0] for curve in curves]

    def _walk(self, ax: Any, path: np.ndarray, names: list[str]) -> list[Any]:
        ax.plot(*path[0], "o", color="k", ms=5)
        ax.plot(*path[-1], "s", color="k", ms=5)
        down = np.sign(path[-1, 1] - path[0, 1]) or 1.0
        for text, point, side in (("prior", path[0], -down), ("posterior", path[-1], down)):
            # Inwards, so that the frame does not cut it.
            inwards = np.array([-np.sign(point[0]), 2.0 * side])
            _beside(ax, text, point, inwards, weight="bold", fontsize="small")
        arrows = []
        for name, here, there in zip(names, path[:-1], path[1:], strict=True):
            look = {"arrowstyle": "-|>", "color": "k", "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
            arrows.append(ax.annotate("", there, here, arrowprops=look))
            across = np.array([there[1] - here[1], here[0] - there[0]])
            across = across if across @ (here + there) >= 0 else -across  # outwards
            _beside(ax, f"+ {name}", (here + there) / 2, across, style="italic", fontsize="small")
        return arrows


def axis_label(basis: Basis, k: int, unit: Unit) -> str:
    """What coordinate k compares, as far as it fits."""
    short = f"$l_{{{k + 1}}}$ ({unit})"
    if basis.signs is None:
        return short
    names = [str(label) for label in basis.classes or ()]
    plus, minus = (
        ", ".join(name for name, sign in zip(names, basis.signs[k], strict=True) if sign == side)
        for side in (1, -1)
    )
    text = f"{short}: {plus} (+) against {minus} (−)"
    if max(len(plus), len(minus)) > LONG:
        return short
    return text if len(text) < LONG + 12 else f"{short}: {plus} (+)\nagainst {minus} (−)"


def _side(value: float, low: str, high: str) -> str:
    return "center" if abs(value) < 0.3 else low if value > 0 else high


def _beside(ax: Any, text: str, point: Any, direction: Any, **style: Any) -> None:
    """Text next to a point, on the side that the direction says."""
    dx, dy = direction / max(float(np.linalg.norm(direction)), 1e-12)
    sides = {"ha": _side(dx, "left", "right"), "va": _side(dy, "bottom", "top")}
    offset = (6 * dx, 6 * dy)
    ax.annotate(text, point, offset, textcoords="offset points", zorder=7, **sides, **style)


def _pieces(evidence: Any) -> list[tuple[str, Evidence]]:
    if isinstance(evidence, Evidence):
        return [("evidence", evidence)]
    if isinstance(evidence, Mapping):
        return list(evidence.items())
    return [(f"evidence {k + 1}", piece) for k, piece in enumerate(evidence)]


def _one_row(evidence: Any, name: str) -> Evidence:
    if not isinstance(evidence, Evidence) or len(evidence) != 1:
        raise InputError(
            f"evidence must be of one sample in each piece; {name!r} is not. Choose a sample with "
            f"evidence[k], or add samples up with evidence.sum()."
        )
    return evidence
