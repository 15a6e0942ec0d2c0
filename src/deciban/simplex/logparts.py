"""The same geometry for those who hold logarithms: log-parts in, log-parts out.

Each function does what its namesake in :mod:`deciban.simplex` does. Likelihoods of e^-800 or
of e^-1000000 lose nothing here. A zero is -inf: it may stand wherever the result is defined.

>>> from deciban.simplex import logparts
>>> logparts.closure([-800.0, -801.0]).round(4)
array([-0.3133, -1.3133])
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from deciban._validation import (
    Array,
    Namespace,
    as_float_array,
    as_float_arrays,
    column_names,
    is_inspectable,
    require_finite,
    require_finite_log_parts,
    require_log_parts,
    require_parts,
    require_same_parts,
)
from deciban.exceptions import ZeroPartsError
from deciban.simplex import _kernels, operations, selection, statistics, transforms, zeros
from deciban.simplex.basis import Basis
from deciban.simplex.selection import position

__all__ = [
    "alr",
    "alr_inv",
    "amalgamate",
    "closure",
    "clr",
    "clr_inv",
    "distance",
    "ilr",
    "ilr_inv",
    "inner",
    "mean",
    "norm",
    "perturb",
    "power",
    "replace_zeros",
    "subcomposition",
    "to_parts",
    "variance",
    "variation_matrix",
]

_REPLACE = "Call logparts.replace_zeros({0}) first."


def closure(log_x: Any) -> Array:
    """Log-parts whose exponentials sum to one. Zeros (-inf) stay."""
    xp, log_x = _logs(log_x, "log_x")
    return _kernels.closure(xp, log_x)


def to_parts(log_x: Any) -> Array:
    """The closed parts themselves: what :func:`deciban.simplex.closure` gives. Zeros stay."""
    xp, log_x = _logs(log_x, "log_x")
    return _kernels.parts(xp, log_x)


def perturb(log_x: Any, log_y: Any) -> Array:
    """Perturbation, closed: Bayes' rule on logarithms. Zeros (-inf) stay."""
    xp, (log_x, log_y) = as_float_arrays(log_x=log_x, log_y=log_y)
    for value, name in ((log_x, "log_x"), (log_y, "log_y")):
        require_parts(value, name)
        require_log_parts(xp, value, name)
    require_same_parts(log_x, log_y, "log_x and log_y")
    total = log_x + log_y
    if is_inspectable(total) and bool(xp.any(xp.max(total, axis=-1) == -math.inf)):
        raise ZeroPartsError(
            "log_x and log_y must have a part in common that is positive in both; some row has "
            "none. Replace the zeros first."
        )
    return _kernels.closure(xp, total)


def power(a: Any, log_x: Any) -> Array:
    """Powering, closed. Zeros (-inf) stay where every exponent is positive."""
    xp, (a, log_x) = operations.exponents(a, log_x=log_x)
    require_parts(log_x, "log_x")
    require_log_parts(xp, log_x, "log_x")
    if not (is_inspectable(a) and bool(xp.all(a > 0))):
        require_finite_log_parts(xp, log_x, "log_x", _REPLACE.format("log_x"))
    with np.errstate(over="ignore"):
        return _kernels.closure(xp, operations.powered(xp, a, log_x))


def inner(log_x: Any, log_y: Any) -> Array:
    """Aitchison inner product."""
    xp, log_x, log_y = _two(log_x, log_y)
    return _kernels.inner(xp, _kernels.relative(xp, log_x), _kernels.relative(xp, log_y))


def norm(log_x: Any) -> Array:
    """Aitchison norm."""
    xp, log_x = _finite(log_x)
    return _kernels.norm(xp, _kernels.relative(xp, log_x))


def distance(log_x: Any, log_y: Any) -> Array:
    """Aitchison distance."""
    xp, log_x, log_y = _two(log_x, log_y)
    return _kernels.norm(xp, _kernels.relative(xp, log_x - log_y))


def clr(log_x: Any) -> Array:
    """Centred log-ratio."""
    xp, log_x = _finite(log_x)
    return _kernels.centred(xp, _kernels.relative(xp, log_x))


def clr_inv(z: Any) -> Array:
    """Closed log-parts with these centred log-ratios."""
    xp, z = transforms.coefficients(z)
    return _kernels.closure(xp, z)


def alr(log_x: Any, reference: Hashable = -1) -> Array:
    """Additive log-ratio to one part."""
    columns = column_names(log_x)
    xp, log_x = _finite(log_x, minimum=2)
    return transforms.log_ratios_to(xp, log_x, position(reference, columns, log_x.shape[-1]))


def alr_inv(z: Any, reference: int = -1) -> Array:
    """Closed log-parts with these additive log-ratios."""
    xp, z = transforms.coefficients(z)
    at = position(reference, None, z.shape[-1] + 1)
    return _kernels.closure(xp, transforms.with_reference(xp, z, at))


def ilr(log_x: Any, basis: Basis | None = None) -> Array:
    """Isometric log-ratio coordinates."""
    transforms.require_same_order(log_x, basis)
    xp, log_x = _finite(log_x, minimum=2)
    contrast = transforms.contrast_like(xp, log_x, basis, log_x.shape[-1])
    return _kernels.coordinates(xp, _kernels.relative(xp, log_x), contrast)


