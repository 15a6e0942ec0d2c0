"""``deciban fit``: a model from a table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from deciban.cli import options as opt
from deciban.cli.commands.evaluate import write_report
from deciban.cli.options import option
from deciban.cli.show import echo, print_assessment, print_json, print_notes, print_report
from deciban.cli.words import count, join_words, quote
from deciban.exceptions import CheckpointError, InputError, InterruptedFitWarning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deciban.assessment import Assessment
    from deciban.cli.features import Data
    from deciban.evidence import Evidence

_TOGETHER = "Several machines"


class Kind(StrEnum):
    """Kind of model."""

    cda = "cda"
    lda = "lda"
    qda = "qda"


def fit(
    table: opt.Table,
    label: Annotated[str, option("Column of the class.", "COLUMN")],
    output: Annotated[Path, option("Model file to write.", "FILE", "--output", "-o")],
    model: Annotated[
        Kind, option("Compositional, linear or quadratic discriminant analysis.")
    ] = Kind.cda,
    features: Annotated[
        str | None, option("Columns to learn from, separated by commas; all by default.", "COLUMNS")
    ] = None,
    ignore: Annotated[
        str | None, option("Columns to leave out, separated by commas.", "COLUMNS")
    ] = None,
    open_set: Annotated[
        str | None, option("Add a class of this name for samples of none of the other classes. It "
                           "is learned from its rows, if there are any.", "NAME"),
    ] = None,
    validation: Annotated[
        float, option("Fraction of the rows to set aside and assess the model on; 0 for none.",
                      "0-1"),
    ] = 0.2,
    epochs: Annotated[
        int | None, option("Number of passes over the rows (CDA); automatic by default.", "N")
    ] = None,
    batch_size: Annotated[
        int | None, option("Number of rows in a training step, over all devices (CDA); automatic "
                           "by default.", "N"),
    ] = None,
    memory: Annotated[
        float | None, option("Read Parquet files in parts that take this much memory (CDA); 1 by "
                             "default for a folder or a pattern of files.", "GB"),
    ] = None,
    coordinator: Annotated[
        str | None, option("Address of process 0, to train one model with several processes.",
                           "HOST:PORT", panel=_TOGETHER),
    ] = None,
    processes: Annotated[
        str | None, option("Number of processes, such as 4; with the number of this process, from "
                           "0, unless Slurm or MPI provide it: 0/4.", "[K/]N", panel=_TOGETHER),
    ] = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Fit a model to a table and save it.

    Numbers are used as they are; dates become days, and text becomes a feature for each of its
    values but the first. Missing values are filled in with medians or the most frequent text, and
    become features of their own. Some rows are set aside to assess the model. To continue an
    interrupted fit, give the command again.

    A folder of Parquet files, or a quoted pattern such as 'train/*.parquet', may exceed the memory:
    the files are read in parts, again in each epoch.

    To train one model on several machines, run this command on each with the same --coordinator and
    --processes. Process 0 writes the files.

    Example: deciban fit iris.csv --label species -o iris.deciban --report iris.html
    """
    from deciban.cli.outputs import require_outputs

    team = _Team.join(model, coordinator, processes)
    checkpoint = output.with_name(f"{output.name}.checkpoint") if model is Kind.cda else None
    with team.together():
        if team.is_first:
            outputs = {"--output": output, "--report": report}
            require_outputs(outputs, (table, checkpoint), force=force)
        estimator = _make_model(model, checkpoint, epochs=epochs, batch_size=batch_size)
        data = _read(table, model, label, features, ignore, open_set, validation, memory, report)
    if open_set is not None:
        estimator = _add_open_class(estimator, open_set, data.train[1])
    if team.is_first:
        print_notes(data.notes)
    notes = _train(estimator, data, team, checkpoint, force)
    with team.together():
        if team.is_first:
            estimator.save(output, replace=force)
            if checkpoint is not None:
                checkpoint.unlink(missing_ok=True)
    if not team.is_first:
        return
    print_notes(notes)
    summary = _summarize(estimator, data, output)
    assessment = None
    if data.held_out is not None:
        evidence, assessment = _assess(estimator, data)
        summary["held_out"] = assessment.to_dict()
        if report is not None:
            _write_report(report, table, estimator, data, evidence, assessment, summary, force)
    _print_summary(summary, assessment, data.name, as_json)
    echo(f"Model: {output}", err=as_json)
    print_report(report, as_json)


