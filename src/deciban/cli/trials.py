"""Trial lists as in speaker recognition and forensics: scores for pairs, and a key with labels.

A list has one trial per line with fields separated by spaces, tabs or commas, or is another table.
Columns have NIST's names. Without a header, the contents decide.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import polars as pl

from deciban.cli.cells import KEY_WORDS, Column, fold_key_word, parse_numbers
from deciban.cli.files import Source, format_of, locate
from deciban.cli.options import ScoreOptions
from deciban.cli.tables import Table, open_table
from deciban.cli.text import DelimitedText
from deciban.cli.words import count, join_words, quote
from deciban.exceptions import TableError

_NAMES = {
    "model": ("model", "modelid", "model_id", "enroll", "enrollment", "enroll_id", "file1"),
    "segment": ("segment", "segmentid", "segment_id", "test", "seg", "test_id", "file2"),
    "score": ("score", "llr", "scores"),
    "label": ("label", "targettype", "key", "target", "truth"),
}
_LAYOUTS = (  # of lines without a header; the first that fits is taken
    ("model", "segment", "score"), ("score", "model", "segment"), ("model", "segment", "label"),
    ("label", "model", "segment"), ("label", "model", "segment", "score"),
    ("model", "segment", "label", "score"), ("model", "segment", "score", "label"), ("score",),
    ("label", "score"), ("score", "label"),
)  # fmt: skip
TRIAL = ["model", "segment"]
_ROWS = 10_000  # number of rows by which to tell what each field holds
CALIBRATED = "calibrated_"  # prefix of the names of calibrated columns


@dataclass(frozen=True)
class TrialList:
    """A trial list; ``roles`` maps model, segment, score and label to columns."""

    table: Table
    roles: dict[str, str]
    notes: tuple[str, ...] = ()  # what each field was taken for, without a header

    def require(self, value: str, column: str | None = None) -> Self:
        """The list, or an error that says how to give it the value that it lacks."""
        if value in self.roles and (value != "label" or "model" in self.roles):
            return self
        if value == "score" and column is None and "label" in self.roles:
            raise self.table.error(
                "holds trials with labels and no scores. Give the file of their scores, and this "
                "one with --key."
            )
        columns = getattr(self.table.reader, "first_line", self.table.columns)
        raise self.table.error(
            f"must have the columns model, segment and {column or value}; its columns are "
            f"{join_words(columns)}. Give a copy with a header of these names, or name the column "
            "of the scores with --llr."
        )

    def read(self, *values: str, beside: Sequence[str] = ()) -> pl.DataFrame:
        """Model and segment if named, then values (label, score or both), then ``beside`` columns.

        The latter are named "beside:NAME"; ones that the list lacks are left out.
        """
        roles = {role: self.roles[role] for role in (*TRIAL, *values) if role in self.roles}
        known = self.roles | {name: name for name in self.table.columns}
        wanted = roles | {f"beside:{name}": known[name] for name in beside if name in known}
        whole = self.table.read([*dict.fromkeys(wanted.values())])
        frame = whole.select(pl.col(column).alias(name) for name, column in wanted.items())
        if [*roles] == ["score"]:  # an empty line is a missing score, unless it ends the file
            filled = frame["score"].is_not_null().arg_true().to_list()
            frame = frame.head(filled[-1] + 1 if filled else 0)
        if frame.height == 0:
            raise self.table.error("has no trials. Give a file with some.")
        if "score" in values:
            cells = frame["score"].alias(self.roles["score"])
            frame = frame.with_columns(score=parse_numbers(Column(cells, self.table.name)))
        return frame.with_columns(pl.col(name).cast(pl.String) for name in roles if name in TRIAL)


class LabeledTrials(NamedTuple):
    """Trials: a frame with label, score, model and segment, and columns "beside:NAME"."""

    frame: pl.DataFrame
    column: str  # name of the column of the scores
    key: str  # name of the file with the labels
    notes: tuple[str, ...] = ()
    left_out: int = 0  # number of scores without a label


class _TrialText(DelimitedText):
    """Lines with fields; without a header, names are given, or field 1, field 2 and so on."""

    def __init__(self, source: Source, column: str | None, names: Sequence[str] = ()) -> None:
        self._column, self._names = column, names
        super().__init__(*locate(source), "")

    def split_header(self, text: str) -> list[str]:
        self.separator = "," if "," in text else "\t"
        # names may hold spaces if tabs or commas separate them
        self.spaced = self.separator == "\t" and text.strip().count("\t") < 2
        fields = text.split() if self.spaced else super().split_header(text)
        self.first_line, lower = fields, {name.lower() for name in fields}
        known = {role: not lower.isdisjoint(names) for role, names in _NAMES.items()}
        lone_word = len(fields) == 1 and pl.Series(fields).cast(pl.Float64, strict=False)[0] is None
        trial = known["model"] and known["segment"]
        self.has_header = known["score"] or self._column in fields or trial or lone_word
        if self.has_header:
            return fields
        return [*self._names] or [f"field {k + 1}" for k in range(len(fields))]

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines at a time, with one tab wherever there are spaces."""
        for line, data in super().blocks():
            if getattr(self, "spaced", False):  # known from the first line on
                data = data.replace(b"\r\n", b"\n").replace(b" ", b"\t")
                while b"\t\t" in data:
                    data = data.replace(b"\t\t", b"\t")
                data = data.replace(b"\t\n", b"\n").replace(b"\n\t", b"\n").removeprefix(b"\t")
            yield line, data


