"""``deciban calibrate`` and ``deciban fuse``: calibrators from scores whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as opt
from deciban.cli import show
from deciban.cli.commands.evaluate import read_systems
from deciban.cli.options import option
from deciban.cli.words import name_source, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.cli.calibrators import FittedCalibrator
    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.scores import LabelledScores

_MIN_RESAMPLES = 20
_SCALES = ("scalar", "diagonal", "full")


@opt.with_options
def calibrate(
    table: opt.Table,
    output: opt.CalibratorFile,
    columns: opt.ScoreOptions,
    method: Annotated[
        str, option("affine: one factor and an offset (logistic regression for two classes). "
                    "diagonal, full: a factor for each ILR coordinate, or a matrix. gaussian: "
                    "densities with one covariance. monotone: PAV for two classes, a smooth "
                    "monotone map for more. isotonic (PAV), kernel (densities): two classes only.",
                    "METHOD"),
    ] = "affine",
    bounded: Annotated[
        bool, option("Limit LLRs to what the samples support (empirical bounds), with any "
                     "--method.", None, "--bounded"),
    ] = False,
    quality: opt.Quality = None,
    resamples: Annotated[
        int, option("Number of resamples to fit as well, such as 200, so that `deciban apply "
                    "--interval` works with any method. Affine maps need none.", "N"),
    ] = 0,
    group: Annotated[
        str | None, option("Column of the group of each sample, such as its speaker: a group is "
                           "held out and resampled as a whole.", "COLUMN"),
    ] = None,
    workers: opt.Workers = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Fit a calibrator to scores whose truth is known.

    Prints what calibration gains: costs before it, and cross-validated costs after it. Scores are
    read as by `deciban evaluate`; the file remembers their columns, so that `deciban apply` needs
    no options.

    Several Parquet files (a folder, or a quoted pattern such as 'train/*.parquet'), a very large
    one, or any with --workers are read in parts and need not fit into memory. The map is then
    affine, and its costs are cross-validated in two folds instead of five.

    Example: deciban calibrate scores.csv --truth class -o calibrator.deciban --report
    calibration.html
    """
    from deciban._persistence.files import write_atomically
    from deciban._workers import open_workers
    from deciban.cli import calibrators
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.cli.score_parts import is_in_parts, open_score_parts
    from deciban.cli.scores import read_scores

    if resamples and resamples < _MIN_RESAMPLES:
        raise InputError(f"--resamples must be 0, or at least {_MIN_RESAMPLES}; got {resamples}.")
    measures = [] if quality is None else split_names(quality)
    blank = calibrators.make_calibrator(method, bounded, measures)
    inputs = columns.inputs(table)
    require_outputs({"--output": output, "--report": report}, tuple(inputs), force=force)
    hashes, source = hash_inputs(inputs), name_source(table)
    scored: Any
    if is_in_parts(table, columns, asked=workers is not None):
        unused = bounded, measures, resamples, report
        calibrators.require_affine(method, unused, table)
        with open_workers(workers) as crew:
            scored = open_score_parts(table, columns, group, crew, calibrated=False)
            found = calibrators.fit_parts(blank, scored)
    else:
        beside = [("--group", group), *(("--quality", name) for name in measures)]
        scored = read_scores(table, columns, beside, calibrated=False)
        found = calibrators.fit_scores(blank, method, scored, source, measures, group, resamples)
    found.notes.extend([f"Rows of the same {group} were held out together."] if group else [])
    record = describe_run(hashes, [(source, scored)], **found.settings(method))
    page = "" if report is None else _make_page(source, scored, found, method, record)
    extra = scored.columns.to_dict() | {"quality": measures, "provenance": record}
    found.stored.save(output, extra=extra, replace=force)
    if report is not None:
        write_atomically(report, page, replace=force)
    summary = _summarize(found, scored.columns, measures)
    summary |= {"calibrator": str(output), "method": method}
    if as_json:
        show.print_json(summary | {"provenance": record})
    else:
        _print_summary(summary, table, scored.notes, scored.columns)
    show.print_report(report, as_json)


