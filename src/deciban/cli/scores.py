"""Labeled scores from a table or a part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban._validation.labels import label_array
from deciban.cli.cells import (
    NO_LABEL,
    Column,
    Labels,
    count_labels,
    encode_labels,
    parse_numbers,
    unify_key_words,
)
from deciban.cli.files import Part
from deciban.cli.identifiers import check_identifiers, find_identifiers
from deciban.cli.options import ScoreOptions
from deciban.cli.score_columns import (
    Floats,
    ScoreColumns,
    describe_columns,
    find_columns,
    llr_columns,
    refuse_probabilities,
)
from deciban.cli.tables import Table, check_same_columns, empty_to_null, open_table
from deciban.cli.trials import TRIAL, find_roles, open_trial_list, read_labeled_trials
from deciban.cli.words import count, join_words, name_source
from deciban.evidence import Evidence
from deciban.metrics.partitions import Rows, hash_numbers, hash_texts, llr_of_two


@dataclass(frozen=True)
class LabelledScores:
    """Evidence, and the true class in each row as an index among the evidence's classes.

    Further columns: requested ones, ``ids`` that name samples, and ``identifiers`` that samples
    seem to share.
    """

    codes: NDArray[np.intp]
    evidence: Evidence
    columns: ScoreColumns
    beside: pl.DataFrame = field(default_factory=pl.DataFrame)
    ids: pl.DataFrame = field(default_factory=pl.DataFrame)
    left_out: dict[str, int] = field(default_factory=dict)  # number of rows, by reason
    notes: tuple[str, ...] = ()  # how the scores were read, if the options leave it open
    identifiers: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        return self.evidence.classes

    @property
    def n_samples(self) -> int:
        return len(self.codes)

    @property
    def y_true(self) -> np.ndarray:
        return label_array(self.evidence.classes)[self.codes]

    @property
    def counts(self) -> list[int]:
        return np.bincount(self.codes, minlength=self.evidence.n_classes).tolist()

    def take(self, rows: NDArray[np.intp]) -> Self:
        frames = {"beside": self.beside, "ids": self.ids, "identifiers": self.identifiers}
        taken: dict[str, Any] = {k: frame[rows] for k, frame in frames.items() if frame.width}
        return replace(self, codes=self.codes[rows], evidence=self.evidence[rows], **taken)


def read_scores(
    source: str, options: ScoreOptions, beside: Sequence[tuple[str, str | None]] = (), *,
    calibrated: bool = True,
) -> LabelledScores:  # fmt: skip
    """Truth and evidence from a table or trial lists.

    ``beside`` holds options and the further column that each names, if any. ``calibrated`` prefers
    the columns that `deciban apply` added, unless the options name a column.
    """
    more = [(option, name) for option, name in beside if name is not None]
    if _are_trials(source, options):
        return _read_trial_scores(source, options, more, calibrated)
    table = open_table(source)
    reader, _ = open_reader([table], options, source, calibrated)
    names = [*dict.fromkeys(table.require_column(name, option) for option, name in more)]
    likely = find_identifiers(table.columns)
    if {reader.truth, *reader.columns.columns} & {*likely}:
        likely = []
    codes, values, frame = reader.read(table, [*names, *likely])
    scores = combine(values, reader.labels, codes, reader.columns, table.name)
    return replace(
        scores, beside=frame.select(names), identifiers=frame.select(likely),
        notes=describe_columns(scores.columns, scores.classes, options),
    )  # fmt: skip


def _are_trials(source: str, options: ScoreOptions) -> bool:
    """Whether labels come from a key, or from a list that holds them itself."""
    if options.key is not None:
        return True
    if options.truth is not None or options.pattern or options.posteriors:
        return False  # or the message on --truth names the columns
    trials = open_trial_list(source, options.llr)
    if trials.roles.keys() >= {"label", "score"}:
        return True
    if not getattr(trials.table.reader, "spaced", False):
        return False
    raise trials.table.error(
        f"has no label for each trial; its fields are {join_words(trials.table.columns)}. Add "
        "one, as in '1 model segment score', or pass --key or --truth."
    )


def _read_trial_scores(
    source: str, options: ScoreOptions, more: Sequence[tuple[str, str]], calibrated: bool
) -> LabelledScores:
    trials = read_labeled_trials(source, options, more, calibrated)
    frame = trials.frame
    column = unify_key_words(Column(frame["label"], trials.key, remedy=NO_LABEL))
    labels, codes = encode_labels(column)
    columns = llr_columns("trials", trials.column, labels, options)
    values = frame["score"].to_numpy()[:, None]
    scores = combine(values, labels, codes, columns, name_source(source))
    notes = [*trials.notes, *describe_columns(scores.columns, scores.classes, options)]
    left_out = {f"no label in {trials.key}": trials.left_out} if trials.left_out else {}
    if left_out:
        total = count(frame.height + trials.left_out, "score")
        notes.append(f"Left out: {trials.left_out:,} of {total} (no label in {trials.key}).")
    names = dict.fromkeys(name for _, name in more)
    return replace(
        scores, beside=frame.select(pl.col(f"beside:{one}").alias(one) for one in names),
        ids=frame.select([] if options.key else [name for name in TRIAL if name in frame]),
        left_out=left_out, notes=tuple(notes),
        identifiers=frame.select(find_identifiers(frame.columns)),
    )  # fmt: skip


def combine(
    values: Floats, labels: Labels, codes: NDArray[np.intp], columns: ScoreColumns, source: str,
    start: int = 0,
) -> LabelledScores:  # fmt: skip
    """Scores with their labels; ``start`` table rows come before them."""
    if columns.kind == "log-likelihoods":
        refuse_probabilities(values)
    evidence = columns.evidence(values, labels, source, start)
    if len(labels) == 2 and columns.positive == 0:
        codes = 1 - codes
        if not columns.is_llr:  # the calibrator's file has the classes in their own order
            evidence = evidence.restrict(labels[::-1])
            columns = replace(columns, positive=1)
    return LabelledScores(codes, evidence, columns)


def measure_columns(
    frame: pl.DataFrame, names: Sequence[str], source: str, start: int = 0
) -> dict[str, Floats]:
    """Quality measures by column name."""
    return {name: parse_numbers(Column(frame[name], source, start)) for name in names}


def read_conditions(column: pl.Series) -> np.ndarray:
    """The condition in each row: whole numbers, or text with empty cells as one condition."""
    text = column.cast(pl.String)
    numbers = text.cast(pl.Int64, strict=False)
    if not numbers.has_nulls() and (numbers.cast(pl.String) == text).all():
        return numbers.to_numpy()
    return text.fill_null("(empty)").to_numpy()


@dataclass(frozen=True)
class ScoreReader:
    """Reads truth and scores from a table; picklable, for workers."""

    columns: ScoreColumns
    labels: Labels
    truth: str
    raw: pl.Series  # labels as they are written, and the position of the class of each
    codes: NDArray[np.intp]
    group: str | None = None

    def read(
        self, table: Table, beside: Sequence[str]
    ) -> tuple[NDArray[np.intp], Floats, pl.DataFrame]:
        """The class and scores in each row, and further columns."""
        places = pl.Series(self.codes, dtype=pl.Int64)
        codes, values, frames = [], [], []
        start = table.first
        for frame in table.batches(1 << 18, [self.truth, *self.columns.columns, *beside]):
            found = frame[self.truth].replace_strict(
                self.raw, places, default=None, return_dtype=pl.Int64
            )
            if found.has_nulls():  # a label that the first pass has not seen
                raise table.error("changed while it was being read. Run the command again.")
            codes.append(found.to_numpy())
            values.append(self.columns.values(frame, table.name, start))
            frames.append(empty_to_null(frame.select([*dict.fromkeys(beside)])))
            start += frame.height
        return np.concatenate(codes), np.concatenate(values), pl.concat(frames)

    def __call__(self, item: tuple[Part, int]) -> Rows:
        """Samples in a part, given the number of its first row among all."""
        part, number = item
        table = open_table(part)
        beside = [] if self.group is None else [self.group]
        codes, values, frame = self.read(table, beside)
        scores = combine(values, self.labels, codes, self.columns, table.name, table.first)
        codes, evidence = scores.codes, scores.evidence.log_likelihoods
        if len(self.labels) == 2:
            evidence = llr_of_two(evidence, codes)
        numbers = number + np.arange(len(codes), dtype=np.int64)
        hashes = hash_numbers(numbers)
        if self.group is not None:
            check_identifiers(frame[self.group], "--group", table.first)
            cells = frame[self.group].cast(pl.String)
            distinct = cells.unique()
            hashes = cells.replace_strict(distinct, pl.Series(hash_texts(distinct))).to_numpy()
        return Rows(codes, (evidence,), hashes, numbers)


def open_reader(
    tables: Sequence[Table], options: ScoreOptions, source: str, calibrated: bool
) -> tuple[ScoreReader, list[int]]:
    """A reader for tables with equal columns, and the number of samples per class."""
    table = tables[0]
    roles = find_roles(table, options.llr, calibrated)
    by_name = options.truth is None and roles.keys() >= {"label", "score"}
    truth = roles["label"] if by_name else table.require_column(options.truth, "--truth")
    check_same_columns(tables, [truth])
    raw, numbers = count_labels(tables, truth)
    labels, codes = encode_labels(unify_key_words(Column(raw, name_source(source))))
    counts = np.bincount(codes, numbers, len(labels)).astype(int).tolist()
    if by_name:
        columns = llr_columns("trials", roles["score"], labels, options)
    else:
        columns = find_columns(options, table, labels, counts, calibrated=calibrated)
    check_same_columns(tables, columns.columns)
    return ScoreReader(columns, labels, truth, raw, codes), counts
