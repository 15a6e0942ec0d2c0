"""Evidence as points in a plane, with contours of densities and boundaries of decisions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import index_of
from deciban._validation.scalars import Rng, quote, require_one_of
from deciban.evidence import Evidence
from deciban.evidence.bayes import cost_matrix
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.plots import _display as draw
from deciban.plots._display import Axes, Display, Floats, Style
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

ContourKind = Literal["gaussian", "kernel"]
Contour = tuple[int, int, Floats]  # of class k and mass number m, in nats

MOST_SAMPLES = 2000  # of a class, to draw or to estimate a density: more would blur or take long
_FARTHEST = 1e9  # nats: from here on boundaries look like rays, whatever the prior
_FINE, _COARSE = 301, 90  # points along a side of the grid for boundaries and for densities


class PlaneDisplay(Display):
    """Samples, contours and boundaries in a plane of two ILR coordinates, or in a map of it.

    A subclass maps points of the plane, in nats, to its axes in ``_place``.
    """

    _place: ClassVar[Callable[..., Floats]]
    samples_: list[Any]
    contours_: list[Any]
    boundaries_: list[Any]
    arrows_: list[Any]
    settings = (*Display.settings, "basis", "coordinates", "family")

    def __init__(
        self,
        evidence: Evidence,
        y_true: ArrayLike | None = None,
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
                f"coordinates must be two of 0 to {D - 2}; got {quote(coordinates)}. Count from 0."
            )
        self.evidence, self.coordinates = evidence, (first, second)
        self.truth = encode_truth(y_true, evidence)
        self.basis = basis_for(basis, D).align_to(evidence.classes)
        self.family = None if family is None else family.in_basis(self.basis)

    @classmethod
    def _from_data(cls, data: Labelled, **settings: Any) -> Self:
        if data.weight is not None:
            raise InputError(
                "sample_weight must be None for samples in a plane; got weights. Leave them out."
            )
        display = cls(data.evidence, **settings)
        display.truth = data.codes
        return display

    @classmethod
    def from_family(
        cls,
        family: CalibratedGaussian,
        *,
        n_samples: int = 200,
        rng: Rng = 0,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a calibrated Gaussian family, with ``n_samples`` of each class.

        Options are those of :meth:`plot`; ``contours`` is "gaussian" by default.
        """
        l, y = family.sample([n_samples] * family.n_classes, rng=rng)
        settings: dict[str, Any] = {"basis": family.basis} if "basis" in cls.settings else {}
        display: Self = cls(family.evidence(l), y, family=family, **settings)
        return display.plot(ax, **{"contours": "gaussian"} | options)

    def _points(self, rows: NDArray[Any]) -> Floats:
        return self.evidence[rows].ilr(self.basis)[:, list(self.coordinates)]

    def _place_samples(self, rows: NDArray[np.intp]) -> Floats:
        return self._place(self._points(rows))

    def _draw_samples(
        self, ax: Axes, among: NDArray[np.bool_], most: int, rng: np.random.Generator, style: Style
    ) -> None:
        style = {"s": 8, "lw": 0, "alpha": 0.4} | style
        self.samples_ = []
        for k, group in enumerate(rows_by_class(self.truth, self.evidence)):
            points = self._place_samples(subsample(group[among[group]], most, rng))
            named = self.truth is not None and self.evidence.n_classes > 3
            label = draw.literal(self.evidence.classes[k]) if named else None
            look = draw.look_of(k, self.truth is not None) | style
            self.samples_.append(ax.scatter(*points.T, label=label, **look))

    def _contours(
        self, kind: ContourKind | None, masses: Sequence[float], rng: np.random.Generator
    ) -> list[Contour]:
        if kind is not None:
            require_one_of(kind, "contours", get_args(ContourKind))
        finite = is_finite(self.evidence)
        if kind == "gaussian":
            labels = [self.evidence.classes[0]] * finite.sum()  # they do not change the fit
            evidence = self.evidence[finite]
            family = self.family or CalibratedGaussian.fit(evidence, labels, self.basis)
            return [
                (k, m, ellipse(family, index_of(label, family.classes), mass, self.coordinates))
                for k, label in enumerate(self.evidence.classes)
                for m, mass in enumerate(masses)
            ]
        groups = rows_by_class(self.truth, self.evidence) if kind == "kernel" else []
        return [
            (k, m, curve)
            for k, group in enumerate(groups)
            for m, mass in enumerate(masses)
            for curve in kernel_contours(self._points(group[finite[group]]), mass, rng)
        ]

    def _draw_contours(self, ax: Axes, contours: list[Contour], masses: Sequence[float]) -> None:
        from matplotlib.lines import Line2D

        for m, mass in enumerate(masses if contours else ()):
            style: Style = {"color": draw.REFERENCE, "lw": 1.3, "ls": draw.dashes_of(m)}
            ax.add_line(Line2D([], [], label=f"{100 * mass:g} %", **style))
        self.contours_ = []
        for k, m, curve in contours:
            style = {"color": draw.color_of(k), "lw": 1.3, "ls": draw.dashes_of(m)}
            self.contours_ += ax.plot(*self._place(curve).T, **style)

    def _draw_boundaries(self, ax: Axes, reach: float, costs: Any, prior: Any) -> None:
        curves = boundaries(self.basis, self.evidence.classes, reach, costs, prior)
        style: Style = {"color": draw.REFERENCE, "lw": 0.8, "zorder": 0}
        at = list(self.coordinates)
        self.boundaries_ = [ax.plot(*self._place(curve[:, at]).T, **style)[0] for curve in curves]


