"""MNIST on 40 principal components: the computations, one step each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deciban.calibration import AffineCalibrator
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from reproduction.baselines import BASELINES
from reproduction.experiment import Arrays, Experiment, Findings, Step
from reproduction.mnist import (
    COMPONENTS,
    DIGITS,
    center_rows,
    data_step,
    evidence_of,
    principal_components,
    sizes,
)
from reproduction.mnist40_findings import findings_of
from reproduction.toy_protocol import cda_settings, make_cda

CLASSICAL = {"lda": LinearDiscriminant, "qda": QuadraticDiscriminant}
CDAS: dict[str, dict[str, Any]] = {
    "cda-paper": {"preset": "paper"},
    "cda-generative": {"discriminative_weight": 0.0, "n_couplings": 20, "input_noise": 0.25},
    "cda": {},
    "cda-ensemble": {"n_estimators": 5},
}
_QUICK_CDA = {"epochs": 10, "n_couplings": 2, "width": 64, "batch_size": 128}
# The paper's initialization is further from the solution than LDA's is.
_QUICK_MORE = {"cda-paper": {"epochs": 40}, "cda-ensemble": {"n_estimators": 2}}
_SECONDS = {"cda-paper": 600.0, "cda-generative": 7000.0, "cda": 4000.0, "cda-ensemble": 20_000.0}
_RIDGE = 1e-3  # of the calibrator: its parameters diverge for classes that are nearly separable
WITH_SPACE = ("cda-paper", "cda-generative", "cda")  # an ensemble has no base space
MAPPED = ("cda-generative", "cda")
SYSTEMS = (*CLASSICAL, *CDAS, *BASELINES)

Earlier = Mapping[str, Arrays]


class Mnist40(Experiment):
    """Discriminant analyses and other classifiers on 40 principal components of MNIST."""

    name = "mnist-40"
    title = "Handwritten digits, 40 principal components"
    paper = "Figures 13 and 14, Tables 2 and 3"
    data = "mnist"

    def steps(self, quick: bool) -> Sequence[Step]:
        """Fits, then what is computed from their evidence and their base spaces."""
        fits = [*_classical_steps(quick), *_cda_steps(quick), *_baseline_steps(quick)]
        return [data_step(quick), *fits, *_analysis_steps(quick, fits)]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Tables 2 and 3, Figures 13 and 14, and comparisons that the paper does not have."""
        return findings_of(results)


def fit_settings(quick: bool, **options: Any) -> dict[str, Any]:
    """Settings of a step that fits a model."""
    return {**sizes(quick), "components": COMPONENTS, "random_state": 0, **options}


def _classical_steps(quick: bool) -> list[Step]:
    def compute(model: Any, path: Path, earlier: Earlier) -> Arrays:
        data = principal_components(quick)
        return {"log_likelihoods": center_rows(model().fit(data.X, data.y).evidence(data.X_test))}

    return [
        Step(name, fit_settings(quick, model=name), partial(compute, model), seconds=3.0)
        for name, model in CLASSICAL.items()
    ]


def _cda_steps(quick: bool) -> list[Step]:
    steps = []
    for name, options in CDAS.items():
        if quick:
            options = options | _QUICK_CDA | _QUICK_MORE.get(name, {})
        settings = fit_settings(quick, options=cda_settings(**options))
        compute = partial(_fit_cda, quick, options, name in WITH_SPACE)
        steps.append(Step(name, settings, compute, 5.0 if quick else _SECONDS[name]))
    return steps


def _fit_cda(
    quick: bool, options: dict[str, Any], with_space: bool, path: Path, earlier: Earlier
) -> Arrays:
    """A CDA's evidence on the test images and, for one flow, its base space and divergences."""
    data = principal_components(quick)
    model = make_cda(checkpoint=path, random_state=0, **options)
    model.fit(data.X, data.y)
    found = {"log_likelihoods": center_rows(model.evidence(data.X_test))}
    if with_space:
        Z = model.transform(data.X_test).astype(np.float32)
        found |= {
            "ilr": Z[:, : len(DIGITS) - 1],
            "residual": Z[:, len(DIGITS) - 1 :],
            "divergences": model.divergences_,
            "covariance": model.covariance_,
        }
    return found


def _baseline_steps(quick: bool) -> list[Step]:
    def compute(name: str, options: dict[str, Any], path: Path, earlier: Earlier) -> Arrays:
        return BASELINES[name].fit(principal_components(quick), **options)

    steps = []
    for name, baseline in BASELINES.items():
        options = baseline.options_for(quick)
        settings = fit_settings(quick, model=name, options=options)
        seconds = 1.0 if quick else baseline.seconds
        steps.append(Step(name, settings, partial(compute, name, options), seconds))
    return steps


# --- what is computed from the fits ---------------------------------------------------


def _analysis_steps(quick: bool, fits: Sequence[Step]) -> list[Step]:
    trees, folds = (10, 2) if quick else (50, 5)
    return [
        Step(
            "calibrated", {"folds": folds, "ridge": _RIDGE},
            lambda path, earlier: _recalibrate(earlier, folds), 10.0 if quick else 120.0,
            after=("data", *(step.name for step in fits)),
        ),
        Step(
            "residuals", {"trees": trees, "folds": 3},
            lambda path, earlier: _classify_residuals(earlier, trees), 90.0,
            after=("data", *WITH_SPACE),
        ),
        Step(
            "map", {"random_state": 0}, lambda path, earlier: _map_spaces(earlier), 120.0,
            after=MAPPED,
        ),
    ]  # fmt: skip


def _recalibrate(earlier: Earlier, n_folds: int) -> Arrays:
    """Evidence of each system, each fold of the test images calibrated on the other folds."""
    from sklearn.model_selection import StratifiedKFold

    y_true = earlier["data"]["truth"].astype(np.int64)
    found: dict[str, np.ndarray] = {}
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for name in SYSTEMS:
        evidence = evidence_of(earlier[name])
        values = np.empty((len(y_true), len(DIGITS)))
        for others, rows in folds.split(y_true, y_true):
            calibrator = AffineCalibrator("full", ridge=_RIDGE)
            calibrator.fit(evidence[others], y_true[others])
            values[rows] = calibrator.transform(evidence[rows])
        found[name] = center_rows(values)
    return found


def _classify_residuals(earlier: Earlier, trees: int) -> Arrays:
    """Digits that gradient boosting finds in residuals, in three folds of the test images."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    y = earlier["data"]["truth"].astype(np.int64)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    classifier = HistGradientBoostingClassifier(max_iter=trees, random_state=0)
    return {
        name: cross_val_predict(classifier, earlier[name]["residual"], y, cv=folds).astype(np.int8)
        for name in WITH_SPACE
    }


def _map_spaces(earlier: Earlier) -> Arrays:
    """Two-dimensional maps of ILRLs and residuals."""
    return {
        f"{name}.{part}": umap(earlier[name][part])
        for name in MAPPED
        for part in ("ilr", "residual")
    }


def umap(points: np.ndarray) -> np.ndarray:
    """Uniform manifold approximation and projection to two dimensions.

    References
    ----------
    McInnes et al. (2018), UMAP: uniform manifold approximation and projection.
    """
    with warnings.catch_warnings():
        # From numba and optional parts of umap, at import and at the first compilation.
        warnings.simplefilter("ignore")
        from umap import UMAP

        embedding = UMAP(random_state=0, n_jobs=1).fit_transform(points)
    return np.asarray(embedding, dtype=np.float32)
