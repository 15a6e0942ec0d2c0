"""Log-ratio transforms between the simplex and real space, and back."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import array_api_compat as compat

from deciban._validation import (
    Array,
    Namespace,
    as_float_array,
    column_names,
    require_finite,
    require_parts,
)
from deciban.exceptions import InputError
from deciban.simplex import _kernels
from deciban.simplex.basis import Basis, basis_for
from deciban.simplex.operations import to_logs
from deciban.simplex.selection import position, take


def clr(x: Any) -> Array:
    """Centred log-ratio, :math:`log x - mean(log x)`.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.

    Returns
    -------
    array of shape (..., D)
        Rows that sum to zero.

    Examples
    --------
    >>> clr([1, 1, 8]).round(4)
    array([-0.6931, -0.6931,  1.3863])
    """
    xp, log_x = to_logs(x, "x")
    return _kernels.centred(xp, log_x)


def clr_inv(z: Any) -> Array:
    """The composition with these centred log-ratios, :math:`C(exp z)`.

    Parameters
    ----------
    z : array of shape (..., D)
        Finite. A common offset makes no difference.

    Returns
    -------
    array of shape (..., D)

    Examples
    --------
    >>> clr_inv(clr([1, 1, 8]))
    array([0.1, 0.1, 0.8])
    """
    xp, z = coefficients(z)
    return _kernels.parts(xp, z)


def alr(x: Any, reference: Hashable = -1) -> Array:
    """Additive log-ratio to one part, :math:`log(x_i / x_ref)`.

    Not an isometry: angles and distances depend on the reference.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.
    reference : int, or column name where ``x`` is a frame, default the last part

    Returns
    -------
    array of shape (..., D - 1)

    Examples
    --------
    >>> alr([1, 2, 4]).round(4)
    array([-1.3863, -0.6931])
    """
    columns = column_names(x)
    xp, log_x = to_logs(x, "x", minimum=2)
    return log_ratios_to(xp, log_x, position(reference, columns, log_x.shape[-1]))


def alr_inv(z: Any, reference: int = -1) -> Array:
    """The composition with these additive log-ratios.

    Parameters
    ----------
    z : array of shape (..., D - 1)
    reference : int, default the last part
        Where the reference stands among the D parts of the result.

    Returns
    -------
    array of shape (..., D)

    Examples
    --------
    >>> alr_inv(alr([1, 1, 2], reference=0), reference=0)
    array([0.25, 0.25, 0.5 ])
    """
    xp, z = coefficients(z)
    at = position(reference, None, z.shape[-1] + 1)
    return _kernels.parts(xp, with_reference(xp, z, at))


def ilr(x: Any, basis: Basis | None = None) -> Array:
    """Isometric log-ratio coordinates, :math:`V^T log x`.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.
    basis : Basis, default Gram-Schmidt

    Returns
    -------
    array of shape (..., D - 1)

    References
    ----------
    Egozcue et al. (2003), Isometric logratio transformations for compositional data analysis.

    Examples
    --------
    >>> ilr([[0.5, 0.5], [0.8, 0.2]]).round(4)
    array([[0.    ],
           [0.9803]])
    """
    require_same_order(x, basis)
    xp, log_x = to_logs(x, "x", minimum=2)
    return _kernels.coordinates(xp, log_x, contrast_like(xp, log_x, basis, log_x.shape[-1]))


def ilr_inv(z: Any, basis: Basis | None = None) -> Array:
    """The composition with these coordinates, :math:`C(exp(V z))`.

    A part below about e^-745 of the largest comes out as zero; the function of the same name
    in :mod:`deciban.simplex.logparts` keeps its logarithm.

    Parameters
    ----------
    z : array of shape (..., D - 1)
    basis : Basis, default Gram-Schmidt

    Returns
    -------
    array of shape (..., D)

    Examples
    --------
    >>> ilr_inv([[0.0, 0.0]]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """
    xp, z = coefficients(z)
    contrast = contrast_like(xp, z, basis, z.shape[-1] + 1)
    return _kernels.parts(xp, _kernels.expand(xp, z, contrast))


def coefficients(z: Any) -> tuple[Namespace, Array]:
    """Real coordinates, checked."""
    xp, z = as_float_array(z, "z")
    require_parts(z, "z")
    require_finite(xp, z, "z")
    return xp, z


def contrast_like(xp: Namespace, x: Array, basis: Basis | None, n_parts: int) -> Array:
    """The contrast matrix of a basis, where and as the array is."""
    V = basis_for(basis, n_parts).contrast
    return xp.asarray(
        V.copy() if not compat.is_numpy_namespace(xp) else V, dtype=x.dtype, device=compat.device(x)
    )


def require_same_order(x: Any, basis: Basis | None) -> None:
    """Refuse a frame whose columns are not the classes of a named basis, in their order."""
    columns = column_names(x)
    if not isinstance(basis, Basis) or basis.classes is None:
        return
    if columns not in (None, tuple(range(basis.n_parts)), basis.classes):
        raise InputError(
            f"x must have the columns of the basis, {list(basis.classes)!r}; got "
            f"{list(columns)!r}. Select the columns in this order, or call basis.aligned_to."
        )


def log_ratios_to(xp: Namespace, log_x: Array, at: int) -> Array:
    """Log-ratios of all other parts to the one at this position."""
    others = [k for k in range(log_x.shape[-1]) if k != at]
    return take(xp, log_x, others) - log_x[..., at : at + 1]


def with_reference(xp: Namespace, z: Array, at: int) -> Array:
    """Log-parts from log-ratios: a zero put in at the position of the reference."""
    return xp.concat([z[..., :at], xp.zeros_like(z[..., :1]), z[..., at:]], axis=-1)
