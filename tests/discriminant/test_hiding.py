"""Evidence hidden and changed: what features can carry, and what is said when they cannot."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import deciban
from deciban.exceptions import InputError, UnreachableEvidenceWarning

CDA = deciban.CompositionalDiscriminantAnalysis
SMALL = {"n_couplings": 2, "width": 8, "epochs": 3, "random_state": 0}


def llr_left(model, X):
    return np.ptp(model.evidence(X).log_likelihoods, axis=1)


def test_no_point_of_a_line_is_neutral_between_three_classes_along_it():
    y = np.repeat([0, 1, 2], 40)
    X = np.random.default_rng(0).normal(4.0 * y, 1.0)[:, None]
    cda = CDA(n_couplings=0, augment=1, epochs=0, random_state=0).fit(X, y)
    with pytest.warns(UnreachableEvidenceWarning, match="120 of 120 rows cannot carry") as caught:
        hidden = cda.neutralize(X)
    warning = caught[0].message
    assert warning.rows == tuple(range(120))
    np.testing.assert_allclose(warning.left, llr_left(cda, hidden), atol=1e-4)
    line = np.linspace(-10, 20, 30_001)[:, None]
    ilr = np.linalg.norm(cda.evidence(line).ilr(), axis=1)
    np.testing.assert_allclose(np.linalg.norm(cda.evidence(hidden).ilr(), axis=1), ilr.min(), 0.01)
    assert caught[0].filename == __file__
    twin = pickle.loads(pickle.dumps(warning))
    assert (twin.rows, twin.left, str(twin)) == (warning.rows, warning.left, str(warning))


@pytest.mark.parametrize(
    "options",
    [{"augment": 0}, pytest.param({"kind": "spline", "augment": 2}, marks=pytest.mark.slow)],
    ids=str,
)
def test_what_is_reached_within_a_hundredth_of_a_nat_causes_no_warning(options):
    X, y = load_iris(return_X_y=True)
    cda = CDA(**SMALL, **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden, other = cda.neutralize(X), cda.convert(X, to=2)
        cda.interpolate(0, 1, [0, 0.5, 1])
    assert llr_left(cda, hidden).max() < 0.01
    gap = cda.evidence(other).ilr() - cda.reference_.means[2]
    assert np.abs(gap).max() < 0.01
    if options["augment"] == 0:
        np.testing.assert_allclose(cda.transform(hidden)[:, 2:], cda.transform(X)[:, 2:], atol=1e-3)


def test_rows_beyond_the_precision_of_the_flow_are_listed():
    X, y = load_iris(return_X_y=True)
    cda = CDA(**SMALL, augment=0).fit(X, y)
    far = X.copy()
    far[[3, 17]] *= 1e8
    with pytest.warns(UnreachableEvidenceWarning) as caught:
        cda.convert(far, to=0)
    assert caught[0].message.rows == (3, 17)
    assert min(caught[0].message.left) > 0.01


def test_rows_without_finite_features_are_listed_with_infinity(monkeypatch):
    X, y = load_iris(return_X_y=True)
    lda = deciban.LinearDiscriminant().fit(X, y)
    exact = lda._from_base

    def overflow(Z):
        features = exact(Z)
        features[5] = np.inf
        return features

    monkeypatch.setattr(lda, "_from_base", overflow)
    with pytest.warns(UnreachableEvidenceWarning, match="1 of 150 rows") as caught:
        lda.neutralize(X)
    assert (caught[0].message.rows, caught[0].message.left) == ((5,), (np.inf,))


@pytest.mark.slow
def test_a_neutral_point_of_overlapping_rings_is_found_and_that_of_nested_ones_is_not():
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 3
    angle = rng.uniform(0, 2 * np.pi, 1500)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noise = 0.1 * rng.normal(size=(1500, 2))
    nested = 0.5 * (1 + y)[:, None] * circle + noise
    spot = np.where(y[:, None] == 2, noise + np.array([0.75, 0.0]), nested)
    cda = CDA(random_state=0).fit(nested, y)
    with pytest.warns(UnreachableEvidenceWarning, match="1500 of 1500 rows"):
        hidden = cda.neutralize(nested)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 201)] * 2), axis=-1).reshape(-1, 2)
    assert 1 < llr_left(cda, grid).min() <= llr_left(cda, hidden).max() < 12
    cda = CDA(random_state=0).fit(spot, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert llr_left(cda, cda.neutralize(spot)).max() < 0.01


def test_classes_with_the_same_mean_have_no_evidence_to_change():
    X, y = np.array([[0.0], [1.0]] * 20), np.repeat([0, 1], 20)
    lda = deciban.LinearDiscriminant().fit(X, y)
    with pytest.raises(InputError, match="means differ in fewer than 1 directions"):
        lda.neutralize(X)
