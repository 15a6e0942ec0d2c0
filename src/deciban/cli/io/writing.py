"""Files to write: checked before any work, and written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import polars as pl

from deciban._persistence.files import open_atomically
from deciban.cli.io.formats import TEXT, format_of, refusals
from deciban.exceptions import InputError

Write = Callable[[pl.DataFrame], None]
_MUST = "must be a file that can be written"
_HELD = 1 << 27  # bytes of frames that are held before they go to a file


def require_outputs(
    outputs: Mapping[str, str | os.PathLike[str] | None],
    inputs: tuple[str | os.PathLike[str] | None, ...] = (),
    *,
    force: bool = False,
) -> None:
    """Raise unless every output can be written, and none of them is an input or another output.

    Outputs have the names of their options; with ``force`` they may exist. None and ``-`` are
    skipped.
    """
    seen = [("an input", Path(one)) for one in inputs if one is not None and str(one) != "-"]
    for option, target in outputs.items():
        if target is None or str(target) == "-":
            continue
        path = Path(target)
        for what, other in seen:
            if _is_same_file(path, other):
                raise InputError(
                    f"{option} must be a file of its own; got {path}, which is {what}, too. Choose "
                    f"another name."
                )
        _require_writable(path, force, option)
        seen.append((option, path))
    if outputs.get("--report") is not None:  # before hours of work that no page could show
        from deciban.report.bundle import load_templates

        load_templates()


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one file, be it through links."""
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, ValueError):  # not names of files, which is said elsewhere
        return False


def _require_writable(path: Path, force: bool, option: str) -> None:
    with refusals(str(path), "must be a valid file name"):
        exists, folder, file = path.exists(), path.is_dir(), path.is_file()
        parent = path.parent.is_dir()
    if "\0" in str(path):
        raise InputError(
            f"{option} must be the name of a file; got {str(path)!r}. Leave out the NUL."
        )
    if folder or not parent:
        raise InputError(
            f"{option} must be a file in a folder that exists; got {path}. Make the folder, or "
            "name a file in it."
        )
    if not os.access(path.parent, os.W_OK):  # before hours of work that could not be stored
        raise InputError(
            f"{option} must be a file in a folder that can be written; {path.parent} cannot. "
            "Choose another place."
        )
    if exists and not file:  # a rename would put a file in the place of /dev/null
        raise InputError(
            f"{option} must be a file; got {path}, which is a device or a pipe. Use - for standard "
            "output."
        )
    if exists and not force:
        raise InputError(
            f"{option} must be a new file; {path} exists. Choose another name; only --force "
            "overwrites it."
        )


def make_folder(folder: Path) -> None:
    """Make the folder that --output names, if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--output must be a folder that can be made; got {folder} ({error.strerror}). Name "
            f"another."
        ) from None


@contextmanager
def table_writer(target: str, *, force: bool = False) -> Iterator[Write]:
    """A context whose value writes frames one after the other.

    The target, a file or ``-`` for standard output, appears when the context ends well, and not
    before. Its extension tells the format (CSV for standard output); ``.gz`` is compressed. All
    frames must have the columns of the first. Cells are written as they are: text that a
    spreadsheet would take for a formula stays what it was.
    """
    kind = format_of(target, output=True)
    if target == "-":
        yield _text_writer(sys.stdout.buffer, "csv", "standard output")
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    require_outputs({"--output": path}, force=force)
    with open_atomically(path, replace=force) as file:
        if kind not in TEXT:
            with _columnar_writer(file, path, kind) as write:
                yield write
        elif path.suffix.lower() == ".gz":
            # no time and no name inside: the same table gives the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as zipped:
                yield _text_writer(zipped, kind, target)
        else:
            yield _text_writer(file, kind, target)


def _text_writer(file: BinaryIO | gzip.GzipFile, kind: str, name: str) -> Write:
    first = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal first
        content = io.BytesIO()  # so that a full disk or a closed pipe is Python's own error
        with refusals(name, _MUST):
            if kind == "jsonl":
                _require_finite(frame)
                frame.write_ndjson(content)
            else:
                separator = "," if kind == "csv" else "\t"
                frame.write_csv(content, include_header=first, separator=separator)
        first = False
        file.write(content.getbuffer())

    return write


@contextmanager
def _columnar_writer(file: BinaryIO, path: Path, kind: str) -> Iterator[Write]:
    """Parquet and Arrow cannot be appended to: what exceeds memory waits in files beside it."""
    held: list[pl.DataFrame] = []
    beside: list[Path] = []
    with ExitStack() as stack:

        def write(frame: pl.DataFrame) -> None:
            held.append(frame)
            if sum(one.estimated_size() for one in held) < _HELD:
                return
            if not beside:
                folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.")
                beside.append(Path(stack.enter_context(folder)))
            beside.append(beside[0] / f"{len(beside)}.arrow")
            with refusals(str(path), _MUST):
                pl.concat(held).write_ipc(beside[-1], compression="lz4")
            held.clear()

        yield write
        frames = [pl.scan_ipc(one) for one in beside[1:]] + [frame.lazy() for frame in held]
        rows = pl.concat(frames) if frames else pl.LazyFrame()
        with refusals(str(path), _MUST):
            (rows.sink_parquet if kind == "parquet" else rows.sink_ipc)(file)


def _require_finite(frame: pl.DataFrame) -> None:
    """Raise on infinite numbers, which JSON lacks; a null in their place would hide them."""
    for name, dtype in frame.schema.items():
        if dtype.is_float() and frame.select(pl.col(name).is_infinite().any()).item():
            raise InputError(
                f"JSON lines must have finite numbers; column {name!r} has an infinite one. Write "
                f"CSV, Parquet or Arrow."
            )
