"""The commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

import deciban
from deciban.cli import compare as comparing
from deciban.cli import evaluate as evaluating
from deciban.cli import explain as explaining
from deciban.cli import fit as fitting
from deciban.cli import paper as reproducing
from deciban.cli import predict as predicting

app = typer.Typer(
    help="Calibrated likelihood functions for any number of hypotheses.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"deciban {deciban.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print it and leave."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Calibrated likelihood functions for any number of hypotheses."""


app.command(name="fit", epilog=fitting.EXAMPLE)(fitting.fit)
app.command(name="predict", epilog=predicting.EXAMPLE)(predicting.predict)
app.command(name="explain", epilog=explaining.EXAMPLE)(explaining.explain)
app.command(name="evaluate", epilog=evaluating.EXAMPLE)(evaluating.evaluate)
app.command(name="compare", epilog=comparing.EXAMPLE)(comparing.compare)
app.command(name="paper", epilog=reproducing.EXAMPLE)(reproducing.paper)
