"""Replacement of zeros, which have no logarithm.

References
----------
Martín-Fernández, Barceló-Vidal and Pawlowsky-Glahn (2003), Dealing with zeros and missing
values in compositional data sets using nonparametric imputation.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import array_api_compat as compat

from deciban._validation import (
    Array,
    Namespace,
    as_float_array,
    as_float_arrays,
    is_inspectable,
    require_nonnegative,
    require_parts,
    require_positive,
)
from deciban.exceptions import InputError
from deciban.simplex.operations import close

Method = Literal["multiplicative", "additive", "simple"]
FRACTION = 0.65  # of the detection limit: the value that distorts the covariance least


def replace_zeros(
    x: Any,
    method: Method = "multiplicative",
    *,
    delta: Any = None,
    detection_limit: Any = None,
) -> Array:
    """Compositions with a small value in the place of each zero.

    With :math:`x` closed, :math:`Z` zeros among :math:`D` parts and :math:`delta_j` the value
    for part j, a zero becomes :math:`delta_j` and another part

    - multiplicative: :math:`x_j (1 - sum delta)`, which keeps the ratios of non-zero parts;
    - simple: :math:`x_j`, and everything is closed again;
    - additive: a zero becomes :math:`delta_j (Z + 1)(D - Z) / D^2`, and what that takes is
      subtracted from the other parts in equal shares.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative, with a positive part in every row; any scale.
    method : {"multiplicative", "additive", "simple"}
    delta : float or array of shape (D,), default 1 / D**2
        The value that replaces a zero, as a fraction of the whole.
    detection_limit : float or array of shape (D,), optional
        In place of ``delta``: the smallest value of each part that could have been seen, in
        the units of ``x``. A zero becomes 0.65 times this.

    Returns
    -------
    array of shape (..., D)
        Closed and strictly positive.

    Examples
    --------
    >>> replace_zeros([[0.2, 0.0, 0.8]], delta=0.01)
    array([[0.198, 0.01 , 0.792]])
    """
    xp, x = as_float_array(x, "x")
    require_parts(x, "x", minimum=2)
    require_nonnegative(xp, x, "x")
    closed = close(xp, x)
    # A limit as a fraction of the whole, by way of the largest part: the sum may overflow.
    scale = xp.max(closed, axis=-1, keepdims=True) / xp.max(x, axis=-1, keepdims=True)
    delta = _imputed(xp, closed, scale, delta, detection_limit)
    zero = closed == 0
    delta = xp.where(zero, delta, xp.zeros_like(closed))
    require_method(method)
    replace = {"multiplicative": _multiplicative, "additive": _additive, "simple": _simple}
    return replace[method](xp, closed, zero, delta)


def _imputed(xp: Namespace, x: Array, scale: Array, delta: Any, detection_limit: Any) -> Array:
    if delta is not None and detection_limit is not None:
        raise InputError("delta and detection_limit must not both be given. Drop one of them.")
    name = "delta" if detection_limit is None else "detection_limit"
    value = delta if detection_limit is None else detection_limit
    if value is None:
        return xp.full_like(x, x.shape[-1] ** -2.0)
    _, (_, value) = as_float_arrays(x=x, **{name: value})
    require_positive(xp, value, name, "Give the smallest value that you could have seen.")
    require_one_per_part(value, x.shape[-1], name)
    value = xp.astype(value, x.dtype) + xp.zeros_like(x)
    return value if detection_limit is None else FRACTION * value * scale


def require_one_per_part(value: Array, n_parts: int, name: str) -> None:
    """Refuse what is neither one number nor one number for each part."""
    if compat.size(value) != 1 and tuple(value.shape) != (n_parts,):
        raise InputError(
            f"{name} must be a number or one for each of {n_parts} parts; got shape "
            f"{tuple(value.shape)}. Give one number to use it for all."
        )


def require_method(method: str) -> None:
    """Refuse a method that there is not."""
    if method not in get_args(Method):
        raise InputError(
            f"method must be one of {', '.join(get_args(Method))}; got {method!r}. "
            f"Choose one of them."
        )


def _multiplicative(xp: Namespace, x: Array, zero: Array, delta: Array) -> Array:
    left = 1 - xp.sum(delta, axis=-1, keepdims=True)
    require_room(xp, left, "multiplicative")
    return xp.where(zero, delta, x * left)


def _simple(xp: Namespace, x: Array, zero: Array, delta: Array) -> Array:
    return close(xp, xp.where(zero, delta, x))


def _additive(xp: Namespace, x: Array, zero: Array, delta: Array) -> Array:
    D = x.shape[-1]
    Z = xp.sum(xp.astype(zero, x.dtype), axis=-1, keepdims=True)
    delta = delta * (Z + 1) * (D - Z) / D**2
    share = xp.sum(delta, axis=-1, keepdims=True) / (D - Z)
    result = xp.where(zero, delta, x - share)
    require_room(xp, result, "additive")
    return result


def require_room(xp: Namespace, left: Array, method: str) -> None:
    """Refuse a replacement that leaves nothing of another part."""
    if is_inspectable(left) and bool(xp.any(left <= 0)):
        raise InputError(
            f"delta must leave the other parts positive with the {method} method; it takes all of "
            f"one. Give a smaller delta or detection_limit."
        )
