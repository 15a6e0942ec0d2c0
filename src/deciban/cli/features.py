"""Columns of a table that a model learns from, with the types that their cells have."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from deciban._persistence.registry import load_with_extra
from deciban.cli import tables
from deciban.cli.cells import DOUBTFUL, MISSING, Column, first_true
from deciban.cli.files import Source
from deciban.cli.tables import Table, empty_to_null
from deciban.cli.words import quote, quote_name, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban._estimation.columns import Columns

_MOST_LEVELS = 50  # of a column of text; names and free text have more
_FEWEST_IDS = 30  # rows in which values that all differ are suspicious
_GAPS = ("", *MISSING, *DOUBTFUL)  # among numbers
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LARGEST = 1e100  # of numbers: their squares must not overflow
_TYPES: dict[str, pl.DataType] = {
    "category": pl.String(), "ordered": pl.String(), "date": pl.Datetime("us"),
    "datetime": pl.Datetime("us"), "duration": pl.Duration("us"),
}  # fmt: skip
_TIMES = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f%#z")


def type_columns(columns: Sequence[Column], impute: bool) -> pl.DataFrame:
    """The columns to learn from: text of numbers, truth values or dates becomes these."""
    typed = []
    for column in columns:
        cells = _parse(column.cells)
        missing, ignore = cells.null_count(), f"--ignore {_as_typed(cells.name)}"
        if missing and not impute:
            first = first_true(cells.is_null())
            raise column.error(
                f"must have no missing values; {missing:,} of {len(cells):,} are missing, in "
                f"{column.row(first)} first. Leave out --no-impute, or the column with {ignore}.",
                first,
            )
        if missing == len(cells):
            raise column.error(f"must hold values; it holds none. Leave it out with {ignore}.")
        if _is_number(cells):
            _require_moderate(column, cells)
        elif not cells.dtype.is_temporal() or cells.dtype == pl.Time:
            _require_levels(column)
        typed.append(cells)
    return pl.DataFrame(typed)


def describe_doubts(frame: pl.DataFrame, typed: pl.DataFrame) -> list[str]:
    """What may not be meant: identifiers, numbers read as text, words for missing values."""
    found = [
        f"{cells.name} has a different value in every row: if it is an identifier, leave it out "
        f"with --ignore {_as_typed(cells.name)}"
        for cells in typed
        if _may_identify(cells)
    ]
    for cells in typed.select(pl.col(pl.String)):
        levels = cells.drop_nulls().unique().sort()
        gaps = levels.filter(levels.str.strip_chars().str.to_lowercase().is_in(_GAPS))
        if len(gaps):
            found.append(
                f"{cells.name} treats {gaps[0]!r} as an ordinary value. If it stands for a "
                f"missing value, give a copy with such cells empty."
            )
        odd = _odd_among_values(frame[cells.name])
        if odd is not None:
            found.append(
                f"{cells.name} is taken as text of {len(levels)} values, since row {odd + 1} holds "
                f"{quote(cells[odd])}. If it should be numbers or dates, give a copy with such "
                f"cells corrected."
            )
    return found


def read_rows(columns: Columns, frame: pl.DataFrame, source: str, start: int = 0) -> pl.DataFrame:
    """New rows with the types that a model takes; ``start`` rows of the table precede them."""
    frame = empty_to_null(frame.select(columns.names))
    return pl.DataFrame(
        [
            _convert(Column(frame[name], source, start), columns.kinds.get(k, "number"))
            for k, name in enumerate(columns.names)
        ]
    )


def share_types(columns: Columns, *frames: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows that a model takes, with one type for each column in all of the frames.

    A column may be dates in one table and times in another, or have no value in one of them.
    """
    kinds = {name: columns.kinds.get(k, "number") for k, name in enumerate(columns.names)}
    types = {name: _TYPES.get(kind, pl.Float64()) for name, kind in kinds.items()}
    return [frame.cast({name: types[name] for name in frame.columns}) for frame in frames]


def load_model(path: Path) -> Any:
    """The model in a file, which knows the names of its columns."""
    estimator = load_with_extra(path)[0]
    names = estimator.columns_.names if hasattr(estimator, "columns_") else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{path} must be a model of `deciban fit`; it has no names of columns. Fit it with the "
            f"command, or to a frame in Python; calibrators are for `deciban apply`."
        )
    return estimator


def open_features(columns: Columns, source: Source, table_format: str | None) -> Table:
    """A table with all of the columns that a model was fitted to."""
    table = tables.open_table(source, table_format)
    for name in columns.names:
        table.require_column(name, "the model")
    return table


def open_model(path: Path, source: str, table_format: str | None) -> tuple[Any, Table]:
    """The model in a file, and a table with all of the columns that it was fitted to."""
    estimator = load_model(path)
    return estimator, open_features(estimator.columns_, source, table_format)


def typical_row(columns: Columns) -> pl.DataFrame:
    """A row of what fills the gaps of each column."""
    row: pl.DataFrame = columns.decode(columns.encode(columns.fill[None]), pl.DataFrame())
    return row


