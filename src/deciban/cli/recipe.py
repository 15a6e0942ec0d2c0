"""From the columns of a table to the features of a model, the same way each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from deciban.cli.formats import listed, split
from deciban.cli.tables import nearest
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame, Series

_MOST_LEVELS = 50  # of a column of text; a name or a number in writing has more
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
            column = frame[name]
            missing = column.null_count()
            if missing and not impute:
                raise InputError(
                    f"{name} in {source} must have no missing values; {missing:,} of "
                    f"{len(column):,} are missing. Pass --impute, or leave it out with --ignore "
                    f"{name}."
                )
            if missing == len(column):
                raise InputError(
                    f"{name} in {source} must hold values; it holds none. Leave it out with "
                    f"--ignore {name}."
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

        if not _is_number(column):
            if column.null_count() < len(column):
                raise InputError(
                    f"{column.name} in {source} must be numbers, as it was in training; got "
                    f"{column.dtype}. Correct the column."
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
                f"with the command, or use it from Python."
            )
        try:
            made = cls(
                str(plain["label"]),
                [str(name) for name in plain["numeric"]],
                {str(k): [str(level) for level in some] for k, some in plain["levels"].items()},
                dict(plain["fill"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            raise InputError(
                f"{path} must hold a whole recipe of columns; a part is missing. Fit it again."
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
    named = [name for name in split(features or ignore or "") if name]
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
            f"Leave it out with --ignore {column.name}, or make numbers of it."
        )
    found = column.cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(found) > _MOST_LEVELS:
        raise InputError(
            f"{column.name} in {source} must hold at most {_MOST_LEVELS} different texts; it holds "
            f"{len(found):,}, such as {found[0]!r}. Leave it out with --ignore {column.name}, or "
            f"correct it if it should be numbers."
        )
    return list(found)


def _typical(column: Series) -> Any:
    """The median of numbers, the commonest of texts and truth values."""
    import polars as pl

    if column.dtype.is_numeric():
        return float(column.median())  # type: ignore[arg-type]
    commonest = column.drop_nulls().mode().sort()[0]
    return commonest if column.dtype == pl.Boolean else str(commonest)
