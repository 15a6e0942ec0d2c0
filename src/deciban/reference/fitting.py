"""Maximum likelihood for the calibrated Gaussian family.

Under the constraint the log-density of class i is v_iᵀ l plus a term that is the same for every
class, see ``docs/closed-form.md``. The covariance therefore maximises a function of the pooled
sample alone; with S and m its covariance and mean, and c = Vᵀ diag(V Σ Vᵀ), it minimises

    tr(Σ⁻¹ S) + (m + c/2)ᵀ Σ⁻¹ (m + c/2) + tr(Σ) / D + log |Σ|.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from deciban.exceptions import ConvergenceError, InputError
from deciban.reference.closed_form import gram, offset

_GRADIENT = 1e-6  # of the mean log-likelihood, in coordinates where the start is the identity


def fit_covariance(l: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Covariance of the family under which the ILRLs ``l`` are most likely."""
    m = l.mean(axis=0)
    S = np.atleast_2d(np.cov(l, rowvar=False, bias=True))
    start = _start(S, m, l)
    size = len(S)
    lower = np.tril_indices(size)
    diagonal = lower[0] == lower[1]

    def unpack(theta: np.ndarray) -> np.ndarray:
        A = np.zeros((size, size))
        A[lower] = np.where(diagonal, np.exp(np.where(diagonal, theta, 0)), theta)
        return start @ A

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        L = unpack(theta)
        value, gamma = _loss(L, S, m, contrast)
        slope = (start.T @ (2 * gamma @ L))[lower]
        return value, np.where(diagonal, slope * np.exp(np.where(diagonal, theta, 0)), slope)

    found = minimize(
        objective,
        np.zeros(len(lower[0])),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 20_000, "maxcor": 50, "ftol": 0.0, "gtol": 1e-10},
    )
    slope = float(np.abs(found.jac).max())
    if not slope < _GRADIENT:
        raise ConvergenceError(
            f"the fit must reach a flat likelihood; its slope is still {slope:.2g} after "
            f"{found.nit} steps. Check the ILRLs for outliers and for nearly constant directions."
        )
    L = unpack(found.x)
    return L @ L.T


def _start(S: np.ndarray, m: np.ndarray, l: np.ndarray) -> np.ndarray:
    """Cholesky factor of a covariance of about the right size in every direction."""
    values, vectors = np.linalg.eigh(S)
    if len(l) <= len(S) or values[0] <= 1e-12 * values[-1] or values[-1] == 0:
        raise InputError(
            f"ilrls must vary in all {len(S)} directions; got {len(l)} samples that vary in "
            f"{int((values > 1e-12 * max(values[-1], 1e-300)).sum())}. Give more samples, or drop "
            f"classes that are never told apart."
        )
    # Two classes have this closed form; elsewhere it is of the right order along each axis.
    sizes = -1 + np.sqrt(1 + 2 * (values + (vectors.T @ m) ** 2))
    return np.linalg.cholesky((vectors * sizes) @ vectors.T)


def _loss(
    L: np.ndarray, S: np.ndarray, m: np.ndarray, contrast: np.ndarray
) -> tuple[float, np.ndarray]:
    """Twice the negative mean log-likelihood, less constants, and its gradient in Σ."""
    D = len(contrast)
    sigma = L @ L.T
    shifted = m + offset(gram(sigma, contrast), contrast) / 2
    precision = cho_solve((L, True), np.eye(len(L)))
    u = precision @ shifted
    value = np.sum(precision * S) + shifted @ u + np.trace(sigma) / D + 2 * np.log(np.diag(L)).sum()
    gamma = (
        precision
        - precision @ S @ precision
        - np.outer(u, u)
        + contrast.T @ ((contrast @ u)[:, None] * contrast)
        + np.eye(len(L)) / D
    )
    return float(value), gamma