def select_features(
    table: Table, label: str, features: str | None, ignore: str | None
) -> list[str]:
    """The columns to learn from, according to the options --features and --ignore."""
    table.require_column(label, "--label")
    if features is not None and ignore is not None:
        raise InputError("--features or --ignore must be given, not both. Leave one out.")
    named = [name for name in split_names(features or ignore or "") if name]
    for name in named:
        table.require_column(name, "--ignore" if features is None else "--features")
    if label in named and features is not None:
        raise InputError(
            f"--features must not name the class, {label}; it does. Leave it out there."
        )
    if features is None:
        named = [name for name in table.columns if name != label and name not in named]
    if not named:
        raise table.error(f"must have a feature beside {label}; got none. Add columns.")
    return named


def _convert(column: Column, kind: str) -> pl.Series:
    """A column as numbers, truth values, dates or text, according to what it was in training."""
    if kind in ("category", "ordered"):
        return column.cells
    cells, dated = _parse(column.cells, numeric=True), kind not in ("number", "boolean")
    fits = cells.dtype.is_temporal() if dated else _is_number(cells)
    if not fits and cells.null_count() < len(cells):
        first = _first_odd(cells)
        raise column.error(
            f"must be {'dates' if dated else 'numbers'}, as it was in training; "
            f"{column.row(first)} holds {quote(cells[first])}. Correct it, or give a copy without "
            f"the row.",
            first,
        )
    if not dated:
        _require_moderate(column, cells)
    return cells


def _require_moderate(column: Column, cells: pl.Series) -> None:
    bad = ~(np.abs(cells.cast(pl.Float64).fill_null(0.0).to_numpy()) <= _LARGEST)
    if bad.any():
        first = int(np.argmax(bad))
        raise column.error(
            f"must hold numbers up to {_LARGEST:g}; {column.row(first)} holds {cells[first]}. "
            "Correct it, or give a copy without the row.",
            first,
        )


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _may_identify(cells: pl.Series) -> bool:
    """Whether whole numbers or texts differ in each of many rows."""
    dated = cells.dtype.is_temporal()
    if len(cells) < _FEWEST_IDS or cells.n_unique() < len(cells) or dated:
        return False
    return not cells.dtype.is_float() or bool((cells == cells.floor()).all())


def _require_levels(column: Column) -> None:
    """Raise unless a column holds categories, or text of few values."""
    cells = column.cells
    ignore = f"--ignore {_as_typed(cells.name)}"
    if cells.dtype not in (pl.String, pl.Categorical) and not isinstance(cells.dtype, pl.Enum):
        raise column.error(
            f"must be numbers, truth values, dates or text; got {cells.dtype}. Leave it out with "
            f"{ignore}, or make numbers of it."
        )
    found = cells.cast(pl.String).drop_nulls().unique().sort()
    if len(found) > _MOST_LEVELS:
        odd = _odd_among_values(cells)
        such = quote(found[0]) if odd is None else f"{quote(cells[odd])} in row {odd + 1}"
        raise column.error(
            f"must hold at most {_MOST_LEVELS} different texts; it holds {len(found):,}, such as "
            f"{such}. Leave it out with {ignore}, or correct it if it should be numbers or dates."
        )


def _parse(column: pl.Series, numeric: bool = False) -> pl.Series:
    """The cells as numbers, truth values or dates, if every cell is one or stands for none.

    A column without any number or truth value is text, unless it is known to be numeric.
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype != pl.String:
        return column
    known, values = _likeliest_values(column)
    if known.null_count() == len(known) and not numeric:
        return column
    return values if values.null_count() == known.null_count() else column


def _likeliest_values(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Text without gaps, and the numbers, truth values or dates that most of its cells are."""
    text = column.str.strip_chars()
    known = text.set(text.is_null() | text.str.to_lowercase().is_in(_GAPS), None)
    numbers = known.cast(pl.Float64, strict=False)
    if numbers.null_count() == known.null_count():
        return known, numbers
    times = [known.str.replace("T", " ").str.to_datetime(form, strict=False) for form in _TIMES]
    readings = (
        numbers,
        known.replace_strict(_TRUTHS, default=None, return_dtype=pl.Boolean),
        pl.select(pl.coalesce(one.dt.replace_time_zone(None) for one in times)).to_series(),
    )
    return known, min(readings, key=pl.Series.null_count).alias(column.name)


def _first_odd(column: pl.Series) -> int:
    """Index of the first cell that is not what most cells are, or, where all are, that is known."""
    if column.dtype != pl.String:
        return first_true(column.is_not_null())
    known, values = _likeliest_values(column)
    return first_true(known.is_not_null() & values.is_null())


def _odd_among_values(column: pl.Series) -> int | None:
    """Index of the first odd cell, if more than half are numbers, truth values or dates."""
    if column.dtype != pl.String or 2 * _likeliest_values(column)[1].null_count() >= len(column):
        return None
    return _first_odd(column)


def _as_typed(name: str) -> str:
    """A name as it can be typed behind --ignore."""
    return shlex.quote(quote_name(name))
