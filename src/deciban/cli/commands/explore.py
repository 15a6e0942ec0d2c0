"""``deciban explore``: a page to explore evidence with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from deciban.cli.options import Force, Json, ScoreOptions, option, with_options
from deciban.cli.show import echo, print_json
from deciban.exceptions import InputError

EXAMPLE = "Example: deciban explore scores.csv --truth class -o explorer.html"


@with_options
def explore(
    columns: ScoreOptions,
    table: Annotated[
        str | None,
        typer.Argument(help="Table of scores, or of features with --model; - for standard input."),
    ] = None,
    model: Annotated[
        Path | None, option("Model file written by `deciban fit`: the table holds features, and "
                            "samples get neighbors and counterfactuals.", "FILE"),
    ] = None,
    output: Annotated[
        Path, option("HTML page to write.", "FILE", "--output", "-o")
    ] = Path("explorer.html"),
    max_samples: Annotated[
        int | None, option("Number of samples in the page; of more, so many are chosen at random. "
                           "By default as many as fit into three megabytes.", "N"),
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Write a page to explore evidence with: it opens from disk, and nothing leaves the machine.

    Drag the prior and pieces of evidence, change costs, move the divergences of a calibrated
    family, look at scores before and after calibration, and at single samples. The samples of the
    table are in the page; without a table, drop one onto the page. Scores are read as by
    `deciban evaluate`. With --model, --truth may be left out.
    """
    from deciban._persistence.files import write_atomically
    from deciban.cli.outputs import require_outputs
    from deciban.report.explorer import explorer

    if table is None and (model is not None or columns != ScoreOptions()):
        raise InputError("TABLE must be given with options about it; got none. Name the file.")
    if max_samples is not None and max_samples < 1:
        raise InputError(f"--max-samples must be at least 1; got {max_samples}. Leave it out.")
    inputs = () if table is None else (*columns.inputs(table), model)
    require_outputs({"--output": output}, inputs, force=force)
    given = {} if table is None else _read(table, model, columns)
    title = "Explore evidence" if table in (None, "-") else Path(str(table)).name
    write_atomically(output, explorer(title=title, max_samples=max_samples, **given), replace=force)
    if as_json:
        print_json({"written": str(output)})
    else:
        echo(f"Open {output}")


def _read(table: str, model: Path | None, columns: ScoreOptions) -> dict[str, Any]:
    """Evidence and truth of the table, by the model if there is one."""
    if model is None:
        from deciban.cli.columns import read_scores

        scored = read_scores(table, columns)
        for note in scored.notes:
            echo(note, err=True)
        return {"evidence": scored.evidence, "y_true": scored.y_true}
    from deciban.cli.features import open_model, read_rows

    if columns != ScoreOptions(truth=columns.truth, table_format=columns.table_format):
        raise InputError(
            "--model must come without options about scores, which the model gives; got some. "
            "Only --truth and --format may be given."
        )
    estimator, source = open_model(model, table, columns.table_format)
    names = list(estimator.columns_.names)
    truth = None if columns.truth is None else source.require_column(columns.truth, "--truth")
    frame = source.read([*names, *([] if truth is None or truth in names else [truth])])
    if not len(frame):
        raise source.error("must hold rows; it holds none. Give a table with samples.")
    X = read_rows(estimator.columns_, frame, source.name)
    return {"model": estimator, "X": X, "y_true": _truth(frame, truth, source.name)}


def _truth(frame: Any, column: str | None, name: str) -> Any:
    if column is None:
        return None
    from deciban._validation.labels import label_array
    from deciban.cli.cells import Column, encode_labels

    labels, codes = encode_labels(Column(frame[column], name))
    return label_array(labels)[codes]
