"""Trial lists as in speaker recognition: scores of (model, segment), and a key with the labels.

A file has three fields a line, separated by spaces or tabs, with or without a header; or it is a
CSV, Parquet or other table with a header. The column names of NIST are known, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from deciban.cli.io.formats import refusals
from deciban.cli.io.sources import open_table
from deciban.cli.words import join_words, quote
from deciban.exceptions import TableError

_NAMES = {
    "model": ("model", "modelid", "enroll", "enrollment"),
    "segment": ("segment", "segmentid", "test", "seg"),
    "score": ("score", "llr"),
    "label": ("label", "targettype", "key"),
}
_PLAIN = {"", ".txt", ".tsv", ".scores", ".score", ".key", ".trn", ".lst", ".trials", ".ndx"}


def read_trials(
    scores: str, key: str, column: str | None = None, beside: Sequence[tuple[str, str]] = ()
) -> pl.DataFrame:
    """Model, segment, label and score of each trial in the key, in its order.

    ``column`` is that of the scores, where their file has a header and it is not called score.
    ``beside`` holds options and the further columns that they name, in either file; in the result,
    their names begin with "beside:".
    """
    more = [name for _, name in beside]
    scored = read_trial_list(scores, "score", column, more)
    keyed = read_trial_list(key, "label", beside=more)
    for frame, source in ((scored, scores), (keyed, key)):
        _refuse_repeated(frame, source)
    trial = ["model", "segment"]
    _refuse_unmatched(keyed.join(scored, on=trial, how="anti"), keyed.height, key, scores, "score")
    _refuse_unmatched(scored.join(keyed, on=trial, how="anti"), scored.height, scores, key, "label")
    scored = scored.drop((set(scored.columns) & set(keyed.columns)) - set(trial))  # take the key's
    joined = keyed.join(scored, on=trial, how="left", maintain_order="left")
    for option, name in beside:
        if f"beside:{name}" not in joined.columns and name in trial:
            joined = joined.with_columns(pl.col(name).alias(f"beside:{name}"))
        elif f"beside:{name}" not in joined.columns:
            raise TableError(
                f"must have the column that {option} names, or {scores} must; neither has "
                f"{quote(name)}. Add it, with a header, or name model or segment.",
                file=key,
            )
    return joined


def read_trial_list(
    source: str, value: str, column: str | None = None, beside: Sequence[str] = ()
) -> pl.DataFrame:
    """Model, segment and a value of each trial in a file, whose column may have another name.

    Columns of ``beside`` that the file has come last, their names after "beside:".
    """
    if Path(source).suffix.lower() in _PLAIN and source != "-":
        frame = _read_lines(source, value, column, beside)
    else:
        table = open_table(source)
        places = _find_columns(table.columns, value, column)
        if places is None:
            raise _lacks_columns(source, table.columns, column or value)
        more = [name for name in dict.fromkeys(beside) if name in table.columns]
        names = [table.columns[k] for k in places]
        whole = table.read([*dict.fromkeys([*names, *more])])
        new = ["model", "segment", value, *(f"beside:{name}" for name in more)]
        frame = whole.select(
            pl.col(old).alias(name) for old, name in zip([*names, *more], new, strict=True)
        )
    if frame.height == 0:
        raise TableError("must hold trials; it holds none. Give a file with some.", file=source)
    return frame.with_columns(pl.col("model", "segment").cast(pl.String))


def _lacks_columns(source: str, there: list[str], value: str) -> TableError:
    return TableError(
        f"must have the columns model, segment and {value}; its columns are {join_words(there)}. "
        "Rename them, or name the column of the scores with --llr.",
        file=source,
    )


def _find_columns(names: list[str], value: str, column: str | None) -> list[int] | None:
    """Positions of model, segment and the value among these names, if all are there."""
    lower = [name.strip().lower() for name in names]
    places: list[int] = []
    for wanted in ("model", "segment", value):
        if wanted == value and column is not None:
            found = [k for k, name in enumerate(names) if name.strip() == column]
            found = [k for k in found if k not in places]
        else:
            found = [lower.index(alias) for alias in _NAMES[wanted] if alias in lower]
        if not found:
            return None
        places.append(found[0])
    return places


def _read_lines(source: str, value: str, column: str | None, beside: Sequence[str]) -> pl.DataFrame:
    try:
        with refusals(source, "must be a file that can be read"):
            text = Path(source).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TableError("must be UTF-8 text; it is not. Convert it first.", file=source) from None
    fields = [line.split() for line in text.splitlines() if line.strip()]
    places = _find_columns(fields[0], value, column) if fields else None
    if places is None and column is not None:
        raise _lacks_columns(source, fields[0] if fields else [], column)
    width = 3 if places is None else len(fields[0])
    body = fields if places is None else fields[1:]
    for number, row in enumerate(body, start=1 + (places is not None)):
        if len(row) != width:
            raise TableError(
                f"must have {width} fields on each line (model, segment, {value}); line {number} "
                f"has {len(row)}. Put one trial on each line; where there is a header and more "
                "columns, name that of the scores with --llr.",
                file=source,
                rows=[number - 1],
            )
    named = dict(zip(("model", "segment", value), places or range(3), strict=True))
    header = [] if places is None else fields[0]
    named |= {f"beside:{name}": header.index(name) for name in beside if name in header}
    columns = {name: [row[k] for row in body] for name, k in named.items()}
    return pl.DataFrame(columns, schema=dict.fromkeys(named, pl.String))


def _refuse_repeated(frame: pl.DataFrame, source: str) -> None:
    repeated = frame.height - frame.n_unique(["model", "segment"])
    if repeated:
        first = frame.filter(frame.select("model", "segment").is_duplicated()).row(0)
        raise TableError(
            f"must hold each trial once; {repeated:,} of {frame.height:,} are repeated, such as "
            f"({first[0]}, {first[1]}). Drop them first.",
            file=source,
        )


def _refuse_unmatched(rest: pl.DataFrame, total: int, here: str, there: str, value: str) -> None:
    if rest.height:
        raise TableError(
            f"must have a {value} for each trial of {here}; it lacks {rest.height:,} of {total:,}, "
            f"such as ({rest[0, 0]}, {rest[0, 1]}). Add them, or drop them from {here}.",
            file=there,
        )
