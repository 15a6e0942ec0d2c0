"""``deciban fuse``: one calibrated system from several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import show
from deciban.cli.commands.calibrate import round_weights, show_quality
from deciban.cli.options import (
    CalibratorFile,
    Force,
    Json,
    Quality,
    SampleId,
    ScoreOptions,
    option,
    with_options,
)
from deciban.cli.words import name_source, split_names
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.cli.columns import LabelledScores

EXAMPLE = "Example: deciban fuse a.csv b.csv --truth class --id sample -o fused.deciban"

_SCALES = ("scalar", "diagonal", "full")


@with_options
def fuse(
    tables: Annotated[list[str], typer.Argument(help="Scores of each system.", metavar="A B …")],
    output: CalibratorFile,
    columns: ScoreOptions,
    id_column: SampleId = None,
    quality: Quality = None,
    scale: Annotated[
        str, option("scalar: one weight for each system. diagonal, full: a weight for each ILR "
                    "coordinate, a whole matrix.", "SCALE"),
    ] = "scalar",
    ridge: Annotated[
        float, option("Penalty of large weights for few samples, such as 0.05; 0 for none.",
                      "NUMBER"),
    ] = 0.01,
    as_json: Json = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Learn how to fuse the scores of several systems from samples whose truth is known.

    Each file has the columns that evaluate takes. Where the LLRs have other names in each, --llr
    takes all of them, separated by commas; they may be columns of one table. `deciban apply` takes
    the files of all systems in the same order, or that table. The output shows the cost of each
    system, of all of them added up as if they were independent, and of the fusion; each sample is
    scored by a fit without it.
    """
    from deciban.calibration import FusionCalibrator
    from deciban.cli.columns import measure_columns, read_scores
    from deciban.cli.identifiers import match_all, require_same_order
    from deciban.cli.outputs import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.cli.words import require_choice

    require_choice(scale, "--scale", _SCALES)
    systems = [] if columns.llr is None else split_names(columns.llr)
    if len(tables) == 1 < len(systems):
        tables = tables * len(systems)  # columns of one table
    if len(tables) < 2:
        raise InputError(
            "fuse must have the files of two systems or more, or one table with --llr a,b; got "
            "one system. For one use deciban calibrate."
        )
    each = columns.split_among(len(tables))
    files = [file for table, its in zip(tables, each, strict=True) for file in its.inputs(table)]
    require_outputs({"--output": output}, tuple(files), force=force)
    hashes = hash_inputs(files)
    measures = [] if quality is None else split_names(quality)
    beside = [[("--id", id_column)] for _ in tables]
    beside[0] += [("--quality", name) for name in measures]
    scored = [
        read_scores(table, its, more, calibrated=False)
        for table, its, more in zip(tables, each, beside, strict=True)
    ]
    names = systems if len({*tables}) == 1 < len({*systems}) else _name_systems(tables)
    scored = match_all(scored, [name_source(table) for table in tables], id_column, columns.subset)
    if not scored[0].ids.width and columns.key is None:
        require_same_order(tables, [one.columns for one in scored], columns.table_format)
    fusion = FusionCalibrator(scale, quality=measures or None, ridge=ridge)  # type: ignore[arg-type]
    given = dict(zip(names, (one.evidence for one in scored), strict=True))
    measured = measure_columns(scored[0].beside, measures, name_source(tables[0]))
    fusion.fit({**given, **measured}, scored[0].y_true)
    summary = _summarize(fusion, given, measured, scored[0])
    settings = {"systems": names, **fusion.get_params()}
    record = describe_run(hashes, list(zip(tables, scored, strict=True)), **settings)
    others = [one.columns.to_dict() for one in scored[1:]]
    extra = scored[0].columns.to_dict() | {"others": others, "quality": measures}
    fusion.save(output, extra=extra | {"provenance": record}, replace=force)
    summary |= {
        "calibrator": str(output),
        "notes": list(dict.fromkeys(note for one in scored for note in one.notes)),
    }
    if as_json:
        show.print_json(summary | {"provenance": record})
    else:
        _show(summary, tables)


def _name_systems(tables: list[str]) -> list[str]:
    """Names of the files without their folders and endings, numbered where they are the same."""
    stems = [name_source(table) if table == "-" else Path(table).stem for table in tables]
    return [stem if stems.count(stem) == 1 else f"{stem} {k + 1}" for k, stem in enumerate(stems)]


def _summarize(
    fusion: Any, given: dict[str, Any], measured: dict[str, Any], first: LabelledScores
) -> dict[str, Any]:
    from deciban._markup import to_plain
    from deciban.calibration import AffineCalibrator
    from deciban.cli.calibrators import FOLDS, assess_costs, cross_validate, total_cost

    folds = min(FOLDS, *first.counts)
    arrays = {name: evidence.log_likelihoods for name, evidence in given.items()}

    def cost(evidence: Any) -> float:
        return total_cost(assess_costs(first, evidence)).value

    def fitted_cost(blank: Any, X: Any) -> float:
        return float("nan") if folds < 2 else cost(cross_validate(blank, X, first, folds))

    total = total_cost(assess_costs(first, first.evidence))
    systems = [
        {"name": name, "given": to_plain(cost(evidence)), "weight": weight.tolist(),
         "calibrated": to_plain(fitted_cost(AffineCalibrator(), arrays[name]))}
        for (name, evidence), weight in zip(given.items(), fusion.weights_, strict=True)
    ]  # fmt: skip
    added = sum(list(given.values())[1:], start=first.evidence)
    return {
        "classes": [to_plain(label) for label in first.evidence.classes],
        "counts": first.counts,
        "cost": total.key, "label": total.label, "unit": total.unit, "folds": folds,
        "systems": systems, "added_up": to_plain(cost(added)),
        "fused": to_plain(fitted_cost(fusion, {**arrays, **measured})),
        "offset": fusion.offset_.tolist(),
        "quality_weights": dict(
            zip(measured, fusion.quality_weights_.tolist(), strict=True)
        ),
    }  # fmt: skip


def _show(summary: dict[str, Any], tables: list[str]) -> None:
    about = show.describe_samples(tables[0], summary["classes"], summary["counts"])
    for line in (about, *summary["notes"]):
        show.echo(line)

    def cell(value: float | None) -> str:
        return show.in_unit(float("nan") if value is None else value, summary["unit"])

    rows = [
        (one["name"], cell(one["given"]), cell(one["calibrated"]), round_weights(one["weight"]))
        for one in summary["systems"]
    ]
    rows.append(("added up", cell(summary["added_up"]), "", ""))
    rows.append(("fused", "", cell(summary["fused"]), ""))
    what = show.label_with_unit(summary["label"], summary["unit"])
    show.print_table((what, "as given", "calibrated", "weight"), rows, right=(1, 2, 3))
    show_quality(summary["quality_weights"], "weights")
    show.echo(
        f"Calibrated and fused: cross-validated in {summary['folds']} folds. Where calibrated "
        f"systems get weights well below 1, or cost more added up than fused, they share evidence."
    )
    show.echo(f"Calibrator (fusion): {summary['calibrator']}")
