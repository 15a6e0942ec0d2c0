"""Scores whose truth is known: which columns of a table hold them, and which hold the truth."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban._validation.labels import label_array
from deciban.cli.cells import (
    Column,
    Labels,
    encode_labels,
    find_target,
    fold_key_word,
    parse_numbers,
    unify_key_words,
)
from deciban.cli.identifiers import find_identifiers
from deciban.cli.operating import find_class, parse_prior
from deciban.cli.options import ScoreOptions
from deciban.cli.score_columns import Floats, ScoreColumns, refuse_probabilities
from deciban.cli.tables import Table, open_table
from deciban.cli.trials import (
    CALIBRATED,
    TRIAL,
    find_calibrated,
    open_trials,
    read_trials,
)
from deciban.cli.words import count, join_words, name_source, quote, quote_name
from deciban.evidence import Evidence
from deciban.exceptions import InputError

NO_LABEL = "Fill it in, or leave out rows without a label."


@dataclass(frozen=True)
class LabelledScores:
    """Evidence, and the true class of each row as an index among the evidence's classes.

    Beside them are further columns that were asked for, columns that name the samples (``ids``) and
    columns that seem to name what samples share (``identifiers``).
    """

    codes: NDArray[np.intp]
    evidence: Evidence
    columns: ScoreColumns
    beside: pl.DataFrame = field(default_factory=pl.DataFrame)
    ids: pl.DataFrame = field(default_factory=pl.DataFrame)
    left_out: dict[str, int] = field(default_factory=dict)  # number of rows, by reason
    notes: tuple[str, ...] = ()  # how the scores were read, where the options leave it open
    identifiers: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes; of two, LLRs favor the second."""
        return self.evidence.classes

    @property
    def n_samples(self) -> int:
        """Number of rows that are used."""
        return len(self.codes)

    @property
    def y_true(self) -> np.ndarray:
        """The true classes."""
        return label_array(self.evidence.classes)[self.codes]

    def take(self, rows: NDArray[np.intp]) -> Self:
        """The scores in this order."""
        frames = {"beside": self.beside, "ids": self.ids, "identifiers": self.identifiers}
        taken: dict[str, Any] = {k: frame[rows] for k, frame in frames.items() if frame.width}
        return replace(self, codes=self.codes[rows], evidence=self.evidence[rows], **taken)

    @property
    def counts(self) -> list[int]:
        """Number of rows of each class."""
        return np.bincount(self.codes, minlength=self.evidence.n_classes).tolist()


def read_scores(
    source: str,
    options: ScoreOptions,
    beside: Sequence[tuple[str, str | None]] = (),
    *,
    calibrated: bool = True,
) -> LabelledScores:
    """The truth and the evidence of a table, or of trial lists.

    ``beside`` holds options and the further column that each names; None names none. Where a table
    has scores and what `deciban apply` made of them, ``calibrated`` takes the latter,
    unless the options name a column.
    """
    more = [(option, name) for option, name in beside if name is not None]
    if _are_trials(source, options):
        return _read_trial_scores(source, options, more, calibrated)
    table = open_table(source)
    truth = table.require_column(options.truth, "--truth")
    llr = find_llr(options, table, calibrated)
    names = [table.require_column(name, option) for option, name in more]
    likely = find_identifiers(table.columns)
    frame = table.read([*dict.fromkeys([truth, *names, *likely])])
    column = Column(frame[truth], table.name, remedy=NO_LABEL)
    labels, codes = encode_labels(unify_key_words(column))
    if llr is not None:
        columns = llr_columns("llr", llr, labels, options)
    else:
        counts = np.bincount(codes, minlength=len(labels)).tolist()
        columns = class_columns(labels, counts, table, options, calibrated)
    parts: list[Floats] = []
    used = 0
    for rows in table.batches(1 << 18, columns.columns):
        parts.append(columns.values(rows, table.name, used))
        used += rows.height
    scores = combine(np.concatenate(parts), labels, codes, columns, table.name)
    return replace(
        scores, beside=frame.select(list(dict.fromkeys(names))),
        identifiers=frame.select([] if {truth, *columns.columns} & {*likely} else likely),
        notes=describe(scores.columns, scores.classes, options),
    )  # fmt: skip


