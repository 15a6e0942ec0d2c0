"""A run: the steps of each experiment, its findings, and the pages; it can be resumed."""

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

from deciban.exceptions import DecibanError, InputError
from reproduction.experiment import Arrays, Experiment, Figure, Findings, Paragraph, Table
from reproduction.files import write_atomically
from reproduction.mnist_files import load_mnist
from reproduction.pages import write_pages
from reproduction.results import read_records
from reproduction.step_cache import StepCache
from reproduction.verdicts import printed_numbers, verdict

_DPI = 110  # of a figure on a page; PNG files have twice as many, for screens of high density
_PALETTE = 64  # colors of a PNG file, for its size; more make no visible difference


class Watcher(Protocol):
    """What is notified of progress."""

    def begin(self, name: str, title: str) -> None:
        """Called when an experiment begins."""

    def step(self, name: str, left: float, cached: bool) -> None:
        """Called for each step; `left` is the share of the work still to be done."""

    def end(self, name: str, error: str | None) -> None:
        """Called when an experiment is over; `error` says why it failed."""


@dataclass(frozen=True)
class Outcome:
    """How an experiment ended; `error` says in one line why it failed, if it did."""

    name: str
    error: str | None = None


class Run:
    """A run of experiments that writes into a folder.

    Parameters
    ----------
    output : path
        Folder for pages, figures and results.
    work : path
        Folder for finished steps and checkpoints, from which a run is resumed.
    quick : bool
        Minutes instead of hours; the numbers then show only that everything works.
    watcher : Watcher, optional
    """

    def __init__(
        self, output: Path, work: Path, *, quick: bool = False, watcher: Watcher | None = None
    ) -> None:
        self.output, self.work, self.quick = output, work, quick
        self.watcher = watcher

    def __call__(self, experiments: Sequence[Experiment]) -> list[Outcome]:
        """Run them one after the other; if one fails, the others still run.

        The pages are written after each experiment. If an experiment fails, results of an earlier
        run are kept.
        """
        self._require_folders()
        cost = {e.name: sum(s.seconds for s in e.steps(self.quick)) for e in experiments}
        total, done = sum(cost.values()) or 1.0, 0.0
        outcomes = []
        for experiment in experiments:
            self._notify("begin", experiment.name, experiment.title)
            outcome = self._run_safely(experiment, partial(_share_left, total, done))
            done += cost[experiment.name]
            outcomes.append(outcome)
            self._notify("end", experiment.name, outcome.error)
            write_pages(self.output, self.quick)
        return outcomes

    def _require_folders(self) -> None:
        """Raise before anything is computed if the results could not be written."""
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
                f"--output must not mix quick and full runs; {self.output} has a {theirs} run of "
                f"{others[0]}, and this run is {ours}. Choose another folder."
            )

    def _run_safely(self, experiment: Experiment, left: Callable[[float], float]) -> Outcome:
        """Run an experiment; an error ends it alone, and its traceback goes into a file."""
        log = self.output / "errors" / f"{experiment.name}.txt"
        try:
            record = self._run(experiment, left)
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

    def _run(self, experiment: Experiment, left: Callable[[float], float]) -> dict[str, Any]:
        steps = experiment.steps(self.quick)
        kind = "quick" if self.quick else "full"
        data = "" if experiment.data is None else load_mnist().fingerprint()
        cache = StepCache(self.work / kind / experiment.name, steps, data)
        results: dict[str, Arrays] = {}
        records = {}
        done = 0.0
        for step in steps:
            found = cache.find(step)
            self._notify("step", step.name, left(done), found is not None)
            results[step.name], records[step.name] = found or cache.compute(step, results)
            done += step.seconds
        self._notify("step", "figures", left(done), False)
        record = self._record(experiment.findings(results, self.quick))
        settings = {step.name: dict(step.settings) for step in steps}
        return record | {"settings": settings, "steps": records}

    def _record(self, findings: Findings) -> dict[str, Any]:
        """Findings as plain data; their figures are drawn into files."""
        blocks: list[dict[str, Any]] = []
        for block in findings.blocks:
            if isinstance(block, Paragraph):
                blocks.append({"kind": "paragraph", "text": block.text})
            elif isinstance(block, Table):
                rows = [list(row) for row in block.rows]
                blocks.append({"kind": "table", "caption": block.caption,
                               "header": list(block.header), "rows": rows})  # fmt: skip
            else:
                file, width = save(block, self.output / "figures")
                blocks.append({"kind": "figure", "file": f"figures/{file}", "width": width,
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

    def _notify(self, what: str, *args: Any) -> None:
        if self.watcher is not None:
            getattr(self.watcher, what)(*args)


def _share_left(total: float, before: float, done: float) -> float:
    return 1 - (before + done) / total


def numbers(findings: Findings, *, verdicts: bool) -> list[dict[str, Any]]:
    """Our numbers, with the printed number and the verdict if the paper has one."""
    printed = printed_numbers()
    out: list[dict[str, Any]] = []
    for ours in findings.measurements:
        entry: dict[str, Any] = asdict(ours)
        theirs = printed.get(ours.key)
        if theirs is not None:
            entry["printed"] = theirs.text
            if verdicts:
                entry["verdict"] = verdict(theirs, ours)
        out.append(entry)
    return out


def save(figure: Figure, folder: Path) -> tuple[str, int | None]:
    """Draw a figure into a file, always the same bytes.

    Returns the file name and, for a PNG file, the width in pixels that it has on a page.
    """
    import matplotlib as mpl

    name = f"{figure.name}.{figure.form}"
    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "path"}):
        drawn = figure.draw()
        with io.BytesIO() as out:
            options = {"metadata": {"Date": None}} if figure.form == "svg" else {}
            drawn.savefig(out, format=figure.form, dpi=2 * _DPI, bbox_inches="tight", **options)
            content = out.getvalue()
    if "matplotlib.pyplot" in sys.modules:  # a display may have made the figure with it
        from matplotlib import pyplot as plt

        plt.close(drawn)
    width = None
    if figure.form == "png":
        content, width = reduce_colors(content)
        width = round(width / 2)
    write_atomically(folder / name, content)
    return name, width


def reduce_colors(png: bytes) -> tuple[bytes, int]:
    """A smaller PNG file with fewer colors, and its width in pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image, io.BytesIO() as out:
        few = image.convert("RGB").quantize(_PALETTE, dither=Image.Dither.NONE)
        few.save(out, format="png", optimize=True)
        return min(png, out.getvalue(), key=len), image.width
