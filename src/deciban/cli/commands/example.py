"""``deciban example``: data to try the other commands on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deciban.cli.options import Force, Json, option
from deciban.cli.show import echo, print_json
from deciban.cli.words import quote, suggest
from deciban.exceptions import InputError

EXAMPLE = "Example: deciban example --all"
_FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES: dict[str, dict[str, str]] = {
    one["name"]: one for one in json.loads((_FOLDER / "index.json").read_text())
}


def example(
    name: Annotated[
        str | None, typer.Argument(help="Name of a file; without it, all are listed.")
    ] = None,
    output: Annotated[
        Path | None,
        option("File or folder to write, or - for standard output.", None, "--output", "-o"),
    ] = None,
    every: Annotated[
        bool, option("Write all of them, into the folder --output.", None, "--all")
    ] = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write small tables on which the examples of all other commands work as printed.

    They are the same each time. The flowers are Fisher's; the others are random.
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
        name = _find(name)
        if output == Path("-"):
            typer.echo((_FOLDER / name).read_bytes(), nl=False)
            return
        inside = output is not None and output.is_dir()
        targets = {name: output / name if output and inside else output or Path(name)}
    _write(targets, as_json, force)


def _find(name: str) -> str:
    """The example of this name, whose extension may be left out."""
    stems = {one.partition(".")[0]: one for one in EXAMPLES}
    if name in EXAMPLES or name in stems:
        return stems.get(name, name)
    hint = suggest(name, [*EXAMPLES, *stems]) or " Choose one of them."
    raise InputError(f"NAME must be one of {', '.join(EXAMPLES)}; got {quote(name)}.{hint}")


def _in_folder(folder: Path) -> dict[str, Path]:
    from deciban.cli.outputs import make_folder

    if folder == Path("-") or (folder.exists() and not folder.is_dir()):
        raise InputError(
            f"--output must be a folder with --all; got {folder}. Name a folder, which need not "
            "exist yet."
        )
    make_folder(folder)
    return {name: folder / name for name in EXAMPLES}


def _write(targets: dict[str, Path], as_json: bool, force: bool) -> None:
    """Write all of the files, once each of them may be written."""
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
        echo(f"{path}: {EXAMPLES[name]['about']}")
    if len(targets) == 1:
        echo(f"Next: {EXAMPLES[next(iter(targets))]['command']}")


def _list(as_json: bool) -> None:
    if as_json:
        print_json({"examples": list(EXAMPLES.values())})
        return
    width = max(map(len, EXAMPLES))
    for name, one in EXAMPLES.items():
        echo(f"{name:{width}}  {one['about']}\n    {one['command']}")
    echo("Write one with: deciban example NAME. All of them with: deciban example --all.")
