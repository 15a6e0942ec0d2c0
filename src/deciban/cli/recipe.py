"""From the columns of a table to the features of a model, the same way each time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban._persistence.registry import load_with_extra
from deciban.cli.cells import DOUBTFUL, MISSING, Column, first_true
from deciban.cli.io.formats import Table, empty_to_null
from deciban.cli.words import join_words, quote, quote_name, split_names, suggest
from deciban.exceptions import InputError

_MOST_LEVELS = 50  # of a column of text; names and free text have more
_FEWEST_IDS = 30  # rows in which values that all differ are suspicious
_GAPS = ("", *MISSING, *DOUBTFUL)  # among numbers
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LARGEST = 1e100  # of numbers: their squares must not overflow
_VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """Which columns a model takes, and how they become features.

    Each value of a column of text but the first becomes a feature of zeros and ones.
    """

    label: str  # column of the class
    numeric: list[str]  # columns of numbers and truth values, taken as they are
    levels: dict[str, list[str]]  # columns of text, and their values
    fill: dict[str, Any]  # replacement for missing values; other columns must have none

    @classmethod
    def learn(
        cls, columns: Sequence[Column], label: str, impute: bool, rows: NDArray[np.intp]
    ) -> Recipe:
        """The recipe of a table: the kind of each column, its levels, and what fills its gaps.

        Replacements are typical of ``rows``, since rows that assess a model must not shape it.
        """
        recipe = cls(label, [], {}, {})
        for given in columns:
            column = replace(given, cells=_parse(given.cells))
            cells, name = column.cells, column.cells.name
            missing = cells.null_count()
            ignore = f"--ignore {_as_typed(name)}"
            if missing and not impute:
                first = first_true(cells.is_null())
                raise column.error(
                    f"must have no missing values; {missing:,} of {len(cells):,} are missing, in "
                    f"{column.row(first)} first. Pass --impute, or leave it out with {ignore}.",
                    first,
                )
            if missing == len(cells):
                raise column.error(f"must hold values; it holds none. Leave it out with {ignore}.")
            if _is_number(cells):
                recipe.numeric.append(name)
            else:
                recipe.levels[name] = _find_levels(column)
            if missing:
                known = cells[rows].drop_nulls()
                recipe.fill[name] = _typical(known if len(known) else cells)
        return recipe

    def notes(self, frame: pl.DataFrame) -> list[str]:
        """What may not be meant: identifiers, numbers read as text, words for missing values."""
        found = [
            f"{name} has a different value in every row: if it is an identifier, leave it out "
            f"with --ignore {_as_typed(name)}"
            for name in self.columns
            if _may_identify(_parse(frame[name]))
        ]
        for name, levels in self.levels.items():
            gaps = [level for level in levels if level.strip().lower() in _GAPS]
            if gaps:
                found.append(
                    f"{name} treats {gaps[0]!r} as an ordinary value. If it stands for a "
                    f"missing value, give a copy with such cells empty."
                )
            odd = _odd_among_numbers(frame[name])
            if odd is not None:
                found.append(
                    f"{name} is taken as text of {len(levels)} values, since row {odd + 1} holds "
                    f"{quote(frame[name][odd])}. If it should be numbers, give a copy with such "
                    "cells corrected."
                )
        return found

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*self.numeric, *self.levels]

    @property
    def features(self) -> list[str]:
        """Names of the model's features."""
        pairs = [(name, level) for name, levels in self.levels.items() for level in levels[1:]]
        return [*self.numeric, *(f"{name}={level}" for name, level in pairs)]

    def matrix(self, frame: pl.DataFrame, source: str, start: int = 0) -> NDArray[np.float64]:
        """The features of a frame, (n_rows, n_features); ``start`` rows of the table precede it."""
        frame = empty_to_null(frame.select(self.columns))
        X = np.empty((frame.height, len(self.features)))
        for k, name in enumerate(self.numeric):
            X[:, k] = self._numbers(Column(frame[name], source, start))
        k = len(self.numeric)
        for name, levels in self.levels.items():
            text = self._texts(Column(frame[name], source, start))
            for level in levels[1:]:
                X[:, k] = (text == level).to_numpy()
                k += 1
        return X

    def require_in(self, table: Table) -> None:
        """Raise unless the table has all columns that are read."""
        for name in self.columns:
            table.require_column(name, "the model")

    def _numbers(self, column: Column) -> NDArray[np.float64]:
        cells = _parse(column.cells, numeric=True)
        if not _is_number(cells):
            first = _first_text(cells)
            raise column.error(
                f"must be numbers, as it was in training; {column.row(first)} holds "
                f"{quote(cells[first])}. Correct it, or give a copy without the row.",
                first,
            )
        values = self._fill(column, cells).cast(pl.Float64).to_numpy()
        bad = ~(np.abs(values) <= _LARGEST)
        if bad.any():
            first = int(np.argmax(bad))
            raise column.error(
                f"must hold numbers up to {_LARGEST:g}; {column.row(first)} holds {values[first]}. "
                "Correct it, or give a copy without the row.",
                first,
            )
        return np.asarray(values)

    def _texts(self, column: Column) -> pl.Series:
        cells, levels = column.cells, self.levels[column.cells.name]
        if _is_number(cells):
            raise column.error(
                f"must be text, as it was in training; got {cells.dtype}. Correct the column."
            )
        text = self._fill(column, cells.cast(pl.String))
        unknown = ~text.is_in(levels)
        if unknown.any():
            first = first_true(unknown)
            raise column.error(
                f"must hold values seen in training ({join_words(levels)}); {column.row(first)} "
                f"holds {quote(text[first])}.{suggest(text[first], levels)} Correct it, or train "
                "with such rows.",
                first,
            )
        return text

    def _fill(self, column: Column, cells: pl.Series) -> pl.Series:
        if not cells.null_count():
            return cells
        if cells.name not in self.fill:
            first = first_true(cells.is_null())
            raise column.error(
                f"must have no missing values, since it had none in training; {column.row(first)} "
                "has. Fill it, or give a copy without the row.",
                first,
            )
        return cells.fill_null(self.fill[cells.name])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a model's file."""
        return {"recipe": _VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any] | None, path: Any, n_features: int) -> Recipe:
        """The recipe in a model's file, or an error."""
        if not plain or plain.get("recipe") != _VERSION:
            raise InputError(
                f"{path} must be a model of `deciban fit`; it has no recipe of columns. Fit it "
                f"with the command, or use it from Python; calibrators are for `deciban apply`."
            )
        try:
            recipe = cls(
                str(plain["label"]),
                [str(name) for name in plain["numeric"]],
                {str(k): [str(level) for level in levels] for k, levels in plain["levels"].items()},
                dict(plain["fill"]),
            )
            for name, value in recipe.fill.items():
                number = isinstance(value, bool | int | float) and abs(value) <= _LARGEST
                if not (number if name in recipe.numeric else isinstance(value, str)):
                    raise ValueError(name)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise InputError(
                f"{path} must hold a whole recipe of columns; a part is missing or wrong. Fit it "
                f"again."
            ) from None
        if len(recipe.features) != n_features:
            raise InputError(
                f"{path} must hold a recipe of its model's {n_features} features; it has one of "
                f"{len(recipe.features)}. Fit it again."
            )
        return recipe


