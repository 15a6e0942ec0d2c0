"""``deciban evaluate``: every metric of a table of scores, with its interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deciban.cli.columns import Layout, Scored, read_scores, read_trial_scores
from deciban.cli.io.tables import require_new
from deciban.cli.operating import parsed_costs, parsed_prior
from deciban.cli.score_options import (
    AtPrior,
    Base,
    Confidence,
    Costs,
    Floor,
    Force,
    Format,
    Json,
    Key,
    Llr,
    LogLikelihoods,
    Positive,
    Posteriors,
    Prefix,
    Prior,
    Resamples,
    Seed,
    Truth,
)
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.assessment import Assessment, Quantity

_WIDE = 100  # columns of a terminal that has room for meanings
EXAMPLE = "Example: deciban evaluate scores.csv --truth class --report report.html"


def evaluate(
    table: Annotated[
        str | None, typer.Argument(help="Table of scores, or - for standard input.")
    ] = None,
    truth: Truth = None,
    llr: Llr = None,
    positive: Positive = None,
    log_likelihoods: LogLikelihoods = None,
    posteriors: Posteriors = None,
    prefix: Prefix = "",
    prior: Prior = None,
    floor: Floor = None,
    base: Base = "e",
    scores: Annotated[
        str | None,
        typer.Option(
            help="File of model, segment and score, with --key; the same as TABLE.",
            rich_help_panel="Columns",
            metavar="FILE",
        ),
    ] = None,
    key: Key = None,
    table_format: Format = None,
    at_prior: AtPrior = None,
    costs: Costs = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="HTML page with all numbers and figures.",
            rich_help_panel="Output",
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Judge scores whose truth is known: every metric, with its interval and what it means.

    Scores are LLRs of two classes (a column llr), log-likelihoods (a column named after each
    class), posteriors with the prior that is inside them, or a score file with its key. LLRs may
    be inf or -inf. Rows are counted from 1, after the header.
    """
    source = _one_source(table, scores, key)
    if report is not None:
        require_new(report, force, option="--report")
    layout = Layout(truth, llr, positive, log_likelihoods, posteriors, prefix, prior, base, None,
                    table_format, floor)  # fmt: skip
    scored = read_scores(source, layout) if key is None else read_trial_scores(source, key, layout)
    from deciban.assessment.assess import assess_encoded

    found = assess_encoded(
        scored.codes, scored.evidence, prior=prior_of(at_prior, scored),
        costs=parsed_costs(costs, "--costs", scored.evidence.classes),
        confidence=confidence, n_resamples=resamples, rng=seed,
    )  # fmt: skip
    if report is not None:
        _write_report(report, source, scored, found)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        show(found, source)
    if report is not None:
        typer.echo(f"Report: {report}", err=as_json)


def _one_source(table: str | None, scores: str | None, key: str | None) -> str:
    if (table is None) == (scores is None):
        got = "neither" if table is None else "both"
        raise InputError(f"TABLE or --scores must be given; got {got}. Name one file of scores.")
    if scores is not None and key is None:
        raise InputError("--scores must come with --key, the labels of its trials; got none.")
    return str(table if scores is None else scores)


def prior_of(text: str | None, scored: Scored) -> Any:
    """What --at-prior says."""
    import numpy as np

    classes = scored.evidence.classes
    counts = np.bincount(scored.codes, minlength=len(classes)).tolist()
    return parsed_prior(text, "--at-prior", classes, counts)


def _write_report(path: Path, source: str, scored: Scored, found: Assessment) -> None:
    from deciban._persistence.atomic import write_atomically
    from deciban.report.page import report

    title = "Standard input" if source == "-" else Path(source).name
    write_atomically(path, report(scored.truth, scored.evidence, title=title, assessment=found))


def show(found: Assessment, source: str) -> None:
    """A table of all numbers."""
    console = Console()
    pairs = list(zip(found.classes, found.counts, strict=True))
    samples = ", ".join(f"{count:,} of {label}" for label, count in pairs[:10])
    samples += f", … ({len(pairs)} classes)" if len(pairs) > 10 else ""
    console.print(f"{source}: {samples}", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column(f"{100 * found.confidence:g} % interval", no_wrap=True)
    wide = console.width >= _WIDE  # else there is no room for words
    if wide:
        table.add_column("what it means", style="dim", min_width=20)
    for quantity in found.quantities:
        cells = _cells(quantity)
        table.add_row(*(escape(cell) for cell in (cells if wide else cells[:-1])))
    console.print(table)
    for warning in found.warnings:
        console.print(f"Note: {warning}", style="yellow", markup=False)


def _cells(quantity: Quantity) -> tuple[str, ...]:
    low, high = (in_unit(end, quantity.unit) for end in (quantity.low, quantity.high))
    interval = f"{low} to {high}" if quantity.low == quantity.low else ""
    value = in_unit(quantity.value, quantity.unit)
    return with_unit(quantity.label, quantity.unit), value, interval, quantity.meaning


def with_unit(label: str, unit: str) -> str:
    """What a row of the table is called."""
    shown = "%" if unit == "fraction" else unit
    return f"{label} [{shown}]" if shown else label


def in_unit(value: float, unit: str) -> str:
    """A number as the table has it: fractions as percentages."""
    if value != value:
        return "–"
    return f"{100 * value:.2f}" if unit == "fraction" else f"{value:.4f}"
