"""``deciban fit``: a model from a table."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.columns import coded
from deciban.cli.io.tables import read_table, require_new
from deciban.cli.recipe import Recipe, chosen_columns
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

EXAMPLE = "Example: deciban fit iris.csv --label species -o iris.deciban --report iris.html"
_LEAST_HELD_OUT = 2  # samples a class, to judge a model by


class Kind(StrEnum):
    """What is fitted."""

    cda = "cda"
    lda = "lda"
    qda = "qda"


def fit(
    table: Annotated[str, typer.Argument(help="Table to learn from, or - for standard input.")],
    label: Annotated[str, typer.Option(help="Column of the class.", metavar="COLUMN")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the model.", metavar="FILE")
    ],
    model: Annotated[Kind, typer.Option(help="Compositional, linear or quadratic.")] = Kind.cda,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, with commas; all by default.", metavar="COLUMNS"),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Columns to leave out, with commas.", metavar="COLUMNS")
    ] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill gaps: medians of numbers, commonest texts.")
    ] = False,
    validation: Annotated[
        float, typer.Option(help="Share of the rows that judge the model; 0 for none.")
    ] = 0.2,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the rows (CDA); chosen by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed, the same model.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="HTML page on how good it is.", metavar="FILE")
    ] = None,
    table_format: Annotated[
        str | None, typer.Option("--format", help="Of the table, where its name does not tell.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over files.")] = False,
) -> None:
    """Learn from a table what its columns say about a class, and keep the model in a file.

    Numbers are taken as they are, text becomes a feature for each of its values but the first. A
    part of the rows judges the model and is not learnt from. A fit that is interrupted goes on
    where it stopped: give the same command again.
    """
    require_new(output, force)
    if report is not None:
        require_new(report, force, option="--report")
    if not 0 <= validation < 1:
        raise InputError(
            f"--validation must be at least 0 and below 1; got {validation}. Give 0.2."
        )
    frame = read_table(table, format=table_format)
    names = chosen_columns(frame.columns, label, features, ignore, table)
    labels, codes = coded(frame[label], table)
    kept, held_out = _split(codes, len(labels), validation, seed)
    recipe = Recipe.learn(frame, label, names, impute, table, kept)
    for doubt in recipe.doubts(frame):
        typer.echo(f"Note: {doubt}", err=True)
    X = recipe.matrix(frame, table)
    if report is not None and held_out is None:
        raise InputError("--report must have rows to judge by; got --validation 0. Give 0.2.")
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    made = _made(model, epochs, seed, checkpoint)
    _fit_whole(made, X[kept], _named(labels, codes[kept]))
    made.save(output, extra=recipe.to_plain())
    checkpoint.unlink(missing_ok=True)
    summary = _summary(made, recipe, output, len(kept))
    assessment = None
    if held_out is not None:
        truth = _named(labels, codes[held_out])
        assessment = _judged(made, X[held_out], truth, seed)
        summary["held_out"] = assessment.to_dict()
        if report is not None:
            _write_report(report, table, made, X[held_out], truth, assessment, summary)
    _tell(summary, assessment, table, report, as_json)


def _split(codes: np.ndarray, n_classes: int, share: float, seed: int
           ) -> tuple[np.ndarray, np.ndarray | None]:  # fmt: skip
    """Rows to learn from, and rows to judge by, of every class alike."""
    import numpy as np

    rows = np.arange(len(codes))
    counts = np.bincount(codes, minlength=n_classes)
    if share == 0 or round(share * counts.min()) < 1 or counts.min() < _LEAST_HELD_OUT:
        return rows, None
    from sklearn.model_selection import train_test_split

    a, b = train_test_split(rows, test_size=share, stratify=codes, random_state=seed)
    return np.sort(a), np.sort(b)


def _named(labels: tuple[Any, ...], codes: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.array(labels)[codes]


def _made(kind: Kind, epochs: int | None, seed: int, checkpoint: Path) -> Any:
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


def _fit_whole(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Fit a model, or leave with its checkpoint kept: half a fit is no model to hand out."""
    import warnings

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    if any("was interrupted" in str(one.message) for one in told):
        typer.echo("Interrupted. Give the same command again to go on from here.", err=True)
        raise typer.Exit(130)
    for one in told:
        typer.echo(f"Note: {' '.join(str(one.message).split())}", err=True)


def _judged(model: Any, X: np.ndarray, truth: np.ndarray, seed: int) -> Any:
    from deciban.assessment import assess

    return assess(truth, model.evidence(X), n_resamples=500, rng=seed)


def _summary(model: Any, recipe: Recipe, output: Path, n: int) -> dict[str, Any]:
    return {
        "model": type(model).__name__,
        "file": str(output),
        "rows": n,
        "features": recipe.features,
        "classes": model.classes_.tolist(),
        "filled": recipe.fill,
    }


def _write_report(
    path: Path, table: str, model: Any, X: np.ndarray, truth: np.ndarray, assessment: Any,
    summary: dict[str, Any],
) -> None:  # fmt: skip
    from deciban._persistence import write_atomically
    from deciban.report import report

    title = "Standard input" if table == "-" else Path(table).name
    cards = {
        "model_card": {
            "model": summary["model"],
            "learnt from": f"{summary['rows']:,} rows",
            "features": ", ".join(summary["features"][:30]),
        },
        "data_card": {"table": title, "judged by": f"{len(truth):,} rows that were set aside"},
    }
    history = getattr(model, "history_", None)
    page = report(truth, model.evidence(X), title=title, assessment=assessment, training=history,
                  **cards)  # fmt: skip
    write_atomically(path, page)


def _tell(
    summary: dict[str, Any], assessment: Any, table: str, report: Path | None, as_json: bool
) -> None:
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2))
    else:
        classes = summary["classes"]
        typer.echo(f"{summary['model']} from {summary['rows']:,} rows of {table}: "
                   f"{len(summary['features'])} features, {len(classes)} classes")  # fmt: skip
        if assessment is None:
            typer.echo("No rows were set aside to judge it: --validation 0, or a class too rare.")
        else:
            from deciban.cli.commands.evaluate import show

            show(assessment, "Rows set aside")
    for what, path in (("Model", summary["file"]), ("Report", report)):
        if path is not None:
            typer.echo(f"{what}: {path}", err=as_json)
