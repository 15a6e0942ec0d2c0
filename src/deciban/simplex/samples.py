"""Samples of compositions: some parts or sums of parts, center and spread, zeros replaced.

References
----------
Martín-Fernández, Barceló-Vidal and Pawlowsky-Glahn (2003), Dealing with zeros and missing
values in compositional data sets using nonparametric imputation.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, get_args

import array_api_compat as compat

from deciban._validation import arrays
from deciban._validation.arrays import Array, Namespace
from deciban._validation.scalars import quote, require_one_of, require_whole
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import _spaces
from deciban.simplex._spaces import LogParts, Parts, on_parts
from deciban.simplex.operations import find_part

Method = Literal["multiplicative", "additive", "simple"]
FRACTION = 0.65  # of the detection limit: the value that distorts the covariance least


@on_parts
def subcomposition(space: Parts, x: Array, parts: Sequence[Hashable]) -> Array:
    """The composition of some of the parts; ratios between these stay as they are.

    ``x`` is non-negative, on any scale. ``parts`` are positions, or names of columns if ``x`` is a
    frame, in the order you want.

    See Also
    --------
    amalgamate : Sums of parts instead.
    deciban.Evidence.restrict : Evidence about some of the classes.

    Examples
    --------
    >>> subcomposition([0.2, 0.3, 0.5], [0, 1])
    array([0.4, 0.6])
    """
    columns = arrays.column_names(x)
    xp, (x,) = space.read(x)
    at = _find_parts(parts, columns, x.shape[-1])
    return _close_rest(space, xp, _spaces.take(xp, x, at))


@on_parts
def amalgamate(space: Parts, x: Array, groups: Sequence[Sequence[Hashable]]) -> Array:
    """The composition of sums over groups of parts.

    ``x`` is non-negative, on any scale. Each group lists positions, or names of columns if ``x`` is
    a frame; a part may be left out, but not used twice. Amalgamation is not linear in the geometry
    of the simplex; a balance is, see :class:`deciban.Basis`.

    See Also
    --------
    subcomposition : Some of the parts instead.
    deciban.Evidence.group : Evidence about groups of classes: means, not sums, of likelihoods.

    Examples
    --------
    >>> amalgamate([0.2, 0.3, 0.5], [[0, 1], [2]])
    array([0.5, 0.5])
    """
    columns = arrays.column_names(x)
    xp, (x,) = space.read(x)
    members = [_find_parts(group, columns, x.shape[-1]) for group in _listed(groups)]
    used = [k for group in members for k in group]
    if not members or len(set(used)) != len(used):
        raise InputError(
            f"groups must be a list of groups that share no part; got {quote(groups)}. "
            f"Put each part in one group."
        )
    return _close_rest(space, xp, space.add_up(xp, x, members))


def _close_rest(space: Parts, xp: Namespace, x: Array) -> Array:
    if arrays.is_inspectable(x) and bool(xp.any(xp.max(x, axis=-1) == space.zero)):
        raise ZeroPartsError(
            f"{space.names[0]} must have a positive part among those kept; some row has none. "
            f"Drop that row, or keep more parts."
        )
    return space.close(xp, x)


def _listed(items: Any) -> Iterable[Any]:
    return items if isinstance(items, Iterable) and not isinstance(items, str | bytes) else ()


def _find_parts(parts: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> list[int]:
    found = [find_part(part, columns, n_parts) for part in _listed(parts)]
    if not found or len(set(found)) != len(found):
        raise InputError(
            f"parts must be a list of distinct parts, at least one; got {quote(parts)}. "
            f"Name each part once."
        )
    return found


@on_parts
def mean(space: Parts, x: Array) -> Array:
    r"""Aitchison mean: the closed geometric mean of each part, :math:`C(\exp E \log x)`.

    ``x`` is strictly positive, of shape (..., n, D); the result has shape (..., D).

    See Also
    --------
    variance : Mean squared distance from it.

    Examples
    --------
    >>> mean([[1, 4], [4, 1]])
    array([0.5, 0.5])
    """
    xp, (log_x,) = space.read_logs(x)
    _require_samples(log_x, 0)
    return space.from_logs(xp, xp.mean(log_x, axis=-2))


@on_parts
def variance(space: Parts, x: Array, ddof: int = 1) -> Array:
    """Total variance: the mean squared Aitchison distance from the mean.

    ``x`` is strictly positive, of shape (..., n, D). The sum of squares is divided by n - ``ddof``.

    See Also
    --------
    variation_matrix : Variance of each log-ratio; its sum is 2 D times the total variance.

    Examples
    --------
    >>> x = [[1, 2, 4], [4, 1, 1], [2, 2, 3]]
    >>> variance(x).round(6) == (variation_matrix(x).sum() / 6).round(6)
    np.True_
    """
    xp, (log_x,) = space.read_logs(x)
    deviations, divisor = _deviations(xp, log_x, ddof)
    return xp.sum(deviations * deviations, axis=(-2, -1)) / divisor


@on_parts
def variation_matrix(space: Parts, x: Array, ddof: int = 1) -> Array:
    r"""Variances of all log-ratios, :math:`T_{ij} = \mathrm{var} \log(x_i / x_j)`.

    ``x`` is strictly positive, of shape (..., n, D); the result has shape (..., D, D).

    See Also
    --------
    deciban.Basis.from_linkage : A basis from a clustering of the parts, such as by this matrix.

    Examples
    --------
    >>> variation_matrix([[1, 2, 4], [2, 4, 1]]).round(4)
    array([[0.   , 0.   , 2.162],
           [0.   , 0.   , 2.162],
           [2.162, 2.162, 0.   ]])
    """
    xp, (log_x,) = space.read_logs(x)
    deviations, divisor = _deviations(xp, log_x, ddof)
    G = _spaces.matmul(xp, xp.matrix_transpose(deviations), deviations) / divisor
    own = xp.sum(deviations * deviations, axis=-2) / divisor
    T = own[..., :, None] + own[..., None, :] - 2 * G
    # Rounding may leave -1e-17 where two parts are proportional: a variance is not negative.
    T = xp.where(T < 0, xp.zeros_like(T), T)
    return T * (1 - xp.eye(T.shape[-1], dtype=T.dtype, device=compat.device(T)))


def _deviations(xp: Namespace, log_x: Array, ddof: int) -> tuple[Array, Array]:
    _require_samples(log_x, ddof)
    z = _spaces.center(xp, log_x)
    n = log_x.shape[-2]
    if isinstance(n, float):  # a dask array that does not know its length yet
        n = xp.sum(xp.ones_like(log_x[..., :, 0]), axis=-1)
    return z - xp.mean(z, axis=-2, keepdims=True), n - ddof


def _require_samples(log_x: Array, ddof: int) -> None:
    if log_x.ndim < 2:
        raise InputError(
            f"x must be a sample of shape (n, D); got shape {tuple(log_x.shape)}. "
            f"Put one composition on each row."
        )
    require_whole(ddof, "ddof")
    if log_x.shape[-2] <= ddof:
        raise InputError(
            f"x must have more than {ddof} compositions; got {log_x.shape[-2]}. "
            f"Give more rows" + (", or ddof=0." if ddof and log_x.shape[-2] else ".")
        )


def replace_zeros(
    x: Array,
    method: Method = "multiplicative",
    *,
    delta: Array | None = None,
    detection_limit: Array | None = None,
) -> Array:
    r"""Closed compositions with a small value in place of each zero.

    With x closed, Z zeros among D parts and :math:`\delta_j` the value for part j, a zero becomes
    :math:`\delta_j` and another part

    - multiplicative: :math:`x_j (1 - \sum \delta)`, which keeps the ratios of non-zero parts;
    - simple: :math:`x_j`, and everything is closed again;
    - additive: a zero becomes :math:`\delta_j (Z + 1)(D - Z) / D^2`, and the difference is
      subtracted from the other parts in equal shares.

    ``delta``, a fraction of the whole, is a number or has shape (D,); the default 1 / D**2 is large
    for few parts (6 % for four). In its place, ``detection_limit`` is the smallest value of each
    part that could have been seen, in the units of ``x``, and a zero becomes 0.65 times this.

    See Also
    --------
    closure : Leaves zeros as they are.

    Examples
    --------
    >>> replace_zeros([[0.2, 0.0, 0.8]], delta=0.01)
    array([[0.198, 0.01 , 0.792]])
    """
    space = Parts()
    xp, (x,) = space.read(x, minimum=2)
    require_one_of(method, "method", get_args(Method))
    closed = space.close(xp, x)
    zero = closed == 0
    if detection_limit is None:
        delta = _one_for_each(xp, x, x.shape[-1] ** -2.0 if delta is None else delta, "delta")
    elif delta is None:
        # By way of the largest part: the sum of the parts may overflow.
        scale = xp.max(closed, axis=-1, keepdims=True) / xp.max(x, axis=-1, keepdims=True)
        delta = FRACTION * scale * _one_for_each(xp, x, detection_limit, "detection_limit")
    else:
        raise InputError("delta and detection_limit must not both be given. Drop one of them.")
    delta = xp.where(zero, delta, xp.zeros_like(x))
    if method == "simple":
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
    """Closed log-parts with a small value in place of each -inf.

    ``log_delta`` is the logarithm of the value that replaces a zero, as a fraction of the whole, by
    default -2 log D; or an array of shape (D,).

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
    require_one_of(method, "method", get_args(Method))
    log_x = space.close(xp, log_x)
    zero = log_x == -math.inf
    if log_delta is None:
        log_delta = -2 * math.log(log_x.shape[-1])
    log_delta = _one_for_each(xp, log_x, log_delta, "log_delta")
    log_delta = xp.where(zero, log_delta, xp.full_like(log_x, -math.inf))
    if method == "simple":
        return space.close(xp, xp.where(zero, log_delta, log_x))
    if method == "additive":
        shrink, n_others = _additive_terms(xp, zero, log_x)
        log_delta = log_delta + xp.log(shrink)
        log_taken = _spaces.log_sum(xp, log_delta)[..., None] - xp.log(n_others) - log_x
    else:
        log_taken = _spaces.log_sum(xp, log_delta)[..., None] + xp.zeros_like(log_x)
    _require_room(xp, zero | (log_taken < 0), method)
    log_left = log_x + xp.log1p(-xp.exp(xp.where(zero, xp.zeros_like(log_x) - 1, log_taken)))
    return xp.where(zero, log_delta, log_left)


