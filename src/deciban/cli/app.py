"""The commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

import deciban
from deciban.cli.commands import apply as applying
from deciban.cli.commands import calibrate as calibrating
from deciban.cli.commands import compare as comparing
from deciban.cli.commands import demo as demonstrating
from deciban.cli.commands import evaluate as evaluating
from deciban.cli.commands import example as giving_examples
from deciban.cli.commands import explain as explaining
from deciban.cli.commands import family as describing
from deciban.cli.commands import fit as fitting
from deciban.cli.commands import predict as predicting

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


_FEATURES, _SCORES, _MORE = "From features", "From scores", "More"

for panel, name, module in (
    (_FEATURES, "fit", fitting),
    (_FEATURES, "predict", predicting),
    (_FEATURES, "explain", explaining),
    (_SCORES, "evaluate", evaluating),
    (_SCORES, "compare", comparing),
    (_SCORES, "calibrate", calibrating),
    (_SCORES, "apply", applying),
    (_MORE, "family", describing),
    (_MORE, "example", giving_examples),
    (_MORE, "demo", demonstrating),
):
    app.command(name=name, epilog=module.EXAMPLE, rich_help_panel=panel)(getattr(module, name))