def _read(
    table: str, model: Kind, label: str, features: str | None, ignore: str | None,
    open_set: str | None, validation: float, memory: float | None, report: Path | None,
) -> Data:  # fmt: skip
    from deciban.cli.features import (
        TrainingColumns,
        read_training_parquet,
        read_training_table,
    )
    from deciban.cli.files import find_files

    if not 0 <= validation < 1:
        raise InputError(f"--validation must be at least 0 and below 1; got {validation}.")
    columns, needed = TrainingColumns(label, features, ignore), report is not None
    if memory is None and find_files(table) == [table]:
        return read_training_table(table, columns, validation, needed)
    if open_set is not None or model is not Kind.cda:
        name = f"--model {model.value}" if open_set is None else "--open-set"
        raise InputError(f"{name} needs a table read at once; {table} is read in parts.")
    return read_training_parquet(
        table, columns, validation, needed, 1.0 if memory is None else memory
    )


class _Team(NamedTuple):
    """Processes that fit one model; code inside ``together()`` fails in all or in none."""

    is_first: bool = True
    together: Callable[[], AbstractContextManager[None]] = nullcontext

    @classmethod
    def join(cls, model: Kind, coordinator: str | None, processes: str | None) -> _Team:
        if coordinator is None and processes is None:
            return cls()
        if model is not Kind.cda:
            raise InputError(f"--processes trains a CDA; leave it out for --model {model.value}.")
        from deciban.flows import processes as flow_processes

        number, _, total = (processes or "").rpartition("/")
        if processes is not None and not (total.isdigit() and (number or "0").isdigit()):
            raise InputError(f"--processes must be like 4, or 0/4; got {quote(processes)}.")
        flow_processes.join_processes(
            coordinator, int(total) if total else None, int(number) if number else None
        )
        return cls(flow_processes.is_first(), flow_processes.together)


def _make_model(kind: Kind, checkpoint: Path | None, **training: int | None) -> Any:
    from deciban import discriminant

    given: Any = {name: value for name, value in training.items() if value is not None}
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if kind is not Kind.cda:
            raise InputError(f"{option} is for --model cda; got {kind.value}. Leave it out.")
        if value < 1:
            raise InputError(f"{option} must be 1 or more; got {value}.")
    if kind is Kind.lda:
        return discriminant.LinearDiscriminant()
    if kind is Kind.qda:
        return discriminant.QuadraticDiscriminant()
    options = {"batch_size": given.pop("batch_size")} if "batch_size" in given else None
    return discriminant.CompositionalDiscriminantAnalysis(
        random_state=0, checkpoint=checkpoint, verbose=int(sys.stderr.isatty()), options=options,
        **given,
    )  # fmt: skip


def _add_open_class(estimator: Any, name: str, y: NDArray[Any]) -> Any:
    """The model with one class more, learned from the rows of this name if there are any."""
    from deciban.open_set import OpenSetDiscriminant

    if not name.strip():
        raise InputError(f"--open-set must be a name; got {name!r}. Give other, for instance.")
    other = _as_label(name, y)
    labels = y.tolist()
    n = labels.count(other)
    if n == 1:
        raise InputError(f"--open-set {name} has one row to learn from. Add rows, or leave it out.")
    _check_other_labels(name, [label for label in dict.fromkeys(labels) if label != other])
    return OpenSetDiscriminant(estimator, other=other, density="samples" if n else "new class")


def _check_other_labels(name: str, labels: list[Hashable]) -> None:
    """Require two classes besides the open one, with names that cannot be mistaken for it."""
    alike = [one for one in labels if str(one).strip().casefold() == name.strip().casefold()]
    if alike:
        label = quote(str(alike[0]))
        raise InputError(
            f"--open-set is {quote(name)}, and some rows are labeled {label}. Give --open-set "
            f"{label} to learn from these rows, or another name."
        )
    if len(labels) < 2:
        raise InputError(f"--label must have two classes or more besides --open-set {quote(name)}.")


def _as_label(name: str, y: NDArray[Any]) -> Hashable:
    """The name with the type that the labels have, if it can be converted."""
    if y.dtype.kind == "b" and name.lower() in ("true", "false"):
        return name.lower() == "true"
    if y.dtype.kind in "iu":
        with suppress(ValueError):
            return int(name)
    return name


