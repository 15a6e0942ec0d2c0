"""Text of tables, read in blocks of whole records: every byte is checked, none is guessed at.

A file of any size passes through in blocks of some megabytes. What polars would read without a
word (a short row, a quote inside a cell) is refused here, with its line.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.io.formats import Table, refusals

BLOCK = 1 << 22
LONGEST = 8_000_000  # bytes of a record; a longer line is not a table row
MOST = 20_000_000_000  # bytes that a compressed file may hold
RATIO, RATIO_FROM = 500, 1 << 26  # text shrinks 3 to 50 times; a bomb about 1000
_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32 text", b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text",
    b"PAR1": "Parquet", b"ARROW1": "Arrow IPC", b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook", b"%PDF": "a PDF", b"BZh": "bzip2 data",
    b"\x28\xb5\x2f\xfd": "Zstandard data", b"\xfd7zXZ": "xz data", b"SQLite format 3": "SQLite",
    b"\x89PNG": "a picture", b"\x93NUMPY": "a NumPy array", b"\x1f\x8b": "gzip inside gzip",
}  # fmt: skip
_NEWLINE, _RETURN, _QUOTE = 10, 13, 34

Places = NDArray[np.intp]


class TextTable(Table):
    """A table of UTF-8 text, packed with gzip or not."""

    quotes: bool  # whether a newline between quotes is part of a cell

    def read_records(self) -> Iterator[tuple[int, bytes, Places]]:
        """Whole records at a time: the line they start on, their bytes, and where each ends."""
        line, rest = 1, b""
        for piece in self._read_bytes():
            data = rest + piece
            ends = self._record_ends(data)
            if np.diff(ends, prepend=-1, append=len(data)).max() > LONGEST:
                self._refuse_open_quote(data, line)
                raise self.error(
                    f"must have lines of at most {LONGEST // 1_000_000} MB; the one at line {line} "
                    "or after it is longer. Check that it is a table."
                )
            cut = int(ends[-1]) + 1 if len(ends) else 0
            whole, rest = data[:cut], data[cut:]
            if whole:
                self._require_utf8(whole, line)
                yield line, whole, ends
                line += whole.count(b"\n")
        if rest:
            rest += b"\n"
            self._require_utf8(rest, line)
            ends = self._record_ends(rest)
            if not len(ends):
                self._refuse_open_quote(rest, line)
            yield line, rest, ends

    def _read_bytes(self) -> Iterator[bytes]:
        """The bytes of the file, unpacked where they are gzip (told from its first bytes)."""
        with refusals(self.name, "must be a file that can be read"):
            file: BinaryIO = open(self.path, "rb")  # noqa: SIM115
        with file:
            size = os.fstat(file.fileno()).st_size
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if self.name.lower().endswith(".gz") and not zipped and size:
                raise self.error("must be gzip, as its name says; it is not. Rename it.")
            reader: Any = gzip.GzipFile(fileobj=file) if zipped else file
            total = 0
            while piece := self._read_piece(reader):
                if not total:
                    self._require_text(piece)
                    piece = piece.removeprefix(b"\xef\xbb\xbf")
                total += len(piece)
                if zipped and (total > MOST or total > max(RATIO * size, RATIO_FROM)):
                    raise self.error(
                        f"must unpack to at most {RATIO} times its size and {MOST / 1e9:.0f} GB; "
                        "it is larger. Unpack it yourself if you trust it."
                    )
                yield piece

    def _read_piece(self, reader: Any) -> bytes:
        with refusals(self.name, "must be a file that can be read"):
            try:
                return reader.read(BLOCK)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise self.error(
                    f"must be whole gzip; it is cut short or damaged ({error}). Copy it again."
                ) from None

    def _require_text(self, start: bytes) -> None:
        for mark, what in _MARKS.items():
            if start.startswith(mark):
                hint = "Save it as UTF-8" if "UTF" in what else "Save it as CSV, or rename it"
                raise self.error(f"must be UTF-8 text; it holds {what}. {hint}.")

    def _record_ends(self, data: bytes) -> Places:
        """Positions of the newlines that end records."""
        array = np.frombuffer(data, np.uint8)
        newlines = array == _NEWLINE
        if self.quotes and b'"' in data:
            newlines &= ~_is_quoted(array)
        return np.flatnonzero(newlines)

    def _require_utf8(self, data: bytes, line: int) -> None:
        at = data.find(b"\0")
        if at >= 0:
            raise self.error(
                f"must be text; line {_line_of(at, data, line)} has a NUL byte, as binary files "
                "and UTF-16 have. Save it as UTF-8 text."
            )
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise self.error(
                f"must be UTF-8 text; byte 0x{data[error.start]:02x} on line "
                f"{_line_of(error.start, data, line)} is not. Save it as UTF-8 (it may be Latin-1)."
            ) from None

    def _refuse_open_quote(self, data: bytes, line: int) -> None:
        if self.quotes and data.count(b'"') % 2:
            at = _line_of(data.rfind(b'"'), data, line)
            raise self.error(
                f"must close every quote; the one on line {at} (or one before it) stays open. "
                "Close it, or double the quotes inside cells."
            )


def _is_quoted(array: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each byte has an odd number of quotes up to it. Doubled quotes cancel."""
    return (np.cumsum(array == _QUOTE, dtype=np.uint8) & 1).astype(bool)


