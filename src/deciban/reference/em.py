"""Maximum likelihood for mixtures of calibrated Gaussian families, by EM.

The log-density of class i is v_iᵀ l + log Σ_k w_k h_k(l), where h_k does not depend on the class.
So neither do the shares of the components in a sample, and each component is fitted to the pooled
sample, weighted by its shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm, solve_triangular

from deciban.exceptions import ConvergenceError
from deciban.reference.closed_form import gram, offset
from deciban.reference.fitting import fit_covariance, improve_covariance

_FLOOR = 1e-3  # smallest variance of a component, in units of the single family
_LEVEL = 1e-3  # gain in nats of the whole sample below which EM stops
_STEPS = 3000
_SPREADS = (2.0, 6.0)  # largest scale of the first starts; the smallest is one over it
_MOST = 8  # components that are tried by "auto"


class Components(NamedTuple):
    """Weights (K,) and covariances (K, D - 1, D - 1), and the likelihood that they reach.

    ``path`` is the sum of log Σ_k w_k h_k(l) before each step.
    """

    weights: np.ndarray
    covariances: np.ndarray
    path: list[float]


def fit_mixture(
    l: np.ndarray,
    weight: np.ndarray,
    contrast: np.ndarray,
    n_components: int,
    n_starts: int,
    rng: np.random.Generator,
) -> Components:
    """The best of several runs of EM: from scaled copies of the single family, then bent ones."""
    single = fit_covariance(l, contrast, weight)
    if n_components == 1:
        return Components(np.ones(1), single[None], [float(weight @ log_h(l, single, contrast))])
    runs = [
        _run_em(l, weight, contrast, _make_start(single, n_components, number, rng), single)
        for number in range(n_starts)
    ]
    return max(runs, key=lambda run: run.path[-1])


def choose_mixture(
    l: np.ndarray,
    weight: np.ndarray,
    contrast: np.ndarray,
    n_starts: int,
    rng: np.random.Generator,
) -> Components:
    """The mixture of the lowest BIC; components are added until it rises."""
    best, n = fit_mixture(l, weight, contrast, 1, n_starts, rng), float(weight.sum())
    for n_components in range(2, _MOST + 1):
        found = fit_mixture(l, weight, contrast, n_components, n_starts, rng)
        if bic(found, n) >= bic(best, n):
            break
        best = found
    return best


def bic(found: Components, n_samples: float) -> float:
    """Bayesian information criterion, but for a term that no mixture changes."""
    K, k, _ = found.covariances.shape
    n_parameters = K * k * (k + 1) // 2 + K - 1
    return n_parameters * float(np.log(n_samples)) - 2 * found.path[-1]


def log_h(l: np.ndarray, covariance: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """The part of the log-density of a family that all classes share, log f_i(l) − v_iᵀ l."""
    D, L = len(contrast), np.linalg.cholesky(covariance)
    shift = offset(gram(covariance, contrast), contrast) / 2
    white = solve_triangular(L, (l + shift).T, lower=True)
    log_det = 2 * np.log(np.diag(L)).sum() + (D - 1) * np.log(2 * np.pi)
    return np.asarray(-0.5 * (np.sum(white**2, axis=0) + np.trace(covariance) / D + log_det))


def _make_start(
    single: np.ndarray, n_components: int, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Covariances to start from: geometric scales of one; from the third start on, bent as well."""
    spread = _SPREADS[number % len(_SPREADS)]
    scales = np.geomspace(1 / spread, spread, n_components)
    start = scales[:, None, None] * single
    if number < len(_SPREADS):
        return start
    L = np.linalg.cholesky(single)
    noise = rng.normal(size=start.shape)
    bends = expm((noise + noise.transpose(0, 2, 1)) / 4)
    return scales[:, None, None] * (L @ bends @ L.T)


def _run_em(
    l: np.ndarray,
    weight: np.ndarray,
    contrast: np.ndarray,
    sigmas: np.ndarray,
    single: np.ndarray,
) -> Components:
    K = len(sigmas)
    weights, path = np.full(K, 1 / K), [-np.inf]
    for _ in range(_STEPS):
        log_joint = np.log(weights)[:, None] + [log_h(l, sigma, contrast) for sigma in sigmas]
        log_total = np.logaddexp.reduce(log_joint, axis=0)
        path.append(float(weight @ log_total))
        if path[-1] - path[-2] < _LEVEL:
            return Components(weights, sigmas, path[1:])
        shares = np.exp(log_joint - log_total) * weight
        weights = np.maximum(shares.sum(axis=1), np.finfo(float).tiny)
        weights = weights / weights.sum()
        sigmas = np.array(
            [
                _improve(l, contrast, share, sigma, single)
                for share, sigma in zip(shares, sigmas, strict=True)
            ]
        )
    raise ConvergenceError(
        f"the fit of {K} components must end within {_STEPS} steps; the likelihood still grows by "
        f"{path[-1] - path[-2]:.2g} nats. Ask for fewer components."
    )


def _improve(
    l: np.ndarray,
    contrast: np.ndarray,
    share: np.ndarray,
    sigma: np.ndarray,
    single: np.ndarray,
) -> np.ndarray:
    """A better covariance of one component; the same where it would fall onto a few samples."""
    if share.sum() <= len(sigma) + 1 or not (share @ l**2).any():  # all of its samples are zero
        return sigma
    there = improve_covariance(l, contrast, share, sigma)
    L = np.linalg.cholesky(single)
    white = solve_triangular(L, solve_triangular(L, there, lower=True).T, lower=True)
    return there if np.linalg.eigvalsh(white)[0] >= _FLOOR else sigma
