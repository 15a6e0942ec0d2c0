"""``deciban evaluate``: every metric of a table of scores, with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from deciban.cli.options import (
    TREE_FILE,
    AssessmentOptions,
    Cluster,
    Force,
    Json,
    LocalWorkers,
    Report,
    ScoreOptions,
    Scratch,
    option,
    with_options,
)
from deciban.cli.show import (
    echo,
    print_assessment,
    print_conditions,
    print_criteria,
    print_json,
    track_progress,
)
from deciban.cli.words import name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

    from deciban._workers import Workers
    from deciban.assessment import Assessment, Comparison, Conditions
    from deciban.cli.columns import LabelledScores
    from deciban.cli.score_parts import ScoreParts
    from deciban.evidence import Evidence
    from deciban.hierarchy import Hierarchy

    _Shown = tuple[np.ndarray, Evidence, np.ndarray | None]  # truth, evidence and row numbers

Result = TypeVar("Result", "Assessment", "Comparison")

EXAMPLE = "Example: deciban evaluate scores.csv --truth class --report report.html"


@with_options
def evaluate(
    columns: ScoreOptions,
    options: AssessmentOptions,
    table: Annotated[
        str | None, typer.Argument(help="Table of scores, or - for standard input.")
    ] = None,
    scores: Annotated[
        str | None, option("File of scores, with --key or --nontarget-scores; same as TABLE.",
                           "FILE", "--scores", "--target-scores"),
    ] = None,
    by: Annotated[
        str | None, option("Column of conditions, such as the channel: results for each, the worst "
                           "one named.", "COLUMN"),
    ] = None,
    hierarchy: Annotated[
        str | None, option(f"{TREE_FILE} Prints what each of its nodes costs (not on the page of "
                           "--report).", "FILE"),
    ] = None,
    as_json: Json = False,
    report: Report = None,
    force: Force = False,
    require: Annotated[
        list[str] | None,
        option("Criteria to meet, by the keys of --json: 'cllr<0.1' 'eer<2%' for values, "
               "'cllr.high<0.1' for the end of an interval. Exit status 3 where one fails.",
               "CRITERIA", "--require"),
    ] = None,
    workers: LocalWorkers = None,
    cluster: Cluster = None,
    scratch: Scratch = None,
) -> None:  # fmt: skip
    """Assess scores whose truth is known: every metric, with its interval and what it means.

    Scores are LLRs of two classes (a column llr), log-likelihoods (a column named after each
    class), posteriors with the prior that they contain, a trial list with its key or with labels of
    its own, or a file of target scores and one of non-target scores. LLRs may be inf or -inf. Rows
    are counted from 1, after the header. With --hierarchy also a table of what is lost at each
    node of a tree of the classes, which adds up to the cross-entropy; --json has it, too.

    Several Parquet files ('trials/*.parquet', or a folder), a very large one, or any with --workers
    or --cluster are read in parts and need not fit into memory. Numbers are the same; intervals are
    of bags of samples.
    """
    from deciban._workers import open_workers
    from deciban.assessment.verdicts import apply_criteria
    from deciban.cli.hierarchy import describe_nodes, print_nodes
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import UNMET, describe_run, hash_inputs, parse_criteria

    criteria = parse_criteria(require or ())
    source = _require_one(table, scores)
    inputs = [*input_files(source, columns, options), *([hierarchy] if hierarchy else [])]
    require_outputs({"--report": report}, tuple(inputs), force=force)
    hashes = hash_inputs(inputs)
    in_parts = _in_parts(source, columns, asked=workers is not None or cluster is not None)
    with open_workers(cluster, workers) as crew:
        read = partial(_assess_parts, crew, scratch) if in_parts else _assess
        found, scored, shown, conditions, tree = read(source, columns, options, by, hierarchy)
    record: dict[str, Any] = {
        "provenance": describe_run(
            hashes, [(name_source(source), scored)], **asdict(options), by=by
        ),
        "criteria": [one.judge(found) for one in criteria],
    }
    y_true, evidence, rows = shown
    nodes = None
    if tree is not None:
        from deciban.hierarchy import hierarchical_cross_entropy

        nodes = hierarchical_cross_entropy(y_true, evidence, tree, prior=found.prior)
    if report is not None:
        more = {"conditions": conditions, "rows": rows, **record}
        write_report(report, source, y_true, evidence, found, force, **more)
    found = apply_criteria(found, record["criteria"])
    if as_json:
        by_condition = {} if conditions is None else {"by": conditions.to_dict()}
        by_node = {} if nodes is None else {"hierarchy": describe_nodes(nodes)}
        print_json(found.to_dict() | by_condition | by_node | record)
    else:
        print_assessment(found, source, scored.notes)
        if conditions is not None:
            print_conditions(conditions)
        if nodes is not None:
            print_nodes(nodes)
        print_criteria(record["criteria"])
    if report is not None:
        echo(f"Report: {report}", err=as_json)
    if not all(one["passed"] for one in record["criteria"]):
        raise typer.Exit(UNMET)


def _in_parts(source: str, columns: ScoreOptions, *, asked: bool) -> bool:
    from deciban.cli.score_parts import is_in_parts

    return is_in_parts(source, columns, asked=asked)


def _assess(
    source: str,
    columns: ScoreOptions,
    options: AssessmentOptions,
    by: str | None,
    hierarchy: str | None,
) -> tuple[Assessment, LabelledScores, _Shown, Conditions | None, Hierarchy | None]:
    """The assessment of scores in memory, what was read, what to show, conditions and a tree."""
    from deciban.assessment import assess, assess_by
    from deciban.cli.columns import read_conditions, read_scores
    from deciban.cli.hierarchy import read_hierarchy
    from deciban.cli.identifiers import design_columns

    scored = read_scores(source, columns, [("--by", by), *design_columns(options)])
    tree = None if hierarchy is None else read_hierarchy(hierarchy, scored.classes)
    y_true, settings, conditions = scored.y_true, assessment_settings(options, scored), None
    if by is None:
        found = assess(y_true, scored.evidence, **settings)
    else:
        values = read_conditions(scored.beside[by])
        conditions = assess_by(
            y_true, scored.evidence, values, column=by, track=track_progress, **settings
        )
        found = conditions.pooled
    shown = (y_true, scored.evidence, None)
    return ask_for_design(found, options, scored), scored, shown, conditions, tree


def _assess_parts(
    workers: Workers, scratch: str | None,
    source: str, columns: ScoreOptions, options: AssessmentOptions, by: str | None,
    hierarchy: str | None,
) -> tuple[Assessment, ScoreParts, _Shown, None, None]:  # fmt: skip
    """The assessment of scores in parts, what was read, and some samples to show."""
    from deciban._validation.labels import label_array
    from deciban.assessment.assess import assess_partitions
    from deciban.cli.score_parts import open_score_parts

    for name, value in (("--by", by), ("--items", options.items), ("--hierarchy", hierarchy)):
        if value is not None:
            raise _must_fit_into_memory(name, source)
    scored = open_score_parts(source, columns, options.group, workers, scratch=scratch)
    settings = operating_settings(options, scored.classes, scored.counts)
    found, some = assess_partitions(scored.partitions, **settings)
    if options.resamples:
        found = replace(found, warnings=(*found.warnings, *scored.warnings))
    y_true = label_array(scored.classes)[some.data.codes]
    return found, scored, (y_true, some.data.evidence, some.numbers + 1), None, None


def _must_fit_into_memory(option: str, source: str) -> InputError:
    return InputError(
        f"{option} must come with one table that fits into memory; got {source}, which is read in "
        f"parts. Leave it out, or give a smaller table."
    )


def input_files(source: str, columns: ScoreOptions, options: AssessmentOptions) -> list[str]:
    """The files that are read: scores, labels, and those that hold the prior and the costs."""
    from deciban.cli.files import find_files
    from deciban.cli.operating import is_file

    settings = (one for one in (options.prior, options.costs) if one and is_file(one))
    local = (one for one in columns.inputs(source) if "://" not in one)
    return [*(file for one in local for file in find_files(one)), *settings]


def _require_one(table: str | None, scores: str | None) -> str:
    source = scores if table is None else table
    if source is None or None not in (table, scores):
        got = "neither" if source is None else "both"
        raise InputError(f"TABLE or --scores must be given; got {got}. Name one file of scores.")
    return source


def assessment_settings(options: AssessmentOptions, scored: LabelledScores) -> dict[str, Any]:
    """What the options ask of an assessment of these scores."""
    from deciban.cli.identifiers import design_settings

    design = design_settings(options, scored.beside)
    return operating_settings(options, scored.classes, scored.counts) | design


def operating_settings(
    options: AssessmentOptions, classes: Sequence[Hashable], counts: Sequence[int]
) -> dict[str, Any]:
    """Priors, costs and resamples that the options ask for; ``counts`` are those of the classes."""
    from deciban.cli.operating import detection_settings, parse_costs, parse_prior

    return {
        "prior": parse_prior(options.prior, "--at-prior", classes, counts),
        "costs": parse_costs(options.costs, "--costs", classes),
        **detection_settings(options, classes),
        "confidence": options.confidence,
        "n_resamples": options.resamples,
        "rng": options.seed,
    }


def ask_for_design(found: Result, options: AssessmentOptions, scored: LabelledScores) -> Result:
    """Add a note to results that take samples to be independent where they seem to share items."""
    from deciban.cli.identifiers import design_note

    if options.group or options.items or options.resamples == 0:
        return found
    return replace(found, warnings=(*found.warnings, *design_note(scored.identifiers)))


def write_report(
    path: Path, source: str, y_true: np.ndarray, evidence: Evidence, assessment: Assessment,
    force: bool, **more: Any,
) -> None:  # fmt: skip
    """Write the page on a table, and on the model that assessed it."""
    from deciban._persistence.files import write_atomically
    from deciban.report import page

    title = "Standard input" if source == "-" else Path(source).name
    if "*" in title:  # which folder they are of
        title = "/".join(Path(source).parts[-2:])
    text = page.report(y_true, evidence, title=title, assessment=assessment, **more)
    write_atomically(path, text, replace=force)
