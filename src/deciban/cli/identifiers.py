"""Columns that name samples, groups and items; matching samples across systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.cells import first_true
from deciban.cli.files import Source
from deciban.cli.tables import open_table
from deciban.cli.trials import open_trial_list
from deciban.cli.words import count, join_words, quote
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.cli.options import AssessmentOptions
    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.scores import LabelledScores

_THING = (
    "(item|id|name|file|sample|source|speaker|voice|recording|utt|utterance|segment|object|print|"
    "exhibit|fragment|pane)"
)
_FIRST = "left|model|enroll|enrollment|enrolment|reference|known|control|suspect|gallery"
_SECOND = "right|segment|test|questioned|probe|trace|recovered|disputed|unknown"
_ENDS = (("1", "2"), ("a", "b"), ("left", "right"), ("l", "r"))
_GROUPS = re.compile(r"(speaker|source|subject|patient|donor|person|writer|group)([ _-]?id)?")
_FEWEST = 10  # groups below which resampling them says little


def design_columns(options: AssessmentOptions) -> list[tuple[str, str]]:
    """Options that name design columns, each with its column."""
    option = "--group" if len(options.shared_columns) == 1 else "--items"
    return [(option, name) for name in options.shared_columns]


def design_settings(options: AssessmentOptions, beside: pl.DataFrame) -> dict[str, Any]:
    """Groups or items for an assessment, as whole numbers; equal text has equal numbers."""
    names = options.shared_columns
    if not names:
        return {}
    for option, name in design_columns(options):
        check_identifiers(beside[name], option)
    whole = pl.concat([beside[name].cast(pl.String).alias("item") for name in names])
    codes = np.split(whole.cast(pl.Categorical).to_physical().to_numpy(), len(names))
    return {"groups": codes[0]} if len(names) == 1 else {"items": tuple(codes)}


def check_identifiers(column: pl.Series, option: str, start: int = 0) -> None:
    """Raise unless each row has an identifier; ``start`` table rows come before."""
    empty = column.cast(pl.String).fill_null("") == ""
    if empty.any():
        row = start + first_true(empty)
        raise InputError(
            f"{option} needs an identifier in each row; row {row + 1} of {quote(column.name)} is "
            "empty. Fill it in, or give a copy without the row.",
            rows=[row],
        )


def find_identifiers(names: Sequence[str]) -> list[str]:
    """Columns that seem to name the two items in each comparison, or the group."""
    lower = {name.strip().lower(): name for name in names}
    sides = [
        [name for name in lower if re.fullmatch(rf"({words})([ _-]?{_THING})?", name)]
        for words in (_FIRST, _SECOND)
    ]
    if all(len(side) == 1 for side in sides):
        return [lower[side[0]] for side in sides]
    for name in lower:
        for first, second in _ENDS:
            other = name.removesuffix(first) + second
            if re.fullmatch(rf"{_THING}[ _-]?(id)?[ _-]?{first}", name) and other in lower:
                return [lower[name], lower[other]]
    return [lower[name] for name in lower if _GROUPS.fullmatch(name)][:1]


def design_note(identifiers: pl.DataFrame, given: Sequence[str] = ()) -> list[str]:
    """A note that asks for the design, if identifiers recur beyond the given groups."""
    if identifiers.width == 0 or any(dtype.is_float() for dtype in identifiers.dtypes):
        return []
    names = identifiers.columns
    columns = [identifiers[name].cast(pl.String).alias("item") for name in names]
    distinct = pl.concat([one.unique() for one in columns]).n_unique()
    if len(names) == 1:
        shared = _FEWEST <= distinct < identifiers.height
        subject, option = f"Column {names[0]} names {distinct:,} groups", f"--group {names[0]}"
    else:
        shared = 2 < distinct < identifiers.height + int((columns[0] != columns[1]).sum())
        subject = f"Columns {names[0]} and {names[1]} name {distinct:,} items"
        option = f"--items {names[0]},{names[1]}"
    independent = f"that groups by {given[0]} are independent" if given else "independent samples"
    note = (
        f"{subject}, which {identifiers.height:,} samples share; the intervals assume "
        f"{independent} and are too narrow. Give {option}, or the columns of their sources."
    )
    return [note] if shared else []


def match_all(
    scored: list[LabelledScores], names: list[str], id_column: str | None
) -> list[LabelledScores]:
    """All systems in the row order of the first."""
    if id_column is not None:
        scored = [replace(one, ids=one.beside.select(id_column)) for one in scored]
    first, *others = scored
    matched = [_match_rows(first, other, names[0], names[k]) for k, other in enumerate(others, 1)]
    return [first, *matched]


def _match_rows(first: LabelledScores, second: LabelledScores, a: str, b: str) -> LabelledScores:
    """The second system in the row order of the first; samples and truth must be equal."""
    if first.classes != second.classes:
        raise InputError(
            f"{a} and {b} have different classes: {join_words(first.classes, 5)} and "
            f"{join_words(second.classes, 5)}. Give results on the same samples."
        )
    if first.ids.width == second.ids.width > 0 and not first.ids.equals(second.ids):
        second = second.take(find_rows(first.ids, second.ids, a, b))
    if len(first.codes) != len(second.codes):
        raise InputError(
            f"{a} has {len(first.codes):,} rows and {b} {len(second.codes):,}. Name the column "
            "that matches them with --id."
        )
    off = first.codes != second.codes
    if off.any():
        row, wrong = int(off.argmax()), int(off.sum())
        remedy = "Name the column that matches them with --id."
        if first.ids.width:
            remedy = "Find out which is correct."
        raise InputError(
            f"{a} and {b} differ in the truth of {count(wrong, 'row')}, the first in row "
            f"{row + 1}. {remedy}",
            rows=[row],
        )
    return second


def require_same_order(tables: Sequence[Source], columns: Sequence[ScoreColumns]) -> None:
    """Raise if rows are matched by their order, and a column that names them has another one."""
    opened = [
        open_trial_list(table).table if its.kind == "trials" else open_table(table)
        for table, its in zip(tables, columns, strict=True)
    ]
    scores = {name for its in columns for name in its.columns}
    for other in opened[1:]:
        shared = [n for n in opened[0].columns if n in other.columns and n not in scores]
        here, there = (
            (one.read(shared) if shared else pl.DataFrame()) for one in (opened[0], other)
        )
        for a, b in zip(here, there, strict=True):
            if a.n_unique() == len(a) and not a.equals(b) and a.sort().equals(b.sort()):
                raise InputError(
                    f"{opened[0].name} and {other.name} have {quote(a.name)} in different orders. "
                    f"Match them by it: --id {a.name}."
                )


def find_rows(here: pl.DataFrame, there: pl.DataFrame, a: str, b: str) -> NDArray[np.intp]:
    """Row indices that put the second table in the order of the first; samples must be equal."""
    frames = []
    for ids, source in ((here, a), (there, b)):
        empty = len(ids) - len(ids.drop_nulls())
        wrong = empty or len(ids) - ids.n_unique()
        if wrong:
            raise InputError(
                f"--id must name each sample of {source} once; {count(wrong, 'row')} of "
                f"{join_words(map(quote, ids.columns))} {'is' if wrong == 1 else 'are'} "
                f"{'empty' if empty else 'repeated'}. Name another column."
            )
        names = [f"id {k}" for k in range(ids.width)]
        text = ids.cast(pl.String).rename(dict(zip(ids.columns, names, strict=True)))
        frames.append(text.with_row_index("row"))
    joined = frames[0].join(frames[1], on=names, how="inner", maintain_order="left")
    both = joined.height
    if not len(here) == len(there) == both:
        remedy = "Give tables of those that are in both." if both else "Check --id."
        raise InputError(
            f"{a} and {b} hold different samples: {len(here) - both:,} of {a} are not in {b}, "
            f"and {len(there) - both:,} of {b} not in {a}. {remedy}"
        )
    return joined["row_right"].to_numpy()
