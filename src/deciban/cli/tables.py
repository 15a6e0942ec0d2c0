"""Read tables from CSV, TSV, JSON lines, Parquet and Arrow files, pipes, and standard input.

CSV and TSV cells stay text, so that extra columns come out unchanged; callers convert numbers. JSON
lines, Parquet and Arrow keep their types.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from deciban.cli.files import Part, Source, file_errors, format_of, is_address, locate
from deciban.cli.text import DelimitedText, JSONLines
from deciban.cli.words import join_words, quote, suggest
from deciban.exceptions import InputError, TableError

_SLICE = 50_000  # rows of a Parquet or Arrow file that are read at once
_MAX_COLUMNS = 100_000
PLAIN = dict.fromkeys((pl.Categorical, pl.Enum, pl.Null), pl.String()) | {pl.Decimal: pl.Float64()}
_MAGIC = {"parquet": ("Parquet", b"PAR1"), "arrow": ("Arrow IPC", b"ARROW1")}


class Table:
    """A table in a file, read in batches as often as needed.

    The ``reader`` has a ``name`` for messages, ``read_schema()``, and ``frames(schema, columns)``,
    which yields frames with any number of rows.
    """

    def __init__(self, reader: Any, path: Path) -> None:
        self.reader, self.name, self.path = reader, reader.name, path
        found = reader.read_schema()
        self._check_names([column for column, _ in found])
        self.schema = dict(found)
        self.first = getattr(reader, "first", 0)  # rows of the file before this table's first

    @property
    def columns(self) -> list[str]:
        return list(self.schema)

    @property
    def height(self) -> int | None:
        """Number of rows in a Parquet or Arrow file; None for text, which has to be read."""
        return getattr(self.reader, "height", None)

    def split(self, rows: int) -> list[Part]:
        """Parts with at most ``rows`` rows each; a text file is one part."""
        path = self.name if is_address(self.name) else os.path.abspath(self.path)
        n = self.height
        if n is None:
            return [Part(path, name=self.name)]
        return [Part(path, k, min(rows, n - k), self.name) for k in range(0, max(n, 1), rows)]

    def error(self, sentence: str, column: str = "") -> TableError:
        return TableError(sentence, file=self.name, column=column)

    def _check_names(self, names: Sequence[str]) -> None:
        empty = [i for i, name in enumerate(names, 1) if not name.strip()]
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if not names:
            raise self.error("has no columns. Check the file.")
        if len(names) > _MAX_COLUMNS:
            raise self.error(f"has {len(names):,} columns; at most {_MAX_COLUMNS:,} can be read.")
        if empty:
            raise self.error(
                f"has no name for column {join_words(empty)}. Name it, or write with index=False."
            )
        if repeated:
            raise self.error(f"has several columns named {join_words(map(quote, repeated))}.")

    def require_column(self, name: str | None, who: str) -> str:
        """The column name if it exists, or an error that suggests the closest one."""
        if name is None:
            raise InputError(
                f"{who} is missing. Name a column of {self.name}: {join_words(self.columns)}."
            )
        if name not in self.schema:
            remedy = " Name one of them." if who.startswith("--") else " Add it."
            hint = suggest(name, self.columns) or remedy
            if {*name.split(",")} < {*self.columns}:
                hint = " Name one of them; deciban fuse takes several systems."
            raise self.error(
                f"has no column {quote(name)}, which {who} needs; its columns are "
                f"{join_words(self.columns)}.{hint}"
            )
        return name

    def refuse_columns(self, names: Iterable[str], carried: Collection[str]) -> None:
        """Raise if a column that is carried along has a name that is to be added."""
        for name in (one for one in names if one in carried):
            raise self.error("is there already, and this command adds it. Rename the column.", name)

    def batches(
        self, rows: int = 50_000, columns: Sequence[str] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Frames with ``rows`` rows each; at least one, so an empty table keeps its columns."""
        wanted = self.columns if columns is None else list(dict.fromkeys(columns))
        for name in wanted:
            self.require_column(name, "this command")
            kind = self.schema[name]
            if kind.is_nested() or kind in (pl.Binary, pl.Object):
                raise self.error(
                    f"is of type {kind}. Leave the column out, or make columns of its parts.", name
                )
        empty = pl.DataFrame(schema={name: self.schema[name] for name in wanted})
        return _reslice(self.reader.frames(self.schema, wanted), rows, empty)

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows; in text formats, empty cells are null."""
        return pl.concat([empty_to_null(frame) for frame in self.batches(1 << 20, columns)])


def open_table(source: Source) -> Table:
    """A table in a file, a pipe, a remote Parquet file, or standard input (``-``)."""
    text = os.fspath(source)
    part = source if isinstance(source, Part) else Part(text)
    if is_address(text):
        return Table(_Columnar(text, text, "parquet", part), Path(text))
    kind = format_of(text)
    path, name = locate(text)
    name = part.name or name
    if kind in _MAGIC:
        return Table(_Columnar(path, name, kind, part), path)
    if kind == "jsonl":
        return Table(JSONLines(path, name), path)
    return Table(DelimitedText(path, name, {"csv": ",", "tsv": "\t", "txt": ""}[kind]), path)


def read_table(source: Source) -> pl.DataFrame:
    return open_table(source).read()


def check_same_columns(tables: Sequence[Table], names: Sequence[str] | None = None) -> None:
    """Raise unless all tables agree in names, types and order, or in the types for ``names``."""
    first, *others = tables
    for table in others:
        here, there = (
            [(k, one.schema.get(k)) for k in names or one.columns] for one in (first, table)
        )
        if here != there:
            odd = [name for name, _ in set(here) ^ set(there)]
            raise table.error(
                f"has other columns than {first.name}: {min(odd) if odd else 'the order'} differs. "
                "Give copies with the same names, types and order."
            )


def empty_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text != "").then(text).name.keep())


def _reslice(
    frames: Iterable[pl.DataFrame], rows: int, empty: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """The same rows in frames with ``rows`` rows each, except for the last."""
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


class _Columnar:
    """Read a Parquet or Arrow file."""

    def __init__(self, path: Path | str, name: str, kind: str, rows: Part) -> None:
        self._path, self.name, self._kind = path, name, kind
        self.first, self._rows = rows.start, rows.rows
        self._damaged = f"is not a complete {_MAGIC[kind][0]} file"
        scan: Any = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        # a file's name is a name, whatever stars and equal signs it has
        self._scan: pl.LazyFrame = scan(path, glob=False, hive_partitioning=False)

    @cached_property
    def height(self) -> int:
        with file_errors(self.name, self._damaged):
            return int(self._scan.select(pl.len()).collect().item())

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """The file's own columns, with types that commands know."""
        label, magic = _MAGIC[self._kind]
        if not is_address(str(self._path)):
            with file_errors(self.name, "cannot be read"), open(self._path, "rb") as file:
                start = file.read(len(magic))
            if start != magic:
                problem = f"is not {label}, as its name says" if start else "is empty"
                raise TableError(f"{problem}. Check the file, or rename it.", file=self.name)
        with file_errors(self.name, self._damaged):
            schema = self._scan.collect_schema()
        return [(name, PLAIN.get(kind.base_type(), kind)) for name, kind in schema.items()]

    def frames(
        self, schema: dict[str, pl.DataType], columns: Sequence[str]
    ) -> Iterator[pl.DataFrame]:
        """These columns in slices; polars reads only the row groups it needs."""
        wanted = self._scan.select(pl.col(name).cast(schema[name]) for name in columns)
        end = self.height if self._rows is None else self.first + self._rows
        for start in range(self.first, end, _SLICE):
            with file_errors(self.name, self._damaged):
                frame = wanted.slice(start, min(_SLICE, end - start)).collect()
            if frame.height < min(_SLICE, end - start):
                problem = "changed while it was being read. Run the command again."
                raise TableError(problem, file=self.name)
            yield frame
