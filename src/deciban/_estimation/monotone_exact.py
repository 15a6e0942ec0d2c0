r"""The best monotone map of ILRLs: pool adjacent violators for any number of classes.

A map of :math:`R^{D-1}` is monotone where it is the gradient of a convex function. Values
:math:`y_n` at points :math:`l_n` belong to such a map if and only if there are numbers
:math:`\phi_n` with :math:`\phi_m \ge \phi_n + y_n \cdot (l_m - l_n)` for all n and m. These are
linear constraints, and the cross-entropy of the posteriors after the map is convex: one minimum.

As for PAV, one misleading sample of each class is added. That of class k is split evenly over the
other classes j, and its part lies infinitely far out in the direction of j, where the evidence is
all for j. A point infinitely far out in direction :math:`v_j` (row j of the contrast matrix) has
a value :math:`z_j` with :math:`v_j \cdot z_j \ge v_j \cdot y_n` for all n: this is what remains
of the constraints there. The map is then bounded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from deciban._estimation.convex_gradient import ConvexGradient
from deciban._estimation.interior_point import Constraints, Solution, minimize_under
from deciban._estimation.logistic import AffineMap
from deciban._validation.arrays import Floats
from deciban.exceptions import ConvergenceError
from deciban.simplex import logparts

Pairs = NDArray[np.intp]  # rows (n, m): the tangent at n must not lie above the function at m
_ROUNDING = 1e-12  # relative, of heights
_SAME = 1e-6  # distance of points that are taken for one, relative to the spread of the ILRLs
_FARTHEST = 1e4  # length of a point in units of the median: beyond it, rounding hides the others
_NEIGHBORS = 4  # constraints at first, for each coordinate and point
_CUTS = 4  # most violated constraints of a point that are added in a round
_ROUNDS = 60
_SHARES = (0.01, 0.03, 0.1, 0.3)
_ACCEPTED, _FLAT = 1e-6, 1e-4  # gap of each sample, and slope, that are taken for the optimum
_LEAST = 1e-10  # curvature where a posterior is all but certain
_FEW = 60  # points that all have a constraint with one another from the start
_BLOCK = 1 << 22  # numbers held at once
_VIOLATION = 1e-7  # relative to the spread of the ILRLs
_LOOSE, _TIGHT = 1e-4, 1e-16  # gap of each sample at first, and in the end


class ExactFit(NamedTuple):
    """The best monotone map, and how near its cost is to the least."""

    map: ConvexGradient
    gap: float  # nats by which the cost may exceed the minimum


def fit_exact(
    u: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    added: Floats,
    start: AffineMap,
) -> ExactFit:
    """The monotone map of standardized ILRLs with the smallest weighted cross-entropy.

    ``added`` is the weight of the misleading samples of each class, as a share of that of the
    class.
    """
    length = np.linalg.norm(u - np.median(u, axis=0), axis=1)
    if length.max() > _FARTHEST * float(np.median(length)) > 0:
        raise ConvergenceError(
            f"the evidence must not hold outliers for the exact map; one ILRL is "
            f"{length.max() / np.median(length):.2g} times as far out as half of them. Clip it, or "
            f"use the smooth method."
        )
    points, mass = merge_points(u, truth, weight, len(log_prior))
    problem = _Problem.state(points, mass, log_prior, contrast, added)
    return problem.solve(float(start.matrix[0, 0]), start.offset)


def merge_points(
    u: Floats, truth: NDArray[np.intp], weight: Floats, n_classes: int
) -> tuple[Floats, Floats]:
    """Points that differ, and the mass of each class at each point."""
    points, place = np.unique(u, axis=0, return_inverse=True)
    near = cKDTree(points).query_pairs(_SAME, output_type="ndarray")
    links = sparse.coo_array((np.ones(len(near)), near.T), shape=(len(points),) * 2)
    group = connected_components(links, directed=False)[1]
    _, first = np.unique(group, return_index=True)
    mass = np.zeros((len(first), n_classes))
    np.add.at(mass, (group[place.ravel()], truth), weight)
    kept = mass.sum(axis=1) > 0
    return points[first][kept], mass[kept]


def _require_optimum(found: Solution, n: int) -> None:
    """Raise where rounding stopped the search far from the optimum."""
    if found.gap > _ACCEPTED * n or found.error > _FLAT:
        raise ConvergenceError(
            f"the monotone map must reach its optimum; rounding stopped it with a slope of "
            f"{found.error:.2g} left. Samples that nearly coincide or lie far out do this: use the "
            f"smooth method."
        )


class _Problem(NamedTuple):
    """Points, the masses of the classes there and at infinity, and what makes posteriors."""

    points: Floats
    mass: Floats  # of the points, then of those at infinity
    log_prior: Floats
    V: Floats

    @classmethod
    def state(
        cls, points: Floats, mass: Floats, log_prior: Floats, V: Floats, added: Floats
    ) -> _Problem:
        """The problem with misleading samples, which make up a share of each class."""
        D = len(V)
        far = (1 - np.eye(D)) * mass.sum(axis=0) * added / (D - 1)
        return cls(points, np.concatenate([mass * (1 - added), far]), log_prior, V)

    @property
    def n(self) -> int:
        return len(self.points)

    def cost(self, y: Floats) -> tuple[float, Floats, Floats]:
        """Cross-entropy times the number of points, its slopes and curvatures."""
        log_p = np.asarray(logparts.closure(y @ self.V.T + self.log_prior))
        p, total = np.exp(log_p), self.mass.sum(axis=1)
        value = -self.n * float((self.mass * log_p).sum())
        slope = self.n * (total[:, None] * p - self.mass) @ self.V
        mean = p @ self.V
        inner = np.einsum("ki,nk,kj->nij", self.V, p, self.V, optimize=True)
        curvature = inner - mean[:, :, None] * mean[:, None, :] + _LEAST * np.eye(mean.shape[1])
        return value, slope, self.n * total[:, None, None] * curvature

    def solve(self, scale: float, offset: Floats) -> ExactFit:
        """The minimum, by cutting planes, from an affine map."""
        pairs, gap = self.first_pairs(), _LOOSE
        inside = self.start(scale, offset)
        start, barrier = inside, None
        for _ in range(_ROUNDS):
            rows = self.constraints(pairs)
            found = minimize_under(self.cost, rows, *start, gap=gap * self.n, barrier=barrier)
            y, phi = found.y[: self.n], np.append(0.0, found.g[: self.n - 1])
            cuts, worst = self.violated(y, phi)
            if worst <= _VIOLATION and gap <= _TIGHT:
                _require_optimum(found, self.n)
                gradient = self.map(y, phi, worst)
                return ExactFit(gradient, found.gap / self.n)
            gap = _TIGHT if worst <= max(np.sqrt(_VIOLATION), _LOOSE) else gap
            known = pairs[:, 0] * self.n + pairs[:, 1]
            new = cuts[~np.isin(cuts[:, 0] * self.n + cuts[:, 1], known)]
            pairs = np.concatenate([pairs, new])
            start, barrier = self.blend(found, inside, pairs)
        raise ConvergenceError(
            f"the map must be monotone; after {_ROUNDS} rounds of cuts it misses by {worst:.2g}. "
            f"Use the smooth method."
        )

    def map(self, y: Floats, phi: Floats, violation: float) -> ConvexGradient:
        """The gradient of the largest of all tangents."""
        d, at_zero = y.shape[1], phi - np.einsum("nd,nd->n", y, self.points)
        tie = 2 * violation + _ROUNDING * (1 + float(np.abs(phi).max()))
        none = np.zeros((d, d))
        return ConvexGradient(at_zero, y, self.points, 0.0, tie, none, np.zeros(d), 1.0)

    def blend(self, found: Solution, inside: tuple[Floats, Floats], pairs: Pairs) -> Any:
        """A start near the last solution that fulfills the new constraints, and its barrier."""
        rows = self.constraints(pairs)
        ours, theirs = rows(found.y, found.g), rows(*inside)
        for share in _SHARES:
            if ((1 - share) * ours + share * theirs > 0.1 * share * theirs).all():
                y, g = ((1 - share) * a + share * b for a, b in zip(found[:2], inside, strict=True))
                return (y, g), share * self.n / len(ours) * 0.1
        return inside, None

    def start(self, scale: float, offset: Floats) -> tuple[Floats, Floats]:
        """An affine map, strictly inside the constraints."""
        scale = max(scale, 0.05)
        y = scale * self.points + offset
        phi = scale * (self.points**2).sum(axis=1) / 2 + self.points @ offset
        top = 1.0 + (y @ self.V.T).max(axis=0).clip(0.0)
        z = (1.0 + top[:, None]) * self.V / (self.V**2).sum(axis=1, keepdims=True)
        return np.concatenate([y, z]), np.concatenate([phi[1:] - phi[0], top])

    def first_pairs(self) -> Pairs:
        """Pairs of near points, in both directions, and of points along the principal axes."""
        n, d = self.points.shape
        if n <= _FEW:
            i, j = np.nonzero(~np.eye(n, dtype=bool))
            return np.column_stack([i, j])
        near = cKDTree(self.points).query(self.points, min(n, _NEIGHBORS * d + 1))[1]
        found = [np.column_stack([np.repeat(np.arange(n), near.shape[1]), near.ravel()])]
        axes = np.linalg.eigh(self.points.T @ self.points)[1]
        for along in (self.points @ np.column_stack([axes, self.V.T])).T:
            order = np.argsort(along, kind="stable")
            found.append(np.column_stack([order[:-1], order[1:]]))
        pairs = np.concatenate(found)
        pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
        return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])

    def constraints(self, pairs: Pairs) -> Constraints:
        """Rows of the pairs, and those of the points at infinity."""
        n, D = self.n, len(self.V)
        step = self.points[pairs[:, 1]] - self.points[pairs[:, 0]]
        length = np.linalg.norm(step, axis=1)
        blocks, a = [pairs[:, 0]], [-step / length[:, None]]
        entries = [(np.arange(len(pairs)), pairs[:, 1], 1 / length)]
        entries.append((np.arange(len(pairs)), pairs[:, 0], -1 / length))
        for j in range(D):
            row = sum(map(len, blocks)) + np.arange(n + D)
            own = np.arange(n + D) == n + j
            blocks.append(np.arange(n + D))
            a.append(np.where(own, 1.0, -1.0)[:, None] * self.V[j])
            entries.append((row, np.full(n + D, n + j), np.where(own, -1.0, 1.0)))
        block = np.concatenate(blocks)
        row, column, value = (np.concatenate(one) for one in zip(*entries, strict=True))
        shared = sparse.csr_array((value, (row, column)), shape=(len(block), n + D))
        order = np.argsort(block, kind="stable")
        return Constraints(block[order], np.concatenate(a)[order], shared[order][:, 1:].tocsr())

    def violated(self, y: Floats, phi: Floats) -> tuple[Pairs, float]:
        """The most violated constraints of each point, and by how much the worst one is."""
        n, worst = self.n, 0.0
        found = [np.empty((0, 2), dtype=np.intp)]
        if n == 1:
            return found[0], worst
        at_zero = phi - np.einsum("nd,nd->n", y, self.points)
        many = max(1, _BLOCK // n)
        for start in range(0, n, many):
            rows = np.arange(start, min(start + many, n))
            above = at_zero[rows, None] + y[rows] @ self.points.T - phi
            most = min(_CUTS, n - 1)
            top = np.argpartition(-above, most - 1, axis=1)[:, :most]
            size = np.take_along_axis(above, top, axis=1)
            worst = max(worst, float(size.max()))
            i, k = np.nonzero(size > _VIOLATION / 2)
            found.append(np.column_stack([rows[i], top[i, k]]))
        return np.concatenate(found), worst
