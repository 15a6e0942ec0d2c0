"""``python -m reproduction``: the paper's experiments, run again."""

import sys

import typer

from deciban.exceptions import DecibanError
from reproduction.command import EXAMPLE, paper

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
app.command(epilog=EXAMPLE)(paper)

if __name__ == "__main__":
    try:
        app(prog_name="python -m reproduction")
    except DecibanError as error:
        sys.exit(" ".join(str(error).split()))