def encode_truth(y_true: ArrayLike | None, evidence: Evidence) -> NDArray[np.intp] | None:
    """Position of the true class of each sample, if known; a class may have no samples."""
    return None if y_true is None else read_labelled(y_true, evidence, every_class=False).codes


def rows_by_class(truth: NDArray[np.intp] | None, evidence: Evidence) -> list[NDArray[np.intp]]:
    """Rows of the samples of each class; all in one group if the truth is not known."""
    if truth is None:
        return [np.arange(len(evidence))]
    return Labelled(evidence, truth).rows_by_class


def subsample(rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """At most this many of the rows, at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def is_finite(evidence: Evidence) -> NDArray[np.bool_]:
    """Whether the evidence leaves every class possible, for each sample."""
    return np.asarray(np.isfinite(evidence.log_likelihoods).all(axis=1))


def ellipse(
    family: CalibratedGaussian, k: int, mass: float, coordinates: tuple[int, int] = (0, 1)
) -> Floats:
    """Edge of the smallest region that holds this mass of two ILR coordinates of class k."""
    if not hasattr(family, "covariance"):
        raise InputError(
            f"family must be a CalibratedGaussian, whose contours are ellipses; got "
            f"{type(family).__name__}. Pass contours='kernel', or one of its families."
        )
    at = list(coordinates)
    L = np.linalg.cholesky(family.covariance[np.ix_(at, at)])
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.sqrt(-2 * np.log1p(-mass)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(family.means[k, at] + circle @ L.T)


def kernel_contours(points: Floats, mass: float, rng: np.random.Generator) -> list[Floats]:
    """Curves that enclose this mass of a kernel density of the points; none for a few points."""
    from scipy.stats import gaussian_kde  # half a second to import

    if len(points) > MOST_SAMPLES:
        points = rng.choice(points, MOST_SAMPLES, replace=False)
    if len(points) < 5 or np.linalg.matrix_rank(np.cov(points.T)) < 2:
        return []
    density = gaussian_kde(points.T)
    level = np.quantile(density(points.T), 1 - mass)
    low, high, room = points.min(axis=0), points.max(axis=0), 0.35 * np.ptp(points, axis=0)
    x, y = np.linspace(low - room, high + room, _COARSE).T
    X, Y = np.meshgrid(x, y)
    return _level_curves(x, y, density(np.vstack([X.ravel(), Y.ravel()])).reshape(X.shape), level)


def boundaries(
    basis: Basis,
    classes: tuple[Hashable, ...],
    reach: float,
    costs: ArrayLike | None = None,
    prior: Any = None,
) -> list[Floats]:
    """Curves of ILRLs, up to ``reach``, on which two decisions cost the same."""
    scale = max(1.0, reach / _FARTHEST)
    side = np.linspace(-reach / scale, reach / scale, _FINE)
    X, Y = np.meshgrid(side, side)
    grid = Evidence.from_ilr(np.column_stack([X.ravel(), Y.ravel()]), basis, classes)
    risk = grid.posterior(prior) @ cost_matrix(costs, classes)
    curves = []
    for k in range(3):
        others = np.delete(risk, k, axis=1).min(axis=1)
        margin = (others - risk[:, k]) / np.maximum(others + risk[:, k], 1e-300)
        curves += _level_curves(side, side, margin.reshape(X.shape), 0.0)
    return [scale * curve for curve in curves]


def _level_curves(x: Floats, y: Floats, z: Floats, level: float) -> list[Floats]:
    from contourpy import contour_generator  # comes with matplotlib

    return [np.asarray(line) for line in contour_generator(x, y, z).lines(level)]


def toward_infinity(evidence: Evidence, basis: Basis) -> Floats:
    """Place on the frame, from -1 to 1, for evidence that rules out a class.

    Zero likelihoods are replaced by ones so small that the ILRL lies far beyond all others.
    """
    log_w = evidence.log_likelihoods - evidence.log_likelihoods.max(axis=1, keepdims=True)
    sizes = np.abs(log_w[np.isfinite(log_w)])
    smallest = -1e3 * (1 + float(sizes.max(initial=0.0)))
    finite = np.where(np.isfinite(log_w), log_w, smallest)
    l = Evidence(finite, evidence.classes).ilr(basis)
    return np.asarray(l / np.abs(l).max(axis=1, keepdims=True))


def square_around(path: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of a square around a path, with room for names, and around zero if that is near."""
    size = float(np.ptp(path, axis=0).max()) or 1.0
    with_zero = np.vstack([path, np.zeros(2)])
    seen = with_zero if np.ptp(with_zero, axis=0).max() <= 2 * size else path
    center = (seen.min(axis=0) + seen.max(axis=0)) / 2
    reach = 0.75 * (float(np.ptp(seen, axis=0).max()) or 1.0)
    x, y = ((float(c - reach), float(c + reach)) for c in center)
    return x, y


def draw_walk(ax: Axes, path: Floats, names: list[str], ends: tuple[str, str]) -> list[Any]:
    ax.plot(*path[0], "o", color="k", ms=5)
    ax.plot(*path[-1], "s", color="k", ms=5)
    down = np.sign(path[-1, 1] - path[0, 1]) or 1.0
    for text, point, side in ((ends[0], path[0], -down), (ends[1], path[-1], down)):
        away = np.sign(point[0] - np.mean(ax.get_xlim()))
        inwards = np.array([-away, 2.0 * side])  # so that the frame does not cut it
        _write_beside(ax, text, point, inwards, weight="bold")
    arrows = []
    for here, there in pairwise(path):
        look = {"arrowstyle": "-|>", "color": "k", "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        arrows.append(ax.annotate("", there, here, arrowprops=look))
    _name_steps(ax, path, names)
    return arrows


def _name_steps(ax: Axes, path: Floats, names: list[str]) -> None:
    """Write the name of each arrow beside it, or at a distance if that hides less."""
    from matplotlib.path import Path

    ax.figure.canvas.figure.draw_without_rendering()  # lays it out, or nothing can be measured
    frame = ax.get_window_extent()
    taken = [extent(text) for text in ax.texts if text.get_text()]
    lines = [Path(ax.transData.transform(ends)) for ends in pairwise(path)]
    turns = np.pi * np.array([0.5, -0.5, 0.25, -0.25, 0.75, -0.75, 0.0, 1.0])
    for name, (here, there) in zip(names, pairwise(path), strict=True):
        x, y = there - here
        x, y = (-x, -y) if x * here[1] < y * here[0] else (x, y)  # outwards comes first
        angle = np.arctan2(y, x)
        middle, best, least = (here + there) / 2, (np.zeros(2), 0.0), np.inf
        for distance in (6.0, 18.0, 32.0, 48.0):
            for turn in turns:
                side = distance * np.array([np.cos(angle + turn), np.sin(angle + turn)])
                text = _write_beside(ax, f"+ {name}", middle, side, distance, style="italic")
                box = extent(text)
                text.remove()
                outside = not (frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1))
                hidden = 4 * outside + 2 * sum(box.overlaps(other) for other in taken)
                hidden += sum(line.intersects_bbox(box, filled=False) for line in lines)
                if hidden < least:
                    best, least = (side, distance), hidden
            if least == 0:
                break
        taken.append(extent(_write_beside(ax, f"+ {name}", middle, *best, style="italic")))


def extent(text: Any) -> Any:
    """Bounding box of a text in its figure, without the line that leads there."""
    from matplotlib.text import Text

    text.get_window_extent()  # moves it to its place
    return Text.get_window_extent(text)


def _write_beside(
    ax: Axes, text: str, point: Floats, direction: Floats, distance: float = 6.0, **style: Any
) -> Any:
    """Write next to a point, on the side to which the direction points; a line leads far away."""
    dx, dy = direction / max(float(np.linalg.norm(direction)), 1e-12)
    style |= sides(dx, dy) | {"textcoords": "offset points", "zorder": 7, "fontsize": "small"}
    if distance > 6:
        style["arrowprops"] = {"arrowstyle": "-", "lw": 0.6, "color": draw.REFERENCE, "shrinkB": 0}
    return ax.annotate(text, (point[0], point[1]), (distance * dx, distance * dy), **style)


def sides(dx: float, dy: float) -> Style:
    """Alignment of a text that stands in this direction."""
    return {
        "ha": "center" if abs(dx) < 0.3 else "left" if dx > 0 else "right",
        "va": "center" if abs(dy) < 0.3 else "bottom" if dy > 0 else "top",
    }
