"""Linear and quadratic discriminant analysis against scikit-learn's and their own laws."""

import contextlib

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from deciban import Basis, LinearDiscriminant, QuadraticDiscriminant
from deciban.exceptions import InputError


@parametrize_with_checks([LinearDiscriminant(), QuadraticDiscriminant(shrinkage=0.1)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_they_agree_with_scikit_learns(load):
    X, y = load(return_X_y=True)
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = LinearDiscriminant(prior="empirical").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), linear.predict_proba(X), atol=1e-8)
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    ours = QuadraticDiscriminant(prior="empirical").fit(X, y)
    np.testing.assert_allclose(ours.means_, quadratic.means_, rtol=1e-9)
    biased = [np.cov(X[y == k].T, bias=True) for k in range(3)]  # scikit-learn's from 1.8 on
    np.testing.assert_allclose(ours.covariances_, biased, rtol=1e-6)
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        np.testing.assert_allclose(ours.predict_proba(X), quadratic.predict_proba(X), atol=1e-8)


def test_the_base_space_is_the_evidence_and_a_residual_and_inverts():
    X, y = load_iris(return_X_y=True)
    basis = Basis.from_tree(((2, 0), 1))
    lda = LinearDiscriminant(basis=basis).fit(X, y)
    Z = lda.transform(X)
    np.testing.assert_allclose(Z[:, :2], lda.evidence(X).ilr(basis), atol=1e-9)
    np.testing.assert_allclose(lda.inverse_transform(Z), X, atol=1e-9)
    within = Z - np.stack([Z[y == k].mean(axis=0) for k in range(3)])[y]
    np.testing.assert_allclose(np.cov(within.T, bias=True)[2:, 2:], np.eye(2), atol=1e-8)
    np.testing.assert_allclose(np.cov(within.T, bias=True)[:2, :2], lda.covariance_, rtol=1e-8)
    for k in range(3):
        np.testing.assert_allclose(Z[y == k, :2].mean(axis=0), lda.reference_.means[k], atol=1e-8)
    assert list(lda.get_feature_names_out()) == ["ilrl1", "ilrl2", "residual1", "residual2"]


def test_what_can_be_done_in_base_space():
    X, y = load_iris(return_X_y=True)
    lda = LinearDiscriminant().fit(X, y)
    np.testing.assert_allclose(lda.evidence(lda.neutralize(X)).strength(), 0, atol=1e-8)
    np.testing.assert_allclose(
        lda.transform(lda.neutralize(X))[:, 2:], lda.transform(X)[:, 2:], atol=1e-8
    )
    assert (lda.predict(lda.convert(X, to=1)) == 1).all()
    alphas = np.linspace(0, 1, 5)
    llr = lda.evidence(lda.interpolate(0, 2, alphas)).llr(0, 2)
    np.testing.assert_allclose(llr, (2 * alphas - 1) * lda.divergences_[0, 2], atol=1e-7)
    drawn, labels = lda.sample(2000, label=1, random_state=0)
    assert (labels == 1).all()
    np.testing.assert_allclose(drawn.mean(axis=0), X[y == 1].mean(axis=0), atol=0.05)
    mixed = lda.sample(300, random_state=0)
    np.testing.assert_array_equal(mixed[0], lda.sample(300, random_state=0)[0])
    assert set(mixed[1]) == {0, 1, 2}
    score = lda.outlier_score(np.vstack([X, 100 + X[:1]]))
    assert score[-1] == 0
    assert 0.4 < score[:-1].mean() < 0.6


def test_densities_integrate_to_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)) * 3 + 5, np.arange(60) % 2
    grid = np.linspace(-30, 40, 20_001)[:, None]
    for model in (LinearDiscriminant(), QuadraticDiscriminant()):
        f = np.exp(model.fit(X, y).log_densities(grid))
        np.testing.assert_allclose(f.sum(axis=0) * (grid[1] - grid[0]), 1, rtol=1e-6)


@pytest.mark.parametrize("model", [LinearDiscriminant(), QuadraticDiscriminant()])
def test_hard_tables_are_taken(model):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    plain = model.fit(X, y).evidence(X)
    scaled = model.fit(1e12 * X + 3, y).evidence(1e12 * X + 3)
    assert scaled.allclose(plain, rtol=1e-5, atol=1e-5)
    collinear = np.column_stack([X, X[:, 0], np.ones(40)])
    alone = isinstance(model, QuadraticDiscriminant)
    said = pytest.warns(UserWarning, match="is singular") if alone else contextlib.nullcontext()
    with said:
        fitted = model.fit(collinear, y)
    assert np.isfinite(fitted.evidence(collinear).log_likelihoods).all()


@pytest.mark.parametrize("model", [LinearDiscriminant(), QuadraticDiscriminant()])
def test_a_distant_class_leaves_the_evidence_about_the_others(model):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 700)
    X = rng.normal(size=(2100, 2))
    X[:, 0] += np.array([0, 3, 1e5])[y]
    llr = model.fit(X, y).evidence([[0.0, 0.0], [3.0, 0.0]]).llr(1, 0)
    np.testing.assert_allclose(llr, [-4.5, 4.5], atol=0.6)


@pytest.mark.parametrize("model", [LinearDiscriminant(), QuadraticDiscriminant()])
def test_classes_without_spread_are_refused(model):
    with pytest.raises(InputError, match="X must vary within classes"):
        model.fit([[0.0, 1.0], [2.0, 3.0]], [0, 1])


def test_a_class_of_one_sample_takes_the_least_spread_of_the_others():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="covariance of class 2 is singular"):
        model = QuadraticDiscriminant().fit(X[:101], y[:101])
    assert np.abs(model.evidence(X).log_likelihoods).max() < 1e12


def test_fewer_features_than_classes_have_evidence_but_no_base_space():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), np.arange(60) % 4
    lda = LinearDiscriminant().fit(X, y)
    assert lda.evidence(X).n_classes == 4
    with pytest.raises(
        InputError, match="base space for 4 classes needs at least 3 features; got 1"
    ):
        lda.transform(X)
    with pytest.raises(InputError, match="shrinkage must lie between 0 and 1; got 2"):
        LinearDiscriminant(shrinkage=2).fit(X, y)
    with pytest.raises(InputError, match="Z must have 4 columns"):
        LinearDiscriminant().fit(*load_iris(return_X_y=True)).inverse_transform([[0.0, 1.0]])
