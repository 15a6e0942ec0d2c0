r"""An interior-point method for a separable convex cost under linear inequalities.

The variables are N blocks :math:`y_n` of d numbers, on which the cost depends, and a vector g on
which it does not. Row c of the constraints, :math:`a_c \cdot y_{n(c)} + (G g)_c \ge 0`, touches
one block. Newton's equations then reduce to one linear system for g alone, since the blocks are
eliminated one by one; its size is that of g, whatever d is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from deciban._validation.arrays import Floats

Cost = Callable[[Floats], tuple[float, Floats, Floats]]  # value, slopes, curvatures of the blocks

_STEPS = 200
_TO_THE_EDGE = 0.99  # share of the way to the nearest constraint that a step goes at most
_REFINEMENTS = 3  # of the solution of each linear system, whose matrix is ill-conditioned
_PADDING = 16  # rows
_JITTER = 1e-15  # relative; keeps a matrix positive definite that is so but for rounding
_CENTERED = 0.5  # share of the gap that is aimed at in the end
_FAR = 10.0  # gaps by which a step may raise the cost, and most that is corrected for
_NO_SLOPE = 1e-4  # that is not of rounding
_STALLED = 0.9  # share of the slope that a step leaves where rounding keeps it
_HALVINGS = 30  # of a step that raises the cost too much


@dataclass(frozen=True)
class Constraints:
    """Rows ``coefficients[c] @ y[block[c]] + (shared @ g)[c] >= 0``, sorted by block."""

    block: NDArray[np.intp]
    coefficients: Floats
    shared: sparse.csr_array

    def __call__(self, y: Floats, g: Floats) -> Floats:
        """Left-hand sides: nonnegative where the constraints hold."""
        return self.part_of_blocks(y) + self.shared @ g

    def part_of_blocks(self, y: Floats) -> Floats:
        """What the blocks add to the left-hand sides."""
        return np.einsum("cd,cd->c", self.coefficients, y[self.block])

    @cached_property
    def layout(self) -> list[tuple[int, int, slice, NDArray[np.intp], NDArray[np.intp]]]:
        """Rows of each block, their entries, the parts of g that they touch, and by which."""
        edges = np.searchsorted(self.block, np.arange(self.block[-1] + 2))
        found = []
        for first, last in pairwise(edges):
            own = slice(self.shared.indptr[first], self.shared.indptr[last])
            used, place = np.unique(self.shared.indices[own], return_inverse=True)
            found.append((int(first), int(last), own, used, place))
        return found

    def pull(self, values: Floats, n_blocks: int) -> tuple[Floats, Floats]:
        """The transpose times one value for each row: parts of the blocks, and of g."""
        sums = self.sum_by_block(self.coefficients * values[:, None], n_blocks)
        return sums, self.shared.T @ values

    def sum_by_block(self, values: Floats, n_blocks: int) -> Floats:
        """Sums of one array for each row over the rows of each block."""
        found = np.zeros((n_blocks, *values.shape[1:]))
        first = np.flatnonzero(np.diff(self.block, prepend=-1))
        if len(first):
            found[self.block[first]] = np.add.reduceat(values, first, axis=0)
        return found


class Solution(NamedTuple):
    """The minimum and the prices of the constraints; ``gap`` bounds what the cost exceeds it by."""

    y: Floats
    g: Floats
    prices: Floats
    gap: float
    error: float  # largest slope that the prices leave
    steps: int

    def rank(self) -> tuple[float, float]:
        """Lower for better solutions: the gap counts where hardly any slope is left."""
        return max(self.error, _NO_SLOPE), self.gap


def minimize_under(
    cost: Cost,
    constraints: Constraints,
    y: Floats,
    g: Floats,
    *,
    gap: float,
    barrier: float | None = None,
) -> Solution:
    """The minimum of a convex cost of blocks, from a start that fulfills every row strictly.

    Parameters
    ----------
    cost : function of the blocks, of shape (N, d)
        Its value, its slopes of shape (N, d) and its curvatures of shape (N, d, d).
    constraints : Constraints
    y, g : arrays
        The start.
    gap : float
        The sum of slacks times prices at which to stop.
    barrier : float, optional
        The product of each slack with its price at the start.

    Returns
    -------
    Solution
        Where rounding stops the search, or the number of steps is at its limit, the best so far:
        its gap or its error is above what was asked for.
    """
    slack = constraints(y, g)
    value, slope, curvature = cost(y)
    n, least = len(slack), _CENTERED * gap / len(slack)
    prices = (barrier or max(abs(value), 1.0) / n) / slack
    best: Any = None
    last = np.inf
    for steps in range(_STEPS):
        pulled = constraints.pull(prices, len(y))
        error = max(float(np.abs(slope - pulled[0]).max()), float(np.abs(pulled[1]).max()))
        found = Solution(y, g, prices, float(slack @ prices), error, steps)
        best = found if best is None else min(best, found, key=Solution.rank)
        if found.gap <= gap and (error <= np.sqrt(gap) or error > _STALLED * last):
            break
        last = error
        try:
            system = _System(constraints, curvature, prices / slack)
        except np.linalg.LinAlgError:  # as far as rounding lets it come
            break
        mean = found.gap / n
        aim = _correct(system, slope, slack, prices, mean, least)
        dy, dg = system.solve(slope, aim / slack)
        dslack = constraints(dy, dg)
        dprices = (aim - prices * dslack) / slack - prices
        length = min(1.0, _TO_THE_EDGE * _room(slack, dslack))
        limit = value + max(abs(value), _FAR * n * mean)
        for _ in range(_HALVINGS):  # of a step that leaves what the curvatures describe
            there = cost(y + length * dy)
            if there[0] <= limit:
                break
            length /= 2
        value, slope, curvature = there
        y, g, slack = y + length * dy, g + length * dg, slack + length * dslack
        prices = prices + min(1.0, _TO_THE_EDGE * _room(prices, dprices)) * dprices
    return best


def _correct(
    system: _System, slope: Floats, slack: Floats, prices: Floats, mean: float, least: float
) -> Floats:
    """What slacks times prices should become: Mehrotra's predictor and corrector.

    The step towards no gap at all tells how far it would come, and so how much to center, and the
    product of changes that a linear step leaves out.
    """
    towards = system.solve(slope, np.zeros(len(slack)), refinements=0)
    dslack = system.constraints(*towards)
    dprices = -prices * dslack / slack - prices
    first, second = (min(1.0, _room(*pair)) for pair in ((slack, dslack), (prices, dprices)))
    there = float((slack + first * dslack) @ (prices + second * dprices)) / len(slack)
    target = max(mean * min(max(there / mean, 0.0), 1.0) ** 3, least)
    left_out = min(first, second) * dslack * dprices
    return np.asarray(np.clip(target - left_out, target / _FAR, target * _FAR))


def _room(values: Floats, change: Floats) -> float:
    """The length of the step along the change at which the first value becomes zero."""
    falls = change < 0
    return float((-values[falls] / change[falls]).min(initial=np.inf))


class _System:
    """The equations of a Newton step, with the blocks eliminated."""

    def __init__(self, constraints: Constraints, curvature: Floats, theta: Floats) -> None:
        self.constraints, self.theta = constraints, theta
        self.curvature = curvature + _JITTER * _traces(curvature) * np.eye(curvature.shape[1])
        a = constraints.coefficients
        outer = (theta[:, None] * a)[:, :, None] * a[:, None, :]
        B = self.curvature + constraints.sum_by_block(outer, len(curvature))
        self.root = np.linalg.inv(np.linalg.cholesky(B))  # B^-1 = root.T @ root
        G = self._eliminate_blocks()
        self.unit = 1 / np.sqrt(np.diag(G))
        G *= self.unit[:, None] * self.unit
        G[np.diag_indices_from(G)] += _JITTER
        self.factor = cho_factor(G, lower=True, overwrite_a=True, check_finite=False)

    def _eliminate_blocks(self) -> Floats:
        """The matrix of the equations for g: sums of squares, in which nothing cancels."""
        rows, a = self.constraints, self.constraints.coefficients
        soft = np.linalg.inv(np.linalg.cholesky(self.curvature)).transpose(0, 2, 1)
        weighted = np.sqrt(self.theta)
        G = np.zeros((rows.shared.shape[1],) * 2)
        edges = np.append([one[0] for one in rows.layout], len(a))
        rows_of = np.repeat(np.arange(len(a)), np.diff(rows.shared.indptr))
        values = rows.shared.data * weighted[rows_of]
        W = (weighted[:, None] * a)[:, None, :] @ soft[rows.block]
        U, size = _singular_vectors(W[:, 0], edges)
        for n, (first, last, own, used, place) in enumerate(rows.layout):
            Z = np.zeros((last - first, len(used)))
            Z[rows_of[own] - first, place] = values[own]
            # Z' (1 + W W')^-1 Z, of which the singular vectors of W split off what is large.
            u = U[n][: last - first]
            along = u.T @ Z
            across = Z - u @ along
            across -= u @ (u.T @ across)
            along /= np.hypot(1.0, size[n])[:, None]
            G[used[:, None], used] += across.T @ across + along.T @ along
        return G

    def solve(
        self, slope: Floats, push: Floats, refinements: int = _REFINEMENTS
    ) -> tuple[Floats, Floats]:
        """The step of blocks and g down a slope, with a push of each constraint."""
        pulled = self.constraints.pull(push, len(self.curvature))
        right = pulled[0] - slope, pulled[1]
        y, g = self._solve_once(*right)
        for _ in range(refinements):
            py, pg = self.product(y, g)
            dy, dg = self._solve_once(right[0] - py, right[1] - pg)
            y, g = y + dy, g + dg
        return y, g

    def product(self, y: Floats, g: Floats) -> tuple[Floats, Floats]:
        """The matrix of the equations times a step."""
        py, pg = self.constraints.pull(self.theta * self.constraints(y, g), len(y))
        return py + np.einsum("nij,nj->ni", self.curvature, y), pg

    def _solve_once(self, ry: Floats, rg: Floats) -> tuple[Floats, Floats]:
        y = self._solve_blocks(ry)
        rows = self.constraints
        right = self.unit * (rg - rows.shared.T @ (self.theta * rows.part_of_blocks(y)))
        g = self.unit * cho_solve(self.factor, right, check_finite=False)
        pulled, _ = rows.pull(self.theta * (rows.shared @ g), len(y))
        return y - self._solve_blocks(pulled), g

    def _solve_blocks(self, right: Floats) -> Floats:
        half = np.einsum("nij,nj->ni", self.root, right)
        return np.einsum("nji,nj->ni", self.root, half)


def _singular_vectors(W: Floats, edges: NDArray[np.intp]) -> tuple[list[Floats], list[Floats]]:
    """Left singular vectors and singular values of the rows of W of each block.

    Blocks of about the same number of rows are padded with zeros and solved at once.
    """
    counts, d = np.diff(edges), W.shape[1]
    padded = np.maximum(_PADDING * -(-counts // _PADDING), d)
    vectors: list[Floats] = [np.empty(0)] * len(counts)
    values: list[Floats] = [np.empty(0)] * len(counts)
    for size in np.unique(padded):
        blocks = np.flatnonzero(padded == size)
        here = np.arange(size) < counts[blocks, None]
        some = np.zeros((len(blocks), size, d))
        some[here] = W[(edges[blocks, None] + np.arange(size))[here]]
        found = np.linalg.svd(some, full_matrices=False)
        for k, n in enumerate(blocks):
            vectors[n], values[n] = found[0][k], found[1][k]
    return vectors, values


def _traces(matrices: Floats) -> Floats:
    return np.trace(matrices, axis1=1, axis2=2)[:, None, None]
