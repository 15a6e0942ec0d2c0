"""Cells of pandas and polars columns as floats or objects, and back."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Hashable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import import_frames, is_frame
from deciban._validation.labels import is_missing
from deciban._validation.scalars import quote, quote_each
from deciban.exceptions import InputError

DAY = np.timedelta64(86_400_000_000, "us")
_BY_TYPE: dict[Any, str] = {
    str: "category", bool | np.bool_: "boolean", numbers.Real | Decimal: "number",
    datetime.date | np.datetime64: "date", datetime.timedelta | np.timedelta64: "duration",
}  # fmt: skip
_BY_DTYPE = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date",
             "m": "duration"}  # fmt: skip


def is_table(X: Any) -> bool:
    """True for a frame that holds data, not for a series."""
    return is_frame(X) and hasattr(X, "to_numpy") and hasattr(X, "columns")


def library_of(X: Any) -> str:
    """The name of a frame's library; empty for anything else."""
    return type(X).__module__.partition(".")[0] if is_table(X) else ""


class Factor(NamedTuple):
    """Distinct values, None for a missing one, and the position of each cell's value."""

    values: list[Any]
    places: NDArray[np.intp]


def read_cells(column: Any, key: Hashable) -> tuple[str, Any]:
    """The kind of a column and its cells: a Factor for text and categories, else floats."""
    dtype = column.dtype
    in_utc = {"dtype": "datetime64[us]"} if getattr(dtype, "kind", "") == "M" else {}
    cells = np.asarray(column.to_numpy(**in_utc))
    categorical = str(dtype).lower().startswith(("categor", "enum"))
    kind = "" if categorical or cells.ndim > 1 else _BY_DTYPE.get(cells.dtype.kind, "")
    if not kind:
        values, places = factorize(cells.astype(object).tolist(), key)
        known = [value for value in values if value is not None]
        kind = "category" if categorical and known else _kind_of(known, key)
        if kind == "category":
            factor = Factor([as_plain(value) for value in values], places)
            return "ordered" if getattr(dtype, "ordered", False) else kind, factor
        cells = np.array([_in_utc(value) for value in values], dtype=object)[places]
    if kind == "date":
        floats = (cells.astype("datetime64[us]") - np.datetime64(0, "us")) / DAY
    elif kind == "duration":
        floats = cells.astype("timedelta64[us]") / DAY
    else:
        floats = cells.astype(np.float64)
    return "" if np.isnan(floats).all() else kind, floats


def _in_utc(value: Any) -> Any:
    zone = getattr(value, "tzinfo", None)  # which NumPy does not know
    return value if zone is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def factorize(cells: list[Any], key: Hashable) -> Factor:
    """Distinct values in order of appearance."""
    found: dict[Any, int] = {}
    try:
        places = np.array([found.setdefault(cell, len(found)) for cell in cells], dtype=np.intp)
    except TypeError:
        raise _wrong_type(cells, key) from None
    return Factor([None if is_missing(value) else value for value in found], places)


def _kind_of(values: list[Any], key: Hashable) -> str:
    types = {type(value) for value in values}
    found = {next((k for kind, k in _BY_TYPE.items() if issubclass(t, kind)), "?") for t in types}
    if found == {"number", "boolean"}:
        return "number"
    if len(found) > 1 or "?" in found:
        raise _wrong_type(values, key)
    return next(iter(found), "")


def _wrong_type(values: list[Any], key: Hashable) -> InputError:
    got = quote_each(sorted({type(value).__name__ for value in values}), 3)
    return InputError(
        f"X must hold numbers, truth values, dates or text in {quote(key)}; got {got}. Convert the "
        f"column, or drop it."
    )


def as_plain(value: Any) -> Any:
    """A category as a file can hold it; intervals and the like as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, str | int | float) else str(value)


def to_pandas(values: dict[str, Any], like: Any) -> Any:
    """A frame with the index and, if the values allow it, the types of ``like``."""
    pd = import_frames("pandas")
    dtypes: dict[Any, Any] = {} if like is None else dict(like.dtypes)
    frame = pd.DataFrame(values, index=getattr(like, "index", None))
    for name, cells in values.items():
        dtype = dtypes.get(name)
        if isinstance(dtype, pd.CategoricalDtype):
            own = {None: None} | {as_plain(value): value for value in dtype.categories.tolist()}
            if own.keys() >= {*cells}:
                frame[name] = pd.Categorical([own[cell] for cell in cells], dtype=dtype)
        elif getattr(dtype, "kind", "") == "M" and like[name].dt.tz is not None:
            frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(like[name].dt.tz)
        elif bool in map(type, cells):
            nullable = None in cells or isinstance(dtype, pd.BooleanDtype)
            frame[name] = frame[name].astype("boolean" if nullable else "bool")
    return frame


def to_polars(values: dict[str, Any], like: Any) -> Any:
    """A frame with the types of ``like``, if the values allow it."""
    pl = import_frames("polars")
    dtypes: dict[str, Any] = {} if like is None else dict(like.schema)
    columns = []
    for name, cells in values.items():
        column = pl.Series(name, cells, nan_to_null=True)
        dtype: Any = dtypes.get(name)
        if getattr(dtype, "time_zone", None) is not None:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
        elif dtype in (pl.Categorical, pl.Enum, pl.Date, pl.Boolean):
            same = column.cast(dtype, strict=False)
            column = same if same.null_count() == column.null_count() else column
        columns.append(column)
    return pl.DataFrame(columns)
