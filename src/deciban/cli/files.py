"""Files that commands read: formats, names, pipes, and system errors as sentences."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

import polars as pl

from deciban._persistence.files import expand_name
from deciban.cli import cleanup
from deciban.cli.words import shorten, suggest
from deciban.exceptions import TableError

_EXTENSIONS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "txt",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
TEXT = ("csv", "tsv", "txt", "jsonl")


@dataclass(frozen=True)
class Part:
    """Some rows in a file, opened like the file."""

    path: str
    start: int = 0
    rows: int | None = None  # all that follow
    name: str = ""  # of the file in messages, if it is not the path

    def __fspath__(self) -> str:
        return self.path


Source = str | os.PathLike[str]  # a file, some rows of one, or - for standard input


def format_of(path: str, *, output: bool = False, default: str | None = None) -> str:
    """Format by extension, else the ``default``; for standard input and pipes, by first bytes."""
    if output and path == "-":
        return "csv"
    pipe = not (default or output or Path(path).suffix or Path(path).is_file())  # /dev/fd/63
    if path == "-" or pipe:
        with open(locate(path)[0], "rb") as file:
            start = file.read(64)
        if start.startswith((b"PAR1", b"ARROW1")):
            return "parquet" if start.startswith(b"PAR1") else "arrow"
        return "jsonl" if start.lstrip().startswith(b"{") else "txt"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    found = _EXTENSIONS.get("".join(suffixes[-2:-1] if zipped else suffixes[-1:]), default)
    if found is None or (zipped and found not in TEXT):
        raise TableError(
            "must end in .csv, .tsv, .txt, .jsonl or .ndjson (optionally followed by .gz), "
            ".parquet, .arrow, .feather or .ipc. Rename it.",
            file=path,
        )
    return found


def is_address(source: Source) -> bool:
    """Whether a source is remote, such as s3://bucket/scores.parquet."""
    return "://" in os.fspath(source)


def find_files(text: str) -> list[str]:
    """Sorted files for a name: a file, a folder with Parquet files, or a pattern."""
    is_folder = os.path.isdir(text)
    if not is_folder and not glob.has_magic(text):
        return [text]
    found = expand_name(text)
    if not found:
        none = "contains no .parquet files" if is_folder else "matches no files"
        raise TableError(f"{none}. Check the name.", file=text)
    return found


def locate(source: Source) -> tuple[Path, str]:
    """A file to read and its name in messages; a pipe is copied, to be read more than once."""
    text = os.fspath(source)
    if text == "-":
        if sys.stdin is None:
            raise TableError("is closed. Name a file instead of -.", file="standard input")
        return _spool(sys.stdin.buffer, "standard input"), "standard input"
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        hint = suggest(path.name, os.listdir(path.parent) if path.parent.is_dir() else [])
        raise TableError(f"not found.{hint or ' Check the name.'}", file=text) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"cannot be read: {reason}.", file=text) from None
    if stat.S_ISFIFO(mode):
        return _spool(text, text), text
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "device"
        raise TableError(f"is a {kind}, not a file. Name a file.", file=text)
    return path, text


@cache
def _spool(source: BinaryIO | str, name: str) -> Path:
    """A copy on disk, made once and removed when the program ends."""
    with file_errors(name, "cannot be copied to the folder for temporary files"):
        copy = Path(tempfile.gettempdir()) / f"deciban-{secrets.token_hex(8)}"
        cleanup.callback(copy.unlink, missing_ok=True)  # first: a signal may come at any time
        private = partial(os.open, mode=0o600)
        pipe = open(source, "rb") if isinstance(source, str) else nullcontext(source)  # noqa: SIM115
        with open(copy, "xb", opener=private) as file, pipe as content:
            shutil.copyfileobj(content, file, 1 << 20)
    return copy


@contextmanager
def file_errors(name: str, problem: str) -> Iterator[None]:
    """Turn polars and system errors into a sentence: the file, the problem, the reason."""
    try:
        with _silence_stderr():
            yield
    except pl.exceptions.PanicException as error:  # a BaseException, which ends programs
        raise TableError(f"{problem}: polars gave up ({reason(error)}).", file=name) from None
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{problem}: {reason(error)}.", file=name) from None
    except OSError as error:
        raise TableError(f"{problem}: {error.strerror or reason(error)}.", file=name) from None


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Silence code below Python: Rust prints a trace at each panic."""
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


def reason(error: BaseException) -> str:
    """The first line in a message, short enough for a sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return shorten(line, 160).rstrip(".")