def ilr_inv(z: Any, basis: Basis | None = None) -> Array:
    """Closed log-parts with these coordinates."""
    xp, z = transforms.coefficients(z)
    contrast = transforms.contrast_like(xp, z, basis, z.shape[-1] + 1)
    return _kernels.closure(xp, _kernels.expand(xp, z, contrast))


def mean(log_x: Any) -> Array:
    """Closed log-parts of the Aitchison mean of a sample."""
    xp, log_x = _finite(log_x)
    return _kernels.closure(xp, statistics.mean_logs(xp, _kernels.relative(xp, log_x)))


def variance(log_x: Any, ddof: int = 1) -> Array:
    """Total variance of a sample."""
    xp, log_x = _finite(log_x)
    return statistics.total_variance(xp, _kernels.relative(xp, log_x), ddof)


def variation_matrix(log_x: Any, ddof: int = 1) -> Array:
    """Variances of all log-ratios of a sample."""
    xp, log_x = _finite(log_x)
    return statistics.log_ratio_variances(xp, _kernels.relative(xp, log_x), ddof)


def subcomposition(log_x: Any, parts: Sequence[Hashable]) -> Array:
    """Closed log-parts of some of the parts."""
    columns = column_names(log_x)
    xp, log_x = _logs(log_x, "log_x")
    at = selection.positions(parts, columns, log_x.shape[-1])
    return _closed_if_any(xp, selection.take(xp, log_x, at))


def amalgamate(log_x: Any, groups: Sequence[Sequence[Hashable]]) -> Array:
    """Closed log-parts of the sums over groups of parts."""
    columns = column_names(log_x)
    xp, log_x = _logs(log_x, "log_x")
    members = selection.group_positions(groups, columns, log_x.shape[-1])
    sums = [_kernels.log_sum(xp, selection.take(xp, log_x, group)) for group in members]
    return _closed_if_any(xp, xp.stack(sums, axis=-1))


def replace_zeros(
    log_x: Any, method: zeros.Method = "multiplicative", *, log_delta: Any = None
) -> Array:
    """Closed log-parts with a small value in the place of each -inf.

    ``log_delta`` is the logarithm of the value that replaces a zero, as a fraction of the
    whole: one number, or one for each part; by default -2 log D.
    """
    xp, log_x = _logs(log_x, "log_x", minimum=2)
    log_x = _kernels.closure(xp, log_x)
    log_delta = _log_imputed(xp, log_x, log_delta)
    zero = log_x == -math.inf
    log_delta = xp.where(zero, log_delta, xp.full_like(log_x, -math.inf))
    zeros.require_method(method)
    if method == "simple":
        return _kernels.closure(xp, xp.where(zero, log_delta, log_x))
    D = log_x.shape[-1]
    Z = xp.sum(xp.astype(zero, log_x.dtype), axis=-1, keepdims=True)
    if method == "additive":
        log_delta = log_delta + xp.log((Z + 1) * (D - Z) / D**2)
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] - xp.log(D - Z) - log_x
    else:
        log_taken = _kernels.log_sum(xp, log_delta)[..., None] + xp.zeros_like(log_x)
    log_taken = xp.where(zero, xp.full_like(log_x, -math.inf), log_taken)
    zeros.require_room(xp, -log_taken, method)
    return xp.where(zero, log_delta, log_x + xp.log1p(-xp.exp(log_taken)))


def _log_imputed(xp: Namespace, log_x: Array, log_delta: Any) -> Array:
    if log_delta is None:
        D = xp.full_like(log_x, float(log_x.shape[-1]))
        return -2 * xp.log(D)
    _, (_, log_delta) = as_float_arrays(log_x=log_x, log_delta=log_delta)
    require_finite(xp, log_delta, "log_delta")
    zeros.require_one_per_part(log_delta, log_x.shape[-1], "log_delta")
    return xp.astype(log_delta, log_x.dtype) + xp.zeros_like(log_x)


def _closed_if_any(xp: Namespace, log_x: Array) -> Array:
    if is_inspectable(log_x) and bool(xp.any(xp.max(log_x, axis=-1) == -math.inf)):
        raise ZeroPartsError(
            "log_x must have a finite value among the parts kept; some row has none. "
            "Drop that row, or keep more parts."
        )
    return _kernels.closure(xp, log_x)


def _logs(log_x: Any, name: str, minimum: int = 1) -> tuple[Namespace, Array]:
    xp, log_x = as_float_array(log_x, name)
    require_parts(log_x, name, minimum)
    require_log_parts(xp, log_x, name)
    return xp, log_x


def _finite(log_x: Any, minimum: int = 1) -> tuple[Namespace, Array]:
    xp, log_x = as_float_array(log_x, "log_x")
    require_parts(log_x, "log_x", minimum)
    require_finite_log_parts(xp, log_x, "log_x", _REPLACE.format("log_x"))
    return xp, log_x


def _two(log_x: Any, log_y: Any) -> tuple[Namespace, Array, Array]:
    xp, (log_x, log_y) = as_float_arrays(log_x=log_x, log_y=log_y)
    for value, name in ((log_x, "log_x"), (log_y, "log_y")):
        require_parts(value, name)
        require_finite_log_parts(xp, value, name, _REPLACE.format(name))
    require_same_parts(log_x, log_y, "log_x and log_y")
    return xp, log_x, log_y
