"""The same samples of several systems: their rows, in the order of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.columns import LabelledScores
from deciban.cli.io.formats import Source
from deciban.cli.io.sources import open_table
from deciban.cli.score_columns import ScoreColumns
from deciban.cli.trials import open_trials
from deciban.cli.words import count, join_words, quote
from deciban.exceptions import InputError


def match_all(
    scored: list[LabelledScores], names: list[str], id_column: str | None, subset: bool
) -> list[LabelledScores]:
    """The same samples of all systems in the order of the first."""
    if id_column is not None:
        scored = [replace(one, ids=one.beside.select(id_column)) for one in scored]
    first, *others = scored
    for _ in range(2):  # what one lacks, the first loses, and then all others
        for k, other in enumerate(others):
            first, others[k] = _match_rows(first, other, names[0], names[k + 1], subset)
    return [first, *others]


def _match_rows(
    first: LabelledScores, second: LabelledScores, a: str, b: str, subset: bool
) -> tuple[LabelledScores, LabelledScores]:
    """The same samples of both systems in the order of the first; the truth must be the same."""
    if first.evidence.classes != second.evidence.classes:
        raise InputError(
            f"{a} and {b} must have the same classes; got {join_words(first.evidence.classes, 5)} "
            f"and {join_words(second.evidence.classes, 5)}. Give results on the same samples."
        )
    if first.ids.width == second.ids.width > 0 and not first.ids.equals(second.ids):
        here, there = find_rows(first.ids, second.ids, a, b, subset)
        first, second = first.take(here, f"not in {b}"), second.take(there, f"not in {a}")
    if len(first.codes) != len(second.codes):
        raise InputError(
            f"{a} and {b} must have the same number of rows; got {len(first.codes):,} and "
            f"{len(second.codes):,}. Name the column that matches them with --id."
        )
    off = first.codes != second.codes
    if off.any():
        row, wrong = int(off.argmax()), int(off.sum())
        remedy = "Find out which one is right."
        if not first.ids.width:
            remedy = "Name the column that matches them with --id."
        raise InputError(
            f"{a} and {b} must have the same truth in each row; it differs in "
            f"{count(wrong, 'row')}, in row {row + 1} first. {remedy}",
            rows=[row],
        )
    return first, second


def require_same_order(
    tables: Sequence[Source], columns: Sequence[ScoreColumns], table_format: str | None
) -> None:
    """Raise where rows are matched by their order, and a column that names them has another one."""
    opened = [
        open_trials(table, format=table_format).table
        if its.kind == "trials"
        else open_table(table, table_format)
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
                    f"{opened[0].name} and {other.name} must have their rows in the same order; "
                    f"column {quote(a.name)} has not. Match them by it: --id {a.name}."
                )


def find_rows(
    here: pl.DataFrame, there: pl.DataFrame, a: str, b: str, subset: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the samples that both tables have, in the first and in the second."""
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
    if not both or (not subset and not len(here) == len(there) == both):
        remedy = "Pass --subset to compare them on those in both." if both else "Check --id."
        raise InputError(
            f"{a} and {b} must hold the same samples; {len(here) - both:,} of {a} are not in {b}, "
            f"and {len(there) - both:,} of {b} not in {a}. {remedy}"
        )
    return joined["row"].to_numpy(), joined["row_right"].to_numpy()
