"""Tables in: CSV, TSV, JSON lines, Parquet and Arrow, whole or in batches of rows.

Types of text are told from the whole file, in a first pass that also checks it: a column is whole
numbers, numbers, truth values, or else text, as all of its cells allow. So one ``n/a`` among
numbers makes the column text: no cell is lost, and what needs numbers says so. Empty cells (also
quoted) are null; a column of them alone is text. Whole numbers beyond 64 bits stay text. In a
table of several columns empty lines are skipped; in one of one column they are empty cells.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from deciban.cli.io.formats import (
    NAMES,
    TEXT,
    format_of,
    listed,
    nearest,
    polars,
    quiet,
    refusals,
    require_names,
)
from deciban.cli.io.json_lines import JSONLines
from deciban.cli.io.text import Delimited
from deciban.cli.io.writing import require_new, table_writer
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

__all__ = ["batches", "columns_of_table", "nearest", "read_table", "require_new", "table_writer"]

Source = str | os.PathLike[str]
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def read_table(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    text: Collection[str] = (),
) -> DataFrame:
    """All rows of a table.

    Parameters
    ----------
    source : path, or ``-`` for standard input
    format : str, optional
        csv, tsv, jsonl, parquet or arrow; by the extension by default, and CSV for ``-``.
    columns : sequence of str, optional
        These columns, in this order; all by default.
    text : collection of str
        Columns that are left as they are written, whatever their cells look like.
    """
    pl = polars()
    return pl.concat(list(batches(source, format=format, columns=columns, text=text, rows=1 << 20)))


def batches(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002
    rows: int = 50_000,
    columns: Sequence[str] | None = None,
    text: Collection[str] = (),
) -> Iterator[DataFrame]:
    """The rows of a table, `rows` at a time: memory stays flat however long it is.

    At least one frame comes, so that a table without rows still tells its columns. What is wrong
    with the text is said at once, before the first frame.
    """
    if rows < 1:
        raise InputError(f"rows must be at least 1; got {rows}.")
    place = _place(source, format)
    if place.format in ("parquet", "arrow"):
        return _slices(place, _columnar(place, columns), rows)
    if place.format == "jsonl":
        lines = JSONLines(place.path, place.name)
        wanted = _chosen(place, list(lines.schema), columns)
        empty = polars().DataFrame(schema=lines.schema).select(wanted)
        return _resliced((frame.select(wanted) for frame in lines.frames()), rows, empty)
    table = Delimited(place.path, place.name, place.format)
    kinds = _kinds(table, _chosen(place, table.columns, columns))
    typed = [_typed(name, "text" if name in text else kind) for name, kind in kinds.items()]
    empty = polars().DataFrame(schema=dict.fromkeys(table.columns, polars().String)).select(typed)
    return _resliced((frame.select(typed) for frame in table.frames()), rows, empty)


def columns_of_table(source: Source, *, format: str | None = None) -> list[str]:  # noqa: A002
    """Names of the columns, in their order. Standard input can be read again after this."""
    place = _place(source, format)
    if place.format in ("parquet", "arrow"):
        return list(_schema(place, _scan(place)))
    if place.format == "jsonl":
        return list(JSONLines(place.path, place.name).schema)
    return Delimited(place.path, place.name, place.format).columns


class _Place(NamedTuple):
    path: Path
    name: str  # as errors call it
    format: str


def _place(source: Source, format: str | None) -> _Place:  # noqa: A002
    """Where to read: a file, which for standard input and pipes is a copy, read more than once."""
    text = os.fspath(source)
    kind = format_of(text, format)
    if text == "-":
        return _Place(_spooled(sys.stdin.buffer, "standard input"), "standard input", kind)
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = nearest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise InputError(f"{text} must be a file; there is none.{hint or ' Check it.'}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{text!r} must be a file that can be read; got {reason}.") from None
    if stat.S_ISFIFO(mode):
        return _Place(_spooled(text, text), text, kind)
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a device"
        raise InputError(f"{text} must be a file; it is {what}. Name a file.")
    return _Place(path, text, kind)


@cache
def _spooled(source: BinaryIO | str, name: str) -> Path:
    """A copy on disk, taken once and gone when the program ends."""
    with refusals(name, "must fit into the folder for temporary files"):
        handle, copy = tempfile.mkstemp(prefix="deciban-")
        atexit.register(Path(copy).unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            if isinstance(source, str):
                with open(source, "rb") as pipe:
                    shutil.copyfileobj(pipe, file, 1 << 20)
            else:
                shutil.copyfileobj(source, file, 1 << 20)
    return Path(copy)


def _chosen(place: _Place, there: list[str], columns: Sequence[str] | None) -> list[str]:
    for name in columns or ():
        if name not in there:
            raise InputError(
                f"{place.name} must have the column {name!r}; its columns are {listed(there)}."
                f"{nearest(name, there)}"
            )
    return there if columns is None else list(columns)


def _resliced(frames: Iterable[DataFrame], rows: int, empty: DataFrame) -> Iterator[DataFrame]:
    """The same rows in frames of `rows` each, but the last."""
    pl = polars()
    held: list[DataFrame] = []
    some = False
    for frame in frames:
        held.append(frame)
        if sum(one.height for one in held) < rows:
            continue
        whole = pl.concat(held)
        full = whole.height - whole.height % rows
        for start in range(0, full, rows):
            some = True
            yield whole.slice(start, rows)
        held = [whole.slice(full)]
    if sum(one.height for one in held) or not some:
        yield pl.concat([empty, *held])


# text: kinds of columns, from "empty", which every other can be, to "text", which all can be


def _kinds(table: Delimited, columns: list[str]) -> dict[str, str]:
    kinds = dict.fromkeys(columns, "empty")
    for frame in table.frames():
        for name, kind in kinds.items():
            if kind != "text":
                kinds[name] = _joined(kind, _kind(frame[name], kind))
    return kinds


def _kind(cells: Any, before: str) -> str:
    """What all of the cells can be read as."""
    pl = polars()
    cells = cells.str.strip_chars().drop_nulls()
    cells = cells.filter(cells != "")
    if not len(cells):
        return "empty"
    if before != "real" and cells.cast(pl.Int64, strict=False).null_count() == 0:
        return "whole"
    if cells.cast(pl.Float64, strict=False).null_count() == 0:
        return "digits" if cells.str.contains(r"^[+-]?\d+$").all() else "real"
    return "truth" if cells.is_in(list(_TRUTHS)).all() else "text"


def _joined(one: str, other: str) -> str:
    if "empty" in (one, other) or one == other:
        return other if one == "empty" else one
    numbers = ("whole", "digits", "real")
    if one in numbers and other in numbers:
        return max(one, other, key=numbers.index)
    return "text"


def _typed(name: str, kind: str) -> Any:
    """A column of text as what it is."""
    pl = polars()
    column = pl.col(name)
    if kind in ("empty", "digits", "text"):
        return column
    tidy = column.str.strip_chars()
    tidy = pl.when(tidy != "").then(tidy)
    if kind == "truth":
        return tidy.replace_strict(_TRUTHS, return_dtype=pl.Boolean).alias(name)
    return tidy.cast(pl.Int64 if kind == "whole" else pl.Float64).alias(name)


# Parquet and Arrow


def _scan(place: _Place) -> LazyFrame:
    pl = polars()
    mark = b"PAR1" if place.format == "parquet" else b"ARROW1"
    with refusals(place.name, "must be a file that can be read"), open(place.path, "rb") as file:
        start = file.read(6)
    if not start:
        raise InputError(
            f"{place.name} must be {NAMES[place.format]}; it is empty. Check the file."
        )
    if not start.startswith(mark):
        raise InputError(
            f"{place.name} must be {NAMES[place.format]}, as its name or --format says; it is not. "
            f"Pass --format ({', '.join(TEXT[:2])}, …) if it is something else."
        )
    scan: Callable[..., LazyFrame] = pl.scan_parquet if mark == b"PAR1" else pl.scan_ipc
    # a file's name is a name, whatever stars and equal signs it has
    return scan(place.path, glob=False, hive_partitioning=False)


def _schema(place: _Place, scan: LazyFrame) -> dict[str, Any]:
    with quiet(), refusals(place.name, f"must be whole {NAMES[place.format]}"):
        schema = dict(scan.collect_schema())
    require_names(list(schema), place.name)
    return schema


def _columnar(place: _Place, columns: Sequence[str] | None) -> LazyFrame:
    pl = polars()
    scan = _scan(place)
    schema = _schema(place, scan)
    wanted = _chosen(place, list(schema), columns)
    for name in wanted:
        if schema[name].is_nested() or schema[name] in (pl.Binary, pl.Object):
            raise InputError(
                f"{place.name} must have plain values; column {name!r} is of type {schema[name]}. "
                f"Leave it out, or make columns of its parts."
            )
    plain = {pl.Categorical: pl.String, pl.Enum: pl.String, pl.Null: pl.String,
             pl.Decimal: pl.Float64}  # fmt: skip
    return scan.select(
        pl.col(name).cast(plain.get(schema[name].base_type(), schema[name])) for name in wanted
    )


def _slices(place: _Place, scan: LazyFrame, rows: int) -> Iterator[DataFrame]:
    """Slices: polars reads only the row groups that they touch."""
    start = 0
    while True:
        with quiet(), refusals(place.name, f"must be whole {NAMES[place.format]}"):
            frame = scan.slice(start, rows).collect()
        if frame.height or not start:
            yield frame
        start += frame.height
        if frame.height < rows:
            return
