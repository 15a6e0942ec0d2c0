"""``deciban compare``: two or more systems on the same samples."""

from __future__ import annotations

from dataclasses import asdict
from itertools import count, islice, product
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import show
from deciban.cli.commands.evaluate import ask_for_design, assessment_settings, input_files
from deciban.cli.options import (
    AssessmentOptions,
    Force,
    Json,
    Report,
    SampleId,
    ScoreOptions,
    with_options,
)
from deciban.cli.words import name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deciban.assessment import Comparison

EXAMPLE = "Example: deciban compare a.csv b.csv --truth class --id sample --report compared.html"


@with_options
def compare(
    tables: Annotated[
        list[str], typer.Argument(help="Scores of each system, two or more.", metavar="A B …")
    ],
    columns: ScoreOptions,
    options: AssessmentOptions,
    id_column: SampleId = None,
    report: Report = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Compare systems on the same samples: every metric, and whether the difference is real.

    All files have the columns that evaluate takes. Each resample takes the same samples of all
    systems, which shows differences that separate intervals would hide. Systems are named A, B, C
    and so on; the differences are those of A from each of the others. Where the LLRs have other
    names in each file, --llr takes all of them, separated by commas.
    """
    from deciban import assessment
    from deciban.cli.columns import read_scores
    from deciban.cli.identifiers import design_columns, match_all, require_same_order
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs

    if len(tables) < 2:
        raise InputError(
            f"compare must have the scores of two systems or more; got {tables[0]} alone. Name "
            f"another file, or give `deciban evaluate` this one."
        )
    each = columns.split_among(len(tables))
    inputs = [
        file
        for table, its in zip(tables, each, strict=True)
        for file in input_files(table, its, options)
    ]
    require_outputs({"--report": report}, tuple(inputs), force=force)
    hashes = hash_inputs(inputs)
    beside = [("--id", id_column)]
    shared = [*beside, *design_columns(options)]
    scored = [
        read_scores(table, its, beside if k else shared)
        for k, (table, its) in enumerate(zip(tables, each, strict=True))
    ]
    sources = [name_source(table) for table in tables]
    scored = match_all(scored, sources, id_column, columns.subset)
    first = scored[0]
    if not first.ids.width and columns.key is None:
        require_same_order(tables, [one.columns for one in scored], columns.table_format)
    names = name_systems(len(scored))
    systems = {name: one.evidence for name, one in zip(names, scored, strict=True)}
    settings = assessment_settings(options, first)
    found = assessment.compare(first.y_true, systems, **settings)
    found = ask_for_design(found, options, first)
    record = describe_run(hashes, list(zip(sources, scored, strict=True)), **asdict(options))
    about = {
        name: (source, *one.notes) for name, source, one in zip(names, sources, scored, strict=True)
    }
    if report is not None:
        from deciban._persistence.files import write_atomically
        from deciban.report import comparison_report

        page = comparison_report(
            first.y_true, systems, title=_title(tables), comparison=found, settings=settings,
            descriptions={name: " ".join(words) for name, words in about.items()},
            provenance=record,
        )  # fmt: skip
        write_atomically(report, page, replace=force)
    if as_json:
        show.print_json(found.to_dict() | {"provenance": record})
    else:
        _show(found, about)
    if report is not None:
        show.echo(f"Report: {report}", err=as_json)


def name_systems(n: int) -> list[str]:
    """Names of so many systems: A to Z, then AA, AB and so on.

    >>> name_systems(28)[-3:]
    ['Z', 'AA', 'AB']
    """
    names = ("".join(letters) for k in count(1) for letters in product(ascii_uppercase, repeat=k))
    return list(islice(names, n))


def _title(tables: Sequence[str]) -> str:
    from pathlib import Path

    names = ["standard input" if table == "-" else Path(table).name for table in tables]
    return " and ".join(dict.fromkeys(names)) if len(names) < 4 else f"{len(names)} systems"


def _show(found: Comparison, about: Mapping[str, Sequence[str]]) -> None:
    for name, (source, *notes) in about.items():
        show.echo("\n   ".join([f"{name}: {source}", *notes]))
    first, *others = found.systems
    for name in others:
        rows = [_row(one) for one in found.differences if one.systems[1] == name]
        interval = f"{100 * found.confidence:g} % interval"
        header = ("", first, name, f"{first} − {name}", interval, "verdict")
        show.print_table(header, rows, right=(1, 2, 3))
    if found.design:
        show.echo(f"Intervals: {found.design}.")
    show.print_notes(found.warnings)


def _row(one: Any) -> tuple[str, ...]:
    """A difference as a row of text."""
    cells = [show.in_unit(value, one.unit) for value in (one.a, one.b, one.difference)]
    interval = show.interval(one.low, one.high, one.unit)
    return (show.label_with_unit(one.label, one.unit), *cells, interval, one.verdict or "–")
