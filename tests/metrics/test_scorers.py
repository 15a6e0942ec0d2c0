"""Scorers in scikit-learn's own cross-validation and searches."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence, LinearDiscriminant, metrics
from deciban.calibration import AffineCalibrator
from deciban.exceptions import InputError
from deciban.metrics import make_evidence_scorer


def test_the_score_is_minus_the_metric_of_each_fold():
    X, y = load_iris(return_X_y=True)
    folds = list(StratifiedKFold(3).split(X, y))
    prior = [0.2, 0.2, 0.6]
    for metric in (metrics.cross_entropy, metrics.brier):
        scorer = make_evidence_scorer(metric, prior=prior)
        found = cross_val_score(LinearDiscriminant(), X, y, cv=folds, scoring=scorer)
        expected = [
            -metric(y[test], LinearDiscriminant().fit(X[train], y[train]).evidence(X[test]),
                    prior=prior)
            for train, test in folds
        ]  # fmt: skip
        np.testing.assert_allclose(found, expected)


def test_several_scorers_of_a_pipeline_are_taken_at_once():
    X, y = load_breast_cancer(return_X_y=True)
    scoring = {
        "cllr": make_evidence_scorer(metrics.cllr),
        "accuracy": make_evidence_scorer(metrics.accuracy, greater_is_better=True),
    }
    model = make_pipeline(StandardScaler(), LinearDiscriminant())
    found = cross_validate(model, X, y, cv=3, scoring=scoring)
    assert (found["test_cllr"] < 0).all()
    assert (found["test_accuracy"] > 0.9).all()
    alone = cross_validate(LinearDiscriminant(), X, y, cv=3, scoring=scoring)
    np.testing.assert_allclose(found["test_cllr"], alone["test_cllr"], rtol=1e-5)


def test_a_search_chooses_the_calibrator_with_the_least_cost():
    X, y = load_iris(return_X_y=True)
    scores = 5 * cross_val_predict(
        LogisticRegression(max_iter=1000), X, y, method="predict_log_proba"
    )
    search = GridSearchCV(
        AffineCalibrator(),
        {"ridge": [None, 1e3]},
        scoring=make_evidence_scorer(metrics.brier),
    ).fit(scores, y)
    assert search.best_params_ == {"ridge": None}


def test_the_prior_of_the_estimator_does_not_matter():
    X, y = load_iris(return_X_y=True)
    scorer = make_evidence_scorer()
    one, other = (
        cross_val_score(LinearDiscriminant(prior=prior), X, y, scoring=scorer)
        for prior in ("uniform", [0.98, 0.01, 0.01])
    )
    np.testing.assert_allclose(one, other)


def test_scorers_take_weights_and_can_be_pickled():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminant().fit(X, y)
    scorer = pickle.loads(pickle.dumps(make_evidence_scorer(unit="bit")))
    weight = 1 + np.arange(150) % 2
    expected = metrics.cross_entropy(y, model.evidence(X), unit="bit", sample_weight=weight)
    assert scorer(model, X, y, sample_weight=weight) == -expected


def test_an_estimator_without_evidence_is_refused():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    with pytest.raises(InputError, match="must have a method evidence"):
        make_evidence_scorer()(model, X, y)
    assert isinstance(LinearDiscriminant().fit(X, y).evidence(X), Evidence)
