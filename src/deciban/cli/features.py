"""Features: their types, the rows that a model learns from, and the rows it is asked about."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban._persistence.registry import load_with_extra
from deciban._validation.labels import label_array
from deciban.cli import tables
from deciban.cli.cells import (
    DOUBTFUL,
    MISSING,
    Column,
    Labels,
    count_labels,
    encode_labels,
    first_true,
)
from deciban.cli.files import Source, find_files
from deciban.cli.tables import Table, empty_to_null
from deciban.cli.words import count, quote, quote_name, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban._estimation.columns import Columns

_MAX_LEVELS = 50  # of a column of text; names and free text have more
_MIN_IDS = 30  # rows in which values that all differ are suspicious
_MAX_HELD_OUT = 50_000  # rows to assess a model by that are read in parts
_MAX_GIGABYTES = 1e6
_GAPS = ("", *MISSING, *DOUBTFUL)  # among numbers
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LARGEST = 1e100  # of numbers: their squares must not overflow
_TYPES: dict[str, pl.DataType] = {
    "category": pl.String(), "ordered": pl.String(), "date": pl.Datetime("us"),
    "datetime": pl.Datetime("us"), "duration": pl.Duration("us"),
}  # fmt: skip
_TIMES = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f%#z")

Rows = NDArray[np.intp]


class TrainingColumns(NamedTuple):
    label: str
    features: str | None
    ignore: str | None

    def select(self, table: Table) -> list[str]:
        table.require_column(self.label, "--label")
        if self.features is not None and self.ignore is not None:
            raise InputError("--features and --ignore exclude each other. Leave one out.")
        named = [name for name in split_names(self.features or self.ignore or "") if name]
        for name in named:
            table.require_column(name, "--ignore" if self.features is None else "--features")
        if self.features is None:
            named = [name for name in table.columns if name not in (self.label, *named)]
        elif self.label in named:
            raise InputError(f"--features names the class, {self.label}. Leave it out there.")
        if not named:
            raise table.error(f"has no feature besides {self.label}. Add columns.")
        return named


class Data(NamedTuple):
    """Arguments for fit, and held-out samples."""

    name: str
    n_rows: int  # to learn from
    train: tuple[Any, ...]
    held_out: tuple[Rows, Any, np.ndarray] | None  # row numbers, features and classes
    notes: list[str]


def read_training_table(table: str, columns: TrainingColumns, share: float, needed: bool) -> Data:
    """All rows in a table; a ``share`` is held out, and must be if ``needed``."""
    source, label = tables.open_table(table), columns.label
    names = columns.select(source)
    frame = source.read([label, *names])
    labels, codes = encode_labels(Column(frame[label], source.name))
    if len(labels) == len(codes):
        raise InputError(
            f"{label} has {len(labels):,} classes in {len(codes):,} rows; a class needs at least "
            "two rows. Is it the right --label?"
        )
    train, held_out = _split_rows(codes, labels, share, needed)
    X = _type_columns([Column(frame[name], source.name) for name in names])
    notes = [
        f"{label!r} is taken as a class. If it stands for a missing label, give a copy of the "
        "table without such rows."
        for label in labels
        if str(label).strip().lower() in DOUBTFUL
    ]
    y = label_array(labels)[codes]
    notes += _describe_doubts(frame, X)
    aside = None if held_out is None else (held_out, X[held_out], y[held_out])
    return Data(source.name, len(train), (X[train], y[train]), aside, notes)


def read_training_parquet(
    table: str, columns: TrainingColumns, share: float, needed: bool, gigabytes: float
) -> Data:
    """Rows in Parquet files, read in parts; a random subset is held out."""
    from deciban.discriminant.batches import Batches

    if not 0 < gigabytes < _MAX_GIGABYTES:
        raise InputError(f"--memory must be a positive number of GB; got {gigabytes:g}. Give 1.")
    _check_report(needed, share)
    files = find_files(table)
    names = columns.select(tables.open_table(files[0]))
    memory = int(gigabytes * 1e9)
    batches = Batches.from_parquet(files, columns.label, features=names, memory=memory)
    labels, _ = count_labels([tables.open_table(file) for file in files], columns.label)
    if len(labels) < 2:
        raise Column(labels, table).error(
            "has one class; a model needs two or more. Name the column of the true class."
        )
    rng, n = np.random.default_rng(0), batches.n_rows
    most = min(_MAX_HELD_OUT, memory // (16 * 8 * len(names)))
    aside = np.sort(rng.choice(n, min(round(share * n), most), replace=False))
    held_out = (aside, *batches.read_rows(aside)[1:3]) if len(aside) else None
    return Data(table, n - len(aside), (batches.without(aside),), held_out, [])


def _check_report(needed: bool, share: float) -> None:
    if needed and share == 0:
        raise InputError("--report needs rows to assess the model by. Give --validation 0.2.")


def _split_rows(
    codes: Rows, labels: Labels, share: float, needed: bool
) -> tuple[Rows, Rows | None]:
    """Stratified training rows and held-out rows."""
    counts = np.bincount(codes, minlength=len(labels))
    rarest, n = labels[int(np.argmin(counts))], int(counts.min())
    aside = np.round(share * counts).astype(int)  # of each class
    too_rare = n < 2 or int(aside.min()) < 1
    _check_report(needed, share)
    if too_rare and not needed:
        return np.arange(len(codes)), None
    if too_rare:
        remedy = "Add rows of it" if n < 2 else f"Give --validation {min(0.5 / n + 0.005, 0.5):.2f}"
        raise InputError(
            f"--report needs rows of every class to assess the model by; class {rarest!r} has "
            f"{count(n, 'row')}, of which --validation {share:g} sets none aside. {remedy}, "
            "or leave out --report."
        )
    if int((counts - aside).min()) < 1:
        raise InputError(
            f"--validation {share:g} leaves no row of class {rarest!r}, which has "
            f"{count(n, 'row')}, to learn from. Give 0.2."
        )
    order = np.random.default_rng(0).permutation(len(codes))
    by_class = np.split(order[np.argsort(codes[order], kind="stable")], np.cumsum(counts)[:-1])
    held_out = np.concatenate([rows[:n] for rows, n in zip(by_class, aside, strict=True)])
    return np.setdiff1d(order, held_out), np.sort(held_out)


def load_model(path: Path) -> Any:
    """A model from a file that stores its column names."""
    estimator = load_with_extra(path)[0]
    names = estimator.columns_.names if hasattr(estimator, "columns_") else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{path} is not a model of `deciban fit`: it has no names of columns. Fit it with the "
            "command, or to a frame in Python; calibrators are for `deciban apply`."
        )
    return estimator


def open_features(columns: Columns, source: Source) -> Table:
    """A table with all columns that a model needs."""
    table = tables.open_table(source)
    for name in columns.names:
        table.require_column(name, "the model")
    return table


def read_features(
    estimator: Any, source: Source, label: str | None = None, option: str = ""
) -> tuple[Table, pl.DataFrame]:
    """A table, and a frame with a model's columns and the label that an option names."""
    table = open_features(estimator.columns_, source)
    more = [] if label is None else [table.require_column(label, option)]
    frame = table.read(list(dict.fromkeys([*more, *estimator.columns_.names])))
    if not len(frame):
        raise table.error("has no rows. Give a table with samples.")
    return table, frame


