"""``deciban demo``: the main job on built-in data, as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from deciban.cli.io.writing import make_folder
from deciban.exceptions import InputError, MissingExtraError

EXAMPLE = "Example: deciban demo --output demo"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write; it is made.", metavar="FOLDER")
    ] = Path("build/demo"),
    seed: Annotated[int, typer.Option(help="Of all that is drawn at random.", metavar="N")] = 7,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON, and no tables.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an earlier one.")] = False,
) -> None:
    """Show what deciban does on data that come with it: a minute, and a page to open.

    Evidence of two sources adds up and becomes a decision; a family of perfectly calibrated
    recognisers is drawn; a compositional discriminant analysis learns evidence from two moons and
    from handwritten digits, with a full report on the latter.
    """
    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must be a whole number from 0 to 2^32 - 1; got {seed}. Give 7.")
    demonstrate, names = _demonstration()
    _require_new(output, names, force)
    demonstrate(output, seed=seed, say=_nothing if as_json else typer.echo)
    if as_json:
        typer.echo(json.dumps({"written": [str(output / name) for name in names]}, indent=2))


def _nothing(text: str) -> None:
    """The tables are not asked for."""


def _demonstration() -> tuple[Any, tuple[str, ...]]:
    """The demonstration, which needs more than the command line does."""
    try:
        from deciban.report.demonstration import FILES, demonstrate
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"deciban demo must have all that it computes and draws with; got an ImportError "
            f"({error}). Run: pip install 'deciban[all]'", extra="all",
        ) from error  # fmt: skip
    return demonstrate, FILES


def _require_new(folder: Path, names: tuple[str, ...], force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output must be a folder; got {folder}, which is a file. Name another.")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise InputError(
            f"--output must be a folder without {there[0]}; {folder} has one. Pass --force to "
            f"write over it."
        )
    make_folder(folder)