def _one_for_each(xp: Namespace, x: Array, value: Array, name: str) -> Array:
    _, (_, value) = arrays.as_float_arrays(x=x, **{name: value})
    if name == "log_delta":
        arrays.require_finite(xp, value, name)
    else:
        remedy = "Give the smallest value that you could have seen."
        arrays.require_positive(xp, value, name, remedy)
    if compat.size(value) != 1 and tuple(value.shape) != (x.shape[-1],):
        raise InputError(
            f"{name} must be a number or one for each of {x.shape[-1]} parts; got shape "
            f"{tuple(value.shape)}. Give one number to use it for all."
        )
    return xp.astype(value, x.dtype)


def _additive_terms(xp: Namespace, zero: Array, x: Array) -> tuple[Array, Array]:
    """(Z + 1)(D - Z) / D², and D - Z, of each composition with Z zeros."""
    D = x.shape[-1]
    Z = xp.sum(xp.astype(zero, x.dtype), axis=-1, keepdims=True)
    return (Z + 1) * (D - Z) / D**2, D - Z


def _require_room(xp: Namespace, room: Array, method: str) -> None:
    if arrays.is_inspectable(room) and not bool(xp.all(room)):
        raise InputError(
            f"delta must leave the other parts positive with the {method} method; it takes all of "
            f"one. Give a smaller delta or detection_limit."
        )
