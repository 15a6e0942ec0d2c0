"""Assessments and comparisons as tables for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban._markup import Cell, Words, in_unit, listing, paragraph, represent, shorten, table

if TYPE_CHECKING:
    from deciban.assessment.conditions import Conditions
    from deciban.assessment.results import Assessment, Comparison, Difference, Quantity

_MOST_ROWS, _MOST_CLASSES = 20, 6


def represent_assessment(assessment: Assessment) -> str:
    """HTML of an assessment: what to do and why, verdicts, and quantities with intervals."""
    counts, classes = assessment.counts, assessment.classes
    pairs = list(zip(counts, classes, strict=True))[:_MOST_CLASSES]
    listed = ", ".join(f"{n:,} of {shorten(label, 40)}" for n, label in pairs)
    more = f" and {len(classes) - len(pairs):,} more classes" if len(classes) > len(pairs) else ""
    title = f"of {sum(counts):,} samples: {listed}{more}"
    parts = [paragraph(title, lead="Assessment")]
    if assessment.design:  # without intervals there is nothing to act on
        parts += [
            paragraph(
                f"({v.word}). {v.sentence}", lead=f"{v.what.capitalize()}: {v.big}", tone=v.tone
            )
            for v in assessment.verdicts
        ]
    level = f"{100 * assessment.confidence:g} % interval"
    columns = ["quantity", "value", level, "unit", "what it says"]
    rows = [_quantity_row(q) for q in assessment.quantities[:_MOST_ROWS]]
    parts.append(table("Quantities with their intervals", columns, rows))
    if len(assessment.quantities) > _MOST_ROWS:
        left = len(assessment.quantities) - _MOST_ROWS
        parts.append(paragraph(f"… and {left:,} more quantities."))
    if assessment.design:
        parts.append(paragraph(f"Intervals: {assessment.design}."))
    return represent(*parts, *_cautions(assessment.warnings))


def represent_comparison(comparison: Comparison) -> str:
    """HTML of a comparison: a table for each system that is compared with the first."""
    first, *others = comparison.systems
    level = f"a − b ({100 * comparison.confidence:g} % interval)"
    columns = ["quantity", "a", "b", level, "unit", "verdict"]
    parts = [paragraph(f"of {len(comparison.systems)} systems", lead="Comparison")]
    for name in others[:_MOST_ROWS]:
        rows = [_difference_row(d) for d in comparison.differences if d.systems[1] == name]
        says = f"a is {shorten(first, 40)}, b is {shorten(name, 40)}"
        parts += [paragraph(f"{says}."), table(says, columns, rows)]
    if len(others) > _MOST_ROWS:
        parts.append(paragraph(f"… and {len(others) - _MOST_ROWS:,} more systems."))
    if comparison.design:
        parts.append(paragraph(f"Intervals: {comparison.design}."))
    return represent(*parts, *_cautions(comparison.warnings))


def represent_conditions(conditions: Conditions) -> str:
    """HTML of results by condition: a table and what to note about it."""
    columns, rows = conditions.table()
    *each, mean, pooled = rows
    shown = [*each[:_MOST_ROWS], mean, pooled]
    left = len(each) - _MOST_ROWS
    return represent(
        paragraph(f"by {shorten(conditions.column, 40)}", lead="Results"),
        table("Results by condition", columns, shown),
        *([paragraph(f"… and {left:,} more conditions.")] if left > 0 else []),
        listing(conditions.notes),
    )


def _quantity_row(q: Quantity) -> list[Cell]:
    value, low, high = (in_unit(x, q.unit) for x in (q.value, q.low, q.high))
    interval = "–" if q.low != q.low else f"{low.removesuffix(' %')} to {high}"
    return [shorten(q.label, 80), value, interval, _unit(q.unit), Words(q.meaning)]


def _difference_row(d: Difference) -> list[Cell]:
    a, b, difference, low, high = (
        in_unit(x, d.unit) for x in (d.a, d.b, d.difference, d.low, d.high)
    )
    if d.low == d.low:
        difference += f" ({low.removesuffix(' %')} to {high})"
    return [
        shorten(d.label, 80),
        a,
        b,
        difference,
        _unit(d.unit),
        shorten(d.verdict, 50) if d.verdict else "–",
    ]


def _unit(unit: str) -> str:
    """The unit of a quantity; numbers without one, and percentages, need no word."""
    return "–" if unit in ("", "fraction") else unit


def _cautions(warnings: tuple[str, ...]) -> list[str]:
    if not warnings:
        return []
    return [paragraph("", lead="Before quoting a number:"), listing(warnings)]
