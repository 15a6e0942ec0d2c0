"""Text tables, read by polars in blocks with whole records, plus checks that polars lacks.

Polars silently fills short rows with nulls. So the separators in each block are counted: if their
number does not fit, the lines are checked one by one and the first bad one is named.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from deciban.cli.files import file_errors, reason
from deciban.cli.words import count, quote
from deciban.exceptions import TableError

BLOCK = 1 << 22
_EOL = b"\n"
_MAX_RECORD = 8_000_000  # bytes; a longer line is not a table row
_MAX_UNPACKED = 20_000_000_000  # bytes that a compressed file may hold
_MAX_RATIO, _RATIO_FROM = 500, 1 << 26  # text shrinks 3 to 50 times; a bomb about 1000
_MAX_DEPTH = 100  # brackets within brackets, beyond which older polars overflows its stack
_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32 text", b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text",
    b"PAR1": "Parquet", b"ARROW1": "Arrow IPC", b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook", b"%PDF": "a PDF", b"BZh": "bzip2 data",
    b"\x28\xb5\x2f\xfd": "Zstandard data", b"\xfd7zXZ": "xz data", b"SQLite format 3": "SQLite",
    b"\x89PNG": "a picture", b"\x93NUMPY": "a NumPy array", b"\x1f\x8b": "gzip inside gzip",
}  # fmt: skip

Schema = dict[str, pl.DataType]


class TextFile:
    """UTF-8 text records, optionally compressed with gzip."""

    quotes: bool  # whether a newline between quotes is part of a cell

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def error(self, sentence: str, column: str = "") -> TableError:
        return TableError(sentence, file=self.name, column=column)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks with whole records, each with its first line number."""
        line, rest = 1, b""
        for piece in self._pieces():
            rest += piece
            cut = rest.rfind(b"\n") + 1
            if self.quotes and rest.count(b'"', 0, cut) % 2:  # within a cell that goes on
                cut = rest.rfind(b"\n", 0, rest.rfind(b'"', 0, cut)) + 1
            if len(rest) - cut > _MAX_RECORD:
                self._check_quotes(rest, line)
                raise self.error(
                    f"has a line of more than {_MAX_RECORD // 1_000_000} MB, at line {line} or "
                    "after it. Check that it is a table."
                )
            if cut:
                yield line, self._check_utf8(rest[:cut], line)
                line += rest.count(b"\n", 0, cut)
                rest = rest[cut:]
        if rest:
            self._check_quotes(rest, line)
            yield line, self._check_utf8(rest, line) + b"\n"

    def _pieces(self) -> Iterator[bytes]:
        """The bytes, decompressed if they start like gzip."""
        try:
            with open(self.path, "rb") as file:
                size, zipped = os.fstat(file.fileno()).st_size, file.read(2) == b"\x1f\x8b"
                file.seek(0)
                if self.name.lower().endswith(".gz") and not zipped and size:
                    raise self.error("is not gzip, though its name ends in .gz. Rename it.")
                reader: Any = gzip.GzipFile(fileobj=file) if zipped else file
                total = 0
                while piece := reader.read(BLOCK):
                    if not total:
                        self._check_start(piece)
                        piece = piece.removeprefix(b"\xef\xbb\xbf")
                    total += len(piece)
                    if zipped and total > min(_MAX_UNPACKED, max(_MAX_RATIO * size, _RATIO_FROM)):
                        raise self.error(
                            f"unpacks to more than {_MAX_RATIO} times its size, or to more than "
                            f"{_MAX_UNPACKED / 1e9:.0f} GB. Unpack it yourself if you trust it."
                        )
                    yield piece
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"is truncated or damaged gzip ({error}). Copy it again.") from None
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}.") from None

    def _check_start(self, start: bytes) -> None:
        for mark, content in _MARKS.items():
            if start.startswith(mark):
                hint = "Save it as UTF-8" if "UTF" in content else "Save it as CSV, or rename it"
                raise self.error(f"is {content}, not UTF-8 text. {hint}.")

    def _check_utf8(self, data: bytes, line: int) -> bytes:
        at = data.find(b"\0")
        try:
            data.decode()
        except UnicodeDecodeError as error:
            at = error.start if at < 0 else at
        if at >= 0:
            kind = f"byte 0x{data[at]:02x}" if data[at] else "a NUL byte"
            hint = "it may be Latin-1" if data[at] else "it may be UTF-16, or no text"
            raise self.error(
                f"is not UTF-8 text: {kind} on line {line + data.count(_EOL, 0, at)}. Save it as "
                f"UTF-8 ({hint})."
            )
        return data

    def _check_quotes(self, data: bytes, line: int) -> None:
        if self.quotes and data.count(b'"') % 2:
            at = line + data.count(_EOL, 0, data.rfind(b'"'))
            raise self.error(
                f"has a quote that is never closed, on line {at} or before it. Close it, or double "
                "the quotes inside cells."
            )


