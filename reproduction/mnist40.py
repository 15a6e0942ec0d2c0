"""MNIST on 40 principal components: what is computed, each piece of work a step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deciban.calibration import AffineCalibrator
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from deciban.exceptions import MissingExtraError
from reproduction.baselines import BASELINES
from reproduction.experiment import Arrays, Experiment, Findings, Step
from reproduction.mnist import COMPONENTS, DIGITS, data_step, evidence_of, forty, kept, sizes
from reproduction.mnist40_findings import findings_of
from reproduction.protocol import cda_settings

CDAS: dict[str, dict[str, Any]] = {
    "cda-paper": {"preset": "paper"},
    "cda-generative": {"discriminative_weight": 0.0, "n_couplings": 20, "input_noise": 0.25},
    "cda": {},
    "cda-ensemble": {"n_estimators": 5},
}
_QUICK_CDA = {"epochs": 10, "n_couplings": 2, "width": 64, "batch_size": 128}
# The paper's start is further from the solution than LDA's is.
_QUICK_MORE = {"cda-paper": {"epochs": 40}, "cda-ensemble": {"n_estimators": 2}}
_SECONDS = {"cda-paper": 600.0, "cda-generative": 7000.0, "cda": 4000.0, "cda-ensemble": 20_000.0}
_RIDGE = 1e-3  # of the calibrator: classes that are nearly separable ask for infinity
WITH_SPACE = ("cda-paper", "cda-generative", "cda")  # an ensemble has no base space
MAPPED = ("cda-generative", "cda")
SYSTEMS = ("lda", "qda", *CDAS, *BASELINES)

Earlier = Mapping[str, Arrays]


class FortyComponents(Experiment):
    """Discriminant analyses and other classifiers on 40 principal components of MNIST."""

    name = "mnist-40"
    title = "Handwritten digits, 40 principal components"
    paper = "Figures 13 and 14, Tables 2 and 3"
    data = "mnist"

    def steps(self, quick: bool) -> Sequence[Step]:
        """Fits, then what is computed from their evidence and their base spaces."""
        fits = [*_classical(quick), *_cdas(quick), *_baselines(quick)]
        return [data_step(quick), *fits, *_looked_into(quick, fits)]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Tables 2 and 3, Figures 13 and 14, and what the paper does not have."""
        return findings_of(results)


def fit_settings(quick: bool, **options: Any) -> dict[str, Any]:
    """Settings of a step that fits something."""
    return {**sizes(quick), "components": COMPONENTS, "random_state": 0, **options}


def _classical(quick: bool) -> list[Step]:
    models = {"lda": LinearDiscriminant, "qda": QuadraticDiscriminant}

    def fit(make: Callable[[], Any]) -> Arrays:
        data = forty(quick)
        return {"log_likelihoods": kept(make().fit(data.X, data.y).evidence(data.new))}

    return [
        Step(name, fit_settings(quick, model=name), _alone(fit, make), seconds=3.0)
        for name, make in models.items()
    ]


def _cdas(quick: bool) -> list[Step]:
    steps = []
    n = sizes(quick)["train"]
    for name, options in CDAS.items():
        chosen = options | (_QUICK_CDA if quick else {})
        if quick:
            chosen |= _QUICK_MORE.get(name, {})

        def compute(path: Path, earlier: Earlier, name: str = name, chosen: Any = chosen) -> Arrays:
            return _cda(path, quick, chosen, with_space=name in WITH_SPACE)

        seconds = 5.0 if quick else _SECONDS[name]
        whole = cda_settings(n, COMPONENTS, **chosen)  # so that a change of defaults is seen
        steps.append(Step(name, fit_settings(quick, options=whole), compute, seconds))
    return steps


