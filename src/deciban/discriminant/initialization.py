"""Where a discriminant analysis starts: whitened features, and LDA's exact ILRL and residual.

With features whitened by the covariance within the classes and class means m_i on the rows of M,
the ILRL of linear discriminant analysis is affine, Vᵀ (M x - diag(M Mᵀ) / 2), and distributed as
the calibrated Gaussian family of covariance B Bᵀ, B = Vᵀ M. What is orthogonal to the rows of B is
standard normal whatever the class: the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from deciban.exceptions import InputError
from deciban.reference import closed_form

_ROUNDING = 1e-12  # spread below this share of a feature's size is no spread


class Whitening(NamedTuple):
    """Features of unit covariance within the classes: ``(x - mean) / scale @ matrix.T``."""

    mean: np.ndarray
    scale: np.ndarray
    matrix: np.ndarray
    inverse: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Whitened features."""
        return ((X - self.mean) / self.scale) @ self.matrix.T

    def undo(self, W: np.ndarray) -> np.ndarray:
        """Features of whitened ones."""
        return (W @ self.inverse.T) * self.scale + self.mean

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant, by which densities change."""
        return float(np.linalg.slogdet(self.matrix)[1] - np.log(self.scale).sum())


class Start(NamedTuple):
    """An affine map of whitened features to base space, and the covariance of its ILRL."""

    matrix: np.ndarray
    offset: np.ndarray
    covariance: np.ndarray


class Moments(NamedTuple):
    """Means of the classes and covariance within them, of standardised features."""

    center: np.ndarray
    scale: np.ndarray
    means: np.ndarray
    within: np.ndarray


def moments_of(X: np.ndarray, truth: np.ndarray, weight: np.ndarray, n_classes: int) -> Moments:
    """Moments of features that are scaled by their spread within the classes.

    Not by their total spread: beside one distant class the others would look like points. Features
    without spread within the classes are scaled by the total one; constant ones count as of unit
    spread, so that new values of theirs are read as they are.
    """
    share = weight / weight.sum()
    center = share @ X
    mass = np.bincount(truth, weights=share, minlength=n_classes)
    means = np.stack([share[truth == k] @ X[truth == k] / mass[k] for k in range(n_classes)])
    total = np.sqrt(share @ (X - center) ** 2)
    own = np.sqrt(share @ (X - means[truth]) ** 2)
    size = np.maximum(np.abs(center), 1e-300)
    constant = total <= _ROUNDING * size
    scale = np.where(own > _ROUNDING * np.maximum(size, total), own, total)
    scale = np.where(constant, 1.0, scale)
    away = (X - means[truth]) / scale
    within = (away.T * share) @ away
    within[constant, :], within[:, constant] = 0.0, 0.0
    within[constant, constant] = 1.0
    return Moments(center, scale, (means - center) / scale, within)


def require_spread(moments: Moments) -> None:
    """There must be something to tell chance from: spread within the classes."""
    if not np.any(np.diag(moments.within) > _ROUNDING):
        raise InputError(
            "X must vary within the classes; within each of them all samples are alike. Give more "
            "samples of each class."
        )


def shrunk(
    within: np.ndarray, shrinkage: float, floor: float, largest: float | None = None
) -> np.ndarray:
    """A covariance drawn to a ball, and in any case of full rank.

    No eigenvalue is below ``floor`` times the largest one, its own or that which is given.
    """
    size = max(float(np.trace(within)) / len(within), 1e-300)
    ball = size * np.eye(len(within))
    S = (1 - shrinkage) * within + shrinkage * ball
    values, vectors = np.linalg.eigh(S)
    least = floor * max(float(values[-1]) if largest is None else largest, 1e-300)
    if values[0] >= least:
        return S
    return (vectors * np.maximum(values, least)) @ vectors.T


def whitening(moments: Moments, within: np.ndarray) -> Whitening:
    """The symmetric whitening, which changes the features least."""
    values, vectors = np.linalg.eigh(within)
    root = np.sqrt(values)
    return Whitening(
        moments.center, moments.scale, (vectors / root) @ vectors.T, (vectors * root) @ vectors.T
    )


def linear_start(
    means: np.ndarray, V: np.ndarray, floor: float = 0.0, n_added: int = 0, noise: float = 0.0
) -> Start:
    """LDA's solution for class means of whitened features (D, d), d of at least D - 1.

    ``floor`` is the smallest singular value of the discriminant block: where the means of classes
    coincide there would be nothing to learn from. The last ``n_added`` columns are not features but
    independent normals; they make up for directions in which the means differ by no more than
    ``noise``, as a direction that chance has chosen among the features is hard to unlearn.
    """
    B = V.T @ means
    U, s, Wt = np.linalg.svd(B, full_matrices=False)
    raised = np.maximum(s, floor)
    Wt = _through_added(Wt, np.where(s > noise, 1.0, s / raised), n_added)
    B = (U * raised) @ Wt
    sigma = (U * raised**2) @ U.T
    G = V @ sigma @ V.T
    mu = sigma @ V.T - 0.5 * (V.T @ np.diag(G))[:, None]
    offset = mu.mean(axis=1) - B @ means.mean(axis=0)
    rest = null_space(Wt).T  # rows orthogonal to the discriminant ones, in the whitened space
    matrix = np.vstack([B, rest])
    return Start(matrix, np.concatenate([offset, np.zeros(len(rest))]), sigma)


def _through_added(Wt: np.ndarray, kept: np.ndarray, n_added: int) -> np.ndarray:
    """Directions of which only the kept share is of the features, the rest an added dimension."""
    Wt = Wt.copy()
    d = Wt.shape[1]
    for j, k in enumerate(reversed(range(max(0, len(Wt) - n_added), len(Wt)))):
        Wt[k] *= kept[k]
        Wt[k, d - 1 - j] = np.sqrt(max(0.0, 1 - kept[k] ** 2))
    return Wt


def paper_start(means: np.ndarray, V: np.ndarray, n_features: int) -> Start:
    """The paper's appendix: the identity, and the covariance of the divergences of LDA."""
    gaps = means[:, None, :] - means[None, :, :]
    sigma = closed_form.covariance_of(0.5 * np.sum(gaps * gaps, axis=2), V)
    values, vectors = np.linalg.eigh(sigma)
    sigma = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    return Start(np.eye(n_features), np.zeros(n_features), sigma)
