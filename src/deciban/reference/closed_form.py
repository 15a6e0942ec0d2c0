"""The whole of the paper's Section 4 in one closed form, for every basis.

With V the contrast matrix of a basis, v_i its rows and G = V Σ Vᵀ:

    μ_i  = Σ v_i − ½ Vᵀ diag(G)
    d_ij = ½ (G_ii + G_jj − 2 G_ij)
    Σ    = −Vᵀ Δ V

The last line is the exact inverse of the one before, so that the covariance and the divergences
are two names for one thing. ``docs/closed-form.md`` derives it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import column_names, require_finite, to_numpy
from deciban._validation.labels import as_labels, reorder_square
from deciban.exceptions import InputError

_CANCELLED = 1e-3  # of the size of its terms: a divergence under this has lost three digits
_SYMMETRY = 1e-8  # relative difference across the diagonal that counts as rounding


def gram(covariance: NDArray[np.float64], contrast: NDArray[np.float64]) -> NDArray[np.float64]:
    """G = V Σ Vᵀ, the covariance of the centered log-likelihoods; (D, D), symmetric."""
    G = contrast @ covariance @ contrast.T
    return (G + G.T) / 2


def offset(G: NDArray[np.float64], contrast: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vᵀ diag(G): minus twice the mean of the class means."""
    return contrast.T @ np.diag(G)


def means(covariance: NDArray[np.float64], contrast: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the ILRL under each class; (D, D - 1)."""
    c = offset(gram(covariance, contrast), contrast)
    return contrast @ covariance - c / 2


def divergences(
    covariance: NDArray[np.float64], contrast: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Kullback-Leibler divergence between each pair of classes, in nats; (D, D)."""
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


def covariance_of(delta: NDArray[np.float64], contrast: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of the family with these divergences; positive definite where there is one."""
    sigma = -contrast.T @ delta @ contrast
    return (sigma + sigma.T) / 2


def is_positive(eigenvalues: NDArray[np.floating[Any]]) -> bool:
    """Whether increasing eigenvalues are all above zero by more than rounding."""
    rounding = 16 * np.finfo(float).eps * len(eigenvalues) * abs(float(eigenvalues[-1]))
    return bool(eigenvalues[0] > rounding)


def read_pairwise(
    values: Any, classes: Sequence[Hashable] | None, name: str
) -> tuple[NDArray[np.float64], Sequence[Hashable] | None]:
    """A square matrix over pairs of classes, and the labels of the classes where they are known.

    It may be given by its upper triangle, row by row. The rows and the columns of a frame are
    matched with the classes by name.
    """
    M = np.array(to_numpy(values, name))
    if M.ndim == 2 and M.shape[0] == M.shape[1] >= 2:
        if not hasattr(values, "columns"):
            return M, classes
        labels = as_labels(column_names(values) if classes is None else classes, len(M))
        return reorder_square(M, values, labels, name), labels
    D = (1 + math.isqrt(1 + 8 * M.size)) // 2
    if M.ndim != 1 or M.size < 1 or M.size != D * (D - 1) // 2:
        raise InputError(
            f"{name} must have shape (D, D), or (D (D - 1) / 2,) for the upper triangle; got shape "
            f"{M.shape}. Give one number for each pair of classes."
        )
    square = np.zeros((D, D))
    square[np.triu_indices(D, 1)] = M
    return square + square.T, classes


def symmetrize(M: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """A matrix that is symmetric but for rounding, made symmetric to the last bit."""
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape[0] < 1:
        raise InputError(
            f"{name} must be a square matrix; got shape {M.shape}. The covariance of D classes has "
            f"D - 1 rows and columns."
        )
    require_finite(np, M, name)
    gap = float(np.abs(M - M.T).max())
    if gap > _SYMMETRY * float(np.abs(M).max()):
        raise InputError(
            f"{name} must be symmetric; two entries across its diagonal differ by {gap:.2g}. "
            f"Average it with its transpose if that is rounding."
        )
    return (M + M.T) / 2


def require_divergences(delta: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix that could hold divergences: symmetric, not negative, zero on its diagonal."""
    delta = symmetrize(delta, "delta")
    if np.any(np.diag(delta) != 0):
        raise InputError(
            "delta must have a zero diagonal; it does not. A class does not diverge from itself."
        )
    if np.any(delta < 0):
        raise InputError(
            f"delta must not be negative; its smallest entry is {delta.min():.6g}. "
            f"Give Kullback-Leibler divergences in nats."
        )
    return delta
