"""The commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

import deciban
from deciban.cli.commands import (
    apply,
    calibrate,
    compare,
    demo,
    evaluate,
    example,
    explain,
    family,
    fit,
    predict,
)

app = typer.Typer(
    help="Calibrated likelihood functions for any number of hypotheses.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"deciban {deciban.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Calibrated likelihood functions for any number of hypotheses."""


_PANELS = {
    "From features": (fit, predict, explain),
    "From scores": (evaluate, compare, calibrate, apply),
    "More": (family, example, demo),
}
for _panel, _modules in _PANELS.items():
    for _module in _modules:
        _name = _module.__name__.rpartition(".")[2]
        _command = getattr(_module, _name)
        app.command(name=_name, epilog=_module.EXAMPLE, rich_help_panel=_panel)(_command)
