"""The report: what it says, in order, on one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deciban._markup import number, percent, shorten
from deciban.assessment import Assessment, Conditions, Quantity, assess
from deciban.assessment.verdicts import CRITERIA, criteria_rows, heed_criteria, verdicts
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_labelled
from deciban.report.bundle import write_page
from deciban.report.glossary import pick_terms
from deciban.report.provenance import describe_provenance
from deciban.report.samples import describe_thinning, first_state, pack_samples, thin_samples

_MOST_PAIRS = 100  # classes whose pairs are all in the page
_MOST_LISTED = 12  # classes, or costs, that are listed in the open
_CORRECTED = (
    " PAV is judged on the samples that it was fitted to; quantities that this makes too good are "
    "shown as they are, and corrected as in the summary."
)


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
    """One page on a set of evidence, as HTML that opens anywhere and loads nothing.

    A summary in words comes first, then every figure with the numbers behind it, or the reason why
    it cannot be drawn. However many samples there are, figures hold bins and at most a few hundred
    points.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes.
    evidence : Evidence
        With two classes, LLRs are in favor of the second.
    title : str
        Title of the page.
    assessment : Assessment, default assess(y_true, evidence)
        Assessment of the same samples.
    conditions : Conditions, optional
        Assessments of the same samples by condition.
    training : list of dict, optional
        The ``history_`` of a CDA: epoch, loss, score and seconds.
    model_card, data_card : dict of str, optional
        What a reader should know about the model and the data, by name.
    criteria : list of dict, optional
        Criteria that the evidence had to meet: criterion, judged_on, found and passed.
    provenance : dict, optional
        How the numbers came about, as plain data: command, date, versions, inputs and the like.
    rows : array of shape (n_samples,), default 1, 2, ...
        Row number of each sample in the table that a reader has, counted from 1.

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
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"evidence must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )
    assessment = assess(y_true, evidence) if assessment is None else assessment
    if tuple(assessment.classes) != tuple(evidence.classes):
        raise InputError(
            "assessment must be of the same classes as the evidence; it is not. "
            "Pass assess(y_true, evidence)."
        )
    data = read_labelled(y_true, evidence, every_class=False)
    shown = thin_samples(data)
    action, *found = verdicts(assessment)
    record = {"criteria": list(criteria), "provenance": provenance} if provenance else {}
    names = [str(name) for name in assessment.classes]
    context = {
        "kind": "Report on evidence",
        "lead": describe_samples(assessment),
        "action": heed_criteria(action, criteria),
        "verdicts": found,
        "warnings": assessment.warnings,
        "thinned": describe_thinning(len(shown), sum(assessment.counts)),
        "criteria": _criteria(criteria),
        "quality": describe_quantities(assessment),
        "conditions": _conditions(conditions),
        "training": training,
        "n_classes": len(names),
        "data_card": describe_data(assessment, data_card),
        "model_card": model_card,
        "counts": count_samples(assessment),
        "provenance": describe_provenance(provenance),
    }
    values = {
        "classes": names,
        "samples": pack_samples(data, shown, rows),
        "state": first_state(data, assessment.difficulty(), assessment.prior, assessment.costs),
        "numbers": plain_numbers(assessment) | record,
        "training": [dict(epoch) for epoch in training or ()],
    }
    contents = _contents(context)
    words = pick_terms([*(q.key for q in assessment.quantities), *dict(contents)])
    return write_page("report", values, title=title, contents=contents, words=words, **context)