class DelimitedText(TextFile):
    """CSV or TSV; an empty separator lets the header decide."""

    quotes = True
    has_header = True

    def __init__(self, path: Path, name: str, separator: str) -> None:
        super().__init__(path, name)
        self.separator = separator

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """The names in the first line that is not empty."""
        for _, data in self.blocks():
            start, end = _header_span(data)
            if end:
                header = data[start:end].decode().rstrip("\r\n")
                return [(name, pl.String()) for name in self.split_header(header)]
        raise self.error("is empty. Check the file.")

    def split_header(self, text: str) -> list[str]:
        if not self.separator:
            self.separator = "\t" if "\t" in text else ","
        self._check_separator(text)
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, strict=True)
            return [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise self.error(f"has no header; its first line is not one ({error}).") from None

    def _check_separator(self, text: str) -> None:
        others = {
            ",": ("commas", "Rename it to .csv"), "\t": ("tabs", "Rename it to .tsv"),
            ";": ("semicolons", "Save it with commas, and numbers with decimal points"),
        }  # fmt: skip
        if "\r" in text:
            raise self.error("ends its lines with carriage returns alone. Save it with newlines.")
        if text.lstrip().startswith(("{", "[")):
            raise self.error("holds JSON. Rename it to .jsonl if it has an object on each line.")
        found = [other for mark, other in others.items() if mark in text]
        if found and self.separator not in text:
            mark, remedy = found[0]
            expected = others[self.separator][0]
            raise self.error(f"has {mark} between its columns, not {expected}. {remedy}.")

    def frames(self, schema: Schema, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        header = self.has_header
        for line, data in self.blocks():
            if header:
                _, end = _header_span(data)
                line, data, header = line + data.count(b"\n", 0, end), data[end:], not end
            if data and not header:
                yield self._parse(data, line, schema).select(columns)

    def _parse(self, data: bytes, line: int, schema: Schema) -> pl.DataFrame:
        cannot = f"cannot be read from line {line} on"
        with suppress(TableError), file_errors(self.name, cannot):
            frame = self._read(data, schema)
            if self._is_regular(data, frame):
                return frame
        data = self._check_lines(data, line, len(schema))
        with file_errors(self.name, cannot):
            return self._read(data, schema)

    def _read(self, data: bytes, schema: Schema) -> pl.DataFrame:
        if not data:
            return pl.DataFrame(schema=schema)
        if len(schema) == 1 and data[:1] in b"\r\n":  # polars counts the columns of the first line
            data = b'""' + data
        return pl.read_csv(data, has_header=False, schema=schema, separator=self.separator)

    def _is_regular(self, data: bytes, frame: pl.DataFrame) -> bool:
        """Whether all rows have as many cells as there are columns, and no line is empty.

        Polars raises on rows that are too long, so the total cannot hide ones that are too short.
        """
        separators = data.count(self.separator.encode())
        if b'"' in data:
            inside = pl.all().str.count_matches(self.separator, literal=True).sum()
            separators -= sum(frame.select(inside).row(0))
        full = separators == frame.height * (frame.width - 1)
        return full and data.count(b"\r") == data.count(b"\r\n")

    def _check_lines(self, data: bytes, line: int, width: int) -> bytes:
        """The lines without empty ones between rows, or an error that names the first bad one."""
        csv.field_size_limit(_MAX_RECORD)
        lines = data.decode().removesuffix("\n").split("\n")
        rows = csv.reader((f"{one}\n" for one in lines), delimiter=self.separator, strict=True)
        kept: list[str] = []
        start = 0
        try:
            for row in rows:
                if row or width == 1:  # in a table of one column, an empty line is a cell
                    kept += lines[start : rows.line_num]
                if row and len(row) != width:
                    raise self.error(
                        f"has {count(len(row), 'cell')} on line {line + start}, not {width} as in "
                        "the first line. Quote cells that hold the separator."
                    )
                start = rows.line_num
        except csv.Error as error:
            if "\r" in lines[start].removesuffix("\r"):
                raise self.error(
                    f"has a carriage return within line {line + start}. Save it with newlines, or "
                    "quote the cell."
                ) from None
            raise self.error(
                f"has a malformed row on line {line + start} ({error}). Put quotes around whole "
                "cells, and double the quotes inside them."
            ) from None
        return "".join(f"{one}\n" for one in kept).encode()


def _header_span(data: bytes) -> tuple[int, int]:
    """Start and end of the first line that is not empty; zeros if there is none."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    if start == len(data):
        return 0, 0
    end = data.find(b"\n", start) + 1
    while data.count(b'"', start, end) % 2:  # a name goes on in the next line
        end = data.find(b"\n", end) + 1
    return start, end


class JSONLines(TextFile):
    """One JSON object on each line. A key that a line leaves out is null there."""

    quotes = False

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """All keys, each with a type that holds its values."""
        empty = [self._parse(data, line, None).clear() for line, data in self.blocks()]
        if not empty:
            raise self.error("is empty. Write a JSON object on each line.")
        # digits beyond 64 bits are names, not amounts
        as_text = (pl.Null, pl.Int128)
        schema = pl.concat(empty, how="diagonal_relaxed").schema
        return [(name, pl.String() if kind in as_text else kind) for name, kind in schema.items()]

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines at a time that are not all empty."""
        return ((line, data) for line, data in super().blocks() if data.strip())

    def frames(self, schema: Schema, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for line, data in self.blocks():
            yield self._parse(data, line, schema).select(columns)

    def _parse(self, data: bytes, line: int, schema: Schema | None) -> pl.DataFrame:
        brackets = data.count(b"[") + data.count(b"{")
        if brackets > data.count(b"\n") + 1 + _MAX_DEPTH:  # brackets in text count too
            self._check_lines(data, line)
        try:
            return pl.read_ndjson(data, schema=schema, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            self._check_lines(data, line)
            raise self.error(
                f"has a column with values of several types, from line {line} on "
                f"({reason(error)}). Write one type in each column."
            ) from None

    def _check_lines(self, data: bytes, line: int) -> None:
        """Raise on the first line that is not an object with plain values."""
        for number, text in enumerate(data.decode().split("\n"), line):
            if not text.strip():
                continue
            try:
                value = json.loads(text, parse_constant=_refuse_constant)
                problem = "" if isinstance(value, dict) else f"got {quote(value)}"
            except (ValueError, RecursionError) as error:
                problem = getattr(error, "msg", str(error))
            if problem:
                raise self.error(
                    f"has no JSON object on line {number} ({problem}). Write one on each line."
                )
            nested = [name for name, cell in value.items() if isinstance(cell, dict | list)]
            if nested:
                raise self.error(
                    f"holds a {type(value[nested[0]]).__name__} on line {number}. Leave the column "
                    "out, or make columns of its parts.",
                    nested[0],
                )


def _refuse_constant(text: str) -> None:
    raise ValueError(f"JSON has no {text}")
