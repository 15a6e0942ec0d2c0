"""``deciban calibrate``: a calibrator from scores whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli import show
from deciban.cli.options import (
    CalibratorFile,
    Cluster,
    Force,
    Json,
    LocalWorkers,
    Quality,
    Report,
    ScoreOptions,
    Scratch,
    Table,
    option,
    with_options,
)
from deciban.cli.words import name_source, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

    from deciban.assessment import Assessment
    from deciban.cli.calibrators import FittedCalibrator
    from deciban.cli.columns import LabelledScores
    from deciban.cli.score_columns import ScoreColumns
    from deciban.evidence import Evidence

EXAMPLE = (
    "Example: deciban calibrate scores.csv --truth class -o calibrator.deciban "
    "--report calibration.html"
)
_FEWEST_RESAMPLES = 20


@with_options
def calibrate(
    table: Table,
    output: CalibratorFile,
    columns: ScoreOptions,
    method: Annotated[
        str, option("affine: one factor and an offset (for two classes logistic regression). "
                    "diagonal, full: a factor for each ILR coordinate, a whole matrix. gaussian: "
                    "densities with one covariance. monotone: PAV for two classes, "
                    "a smooth map for more and many samples. bounded: affine with --bounded. "
                    "Two classes only: isotonic (PAV), kernel (densities).",
                    "METHOD"),
    ] = "affine",
    bounded: Annotated[
        bool, option("Limit the LLRs of any method to what the samples support, such as "
                     "'--method kernel --bounded' (empirical bounds).", None, "--bounded"),
    ] = False,
    ridge: Annotated[
        float | None, option("Penalty that holds an affine map near the identity, such as 0.01, in "
                             "place of the default, which vanishes with samples; 0 for none.",
                             "NUMBER"),
    ] = None,
    quality: Quality = None,
    resamples: Annotated[
        int, option("Number of resamples to fit, too, so that `apply --interval` works with any "
                    "method: 200, say. Affine maps need none.", "N"),
    ] = 0,
    group: Annotated[
        str | None, option("Column of what samples share, such as the speaker: held out together, "
                           "and drawn together by --resamples and the intervals of --report.",
                           "COLUMN"),
    ] = None,
    report: Report = None,
    as_json: Json = False,
    force: Force = False,
    workers: LocalWorkers = None,
    cluster: Cluster = None,
    scratch: Scratch = None,
) -> None:  # fmt: skip
    """Learn how to calibrate scores from scores whose truth is known.

    The scores are those that evaluate takes. The file stores the names of their columns, so that
    `deciban apply` needs no options. The table, and a page with --report, show what calibration
    gains; each sample is scored by a calibrator that was fitted without it.

    Several Parquet files ('train/*.parquet'), a very large one, or any with --workers or --cluster
    are read in parts and need not fit into memory; the map is then affine, and the same. Costs
    after it are cross-validated in two folds, not five.
    """
    from deciban._persistence.files import write_atomically
    from deciban._workers import open_workers
    from deciban.cli import calibrators
    from deciban.cli.columns import measure_columns, read_scores
    from deciban.cli.files import find_files
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.cli.score_parts import is_in_parts, open_score_parts

    if resamples and resamples < _FEWEST_RESAMPLES:
        raise InputError(
            f"--resamples must be 0, or {_FEWEST_RESAMPLES} or more; got {resamples}. Give 200."
        )
    measures = [] if quality is None else split_names(quality)
    blank = calibrators.make_calibrator(method, bounded, ridge, measures)
    local = [one for one in columns.inputs(table) if "://" not in one]
    inputs = [file for one in local for file in find_files(one)]
    require_outputs({"--output": output, "--report": report}, tuple(inputs), force=force)
    in_parts = is_in_parts(table, columns, asked=workers is not None or cluster is not None)
    hashes, source = hash_inputs(inputs), name_source(table)
    groups, page, scored = None, None, None
    if in_parts:
        unused = {"--bounded": bounded, "--quality": measures, "--resamples": resamples,
                  "--report": report}  # fmt: skip
        calibrators.require_affine(method, unused, table)
        with open_workers(cluster, workers) as crew:
            read: Any = open_score_parts(
                table, columns, group, crew, calibrated=False, scratch=scratch
            )
            found = calibrators.fit_parts(blank, read)
    else:
        beside = [("--group", group), *(("--quality", name) for name in measures)]
        read = scored = read_scores(table, columns, beside, calibrated=False)
        measured = measure_columns(scored.beside, measures, source)
        groups = None if group is None else scored.beside[group].cast(str).to_numpy()
        found = calibrators.fit_scores(blank, method, scored, measured, groups, source)
        if report is not None and found.after is None:
            raise InputError(f"--report must have costs to show. {found.notes[-1]} Leave it out.")
    if group is not None:
        found.notes.append(f"Rows of the same {group} were held out together.")
    stored = calibrator = found.calibrator
    settings = {"method": method, "folds": found.folds, "estimator": type(calibrator).__name__}
    parameters = calibrator.get_params()
    parameters |= {"map": parameters.pop("method")} if "method" in parameters else {}
    record = describe_run(hashes, [(source, read)], **settings, **parameters)
    if scored is not None:
        if resamples:
            stored = calibrators.fit_resamples(blank, resamples, scored, measured, groups)
        if report is not None and found.held_out is not None:
            page = _write_page(source, scored, found, found.held_out, method, record, groups)
    extra = read.columns.to_dict() | {"quality": measures, "provenance": record}
    stored.save(output, extra=extra, replace=force)
    if report is not None and page is not None:
        write_atomically(report, page, replace=force)
    summary = _summarize(found.before, found.after)
    summary |= {
        "calibrator": str(output), "method": method, "folds": found.folds,
        "notes": [*found.before.warnings, *found.notes],
        **_describe_map(calibrator, read.columns, measures),
    }  # fmt: skip
    if as_json:
        show.print_json(summary | {"provenance": record})
    else:
        _show(summary, table, read.notes, read.columns)
    if report is not None:
        show.echo(f"Report: {report}", err=as_json)


def _describe_map(calibrator: Any, columns: ScoreColumns, measures: list[str]) -> dict[str, Any]:
    from deciban._markup import to_plain

    return {
        "formula": _formula(calibrator, columns),
        "bounds": to_plain(getattr(calibrator, "bounds_", None)),
        "factor": calibrator.weights_[0].tolist() if measures else None,
        "quality_weights": {
            name: calibrator.quality_weights_[k, 0].tolist() for k, name in enumerate(measures)
        },
    }


def _write_page(
    source: str, scored: LabelledScores, found: FittedCalibrator, held_out: Evidence, method: str,
    record: dict[str, Any], groups: np.ndarray | None,
) -> str:  # fmt: skip
    """The page on scores before and after calibration."""
    from deciban.report import calibration_report

    return calibration_report(
        scored.y_true, scored.evidence, held_out, title=source, folds=found.folds,
        notes=tuple(found.notes),
        descriptions={
            "before": f"{source} as it is. {' '.join(scored.notes)}",
            "after": f"calibrated ({method}), each sample by a fit to the others",
        },
        provenance=record, groups=groups,
    )  # fmt: skip


def _formula(calibrator: Any, columns: ScoreColumns) -> str | None:
    """What is done to an LLR, where it is an affine map."""
    from deciban.calibration import AffineCalibrator
    from deciban.evidence import Evidence

    if not columns.is_llr or not isinstance(calibrator, AffineCalibrator):
        return None
    pair = columns.favored_first(calibrator.classes_.tolist())
    two = Evidence.from_llr([0.0, columns.nats], *pair)
    offset, at_one = columns.calibrate(calibrator, two)[:, 0]
    sign = "+" if offset >= 0 else "-"
    name = columns.columns[0]
    return f"calibrated_{name} = {at_one - offset:.4g} × {name} {sign} {abs(offset):.4g}"


def show_quality(weights: dict[str, Any], what: str) -> None:
    """Print by how much each quality measure changes the weights of a calibrator."""
    for name, changes in weights.items():
        show.echo(f"A standard deviation of {name} changes the {what} by {round_weights(changes)}.")


def round_weights(weight: Any) -> str:
    """A weight, or lists of weights, with three decimals."""
    if isinstance(weight, list):
        return "[" + ", ".join(map(round_weights, weight)) + "]"
    return f"{weight:.3f}"


def _show_bounds(bounds: list[list[float]], classes: list[Any], columns: ScoreColumns) -> None:
    if columns.is_llr:
        k, name = columns.positive, columns.columns[0]
        low, high = -bounds[1 - k][k] / columns.nats, bounds[k][1 - k] / columns.nats
        show.echo(f"Bounds: calibrated_{name} stays between {low:.4g} and {high:.4g}.")
    elif len(classes) > 10:
        show.echo("Bounds: see --json for all pairs of classes.")
    else:
        rows = [
            (str(label), *(f"{bound:.3f}" if bound else "" for bound in row))
            for label, row in zip(classes, bounds, strict=True)
        ]
        show.echo("Bounds: largest LLR of each class (row) over each other one, in nats")
        show.print_table(("", *map(str, classes)), rows, right=range(1, len(classes) + 1))


def _summarize(before: Assessment, after: Assessment | None) -> dict[str, Any]:
    from deciban._markup import to_plain
    from deciban.cli.calibrators import costs_to_show

    later = {} if after is None else {q.key: q.value for q in after.quantities}
    quantities = [
        {"key": q.key, "label": q.label, "unit": q.unit, "before": to_plain(q.value),
         "after": to_plain(later.get(q.key)), "meaning": q.meaning}
        for q in before.quantities
        if q.key in costs_to_show(before)
    ]  # fmt: skip
    return {
        "classes": [to_plain(label) for label in before.classes],
        "counts": list(before.counts),
        "quantities": quantities,
    }


def _show(
    summary: dict[str, Any], source: str, about: tuple[str, ...], columns: ScoreColumns
) -> None:
    for line in (show.describe_samples(source, summary["classes"], summary["counts"]), *about):
        show.echo(line)
    rows = []
    for q in summary["quantities"]:
        values = (float("nan" if q[when] is None else q[when]) for when in ("before", "after"))
        cells = (show.in_unit(value, q["unit"]) for value in values)
        rows.append((show.label_with_unit(q["label"], q["unit"]), *cells, q["meaning"]))
    show.print_table(("", "before", "after", "what it means"), rows, right=(1, 2), explanation=True)
    if summary["folds"]:
        show.echo(
            f"After: cross-validated in {summary['folds']} folds; each sample is calibrated by a "
            f"fit without it. The calibrator in the file is fitted to all samples."
        )
    if summary["formula"]:
        show.echo(summary["formula"])
    if summary["quality_weights"]:
        factor = round_weights(summary["factor"])
        show_quality(summary["quality_weights"], f"factor, {factor} at its mean,")
    if summary["bounds"]:
        _show_bounds(summary["bounds"], summary["classes"], columns)
    show.echo(f"Calibrator ({summary['method']}): {summary['calibrator']}")
    show.print_notes(summary["notes"])
