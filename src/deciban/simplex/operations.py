"""The Euclidean vector space of the simplex, and log-ratio transforms to real space and back.

A composition is a vector of positive parts up to scale. All functions work on the last axis and
broadcast over the others; D is the number of parts.

References: Aitchison (1982), The statistical analysis of compositional data; Egozcue et al. (2003),
Isometric logratio transformations for compositional data analysis.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import array_api_compat as compat
import numpy as np

from deciban._validation import arrays
from deciban._validation.arrays import Array, Namespace
from deciban._validation.scalars import is_whole, quote, quote_each
from deciban.exceptions import InputError
from deciban.simplex import _spaces
from deciban.simplex._spaces import Parts, on_parts
from deciban.simplex.basis import Basis, basis_for


@on_parts
def closure(space: Parts, x: Array) -> Array:
    r"""Parts scaled to sum to one, :math:`C(x) = x / \sum_i x_i`, of shape (..., D).

    ``x`` is non-negative, with a positive part in every row, on any scale.

    See Also
    --------
    replace_zeros : Closed compositions without zeros.

    Examples
    --------
    >>> closure([[2, 6, 12], [0, 1, 1]])
    array([[0.1, 0.3, 0.6],
           [0. , 0.5, 0.5]])
    """
    xp, (x,) = space.read(x)
    return space.close(xp, x)


@on_parts
def perturb(space: Parts, x: Array, y: Array) -> Array:
    """Perturbation, the sum of the simplex: :math:`C(x_1 y_1, ..., x_D y_D)`.

    ``x`` and ``y`` are non-negative and broadcast.

    See Also
    --------
    power : The product with a number; ``power(-1, x)`` is the inverse of x.
    deciban.Evidence.posterior : Bayes' rule for evidence.

    Examples
    --------
    >>> perturb([0.2, 0.2, 0.6], [0.6, 0.3, 0.1]).round(3)
    array([0.5 , 0.25, 0.25])
    """
    xp, (x, y) = space.read(x, y)
    return space.multiply(xp, x, y)


@on_parts
def power(space: Parts, a: Array, x: Array) -> Array:
    """Powering, the product with a number: :math:`C(x_1^a, ..., x_D^a)`.

    ``a`` is one exponent for all compositions, or has shape (...), one for each. ``x`` is strictly
    positive; zeros stay zeros if every exponent is positive.

    See Also
    --------
    perturb : The sum.

    Examples
    --------
    >>> power(2, [1, 2, 3]).round(4)
    array([0.0714, 0.2857, 0.6429])
    """
    xp, (x,) = space.read(x)
    xp, (a, x) = arrays.as_float_arrays(a=a, x=x)
    arrays.require_finite(xp, a, "a")
    if a.ndim:
        if x.ndim < 2 or tuple(a.shape) not in {tuple(x.shape[:-1]), (1,) * (x.ndim - 1)}:
            raise InputError(
                f"a must be a number or have shape {tuple(x.shape[:-1])}, one exponent for each "
                f"composition; got shape {tuple(a.shape)}. Give one number to use it for all."
            )
        a = a[..., None]
    if not (arrays.is_inspectable(a) and bool(xp.all(a > 0))):
        space.require_no_zeros(xp, x, space.names[0])
    log_x = space.logs(xp, x)
    low, high = (find(log_x, axis=-1, keepdims=True) for find in (xp.min, xp.max))
    with np.errstate(over="ignore"):  # the largest log-part becomes zero: no exponent is too large
        return space.from_logs(xp, a * (log_x - xp.where(a < 0, low, high)))


@on_parts
def inner(space: Parts, x: Array, y: Array) -> Array:
    r"""Aitchison inner product, :math:`\frac{1}{2D} \sum_{ij} \log(x_i/x_j) \log(y_i/y_j)`.

    ``x`` and ``y`` are strictly positive and broadcast.

    See Also
    --------
    ilr : Coordinates whose usual inner product this is.

    Examples
    --------
    >>> inner([1, 2, 4], [1, 2, 4]).round(4) == (norm([1, 2, 4]) ** 2).round(4)
    np.True_
    """
    xp, (log_x, log_y) = space.read_logs(x, y)
    return _spaces.row_sum(xp, _spaces.center(xp, log_x) * _spaces.center(xp, log_y))[..., 0]


@on_parts
def norm(space: Parts, x: Array) -> Array:
    r"""Aitchison norm, :math:`\sqrt{\frac{1}{2D} \sum_{ij} \log(x_i/x_j)^2}`.

    ``x`` is strictly positive, on any scale. The norm of a likelihood function is the strength of
    the evidence, whatever its direction.

    See Also
    --------
    deciban.Evidence.strength : Norm of evidence, in any unit.

    Examples
    --------
    >>> norm([[1, 1, 1], [1, 2, 4]]).round(4)
    array([0.    , 0.9803])
    """
    xp, (log_x,) = space.read_logs(x)
    return _spaces.norm(xp, log_x)


@on_parts
def distance(space: Parts, x: Array, y: Array) -> Array:
    """Aitchison distance, the norm of the difference of two compositions.

    ``x`` and ``y`` are strictly positive and broadcast.

    See Also
    --------
    norm : Distance from the composition of equal parts.

    Examples
    --------
    >>> distance([1, 2, 4], [10, 20, 40]).round(12)
    np.float64(0.0)
    """
    xp, (log_x, log_y) = space.read_logs(x, y)
    return _spaces.norm(xp, log_x - log_y)


@on_parts
def clr(space: Parts, x: Array) -> Array:
    r"""Centered log-ratio, :math:`\log x - \frac{1}{D} \sum_i \log x_i`.

    ``x`` is strictly positive, on any scale. Each row of the result sums to zero.

    See Also
    --------
    clr_inv : The inverse.
    ilr : D - 1 coordinates, without the redundant one.

    Examples
    --------
    >>> clr([1, 1, 8]).round(4)
    array([-0.6931, -0.6931,  1.3863])
    """
    xp, (log_x,) = space.read_logs(x)
    return _spaces.center(xp, log_x)


@on_parts
def clr_inv(space: Parts, z: Array) -> Array:
    r"""The composition with these centered log-ratios, :math:`C(\exp z)`.

    ``z`` is finite; a common offset makes no difference.

    See Also
    --------
    clr : The inverse.

    Examples
    --------
    >>> clr_inv(clr([1, 1, 8]))
    array([0.1, 0.1, 0.8])
    """
    xp, z = _read_coordinates(z)
    return space.from_logs(xp, z)


@on_parts
def alr(space: Parts, x: Array, reference: Hashable = -1) -> Array:
    r"""Additive log-ratio to one part, :math:`\log(x_i / x_{ref})`, of shape (..., D - 1).

    ``x`` is strictly positive, on any scale. The reference is a position, or the name of a column
    if ``x`` is a frame; by default the last part.

    See Also
    --------
    alr_inv : The inverse.
    ilr : Coordinates that keep angles and distances.

    Examples
    --------
    >>> alr([1, 2, 4]).round(4)
    array([-1.3863, -0.6931])
    """
    columns = arrays.column_names(x)
    xp, (log_x,) = space.read_logs(x, minimum=2)
    at = find_part(reference, columns, log_x.shape[-1])
    others = [k for k in range(log_x.shape[-1]) if k != at]
    return _spaces.take(xp, log_x, others) - log_x[..., at : at + 1]


@on_parts
def alr_inv(space: Parts, z: Array, reference: int = -1) -> Array:
    r"""The composition with these additive log-ratios, :math:`C(\exp z)`, of shape (..., D).

    ``reference`` is the position of the reference among the D parts, by default the last.

    See Also
    --------
    alr : The inverse.

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
    r"""Isometric log-ratio coordinates, :math:`V^T \log x`, of shape (..., D - 1).

    ``x`` is strictly positive, on any scale. V is the contrast of the basis, by default
    Gram-Schmidt.

    See Also
    --------
    ilr_inv : The inverse.
    deciban.Basis : Bases, by trees or partitions.

    Examples
    --------
    >>> ilr([[0.5, 0.5], [0.8, 0.2]]).round(4)
    array([[0.    ],
           [0.9803]])
    """
    _require_same_order(x, basis)
    xp, (log_x,) = space.read_logs(x, minimum=2)
    return _spaces.matmul(xp, log_x, _contrast_like(xp, log_x, basis, log_x.shape[-1]))


