"""Output files and folders: checked before any work, and written completely or not at all.

A folder has one part per input part, and a manifest written first that describes them. A run that
was killed continues with the missing parts.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import polars.selectors as cs

from deciban import __version__
from deciban._persistence.files import open_atomically, write_atomically
from deciban._workers import Workers
from deciban.cli.files import TEXT, Part, Source, file_errors, find_files, format_of
from deciban.cli.show import track_progress
from deciban.cli.tables import check_same_columns
from deciban.exceptions import InputError

Name = str | os.PathLike[str]
Write = Callable[[pl.DataFrame], None]
# A table made from a table; it goes to other processes. open(source) gives the table,
# frames(source) the rows that are made of it, at least one frame, and summarize(frame) counts of a
# frame of the columns that are `counted`.
Job = Any
_CANNOT = "cannot be written"
_HELD = 1 << 27  # bytes of frames that are held before they go to a file
MANIFEST = "manifest.json"
_ROWS = 1 << 18  # of a part: seconds of work, and what polars and others put into few row groups
_OTHER = {
    "command": "by another command",
    "deciban": "by another version of deciban",
    "model": "with another model",
    "settings": "with other options",
    "inputs": "from other files",
}


def require_outputs(
    outputs: Mapping[str, Name | None], inputs: Sequence[Name | None] = (), *, force: bool = False
) -> None:
    """Raise unless each option's output can be written, and none is an input or another output."""
    seen = [("an input", Path(one)) for one in inputs if one and str(one) != "-"]
    for option, path in [(k, Path(v)) for k, v in outputs.items() if v and str(v) != "-"]:
        for role, other in seen:
            if _is_same_file(path, other):
                raise InputError(f"{option} {path} is {role} too. Choose another name.")
        _check_writable(path, force, option)
        seen.append((option, path))
    if outputs.get("--report") is not None:  # before hours of work that no page could show
        from deciban.report.bundle import load_templates

        load_templates()


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one file, be it through links."""
    try:
        both = one.exists() and other.exists()
        return one.samefile(other) if both else one.resolve() == other.resolve()
    except (OSError, ValueError):  # not names of files, which is said elsewhere
        return False


def _check_writable(path: Path, force: bool, option: str) -> None:
    if "\0" in str(path):
        raise InputError(f"{option} {str(path)!r} is not a file name: it has a NUL byte.")
    with file_errors(f"{option} {path}", "is not a valid file name"):
        exists = path.exists()
        problems = {
            "is a folder. Name a file in it": path.is_dir(),
            "is in a folder that does not exist. Make the folder first": not path.parent.is_dir(),
            "is in a folder that cannot be written to. Choose another place": not os.access(
                path.parent,
                os.W_OK,  # before hours of work that could not be stored
            ),
            # a rename would put a file in the place of /dev/null
            "is a device, not a file. Use - for standard output": exists and not path.is_file(),
            "exists. Choose another name, or pass --force to overwrite it": exists and not force,
        }
    for problem, found in problems.items():
        if found:
            raise InputError(f"{option} {path} {problem}.")


def make_folder(folder: Path) -> None:
    with file_errors(f"--output {folder}", "cannot be made"):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def table_writer(target: str, *, force: bool = False) -> Iterator[Write]:
    """A context whose value writes frames with the same columns, one after the other.

    The target, a file or ``-`` for standard output, appears when the context ends well.
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
        with file_errors(name, _CANNOT):
            if kind == "jsonl":
                infinite = [x.name for x in frame.select(cs.float()) if x.is_infinite().any()]
                if infinite:  # a null in their place would hide them
                    raise InputError(
                        f"JSON has no infinite numbers, and column {infinite[0]!r} has one. Write "
                        "CSV, Parquet or Arrow."
                    )
                frame.write_ndjson(content)
            else:
                separator = "," if kind == "csv" else "\t"
                frame.write_csv(content, include_header=first, separator=separator)
        first = False
        file.write(content.getbuffer())

    return write


@contextmanager
def _columnar_writer(file: BinaryIO, path: Path, kind: str) -> Iterator[Write]:
    """Parquet and Arrow cannot be appended to: rows that exceed memory wait in a folder."""
    held: list[pl.DataFrame] = []
    spilled: list[pl.LazyFrame] = []
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as folder:

        def write(frame: pl.DataFrame) -> None:
            held.append(frame)
            if sum(one.estimated_size() for one in held) < _HELD:
                return
            name = Path(folder, f"{len(spilled)}.arrow")
            with file_errors(str(path), _CANNOT):
                pl.concat(held).write_ipc(name, compression="lz4")
                spilled.append(pl.scan_ipc(name))
            held.clear()

        yield write
        frames = [*spilled, *(frame.lazy() for frame in held)]
        rows = pl.concat(frames) if frames else pl.LazyFrame()
        with file_errors(str(path), _CANNOT):
            (rows.sink_parquet if kind == "parquet" else rows.sink_ipc)(file)


