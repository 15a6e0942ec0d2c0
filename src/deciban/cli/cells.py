"""Cells as class labels or numbers."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.tables import Table, empty_to_null
from deciban.cli.words import join_words, one_of_such, quote
from deciban.exceptions import TableError

Labels = tuple[Hashable, ...]
MISSING = ("na", "n/a", "#n/a", "nan", "null")  # what people write for a missing value
DOUBTFUL = ("none", "?", "-", ".")  # what may stand for a missing value, or for itself
KEY_WORDS = (  # for trials of different sources and of one: the latter are targets
    ("0", "1"), ("0.0", "1.0"), ("-1", "1"), ("false", "true"), ("f", "t"), ("no", "yes"),
    ("n", "y"), ("nontarget", "target"), ("non", "tar"), ("nontgt", "tgt"), ("impostor", "target"),
    ("impostor", "genuine"), ("imposter", "genuine"), ("different", "same"), ("diff", "same"),
    ("differentsource", "samesource"), ("differentspeaker", "samespeaker"), ("ds", "ss"),
    ("nonmated", "mated"), ("nonmatch", "match"), ("hd", "hp"), ("spoof", "bonafide"),
)  # fmt: skip
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_JOINTS = re.compile(r"(?<=[a-z])[-_ ](?=[a-z])")  # non-target, non_target and nontarget are one
NO_LABEL = "Fill it in, or leave out rows without a label."
_LARGEST = 1e300  # of finite numbers: their sums must not overflow
_MAX_CLASSES = 10_000


@dataclass(frozen=True)
class Column:
    """Cells in a column, and their source."""

    cells: pl.Series
    file: str  # its name in messages
    start: int = 0  # rows of the table before the first cell
    remedy: str = "Correct it, or give a copy of the table without such rows."

    def row(self, index: int) -> str:
        """The row for messages, counted from 1."""
        return f"row {self.start + index + 1}"

    def error(self, sentence: str, index: int | None = None) -> TableError:
        rows = [] if index is None else [self.start + index]
        return TableError(sentence, file=self.file, column=self.cells.name, rows=rows)

    def check_filled(self) -> None:
        if not len(self.cells):
            raise TableError("has no rows. Give a table with samples.", file=self.file)
        missing = self.cells.null_count()
        if missing:
            first = first_true(self.cells.is_null())
            total = f" ({missing:,} in all)" if missing > 1 else ""
            raise self.error(
                f"must have no empty cells; {self.row(first)} has one{total}. {self.remedy}", first
            )


def first_true(mask: pl.Series) -> int:
    """Index of the first true cell; 0 if none is."""
    return int(mask.arg_max() or 0)


def fold_key_word(label: Hashable) -> str:
    """A key word in lower case without hyphens: nontarget for Non-Target."""
    return _JOINTS.sub("", str(label).strip().lower())


def find_target(labels: Iterable[Hashable]) -> Hashable | None:
    """The label that means target (same source), if both are key words."""
    by_word = {fold_key_word(label): label for label in labels}
    return next((by_word[pair[1]] for pair in KEY_WORDS if by_word.keys() == set(pair)), None)


def unify_key_words(column: Column) -> Column:
    """The column with one spelling per key word, if it has several (``TRUE``)."""
    labels = column.cells.drop_nulls().unique()
    if labels.dtype != pl.String or not 2 < len(labels) < 100:
        return column
    words = labels.map_elements(fold_key_word, return_dtype=pl.String)
    if find_target(words) is None:
        return column
    return replace(column, cells=column.cells.replace_strict(labels, words))


def encode_labels(column: Column) -> tuple[Labels, NDArray[np.intp]]:
    """The sorted distinct labels, and the index for each row among them."""
    column.check_filled()
    cells = _as_labels(column)
    labels = cells.unique().sort()
    if not 2 <= len(labels) <= _MAX_CLASSES:
        raise column.error(
            f"has {len(labels):,} distinct values; labels are of two classes or more, "
            f"{_MAX_CLASSES:,} at most. Name the column of the true class."
        )
    codes = cells.replace_strict(labels, pl.Series(range(len(labels))), return_dtype=pl.Int64)
    return tuple(labels.to_list()), codes.to_numpy()


def _as_labels(column: Column) -> pl.Series:
    """Text as written, unless all labels are whole numbers as Python writes them."""
    cells = column.cells
    if cells.dtype == pl.Boolean or cells.dtype.is_integer():
        return cells
    if not cells.dtype.is_float():
        try:
            cells = cells.cast(pl.String)
        except pl.exceptions.PolarsError:
            raise column.error(
                f"is of type {cells.dtype}; labels are text, whole numbers or truth values. Name "
                "the column of the true class."
            ) from None
        _check_no_missing_words(replace(column, cells=cells))
    numbers = cells.cast(pl.Float64, strict=False)
    if numbers.null_count():
        return cells
    if not (numbers == numbers.floor()).all():
        raise column.error(
            "has numbers with fractions, not classes. Name the column of the true class."
        )
    whole = numbers.cast(pl.Int64, strict=False)
    same = cells.dtype.is_float() or (whole.cast(pl.String) == cells).all()
    return whole if same and not whole.null_count() else cells


def _check_no_missing_words(column: Column) -> None:
    """Raise if some labels are words for a missing value, such as NA."""
    text = column.cells
    rows = text.str.strip_chars().str.to_lowercase().is_in(MISSING).arg_true().to_list()
    if rows:
        numbers = join_words([column.start + row + 1 for row in rows], 5)
        which = f"row {numbers} holds" if len(rows) == 1 else f"rows {numbers} hold"
        raise TableError(
            f"must hold the class of every row; {which} {quote(text[rows[0]])}. Fill it in, or "
            "give a copy of the table without such rows; if it is a class, write another word.",
            file=column.file,
            column=text.name,
            rows=[column.start + row for row in rows[:100]],
        )


def count_labels(tables: Sequence[Table], truth: str) -> tuple[pl.Series, NDArray[np.intp]]:
    """Distinct labels and how often each occurs."""
    counts = []
    for table in tables:
        start = table.first
        for frame in table.batches(1 << 20, [truth]):
            column = Column(empty_to_null(frame)[truth], table.name, start, remedy=NO_LABEL)
            if frame.height:
                column.check_filled()
            counts.append(column.cells.value_counts(name="n"))
            words = counts[-1][truth].cast(pl.String).str.strip_chars().str.to_lowercase()
            if words.is_in(MISSING).any() and column.cells.dtype == pl.String:
                _check_no_missing_words(column)
            start += frame.height
    found = pl.concat(counts).group_by(truth).agg(pl.col("n").sum()).sort(truth)
    if not found.height:
        raise tables[0].error("has no rows. Give a table with samples.")
    return found[truth], found["n"].to_numpy().astype(np.intp)


def parse_numbers(column: Column) -> NDArray[np.float64]:
    """A column as floats without missing values or NaN; ``inf`` and ``-inf`` are allowed."""
    column.check_filled()
    cells = column.cells
    if cells.dtype == pl.String:
        values = cells.str.strip_chars().cast(pl.Float64, strict=False)
    elif cells.dtype.is_numeric():
        values = cells.cast(pl.Float64)
    else:
        raise column.error(f"is of type {cells.dtype}, not numbers. Name another column.")
    floats = values.fill_null(float("nan")).to_numpy()
    large = (np.abs(floats) > _LARGEST) & np.isfinite(floats)
    bad = np.isnan(floats) | large
    if bad.any():
        first = int(np.argmax(bad))
        allowed, remedy = "numbers", column.remedy
        if large[first]:
            allowed, remedy = f"numbers up to {_LARGEST:g}, or inf", "Correct it, or write inf."
        elif _DECIMAL_COMMA.fullmatch(str(cells[first])):
            remedy = "It has decimal commas: save it with decimal points."
        raise column.error(
            f"must hold {allowed}; {column.row(first)} holds {quote(cells[first])}"
            f"{one_of_such(int(bad.sum()))}. {remedy}",
            first,
        )
    return np.asarray(floats)
