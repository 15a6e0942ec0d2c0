"""Tables made from tables: one file, or a folder with a part for each part of the input.

A folder has a manifest, which says what its parts are made of before the first one is written. A
part is written whole or not at all, so a run that was killed goes on with the parts that are not
there.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from deciban import __version__
from deciban._persistence.files import write_atomically
from deciban._workers import Workers
from deciban.cli.io.formats import Part, Source, Table
from deciban.cli.io.sources import find_files
from deciban.cli.io.writing import make_folder, require_outputs, table_writer
from deciban.cli.show import track_progress
from deciban.exceptions import InputError, TableError

MANIFEST = "manifest.json"
_ROWS = 1 << 18  # of a part: seconds of work, and what polars and others put into few row groups
_OTHER = {
    "command": "by another command",
    "deciban": "by another version of deciban",
    "model": "with another model",
    "settings": "with other options",
    "inputs": "from other files",
}


class Job(Protocol):
    """What makes a table of a table; it goes to other processes."""

    @property
    def counted(self) -> Sequence[str]:
        """Columns of what it makes, from which `summarize` counts."""

    def open(self, source: Source) -> Table:
        """The table, with all that the job needs."""

    def frames(self, source: Source) -> Iterator[pl.DataFrame]:
        """What it makes of a table, some rows at a time and at least one frame."""

    def summarize(self, frame: pl.DataFrame) -> Counter[Hashable]:
        """Counts of what a frame of the counted columns holds."""


def is_folder(output: str) -> bool:
    """Whether an output is a folder: there is one, or the name ends in a slash."""
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def require_output(
    output: str,
    table: str,
    others: tuple[str | os.PathLike[str] | None, ...],
    *,
    many: bool,
    force: bool,
) -> list[str]:
    """The files to read, or an error where the output cannot be written.

    With ``many`` processes, the output must be a folder.
    """
    files = find_files(table)
    if not is_folder(output):
        if many or files != [table]:
            what = "several processes" if many else f"the files of {table}"
            raise InputError(
                f"--output must be a folder for {what}; got {output}. Give a name that ends in /."
            )
        require_outputs({"--output": output}, (table, *others), force=force)
        return files
    here = Path(output).resolve()
    if os.path.isdir(table) and Path(table).resolve() in here.parents:
        raise InputError(
            f"--output must be outside of the folder that is read; got {output}, which is in "
            f"{table}. Name another folder."
        )
    for file in files:
        if file != "-" and here in Path(file).resolve().parents:
            raise InputError(
                f"--output must be a folder without inputs; {file} is in it. Name another folder."
            )
    return files


def split_files(job: Job, files: Sequence[str], output: str) -> list[Source]:
    """The parts of the files for an output in a folder; for one in a file, the file."""
    if not is_folder(output):
        return [*files]
    parts: list[Source] = []
    first: Table | None = None
    for file in files:
        table = job.open(file)
        first = first or table
        if list(table.schema.items()) != list(first.schema.items()):
            odd = [n for n, _ in set(table.schema.items()) ^ set(first.schema.items())]
            raise table.error(
                f"must have the columns of {first.name}, with their types and in their order; "
                f"{min(odd) if odd else 'the order'} differs. Give copies that agree."
            )
        parts += table.split(_ROWS)
    return parts


def write_output(
    workers: Workers,
    job: Job,
    parts: Sequence[Source],
    output: str,
    plan: Mapping[str, Any],
    *,
    force: bool,
) -> Counter[Hashable]:
    """Write what a job makes of the parts, and count: "rows", and what the job counts.

    Of a folder, parts that an earlier run has written stay, if it had the same ``plan``.
    """
    if not is_folder(output):
        return _write_table(job, parts[0], output, force=force)
    folder = Path(output)
    inputs = list(dict.fromkeys(os.path.abspath(part) for part in parts))
    workers.require_files(inputs)
    described = {"deciban": __version__, **plan, "inputs": [_describe_file(one) for one in inputs]}
    names = [f"part-{k:05}.parquet" for k in range(len(parts))]
    manifest = {
        **described,
        "parts": [
            {"file": name, "input": os.path.abspath(part), **_describe_rows(part)}
            for name, part in zip(names, parts, strict=True)
        ],
        "complete": False,
    }
    _claim_folder(workers, folder, described, manifest, force=force)
    counts: Counter[Hashable] = Counter()
    work = partial(_write_part, job, os.path.abspath(folder))
    results = workers.map(work, list(zip(names, parts, strict=True)))
    for found, noted in track_progress(results, "Parts", len(parts)):
        counts.update(found)
        for warning in noted:
            warnings.warn(warning, stacklevel=2)
    _write_manifest(folder, {**manifest, "rows": counts["rows"], "complete": True})
    _remove_rests(folder)
    return counts


def _write_table(job: Job, source: Source, target: str, *, force: bool) -> Counter[Hashable]:
    counts: Counter[Hashable] = Counter({"rows": 0})
    with table_writer(target, force=force) as write:
        for frame in job.frames(source):
            write(frame)
            counts["rows"] += frame.height
            counts.update(job.summarize(frame))
        if isinstance(source, Part) and source.rows not in (None, counts["rows"]):
            raise TableError("must stay as it is; it was changed.", file=source.path)
    return counts


def _write_part(
    job: Job, folder: str, item: tuple[str, Source]
) -> tuple[Counter[Hashable], list[Warning | str]]:
    """Counts of a part, which is written unless it is there, and what there is to note."""
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
    """Counts of a part that is there and whole; None of any other."""
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
    workers: Workers,
    folder: Path,
    plan: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    force: bool,
) -> None:
    """Make the folder with its manifest, or raise unless it is that of an earlier run."""
    plan = json.loads(json.dumps(plan))
    earlier = _read_manifest(folder)
    if earlier is None and folder.is_dir() and any(folder.iterdir()):
        raise InputError(
            f"--output must be a new or an empty folder, or one with a {MANIFEST} of an earlier "
            f"run; {folder} holds other files. Name another folder."
        )
    if earlier is not None and not force:
        for key, what in _OTHER.items():
            if earlier.get(key) != plan[key]:
                raise InputError(
                    f"--output must be a new folder, or one that the same run has begun; the parts "
                    f"in {folder} were made {what}. Name another folder, or start anew with "
                    "--force."
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
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("parts"), list):
        raise InputError(
            f"{folder / MANIFEST} must be a manifest of deciban; it is not. Name another folder."
        )
    return found


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps(manifest, ensure_ascii=False, indent=1)
    write_atomically(folder / MANIFEST, f"{text}\n")


def _describe_file(path: str) -> dict[str, Any]:
    about = os.stat(path)
    return {"file": path, "bytes": about.st_size, "modified_ns": about.st_mtime_ns}


def _describe_rows(part: Source) -> dict[str, Any]:
    if not isinstance(part, Part) or part.rows is None:
        return {}
    return {"first_row": part.start, "rows": part.rows}


def _remove_rests(folder: Path) -> None:
    """Remove what workers that were killed have left: all parts are there, nobody needs them."""
    for rest in folder.glob(".part-*"):
        if rest.is_dir():
            shutil.rmtree(rest, ignore_errors=True)
        else:
            rest.unlink(missing_ok=True)
