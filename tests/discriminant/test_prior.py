"""The prior of decisions: the training mix by default, and whatever is set later."""

import numpy as np
import pytest

import deciban
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.discriminant import (
    CompositionalDiscriminantAnalysis,
    LinearDiscriminant,
    QuadraticDiscriminant,
)
from deciban.exceptions import InputError

ESTIMATORS = {
    "lda": LinearDiscriminant(),
    "qda": QuadraticDiscriminant(),
    "cda": CompositionalDiscriminantAnalysis(
        epochs=1, n_couplings=2, width=4, random_state=0, options={"validation_fraction": 0}
    ),
    "any classifier": CalibratedEvidenceClassifier(LinearDiscriminant(), cv=2),
}


@pytest.fixture(scope="module")
def rare():
    """One sample in a thousand is of the class "fraud"."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20_000) % 1000 == 0, "fraud", "usual")
    X = rng.normal(size=(len(y), 2)) + 1.2 * (y == "fraud")[:, None]
    return X, y


@pytest.fixture(scope="module", params=ESTIMATORS)
def model(request, rare):
    return ESTIMATORS[request.param].fit(*rare)


def test_decisions_are_at_the_training_mix_by_default(model, rare):
    X, y = rare
    assert model.prior == "empirical"
    np.testing.assert_allclose(model.prior_, [0.001, 0.999])
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), [0.001, 0.999], atol=0.001)
    assert np.mean(model.predict(X) == "fraud") < 0.002
    # Evidence has no prior, so that at even odds a fifth of the usual cases look like fraud.
    assert 0.1 < np.mean(model.evidence(X).decide() == "fraud") < 0.4
    log_loss = -np.log(model.predict_proba(X)[np.arange(len(y)), (y == "usual").astype(int)]).mean()
    np.testing.assert_allclose(model.score(X, y), -log_loss)


def test_a_prior_that_is_set_after_fit_takes_effect_also_in_a_loaded_model(model, rare, tmp_path):
    X, _ = rare
    evidence, outliers = model.evidence(X[:50]), None
    model.save(tmp_path / "model")
    for one in (model, deciban.load(tmp_path / "model")):
        for prior in ("uniform", {"usual": 0.2, "fraud": 0.8}, [0.3, 0.7], "empirical"):
            probability = one.set_params(prior=prior).predict_proba(X[:50])
            given = {"uniform": None, "empirical": [0.001, 0.999]}
            expected = evidence.posterior(given[prior] if isinstance(prior, str) else prior)
            np.testing.assert_allclose(probability, expected)
            if hasattr(one, "outlier_score"):  # of the samples in fit, whatever is decided
                outliers = one.outlier_score(X[:50]) if outliers is None else outliers
                np.testing.assert_array_equal(one.outlier_score(X[:50]), outliers)
        with pytest.raises(InputError, match="prior must name every class; it lacks 'usual'"):
            one.set_params(prior={"fraud": 1.0}).predict(X[:2])
        one.set_params(prior="empirical")


def test_a_prior_that_does_not_fit_the_classes_is_refused_by_fit(rare):
    for estimator in (LinearDiscriminant(), CalibratedEvidenceClassifier(LinearDiscriminant())):
        with pytest.raises(InputError, match="class must be one of 'fraud', 'usual'; got 'theft'"):
            estimator.set_params(prior={"theft": 0.5, "usual": 0.5}).fit(*rare)


def test_weights_count_as_samples_in_the_training_mix(rare):
    X, y = rare
    weight = np.where(y == "fraud", 10.0, 1.0)
    model = LinearDiscriminant().fit(X, y, weight)
    np.testing.assert_array_equal(model.class_counts_, [200, 19_980])
    np.testing.assert_allclose(model.prior_, [200 / 20_180, 19_980 / 20_180])
