"""Curves in the plane of three classes' ILRLs: contours of densities, boundaries of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deciban._validation import index_of
from deciban.evidence import Evidence
from deciban.evidence.bayes import cost_matrix
from deciban.exceptions import InputError
from deciban.plots._style import REFERENCE, dashes_of
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

Contours = Literal["gaussian", "kernel"]

_FINE, _COARSE = 301, 90  # points along a side of the grid for boundaries and for densities
_FOR_KERNEL = 2000  # samples that a kernel density is made of


def contours_of(
    display: Any,
    rows: list[np.ndarray],
    kind: Contours | None,
    masses: Sequence[float],
    rng: np.random.Generator,
) -> list[tuple[int, int, np.ndarray]]:
    """Class, number of the mass, and curve in nats, for each contour of a display's evidence."""
    if kind not in (None, "gaussian", "kernel"):
        raise InputError(
            f"contours must be 'gaussian', 'kernel' or None; got {kind!r}. Choose one of them."
        )
    evidence, at = display.evidence, display.coordinates
    finite = np.isfinite(evidence.log_likelihoods).all(axis=1)
    if kind == "gaussian":
        family = display.family or _fitted(evidence[finite], display.basis)
        places = [index_of(label, family.classes) for label in evidence.classes]
        return [
            (k, m, ellipse(family, places[k], mass, at))
            for k in range(evidence.n_classes)
            for m, mass in enumerate(masses)
        ]
    return [
        (k, m, curve)
        for k, group in enumerate(rows if kind == "kernel" else [])
        for m, mass in enumerate(masses)
        for curve in kernel_contours(
            evidence[group[finite[group]]].ilr(display.basis)[:, list(at)], mass, rng
        )
    ]


def name_masses(ax: Any, masses: Sequence[float]) -> None:
    """Entries of the legend that say how much of a class each kind of contour holds."""
    from matplotlib.lines import Line2D

    for m, mass in enumerate(masses):
        style = {"color": REFERENCE, "lw": 1.3, "ls": dashes_of(m)}
        ax.add_line(Line2D([], [], label=f"{100 * mass:g} %", **style))


def _fitted(evidence: Evidence, basis: Basis) -> CalibratedGaussian:
    labels = [evidence.classes[0]] * len(evidence)  # they do not change the estimate
    return CalibratedGaussian.fit(evidence, labels, basis)


def ellipse(
    family: CalibratedGaussian, k: int, mass: float, coordinates: tuple[int, int] = (0, 1)
) -> np.ndarray:
    """Edge of the smallest region that holds this mass of two ILR coordinates under class k."""
    at = list(coordinates)
    L = np.linalg.cholesky(family.covariance[np.ix_(at, at)])
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.sqrt(-2 * np.log1p(-mass)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(family.means[k, at] + circle @ L.T)


def kernel_contours(points: np.ndarray, mass: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Curves inside which a kernel density of the points holds this mass; none for a few points."""
    from scipy.stats import gaussian_kde  # half a second to import

    if len(points) > _FOR_KERNEL:
        points = points[rng.choice(len(points), _FOR_KERNEL, replace=False)]
    if len(points) < 5 or np.linalg.matrix_rank(np.cov(points.T)) < 2:
        return []
    density = gaussian_kde(points.T)
    level = np.quantile(density(points.T), 1 - mass)
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.35 * (high - low)
    x, y = (np.linspace(low[i] - room[i], high[i] + room[i], _COARSE) for i in (0, 1))
    X, Y = np.meshgrid(x, y)
    return _level_curves(x, y, density(np.vstack([X.ravel(), Y.ravel()])).reshape(X.shape), level)


def boundaries(
    basis: Basis, classes: tuple[Any, ...], reach: float, costs: Any = None, prior: Any = None
) -> list[np.ndarray]:
    """Curves of ILRLs, up to ``reach``, where two of three classes cost the same to decide for."""
    side = np.linspace(-reach, reach, _FINE)
    X, Y = np.meshgrid(side, side)
    grid = Evidence.from_ilr(np.column_stack([X.ravel(), Y.ravel()]), basis, classes)
    C = 1 - np.eye(3) if costs is None else cost_matrix(costs, classes)
    risk = grid.posterior(prior) @ C
    curves = []
    for k in range(3):
        others = np.delete(risk, k, axis=1).min(axis=1)
        margin = (others - risk[:, k]) / np.maximum(others + risk[:, k], 1e-300)
        curves += _level_curves(side, side, margin.reshape(X.shape), 0.0)
    return curves


def _level_curves(x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float) -> list[np.ndarray]:
    from contourpy import contour_generator  # comes with matplotlib

    return [np.asarray(line) for line in contour_generator(x, y, z).lines(level)]


def toward_infinity(evidence: Evidence, basis: Basis) -> np.ndarray:
    """Where on the frame of the plane evidence lies that rules a class out, from -1 to 1.

    A zero likelihood is taken for one so small that the ILRL lies far beyond all others.
    """
    log_w = evidence.log_likelihoods - evidence.log_likelihoods.max(axis=1, keepdims=True)
    sizes = np.abs(log_w[np.isfinite(log_w)])
    smallest = -1e3 * (1 + float(sizes.max(initial=0.0)))
    finite = np.where(np.isfinite(log_w), log_w, smallest)
    l = Evidence(finite, evidence.classes).ilr(basis)
    return np.asarray(l / np.abs(l).max(axis=1, keepdims=True))
