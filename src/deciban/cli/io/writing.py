"""Writing tables: frame after frame, and whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from deciban._persistence.atomic import open_atomically
from deciban.cli.io.formats import TEXT, format_of, polars, refusals
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame

    Write = Callable[[DataFrame], None]

_PART = 100_000  # rows of a part: few files for many small frames


def require_new(path: str | os.PathLike[str], force: bool, *, option: str = "--output") -> Path:
    """A path that may be written to, or a sentence on why not."""
    path = Path(path)
    if "\0" in str(path):
        raise InputError(
            f"{option} must be the name of a file; got {str(path)!r}. Leave out the NUL."
        )
    with refusals(str(path), "must be a name that a file can have"):
        exists, folder, file = path.exists(), path.is_dir(), path.is_file()
        parent = path.parent.is_dir()
    if folder or not parent:
        raise InputError(
            f"{option} must be a file in a folder that exists; got {path}. Make the folder, or "
            f"name a file in it."
        )
    if not os.access(path.parent, os.W_OK):  # before hours of work that could not be kept
        raise InputError(
            f"{option} must be a file in a folder that can be written; {path.parent} cannot. "
            f"Choose another place."
        )
    if exists and not file:  # a rename would put a file in the place of /dev/null
        raise InputError(
            f"{option} must be a file; got {path}, which is a device or a pipe. Use - for "
            f"standard output."
        )
    if exists and not force:
        raise InputError(
            f"{option} must be a new file; {path} exists. Pass --force to write over it."
        )
    return path


def make_folder(folder: Path) -> None:
    """Make the folder that --output names, where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--output must be a folder that can be made; got {folder} ({error.strerror}). Name "
            f"another."
        ) from None


def table_writer(
    target: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    force: bool = False,
) -> AbstractContextManager[Write]:
    """A context whose value writes frames one after the other.

    The target appears when the context ends well, and not before. All frames must have the
    columns of the first. Cells are written as they are: text that a spreadsheet would take for a
    formula stays what it was. Target and format are checked at once, before any work.

    Parameters
    ----------
    target : path, or ``-`` for standard output
        A name that ends in ``.gz`` is compressed.
    format : str, optional
        By the extension by default, and CSV for standard output.
    force : bool
        Write over a file that exists.
    """
    target = os.fspath(target)
    kind = format_of(target, format, "--output")
    if kind == "txt":
        kind = "tsv"
    if target == "-":
        if kind not in TEXT:
            raise InputError(
                f"--format must be csv, tsv or jsonl on standard output; got {kind}. Write to a "
                f"file with --output."
            )
        return _text(_standard_output(), kind)
    path = require_new(target, force)
    inner = _text(_file(path, force), kind) if kind in TEXT else _parts(path, kind, force)
    return _refusing(inner, path)


@contextmanager
def _refusing(context: AbstractContextManager[Write], path: Path) -> Iterator[Write]:
    """The context with what the system refuses said in a sentence; the body's errors stay."""
    stack, must = ExitStack(), "must be a file that can be written"
    with refusals(str(path), must):
        inner = stack.enter_context(context)

    def write(frame: DataFrame) -> None:
        with refusals(str(path), must):
            inner(frame)

    try:
        yield write
    except BaseException:
        stack.__exit__(*sys.exc_info())
        raise
    with refusals(str(path), must):
        stack.close()


@contextmanager
def _text(sink: AbstractContextManager[BinaryIO], kind: str) -> Iterator[Write]:
    with sink as file:
        same = _SameColumns()

        def write(frame: DataFrame) -> None:
            first = same(frame)
            content = io.BytesIO()  # so that a full disk or a closed pipe is Python's own error
            if kind == "jsonl":
                _require_finite(frame)
                frame.write_ndjson(content)
            else:
                separator = "," if kind == "csv" else "\t"
                frame.write_csv(content, include_header=first, separator=separator)
            file.write(content.getbuffer())

        yield write


@contextmanager
def _file(path: Path, force: bool) -> Iterator[BinaryIO]:
    with open_atomically(path) as file:
        if path.suffix.lower() == ".gz":
            # no time and no name inside: the same table gives the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as zipped:
                yield zipped  # type: ignore[misc]
        else:
            yield file
        require_new(path, force)  # it may have come into being since


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # `deciban predict … | head` has read enough. What is buffered goes nowhere, or Python
        # would complain of it when it ends; the status is the one of a program ended by SIGPIPE.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None


@contextmanager
def _parts(path: Path, kind: str, force: bool) -> Iterator[Write]:
    """Parquet and Arrow cannot be appended to: parts on disk, streamed into one file."""
    pl = polars()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".deciban.") as name:
        folder, held, parts = Path(name), list[Any](), list[Path]()
        same = _SameColumns(types=True)

        def flush() -> None:
            part = folder / f"{len(parts)}.arrow"
            pl.concat(held).write_ipc(part, compression="lz4")
            parts.append(part)
            held.clear()

        def write(frame: DataFrame) -> None:
            same(frame)
            held.append(frame)
            if sum(one.height for one in held) >= _PART:
                flush()

        yield write
        if held:
            flush()
        whole = folder / "whole"
        rows = pl.scan_ipc(parts) if parts else pl.LazyFrame()
        (rows.sink_parquet if kind == "parquet" else rows.sink_ipc)(whole)
        os.chmod(whole, 0o644)
        require_new(path, force)
        os.replace(whole, path)


class _SameColumns:
    """Whether a frame is the first; the others must be like it."""

    def __init__(self, types: bool = False) -> None:
        self.types = types
        self.schema: Any = None

    def __call__(self, frame: DataFrame) -> bool:
        schema = frame.schema if self.types else frame.columns
        if self.schema is None:
            self.schema = schema
            return True
        if schema != self.schema:
            raise InputError(
                f"frames of one table must have the same columns; got {schema} after {self.schema}."
            )
        return False


def _require_finite(frame: DataFrame) -> None:
    """JSON has no infinite numbers, and a null in their place would hide them."""
    pl = polars()
    for name, dtype in frame.schema.items():
        if dtype.is_float() and frame.select(pl.col(name).is_infinite().any()).item():
            raise InputError(
                f"JSON lines must have finite numbers; column {name!r} has an infinite one. Write "
                f"CSV, Parquet or Arrow."
            )
