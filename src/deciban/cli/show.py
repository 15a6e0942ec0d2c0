"""What commands print: tables and sentences for a terminal, or JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from deciban.cli.words import name_source, neutralize, shorten

if TYPE_CHECKING:
    from deciban.assessment import Assessment, Conditions

Step = TypeVar("Step")

_WIDE = 100  # columns of a terminal that has room for explanations
_LONGEST_CELL = 200


def echo(text: str, *, err: bool = False) -> None:
    """Print text that may hold names from files."""
    typer.echo(neutralize(text), err=err)


def print_json(value: Any, *, err: bool = False) -> None:
    """Print plain data as JSON."""
    echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2), err=err)


def print_written(sentence: str, found: dict[str, Any], output: str, as_json: bool) -> None:
    """Say what was written, apart from the table where that went to standard output."""
    if as_json:
        print_json({**found, "output": output}, err=output == "-")
    else:
        echo(sentence if output == "-" else f"{sentence} -> {output}", err=True)


def print_report(path: Path | None, as_json: bool) -> None:
    """Say where the report is."""
    if path is not None:
        echo(f"Report: {path}", err=as_json)


def print_notes(notes: Iterable[str]) -> None:
    """Print what a reader should know, on standard error."""
    for note in notes:
        echo(f"Note: {shorten(' '.join(note.split()), 1000)}", err=True)


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    explanation: bool = False,
) -> None:
    """Print rows of text in columns.

    Columns in ``right`` are aligned to the right and never folded, as numbers should be. With
    ``explanation`` the last column holds sentences, which narrow terminals leave out.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    shown = len(header) - (explanation and console.width < _WIDE)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(header[:shown]):
        if explanation and k == len(header) - 1:
            table.add_column(escape(name), style="dim", min_width=20)
        else:
            justify: Any = "right" if k in right else "left"
            table.add_column(escape(neutralize(name)), justify=justify, no_wrap=k in right)
    for row in rows:
        table.add_row(*(escape(shorten(neutralize(cell), _LONGEST_CELL)) for cell in row[:shown]))
    console.print(table)


def describe_samples(source: str, classes: Sequence[Hashable], counts: Sequence[int]) -> str:
    """Sample counts by class, in a line."""
    pairs = list(zip(classes, counts, strict=True))
    samples = "; ".join(
        f"class {shorten(str(label), 60)}: {count:,}" for label, count in pairs[:10]
    )
    more = f"; … ({len(pairs)} classes)" if len(pairs) > 10 else ""
    return f"{name_source(source)}: {samples}{more}"


def print_assessment(assessment: Assessment, source: str, about: Iterable[str] = ()) -> None:
    """Print the samples, all quantities with intervals, the verdict and the notes."""
    for line in (describe_samples(source, assessment.classes, assessment.counts), *about):
        echo(line)
    rows = []
    for q in assessment.quantities:
        cells = in_unit(q.value, q.unit), interval(q.low, q.high, q.unit)
        rows.append((label_with_unit(q.label, q.unit), *cells, q.meaning))
    header = ("", "value", f"{100 * assessment.confidence:g} % interval", "what it means")
    print_table(header, rows, right=(1,), explanation=True)
    if assessment.design:
        echo(f"Intervals: {assessment.design}.")
    if assessment.action:
        echo(f"{assessment.verdicts[0].big}. {assessment.verdicts[0].sentence}")
    print_notes(assessment.warnings)


def print_conditions(conditions: Conditions) -> None:
    """Print the results of each condition, and which one is the worst."""
    from rich.console import Console

    header, rows = conditions.table()
    per_table = max(1, (Console().width - 30) // 18)  # columns that fit beside the names
    for start in range(2, len(header), per_table):
        lines = []
        for row in rows:  # intervals stand below their values
            parts = [cell.rstrip(")").partition(" (") for cell in row[start : start + per_table]]
            lines.append((*row[:2], *(value for value, _, _ in parts)))
            if any(interval for _, _, interval in parts):
                lines.append(("", "", *(interval for _, _, interval in parts)))
        echo("")
        shown = [*header[:2], *header[start : start + per_table]]
        print_table(shown, lines, right=range(1, len(shown)))
    for sentence in conditions.notes:
        echo(sentence)


def track_progress(
    steps: Iterable[Step], label: str = "Conditions", total: int | None = None
) -> Iterable[Step]:
    """Iterate over steps that take long, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(
        steps, label, total, console=console, transient=True, disable=not console.is_terminal
    )


def print_criteria(criteria: Sequence[Mapping[str, Any]]) -> None:
    """Print which criteria are met, and what each was judged on."""
    from deciban.assessment.verdicts import CRITERIA, criteria_rows

    if criteria:
        print_table(CRITERIA, criteria_rows(criteria), right=(2,))


def label_with_unit(label: str, unit: str) -> str:
    """Name of a quantity's row, with its unit in brackets."""
    shown = "%" if unit == "fraction" else unit
    return f"{label} [{shown}]" if shown else label


def in_unit(value: float | str | None, unit: str) -> str:
    """A number, or what JSON has for it, as tables show it: fractions as percentages, NaN as –."""
    if value is None or value != value:
        return "–"
    return f"{100 * float(value):.2f}" if unit == "fraction" else f"{float(value):.4f}"


def interval(low: float, high: float, unit: str) -> str:
    """An interval as tables show it; empty where there is none."""
    return f"{in_unit(low, unit)} to {in_unit(high, unit)}" if low == low else ""
