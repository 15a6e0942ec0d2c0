"""The report: an assessment in words, tables and figures, on one page that loads nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deciban._markup import in_unit, number, shorten
from deciban.assessment import Assessment, Conditions, Quantity, assess
from deciban.assessment.assess import check_evidence
from deciban.assessment.quantities import REGISTRY, base_key
from deciban.assessment.verdicts import CRITERIA, criteria_rows, heed_criteria, verdicts
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_labelled
from deciban.report.bundle import (
    describe_provenance,
    first_state,
    pack_samples,
    thin_samples,
    write_page,
)

_MAX_PAIRS = 100  # classes whose pairs are all in the page
_MAX_PAIR_ROWS = 20  # of the table without figures
_MAX_LISTED = 12  # classes, or costs, that are listed in the open
_CORRECTED = (
    " PAV is judged on the samples that it was fitted to; quantities that this makes too good are "
    "shown as they are, and corrected as in the summary."
)

#: Terms and what they mean, in alphabetical order; an abbreviation stands in brackets.
GLOSSARY = dict(
    line.split(": ", 1)
    for line in files("deciban.report").joinpath("glossary.txt").read_text("utf-8").splitlines()
)
_ALWAYS = (  # in the order in which they build on one another
    "Evidence", "Likelihood ratio (LR)", "Log-likelihood ratio (LLR)", "Deciban", "Cross-entropy",
    "Calibration", "Discrimination", "Pool adjacent violators (PAV)",
)  # fmt: skip
_SECTIONS = {  # of a report, and the terms that they bring along
    "calibration": ("Idempotence",),
    "ratios": ("Detection error trade-off (DET)", "Empirical cross-entropy", "Tippett plot"),
    "classes": ("Isometric log-ratio transform (ILR)", "Simplex"),
    "training": ("Compositional discriminant analysis (CDA)", "Residual"),
    "provenance": ("Bootstrap", "Provenance"),
    "quality": ("Confidence interval",),
}


def report(
    y_true: ArrayLike,
    evidence: Evidence,
    *,
    title: str,
    assessment: Assessment | None = None,
    conditions: Conditions | None = None,
    training: Sequence[Mapping[str, float]] | None = None,
    model_card: Mapping[str, str] | None = None,
    data_card: Mapping[str, str] | None = None,
    criteria: Sequence[Mapping[str, Any]] = (),
    provenance: Mapping[str, Any] | None = None,
    rows: ArrayLike | None = None,
) -> str:
    """One page on evidence, as HTML that opens anywhere and loads nothing.

    A summary in words comes first, then every figure with its numbers, or the reason why it cannot
    be drawn. With many samples, figures show a random part.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes.
    evidence : Evidence
        With two classes, LLRs are in favor of the second.
    title : str
    assessment : Assessment, default assess(y_true, evidence)
    conditions : Conditions, optional
    training : list of dict, optional
        The ``history_`` from a CDA: epoch, loss, score and seconds.
    model_card, data_card : dict of str, optional
        Notes on the model and the data, by name.
    criteria : list of dict, optional
        Acceptance criteria: criterion, judged_on, found and passed.
    provenance : dict, optional
        Command, date, versions, inputs and the like, as plain data.
    rows : array of shape (n_samples,), default 1, 2, ...
        Row numbers in the reader's table, counted from 1.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    deciban.assess : The numbers and verdicts of the page.
    comparison_report : A page on several systems.
    explorer : A page on which a reader moves priors, costs and evidence.

    Examples
    --------
    >>> evidence = Evidence.from_llr([-3.0, -1.0, 0.5, -0.5, 2.0, 4.0])
    >>> page = report([0, 0, 0, 1, 1, 1], evidence, title="Six trials")
    >>> page[:15], "<title>Six trials" in page
    ('<!doctype html>', True)

    Write it with ``Path("report.html").write_text(page, encoding="utf-8")``.
    """
    check_evidence(evidence)
    assessment = assess(y_true, evidence) if assessment is None else assessment
    if tuple(assessment.classes) != tuple(evidence.classes):
        raise InputError(
            "assessment must be of the same classes as the evidence; it is not. "
            "Pass assess(y_true, evidence)."
        )
    data = read_labelled(y_true, evidence, every_class=False)
    shown = thin_samples(data)
    context = _describe(assessment, data_card, criteria) | {
        "shown": len(shown),
        "conditions": _conditions(conditions),
        "training": training,
        "model_card": model_card,
        "provenance": describe_provenance(provenance),
        "figures": True,
    }
    record = {"criteria": list(criteria), "provenance": provenance} if provenance else {}
    values = {
        "samples": pack_samples(data, shown, rows),
        "state": first_state(data, assessment.difficulty(), assessment.prior, assessment.costs),
        "training": [dict(epoch) for epoch in training or ()],
    }
    return _write(title, assessment, context, values, record)


def assessment_page(assessment: Assessment, *, title: str) -> str:
    """The page on an assessment whose samples are not at hand: words, tables and the pairs."""
    pairs = _hardest_pairs(assessment) if len(assessment.classes) > 2 else []
    context = _describe(assessment) | {"figures": False, "pairs": _pair_table(assessment, pairs)}
    return _write(title, assessment, context, {"state": {"pair": pairs[0] if pairs else [0, 1]}})


def _describe(
    assessment: Assessment,
    data_card: Mapping[str, str] | None = None,
    criteria: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The words and tables of an assessment."""
    action, *found = verdicts(assessment)
    return {
        "kind": "Report on evidence",
        "lead": f"{describe_samples(assessment.classes, assessment.counts)}.",
        "action": heed_criteria(action, criteria),
        "verdicts": found,
        "warnings": assessment.warnings,
        "criteria": _criteria(criteria),
        "quality": _quantities(assessment),
        "n_classes": len(assessment.classes),
        "n_samples": sum(assessment.counts),
        "data_card": _data_card(assessment, data_card or {}),
        "counts": _counts(assessment),
        **dict.fromkeys(("conditions", "training", "model_card", "provenance")),
    }


