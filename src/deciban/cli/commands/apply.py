"""``deciban apply``: new scores, calibrated."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as opt
from deciban.cli.options import option
from deciban.cli.show import print_written
from deciban.cli.words import count, join_words, name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.cli.files import Source
    from deciban.cli.score_columns import ScoreColumns
    from deciban.cli.tables import Table as InputTable
    from deciban.cli.trials import TrialList
    from deciban.evidence import Evidence

    Decide = partial[dict[str, np.ndarray]]  # of evidence


def apply(
    calibrator: Annotated[
        Path, typer.Argument(help="Calibrator file from `deciban calibrate` or `deciban fuse`.")
    ],
    tables: Annotated[
        list[str],
        typer.Argument(
            help="Table to read, or - for standard input; for a fusion, the table of each system.",
            metavar="TABLE …",
        ),
    ],
    output: opt.OutputTable,
    prior: opt.Prior = None,
    costs: opt.Costs = None,
    interval: Annotated[
        float | None,
        option("Add the interval of each value at this confidence, such as 0.95. It shows what the "
               "finite training data of the calibrator leave open.", "0-1"),
    ] = None,
    id_column: opt.SampleId = None,
    workers: opt.Workers = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Calibrate new scores: adds calibrated columns to a table.

    The calibrator knows its columns. 'llr' becomes 'calibrated_llr'; log-likelihoods and posteriors
    become a log-likelihood 'calibrated_<class>' for each class, to the base of the scores. With
    --interval, '<name>_low' and '<name>_high' are added, and with --prior, posteriors and the
    decision. Other columns are copied (of a fusion, those of the first table). Rows are processed
    in batches, and memory stays flat.

    The table may be a folder of Parquet files or a quoted pattern such as 'new/*.parquet'; --output
    is then a folder such as out/, which gets a Parquet file for each part of the input, and a
    manifest. To continue an interrupted run, give the command again.

    Example: deciban apply calibrator.deciban scores-new.csv -o calibrated.csv
    """
    from deciban._workers import open_workers
    from deciban.cli.files import format_of
    from deciban.cli.operating import describe_decisions
    from deciban.cli.outputs import is_folder, require_output, split_files, write_output
    from deciban.cli.provenance import describe_run, hash_inputs

    table, *others = tables
    beside = (calibrator, *others, prior, costs)
    files = require_output(output, table, beside, many=workers is not None, force=force)
    folder = is_folder(output)
    if folder and others:
        raise InputError("An output folder takes one table, with the scores of all systems.")
    fitted, each, quality = _load(calibrator)
    _check_interval(interval, fitted, calibrator)
    hashes = hash_inputs([str(calibrator), *([] if folder else tables)])
    decide = _make_decide(prior, costs, fitted)
    # a format with types stores the scores as the numbers that they are
    typed = folder or format_of(output, output=True) not in ("csv", "tsv", "txt")
    job = _Calibration(fitted, each, quality, decide, interval, others, id_column, typed)
    parts = split_files(job, files, output)
    decisions = describe_decisions(**decide.keywords) if decide else None
    settings = {"interval": interval, "id": id_column, "decisions": decisions}
    plan = {"command": "apply", "model": hashes[0]["sha256"], "settings": settings}
    with open_workers(workers) as crew:
        rows = write_output(crew, job, parts, output, plan, force=force)["rows"]
    added = job.added_names(parts[0])
    sentence = f"{count(rows, 'row')} calibrated: {join_words(added, 10)}"
    found = {"rows": rows, "added": added, "provenance": describe_run(hashes)}
    print_written(sentence, found, output, as_json)


def _check_interval(interval: float | None, fitted: Any, path: Path) -> None:
    from deciban.calibration.base import Calibrator

    if interval is not None and not 0 < interval < 1:
        raise InputError(f"--interval must lie between 0 and 1; got {interval}. Give 0.95.")
    if interval is not None and type(fitted)._interval is Calibrator._interval:
        raise InputError(
            f"--interval needs a calibrator with intervals; {path} holds a "
            f"{type(fitted).__name__} without. Make it with deciban calibrate --resamples 200."
        )


