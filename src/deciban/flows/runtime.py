"""How JAX runs here: float64 only where asked for, never forked, and compiled in little time."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import jax
import numpy as np
from numpy.typing import DTypeLike

from deciban.exceptions import ForkedProcessError, InputError

_ALLOWED = (np.dtype(np.float32), np.dtype(np.float64))
# Half the time to compile many small kernels, which run as fast. Large ones run 7 % slower.
_QUICK = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
_used_by: list[int] = []  # the process that first computed with JAX


def double_precision() -> AbstractContextManager[Any]:
    """Context in which JAX computes in float64.

    It is needed around both ``init`` and what is done with the parameters. The global flag stays
    as it is, so that other users of JAX in the process see no change.

    Returns
    -------
    context manager

    See Also
    --------
    deciban.flows.Flow.init : Makes parameters of a given precision.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from deciban.flows import Flow, double_precision
    >>> with double_precision():
    ...     flow = Flow(n_features=1)
    ...     z, _ = flow.forward(flow.init(jax.random.key(0), dtype=jnp.float64), [[0.1]])
    >>> z.dtype
    dtype('float64')
    """
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    older = importlib.import_module("jax.experimental")  # where it was before 0.8
    return older.enable_x64(True)


def require_unforked() -> None:
    """Raise in a process that was forked after JAX was used, where JAX would wait forever."""
    if not _used_by:
        _used_by.append(os.getpid())
    if _used_by[0] != os.getpid():
        raise ForkedProcessError(
            "a flow must be used in the process that first used one, or in a new one; this process "
            "was forked from it, and JAX would wait forever. Start processes by the method 'spawn' "
            "or 'forkserver': multiprocessing.get_context('spawn')."
        )


def require_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype itself, where JAX can compute in it now."""
    require_unforked()
    found = np.dtype(dtype)
    if found not in _ALLOWED:
        raise InputError(
            f"dtype must be float32 or float64; got {found}. Lower precision does not invert."
        )
    if jax.dtypes.canonicalize_dtype(found) != found:
        raise InputError(
            "float64 must be computed in double precision; JAX is set to float32. "
            "Put the call inside `with deciban.flows.double_precision():`."
        )
    return found


def jit(function: Callable[..., Any], *, quick: bool = False, **options: Any) -> Any:
    """``jax.jit``; with ``quick``, in less time for programs of many small kernels."""
    if quick and (found := _quick_options()):
        options["compiler_options"] = found
    return jax.jit(function, **options)


def map_members(function: Callable[..., Any], in_axes: Sequence[int | None]) -> Callable[..., Any]:
    """``jax.vmap`` over first axes; on a processor, which gains nothing by it, a loop.

    The loop is compiled in less time, runs as fast, and passes by members that rest.
    """
    if jax.default_backend() != "cpu":
        return jax.vmap(function, in_axes=tuple(in_axes))

    def run(*values: Any) -> Any:
        def run_one(own: list[Any]) -> Any:
            rest = iter(own)
            pairs = zip(values, in_axes, strict=True)
            return function(*(value if axis is None else next(rest) for value, axis in pairs))

        pairs = zip(values, in_axes, strict=True)
        return jax.lax.map(run_one, [value for value, axis in pairs if axis is not None])

    return run


@cache
def _quick_options() -> dict[str, Any]:
    """Options for a processor, where this version of JAX knows them and XLA_FLAGS does not say."""
    given = os.environ.get("XLA_FLAGS", "")
    found = {name: value for name, value in _QUICK.items() if name not in given}
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda: 0, compiler_options=found)()
    except (TypeError, ValueError, RuntimeError):
        return {}
    return found