def _write(
    title: str,
    assessment: Assessment,
    context: Mapping[str, Any],
    values: Mapping[str, Any],
    record: Mapping[str, Any] | None = None,
) -> str:
    contents = _contents(context)
    numbers = assessment.to_dict()
    if len(assessment.classes) > _MAX_PAIRS:  # millions of numbers; the hardest pairs are a table
        numbers = {key: value for key, value in numbers.items() if "pairwise" not in key}
    values = {
        "classes": [str(name) for name in assessment.classes],
        "numbers": {**numbers, **(record or {})},
        **values,
    }
    words = pick_terms([*assessment, *dict(contents)]) if context["figures"] else None
    return write_page("report", values, title=title, contents=contents, words=words, **context)


def _contents(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Addresses and headings of the sections that this report has."""
    sections = {
        "summary": "Summary", "criteria": "Acceptance criteria", "quality": "Quality",
        "conditions": "Conditions", "calibration": "Calibration", "ratios": "Likelihood ratios",
        "classes": "Class by class", "training": "Training",
        "cards": "Data, model and words" if context["figures"] else "Data",
        "provenance": "Provenance",
    }  # fmt: skip
    here = {key: bool(context[key]) for key in ("criteria", "conditions", "training", "provenance")}
    here |= dict.fromkeys(("calibration", "ratios"), context["figures"])
    here["classes"] = context["n_classes"] > 2
    return [(key, heading) for key, heading in sections.items() if here.get(key, True)]


def describe_samples(classes: Sequence[Hashable], counts: Sequence[int]) -> str:
    """How many samples there are, and of which classes."""
    names = ", ".join(shorten(name, 24) for name in classes[:6])
    more = f" and {len(classes) - 6} more" if len(classes) > 6 else ""
    return f"{sum(counts):,} samples of {len(classes)} classes: {names}{more}"


def _quantities(assessment: Assessment) -> dict[str, Any]:
    quantities, level = assessment.quantities, f"{100 * assessment.confidence:g} %"
    caption = f"Each quantity with its {level} interval."
    if assessment.design:
        caption += f" Intervals: {assessment.design}."
    if any(q.corrected != q.value for q in quantities):
        caption += _CORRECTED
    return {"level": level, "caption": caption, "rows": [_quantity(q) for q in quantities]}


def _quantity(q: Quantity) -> dict[str, Any]:
    value, low, high, corrected = (
        _in_unit(x, q.unit) for x in (q.value, q.low, q.high, q.corrected)
    )
    suffix = " %" if q.unit == "fraction" else f" {q.unit}"
    interval = "no interval" if np.isnan(q.low) else f"{low.removesuffix(suffix)} to {high}"
    if corrected != value:
        interval += f"; corrected {corrected}"
    meaning = f"{shorten(q.meaning, 300)} {q.better.capitalize()} is better."
    return {
        "label": shorten(q.label, 90), "value": value, "interval": interval, "exact": q.value,
        "meaning": meaning,
    }  # fmt: skip


def _in_unit(value: float, unit: str) -> str:
    if np.isnan(value):
        return "not defined"
    return in_unit(value, unit) if unit == "fraction" else f"{number(value)} {unit}".strip()


def _criteria(criteria: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    if not criteria:
        return None
    failed = sum(not one["passed"] for one in criteria)
    caption = f"{failed} of {len(criteria)} criteria failed." if failed else "All criteria are met."
    return {"caption": caption, "columns": CRITERIA, "rows": criteria_rows(criteria)}


def _conditions(conditions: Conditions | None) -> dict[str, Any] | None:
    if conditions is None:
        return None
    header, rows = conditions.table()
    level = f"{100 * conditions.pooled.confidence:g} %"
    caption = f"Each {conditions.column}, with {level} intervals."
    return {"caption": caption, "columns": header, "rows": rows, "notes": conditions.notes}


def _data_card(assessment: Assessment, card: Mapping[str, str]) -> dict[str, str]:
    """The data card, with the prior and the costs of the assessment."""
    names, prior = [shorten(label, 30) for label in assessment.classes], assessment.prior
    pairs = [f"{name} {p:.3g}" for name, p in zip(names, prior, strict=True)]
    even = max(prior) - min(prior) < 1e-9
    said = "the same for each class" if even else _list(pairs)
    data = {**card, "prior for costs and decisions": said}
    if assessment.costs is not None:
        C = np.asarray(assessment.costs)
        costly = np.argwhere((C != 0) | ~np.eye(len(C), dtype=bool))
        costs = [f"{names[j]} for {names[i]} {number(float(C[i, j]))}" for i, j in costly]
        data["costs of errors"] = _list(costs)
    return data


def _list(items: Sequence[str]) -> str:
    return ", ".join([*items[:_MAX_LISTED], *(["…"] if len(items) > _MAX_LISTED else [])])


def _counts(assessment: Assessment) -> dict[str, Any]:
    total = max(1, sum(assessment.counts))
    pairs = zip(assessment.classes, assessment.counts, strict=True)
    return {
        "caption": f"{sum(assessment.counts):,} samples.",
        "columns": ("class", "samples", "share (%)"),
        "rows": [(name, f"{count:,}", number(100 * count / total)) for name, count in pairs],
    }


def _hardest_pairs(assessment: Assessment) -> list[tuple[int, int]]:
    """Pairs of classes, the hardest to tell apart first; those without samples are left out."""
    difficulty = assessment.difficulty()
    present = [k for k, count in enumerate(assessment.counts) if count]
    return sorted(combinations(present, 2), key=lambda pair: -difficulty[pair])


def _pair_table(assessment: Assessment, pairs: Sequence[tuple[int, int]]) -> dict[str, Any] | None:
    if not pairs:
        return None
    rows = [
        (
            " / ".join(shorten(assessment.classes[k], 30) for k in pair),
            number(float(assessment.pairwise_cllr[pair])),
            number(float(assessment.pairwise_cllr_min[pair])),
        )
        for pair in pairs[:_MAX_PAIR_ROWS]
    ]
    first = f" The first {_MAX_PAIR_ROWS} of {len(pairs):,}." if len(pairs) > len(rows) else ""
    return {
        "all": len(assessment.classes) <= _MAX_PAIRS,
        "caption": f"Pairs of classes, the hardest to tell apart first.{first}",
        "columns": ("pair", "Cllr (bit)", "Cllr_min (bit)"),
        "rows": rows,
    }


def pick_terms(used: Iterable[str]) -> dict[str, str]:
    """Terms that every report needs, then those that its quantities and sections bring along."""
    by_quantity = {key: one.glossary for key, one in REGISTRY.items()}
    keys = {base_key(key) for key in used}
    more = {term for key in keys for term in (by_quantity | _SECTIONS).get(key, ())}
    chosen = (*_ALWAYS, *(term for term in GLOSSARY if term in more))
    return {term: GLOSSARY[term] for term in chosen}
