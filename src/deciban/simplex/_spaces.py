"""The two ways to write a composition: by its parts, or by the logarithms of its parts.

Each operation is defined once, for either space; :func:`on_parts` turns it into the function of
:mod:`deciban.simplex`, and :func:`on_logs` into that of :mod:`deciban.simplex.logparts`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
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
from deciban.simplex import _kernels

_TINY = 1e-30  # a sum this small may hold subnormal parts, in single precision too
P = ParamSpec("P")


class Parts:
    """Compositions given by their parts; a zero is 0."""

    names = ("x", "y")
    zero = 0.0

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

    def require_some_part(self, xp: Namespace, x: Array, name: str) -> None:
        """Raise where all parts of a composition are zero, or a part is not usable."""
        require_nonnegative(xp, x, name)

    def require_no_zeros(self, xp: Namespace, x: Array, name: str) -> None:
        """Raise where a part is zero."""
        require_positive(xp, x, name, f"Call replace_zeros({name}) first.")

    def logs(self, xp: Namespace, x: Array) -> Array:
        """Logarithms of the parts; -inf where a part is zero."""
        with np.errstate(divide="ignore"):
            return xp.log(x)

    def from_logs(self, xp: Namespace, log_x: Array) -> Array:
        """The closed composition with these logarithms."""
        return _kernels.parts(xp, log_x)

    def close(self, xp: Namespace, x: Array) -> Array:
        """The composition scaled to sum to one."""
        with np.errstate(over="ignore"):
            total = _kernels.row_sum(xp, x)
        if is_inspectable(total) and bool(xp.all((total > _TINY) & (total < math.inf))):
            return x / total
        x = x / xp.max(x, axis=-1, keepdims=True)  # the sum would overflow or lose digits
        return x / _kernels.row_sum(xp, x)

    def multiply(self, xp: Namespace, x: Array, y: Array) -> Array:
        """The closed product of two compositions, part by part."""
        product = (x / xp.max(x, axis=-1, keepdims=True)) * (y / xp.max(y, axis=-1, keepdims=True))
        if not is_inspectable(product):
            return self.close(xp, product)
        common = (x > 0) & (y > 0)
        _require_common_part(bool(xp.all(xp.any(common, axis=-1))), "x and y")
        if bool(xp.any(common & (product < xp.finfo(product.dtype).smallest_normal))):
            return _kernels.parts(xp, self.logs(xp, x) + self.logs(xp, y))  # it has underflowed
        return self.close(xp, product)

    def add_up(self, xp: Namespace, x: Array, groups: list[list[int]]) -> Array:
        """Sums over groups of parts."""
        x = self.close(xp, x)  # or large parts would overflow in the sums
        members = np.zeros((x.shape[-1], len(groups)))
        for column, group in zip(members.T, groups, strict=True):
            column[group] = 1
        return _kernels.matmul(xp, x, xp.asarray(members, dtype=x.dtype, device=compat.device(x)))


class LogParts(Parts):
    """Compositions given by logarithms of their parts; a zero is -inf."""

    names = ("log_x", "log_y")
    zero = -math.inf

    def require_some_part(self, xp: Namespace, x: Array, name: str) -> None:
        require_log_parts(xp, x, name)

    def require_no_zeros(self, xp: Namespace, x: Array, name: str) -> None:
        require_finite_log_parts(xp, x, name, f"Call logparts.replace_zeros({name}) first.")

    def logs(self, xp: Namespace, x: Array) -> Array:
        """The log-parts, less an offset that they have in common."""
        return _kernels.relative(xp, x)

    def from_logs(self, xp: Namespace, log_x: Array) -> Array:
        return _kernels.closure(xp, log_x)

    def close(self, xp: Namespace, x: Array) -> Array:
        return _kernels.closure(xp, x)

    def multiply(self, xp: Namespace, x: Array, y: Array) -> Array:
        total = x + y
        if is_inspectable(total):
            ruled_out = xp.max(total, axis=-1) == -math.inf
            _require_common_part(not bool(xp.any(ruled_out)), "log_x and log_y")
        return _kernels.closure(xp, total)

    def add_up(self, xp: Namespace, x: Array, groups: list[list[int]]) -> Array:
        sums = [_kernels.log_sum(xp, _kernels.take(xp, x, group)) for group in groups]
        return xp.stack(sums, axis=-1)


def _require_common_part(there: bool, names: str) -> None:
    if not there:
        raise ZeroPartsError(
            f"{names} must have a part in common that is positive in both; some row has none. "
            f"Replace the zeros first."
        )


def on_parts(operation: Callable[Concatenate[Parts, P], Array]) -> Callable[P, Array]:
    """The operation on parts."""
    return _on(Parts(), operation)


_ON_LOGS = """{summary}

What are parts in :func:`deciban.simplex.{name}` are their natural logarithms here, given and
returned; a zero is -inf.

{shapes}
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
    doc = inspect.getdoc(function) or ""
    shapes = doc[doc.find("Parameters") : doc.find("See Also")].splitlines()
    twin.__doc__ = _ON_LOGS.format(
        summary=doc.partition("\n")[0],
        shapes="\n".join(line for line in shapes if not line.startswith(" ")),
        name=twin.__name__,
        call=call,
        result=result,
    )
    return twin


def _on(space: Parts, operation: Callable[Concatenate[Parts, P], Array]) -> Callable[P, Array]:
    @functools.wraps(operation)
    def function(*args: P.args, **kwargs: P.kwargs) -> Array:
        return operation(space, *args, **kwargs)

    signature = inspect.signature(operation)
    parameters = list(signature.parameters.values())[1:]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function
