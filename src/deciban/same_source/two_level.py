"""The two-level model: covariances within and between sources, and ratios for two sets.

Measurement j of source i is x_ij = mu + b_i + e_ij, with b_i ~ N(0, B) and e_ij ~ N(0, W). The
number of measurements, n_i, may differ between sources. Densities and ratios are in coordinates in
which W is the identity and B diagonal; there the mean and the size of a set are sufficient.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from deciban._validation.arrays import Floats

_MIN_RATIO = 0.01  # smallest B, relative to W / n, at the start: EM never leaves a variance of zero
_GAIN = 1e-9  # gain of log-likelihood per measurement at which EM stops
_STEPS = 2000
_BLOCK = 1 << 21  # numbers held at once
_MAX_TERMS = 1e6  # size of a sum's terms relative to the sum, above which it loses many digits
_UNDERFLOW = 1e-280  # smallest sum of exponentials that has all its digits

Rows = NDArray[np.intp]


class Sources(NamedTuple):
    """Sufficient statistics: number and mean of each source's measurements, and their scatter."""

    counts: Floats
    means: Floats
    scatter: Floats

    @classmethod
    def summarize(cls, X: Floats, codes: NDArray[np.intp]) -> Self:
        counts = np.bincount(codes).astype(np.float64)
        sums = np.stack([np.bincount(codes, weights=x) for x in X.T], axis=1)
        away = X - (sums / counts[:, None])[codes]
        return cls(counts, sums / counts[:, None], away.T @ away)


class Components(NamedTuple):
    mean: Floats  # of all sources
    within: Floats
    between: Floats


def diagonalize(within: Floats, between: Floats) -> tuple[Floats, Floats, Floats]:
    """A matrix that makes W the identity and B diagonal, its inverse, and that diagonal.

    Negative entries of the diagonal become zero.
    """
    L = np.linalg.cholesky(within)
    B = solve_triangular(L, solve_triangular(L, between, lower=True).T, lower=True)
    values, U = np.linalg.eigh((B + B.T) / 2)
    matrix = solve_triangular(L, U, lower=True, trans="T").T
    return matrix, L @ U, np.maximum(values, 0.0)


