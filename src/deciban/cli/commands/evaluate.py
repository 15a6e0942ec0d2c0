"""``deciban evaluate`` and ``deciban compare``: metrics of scores whose truth is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from deciban.cli import options as opt
from deciban.cli import show
from deciban.cli.options import option
from deciban.cli.words import name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

    import deciban._workers
    from deciban.assessment import Assessment, Comparison, Conditions
    from deciban.cli.score_parts import ScoreParts
    from deciban.cli.scores import LabelledScores
    from deciban.evidence import Evidence

Result = TypeVar("Result", "Assessment", "Comparison")


@opt.with_options
def evaluate(
    table: Annotated[str, typer.Argument(help="Table of scores, or - for standard input.")],
    columns: opt.ScoreOptions,
    options: opt.AssessmentOptions,
    by: Annotated[
        str | None, option("Column of conditions, such as the channel: adds results for each "
                           "condition, and names the worst.", "COLUMN"),
    ] = None,
    require: Annotated[
        list[str] | None,
        option("Acceptance criteria with the keys of --json, separated by commas: 'cllr<0.1' or "
               "'eer<2%' for a value, 'cllr.high<0.1' for the end of its interval. The exit status "
               "is 3 if one fails.", "CRITERIA", "--require"),
    ] = None,
    workers: opt.Workers = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Assess scores whose truth is known.

    Prints every metric with its interval and meaning, and what to do with the evidence.

    Scores are LLRs of two classes (a column llr), log-likelihoods (a column named after each
    class), posteriors, or a trial list with its key. LLRs may be inf or -inf.

    Several Parquet files (a folder, or a quoted pattern such as 'trials/*.parquet'), a very large
    one, or any with --workers are read in parts and need not fit into memory.

    Example: deciban evaluate scores.csv --truth class --report report.html
    """
    from deciban._workers import open_workers
    from deciban.assessment.verdicts import apply_criteria
    from deciban.cli.operating import setting_files
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import UNMET, describe_run, hash_inputs, parse_criteria
    from deciban.cli.score_parts import is_in_parts

    criteria = parse_criteria(require or ())
    inputs = [*columns.inputs(table), *setting_files(options.prior, options.costs)]
    require_outputs({"--report": report}, tuple(inputs), force=force)
    hashes = hash_inputs(inputs)
    if is_in_parts(table, columns, asked=workers is not None):
        with open_workers(workers) as crew:
            judged = _assess_parts(table, columns, options, by, crew)
    else:
        judged = _assess(table, columns, options, by)
    found, scored = judged.assessment, judged.scored
    settings = options.settings | {"by": by}
    record: dict[str, Any] = {
        "provenance": describe_run(hashes, [(name_source(table), scored)], **settings),
        "criteria": [one.judge(found) for one in criteria],
    }
    if report is not None:
        more = {"conditions": judged.conditions, "rows": judged.rows, **record}
        write_report(report, table, judged.y_true, judged.evidence, found, force, **more)
    found = apply_criteria(found, record["criteria"])
    if as_json:
        by_condition = judged.conditions and {"by": judged.conditions.to_dict()}
        show.print_json(found.to_dict() | (by_condition or {}) | record)
    else:
        show.print_assessment(found, table, scored.notes)
        if judged.conditions is not None:
            show.print_conditions(judged.conditions)
        show.print_criteria(record["criteria"])
    show.print_report(report, as_json)
    if not all(one["passed"] for one in record["criteria"]):
        raise typer.Exit(UNMET)


class _Judged(NamedTuple):
    assessment: Assessment
    scored: LabelledScores | ScoreParts
    y_true: np.ndarray
    evidence: Evidence
    conditions: Conditions | None = None
    rows: np.ndarray | None = None  # their numbers, if they are some of many


