"""The Euclidean vector space of the simplex: closure, perturbation, powering, inner product.

A composition is what is left of a vector of positive parts when its scale is forgotten. All
functions work on the last axis and broadcast over the others.

References
----------
Aitchison (1982), The statistical analysis of compositional data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deciban._validation import (
    Array,
    Namespace,
    as_float_array,
    as_float_arrays,
    is_inspectable,
    require_finite,
    require_nonnegative,
    require_parts,
    require_positive,
    require_same_parts,
)
from deciban.exceptions import InputError
from deciban.simplex import _kernels

_REPLACE = "Call replace_zeros({0}) first."


def closure(x: Any) -> Array:
    """Parts scaled to sum to one, :math:`x / sum(x)`.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative, with a positive part in every row; any scale.

    Returns
    -------
    array of shape (..., D)

    Examples
    --------
    >>> closure([[2, 6, 12], [0, 1, 1]])
    array([[0.1, 0.3, 0.6],
           [0. , 0.5, 0.5]])
    """
    xp, x = as_float_array(x, "x")
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    return close(xp, x)


def close(xp: Namespace, x: Array) -> Array:
    """Closure of checked parts."""
    with np.errstate(over="ignore"):
        total = _kernels.row_sum(xp, x)
    if is_inspectable(total) and bool(xp.all((total > _TINY) & (total < math.inf))):
        return x / total
    x = x / xp.max(x, axis=-1, keepdims=True)  # the sum would overflow or lose digits
    return x / _kernels.row_sum(xp, x)


_TINY = 1e-30  # a sum this small may hold subnormal parts, in single precision too


def perturb(x: Any, y: Any) -> Array:
    """Perturbation, the sum of the simplex: :math:`C(x_1 y_1, ..., x_D y_D)`.

    Bayes' rule is the perturbation of a prior by a likelihood function.

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Non-negative; they broadcast.

    Returns
    -------
    array of shape (..., D)

    Examples
    --------
    >>> perturb([0.2, 0.2, 0.6], [0.6, 0.3, 0.1]).round(3)
    array([0.5 , 0.25, 0.25])
    """
    xp, (x, y) = as_float_arrays(x=x, y=y)
    for value, name in ((x, "x"), (y, "y")):
        require_parts(value, name)
        require_nonnegative(xp, value, name)
    require_same_parts(x, y, "x and y")
    product = (x / xp.max(x, axis=-1, keepdims=True)) * (y / xp.max(y, axis=-1, keepdims=True))
    if not is_inspectable(product):
        return close(xp, product)
    common = (x > 0) & (y > 0)
    if not bool(xp.all(xp.any(common, axis=-1))):
        raise InputError(
            "x and y must have a part in common that is positive in both; some row has none. "
            "Replace the zeros first."
        )
    if bool(xp.any(common & (product < xp.finfo(product.dtype).smallest_normal))):
        with np.errstate(divide="ignore"):
            return _kernels.parts(xp, xp.log(x) + xp.log(y))  # the product has underflowed
    return close(xp, product)


def power(a: Any, x: Any) -> Array:
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

    Examples
    --------
    >>> power(2, [1, 2, 3]).round(4)
    array([0.0714, 0.2857, 0.6429])
    """
    xp, (a, x) = exponents(a, x=x)
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    if not (is_inspectable(a) and bool(xp.all(a > 0))):
        require_positive(xp, x, "x", _REPLACE.format("x"))
    with np.errstate(divide="ignore", over="ignore"):
        return _kernels.parts(xp, powered(xp, a, xp.log(x)))


def powered(xp: Namespace, a: Array, log_x: Array) -> Array:
    """Exponent times log-parts, the largest of which becomes zero: no exponent is too large."""
    low, high = (find(log_x, axis=-1, keepdims=True) for find in (xp.min, xp.max))
    return a * (log_x - xp.where(a < 0, low, high))


def exponents(a: Any, **named: Any) -> tuple[Namespace, list[Array]]:
    """The exponent, checked and shaped to multiply rows, beside the one array named."""
    xp, (a, x) = as_float_arrays(a=a, **named)
    require_finite(xp, a, "a")
    if a.ndim > 0:
        if x.ndim < 2 or tuple(a.shape) not in {tuple(x.shape[:-1]), (1,) * (x.ndim - 1)}:
            raise InputError(
                f"a must be a number or have shape {tuple(x.shape[:-1])}, one exponent for each "
                f"composition; got shape {tuple(a.shape)}. Give one number to use it for all."
            )
        a = a[..., None]
    return xp, [a, x]


def inner(x: Any, y: Any) -> Array:
    """Aitchison inner product, :math:`1/(2D) sum_ij log(x_i/x_j) log(y_i/y_j)`.

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Strictly positive; they broadcast.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> inner([1, 2, 4], [1, 2, 4]).round(4) == (norm([1, 2, 4]) ** 2).round(4)
    np.True_
    """
    xp, log_x, log_y = _two_logs(x, y)
    return _kernels.inner(xp, log_x, log_y)


def norm(x: Any) -> Array:
    """Aitchison norm, :math:`sqrt(1/(2D) sum_ij log(x_i/x_j)^2)`.

    Of a likelihood function, the strength of the evidence, whatever its direction.

    Parameters
    ----------
    x : array of shape (..., D)
        Strictly positive; any scale.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> norm([[1, 1, 1], [1, 2, 4]]).round(4)
    array([0.    , 0.9803])
    """
    xp, log_x = to_logs(x, "x")
    return _kernels.norm(xp, log_x)


def distance(x: Any, y: Any) -> Array:
    """Aitchison distance, the norm of the difference of two compositions.

    Parameters
    ----------
    x, y : arrays of shape (..., D)
        Strictly positive; they broadcast.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> distance([1, 2, 4], [10, 20, 40]).round(12)
    np.float64(0.0)
    """
    xp, log_x, log_y = _two_logs(x, y)
    return _kernels.norm(xp, log_x - log_y)


def to_logs(x: Any, name: str, minimum: int = 1) -> tuple[Namespace, Array]:
    """Logarithms of strictly positive parts, checked."""
    xp, x = as_float_array(x, name)
    require_parts(x, name, minimum)
    require_positive(xp, x, name, _REPLACE.format(name))
    return xp, xp.log(x)


def _two_logs(x: Any, y: Any) -> tuple[Namespace, Array, Array]:
    xp, (x, y) = as_float_arrays(x=x, y=y)
    for value, name in ((x, "x"), (y, "y")):
        require_parts(value, name)
        require_positive(xp, value, name, _REPLACE.format(name))
    require_same_parts(x, y, "x and y")
    return xp, xp.log(x), xp.log(y)
