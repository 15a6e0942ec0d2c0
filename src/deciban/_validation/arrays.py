"""Check arrays: lists and frames become NumPy arrays, native arrays keep their library.

A native array also keeps its device and floating type. Integers and booleans become the library's
default floating type.
"""

from __future__ import annotations

import datetime
import importlib
import math
import re
import sys
from collections.abc import Hashable
from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from deciban._validation.scalars import quote
from deciban.exceptions import InputError, MissingExtraError, ZeroPartsError

Array = Any  # an array of any library: the Array API has no type to name here yet
Namespace = Any
Floats = NDArray[np.float64]


def as_float_array(x: Any, name: str) -> tuple[Namespace, Array]:
    xp, (array,) = as_float_arrays(**{name: x})
    return xp, array


def as_float_arrays(**named: Any) -> tuple[Namespace, list[Array]]:
    """Bring arguments to one array library and device; lists and frames follow arrays."""
    if len(named) > 1:
        _require_same_columns(named)
    for name, x in named.items():
        refuse_masked(x, name)
    native = {
        name: x
        for name, x in named.items()
        if compat.is_array_api_obj(x) and not isinstance(x, np.generic)
    }
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
    return np.asarray(to_host(as_float_array(x, name)[1]), dtype=np.float64)


def freeze(array: np.ndarray) -> np.ndarray:
    """A read-only view; the array itself becomes read-only, so that nobody can undo it."""
    array.flags.writeable = False
    return array.view()


def to_host(x: Array) -> Array:
    """The same array in memory that NumPy can read."""
    if compat.is_torch_array(x):
        return x.detach().cpu()
    if compat.is_cupy_array(x):
        return x.get()
    return x


def is_dask(*values: Any) -> bool:
    """True if any value is a Dask array, frame or series."""
    dask = sys.modules.get("dask.base")
    return dask is not None and any(dask.is_dask_collection(value) for value in values)


def column_names(x: Any) -> tuple[Hashable, ...] | None:
    """Column names of a frame, index of a pandas series; None for anything else.

    pandas names parts without a name 0 to D - 1.
    """
    if not is_frame(x) or not hasattr(x, "to_numpy"):
        return None
    names = getattr(x, "columns", getattr(x, "index", None))  # a polars series has neither
    return None if names is None else tuple(names)


def refuse_masked(x: Any, name: str) -> None:
    """Refuse masked entries: a conversion would use the values under the mask."""
    for array in x if isinstance(x, list | tuple) else [x]:
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise InputError(
                f"{name} must not contain masked values; got {np.ma.getmaskarray(array).sum()}. "
                f"Fill or drop them first."
            )


def _require_same_columns(named: dict[str, Any]) -> None:
    found = {name: column_names(x) for name, x in named.items()}
    columns = {k: names for k, names in found.items() if names and names != (*range(len(names)),)}
    if len(set(columns.values())) > 1:
        raise InputError(
            f"{' and '.join(columns)} must have the same columns in the same order; they do not. "
            f"Select the columns of one in the order of the other."
        )


def is_frame(x: Any) -> bool:
    """True for a frame or series from pandas or polars."""
    return _kind(x).partition(".")[0] in {"pandas", "polars"}


def row_index(x: Any) -> Any:
    """The index that pandas objects have, and Evidence that came from them; None for others."""
    index = getattr(x, "index", None)
    return index if _kind(index).startswith("pandas.") else None


