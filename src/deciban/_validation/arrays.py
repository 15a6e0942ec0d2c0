"""Lists and frames become NumPy arrays; arrays of any library stay what they are.

A native array keeps its library, its device and its floating type. Integers and booleans
become the library's default floating type.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import array_api_compat as compat
import numpy as np

from deciban.exceptions import InputError

Array = Any  # an array of any library: the Array API has no type to name here yet
Namespace = Any


def as_float_array(x: Any, name: str) -> tuple[Namespace, Array]:
    """One argument as a floating array, with the namespace of its library."""
    xp, (array,) = as_float_arrays(**{name: x})
    return xp, array


def as_float_arrays(**named: Any) -> tuple[Namespace, list[Array]]:
    """Bring arguments to one array library and device; lists and frames follow arrays."""
    _require_same_columns(named)
    native = {name: _plain(x, name) for name, x in named.items() if _is_native(x)}
    followers = {name: _as_numpy(x, name) for name, x in named.items() if name not in native}
    try:
        xp = compat.array_namespace(*(native or followers).values())
    except TypeError:
        kinds = ", ".join(f"{name} is a {_kind(x)}" for name, x in native.items())
        raise InputError(
            f"{' and '.join(native)} must be arrays of one library; {kinds}. Convert one of them."
        ) from None
    arrays = {name: _as_floating(xp, x, name) for name, x in native.items()}
    leader = next(iter(arrays.values()), None)
    for name, x in followers.items():
        x = _as_floating(compat.array_namespace(x), x, name)
        if leader is not None:
            x = xp.asarray(x, dtype=leader.dtype, device=compat.device(leader))
        arrays[name] = x
    return xp, [arrays[name] for name in named]


def to_numpy(x: Any, name: str) -> np.ndarray:
    """A NumPy float64 array from any array library, device, list or frame."""
    return np.asarray(on_host(as_float_array(x, name)[1]), dtype=np.float64)


def frozen(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to, nor be made so: what it looks at is read-only itself."""
    array.flags.writeable = False
    return array.view()


def on_host(x: Array) -> Array:
    """The same array where NumPy can read it."""
    if compat.is_torch_array(x):
        return x.detach().cpu()
    if compat.is_cupy_array(x):
        return x.get()
    return x


def columns_of(x: Any) -> tuple[Hashable, ...] | None:
    """Names of the parts of a frame, or of a pandas series; None for anything else."""
    if not _is_frame(x) or not hasattr(x, "to_numpy"):
        return None
    if hasattr(x, "columns"):
        return tuple(x.columns)
    index = getattr(x, "index", None)  # one composition as a pandas series: its parts are named
    return None if index is None or type(index).__name__ == "RangeIndex" else tuple(index)


def _require_same_columns(named: dict[str, Any]) -> None:
    columns = {name: columns_of(x) for name, x in named.items() if columns_of(x) is not None}
    if len(set(columns.values())) > 1:
        raise InputError(
            f"{' and '.join(columns)} must have the same columns in the same order; they have not. "
            f"Select the columns of one in the order of the other."
        )


def _is_native(x: Any) -> bool:
    return bool(compat.is_array_api_obj(x)) and not isinstance(x, np.generic)


def _is_frame(x: Any) -> bool:
    return _kind(x).partition(".")[0] in {"pandas", "polars"}


def _kind(x: Any) -> str:
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"


def _plain(x: Array, name: str) -> Array:
    # Subclasses change what operators mean: a mask would be lost, a matrix would multiply.
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise InputError(
            f"{name} must hold no masked values; got {int(np.ma.getmaskarray(x).sum())}. "
            f"Fill or drop them first."
        )
    return np.asarray(x) if isinstance(x, np.ndarray) else x


def _as_numpy(x: Any, name: str) -> np.ndarray:
    if x is None:
        raise InputError(f"{name} must be an array; got None. Give numbers.")
    if _is_frame(x):
        return _from_frame(x, name)
    if type(x).__module__.startswith("scipy.sparse"):
        raise InputError(f"{name} must be dense; got a sparse array. Call {name}.toarray() first.")
    try:
        return np.asarray(x)
    except (ValueError, TypeError):
        raise InputError(
            f"{name} must be rectangular; got rows of different lengths. "
            f"Give every row the same number of values."
        ) from None


def _from_frame(x: Any, name: str) -> np.ndarray:
    if not hasattr(x, "to_numpy"):
        raise InputError(f"{name} must hold data; got a {_kind(x)}. Call {name}.collect() first.")
    dtypes = (
        dict(zip(x.columns, x.dtypes, strict=True)) if hasattr(x, "columns") else {name: x.dtype}
    )
    wrong = [f"{column} ({dtype})" for column, dtype in dtypes.items() if not _is_numeric(dtype)]
    if wrong:
        raise InputError(
            f"{name} must have numeric columns only; got {', '.join(wrong[:5])}. "
            f"Select the numeric columns first."
        )
    if _kind(x).startswith("pandas"):
        return np.asarray(x.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(x.to_numpy(), dtype=np.float64)


def _is_numeric(dtype: Any) -> bool:
    polars_says = getattr(dtype, "is_numeric", None)
    return bool(polars_says()) if callable(polars_says) else getattr(dtype, "kind", "") in "iufb"


def _as_floating(xp: Namespace, x: Array, name: str) -> Array:
    if isinstance(x, np.ndarray):
        return _as_floating_numpy(x, name)
    if xp.isdtype(x.dtype, "real floating"):
        return x
    if xp.isdtype(x.dtype, "complex floating"):
        raise InputError(f"{name} must be real; got {x.dtype}. Take its real part or its modulus.")
    return xp.astype(x, xp.asarray(0.0).dtype)


def _as_floating_numpy(x: np.ndarray, name: str) -> np.ndarray:
    if x.dtype.kind == "f":
        return x
    try:
        if x.dtype.kind not in "iubO":
            raise TypeError
        return x.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} must be real numbers; got dtype {x.dtype}. Convert it to floats first."
        ) from None