def _line_of(place: int, data: bytes, line: int) -> int:
    """Number of the line of a byte in data that start on ``line``."""
    return line + data.count(b"\n", 0, place)


class DelimitedText(TextTable):
    """A table of text cells. The separator is a comma or a tab, empty where the header tells."""

    quotes = True
    has_header = True

    def __init__(self, path: Path, name: str, separator: str) -> None:
        self.separator = separator
        super().__init__(path, name)

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """The names in the first line that is not empty."""
        for _, data, ends in self.read_records():
            start = 0
            for end in ends.tolist():
                if data[start:end].strip(b"\r"):
                    header = data[start:end].decode().removesuffix("\r")
                    return [(name, pl.String()) for name in self._split_header(header)]
                start = end + 1
        raise self.error("must hold rows; it is empty. Check the file.")

    def _split_header(self, text: str) -> list[str]:
        self._require_separator(text)
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, strict=True)
            return [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise self.error(f"must have a header; its first line is not one ({error}).") from None

    def _require_separator(self, text: str) -> None:
        remedy = ""
        if not self.separator:
            self.separator = "\t" if "\t" in text else ","
        if "\r" in text:
            remedy = "ends its lines with carriage returns alone. Save it with newlines"
        elif text.lstrip().startswith(("{", "[")):
            remedy = "holds JSON. Pass --format jsonl if it has one object on each line"
        elif self.separator not in text:
            others = {
                ",": "commas. Pass --format csv",
                "\t": "tabs. Pass --format tsv",
                ";": "semicolons. Save it with commas, and numbers with decimal points",
            }
            remedy = next((f"has {say}" for mark, say in others.items() if mark in text), "")
        if remedy:
            what = {",": "commas", "\t": "tabs"}[self.separator]
            raise self.error(f"must have {what} between its columns; it {remedy}.")

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of all rows, some at a time."""
        header = self.has_header
        for line, data, ends in self.read_records():
            array = np.frombuffer(data, np.uint8)
            starts = np.concatenate(([0], ends[:-1] + 1))
            lengths = ends - starts
            blank = (lengths == 0) | ((lengths == 1) & (array[starts] == _RETURN))
            # in a table of one column, an empty line is a cell
            skip = blank if len(self.schema) > 1 else np.zeros_like(blank)
            self._require_shape(data, line, starts, ends, skip)
            if header:
                named = np.flatnonzero(~blank)
                if not len(named):
                    continue
                skip[: named[0] + 1] = True
                header = False
            if not skip.all():
                first = int(np.argmin(skip))  # polars takes the number of columns from this line
                frame = self._parse(data[starts[first] :], len(ends) - first, line)
                yield frame.filter(~skip[first:]).select(columns)

    def _parse(self, data: bytes, rows: int, line: int) -> pl.DataFrame:
        if data[:1] in b"\r\n":
            data = b'""' + data
        with refusals(self.name, f"must be a table from line {line} on"):
            frame: pl.DataFrame = pl.read_csv(
                data, has_header=False, schema=self.schema, separator=self.separator
            )
        if frame.height != rows:  # polars saw other records than were counted
            raise self.error(
                f"must be a table from line {line} on; its {rows} rows read as {frame.height}. "
                "Check the quotes."
            )
        return frame

    def _require_shape(
        self, data: bytes, line: int, starts: Places, ends: Places, skip: NDArray[np.bool_]
    ) -> None:
        array = np.frombuffer(data, np.uint8)
        separators = array == ord(self.separator)
        returns = np.flatnonzero(array == _RETURN)
        alone = returns[array[returns + 1] != _NEWLINE]
        if b'"' in data:
            self._require_quotes(data, array, line)
            quoted = _is_quoted(array)
            separators &= ~quoted
            alone = alone[~quoted[alone]]
        if len(alone):
            raise self.error(
                f"must end its lines with newlines; line {_line_of(alone[0], data, line)} has a "
                "carriage return alone. Save it with newlines, or quote the cell."
            )
        cells = np.diff(np.searchsorted(np.flatnonzero(separators), ends), prepend=0) + 1
        bad = np.flatnonzero((cells != len(self.schema)) & ~skip)
        if len(bad):
            at = _line_of(starts[bad[0]], data, line)
            raise self.error(
                f"must have {len(self.schema)} cells in every row; line {at} has "
                f"{cells[bad[0]]}. Quote cells that hold the separator."
            )

    def _require_quotes(self, data: bytes, array: NDArray[np.uint8], line: int) -> None:
        """Raise unless quotes stand around whole cells, or doubled inside them."""
        places = np.flatnonzero(array == _QUOTE)
        opening, closing = places[0::2], places[1::2]
        mark = ord(self.separator)
        fine = (opening == 0) | np.isin(array[opening - 1], (mark, _NEWLINE, _QUOTE))
        fine[: len(closing)] &= np.isin(array[closing + 1], (mark, _NEWLINE, _RETURN, _QUOTE))
        bad = np.flatnonzero(~fine)
        if len(bad):
            at = _line_of(opening[bad[0]], data, line)
            raise self.error(
                f"must have quotes around whole cells; line {at} has one inside a cell, or one "
                "that is not closed. Double the quotes inside cells."
            )
