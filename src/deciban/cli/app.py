"""The commands, one module each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

import deciban
from deciban.cli import provenance
from deciban.cli.commands import (
    apply,
    calibrate,
    compare,
    evaluate,
    example,
    explain,
    explore,
    fit,
    fuse,
    monitor,
    predict,
)
from deciban.exceptions import InputError

_REMOVED = {
    "demo": "In the repository, run make demo.",
    "family": "In Python, use deciban.CalibratedGaussian.from_divergences([5, 4, 7]); or drag a "
    "family on the page that deciban explore writes.",
}


class _Commands(TyperGroup):
    """The commands; keeps the words that were typed, for the record."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in _REMOVED:
            raise InputError(f"deciban {args[0]} is no longer a command. {_REMOVED[args[0]]}")
        provenance.COMMAND[:] = args
        return super().parse_args(ctx, provenance.repeat_require(args))


app = typer.Typer(
    cls=_Commands,
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


def _name_options(command: Callable[..., None]) -> None:
    """Name each option after its parameter, unless it has names of its own.

    typer 0.27 would call it by its metavar where that is the same word in capitals.
    """
    for name, hint in get_type_hints(command, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            # typer finds the first name of an option in its default
            if isinstance(info, OptionInfo) and info.default is ... and not info.param_decls:
                info.param_decls = (f"--{name.replace('_', '-')}",)


def _help_text(command: Callable[..., None]) -> str:
    """The docstring with each paragraph on one line, which the terminal's width then breaks."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


_PANELS = {
    "From features": (fit, predict, explain),
    "From scores": (evaluate, compare, calibrate, fuse, apply, monitor),
    "More": (explore, example),
}
for _panel, _modules in _PANELS.items():
    for _module in _modules:
        _name = _module.__name__.rpartition(".")[2]
        _command = getattr(_module, _name)
        _name_options(_command)
        _register = app.command(
            name=_name, help=_help_text(_command), epilog=_module.EXAMPLE, rich_help_panel=_panel
        )
        _register(_command)
