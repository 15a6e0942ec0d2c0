r"""A smooth monotone map of ILRLs, for more samples than the best of all can be found for.

The map is the gradient of a log-sum-exp of affine functions plus a quadratic form. It is monotone
by construction, starts near the best scalar map and is fitted by L-BFGS. Misleading samples of each
class are added, at the means of the other classes: separable classes have a finite optimum then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from deciban._estimation.convex_gradient import ConvexGradient
from deciban._estimation.logistic import AffineMap
from deciban._validation.arrays import Floats
from deciban.simplex import logparts

_PIECES = 8
_STEPS = 300
_ROUNDS = 10  # of the search for clusters
_PULL = 30.0  # of the parameters towards the start, in units of one sample
_BENT = 0.1  # share of the scalar map that the affine functions make at first
_LEAST_FACTOR = 0.01  # of the scalar map at the start


@dataclass(frozen=True)
class _SmoothCost:
    """Cross-entropy as a function of the intercepts, slopes, root and temperature."""

    u: Floats
    mass: Floats
    log_prior: Floats
    V: Floats
    start: Floats
    ridge: Floats  # of the squared distances of the parameters from the start

    def unpack(self, theta: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Intercepts, slopes, root and temperature."""
        d = self.u.shape[1]
        K = (len(theta) - d * d - 1) // (d + 1)
        a, b, root, log_t = np.split(theta, [K, K + K * d, len(theta) - 1])
        return a, b.reshape(K, d), root.reshape(d, d), float(np.exp(log_t[0]))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """The cost and its slope."""
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


def fit_smooth(
    u: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    added: Floats,
    start: AffineMap,
) -> ConvexGradient:
    """A smooth monotone map of standardized ILRLs with a small cross-entropy.

    ``added`` is the weight of the misleading samples of each class, as a share of that of the
    class.
    """
    D, d = contrast.shape
    mass = np.zeros((len(u), D))
    mass[np.arange(len(u)), truth] = weight
    by_class = mass.sum(axis=0)
    means = mass.T @ u / by_class[:, None]
    misleading = (1 - np.eye(D)) * by_class * added / (D - 1)
    factor, offset = float(start.matrix[0, 0]), start.offset
    if factor < _LEAST_FACTOR:  # reversed or no evidence: start near none, not at its offset
        factor, offset = _LEAST_FACTOR, np.zeros(d)
    points = _spread_points(u, weight)
    slopes = _BENT * factor * points + offset
    heights = -_BENT * factor * (points**2).sum(axis=1) / 2
    root = np.sqrt((1 - _BENT) * factor) * np.eye(d)
    theta = np.concatenate([heights, slopes.ravel(), root.ravel(), [np.log(_BENT * factor)]])
    ridge = np.full(len(theta), _PULL * float(added.mean()) / D)
    cost = _SmoothCost(
        np.concatenate([u, means]),
        np.concatenate([mass * (1 - added), misleading]),
        log_prior,
        contrast,
        theta,
        ridge
        / np.concatenate(
            [np.full(len(theta) - d * d - 1, factor**2), np.full(d * d, factor), [1.0]]
        ),
    )
    found = minimize(cost, theta, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    a, b, root, T = cost.unpack(found.x)
    return ConvexGradient(a, b, points, T, 0.0, root, np.zeros(d), 1.0)


def _spread_points(u: Floats, weight: Floats) -> Floats:
    """Centers of weighted clusters, whatever the order of the samples: Lloyd's algorithm."""
    points, place = np.unique(u[weight > 0], axis=0, return_inverse=True)
    mass = np.bincount(place.ravel(), weight[weight > 0])
    centers = points[[np.argmin(((points - mass @ points / mass.sum()) ** 2).sum(axis=1))]]
    while len(centers) < min(_PIECES, len(points)):  # each next one far from all, and no outlier
        far = mass * _squares(points, centers).min(axis=1)
        centers = np.vstack([centers, points[[np.argmax(far)]]])
    for _ in range(_ROUNDS):
        own = _squares(points, centers).argmin(axis=1)
        total = np.bincount(own, mass, len(centers))
        sums = np.stack([np.bincount(own, mass * x, len(centers)) for x in points.T], axis=1)
        centers = np.where(total[:, None] > 0, sums / np.maximum(total, 1e-300)[:, None], centers)
    return centers


def _squares(points: Floats, centers: Floats) -> Floats:
    """Squared distances of points from centers."""
    return np.stack([((points - one) ** 2).sum(axis=1) for one in centers], axis=1)
