"""What calibration gains: costs of scores before it, and of held-out samples after it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from deciban.assessment import Assessment, Quantity, assess
from deciban.cli.columns import LabelledScores
from deciban.evidence import Evidence

FOLDS = 5
_TWO_CLASS_COSTS = ("cllr", "cllr_cal", "cllr_min")
_COSTS = ("cross_entropy", "calibration", "discrimination")


def assess_costs(scored: LabelledScores, evidence: Evidence) -> Assessment:
    """Every quantity of this evidence, without intervals."""
    return assess(scored.y_true, evidence, n_resamples=0)


def count_folds(scored: LabelledScores, groups: np.ndarray | None) -> int:
    """As many folds as each class has samples, or groups, up to five."""
    if groups is None:
        return min(FOLDS, *scored.counts)
    each = (len(set(groups[scored.codes == k])) for k in np.unique(scored.codes))
    return min(FOLDS, *each)


def cross_validate(
    blank: Any, given: Any, scored: LabelledScores, folds: int, groups: np.ndarray | None = None
) -> Evidence:
    """The evidence of each sample after a calibrator that was fitted without it and its group.

    ``given`` is an array of log-likelihoods, or a mapping of what a fusion takes.
    """

    def take(rows: Any) -> Any:
        if isinstance(given, dict):
            return {name: values[rows] for name, values in given.items()}
        return given[rows]

    codes = scored.codes
    values = np.empty_like(scored.evidence.log_likelihoods)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splits = kind(folds, shuffle=True, random_state=0).split(codes, codes, groups)
    with warnings.catch_warnings():  # they have been reported for all samples
        warnings.simplefilter("ignore")
        for rest, held_out in splits:
            fitted = clone(blank).fit(take(rest), codes[rest])
            values[held_out] = fitted.evidence(take(held_out)).log_likelihoods
        return Evidence(values, scored.evidence.classes)


def total_cost(assessment: Assessment) -> Quantity:
    """The total cost: Cllr for two classes, cross-entropy for more."""
    return assessment[costs_to_show(assessment)[0]]


def costs_to_show(assessment: Assessment) -> tuple[str, ...]:
    """Keys of the costs to show: the total, and its parts."""
    return _TWO_CLASS_COSTS if len(assessment.classes) == 2 else _COSTS
