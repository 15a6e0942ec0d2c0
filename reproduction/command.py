"""The command line of ``python -m reproduction``."""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from deciban.exceptions import DecibanError
from reproduction.experiments import EXPERIMENTS, select_experiments
from reproduction.runner import Run

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
_NEEDED = ("jax", "jinja2", "matplotlib", "mpltern", "PIL", "umap")  # checked before hours of work


def main() -> None:
    """Run the command; what cannot be run is one line and status 2."""
    try:
        app(prog_name="python -m reproduction")
    except DecibanError as error:
        typer.echo(" ".join(str(error).split()), err=True)
        sys.exit(2)


@app.command(epilog="Example: python -m reproduction circles --quick --output build/paper")
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="Names of experiments, as --list shows them; default: all."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for pages, figures and results; default: deciban-paper, or "
            "deciban-paper-quick.",
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder for finished steps and checkpoints; default: <output>/work."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small samples, short fits: minutes, not hours.")
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="List the experiments and exit.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the outcome, or the list, as JSON.")
    ] = False,
) -> None:
    """Run the paper's experiments, and write each number and figure beside the printed one.

    To resume an interrupted run, give the same command again. If an experiment fails, the others
    still run, and the failure is reported at the end.

    MNIST is read from the folder that DECIBAN_DATA names, or from the cache; otherwise it is
    fetched from OpenML.
    """
    if names:
        _list_experiments(quick, as_json)
        return
    selected = select_experiments(experiments or [])
    _require_packages()
    output = output or Path("deciban-paper-quick" if quick else "deciban-paper")
    console = Console(stderr=True)
    with _ProgressBar(console) as bar:
        run = Run(output, work or output / "work", quick=quick, watcher=bar)
        try:
            outcomes = run(selected)
        except KeyboardInterrupt:
            console.print("Interrupted. To resume after the last finished step, give the same "
                          "command again.")  # fmt: skip
            raise typer.Exit(130) from None
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for error in dict.fromkeys(outcome.error for outcome in failed):
        which = ", ".join(outcome.name for outcome in failed if outcome.error == error)
        typer.echo(f"{which}: {error}", err=True)
    page = output / "index.html"
    if as_json:
        summary = [{"name": outcome.name, "error": outcome.error} for outcome in outcomes]
        files = {"page": str(page), "results": str(output / "results.json")}
        typer.echo(json.dumps({"experiments": summary, **files}, ensure_ascii=False, indent=2))
    else:
        done = len(outcomes) - len(failed)
        typer.echo(f"{done} of {len(outcomes)} experiments finished. Open {page}")
    if failed:
        typer.echo(f"Details of the failures are in {output / 'errors'}", err=True)
        raise typer.Exit(1)


def _require_packages() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise DecibanError(
            f"python -m reproduction needs {', '.join(missing)}, not installed here. Run: make "
            f"setup"
        )


def _list_experiments(quick: bool, as_json: bool) -> None:
    listed = [
        {"name": one.name, "title": one.title, "paper": one.paper,
         "data": "MNIST" if one.data else None,
         "seconds": sum(step.seconds for step in one.steps(quick))}
        for one in EXPERIMENTS
    ]  # fmt: skip
    if as_json:
        typer.echo(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    table = Table(
        Column("experiment", no_wrap=True), "title", "in the paper", "data", "time on two cores"
    )
    for one in listed:
        table.add_row(str(one["name"]), str(one["title"]), str(one["paper"]),
                      str(one["data"] or "–"), _duration(float(str(one["seconds"]))))  # fmt: skip
    Console().print(table)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return "a few seconds" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _ProgressBar:
    """A bar for the whole run, and a line for each finished experiment."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
            console=console, transient=True,
        )  # fmt: skip
        self._task: TaskID = self._bar.add_task("", total=1.0, left="")
        self._start, self._from, self._began = time.perf_counter(), 1.0, 0.0

    def __enter__(self) -> _ProgressBar:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def begin(self, name: str, title: str) -> None:
        """Start the clock of an experiment."""
        self._began = time.perf_counter()

    def step(self, name: str, left: float, cached: bool) -> None:
        """Show a step and the time left."""
        if not self.console.is_terminal and not cached:
            self.console.print(f"  {name}", markup=False, highlight=False)
        if cached:  # it took no time: the time left is estimated from computed steps
            self._from, self._start = min(self._from, left), time.perf_counter()
        self._bar.update(
            self._task, completed=1 - left, description=escape(name), left=self._time_left(left)
        )

    def end(self, name: str, error: str | None) -> None:
        """Print how an experiment ended."""
        outcome = "done" if error is None else "FAILED"
        seconds = time.perf_counter() - self._began
        self.console.print(
            f"{name}: {outcome}, {_duration(seconds)}", markup=False, highlight=False
        )

    def _time_left(self, left: float) -> str:
        done = self._from - left
        elapsed = time.perf_counter() - self._start
        if done <= 0 or elapsed < 1:
            return ""
        return f"about {_duration(elapsed / done * left)} left"
