"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator

from deciban._estimation.newton import minimum
from deciban._validation.scalars import require_one_of

Scale = Literal["scalar", "diagonal", "full"]
_BLOCK = 1 << 21  # numbers held at once
_DENSE = 1500  # parameters up to which the matrix of second derivatives is held and solved
_ROUNDING = 1e-20  # squares of scores that count as zero
_FIRST = 4000  # samples that give a start near the optimum of many more


class AffineMap(NamedTuple):
    """Recalibration of ILRLs on rows: ``l @ matrix.T + offset``."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Recalibrated ILRLs."""
        return l @ self.matrix.T + self.offset


def fit_affine(
    l: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    log_prior: np.ndarray,
    contrast: np.ndarray,
    scale: Scale,
    *,
    offset: bool = True,
    ridge: float = 0.0,
) -> AffineMap:
    """The affine map with the smallest weighted cross-entropy of the posteriors.

    ``weight`` sums to one. ``ridge`` is the weight of the squared distance of the parameters from
    the identity map without offset. Scores may have another number of columns than there are ILR
    coordinates if the map is full; the distance is then that from zero.
    """
    require_one_of(scale, "scale", get_args(Scale))
    # Under a nearly certain prior all costs are small: in units of the entropy of the prior the
    # optimum is as sharp as ever. A common offset of the scores would blunt it, too.
    unit = -float(np.exp(log_prior) @ log_prior)
    center = weight @ l if offset and ridge == 0 else np.zeros(l.shape[1])
    away = l - center
    rounding = 1e-11 * np.maximum(1.0, np.abs(l).max(axis=0))
    away[:, np.abs(away).max(axis=0) < rounding] = 0.0  # constants carry no evidence
    problem = _Problem(
        np.ascontiguousarray(away.T),
        truth,
        weight / unit,
        log_prior,
        contrast,
        scale,
        offset,
        ridge / unit,
    )
    start = _start_from_subset(problem) if len(l) > 4 * _FIRST and ridge == 0 else None
    start = problem.start() if start is None else start
    matrix, b = problem.map(minimum(problem.at, start, problem.size))
    return AffineMap(matrix, b - matrix @ center)