def is_usual_score(name: str) -> bool:
    """Whether a column with this name is a score by default."""
    return name.strip().lower() in _NAMES["score"]


def open_trial_list(
    source: Source, column: str | None = None, *, value: str = "score", calibrated: bool = False
) -> TrialList:
    """The list in a file; ``column`` names the scores, and ``calibrated`` prefers calibrated ones.

    The ``value`` that is needed, score or label, settles three fields without a header.
    """
    if format_of(os.fspath(source), default="txt") not in ("csv", "tsv", "txt"):
        table = open_table(source)
        return TrialList(table, find_roles(table, column, calibrated))
    text = _TrialText(source, column)
    table = Table(text, text.path)
    if text.has_header:
        return TrialList(table, find_roles(table, column, calibrated))
    layout = _find_layout(table, value) if column is None else ()
    table = Table(_TrialText(source, column, layout), text.path)
    note = f"{table.name}: the fields are {join_words(layout)}."
    roles = {role: role for role in layout}
    return TrialList(table, roles, (note,) if len(layout) > 1 else ())


def find_roles(table: Table, column: str | None, calibrated: bool) -> dict[str, str]:
    """Columns by role, found by name."""
    by_lower = {name.strip().lower(): name for name in reversed(table.columns)}
    roles: dict[str, str] = {}
    for role, names in _NAMES.items():
        found = [by_lower[name] for name in names if name in by_lower]
        if role == "score" and column is not None:
            found = [column] if column in set(table.columns) - set(roles.values()) else []
        if found:
            roles[role] = found[0]
    if column is None and len(table.columns) == 1:
        roles = {"score": table.columns[0]}
    after = find_calibrated(table, roles.get("score", "")) if calibrated and not column else None
    if after is not None:
        roles["score"] = after
    return roles


def find_calibrated(table: Table, usual: str) -> str | None:
    """The column that `deciban apply` made from the usual score column, or from the only one."""
    found = [name for name in table.columns if f"{CALIBRATED}{name}" in table.schema]
    if usual in found or len(found) == 1:
        return f"{CALIBRATED}{usual if usual in found else found[0]}"
    return None


def _find_layout(table: Table, value: str) -> tuple[str, ...]:
    """The roles of the fields, inferred from the first rows; () if unclear."""
    rows = next(table.batches(_ROWS))
    layouts = [layout for layout in _LAYOUTS if len(layout) == rows.width]
    fitting = [layout for layout in layouts if _fits(rows, layout)]
    if not fitting and any(_fits(rows[1:], layout) for layout in layouts):
        return ()  # a header whose names are not known
    wanted = [layout for layout in fitting if value in layout]
    usual = [one for one in layouts if one in ((*TRIAL, value), ("score",))]  # in other words
    return (wanted + fitting + usual + [()])[0]


