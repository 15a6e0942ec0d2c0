"""``deciban compare``: two systems on the same samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import show
from deciban.cli.commands.evaluate import assessment_settings
from deciban.cli.options import AssessmentOptions, Json, ScoreOptions, option, with_options
from deciban.cli.words import count, join_words, name_source, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.assessment import Comparison
    from deciban.cli.columns import LabelledScores

EXAMPLE = "Example: deciban compare a.csv b.csv --truth class --id sample"


@with_options
def compare(
    a: Annotated[str, typer.Argument(help="Scores of the first system.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Scores of the second system.", metavar="B")],
    columns: ScoreOptions,
    options: AssessmentOptions,
    id_column: Annotated[
        str | None, option("Column that names the sample; by default, rows are matched by their "
                           "order.", "COLUMN", "--id"),
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Compare two systems on the same samples: every metric, and whether the difference is real.

    Both files have the columns that evaluate takes. Each resample takes the same samples of both
    systems, which shows differences that two separate intervals would hide. Differences are A - B.
    Where the LLRs have another name in B, --llr takes both names, separated by a comma.
    """
    from deciban import assessment
    from deciban.cli.columns import read_scores

    names = [None] if columns.llr is None else split_names(columns.llr)
    if len(names) > 2:
        raise InputError(
            f"--llr must name a column, or one of A and one of B; got {len(names)} names. Give two "
            f"at most."
        )
    first = read_scores(a, replace(columns, llr=names[0]), [("--id", id_column)])
    second = read_scores(b, replace(columns, llr=names[-1]), [("--id", id_column)])
    a, b = name_source(a), name_source(b)
    second = _match_rows(first, second, a, b, id_column)
    systems = {"A": first.evidence, "B": second.evidence}
    found = assessment.compare(first.y_true, systems, **assessment_settings(options, first))
    if as_json:
        show.print_json(found.to_dict())
    else:
        _show(found, a, b)


def _match_rows(
    first: LabelledScores, second: LabelledScores, a: str, b: str, id_column: str | None
) -> LabelledScores:
    """The second system's samples in the order of the first's; the truth must be the same."""
    if first.evidence.classes != second.evidence.classes:
        raise InputError(
            f"{a} and {b} must have the same classes; got {join_words(first.evidence.classes, 5)} "
            f"and {join_words(second.evidence.classes, 5)}. Give results on the same samples."
        )
    if id_column is not None:
        rows = _find_rows(first.beside[id_column], second.beside[id_column], a, b)
        second = replace(second, codes=second.codes[rows], evidence=second.evidence[rows])
    if len(first.codes) != len(second.codes):
        raise InputError(
            f"{a} and {b} must have the same number of rows; got {len(first.codes):,} and "
            f"{len(second.codes):,}. Name the column that matches them with --id."
        )
    off = first.codes != second.codes
    if off.any():
        row, wrong = int(off.argmax()), int(off.sum())
        remedy = "Correct the truth of one."
        if id_column is None:
            remedy = "Name the column that matches them with --id."
        raise InputError(
            f"{a} and {b} must have the same truth in each row; it differs in "
            f"{count(wrong, 'row')}, in row {row + 1} first. {remedy}",
            rows=[row],
        )
    return second


def _find_rows(here: pl.Series, there: pl.Series, a: str, b: str) -> NDArray[np.intp]:
    """Index of each sample of the first table in the second."""
    import polars as pl

    frames = []
    for ids, source in ((here, a), (there, b)):
        if ids.null_count() or ids.n_unique() < len(ids):
            wrong = ids.null_count() or len(ids) - ids.n_unique()
            what = "empty" if ids.null_count() else "repeated"
            raise InputError(
                f"--id must name each sample of {source} once; {count(wrong, 'row')} of "
                f"{ids.name!r} {'is' if wrong == 1 else 'are'} {what}. Name another column, or "
                "drop them."
            )
        frames.append(pl.DataFrame({"id": ids.cast(pl.String)}).with_row_index("row"))
    joined = frames[0].join(frames[1], on="id", how="left", maintain_order="left")
    lacking = joined["row_right"].null_count()
    if lacking or len(here) != len(there):
        raise InputError(
            f"{a} and {b} must hold the same samples; {lacking:,} of {a} are not in {b}, and "
            f"{len(there) - len(here) + lacking:,} of {b} not in {a}. Keep those in both."
        )
    return joined["row_right"].to_numpy()


def _show(found: Comparison, a: str, b: str) -> None:
    show.echo(f"A: {a}\nB: {b}")
    rows = []
    for one in found.differences:
        cells = [show.in_unit(value, one.unit) for value in (one.a, one.b, one.difference)]
        cells.append(show.interval(one.low, one.high, one.unit))
        verdict = one.verdict or "–"
        rows.append((show.label_with_unit(one.label, one.unit), *cells, verdict))
    header = ("", "A", "B", "A − B", f"{100 * found.confidence:g} % interval", "verdict")
    show.print_table(header, rows, right=(1, 2, 3))
    show.print_notes(found.warnings)