def measure_columns(
    frame: pl.DataFrame, names: Sequence[str], source: str, start: int = 0
) -> dict[str, Floats]:
    """Quality measures of each row, by the name of their column."""
    return {name: parse_numbers(Column(frame[name], source, start)) for name in names}


def _are_trials(source: str, options: ScoreOptions) -> bool:
    """Whether labels come from a key, a second file of scores, or a list that holds them itself."""
    if options.key is not None:
        return True
    if options.truth is not None or options.pattern or options.posteriors:
        return False  # or the message on --truth names the columns
    trials = open_trials(source, options.llr)
    if trials.roles.keys() >= {"label", "score"}:
        return True
    if not getattr(trials.table.reader, "spaced", False):
        return False
    raise trials.table.error(
        f"must hold the label of each trial, for example '1 model segment score', or come with "
        f"--key or --truth; its fields are {join_words(trials.names.values())}."
    )


def read_conditions(column: pl.Series) -> np.ndarray:
    """The condition of each row; whole numbers are in their order, and an empty cell is one."""
    text = column.cast(pl.String)
    numbers = text.cast(pl.Int64, strict=False)
    if not numbers.has_nulls() and (numbers.cast(pl.String) == text).all():
        return numbers.to_numpy()
    return text.fill_null("(empty)").to_numpy()


def _read_trial_scores(
    source: str, options: ScoreOptions, more: Sequence[tuple[str, str]], calibrated: bool
) -> LabelledScores:
    trials = read_trials(source, options, more, calibrated=calibrated)
    name = name_source(source)
    column = unify_key_words(Column(trials.frame["label"], trials.key, remedy=NO_LABEL))
    labels, codes = encode_labels(column)
    columns = llr_columns("trials", trials.column, labels, options)
    scores = combine(trials.frame["score"].to_numpy()[:, None], labels, codes, columns, name)
    notes = [*trials.notes, *describe(scores.columns, scores.classes, options)]
    total = trials.frame.height + sum(trials.left_out.values())
    for reason, rows in trials.left_out.items():
        notes.append(f"Left out: {rows:,} of {count(total, 'score')} ({reason}).")
    names = dict.fromkeys(name for _, name in more)
    return replace(
        scores, beside=trials.frame.select(pl.col(f"beside:{one}").alias(one) for one in names),
        ids=trials.frame.select([] if options.key else [n for n in TRIAL if n in trials.frame]),
        left_out=trials.left_out, notes=tuple(notes),
        identifiers=trials.frame.select(find_identifiers(trials.frame.columns)),
    )  # fmt: skip


def describe(
    columns: ScoreColumns, classes: Sequence[Hashable], options: ScoreOptions
) -> tuple[str, ...]:
    """Which column was taken, and which class it favors."""
    names, notes = columns.columns, []
    calibrated = all(name.startswith(CALIBRATED) for name in names) and not options.llr
    before = "--llr '*'"
    if columns.is_llr:
        before = f"--llr {quote_name(names[0].removeprefix(CALIBRATED))}"
    remedy = f" They are calibrated; {before} takes those before calibration."
    if columns.is_llr:
        assumed = options.positive is None and fold_key_word(str(classes[1])) != "target"
        why = " (by its name; --truth COLUMN=CLASS changes it)" * assumed
        notes.append(
            f"LLRs: column {names[0]}; positive class: {classes[1]}{why}.{remedy * calibrated}"
        )
        if columns.base == "e" and "log10" in names[0].lower():
            notes.append(f"They are read as natural logarithms; if {names[0]} holds logarithms to "
                         "base 10, give --base 10.")  # fmt: skip
    elif calibrated:
        notes.append(f"Log-likelihoods: columns {join_words(names, 5)}.{remedy}")
    elif not options.pattern and all(map(str.endswith, names, (f"_{c}" for c in classes))):
        notes.append(f"{columns.kind.capitalize()}: columns {join_words(names, 5)}.")
    return tuple(notes)


def combine(
    values: Floats,
    labels: Labels,
    codes: NDArray[np.intp],
    columns: ScoreColumns,
    source: str,
    start: int = 0,
) -> LabelledScores:
    """Scores beside their labels; ``start`` rows of the table came before them."""
    if columns.kind == "log-likelihoods":
        refuse_probabilities(values)
    evidence = columns.evidence(values, labels, source, start)
    if len(labels) == 2 and columns.positive == 0:
        codes = 1 - codes
        if not columns.is_llr:  # the calibrator's file has the classes in their own order
            evidence = evidence.restrict(labels[::-1])
            columns = replace(columns, positive=1)
    return LabelledScores(codes, evidence, columns)


