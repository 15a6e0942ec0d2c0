"""``deciban demo``: the main job on built-in data, as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from deciban._persistence.files import write_atomically
from deciban.cli.options import Force, Json, Seed, require_seed
from deciban.cli.show import echo, print_json
from deciban.exceptions import MissingExtraError

EXAMPLE = "Example: deciban demo --output demo"
FILES = ("index.html", "report.html", "explorer.html", "demo.png", "learned.png")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pages.", metavar="FOLDER")
    ] = Path("build/demo"),
    seed: Seed = 7,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Show what deciban does, on built-in data: it takes three minutes and writes a page.

    Evidence of two sources adds up and leads to a decision; a family of perfectly calibrated
    recognizers is drawn; a compositional discriminant analysis learns evidence from two moons and
    from handwritten digits, with a full report on the latter. An explorer lets you move the parts.
    """
    from deciban.cli.outputs import make_folder, require_outputs

    require_seed(seed)
    make_folder(output)
    for name in FILES:
        require_outputs({"--output": output / name}, force=force)
    try:
        from deciban.report.demo import run_demo
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} must be installed for the demo. Run: pip install 'deciban[all]'",
            extra="all",
        ) from error
    text, contents = run_demo(seed, verbose=sys.stderr.isatty())
    for name in FILES:
        write_atomically(output / name, contents[name], replace=force)
    if as_json:
        print_json({"written": [str(output / name) for name in FILES]})
    else:
        echo(f"{text}\nOpen {output / FILES[0]}")
