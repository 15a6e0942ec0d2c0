"""Results as tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deciban._markup import count_by_class, in_unit, listing, paragraph, represent, shorten, table

if TYPE_CHECKING:
    from deciban.assessment.conditions import Conditions
    from deciban.assessment.results import Assessment, Comparison

_MAX_ROWS = 20


def represent_assessment(assessment: Assessment) -> str:
    """HTML of an assessment: verdicts, and quantities with intervals."""
    classes = count_by_class(assessment.classes, assessment.counts)
    parts = [paragraph(f"of {sum(assessment.counts):,} samples: {classes}", lead="Assessment")]
    for v in assessment.verdicts if assessment.design else ():  # without intervals, no action
        lead = f"{v.what.capitalize()}: {v.big}"
        parts.append(paragraph(f"({v.word}). {v.sentence}", lead=lead, tone=v.tone))
    level = f"{100 * assessment.confidence:g} % interval"
    columns = ["quantity", "value", level, "unit", "meaning"]
    rows = []
    for q in assessment.quantities[:_MAX_ROWS]:
        value, _, interval = str(q).rstrip(")").partition(" (")
        rows.append([shorten(q.label, 80), value, interval or "–", _unit(q.unit), q.meaning])
    parts.append(table("Quantities with their intervals", columns, rows))
    return _finish(parts, len(assessment.quantities), "quantities", assessment)


def represent_comparison(comparison: Comparison) -> str:
    """HTML of a comparison: a table for each system that is compared with the first."""
    first, *others = comparison.systems
    level = f"a − b ({100 * comparison.confidence:g} % interval)"
    columns = ["quantity", "a", "b", level, "unit", "verdict"]
    parts = [paragraph(f"of {len(comparison.systems)} systems", lead="Comparison")]
    for name in others[:_MAX_ROWS]:
        rows = [
            [shorten(d.label, 80), in_unit(d.a, d.unit), in_unit(d.b, d.unit), str(d),
             _unit(d.unit), shorten(d.verdict, 50) if d.verdict else "–"]
            for d in comparison.differences if d.systems[1] == name
        ]  # fmt: skip
        says = f"a is {shorten(first, 40)}, b is {shorten(name, 40)}"
        parts += [paragraph(f"{says}."), table(says, columns, rows)]
    return _finish(parts, len(others), "systems", comparison)


def represent_conditions(conditions: Conditions) -> str:
    """HTML of results by condition."""
    columns, (*each, mean, pooled) = conditions.table()
    title = paragraph(f"by {shorten(conditions.column, 40)}", lead="Results")
    rows = table("Results by condition", columns, [*each[:_MAX_ROWS], mean, pooled])
    left = _left_out(len(each), "conditions")
    return represent(title, rows, *left, listing(conditions.notes))


def _unit(unit: str) -> str:
    return "–" if unit in ("", "fraction") else unit


def _left_out(count: int, name: str) -> list[str]:
    left = count - _MAX_ROWS
    return [paragraph(f"… and {left:,} more {name}.")] if left > 0 else []


def _finish(parts: Iterable[str], count: int, name: str, result: Assessment | Comparison) -> str:
    """The parts, followed by rows left out, the design and the warnings."""
    design = [paragraph(f"Intervals: {result.design}.")] if result.design else []
    lead = paragraph("", lead="Before quoting a number:")
    warnings = [lead, listing(result.warnings)] if result.warnings else []
    return represent(*parts, *_left_out(count, name), *design, *warnings)
