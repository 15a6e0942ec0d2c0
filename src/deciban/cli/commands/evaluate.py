"""``deciban evaluate``: every metric of a table of scores, with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.options import (
    AssessmentOptions,
    Force,
    Json,
    Report,
    ScoreOptions,
    option,
    with_options,
)
from deciban.cli.show import echo, print_assessment, print_json
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.cli.columns import LabelledScores

EXAMPLE = "Example: deciban evaluate scores.csv --truth class --report report.html"


@with_options
def evaluate(
    columns: ScoreOptions,
    options: AssessmentOptions,
    table: Annotated[
        str | None, typer.Argument(help="Table of scores, or - for standard input.")
    ] = None,
    scores: Annotated[
        str | None, option("File of model, segment and score, with --key; same as TABLE.", "FILE")
    ] = None,
    as_json: Json = False,
    report: Report = None,
    force: Force = False,
) -> None:
    """Assess scores whose truth is known: every metric, with its interval and what it means.

    Scores are LLRs of two classes (a column llr), log-likelihoods (a column named after each
    class), posteriors with the prior that they contain, or a score file with its key. LLRs may
    be inf or -inf. Rows are counted from 1, after the header.
    """
    from deciban.assessment.assess import assess_encoded
    from deciban.cli.columns import read_scores
    from deciban.cli.io.writing import require_outputs

    source = _require_one(table, scores, columns.key)
    inputs = (source, columns.key, options.at_prior, options.costs)
    require_outputs({"--report": report}, inputs, force=force)
    scored = read_scores(source, columns)
    found = assess_encoded(scored.codes, scored.evidence, **assessment_settings(options, scored))
    if report is not None:
        from deciban._persistence import write_atomically
        from deciban.report import page

        title = "Standard input" if source == "-" else Path(source).name
        text = page.report(scored.y_true, scored.evidence, title=title, assessment=found)
        write_atomically(report, text, replace=force)
    if as_json:
        print_json(found.to_dict())
    else:
        print_assessment(found, source)
    if report is not None:
        echo(f"Report: {report}", err=as_json)


def _require_one(table: str | None, scores: str | None, key: str | None) -> str:
    if (table is None) == (scores is None):
        got = "neither" if table is None else "both"
        raise InputError(f"TABLE or --scores must be given; got {got}. Name one file of scores.")
    if scores is not None and key is None:
        raise InputError("--scores must come with --key, the labels of its trials; got none.")
    return str(table if scores is None else scores)


def assessment_settings(options: AssessmentOptions, scored: LabelledScores) -> dict[str, Any]:
    """What the options ask of an assessment of these scores."""
    from deciban.cli.operating import parse_costs, parse_prior

    classes = scored.evidence.classes
    return {
        "prior": parse_prior(options.at_prior, "--at-prior", classes, scored.counts),
        "costs": parse_costs(options.costs, "--costs", classes),
        "confidence": options.confidence, "n_resamples": options.resamples, "rng": options.seed,
    }  # fmt: skip
