"""The commands, and replacements for removed ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

import deciban
from deciban.cli import provenance
from deciban.cli.commands.apply import apply
from deciban.cli.commands.calibrate import calibrate, fuse
from deciban.cli.commands.evaluate import compare, evaluate
from deciban.cli.commands.explain import explain
from deciban.cli.commands.explore import example, explore
from deciban.cli.commands.fit import fit
from deciban.cli.commands.monitor import monitor
from deciban.cli.commands.predict import predict
from deciban.exceptions import InputError

_PANELS = {
    "From features": (fit, predict, explain),
    "From scores": (evaluate, compare, calibrate, fuse, apply, monitor),
    "More": (explore, example),
}
_CONCATENATE = (
    "Put a label before each score, as in '1 0.53' for a target and '0 -2.1' for a non-target, "
    "and give one file."
)
_IN_PYTHON = "In Python, use deciban.assess("
_REMOVED = {  # commands and options of earlier versions, and what to do instead
    "demo": "In the repository, run make demo.",
    "family": "In Python, use deciban.CalibratedGaussian.from_divergences([5, 4, 7]); or drag a "
    "family on the page that deciban explore writes.",
    "--at-prior": "Give --prior.",
    "--c-avg": "Give --dcf c-avg.",
    "--cluster": "Give the address with --workers tcp://host:8786.",
    "--confidence": f"{_IN_PYTHON}y, evidence, confidence=0.9).",
    "--estimate-prior": "Give --prior estimate.",
    "--floor": "Raise small posteriors in the table.",
    "--format": "The file extension sets the format; that of standard input is detected.",
    "--hierarchy": "In Python, use deciban.hierarchy.hierarchical_cross_entropy.",
    "--impute": "Missing values are filled in.",
    "--log-likelihoods": "Columns are named after the classes: --llr '*', or --llr 'll_*'.",
    "--max-samples": "Give a table with a sample of the rows.",
    "--no-impute": "Leave out rows or columns with missing values in the table.",
    "--nontarget-scores": _CONCATENATE,
    "--out-of-set": f"{_IN_PYTHON}y, evidence, c_avg=True, out_of_set='other').",
    "--positive": "Name the class that LLRs favor after the column of the true class, or after "
    "the key: --truth result=ill, --key key.txt=target.",
    "--prefix": "Name the columns of the classes with --llr 'll_*'.",
    "--prior": "Give the prior that posteriors contain with --posteriors: --posteriors empirical. "
    "A declared class mix is --mix.",
    "--process": "Give --processes 0/4 for process 0 of 4.",
    "--ridge": "In Python, use deciban.calibration.AffineCalibrator(ridge=0.01).",
    "--scores": "Name the file without an option.",
    "--scratch": "Set the environment variable TMPDIR.",
    "--seed": "Commands use one seed. In Python, give rng or random_state.",
    "--subset": "Scores of trials that a key does not list are left out. Leave out other rows in "
    "the table.",
    "--target-scores": _CONCATENATE,
}


class _Commands(TyperGroup):
    """The commands; keeps the words that were typed, for the record."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args:
            self._explain_removed(*args)
        provenance.COMMAND[:] = args
        return super().parse_args(ctx, args)

    def _explain_removed(self, name: str, *words: str) -> None:
        if name in _REMOVED:
            raise InputError(f"deciban {name} is no longer a command. {_REMOVED[name]}")
        if name not in self.commands:
            return
        known = {one for param in self.commands[name].params for one in param.opts}
        for word in words:
            option = word.partition("=")[0]
            if option.startswith("--") and option in _REMOVED and option not in known:
                raise InputError(f"deciban {name} has no option {option}. {_REMOVED[option]}")


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
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Calibrated likelihood functions for any number of hypotheses."""


def _name_options(command: Callable[..., None]) -> None:
    """Name each option after its parameter, unless it has names of its own.

    typer 0.27 would name it after its metavar if that is the same word in capitals.
    """
    for name, hint in get_type_hints(command, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            # typer finds the first name of an option in its default
            if isinstance(info, OptionInfo) and info.default is ... and not info.param_decls:
                info.param_decls = (f"--{name.replace('_', '-')}",)


def _register(command: Callable[..., None], panel: str) -> None:
    """Add a command: its docstring is the help, whose last paragraph is an example."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    *text, last = (" ".join(paragraph.split()) for paragraph in paragraphs)
    _name_options(command)
    app.command(name=command.__name__, help="\n\n".join(text), epilog=last, rich_help_panel=panel)(
        command
    )


for _panel, _members in _PANELS.items():
    for _command in _members:
        _register(_command, _panel)
