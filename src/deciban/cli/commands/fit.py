"""``deciban fit``: a model from a table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.commands.evaluate import write_report
from deciban.cli.options import Force, Format, Json, Report, Seed, Table, option, require_seed
from deciban.cli.show import echo, print_assessment, print_json, print_notes
from deciban.cli.words import count, join_words, quote, quote_name
from deciban.exceptions import CheckpointError, InputError, InterruptedFitWarning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deciban.assessment import Assessment

    Rows = NDArray[np.intp]

EXAMPLE = "Example: deciban fit iris.csv --label species -o iris.deciban --report iris.html"


class Kind(StrEnum):
    """Kind of model."""

    cda = "cda"
    lda = "lda"
    qda = "qda"


def fit(
    table: Table,
    label: Annotated[str, option("Column of the class.", "COLUMN")],
    output: Annotated[Path, option("Model file to write.", "FILE", "--output", "-o")],
    model: Annotated[Kind, option("Compositional, linear or quadratic discriminant.")] = Kind.cda,
    features: Annotated[
        str | None, option("Columns to learn from, separated by commas; all by default.", "COLUMNS")
    ] = None,
    ignore: Annotated[
        str | None, option("Columns to leave out, separated by commas.", "COLUMNS")
    ] = None,
    impute: Annotated[
        bool,
        option(
            "Fill missing values (medians, or the most frequent text) and learn from where they "
            "are missing, or refuse them.",
            None,
            "--impute/--no-impute",
        ),
    ] = True,
    open_set: Annotated[
        str | None,
        option(
            "Add a class of this name for what is none of the others; rows that bear it, if there "
            "are any, are learned from.",
            "NAME",
        ),
    ] = None,
    validation: Annotated[
        float, option("Fraction of the rows set aside to assess the model; 0 for none.", "0-1")
    ] = 0.2,
    epochs: Annotated[
        int | None, option("Number of passes over the rows (CDA); automatic by default.", "N")
    ] = None,
    batch_size: Annotated[
        int | None,
        option("Number of rows in a step, over all devices (CDA); automatic by default.", "N"),
    ] = None,
    seed: Seed = 0,
    memory: Annotated[
        float | None,
        option(
            "Read Parquet files in parts, of so many gigabytes at once (CDA); 1 for a folder or a "
            "pattern of files.",
            "GB",
        ),
    ] = None,
    coordinator: Annotated[
        str | None,
        option(
            "Address of process 0, where several processes train together: each runs this command.",
            "HOST:PORT",
            panel="Several processes",
        ),
    ] = None,
    processes: Annotated[
        int | None, option("Number of processes.", "N", panel="Several processes")
    ] = None,
    process: Annotated[
        int | None,
        option(
            "Number of this process, from 0; by default what Slurm or MPI say.",
            "K",
            panel="Several processes",
        ),
    ] = None,
    report: Report = None,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Learn from a table what its columns say about a class, and write the model to a file.

    Numbers are taken as they are; dates become days, and text a feature for each of its values but
    the first. A part of the rows is set aside to assess the model. Repeat the command to continue a
    fit that was interrupted.

    With --open-set, the model has one class more, for what is none of the others.

    A folder of Parquet files, or a pattern in quotes such as 'train/*.parquet', may hold more rows
    than memory does: they are read in parts, again in each epoch.

    Several processes, on as many machines, train one model together where each runs this command
    with the same --coordinator and --processes and its own --process. Process 0 writes the files.
    """
    import polars as pl
    import polars.selectors as cs

    from deciban.cli.features import (
        TrainingColumns,
        read_training_parquet,
        read_training_table,
        typical_row,
    )
    from deciban.cli.files import find_files
    from deciban.cli.outputs import require_outputs

    team = _Team.join(model, coordinator, processes, process)
    checkpoint = output.with_name(f"{output.name}.checkpoint") if model is Kind.cda else None
    outputs = {"--output": output, "--report": report}
    with team.together():
        if team.is_first:
            require_outputs(outputs, (table, checkpoint), force=force)
        require_seed(seed)
        if not 0 <= validation < 1:
            raise InputError(
                f"--validation must be at least 0 and below 1; got {validation}. Give 0.2."
            )
        columns = TrainingColumns(label, features, ignore, impute)
        needed = report is not None
        if memory is None and find_files(table) == [table]:
            data = read_training_table(table, table_format, columns, validation, seed, needed)
        else:
            _refuse_closed_forms(model, table, open_set)
            data = read_training_parquet(
                table, columns, validation, seed, needed, 1.0 if memory is None else memory
            )
    team.print_notes(data.notes)
    estimator = _make_model(model, seed, checkpoint, epochs=epochs, batch_size=batch_size)
    if open_set is not None:
        estimator = _open(estimator, open_set, data.train[1])
    try:
        _fit(estimator, data.train, team)
    except CheckpointError:
        with team.together():
            if team.is_first:
                _discard(checkpoint, force)
        _fit(estimator, data.train, team)
    with team.together():
        if team.is_first:
            estimator.save(output, replace=force)
            if checkpoint is not None:
                checkpoint.unlink(missing_ok=True)
    if not team.is_first:
        return
    learned = estimator.columns_
    typical = typical_row(learned).with_columns(cs.temporal().cast(pl.String)).row(0, named=True)
    known = getattr(estimator, "estimator_", estimator)
    summary: dict[str, Any] = {
        "model": type(known).__name__,
        "file": str(output),
        "rows": data.n_rows,
        "features": learned.features,
        "classes": estimator.classes_.tolist(),
        "filled": {learned.names[k]: typical[learned.names[k]] for k in learned.gaps},
    }
    if open_set is not None:
        learned_from = "rows" if estimator.density == "samples" else "classes"
        summary["open_set"] = {
            "class": estimator.other, "learned_from": learned_from, "prior": estimator.p_other,
        }  # fmt: skip
    if getattr(known, "selection_", None):
        from deciban.discriminant.selection import describe_choice

        summary |= {
            "selection": known.selection_,
            "choice": describe_choice(known.selection_),
        }
    assessment = None
    if data.held_out is not None:
        from deciban.assessment import assess

        rows, X, y = data.held_out
        evidence = estimator.evidence(X)
        if open_set is not None and estimator.density == "new class":
            evidence = evidence.restrict(known.classes_.tolist())  # no row to assess it by
        assessment = assess(y, evidence, n_resamples=500, rng=seed)
        summary["held_out"] = assessment.to_dict()
        if report is not None:
            cards = _cards(summary, data.name, len(y))
            cards["training"] = getattr(known, "history_", None)
            cards["rows"] = rows + 1
            write_report(report, table, y, evidence, assessment, force, **cards)
    _show(summary, assessment, data.name, report, as_json)


