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

from deciban._validation.arrays import (
    Array,
    Namespace,
    as_float_arrays,
    is_inspectable,
    require_finite,
    require_positive,
)
from deciban._validation.scalars import require_one_of
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
    r"""Closed compositions with a small value in the place of each zero.

    With x closed, Z zeros among D parts and :math:`\delta_j` the value for part j, a zero becomes
    :math:`\delta_j` and another part

    - multiplicative: :math:`x_j (1 - \sum \delta)`, which keeps the ratios of non-zero parts;
    - simple: :math:`x_j`, and everything is closed again;
    - additive: a zero becomes :math:`\delta_j (Z + 1)(D - Z) / D^2`, and what that takes is
      subtracted from the other parts in equal shares.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative, with a positive part in every row; any scale.
    method : {"multiplicative", "additive", "simple"}
    delta : float or array of shape (D,), default 1 / D**2
        The value that replaces a zero, as a fraction of the whole. The default is large where parts
        are few (6 % of four parts); state a detection limit where you know one.
    detection_limit : float or array of shape (D,), optional
        In place of ``delta``: the smallest value of each part that could have been seen, in
        the units of ``x``. A zero becomes 0.65 times this.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    closure : Leaves zeros as they are.
    deciban.Evidence.replace_zeros : The same for evidence.

    References
    ----------
    Martín-Fernández, Barceló-Vidal and Pawlowsky-Glahn (2003), Dealing with zeros and missing
    values in compositional data sets using nonparametric imputation.

    Examples
    --------
    >>> replace_zeros([[0.2, 0.0, 0.8]], delta=0.01)
    array([[0.198, 0.01 , 0.792]])
    """
    space = Parts()
    xp, (x,) = space.read(x, minimum=2)
    closed = space.close(xp, x)
    zero = closed == 0
    delta = xp.where(zero, _read_delta(xp, x, closed, delta, detection_limit), xp.zeros_like(x))
    if _is_simple(method):
        return space.close(xp, xp.where(zero, delta, closed))
    if method == "additive":
        shrink, n_others = _additive_terms(xp, zero, x)
        delta = shrink * delta
        left = closed - xp.sum(delta, axis=-1, keepdims=True) / n_others
    else:
        left = closed * (1 - xp.sum(delta, axis=-1, keepdims=True))
    _require_room(xp, zero | (left > 0), method)
    return xp.where(zero, delta, left)


def replace_log_zeros(
    log_x: Array, method: Method = "multiplicative", *, log_delta: Array | None = None
) -> Array:
    """Closed log-parts with a small value in the place of each -inf.

    Parameters
    ----------
    log_x : array of shape (..., D)
        -inf for a zero, with a finite log-part in every row.
    method : {"multiplicative", "additive", "simple"}
        As for :func:`deciban.simplex.replace_zeros`.
    log_delta : float or array of shape (D,), default -2 log D
        Logarithm of the value that replaces a zero, as a fraction of the whole.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    deciban.simplex.replace_zeros : The same for parts.

    Examples
    --------
    >>> from deciban.simplex import logparts
    >>> logparts.replace_zeros([0.0, -math.inf], log_delta=-1000.0)
    array([    0., -1000.])
    """
    space = LogParts()
    xp, (log_x,) = space.read(log_x, minimum=2)
    log_x = space.close(xp, log_x)
    zero = log_x == -math.inf
    if log_delta is None:
        log_delta = -2 * math.log(log_x.shape[-1])
    log_delta = _one_for_each(xp, log_x, log_delta, "log_delta")
    log_delta = xp.where(zero, log_delta, xp.full_like(log_x, -math.inf))
    if _is_simple(method):
        return space.close(xp, xp.where(zero, log_delta, log_x))
    if method == "additive":
        shrink, n_others = _additive_terms(xp, zero, log_x)
        log_delta = log_delta + xp.log(shrink)
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] - xp.log(n_others) - log_x
    else:
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] + xp.zeros_like(log_x)
    _require_room(xp, zero | (log_taken < 0), method)
    log_left = log_x + xp.log1p(-xp.exp(xp.where(zero, xp.zeros_like(log_x) - 1, log_taken)))
    return xp.where(zero, log_delta, log_left)


def _read_delta(
    xp: Namespace, x: Array, closed: Array, delta: Array | None, detection_limit: Array | None
) -> Array:
    """What replaces a zero of each part, as a fraction of the whole."""
    if detection_limit is None:
        default = x.shape[-1] ** -2.0
        return _one_for_each(xp, x, default if delta is None else delta, "delta")
    if delta is not None:
        raise InputError("delta and detection_limit must not both be given. Drop one of them.")
    # By way of the largest part: the sum of the parts may overflow.
    scale = xp.max(closed, axis=-1, keepdims=True) / xp.max(x, axis=-1, keepdims=True)
    return FRACTION * scale * _one_for_each(xp, x, detection_limit, "detection_limit")


def _one_for_each(xp: Namespace, x: Array, value: Array, name: str) -> Array:
    """A number, or one for each part, in the library of the compositions."""
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
    return xp.astype(value, x.dtype)


def _is_simple(method: str) -> bool:
    return require_one_of(method, "method", get_args(Method)) == "simple"


def _additive_terms(xp: Namespace, zero: Array, x: Array) -> tuple[Array, Array]:
    """(Z + 1)(D - Z) / D², and D - Z, of each composition with Z zeros."""
    D = x.shape[-1]
    Z = xp.sum(xp.astype(zero, x.dtype), axis=-1, keepdims=True)
    return (Z + 1) * (D - Z) / D**2, D - Z


def _require_room(xp: Namespace, room: Array, method: str) -> None:
    if is_inspectable(room) and not bool(xp.all(room)):
        raise InputError(
            f"delta must leave the other parts positive with the {method} method; it takes all of "
            f"one. Give a smaller delta or detection_limit."
        )
