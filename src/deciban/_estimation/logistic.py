"""Affine maps of ILRLs, and their cross-entropy as a function of the parameters of the map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator

from deciban._estimation.newton import Point

Scale = Literal["scalar", "diagonal", "full"]
_LARGE = 1e100  # scores
_ROUNDING = 1e-11  # spread of scores, relative to the largest, that counts as none


class AffineMap(NamedTuple):
    """Recalibration of ILRLs on rows: ``l @ matrix.T + offset``."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Recalibrated ILRLs."""
        return l @ self.matrix.T + self.offset

    @classmethod
    def from_parameters(
        cls, theta: np.ndarray, scale: Scale, k: int, *, has_offset: bool = True
    ) -> Self:
        """The map to k coordinates with these free parameters: those of the matrix come first."""
        free, offset = np.split(theta, [len(theta) - k * has_offset])
        matrix = free.reshape(k, -1) if scale == "full" else np.eye(k) * free
        return cls(matrix, offset if has_offset else np.zeros(k))

    def parameters(self, scale: Scale) -> np.ndarray:
        """The free parameters of the matrix, then the offset."""
        return np.append(free_entries(self.matrix, scale), self.offset)


def free_entries(matrices: np.ndarray, scale: Scale) -> np.ndarray:
    """The entries of matrices of shape (..., k, k) that the scale leaves free."""
    entries = {
        "scalar": matrices[..., 0, 0],
        "diagonal": np.einsum("...ii->...i", matrices),
        "full": matrices,
    }
    return entries[scale]


def sum_by_entry(squares: np.ndarray, scale: Scale, k: int) -> np.ndarray:
    """Sums of squares of the scores that each free entry of a matrix of k rows multiplies."""
    sums = {"scalar": squares.sum(keepdims=True), "diagonal": squares, "full": np.tile(squares, k)}
    return sums[scale]


