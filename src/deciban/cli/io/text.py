"""Text of tables, read in blocks of whole records: every byte is checked, none is guessed at.

A file of any size passes through in blocks of some megabytes. What polars would read in silence
(a short row, a quote inside a cell) is refused here, with its line.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from deciban.cli.io.formats import polars, refusals, require_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame

BLOCK = 1 << 22
LONGEST = 8_000_000  # bytes of a record; a line longer than this is no row of a table
MOST = 20_000_000_000  # bytes that a compressed file may hold
RATIO, RATIO_FROM = 500, 1 << 26  # text shrinks 3 to 50 times; a bomb about 1000
_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32 text", b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text",
    b"PAR1": "Parquet", b"ARROW1": "Arrow IPC", b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook", b"%PDF": "a PDF", b"BZh": "bzip2 data",
    b"\x28\xb5\x2f\xfd": "Zstandard data", b"\xfd7zXZ": "xz data", b"SQLite format 3": "SQLite",
    b"\x89PNG": "a picture", b"\x93NUMPY": "a NumPy array", b"\x1f\x8b": "gzip inside gzip",
}  # fmt: skip


def pieces(path: Path, name: str) -> Iterator[bytes]:
    """The bytes of a file, unpacked where they are gzip (told by its first bytes), checked."""
    with refusals(name, "must be a file that can be read"):
        file: BinaryIO = open(path, "rb")  # noqa: SIM115
    with file:
        size = os.fstat(file.fileno()).st_size
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if name.lower().endswith(".gz") and not zipped and size:
            raise InputError(f"{name} must be gzip, as its name says; it is not. Rename it.")
        reader: Any = gzip.GzipFile(fileobj=file) if zipped else file
        total = 0
        while piece := _read(reader, name):
            if not total:
                _require_text(piece, name)
                piece = piece.removeprefix(b"\xef\xbb\xbf")
            total += len(piece)
            if zipped and (total > MOST or total > max(RATIO * size, RATIO_FROM)):
                raise InputError(
                    f"{name} must unpack to at most {RATIO} times its size and "
                    f"{MOST / 1e9:.0f} GB; it goes beyond. Unpack it yourself if you trust it."
                )
            yield piece


def _read(reader: Any, name: str) -> bytes:
    try:
        return reader.read(BLOCK)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{name} must be whole gzip; it is cut short or damaged ({error}). Copy it again."
        ) from None
    except OSError as error:
        raise InputError(f"{name} must be a file that can be read; got {error.strerror}.") from None


def _require_text(start: bytes, name: str) -> None:
    for mark, what in _MARKS.items():
        if start.startswith(mark):
            hint = "Save it as UTF-8" if "UTF" in what else "Save it as CSV, or rename it"
            raise InputError(f"{name} must be UTF-8 text; it holds {what}. {hint}.")


def blocks(path: Path, name: str, *, quotes: bool) -> Iterator[tuple[int, bytes, Any]]:
    """Whole records at a time: the line they start on, their bytes, and where each ends."""
    line, rest = 1, b""
    for piece in pieces(path, name):
        data = rest + piece
        ends = _ends(data, quotes)
        longest = int(ends[0]) if len(ends) else len(data)
        if len(ends) > 1:
            longest = max(longest, int((ends[1:] - ends[:-1]).max()))
        if max(longest, len(data) - int(ends[-1]) if len(ends) else 0) > LONGEST:
            _refuse_open_quote(data, line, name, quotes)
            raise InputError(
                f"{name} must have lines of at most {LONGEST // 1_000_000} MB; the one at line "
                f"{line} or after it is longer. Check that it is a table."
            )
        if not len(ends):
            rest = data
            continue
        cut = int(ends[-1]) + 1
        whole, rest = data[:cut], data[cut:]
        _require_utf8(whole, line, name)
        yield line, whole, ends
        line += whole.count(b"\n")
    if rest:
        rest += b"\n"
        _require_utf8(rest, line, name)
        ends = _ends(rest, quotes)
        if not len(ends):
            _refuse_open_quote(rest, line, name, quotes)
        yield line, rest, ends


def _ends(data: bytes, quotes: bool) -> Any:
    """Places of the newlines outside quotes."""
    import numpy as np

    array = np.frombuffer(data, np.uint8)
    newlines = array == 10
    if quotes and b'"' in data:
        newlines &= ~inside(array)
    return np.flatnonzero(newlines)


def inside(array: Any) -> Any:
    """Whether each byte has an odd number of quotes up to it. Doubled quotes cancel."""
    import numpy as np

    return (np.cumsum(array == 34, dtype=np.uint8) & 1).astype(bool)


def _require_utf8(data: bytes, line: int, name: str) -> None:
    at = data.find(b"\0")
    if at >= 0:
        raise InputError(
            f"{name} must be text; line {line + data.count(10, 0, at)} has a NUL byte, as binary "
            f"files and UTF-16 have. Save it as UTF-8 text."
        )
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} must be UTF-8 text; byte 0x{data[error.start]:02x} on line "
            f"{line + data.count(10, 0, error.start)} is not. Save it as UTF-8 (it may be Latin-1)."
        ) from None


def _refuse_open_quote(data: bytes, line: int, name: str, quotes: bool) -> None:
    if not quotes or data.count(b'"') % 2 == 0:
        return
    at = line + data.count(10, 0, data.rfind(b'"'))
    raise InputError(
        f"{name} must close every quote; the one on line {at} (or one before it) stays open. "
        f"Close it, or double the quotes inside cells."
    )


class Delimited:
    """A table of cells with separators between; frames of it have text in every column."""

    def __init__(self, path: Path, name: str, kind: str) -> None:
        self.path, self.name = path, name
        self.separator = {"csv": ",", "tsv": "\t", "txt": ""}[kind]
        self.columns = self._header()

    def _header(self) -> list[str]:
        for line, data, ends in blocks(self.path, self.name, quotes=True):
            start = 0
            for end in ends.tolist():
                if data[start:end].strip(b"\r"):
                    text = data[start:end].decode()
                    self.line = line + data.count(10, 0, start)
                    return self._names(text.removesuffix("\r"))
                start = end + 1
        raise InputError(f"{self.name} must have a header and rows; it is empty. Check the file.")

    def _names(self, text: str) -> list[str]:
        self._require_separator(text)
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, strict=True)
            names = [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise InputError(f"{self.name} must have a header; line 1 is none ({error}).") from None
        require_names(names, self.name)
        return names

    def _require_separator(self, text: str) -> None:
        remedy = ""
        if not self.separator:
            self.separator = "\t" if "\t" in text else ","
        if "\r" in text:
            remedy = "ends its lines with carriage returns alone. Save it with newlines"
        elif text.lstrip().startswith(("{", "[")):
            remedy = "holds JSON. Pass --format jsonl if it has one object a line"
        elif self.separator not in text:
            others = {",": "commas. Pass --format csv", "\t": "tabs. Pass --format tsv",
                      ";": "semicolons. Save it with commas"}  # fmt: skip
            remedy = next((say for mark, say in others.items() if mark in text), "")
            remedy = remedy and f"has {remedy}"
        if remedy:
            what = {",": "commas", "\t": "tabs"}[self.separator]
            raise InputError(f"{self.name} must have {what} between its columns; it {remedy}.")

    def frames(self) -> Iterator[DataFrame]:
        """The rows, some at a time, as text; empty cells are null."""
        import numpy as np

        pl, n, header = polars(), len(self.columns), True
        schema = dict.fromkeys(self.columns, pl.String)
        for line, data, ends in blocks(self.path, self.name, quotes=True):
            array = np.frombuffer(data, np.uint8)
            starts = np.concatenate(([0], ends[:-1] + 1))
            lengths = ends - starts
            blank = (lengths == 0) | ((lengths == 1) & (array[starts] == 13))
            skip = blank if n > 1 else np.zeros_like(blank)  # alone, an empty line is a cell
            self._require_shape(data, array, line, starts, ends, skip)
            if header:
                before = np.flatnonzero(~blank)
                if not len(before):
                    continue
                skip[: before[0] + 1] = True
                header = False
            kept = data
            if skip.any():
                kept = b"".join(
                    data[a:b] for a, b in _runs(starts[~skip].tolist(), (ends[~skip] + 1).tolist())
                )
            rows = len(ends) - int(skip.sum())
            if rows:
                yield self._parsed(kept, schema, rows, line)

    def _parsed(self, data: bytes, schema: dict[str, Any], rows: int, line: int) -> DataFrame:
        pl = polars()
        with refusals(self.name, f"must be a table from line {line} on"):
            frame: DataFrame = pl.read_csv(
                data, has_header=False, schema=schema, separator=self.separator
            )
        if frame.height != rows:  # polars saw other records than were counted
            raise InputError(
                f"{self.name} must be a table from line {line} on; its {rows} rows read as "
                f"{frame.height}. Check the quotes."
            )
        return frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())

    def _require_shape(
        self, data: bytes, array: Any, line: int, starts: Any, ends: Any, skip: Any
    ) -> None:
        import numpy as np

        separators = array == ord(self.separator)
        if b'"' in data:
            self._require_quotes(data, array, line)
            separators &= ~inside(array)
        places = np.flatnonzero(separators)
        cells = np.diff(np.searchsorted(places, ends), prepend=0) + 1
        bad = np.flatnonzero((cells != len(self.columns)) & ~skip)
        if len(bad):
            at = line + data.count(10, 0, int(starts[bad[0]]))
            raise InputError(
                f"{self.name} must have {len(self.columns)} cells in every row; line {at} has "
                f"{cells[bad[0]]}. Quote cells that hold the separator."
            )

    def _require_quotes(self, data: bytes, array: Any, line: int) -> None:
        """Quotes stand around whole cells, or doubled inside them."""
        import numpy as np

        places = np.flatnonzero(array == 34)
        opening, closing = places[0::2], places[1::2]
        mark = ord(self.separator)
        fine = (opening == 0) | np.isin(array[opening - 1], (mark, 10, 34))
        fine[: len(closing)] &= np.isin(array[closing + 1], (mark, 10, 13, 34))
        bad = np.flatnonzero(~fine)
        if len(bad):
            at = line + data.count(10, 0, int(opening[bad[0]]))
            raise InputError(
                f"{self.name} must have quotes around whole cells; line {at} has one inside a "
                f"cell, or one that is not closed. Double the quotes inside cells."
            )


def _runs(starts: list[int], ends: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring spans as one."""
    first = 0
    for i in range(1, len(starts) + 1):
        if i == len(starts) or starts[i] != ends[i - 1]:
            if starts:
                yield starts[first], ends[i - 1]
            first = i