@dataclass(frozen=True)
class _Calibration:
    calibrator: Any
    each: list[ScoreColumns]  # of each system
    quality: list[str]
    decide: Decide | None
    interval: float | None
    others: list[str]  # tables of further systems
    id_column: str | None
    typed: bool
    counted: tuple[str, ...] = ()

    def summarize(self, frame: pl.DataFrame) -> Counter[Hashable]:
        return Counter()

    def open(self, source: Source) -> InputTable:
        return self._open(source)[0]

    def frames(self, source: Source) -> Iterator[pl.DataFrame]:
        import numpy as np
        import polars as pl

        from deciban.cli.score_columns import require_finite
        from deciban.cli.scores import measure_columns

        rest = _read_others([source, *self.others], self.each, self.calibrator, self.id_column)
        table, columns, frames = self._open(source)
        nothing = self._nothing(columns)
        classes = tuple(self.calibrator.classes_.tolist())
        start = 0
        for frame in frames:
            values, new = np.empty((0, len(columns.columns))), nothing
            if frame.height:
                first, rows = table.first + start, slice(start, start + frame.height)
                values = columns.values(frame, table.name, first)
                evidence = columns.evidence(values, classes, table.name, first)
                require_finite(evidence, self.calibrator, table.name, first)
                others = {name: theirs[rows] for name, theirs in rest.items()}
                measures = measure_columns(frame, self.quality, table.name, first)
                new = self._columns(columns, evidence, others | measures)
            start += frame.height
            if self.typed:
                frame = frame.with_columns(map(pl.Series, columns.columns, values.T))
            yield frame.hstack(list(map(pl.Series, new, new.values())))

    def added_names(self, source: Source) -> list[str]:
        columns = self.each[0]
        if columns.kind == "trials":
            columns = _open_trials(source, columns)[1]
        return list(self._nothing(columns))

    def _nothing(self, columns: ScoreColumns) -> dict[str, np.ndarray]:
        """The columns to add, without rows: those for scores that any kind allows."""
        import numpy as np

        width = len(columns.columns)
        classes = tuple(self.calibrator.classes_.tolist())
        row = columns.evidence(np.full((1, width), 1 / width), classes, "")
        beside: dict[str, Any] = dict.fromkeys(_systems(self.calibrator), row)
        beside |= {name: np.zeros(1) for name in self.quality}
        return {name: values[:0] for name, values in self._columns(columns, row, beside).items()}

    def _open(self, source: Source) -> tuple[InputTable, ScoreColumns, Iterator[pl.DataFrame]]:
        """A table, the columns to take under the names that they have in it, and its rows."""
        from deciban.cli.tables import open_table

        columns = self.each[0]
        if columns.kind == "trials":
            trials, columns = _open_trials(source, columns)
            table, frames = trials.table, trials.table.batches()
            carried = trials.table.columns
        else:
            table = open_table(source)
            for column in (*columns.columns, *self.quality):
                table.require_column(column, "the calibrator")
            frames, carried = table.batches(), table.columns
        table.refuse_columns(self._nothing(columns), carried)
        return table, columns, frames

    def _columns(
        self, columns: ScoreColumns, evidence: Evidence, beside: dict[str, Any]
    ) -> dict[str, np.ndarray]:
        """The columns to add to rows with this evidence, by name.

        Beside it stand evidence of the other systems and quality measures, by their names.
        """
        calibrator, systems = self.calibrator, _systems(self.calibrator)
        given = {**beside, systems[0]: evidence} if systems else evidence
        parts = {"": columns.calibrate(calibrator, given)}
        if self.interval is not None:
            parts["_low"], parts["_high"] = columns.interval(calibrator, given, self.interval)
        new = {
            name + end: part[:, k]
            for k, name in enumerate(columns.added_names(tuple(calibrator.classes_.tolist())))
            for end, part in parts.items()
        }
        return new if self.decide is None else new | self.decide(calibrator.evidence(given))


