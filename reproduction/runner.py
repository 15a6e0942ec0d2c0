"""A run: each experiment's steps, its findings, and the pages, in a folder that it can go on in."""

from __future__ import annotations

import io
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from deciban._persistence import write_atomically
from deciban.exceptions import DecibanError, InputError
from reproduction.digits import load_mnist
from reproduction.experiment import Arrays, Experiment, Figure, Findings, Paragraph, Table
from reproduction.kept import Shelf
from reproduction.pages import write_pages
from reproduction.results import read_records
from reproduction.verdicts import printed_numbers, verdict

_DPI = 110
_COLOURS = 128  # of a picture in PNG: a third of the size, and no difference to the eye


class Watcher(Protocol):
    """Who is told of the progress."""

    def begin(self, name: str, title: str) -> None:
        """An experiment begins."""

    def step(self, name: str, left: float, kept: bool) -> None:
        """A step begins, or was kept from before; `left` is the share of the work still to do."""

    def end(self, name: str, error: str | None) -> None:
        """An experiment is over; `error` says why it failed."""


@dataclass(frozen=True)
class Outcome:
    """How an experiment ended: its name, and in one line why it failed, if it did."""

    name: str
    error: str | None = None


class Run:
    """Experiments of the paper, into a folder.

    Parameters
    ----------
    output : path
        Where pages, figures and results go.
    work : path
        Where steps and checkpoints are kept, for a run that goes on.
    quick : bool
        A few minutes instead of hours; the numbers then only show that everything works.
    watcher : Watcher, optional
    """

    def __init__(
        self, output: Path, work: Path, *, quick: bool = False, watcher: Watcher | None = None
    ) -> None:
        self.output, self.work, self.quick = output, work, quick
        self.watcher = watcher

    def __call__(self, experiments: Sequence[Experiment]) -> list[Outcome]:
        """Run them one after the other; one that fails does not keep the others from running.

        The pages are written after each, so that there is something to see all the while. What an
        earlier run found is kept where an experiment fails.
        """
        self._require_folders()
        cost = {e.name: sum(s.seconds for s in e.steps(self.quick)) for e in experiments}
        whole, done = sum(cost.values()) or 1.0, 0.0
        outcomes = []
        for experiment in experiments:
            self._tell("begin", experiment.name, experiment.title)
            outcome = self._guarded(experiment, partial(_left, whole, done))
            done += cost[experiment.name]
            outcomes.append(outcome)
            self._tell("end", experiment.name, outcome.error)
            write_pages(self.output, self.quick)
        return outcomes

    def _require_folders(self) -> None:
        """Refuse before anything is computed what could not be written."""
        for name, folder in (("--output", self.output), ("--work", self.work)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
            except OSError as error:
                raise InputError(
                    f"{name} must be a folder that can be written to; got {folder} "
                    f"({error.strerror}). Choose another."
                ) from None
        others = [r["name"] for r in read_records(self.output) if r["quick"] != self.quick]
        if others:
            theirs, ours = ("full", "quick") if self.quick else ("quick", "full")
            raise InputError(
                f"--output must hold runs of one kind; {self.output} holds a {theirs} one of "
                f"{others[0]}, and this one is {ours}. Choose another folder."
            )

    def _guarded(self, experiment: Experiment, left: Callable[[float], float]) -> Outcome:
        """An experiment; what goes wrong in it is told, kept in a file, and stops it alone."""
        log = self.output / "errors" / f"{experiment.name}.txt"
        try:
            record = self._one(experiment, left)
        except Exception as error:
            known = isinstance(error, DecibanError)
            line = str(error) if known else f"{type(error).__name__}: {error}"
            line = line.splitlines()[0] if line else repr(error)
            write_atomically(log, traceback.format_exc())
            if not self._path(experiment).exists():
                self._write(experiment, {"error": line})
            return Outcome(experiment.name, line)
        log.unlink(missing_ok=True)
        self._write(experiment, record)
        return Outcome(experiment.name)

    def _one(self, experiment: Experiment, left: Callable[[float], float]) -> dict[str, Any]:
        steps = experiment.steps(self.quick)
        kind = "quick" if self.quick else "full"
        shelf = Shelf(self.work / kind / experiment.name, steps, _data_mark(experiment))
        results: dict[str, Arrays] = {}
        about = {}
        done = 0.0
        for step in steps:
            kept = shelf.find(step)
            self._tell("step", step.name, left(done), kept is not None)
            results[step.name], about[step.name] = kept or shelf.do(step, results)
            done += step.seconds
        self._tell("step", "figures", left(done), False)
        record = self._record(experiment.findings(results, self.quick))
        settings = {step.name: dict(step.settings) for step in steps}
        return record | {"settings": settings, "steps": about}

    def _record(self, findings: Findings) -> dict[str, Any]:
        """Findings as plain data, their figures drawn into files."""
        blocks: list[dict[str, Any]] = []
        for block in findings.blocks:
            if isinstance(block, Paragraph):
                blocks.append({"kind": "paragraph", "text": block.text})
            elif isinstance(block, Table):
                rows = [list(row) for row in block.rows]
                blocks.append({"kind": "table", "caption": block.caption,
                               "header": list(block.header), "rows": rows})  # fmt: skip
            else:
                file = save(block, self.output / "figures")
                blocks.append({"kind": "figure", "file": f"figures/{file}",
                               "caption": block.caption, "paper": block.paper})  # fmt: skip
        return {"blocks": blocks, "numbers": numbers(findings, verdicts=not self.quick)}

    def _write(self, experiment: Experiment, record: dict[str, Any]) -> None:
        head = {
            "name": experiment.name,
            "title": experiment.title,
            "paper": experiment.paper,
            "quick": self.quick,
        }
        text = json.dumps(head | record, indent=1, ensure_ascii=False) + "\n"
        write_atomically(self._path(experiment), text)

    def _path(self, experiment: Experiment) -> Path:
        return self.output / "results" / f"{experiment.name}.json"

    def _tell(self, what: str, *args: Any) -> None:
        if self.watcher is not None:
            getattr(self.watcher, what)(*args)


def _left(whole: float, before: float, done: float) -> float:
    """Share of the work that is still to do."""
    return 1 - (before + done) / whole


def numbers(findings: Findings, *, verdicts: bool) -> list[dict[str, Any]]:
    """Each of our numbers, with the printed one and the verdict where the paper has one."""
    printed = printed_numbers()
    out: list[dict[str, Any]] = []
    for ours in findings.measured:
        entry: dict[str, Any] = asdict(ours)
        theirs = printed.get(ours.key)
        if theirs is not None:
            entry["printed"] = theirs.text
            if verdicts:
                entry["verdict"] = verdict(theirs, ours)
        out.append(entry)
    return out


def save(figure: Figure, folder: Path) -> str:
    """Draw a figure into a file, the same bytes each time; returns its name."""
    import matplotlib as mpl

    name = f"{figure.name}.{figure.form}"
    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "path"}):
        drawn = figure.draw()
        with io.BytesIO() as out:
            options = {"metadata": {"Date": None}} if figure.form == "svg" else {}
            drawn.savefig(out, format=figure.form, dpi=_DPI, bbox_inches="tight", **options)
            content = out.getvalue()
    if "matplotlib.pyplot" in sys.modules:  # only what pyplot made is held by it
        from matplotlib import pyplot as plt

        plt.close(drawn)
    write_atomically(folder / name, smaller(content) if figure.form == "png" else content)
    return name


def smaller(png: bytes) -> bytes:
    """A picture with fewer colours, and as good to the eye."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image, io.BytesIO() as out:
        few = image.convert("RGB").quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
        few.save(out, format="png", optimize=True)
        return min(png, out.getvalue(), key=len)


def _data_mark(experiment: Experiment) -> str:
    """Fingerprint of the data that an experiment reads; raises where they are not to be had."""
    return "" if experiment.data is None else load_mnist().fingerprint()
