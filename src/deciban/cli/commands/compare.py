"""``deciban compare``: two systems on the same samples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deciban.cli.columns import Layout, Scored, read_scores, read_trial_scores
from deciban.cli.commands.evaluate import in_unit, prior_of, with_unit
from deciban.cli.io.formats import names_in
from deciban.cli.operating import parsed_costs
from deciban.cli.score_options import (
    AtPrior,
    Base,
    Confidence,
    Costs,
    Floor,
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
    import numpy as np
    from polars import Series

    from deciban.assessment import Comparison

EXAMPLE = "Example: deciban compare a.csv b.csv --truth class --id sample"


def compare(
    a: Annotated[str, typer.Argument(help="Scores of the first system.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Scores of the second.", metavar="B")],
    truth: Truth = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Column that names the sample; without it rows are matched by their order.",
            rich_help_panel="Columns",
            metavar="COLUMN",
        ),
    ] = None,
    llr: Llr = None,
    positive: Positive = None,
    log_likelihoods: LogLikelihoods = None,
    posteriors: Posteriors = None,
    prefix: Prefix = "",
    prior: Prior = None,
    floor: Floor = None,
    base: Base = "e",
    key: Key = None,
    table_format: Format = None,
    at_prior: AtPrior = None,
    costs: Costs = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare two systems on the same samples: every metric, and whether the difference is real.

    Both files have the columns that evaluate takes. Each resample takes the same samples of both,
    so that differences are told that two separate intervals would hide. Differences are A - B.
    Where the LLRs have other names in B, --llr takes both, with a comma between.
    """
    layouts = [
        Layout(truth, column, positive, log_likelihoods, posteriors, prefix, prior, base, id_column,
               table_format, floor)
        for column in _columns(llr)
    ]  # fmt: skip
    pairs = list(zip((a, b), layouts, strict=True))
    if key is None:
        first, second = (read_scores(source, layout) for source, layout in pairs)
        second = _matched(first, second, a, b)
    else:
        first, second = (read_trial_scores(source, key, layout) for source, layout in pairs)
    from deciban.assessment.assess import compare_encoded

    found = compare_encoded(
        first.codes, {"A": first.evidence, "B": second.evidence}, prior=prior_of(at_prior, first),
        costs=parsed_costs(costs, "--costs", first.evidence.classes),
        confidence=confidence, n_resamples=resamples, rng=seed,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        _show(found, a, b)


def _columns(llr: str | None) -> tuple[str | None, str | None]:
    """The column of LLRs of either file."""
    names = [] if llr is None else names_in(llr)
    if len(names) > 2:
        raise InputError(
            f"--llr must name a column, or one of A and one of B; got {len(names)} names. Give two "
            f"at most."
        )
    return (names[0], names[-1]) if names else (None, None)


def _matched(first: Scored, second: Scored, a: str, b: str) -> Scored:
    """The second system's samples in the order of the first's; the truth must be the same."""
    if first.evidence.classes != second.evidence.classes:
        raise InputError(
            f"{a} and {b} must have the same classes; got "
            f"{', '.join(map(str, first.evidence.classes[:5]))} and "
            f"{', '.join(map(str, second.evidence.classes[:5]))}. Give results on the same samples."
        )
    if first.ids is not None and second.ids is not None:
        rows = _rows_in_order(first.ids, second.ids, a, b)
        second = Scored(second.codes[rows], second.evidence[rows])
    if len(first.codes) != len(second.codes):
        raise InputError(
            f"{a} and {b} must have as many rows; got {len(first.codes):,} and "
            f"{len(second.codes):,}. Name the column that matches them with --id."
        )
    off = first.codes != second.codes
    if off.any():
        row = int(off.argmax())
        remedy = (
            "Name the column that matches them with --id."
            if first.ids is None
            else "Correct the truth of one."
        )
        raise InputError(
            f"{a} and {b} must have the same truth in each row; {int(off.sum()):,} rows differ, "
            f"row {row + 1} the first. {remedy}",
            rows=[row],
        )
    return second


def _rows_in_order(here: Series, there: Series, a: str, b: str) -> np.ndarray:
    """Where each sample of the first table stands in the second."""
    import polars as pl

    frames = []
    for ids, source in ((here, a), (there, b)):
        if ids.null_count() or ids.n_unique() < len(ids):
            wrong = ids.null_count() or len(ids) - ids.n_unique()
            what = "empty" if ids.null_count() else "repeated"
            raise InputError(
                f"--id must name each sample of {source} once; {wrong:,} rows of {ids.name!r} are "
                f"{what}. Name another column, or drop them."
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
    console = Console()
    console.print(f"A: {a}\nB: {b}", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")  # long names of classes fold, numbers do not
    for name in ("A", "B", "A − B"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{100 * found.confidence:g} % interval", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in found.differences:
        values = (in_unit(value, one.unit) for value in (one.a, one.b, one.difference))
        low, high = (in_unit(end, one.unit) for end in (one.low, one.high))
        interval = f"{low} to {high}" if one.low == one.low else ""
        verdict = {"a better": "A better", "b better": "B better", "": "–"}.get(
            one.verdict, one.verdict
        )
        table.add_row(escape(with_unit(one.label, one.unit)), *values, interval, verdict)
    console.print(table)
    for warning in found.warnings:
        console.print(f"Note: {warning}", style="yellow", markup=False)
