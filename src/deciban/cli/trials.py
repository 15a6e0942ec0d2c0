"""Trial lists as in speaker recognition: scores of (model, segment), and a key with the labels.

Text with three fields a line, between spaces or tabs, with or without a header; or a CSV, Parquet
or other table with a header. The names that NIST gives the columns are known, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deciban.cli.io.tables import columns_of_table, read_table
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame

_NAMES = {
    "model": ("model", "modelid", "enroll", "enrollment"),
    "segment": ("segment", "segmentid", "test", "seg"),
    "score": ("score", "llr"),
    "label": ("label", "targettype", "key"),
}
_PLAIN = {"", ".txt", ".tsv", ".scores", ".score", ".key", ".trn", ".lst", ".trials", ".ndx"}


def read_trials(scores: str, key: str, column: str | None = None) -> DataFrame:
    """Model, segment, label and score of each trial in the key, in its order.

    ``column`` is that of the scores, where their file has a header and it is not called score.
    """
    scored = trials_in(scores, "score", column)
    keyed = trials_in(key, "label")
    for frame, source in ((scored, scores), (keyed, key)):
        _refuse_repeated(frame, source)
    trial = ["model", "segment"]
    _refuse_unmatched(keyed.join(scored, on=trial, how="anti"), keyed.height, key, scores, "score")
    _refuse_unmatched(scored.join(keyed, on=trial, how="anti"), scored.height, scores, key, "label")
    return keyed.join(scored, on=trial, how="left", maintain_order="left")


def trials_in(source: str, value: str, column: str | None = None) -> DataFrame:
    """The trials of a file: model, segment and a value, which may be in a column of its own."""
    import polars as pl

    if Path(source).suffix.lower() in _PLAIN and source != "-":
        frame = _from_lines(source, value, column)
    else:
        there = columns_of_table(source)
        wanted = _placed(there, value, column)
        if wanted is None:
            raise _without_columns(source, there, column or value)
        names = [there[k] for k in wanted]
        frame = read_table(source, columns=names, text=names[:2])  # 007 is not 7
        frame.columns = ["model", "segment", value]
    if frame.height == 0:
        raise InputError(f"{source} must hold trials; it holds none. Give a file with some.")
    return frame.with_columns(pl.col("model", "segment").cast(pl.String))


def _without_columns(source: str, there: list[str], value: str) -> InputError:
    return InputError(
        f"{source} must have the columns model, segment and {value}; its columns are "
        f"{', '.join(there[:10])}. Rename them, or name the column of the scores with --llr."
    )


def _placed(names: list[str], value: str, column: str | None) -> list[int] | None:
    """Where model, segment and the value stand among these names, if they are there."""
    lower = [name.strip().lower() for name in names]
    places = []
    for wanted in ("model", "segment", value):
        if wanted == value and column is not None:
            found = [
                k for k, name in enumerate(names) if name.strip() == column and k not in places
            ]
        else:
            found = [lower.index(alias) for alias in _NAMES[wanted] if alias in lower]
        if not found:
            return None
        places.append(found[0])
    return places


def _from_lines(source: str, value: str, column: str | None) -> DataFrame:
    import polars as pl

    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{source} must be a file that can be read; got {error.strerror}. Check its name."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{source} must be UTF-8 text; it is not. Convert it first.") from None
    fields = [line.split() for line in text.splitlines() if line.strip()]
    places: list[int] | None = _placed(fields[0], value, column) if fields else None
    if places is None and column is not None:
        raise _without_columns(source, fields[0] if fields else [], column)
    body = fields[1:] if places is not None else fields
    width = 3 if places is None else len(fields[0])
    for number, row in enumerate(body, start=1 + (places is not None)):
        if len(row) != width:
            raise InputError(
                f"{source} must have {width} fields on each line (model, segment, {value}); line "
                f"{number} has {len(row)}. Put one trial on each line; where there is a header "
                f"and more columns, name that of the scores with --llr."
            )
    m, s, v = places or (0, 1, 2)
    return pl.DataFrame(
        {
            "model": [row[m] for row in body],
            "segment": [row[s] for row in body],
            value: [row[v] for row in body],
        },
        schema={"model": pl.String, "segment": pl.String, value: pl.String},
    )


def _refuse_repeated(frame: DataFrame, source: str) -> None:
    repeated = frame.height - frame.n_unique(["model", "segment"])
    if repeated:
        first = frame.filter(frame.select("model", "segment").is_duplicated()).row(0)
        raise InputError(
            f"{source} must hold each trial once; {repeated:,} of {frame.height:,} are repeated, "
            f"such as ({first[0]}, {first[1]}). Drop them first."
        )


def _refuse_unmatched(rest: DataFrame, total: int, here: str, there: str, value: str) -> None:
    if rest.height:
        model, segment = rest.row(0)[:2]
        raise InputError(
            f"{there} must have a {value} for each trial of {here}; it lacks {rest.height:,} of "
            f"{total:,}, such as ({model}, {segment}). Add them, or drop them from {here}."
        )
