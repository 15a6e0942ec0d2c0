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
from deciban.cli.words import count, join_words, name_source, quote, quote_name, split_names
from deciban.evidence import Evidence
from deciban.exceptions import InputError

NO_LABEL = "Fill it in, or pass --subset to leave such rows out."


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

    def take(self, rows: NDArray[np.intp], reason: str) -> Self:
        """These rows; the others are left out for this reason."""
        rest = len(self.codes) - len(rows)
        left_out = self.left_out | ({reason: rest} if rest else {})
        notes = (*self.notes, f"Left out: {count(rest, 'row')} ({reason}).") if rest else self.notes
        frames = {"beside": self.beside, "ids": self.ids, "identifiers": self.identifiers}
        taken: dict[str, Any] = {k: frame[rows] for k, frame in frames.items() if frame.width}
        return replace(
            self, codes=self.codes[rows], evidence=self.evidence[rows], left_out=left_out,
            notes=notes, **taken,
        )  # fmt: skip

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
    table = open_table(source, options.table_format)
    truth = table.require_column(options.truth, "--truth")
    llr = find_llr(options, table, calibrated)
    names = [table.require_column(name, option) for option, name in more]
    likely = find_identifiers(table.columns)
    frame = table.read([*dict.fromkeys([truth, *names, *likely])])
    known = frame[truth].is_not_null() if options.subset else None
    kept = frame if known is None else frame.filter(known)
    name = table.name if known is None else f"{table.name} (rows with a label)"
    column = Column(kept[truth], name, remedy=NO_LABEL)
    labels, codes = encode_labels(unify_key_words(column))
    if llr is not None:
        columns = llr_columns("llr", llr, labels, options)
    else:
        counts = np.bincount(codes, minlength=len(labels)).tolist()
        columns = class_columns(labels, counts, table, options, calibrated)
    parts: list[Floats] = []
    start = used = 0
    for rows in table.batches(1 << 18, columns.columns):
        if known is not None:
            mask, start = known[start : start + rows.height], start + rows.height
            rows = rows.filter(mask)
        if rows.height:
            parts.append(columns.values(rows, name, used))
        used += rows.height
    scores = combine(np.concatenate(parts), labels, codes, columns, name)
    rest = frame.height - kept.height
    left_out = {f"no label in {truth}": rest} if rest else {}
    return replace(
        scores, beside=kept.select(list(dict.fromkeys(names))), left_out=left_out,
        identifiers=kept.select([] if {truth, *columns.columns} & {*likely} else likely),
        notes=describe(scores.columns, scores.classes, left_out, frame.height, options),
    )  # fmt: skip


def measure_columns(
    frame: pl.DataFrame, names: Sequence[str], source: str, start: int = 0
) -> dict[str, Floats]:
    """Quality measures of each row, by the name of their column."""
    return {name: parse_numbers(Column(frame[name], source, start)) for name in names}


def _are_trials(source: str, options: ScoreOptions) -> bool:
    """Whether labels come from a key, a second file of scores, or a list that holds them itself."""
    if options.key is not None or options.nontarget_scores is not None:
        return True
    if options.truth is not None or options.log_likelihoods or options.posteriors:
        return False  # or the message on --truth names the columns
    trials = open_trials(source, options.llr, options.table_format)
    if trials.roles.keys() >= {"label", "score"}:
        return True
    if not getattr(trials.table.reader, "spaced", False):
        return False
    raise trials.table.error(
        f"must hold the label of each trial, for example '1 model segment score', or come with "
        f"--key, --truth or --nontarget-scores; its fields are {join_words(trials.names.values())}."
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
    total = trials.frame.height + sum(trials.left_out.values())
    about = describe(scores.columns, scores.classes, trials.left_out, total, options)
    notes = (*trials.notes, *about)
    names = dict.fromkeys(name for _, name in more)
    return replace(
        scores, beside=trials.frame.select(pl.col(f"beside:{one}").alias(one) for one in names),
        ids=trials.frame.select([] if options.key else [n for n in TRIAL if n in trials.frame]),
        left_out=trials.left_out, notes=notes,
        identifiers=trials.frame.select(find_identifiers(trials.frame.columns)),
    )  # fmt: skip


def describe(
    columns: ScoreColumns,
    classes: Sequence[Hashable],
    left_out: dict[str, int],
    total: int,
    options: ScoreOptions,
) -> tuple[str, ...]:
    """Which column was taken, which class it favors, and how many rows were left out."""
    names, notes = columns.columns, []
    calibrated = all(name.startswith(CALIBRATED) for name in names) and not options.llr
    before = "--log-likelihoods auto"
    if columns.is_llr:
        before = f"--llr {quote_name(names[0].removeprefix(CALIBRATED))}"
    remedy = f" They are calibrated; {before} takes those before calibration."
    if columns.is_llr:
        favored = str(classes[1])
        if options.positive is None and fold_key_word(favored) != "target":
            favored += ", which is taken for the target"
        notes.append(f"LLRs: column {names[0]}, in favor of {favored}.{remedy * calibrated}")
        if columns.base == "e" and "log10" in names[0].lower():
            notes.append(f"They are read as natural logarithms; if {names[0]} holds logarithms to "
                         "base 10, give --base 10.")  # fmt: skip
    elif calibrated:
        notes.append(f"Log-likelihoods: columns {join_words(names, 5)}.{remedy}")
    elif not options.prefix and all(map(str.endswith, names, (f"_{c}" for c in classes))):
        notes.append(f"{columns.kind.capitalize()}: columns {join_words(names, 5)}.")
    for reason, rows in left_out.items():
        notes.append(f"Left out: {rows:,} of {count(total, 'score')} ({reason}).")
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
    if options.log_likelihoods or options.posteriors or options.prefix:
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
            f"labels that are misspelled, or name one column for each class with --log-likelihoods."
        )
    positive = labels.index(_positive_class(options.positive, labels))
    return ScoreColumns(kind, (column,), positive, options.base)


