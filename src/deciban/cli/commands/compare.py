"""``deciban compare``: two systems on the same samples."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import show
from deciban.cli.commands.evaluate import ask_for_design, assessment_settings, input_files
from deciban.cli.options import AssessmentOptions, Json, SampleId, ScoreOptions, with_options
from deciban.cli.words import name_source

if TYPE_CHECKING:
    from deciban.assessment import Comparison

EXAMPLE = "Example: deciban compare a.csv b.csv --truth class --id sample"


@with_options
def compare(
    a: Annotated[str, typer.Argument(help="Scores of the first system.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Scores of the second system.", metavar="B")],
    columns: ScoreOptions,
    options: AssessmentOptions,
    id_column: SampleId = None,
    as_json: Json = False,
) -> None:
    """Compare two systems on the same samples: every metric, and whether the difference is real.

    Both files have the columns that evaluate takes. Each resample takes the same samples of both
    systems, which shows differences that two separate intervals would hide. Differences are A - B.
    Where the LLRs have another name in B, --llr takes both names, separated by a comma.
    """
    from deciban import assessment
    from deciban.cli.columns import read_scores
    from deciban.cli.design import design_columns
    from deciban.cli.matching import match_all, require_same_order
    from deciban.cli.provenance import describe_run, hash_inputs

    beside = [("--id", id_column)]
    shared = [*beside, *design_columns(options)]
    each = columns.split_among(2)
    hashes = hash_inputs(input_files(a, each[0], options) + input_files(b, each[1], options))
    first, second = (
        read_scores(source, its, more)
        for source, its, more in zip((a, b), each, (shared, beside), strict=True)
    )
    tables = a, b
    a, b = name_source(a), name_source(b)
    first, second = match_all([first, second], [a, b], id_column, columns.subset)
    if not first.ids.width and columns.key is None:
        require_same_order(tables, (first.columns, second.columns), columns.table_format)
    systems = {"A": first.evidence, "B": second.evidence}
    found = assessment.compare(first.y_true, systems, **assessment_settings(options, first))
    found = ask_for_design(found, options, first)
    if as_json:
        record = describe_run(hashes, [(a, first), (b, second)], **asdict(options))
        show.print_json(found.to_dict() | {"provenance": record})
    else:
        _show(found, (a, *first.notes), (b, *second.notes))


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
    if found.design:
        show.echo(f"Intervals: {found.design}.")
    show.print_notes(found.warnings)