def _assess(
    source: str, columns: opt.ScoreOptions, options: opt.AssessmentOptions, by: str | None
) -> _Judged:
    from deciban.assessment import assess, assess_by
    from deciban.cli.identifiers import design_columns
    from deciban.cli.scores import read_conditions, read_scores

    scored = read_scores(source, columns, [("--by", by), *design_columns(options)])
    y_true, evidence = scored.y_true, scored.evidence
    settings, conditions = _settings(options, scored), None
    if by is None:
        found = assess(y_true, evidence, **settings)
    else:
        values = read_conditions(scored.beside[by])
        conditions = assess_by(
            y_true, evidence, values, column=by, track=show.track_progress, **settings
        )
        found = conditions.pooled
    return _Judged(_ask_for_design(found, options, scored), scored, y_true, evidence, conditions)


def _assess_parts(
    source: str, columns: opt.ScoreOptions, options: opt.AssessmentOptions, by: str | None,
    crew: deciban._workers.Workers,
) -> _Judged:  # fmt: skip
    from deciban._validation.labels import label_array
    from deciban.assessment.assess import assess_partitions
    from deciban.cli.score_parts import open_score_parts

    for name, given in (("--by", by is not None), ("--items", len(options.shared_columns) == 2)):
        if given:
            raise InputError(f"{name} needs a table read at once; {source} is read in parts.")
    group = next(iter(options.shared_columns), None)
    scored = open_score_parts(source, columns, group, crew)
    settings = _operating_settings(options, scored.classes, scored.counts)
    found, some = assess_partitions(scored.partitions, **settings)
    if options.resamples:
        found = replace(found, warnings=(*found.warnings, *scored.warnings))
    y_true = label_array(scored.classes)[some.data.codes]
    return _Judged(found, scored, y_true, some.data.evidence, rows=some.numbers + 1)


def _settings(options: opt.AssessmentOptions, scored: LabelledScores) -> dict[str, Any]:
    from deciban.cli.identifiers import design_settings

    design = design_settings(options, scored.beside)
    return _operating_settings(options, scored.classes, scored.counts) | design


def _operating_settings(
    options: opt.AssessmentOptions, classes: Sequence[Hashable], counts: Sequence[int]
) -> dict[str, Any]:
    from deciban.cli.operating import parse_costs, parse_points, parse_prior

    return {
        "prior": parse_prior(options.prior, "--prior", classes, counts),
        "costs": parse_costs(options.costs, classes),
        **parse_points(options.dcf or (), len(classes)),
        "n_resamples": options.resamples,
        "rng": 0,
    }


def _ask_for_design(
    found: Result, options: opt.AssessmentOptions, scored: LabelledScores
) -> Result:
    """Add a note to intervals that assume independent samples, which seem to share items."""
    from deciban.cli.identifiers import design_note

    given, items = options.shared_columns, scored.identifiers.columns
    half = len(given) == 1 and len(items) == 2 and given[0] in items
    asks = options.resamples and (half or not given)
    notes: list[str] = design_note(scored.identifiers, given) if asks else []
    return replace(found, warnings=(*found.warnings, *notes))


def write_report(
    path: Path, source: str, y_true: np.ndarray, evidence: Evidence, assessment: Assessment,
    force: bool, **more: Any,
) -> None:  # fmt: skip
    """Write the page on a table, and on the model that was assessed with it."""
    from deciban._persistence.files import write_atomically
    from deciban.report import report

    title = "Standard input" if source == "-" else Path(source).name
    if "*" in title:  # the pattern alone does not tell the folder
        title = "/".join(Path(source).parts[-2:])
    text = report(y_true, evidence, title=title, assessment=assessment, **more)
    write_atomically(path, text, replace=force)


