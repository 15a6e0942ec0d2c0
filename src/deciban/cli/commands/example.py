"""``deciban example``: data to try the other commands on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deciban.cli.commands.example_data import EXAMPLES
from deciban.cli.io.tables import nearest, require_new
from deciban.cli.io.writing import make_folder
from deciban.exceptions import InputError

EXAMPLE = "Example: deciban example --all"


def example(
    name: Annotated[str | None, typer.Argument(help="Name of a file; none lists them.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File or folder to write to, or - for standard output; by default the file's own "
            "name, here.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of them, into the folder that --output names.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over files.")] = False,
) -> None:
    """Write small tables that the examples of all other commands take, as printed.

    They are the same each time. Those of flowers are Fisher's; the others are drawn.
    """
    if every:
        if name is not None:
            raise InputError(f"NAME must be left out with --all; got {name!r}. Choose one.")
        targets = _in_folder(output or Path())
    elif name is None:
        if output is not None:
            raise InputError("--output must come with NAME or --all; got neither. Name a file.")
        _list(as_json)
        return
    else:
        known = _known(name)
        if output == Path("-"):
            typer.echo(EXAMPLES[known].make(), nl=False)
            return
        inside = output is not None and output.is_dir()
        targets = {known: output / known if output and inside else output or Path(known)}
    _write(targets, as_json, force)


def _known(name: str) -> str:
    """The file that is meant; its ending may be left out."""
    for known in EXAMPLES:
        if name in (known, known.partition(".")[0]):
            return known
    hint = nearest(name, EXAMPLES) or nearest(name, (one.partition(".")[0] for one in EXAMPLES))
    raise InputError(
        f"NAME must be one of {', '.join(EXAMPLES)}; got {name!r}.{hint or ' Choose one of them.'}"
    )


def _in_folder(folder: Path) -> dict[str, Path]:
    if folder == Path("-") or (folder.exists() and not folder.is_dir()):
        raise InputError(
            f"--output must be a folder with --all; got {folder}. Name one that is there or not."
        )
    make_folder(folder)
    return {name: folder / name for name in EXAMPLES}


def _write(targets: dict[str, Path], as_json: bool, force: bool) -> None:
    """All of the files, once each of them may be written."""
    from deciban._persistence.atomic import write_atomically
    from deciban.cli.io.formats import refusals

    for path in targets.values():
        require_new(path, force)
    for name, path in targets.items():
        with refusals(str(path), "must be a file that can be written"):
            write_atomically(path, EXAMPLES[name].make())
    if as_json:
        typer.echo(json.dumps({"written": list(map(str, targets.values()))}, indent=2))
        return
    for name, path in targets.items():
        typer.echo(f"{path}: {EXAMPLES[name].about}")
    if len(targets) == 1:
        typer.echo(f"Next: {EXAMPLES[next(iter(targets))].command}")


def _list(as_json: bool) -> None:
    if as_json:
        found = [
            {"name": name, "about": one.about, "command": one.command}
            for name, one in EXAMPLES.items()
        ]
        typer.echo(json.dumps({"examples": found}, ensure_ascii=False, indent=2))
        return
    width = max(map(len, EXAMPLES))
    for name, one in EXAMPLES.items():
        typer.echo(f"{name:{width}}  {one.about}\n    {one.command}")
    typer.echo("Write one with: deciban example NAME. All of them with: deciban example --all.")
