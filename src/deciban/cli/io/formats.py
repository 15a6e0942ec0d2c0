"""Formats of tables, and what the readers of all of them share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from deciban.cli.words import join_words, quote, require_choice, shorten, suggest
from deciban.exceptions import InputError, TableError

_EXTENSIONS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "txt",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
TEXT = ("csv", "tsv", "txt", "jsonl")
_FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
_MOST_COLUMNS = 100_000


def format_of(
    path: str,
    format: str | None = None,  # noqa: A002
    *,
    output: bool = False,
    default: str | None = None,
) -> str:
    """Format of a file: as asked for, else by its extension; CSV for ``-``.

    Other extensions have the ``default``, or are an error. Only the format of an input can be asked
    for; ``output`` makes the message say so.
    """
    if format is not None:
        asked = _EXTENSIONS.get("." + format.lower().lstrip("."), format.lower())
        require_choice(asked, "--format", _FORMATS)
        return asked
    if path == "-":
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    found = _EXTENSIONS.get("".join(suffixes[-2:-1] if zipped else suffixes[-1:]))
    if found is None and default is not None:
        return default
    if found is None or (zipped and found not in TEXT):
        remedy = "Choose such a name."
        if not output:
            remedy = f"Pass --format ({', '.join(_FORMATS)})."
        raise TableError(
            "must end in .csv, .tsv, .txt, .jsonl, .ndjson (each also with .gz), .parquet, .arrow, "
            f".feather or .ipc. {remedy}",
            file=path,
        )
    return found


@dataclass(frozen=True)
class Part:
    """Some rows of a file, which is opened like the file."""

    path: str
    start: int = 0
    rows: int | None = None  # all that follow

    def __fspath__(self) -> str:
        return self.path


Source = str | os.PathLike[str]  # a file, some rows of one, or - for standard input


class Table:
    """A table in a file, read as often as needed and a few rows at a time."""

    path: Path
    name: str  # of the file in messages
    schema: dict[str, pl.DataType]  # names and types of the columns
    first: int = 0  # rows of the file before this table's first

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        found = self.read_schema()
        self._require_names([column for column, _ in found])
        self.schema = dict(found)

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """Name and type of each column."""
        raise NotImplementedError

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of all rows, in frames of any size."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""
        return list(self.schema)

    def split(self, rows: int) -> list[Part]:
        """Parts of the file with at most so many rows each; a file of text is one part."""
        return [Part(os.path.abspath(self.path))]

    def error(self, sentence: str, column: str = "") -> TableError:
        """An error about this table, or about a column of it."""
        return TableError(sentence, file=self.name, column=column)

    def _require_names(self, names: Sequence[str]) -> None:
        """Raise unless every column has a name of its own."""
        empty = [i for i, name in enumerate(names, 1) if not name.strip()]
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if not names:
            raise self.error("must have columns; it has none. Check the file.")
        if len(names) > _MOST_COLUMNS:
            raise self.error(f"must have at most {_MOST_COLUMNS} columns; it has {len(names)}.")
        if empty:
            raise self.error(
                f"must name every column; column {join_words(empty)} has no name. Name it (pandas "
                "writes such a column unless index=False)."
            )
        if repeated:
            raise self.error(
                f"must have one column of each name; {join_words(map(quote, repeated))} appears "
                "more than once. Give a copy in which they differ."
            )

    def require_column(self, name: str | None, who: str) -> str:
        """The name, or an error that says who wants the column and which one is nearest."""
        if name is None:
            raise InputError(
                f"{who} must name a column of {self.name}; got nothing, columns are "
                f"{join_words(self.columns)}."
            )
        if name not in self.schema:
            remedy = " Name one of them." if who.startswith("--") else " Add it."
            hint = suggest(name, self.columns) or remedy
            if {*name.split(",")} < {*self.columns}:
                hint = " Name one of them; deciban fuse takes several systems."
            raise self.error(
                f"must have the column {quote(name)}, for {who}; its columns are "
                f"{join_words(self.columns)}.{hint}"
            )
        return name

    def refuse_columns(self, names: Iterable[str], carried: Collection[str]) -> None:
        """Raise where a column that is carried along has a name that is to be added."""
        for name in names:
            if name in carried:
                raise self.error(
                    "must not be there yet: this command adds a column of this name. Give the "
                    "table from before it was added, or a copy with another name for it.",
                    name,
                )

    def batches(
        self, rows: int = 50_000, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """The rows, ``rows`` at a time: memory stays flat however long the table is.

        At least one frame comes, so that a table without rows still has its columns.
        """
        wanted = self.columns if columns is None else list(dict.fromkeys(columns))
        for name in wanted:
            self.require_column(name, "this command")
        empty = pl.DataFrame(schema={name: self.schema[name] for name in wanted})
        return _reslice(self.frames(wanted), rows, empty)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows; in text formats, empty cells are null."""
        return pl.concat([empty_to_null(frame) for frame in self.batches(1 << 20, columns)])


def empty_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null in place of empty text."""
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text != "").then(text).name.keep())


def _reslice(
    frames: Iterable[pl.DataFrame], rows: int, empty: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """The same rows in frames of ``rows`` each, except for the last."""
    held, some = empty, False
    for frame in frames:
        held = pl.concat([held, frame])
        full = held.height - held.height % rows
        for start in range(0, full, rows):
            some = True
            yield held.slice(start, rows)
        held = held.slice(full)
    if held.height or not some:
        yield held


@contextmanager
def refusals(name: str, must: str) -> Iterator[None]:
    """Turn what polars and the system refuse into a sentence about the file."""
    try:
        yield
    except pl.exceptions.PanicException as error:  # a BaseException, which ends programs
        raise TableError(f"{must}; polars gave up ({_first(error)}).", file=name) from None
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{must}; it is not ({_first(error)}).", file=name) from None
    except OSError as error:
        reason = error.strerror or _first(error)
        raise TableError(f"{must}; the system reports an error ({reason}).", file=name) from None


@contextmanager
def silence_stderr() -> Iterator[None]:
    """Let nothing below Python print: Rust prints a trace of each of its panics."""
    try:
        saved = os.dup(2)
    except OSError:  # closed: nothing can be printed there
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def _first(error: BaseException) -> str:
    """The first line of a message, short enough for a sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return shorten(line, 160).rstrip(".")
