"""``deciban apply``: new scores, calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.options import Costs, Force, Format, Json, OutputTable, Prior, SampleId, option
from deciban.cli.show import print_written
from deciban.cli.words import count, join_words, name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.trials import TrialList
    from deciban.evidence import Evidence

    Decide = Callable[[Evidence], dict[str, np.ndarray]]

EXAMPLE = "Example: deciban apply calibrator.deciban scores-new.csv -o calibrated.csv"


def apply(
    calibrator: Annotated[
        Path, typer.Argument(help="Calibrator file written by `deciban calibrate` or `fuse`.")
    ],
    tables: Annotated[
        list[str],
        typer.Argument(
            help="Table to read, or - for standard input; for a fusion, one of each system.",
            metavar="TABLE …",
        ),
    ],
    output: OutputTable,
    prior: Prior = None,
    costs: Costs = None,
    interval: Annotated[
        float | None,
        option("Add the interval of each value with this confidence, such as 0.95: what the "
               "calibrator's finite training data leave open.", "0-1"),
    ] = None,
    id_column: SampleId = None,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Calibrate new scores: the table with calibrated columns added.

    The calibrator knows which columns it takes. 'llr' becomes 'calibrated_llr'; log-likelihoods
    and posteriors become a log-likelihood 'calibrated_<class>' for each class; all in the base of
    the given logarithms. With --interval, '<name>_low' and '<name>_high' stand beside each. With
    --prior, posteriors and the decision are added. All other columns (of a fusion, those of the
    first table) are carried along under their names. Rows are read and written in batches, so that
    memory stays flat.
    """
    import numpy as np
    import polars as pl

    from deciban.calibration.base import Calibrator
    from deciban.cli.columns import measure_columns
    from deciban.cli.io.formats import format_of
    from deciban.cli.io.sources import open_table
    from deciban.cli.io.writing import require_outputs, table_writer
    from deciban.cli.provenance import describe_run, hash_inputs

    require_outputs({"--output": output}, (calibrator, *tables, prior, costs), force=force)
    fitted, each, quality = _load(calibrator)
    columns, table = each[0], tables[0]
    if interval is not None and not 0 < interval < 1:
        raise InputError(f"--interval must lie between 0 and 1; got {interval}. Give 0.95.")
    if interval is not None and type(fitted)._interval is Calibrator._interval:
        raise InputError(
            f"--interval must come with a calibrator that has intervals; {calibrator} holds a "
            f"{type(fitted).__name__} without. Make it with deciban calibrate --resamples 200."
        )
    hashes = hash_inputs([str(calibrator), *tables])
    decide = _make_decide(prior, costs, fitted)
    rest = _read_others(tables, each, fitted, id_column, table_format)
    if columns.kind == "trials":
        trials, columns = _open_trials(table, table_format, columns)
        source, frames = trials.table, trials.batches()
        carried = list(trials.names.values())
    else:
        source = open_table(table, table_format)
        for column in (*columns.columns, *quality):
            source.require_column(column, "the calibrator")
        frames, carried = source.batches(), source.columns
    width = len(columns.columns)
    add = partial(_columns, fitted, columns, decide, interval, rest)
    # the columns of a table without rows: those of a row that all kinds of scores allow, without it
    row = add(np.full((1, width), 1 / width), dict.fromkeys(quality, np.zeros(1)))
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
                measures = measure_columns(frame, quality, source.name, rows)
                new = add(values, measures, source.name, rows)
            rows += frame.height
            if typed:
                frame = frame.with_columns(map(pl.Series, columns.columns, values.T))
            write(frame.hstack(list(map(pl.Series, new, new.values()))))
    added = list(nothing)
    sentence = f"{count(rows, 'row')} calibrated: {join_words(added, 10)}"
    found = {"rows": rows, "added": added, "provenance": describe_run(hashes)}
    print_written(sentence, found, output, as_json)


def _load(path: Path) -> tuple[Any, list[ScoreColumns], list[str]]:
    """The calibrator in a file, the columns of each system that it takes, and quality measures."""
    from deciban._persistence.registry import load_with_extra
    from deciban.calibration.base import Calibrator
    from deciban.cli.score_columns import ScoreColumns

    calibrator, extra = load_with_extra(path)
    if not isinstance(calibrator, Calibrator):
        raise InputError(
            f"{path} must hold a calibrator; it holds a {type(calibrator).__name__}. Give a file "
            f"of deciban calibrate; models are for deciban predict."
        )
    extra = extra or {}
    each = [
        ScoreColumns.from_dict(one, len(calibrator.classes_), str(path))
        for one in (extra, *extra.get("others", ()))
    ]
    if len(each) != max(1, len(_systems(calibrator))):
        raise InputError(f"{path} must say which columns each system has; it does not. Fuse again.")
    return calibrator, each, [str(name) for name in extra.get("quality", ())]