def _refuse_closed_forms(model: Kind, table: str, open_set: str | None) -> None:
    if open_set is not None:
        raise InputError(
            f"--open-set must come with a table that is read at once; got {table}, which is read "
            "in parts. Give one file, without --memory."
        )
    if model is not Kind.cda:
        raise InputError(
            f"--model must be cda for tables that are read in parts; got {model.value} for {table}."
            " Give one file, without --memory."
        )


@dataclass(frozen=True)
class _Team:
    """The processes that fit one model: by default, this one alone.

    What is inside of ``together()`` is done by all; an error of one is raised by all of them.
    """

    is_first: bool = True
    together: Callable[[], AbstractContextManager[None]] = nullcontext

    @classmethod
    def join(cls, model: Kind, *address: Any) -> _Team:
        """Join the others, if there are any."""
        if address == (None, None, None):
            return cls()
        if model is not Kind.cda:
            raise InputError(
                f"--processes must come with --model cda; got {model.value}, which one process is "
                "enough for. Leave it out."
            )
        from deciban.flows import processes

        processes.join_processes(*address)
        return cls(processes.is_first(), processes.together)

    def print_notes(self, notes: Iterable[str]) -> None:
        """Print notes, once."""
        if self.is_first:
            print_notes(notes)


def _cards(summary: dict[str, Any], table: str, n_held_out: int) -> dict[str, Any]:
    """What the report says about the model and the data."""
    return {
        "model_card": {
            "model": summary["model"],
            "trained on": count(summary["rows"], "row"),
            "features": ", ".join(summary["features"][:30]),
        },
        "data_card": {"table": table, "assessed by": f"{count(n_held_out, 'row')} set aside"},
    }


