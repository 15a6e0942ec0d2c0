"""The Euclidean vector space of the simplex: closure, perturbation, powering, inner product.

A composition is what is left of a vector of positive parts when its scale is forgotten. All
functions work on the last axis and broadcast over the others.

References
----------
Aitchison (1982), The statistical analysis of compositional data.
"""

from __future__ import annotations

import numpy as np

from deciban._validation.arrays import (
    Array,
    Namespace,
    as_float_arrays,
    is_inspectable,
    require_finite,
)
from deciban.exceptions import InputError
from deciban.simplex import _kernels
from deciban.simplex._spaces import Parts, on_parts


@on_parts
def closure(space: Parts, x: Array) -> Array:
    r"""Parts scaled to sum to one, :math:`C(x) = x / \sum_i x_i`.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative, with a positive part in every row; any scale.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    replace_zeros : Closed compositions without zeros.
    deciban.simplex.logparts.closure : The same for logarithms of parts.

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

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Non-negative; they broadcast.

    Returns
    -------
    array of shape (..., D)

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

    Parameters
    ----------
    a : float, or array of shape (...)
        One exponent for all compositions, or one for each.
    x : array of shape (..., D)
        Strictly positive; zeros stay zeros where every exponent is positive.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    perturb : The sum.

    Examples
    --------
    >>> power(2, [1, 2, 3]).round(4)
    array([0.0714, 0.2857, 0.6429])
    """
    xp, (x,) = space.read(x)
    xp, (a, x) = as_float_arrays(a=a, x=x)
    a = _as_exponents(xp, a, x)
    if not (is_inspectable(a) and bool(xp.all(a > 0))):
        space.require_no_zeros(xp, x, space.names[0])
    log_x = space.logs(xp, x)
    low, high = (find(log_x, axis=-1, keepdims=True) for find in (xp.min, xp.max))
    with np.errstate(over="ignore"):  # the largest log-part becomes zero: no exponent is too large
        return space.from_logs(xp, a * (log_x - xp.where(a < 0, low, high)))


def _as_exponents(xp: Namespace, a: Array, x: Array) -> Array:
    """Exponents, one for all compositions or one for each, shaped to multiply rows."""
    require_finite(xp, a, "a")
    if a.ndim == 0:
        return a
    if x.ndim < 2 or tuple(a.shape) not in {tuple(x.shape[:-1]), (1,) * (x.ndim - 1)}:
        raise InputError(
            f"a must be a number or have shape {tuple(x.shape[:-1])}, one exponent for each "
            f"composition; got shape {tuple(a.shape)}. Give one number to use it for all."
        )
    return a[..., None]


@on_parts
def inner(space: Parts, x: Array, y: Array) -> Array:
    r"""Aitchison inner product, :math:`\frac{1}{2D} \sum_{ij} \log(x_i/x_j) \log(y_i/y_j)`.

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Strictly positive; they broadcast.

    Returns
    -------
    array of shape (...)

    See Also
    --------
    norm : The square root of the inner product with itself.
    ilr : Coordinates whose usual inner product this is.

    Examples
    --------
    >>> inner([1, 2, 4], [1, 2, 4]).round(4) == (norm([1, 2, 4]) ** 2).round(4)
    np.True_
    """
    xp, (log_x, log_y) = space.read_logs(x, y)
    products = _kernels.center(xp, log_x) * _kernels.center(xp, log_y)
    return _kernels.row_sum(xp, products)[..., 0]


@on_parts
def norm(space: Parts, x: Array) -> Array:
    r"""Aitchison norm, :math:`\sqrt{\frac{1}{2D} \sum_{ij} \log(x_i/x_j)^2}`.

    Of a likelihood function, the strength of the evidence, whatever its direction.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.

    Returns
    -------
    array of shape (...)

    See Also
    --------
    distance : Norm of a difference.
    deciban.Evidence.strength : Norm of evidence, in any unit.

    Examples
    --------
    >>> norm([[1, 1, 1], [1, 2, 4]]).round(4)
    array([0.    , 0.9803])
    """
    xp, (log_x,) = space.read_logs(x)
    return _kernels.norm(xp, log_x)


@on_parts
def distance(space: Parts, x: Array, y: Array) -> Array:
    """Aitchison distance, the norm of the difference of two compositions.

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Strictly positive; they broadcast.

    Returns
    -------
    array of shape (...)

    See Also
    --------
    norm : Distance from the composition of equal parts.
    variance : Mean squared distance from the mean.

    Examples
    --------
    >>> distance([1, 2, 4], [10, 20, 40]).round(12)
    np.float64(0.0)
    """
    xp, (log_x, log_y) = space.read_logs(x, y)
    return _kernels.norm(xp, log_x - log_y)
