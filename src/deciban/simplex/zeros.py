"""Replacement of zeros, which have no logarithm.

References
----------
Martín-Fernández, Barceló-Vidal and Pawlowsky-Glahn (2003), Dealing with zeros and missing
values in compositional data sets using nonparametric imputation.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import array_api_compat as compat

from deciban._validation.arrays import Array, Namespace, as_float_arrays
from deciban._validation.scalars import require_one_of
from deciban._validation.values import is_inspectable, require_finite, require_positive
from deciban.exceptions import InputError
from deciban.simplex import _kernels
from deciban.simplex._spaces import LogParts, Parts

Method = Literal["multiplicative", "additive", "simple"]
FRACTION = 0.65  # of the detection limit: the value that distorts the covariance least


def replace_zeros(
    x: Array,
    method: Method = "multiplicative",
    *,
    delta: Array | None = None,
    detection_limit: Array | None = None,
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
    space = Parts()
    xp, (x,) = space.read(x, minimum=2)
    closed = space.close(xp, x)
    # A limit as a fraction of the whole, by way of the largest part: the sum may overflow.
    scale = xp.max(closed, axis=-1, keepdims=True) / xp.max(x, axis=-1, keepdims=True)
    if delta is not None and detection_limit is not None:
        raise InputError("delta and detection_limit must not both be given. Drop one of them.")
    if detection_limit is not None:
        delta = FRACTION * scale * _one_for_each(xp, closed, detection_limit, "detection_limit")
    elif delta is not None:
        delta = _one_for_each(xp, closed, delta, "delta")
    zero = closed == 0
    log_x = xp.log(xp.where(zero, xp.ones_like(closed), closed))
    log_x = xp.where(zero, xp.full_like(closed, -math.inf), log_x)
    return xp.exp(_replace(xp, log_x, None if delta is None else xp.log(delta), method))


def replace_log_zeros(
    log_x: Array, method: Method = "multiplicative", *, log_delta: Array | None = None
) -> Array:
    """Closed log-parts with a small value in the place of each -inf.

    ``log_delta`` is the logarithm of the value that replaces a zero, as a fraction of the
    whole: one number, or one for each part; by default -2 log D.
    """
    space = LogParts()
    xp, (log_x,) = space.read(log_x, minimum=2)
    log_x = space.close(xp, log_x)
    if log_delta is not None:
        log_delta = _one_for_each(xp, log_x, log_delta, "log_delta")
    return _replace(xp, log_x, log_delta, method)


def _one_for_each(xp: Namespace, x: Array, value: Array, name: str) -> Array:
    """A number, or one for each part, spread over the shape of the compositions."""
    _, (_, value) = as_float_arrays(x=x, **{name: value})
    if name == "log_delta":
        require_finite(xp, value, name)
    else:
        require_positive(xp, value, name, "Give the smallest value that you could have seen.")
    if compat.size(value) != 1 and tuple(value.shape) != (x.shape[-1],):
        raise InputError(
            f"{name} must be a number or one for each of {x.shape[-1]} parts; got shape "
            f"{tuple(value.shape)}. Give one number to use it for all."
        )
    return xp.astype(value, x.dtype) + xp.zeros_like(x)


def _replace(xp: Namespace, log_x: Array, log_delta: Array | None, method: str) -> Array:
    """Closed log-parts whose zeros are replaced."""
    require_one_of(method, "method", get_args(Method))
    D = log_x.shape[-1]
    zero = log_x == -math.inf
    nothing = xp.full_like(log_x, -math.inf)
    log_delta = xp.full_like(log_x, -2 * math.log(D)) if log_delta is None else log_delta
    log_delta = xp.where(zero, log_delta, nothing)
    if method == "simple":
        return _kernels.closure(xp, xp.where(zero, log_delta, log_x))
    if method == "additive":
        Z = xp.sum(xp.astype(zero, log_x.dtype), axis=-1, keepdims=True)
        log_delta = log_delta + xp.log((Z + 1) * (D - Z) / D**2)
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] - xp.log(D - Z) - log_x
    else:
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] + xp.zeros_like(log_x)
    log_taken = xp.where(zero, nothing, log_taken)
    if is_inspectable(log_taken) and bool(xp.any(log_taken >= 0)):
        raise InputError(
            f"delta must leave the other parts positive with the {method} method; it takes all of "
            f"one. Give a smaller delta or detection_limit."
        )
    return xp.where(zero, log_delta, log_x + xp.log1p(-xp.exp(log_taken)))