def import_frames(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingExtraError(
            f"{library} must be installed to make a frame. Run: pip install 'deciban[frame]'",
            extra="frame",
        ) from error


def _kind(x: Any) -> str:
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"


def _as_numpy(x: Any, name: str) -> np.ndarray:
    if x is None:
        raise InputError(f"{name} must be an array; got None. Give numbers.")
    if is_frame(x):
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
    dtypes = zip(x.columns, x.dtypes, strict=True) if hasattr(x, "columns") else [(name, x.dtype)]
    wrong = [f"{quote(column)} ({kind})" for column, kind in dtypes if not _is_numeric(kind)]
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
    if not isinstance(x, np.ndarray):
        if xp.isdtype(x.dtype, "real floating"):
            return x
        if xp.isdtype(x.dtype, "complex floating"):
            raise InputError(
                f"{name} must be real; got {x.dtype}. Take its real part or its modulus."
            )
        return xp.astype(x, xp.asarray(0.0).dtype)
    x = np.asarray(x)  # operators of subclasses mean other things
    if x.dtype.kind == "f":
        return x
    if x.dtype.kind in "iub" or (x.dtype.kind == "O" and not find_non_numbers(x)):
        try:
            return x.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    kind = {"M": "dates", "m": "durations", "U": "text", "S": "bytes"}.get(x.dtype.kind)
    got = kind or (find_non_numbers(x) if x.dtype.kind == "O" else "") or f"dtype {x.dtype}"
    raise InputError(f"{name} must be real numbers; got {got}. Convert it to floats first.")


def find_non_numbers(x: np.ndarray) -> str:
    """Name the entries that float() might accept although they are not numbers."""
    types = {type(entry) for entry in x.ravel().tolist()}
    found = (noun for kind, noun in _NON_NUMBERS.items() if any(issubclass(t, kind) for t in types))
    return next(found, "")


_NON_NUMBERS: dict[type, str] = {
    str: "text", bytes: "bytes", np.datetime64: "dates", np.timedelta64: "durations",
    datetime.date: "dates", datetime.timedelta: "durations",
}  # fmt: skip


# --- what the values must be ------------------------------------------------------------
# Values inside a dask graph or a JAX trace cannot be looked at; they pass unchecked.


def is_inspectable(x: Array) -> bool:
    """False for values in a dask graph or a JAX trace, which cannot be read now."""
    if compat.is_dask_array(x):
        return False
    if compat.is_jax_array(x):
        return not isinstance(x, sys.modules["jax"].core.Tracer)
    return True


def require_parts(x: Array, name: str, minimum: int = 1) -> None:
    if x.ndim == 0:
        raise InputError(
            f"{name} must have an axis of parts; got a single number. "
            f"Give at least {max(minimum, 2)} parts."
        )
    if x.shape[-1] < minimum:
        raise InputError(
            f"{name} must have at least {minimum} part{'s' * (minimum > 1)} on its last axis; "
            f"got shape {tuple(x.shape)}. Put one composition on each row."
        )


def require_table(x: NDArray[np.float64], name: str, if_two_classes: str) -> None:
    if x.ndim != 2 or x.shape[1] < 2:
        remedy = f"Write [{name}] for one sample; {if_two_classes}."
        raise InputError(
            f"{name} must have shape (n_samples, n_classes) with two classes or more; got "
            f"{x.shape}. " + (remedy if x.ndim == 1 else "Put one sample on each row.")
        )


def read_llrs(llr: Any) -> NDArray[np.float64]:
    """One LLR per sample, from a vector or a one-column table; may be infinite."""
    values = to_numpy(llr, "llr")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"llr must have shape (n_samples,); got {values.shape}. Give one ratio for each "
            f"sample; for more than two classes use Evidence(log_likelihoods)."
        )
    _refuse_nan(np, values[:, None], "llr")
    return values


def require_same_parts(x: Array, y: Array, names: str) -> None:
    if x.shape[-1] != y.shape[-1]:
        raise InputError(
            f"{names} must have the same number of parts; got shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}. Put the parts on the last axis of both."
        )
    if not all(isinstance(size, int) for size in (*x.shape, *y.shape)):
        return  # a dask array that does not know its length yet
    try:
        np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ValueError:
        raise InputError(
            f"{names} must pair row by row; got shapes {tuple(x.shape)} and {tuple(y.shape)}. "
            f"Give both as many rows, or one of them a single row."
        ) from None


def require_finite(xp: Namespace, x: Array, name: str) -> None:
    if _unchecked(x) or _all_between(xp, x, -math.inf, math.inf):
        return
    _refuse_nan(xp, x, name)
    _refuse(xp.isinf(x), f"{name} must be finite", "infinite value", "Bound or drop it first.")


FOR_LOGARITHMS = "For logarithms of parts use deciban.simplex.logparts."


