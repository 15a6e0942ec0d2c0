"""The two-level model: against joint densities, lir's values, and its own laws."""

import json
import warnings
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import Evidence, SameSourceModel, metrics
from deciban.exceptions import InputError
from deciban.same_source import pairs, two_level
from deciban.same_source.two_level import (
    Sets,
    SourceDensity,
    Sources,
    em_step,
    estimate_components,
)

LIR = json.loads((Path(__file__).parents[1] / "data" / "same_source_lir.json").read_text())["cases"]
KINDS = ["normal", "kernel", "aitken-lucy"]
each_kind = pytest.mark.parametrize("density", KINDS)


def simulate(rng, counts, spread, mixing=None):
    m, d = len(counts), len(spread)
    source = np.repeat(np.arange(m), counts)
    noise = rng.normal(size=(len(source), d))
    X = (rng.normal(size=(m, d)) * spread)[source] + noise
    return X @ (np.eye(d) if mixing is None else mixing), source


@pytest.fixture
def glass(rng):
    """Correlated features of different scales, and unequal counts, some of them one."""
    mixing = rng.normal(size=(3, 3)) * [1.0, 100.0, 1e-4]
    X, source = simulate(rng, rng.integers(1, 6, size=40), [4.0, 1.0, 0.3], mixing)
    return X + np.array([1.5, 2000.0, 0.0]), source