@opt.with_options
def compare(
    tables: Annotated[
        list[str], typer.Argument(help="Scores of each system, two or more.", metavar="A B …")
    ],
    columns: opt.ScoreOptions,
    options: opt.AssessmentOptions,
    id_column: opt.SampleId = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:
    """Compare systems on the same samples.

    Prints the difference in every metric, with its interval and a verdict. Systems are named A, B,
    C and so on, and A is compared with each of the others. All systems are resampled together,
    which finds differences that separate intervals would hide.

    Scores are read as by `deciban evaluate`. If their columns have different names, give --llr the
    name in each file, separated by commas.

    Example: deciban compare a.csv b.csv --truth class --id sample --report compared.html
    """
    from deciban import assessment
    from deciban.cli.identifiers import design_columns
    from deciban.cli.operating import setting_files
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs

    if len(tables) < 2:
        raise InputError(f"compare takes two systems or more; got {tables[0]} alone.")
    each = columns.split_among(len(tables))
    inputs = [file for table, its in zip(tables, each, strict=True) for file in its.inputs(table)]
    inputs += setting_files(options.prior, options.costs)
    require_outputs({"--report": report}, tuple(inputs), force=force)
    hashes, sources = hash_inputs(inputs), [name_source(table) for table in tables]
    scored = read_systems(tables, each, id_column, design_columns(options))
    first = scored[0]
    letters = [*ascii_uppercase, *map("".join, product(ascii_uppercase, repeat=2))]
    names = letters[: len(scored)]
    systems = {name: one.evidence for name, one in zip(names, scored, strict=True)}
    settings = _settings(options, first)
    found = assessment.compare(first.y_true, systems, **settings)
    found = _ask_for_design(found, options, first)
    record = describe_run(hashes, list(zip(sources, scored, strict=True)), **options.settings)
    about = {
        name: (source, *one.notes) for name, source, one in zip(names, sources, scored, strict=True)
    }
    if report is not None:
        _write_comparison(report, tables, first.y_true, systems, found, settings, about, record,
                          force)  # fmt: skip
    if as_json:
        show.print_json(found.to_dict() | {"provenance": record})
    else:
        _print_comparison(found, about)
    show.print_report(report, as_json)


def read_systems(
    tables: Sequence[str], each: Sequence[opt.ScoreOptions], id_column: str | None,
    beside: Sequence[tuple[str, str | None]], *, calibrated: bool = True,
) -> list[LabelledScores]:  # fmt: skip
    """Matched samples, in the order of the first system, which has more columns beside."""
    from deciban.cli.identifiers import match_all, require_same_order
    from deciban.cli.scores import read_scores

    own = [("--id", id_column)]
    scored = [
        read_scores(table, its, own if k else [*own, *beside], calibrated=calibrated)
        for k, (table, its) in enumerate(zip(tables, each, strict=True))
    ]
    scored = match_all(scored, [name_source(table) for table in tables], id_column)
    if not scored[0].ids.width and each[0].key is None:
        require_same_order(tables, [one.columns for one in scored])
    return scored


def _write_comparison(
    path: Path, tables: Sequence[str], y_true: np.ndarray, systems: dict[str, Evidence],
    found: Comparison, settings: dict[str, Any], about: Mapping[str, Sequence[str]],
    record: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    from deciban._persistence.files import write_atomically
    from deciban.report import comparison_report

    files = ["standard input" if table == "-" else Path(table).name for table in tables]
    title = " and ".join(dict.fromkeys(files)) if len(files) < 4 else f"{len(files)} systems"
    page = comparison_report(
        y_true, systems, title=title, comparison=found, settings=settings,
        descriptions={name: " ".join(words) for name, words in about.items()}, provenance=record,
    )  # fmt: skip
    write_atomically(path, page, replace=force)


def _print_comparison(found: Comparison, about: Mapping[str, Sequence[str]]) -> None:
    for name, (source, *notes) in about.items():
        show.echo("\n   ".join([f"{name}: {source}", *notes]))
    first, *others = found.systems
    for name in others:
        rows = []
        for one in found.differences:
            if one.systems[1] == name:
                cells = [show.in_unit(value, one.unit) for value in (one.a, one.b, one.difference)]
                interval = show.interval(one.low, one.high, one.unit)
                label = show.label_with_unit(one.label, one.unit)
                rows.append((label, *cells, interval, one.verdict or "–"))
        interval = f"{100 * found.confidence:g} % interval"
        header = ("", first, name, f"{first} − {name}", interval, "verdict")
        show.print_table(header, rows, right=(1, 2, 3))
    if found.design:
        show.echo(f"Intervals: {found.design}.")
    show.print_notes(found.warnings)
