"""Tables of one JSON object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from deciban.cli.io.text import TextTable
from deciban.cli.words import shorten
from deciban.exceptions import TableError

_DEEPEST = 100  # brackets within brackets; values are plain, so that one is too many
_STRINGS = r'"(?:[^"\\]|\\.)*"\s*:?'  # a key is a string that a colon follows


class JSONLines(TextTable):
    """A table of one JSON object on each line. A key that a line leaves out is null there."""

    quotes = False

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """The keys of all lines, each with a type that holds its values."""
        schema: dict[str, Any] = {}
        empty = True
        for line, data, _ in self.read_records():
            if data.strip():
                empty = False
                self._require_distinct_keys(data, line)
                for column, dtype in self._parse(data, line, None).schema.items():
                    schema[column] = self._common_type(column, schema.get(column), dtype)
        if empty:
            raise self.error("must have a JSON object on each line; it is empty.")
        # digits beyond 64 bits are names, not amounts
        as_text = (pl.Null, pl.Int128)
        return [(name, pl.String() if kind in as_text else kind) for name, kind in schema.items()]

    def _common_type(self, column: str, one: Any, other: Any) -> Any:
        if other.is_nested():
            what = "must have plain values; it holds lists or objects. "
            raise self.error(f"{what}Leave it out, or make columns of its parts.", column)
        if one is None or one in (other, pl.Null):
            return other
        if other == pl.Null or pl.String in (one, other):
            return one if other == pl.Null else pl.String()
        if one.is_numeric() and other.is_numeric():
            return pl.Float64() if pl.Float64 in (one, other) else pl.Int128()
        what = "must have one type of value; it holds both truth values and numbers."
        raise self.error(f"{what} Write one kind.", column)

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of all rows, some at a time."""
        for line, data, _ in self.read_records():
            if data.strip():
                yield self._parse(data, line, self.schema).select(columns)

    def _parse(self, data: bytes, line: int, schema: dict[str, Any] | None) -> pl.DataFrame:
        if _may_be_deep(data):
            self._require_objects(data, line)
        try:
            return pl.read_ndjson(data, schema=schema, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            self._require_objects(data, line)
            raise self.error(
                f"must have one type of plain value in each column; from line {line} on it has "
                f"several ({shorten(str(error).splitlines()[0], 160)}).",
            ) from None

    def _require_distinct_keys(self, data: bytes, line: int) -> None:
        """Raise where a line has a key twice, of which polars would take one."""
        lines = pl.Series(data.decode().split("\n"))
        keys = pl.element().filter(pl.element().str.ends_with(":")).str.strip_chars(" \t\r:")
        found = pl.DataFrame({"line": lines}).select(
            keys=pl.col("line").str.extract_all(_STRINGS).list.eval(keys)
        )
        doubtful = found.select(  # an escape may hide that two keys are one
            (pl.col("keys").list.n_unique() < pl.col("keys").list.len())
            | pl.col("keys").list.eval(pl.element().str.contains(r"\\")).list.any()
        ).to_series()
        for i in doubtful.arg_true().to_list():
            self._require_object(lines[i], line + i)

    def _require_objects(self, data: bytes, line: int) -> None:
        for i, text in enumerate(data.decode().split("\n")):
            self._require_object(text, line + i)

    def _require_object(self, text: str, line: int) -> None:
        def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
            if len(dict(found)) < len(found):
                twice = next(key for k, (key, _) in enumerate(found) if key in dict(found[:k]))
                raise self.error(f"must appear once in each line; line {line} has it twice.", twice)
            return dict(found)

        try:
            options: Any = {"parse_constant": _refuse_constant, "object_pairs_hook": pairs}
            value = json.loads(text, **options) if text.strip() else {}
        except TableError:
            raise
        except (ValueError, RecursionError) as error:
            raise self.error(
                f"must have one JSON object on each line; line {line} is not one ({error}).",
            ) from None
        if not isinstance(value, dict):
            raise self.error(
                f"must have one JSON object on each line; line {line} holds a "
                f'{type(value).__name__}. Write it as {{"column": value, …}}.'
            )
        for column, cell in value.items():
            if isinstance(cell, dict | list):
                what = f"must have plain values; line {line} holds a {type(cell).__name__}. "
                raise self.error(f"{what}Make columns of its parts.", column)


def _may_be_deep(data: bytes) -> bool:
    """Whether brackets may be nested so deeply that older polars would crash.

    Brackets in text count, too: what looks deep is read again with care.
    """
    opened = data.count(b"[") + data.count(b"{")
    return opened > data.count(b"\n") + 1 + _DEEPEST


def _refuse_constant(text: str) -> None:
    raise ValueError(f"JSON has no {text}")
