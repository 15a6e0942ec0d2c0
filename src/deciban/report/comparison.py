"""One page on several systems: which is better, by how much, and every curve overlaid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._markup import in_unit, shorten
from deciban.assessment import Comparison, compare
from deciban.assessment.ranking import judge_calibration_gain, rank_systems, values_of
from deciban.assessment.results import Difference, difficulty
from deciban.evidence import Evidence
from deciban.evidence.bayes import cost_matrix, log_prior
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.metrics.multiclass import pairwise_costs
from deciban.report.bundle import (
    describe_provenance,
    first_state,
    pack_evidence,
    pack_samples,
    thin_samples,
    write_page,
)
from deciban.report.page import describe_samples

_VERDICTS = {"cannot tell": "too few samples to tell", "same": "no difference", "": "not tested"}
_ROUNDING = 1e-12
_AS_FITTED = (
    "The intervals are those of the samples; they take the calibrators of the folds as fitted."
)


def comparison_report(
    y_true: ArrayLike,
    systems: Mapping[str, Evidence],
    *,
    title: str,
    comparison: Comparison | None = None,
    settings: Mapping[str, Any] | None = None,
    descriptions: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """One page on two or more systems, as HTML that opens anywhere and loads nothing.

    A ranking in words comes first, then all curves overlaid, and every difference with its
    interval.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    systems : dict of Evidence by name
        Over the same classes, with the same samples on the same rows.
    title : str
    comparison : Comparison, default ``compare(y_true, systems, **settings)``
    settings : dict, optional
        Options for :func:`deciban.compare`, such as the prior, the costs and the groups.
    descriptions : dict of str by name, optional
        Descriptions of the systems.
    provenance : dict, optional
        As for :func:`deciban.report.report`.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    deciban.compare : The numbers and verdicts of the page.
    calibration_report : A page on one system before and after calibration.

    Examples
    --------
    >>> y_true = [0, 0, 0, 1, 1, 1]
    >>> systems = {
    ...     "A": Evidence.from_llr([-3.0, -1.0, 0.5, -0.5, 2.0, 4.0]),
    ...     "B": Evidence.from_llr([-1.0, 0.5, -0.2, 0.3, -0.1, 1.0]),
    ... }
    >>> page = comparison_report(y_true, systems, title="A and B")
    >>> page[:15]
    '<!doctype html>'
    """
    given = dict(settings or {})
    if comparison is None:
        comparison = compare(y_true, systems, **given)
    verdict, sentences = rank_systems(y_true, systems, comparison, **given)
    return _write(
        y_true, systems, comparison, given, descriptions or {}, provenance,
        title=title, kind="Comparison of systems", verdict=verdict,
        sentences=sentences, warnings=comparison.warnings,
        lead=f"{len(systems)} systems on the same ",
    )  # fmt: skip


def calibration_report(
    y_true: ArrayLike,
    before: Evidence,
    after: Evidence,
    *,
    title: str,
    folds: int,
    notes: tuple[str, ...] = (),
    descriptions: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    groups: ArrayLike | None = None,
) -> str:
    """One page on the effect of calibration, as HTML that opens anywhere and loads nothing.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    before, after : Evidence
        Evidence on the same samples, held out in the fits behind the second.
    title : str
    folds : int
        Number of folds.
    notes : tuple of str
        Notes on the calibrator.
    descriptions, provenance
        As for :func:`comparison_report`.
    groups : array of shape (n_samples,), optional
        Such as the speaker: resamples draw whole groups.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    comparison_report : A page on any systems.
    deciban.calibration.AffineCalibrator : A calibrator.

    Examples
    --------
    >>> y_true = [0, 0, 0, 1, 1, 1]
    >>> before = Evidence.from_llr([-30.0, -10.0, 5.0, -5.0, 20.0, 40.0])
    >>> after = Evidence.from_llr([-3.0, -1.0, 0.5, -0.5, 2.0, 4.0])
    >>> page = calibration_report(y_true, before, after, title="A tenth", folds=3)
    >>> page[:15]
    '<!doctype html>'
    """
    systems = {"before": before, "after": after}
    comparison = compare(y_true, systems, groups=groups)
    verdict = judge_calibration_gain(comparison, folds)
    return _write(
        y_true, systems, comparison, {}, descriptions or {}, provenance,
        title=title, kind="Calibration, before and after", verdict=verdict,
        sentences=(verdict.sentence,), warnings=(*comparison.warnings, *notes, _AS_FITTED), lead="",
    )  # fmt: skip


def _write(
    y_true: ArrayLike, systems: Mapping[str, Evidence], comparison: Comparison,
    settings: Mapping[str, Any], descriptions: Mapping[str, str],
    provenance: Mapping[str, Any] | None, *, lead: str, **context: Any,
) -> str:  # fmt: skip
    classes = comparison.classes
    data = {
        name: read_labelled(y_true, one.restrict(classes), every_class=False)
        for name, one in systems.items()
    }
    first = next(iter(data.values()))
    rows = thin_samples(first, len(data))
    state = _state(first, settings)
    about = [(name, descriptions.get(name, "")) for name in systems]
    values = {
        "classes": [str(label) for label in classes],
        "systems": [
            {"name": name, "about": text, "evidence": pack_evidence(data[name], rows)}
            for name, text in about
        ],
        "samples": {**pack_samples(first, rows), "evidence": None},
        "state": state,
        "costs": _costs(comparison, np.array(state["prior"])),
        "numbers": comparison.to_dict() | ({"provenance": provenance} if provenance else {}),
    }
    return write_page(
        "comparison", values, **context, systems=about, tables=_tables(comparison),
        lead=f"{lead}{describe_samples(classes, comparison.counts)}.", several=_values(comparison),
        shown=len(rows), n_samples=len(first.codes),
        provenance=describe_provenance(provenance),
    )  # fmt: skip


def _state(data: Labelled, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows as it opens, with the prior and the costs that were given."""
    classes, costs = data.evidence.classes, settings.get("costs")
    prior = np.exp(log_prior(settings.get("prior"), classes, 1)[0])
    matrix = None if costs is None else cost_matrix(costs, classes)
    return first_state(data, difficulty(*pairwise_costs(data)[:2]), prior, matrix)


