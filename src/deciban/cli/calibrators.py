"""Calibrators from options, fitted to scores in memory or in parts, and their gain."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from deciban import calibration
from deciban.assessment import Assessment, Quantity, assess
from deciban.assessment.assess import assess_partitions
from deciban.assessment.quantities import cost_keys
from deciban.cli.score_columns import require_finite
from deciban.cli.score_parts import ScoreParts, calibrate_folds, select_fold
from deciban.cli.scores import LabelledScores, measure_columns
from deciban.cli.words import require_choice
from deciban.evidence import Evidence
from deciban.exceptions import DecibanError, InputError

_AFFINE = {"affine": "scalar", "diagonal": "diagonal", "full": "full", "bounded": "scalar"}
_OTHERS = {
    "gaussian": calibration.GaussianCalibrator, "monotone": calibration.MonotoneCalibrator,
    "isotonic": calibration.IsotonicCalibrator, "kernel": calibration.KernelDensityCalibrator,
}  # fmt: skip
_TWO_CLASSES = ("isotonic", "kernel")
_UNKNOWN = "The costs after calibration are unknown"
_FOLDS = 5
_FEW_FOLDS = 2  # of samples beyond memory, which are many


class FittedCalibrator(NamedTuple):
    """A calibrator fitted to all samples, and its costs before and after on held-out folds.

    If a fold cannot be fitted, ``after`` is None, ``folds`` 0, and the last note says why.
    """

    calibrator: Any
    before: Assessment
    after: Assessment | None
    folds: int
    notes: list[str]
    held_out: Evidence | None = None  # of samples in memory, each by a fit without it
    groups: np.ndarray | None = None
    resampled: calibration.BootstrapCalibrator | None = None

    @property
    def stored(self) -> Any:
        """The calibrator to save."""
        return self.resampled or self.calibrator

    def settings(self, method: str) -> dict[str, Any]:
        """How it was fitted, for the record."""
        parameters = self.calibrator.get_params()
        if "method" in parameters:
            parameters["map"] = parameters.pop("method")
        kind = type(self.calibrator).__name__
        return {"method": method, "folds": self.folds, "estimator": kind, **parameters}


def make_calibrator(method: str, bounded: bool, measures: list[str]) -> Any:
    """The calibrator that the options ask for, not fitted yet."""
    require_choice(method, "--method", (*_AFFINE, *_OTHERS))
    if measures:
        if bounded or method not in ("affine", "diagonal", "full"):
            raise InputError("--quality needs --method affine, diagonal or full, and no --bounded.")
        return calibration.FusionCalibrator(_AFFINE[method], quality=measures)  # type: ignore[arg-type]
    if method in _AFFINE:
        inner: Any = calibration.AffineCalibrator(_AFFINE[method])  # type: ignore[arg-type]
    else:
        inner = _OTHERS[method]()
    return calibration.BoundedCalibrator(inner) if bounded or method == "bounded" else inner


def require_affine(method: str, unused: tuple[Any, ...], table: str) -> None:
    """Raise unless the calibrator can be fitted to parts."""
    names = ("--bounded", "--quality", "--resamples", "--report")
    given = [name for name, value in zip(names, unused, strict=True) if value]
    if method not in _AFFINE or method == "bounded" or given:
        what = given[0] if given else f"--method {method}"
        remedy = f"Leave {given[0]} out" if given else "Choose affine, diagonal or full"
        raise InputError(
            f"{what} must come with one table that fits into memory; got {table}, which is read in "
            f"parts. {remedy}; or give one table, without --workers."
        )


def fit_scores(
    blank: Any, method: str, scored: LabelledScores, source: str, measures: list[str],
    group: str | None, resamples: int,
) -> FittedCalibrator:  # fmt: skip
    """Fit to scores in memory, and cross-validate."""
    evidence = scored.evidence
    measured = measure_columns(scored.beside, measures, source)
    groups = None if group is None else scored.beside[group].cast(str).to_numpy()
    given = {"score": evidence, **measured} if measured else evidence
    calibrator, notes = _fit(blank, method, scored, source, given)
    before = assess_costs(scored, evidence)
    folds = count_folds(scored, groups)
    held_out, after, resampled = None, None, None
    if folds < 2:
        notes.append(
            f"{_UNKNOWN}: each class needs two {'samples' if groups is None else 'groups'}."
        )
    else:
        try:
            values = evidence.log_likelihoods
            parts = {"score": values, **measured} if measured else values
            held_out = cross_validate(blank, parts, scored, folds, groups)
            after = assess_costs(scored, held_out)
        except DecibanError as error:
            notes.append(f"{_UNKNOWN}; a fold cannot be fitted: {error}")
    notes += _note_loss(before, after)
    if resamples:
        with warnings.catch_warnings():  # they have been reported for all samples
            warnings.simplefilter("ignore")
            bootstrap = calibration.BootstrapCalibrator(blank, n_resamples=resamples)
            resampled = bootstrap.fit(given, scored.y_true, groups=groups)
    return FittedCalibrator(
        calibrator, before, after, folds if after else 0, notes, held_out, groups, resampled
    )


def _note_loss(before: Assessment, after: Assessment | None) -> list[str]:
    if after is None or total_cost(after).value <= total_cost(before).value:
        return []
    return [
        "Calibration makes these scores worse on held-out samples: there are too few samples, or "
        "the scores were calibrated already."
    ]


def fit_parts(blank: Any, parts: ScoreParts) -> FittedCalibrator:
    """Fit to scores in parts."""
    data = parts.sorted_partitions

    def fit(some: Any) -> Any:
        return clone(blank).fit_partitions(some, len(data.classes))  # evidence, as apply gives it

    fitted = fit(data)
    before, _ = assess_partitions(parts.partitions, n_resamples=0)
    try:
        by_fold = [fit(select_fold(data, k)) for k in range(_FEW_FOLDS)]
    except DecibanError as error:
        why = f"{_UNKNOWN}; a fold cannot be fitted: {error}"
        return FittedCalibrator(fitted, before, None, 0, [why])
    after, _ = assess_partitions(calibrate_folds(data, by_fold), n_resamples=0)
    return FittedCalibrator(fitted, before, after, _FEW_FOLDS, _note_loss(before, after))


def _fit(
    blank: Any, method: str, scored: LabelledScores, source: str, given: Any
) -> tuple[Any, list[str]]:
    """A calibrator fitted to all samples, and notes on it."""
    if scored.evidence.n_classes > 2 and method in _TWO_CLASSES:
        raise InputError(f"--method {method} is for two classes; got {scored.evidence.n_classes}.")
    require_finite(scored.evidence, blank, source)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator = clone(blank).fit(given, scored.y_true)
    kinds = {warning.category for warning in caught}
    notes = []
    if calibration.SeparableWarning in kinds:
        notes.append(
            "The classes do not overlap in these scores, so nothing limits the calibrated "
            "evidence. Give --bounded."
        )
    if calibration.ReversedScoresWarning in kinds:
        other, target = scored.evidence.classes
        notes.append(
            f"Higher scores do not favor class {target}, so no evidence is left. If they favor "
            f"{other}, say so in --truth, with ={other} after the column."
        )
    notes += [
        f"The samples cannot support this: {warning.message.finding}. Give --bounded."
        for warning in caught
        if isinstance(warning.message, calibration.UnsupportedEvidenceWarning)
    ]
    if isinstance(calibrator, calibration.IsotonicCalibrator):
        notes.append(
            "Beyond the last samples, isotonic LLRs are inf and -inf: one on the wrong "
            "side has infinite cost. --bounded avoids them."
        )
    return calibrator, notes


def assess_costs(scored: LabelledScores, evidence: Evidence) -> Assessment:
    """Every quantity for this evidence, without intervals."""
    return assess(scored.y_true, evidence, n_resamples=0)


def count_folds(scored: LabelledScores, groups: np.ndarray | None) -> int:
    """As many folds as each class has samples, or groups, up to five."""
    groups = np.arange(scored.n_samples) if groups is None else groups
    return min(_FOLDS, *(len(set(groups[scored.codes == k])) for k in np.unique(scored.codes)))


def cross_validate(
    blank: Any, given: Any, scored: LabelledScores, folds: int, groups: np.ndarray | None = None
) -> Evidence:
    """Held-out evidence; ``given`` is an array of log-likelihoods, or a fusion's mapping."""

    def take(rows: Any) -> Any:
        mapped = isinstance(given, dict)
        return {name: x[rows] for name, x in given.items()} if mapped else given[rows]

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
    return assessment[cost_keys(len(assessment.classes) == 2)[0]]
