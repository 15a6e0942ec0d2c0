"""Log-ratio transforms between the simplex and real space, and back."""

from __future__ import annotations

from collections.abc import Hashable

import array_api_compat as compat

from deciban._validation.arrays import (
    Array,
    Namespace,
    as_float_array,
    column_names,
    require_finite,
    require_parts,
)
from deciban._validation.scalars import quote_each
from deciban.exceptions import InputError
from deciban.simplex import _kernels
from deciban.simplex._spaces import Parts, on_parts
from deciban.simplex.basis import Basis, basis_for
from deciban.simplex.selection import find_part


@on_parts
def clr(space: Parts, x: Array) -> Array:
    r"""Centered log-ratio, :math:`\log x - \frac{1}{D} \sum_i \log x_i`.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.

    Returns
    -------
    array of shape (..., D)
        Each row sums to zero.

    See Also
    --------
    clr_inv : The way back.
    ilr : D - 1 coordinates, without the redundant one.

    Examples
    --------
    >>> clr([1, 1, 8]).round(4)
    array([-0.6931, -0.6931,  1.3863])
    """
    xp, (log_x,) = space.read_logs(x)
    return _kernels.center(xp, log_x)


@on_parts
def clr_inv(space: Parts, z: Array) -> Array:
    r"""The composition with these centered log-ratios, :math:`C(\exp z)`.

    Parameters
    ----------
    z : array of shape (..., D)
        Finite. A common offset makes no difference.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    clr : The way there.

    Examples
    --------
    >>> clr_inv(clr([1, 1, 8]))
    array([0.1, 0.1, 0.8])
    """
    xp, z = _read_coordinates(z)
    return space.from_logs(xp, z)


@on_parts
def alr(space: Parts, x: Array, reference: Hashable = -1) -> Array:
    r"""Additive log-ratio to one part, :math:`\log(x_i / x_{ref})`.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.
    reference : int, or column name where ``x`` is a frame, default the last part

    Returns
    -------
    array of shape (..., D - 1)

    See Also
    --------
    alr_inv : The way back.
    ilr : Coordinates that keep angles and distances.

    Examples
    --------
    >>> alr([1, 2, 4]).round(4)
    array([-1.3863, -0.6931])
    """
    columns = column_names(x)
    xp, (log_x,) = space.read_logs(x, minimum=2)
    at = find_part(reference, columns, log_x.shape[-1])
    others = [k for k in range(log_x.shape[-1]) if k != at]
    return _kernels.take(xp, log_x, others) - log_x[..., at : at + 1]


@on_parts
def alr_inv(space: Parts, z: Array, reference: int = -1) -> Array:
    r"""The composition with these additive log-ratios, :math:`C(\exp z)`, the reference being 1.

    Parameters
    ----------
    z : array of shape (..., D - 1)
    reference : int, default the last part
        Where the reference stands among the D parts of the result.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    alr : The way there.

    Examples
    --------
    >>> alr_inv(alr([1, 1, 2], reference=0), reference=0)
    array([0.25, 0.25, 0.5 ])
    """
    xp, z = _read_coordinates(z)
    at = find_part(reference, None, z.shape[-1] + 1)
    log_x = xp.concat([z[..., :at], xp.zeros_like(z[..., :1]), z[..., at:]], axis=-1)
    return space.from_logs(xp, log_x)


@on_parts
def ilr(space: Parts, x: Array, basis: Basis | None = None) -> Array:
    r"""Isometric log-ratio coordinates, :math:`V^T \log x`, V the contrast of the basis.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.
    basis : Basis, default Gram-Schmidt

    Returns
    -------
    array of shape (..., D - 1)

    See Also
    --------
    ilr_inv : The way back.
    deciban.Basis : Bases, by trees or partitions.
    deciban.Evidence.ilr : Coordinates of evidence.

    References
    ----------
    Egozcue et al. (2003), Isometric logratio transformations for compositional data analysis.

    Examples
    --------
    >>> ilr([[0.5, 0.5], [0.8, 0.2]]).round(4)
    array([[0.    ],
           [0.9803]])
    """
    _require_same_order(x, basis)
    xp, (log_x,) = space.read_logs(x, minimum=2)
    return _kernels.matmul(xp, log_x, _contrast_like(xp, log_x, basis, log_x.shape[-1]))


@on_parts
def ilr_inv(space: Parts, z: Array, basis: Basis | None = None) -> Array:
    r"""The composition with these coordinates, :math:`C(\exp V z)`, V the contrast of the basis.

    Parameters
    ----------
    z : array of shape (..., D - 1)
    basis : Basis, default Gram-Schmidt

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    ilr : The way there.

    Examples
    --------
    >>> ilr_inv([[0.0, 0.0]]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """
    xp, z = _read_coordinates(z)
    contrast = _contrast_like(xp, z, basis, z.shape[-1] + 1)
    return space.from_logs(xp, _kernels.matmul(xp, z, xp.permute_dims(contrast, (1, 0))))


def _read_coordinates(z: Array) -> tuple[Namespace, Array]:
    xp, z = as_float_array(z, "z")
    require_parts(z, "z")
    require_finite(xp, z, "z")
    return xp, z


def _contrast_like(xp: Namespace, x: Array, basis: Basis | None, n_parts: int) -> Array:
    """The contrast matrix of a basis, in the library, type and device of an array."""
    V = basis_for(basis, n_parts).contrast
    V = V if compat.is_numpy_namespace(xp) else V.copy()  # others refuse read-only arrays
    return xp.asarray(V, dtype=x.dtype, device=compat.device(x))


def _require_same_order(x: Array, basis: Basis | None) -> None:
    """Raise where the columns of a frame are not the classes of a named basis, in their order."""
    columns = column_names(x)
    if not isinstance(basis, Basis) or basis.classes is None:
        return
    if columns not in (None, tuple(range(basis.n_parts)), basis.classes):
        raise InputError(
            f"x must have the columns of the basis, {quote_each(basis.classes)}; got "
            f"{quote_each(columns or ())}. Select the columns in this order, or call "
            f"basis.align_to."
        )
