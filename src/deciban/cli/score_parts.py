"""Scores in Parquet files that need not fit into memory, in parts of some rows each."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban._workers import Workers
from deciban.cli.cells import MISSING, Column, Labels, encode_labels, unify_key_words
from deciban.cli.columns import NO_LABEL, class_columns, combine, describe, find_llr, llr_columns
from deciban.cli.files import file_errors, find_files, format_of
from deciban.cli.identifiers import find_identifiers
from deciban.cli.options import ScoreOptions
from deciban.cli.score_columns import ScoreColumns
from deciban.cli.show import track_progress
from deciban.cli.tables import PLAIN, Table
from deciban.cli.trials import find_roles
from deciban.cli.words import quote
from deciban.exceptions import InputError, MissingExtraError, TableError
from deciban.metrics.partitions import (
    Partitions,
    Rows,
    evidence_of,
    folds_of,
    hash_numbers,
    hash_texts,
    llr_of_two,
)

LARGE = 20_000_000  # rows of a Parquet file that is read in parts unasked
_ROWS = 1 << 20  # of a part with one or two columns of scores; fewer where there are more
_WHOLE = "is not whole Parquet"


def is_in_parts(source: str, options: ScoreOptions, *, asked: bool) -> bool:
    """Whether a source is several files, a large one, or one that workers are asked to read."""
    remote = _is_address(source)
    files = [] if remote else find_files(source)
    in_parts = asked or remote or files != [source]
    if options.key is not None:
        if in_parts:
            raise InputError(
                "--key takes scores in one file that is not read in parts. Join scores and labels "
                "in one table first."
            )
        return False
    others = [f for f in files if format_of(f, default="txt") != "parquet"]
    if in_parts and others:
        raise TableError("must be Parquet to be read in parts. Convert it.", file=others[0])
    is_one = os.path.isfile(source) and not others
    return in_parts or (is_one and sum(ParquetFiles(source).heights) > LARGE)


def _is_address(source: str) -> bool:
    return "://" in source


def _find_addresses(source: str) -> list[str]:
    """The files that a remote address stands for."""
    if not glob.has_magic(source):
        return [source]
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            "addresses with stars must have fsspec, which is not installed. Run: pip install "
            "'deciban[scale]'",
            extra="scale",
        ) from None
    with file_errors(source, "cannot be read"):
        files = fsspec.open_files(source)
    if not files:
        raise TableError("must name files that exist; there are none. Check it.", file=source)
    return sorted(file.full_name for file in files)


class ParquetFiles(Table):
    """The rows of one or more Parquet files with the same columns."""

    def __init__(self, source: str) -> None:
        self.files = _find_addresses(source) if _is_address(source) else find_files(source)
        self.name = source
        super().__init__(self, Path(source))  # type: ignore[arg-type]

    def read_schema(self) -> list[tuple[str, pl.DataType]]:
        """Columns of the first file, which all others must have, too."""
        found: dict[str, pl.DataType] = {}
        self.heights: list[int] = []
        for file in self.files:
            scan = _scan(file)
            with file_errors(file, _WHOLE):
                schema = scan.collect_schema()
                self.heights.append(scan.select(pl.len()).collect().item())
            plain = {name: PLAIN.get(kind.base_type(), kind) for name, kind in schema.items()}
            found = found or plain
            odd = [name for name in found if plain.get(name) != found[name]]
            if odd:
                raise TableError(
                    f"must have the columns of {self.files[0]}, with their types; {odd[0]} "
                    "differs. Give copies that agree.",
                    file=file,
                )
        return list(found.items())

    def scan(self, columns: Sequence[pl.Expr]) -> pl.LazyFrame:
        """These columns of all rows."""
        return pl.concat([_scan(file).select(columns) for file in self.files])

    def column(self, name: str) -> pl.Expr:
        """A column, with null in place of empty text."""
        column = pl.col(name).cast(self.schema[name])
        if self.schema[name] != pl.String:
            return column
        return pl.when(column != "").then(column).alias(name)


def _locate(file: str) -> str:
    return file if _is_address(file) else os.path.abspath(file)


def _scan(file: str) -> pl.LazyFrame:
    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


class FilePart(NamedTuple):
    """Some rows of a file; ``name`` is that of the file in messages."""

    name: str
    file: str
    start: int
    rows: int
    number: int  # of the first row among those of all files


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
        """The classes; of two, LLRs favor the second."""
        return self.partitions.classes

    @property
    def n_samples(self) -> int:
        """Number of rows that are used."""
        return sum(self.counts)


def open_score_parts(
    source: str,
    options: ScoreOptions,
    group: str | None = None,
    workers: Workers | None = None,
    *,
    calibrated: bool = True,
) -> ScoreParts:
    """The scores of Parquet files; ``group`` names the column of the groups of samples."""
    workers = Workers() if workers is None else workers
    table = ParquetFiles(source)
    if not _is_address(source):
        workers.require_files(table.files)
    roles = find_roles(table, options.llr, calibrated)
    by_name = options.truth is None and roles.keys() >= {"label", "score"}
    truth = roles["label"] if by_name else table.require_column(options.truth, "--truth")
    raw, counts = _count_labels(table, truth)
    if raw.null_count():
        empty = int(counts[raw.is_null().arg_true()[0]])
        raise table.error(f"must have no empty cells; it has {empty:,}. {NO_LABEL}", truth)
    _refuse_missing(table, raw, truth)
    labels, codes = encode_labels(unify_key_words(Column(raw, table.name)))
    by_class = np.bincount(codes, counts, len(labels)).astype(int)
    llr = roles["score"] if by_name else find_llr(options, table, calibrated)
    if llr is not None:
        columns = llr_columns("trials" if by_name else "llr", llr, labels, options)
    else:
        columns = class_columns(labels, by_class.tolist(), table, options, calibrated)
    flip = len(labels) == 2 and columns.positive == 0
    if group is not None:
        table.require_column(group, "--group")
    reader = _Reader(table.schema, columns, labels, truth, raw, codes, group)
    rows = max(1, 2 * _ROWS // max(2, len(columns.columns)))
    parts, number = [], 0
    for file, height in zip(table.files, table.heights, strict=True):
        parts += [
            FilePart(file, _locate(file), start, min(rows, height - start), number + start)
            for start in range(0, height, rows)
        ]
        number += height
    classes = labels[::-1] if flip else labels
    stored = columns if columns.is_llr else ScoreColumns(**{**vars(columns), "positive": 1})
    return ScoreParts(
        Partitions(classes, parts, reader, int(by_class.sum()), grouped=group is not None,
                   workers=workers, track=track_progress),
        stored,
        by_class[::-1].tolist() if flip else by_class.tolist(),
        describe(columns, classes, options),
        () if group is not None else _design_note(table, truth, columns),
    )  # fmt: skip


def _count_labels(table: ParquetFiles, truth: str) -> tuple[pl.Series, NDArray[np.intp]]:
    """Distinct labels and how often each occurs."""
    with file_errors(table.name, _WHOLE):
        found = (
            table.scan([table.column(truth)]).group_by(truth).agg(n=pl.len()).sort(truth)
            .collect(engine="streaming")
        )  # fmt: skip
    if found.height == 0:
        raise table.error("must hold rows; it holds none. Give a table with samples.")
    return found[truth], found["n"].to_numpy().astype(np.intp)


def _refuse_missing(table: Table, raw: pl.Series, truth: str) -> None:
    for label in raw.cast(pl.String).to_list():
        if str(label).strip().lower() in MISSING:
            raise table.error(
                f"must hold the class of every row; some hold {quote(label)}. Fill it in, or give "
                "copies without such rows; if it is a class, write another word.",
                truth,
            )


def _design_note(table: Table, truth: str, columns: ScoreColumns) -> tuple[str, ...]:
    names = find_identifiers(table.columns)
    if not names or {truth, *columns.columns} & {*names}:
        return ()
    return (
        f"{' and '.join(names)} may name what samples share; the intervals assume independent "
        f"samples and are too narrow if they do. Give --group and the column of their sources.",
    )


@dataclass(frozen=True)
class _Reader:
    """What reads a part; it goes to workers."""

    schema: dict[str, pl.DataType]
    columns: ScoreColumns
    labels: Labels
    truth: str
    raw: pl.Series  # labels as they are written, and the position of the class of each
    codes: NDArray[np.intp]
    group: str | None

    def __call__(self, part: FilePart) -> Rows:
        names = [*dict.fromkeys([self.truth, *self.columns.columns, *filter(None, [self.group])])]
        wanted = [pl.col(name).cast(self.schema[name]) for name in names]
        with file_errors(part.name, _WHOLE):
            frame = _scan(part.file).slice(part.start, part.rows).select(wanted).collect()
        if frame.height != part.rows:
            raise TableError("must stay as it is; it was changed.", file=part.name)
        places = pl.Series(self.codes, dtype=pl.Int64)
        label = frame[self.truth].replace_strict(
            self.raw, places, default=None, return_dtype=pl.Int64
        )
        numbers = part.number + np.arange(part.rows, dtype=np.int64)
        codes = label.to_numpy()
        if not frame.height:
            shape = (0,) if len(self.labels) == 2 else (0, len(self.labels))
            return Rows(codes, (np.empty(shape),), np.empty(0, np.uint64), numbers)
        values = self.columns.values(frame, part.name, part.start)
        if self.columns.is_llr:
            codes = codes if self.columns.positive else 1 - codes
            evidence = values[:, 0] * self.columns.nats
        else:
            scores = combine(values, self.labels, codes, self.columns, part.name, part.start)
            codes, evidence = scores.codes, scores.evidence.log_likelihoods
            if len(self.labels) == 2:
                evidence = llr_of_two(evidence, codes)
        hashes = hash_numbers(numbers)
        if self.group is not None:
            hashes = self._hash_groups(frame[self.group], part)
        return Rows(codes, (evidence,), hashes, numbers)

    def _hash_groups(self, cells: pl.Series, part: FilePart) -> NDArray[np.uint64]:
        cells = cells.cast(pl.String)
        empty = (cells.is_null() | (cells == "")).fill_null(value=True)
        if empty.any():
            row = part.start + int(empty.arg_max() or 0)
            raise InputError(
                f"--group must name a column with an identifier in each row; row {row + 1} of "
                f"{part.name} has none. Fill it in, or give a copy without the row.",
                rows=[row],
            )
        distinct = cells.unique()
        found = cells.replace_strict(distinct, pl.Series(hash_texts(distinct)))
        return np.asarray(found.to_numpy())


# --- parts for calibrators ----------------------------------------------------------------


def in_sorted_classes(parts: ScoreParts) -> Partitions:
    """The samples with the classes in their own order, as a calibrator has them."""
    data = parts.partitions
    if parts.columns.positive == 1:
        return data
    return replace(data, classes=data.classes[::-1], read=_Reversed(data.read))


@dataclass(frozen=True)
class _Reversed:
    read: Callable[[FilePart], Rows]

    def __call__(self, part: FilePart) -> Rows:
        rows = self.read(part)
        return rows._replace(codes=1 - rows.codes, evidence=tuple(-one for one in rows.evidence))


def select_fold(data: Partitions, fold: int) -> Partitions:
    """The samples outside a fold."""
    return replace(data, read=_Outside(data.read, fold))


@dataclass(frozen=True)
class _Outside:
    read: Callable[[FilePart], Rows]
    fold: int

    def __call__(self, part: FilePart) -> Rows:
        rows = self.read(part)
        return rows.select(folds_of(rows.hashes) != self.fold)


def calibrate_folds(data: Partitions, calibrators: Sequence[Any]) -> Partitions:
    """The samples of each fold, calibrated by the calibrator that was fitted without it."""
    return replace(data, read=_Calibrated(data.read, tuple(calibrators), data.classes))


@dataclass(frozen=True)
class _Calibrated:
    read: Callable[[FilePart], Rows]
    calibrators: tuple[Any, ...]
    classes: tuple[Hashable, ...]

    def __call__(self, part: FilePart) -> Rows:
        rows = self.read(part)
        (values,) = rows.evidence
        fold, after = folds_of(rows.hashes), np.empty_like(values)
        for k, calibrator in enumerate(self.calibrators):
            new = np.flatnonzero(fold == k)
            if len(new):
                found = calibrator.evidence(evidence_of(values[new], self.classes))
                after[new] = (
                    found.log_likelihoods
                    if values.ndim == 2
                    else found.llr(self.classes[1], self.classes[0])
                )
        return rows._replace(evidence=(after,))