def _costs(comparison: Comparison, prior: NDArray[np.float64]) -> list[dict[str, Any]] | None:
    """Cross-entropy of each system and its parts; costs of two classes are found in the page."""
    if len(comparison.classes) == 2:
        return None
    total, part = (values_of(comparison, key) for key in ("cross_entropy", "calibration"))
    nothing = -prior @ np.log(prior)
    return [
        {"total": total[n], "calibration": part.get(n, np.nan), "nothing": nothing} for n in total
    ]


def _tables(comparison: Comparison) -> list[dict[str, Any]]:
    """The differences of the first system from each of the others."""
    first, *others = comparison.systems
    level = f"{100 * comparison.confidence:g} %"
    design = f" Intervals: {comparison.design}." if comparison.design else ""
    return [
        {
            "name": f"{first} and {name}",
            "caption": f"{first} less {name}, with {level} intervals.{design}",
            "columns": (
                "quantity", first, name, f"{first} − {name}", f"{level} interval", "verdict",
            ),
            "rows": [_row(one) for one in comparison.differences if one.systems[1] == name],
        }
        for name in others
    ]  # fmt: skip


def _row(one: Difference) -> tuple[str, ...]:
    label = one.label if one.unit in ("", "fraction") else f"{one.label} ({one.unit})"
    numbers = (one.a, one.b, one.difference, one.low, one.high)
    # Differences of equal costs that are rounding would be read as numbers.
    sizes = (0.0 if abs(value) < _ROUNDING else value for value in numbers)
    *cells, low, high = (in_unit(value, one.unit) for value in sizes)
    interval = "–" if np.isnan(one.low) else f"{low} to {high}"
    better = one.verdict.removesuffix(" better")
    verdict = _VERDICTS.get(one.verdict, f"{better} is better")
    return shorten(label, 90), *cells, interval, verdict


def _values(comparison: Comparison) -> dict[str, Any] | None:
    """Every quantity of each of more than two systems."""
    if len(comparison.systems) == 2:
        return None
    # The hardest pair of classes may be another one for each two systems: it is left out.
    shared = {one.label: one for one in comparison.differences if one.key != "worst_pair_cllr"}
    rows = []
    for one in shared.values():
        values = values_of(comparison, one.key)
        cells = (in_unit(values.get(name, np.nan), one.unit) for name in comparison.systems)
        rows.append((_row(one)[0], *cells))
    return {"columns": ("quantity", *comparison.systems), "rows": rows}
