"""Scores whose truth is known in Parquet files that need not fit into memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from deciban._workers import Workers
from deciban.cli.files import Part, file_errors, find_files, format_of, is_address
from deciban.cli.identifiers import find_identifiers
from deciban.cli.options import ScoreOptions
from deciban.cli.score_columns import ScoreColumns, describe_columns
from deciban.cli.scores import ScoreReader, open_reader
from deciban.cli.show import track_progress
from deciban.cli.tables import Table, check_same_columns, open_table
from deciban.exceptions import InputError, MissingExtraError, TableError
from deciban.metrics.partitions import Partitions, Rows, evidence_of, folds_of

Read = Callable[[Any], Rows]
LARGE = 20_000_000  # rows of a Parquet file that is read in parts unasked
_ROWS = 1 << 20  # of a part with one or two columns of scores; fewer if there are more


@dataclass(frozen=True)
class ScoreParts:
    """Scores whose truth is known, in parts."""

    partitions: Partitions
    columns: ScoreColumns
    counts: list[int]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[Hashable, ...]:
        return self.partitions.classes

    @property
    def n_samples(self) -> int:
        return sum(self.counts)

    @property
    def sorted_partitions(self) -> Partitions:
        """The samples with the classes in their own order, as a calibrator has them."""
        if self.columns.positive == 1:
            return self.partitions
        data = self.partitions
        return replace(data, classes=data.classes[::-1], read=partial(_reverse, data.read))


def is_in_parts(source: str, options: ScoreOptions, *, asked: bool) -> bool:
    """Whether a source is several files, a large one, or one that workers are asked to read."""
    files = [] if is_address(source) else find_files(source)
    in_parts = asked or files != [source]
    if options.key is not None and in_parts:
        raise InputError(
            "--key takes scores in one file that is not read in parts. Join scores and labels in "
            "one table first."
        )
    if options.key is not None:
        return False
    others = [f for f in files if format_of(f, default="txt") != "parquet"]
    if in_parts and others:
        raise TableError("is not Parquet and cannot be read in parts. Convert it.", file=others[0])
    whole = in_parts or others or not os.path.isfile(source)
    return in_parts if whole else (open_table(source).height or 0) > LARGE


def open_score_parts(
    source: str, options: ScoreOptions, group: str | None, workers: Workers, *,
    calibrated: bool = True,
) -> ScoreParts:  # fmt: skip
    """Scores in Parquet files; ``group`` names the group column."""
    files = _find_addresses(source) if is_address(source) else find_files(source)
    if not is_address(source):
        workers.require_files(files)
    tables = [open_table(file) for file in files]
    reader, counts = open_reader(tables, options, source, calibrated)
    columns, warnings = reader.columns, _note_design(tables[0], reader)
    if group is not None:
        tables[0].require_column(group, "--group")
        check_same_columns(tables, [group])
        reader, warnings = replace(reader, group=group), ()
    parts: list[tuple[Part, int]] = []
    number = 0
    for table in tables:
        for part in table.split(max(1, 2 * _ROWS // max(2, len(columns.columns)))):
            if part.rows:
                parts.append((part, number))
                number += part.rows
    classes = reader.labels
    if len(classes) == 2 and columns.positive == 0:
        classes, counts = classes[::-1], counts[::-1]
    stored = columns if columns.is_llr else replace(columns, positive=1)
    return ScoreParts(
        Partitions(classes, parts, reader, number, grouped=group is not None, workers=workers,
                   track=track_progress),
        stored, counts, describe_columns(columns, classes, options), warnings,
    )  # fmt: skip


def _note_design(table: Table, reader: ScoreReader) -> tuple[str, ...]:
    names = find_identifiers(table.columns)
    if not names or {reader.truth, *reader.columns.columns} & {*names}:
        return ()
    return (
        f"{' and '.join(names)} may name what samples share; the intervals assume independent "
        "samples and are too narrow if they do. Give --group and the column of their sources.",
    )


def _find_addresses(source: str) -> list[str]:
    if not glob.has_magic(source):
        return [source]
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            "addresses with stars need fsspec, which is not installed. Run: pip install "
            "'deciban[scale]'",
            extra="scale",
        ) from None
    with file_errors(source, "cannot be read"):
        files = fsspec.open_files(source)
    if not files:
        raise TableError("matches no files. Check the name.", file=source)
    return sorted(file.full_name for file in files)


def select_fold(data: Partitions, fold: int) -> Partitions:
    """The samples outside a fold."""
    return replace(data, read=partial(_leave_out, data.read, fold))


def calibrate_folds(data: Partitions, calibrators: Sequence[Any]) -> Partitions:
    """Each fold, calibrated by the calibrator that was fitted without it."""
    return replace(data, read=partial(_calibrate, data.read, (*calibrators,), data.classes))


def _reverse(read: Read, part: Any) -> Rows:
    rows = read(part)
    return rows._replace(codes=1 - rows.codes, evidence=tuple(-one for one in rows.evidence))


def _leave_out(read: Read, fold: int, part: Any) -> Rows:
    rows = read(part)
    return rows.select(folds_of(rows.hashes) != fold)


def _calibrate(
    read: Read, calibrators: Sequence[Any], classes: tuple[Hashable, ...], part: Any
) -> Rows:
    rows = read(part)
    (values,) = rows.evidence
    fold, after = folds_of(rows.hashes), np.empty_like(values)
    for k, calibrator in enumerate(calibrators):
        new = np.flatnonzero(fold == k)
        if len(new):
            found = calibrator.evidence(evidence_of(values[new], classes))
            two = values.ndim == 1
            after[new] = found.llr(classes[1], classes[0]) if two else found.log_likelihoods
    return rows._replace(evidence=(after,))
