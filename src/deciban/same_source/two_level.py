"""Covariances within and between sources.

Measurement j of source i is x_ij = mu + b_i + e_ij, with b_i ~ N(0, B) and e_ij ~ N(0, W). The
number of measurements, n_i, may differ between sources.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning

from deciban._validation.arrays import Floats

_MIN_RATIO = 0.01  # smallest B, relative to W / n, at the start: EM never leaves a variance of zero
_GAIN = 1e-9  # gain of log-likelihood per measurement at which EM stops
_STEPS = 2000


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
    """Mean of all sources, covariance within sources and covariance between them."""

    mean: Floats
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