def find_llr(options: ScoreOptions, table: Table, calibrated: bool) -> str | None:
    """The column of LLRs, as named or by its usual name; None where there is none."""
    if options.llr is not None:
        return table.require_column(options.llr, "--llr")
    if options.pattern or options.posteriors:
        return None
    after = find_calibrated(table, "llr") if calibrated else None
    if after is not None:
        return after
    return "llr" if "llr" in table.schema and options.truth != "llr" else None


def llr_columns(kind: str, column: str, labels: Labels, options: ScoreOptions) -> ScoreColumns:
    """The column of LLRs of two classes, and which one they favor."""
    if len(labels) != 2:
        raise InputError(
            f"the true class must be one of two, since {quote(column)} is an LLR; got "
            f"{len(labels):,} classes: {join_words([quote(label) for label in labels], 5)}. Mend "
            f"labels that are misspelled, or name one column for each class with --llr '*'."
        )
    positive = labels.index(_positive_class(options, labels))
    return ScoreColumns(kind, (column,), positive, options.base)


def _positive_class(options: ScoreOptions, labels: Labels) -> Hashable:
    if options.positive is not None:
        return find_class(options.positive, "--truth", labels)
    target = find_target(labels)
    if target is not None:
        return target
    remedy = f"{options.truth or options.key or 'COLUMN'}={quote_name(labels[1])}"
    raise InputError(
        f"Which class do the LLRs favor, {' or '.join(map(quote_name, labels))}? Say so with "
        f"--truth {shlex.quote(remedy)}, for instance."
    )


def class_columns(
    labels: Labels, counts: Sequence[int], table: Table, options: ScoreOptions, calibrated: bool
) -> ScoreColumns:
    """One column for each class, named after the class; ``counts`` are samples of each class."""
    after = {label: f"{CALIBRATED}{label}" for label in labels}
    asked = options.pattern or options.posteriors
    if calibrated and not asked and table.schema.keys() >= set(after.values()):
        found: dict[Hashable, str] = dict(after)
    else:
        found = _find_class_columns(labels, table, options)
    columns = tuple(found[label] for label in labels)
    positive = 1
    if options.positive is not None:
        if len(labels) > 2:
            raise InputError(
                f"Scores favor one class where there are two; got {len(labels)} classes. Leave out "
                f"={options.positive} in --truth."
            )
        positive = labels.index(find_class(options.positive, "--truth", labels))
    if options.posteriors is None:
        return ScoreColumns("log-likelihoods", columns, positive, options.base)
    prior = parse_prior(options.posteriors, "--posteriors", labels, counts)
    inside = None if prior is None else tuple(prior[label] for label in labels)
    return ScoreColumns("posteriors", columns, positive, options.base, inside)


def _find_class_columns(labels: Labels, table: Table, options: ScoreOptions) -> dict[Hashable, str]:
    """The column named after each class or, where there is none, as `deciban predict` names it."""
    pattern = options.pattern or "*"
    found = {label: pattern.replace("*", str(label)) for label in labels}
    for label, name in found.items():
        if isinstance(label, bool) and name not in table.schema:
            found[label] = pattern.replace("*", str(label).lower())
    missing = [name for name in found.values() if name not in table.schema]
    if len(missing) == len(found) and pattern == "*":
        written = "log_likelihood_" if options.posteriors is None else "posterior_"
        predicted: dict[Hashable, str] = {label: f"{written}{label}" for label in labels}
        if table.schema.keys() >= set(predicted.values()):
            return predicted
    if missing:
        remedy = "Name them with --llr: a column of LLRs, or 'll_*' with * for the class."
        if len(missing) < len(found):
            remedy = (
                "Every class needs one, also one that is out of the set; add it, or leave "
                "the samples of the class out."
            )
        raise table.error(
            f"must have a column llr, or one for each class of {quote(options.truth)}; it lacks "
            f"{join_words(missing, 5)}, columns are {join_words(table.columns)}. {remedy}"
        )
    return found