def is_folder(output: str) -> bool:
    """Whether an output is a folder: there is one, or the name ends in a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def require_output(
    output: str, table: str, others: Sequence[Name | None], *, many: bool, force: bool
) -> list[str]:
    """The files to read, or an error if the output, a folder for ``many`` processes, cannot be."""
    files = find_files(table)
    if not is_folder(output):
        if many or files != [table]:
            cause = "several processes write" if many else f"{table} stands for several files"
            raise InputError(
                f"--output must be a folder, since {cause}; got {output}. Give a name that ends in "
                "a slash, such as out/."
            )
        require_outputs({"--output": output}, (table, *others), force=force)
        return files
    here = Path(output).resolve()
    if os.path.isdir(table) and Path(table).resolve() in here.parents:
        raise InputError(
            f"--output {output} is in {table}, the folder that is read. Name another folder."
        )
    for file in files:
        if file != "-" and here in Path(file).resolve().parents:
            raise InputError(f"--output {output} holds an input, {file}. Name another folder.")
    return files


def split_files(job: Job, files: Sequence[str], output: str) -> list[Source]:
    """Input parts if the output is a folder, else the files themselves."""
    if not is_folder(output):
        return [*files]
    tables = [job.open(file) for file in files]
    check_same_columns(tables)
    return [part for table in tables for part in table.split(_ROWS)]


def write_output(
    workers: Workers, job: Job, parts: Sequence[Source], output: str, plan: Mapping[str, Any],
    *, force: bool,
) -> Counter[Hashable]:  # fmt: skip
    """Run a job on the parts, write its frames, and count "rows" and the job's own counts.

    In a folder, parts from an earlier run with the same ``plan`` stay.
    """
    if not is_folder(output):
        return _write_table(job, parts[0], output, force=force)
    folder = Path(output)
    inputs = list(dict.fromkeys(os.path.abspath(part) for part in parts))
    workers.require_files(inputs)
    about = [(file, os.stat(file)) for file in inputs]
    described = {"deciban": __version__, **plan, "inputs": [
        {"file": file, "bytes": one.st_size, "modified_ns": one.st_mtime_ns} for file, one in about
    ]}  # fmt: skip
    names = [f"part-{k:05}.parquet" for k in range(len(parts))]
    manifest = {**described, "parts": [*map(_describe_part, names, parts)], "complete": False}
    _claim_folder(workers, folder, described, manifest, force=force)
    counts: Counter[Hashable] = Counter()
    work = partial(_write_part, job, os.path.abspath(folder))
    results = workers.map(work, list(zip(names, parts, strict=True)))
    for found, noted in track_progress(results, "Parts", len(parts)):
        counts.update(found)
        for warning in noted:
            warnings.warn(warning, stacklevel=2)
    _write_manifest(folder, {**manifest, "rows": counts["rows"], "complete": True})
    for rest in folder.glob(".part-*"):  # of workers that were killed
        if rest.is_dir():
            shutil.rmtree(rest, ignore_errors=True)
        else:
            rest.unlink(missing_ok=True)
    return counts


def _describe_part(name: str, part: Source) -> dict[str, Any]:
    found = {"file": name, "input": os.path.abspath(part)}
    if isinstance(part, Part) and part.rows is not None:
        return found | {"first_row": part.start, "rows": part.rows}
    return found


def _write_table(job: Job, source: Source, target: str, *, force: bool) -> Counter[Hashable]:
    counts: Counter[Hashable] = Counter({"rows": 0})
    with table_writer(target, force=force) as write:
        for frame in job.frames(source):
            write(frame)
            counts["rows"] += frame.height
            counts.update(job.summarize(frame))
    return counts


def _write_part(
    job: Job, folder: str, item: tuple[str, Source]
) -> tuple[Counter[Hashable], list[Warning | str]]:
    """Write a part unless it exists; its counts and warnings."""
    name, part = item
    path = Path(folder, name)
    counts = _count_rows(job, path, getattr(part, "rows", None))
    if counts is not None:
        return counts, []
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        counts = _write_table(job, part, str(path), force=True)
    return counts, [one.message for one in noted]


def _count_rows(job: Job, path: Path, rows: int | None) -> Counter[Hashable] | None:
    """Counts for a complete part; None for any other."""
    if not path.exists():
        return None
    try:
        scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        found = scan.select(pl.len()).collect().item()
        counted = scan.select(job.counted).collect()
    except (pl.exceptions.PolarsError, OSError):  # cut off when the machine lost its power
        return None
    if rows is not None and found != rows:
        return None
    return Counter({"rows": found, **job.summarize(counted)})


def _claim_folder(
    workers: Workers, folder: Path, plan: Mapping[str, Any], manifest: Mapping[str, Any], *,
    force: bool,
) -> None:  # fmt: skip
    """Make the folder with its manifest, or raise unless an equal earlier run made it."""
    plan = json.loads(json.dumps(plan))
    earlier = _read_manifest(folder)
    if earlier is None and folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"--output {folder} holds files and no {MANIFEST} of an earlier run. Name a new or an "
            "empty folder."
        )
    if earlier is not None and not force:
        for key, cause in _OTHER.items():
            if earlier.get(key) != plan[key]:
                raise InputError(
                    f"--output {folder} holds parts that were made {cause}. Name another folder, "
                    "or pass --force to start anew."
                )
    made = not folder.exists()
    make_folder(folder)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".part-") as seen:
            workers.require_files([seen.name])
    except Exception:
        if made:
            folder.rmdir()
        raise
    if earlier is not None and force:
        for one in earlier["parts"]:
            (folder / Path(one["file"]).name).unlink(missing_ok=True)
    if earlier is None or force:
        _write_manifest(folder, manifest)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest in a folder, None if there is none."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(found["parts"], list):
            return dict(found)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise InputError(f"{folder / MANIFEST} is not a manifest of deciban. Name another folder.")


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps(manifest, ensure_ascii=False, indent=1)
    write_atomically(folder / MANIFEST, f"{text}\n")