def _positive_class(text: str | None, labels: Labels) -> Hashable:
    if text is not None:
        return find_class(text, "--positive", labels)
    target = find_target(labels)
    if target is not None:
        return target
    raise InputError(
        f"--positive must name the class that LLRs favor; got nothing, classes are "
        f"{join_words(map(quote_name, labels))}. Give --positive {shlex.quote(str(labels[1]))}, or "
        f"the other."
    )


def class_columns(
    labels: Labels, counts: Sequence[int], table: Table, options: ScoreOptions, calibrated: bool
) -> ScoreColumns:
    """One column for each class, which has the class's name after the prefix.

    ``counts`` are numbers of samples of each class.
    """
    text = options.posteriors if options.log_likelihoods is None else options.log_likelihoods
    after = {label: f"{CALIBRATED}{label}" for label in labels}
    asked = options.log_likelihoods or options.posteriors or options.prefix
    if calibrated and not asked and table.schema.keys() >= set(after.values()):
        found: dict[Hashable, str] = dict(after)
    elif text is None or text == "auto":
        found = _find_class_columns(labels, table, options)
    else:
        found = _match_classes(labels, text, table, options)
    columns = tuple(found[label] for label in labels)
    positive = 1
    if options.positive is not None:
        if len(labels) > 2:
            raise InputError(
                f"--positive must come with two classes; got {len(labels)}. Leave it out."
            )
        positive = labels.index(find_class(options.positive, "--positive", labels))
    if options.posteriors is None:
        return ScoreColumns("log-likelihoods", columns, positive, options.base)
    prior = parse_prior(options.prior, "--prior", labels, counts)
    inside = None if prior is None else tuple(prior[label] for label in labels)
    return ScoreColumns("posteriors", columns, positive, options.base, inside, options.floor)


def _find_class_columns(labels: Labels, table: Table, options: ScoreOptions) -> dict[Hashable, str]:
    """The column named after each class or, where there is none, as `deciban predict` names it."""
    found = {label: options.prefix + str(label) for label in labels}
    for label, name in found.items():
        if isinstance(label, bool) and name not in table.schema:
            found[label] = options.prefix + str(label).lower()
    missing = [name for name in found.values() if name not in table.schema]
    if len(missing) == len(found) and not options.prefix:
        written = "log_likelihood_" if options.posteriors is None else "posterior_"
        predicted: dict[Hashable, str] = {label: f"{written}{label}" for label in labels}
        if table.schema.keys() >= set(predicted.values()):
            return predicted
    if missing:
        remedy = "Name them with --llr, --log-likelihoods, --posteriors or --prefix."
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


def _match_classes(
    labels: Labels, text: str, table: Table, options: ScoreOptions
) -> dict[Hashable, str]:
    """The class of each column that was named."""
    option = "--log-likelihoods" if options.posteriors is None else "--posteriors"
    named = [table.require_column(name, option) for name in split_names(text)]
    prefix = options.prefix
    found = {find_class(name.removeprefix(prefix), option, labels): name for name in named}
    missing = [str(label) for label in labels if label not in found]
    if missing or len(found) < len(named):
        wrong = f"it lacks {join_words(missing, 5)}" if missing else "one is named twice"
        raise InputError(
            f"{option} must name one column for each class of {options.truth}; {wrong}. Columns "
            "are named after the classes, after the --prefix."
        )
    return found
