"""Compositional discriminant analysis: what it learns, gives and refuses."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy.special import ive
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

import deciban
from deciban import CalibratedGaussian, CalibratedMixture, LinearDiscriminant, metrics
from deciban.exceptions import InputError

CDA = deciban.CompositionalDiscriminantAnalysis
SMALL = {"n_couplings": 2, "width": 8, "epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return CDA(**SMALL | {"epochs": 20}).fit(*iris)


@pytest.fixture(scope="module")
def small(iris):
    return CDA(**SMALL).fit(*iris)


NOT_MEANT = {
    "check_sample_weight_equivalence_on_dense_data": "weight 2 is once in a batch, not twice",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
}


def checks(estimator):
    checks = estimator_checks_generator(estimator, expected_failed_checks=NOT_MEANT, mark="skip")
    return list(checks)


def check_name(value):
    return getattr(getattr(value, "func", value), "__name__", "CDA")


# Training would compile a program for each check; the contract does not depend on it.
UNTRAINED = CDA(n_couplings=0, augment=0, epochs=0, random_state=0)


@pytest.mark.parametrize(("estimator", "check"), checks(UNTRAINED), ids=check_name)
def test_scikit_learns_checks_pass_without_training(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), checks(CDA(**SMALL)), ids=check_name)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# --- what it learns ---------------------------------------------------------------------------


def test_it_starts_at_linear_discriminant_analysis():
    family = CalibratedGaussian.from_divergences([9.0, 8.0, 10.0])
    l, y = family.sample([100, 100, 100], rng=0)
    X = np.hstack([l, np.random.default_rng(7).normal(size=(300, 2))]) @ np.triu(np.ones((4, 4)))
    options = {"epochs": 0, "augment": 0, "options": {"validation_fraction": 0}, "n_couplings": 2}
    cda = CDA(dtype="float64", random_state=0, **options).fit(X, y)
    away = X - np.stack([X[y == k].mean(axis=0) for k in range(3)])[y]
    shrinkage = ledoit_wolf_shrinkage(away / away.std(axis=0), assume_centered=True)
    lda = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    assert cda.evidence(X).allclose(lda.evidence(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(cda.divergences_, lda.divergences_, rtol=1e-6)
    np.testing.assert_allclose(cda.score_samples(X), lda.score_samples(X), rtol=1e-6)


@pytest.mark.slow
def test_circles_are_told_apart_near_the_limit():
    X, y = make_circles(3000, noise=0.1, factor=0.5, random_state=0)
    new, y_new = make_circles(10_000, noise=0.1, factor=0.5, random_state=1)
    radius = np.linalg.norm(new, axis=1)
    inner, outer = (
        -(radius**2 + r * r) / 0.02 + np.log(ive(0, radius * r / 0.01)) + radius * r / 0.01
        for r in (0.5, 1.0)
    )
    limit = metrics.cllr(y_new, inner - outer)
    cda = CDA(random_state=0).fit(X, y)
    assert metrics.cllr(y_new, cda.evidence(new)) < 1.6 * limit
    assert metrics.cllr(y_new, LinearDiscriminant().fit(X, y).evidence(new)) > 0.9


def test_the_first_base_dimensions_are_the_evidence(fitted, iris):
    X, _ = iris
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z[:, :2], fitted.evidence(X).ilr(), atol=1e-3)
    assert isinstance(fitted.reference_, CalibratedGaussian)
    np.testing.assert_allclose(fitted.reference_.covariance, fitted.covariance_)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("affine", "float32"), pytest.param("spline", "float64", marks=pytest.mark.slow)],
)
def test_base_space_inverts(kind, dtype, iris):
    X, y = iris
    cda = CDA(kind=kind, dtype=dtype, augment=1, **SMALL).fit(X, y)
    far = np.vstack([X, X.mean(axis=0) + 10 * (X - X.mean(axis=0))])
    back = cda.inverse_transform(cda.transform(far))
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(back, far, rtol=tolerance, atol=tolerance * np.abs(far).max())


def test_what_can_be_done_in_base_space(fitted, iris):
    X, _ = iris
    np.testing.assert_allclose(fitted.evidence(fitted.neutralize(X)).strength(), 0, atol=0.02)
    assert (fitted.predict(fitted.convert(X, to=1)) == 1).all()
    alphas = np.linspace(0, 1, 5)
    llr = fitted.evidence(fitted.interpolate(0, 2, alphas)).llr(0, 2)
    d = fitted.divergences_[0, 2]
    np.testing.assert_allclose(llr, (2 * alphas - 1) * d, atol=1e-3 * d)
    drawn, labels = fitted.sample(100, label=1, random_state=0)
    assert drawn.shape == (100, 4)
    assert (labels == 1).all()
    assert fitted.outlier_score(100 + X[:1])[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("augment", [0, 2])
def test_the_evidence_asked_for_is_the_evidence_got(augment):
    X, y = make_circles(400, noise=0.1, factor=0.5, random_state=0)
    cda = CDA(augment=augment, epochs=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(cda.evidence(cda.neutralize(X)).llr(1, 0), 0, atol=1e-3)
    d = cda.divergences_[0, 1]
    np.testing.assert_allclose(cda.evidence(cda.convert(X, to=1)).llr(1, 0), d, rtol=1e-3)
    between = cda.evidence(cda.interpolate(1, 0, [0, 0.25, 1])).llr(1, 0)
    np.testing.assert_allclose(between, np.array([-1, -0.5, 1]) * d, rtol=1e-3)


@pytest.mark.slow
def test_the_residual_says_nothing_of_the_class():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    X = rng.normal(size=(4000, 2)) + 1.5 * y[:, None] * [1, 1]
    options = {"n_couplings": 2, "width": 16, "epochs": 5, "random_state": 0}
    cda = CDA(augment=1, options={"discriminative_weight": 0.0}, **options).fit(X, y)
    residual = cda.residual(X, random_state=0)
    assert residual.shape == (4000, 2)
    np.testing.assert_array_equal(residual, cda.residual(X, random_state=0))
    away = residual[y == 1].mean(axis=0) - residual[y == 0].mean(axis=0)
    assert np.abs(away).max() < 5 * np.sqrt(2 / 2000)
    lda = LinearDiscriminant().fit(X, y)
    np.testing.assert_array_equal(lda.residual(X), lda.transform(X)[:, 1:])


@pytest.mark.slow
def test_densities_of_one_feature_integrate_to_one():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.where(y, rng.normal(size=300) ** 2, rng.normal(size=300))[:, None]
    grid = np.linspace(-15, 25, 8001)[:, None]
    cda = CDA(augment=0, kind="spline", dtype="float64", **SMALL).fit(X, y)
    f = np.exp(cda.log_densities(grid))
    np.testing.assert_allclose(f.sum(axis=0) * (grid[1] - grid[0]), 1, rtol=1e-3)


def test_an_ensemble_is_the_mean_of_its_ilrls(iris):
    X, y = iris
    two = CDA(n_estimators=2, **SMALL).fit(X, y)
    flows = two._flows
    W = np.pad(two._preparation(X), ((0, 0), (0, 2)))
    each = [flows._parts(params, W)[0] for params in flows.members()]
    assert not np.allclose(each[0], each[1], atol=1e-3)
    mean = np.mean(each, axis=0)
    np.testing.assert_allclose(two.evidence(X).llr(0, 1), mean[:, 0] - mean[:, 1])
    for use in (lambda: two.divergences_, lambda: two.transform(X)):
        with pytest.raises(InputError, match="ensemble of 2 flows has no base space"):
            use()


def test_weights_count_and_priors_leave_the_evidence_alone(small, iris):
    X, y = iris
    plain = small
    prior = CDA(prior=[0.8, 0.1, 0.1], **SMALL).fit(X, y)
    assert prior.evidence(X).allclose(plain.evidence(X))
    np.testing.assert_allclose(
        prior.predict_proba(X), plain.evidence(X).posterior([0.8, 0.1, 0.1]), rtol=1e-6
    )
    weighted = CDA(**SMALL).fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    assert not weighted.evidence(X).allclose(plain.evidence(X), atol=1e-2)


def test_the_same_seed_gives_the_same_bits(small, iris):
    X, y = iris
    same, other = (CDA(**SMALL | {"random_state": seed}).fit(X, y).evidence(X) for seed in (0, 1))
    np.testing.assert_array_equal(small.evidence(X).log_likelihoods, same.log_likelihoods)
    assert not same.allclose(other, atol=1e-6)


def test_parameters_that_change_later_leave_the_fitted_model_alone(iris):
    X, y = iris
    cda = CDA(**SMALL).fit(X, y)
    before = cda.evidence(X)
    cda.set_params(options={"depth": 3}, n_estimators=2, dtype="float64", kind="spline")
    np.testing.assert_array_equal(cda.evidence(X).log_likelihoods, before.log_likelihoods)
    with pytest.raises(InputError, match="epochs must be a whole number"):
        cda.set_params(epochs=-1).fit(X, y)
    np.testing.assert_array_equal(cda.evidence(X).log_likelihoods, before.log_likelihoods)


# --- hard tables --------------------------------------------------------------------------------


@pytest.mark.slow
def test_hard_tables_are_taken():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 2 * y[:, None]
    tables = {
        "huge": 1e12 * X + 1e13,
        "constant and collinear": np.column_stack([X, np.ones(60), X @ [1.0, 2.0, 3.0]]),
        "whole": np.round(10 * X).astype(int),
    }
    for name, table in tables.items():
        cda = CDA(**SMALL).fit(table, y)
        assert metrics.accuracy(y, cda.evidence(table)) > 0.8, name
    tiny = CDA(**SMALL).fit(X[:10], y[:10])
    assert np.isfinite(tiny.evidence(X).log_likelihoods).all()


@pytest.mark.slow
def test_classes_whose_means_coincide_are_learned():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 2)) * np.where(y, 3.0, 0.5)[:, None]
    cda = CDA(random_state=0, n_couplings=4, width=32, epochs=20).fit(X, y)
    assert metrics.cllr(y, cda.evidence(X)) < 0.5


def test_fewer_features_than_classes_ask_for_augment():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)), np.arange(100) % 5
    with pytest.raises(InputError, match=r"5 classes needs at least 4 features.* augment=3"):
        CDA(augment=0, **SMALL).fit(X, y)
    assert CDA(augment=3, **SMALL | {"epochs": 0}).fit(X, y).evidence(X).n_classes == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "best"}, "preset must be 'paper' or None"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64; got 'float16'"),
        ({"options": {"validation_fraction": 1.0}}, "from 0 to below 1; got 1.0"),
        ({"n_estimators": 0}, "n_estimators must be a whole number, 1 or more; got 0"),
        ({"n_estimators": True}, "1 or more; got True"),
        ({"options": {"depth": 0}}, "depth must be a whole number, 1 or more"),
        ({"basis": "x"}, "basis must be a Basis; got str"),
        ({"checkpoint": 5}, "path must be text or a path; got 5"),
        ({"checkpoint": "/no/such/folder/x"}, "must be a file in a folder that exists"),
        ({"epochs": -1}, "epochs must be a whole number, 0 or more"),
        ({"epochs": "x"}, "epochs must be a whole number, 0 or more"),
        ({"options": {"learning_rate": -1.0}}, "learning_rate must be a finite number, 0 or more"),
        ({"options": {"width": 3}}, "options must hold rare settings; got 'width'. Choose among"),
        ({"base": "uniform"}, "base must be"),
        ({"base": "mixture", "n_estimators": 2}, "must be 'gaussian' for an ensemble"),
        ({"kind": "cubic"}, "kind must be one of affine, spline"),
    ],
)
def test_bad_options_are_refused(options, message, iris):
    with pytest.raises(InputError, match=message):
        CDA(**SMALL | options).fit(*iris)


@pytest.mark.parametrize("weight", [pytest.param(0.0, marks=pytest.mark.slow), 20.0])
def test_the_mix_of_the_classes_is_not_part_of_the_evidence(weight):
    rng = np.random.default_rng(1)
    y = (rng.random(4000) < 0.05).astype(int)
    X = rng.normal(size=(4000, 2))
    X[:, 0] += 1.5 * y
    options = {"n_couplings": 2, "width": 16, "epochs": 10, "random_state": 0}
    cda = CDA(options={"discriminative_weight": weight}, **options).fit(X, y)
    truth = np.arange(4000) % 2
    new = rng.normal(size=(4000, 2)) + 1.5 * truth[:, None] * [1, 0]
    floor = metrics.cllr(truth, 1.5 * new[:, 0] - 1.125)
    assert metrics.cllr(truth, cda.evidence(new)) < 1.1 * floor


@pytest.mark.slow
def test_a_distant_class_leaves_the_evidence_about_the_others_to_a_cda():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 500)
    X = rng.normal(size=(1500, 2))
    X[:, 0] += np.array([0, 3, 3000])[y]
    cda = CDA(n_couplings=2, width=16, epochs=10, random_state=0).fit(X, y)
    llr = cda.evidence([[0.0, 0.0], [3.0, 0.0]]).llr(1, 0)
    np.testing.assert_allclose(llr, [-4.5, 4.5], atol=3)


def test_evidence_far_from_the_data_is_that_of_the_base_space():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + 2 * y[:, None] * [1, 0, 0]
    X[:, 2] = 1
    cda = CDA(**SMALL).fit(X, y)
    far = np.array([[1.7, 0, 1], [1.7, 0, 100.0], [1e4, 1e4, 1.0]])
    np.testing.assert_allclose(cda.evidence(far).ilr()[:, 0], cda.transform(far)[:, 0], rtol=1e-4)
    with pytest.raises(InputError, match=r"row 1 is too far from them for float32"):
        cda.evidence([[0.0, 0.0, 1.0], [1e30, 0.0, 1.0]])


def test_numbers_of_numpy_are_numbers(iris):
    X, y = iris
    cda = CDA(
        epochs=np.int64(0), width=np.int32(8), n_couplings=2, random_state=0,
        options={"depth": np.int64(1), "learning_rate": np.float32(1e-3)},
    ).fit(X, y)  # fmt: skip
    assert cda.history_ == []
    assert {type(value) for value in asdict(cda._settings).values()} == {int, float, str, bool}


def test_densities_integrate_to_one_with_added_dimensions():
    X, y = make_moons(1000, noise=0.2, random_state=0)
    cda = CDA(augment=2, n_couplings=4, width=16, epochs=10, random_state=0).fit(X, y)
    side = np.linspace(-3, 4, 141)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(side, side)])
    mass = np.exp(cda.log_densities(grid)).sum(axis=0) * (side[1] - side[0]) ** 2
    np.testing.assert_allclose(mass, 1, atol=0.03)


def test_nothing_in_gives_nothing_out(fitted):
    assert fitted.sample(0)[0].shape == (0, 4)
    assert fitted.interpolate(0, 1, []).shape == (0, 4)
    assert fitted.inverse_transform(np.empty((0, fitted.transform([[1, 1, 1, 1]]).shape[1]))).shape
    for call, named in (
        (lambda: fitted.sample(2.5), "n must be a whole number, 0 or more; got 2.5"),
        (lambda: fitted.interpolate(0, 1, [[0.0]]), "alphas must be a list of finite numbers"),
        (lambda: fitted.interpolate(0, 1, [np.nan]), "alphas must be a list of finite"),
        (lambda: fitted.inverse_transform(np.full((1, fitted._n_base()), np.nan)), "finite"),
    ):
        with pytest.raises(InputError, match=named):
            call()


@pytest.mark.parametrize("model", [CDA(), LinearDiscriminant()])
def test_models_that_were_not_fitted_say_so(model):
    with pytest.raises(NotFittedError):
        model.neutralize([[1.0]])
    with pytest.raises(NotFittedError):
        model.divergences_  # noqa: B018


def test_a_mixture_as_base_changes_densities_and_leaves_the_evidence(tmp_path):
    truth = CalibratedMixture([0.7 * np.eye(2), 8 * np.eye(2)], [0.7, 0.3])
    X, y = truth.sample([300] * 3, rng=0)
    new, _ = truth.sample([2000] * 3, rng=1)
    options = {"epochs": 5, "augment": 0, "random_state": 0}
    plain = CDA(**options).fit(X, y)
    mixed = CDA(base="mixture", **options).fit(X, y)
    assert mixed.evidence(new).allclose(plain.evidence(new), atol=1e-12)
    gain = mixed.log_densities(new) - plain.log_densities(new)
    np.testing.assert_allclose(gain, gain[:, :1] * np.ones(3), atol=1e-3)  # the same for all
    assert gain[:, 0].mean() > 0.1  # nats: the truth is 0.5 above one family
    # The density of the base space is that of the mixture, and its samples are drawn from it.
    assert isinstance(mixed.reference_, CalibratedMixture)
    l = mixed.transform(new)[:, :2]
    expected = mixed.reference_.log_density(l) - plain.reference_.log_density(l)
    np.testing.assert_allclose(gain, expected, atol=1e-3)
    drawn, labels = mixed.sample(20_000, label=1, random_state=0)
    assert (labels == 1).all()
    strength = [np.abs(mixed.evidence(x).llr(1, 0)).mean() for x in (drawn, X[y == 1])]
    assert strength[0] == pytest.approx(strength[1], rel=0.15)
    mixed.save(tmp_path / "mixed")
    back = CDA.load(tmp_path / "mixed")
    assert (back.log_densities(new) == mixed.log_densities(new)).all()
    with pytest.raises(AttributeError, match=r"see reference_\.families"):
        _ = mixed.covariance_
