"""Formats of tables, told by name; and the sentences that every reader and writer shares."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deciban.exceptions import InputError, MissingExtraError

EXTENSIONS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "txt",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
TEXT = ("csv", "tsv", "txt", "jsonl")
WIDEST = 100_000  # columns
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
NAMES = {"csv": "CSV", "tsv": "TSV", "txt": "CSV or TSV", "jsonl": "JSON lines",
         "parquet": "Parquet", "arrow": "Arrow IPC"}  # fmt: skip


def format_of(path: str, format: str | None, option: str = "a table's file") -> str:  # noqa: A002
    """Format of a file: as asked for, else by its extension; CSV for ``-``."""
    if format is not None:
        asked = EXTENSIONS.get("." + format.lower().lstrip("."), format.lower())
        if asked not in NAMES:
            raise InputError(
                f"--format must be one of {', '.join(FORMATS)}; got {format!r}."
                f"{nearest(format, FORMATS)}"
            )
        return asked
    if path == "-":
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    found = EXTENSIONS.get("".join(suffixes[-2:-1] if zipped else suffixes[-1:]))
    if found is None or (zipped and found not in TEXT):
        raise InputError(
            f"{option} must end in .csv, .tsv, .txt, .jsonl, .ndjson (each also with .gz), "
            f".parquet, .arrow, .feather or .ipc; got {path}. Rename it, or pass --format "
            f"({', '.join(FORMATS)})."
        )
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """A question that names the word meant, or nothing.

    Examples
    --------
    >>> nearest("speces", ["sepal_length", "species"])
    " Did you mean 'species'?"
    >>> nearest("x", ["species"])
    ''
    """
    by_folded = {other.casefold(): other for other in words}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1)
    return f" Did you mean {by_folded[close[0]]!r}?" if close else ""


def listed(words: Iterable[str], most: int = 12) -> str:
    """Words with commas between; the first ones where there are many."""
    words = list(words)
    return ", ".join(words[:most]) + (f", … ({len(words)} in all)" if len(words) > most else "")


def split(text: str, at: str = ",") -> list[str]:
    """Parts with commas (or another sign) between; those within double quotes part nothing.

    Examples
    --------
    >>> split('a=0.5, "Doe, J."=0.5')
    ['a=0.5', '"Doe, J."=0.5']
    """
    parts, quoted = [""], False
    for sign in text:
        quoted ^= sign == '"'
        if sign == at and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def unquoted(text: str) -> str:
    """A name without the double quotes that it may stand in.

    Examples
    --------
    >>> unquoted('"Doe, J."'), unquoted("a")
    ('Doe, J.', 'a')
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def quoted(name: object) -> str:
    """A name as it can be typed among others.

    Examples
    --------
    >>> quoted("Doe, J."), quoted("a")
    ('"Doe, J."', 'a')
    """
    text = str(name)
    plain = not any(sign in text for sign in ',"=>') and text == text.strip()
    return text if plain and text else '"' + text.replace('"', '""') + '"'


def names_in(text: str) -> list[str]:
    """Names with commas between; one with a comma of its own stands in double quotes."""
    return [unquoted(part) for part in split(text)]


def polars() -> Any:
    """The module polars, or a sentence on how to install it."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError(
            "Tables must be read with polars, which is not installed. Run: pip install "
            "'deciban[cli]'", extra="cli",
        ) from None  # fmt: skip
    return pl


def require_names(names: list[str], table: str) -> None:
    """Columns have names, each its own."""
    if not names:
        raise InputError(f"{table} must have columns; it has none. Check the file.")
    if len(names) > WIDEST:
        raise InputError(f"{table} must have at most {WIDEST} columns; it has {len(names)}.")
    empty = [str(i) for i, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise InputError(
            f"{table} must name every column; column {listed(empty)} has no name. Name it (pandas "
            f"writes a column like this unless told index=False)."
        )
    seen: set[str] = set()
    twice = list(dict.fromkeys(name for name in names if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    if twice:
        raise InputError(
            f"{table} must have one column of each name; {listed(map(repr, twice))} is there more "
            f"than once. Rename one."
        )


@contextmanager
def refusals(name: str, must: str) -> Iterator[None]:
    """What polars and the system refuse, as one sentence about the file."""
    pl = polars()
    try:
        yield
    except pl.exceptions.PanicException as error:  # a BaseException, which ends programs
        raise InputError(f"{name} {must}; polars gave up on it ({_first(error)}).") from None
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{name} {must}; it is not ({_first(error)}).") from None
    except OSError as error:
        reason = error.strerror or _first(error)
        raise InputError(f"{name} {must}; got an error of the system ({reason}).") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing on standard error from below Python: Rust prints a trace of each of its panics."""
    try:
        kept = os.dup(2)
    except OSError:  # closed: nothing can be printed there
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _first(error: BaseException) -> str:
    """The first line of a message, short enough for a sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return (line if len(line) <= 160 else line[:160] + "…").rstrip(".")
