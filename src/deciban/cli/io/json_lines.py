"""Tables of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli.io.formats import polars, require_names
from deciban.cli.io.text import blocks
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame


_DEEP = 100  # brackets within brackets; values are plain, so that one is too many


class JSONLines:
    """A table of one JSON object a line. A key that a line leaves out is null there."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.schema: dict[str, Any] = {}
        pl, some = polars(), False
        for line, data, _ in blocks(path, name, quotes=False):
            if data.strip():
                some = True
                for column, dtype in self._parsed(data, line, None).schema.items():
                    self.schema[column] = self._joined(column, self.schema.get(column), dtype)
        if not some:
            raise InputError(f"{name} must have an object on each line; it is empty.")
        for column, dtype in self.schema.items():
            if dtype in (pl.Null, pl.Int128):  # digits beyond 64 bits are names, not amounts
                self.schema[column] = pl.String
        require_names(list(self.schema), name)

    def _joined(self, column: str, one: Any, other: Any) -> Any:
        pl = polars()
        if other.is_nested():
            raise InputError(
                f"{self.name} must have plain values; column {column!r} holds lists or objects. "
                f"Leave it out, or make columns of its parts."
            )
        if one is None or one in (other, pl.Null):
            return other
        if other == pl.Null or pl.String in (one, other):
            return one if other == pl.Null else pl.String()
        if one.is_numeric() and other.is_numeric():
            return pl.Float64() if pl.Float64 in (one, other) else pl.Int128()
        raise InputError(
            f"{self.name} must have one type of value a column; column {column!r} holds both "
            f"truth values and numbers. Write one kind."
        )

    def frames(self) -> Iterator[DataFrame]:
        """The rows, some at a time."""
        for line, data, _ in blocks(self.path, self.name, quotes=False):
            if data.strip():
                yield self._parsed(data, line, self.schema)

    def _parsed(self, data: bytes, line: int, schema: dict[str, Any] | None) -> DataFrame:
        pl = polars()
        if _may_be_deep(data):
            for i, text in enumerate(data.split(b"\n")):
                self._require_object(text, line + i)
        try:
            return pl.read_ndjson(data, schema=schema, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            for i, text in enumerate(data.split(b"\n")):
                self._require_object(text, line + i)
            raise InputError(
                f"{self.name} must have one type of plain values a column; from line {line} on "
                f"it has several ({str(error).splitlines()[0]})."
            ) from None

    def _require_object(self, text: bytes, line: int) -> None:
        try:
            value = json.loads(text, parse_constant=_no_constant) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.name} must have one JSON object a line; line {line} is none ({error})."
            ) from None
        if not isinstance(value, dict):
            raise InputError(
                f"{self.name} must have one JSON object a line; line {line} holds a "
                f'{type(value).__name__}. Write it as {{"column": value, …}}.'
            )
        for column, cell in value.items():
            if isinstance(cell, dict | list):
                raise InputError(
                    f"{self.name} must have plain values; column {column!r} of line {line} holds "
                    f"a {type(cell).__name__}. Make columns of its parts."
                )


def _may_be_deep(data: bytes) -> bool:
    """Whether brackets are nested so deeply that older polars would crash.

    Those in text are counted, too: what looks deep is read again with care.
    """
    opened = data.count(b"[") + data.count(b"{")
    if opened <= data.count(b"\n") + 1 + _DEEP:
        return False
    import numpy as np

    signs = np.zeros(256, dtype=np.int8)
    signs[list(b"[{")], signs[list(b"]}")] = 1, -1
    return int(np.cumsum(signs[np.frombuffer(data, np.uint8)], dtype=np.int64).max()) > _DEEP


def _no_constant(text: str) -> None:
    raise ValueError(f"JSON has no {text}")
