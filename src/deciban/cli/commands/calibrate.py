"""``deciban calibrate``: a calibrator from scores whose truth is known."""

from __future__ import annotations

import warnings
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
from deciban.cli.words import name_source, require_choice, split_names
from deciban.exceptions import DecibanError, InputError

if TYPE_CHECKING:
    import numpy as np

    from deciban.assessment import Assessment, Quantity
    from deciban.calibration import BootstrapCalibrator
    from deciban.cli.columns import LabelledScores
    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.score_parts import ScoreParts
    from deciban.evidence import Evidence

EXAMPLE = (
    "Example: deciban calibrate scores.csv --truth class -o calibrator.deciban "
    "--report calibration.html"
)

_AFFINE = {"affine": "scalar", "diagonal": "diagonal", "full": "full", "bounded": "scalar"}
_TWO_CLASSES = ("isotonic", "kernel")
_METHODS = (*_AFFINE, "gaussian", *_TWO_CLASSES)
FOLDS = 5
_UNKNOWN = "The costs after calibration are unknown"
_FEW_FOLDS = 2  # of samples beyond memory, which are many
_TWO_CLASS_COSTS = ("cllr", "cllr_cal", "cllr_min")
_COSTS = ("cross_entropy", "calibration", "discrimination")


@with_options
def calibrate(
    table: Table,
    output: CalibratorFile,
    columns: ScoreOptions,
    method: Annotated[
        str, option("affine: one factor and an offset (for two classes logistic regression). "
                    "diagonal, full: a factor for each ILR coordinate, a whole matrix. gaussian: "
                    "densities with one covariance. bounded: affine with --bounded. Two classes "
                    "only: isotonic (PAV), kernel (densities).", "METHOD"),
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
    are read in parts and need not fit into memory; the map is then affine, and the same.
    """
    from deciban._persistence.atomic import write_atomically
    from deciban._workers import open_workers
    from deciban.cli.columns import measure_columns, read_scores
    from deciban.cli.io.sources import find_files
    from deciban.cli.io.writing import require_outputs
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.cli.score_parts import is_in_parts, open_score_parts

    measures = [] if quality is None else split_names(quality)
    blank = _make_calibrator(method, bounded, ridge, measures)
    outputs = {"--output": output, "--report": report}
    local = [one for one in columns.inputs(table) if "://" not in one]
    inputs = [file for one in local for file in find_files(one)]
    require_outputs(outputs, tuple(inputs), force=force)
    in_parts = is_in_parts(table, columns, asked=workers is not None or cluster is not None)
    hashes = hash_inputs(inputs)
    if in_parts:
        unused = {"--bounded": bounded, "--quality": measures, "--resamples": resamples,
                  "--report": report}  # fmt: skip
        _require_affine(method, unused, table)
        with open_workers(cluster, workers) as crew:
            parts = open_score_parts(table, columns, group, crew, calibrated=False, scratch=scratch)
            fitted, before, after, why = _fit_parts(blank, parts)
        folds = 0 if after is None else _FEW_FOLDS
        settings = {"method": method, "folds": folds, "estimator": type(fitted).__name__}
        settings |= fitted.get_params()
        record = describe_run(hashes, [(name_source(table), parts)], **settings)
        fitted.save(output, extra=parts.columns.to_dict() | {"quality": [], "provenance": record},
                    replace=force)  # fmt: skip
        summary = _summarize(before, after) | _describe_map(fitted, parts.columns, [])
        notes = [*before.warnings, *why, *_group_note(group)]
        summary |= {"calibrator": str(output), "method": method, "folds": folds, "notes": notes}
        if as_json:
            show.print_json(summary | {"provenance": record})
        else:
            _show(summary, table, parts.notes, parts.columns)
        return
    beside = [("--group", group), *(("--quality", name) for name in measures)]
    scored = read_scores(table, columns, beside, calibrated=False)
    measured = measure_columns(scored.beside, measures, name_source(table))
    given = {"score": scored.evidence, **measured} if measures else scored.evidence
    calibrator, notes = _fit(blank, method, scored, name_source(table), given)
    before = assess_costs(scored, scored.evidence)
    groups = None if group is None else scored.beside[group].cast(str).to_numpy()
    folds = count_folds(scored, groups)
    values = scored.evidence.log_likelihoods
    arrays = {"score": values, **measured} if measures else values
    held_out = _hold_out(blank, arrays, scored, folds, notes, groups)
    after = None if held_out is None else assess_costs(scored, held_out)
    if report is not None and held_out is None:
        raise InputError(f"--report must have costs to show. {notes[-1]} Leave it out.")
    if after is not None and total_cost(after).value > total_cost(before).value:
        notes.append(
            "Calibration makes these scores worse on held-out samples: there are too few samples, "
            "or the scores were calibrated already."
        )
    notes += _group_note(group)
    settings = {"method": method, "folds": folds, "estimator": type(calibrator).__name__}
    settings |= calibrator.get_params()
    record = describe_run(hashes, [(name_source(table), scored)], **settings)
    extra = scored.columns.to_dict() | {"quality": measures, "provenance": record}
    stored = calibrator
    if resamples:
        stored = _resample(blank, resamples, given, scored, groups)
    page = None
    if report is not None and held_out is not None:
        page = _write_page(table, scored, held_out, folds, notes, method, record, groups)
    stored.save(output, extra=extra, replace=force)
    if report is not None and page is not None:
        write_atomically(report, page, replace=force)
    summary = _summarize(before, after)
    summary |= {
        "calibrator": str(output), "method": method, "folds": 0 if after is None else folds,
        "notes": [*before.warnings, *notes], **_describe_map(calibrator, scored.columns, measures),
    }  # fmt: skip
    if as_json:
        show.print_json(summary | {"provenance": record})
    else:
        _show(summary, table, scored.notes, scored.columns)
    if report is not None:
        show.echo(f"Report: {report}", err=as_json)


def _group_note(group: str | None) -> list[str]:
    return [] if group is None else [f"Rows of the same {group} were held out together."]


def _describe_map(calibrator: Any, columns: ScoreColumns, measures: list[str]) -> dict[str, Any]:
    from deciban.assessment.results import to_plain

    return {
        "formula": _formula(calibrator, columns),
        "bounds": to_plain(getattr(calibrator, "bounds_", None)),
        "factor": calibrator.weights_[0].tolist() if measures else None,
        "quality_weights": {
            name: calibrator.quality_weights_[k, 0].tolist() for k, name in enumerate(measures)
        },
    }


def _require_affine(method: str, unused: dict[str, Any], table: str) -> None:
    """Raise unless the calibrator is one that can be fitted to parts."""
    given = [name for name, value in unused.items() if value]
    if method not in _AFFINE or method == "bounded" or given:
        what = given[0] if given else f"--method {method}"
        raise InputError(
            f"{what} must come with one table that fits into memory; got {table}, which is read in "
            f"parts. Choose affine, diagonal or full, and leave further options out."
        )


def _fit_parts(
    blank: Any, parts: ScoreParts
) -> tuple[Any, Assessment, Assessment | None, list[str]]:
    """The calibrator of all samples, and their costs before it and after fits to other folds.

    Where a fold cannot be fitted, the costs after it are None, and a note says why.
    """
    from sklearn.base import clone

    from deciban.assessment.partitioned import assess_partitions
    from deciban.cli.score_parts import calibrate_folds, in_sorted_classes, select_fold

    data = in_sorted_classes(parts)

    def fit(some: Any) -> Any:
        return clone(blank).fit_partitions(some, len(data.classes))  # evidence, as apply gives it

    fitted = fit(data)
    before, _ = assess_partitions(parts.partitions, n_resamples=0)
    try:
        by_fold = [fit(select_fold(data, k)) for k in range(_FEW_FOLDS)]
    except DecibanError as error:
        return fitted, before, None, [f"{_UNKNOWN}; a fold cannot be fitted: {error}"]
    after, _ = assess_partitions(calibrate_folds(data, by_fold), n_resamples=0)
    return fitted, before, after, []


def _write_page(
    table: str, scored: LabelledScores, held_out: Evidence, folds: int, notes: list[str],
    method: str, record: dict[str, Any], groups: np.ndarray | None,
) -> str:  # fmt: skip
    """The page on scores before and after calibration."""
    from deciban.report import calibration_report

    source = name_source(table)
    return calibration_report(
        scored.y_true, scored.evidence, held_out, title=source, folds=folds, notes=tuple(notes),
        descriptions={
            "before": f"{source} as it is. {' '.join(scored.notes)}",
            "after": f"calibrated ({method}), each sample by a fit to the others",
        },
        provenance=record, groups=groups,
    )  # fmt: skip


def _resample(
    blank: Any, resamples: int, given: Any, scored: LabelledScores, groups: Any
) -> BootstrapCalibrator:
    from deciban.calibration import BootstrapCalibrator

    with warnings.catch_warnings():  # they have been reported for all samples
        warnings.simplefilter("ignore")
        bootstrap = BootstrapCalibrator(blank, n_resamples=resamples)
        return bootstrap.fit(given, scored.y_true, groups=groups)


def _make_calibrator(method: str, bounded: bool, ridge: float | None, measures: list[str]) -> Any:
    from deciban import calibration

    require_choice(method, "--method", _METHODS)
    if ridge is not None:
        if method not in _AFFINE:
            raise InputError(
                f"--ridge must come with --method {', '.join(_AFFINE)}; got {method}. Leave it out."
            )
        if not 0 <= ridge < float("inf"):
            raise InputError(f"--ridge must be 0 or more; got {ridge}. Give 0.01, say.")
    if measures:
        if bounded or method not in ("affine", "diagonal", "full"):
            raise InputError(
                f"--quality must come with --method affine, diagonal or full; got "
                f"{'--bounded' if bounded else method}. Leave one of them out."
            )
        return calibration.FusionCalibrator(
            _AFFINE[method],  # type: ignore[arg-type]
            quality=measures,
            ridge=0.01 if ridge is None else ridge,
        )
    if method in _AFFINE:
        inner: Any = calibration.AffineCalibrator(_AFFINE[method], ridge=ridge)  # type: ignore[arg-type]
    else:
        inner = {
            "gaussian": calibration.GaussianCalibrator,
            "isotonic": calibration.IsotonicCalibrator,
            "kernel": calibration.KernelDensityCalibrator,
        }[method]()
    return calibration.BoundedCalibrator(inner) if bounded or method == "bounded" else inner


def _fit(
    blank: Any, method: str, scored: LabelledScores, source: str, given: Any
) -> tuple[Any, list[str]]:
    """The calibrator of all samples, and notes on it."""
    from sklearn.base import clone

    from deciban.calibration import (
        IsotonicCalibrator,
        ReversedScoresWarning,
        SeparableWarning,
        UnsupportedEvidenceWarning,
    )
    from deciban.cli.score_columns import require_finite

    if scored.evidence.n_classes > 2 and method in _TWO_CLASSES:
        others = [one for one in _METHODS if one not in _TWO_CLASSES]
        raise InputError(
            f"--method must be one of {', '.join(others)} for {scored.evidence.n_classes} classes; "
            f"got {method}, which is for two."
        )
    require_finite(scored.evidence, blank, source)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator = clone(blank).fit(given, scored.y_true)
    kinds = {warning.category for warning in caught}
    notes = []
    if SeparableWarning in kinds:
        notes.append(
            "The classes do not overlap in these scores, so nothing limits the calibrated "
            "evidence. Leave --ridge 0 out, or give --bounded."
        )
    if ReversedScoresWarning in kinds:
        other, target = scored.evidence.classes
        notes.append(
            f"Higher scores do not favor class {target}, so no evidence is left. If they favor "
            f"{other}, give --positive {other}."
        )
    notes += [
        f"The samples cannot support this: {warning.message.finding}. Give --bounded."
        for warning in caught
        if isinstance(warning.message, UnsupportedEvidenceWarning)
    ]
    if isinstance(calibrator, IsotonicCalibrator):
        notes.append(
            "Beyond the last samples, isotonic LLRs are inf and -inf: one on the wrong "
            "side has infinite cost. --bounded avoids them."
        )
    return calibrator, notes


def assess_costs(scored: LabelledScores, evidence: Evidence) -> Assessment:
    """Every quantity of this evidence, without intervals."""
    from deciban.assessment import assess

    return assess(scored.y_true, evidence, n_resamples=0)


def _hold_out(
    blank: Any, given: Any, scored: LabelledScores, folds: int, notes: list[str],
    groups: np.ndarray | None,
) -> Evidence | None:  # fmt: skip
    """Calibrated evidence, each sample by a fit without it; or None, and a note on why."""
    if folds < 2:
        what = "samples" if groups is None else "groups"
        notes.append(f"{_UNKNOWN}: each class needs two {what}.")
        return None
    try:
        return cross_validate(blank, given, scored, folds, groups)
    except DecibanError as error:
        notes.append(f"{_UNKNOWN}; a fold cannot be fitted: {error}")
        return None


def count_folds(scored: LabelledScores, groups: np.ndarray | None) -> int:
    """As many folds as each class has samples, or groups, up to five."""
    import numpy as np

    if groups is None:
        return min(FOLDS, *scored.counts)
    each = (len(set(groups[scored.codes == k])) for k in np.unique(scored.codes))
    return min(FOLDS, *each)


def cross_validate(
    blank: Any, given: Any, scored: LabelledScores, folds: int, groups: np.ndarray | None = None
) -> Evidence:
    """The evidence of each sample after a calibrator that was fitted without it and its group.

    ``given`` is an array of log-likelihoods, or a mapping of what a fusion takes.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    from deciban.evidence import Evidence

    def take(rows: Any) -> Any:
        if isinstance(given, dict):
            return {name: values[rows] for name, values in given.items()}
        return given[rows]

    codes = scored.codes
    values = np.empty_like(scored.evidence.log_likelihoods)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splits = kind(folds, shuffle=True, random_state=0).split(codes, codes, groups)
    with warnings.catch_warnings():  # they have been reported for all samples
        warnings.simplefilter("ignore")
        for rest, held_out in splits:
            fitted = clone(blank).fit(take(rest), codes[rest])
            values[held_out] = fitted.evidence(take(held_out)).log_likelihoods
        return Evidence(values, scored.evidence.classes)


def total_cost(assessment: Assessment) -> Quantity:
    """The total cost: Cllr for two classes, cross-entropy for more."""
    return assessment[_costs(assessment)[0]]


def _costs(assessment: Assessment) -> tuple[str, ...]:
    """Keys of the costs to show: the total, and its parts."""
    return _TWO_CLASS_COSTS if len(assessment.classes) == 2 else _COSTS


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
    from deciban.assessment.results import to_plain

    later = {} if after is None else {q.key: q.value for q in after.quantities}
    quantities = [
        {"key": q.key, "label": q.label, "unit": q.unit, "before": to_plain(q.value),
         "after": to_plain(later.get(q.key)), "meaning": q.meaning}
        for q in before.quantities
        if q.key in _costs(before)
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
