"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b. With few samples its minimum is far too confident;
what holds it back then vanishes with samples, and does not depend on the unit of the scores.
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
_SOME = 4000  # samples enough for a median
_PULL = 1.5  # ridge towards the scalar map, as if entries differed from its factor by 0.6 of it
_LARGE = 1e100  # scores
_SINGULAR = 1e-13  # information, relative to its upper bound, that counts as none


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
    class_sizes: np.ndarray | None = None,
    is_fusion: bool = False,
) -> AffineMap:
    """The affine map with the smallest weighted cross-entropy of the posteriors.

    ``weight`` sums to one. ``ridge`` is the weight of the squared distance of the parameters from
    the identity map without offset. ``is_fusion`` is for a full map of scores that are not ILR
    coordinates, of any number of columns; the distance is then that from zero.

    ``class_sizes``, the number of samples of each class, asks for a map that few samples support,
    whatever the unit of the scores: a scalar map has Jeffreys' prior, half the log-determinant of
    the information (Firth, 1993), and the further parameters of a diagonal or full map are held
    near it by a ridge. Both vanish with samples. Without ``class_sizes`` and ``ridge`` the map is
    that of maximum likelihood.
    """
    require_one_of(scale, "scale", get_args(Scale))
    # Under a nearly certain prior all costs are small: in units of the entropy of the prior the
    # optimum is as sharp as ever. A common offset of the scores would blunt it, too.
    unit = -float(np.exp(log_prior) @ log_prior)
    size = float(np.abs(l).max()) if ridge == 0 else 1.0
    size = size if size > _LARGE else 1.0  # or their squares would overflow
    l = l / size
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
        np.zeros(contrast.shape[1] * (l.shape[1] + offset)) if is_fusion else None,
    )
    theta = _solve(problem) if class_sizes is None else _solve_shrunk(problem, class_sizes)
    matrix, b = problem.map(theta)
    return AffineMap(matrix / size, b - matrix @ center)


def _solve(problem: _Problem) -> np.ndarray:
    # The curvature lacks that of the prior: steps fall short, so that the last ones count, too.
    limits = (1e-15, -np.inf) if problem.jeffreys else ()
    return minimum(problem.at, problem.start(), problem.size, *limits)


def _solve_shrunk(problem: _Problem, class_sizes: np.ndarray) -> np.ndarray:
    """Parameters of the map that few samples support."""
    D, P = len(class_sizes), len(problem.identity)
    # One over the number of samples, in units of the prior's entropy as the weights are.
    share = float((1 / class_sizes).sum()) / D**2 / np.log(D)
    # The mean square of a Gaussian with this mean size, which a few extreme scores change less.
    size = float(problem.weight @ np.abs(problem.l).mean(axis=0)) / problem.weight.sum()
    square = size**2 * np.pi / 2
    theta = _solve(replace(problem, scale="scalar", jeffreys=share))
    if len(theta) == P:
        return theta
    n = P - problem.k * problem.has_offset  # parameters of the matrix
    anchor = np.concatenate([theta[0] * problem.identity[:n], theta[1:]])
    # Squares in units of the spread of the evidence, or of one nat where there is less.
    ridge = np.full(P, _PULL * n / problem.k * share / (1 + theta[0] ** 2 * square))
    ridge[:n] *= square
    return _solve(replace(problem, ridge=ridge, center=anchor))


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
        some = np.abs(self.l[:, :: max(1, len(self.truth) // _SOME)])
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
        away = theta - (problem.identity if problem.center is None else problem.center)
        self.p = np.empty((len(problem.V), len(problem.truth)))
        self.value = float((problem.ridge * away) @ away)
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
        if problem.jeffreys:
            self._add_jeffreys()

    def _add_jeffreys(self) -> None:
        """Add the prior: minus half the log-determinant of the information.

        With M the covariance of the recalibrated scores by it, J I^-1 J^T, the determinant changes
        with these scores by p (g - p.g), g = diag M - 2 M p.
        """
        problem, size = self.problem, self.problem.size
        information = self._matrix / np.outer(size, size) + _SINGULAR * np.eye(len(size))
        self.value -= problem.jeffreys / 2 * float(np.linalg.slogdet(information)[1])
        inverse = np.linalg.inv(information) / np.outer(size, size)
        for rows in problem.blocks():
            p = self.p[:, rows]
            diagonal, product = _covariance_of_scalar(problem, rows, p, inverse)
            g = diagonal - 2 * product
            r = p * (g - np.sum(p * g, axis=0)) * problem.weight[rows]
            self.slope -= problem.jeffreys / 2 * problem.slope(rows, r)

    def curvature(self) -> np.ndarray | LinearOperator:
        """Second derivatives of the cross-entropy and the ridge; those of the prior are small."""
        if self.problem.jeffreys or len(self.slope) <= _DENSE:
            return self._matrix
        P = len(self.slope)
        return LinearOperator((P, P), matvec=self._times)

    @cached_property
    def _matrix(self) -> np.ndarray:
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


def _covariance_of_scalar(
    problem: _Problem, rows: slice, p: np.ndarray, inverse: np.ndarray
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