def _make_page(
    source: str, scored: LabelledScores, found: FittedCalibrator, method: str,
    record: dict[str, Any],
) -> str:  # fmt: skip
    from deciban.report import calibration_report

    if found.held_out is None:
        raise InputError(f"There are no costs to report. {found.notes[-1]} Leave out --report.")
    return calibration_report(
        scored.y_true, scored.evidence, found.held_out, title=source, folds=found.folds,
        notes=tuple(found.notes),
        descriptions={
            "before": f"{source} as it is. {' '.join(scored.notes)}",
            "after": f"calibrated ({method}), each sample by a fit to the others",
        },
        provenance=record, groups=found.groups,
    )  # fmt: skip


def _summarize(
    found: FittedCalibrator, columns: ScoreColumns, measures: list[str]
) -> dict[str, Any]:
    from deciban._markup import to_plain
    from deciban.assessment.quantities import cost_keys

    calibrator, before = found.calibrator, found.before
    later = {} if found.after is None else {q.key: q.value for q in found.after.quantities}
    quantities = [
        {"key": q.key, "label": q.label, "unit": q.unit, "before": to_plain(q.value),
         "after": to_plain(later.get(q.key)), "meaning": q.meaning}
        for q in before.quantities
        if q.key in cost_keys(len(before.classes) == 2)
    ]  # fmt: skip
    return {
        "classes": [to_plain(label) for label in before.classes],
        "counts": list(before.counts),
        "quantities": quantities,
        "folds": found.folds,
        "notes": [*before.warnings, *found.notes],
        "formula": _formula(calibrator, columns),
        "bounds": to_plain(getattr(calibrator, "bounds_", None)),
        "factor": calibrator.weights_[0].tolist() if measures else None,
        "quality_weights": {
            name: calibrator.quality_weights_[k, 0].tolist() for k, name in enumerate(measures)
        },
    }


def _formula(calibrator: Any, columns: ScoreColumns) -> str | None:
    """The affine map of an LLR, if it is one."""
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


def _print_summary(
    summary: dict[str, Any], source: str, about: tuple[str, ...], columns: ScoreColumns
) -> None:
    for line in (show.describe_samples(source, summary["classes"], summary["counts"]), *about):
        show.echo(line)
    rows = []
    for q in summary["quantities"]:
        cells = [show.in_unit(q[when], q["unit"]) for when in ("before", "after")]
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
        factor = _round_weights(summary["factor"])
        _print_quality(summary["quality_weights"], f"factor, {factor} at its mean,")
    if summary["bounds"]:
        _print_bounds(summary["bounds"], summary["classes"], columns)
    show.echo(f"Calibrator ({summary['method']}): {summary['calibrator']}")
    show.print_notes(summary["notes"])


def _print_bounds(bounds: list[list[float]], classes: list[Any], columns: ScoreColumns) -> None:
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


def _print_quality(weights: dict[str, Any], what: str) -> None:
    for name, changes in weights.items():
        changed = _round_weights(changes)
        show.echo(f"A standard deviation of {name} changes the {what} by {changed}.")


def _round_weights(weight: Any) -> str:
    if isinstance(weight, list):
        return "[" + ", ".join(map(_round_weights, weight)) + "]"
    return f"{weight:.3f}"