def _train(
    estimator: Any, data: Data, team: _Team, checkpoint: Path | None, force: bool
) -> list[str]:
    """Fit a model and return what there is to note; start over if --force deletes a checkpoint."""
    try:
        return _fit(estimator, data.train)
    except CheckpointError:
        with team.together():
            if team.is_first and checkpoint is not None:
                if not force:
                    raise InputError(
                        f"{checkpoint} is left from an interrupted fit with other data or "
                        "settings. Repeat that command to finish it, choose another --output, or "
                        "pass --force to start over, which deletes it."
                    ) from None
                checkpoint.unlink(missing_ok=True)
        return _fit(estimator, data.train)


def _fit(model: Any, samples: tuple[Any, ...]) -> list[str]:
    """Fit a model, or exit with its checkpoint on disk: half a fit is not a model to hand out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*samples)
    if any(issubclass(one.category, InterruptedFitWarning) for one in caught):
        echo("Interrupted. Repeat the command to continue from here.", err=True)
        raise typer.Exit(130)
    return [str(one.message) for one in caught]


def _closed(estimator: Any) -> Any:
    """The model for known classes, without the open set around it."""
    return getattr(estimator, "estimator_", estimator)


def _summarize(estimator: Any, data: Data, output: Path) -> dict[str, Any]:
    import polars as pl
    import polars.selectors as cs

    from deciban.cli.features import typical_row

    learned, known = estimator.columns_, _closed(estimator)
    typical = typical_row(learned).with_columns(cs.temporal().cast(pl.String)).row(0, named=True)
    summary: dict[str, Any] = {
        "model": type(known).__name__,
        "file": str(output),
        "rows": data.n_rows,
        "features": learned.features,
        "classes": estimator.classes_.tolist(),
        "filled": {learned.names[k]: typical[learned.names[k]] for k in learned.gaps},
    }
    if known is not estimator:
        learned_from = "rows" if estimator.density == "samples" else "classes"
        summary["open_set"] = {
            "class": estimator.other, "learned_from": learned_from, "prior": estimator.p_other,
        }  # fmt: skip
    if getattr(known, "selection_", None):
        from deciban.discriminant.selection import describe_choice

        summary |= {"selection": known.selection_, "choice": describe_choice(known.selection_)}
    return summary


def _assess(estimator: Any, data: Data) -> tuple[Evidence, Assessment]:
    from deciban.assessment import assess

    _, X, y = data.held_out  # type: ignore[misc]
    evidence = estimator.evidence(X)
    if getattr(estimator, "density", "") == "new class":  # no row to assess it by
        evidence = evidence.restrict(_closed(estimator).classes_.tolist())
    return evidence, assess(y, evidence, n_resamples=500, rng=0)


def _write_report(
    path: Path, table: str, estimator: Any, data: Data, evidence: Evidence,
    assessment: Assessment, summary: dict[str, Any], force: bool,
) -> None:  # fmt: skip
    rows: np.ndarray
    rows, _, y = data.held_out  # type: ignore[misc]
    cards = {
        "model_card": {
            "model": summary["model"],
            "trained on": count(summary["rows"], "row"),
            "features": ", ".join(summary["features"][:30]),
        },
        "data_card": {"table": data.name, "assessed by": f"{count(len(y), 'row')} set aside"},
        "training": getattr(_closed(estimator), "history_", None),
        "rows": rows + 1,
    }
    write_report(path, table, y, evidence, assessment, force, **cards)


def _print_summary(
    summary: dict[str, Any], assessment: Assessment | None, source: str, as_json: bool
) -> None:
    if as_json:
        print_json(summary)
        return
    sizes = f"{count(len(summary['features']), 'feature')}, {len(summary['classes'])} classes"
    echo(f"{summary['model']} from {count(summary['rows'], 'row')} of {source}: {sizes}")
    echo(f"Features: {join_words(summary['features'])}")
    if "choice" in summary:
        echo(summary["choice"])
    if "open_set" in summary:
        found = summary["open_set"]
        how = "how the classes differ; no row has this label, and the assessment leaves it out"
        how = "its rows" if found["learned_from"] == "rows" else how
        echo(
            f"{found['class']!r}: learned from {how}. Its prior in predict is {found['prior']:g} "
            f"unless --prior says otherwise."
        )
    if assessment is None:
        echo("No rows were set aside to assess it: --validation is 0, or a class is too rare.")
    else:
        print_assessment(assessment, "Rows set aside")