class Standardization(NamedTuple):
    """A unit and a center of scores with which the optimum is sharp, and which scores vary."""

    size: float
    center: np.ndarray
    varies: np.ndarray

    @classmethod
    def choose(
        cls, largest: np.ndarray, mean: np.ndarray, *, has_offset: bool, has_ridge: bool
    ) -> Self:
        """From the largest absolute value of each score and their means.

        A common offset of the scores would blunt the optimum, and squares of huge ones overflow. A
        ridge holds the map near the identity in the scores as they are, and leaves no choice.
        """
        most = float(largest.max())
        size = 1.0 if has_ridge or most <= _LARGE else most
        center = mean / size if has_offset and not has_ridge else np.zeros(len(largest))
        return cls(size, center, np.ones(len(largest), dtype=bool))

    def drop_constants(self, spread: np.ndarray, largest: np.ndarray) -> Self:
        """The same, where scores that vary no further than this from the center are constants."""
        return self._replace(varies=spread >= _ROUNDING * np.maximum(1.0, largest / self.size))

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Standardized scores; constants carry no evidence and are zero."""
        return np.where(self.varies, l / self.size - self.center, 0.0)

    def undo(self, affine: AffineMap) -> AffineMap:
        """The map of scores as they are, from that of standardized ones."""
        matrix, b = affine
        return AffineMap(matrix / self.size, b - matrix @ self.center)


SOME = 4000  # samples enough for a median
_BLOCK = 1 << 21  # numbers held at once
_DENSE = 1500  # parameters up to which the matrix of second derivatives is held and solved
ROUNDING = 1e-20  # squares of scores that count as zero
_SINGULAR = 1e-13  # information, relative to its upper bound, that counts as none


@dataclass(frozen=True)
class AffineCost:
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
    ridge: float | np.ndarray  # one weight for all parameters, or one for each
    center: np.ndarray | None = None  # of the ridge; the identity by default
    jeffreys: float = 0.0  # weight of the log-determinant of the information, for a scalar map

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
        some = np.abs(self.l[:, :: max(1, len(self.truth) // SOME)])
        typical = np.median(some, axis=1)
        typical = np.where(typical > 0, typical, np.abs(self.l).mean(axis=1))
        squares = typical**2 * self.mass + ROUNDING
        by_matrix = sum_by_entry(squares, self.scale, self.k)
        return np.sqrt(self.ridge + np.append(by_matrix, np.ones(self.k * self.has_offset)))

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def mean_size(self) -> float:
        """Weighted mean of the absolute values of the scores."""
        return float(self.weight @ np.abs(self.l).mean(axis=0)) / self.mass

    def at(self, theta: np.ndarray) -> Point:
        return PointOfCost(self, theta)

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and slope of the ridge."""
        away = theta - (self.identity if self.center is None else self.center)
        return float((self.ridge * away) @ away), 2 * self.ridge * away

    def jeffreys_prior(self, information: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus half the log-determinant of the information, and the covariance by it."""
        units = np.outer(self.size, self.size)
        information = information / units + _SINGULAR * np.eye(len(units))
        value = -self.jeffreys / 2 * float(np.linalg.slogdet(information)[1])
        return value, np.linalg.inv(information) / units

    def start(self) -> np.ndarray:
        """The identity for weak scores, or zero for scores that are far too strong."""
        if self.center is not None:
            return self.center
        if self.jeffreys:  # flat where all posteriors are saturated
            return np.zeros_like(self.identity)
        candidates = (self.identity, np.zeros_like(self.identity))
        return min(candidates, key=lambda theta: self.at(theta).value)

    def blocks(self) -> list[slice]:
        size = max(256, _BLOCK // (len(self.V) + len(self.identity)))
        return [slice(start, start + size) for start in range(0, len(self.truth), size)]

    def map(self, theta: np.ndarray) -> AffineMap:
        return AffineMap.from_parameters(theta, self.scale, self.k, has_offset=self.has_offset)

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


class PointOfCost:
    """The problem at one point."""

    def __init__(self, problem: AffineCost, theta: np.ndarray) -> None:
        self.problem = problem
        self.p = np.empty((len(problem.V), len(problem.truth)))
        self.value, self.slope = problem.penalty(theta)
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
        if problem.jeffreys:
            value, inverse = problem.jeffreys_prior(self.matrix)
            self.value += value
            self.slope = self.slope + self.slope_of_prior(problem.jeffreys, inverse)

    def slope_of_prior(self, jeffreys: float, inverse: np.ndarray) -> np.ndarray:
        """Slope of Jeffreys' prior.

        With M the covariance of the recalibrated scores by it, J I^-1 J^T, the determinant changes
        with these scores by p (g - p.g), g = diag M - 2 M p.
        """
        problem, slope = self.problem, np.zeros(len(inverse))
        for rows in problem.blocks():
            p = self.p[:, rows]
            diagonal, product = _covariance_of_scalar(problem, rows, p, inverse)
            g = diagonal - 2 * product
            r = p * (g - np.sum(p * g, axis=0)) * problem.weight[rows]
            slope -= jeffreys / 2 * problem.slope(rows, r)
        return slope

    def curvature(self) -> np.ndarray | LinearOperator:
        """Second derivatives of the cross-entropy and the ridge; those of the prior are small."""
        if self.problem.jeffreys or len(self.slope) <= _DENSE:
            return self.matrix
        P = len(self.slope)
        return LinearOperator((P, P), matvec=self._times)

    @cached_property
    def matrix(self) -> np.ndarray:
        problem, V, P = self.problem, self.problem.V, len(self.slope)
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
    problem: AffineCost, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    s = problem.log_likelihoods[:, rows]
    wr = wp * (s - np.sum(p * s, axis=0))
    return np.array([[np.sum(wr * s)]]), (wr.sum(axis=1) @ problem.V)[None, :]


def _curvature_of_diagonal(
    problem: AffineCost, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    l, V = problem.l[:, rows], problem.V
    q, wql = V.T @ p, (V.T @ wp) * l
    own = -wql @ (q * l).T
    for v, share in zip(V, wp, strict=True):
        own += np.outer(v, v) * ((share * l) @ l.T)
    return own, (V * (wp @ l.T)).T @ V - wql @ q.T


def _curvature_of_full(
    problem: AffineCost, rows: slice, p: np.ndarray, wp: np.ndarray
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


def _covariance_of_scalar(
    problem: AffineCost, rows: slice, p: np.ndarray, inverse: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal of the covariance of the recalibrated scores, and its product with the posteriors.

    ``inverse`` is the covariance of the parameters.
    """
    s, V = problem.log_likelihoods[:, rows], problem.V
    mean = np.sum(p * s, axis=0)
    diagonal, product = inverse[0, 0] * s * s, inverse[0, 0] * s * mean
    if problem.has_offset:
        q, both, own = V.T @ p, inverse[0, 1:], inverse[1:, 1:]
        diagonal += 2 * s * (V @ both)[:, None] + np.sum((V @ own) * V, axis=1)[:, None]
        product += s * (both @ q) + V @ (np.outer(both, mean) + own @ q)
    return diagonal, product
