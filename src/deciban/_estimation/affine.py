"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b. With few samples its minimum is far too confident;
what holds it back then vanishes with samples, and does not depend on the unit of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse.linalg import LinearOperator

from deciban._estimation.newton import Point, minimum, search
from deciban._validation.scalars import require_one_of

Scale = Literal["scalar", "diagonal", "full"]
_BLOCK = 1 << 21  # numbers held at once
_DENSE = 1500  # parameters up to which the matrix of second derivatives is held and solved
_ROUNDING = 1e-20  # squares of scores that count as zero
_SOME = 4000  # samples enough for a median
_PULL = 1.5  # ridge towards the scalar map, as if entries differed from its factor by 0.6 of it
_LARGE = 1e100  # scores
_NEAR = 1e-9  # nats; a map this near to the best one of many samples is good enough
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
    square = problem.mean_size**2 * np.pi / 2
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
        squares = typical**2 * self.mass + _ROUNDING
        bounds = {"scalar": [squares.sum()], "diagonal": squares, "full": np.tile(squares, self.k)}
        ones = np.ones(self.k * self.has_offset)
        return np.sqrt(self.ridge + np.concatenate([bounds[self.scale], ones]))

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def mean_size(self) -> float:
        """Weighted mean of the absolute values of the scores."""
        return float(self.weight @ np.abs(self.l).mean(axis=0)) / self.mass

    def at(self, theta: np.ndarray) -> Point:
        return _At(self, theta)

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
            value, inverse = problem.jeffreys_prior(self._matrix)
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


# --- samples in parts ---------------------------------------------------------------------

MapRows = Callable[[Callable[[np.ndarray, np.ndarray], Any]], Iterable[Any]]  # of ILRLs and classes


class _Prepare(NamedTuple):
    """What makes a problem of the scores of a part; sums over parts are those of all samples."""

    size: float
    center: np.ndarray
    used: np.ndarray  # which scores vary
    weight: np.ndarray  # of a sample of each class
    log_prior: np.ndarray
    V: np.ndarray
    scale: Scale = "scalar"
    has_offset: bool = True

    def __call__(self, l: np.ndarray, truth: np.ndarray) -> _Problem:
        return _Problem(
            np.ascontiguousarray(self.away(l).T), truth, self.weight[truth], self.log_prior,
            self.V, self.scale, self.has_offset, 0.0,
        )  # fmt: skip

    def away(self, l: np.ndarray) -> np.ndarray:
        """Scores as the problem has them."""
        return np.where(self.used, l / self.size - self.center, 0.0)


@dataclass(frozen=True)
class _ProblemInParts(_Problem):
    """The problem of samples that are read part by part; ``l`` are the scores of some of them."""

    map_rows: MapRows = field(kw_only=True)
    prepare: _Prepare = field(kw_only=True)
    mean: float = field(kw_only=True)
    total: float = field(kw_only=True)

    @property
    def mass(self) -> float:
        return self.total

    @property
    def mean_size(self) -> float:
        return self.mean

    def at(self, theta: np.ndarray) -> Point:
        return _AtInParts(self, theta)


class _AtInParts:
    """The problem at one point, from sums over parts."""

    def __init__(self, problem: _ProblemInParts, theta: np.ndarray) -> None:
        prepare = problem.prepare._replace(scale=problem.scale)
        self.value, self.slope = problem.penalty(theta)
        self._matrix = 2 * problem.ridge * np.eye(len(theta))
        for value, slope, matrix in problem.map_rows(partial(_sum_part, prepare, theta)):
            self.value += value
            self.slope = self.slope + slope
            self._matrix += matrix
        if problem.jeffreys:
            value, inverse = problem.jeffreys_prior(self._matrix)
            self.value += value
            function = partial(_sum_prior, prepare, theta, problem.jeffreys, inverse)
            self.slope = self.slope + np.sum([*problem.map_rows(function)], axis=0)

    def curvature(self) -> np.ndarray:
        return self._matrix