@on_parts
def ilr_inv(space: Parts, z: Array, basis: Basis | None = None) -> Array:
    r"""The composition with these coordinates, :math:`C(\exp V z)`, of shape (..., D).

    V is the contrast of the basis, by default Gram-Schmidt.

    See Also
    --------
    ilr : The inverse.

    Examples
    --------
    >>> ilr_inv([[0.0, 0.0]]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """
    xp, z = _read_coordinates(z)
    contrast = _contrast_like(xp, z, basis, z.shape[-1] + 1)
    return space.from_logs(xp, _spaces.matmul(xp, z, xp.permute_dims(contrast, (1, 0))))


def _read_coordinates(z: Array) -> tuple[Namespace, Array]:
    xp, z = arrays.as_float_array(z, "z")
    arrays.require_parts(z, "z")
    arrays.require_finite(xp, z, "z")
    return xp, z


def _contrast_like(xp: Namespace, x: Array, basis: Basis | None, n_parts: int) -> Array:
    V = basis_for(basis, n_parts).contrast
    V = V if compat.is_numpy_namespace(xp) else V.copy()  # others refuse read-only arrays
    return xp.asarray(V, dtype=x.dtype, device=compat.device(x))


def _require_same_order(x: Array, basis: Basis | None) -> None:
    """Raise if the columns of a frame are not the classes of a named basis, in their order."""
    columns = arrays.column_names(x)
    if not isinstance(basis, Basis) or basis.classes is None:
        return
    if columns not in (None, tuple(range(basis.n_parts)), basis.classes):
        raise InputError(
            f"x must have the columns of the basis, {quote_each(basis.classes)}; got "
            f"{quote_each(columns or ())}. Select the columns in this order, or call "
            f"basis.align_to."
        )


def find_part(part: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> int:
    """Position of a part: a column name of a frame, or a number that may count from the end."""
    if columns is not None and part in columns:
        return columns.index(part)
    if not is_whole(part) or not -n_parts <= part < n_parts:
        names = "" if columns is None else f", or one of {quote_each(columns)}"
        raise InputError(
            f"part must be a position from 0 to {n_parts - 1}{names}; got {quote(part)}. "
            f"Count from 0, or pass a frame to use its column names."
        )
    return int(part) % n_parts
