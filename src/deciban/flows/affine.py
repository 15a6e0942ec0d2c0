"""Affine map with exact inverse and determinant: z = A x + b with A = P L U.

L is unit lower triangular, U upper triangular with a positive diagonal, P a signed permutation of
rows. Both triangles live in one matrix, as in LAPACK, with the logarithm of U's diagonal on its
diagonal: all parameter values give an invertible map, and zero gives the identity.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu

from deciban.exceptions import InputError

# Accelerators round the factors of a product in float32 unless told not to; these maps are exact.
_EXACT = jax.lax.Precision.HIGHEST
_FEW = 64  # features: so many rows are permuted by a product


def init(
    n_features: int, matrix: ArrayLike | None, offset: ArrayLike | None, dtype: np.dtype[Any]
) -> dict[str, np.ndarray]:
    """Parameters of a given map, by default the identity.

    ``pivots`` holds P: row i of A is row r of L U, r the rank of ``|pivots[i]|``, times the sign of
    ``pivots[i]``. Ranks and signs have no gradient and survive any scaling, so an optimizer, even
    with weight decay, leaves P unchanged.
    """
    d = n_features
    A = np.eye(d) if matrix is None else _read_invertible(matrix, d)
    b = np.zeros(d) if offset is None else _read(offset, (d,), "offset")
    rows, L, U = lu(A, p_indices=True)
    signs = np.sign(np.diag(U))
    L, U = signs[:, None] * L * signs, signs[:, None] * U
    factors = np.tril(L, -1) + np.triu(U, 1) + np.diag(np.log(np.diag(U)))
    return {
        "factors": factors.astype(dtype),
        "pivots": (signs[rows] * (rows + 1.0)).astype(dtype),
        "offset": b.astype(dtype),
    }


def forward(params: dict[str, jax.Array], x: jax.Array) -> tuple[jax.Array, jax.Array]:
    ranks, signs = _permutation(params["pivots"])
    L, U = _triangles(params["factors"])
    if len(L) > _FEW:
        PL = signs[:, None] * L[ranks]
    else:  # the gradient of a gather is a loop over its elements, that of a product is not
        PL = jnp.matmul(signs[:, None] * (ranks[:, None] == np.arange(len(L))), L, precision=_EXACT)
    return product(PL, product(U, x)) + params["offset"], _log_det(params["factors"])


def inverse(params: dict[str, jax.Array], z: jax.Array) -> tuple[jax.Array, jax.Array]:
    ranks, signs = _permutation(params["pivots"])
    y = (signs * (z - params["offset"]))[..., jnp.argsort(ranks)]
    return solve(params["factors"], y)


def multiply(factors: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    L, U = _triangles(factors)
    return product(L, product(U, x)), _log_det(factors)


def solve(factors: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    L, U = _triangles(factors)
    columns = y.reshape(-1, y.shape[-1]).T
    columns = solve_triangular(L, columns, lower=True, unit_diagonal=True)
    return solve_triangular(U, columns).T.reshape(y.shape), -_log_det(factors)


def product(A: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.matmul(x, A.T, precision=_EXACT)


def _triangles(factors: jax.Array) -> tuple[jax.Array, jax.Array]:
    # By masks: a diagonal is gathered and scattered, in several programs of their own.
    eye = np.eye(len(factors), dtype=bool)
    L = jnp.tril(factors, -1) + eye
    U = jnp.triu(factors, 1) + jnp.where(eye, jnp.exp(jnp.where(eye, factors, 0.0)), 0.0)
    return L, U


def _log_det(factors: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(np.eye(len(factors), dtype=bool), factors, 0.0))


def _permutation(pivots: jax.Array) -> tuple[jax.Array, jax.Array]:
    pivots = jax.lax.stop_gradient(pivots)
    size = jnp.abs(pivots)
    return jnp.sum(size < size[:, None], axis=1), jnp.sign(pivots)


def _read(values: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InputError(
            f"{name} must have shape {shape}; got {array.shape}. Give one row per feature."
        )
    if not np.isfinite(array).all():
        raise InputError(
            f"{name} must be finite; got {int((~np.isfinite(array)).sum())} values that are not. "
            f"Check the features for constant or missing columns."
        )
    return array


def _read_invertible(matrix: ArrayLike, d: int) -> NDArray[np.float64]:
    A = _read(matrix, (d, d), "matrix")
    # Units of the features and of the base space do not make a matrix singular: take them off.
    scaled = A / np.maximum(np.abs(A).max(axis=1, keepdims=True), 1e-300)
    scaled = scaled / np.maximum(np.abs(scaled).max(axis=0), 1e-300)
    rank = int(np.linalg.matrix_rank(scaled))
    if rank < d:
        raise InputError(
            f"matrix must be invertible; got one of rank {rank} for {d} features. "
            f"Drop features that others determine, or regularize the matrix."
        )
    return A
