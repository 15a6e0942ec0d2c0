"""``deciban explore`` and ``deciban example``: a page to explore evidence, and tables to try."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from deciban.cli import options as opt
from deciban.cli.options import option
from deciban.cli.show import echo, print_json
from deciban.cli.words import quote, suggest
from deciban.exceptions import InputError

_FOLDER = Path(__file__).parent.parent / "examples"


@opt.with_options
def explore(
    columns: opt.ScoreOptions,
    table: Annotated[
        str | None,
        typer.Argument(help="Table of scores, or of features with --model; - for standard input."),
    ] = None,
    model: Annotated[
        Path | None, option("Model file from `deciban fit`: the table holds features, and samples "
                            "get neighbors and counterfactuals.", "FILE"),
    ] = None,
    output: Annotated[
        Path, option("HTML page to write.", "FILE", "--output", "-o")
    ] = Path("explorer.html"),
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Write an interactive page to explore evidence. It opens from disk and sends nothing.

    Drag the prior and pieces of evidence, change costs, move the divergences of a calibrated
    family, and look at scores before and after calibration, and at single samples. The page
    contains the samples of the table, or a random subsample if there are many; without a table,
    drop one onto the page. Scores are read as by `deciban evaluate`. With --model, --truth is
    optional.

    Example: deciban explore scores.csv --truth class -o explorer.html
    """
    from deciban._persistence.files import write_atomically
    from deciban.cli.outputs import require_outputs
    from deciban.report import explorer

    if table is None and (model is not None or columns != opt.ScoreOptions()):
        raise InputError("Name the table that the options are about.")
    inputs = () if table is None else (*columns.inputs(table), model)
    require_outputs({"--output": output}, inputs, force=force)
    given = {} if table is None else _read(table, model, columns)
    title = "Explore evidence" if table in (None, "-") else Path(str(table)).name
    write_atomically(output, explorer(title=title, **given), replace=force)
    if as_json:
        print_json({"written": str(output)})
    else:
        echo(f"Open {output}")


def _read(table: str, model: Path | None, columns: opt.ScoreOptions) -> dict[str, Any]:
    if model is None:
        from deciban.cli.scores import read_scores

        scored = read_scores(table, columns)
        for note in scored.notes:
            echo(note, err=True)
        return {"evidence": scored.evidence, "y_true": scored.y_true}
    from deciban.cli.features import load_model, read_features, read_rows, read_samples

    if columns != opt.ScoreOptions(columns.labels) or columns.key is not None:
        raise InputError("--model computes the scores. Leave out options about scores.")
    estimator = load_model(model)
    if columns.truth is None:
        source, frame = read_features(estimator, table)
        return {"model": estimator, "X": read_rows(estimator.columns_, frame, source.name)}
    X, y = read_samples(estimator, table, columns.truth, "--truth")
    return {"model": estimator, "X": X, "y_true": y}


def example(
    name: Annotated[
        str | None, typer.Argument(help="Name of a file; without it, all are listed.")
    ] = None,
    output: Annotated[
        Path | None,
        option("File or folder to write, or - for standard output.", "FILE|FOLDER", "--output",
               "-o"),
    ] = None,
    every: Annotated[
        bool, option("Write all files, into the folder --output.", None, "--all")
    ] = False,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Write small example tables.

    The examples of all other commands work on them as printed. The flowers are Fisher's; the other
    tables are random, and the same each time.

    Example: deciban example --all
    """
    if every:
        if name is not None:
            raise InputError(f"Give NAME or --all, not both; got {name!r}.")
        targets = _in_folder(output or Path())
    elif name is None:
        if output is not None:
            raise InputError("--output needs the NAME of an example, or --all.")
        _list(as_json)
        return
    else:
        name = _find(name)
        if output == Path("-"):
            typer.echo((_FOLDER / name).read_bytes(), nl=False)
            return
        inside = output is not None and output.is_dir()
        targets = {name: output / name if output and inside else output or Path(name)}
    _write(targets, as_json, force)


@cache
def _examples() -> dict[str, dict[str, str]]:
    return {one["name"]: one for one in json.loads((_FOLDER / "index.json").read_text())}


def _find(name: str) -> str:
    """The example of this name, whose extension may be left out."""
    stems = {one.partition(".")[0]: one for one in _examples()}
    if name in _examples() or name in stems:
        return stems.get(name, name)
    hint = suggest(name, [*_examples(), *stems]) or " Choose one of them."
    raise InputError(f"NAME must be one of {', '.join(_examples())}; got {quote(name)}.{hint}")


def _in_folder(folder: Path) -> dict[str, Path]:
    from deciban.cli.outputs import make_folder

    if folder == Path("-") or (folder.exists() and not folder.is_dir()):
        raise InputError(f"With --all, --output must be a folder; got {folder}.")
    make_folder(folder)
    return {name: folder / name for name in _examples()}


def _write(targets: dict[str, Path], as_json: bool, force: bool) -> None:
    from deciban._persistence.files import write_atomically
    from deciban.cli.outputs import require_outputs

    for path in targets.values():
        require_outputs({"--output": path}, force=force)
    for name, path in targets.items():
        write_atomically(path, (_FOLDER / name).read_bytes(), replace=force)
    if as_json:
        print_json({"written": list(map(str, targets.values()))})
        return
    for name, path in targets.items():
        echo(f"{path}: {_examples()[name]['about']}")
    if len(targets) == 1:
        echo(f"Next: {_examples()[next(iter(targets))]['command']}")


def _list(as_json: bool) -> None:
    if as_json:
        print_json({"examples": list(_examples().values())})
        return
    width = max(map(len, _examples()))
    for name, one in _examples().items():
        echo(f"{name:{width}}  {one['about']}\n    {one['command']}")
    echo("Write one with: deciban example NAME. All of them with: deciban example --all.")
