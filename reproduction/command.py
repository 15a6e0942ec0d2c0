"""``python -m reproduction``: the paper's tables and figures, run again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from deciban.exceptions import MissingExtraError

EXAMPLE = "Example: python -m reproduction circles --quick --output build/paper"


def paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="Names of experiments, as --list shows them; all by default."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder of the pages, figures and results; by default deciban-paper, or "
            "deciban-paper-quick.",
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Folder of what is kept for going on; <output>/work by default."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small samples, short fits: minutes, not hours.")
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="List the experiments and leave.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was run, or the list, as JSON.")
    ] = False,
) -> None:
    """Run the paper's experiments, and write each number and figure beside what was printed.

    A run that is interrupted goes on where it stopped: give the same command again. Experiments
    that fail are named at the end, and the others are kept.

    MNIST is looked for in the folder that DECIBAN_DATA names, then in the cache, and is else
    fetched from OpenML.
    """
    console = Console(stderr=True)
    package = _package()
    if names:
        _list(package, quick, as_json)
        return
    wanted = package.chosen(experiments or [])
    if output is None:
        output = Path("deciban-paper-quick" if quick else "deciban-paper")
    _require_umap(wanted)
    with _Screen(console) as screen:
        run = package.Run(output, work or output / "work", quick=quick, watcher=screen)
        try:
            outcomes = run(wanted)
        except KeyboardInterrupt:
            console.print("Interrupted. Give the same command again to go on after the last "
                          "finished step.")  # fmt: skip
            raise typer.Exit(130) from None
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for error in dict.fromkeys(outcome.error for outcome in failed):
        which = ", ".join(outcome.name for outcome in failed if outcome.error == error)
        typer.echo(f"{which}: {error}", err=True)
    if as_json:
        run_ones = [{"name": outcome.name, "error": outcome.error} for outcome in outcomes]
        told = {"experiments": run_ones, "page": str(output / "index.html"),
                "results": str(output / "results.json")}  # fmt: skip
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        typer.echo(f"{len(outcomes) - len(failed)} of {len(outcomes)} experiments run. Open "
                   f"{output / 'index.html'}")  # fmt: skip
    if failed:
        typer.echo(f"Details of what failed are in {output / 'errors'}", err=True)
        raise typer.Exit(1)


def _package() -> Any:
    """The experiments, which need more than the command line does."""
    try:
        import matplotlib  # noqa: F401

        import deciban.discriminant.cda  # noqa: F401
        import reproduction
    except ImportError as error:
        raise MissingExtraError(
            f"python -m reproduction must have what it computes and draws with; got an ImportError "
            f"({error}). Run: make setup", extra="all",
        ) from error  # fmt: skip
    return reproduction


def _require_umap(experiments: Any) -> None:
    """Say before the work what its last step would say after hours."""
    from importlib.util import find_spec

    if any(experiment.name == "mnist-40" for experiment in experiments) and not find_spec("umap"):
        raise MissingExtraError(
            "python -m reproduction must have umap-learn for mnist-40; it is not installed. Run: "
            "pip install umap-learn", extra="",
        )  # fmt: skip


def _list(package: Any, quick: bool, as_json: bool) -> None:
    found = [
        {"name": one.name, "title": one.title, "paper": one.paper,
         "data": "MNIST" if one.data else None,
         "seconds": sum(step.seconds for step in one.steps(quick))}
        for one in package.EXPERIMENTS
    ]  # fmt: skip
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    table = Table(
        Column("experiment", no_wrap=True), "what", "in the paper", "needs", "about, on two cores"
    )
    for one in found:
        table.add_row(one["name"], one["title"], one["paper"], one["data"] or "–",
                      _duration(one["seconds"]))  # fmt: skip
    Console().print(table)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return "a few seconds" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Screen:
    """A bar over all the work, and a line for each experiment that is over."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
            console=console, transient=True,
        )  # fmt: skip
        self._task: TaskID = self._bar.add_task("", total=1.0, left="")
        self._start, self._from, self._began = 0.0, 1.0, 0.0

    def __enter__(self) -> _Screen:
        if self.console.is_terminal:
            self._bar.start()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def begin(self, name: str, title: str) -> None:
        """An experiment begins."""
        self._began = time.perf_counter()

    def step(self, name: str, left: float, kept: bool) -> None:
        """A step begins."""
        if not self.console.is_terminal and not kept:
            self.console.print(f"  {name}", markup=False, highlight=False)
        if kept:  # it took no time: the time left is told from what is computed
            self._from, self._start = min(self._from, left), time.perf_counter()
        self._bar.update(
            self._task, completed=1 - left, description=escape(name), left=self._left(left)
        )

    def end(self, name: str, error: str | None) -> None:
        """An experiment is over."""
        mark = "done" if error is None else "FAILED"
        seconds = time.perf_counter() - self._began
        self.console.print(f"{name}: {mark}, {_duration(seconds)}", markup=False, highlight=False)

    def _left(self, left: float) -> str:
        done = self._from - left
        elapsed = time.perf_counter() - self._start
        if done <= 0 or elapsed < 1:
            return ""
        return f"about {_duration(elapsed / done * left)} left"
