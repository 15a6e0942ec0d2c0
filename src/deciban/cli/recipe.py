"""From the columns of a table to the features of a model, the same way each time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from deciban.cli.io.formats import listed, names_in, quoted
from deciban.cli.io.tables import nearest
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame, Series

_MOST_LEVELS = 50  # of a column of text; a name or a number in writing has more
_MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".")  # among numbers
_LARGEST = 1e100  # of numbers: their squares must not overflow
_VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """Which columns a model takes, and what becomes of them.

    Attributes
    ----------
    label : str
        The column of the class.
    numeric : list of str
        Columns of numbers and truth values, taken as they are.
    levels : dict of list of str
        Columns of text and their values; each but the first becomes a feature of zeros and ones.
    fill : dict
        What stands in for missing values, by column; none are allowed in others.
    """

    label: str
    numeric: list[str]
    levels: dict[str, list[str]]
    fill: dict[str, Any]

    @classmethod
    def learn(cls, frame: DataFrame, label: str, names: Sequence[str], impute: bool, source: str,
              rows: np.ndarray | None = None) -> Recipe:  # fmt: skip
        """The recipe of a table: the kind of each column, its levels, and what fills its gaps.

        What fills gaps is typical of ``rows``: those that judge a model must not shape it.
        """
        numeric: list[str] = []
        levels: dict[str, list[str]] = {}
        fill: dict[str, Any] = {}
        for name in names:
            column = _read_as(frame[name])
            missing = column.null_count()
            if missing and not impute:
                raise InputError(
                    f"{name} in {source} must have no missing values; {missing:,} of "
                    f"{len(column):,} are missing, in row {_first_null(column)} first. Pass "
                    f"--impute, or leave it out with --ignore {_typed(name)}."
                )
            if missing == len(column):
                raise InputError(
                    f"{name} in {source} must hold values; it holds none. Leave it out with "
                    f"--ignore {_typed(name)}."
                )
            if _is_number(column):
                numeric.append(name)
            else:
                levels[name] = _levels(column, source)
            if missing:
                known = (column if rows is None else column[rows]).drop_nulls()
                fill[name] = _typical(known if len(known) else column)
        if not numeric and not levels:
            raise InputError(f"{source} must have a feature beside {label}; got none. Add columns.")
        return cls(label, numeric, levels, fill)

    def doubts(self, frame: DataFrame) -> list[str]:
        """What may not be meant: text that is numbers but for some cells, or a word for nothing."""
        found = []
        for name, some in self.levels.items():
            gaps = [level for level in some if level.strip().lower() in _MISSING]
            if gaps:
                found.append(
                    f"{name} takes {gaps[0]!r} for a value like others. Where it stands for a "
                    f"missing one, empty such cells."
                )
            odd = _odd_among_numbers(frame[name])
            if odd is not None:
                found.append(
                    f"{name} is taken as text of {len(some)} values, since row {odd + 1} holds "
                    f"{frame[name][odd]!r}. Where it should be numbers, correct such cells."
                )
        return found

    @property
    def columns(self) -> list[str]:
        """Those that are read."""
        return [*self.numeric, *self.levels]

    @property
    def features(self) -> list[str]:
        """Names of what the model sees."""
        made = [f"{name}={level}" for name, some in self.levels.items() for level in some[1:]]
        return [*self.numeric, *made]

    def matrix(self, frame: DataFrame, source: str, first_row: int = 1) -> np.ndarray:
        """The features of a table, (n_rows, n_features).

        Parameters
        ----------
        frame : DataFrame
        source : str
            Its name, for errors.
        first_row : int
            The number of its first row in the file.
        """
        import numpy as np

        out = np.empty((len(frame), len(self.features)))
        for k, name in enumerate(self.numeric):
            out[:, k] = self._numbers(frame[name], source, first_row)
        k = len(self.numeric)
        for name, some in self.levels.items():
            text = self._texts(frame[name], source, first_row)
            for level in some[1:]:
                out[:, k] = (text == level).to_numpy()
                k += 1
        return out

    def _numbers(self, column: Series, source: str, first_row: int) -> np.ndarray:
        import numpy as np
        import polars as pl

        column = _read_as(column, numeric=True)
        if not _is_number(column):
            if column.null_count() < len(column):
                odd = _first_text(column)
                raise InputError(
                    f"{column.name} in {source} must be numbers, as it was in training; row "
                    f"{odd + first_row} holds {column[odd]!r}. Correct it, or leave the row out.",
                    rows=[odd],
                )
            column = column.cast(pl.Float64)
        column = self._filled(column, source, first_row)
        values = column.cast(pl.Float64).to_numpy()
        bad = ~(np.abs(values) <= _LARGEST)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"{column.name} in {source} must hold numbers up to {_LARGEST:g}; row "
                f"{row + first_row} holds {values[row]}. Correct it, or leave the row out.",
                rows=[row],
            )
        return np.asarray(values)

    def _texts(self, column: Series, source: str, first_row: int) -> Series:
        import polars as pl

        name = column.name
        if _is_number(column):
            raise InputError(
                f"{name} in {source} must be text, as it was in training; got {column.dtype}. "
                f"Correct the column."
            )
        text = self._filled(column.cast(pl.String), source, first_row)
        unknown = ~text.is_in(self.levels[name])
        if unknown.any():
            row = int(unknown.arg_true()[0])
            raise InputError(
                f"{name} in {source} must hold values seen in training "
                f"({listed(self.levels[name])}); row {row + first_row} holds {text[row]!r}."
                f"{nearest(text[row], self.levels[name])} Correct it, or train with such rows.",
                rows=[row],
            )
        return text

    def _filled(self, column: Series, source: str, first_row: int) -> Series:
        if not column.null_count():
            return column
        if column.name not in self.fill:
            row = int(column.is_null().arg_true()[0])
            raise InputError(
                f"{column.name} in {source} must have no missing values, since it had none in "
                f"training; row {row + first_row} has. Fill it, or leave the row out.",
                rows=[row],
            )
        return column.fill_null(self.fill[column.name])

    def to_plain(self) -> dict[str, Any]:
        """As it is kept beside a model."""
        return {"recipe": _VERSION, **asdict(self)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any] | None, path: Any, n_features: int) -> Recipe:
        """The recipe in a model's file, or a sentence where there is none."""
        if not plain or plain.get("recipe") != _VERSION:
            raise InputError(
                f"{path} must be a model of `deciban fit`; it has no recipe of columns. Fit it "
                f"with the command, or use it from Python; calibrators are for `deciban apply`."
            )
        try:
            made = cls(
                str(plain["label"]),
                [str(name) for name in plain["numeric"]],
                {str(k): [str(level) for level in some] for k, some in plain["levels"].items()},
                dict(plain["fill"]),
            )
            for name, value in made.fill.items():
                number = isinstance(value, bool | int | float) and abs(value) <= _LARGEST
                if not (number if name in made.numeric else isinstance(value, str)):
                    raise ValueError(name)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise InputError(
                f"{path} must hold a whole recipe of columns; a part is missing or wrong. Fit it "
                f"again."
            ) from None
        if len(made.features) != n_features:
            raise InputError(
                f"{path} must hold a recipe of its model's {n_features} features; it has one of "
                f"{len(made.features)}. Fit it again."
            )
        return made


