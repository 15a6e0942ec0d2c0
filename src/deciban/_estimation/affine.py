"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b.
"""

from __future__ import annotations

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
    the identity map without offset; scores with another number of columns than ILR coordinates
    take the full map, and the distance is that from zero.
    """
    require_one_of(scale, "scale", get_args(Scale))
    # Under a nearly certain prior all costs are small: in units of the entropy of the prior the
    # optimum is as sharp as ever. A common offset of the scores would blunt it, too.
    unit = -float(np.exp(log_prior) @ log_prior)
    center = weight @ l if offset and ridge == 0 else np.zeros(l.shape[1])
    away = l - center
    rounding = 1e-11 * np.maximum(1.0, np.abs(l).max(axis=0))
    away[:, np.abs(away).max(axis=0) < rounding] = 0.0  # constants carry no evidence
    problem = _PROBLEMS[scale](
        away.T, truth, weight / unit, log_prior, contrast, offset, ridge / unit
    )
    start = _start_from_some(problem) if len(l) > 4 * _FIRST and ridge == 0 else None
    start = problem.start() if start is None else start
    matrix, b = problem.map(minimum(problem.at, start, problem.size))
    return AffineMap(matrix, b - matrix @ center)


def _start_from_some(problem: _Problem) -> np.ndarray | None:
    """A start near the optimum, found with some of the samples."""
    rows = slice(None, None, len(problem.truth) // _FIRST)
    weight = problem.weight[rows]
    if len(np.unique(problem.truth[rows][weight > 0])) < len(problem.V):
        return None
    some = type(problem)(
        problem.l[:, rows],
        problem.truth[rows],
        weight * (problem.weight.sum() / weight.sum()),
        problem.log_prior,
        problem.V,
        problem.has_offset,
        1e-4,  # separable samples would send the start to infinity
    )
    return minimum(some.at, some.start(), some.size)


class _Problem:
    """Cross-entropy as a function of the free parameters: those of A, then b.

    Samples are columns here: sums over the classes then run over long rows, which is faster.
    """

    dense_classes = 100  # up to which the matrix of second derivatives is summed over samples

    def __init__(
        self,
        l: np.ndarray,
        truth: np.ndarray,
        weight: np.ndarray,
        log_prior: np.ndarray,
        contrast: np.ndarray,
        offset: bool,
        ridge: float,
    ) -> None:
        self.l = np.ascontiguousarray(l)
        self.truth, self.weight = truth, weight
        self.log_prior, self.V = log_prior, contrast
        self.has_offset, self.ridge = offset, ridge
        self.k = contrast.shape[1]
        self.identity = np.concatenate([self.unit(), np.zeros(self.k if offset else 0)])
        # The size of most scores: a few extreme ones must not make the others look like rounding.
        some = np.abs(self.l[:, :: max(1, len(truth) // _FIRST)])
        typical = np.median(some, axis=1)
        typical = np.where(typical > 0, typical, np.abs(self.l).mean(axis=1))
        squares = typical**2 * weight.sum() + _ROUNDING
        ones = np.ones(self.k if offset else 0)
        self.size = np.sqrt(ridge + np.concatenate([self.spread(squares), ones]))

    def at(self, theta: np.ndarray) -> _At:
        return _At(self, theta)

    def start(self) -> np.ndarray:
        """The identity for weak scores, or zero for scores that are far too strong."""
        candidates = (self.identity, np.zeros_like(self.identity))
        return min(candidates, key=lambda theta: self.at(theta).value)

    def blocks(self) -> list[slice]:
        size = max(256, _BLOCK // (len(self.V) + len(self.identity)))
        return [slice(start, start + size) for start in range(0, len(self.truth), size)]

    def offset_of(self, theta: np.ndarray) -> np.ndarray:
        return theta[-self.k :] if self.has_offset else np.zeros(self.k)

    def by_offset(self, wp: np.ndarray, q: np.ndarray, wq: np.ndarray) -> np.ndarray:
        """Second derivatives by the offset: the covariance of V under the posteriors."""
        return (self.V.T * wp.sum(axis=1)) @ self.V - wq @ q.T

    # What a scale family adds: its parameters, their map, and how derivatives go through it.
    # g is the slope of each sample by its ILRL; p are posteriors, q = Vᵀ p, w the weights.

    def unit(self) -> np.ndarray:
        raise NotImplementedError

    def spread(self, squares: np.ndarray) -> np.ndarray:
        """Upper bounds on the size of the second derivatives by A."""
        raise NotImplementedError

    def map(self, theta: np.ndarray) -> AffineMap:
        raise NotImplementedError

    def slope_of(self, l: np.ndarray, g: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def curvature_of(
        self, l: np.ndarray, p: np.ndarray, wp: np.ndarray, q: np.ndarray, wq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives by A, and by A and the offset."""
        raise NotImplementedError


class _At:
    """The problem at one point."""

    def __init__(self, problem: _Problem, theta: np.ndarray) -> None:
        self.problem = problem
        V, away = problem.V, theta - problem.identity
        self.p = np.empty((len(V), len(problem.truth)))
        self.value = problem.ridge * float(away @ away)
        self.slope = 2 * problem.ridge * away
        A, b = problem.map(theta)
        VA, Vb = V @ A, V @ b + problem.log_prior
        for rows in problem.blocks():
            y, w = problem.truth[rows], problem.weight[rows]
            z = VA @ problem.l[:, rows]
            z += Vb[:, None]
            z -= z.max(axis=0)
            true_class = z[y, np.arange(len(y))]
            p = np.exp(z, out=z)
            total = p.sum(axis=0)
            self.value += float(w @ (np.log(total) - true_class))
            p /= total
            self.p[:, rows] = p
            p[y, np.arange(len(y))] -= 1
            self.slope += problem.slope_of(problem.l[:, rows], V.T @ (p * w))

    def curvature(self) -> np.ndarray | LinearOperator:
        problem, P = self.problem, len(self.slope)
        if P > _DENSE or len(problem.V) > problem.dense_classes:
            return LinearOperator((P, P), matvec=self._times)
        total = 2 * problem.ridge * np.eye(P)
        n = P - problem.k if problem.has_offset else P
        for rows in problem.blocks():
            p, w = self.p[:, rows], problem.weight[rows]
            wp, q = w * p, problem.V.T @ p
            wq = w * q
            own, cross = problem.curvature_of(problem.l[:, rows], p, wp, q, wq)
            total[:n, :n] += own
            if problem.has_offset:
                total[:n, n:] += cross
                total[n:, :n] += cross.T
                total[n:, n:] += problem.by_offset(wp, q, wq)
        return total

    def _times(self, direction: np.ndarray) -> np.ndarray:
        """Second derivatives times a direction, without their matrix."""
        problem = self.problem
        A, b = problem.map(direction)
        product = 2 * problem.ridge * direction
        for rows in problem.blocks():
            p, V = self.p[:, rows], problem.V
            change = V @ (A @ problem.l[:, rows] + b[:, None])
            change -= np.sum(p * change, axis=0)
            g = V.T @ (p * change * problem.weight[rows])
            product = product + problem.slope_of(problem.l[:, rows], g)
        return product


class _Scalar(_Problem):
    """One factor for all coordinates: a temperature."""

    dense_classes = _DENSE

    def unit(self) -> np.ndarray:
        return np.ones(1)

    def spread(self, squares: np.ndarray) -> np.ndarray:
        return squares.sum(keepdims=True)

    def map(self, theta: np.ndarray) -> AffineMap:
        return AffineMap(theta[0] * np.eye(self.k), self.offset_of(theta))

    def slope_of(self, l: np.ndarray, g: np.ndarray) -> np.ndarray:
        return np.concatenate([[np.sum(g * l)], *[g.sum(axis=1)] * self.has_offset])

    def curvature_of(
        self, l: np.ndarray, p: np.ndarray, wp: np.ndarray, q: np.ndarray, wq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        s = self.V @ l
        wr = wp * (s - np.sum(p * s, axis=0))
        return np.array([[np.sum(wr * s)]]), (wr.sum(axis=1) @ self.V)[None, :]


class _Diagonal(_Problem):
    """One factor for each coordinate."""

    def unit(self) -> np.ndarray:
        return np.ones(self.k)

    def spread(self, squares: np.ndarray) -> np.ndarray:
        return squares

    def map(self, theta: np.ndarray) -> AffineMap:
        return AffineMap(np.diag(theta[: self.k]), self.offset_of(theta))

    def slope_of(self, l: np.ndarray, g: np.ndarray) -> np.ndarray:
        return np.concatenate([np.sum(g * l, axis=1), *[g.sum(axis=1)] * self.has_offset])

    def curvature_of(
        self, l: np.ndarray, p: np.ndarray, wp: np.ndarray, q: np.ndarray, wq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        own = -(wq * l) @ (q * l).T
        for v, share in zip(self.V, wp, strict=True):
            own += np.outer(v, v) * ((share * l) @ l.T)
        return own, (self.V * (wp @ l.T)).T @ self.V - (wq * l) @ q.T


class _Full(_Problem):
    """A whole matrix, row by row; it has as many columns as there are scores."""

    def unit(self) -> np.ndarray:
        square = self.k == len(self.l)
        return (np.eye(self.k) if square else np.zeros((self.k, len(self.l)))).ravel()

    def spread(self, squares: np.ndarray) -> np.ndarray:
        return np.tile(squares, self.k)

    def map(self, theta: np.ndarray) -> AffineMap:
        A = theta[: self.k * len(self.l)].reshape(self.k, len(self.l))
        return AffineMap(A, self.offset_of(theta))

    def slope_of(self, l: np.ndarray, g: np.ndarray) -> np.ndarray:
        return np.concatenate([(g @ l.T).ravel(), *[g.sum(axis=1)] * self.has_offset])

    def curvature_of(
        self, l: np.ndarray, p: np.ndarray, wp: np.ndarray, q: np.ndarray, wq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        V, P = self.V, self.k * len(l)
        ql = (q[:, None, :] * l[None, :, :]).reshape(P, -1)
        wql = (wq[:, None, :] * l[None, :, :]).reshape(P, -1)
        T = np.stack([(share * l) @ l.T for share in wp])
        own = np.einsum("di,dj,dab->iajb", V, V, T, optimize=True).reshape(P, P) - wql @ ql.T
        cross = np.einsum("di,dj,da->iaj", V, V, wp @ l.T, optimize=True).reshape(P, self.k)
        return own, cross - wql @ q.T


_PROBLEMS: dict[str, type[_Problem]] = {"scalar": _Scalar, "diagonal": _Diagonal, "full": _Full}
