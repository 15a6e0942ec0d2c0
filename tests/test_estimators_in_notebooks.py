"""scikit-learn draws every estimator in a notebook; ours must not break that, fitted or not."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

import deciban
from deciban import calibration, discriminant, open_set, same_source

NEEDS = {"CalibratedEvidenceClassifier": LogisticRegression()}
ESTIMATORS = sorted(
    {
        value
        for module in (calibration, discriminant, open_set, same_source)
        for name in module.__all__
        if inspect.isclass(value := getattr(module, name)) and issubclass(value, BaseEstimator)
    },
    key=lambda one: one.__name__,
)


def make(kind):
    return kind(NEEDS[kind.__name__]) if kind.__name__ in NEEDS else kind()


def test_no_estimator_is_left_out():
    names = {kind.__name__ for kind in ESTIMATORS}
    assert {"AffineCalibrator", "LinearDiscriminant", "SameSourceModel"} <= names
    assert len(names) > 10


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_has_an_html_representation(kind):
    shown = make(kind)._repr_mimebundle_()["text/html"]
    assert kind.__name__ in shown
    assert "Not fitted" in shown


def test_a_fitted_estimator_says_so(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    models = [deciban.LinearDiscriminant().fit(X, y), calibration.AffineCalibrator().fit(X, y % 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in models:
            shown = model._repr_html_()
            assert "Not fitted" not in shown
            assert "Fitted" in shown