def _fits(rows: pl.DataFrame, layout: tuple[str, ...]) -> bool:
    for cells, role in zip(rows, layout, strict=True):
        words = {fold_key_word(label) for label in cells.unique().head(5)}
        is_key = any(words <= set(pair) for pair in KEY_WORDS)
        if role == "label" and not is_key:
            return False
        if role == "score" and cells.cast(pl.Float64, strict=False).null_count():
            return False
        if role == "score" and is_key and layout[0] == "score" and len(layout) > 1:
            return False  # VoxCeleb's label, not VoxSRC's score
    return True


def read_labeled_trials(
    source: str, options: ScoreOptions, beside: Sequence[tuple[str, str]], calibrated: bool
) -> LabeledTrials:
    """Trials with labels from a key or the list itself; options name columns ``beside`` in any."""
    further = [name for _, name in beside]
    scores = open_trial_list(source, options.llr, calibrated=calibrated).require(
        "score", options.llr
    )
    if options.key is not None:
        key = open_trial_list(options.key, value="label").require("label")
        trials = _join_key(scores, key, further)
    else:
        frame = scores.read("label", "score", beside=further)
        trials = LabeledTrials(frame, scores.roles["score"], scores.table.name, scores.notes)
    for option, name in beside:
        if f"beside:{name}" not in trials.frame.columns:
            raise TableError(
                f"has no column {quote(name)}, which {option} needs, nor has another file. Add it, "
                "with a header, or name model or segment.",
                file=trials.key,
            )
    return trials


def _join_key(scores: TrialList, key: TrialList, beside: Sequence[str]) -> LabeledTrials:
    """The trials in key order with their scores; other scores are left out."""
    scored, keyed = scores.read("score", beside=beside), key.read("label", beside=beside)
    named = "model" in scored.columns
    scored = scored.drop((set(scored.columns) & set(keyed.columns)) - set(TRIAL))  # take the key's
    here, there = scores.table, key.table
    column = scores.roles["score"]
    if not named:
        if len({name.removeprefix(CALIBRATED) for name in scores.table.columns}) > 1:
            scores.require("model", column)
        if scored.height != keyed.height:
            raise here.error(
                f"has {count(scored.height, 'score')} and {there.name} "
                f"{count(keyed.height, 'trial')}, so they cannot be matched by their order. Give "
                "model and segment with each score."
            )
        note = f"The scores are matched with {there.name} by their order."
        return LabeledTrials(keyed.hstack(scored), column, there.name, (*key.notes, note))
    repeated = _count_repeated(keyed, there, "label")
    if _count_repeated(scored, here, "score"):
        scored = scored.unique(TRIAL, maintain_order=True)
    frame = keyed.join(scored, on=TRIAL, how="left", maintain_order="left")
    unscored = frame.filter(pl.col("score").is_null())
    if unscored.height:
        raise here.error(
            f"lacks {unscored.height:,} of the {keyed.height:,} trials in {there.name}, such as "
            f"{_name(unscored)}. Score them, or give the key of the trials that were scored."
        )
    rest = scored.join(keyed, on=TRIAL, how="anti").height
    notes = [*scores.notes, *key.notes]
    if repeated:
        such = "line of the key repeats a trial" if repeated == 1 else "lines repeat trials"
        notes.append(f"{repeated:,} {such}; a trial counts as often as the key lists it.")
    return LabeledTrials(frame, column, there.name, tuple(notes), rest)


def _name(frame: pl.DataFrame) -> str:
    return f"({frame[0, 'model']}, {frame[0, 'segment']})"


def _count_repeated(frame: pl.DataFrame, table: Table, value: str) -> int:
    """Number of lines that repeat a trial; raise if their values differ."""
    distinct = frame.n_unique(TRIAL)
    if distinct < frame.height and frame.n_unique([*TRIAL, value]) > distinct:
        twice = frame.unique([*TRIAL, value], maintain_order=True)
        twice = twice.filter(twice.select(TRIAL).is_duplicated())
        raise table.error(
            f"has several {value}s for {twice.n_unique(TRIAL):,} of {distinct:,} trials, such as "
            f"{_name(twice)}. Find out which is correct, and give a file with that one."
        )
    return frame.height - distinct