def _make_model(kind: Kind, seed: int, checkpoint: Path | None, **training: int | None) -> Any:
    from deciban import discriminant

    given: Any = {name: value for name, value in training.items() if value is not None}
    if kind is not Kind.cda and given:
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise InputError(f"{option} must come with --model cda; got {kind.value}. Leave it out.")
    for name, value in given.items():
        if value < 1:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} must be 1 or more; got {value}. Leave it out for the default."
            )
    if kind is Kind.lda:
        return discriminant.LinearDiscriminant()
    if kind is Kind.qda:
        return discriminant.QuadraticDiscriminant()
    options = {"batch_size": given.pop("batch_size")} if "batch_size" in given else None
    return discriminant.CompositionalDiscriminantAnalysis(
        random_state=seed,
        checkpoint=checkpoint,
        verbose=int(sys.stderr.isatty()),
        options=options,
        **given,
    )


def _open(estimator: Any, name: str, y: NDArray[Any]) -> Any:
    """The model with one class more, learned from the rows that bear its name, if there are any."""
    from deciban.open_set import OpenSetDiscriminant

    if not name.strip():
        raise InputError(f"--open-set must be a name; got {name!r}. Give other, for instance.")
    other = _as_label(name, y)
    n = sum(label == other for label in y.tolist())
    if n == 1:
        raise InputError(
            f"--open-set must name a class of two rows or more to learn from, or of none; one of "
            f"those to learn from bears {name}. Add rows of it, or leave it out."
        )
    _require_other_labels(name, [label for label in dict.fromkeys(y.tolist()) if label != other])
    return OpenSetDiscriminant(estimator, other=other, density="samples" if n else "new class")


def _require_other_labels(name: str, labels: list[Hashable]) -> None:
    """Raise unless there are two classes besides the open one, none of them nearly of its name."""
    alike = [one for one in labels if str(one).strip().casefold() == name.strip().casefold()]
    if alike:
        label = quote(str(alike[0]))
        raise InputError(
            f"--open-set must be spelled as its rows are, or be a name of its own; got "
            f"{quote(name)} beside rows labeled {label}. Give --open-set {label} to learn from "
            f"these rows, or another name."
        )
    if len(labels) < 2:
        raise InputError(
            f"--label must have two classes or more besides --open-set {quote(name)}; got "
            f"{join_words(map(quote_name, labels), 5)}. Add rows of another class, or give "
            f"--open-set a name that no row bears."
        )


def _as_label(name: str, y: NDArray[Any]) -> Hashable:
    """A name as a label of the type of the others, where it can be one."""
    if y.dtype.kind == "b" and name.lower() in ("true", "false"):
        return name.lower() == "true"
    if y.dtype.kind in "iu":
        with suppress(ValueError):
            return int(name)
    return name


def _describe_open_set(found: dict[str, Any]) -> str:
    how = "how the classes differ; no row bears it, and the assessment leaves it out"
    how = "its rows" if found["learned_from"] == "rows" else how
    return (
        f"{found['class']!r}: learned from {how}. Its prior in predict is {found['prior']:g} "
        f"unless --prior says otherwise."
    )


def _discard(checkpoint: Path | None, force: bool) -> None:
    """Delete the checkpoint of another fit, or raise unless that was asked for."""
    if checkpoint is None or not force:
        raise InputError(
            f"{checkpoint} is left from an interrupted fit with other data or settings. Repeat "
            "that command to finish it, choose another --output, or pass --force to start over, "
            "which deletes it."
        )
    checkpoint.unlink(missing_ok=True)


def _fit(model: Any, samples: tuple[Any, ...], team: _Team) -> None:
    """Fit a model, or exit with its checkpoint on disk: half a fit is not a model to hand out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*samples)
    if any(issubclass(one.category, InterruptedFitWarning) for one in caught):
        echo("Interrupted. Repeat the command to continue from here.", err=True)
        raise typer.Exit(130)
    team.print_notes(str(one.message) for one in caught)


def _show(
    summary: dict[str, Any],
    assessment: Assessment | None,
    source: str,
    report: Path | None,
    as_json: bool,
) -> None:
    if as_json:
        print_json(summary)
    else:
        sizes = f"{count(len(summary['features']), 'feature')}, {len(summary['classes'])} classes"
        echo(f"{summary['model']} from {count(summary['rows'], 'row')} of {source}: {sizes}")
        echo(f"Features: {join_words(summary['features'])}")
        if "choice" in summary:
            echo(summary["choice"])
        if "open_set" in summary:
            echo(_describe_open_set(summary["open_set"]))
        if assessment is None:
            echo("No rows were set aside to assess it: --validation is 0, or a class is too rare.")
        else:
            print_assessment(assessment, "Rows set aside")
    echo(f"Model: {summary['file']}", err=as_json)
    if report is not None:
        echo(f"Report: {report}", err=as_json)
