"""Which columns tell what samples share: a group, or the items of a comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from deciban.cli.words import quote
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.cli.options import AssessmentOptions

_THING = (
    "(item|id|name|file|sample|source|speaker|voice|recording|utt|utterance|segment|object|print|"
    "exhibit|fragment|pane)"
)
_FIRST = "left|model|enroll|enrollment|enrolment|reference|known|control|suspect|gallery"
_SECOND = "right|segment|test|questioned|probe|trace|recovered|disputed|unknown"
_ENDS = (("1", "2"), ("a", "b"), ("left", "right"), ("l", "r"))
_GROUPS = re.compile(r"(speaker|source|subject|patient|donor|person|writer|group)([ _-]?id)?")
_FEWEST = 10  # groups below which resampling them says little


def design_columns(options: AssessmentOptions) -> list[tuple[str, str | None]]:
    """Options that name columns of the design, and the column that each names."""
    left, right = options.item_columns or (None, None)
    return [("--group", options.group), ("--items", left), ("--items", right)]


def design_settings(options: AssessmentOptions, beside: pl.DataFrame) -> dict[str, Any]:
    """Groups or items of the samples for an assessment."""
    if options.group is not None:
        return {"groups": _encode([beside[options.group]], "--group")[0]}
    if options.item_columns is not None:
        columns = [beside[name] for name in options.item_columns]
        return {"items": tuple(_encode(columns, "--items"))}
    return {}


def _encode(columns: Sequence[pl.Series], option: str) -> list[np.ndarray]:
    """Identifiers as whole numbers; the same text has the same number in each column."""
    for column in columns:
        empty = (column.is_null() | (column.cast(pl.String) == "")).fill_null(value=True)
        if empty.any():
            row = int(empty.arg_max() or 0)
            raise InputError(
                f"{option} must name columns with an identifier in each row; row {row + 1} of "
                f"{quote(column.name)} is empty. Fill it in, or give a copy without the row.",
                rows=[row],
            )
    whole = pl.concat([column.cast(pl.String).alias("item") for column in columns])
    return np.split(whole.cast(pl.Categorical).to_physical().to_numpy(), len(columns))


def find_identifiers(names: Sequence[str]) -> list[str]:
    """Columns that seem to name the two items of each comparison, or the group of each sample."""
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


def design_note(identifiers: pl.DataFrame) -> list[str]:
    """A question for the design, where identifiers recur in a table."""
    if identifiers.width == 0 or any(dtype.is_float() for dtype in identifiers.dtypes):
        return []
    names = identifiers.columns
    columns = [identifiers[name].cast(pl.String).alias("item") for name in names]
    distinct = pl.concat([one.unique() for one in columns]).n_unique()
    if len(names) == 1:
        if not _FEWEST <= distinct < identifiers.height:
            return []
        what, option = f"Column {names[0]} names {distinct:,} groups", f"--group {names[0]}"
    else:
        pairs = identifiers.height + int((columns[0] != columns[1]).sum())
        if not 2 < distinct < pairs:
            return []
        what = f"Columns {names[0]} and {names[1]} name {distinct:,} items"
        option = f"--items {names[0]},{names[1]}"
    return [
        f"{what}, which {identifiers.height:,} samples share; the intervals assume independent "
        f"samples and are too narrow. Give {option}, or the columns of their sources."
    ]