@pytest.mark.filterwarnings("ignore:.* sources are too few:UserWarning")
@parametrize_with_checks(
    [SameSourceModel(), SameSourceModel(density="kernel", estimator="moments")]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# --- likelihood-ratios ---


def log_density_of_set(model, table):
    """Joint log-density of a set by its covariance over all measurements: I x W + 11' x B."""
    k = len(table)
    covariance = np.kron(np.eye(k), model.within_) + np.kron(np.ones((k, k)), model.between_)
    return multivariate_normal(np.tile(model.mean_, k), covariance).logpdf(table.ravel())


def test_the_ratio_is_that_of_joint_normal_densities_whatever_the_sizes_of_the_sets(glass):
    X, source = glass
    scale = X.std(axis=0)
    model = SameSourceModel().fit(X / scale, source)
    sets = [X[source == k] / scale for k in range(10)]
    assert {len(table) for table in sets} > {1, 2, 3}
    for left in sets:
        single = [log_density_of_set(model, right) for right in sets]
        joint = [log_density_of_set(model, np.concatenate([left, right])) for right in sets]
        wanted = np.array(joint) - single - log_density_of_set(model, left)
        np.testing.assert_allclose(model.llr([left], sets), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("density", KINDS[1:])
def test_kernels_give_the_ratio_of_integrals_over_the_source(density, rng):
    X, source = simulate(rng, rng.integers(2, 5, size=12), [3.0])
    model = SameSourceModel(density=density).fit(X, source)
    b, w, h = model.between_[0, 0], model.within_[0, 0], model.bandwidth_
    n = np.bincount(source)
    centers = np.bincount(source, weights=X[:, 0]) / n
    if density == "kernel":
        shrunk = np.sqrt((1 - h**2) * b / (b + w / n))
        centers = model.mean_[0] + shrunk * (centers - model.mean_[0])
    theta = np.linspace(-30, 30, 200_001)
    mixture = norm(centers[:, None], h * np.sqrt(b)).pdf(theta).mean(axis=0)
    left, right = X[:3], X[3:5] + 1

    def integral(*tables):
        terms = [norm(theta, np.sqrt(w)).logpdf(x) for table in tables for x in table[:, 0]]
        return np.log(np.trapezoid(mixture * np.exp(np.sum(terms, axis=0)), theta))

    wanted = integral(left, right) - integral(left) - integral(right)
    np.testing.assert_allclose(model.llr([left], [right]), wanted, rtol=1e-8)


def test_a_shrunk_kernel_of_bandwidth_one_is_the_normal_density(glass):
    X, source = glass
    normal = SameSourceModel().fit(X, source).llr_matrix(X, X)
    kernel = SameSourceModel(density="kernel", bandwidth=1.0).fit(X, source).llr_matrix(X, X)
    np.testing.assert_allclose(kernel, normal, rtol=1e-8, atol=1e-8)


@each_kind
def test_all_against_all_is_the_same_as_pair_by_pair(density, glass):
    X, source = glass
    model = SameSourceModel(density=density).fit(X, source)
    sets = [X[source == k] for k in range(15)]
    matrix = model.llr_matrix(sets, sets[:7])
    assert matrix.shape == (15, 7)
    for k in range(7):
        np.testing.assert_allclose(matrix[:, k], model.llr(sets, [sets[k]]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(matrix[:7], matrix[:7].T, rtol=1e-9, atol=1e-9)


@each_kind
def test_far_outliers_lose_no_digits_in_all_against_all(density, rng):
    X, source = simulate(rng, np.full(60, 3), [1e4, 30.0, 1.0, 0.0])
    model = SameSourceModel(density=density, bandwidth=0.02).fit(X, source)
    far = np.concatenate([X[:20], 1e6 * X[20:30], 1e9 + X[30:40]])
    matrix = model.llr_matrix(far, far)
    i, j = np.divmod(np.arange(matrix.size), len(far))
    np.testing.assert_allclose(matrix.ravel(), model.llr(far[i], far[j]), rtol=1e-8, atol=1e-8)
    assert np.isfinite(matrix).all()
    assert np.abs(matrix).max() > 1e12


@pytest.mark.parametrize("lam", [0.0, 1e-12, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize(("y", "z"), [(0.1, -0.2), (1e6, 1e6 + 1), (1e6, -3.0), (1e-9, 2e-9)])
def test_the_closed_form_agrees_with_50_digits(lam, y, z):
    density = SourceDensity(np.zeros((1, 1)), np.array([lam]))
    three, one = Sets(np.array([[y]]), np.array([3.0])), Sets(np.array([[z]]), np.ones(1))
    got = density.llr(three, one, np.zeros(1, int), np.zeros(1, int))
    with mpmath.workdps(50):
        v, a, b = mpmath.mpf(lam), mpmath.mpf(y), mpmath.mpf(z)
        det = (v + mpmath.mpf(1) / 3) * (v + 1) - v**2
        joint = ((v + 1) * a**2 - 2 * v * a * b + (v + mpmath.mpf(1) / 3) * b**2) / det
        alone = a**2 / (v + mpmath.mpf(1) / 3) + b**2 / (v + 1)
        log_det = mpmath.log(det / ((v + mpmath.mpf(1) / 3) * (v + 1)))
        wanted = float(-(joint - alone + log_det) / 2)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-15)


@each_kind
def test_ratios_do_not_depend_on_units_or_on_the_sides(density, glass):
    X, source = glass
    A = np.array([[2.0, 0.0, 1.0], [0.0, 1e-5, 0.0], [0.5, 0.0, 300.0]])
    one = SameSourceModel(density=density).fit(X, source)
    other = SameSourceModel(density=density).fit(X @ A - 7, source)
    llr = one.llr(X[:-1], X[1:])
    np.testing.assert_allclose(other.llr(X[:-1] @ A - 7, X[1:] @ A - 7), llr, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(one.llr(X[1:], X[:-1]), llr, rtol=1e-9, atol=1e-12)


def test_evidence_is_calibrated_and_costs_what_the_true_covariances_cost(rng):
    X, source = simulate(rng, np.full(2000, 2), [2.0, 1.0])
    model = SameSourceModel().fit(X, source)
    X, source = simulate(rng, np.full(1500, 2), [2.0, 1.0])
    left, right, y_true = pairs(source, limit=3000, rng=0)
    evidence = model.evidence(X[left], X[right])
    assert isinstance(evidence, Evidence)
    assert evidence.classes == (0, 1)
    truth = SourceDensity(np.zeros((1, 2)), np.array([4.0, 1.0]))
    rows = Sets(X, np.ones(len(X)))
    floor = metrics.cllr(y_true, truth.llr(rows, rows, left, right))
    assert metrics.cllr(y_true, evidence.llr(1, 0)) == pytest.approx(floor, abs=0.005)
    assert metrics.cllr_cal(y_true, evidence.llr(1, 0)) < 0.02


# --- lir's two-level model: tests/data/same_source_lir.json, by benchmarks/peer_values.py


@pytest.mark.parametrize("name", [name for name in LIR if name != "unequal counts"])
def test_lirs_two_level_model_gives_the_same_numbers(name):
    case = LIR[name]
    model = SameSourceModel(density="aitken-lucy", estimator="moments")
    model.fit(case["X"], case["source"])
    np.testing.assert_allclose(model.within_, case["within"], rtol=1e-12)
    np.testing.assert_allclose(model.between_, case["between"], rtol=1e-12)
    assert model.bandwidth_ == pytest.approx(case["bandwidth"], rel=1e-14)
    for some in case["pairs"]:
        llr = model.llr(some["left"], some["right"])
        np.testing.assert_allclose(llr, some["llr"], rtol=1e-11, atol=1e-11)


# --- estimates ---


def test_the_log_likelihood_rises_with_every_step_and_is_that_of_the_data(glass):
    X, source = glass
    model = SameSourceModel(estimator="ml").fit(X / [1, 100, 1e-4], source)
    history = model.log_likelihoods_
    assert len(history) > 3
    assert (np.diff(history) > -1e-9 * abs(history[-1])).all()
    assert history[-1] > history[0]
    tables = [X[source == k] / [1, 100, 1e-4] for k in np.unique(source)]
    whole = sum(log_density_of_set(model, table) for table in tables)
    assert history[-1] == pytest.approx(whole, rel=1e-9)


def test_em_finds_the_maximum_of_the_likelihood(rng):
    X, source = simulate(rng, rng.integers(1, 8, size=30), [0.7])
    n = np.bincount(source)
    means = np.bincount(source, weights=X[:, 0]) / n
    scatter = np.sum((X[:, 0] - means[source]) ** 2)

    def cost(theta):
        mean, w, b = theta[0], np.exp(theta[1]), np.exp(theta[2])
        of_means = np.log(w + n * b) + n * (means - mean) ** 2 / (w + n * b)
        return (np.sum(n - 1) * np.log(w) + scatter / w + of_means.sum()) / 2

    best = minimize(cost, np.zeros(3), tol=1e-12).x
    model = SameSourceModel(estimator="ml").fit(X, source)
    found = np.array([model.mean_[0], model.within_[0, 0], model.between_[0, 0]])
    np.testing.assert_allclose(found, [best[0], *np.exp(best[1:])], rtol=1e-3, atol=1e-4)


def test_em_that_stops_too_early_warns(glass, monkeypatch):
    monkeypatch.setattr(two_level, "_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match=r"EM has not converged in 2 steps: the last one"):
        model = SameSourceModel().fit(*glass)
    assert len(model.log_likelihoods_) == 3


def test_with_equal_counts_the_closed_form_is_a_fixed_point_of_em(rng):
    X, source = simulate(rng, np.full(30, 4), [2.0, 0.0, 0.5, 0.0])
    sources = Sources.summarize(X, source)
    estimate, history = estimate_components(sources, unbiased=False)
    assert len(history) == 1
    assert np.linalg.eigvalsh(estimate.between)[0] == pytest.approx(0, abs=1e-9)  # at the boundary
    value, following = em_step(sources, estimate)
    for before, after in zip(estimate, following, strict=True):
        np.testing.assert_allclose(after, before, atol=1e-9)
    moved = estimate._replace(between=estimate.between + 0.01 * np.eye(4))
    assert value > em_step(sources, moved)[0]


@pytest.mark.parametrize("estimator", ["corrected", "ml", "moments"])
def test_the_covariances_are_found_with_many_sources_of_unequal_counts(estimator, rng):
    mixing = rng.normal(size=(5, 5))
    X, source = simulate(rng, rng.integers(1, 5, size=3000), np.sqrt([4, 2, 1, 0.5, 0]), mixing)
    model = SameSourceModel(estimator=estimator).fit(X, source)
    between = mixing.T @ np.diag([4, 2, 1, 0.5, 0]) @ mixing
    size = np.linalg.norm(between)
    assert np.linalg.norm(model.between_ - between) < 0.08 * size
    assert np.linalg.norm(model.within_ - mixing.T @ mixing) < 0.05 * size


def test_the_corrected_covariance_within_sources_has_an_unbiased_inverse(rng):
    inverses, ratios = [], []
    for _ in range(300):
        X, source = simulate(rng, np.full(12, 3), np.full(5, 3.0))
        corrected = SameSourceModel().fit(X, source)
        inverses.append(np.linalg.inv(corrected.within_))
        ratios.append(corrected.within_ / SameSourceModel(estimator="ml").fit(X, source).within_)
    np.testing.assert_allclose(np.mean(inverses, axis=0), np.eye(5), atol=0.1)
    np.testing.assert_allclose(ratios, 24 / (24 - 5 - 1))


def test_few_sources_in_many_features_are_not_worse_than_no_evidence(rng):
    """Maximum likelihood alone costs about 2 bits here, benchmarks/same_source.py has more."""
    X, source = simulate(rng, np.full(25, 3), np.ones(20))
    T, of = simulate(rng, np.full(400, 2), np.ones(20))
    left, right, y_true = pairs(of, limit=2000, rng=0)
    cost = {
        name: metrics.cllr(
            y_true, SameSourceModel(estimator=name).fit(X, source).llr(T[left], T[right])
        )
        for name in ("corrected", "ml")
    }
    assert cost["corrected"] < 1.05 < 1.5 < cost["ml"]


def test_sources_that_do_not_differ_give_no_evidence(rng):
    X, source = simulate(rng, np.full(40, 50), [0.0, 0.0])
    for estimator in ("ml", "moments"):
        model = SameSourceModel(estimator=estimator).fit(X, source)
        assert np.abs(model.llr(X[:-1], X[1:])).max() < 0.1
        assert np.linalg.eigvalsh(model.between_)[0] > -1e-12


def test_fewer_sources_than_features_give_evidence_where_they_differ(rng):
    X, source = simulate(rng, np.full(5, 30), np.full(12, 2.0))
    with pytest.warns(UserWarning, match="5 sources are too few for 12 features: LLRs will be"):
        model = SameSourceModel().fit(X, source)
    assert np.linalg.matrix_rank(model.between_, tol=1e-8) <= 4
    assert np.isfinite(model.llr_matrix(X, X)).all()


@pytest.mark.slow
def test_thousands_of_sources_in_tens_of_dimensions_take_seconds(rng):
    X, source = simulate(rng, rng.integers(1, 9, size=4000), np.linspace(0, 3, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SameSourceModel().fit(X, source)
    assert len(model.log_likelihoods_) < 500
    assert (np.diff(model.log_likelihoods_) > -1e-3).all()
    np.testing.assert_allclose(np.diag(model.between_), np.linspace(0, 3, 40) ** 2, atol=0.8)


# --- what it takes, and what it refuses ---


def test_sets_are_taken_as_lists_arrays_and_frames(glass):
    X, source = glass
    frame = pd.DataFrame(X, columns=list("abc"))
    model = SameSourceModel().fit(frame, [f"pane {k}" for k in source])
    wanted = model.llr(X[:4], X[4:8])
    np.testing.assert_array_equal(model.llr(frame[:4], frame[4:8]), wanted)
    np.testing.assert_array_equal(model.llr(X[:4].tolist(), X[4:8, None]), wanted)
    np.testing.assert_allclose(model.llr([frame[k : k + 1] for k in range(4)], X[4:8]), wanted)
    with pytest.raises(ValueError, match="in the same order"):
        model.llr(frame[["b", "a", "c"]], frame)
    with pytest.raises(ValueError, match="in the same order"):
        model.llr([frame[:2], frame[["b", "a", "c"]]], X)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(4), [0, 0, 0, 0], r"y must hold two sources .*; got one source, 0\. Add"),
        (np.eye(4), list("abcd"), r"y must .* several times; got one measurement of each source"),
        (np.eye(4), [0, 0, 1, 1], r"X must vary within sources in each of 4 features, .*; it does "
                                  r"not in 4 measurements of 2 sources\. .*shrinkage=0.1"),
        (np.ones((6, 1)), [0, 0, 1, 1, 2, 2], "X must vary within sources"),
        ([[0.1]] * 3 + [[0.7]] * 3, [0, 0, 0, 1, 1, 1], "X must vary within sources"),
        ([[1.0], [np.nan], [2.0]], [0, 0, 1], "NaN"),
        (np.eye(3), [0, None, 1], "y must not contain NaN or missing labels"),
    ],
)  # fmt: skip
def test_data_that_cannot_tell_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        SameSourceModel().fit(X, y)


def test_shrinkage_takes_fewer_repeated_measurements_than_features(rng):
    X, source = simulate(rng, np.repeat([2, 1], [10, 50]), np.full(30, 1.0))
    with pytest.raises(InputError, match=r"30 features.* not in 70 measurements of 60 sources\."):
        SameSourceModel().fit(X, source)
    model = SameSourceModel(shrinkage=0.2).fit(X, source)
    assert np.isfinite(model.llr(X[:10], X[10:20])).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"density": "laplace"}, "density must be one of normal, kernel, aitken-lucy; got"),
        ({"estimator": "reml"}, "estimator must be one of corrected, ml, moments; got 'reml'"),
        ({"bandwidth": "scott"}, r"bandwidth must lie between 0 and 1; got 'scott'\. Give"),
        ({"bandwidth": 2.0}, "bandwidth must lie between 0 and 1; got 2.0"),
        ({"shrinkage": -1}, "shrinkage must lie between 0 and 1; got -1"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message, glass):
    with pytest.raises(InputError, match=message):
        SameSourceModel(**parameters).fit(*glass)


def test_sets_that_do_not_fit_are_refused(glass):
    X, source = glass
    model = SameSourceModel()
    with pytest.raises(NotFittedError):
        model.llr(X, X)
    model.fit(X, source)
    for wrong, message in [
        (X[:, :2], r"left must be a table with 3 features, .* got shape \(\d+, 2\)"),
        (X[0], r"left must be a table .* got shape \(3,\)\. Give every set one measurement"),
        ([X[:2], X[:0]], r"left must be a table .* got shape \(2, 3\), \(0, 3\)"),
        ([X[:2], X[:2, :2]], r"left must be a table .* got shape \(2, 3\), \(2, 2\)"),
        (np.empty((0, 2, 3)), "left must be a table"),
        (
            np.where(np.arange(len(X))[:, None] == 3, np.nan, X),
            "left must hold finite .* row 3 has",
        ),
        (X * 1e200, "left must hold finite numbers; row 0 has .* beyond 1e"),
        (X[:5], r"left and right must have as many sets; got 5 and \d+\."),
    ]:
        with pytest.raises(InputError, match=message):
            model.llr(wrong, X)


# --- files ---


@each_kind
def test_a_saved_model_is_the_same(density, glass, tmp_path):
    X, source = glass
    model = SameSourceModel(density=density, shrinkage=0.01).fit(X, source)
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    assert repr(back) == repr(model)
    assert set(vars(back)) == set(vars(model))
    assert back.llr_matrix(X, X).tobytes() == model.llr_matrix(X, X).tobytes()
    np.testing.assert_array_equal(back.log_likelihoods_, model.log_likelihoods_)
    assert clone(back).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("within_", -np.eye(3)),
        ("between_", np.full((3, 3), np.inf)),
        ("_source_counts", None),
        ("bandwidth_", 2.0),
    ],
)
def test_a_file_that_makes_no_model_is_refused(name, value, glass, tmp_path):
    model = SameSourceModel().fit(*glass)
    setattr(model, name, 0 * model._source_counts if value is None else value)
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="Cannot load model"):
        deciban.load(tmp_path / "model")
