"""A page of what an assessment holds, for those who have no samples at hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from deciban._markup import number, shorten
from deciban.assessment import Assessment
from deciban.assessment.verdicts import verdicts
from deciban.report.bundle import write_page
from deciban.report.page import (
    count_samples,
    describe_data,
    describe_quantities,
    describe_samples,
    plain_numbers,
)

_MOST_LISTED = 20  # pairs of classes


def assessment_page(assessment: Assessment, *, title: str) -> str:
    """One page on an assessment alone, as HTML that opens anywhere and loads nothing.

    Verdicts, quantities with intervals and the costs of each pair of classes are there; figures of
    the samples are in :func:`deciban.report.report`.

    Parameters
    ----------
    assessment : Assessment
    title : str

    Returns
    -------
    str
    """
    action, *found = verdicts(assessment)
    numbers = plain_numbers(assessment)
    pairs = _hardest_pairs(assessment) if len(assessment.classes) > 2 else []
    contents = [("summary", "Summary"), ("quality", "Quality"), ("cards", "Data")]
    if pairs:
        contents.insert(2, ("classes", "Class by class"))
    context = {
        "kind": "Report on evidence",
        "lead": describe_samples(assessment),
        "action": action,
        "verdicts": found,
        "warnings": assessment.warnings,
        "quality": describe_quantities(assessment),
        "pairs": _pair_table(assessment, pairs, "pairwise_cllr" in numbers),
        "data_card": describe_data(assessment, None),
        "counts": count_samples(assessment),
        "contents": contents,
    }
    values = {
        "classes": [str(name) for name in assessment.classes],
        "numbers": numbers,
        "state": {"pair": pairs[0] if pairs else [0, 1]},
    }
    return write_page("assessment", values, title=title, **context)


def _hardest_pairs(assessment: Assessment) -> list[tuple[int, int]]:
    """Pairs of classes, the hardest to tell apart first; those without samples are left out."""
    difficulty = assessment.difficulty()
    present = [k for k, count in enumerate(assessment.counts) if count]
    return sorted(combinations(present, 2), key=lambda pair: -difficulty[pair])


def _pair_table(
    assessment: Assessment, pairs: list[tuple[int, int]], all_in_page: bool
) -> dict[str, Any] | None:
    if not pairs:
        return None
    rows = [
        (
            " / ".join(shorten(assessment.classes[k], 30) for k in pair),
            number(float(assessment.pairwise_cllr[pair])),
            number(float(assessment.pairwise_cllr_min[pair])),
        )
        for pair in pairs[:_MOST_LISTED]
    ]
    of = f" The first {_MOST_LISTED} of {len(pairs):,}." if len(pairs) > _MOST_LISTED else ""
    return {
        "all": all_in_page,
        "caption": f"Pairs of classes, the hardest to tell apart first.{of}",
        "columns": ("pair", "Cllr (bit)", "Cllr_min (bit)"),
        "rows": rows,
    }