def _systems(calibrator: Any) -> tuple[str, ...]:
    """Names of the systems that a fusion takes, which may be inside of a bootstrap."""
    inner = getattr(calibrator, "calibrator_", calibrator)
    return tuple(getattr(inner, "systems_", ()))


def _read_others(
    tables: list[str], each: list[ScoreColumns], calibrator: Any, id_column: str | None,
    table_format: str | None,
) -> dict[str, Evidence]:  # fmt: skip
    """Evidence of each system but the first, in the order of the rows of the first table."""
    from deciban.cli.matching import find_rows, require_same_order
    from deciban.cli.score_columns import require_finite

    names = _systems(calibrator) or ("scores",)
    if len(tables) == 1 and len({columns.columns for columns in each}) == len(names):
        tables = tables * len(names)  # columns of one table
    if len(tables) != len(names):
        raise InputError(
            f"apply must have {count(len(names), 'table')} for this calibrator "
            f"({join_words(names)}); got {len(tables)}. Give one for each system, in this order."
        )
    if len(names) == 1:
        return {}
    sources = [name_source(table) for table in tables]
    read = [
        _read_system(table, columns, id_column, table_format)
        for table, columns in zip(tables, each, strict=True)
    ]
    (first, rows), found = read[0], {}
    for k, (ids, values) in enumerate(read[1:], start=1):
        if first is not None and ids is not None:
            values = values[find_rows(first, ids, sources[0], sources[k], subset=False)[1]]
        if len(values) != len(rows):
            raise InputError(
                f"{sources[k]} must have as many rows as {sources[0]}, {len(rows):,}; got "
                f"{len(values):,}. Name the column that matches them with --id."
            )
        found[names[k]] = each[k].evidence(values, tuple(calibrator.classes_.tolist()), sources[k])
        require_finite(found[names[k]], calibrator, sources[k])
    if first is None:
        require_same_order(tables, each, table_format)
    return found


def _read_system(
    table: str, columns: ScoreColumns, id_column: str | None, table_format: str | None
) -> tuple[pl.DataFrame | None, NDArray[np.float64]]:
    """What names the samples of a table, if anything does, and their scores."""
    from deciban.cli.io.sources import open_table

    if columns.kind == "trials":
        frame = _open_trials(table, table_format, columns)[0].read("score")
        ids = frame.drop("score")
        return ids if ids.width else None, frame["score"].to_numpy()[:, None]
    source = open_table(table, table_format)
    names = [source.require_column(name, "the calibrator") for name in columns.columns]
    own = [] if id_column is None else [source.require_column(id_column, "--id")]
    frame = source.read([*dict.fromkeys([*names, *own])])
    return frame.select(own) if own else None, columns.values(frame, source.name)


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
    interval: float | None,
    rest: dict[str, Evidence],
    values: NDArray[np.float64],
    measures: dict[str, NDArray[np.float64]],
    source: str = "",
    start: int = 0,
) -> dict[str, np.ndarray]:
    """The columns to add to rows with these scores and quality measures, by name."""
    from deciban.cli.score_columns import require_finite

    classes = tuple(calibrator.classes_.tolist())
    own = columns.evidence(values, classes, source, start)
    require_finite(own, calibrator, source, start)
    systems = _systems(calibrator)
    rows = slice(start, start + len(values))
    others = {name: evidence[rows] for name, evidence in rest.items()}
    given = {systems[0]: own, **others, **measures} if systems else own
    parts = {"": columns.calibrate(calibrator, given)}
    if interval is not None:
        parts["_low"], parts["_high"] = columns.interval(calibrator, given, interval)
    new = {
        name + end: part[:, k]
        for k, name in enumerate(columns.added_names(classes))
        for end, part in parts.items()
    }
    return new if decide is None else new | decide(calibrator.evidence(given))


def _open_trials(
    source: str, table_format: str | None, columns: ScoreColumns
) -> tuple[TrialList, ScoreColumns]:
    """A trial list, and the columns to take under the names that they have there."""
    from deciban.cli.trials import is_usual_score, open_trials

    named = None if is_usual_score(columns.columns[0]) else columns.columns[0]
    trials = open_trials(source, named, table_format).require("score", named)
    return trials, replace(columns, columns=(trials.roles["score"],))
