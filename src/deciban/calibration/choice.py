"""Automatic choice: candidates are compared on samples that they were not fitted to."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.calibration.affine import AffineCalibrator
from deciban.calibration.base import Calibrator, IdentityCalibrator
from deciban.calibration.bounded import BoundedCalibrator
from deciban.calibration.densities import GaussianCalibrator, KernelDensityCalibrator
from deciban.calibration.nonlinear import (
    CurvedCalibrator,
    IsotonicCalibrator,
    ReversedScoresWarning,
)
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled

_FOLDS = 5
_ENOUGH = 100_000  # samples times classes that tell the candidates apart
_MANY = 2000  # samples with which PAV does as well as kernel densities, and much faster
_MOST_CLASSES = 30  # of a curved or full map: more take long to fit
_MOST_COMPARED = 100  # classes: the affine map of more takes long to fit six times


def candidate_calibrators(n_classes: int, n_samples: int) -> dict[str, Calibrator]:
    """Candidates by name; the first wins a tie.

    The affine map is first, since its prior makes it safe with few samples.
    """
    found: dict[str, Calibrator] = {
        "affine": AffineCalibrator(),
        "identity": IdentityCalibrator(),
        "gaussian": GaussianCalibrator(),
    }
    if n_classes <= _MOST_CLASSES:
        found["curved"] = CurvedCalibrator()
    if n_classes == 2:
        found["isotonic"] = BoundedCalibrator(IsotonicCalibrator())
        if n_samples <= _MANY:
            found["kernel"] = BoundedCalibrator(KernelDensityCalibrator())
    elif n_classes <= _MOST_CLASSES:
        found["full"] = AffineCalibrator("full")
    return found


def choose_calibrator(
    samples: Labelled, folds: NDArray[np.intp] | None = None
) -> tuple[str, Calibrator, dict[str, float]]:
    """Name of the best candidate, the calibrator, not fitted, and the losses by name.

    ``folds`` holds the fold of each sample, by default five at random. The loss is the mean
    cross-entropy at equal priors and at the class mix, each relative to no evidence; infinite if a
    candidate cannot be fitted. The choice is the first candidate within one standard error of the
    best. With one sample in a class, or more than 100 classes, it is the affine map.
    """
    if not samples.weights.all():
        counts = np.flatnonzero(samples.weights)
        samples, folds = samples.select(counts), None if folds is None else folds[counts]
    candidates = candidate_calibrators(samples.evidence.n_classes, len(samples.codes))
    if samples.counts.min() < 2 or samples.evidence.n_classes > _MOST_COMPARED:
        return "affine", candidates["affine"], {}
    numbered = Evidence(samples.evidence.log_likelihoods, range(samples.evidence.n_classes))
    samples = replace(samples, evidence=numbered)  # positions are labels that sort as they should
    samples, folds = _thin_out(samples, folds)
    folds = _usable_folds(samples, folds)
    terms = {name: _loss_terms(one, samples, folds) for name, one in candidates.items()}
    losses = {name: float(one.sum()) for name, one in terms.items()}
    best = min(losses, key=lambda name: losses[name])
    for name in candidates:
        with np.errstate(invalid="ignore"):  # of candidates that cannot be fitted
            excess = terms[name] - terms[best]
            spread = [np.var(excess[rows]) * len(rows) for rows in samples.rows_by_class]
        if name == best or excess.sum() <= np.sqrt(sum(spread)):
            break
    return name, candidates[name], losses


def _loss_terms(calibrator: Calibrator, samples: Labelled, folds: NDArray[np.intp]) -> Floats:
    """Loss terms of samples after fits without their folds."""
    n = len(samples.codes)
    log_f = np.empty((n, samples.evidence.n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReversedScoresWarning)
        for fold in np.unique(folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fitted = samples.select(train)
            try:
                calibrator._learn(fitted.evidence, fitted.codes, fitted.weights)
            except InputError:
                return np.full(n, np.inf)
            log_f[test] = calibrator.evidence(samples.evidence[test]).log_likelihoods
    mix = samples.mass / samples.mass.sum()
    terms = np.zeros(n)
    for prior in (np.full(len(mix), 1 / len(mix)), mix):
        z = log_f + np.log(prior)
        cost = np.logaddexp.reduce(z, axis=1) - z[np.arange(n), samples.codes]
        weight = balance_weights(samples.codes, samples.weight, prior)
        terms += weight * cost / (-2 * prior @ np.log(prior))
    return terms


def _usable_folds(samples: Labelled, folds: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """The folds, or others if one leaves a class without training samples."""
    from sklearn.model_selection import StratifiedKFold  # slow to import

    codes = samples.codes
    if folds is not None:
        kept = [samples.select(folds != k).counts.min() for k in np.unique(folds)]
        if min(kept) > 0:
            return folds
    splitter = StratifiedKFold(min(_FOLDS, int(samples.counts.min())), shuffle=True, random_state=0)
    found = np.empty(len(codes), dtype=np.intp)
    for k, (_, rows) in enumerate(splitter.split(codes, codes)):
        found[rows] = k
    return found


def _thin_out(samples: Labelled, folds: Any) -> tuple[Labelled, Any]:
    """A subsample of every class, weighted for the rest."""
    share = _ENOUGH // samples.evidence.n_classes**2
    if samples.counts.max() <= share:
        return samples, folds
    rng = np.random.default_rng(0)
    rows = np.sort(np.concatenate([rng.permutation(one)[:share] for one in samples.rows_by_class]))
    times = samples.counts / np.minimum(samples.counts, share)
    some = samples.select(rows)
    some = replace(some, weight=some.weights * times[some.codes])
    return some, None if folds is None else folds[rows]
