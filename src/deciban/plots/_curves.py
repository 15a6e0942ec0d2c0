"""Samples in the plane of ILRLs, contours of their densities and boundaries of decisions."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.evidence import Evidence
from deciban.evidence.bayes import cost_matrix
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.plots._axes import Array
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

MOST_SAMPLES = 2000  # of a class that are drawn, or make a density; more would be a blot, or slow
_FINE, _COARSE = 301, 90  # points along a side of the grid for boundaries and for densities


def encode_truth(y_true: ArrayLike | None, evidence: Evidence) -> NDArray[np.intp] | None:
    """Position of the true class of each sample, if known; a class may have no samples."""
    return None if y_true is None else read_labelled(y_true, evidence, every_class=False).codes


def rows_by_class(truth: NDArray[np.intp] | None, evidence: Evidence) -> list[NDArray[np.intp]]:
    """Rows of the samples of each class; all in one group where the truth is not known."""
    if truth is None:
        return [np.arange(len(evidence))]
    return Labelled(evidence, truth).rows_by_class


def subsample(rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """At most so many of the rows, at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def is_finite(evidence: Evidence) -> NDArray[np.bool_]:
    """Whether the evidence leaves every class possible, for each sample."""
    return np.asarray(np.isfinite(evidence.log_likelihoods).all(axis=1))


def fit_family(evidence: Evidence, basis: Basis) -> CalibratedGaussian:
    """The calibrated Gaussian family under which the evidence is most likely."""
    labels = [evidence.classes[0]] * len(evidence)  # they do not change the estimate
    return CalibratedGaussian.fit(evidence, labels, basis)


def ellipse(
    family: CalibratedGaussian, k: int, mass: float, coordinates: tuple[int, int] = (0, 1)
) -> Array:
    """Edge of the smallest region that holds this mass of two ILR coordinates under class k."""
    at = list(coordinates)
    L = np.linalg.cholesky(family.covariance[np.ix_(at, at)])
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.sqrt(-2 * np.log1p(-mass)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(family.means[k, at] + circle @ L.T)


def kernel_contours(points: Array, mass: float, rng: np.random.Generator) -> list[Array]:
    """Curves inside which a kernel density of the points holds this mass; none for a few points."""
    from scipy.stats import gaussian_kde  # half a second to import

    if len(points) > MOST_SAMPLES:
        points = points[rng.choice(len(points), MOST_SAMPLES, replace=False)]
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
    basis: Basis,
    classes: tuple[Hashable, ...],
    reach: float,
    costs: ArrayLike | None = None,
    prior: Any = None,
) -> list[Array]:
    """Curves of ILRLs, up to ``reach``, where deciding for two of three classes costs the same."""
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


def _level_curves(x: Array, y: Array, z: Array, level: float) -> list[Array]:
    from contourpy import contour_generator  # comes with matplotlib

    return [np.asarray(line) for line in contour_generator(x, y, z).lines(level)]


def toward_infinity(evidence: Evidence, basis: Basis) -> Array:
    """Where on the frame of the plane evidence lies that rules a class out, from -1 to 1.

    A zero likelihood is taken for one so small that the ILRL lies far beyond all others.
    """
    log_w = evidence.log_likelihoods - evidence.log_likelihoods.max(axis=1, keepdims=True)
    sizes = np.abs(log_w[np.isfinite(log_w)])
    smallest = -1e3 * (1 + float(sizes.max(initial=0.0)))
    finite = np.where(np.isfinite(log_w), log_w, smallest)
    l = Evidence(finite, evidence.classes).ilr(basis)
    return np.asarray(l / np.abs(l).max(axis=1, keepdims=True))
