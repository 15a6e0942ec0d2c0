"""A smooth monotone map of ILRLs, for three classes or more.

The best monotone map overfits at any number of samples (docs/benchmarks/calibration.md). This map
is the gradient of a log-sum-exp of a few affine functions plus a quadratic form: monotone by
construction, started near the best scalar map and fitted by L-BFGS. Misleading samples keep it
finite for separable classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import softmax

from deciban._estimation.affine import fit_affine
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats
from deciban.simplex import logparts

_PIECES = 8
_STEPS = 300
_ROUNDS = 10  # of the search for clusters
_PULL = 30.0  # of the parameters towards the start, in units of one sample
_BENT = 0.1  # share of the scalar map that the affine functions make at first
_MIN_FACTOR = 0.01  # of the scalar map at the start
_MIN_SPREAD = 1e-11  # of scores, relative to the largest; less counts as none
_BLOCK = 1 << 22  # numbers held at once


class ConvexGradient(NamedTuple):
    r"""The gradient of a convex function of :math:`u = (l - c) / s`.

    The function is :math:`T \log \sum_k \exp((a_k + b_k \cdot u) / T) + u^T R R^T u / 2`, convex
    for any numbers. Files of version 0.1 may hold maps with T = 0: the maximum of the
    :math:`a_k + b_k \cdot u`, whose slope is that of the nearest point where they tie.
    """

    intercepts: Floats
    slopes: Floats
    points: Floats  # where each slope was found, in units of u
    temperature: float
    tie: float
    root: Floats
    center: Floats
    size: float

    def __call__(self, l: Floats) -> Floats:
        """Recalibrated ILRLs, samples on rows."""
        step = max(1, _BLOCK // len(self.intercepts))
        result = np.empty(l.shape)
        for start in range(0, len(l), step):
            rows = slice(start, start + step)
            u = l[rows] / self.size - self.center / self.size  # zero if the size is infinite
            height = self.intercepts + u @ self.slopes.T
            if self.temperature > 0:
                slopes = softmax(height / self.temperature, axis=1) @ self.slopes
            else:
                tied = height >= height.max(axis=1, keepdims=True) - self.tie
                far = (self.points**2).sum(axis=1) - 2 * (u @ self.points.T)
                slopes = self.slopes[np.where(tied, far, np.inf).argmin(axis=1)]
            result[rows] = slopes + (u @ self.root) @ self.root.T
        return result


register_value(
    ConvexGradient, intercepts="P", slopes="P k", points="P k", temperature=float, tie=float,
    root="k k", center="k", size=float,
)  # fmt: skip


def fit_monotone(
    l: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    class_sizes: Floats,
    misleading: float = 1.0,
) -> ConvexGradient:
    """A smooth monotone map with a small weighted cross-entropy.

    ``weight`` sums to one, and to the prior within each class. ``misleading`` samples are added to
    the ``class_sizes`` samples in each class.
    """
    added = misleading / (class_sizes + misleading)
    u, center, size = _standardize(l, weight)
    start = fit_affine(u, truth, weight, log_prior, contrast, "scalar", class_sizes=class_sizes)
    D, d = contrast.shape
    mass = np.zeros((len(u), D))
    mass[np.arange(len(u)), truth] = weight
    by_class = mass.sum(axis=0)
    # Misleading samples lie at the means of the other classes.
    means = mass.T @ u / by_class[:, None]
    misleading = (1 - np.eye(D)) * by_class * added / (D - 1)
    factor, offset = float(start.matrix[0, 0]), start.offset
    if factor < _MIN_FACTOR:  # reversed or no evidence: start near none, not at its offset
        factor, offset = _MIN_FACTOR, np.zeros(d)
    points = _spread_points(u, weight)
    slopes = _BENT * factor * points + offset
    heights = -_BENT * factor * (points**2).sum(axis=1) / 2
    root = np.sqrt((1 - _BENT) * factor) * np.eye(d)
    theta = np.concatenate([heights, slopes.ravel(), root.ravel(), [np.log(_BENT * factor)]])
    squares = np.repeat([factor**2, factor, 1.0], [len(heights) + slopes.size, d * d, 1])
    ridge = _PULL * float(added.mean()) / D / squares
    mass = np.concatenate([mass * (1 - added), misleading])
    cost = _SmoothCost(np.concatenate([u, means]), mass, log_prior, contrast, theta, ridge)
    found = minimize(cost, theta, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    a, b, root, T = cost.unpack(found.x)
    return ConvexGradient(a, b, points, T, 0.0, root, center, size)


@dataclass(frozen=True)
class _SmoothCost:
    """Cross-entropy and its slope by the intercepts, slopes, root and temperature."""

    u: Floats
    mass: Floats
    log_prior: Floats
    V: Floats
    start: Floats
    ridge: Floats  # of the squared distances of the parameters from the start

    def unpack(self, theta: Floats) -> tuple[Floats, Floats, Floats, float]:
        d = self.u.shape[1]
        K = (len(theta) - d * d - 1) // (d + 1)
        a, b, root, log_t = np.split(theta, [K, K + K * d, len(theta) - 1])
        return a, b.reshape(K, d), root.reshape(d, d), float(np.exp(log_t[0]))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        u = self.u
        a, b, root, T = self.unpack(theta)
        z = (a + u @ b.T) / T
        share = softmax(z, axis=1)
        y = share @ b + (u @ root) @ root.T
        log_p = np.asarray(logparts.closure(y @ self.V.T + self.log_prior))
        r = (self.mass.sum(axis=1, keepdims=True) * np.exp(log_p) - self.mass) @ self.V
        push = r @ b.T
        moved = share * (push - (share * push).sum(axis=1, keepdims=True)) / T
        M = r.T @ u
        slope = [moved.sum(axis=0), (share.T @ r + moved.T @ u).ravel()]
        slope += [((M + M.T) @ root).ravel(), [-float((moved * z).sum()) * T]]
        away = theta - self.start
        value = -float((self.mass * log_p).sum()) + float(self.ridge @ away**2) / 2
        return value, np.concatenate(slope) + self.ridge * away


def _standardize(l: Floats, weight: Floats) -> tuple[Floats, Floats, float]:
    """Scores with mean zero and unit spread, their center and size, however large."""
    unit = float(np.abs(l).max(initial=0.0)) or 1.0
    v = l / unit
    center = weight @ v
    size = float(np.sqrt(weight @ ((v - center) ** 2).mean(axis=1)))
    if size <= _MIN_SPREAD:  # constants carry no evidence
        return np.zeros(l.shape), center * unit, np.inf
    return (v - center) / size, center * unit, size * unit


def _spread_points(u: Floats, weight: Floats) -> Floats:
    """Weighted cluster centers by Lloyd's algorithm, in any order of the samples."""
    points, place = np.unique(u[weight > 0], axis=0, return_inverse=True)
    mass = np.bincount(place.ravel(), weight[weight > 0])
    centers = points[[np.argmin(((points - mass @ points / mass.sum()) ** 2).sum(axis=1))]]
    while len(centers) < min(_PIECES, len(points)):  # each next one far from all, and no outlier
        far = mass * cdist(points, centers, "sqeuclidean").min(axis=1)
        centers = np.vstack([centers, points[[np.argmax(far)]]])
    for _ in range(_ROUNDS):
        own = cdist(points, centers, "sqeuclidean").argmin(axis=1)
        total = np.bincount(own, mass, len(centers))
        sums = np.stack([np.bincount(own, mass * x, len(centers)) for x in points.T], axis=1)
        centers = np.where(total[:, None] > 0, sums / np.maximum(total, 1e-300)[:, None], centers)
    return centers
