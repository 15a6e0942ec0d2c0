"""The whole of the paper's Section 4 in one closed form, for every basis.

With V the contrast matrix of a basis, v_i its rows and G = V Σ Vᵀ:

    μ_i  = Σ v_i − ½ Vᵀ diag(G)
    d_ij = ½ (G_ii + G_jj − 2 G_ij)
    Σ    = −Vᵀ Δ V

The last line is the exact inverse of the one before, so that the covariance and the divergences
are two names for one thing. ``docs/closed-form.md`` derives it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

_CANCELLED = 1e-3  # of the size of its terms: a divergence under this has lost three digits


def gram(covariance: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """G = V Σ Vᵀ, the covariance of the centred log-likelihoods; (D, D), symmetric."""
    G = contrast @ covariance @ contrast.T
    return (G + G.T) / 2


def offset(G: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Vᵀ diag(G): minus twice the mean of the class means."""
    return contrast.T @ np.diag(G)


def means(covariance: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Mean of the ILRL under each class; (D, D - 1)."""
    c = offset(gram(covariance, contrast), contrast)
    return contrast @ covariance - c / 2


def divergences(covariance: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Kullback-Leibler divergence between each two classes, in nats; (D, D)."""
    G = gram(covariance, contrast)
    g = np.diag(G)
    size = (g[:, None] + g[None, :]) / 2
    delta = size - G
    np.fill_diagonal(delta, 0.0)
    # Where two classes are close, the difference has cancelled; that of the rows has not.
    close = np.argwhere(np.triu(delta < _CANCELLED * size, 1))
    if len(close):
        W = contrast @ np.linalg.cholesky(covariance)
        for i in np.unique(close[:, 0]):
            j = close[close[:, 0] == i, 1]
            delta[i, j] = delta[j, i] = np.sum((W[i] - W[j]) ** 2, axis=1) / 2
    return delta


def covariance_of(delta: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Covariance of the family with these divergences; positive definite iff there is one."""
    sigma = -contrast.T @ delta @ contrast
    return (sigma + sigma.T) / 2


def eer_of_divergence(d: np.ndarray) -> np.ndarray:
    """Equal-error rate of a pair, Φ(−√(d / 2))."""
    return ndtr(-np.sqrt(np.asarray(d) / 2))


def divergence_of_eer(eer: np.ndarray) -> np.ndarray:
    """Divergence of a pair, 2 Φ⁻¹(EER)²."""
    return 2 * ndtri(eer) ** 2