@opt.with_options
def fuse(
    tables: Annotated[list[str], typer.Argument(help="Scores of each system.", metavar="A B …")],
    output: opt.CalibratorFile,
    columns: opt.ScoreOptions,
    id_column: opt.SampleId = None,
    quality: opt.Quality = None,
    scale: Annotated[
        str, option("scalar: one weight for each system. diagonal, full: a weight for each ILR "
                    "coordinate, or a matrix.", "SCALE"),
    ] = "scalar",
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Fuse several systems into one calibrated system.

    Prints what each system costs alone, all systems added up as if they were independent, and the
    fusion; each sample is scored by a fit without it. `deciban apply` takes the files in the same
    order.

    Scores are read as by `deciban evaluate`. If their columns have different names, give --llr the
    name in each file, separated by commas; the systems may also be columns of one table.

    Example: deciban fuse a.csv b.csv --truth class --id sample -o fused.deciban
    """
    from deciban.calibration import FusionCalibrator
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.cli.scores import measure_columns
    from deciban.cli.words import require_choice

    require_choice(scale, "--scale", _SCALES)
    systems = [] if columns.scores is None else split_names(columns.scores)
    if len(tables) == 1 < len(systems):
        tables = tables * len(systems)  # columns of one table
    if len(tables) < 2:
        raise InputError("fuse takes the files of two systems or more, or a table with --llr a,b.")
    each = columns.split_among(len(tables))
    files = [file for table, its in zip(tables, each, strict=True) for file in its.inputs(table)]
    require_outputs({"--output": output}, tuple(files), force=force)
    hashes = hash_inputs(files)
    measures = [] if quality is None else split_names(quality)
    beside = [("--quality", name) for name in measures]
    scored = read_systems(tables, each, id_column, beside, calibrated=False)
    names = systems if len({*tables}) == 1 < len({*systems}) else _name_systems(tables)
    fusion = FusionCalibrator(scale, quality=measures or None)  # type: ignore[arg-type]
    given = dict(zip(names, (one.evidence for one in scored), strict=True))
    measured = measure_columns(scored[0].beside, measures, name_source(tables[0]))
    fusion.fit({**given, **measured}, scored[0].y_true)
    settings = {"systems": names, **fusion.get_params()}
    record = describe_run(hashes, list(zip(tables, scored, strict=True)), **settings)
    others = [one.columns.to_dict() for one in scored[1:]]
    extra = scored[0].columns.to_dict() | {"others": others, "quality": measures}
    fusion.save(output, extra=extra | {"provenance": record}, replace=force)
    summary = _summarize_fusion(fusion, given, measured, scored[0]) | {
        "calibrator": str(output),
        "notes": list(dict.fromkeys(note for one in scored for note in one.notes)),
    }
    if as_json:
        show.print_json(summary | {"provenance": record})
    else:
        _print_fusion(summary, tables)


def _name_systems(tables: list[str]) -> list[str]:
    """Names of the files without folder and extension, numbered where they are the same."""
    stems = [name_source(table) if table == "-" else Path(table).stem for table in tables]
    return [stem if stems.count(stem) == 1 else f"{stem} {k + 1}" for k, stem in enumerate(stems)]


def _summarize_fusion(
    fusion: Any, given: dict[str, Any], measured: dict[str, Any], first: LabelledScores
) -> dict[str, Any]:
    from deciban._markup import to_plain
    from deciban.calibration import AffineCalibrator
    from deciban.cli.calibrators import assess_costs, count_folds, cross_validate, total_cost

    folds = count_folds(first, None)
    arrays = {name: evidence.log_likelihoods for name, evidence in given.items()}

    def cost(evidence: Any) -> Any:
        return to_plain(total_cost(assess_costs(first, evidence)).value)

    def fitted_cost(blank: Any, X: Any) -> Any:
        return None if folds < 2 else cost(cross_validate(blank, X, first, folds))

    total = total_cost(assess_costs(first, first.evidence))
    systems = [
        {"name": name, "given": cost(evidence), "weight": weight.tolist(),
         "calibrated": fitted_cost(AffineCalibrator(), arrays[name])}
        for (name, evidence), weight in zip(given.items(), fusion.weights_, strict=True)
    ]  # fmt: skip
    return {
        "classes": [to_plain(label) for label in first.evidence.classes],
        "counts": first.counts,
        "cost": total.key, "label": total.label, "unit": total.unit, "folds": folds,
        "systems": systems,
        "added_up": cost(sum(list(given.values())[1:], start=first.evidence)),
        "fused": fitted_cost(fusion, {**arrays, **measured}),
        "offset": fusion.offset_.tolist(),
        "quality_weights": dict(zip(measured, fusion.quality_weights_.tolist(), strict=True)),
    }  # fmt: skip


def _print_fusion(summary: dict[str, Any], tables: list[str]) -> None:
    about = show.describe_samples(tables[0], summary["classes"], summary["counts"])
    for line in (about, *summary["notes"]):
        show.echo(line)
    unit = summary["unit"]
    rows = [
        (one["name"], *(show.in_unit(one[when], unit) for when in ("given", "calibrated")),
         _round_weights(one["weight"]))
        for one in summary["systems"]
    ]  # fmt: skip
    rows.append(("added up", show.in_unit(summary["added_up"], unit), "", ""))
    rows.append(("fused", "", show.in_unit(summary["fused"], unit), ""))
    what = show.label_with_unit(summary["label"], unit)
    show.print_table((what, "as given", "calibrated", "weight"), rows, right=(1, 2, 3))
    _print_quality(summary["quality_weights"], "weights")
    show.echo(
        f"Calibrated and fused: cross-validated in {summary['folds']} folds. If calibrated systems "
        f"get weights well below 1, or cost more added up than fused, they share evidence."
    )
    show.echo(f"Calibrator (fusion): {summary['calibrator']}")
