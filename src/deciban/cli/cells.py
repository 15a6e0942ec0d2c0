"""Cells of a column as the labels of classes, or as numbers."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.words import join_words, quote
from deciban.exceptions import TableError

Labels = tuple[Hashable, ...]
_LARGEST = 1e300  # of finite numbers: their sums must not overflow
_MOST_CLASSES = 10_000
_MISSING = ("na", "n/a", "#n/a", "nan", "null")  # written for a label that is not known


def column_error(
    sentence: str, column: pl.Series, source: str, row: int | None = None
) -> TableError:
    """An error about a column of a table, and about a row of it counted from 0."""
    rows = [] if row is None else [row]
    return TableError(sentence, file=source, column=column.name, rows=rows)


def encode_labels(series: pl.Series, source: str) -> tuple[Labels, NDArray[np.intp]]:
    """The distinct labels of a column, sorted, and the index of each row's label among them.

    Labels in text are text as written, unless all of them are whole numbers as Python writes them.
    """
    _refuse_empty(series, source)
    series = _as_labels(series, source)
    labels = series.unique().sort()
    if not 2 <= len(labels) <= _MOST_CLASSES:
        raise column_error(
            f"must hold two classes or more, {_MOST_CLASSES:,} at most; got {len(labels):,}. Name "
            "the column of the true class.", series, source,
        )  # fmt: skip
    places = pl.Series(range(len(labels)), dtype=pl.Int64)
    codes = series.replace_strict(labels, places, return_dtype=pl.Int64)
    return tuple(labels.to_list()), codes.to_numpy()


def _as_labels(series: pl.Series, source: str) -> pl.Series:
    if series.dtype == pl.Boolean or series.dtype.is_integer():
        return series
    if not series.dtype.is_float():
        try:
            series = series.cast(pl.String)
        except pl.exceptions.PolarsError:
            raise column_error(
                f"must hold text, whole numbers or truth values; got {series.dtype}. Name the "
                "column of the true class.", series, source,
            ) from None  # fmt: skip
        _refuse_missing_labels(series, source)
    numbers = series.cast(pl.Float64, strict=False)
    if numbers.null_count():
        return series
    if not (numbers == numbers.floor()).all():
        raise column_error(
            "must hold classes; got numbers with fractions. Name the column of the true class.",
            series, source,
        )  # fmt: skip
    whole = numbers.cast(pl.Int64, strict=False)
    same = series.dtype.is_float() or (whole.cast(pl.String) == series).all()
    return whole if same and not whole.null_count() else series


def _refuse_missing_labels(series: pl.Series, source: str) -> None:
    missing = series.str.strip_chars().str.to_lowercase().is_in(_MISSING)
    rows = missing.arg_true().to_list()
    if rows:
        which = f"row {rows[0] + 1} holds"
        if len(rows) > 1:
            which = f"rows {join_words([row + 1 for row in rows], 5)} hold"
        raise TableError(
            f"must hold the class of every row; {which} {quote(series[rows[0]])}. Drop such rows, "
            f"or, if it is a class, rename it.", file=source, column=series.name, rows=rows[:100],
        )  # fmt: skip


def parse_numbers(series: pl.Series, source: str, start: int = 0) -> NDArray[np.float64]:
    """A column as floats, none of them missing or NaN; ``inf`` and ``-inf`` are allowed."""
    _refuse_empty(series, source, start)
    text = series.dtype == pl.String
    if not text and not series.dtype.is_numeric():
        raise column_error(
            f"must hold numbers; got {series.dtype}. Name another column.", series, source,
        )  # fmt: skip
    values = series.str.strip_chars().cast(pl.Float64, strict=False) if text else series
    floats = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    large = (np.abs(floats) > _LARGEST) & np.isfinite(floats)
    bad = np.isnan(floats) | large
    if bad.any():
        row = int(np.argmax(bad))
        what, remedy = "numbers", "Drop or impute them first."
        if large[row]:
            what, remedy = f"numbers up to {_LARGEST:g}, or inf", "Correct them."
        raise column_error(
            f"must hold {what}; row {start + row + 1} holds {quote(series[row])}, one of "
            f"{int(bad.sum()):,} such. {remedy}", series, source, start + row,
        )  # fmt: skip
    return np.asarray(floats)


def _refuse_empty(series: pl.Series, source: str, start: int = 0) -> None:
    if len(series) == 0:
        raise TableError("must hold rows; it holds none. Give a table with samples.", file=source)
    missing = series.null_count()
    if missing:
        row = start + int(series.is_null().arg_max() or 0)
        raise column_error(
            f"must have no empty cells; row {row + 1} has one, of {missing:,}. Drop or impute "
            "them first.", series, source, row,
        )  # fmt: skip
