"""``deciban compare``: two systems on the same samples."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import show
from deciban.cli.commands.evaluate import ask_for_design, assessment_settings, input_files
from deciban.cli.options import AssessmentOptions, Json, ScoreOptions, option, with_options
from deciban.cli.words import count, join_words, name_source, quote, split_names
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
    from deciban.cli.design import design_columns
    from deciban.cli.provenance import describe_run, hash_inputs

    names = [None] if columns.llr is None else split_names(columns.llr)
    if len(names) > 2:
        raise InputError(
            f"--llr must name a column, or one of A and one of B; got {len(names)} names. Give two "
            f"at most."
        )
    others = [None] if columns.nontarget_scores is None else split_names(columns.nontarget_scores)
    if columns.nontarget_scores is not None and len(others) != 2:
        raise InputError(
            f"--nontarget-scores must name a file of A and one of B, separated by a comma; got "
            f"{len(others)}. Give two."
        )
    beside = [("--id", id_column)]
    shared = [*beside, *design_columns(options)]
    each = [replace(columns, llr=names[k], nontarget_scores=others[k]) for k in (0, -1)]
    hashes = hash_inputs(input_files(a, each[0], options) + input_files(b, each[1], options))
    first, second = (
        read_scores(source, its, more)
        for source, its, more in zip((a, b), each, (shared, beside), strict=True)
    )
    a, b = name_source(a), name_source(b)
    first, second = match_all([first, second], [a, b], id_column, columns.subset)
    systems = {"A": first.evidence, "B": second.evidence}
    found = assessment.compare(first.y_true, systems, **assessment_settings(options, first))
    found = ask_for_design(found, options, first)
    if as_json:
        record = describe_run(hashes, [(a, first), (b, second)], **asdict(options))
        show.print_json(found.to_dict() | {"provenance": record})
    else:
        _show(found, (a, *first.notes), (b, *second.notes))


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


def find_rows(
    here: pl.DataFrame, there: pl.DataFrame, a: str, b: str, subset: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the samples that both tables have, in the first and in the second."""
    import polars as pl

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


def _show(found: Comparison, a: tuple[str, ...], b: tuple[str, ...]) -> None:
    for name, (source, *about) in (("A", a), ("B", b)):
        show.echo("\n   ".join([f"{name}: {source}", *about]))
    rows = []
    for one in found.differences:
        cells = [show.in_unit(value, one.unit) for value in (one.a, one.b, one.difference)]
        cells.append(show.interval(one.low, one.high, one.unit))
        verdict = one.verdict or "–"
        rows.append((show.label_with_unit(one.label, one.unit), *cells, verdict))
    header = ("", "A", "B", "A − B", f"{100 * found.confidence:g} % interval", "verdict")
    show.print_table(header, rows, right=(1, 2, 3))
    show.print_design(found.design)
    show.print_notes(found.warnings)