def chosen_columns(
    there: list[str], label: str, features: str | None, ignore: str | None, source: str
) -> list[str]:
    """The columns to learn from, by the options --features and --ignore."""
    require_column(label, "--label", there, source)
    if features is not None and ignore is not None:
        raise InputError("--features or --ignore must be given, not both. Leave one out.")
    named = [name for name in names_in(features or ignore or "") if name]
    for name in named:
        require_column(name, "--features" if features is not None else "--ignore", there, source)
    if label in named and features is not None:
        raise InputError(
            f"--features must not name the class, {label}; it does. Leave it out there."
        )
    if features is not None:
        return named
    return [name for name in there if name != label and name not in named]


def require_column(name: str, option: str, there: list[str], source: str) -> None:
    """Refuse a column that is not in a table, with the nearest one that is."""
    if name not in there:
        raise InputError(
            f"{option} must be a column of {source}; got {name!r}, columns are {listed(there)}."
            f"{nearest(name, there)}"
        )


def _is_number(column: Series) -> bool:
    import polars as pl

    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _levels(column: Series, source: str) -> list[str]:
    import polars as pl

    if column.dtype not in (pl.String, pl.Categorical) and not isinstance(column.dtype, pl.Enum):
        raise InputError(
            f"{column.name} in {source} must be numbers, truth values or text; got {column.dtype}. "
            f"Leave it out with --ignore {_typed(column.name)}, or make numbers of it."
        )
    found = column.cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(found) > _MOST_LEVELS:
        odd = _odd_among_numbers(column)
        such = repr(found[0]) if odd is None else f"{column[odd]!r} in row {odd + 1}"
        raise InputError(
            f"{column.name} in {source} must hold at most {_MOST_LEVELS} different texts; it holds "
            f"{len(found):,}, such as {such}. Leave it out with --ignore {_typed(column.name)}, or "
            f"correct it if it should be numbers."
        )
    return list(found)


def _read_as(column: Series, numeric: bool = False) -> Series:
    """The column; as numbers where all of its cells are numbers or stand for a missing one.

    Where none is a number, they are text, unless the column is known to be numeric.
    """
    import polars as pl

    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
    known = pl.select(
        pl.when(text.str.to_lowercase().is_in(_MISSING)).then(None).otherwise(text)
    ).to_series()
    values = known.cast(pl.Float64, strict=False)
    none = values.null_count() == len(column) and not numeric
    if values.null_count() > known.null_count() or none:
        return column
    return values.alias(column.name)


def _first_null(column: Series) -> int:
    return int(column.is_null().arg_max() or 0) + 1


def _first_text(column: Series) -> int:
    """Where the first cell is that is there and is no number; 0 for columns of other types."""
    import polars as pl

    if column.dtype != pl.String:
        return int(column.is_not_null().arg_max() or 0)
    text = column.str.strip_chars()
    odd = text.cast(pl.Float64, strict=False).is_null() & text.is_not_null()
    return int((odd & ~text.str.to_lowercase().is_in(_MISSING)).arg_max() or 0)


def _odd_among_numbers(column: Series) -> int | None:
    """Where a column of text is no number first, if more than half of its cells are numbers."""
    import polars as pl

    if column.dtype != pl.String:
        return None
    values = column.str.strip_chars().cast(pl.Float64, strict=False)
    return _first_text(column) if 2 * values.null_count() < len(column) else None


def _typed(name: str) -> str:
    """A name as it can be typed behind --ignore."""
    return shlex.quote(quoted(name))


def _typical(column: Series) -> Any:
    """The median of numbers, the commonest of texts and truth values."""
    import polars as pl

    if column.dtype.is_numeric():
        return float(column.median())  # type: ignore[arg-type]
    commonest = column.drop_nulls().mode().sort()[0]
    return commonest if column.dtype == pl.Boolean else str(commonest)