def _start_from_subset(problem: _Problem) -> np.ndarray | None:
    """A start near the optimum, found with a subset of the samples, if it holds every class."""
    rows = slice(None, None, len(problem.truth) // _FIRST)
    weight = problem.weight[rows]
    if len(np.unique(problem.truth[rows][weight > 0])) < len(problem.V):
        return None
    subset = replace(
        problem,
        l=np.ascontiguousarray(problem.l[:, rows]),
        truth=problem.truth[rows],
        weight=weight * (problem.weight.sum() / weight.sum()),
        ridge=1e-4,  # separable samples would send the start to infinity
    )
    return minimum(subset.at, subset.start(), subset.size)


@dataclass(frozen=True)
class _Problem:
    """Cross-entropy as a function of the free parameters: those of A, then b.

    Samples are columns here: sums over the classes then run over long rows, which is faster.
    """

    l: np.ndarray
    truth: np.ndarray
    weight: np.ndarray
    log_prior: np.ndarray
    V: np.ndarray
    scale: Scale
    has_offset: bool
    ridge: float

    @property
    def k(self) -> int:
        return self.V.shape[1]

    @cached_property
    def identity(self) -> np.ndarray:
        """Parameters of the identity map; zeros where the map is not square."""
        square = self.k == len(self.l)
        A = np.eye(self.k) if square else np.zeros((self.k, len(self.l)))
        entries = {"scalar": np.ones(1), "diagonal": np.ones(self.k), "full": A.ravel()}
        return np.concatenate([entries[self.scale], np.zeros(self.k * self.has_offset)])

    @cached_property
    def size(self) -> np.ndarray:
        """Upper bounds on the roots of the second derivatives by each parameter."""
        # The size of most scores: a few extreme ones must not make the others look like rounding.
        some = np.abs(self.l[:, :: max(1, len(self.truth) // _FIRST)])
        typical = np.median(some, axis=1)
        typical = np.where(typical > 0, typical, np.abs(self.l).mean(axis=1))
        squares = typical**2 * self.weight.sum() + _ROUNDING
        bounds = {"scalar": [squares.sum()], "diagonal": squares, "full": np.tile(squares, self.k)}
        ones = np.ones(self.k * self.has_offset)
        return np.sqrt(self.ridge + np.concatenate([bounds[self.scale], ones]))

    def at(self, theta: np.ndarray) -> _At:
        return _At(self, theta)

    def start(self) -> np.ndarray:
        """The identity for weak scores, or zero for scores that are far too strong."""
        candidates = (self.identity, np.zeros_like(self.identity))
        return min(candidates, key=lambda theta: self.at(theta).value)

    def blocks(self) -> list[slice]:
        size = max(256, _BLOCK // (len(self.V) + len(self.identity)))
        return [slice(start, start + size) for start in range(0, len(self.truth), size)]

    def map(self, theta: np.ndarray) -> AffineMap:
        offset = theta[-self.k :] if self.has_offset else np.zeros(self.k)
        if self.scale == "full":
            A = theta[: self.k * len(self.l)].reshape(self.k, len(self.l))
        else:
            A = np.eye(self.k) * theta[: 1 if self.scale == "scalar" else self.k]
        return AffineMap(A, offset)

    @cached_property
    def log_likelihoods(self) -> np.ndarray:
        return self.V @ self.l

    def calibrate(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Log-likelihoods after the map, classes by samples."""
        A, b = self.map(theta)
        if self.scale == "scalar":
            z = theta[0] * self.log_likelihoods[:, rows]
        else:
            z = (self.V @ A) @ self.l[:, rows]
        z += (self.V @ b)[:, None]
        return z

    def slope(self, rows: slice, r: np.ndarray) -> np.ndarray:
        """Slope by the parameters, from the slope r by the log-likelihoods after the map."""
        if self.scale == "scalar":
            by_matrix = np.array([np.einsum("ij,ij->", self.log_likelihoods[:, rows], r)])
        else:
            R = r @ self.l[:, rows].T
            by_matrix = (self.V.T @ R).ravel() if self.scale == "full" else (self.V * R).sum(axis=0)
        offset = self.V.T @ r.sum(axis=1)
        return np.concatenate([by_matrix, offset]) if self.has_offset else by_matrix


class _At:
    """The problem at one point."""

    def __init__(self, problem: _Problem, theta: np.ndarray) -> None:
        self.problem = problem
        away = theta - problem.identity
        self.p = np.empty((len(problem.V), len(problem.truth)))
        self.value = problem.ridge * float(away @ away)
        self.slope = 2 * problem.ridge * away
        for rows in problem.blocks():
            y, w = problem.truth[rows], problem.weight[rows]
            z = problem.calibrate(theta, rows)
            z += problem.log_prior[:, None]
            z -= z.max(axis=0)
            true_class = z[y, np.arange(len(y))]
            p = np.exp(z, out=z)
            total = p.sum(axis=0)
            self.value += float(w @ (np.log(total) - true_class))
            p /= total
            self.p[:, rows] = p
            p[y, np.arange(len(y))] -= 1
            self.slope += problem.slope(rows, p * w)

    def curvature(self) -> np.ndarray | LinearOperator:
        problem, V, P = self.problem, self.problem.V, len(self.slope)
        if P > _DENSE:
            return LinearOperator((P, P), matvec=self._times)
        total = 2 * problem.ridge * np.eye(P)
        n = P - problem.k if problem.has_offset else P
        by_offset = np.zeros((len(V), len(V)))
        for rows in problem.blocks():
            p = self.p[:, rows]
            wp = problem.weight[rows] * p
            own, cross = _CURVATURES[problem.scale](problem, rows, p, wp)
            total[:n, :n] += own
            if problem.has_offset:
                total[:n, n:] += cross
                root = np.sqrt(problem.weight[rows]) * p
                by_offset += np.diag(wp.sum(axis=1)) - root @ root.T  # by symmetry, at half cost
        if problem.has_offset:
            total[n:, :n] = total[:n, n:].T
            total[n:, n:] += V.T @ by_offset @ V
        return total

    def _times(self, direction: np.ndarray) -> np.ndarray:
        """Second derivatives times a direction, without their matrix."""
        problem = self.problem
        product = 2 * problem.ridge * direction
        for rows in problem.blocks():
            p, change = self.p[:, rows], problem.calibrate(direction, rows)
            change -= np.sum(p * change, axis=0)
            product = product + problem.slope(rows, p * change * problem.weight[rows])
        return product


# Second derivatives by the parameters of A, and by these and the offset, from the posteriors p
# and their products wp with the weights.


def _curvature_of_scalar(
    problem: _Problem, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    s = problem.log_likelihoods[:, rows]
    wr = wp * (s - np.sum(p * s, axis=0))
    return np.array([[np.sum(wr * s)]]), (wr.sum(axis=1) @ problem.V)[None, :]


def _curvature_of_diagonal(
    problem: _Problem, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    l, V = problem.l[:, rows], problem.V
    q, wql = V.T @ p, (V.T @ wp) * l
    own = -wql @ (q * l).T
    for v, share in zip(V, wp, strict=True):
        own += np.outer(v, v) * ((share * l) @ l.T)
    return own, (V * (wp @ l.T)).T @ V - wql @ q.T


def _curvature_of_full(
    problem: _Problem, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    l, V = problem.l[:, rows], problem.V
    q, wq = V.T @ p, V.T @ wp
    k, P = len(q), len(q) * len(l)
    ql, wql = ((x[:, None, :] * l[None, :, :]).reshape(P, -1) for x in (q, wq))
    T = np.stack([(share * l) @ l.T for share in wp])
    own = np.einsum("di,dj,dab->iajb", V, V, T, optimize=True).reshape(P, P) - wql @ ql.T
    cross = np.einsum("di,dj,da->iaj", V, V, wp @ l.T, optimize=True).reshape(P, k)
    return own, cross - wql @ q.T


_CURVATURES = {
    "scalar": _curvature_of_scalar,
    "diagonal": _curvature_of_diagonal,
    "full": _curvature_of_full,
}
