"""``deciban fit``: a model from a table."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.commands.evaluate import write_report
from deciban.cli.options import Force, Format, Json, Report, Seed, Table, option, require_seed
from deciban.cli.show import echo, print_assessment, print_json, print_notes
from deciban.cli.words import count, join_words
from deciban.exceptions import CheckpointError, InputError, InterruptedFitWarning

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.assessment import Assessment
    from deciban.cli.cells import Labels

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
    validation: Annotated[
        float, option("Fraction of the rows set aside to assess the model; 0 for none.", "0-1")
    ] = 0.2,
    epochs: Annotated[
        int | None, option("Number of passes over the rows (CDA); automatic by default.", "N")
    ] = None,
    seed: Seed = 0,
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

    Several processes, on as many machines, train one model together where each runs this command
    with the same --coordinator and --processes and its own --process. Process 0 writes the files.
    """
    import polars as pl
    import polars.selectors as cs

    from deciban._validation.labels import label_array
    from deciban.cli.cells import DOUBTFUL, Column, encode_labels
    from deciban.cli.features import describe_doubts, select_features, type_columns, typical_row
    from deciban.cli.io.sources import open_table
    from deciban.cli.io.writing import require_outputs

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
        source = open_table(table, table_format)
        names = select_features(source, label, features, ignore)
        frame = source.read([label, *names])
        labels, codes = encode_labels(Column(frame[label], source.name))
        if len(labels) == len(codes):
            raise InputError(
                f"{label} has {len(labels):,} classes in {len(codes):,} rows; a class needs at "
                "least two rows. Is it the right --label?"
            )
        train, held_out = _split_rows(codes, labels, validation, seed, report is not None)
        X = type_columns([Column(frame[name], source.name) for name in names], impute)
    notes = [
        f"{label!r} is taken as a class. If it stands for a missing label, give a copy of the "
        "table without such rows."
        for label in labels
        if str(label).strip().lower() in DOUBTFUL
    ]
    team.print_notes([*notes, *describe_doubts(frame, X)])
    y = label_array(labels)[codes]
    estimator = _make_model(model, epochs, seed, checkpoint)
    try:
        _fit(estimator, X[train], y[train], team)
    except CheckpointError:
        with team.together():
            if team.is_first:
                _discard(checkpoint, force)
        _fit(estimator, X[train], y[train], team)
    with team.together():
        if team.is_first:
            estimator.save(output, replace=force)
            if checkpoint is not None:
                checkpoint.unlink(missing_ok=True)
    if not team.is_first:
        return
    columns = estimator.columns_
    typical = typical_row(columns).with_columns(cs.temporal().cast(pl.String)).row(0, named=True)
    summary: dict[str, Any] = {
        "model": type(estimator).__name__,
        "file": str(output),
        "rows": len(train),
        "features": columns.features,
        "classes": estimator.classes_.tolist(),
        "filled": {columns.names[k]: typical[columns.names[k]] for k in columns.gaps},
    }
    if getattr(estimator, "selection_", None):
        from deciban.discriminant.selection import describe_choice

        summary |= {
            "selection": estimator.selection_,
            "choice": describe_choice(estimator.selection_),
        }
    assessment = None
    if held_out is not None:
        from deciban.assessment import assess

        evidence = estimator.evidence(X[held_out])
        assessment = assess(y[held_out], evidence, n_resamples=500, rng=seed)
        summary["held_out"] = assessment.to_dict()
        if report is not None:
            cards = _cards(summary, source.name, len(held_out))
            cards["training"] = getattr(estimator, "history_", None)
            cards["rows"] = held_out + 1
            write_report(report, table, y[held_out], evidence, assessment, force, **cards)
    _show(summary, assessment, source.name, report, as_json)


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


def _split_rows(
    codes: Rows, labels: Labels, share: float, seed: int, needed: bool
) -> tuple[Rows, Rows | None]:
    """Rows to learn from, and rows to assess the model by: the same share of every class."""
    import numpy as np

    counts = np.bincount(codes, minlength=len(labels))
    rarest, n = labels[int(np.argmin(counts))], int(counts.min())
    aside = np.round(share * counts).astype(int)  # of each class
    too_rare = n < 2 or int(aside.min()) < 1
    if needed and share == 0:
        raise InputError(
            "--report must have rows to assess the model by; got --validation 0. Give 0.2."
        )
    if needed and too_rare:
        remedy = "Add rows of it" if n < 2 else f"Give --validation {min(0.5 / n + 0.005, 0.5):.2f}"
        raise InputError(
            f"--report must have rows of every class to assess the model by; class {rarest!r} has "
            f"{count(n, 'row')}, of which --validation {share:g} sets none aside. {remedy}, "
            "or leave out --report."
        )
    if too_rare:
        return np.arange(len(codes)), None
    if int((counts - aside).min()) < 1:
        raise InputError(
            f"--validation must leave rows of every class to learn from; got {share:g}, and class "
            f"{rarest!r} has {count(n, 'row')}. Give 0.2."
        )
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]  # class by class
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    held_out = rank < np.repeat(aside, counts)
    return np.sort(order[~held_out]), np.sort(order[held_out])


def _make_model(kind: Kind, epochs: int | None, seed: int, checkpoint: Path | None) -> Any:
    from deciban import discriminant

    if kind is not Kind.cda and epochs is not None:
        raise InputError(f"--epochs must come with --model cda; got {kind.value}. Leave it out.")
    if kind is Kind.lda:
        return discriminant.LinearDiscriminant()
    if kind is Kind.qda:
        return discriminant.QuadraticDiscriminant()
    return discriminant.CompositionalDiscriminantAnalysis(
        epochs="auto" if epochs is None else epochs,
        random_state=seed,
        checkpoint=checkpoint,
        verbose=int(sys.stderr.isatty()),
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


def _fit(model: Any, X: pl.DataFrame, y: np.ndarray, team: _Team) -> None:
    """Fit a model, or exit with its checkpoint on disk: half a fit is not a model to hand out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
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
        if assessment is None:
            echo("No rows were set aside to assess it: --validation is 0, or a class is too rare.")
        else:
            print_assessment(assessment, "Rows set aside")
    echo(f"Model: {summary['file']}", err=as_json)
    if report is not None:
        echo(f"Report: {report}", err=as_json)
