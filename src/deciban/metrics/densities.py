"""Densities of ILRLs under each class, estimated from weighted samples: Gaussian or kernel."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from deciban.exceptions import InputError

Density = Literal["shared", "gaussian", "kernel"]


class Densities(Protocol):
    """Estimates at the samples themselves, as a function of the weights of the samples."""

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        """Log-density of each sample under each class, (n_samples, n_classes)."""


def gaussian_log_densities(
    l: NDArray[np.float64], means: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-density of each sample under each class, from means and Cholesky factors."""
    log_f = np.empty((len(l), len(means)))
    for k, (m, L) in enumerate(zip(means, factors, strict=True)):
        z = solve_triangular(L, (l - m).T, lower=True)
        log_f[:, k] = -0.5 * np.sum(z * z, axis=0) - np.log(np.diag(L)).sum()
    return log_f - 0.5 * l.shape[1] * np.log(2 * np.pi)


class GaussianDensities:
    """Gaussian densities with one covariance for all classes, or one for each."""

    def __init__(self, l: np.ndarray, truth: np.ndarray, n_classes: int, shared: bool) -> None:
        self.l, self.shared = l, shared
        self.members = [np.flatnonzero(truth == k) for k in range(n_classes)]

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        """Log-density of each sample under each class."""
        means, covariances = self.moments(weight)
        return gaussian_log_densities(self.l, means, np.linalg.cholesky(covariances))

    def moments(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of each class."""
        n_classes, d = len(self.members), self.l.shape[1]
        means, scatter, mass = np.empty((n_classes, d)), np.empty((n_classes, d, d)), []
        for k, rows in enumerate(self.members):
            l, w = self.l[rows], weight[rows]
            mass.append(w.sum())
            means[k] = w @ l / mass[k]
            scatter[k] = ((l - means[k]).T * w) @ (l - means[k])
        if self.shared:
            return means, np.broadcast_to(scatter.sum(axis=0) / sum(mass), scatter.shape)
        return means, scatter / np.array(mass)[:, None, None]

    def require_spread(self, weight: np.ndarray) -> None:
        """Refuse samples that do not vary in every direction."""
        for k, S in enumerate(self.moments(weight)[1]):
            values = np.linalg.eigvalsh(S)
            if not values[0] > 1e-12 * values[-1] or not values[-1] > 0:
                where = "within the classes" if self.shared else f"within class number {k}"
                raise InputError(
                    f"evidence must vary {where} in all {len(S)} directions of ILR space; it does "
                    f"not. Give more samples"
                    + ("." if self.shared else ", density='shared', or n_draws=0 for no test.")
                )


class KernelDensities:
    """Gaussian kernels on the other samples of each class; each sample is left out of its own.

    The bandwidth is Silverman's, in units of the covariance within the classes, after long tails
    are drawn in: ratios of densities do not depend on the coordinates. In the tails kernels say
    anything: what they give is to be cut off at :meth:`supported`.
    """

    def __init__(self, l: np.ndarray, truth: np.ndarray, n_classes: int) -> None:
        n, d = l.shape
        l = _drawn_in(l)
        shared = GaussianDensities(l, truth, n_classes, shared=True)
        shared.require_spread(np.ones(n))
        L = np.linalg.cholesky(shared.moments(np.ones(n))[1][0])
        z = solve_triangular(L, l.T, lower=True).T
        self.members, self.top, self.kernels = shared.members, np.empty((n, n_classes)), []
        for k, rows in enumerate(self.members):
            h = (4 / (d + 2) / len(rows)) ** (1 / (d + 4))
            squares = (z * z).sum(axis=1)[:, None] + (z[rows] ** 2).sum(axis=1)
            log_kernel = -np.maximum(squares - 2 * z @ z[rows].T, 0) / (2 * h * h)
            log_kernel[rows, np.arange(len(rows))] = -np.inf
            self.top[:, k] = log_kernel.max(axis=1) - d * np.log(h)
            self.kernels.append(np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True)))

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        """Log-density of each sample under each class, itself left out."""
        log_f = np.empty_like(self.top)
        for k, (rows, kernel) in enumerate(zip(self.members, self.kernels, strict=True)):
            mass = np.full(len(weight), weight[rows].sum())
            mass[rows] -= weight[rows]  # itself is left out
            with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold no others
                log_f[:, k] = np.log(np.nan_to_num(kernel @ weight[rows] / mass))
        return self.supported(log_f + self.top)

    def supported(self, log_likelihoods: np.ndarray) -> np.ndarray:
        """Log-likelihoods that put no class further below the best than its samples can tell.

        Of n samples none may be near by chance where one in n + 1 is.
        """
        best = log_likelihoods.max(axis=1, keepdims=True)
        return np.maximum(log_likelihoods, best - np.log([len(rows) + 1 for rows in self.members]))


def _drawn_in(l: np.ndarray) -> np.ndarray:
    """The same directions, with lengths that grow as their logarithm beyond the median."""
    length = np.linalg.norm(l, axis=1, keepdims=True)
    scale = float(np.median(length)) or 1.0
    # The limit of asinh(r) / r at zero is one.
    ratio = length / scale
    return np.divide(np.arcsinh(ratio), ratio, out=np.ones_like(ratio), where=ratio > 0) * l


def densities(l: np.ndarray, truth: np.ndarray, n_classes: int, kind: Density) -> Densities:
    """The estimates of a kind, checked: each class has samples enough for it."""
    if kind not in ("shared", "gaussian", "kernel"):
        raise InputError(
            f"density must be 'shared', 'gaussian' or 'kernel'; got {kind!r}. Choose one."
        )
    if np.bincount(truth, minlength=n_classes).min() < 2:
        raise InputError(
            "y_true must hold every class at least twice; it does not. Add samples of the rarest."
        )
    if kind == "kernel":
        return KernelDensities(l, truth, n_classes)
    gaussian = GaussianDensities(l, truth, n_classes, shared=kind == "shared")
    gaussian.require_spread(np.ones(len(l)))
    return gaussian
