"""Gaussian and kernel densities of ILRLs under each class, from weighted samples.

Samples are columns here. Products over many columns are taken in blocks so small that BLAS starts
no threads, which would cost more than they gain in hundreds of resamples.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of
from deciban.exceptions import InputError

DensityKind = Literal["shared", "gaussian", "kernel"]
_BLOCK = 1 << 17  # multiplications in one product


class ClassMoments(NamedTuple):
    """Sum of weights, mean and scatter matrix of each class."""

    mass: Floats
    means: Floats
    scatter: Floats

    def covariances(self, shared: bool) -> Floats:
        if shared:
            return np.broadcast_to(self.scatter.sum(axis=0) / self.mass.sum(), self.scatter.shape)
        return self.scatter / self.mass[:, None, None]


def moments_by_class(l: Floats, rows: list[NDArray[np.intp]], weight: Floats) -> ClassMoments:
    D, k = len(rows), l.shape[1]
    moments = ClassMoments(np.empty(D), np.empty((D, k)), np.empty((D, k, k)))
    for i, members in enumerate(rows):
        x, w = l[members].T, weight[members]
        moments.mass[i] = w.sum()
        moments.means[i] = (x * w).sum(axis=1) / moments.mass[i]
        moments.scatter[i] = scatter_matrix(x - moments.means[i][:, None], w)
    return moments


def scatter_matrix(x: Floats, weight: Floats) -> Floats:
    total = np.zeros((len(x), len(x)))
    for block in _blocks(x, total.size):
        total += (x[:, block] * weight[block]) @ x[:, block].T
    return total


def multiply_columns(A: Floats, x: Floats) -> Floats:
    product = np.empty((len(A), x.shape[1]))
    for block in _blocks(x, A.size):
        product[:, block] = A @ x[:, block]
    return product


def _blocks(x: Floats, size: int) -> list[slice]:
    step = max(1, _BLOCK // size)
    return [slice(start, start + step) for start in range(0, x.shape[1], step)]


def gaussian_log_densities(l: Floats, means: Floats, factors: Floats) -> Floats:
    """Log-densities under each class, from means and Cholesky factors."""
    log_f = np.empty((len(means), len(l)))
    # NumPy inverts small matrices faster than SciPy, which starts threads for them.
    for k, (m, L, inverse) in enumerate(zip(means, factors, np.linalg.inv(factors), strict=True)):
        z = multiply_columns(inverse, (l - m).T)
        log_f[k] = -0.5 * np.sum(z * z, axis=0) - np.log(np.diag(L)).sum()
    return (log_f - 0.5 * l.shape[1] * np.log(2 * np.pi)).T


class GaussianDensities:
    """Gaussian densities with a shared covariance, or one for each class."""

    def __init__(self, l: Floats, rows: list[NDArray[np.intp]], *, shared: bool) -> None:
        self.l, self.rows, self.shared = l, rows, shared
        moments = moments_by_class(l, rows, np.ones(len(l)))
        for k, S in enumerate(moments.covariances(shared)):
            values = np.linalg.eigvalsh(S)
            if not values[0] > 1e-12 * values[-1] or not values[-1] > 0:
                where = "within the classes" if shared else f"within class number {k}"
                other = "" if shared else ", or density='shared'"
                raise InputError(
                    f"evidence must vary {where} in all {len(S)} directions of ILR space; it does "
                    f"not. Give more samples{other}."
                )

    def __call__(self, weight: Floats) -> Floats:
        """Log-density of each weighted sample under each class, (n_samples, n_classes)."""
        moments = moments_by_class(self.l, self.rows, weight)
        factors = np.linalg.cholesky(moments.covariances(self.shared))
        return gaussian_log_densities(self.l, moments.means, np.asarray(factors, np.float64))


class KernelDensities:
    """Leave-one-out Gaussian kernels on the samples in each class.

    The bandwidth is Silverman's, in units of the covariance within classes, after compressing long
    tails: density ratios do not depend on the coordinates. :meth:`limit` cuts off the tails.
    """

    def __init__(self, l: Floats, rows: list[NDArray[np.intp]]) -> None:
        n, d = l.shape
        l = _compress_tails(l)
        GaussianDensities(l, rows, shared=True)  # raises unless samples vary in every direction
        S = moments_by_class(l, rows, np.ones(n)).covariances(shared=True)[0]
        z = solve_triangular(np.linalg.cholesky(S), l.T, lower=True).T
        self.rows, self.top, self.kernels = rows, np.empty((n, len(rows))), []
        for k, members in enumerate(rows):
            h = (4 / (d + 2) / len(members)) ** (1 / (d + 4))
            squares = (z * z).sum(axis=1)[:, None] + (z[members] ** 2).sum(axis=1)
            log_kernel = -np.maximum(squares - 2 * z @ z[members].T, 0) / (2 * h * h)
            log_kernel[members, np.arange(len(members))] = -np.inf
            self.top[:, k] = log_kernel.max(axis=1) - d * np.log(h)
            self.kernels.append(np.exp(log_kernel - log_kernel.max(axis=1, keepdims=True)))

    def __call__(self, weight: Floats) -> Floats:
        """Leave-one-out log-densities of the weighted samples, (n_samples, n_classes)."""
        log_f = np.empty_like(self.top)
        for k, (members, kernel) in enumerate(zip(self.rows, self.kernels, strict=True)):
            mass = np.full(len(weight), weight[members].sum())
            mass[members] -= weight[members]
            total = np.einsum("ij,j->i", kernel, weight[members])
            with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold no others
                log_f[:, k] = np.log(np.nan_to_num(total / mass))
        return self.limit(log_f + self.top)

    def limit(self, log_likelihoods: Floats) -> Floats:
        """Put no class further below the best than its number of samples can show.

        With a true rate of 1 in n + 1, chance may leave none of n samples nearby.
        """
        best = log_likelihoods.max(axis=1, keepdims=True)
        return np.maximum(log_likelihoods, best - np.log([len(rows) + 1 for rows in self.rows]))


def _compress_tails(l: Floats) -> Floats:
    """Let lengths beyond the median grow only logarithmically."""
    length = np.linalg.norm(l, axis=1, keepdims=True)
    ratio = length / (float(np.median(length)) or 1.0)
    # The limit of asinh(r) / r at zero is one.
    return np.divide(np.arcsinh(ratio), ratio, out=np.ones_like(ratio), where=ratio > 0) * l


def estimate_densities(
    l: Floats, rows: list[NDArray[np.intp]], kind: DensityKind
) -> GaussianDensities | KernelDensities:
    require_one_of(kind, "density", get_args(DensityKind))
    if min(len(members) for members in rows) < 2:
        raise InputError(
            "y_true must hold every class at least twice; it does not. Add samples of the rarest."
        )
    if kind == "kernel":
        return KernelDensities(l, rows)
    return GaussianDensities(l, rows, shared=kind == "shared")