def estimate_components(sources: Sources, *, unbiased: bool) -> tuple[Components, list[float]]:
    """Unbiased or maximum-likelihood estimates, and the log-likelihood after each step.

    Maximum likelihood has a closed form for equal counts. Otherwise EM with expanded parameters
    finds it (Liu, Rubin and Wu, Biometrika 85, 1998): x_ij = mu + F u_i + e_ij, with u_i ~ N(a, R)
    free in the maximization and B = F R F'. It takes tens of steps; plain EM takes thousands.
    """
    closed = unbiased or np.ptp(sources.counts) == 0
    estimate = moment_estimates(sources, unbiased=unbiased, least=0.0 if closed else _MIN_RATIO)
    value, following = em_step(sources, estimate)
    history = [value]
    for _ in range(0 if closed else _STEPS):
        estimate = following
        value, following = em_step(sources, estimate)
        history.append(value)
        if value - history[-2] < _GAIN * sources.counts.sum():
            return estimate, history
    if not closed:
        warnings.warn(
            f"EM has not converged in {_STEPS} steps: the last one raised the log-likelihood by "
            f"{history[-1] - history[-2]:.2g}. Use fewer features, or estimator='moments'.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return estimate, history


def moment_estimates(sources: Sources, *, unbiased: bool, least: float = 0.0) -> Components:
    """Estimates from the mean squares within and between sources (analysis of variance).

    They are unbiased, apart from the projection of B to a covariance. For equal counts they can be
    maximum likelihood: W then absorbs mean squares between sources that are smaller than those
    within (Anderson, Annals of Statistics 14, 1986). ``least`` is the smallest variance between
    sources, relative to that of a source's mean.
    """
    n, N, m = sources.counts, sources.counts.sum(), len(sources.counts)
    mean = n @ sources.means / N
    away = sources.means - mean
    square = (away.T * n) @ away / (m - 1 if unbiased else m)
    _, back, ratio = diagonalize(sources.scatter / (N - m), square)
    size = (N - n @ n / N) / (m - 1)  # of an average source; n where all have n
    W = np.ones_like(ratio) if unbiased else np.where(ratio > 1, 1.0, (N - m + m * ratio) / N)
    B = np.maximum(ratio - 1, least) / size
    return Components(mean, (back * W) @ back.T, (back * B) @ back.T)


def em_step(sources: Sources, estimate: Components) -> tuple[float, Components]:
    """Log-likelihood of an estimate, and the estimate after a step of EM."""
    (n, means, scatter), (mean, W, B) = sources, estimate
    N, d, each = n.sum(), len(mean), n[:, None]
    matrix, back, lam = diagonalize(W, B)
    z, S = (means - mean) @ matrix.T, matrix @ scatter @ matrix.T
    precision = 1 + each * lam  # of u_i, given the measurements, for B = F F'
    squares = np.sum(each * z**2 / precision) + np.trace(S)
    constant = 2 * np.linalg.slogdet(back)[1] + d * np.log(2 * np.pi)
    value = -0.5 * float(np.log(precision).sum() + squares + N * constant)

    u, variance = each * np.sqrt(lam) * z / precision, 1 / precision
    design = np.column_stack([u, np.ones(len(u))])
    G = (design.T * n) @ design
    G[np.arange(d), np.arange(d)] += n @ variance
    slope = np.linalg.solve(G, (design.T * n) @ z)
    F, a, residual = slope[:d].T, u.mean(axis=0), z - design @ slope
    R = (u - a).T @ (u - a) / len(u) + np.diag(variance.mean(axis=0))
    W = (S + (residual.T * n) @ residual + (F * (n @ variance)) @ F.T) / N
    W, B = (back @ (M + M.T) @ back.T / 2 for M in (W, F @ R @ F.T))
    return value, Components(mean + back @ (slope[d] + F @ a), W, B)


class Sets(NamedTuple):
    means: Floats  # (n, d)
    counts: Floats  # (n,)

    def at(self, rows: Any) -> Sets:
        return Sets(self.means[rows], self.counts[rows])


@dataclass(frozen=True)
class SourceDensity:
    """A mixture of equally likely normal densities of the sources, all of one variance."""

    centers: Floats  # (n_kernels, d)
    variance: Floats  # (d,)

    def log_density(self, sets: Sets) -> Floats:
        result = np.empty(len(sets.counts))
        for k in np.unique(sets.counts):
            total = self.variance + 1 / k
            centers = self.centers / np.sqrt(total)
            constant = np.log(len(centers)) + 0.5 * np.log(2 * np.pi * total).sum()
            members = np.flatnonzero(sets.counts == k)
            for rows in _split(members, len(centers)):
                squares = cdist(sets.means[rows] / np.sqrt(total), centers, "sqeuclidean")
                result[rows] = logsumexp(-0.5 * squares, axis=1) - constant
        return result

    def llr(self, a: Sets, b: Sets, i: Rows, j: Rows) -> Floats:
        """Log-likelihood ratios for sets i in a and sets j in b."""
        result = np.empty(len(i))
        for rows in _split(np.arange(len(i)), 8 * len(self.variance)):
            result[rows] = self._llr_of_pairs(a.at(i[rows]), b.at(j[rows]))
        return result

    def _llr_of_pairs(self, a: Sets, b: Sets) -> Floats:
        k, m = a.counts[:, None], b.counts[:, None]
        squares = (a.means - b.means) ** 2
        if len(self.centers) == 1:  # the closed form is exact, however small the variance
            lam, both = self.variance, 1 + (k + m) * self.variance
            y, z = (sets.means - self.centers for sets in (a, b))
            rarity = y**2 / (1 + k * lam) + z**2 / (1 + m * lam)
            terms = np.log1p(k * m * lam**2 / both) + k * m * lam / both * (rarity - squares)
            return np.asarray(0.5 * terms.sum(axis=1))
        pooled = Sets((k * a.means + m * b.means) / (k + m), a.counts + b.counts)
        spread = 1 / k + 1 / m
        difference = -0.5 * np.sum(squares / spread + np.log(2 * np.pi * spread), axis=1)
        single = self.log_density(a) + self.log_density(b)
        return np.asarray(difference + self.log_density(pooled) - single)

    def llr_matrix(self, a: Sets, b: Sets) -> Floats:
        """Log-likelihood ratios for all sets in a against all in b.

        A kernel's exponent is a sum with one term for each side, so the mixture is a product of two
        matrices. Pairs that underflow or lose digits there are computed alone.
        """
        result = np.empty((len(a.counts), len(b.counts)))
        single = self.log_density(a)[:, None], self.log_density(b)
        for k, m in itertools.product(np.unique(a.counts), np.unique(b.counts)):
            spread, total = 1 / k + 1 / m, self.variance + 1 / (k + m)
            cross = 1 / spread - k * m / (k + m) ** 2 / total
            constant = len(total) * np.log(2 * np.pi * spread) + np.log(2 * np.pi * total).sum()
            columns, members = np.flatnonzero(b.counts == m), np.flatnonzero(a.counts == k)
            right, after, size = self._side(b.means[columns], m / (k + m), spread, total)
            for rows in _split(members, len(columns) + len(self.centers)):
                left, before, own = self._side(a.means[rows], k / (k + m), spread, total)
                mixture = left @ right.T / len(self.centers)
                with np.errstate(divide="ignore"):
                    block = np.log(mixture) + np.add.outer(before, after)
                block += (a.means[rows] * cross) @ b.means[columns].T - 0.5 * constant
                block -= single[0][rows] + single[1][columns]
                doubtful = np.add.outer(own, size) > _MAX_TERMS * (1 + np.abs(block))
                i, j = np.nonzero(doubtful | (mixture < _UNDERFLOW))
                i, j = rows[i], columns[j]
                result[np.ix_(rows, columns)] = block
                result[i, j] = self.llr(a, b, i, j)
        return result

    def _side(
        self, x: Floats, share: float, spread: float, total: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """One side's part in the joint density: kernels, offset, and the size of its terms."""
        exponent = (share * x / total) @ self.centers.T - 0.25 * self.centers**2 @ (1 / total)
        top = exponent.max(axis=1)
        square = 0.5 * x**2 @ (1 / spread + share**2 / total)
        return np.exp(exponent - top[:, None]), top - square, np.abs(top) + square


def _split(rows: Rows, width: int) -> list[Rows]:
    return np.array_split(rows, -(-len(rows) * width // _BLOCK)) if len(rows) else []