def load_model(path: Path) -> tuple[Any, Recipe]:
    """The model in a file of ``deciban fit``, and its recipe."""
    estimator, extra = load_with_extra(path)
    return estimator, Recipe.from_dict(extra, path, getattr(estimator, "n_features_in_", -1))


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


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _may_identify(cells: pl.Series) -> bool:
    """Whether whole numbers or texts differ in each of many rows."""
    if len(cells) < _FEWEST_IDS or cells.n_unique() < len(cells):
        return False
    return not cells.dtype.is_float() or bool((cells == cells.floor()).all())


def _find_levels(column: Column) -> list[str]:
    cells = column.cells
    ignore = f"--ignore {_as_typed(cells.name)}"
    if cells.dtype not in (pl.String, pl.Categorical) and not isinstance(cells.dtype, pl.Enum):
        raise column.error(
            f"must be numbers, truth values or text; got {cells.dtype}. Leave it out with "
            f"{ignore}, or make numbers of it."
        )
    found: list[str] = cells.cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(found) > _MOST_LEVELS:
        odd = _odd_among_numbers(cells)
        such = quote(found[0]) if odd is None else f"{quote(cells[odd])} in row {odd + 1}"
        raise column.error(
            f"must hold at most {_MOST_LEVELS} different texts; it holds {len(found):,}, such as "
            f"{such}. Leave it out with {ignore}, or correct it if it should be numbers."
        )
    return found


def _parse(column: pl.Series, numeric: bool = False) -> pl.Series:
    """The cells as numbers or truth values, if every cell is one or stands for a missing one.

    A column without any number or truth value is text, unless it is known to be numeric.
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
    missing = text.is_null() | text.str.to_lowercase().is_in(_GAPS)
    if missing.all() and not numeric:
        return column
    known = text.set(missing, None)
    for values in (
        known.cast(pl.Float64, strict=False),
        known.replace_strict(_TRUTHS, default=None, return_dtype=pl.Boolean),
    ):
        if values.null_count() == known.null_count():
            return values.alias(column.name)
    return column


def _first_text(column: pl.Series) -> int:
    """Index of the first cell that is neither missing nor a number; 0 in columns of other types."""
    if column.dtype != pl.String:
        return first_true(column.is_not_null())
    text = column.str.strip_chars()
    odd = text.cast(pl.Float64, strict=False).is_null() & text.is_not_null()
    return first_true(odd & ~text.str.to_lowercase().is_in(_GAPS))


def _odd_among_numbers(column: pl.Series) -> int | None:
    """Index of the first cell that is not a number, if more than half of the cells are numbers."""
    if column.dtype != pl.String:
        return None
    values = column.str.strip_chars().cast(pl.Float64, strict=False)
    return _first_text(column) if 2 * values.null_count() < len(column) else None


def _as_typed(name: str) -> str:
    """A name as it can be typed behind --ignore."""
    return shlex.quote(quote_name(name))


def _typical(column: pl.Series) -> Any:
    """The median of numbers, the most frequent one of texts and truth values."""
    if column.dtype.is_numeric():
        return float(column.median())  # type: ignore[arg-type]
    commonest = column.drop_nulls().mode().sort()[0]
    return commonest if column.dtype == pl.Boolean else str(commonest)
