"""The two ways to write a composition: by its parts, or by the logarithms of its parts.

Each operation is defined once, for either space; :func:`on_parts` turns it into the function of
:mod:`deciban.simplex`, and :func:`on_logs` into that of :mod:`deciban.simplex.logparts`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec

import array_api_compat as compat
import numpy as np

from deciban._validation.arrays import (
    Array,
    Namespace,
    as_float_arrays,
    is_inspectable,
    require_finite_log_parts,
    require_log_parts,
    require_nonnegative,
    require_parts,
    require_positive,
    require_same_parts,
)
from deciban.exceptions import ZeroPartsError

_ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does not spread over threads
_SMALL = 32.0  # with logarithms under this, no offset is worth taking off
_TINY_SQUARE = 1e-290  # squares under this have lost digits
_SMALLEST_BLOCK = 256  # rows under which calling NumPy costs more than it saves
_TINY = 1e-30  # a sum this small may hold subnormal parts, in single precision too
P = ParamSpec("P")


def row_sum(xp: Namespace, x: Array) -> Array:
    if compat.is_numpy_namespace(xp):
        # NumPy sums short rows six times slower than BLAS multiplies them by ones.
        return matmul(xp, x, xp.ones((x.shape[-1], 1), dtype=x.dtype))
    return xp.sum(x, axis=-1, keepdims=True)


def matmul(xp: Namespace, a: Array, b: Array) -> Array:
    """Matrix product in the full precision of the arrays."""
    if compat.is_jax_namespace(xp):
        return xp.matmul(a, b, precision="highest")  # else a GPU rounds to ten bits
    rows = _ONE_THREAD // max(1, math.prod(b.shape)) if compat.is_numpy_namespace(xp) else 0
    if rows < _SMALLEST_BLOCK or len(a) <= rows or a.ndim != 2 or a.dtype != b.dtype:
        return xp.matmul(a, b)
    # Blocks this small stay in the cache and on one thread: OpenBLAS would share the whole
    # product among threads that have little to do, and waits for each on a busy machine (23 ms in
    # blocks, 535 ms whole, for 1,000,000 x 10 by 10 x 9 with every core in use).
    product = np.empty((len(a), b.shape[1]), dtype=a.dtype)
    for start in range(0, len(a), rows):
        np.matmul(a[start : start + rows], b, out=product[start : start + rows])
    return product


def closure(xp: Namespace, log_x: Array) -> Array:
    """Log of the closed parts; exact for a part next to one, whose log is next to zero.

    One largest part is set apart from the sum: log1p keeps the small sum of the others, and with
    that part fixed the formula is smooth, so that derivatives of any order are right at ties.
    """
    here = xp.argmax(log_x, axis=-1, keepdims=True)
    largest = xp.arange(log_x.shape[-1], device=compat.device(log_x)) == here
    peak = xp.sum(xp.where(largest, log_x, xp.zeros_like(log_x)), axis=-1, keepdims=True)
    ratios = log_x - peak
    others = xp.where(largest, xp.zeros_like(log_x), xp.exp(ratios))
    return ratios - xp.log1p(row_sum(xp, others))


def parts(xp: Namespace, log_x: Array) -> Array:
    if compat.is_numpy_namespace(xp) and log_x.size:
        # NumPy finds the largest of all values 17 times faster than the largest of each row.
        limit = 0.9 * (float(xp.log(xp.finfo(log_x.dtype).max)) - math.log(log_x.shape[-1]))
        is_safe = bool(xp.max(log_x) < limit) and bool(xp.min(log_x) > -limit)
    else:
        is_safe = False
    x = xp.exp(log_x if is_safe else log_x - xp.max(log_x, axis=-1, keepdims=True))
    return x / row_sum(xp, x)


def log_sum(xp: Namespace, log_x: Array) -> Array:
    """Log of the sum of the parts; -inf if every part is zero."""
    peak = xp.max(log_x, axis=-1, keepdims=True)
    peak = xp.where(peak == -math.inf, xp.zeros_like(peak), peak)
    total = xp.sum(xp.exp(log_x - peak), axis=-1)
    empty = total == 0
    log_total = xp.log(xp.where(empty, xp.ones_like(total), total)) + peak[..., 0]
    return xp.where(empty, xp.full_like(total, -math.inf), log_total)


def relative(xp: Namespace, log_x: Array) -> Array:
    """Log-parts less an offset that the parts of a row share, so that sums round less.

    If all log-parts of a row have one sign, the offset is the one nearest to zero: -1e6 of
    (-1e6, -1e6 - 1), nothing of (-1e12, 0.1). Values that are small already stay as they are.
    """
    if compat.is_numpy_namespace(xp) and (log_x.size == 0 or np.abs(log_x).max() < _SMALL):
        return log_x
    low = xp.min(log_x, axis=-1, keepdims=True)
    high = xp.max(log_x, axis=-1, keepdims=True)
    zero = xp.zeros_like(low)
    return log_x - (xp.where(low > 0, low, zero) + xp.where(high < 0, high, zero))


def center(xp: Namespace, log_x: Array) -> Array:
    """Log-ratios to the geometric mean: the clr coefficients."""
    return log_x - row_sum(xp, log_x) / log_x.shape[-1]


def norm(xp: Namespace, log_x: Array) -> Array:
    z = center(xp, log_x)
    with np.errstate(over="ignore", under="ignore"):
        squared = row_sum(xp, z * z)
    exact = (squared > _TINY_SQUARE) & (squared < math.inf)
    if compat.is_numpy_namespace(xp) and not np.all(exact):
        scale = xp.max(xp.abs(z), axis=-1, keepdims=True, initial=0)
        scale = xp.where(scale > 0, scale, xp.ones_like(scale))
        return (scale * xp.sqrt(row_sum(xp, (z / scale) ** 2)))[..., 0]
    return xp.sqrt(squared)[..., 0]


def take(xp: Namespace, x: Array, at: Sequence[int]) -> Array:
    return xp.take(x, xp.asarray(at, device=compat.device(x)), axis=-1)


class Parts:
    """Compositions given by their parts; a zero is 0."""

    names = ("x", "y")
    zero = 0.0
    require_some_part: Callable[[Namespace, Array, str], None] = staticmethod(require_nonnegative)
    from_logs: Callable[[Namespace, Array], Array] = staticmethod(parts)

    def read(
        self, *arrays: Array, minimum: int = 1, zeros: bool = True
    ) -> tuple[Namespace, list[Array]]:
        """Arrays that may hold ``zeros``, but not in all parts of a composition."""
        named = dict(zip(self.names, arrays, strict=False))
        xp, values = as_float_arrays(**named)
        check = self.require_some_part if zeros else self.require_no_zeros
        for x, name in zip(values, named, strict=True):
            require_parts(x, name, minimum)
            check(xp, x, name)
        if len(values) == 2:
            require_same_parts(values[0], values[1], " and ".join(named))
        return xp, values

    def read_logs(self, *arrays: Array, minimum: int = 1) -> tuple[Namespace, list[Array]]:
        """Logarithms of the parts of arrays that hold no zero."""
        xp, values = self.read(*arrays, minimum=minimum, zeros=False)
        return xp, [self.logs(xp, x) for x in values]

    def require_no_zeros(self, xp: Namespace, x: Array, name: str) -> None:
        require_positive(xp, x, name, f"Call replace_zeros({name}) first.")

    def logs(self, xp: Namespace, x: Array, /) -> Array:
        with np.errstate(divide="ignore"):
            return xp.log(x)

    def close(self, xp: Namespace, x: Array, /) -> Array:
        with np.errstate(over="ignore"):
            total = row_sum(xp, x)
        if is_inspectable(total) and bool(xp.all((total > _TINY) & (total < math.inf))):
            return x / total
        x = x / xp.max(x, axis=-1, keepdims=True)  # the sum would overflow or lose digits
        return x / row_sum(xp, x)

    def multiply(self, xp: Namespace, x: Array, y: Array) -> Array:
        product = (x / xp.max(x, axis=-1, keepdims=True)) * (y / xp.max(y, axis=-1, keepdims=True))
        if not is_inspectable(product):
            return self.close(xp, product)
        common = (x > 0) & (y > 0)
        _require_common_part(bool(xp.all(xp.any(common, axis=-1))), "x and y")
        if bool(xp.any(common & (product < xp.finfo(product.dtype).smallest_normal))):
            return parts(xp, self.logs(xp, x) + self.logs(xp, y))  # it has underflowed
        return self.close(xp, product)

    def add_up(self, xp: Namespace, x: Array, groups: list[list[int]]) -> Array:
        x = self.close(xp, x)  # or large parts would overflow in the sums
        members = np.zeros((x.shape[-1], len(groups)))
        for column, group in zip(members.T, groups, strict=True):
            column[group] = 1
        return matmul(xp, x, xp.asarray(members, dtype=x.dtype, device=compat.device(x)))


class LogParts(Parts):
    """Compositions given by logarithms of their parts; a zero is -inf."""

    names = ("log_x", "log_y")
    zero = -math.inf
    require_some_part = staticmethod(require_log_parts)
    logs = staticmethod(relative)
    from_logs = close = staticmethod(closure)

    def require_no_zeros(self, xp: Namespace, x: Array, name: str) -> None:
        require_finite_log_parts(xp, x, name, f"Call logparts.replace_zeros({name}) first.")

    def multiply(self, xp: Namespace, x: Array, y: Array) -> Array:
        total = x + y
        if is_inspectable(total):
            ruled_out = xp.max(total, axis=-1) == -math.inf
            _require_common_part(not bool(xp.any(ruled_out)), "log_x and log_y")
        return closure(xp, total)

    def add_up(self, xp: Namespace, x: Array, groups: list[list[int]]) -> Array:
        sums = [log_sum(xp, take(xp, x, group)) for group in groups]
        return xp.stack(sums, axis=-1)


def _require_common_part(there: bool, names: str) -> None:
    if not there:
        raise ZeroPartsError(
            f"{names} must have a part in common that is positive in both; some row has none. "
            f"Replace the zeros first."
        )


def on_parts(operation: Callable[Concatenate[Parts, P], Array]) -> Callable[P, Array]:
    return _on(Parts(), operation)


_ON_LOGS = """{summary}

Like :func:`deciban.simplex.{name}`, with natural logarithms of parts, given and returned; a zero is
-inf.

See Also
--------
deciban.simplex.{name} : The same for parts.

Examples
--------
>>> from deciban.simplex import logparts
>>> logparts.{name}{call}
{result}
"""


def on_logs(function: Callable[P, Array], call: str, result: str) -> Callable[P, Array]:
    """The operation behind a function on parts, on logarithms of parts, with an example."""
    twin = _on(LogParts(), inspect.unwrap(function))
    twin.__module__ = "deciban.simplex.logparts"
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    twin.__doc__ = _ON_LOGS.format(summary=summary, name=twin.__name__, call=call, result=result)
    return twin


def _on(space: Parts, operation: Callable[Concatenate[Parts, P], Array]) -> Callable[P, Array]:
    @functools.wraps(operation)
    def function(*args: P.args, **kwargs: P.kwargs) -> Array:
        return operation(space, *args, **kwargs)

    signature = inspect.signature(operation)
    parameters = list(signature.parameters.values())[1:]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function