def _load(path: Path) -> tuple[Any, list[ScoreColumns], list[str]]:
    """The calibrator in a file, the columns of each system that it takes, and quality measures."""
    from deciban._persistence.registry import load_with_extra
    from deciban.calibration.base import Calibrator
    from deciban.cli.score_columns import ScoreColumns

    calibrator, extra = load_with_extra(path)
    if not isinstance(calibrator, Calibrator):
        raise InputError(
            f"{path} holds a {type(calibrator).__name__}, not a calibrator. For models, use "
            "`deciban predict`."
        )
    extra = extra or {}
    each = [
        ScoreColumns.from_dict(one, len(calibrator.classes_), str(path))
        for one in (extra, *extra.get("others", ()))
    ]
    if len(each) != max(1, len(_systems(calibrator))):
        raise InputError(f"{path} does not say which columns each system has. Fuse again.")
    return calibrator, each, [str(name) for name in extra.get("quality", ())]


def _systems(calibrator: Any) -> tuple[str, ...]:
    """System names of a fusion, which may be inside a bootstrap."""
    inner = getattr(calibrator, "calibrator_", calibrator)
    return tuple(getattr(inner, "systems_", ()))


def _read_others(
    tables: list[Source], each: list[ScoreColumns], calibrator: Any, id_column: str | None
) -> dict[str, Evidence]:
    """Evidence of the other systems, with rows ordered as in the first table."""
    from deciban.cli.identifiers import find_rows, require_same_order
    from deciban.cli.score_columns import require_finite

    names = _systems(calibrator) or ("scores",)
    if len(tables) == 1 and len({columns.columns for columns in each}) == len(names):
        tables = tables * len(names)  # columns of one table
    if len(tables) != len(names):
        raise InputError(
            f"This calibrator takes {count(len(names), 'table')} ({join_words(names)}); got "
            f"{len(tables)}. Give the table of each system, in this order."
        )
    if len(names) == 1:
        return {}
    sources = [name_source(os.fspath(table)) for table in tables]
    read = [
        _read_system(table, columns, id_column) for table, columns in zip(tables, each, strict=True)
    ]
    (first, rows), found = read[0], {}
    for k, (ids, values) in enumerate(read[1:], start=1):
        if first is not None and ids is not None:
            values = values[find_rows(first, ids, sources[0], sources[k])]
        if len(values) != len(rows):
            raise InputError(
                f"{sources[k]} must have as many rows as {sources[0]}, {len(rows):,}; got "
                f"{len(values):,}. Name the column that matches them with --id."
            )
        found[names[k]] = each[k].evidence(values, tuple(calibrator.classes_.tolist()), sources[k])
        require_finite(found[names[k]], calibrator, sources[k])
    if first is None and len({*sources}) > 1:
        require_same_order(tables, each)
    return found


def _read_system(
    table: Source, columns: ScoreColumns, id_column: str | None
) -> tuple[pl.DataFrame | None, NDArray[np.float64]]:
    """Sample identifiers, if there are any, and scores."""
    import numpy as np

    from deciban.cli.tables import open_table

    if columns.kind == "trials":
        frame = _open_trials(table, columns)[0].read("score")
        ids = frame.drop("score")
        return ids if ids.width else None, frame["score"].to_numpy()[:, None]
    source = open_table(table)
    names = [source.require_column(name, "the calibrator") for name in columns.columns]
    own = [] if id_column is None else [source.require_column(id_column, "--id")]
    frame = source.read([*dict.fromkeys([*names, *own])])
    values = np.empty((0, len(names)))
    if frame.height:
        values = columns.values(frame, source.name, source.first)
    return frame.select(own) if own else None, values


def _make_decide(prior: str | None, costs: str | None, calibrator: Any) -> Decide | None:
    from deciban.cli.operating import decision_columns, parse_costs, parse_prior

    if costs is not None and prior is None:
        raise InputError("--costs needs a prior. Add --prior uniform, for instance.")
    if prior is None:
        return None
    classes = tuple(calibrator.classes_.tolist())
    return partial(
        decision_columns,
        prior=parse_prior(prior, "--prior", classes),
        costs=parse_costs(costs, classes),
    )


def _open_trials(source: Source, columns: ScoreColumns) -> tuple[TrialList, ScoreColumns]:
    """A trial list, and the columns to take under the names that they have there."""
    from deciban.cli.trials import is_usual_score, open_trial_list

    named = None if is_usual_score(columns.columns[0]) else columns.columns[0]
    trials = open_trial_list(source, named).require("score", named)
    return trials, replace(columns, columns=(trials.roles["score"],))