def read_samples(
    estimator: Any, source: Source, label: str, option: str
) -> tuple[pl.DataFrame, np.ndarray]:
    table, frame = read_features(estimator, source, label, option)
    labels, codes = encode_labels(Column(frame[label], table.name))
    return read_rows(estimator.columns_, frame, table.name), label_array(labels)[codes]


def read_rows(columns: Columns, frame: pl.DataFrame, source: str, start: int = 0) -> pl.DataFrame:
    """New rows with the types that a model takes; ``start`` table rows precede them."""
    frame = empty_to_null(frame.select(columns.names))
    cells = (Column(frame[name], source, start) for name in columns.names)
    kinds = (columns.kinds.get(k, "number") for k in range(len(columns.names)))
    return pl.DataFrame([*map(_convert, cells, kinds)])


def share_types(columns: Columns, *frames: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows that a model takes, with one type per column in all frames."""
    kinds = {name: columns.kinds.get(k, "number") for k, name in enumerate(columns.names)}
    types = {name: _TYPES.get(kind, pl.Float64()) for name, kind in kinds.items()}
    return [frame.cast({name: types[name] for name in frame.columns}) for frame in frames]


def typical_row(columns: Columns) -> pl.DataFrame:
    """A row with the values that fill gaps."""
    row: pl.DataFrame = columns.decode(columns.encode(columns.fill[None]), pl.DataFrame())
    return row


def _convert(column: Column, kind: str) -> pl.Series:
    """A column as numbers, truth values, dates or text, as it was in training."""
    if kind in ("category", "ordered"):
        return column.cells
    cells, dated = _parse(column.cells, numeric=True), kind not in ("number", "boolean")
    fits = cells.dtype.is_temporal() if dated else _is_number(cells)
    if not fits and cells.null_count() < len(cells):
        first = _first_odd(cells)
        raise column.error(
            f"holds {quote(cells[first])} in {column.row(first)}; in training it held "
            f"{'dates' if dated else 'numbers'}. {column.remedy}",
            first,
        )
    if not dated:
        _check_moderate(column, cells)
    return cells


def _type_columns(columns: Sequence[Column]) -> pl.DataFrame:
    """The training columns, with numbers, truth values and dates parsed from text."""
    typed = []
    for column in columns:
        cells = _parse(column.cells)
        ignore = _ignore(cells.name)
        if cells.null_count() == len(cells):
            raise column.error(f"holds no values. Leave it out with {ignore}.")
        if _is_number(cells):
            _check_moderate(column, cells)
        elif not cells.dtype.is_temporal() or cells.dtype == pl.Time:
            _check_levels(column)
        typed.append(cells)
    return pl.DataFrame(typed)


def _describe_doubts(frame: pl.DataFrame, typed: pl.DataFrame) -> list[str]:
    """Likely mistakes: identifiers, numbers read as text, words for missing values."""
    found = [
        f"{cells.name} has a different value in every row: if it is an identifier, leave it out "
        f"with {_ignore(cells.name)}"
        for cells in typed
        if _may_identify(cells)
    ]
    for cells in typed.select(pl.col(pl.String)):
        levels = cells.drop_nulls().unique().sort()
        gaps = levels.filter(levels.str.strip_chars().str.to_lowercase().is_in(_GAPS))
        if len(gaps):
            found.append(
                f"{cells.name} treats {gaps[0]!r} as an ordinary value. If it stands for a "
                "missing value, give a copy with such cells empty."
            )
        odd = _odd_among_values(frame[cells.name])
        if odd is not None:
            found.append(
                f"{cells.name} is taken as text with {len(levels)} values, since row {odd + 1} "
                f"holds {quote(cells[odd])}. If it should be numbers or dates, give a copy with "
                "such cells corrected."
            )
    return found


def _check_moderate(column: Column, cells: pl.Series) -> None:
    bad = ~(cells.cast(pl.Float64).fill_null(0.0).abs() <= _LARGEST)
    if bad.any():
        first = first_true(bad)
        raise column.error(
            f"holds {cells[first]} in {column.row(first)}; numbers up to {_LARGEST:g} can be used. "
            f"{column.remedy}",
            first,
        )


def _check_levels(column: Column) -> None:
    """Raise unless a column holds categories, or text with few values."""
    cells = column.cells
    ignore = _ignore(cells.name)
    if cells.dtype not in (pl.String, pl.Categorical) and not isinstance(cells.dtype, pl.Enum):
        raise column.error(
            f"is of type {cells.dtype}; features are numbers, truth values, dates or text. Leave "
            f"it out with {ignore}, or make numbers of it."
        )
    found = cells.cast(pl.String).drop_nulls().unique().sort()
    if len(found) > _MAX_LEVELS:
        odd = _odd_among_values(cells)
        such = quote(found[0]) if odd is None else f"{quote(cells[odd])} in row {odd + 1}"
        raise column.error(
            f"holds {len(found):,} different texts, such as {such}; a feature may have "
            f"{_MAX_LEVELS}. Leave it out with {ignore}, or correct it if it should be numbers or "
            "dates."
        )


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _may_identify(cells: pl.Series) -> bool:
    """Whether whole numbers or texts differ in every row."""
    if len(cells) < _MIN_IDS or cells.n_unique() < len(cells) or cells.dtype.is_temporal():
        return False
    return not cells.dtype.is_float() or bool((cells == cells.floor()).all())


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
    """Text without gaps, and the numbers, truth values or dates in most cells."""
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
    """Index of the first cell that does not fit the rest; if all fit, the first known one."""
    if column.dtype != pl.String:
        return first_true(column.is_not_null())
    known, values = _likeliest_values(column)
    return first_true(known.is_not_null() & values.is_null())


def _odd_among_values(column: pl.Series) -> int | None:
    """Index of the first odd cell, if most are numbers, truth values or dates."""
    if column.dtype != pl.String or 2 * _likeliest_values(column)[1].null_count() >= len(column):
        return None
    return _first_odd(column)


def _ignore(name: str) -> str:
    return f"--ignore {shlex.quote(quote_name(name))}"
