"""``deciban apply``: new scores, calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.options import Costs, Force, Format, Json, OutputTable, Prior, Table
from deciban.cli.show import print_written
from deciban.cli.words import count
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.trials import TrialList
    from deciban.evidence import Evidence

    Decide = Callable[[Evidence], dict[str, np.ndarray]]

EXAMPLE = "Example: deciban apply calibrator.deciban scores-new.csv -o calibrated.csv"


def apply(
    calibrator: Annotated[
        Path, typer.Argument(help="Calibrator file written by `deciban calibrate`.")
    ],
    table: Table,
    output: OutputTable,
    prior: Prior = None,
    costs: Costs = None,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Calibrate new scores: the table with calibrated columns added.

    The calibrator knows which columns it takes. 'llr' becomes 'calibrated_llr'; log-likelihoods
    and posteriors become a log-likelihood 'calibrated_<class>' for each class; all in the base of
    the given logarithms. With --prior, posteriors and the decision are added. All other columns are
    carried along under their names. Rows are read and written in batches, so that memory stays
    flat.
    """
    import numpy as np
    import polars as pl

    from deciban.cli.io.formats import format_of
    from deciban.cli.io.sources import open_table
    from deciban.cli.io.writing import require_outputs, table_writer
    from deciban.cli.provenance import describe_run, hash_inputs

    require_outputs({"--output": output}, (calibrator, table, prior, costs), force=force)
    fitted, columns = _load(calibrator)
    hashes = hash_inputs([str(calibrator), table])
    decide = _make_decide(prior, costs, fitted)
    if columns.kind == "trials":
        trials, columns = _open_trials(table, table_format, columns)
        source, frames = trials.table, trials.batches()
        carried = list(trials.names.values())
    else:
        source = open_table(table, table_format)
        for column in columns.columns:
            source.require_column(column, "the calibrator")
        frames, carried = source.batches(), source.columns
    width = len(columns.columns)
    # the columns of a table without rows: those of a row that all kinds of scores allow, without it
    row = _columns(fitted, columns, decide, np.full((1, width), 1 / width))
    nothing = {name: values[:0] for name, values in row.items()}
    source.refuse_columns(nothing, carried)
    # a format with types stores the scores as the numbers that they are
    typed = format_of(output, output=True) not in ("csv", "tsv", "txt")
    rows = 0
    with table_writer(output, force=force) as write:
        for frame in frames:
            values, new = np.empty((0, width)), nothing
            if frame.height:
                values = columns.values(frame, source.name, rows)
                new = _columns(fitted, columns, decide, values, source.name, rows)
            rows += frame.height
            if typed:
                frame = frame.with_columns(map(pl.Series, columns.columns, values.T))
            write(frame.hstack(list(map(pl.Series, new, new.values()))))
    added = list(nothing)
    sentence = f"{count(rows, 'row')} calibrated: {', '.join(added[:10])}"
    found = {"rows": rows, "added": added, "provenance": describe_run(hashes)}
    print_written(sentence, found, output, as_json)


def _load(path: Path) -> tuple[Any, ScoreColumns]:
    """The calibrator in a file, and the columns that it takes."""
    from deciban._persistence.registry import load_with_extra
    from deciban.calibration.base import Calibrator
    from deciban.cli.score_columns import ScoreColumns

    calibrator, extra = load_with_extra(path)
    if not isinstance(calibrator, Calibrator):
        raise InputError(
            f"{path} must hold a calibrator; it holds a {type(calibrator).__name__}. Give a file "
            f"of deciban calibrate; models are for deciban predict."
        )
    return calibrator, ScoreColumns.from_dict(extra, len(calibrator.classes_), str(path))


def _make_decide(prior: str | None, costs: str | None, calibrator: Any) -> Decide | None:
    """What turns evidence into columns of posteriors and decisions, if they are asked for."""
    from deciban.cli.operating import decision_columns, parse_costs, parse_prior

    if costs is not None and prior is None:
        raise InputError("--costs must come with --prior; got none. Give --prior uniform, say.")
    if prior is None:
        return None
    classes = tuple(calibrator.classes_.tolist())
    return partial(
        decision_columns,
        prior=parse_prior(prior, "--prior", classes),
        costs=parse_costs(costs, "--costs", classes),
    )


def _columns(
    calibrator: Any,
    columns: ScoreColumns,
    decide: Decide | None,
    values: NDArray[np.float64],
    source: str = "",
    start: int = 0,
) -> dict[str, np.ndarray]:
    """The columns to add to rows with these scores, by name."""
    from deciban.cli.score_columns import require_finite

    classes = tuple(calibrator.classes_.tolist())
    given = columns.evidence(values, classes, source, start)
    require_finite(given, calibrator, source, start)
    calibrated = columns.calibrate(calibrator, given).T
    new = dict(zip(columns.added_names(classes), calibrated, strict=True))
    return new if decide is None else new | decide(calibrator.evidence(given))


def _open_trials(
    source: str, table_format: str | None, columns: ScoreColumns
) -> tuple[TrialList, ScoreColumns]:
    """A trial list, and the columns to take under the names that they have there."""
    from deciban.cli.trials import is_usual_score, open_trials

    named = None if is_usual_score(columns.columns[0]) else columns.columns[0]
    trials = open_trials(source, named, table_format).require("score", named)
    return trials, replace(columns, columns=(trials.roles["score"],))