def _contents(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Addresses and headings of the sections that this report has."""
    sections = {
        "summary": "Summary", "criteria": "Acceptance criteria", "quality": "Quality",
        "conditions": "Conditions", "calibration": "Calibration", "ratios": "Likelihood ratios",
        "classes": "Class by class", "training": "Training", "cards": "Data, model and words",
        "provenance": "Provenance",
    }  # fmt: skip
    here = {key: bool(context[key]) for key in ("criteria", "conditions", "training", "provenance")}
    here["classes"] = context["n_classes"] > 2
    return [(key, heading) for key, heading in sections.items() if here.get(key, True)]


# --- numbers for the figures --------------------------------------------------------------


def plain_numbers(assessment: Assessment) -> dict[str, Any]:
    """The assessment as plain data; pairs of classes are left out where they are too many."""
    numbers = assessment.to_dict()
    if len(assessment.classes) > _MOST_PAIRS:  # millions of numbers; the hardest pairs are a table
        numbers = {key: value for key, value in numbers.items() if "pairwise" not in key}
    return numbers


# --- words and tables ---------------------------------------------------------------------


def describe_samples(assessment: Assessment) -> str:
    """How many samples there are, and of which classes, as a sentence."""
    names = ", ".join(shorten(name, 24) for name in assessment.classes[:6])
    more = f" and {len(assessment.classes) - 6} more" if len(assessment.classes) > 6 else ""
    total, D = sum(assessment.counts), len(assessment.classes)
    return f"{total:,} samples of {D} classes: {names}{more}."


def describe_quantities(assessment: Assessment) -> dict[str, Any]:
    """Caption and rows of the table of quantities."""
    quantities, level = assessment.quantities, f"{100 * assessment.confidence:g} %"
    caption = f"Each quantity with its {level} interval."
    if assessment.design:
        caption += f" Intervals: {assessment.design}."
    if any(q.corrected != q.value for q in quantities):
        caption += _CORRECTED
    return {"level": level, "caption": caption, "rows": [_quantity(q) for q in quantities]}


def _quantity(q: Quantity) -> dict[str, Any]:
    better = f" {q.better.capitalize()} is better." if q.better else ""
    value, low, high, corrected = (
        _in_unit(x, q.unit) for x in (q.value, q.low, q.high, q.corrected)
    )
    suffix = " %" if q.unit == "fraction" else f" {q.unit}"
    interval = "no interval" if np.isnan(q.low) else f"{low.removesuffix(suffix)} to {high}"
    if corrected != value:
        interval += f"; corrected {corrected}"
    return {
        "label": shorten(q.label, 90), "value": value, "interval": interval, "exact": q.value,
        "meaning": shorten(q.meaning, 300) + better,
    }  # fmt: skip


def _in_unit(value: float, unit: str) -> str:
    if np.isnan(value):
        return "not defined"
    return percent(value, 3) if unit == "fraction" else f"{number(value)} {unit}".strip()


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


def describe_data(assessment: Assessment, card: Mapping[str, str] | None) -> dict[str, str]:
    """The data card, with the prior and the costs of the assessment."""
    data = {**(card or {}), "prior for costs and decisions": _prior(assessment)}
    if assessment.costs is not None:
        data["costs of errors"] = _costs(assessment)
    return data


def _prior(assessment: Assessment) -> str:
    prior = assessment.prior
    if max(prior) - min(prior) < 1e-9:
        return "the same for each class"
    pairs = zip(assessment.classes, prior, strict=True)
    return _list([f"{shorten(label, 30)} {p:.3g}" for label, p in pairs])


def _costs(assessment: Assessment) -> str:
    """What each error costs, and the right decision where that costs something."""
    C, names = np.asarray(assessment.costs), [shorten(label, 30) for label in assessment.classes]
    costly = np.argwhere((C != 0) | ~np.eye(len(C), dtype=bool))
    return _list([f"{names[j]} for {names[i]} {number(float(C[i, j]))}" for i, j in costly])


def _list(items: Sequence[str]) -> str:
    return ", ".join([*items[:_MOST_LISTED], *(["…"] if len(items) > _MOST_LISTED else [])])


def count_samples(assessment: Assessment) -> dict[str, Any]:
    """Caption, columns and rows of the table of classes."""
    total = max(1, sum(assessment.counts))
    pairs = zip(assessment.classes, assessment.counts, strict=True)
    rows = [(name, f"{count:,}", number(100 * count / total)) for name, count in pairs]
    return {
        "caption": f"{sum(assessment.counts):,} samples.",
        "columns": ("class", "samples", "share (%)"),
        "rows": rows,
    }
