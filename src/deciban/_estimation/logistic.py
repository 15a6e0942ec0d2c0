"""The logistic solver: cross-entropy of log-likelihoods that are linear in parameters.

A sample's ILRL is the sum of A_m l_m over its score vectors l_m plus b_u times its covariate u.
Each A_m is a multiple of the identity, diagonal or full. Samples are columns: sums over classes
then run over long rows, which is faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.sparse.linalg import LinearOperator

Scale = Literal["scalar", "diagonal", "full"]
_TYPICAL = 4000  # samples enough for a median
_BLOCK = 1 << 21  # numbers held at once
_DENSE = 1500  # parameters up to which the matrix of second derivatives is held and solved
_MIN_SQUARE = 1e-20  # squares of scores that count as zero
_SINGULAR = 1e-13  # information, relative to its upper bound, that counts as none


def prior_entropy(log_prior: np.ndarray) -> float:
    """Entropy of the prior in nats, the unit of costs in fits.

    Under a nearly certain prior all costs are small; in this unit the optimum stays sharp.
    """
    return -float(np.exp(log_prior) @ log_prior)


def unpack(
    theta: np.ndarray, scale: Scale, n_vectors: int, k: int, n_covariates: int
) -> tuple[np.ndarray, np.ndarray]:
    """Matrices (n_vectors, k, n_scores) and offsets (n_covariates, k) for k coordinates."""
    free, offsets = np.split(theta, [len(theta) - n_covariates * k])
    if scale == "full":
        matrices = free.reshape(n_vectors, k, -1)
    else:
        matrices = free.reshape(n_vectors, -1)[:, :, None] * np.eye(k)
    return matrices, offsets.reshape(n_covariates, k)


class AffineMap(NamedTuple):
    """Recalibration of ILRLs on rows: ``l @ matrix.T + offset``."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, l: np.ndarray) -> np.ndarray:
        return l @ self.matrix.T + self.offset

    @classmethod
    def from_parameters(
        cls, theta: np.ndarray, scale: Scale, k: int, *, has_offset: bool = True
    ) -> Self:
        """The map to k coordinates; parameters of the matrix come first."""
        matrices, offsets = unpack(theta, scale, 1, k, int(has_offset))
        return cls(matrices[0], offsets[0] if has_offset else np.zeros(k))

    def parameters(self, scale: Scale) -> np.ndarray:
        return np.append(free_entries(self.matrix, scale), self.offset)


def free_entries(matrices: np.ndarray, scale: Scale) -> np.ndarray:
    """Entries that the scale leaves free, in matrices of shape (..., k, k)."""
    entries = {
        "scalar": matrices[..., 0, 0],
        "diagonal": np.einsum("...ii->...i", matrices),
        "full": matrices,
    }
    return entries[scale]


def parameter_sizes(squares: np.ndarray, scale: Scale, k: int, n_covariates: int) -> np.ndarray:
    """Upper bounds on second derivatives, from mean squared scores."""
    squares = squares + _MIN_SQUARE
    sums = {"scalar": squares.sum(keepdims=True), "diagonal": squares, "full": np.tile(squares, k)}
    return np.append(sums[scale], np.ones(k * n_covariates))


class Design(NamedTuple):
    """Scores (n_vectors, n_scores, n_samples) and covariates (n_covariates, n_samples).

    The first covariate is constant.
    """

    scores: np.ndarray
    covariates: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        return self.scores.reshape(-1, self.scores.shape[2])

    def select(self, rows: slice | np.ndarray) -> Design:
        return Design(self.scores[:, :, rows], self.covariates[:, rows])

    def slopes(self, direction: np.ndarray, scale: Scale) -> np.ndarray:
        """Derivatives of ILRLs along directions (k, n_samples), parameters by samples."""
        n = direction.shape[1]
        if scale == "scalar":
            by_matrix = np.einsum("in,min->mn", direction, self.scores)
        elif scale == "diagonal":
            by_matrix = direction * self.scores
        else:
            by_matrix = direction[:, None] * self.scores[:, None]
        by_offset = self.covariates[:, None] * direction
        return np.concatenate([by_matrix.reshape(-1, n), by_offset.reshape(-1, n)])

    def ilr(self, theta: np.ndarray, scale: Scale, k: int) -> np.ndarray:
        """ILRLs with samples on rows."""
        A, B = unpack(theta, scale, len(self.scores), k, len(self.covariates))
        return np.einsum("mij,mjn->ni", A, self.scores) + self.covariates.T @ B