def _sum_part(
    prepare: _Prepare, theta: np.ndarray, l: np.ndarray, truth: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    here = _At(prepare(l, truth), theta)
    return here.value, here.slope, here._matrix


def _sum_prior(
    prepare: _Prepare, theta: np.ndarray, jeffreys: float, inverse: np.ndarray,
    l: np.ndarray, truth: np.ndarray,
) -> np.ndarray:  # fmt: skip
    return _At(prepare(l, truth), theta).slope_of_prior(jeffreys, inverse)


class NewtonTerms(NamedTuple):
    """Cross-entropy with its slope and curvature at an affine map; they add up over samples."""

    value: float
    slope: np.ndarray
    matrix: np.ndarray

    def curvature(self) -> np.ndarray:
        """The matrix of second derivatives."""
        return self.matrix

    @classmethod
    def join(cls, parts: Sequence[NewtonTerms]) -> NewtonTerms:
        """The terms of the samples of all parts."""
        values, slopes, matrices = zip(*parts, strict=True)
        return cls(sum(values), np.sum(slopes, axis=0), np.sum(matrices, axis=0))


def newton_terms(
    l: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    log_prior: np.ndarray,
    contrast: np.ndarray,
    affine: AffineMap,
    scale: Scale,
) -> NewtonTerms:
    """The terms of some samples; ``weight`` is that of a sample of each class."""
    k = contrast.shape[1]
    every = np.ones(k, dtype=bool)
    prepare = _Prepare(1.0, np.zeros(k), every, weight, log_prior, contrast, scale)
    return NewtonTerms(*_sum_part(prepare, _entries(affine, scale), l, truth))


def improve_affine(
    start: AffineMap, scale: Scale, squares: np.ndarray, most: int
) -> Generator[AffineMap, NewtonTerms, AffineMap]:
    """Search for the best map from one that is near it; asks for the terms of maps.

    ``squares`` are those of the mean size of the scores, and ``most`` the largest number of steps.
    """
    k = len(start.offset)
    bounds = {"scalar": [squares.sum()], "diagonal": squares, "full": np.tile(squares, k)}
    size = np.sqrt(np.concatenate([bounds[scale], np.ones(k)]) + _ROUNDING)

    def to_map(theta: np.ndarray) -> AffineMap:
        free = theta[:-k]
        return AffineMap(free.reshape(k, k) if scale == "full" else np.eye(k) * free, theta[-k:])

    steps = search(_entries(start, scale), size, _NEAR, 0.0, most)
    theta = next(steps)
    while True:
        terms = yield to_map(theta)
        try:
            theta = steps.send(terms)
        except StopIteration as end:
            return to_map(end.value[0])


def _entries(affine: AffineMap, scale: Scale) -> np.ndarray:
    """The free parameters of a map with an offset."""
    return np.append(free_entries(affine.matrix, scale), affine.offset)


def free_entries(matrices: np.ndarray, scale: Scale) -> np.ndarray:
    """The entries of matrices of shape (..., k, k) that the scale leaves free."""
    entries = {
        "scalar": matrices[..., 0, 0],
        "diagonal": np.einsum("...ii->...i", matrices),
        "full": matrices,
    }
    return entries[scale]


class _Extent(NamedTuple):
    """Numbers of samples of each class, sums of their scores, and the largest score."""

    counts: np.ndarray
    sums: np.ndarray
    largest: np.ndarray


def _measure(D: int, l: np.ndarray, truth: np.ndarray) -> _Extent:
    sums = np.stack([np.bincount(truth, column, D) for column in l.T], axis=1)
    largest = np.abs(l).max(axis=0) if len(l) else np.zeros(l.shape[1])
    return _Extent(np.bincount(truth, minlength=D), sums, largest)


def _measure_away(
    prepare: _Prepare, step: int, l: np.ndarray, truth: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    away = prepare.away(l)
    mean = float(prepare.weight[truth] @ np.abs(away).mean(axis=1))
    return mean, np.abs(away).max(axis=0, initial=0.0), away[::step]


def fit_affine_in_parts(
    map_rows: MapRows,
    prior: np.ndarray,
    contrast: np.ndarray,
    scale: Scale,
    *,
    offset: bool = True,
    ridge: float | None = None,
) -> tuple[AffineMap, np.ndarray]:
    """The map of :func:`fit_affine` for samples in parts, and the number of samples of each class.

    ``map_rows`` gives the result of a function of the ILRLs and the classes of each part. Without a
    ``ridge``, the map is one that few samples support.
    """
    require_one_of(scale, "scale", get_args(Scale))
    extents = [*map_rows(partial(_measure, len(prior)))]
    counts, sums, largest = (np.stack(column) for column in zip(*extents, strict=True))
    counts, sums, largest = counts.sum(axis=0), sums.sum(axis=0), largest.max(axis=0)
    log_prior = np.log(prior)
    unit = -float(prior @ log_prior)
    size = float(largest.max()) if not ridge else 1.0
    size = size if size > _LARGE else 1.0
    weight = prior / counts
    center = weight @ sums / size if offset and not ridge else np.zeros(len(largest))
    every = np.ones(len(largest), dtype=bool)
    prepare = _Prepare(size, center, every, weight, log_prior, contrast, scale, offset)
    step = max(1, int(counts.sum()) // _SOME)
    found = [*map_rows(partial(_measure_away, prepare, step))]
    away = np.max([one[1] for one in found], axis=0)
    prepare = prepare._replace(
        used=away >= 1e-11 * np.maximum(1.0, largest / size), weight=weight / unit
    )
    some = np.concatenate([one[2] for one in found])
    problem = _ProblemInParts(
        np.ascontiguousarray(np.where(prepare.used, some, 0.0).T),
        np.zeros(len(some), dtype=int), np.ones(len(some)), log_prior, contrast, scale, offset,
        (ridge or 0.0) / unit, map_rows=map_rows, prepare=prepare,
        mean=sum(one[0] for one in found), total=1 / unit,
    )  # fmt: skip
    theta = _solve(problem) if ridge is not None else _solve_shrunk(problem, counts.astype(float))
    matrix, b = problem.map(theta)
    return AffineMap(matrix / size, b - matrix @ center), counts


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