def _cda(path: Path, quick: bool, options: dict[str, Any], *, with_space: bool) -> Arrays:
    """A CDA's evidence of the test images and, of one flow, its ILRLs, residuals, divergences."""
    from deciban.discriminant import CompositionalDiscriminantAnalysis

    data = forty(quick)
    model = CompositionalDiscriminantAnalysis(checkpoint=path, random_state=0, **options)
    model.fit(data.X, data.y)
    found = {"log_likelihoods": kept(model.evidence(data.new))}
    if with_space:
        Z = model.transform(data.new).astype(np.float32)
        found |= {
            "ilr": Z[:, : len(DIGITS) - 1],
            "residual": Z[:, len(DIGITS) - 1 :],
            "divergences": model.divergences_,
            "covariance": model.covariance_,
        }
    return found


def _baselines(quick: bool) -> list[Step]:
    steps = []
    for name, baseline in BASELINES.items():
        options = baseline.chosen(quick)

        def fit(baseline: Any = baseline, options: Any = options) -> Arrays:
            return baseline.fit(forty(quick), **options)

        settings = fit_settings(quick, model=name, options=options)
        seconds = 1.0 if quick else baseline.seconds
        steps.append(Step(name, settings, _alone(fit), seconds))
    return steps


def _alone(fit: Callable[..., Arrays], *args: Any) -> Callable[[Path, Earlier], Arrays]:
    """A step that needs neither a checkpoint nor the steps before it."""
    return lambda path, earlier: fit(*args)


# --- what is computed from the fits ---------------------------------------------------


def _looked_into(quick: bool, fits: Sequence[Step]) -> list[Step]:
    trees, folds = (10, 2) if quick else (50, 5)
    return [
        Step(
            "calibrated", {"folds": folds, "ridge": _RIDGE},
            lambda path, earlier: _calibrated(earlier, folds), 10.0 if quick else 120.0,
            after=("data", *(step.name for step in fits)),
        ),
        Step(
            "residuals", {"trees": trees, "folds": 3},
            lambda path, earlier: _found_in_residuals(earlier, trees), 90.0,
            after=("data", *WITH_SPACE),
        ),
        Step(
            "map", {"random_state": 0}, lambda path, earlier: _maps(earlier), 120.0, after=MAPPED
        ),
    ]  # fmt: skip


def _calibrated(earlier: Earlier, n_folds: int) -> Arrays:
    """Evidence of each system, recalibrated: each fold of the test images by the other folds."""
    from sklearn.model_selection import StratifiedKFold

    truth = earlier["data"]["truth"].astype(np.int64)
    found: dict[str, np.ndarray] = {}
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for name in SYSTEMS:
        evidence = evidence_of(earlier[name])
        values = np.empty((len(truth), len(DIGITS)))
        for others, rows in folds.split(truth, truth):
            calibrator = AffineCalibrator("full", ridge=_RIDGE).fit(evidence[others], truth[others])
            values[rows] = calibrator.transform(evidence[rows])
        found[name] = kept(values)
    return found


def _found_in_residuals(earlier: Earlier, trees: int) -> Arrays:
    """Digits that gradient boosting finds in residuals, in three folds of the test images."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    truth = earlier["data"]["truth"].astype(np.int64)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    guess = HistGradientBoostingClassifier(max_iter=trees, random_state=0)
    return {
        name: cross_val_predict(guess, earlier[name]["residual"], truth, cv=folds).astype(np.int8)
        for name in WITH_SPACE
    }


def _maps(earlier: Earlier) -> Arrays:
    """Two dimensions of ILRLs and residuals, by UMAP."""
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
        # Of numba and of optional parts of umap, at import and at the first compilation.
        warnings.simplefilter("ignore")
        try:
            from umap import UMAP
        except ImportError as error:
            raise MissingExtraError(
                "umap-learn must be installed for this map. Run: pip install 'deciban[paper]'",
                extra="paper",
            ) from error
        made = UMAP(random_state=0, n_jobs=1).fit_transform(points)
    return np.asarray(made, dtype=np.float32)