def require_nonnegative(
    xp: Namespace, x: Array, name: str, if_negative: str = FOR_LOGARITHMS
) -> None:
    """Refuse NaN, infinities, negative parts and rows without a positive part."""
    if _unchecked(x):
        return
    smallest = xp.min(x)
    if not (smallest >= 0 and xp.max(x) < math.inf):
        _refuse_unusable_parts(xp, x, name, if_negative)
    if smallest > 0:
        return
    empty, must = xp.max(x, axis=-1) == 0, f"{name} must have a positive part in every row"
    refuse_rows(empty, must, "is all zeros", "Drop it: it has no composition.", ZeroPartsError)


def require_positive(xp: Namespace, x: Array, name: str, remedy: str) -> None:
    if _unchecked(x) or _all_between(xp, x, 0, math.inf):
        return
    _refuse_unusable_parts(xp, x, name, FOR_LOGARITHMS)
    _refuse(x == 0, f"{name} must be strictly positive", "zero", remedy, ZeroPartsError)


def require_log_parts(xp: Namespace, x: Array, name: str) -> None:
    """Refuse NaN, +inf and rows that are -inf throughout; one -inf is a zero and is allowed."""
    if _unchecked(x):
        return
    _refuse_not_log(xp, x, name)
    empty, must = xp.max(x, axis=-1) == -math.inf, f"{name} must have a finite value in every row"
    remedy = "Drop it: every part is zero there."
    refuse_rows(empty, must, "is -inf throughout", remedy, ZeroPartsError)


def require_finite_log_parts(xp: Namespace, x: Array, name: str, remedy: str) -> None:
    """Refuse NaN and infinities; -inf is reported as the zero it stands for."""
    if _unchecked(x) or _all_between(xp, x, -math.inf, math.inf):
        return
    _refuse_not_log(xp, x, name)
    must = f"{name} must be finite"
    _refuse(x == -math.inf, must, "zero part (-inf)", remedy, ZeroPartsError)


def _unchecked(x: Array) -> bool:
    return compat.size(x) == 0 or not is_inspectable(x)


def _all_between(xp: Namespace, x: Array, low: float, high: float) -> bool:
    # Two reductions that carry NaN along are the cheapest look at every value.
    return bool(xp.min(x) > low) and bool(xp.max(x) < high)


def _refuse_not_log(xp: Namespace, x: Array, name: str) -> None:
    if xp.max(x) < math.inf:
        return
    _refuse_nan(xp, x, name)
    remedy = "Only differences matter: write the impossible parts as -inf instead."
    _refuse(x == math.inf, f"{name} must be below +inf", "+inf", remedy)


def _refuse_unusable_parts(xp: Namespace, x: Array, name: str, if_negative: str) -> None:
    _refuse_nan(xp, x, name)
    _refuse(x < 0, f"{name} must not be negative", "negative part", if_negative)
    _refuse(xp.isinf(x), f"{name} must be finite", "infinite part", "Give finite parts.")


def _refuse_nan(xp: Namespace, x: Array, name: str) -> None:
    _refuse(xp.isnan(x), f"{name} must not contain NaN", "NaN", "Drop or impute it first.")


def _refuse(
    bad: Array, must: str, noun: str, remedy: str, error: type[InputError] = InputError
) -> None:
    flags = np.atleast_1d(np.asarray(to_host(bad), dtype=bool))
    by_row = flags.reshape(-1, flags.shape[-1])
    rows = np.flatnonzero(by_row.any(axis=1))
    if rows.size:
        count = int(by_row[rows[0]].sum())
        where = f"row {rows[0]} has" if flags.ndim > 1 else "it has"
        noun = re.sub("(part|value|^zero$)", r"\1s", noun) if count > 1 else noun
        raise error(f"{must}; {where} {count} {noun}. {remedy}", rows=rows)


def refuse_rows(
    bad: Array,
    must: str,
    state: str,
    remedy: str,
    error: type[InputError] = InputError,
    values: NDArray[np.float64] | None = None,
) -> None:
    """Refuse bad rows: "must; row 3 state. remedy", with its value after the state."""
    rows = np.flatnonzero(np.asarray(to_host(bad), dtype=bool))
    if rows.size:
        value = "" if values is None else f" {values[rows[0]]:.6g}"
        raise error(f"{must}; row {rows[0]} {state}{value}. {remedy}", rows=rows)