@dataclass(frozen=True)
class LogisticCost:
    """Weighted cross-entropy plus a ridge; parameters are matrices, then offsets."""

    design: Design
    truth: np.ndarray
    weight: np.ndarray
    log_prior: np.ndarray
    V: np.ndarray
    scale: Scale
    ridge: float | np.ndarray  # one weight for all parameters, or one for each
    center: np.ndarray | float | None = None  # of the ridge; the identity by default
    jeffreys: float = 0.0  # weight of the log-determinant of the information, for a scalar map

    @property
    def k(self) -> int:
        return self.V.shape[1]

    @property
    def n_offsets(self) -> int:
        return self.k * len(self.design.covariates)

    @property
    def n_parameters(self) -> int:
        M, d, _ = self.design.scores.shape
        return M * {"scalar": 1, "diagonal": d, "full": self.k * d}[self.scale] + self.n_offsets

    @cached_property
    def identity(self) -> np.ndarray:
        """Parameters of the identity map for one vector; zeros if not square."""
        d = self.design.scores.shape[1]
        A = np.eye(self.k) if self.k == d else np.zeros((self.k, d))
        entries = {"scalar": np.ones(1), "diagonal": np.ones(self.k), "full": A.ravel()}
        return np.concatenate([entries[self.scale], np.zeros(self.n_offsets)])

    @cached_property
    def size(self) -> np.ndarray:
        """Upper bounds on the roots of second derivatives, for one vector."""
        # The size of most scores: a few extreme ones must not make the others look like rounding.
        scores = self.design.scores[0]
        some = np.abs(scores[:, :: max(1, scores.shape[1] // _TYPICAL)])
        typical = np.median(some, axis=1)
        typical = np.where(typical > 0, typical, np.abs(scores).mean(axis=1))
        U = len(self.design.covariates)
        sizes = parameter_sizes(typical**2 * self.mass, self.scale, self.k, U)
        return np.sqrt(self.ridge + sizes)

    @property
    def mass(self) -> float:
        return float(self.weight.sum())

    @property
    def mean_size(self) -> float:
        """Weighted mean absolute score."""
        return float(self.weight @ np.abs(self.design.scores[0]).mean(axis=0)) / self.mass

    def at(self, theta: np.ndarray) -> CostPoint:
        return CostPoint(self, theta)

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Ridge: value and slope."""
        away = theta - (self.identity if self.center is None else self.center)
        return float((self.ridge * away) @ away), 2 * self.ridge * away

    def jeffreys_prior(self, information: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus half the log-determinant, and the inverse of the information."""
        units = np.outer(self.size, self.size)
        information = information / units + _SINGULAR * np.eye(len(units))
        value = -self.jeffreys / 2 * float(np.linalg.slogdet(information)[1])
        return value, np.linalg.inv(information) / units

    def thin_out(self, n: int) -> LogisticCost:
        """About n samples from all classes, with the weight of all samples."""
        step = -(-len(self.truth) // n)
        if step <= 1:
            return self
        each = [np.flatnonzero(self.truth == c)[::step] for c in range(len(self.V))]
        rows = np.concatenate(each)
        truth, weight = self.truth[rows], self.weight[rows]
        share = np.bincount(self.truth, self.weight) / np.bincount(truth, weight)
        design = self.design.select(rows)
        return replace(self, design=design, truth=truth, weight=weight * share[truth])

    # --- kernels over blocks of samples ----------------------------------------------------

    def blocks(self) -> Iterator[slice]:
        step = max(256, _BLOCK // (len(self.V) + self.n_parameters))
        return (slice(start, start + step) for start in range(0, len(self.truth), step))

    @cached_property
    def offset_contrast(self) -> np.ndarray:
        return np.kron(np.eye(len(self.design.covariates)), self.V)

    @cached_property
    def log_likelihoods(self) -> list[np.ndarray]:
        """For each score vector, classes by samples."""
        return [self.V @ l for l in self.design.scores]

    def calibrate(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Log-likelihoods after the map, classes by samples."""
        M, U = len(self.design.scores), len(self.design.covariates)
        A, B = unpack(theta, self.scale, M, self.k, U)
        if self.scale == "scalar":
            z = theta[0] * self.log_likelihoods[0][:, rows]
            for factor, one in zip(theta[1:M], self.log_likelihoods[1:], strict=True):
                z += factor * one[:, rows]
        else:
            z = (self.V @ np.concatenate(A, axis=1)) @ self.design.flat[:, rows]
        if U:
            z += (self.V @ B[0])[:, None]
        if U > 1:
            z += (self.V @ B[1:].T) @ self.design.covariates[1:, rows]
        return z

    def slope(self, rows: slice, r: np.ndarray) -> np.ndarray:
        """Slope by the parameters, from the slope r by the log-likelihoods after the map."""
        M, U = len(self.design.scores), len(self.design.covariates)
        if self.scale == "scalar":
            scores = (one[:, rows] for one in self.log_likelihoods)
            by_matrix = np.array([np.einsum("ij,ij->", s, r) for s in scores])
        else:
            R = r @ self.design.flat[:, rows].T
            if self.scale == "full":
                by_matrix = (self.V.T @ R).reshape(self.k, M, -1).swapaxes(0, 1).ravel()
            else:
                by_matrix = (np.tile(self.V, M) * R).sum(axis=0)
        sums = [r.sum(axis=1)] * (U > 0) + [r @ c for c in self.design.covariates[1:, rows]]
        return np.concatenate([by_matrix, *(self.V.T @ one for one in sums)])

    def times_covariates(self, rows: slice, x: np.ndarray) -> list[np.ndarray]:
        """Values per sample times each covariate."""
        others = self.design.covariates[1:, rows]
        return [x] * (len(self.design.covariates) > 0) + [x * c for c in others]


class CostPoint:
    """Value, slope and second derivatives at one point."""

    def __init__(self, cost: LogisticCost, theta: np.ndarray) -> None:
        self.cost = cost
        self.p = np.empty((len(cost.V), len(cost.truth)))
        self.value, self.slope = cost.penalty(theta)
        for rows in cost.blocks():
            y, w = cost.truth[rows], cost.weight[rows]
            z = cost.calibrate(theta, rows)
            z += cost.log_prior[:, None]
            z -= z.max(axis=0)
            true_class = z[y, np.arange(len(y))]
            p = np.exp(z, out=z)
            total = p.sum(axis=0)
            self.value += float(w @ (np.log(total) - true_class))
            p /= total
            self.p[:, rows] = p
            p[y, np.arange(len(y))] -= 1
            self.slope += cost.slope(rows, p * w)
        if cost.jeffreys:
            value, inverse = cost.jeffreys_prior(self.matrix)
            self.value += value
            self.slope = self.slope + self.slope_of_prior(cost.jeffreys, inverse)

    def slope_of_prior(self, jeffreys: float, inverse: np.ndarray) -> np.ndarray:
        """Slope of Jeffreys' prior, for one vector and at most one covariate.

        With the covariance M = J I^-1 J^T of recalibrated scores, the determinant changes with
        these scores by p (g - p.g), g = diag M - 2 M p.
        """
        cost, V, slope = self.cost, self.cost.V, np.zeros(len(inverse))
        for rows in cost.blocks():
            p, s = self.p[:, rows], cost.log_likelihoods[0][:, rows]
            mean = np.sum(p * s, axis=0)
            diagonal, product = inverse[0, 0] * s * s, inverse[0, 0] * s * mean
            if cost.n_offsets:
                q, both, own = V.T @ p, inverse[0, 1:], inverse[1:, 1:]
                diagonal += 2 * s * (V @ both)[:, None] + np.sum((V @ own) * V, axis=1)[:, None]
                product += s * (both @ q) + V @ (np.outer(both, mean) + own @ q)
            g = diagonal - 2 * product
            r = p * (g - np.sum(p * g, axis=0)) * cost.weight[rows]
            slope -= jeffreys / 2 * cost.slope(rows, r)
        return slope

    def curvature(self) -> np.ndarray | LinearOperator:
        """Second derivatives without those of Jeffreys' prior, which are small."""
        if self.cost.jeffreys or len(self.slope) <= _DENSE:
            return self.matrix
        P = len(self.slope)
        return LinearOperator((P, P), matvec=self._times)

    @cached_property
    def matrix(self) -> np.ndarray:
        cost, V, P = self.cost, self.cost.V, len(self.slope)
        total = 2 * cost.ridge * np.eye(P)
        n, D, U = P - cost.n_offsets, len(V), len(cost.design.covariates)
        by_offset = np.zeros((U * D, U * D))
        for rows in cost.blocks():
            p, w, C = self.p[:, rows], cost.weight[rows], cost.design.covariates[:, rows]
            wp = w * p
            own, cross = _CURVATURES[cost.scale](cost, rows, p, wp)
            total[:n, :n] += own
            if U:
                total[:n, n:] += np.concatenate(cross, axis=1)
                root = np.concatenate(cost.times_covariates(rows, np.sqrt(w) * p))
                by_offset -= root @ root.T  # by symmetry, at half cost
            for u, v in np.ndindex(U, U):
                mass = (wp * C[u]) @ C[v] if u or v else wp.sum(axis=1)
                by_offset[u * D : (u + 1) * D, v * D : (v + 1) * D] += np.diag(mass)
        total[n:, :n] = total[:n, n:].T
        total[n:, n:] += cost.offset_contrast.T @ by_offset @ cost.offset_contrast
        return total

    def _times(self, direction: np.ndarray) -> np.ndarray:
        """Second derivatives times a direction, without their matrix."""
        cost = self.cost
        product = 2 * cost.ridge * direction
        for rows in cost.blocks():
            p, change = self.p[:, rows], cost.calibrate(direction, rows)
            change -= np.sum(p * change, axis=0)
            product = product + cost.slope(rows, p * change * cost.weight[rows])
        return product


# Second derivatives by the parameters of the matrices, and by these and each offset, from the
# posteriors p and their products wp with the weights.


def _curvature_of_scalar(
    cost: LogisticCost, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    s = [one[:, rows] for one in cost.log_likelihoods]
    wr = [wp * (one - np.sum(p * one, axis=0)) for one in s]
    own = np.array([[np.sum(a * b) for b in s] for a in wr])
    each = zip(*(cost.times_covariates(rows, one) for one in wr), strict=True)
    return own, [np.stack([one.sum(axis=1) for one in many]) @ cost.V for many in each]


def _curvature_of_diagonal(
    cost: LogisticCost, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    l, V = cost.design.flat[:, rows], np.tile(cost.V, len(cost.design.scores))
    q, wql = V.T @ p, (V.T @ wp) * l
    own = -wql @ (q * l).T
    for v, share in zip(V, wp, strict=True):
        own += np.outer(v, v) * ((share * l) @ l.T)
    pairs = zip(cost.times_covariates(rows, wp), cost.times_covariates(rows, wql), strict=True)
    return own, [(V * (a @ l.T)).T @ cost.V - b @ q[: cost.k].T for a, b in pairs]


def _curvature_of_full(
    cost: LogisticCost, rows: slice, p: np.ndarray, wp: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    l, V, M = cost.design.flat[:, rows], cost.V, len(cost.design.scores)
    q, wq = V.T @ p, V.T @ wp
    k, P = len(q), len(q) * len(l)
    ql, wql = ((x[:, None, :] * l[None, :, :]).reshape(P, -1) for x in (q, wq))
    T = np.stack([(share * l) @ l.T for share in wp])
    own = np.einsum("di,dj,dab->iajb", V, V, T, optimize=True).reshape(P, P) - wql @ ql.T
    # Parameters of one vector after the other: (i, m, j) becomes (m, i, j).
    order = np.arange(P).reshape(k, M, -1).swapaxes(0, 1).ravel()
    cross = [
        np.einsum("di,dj,da->iaj", V, V, a @ l.T, optimize=True).reshape(P, k) - b @ q.T
        for a, b in zip(*(cost.times_covariates(rows, x) for x in (wp, wql)), strict=True)
    ]
    return (own, cross) if M == 1 else (own[np.ix_(order, order)], [one[order] for one in cross])


_CURVATURES = {
    "scalar": _curvature_of_scalar,
    "diagonal": _curvature_of_diagonal,
    "full": _curvature_of_full,
}
