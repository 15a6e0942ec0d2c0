"""Tables to read: CSV, TSV, JSON lines, Parquet and Arrow files, pipes, and standard input.

Cells of CSV and TSV are text as it is written: what is only carried along comes out unchanged, and
what needs numbers converts them and says which cell is not one. JSON lines, Parquet and Arrow keep
their types. In a table of several columns empty lines are skipped; in one of a single column they
are empty cells.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from deciban._persistence.files import expand_name
from deciban.cli import cleanup
from deciban.cli.io.formats import Part, Source, Table, format_of, refusals, silence_stderr
from deciban.cli.io.json_lines import JSONLines
from deciban.cli.io.text import DelimitedText
from deciban.cli.words import suggest
from deciban.exceptions import TableError

_SLICE = 50_000  # rows of a Parquet or Arrow file that are read at once
PLAIN = dict.fromkeys((pl.Categorical, pl.Enum, pl.Null), pl.String()) | {pl.Decimal: pl.Float64()}
_MAGIC = {"parquet": ("Parquet", b"PAR1"), "arrow": ("Arrow IPC", b"ARROW1")}


def open_table(source: Source, format: str | None = None) -> Table:  # noqa: A002
    """A table in a file or pipe, or in standard input (``-``).

    The format is csv, tsv, jsonl, parquet or arrow; by default the extension tells it, and it is
    CSV for standard input.
    """
    text = os.fspath(source)
    kind = format_of(text, format)
    path, name = locate(text)
    if kind in ("parquet", "arrow"):
        rows = source if isinstance(source, Part) else Part(text)
        return Columnar(path, name, kind, rows)
    if kind == "jsonl":
        return JSONLines(path, name)
    return DelimitedText(path, name, {"csv": ",", "tsv": "\t", "txt": ""}[kind])


def read_table(source: Source, format: str | None = None) -> pl.DataFrame:  # noqa: A002
    """All rows of a table."""
    return open_table(source, format).read()


def find_files(text: str) -> list[str]:
    """The files that a name stands for: a file, a folder of Parquet files, or a pattern of files.

    They come in the order of their names.
    """
    is_folder = os.path.isdir(text)
    if not is_folder and not glob.has_magic(text):
        return [text]
    found = expand_name(text)
    if not found:
        what = "hold files that end in .parquet" if is_folder else "name files that exist"
        raise TableError(f"must {what}; there are none. Check its name.", file=text)
    return found


def locate(text: str) -> tuple[Path, str]:
    """A file to read, which for pipes is a copy since it is read more than once; and its name."""
    if text == "-":
        if sys.stdin is None:
            raise TableError("must be open; it is closed. Name a file.", file="standard input")
        return _spool(sys.stdin.buffer, "standard input"), "standard input"
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = suggest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise TableError(
            f"must be a file that exists; it does not.{hint or ' Check its name.'}", file=text
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"must be a file that can be read; got {reason}.", file=text) from None
    if stat.S_ISFIFO(mode):
        return _spool(text, text), text
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device"
        raise TableError(f"must be a file; it is {what}. Name a file.", file=text)
    return path, text


@cache
def _spool(source: BinaryIO | str, name: str) -> Path:
    """A copy on disk, made once and removed when the program ends."""
    with refusals(name, "must fit into the folder for temporary files"):
        copy = Path(tempfile.gettempdir()) / f"deciban-{secrets.token_hex(8)}"
        cleanup.callback(copy.unlink, missing_ok=True)  # first: a signal may come at any time
        with open(copy, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            if isinstance(source, str):
                with open(source, "rb") as pipe:
                    shutil.copyfileobj(pipe, file, 1 << 20)
            else:
                shutil.copyfileobj(source, file, 1 << 20)
    return copy


class Columnar(Table):
    """A table in a Parquet or an Arrow file, or some rows of it."""

    def __init__(self, path: Path, name: str, kind: str, rows: Part) -> None:
        self._kind = kind
        self.first, self._rows = rows.start, rows.rows
        self._whole = f"must be whole {_MAGIC[kind][0]}"
        super().__init__(path, name)

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """The file's own columns, with types that commands know."""
        label, magic = _MAGIC[self._kind]
        with refusals(self.name, "must be a file that can be read"), open(self.path, "rb") as file:
            start = file.read(len(magic))
        if start != magic:
            raise self.error(
                f"must be {label}, as its name or --format says; it "
                f"{'is not' if start else 'is empty'}. Check the file, or pass --format (csv, "
                "tsv, …)."
            )
        scan: Any = pl.scan_parquet if self._kind == "parquet" else pl.scan_ipc
        # a file's name is a name, whatever stars and equal signs it has
        self._scan: pl.LazyFrame = scan(self.path, glob=False, hive_partitioning=False)
        with silence_stderr(), refusals(self.name, self._whole):
            schema = self._scan.collect_schema()
        return [(name, PLAIN.get(kind.base_type(), kind)) for name, kind in schema.items()]

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of all rows, in slices: polars reads only the row groups it needs."""
        for column in columns:
            kind = self.schema[column]
            if kind.is_nested() or kind in (pl.Binary, pl.Object):
                what = f"must have plain values; it is of type {kind}. "
                raise self.error(f"{what}Leave it out, or make columns of its parts.", column)
        wanted = self._scan.select(pl.col(name).cast(self.schema[name]) for name in columns)
        start = 0
        while self._rows is None or start < self._rows:
            most = _SLICE if self._rows is None else min(_SLICE, self._rows - start)
            with silence_stderr(), refusals(self.name, self._whole):
                frame = wanted.slice(self.first + start, most).collect()
            yield frame
            start += frame.height
            if frame.height < most:
                return

    def split(self, rows: int) -> list[Part]:
        """Parts with at most so many rows; polars reads only the row groups that a part needs."""
        with silence_stderr(), refusals(self.name, self._whole):
            n = self._scan.select(pl.len()).collect().item()
        path = os.path.abspath(self.path)
        return [Part(path, k, min(rows, n - k)) for k in range(0, max(n, 1), rows)]
