"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b; Newton's steps are shortened until they go down, since
whole ones overshoot from the identity on ordinary data.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from deciban.exceptions import ConvergenceError, InputError
from deciban.simplex import logparts

Scale = Literal["scalar", "diagonal", "full"]
_BLOCK = 1 << 22  # numbers held at once
_FLAT = 1e-9  # nats that may be left to gain at the optimum
_LOST = 1e6  # nats that no step gains: what Newton's method promises where it is lost
_STEPS = 200


class AffineMap(NamedTuple):
    """Recalibration of ILRLs on rows: ``l @ matrix.T + offset``."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """The recalibrated ILRLs."""
        return l @ self.matrix.T + self.offset


def fit_affine(
    l: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    log_prior: np.ndarray,
    contrast: np.ndarray,
    scale: Scale,
    ridge: float = 0.0,
) -> AffineMap:
    """The affine map with the smallest weighted cross-entropy of the posteriors.

    ``weight`` sums to one. ``ridge`` is the weight of the squared distance of the parameters from
    the identity map, without offset.
    """
    if scale not in get_args(Scale):
        raise InputError(
            f"scale must be one of {', '.join(get_args(Scale))}; got {scale!r}. Choose one of them."
        )
    problem = _Problem(l, truth, weight, log_prior, contrast, scale, ridge)
    theta = problem.identity
    value, slope, curvature = problem.at(theta)
    for _ in range(_STEPS):
        # Separable classes pull the parameters to infinity; the damping keeps the step finite.
        damping = 1e-12 * max(1.0, float(np.trace(curvature)))
        step = -np.linalg.solve(curvature + damping * np.eye(len(theta)), slope)
        decrement = -float(step @ slope)
        if min(decrement, value) < _FLAT:  # a step gains no more than either
            break
        if decrement > _LOST:  # saturated posteriors leave no curvature: the slope has to lead
            step = -slope * float(np.linalg.norm(theta) / np.linalg.norm(slope))
        gain = -float(step @ slope)
        size = 1.0
        while problem.value(theta + size * step) > value - 1e-4 * size * gain and size > 1e-10:
            size /= 2
        theta = theta + size * step
        value, slope, curvature = problem.at(theta)
    else:
        raise ConvergenceError(
            f"the recalibration must reach its optimum; after {_STEPS} steps it could still gain "
            f"{decrement:.2g} nat. Check the evidence for outliers, or use a smaller scale family."
        )
    return problem.map(theta)


class _Problem:
    """Cross-entropy as a function of the free parameters: those of A, then b."""

    def __init__(
        self,
        l: np.ndarray,
        truth: np.ndarray,
        weight: np.ndarray,
        log_prior: np.ndarray,
        contrast: np.ndarray,
        scale: Scale,
        ridge: float,
    ) -> None:
        self.l, self.truth, self.weight = l, truth, weight
        self.log_prior, self.V, self.scale, self.ridge = log_prior, contrast, scale, ridge
        k = l.shape[1]
        ones = {"scalar": np.ones(1), "diagonal": np.ones(k), "full": np.eye(k).ravel()}[scale]
        self.identity = np.concatenate([ones, np.zeros(k)])

    def map(self, theta: np.ndarray) -> AffineMap:
        k = self.l.shape[1]
        a, b = theta[:-k], theta[-k:]
        if self.scale == "full":
            return AffineMap(a.reshape(k, k), b)
        return AffineMap(np.diag(np.broadcast_to(a, k)), b)

    def value(self, theta: np.ndarray) -> float:
        log_p = self._log_posterior(theta, slice(None))
        loss = -log_p[np.arange(len(self.truth)), self.truth]
        return float(self.weight @ loss) + self._pull(theta)

    def _pull(self, theta: np.ndarray) -> float:
        return self.ridge * float(np.sum((theta - self.identity) ** 2))

    def _log_posterior(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        return np.asarray(
            logparts.closure(self.map(theta)(self.l[rows]) @ self.V.T + self.log_prior)
        )

    def at(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, slope and curvature."""
        P = len(theta)
        value, slope, curvature = 0.0, np.zeros(P), np.zeros((P, P))
        block = max(1, _BLOCK // (self.V.size + P))
        for start in range(0, len(self.l), block):
            rows = slice(start, start + block)
            log_p = self._log_posterior(theta, rows)
            w, l, y = self.weight[rows], self.l[rows], self.truth[rows]
            value -= float(w @ log_p[np.arange(len(y)), y])
            p = np.exp(log_p)
            miss = p.copy()
            miss[np.arange(len(y)), y] -= 1
            g = (w[:, None] * miss) @ self.V
            mean = p @ self.V
            # Curvature of log-sum-exp in ILR coordinates, for each sample.
            M = np.einsum("nd,di,dj->nij", w[:, None] * p, self.V, self.V, optimize=True)
            M -= w[:, None, None] * mean[:, :, None] * mean[:, None, :]
            self._add(slope, curvature, l, g, M)
        slope += 2 * self.ridge * (theta - self.identity)
        curvature += 2 * self.ridge * np.eye(P)
        return value + self._pull(theta), slope, curvature

    def _add(
        self, slope: np.ndarray, curvature: np.ndarray, l: np.ndarray, g: np.ndarray, M: np.ndarray
    ) -> None:
        """Chain rule from A l + b to the free parameters of A and b."""
        k = l.shape[1]
        if self.scale == "full":
            n = len(l)
            slope[:-k] += (g.T @ l).ravel()
            outer = (l[:, :, None] * l[:, None, :]).reshape(n, -1)
            both = (M.reshape(n, -1).T @ outer).reshape(k, k, k, k)  # i j a b
            curvature[:-k, :-k] += both.transpose(0, 2, 1, 3).reshape(k * k, k * k)
            cross = (M.reshape(n, -1).T @ l).reshape(k, k, k)  # i j a, from row i of A and b_j
            cross = cross.transpose(0, 2, 1).reshape(k * k, k)
        elif self.scale == "diagonal":
            slope[:-k] += np.sum(g * l, axis=0)
            curvature[:-k, :-k] += np.einsum("nij,ni,nj->ij", M, l, l, optimize=True)
            cross = np.einsum("nij,ni->ij", M, l)
        else:
            slope[0] += float(np.sum(g * l))
            Ml = np.einsum("nij,nj->ni", M, l)
            curvature[0, 0] += float(np.sum(Ml * l))
            cross = Ml.sum(axis=0)[None, :]
        slope[-k:] += g.sum(axis=0)
        curvature[:-k, -k:] += cross
        curvature[-k:, :-k] += cross.T
        curvature[-k:, -k:] += M.sum(axis=0)
