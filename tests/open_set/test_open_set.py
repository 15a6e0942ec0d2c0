"""A discriminant that can say none of these: against densities that are known."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.covariance import oas
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import Evidence, LinearDiscriminant, QuadraticDiscriminant
from deciban._estimation.samples import Samples
from deciban._persistence import files
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.exceptions import InputError, UnknownClassError
from deciban.metrics import c_avg, cross_entropy, expected_cost
from deciban.open_set import OpenSetDiscriminant, open_set_costs
from deciban.open_set.broad_density import BroadDensity, oracle_shrinkage

X, Y = load_iris(return_X_y=True)
OTHER = "something else"
MORE = "it has one class more than y, which is what it is for"
NOT_MEANT = dict.fromkeys(("check_classifiers_train", "check_classifiers_classes"), MORE)


def expected_failures(_):
    return NOT_MEANT


@parametrize_with_checks(
    [
        OpenSetDiscriminant(other=-99),
        OpenSetDiscriminant(QuadraticDiscriminant(shrinkage=0.1), other=-99),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks_pass_but_for_the_number_of_classes(estimator, check):
    check(estimator)


def worlds(n_worlds, *, n_classes, n_features, between, n=200, rng):
    """Samples and labels of classes whose means are normal; the last of them is not seen."""
    for _ in range(n_worlds):
        means = rng.normal(size=(n_classes + 1, n_features)) * np.sqrt(between)
        y = np.repeat(np.arange(n_classes), n)
        yield means, means[y] + rng.normal(size=(len(y), n_features)), y


def test_evidence_is_the_difference_of_two_gaussians_and_a_given_density():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    table = rng.normal(size=(200, 2)) + 3 * y[:, None]
    given = stats.multivariate_normal([1.0, 2.0], [[20.0, 3.0], [3.0, 30.0]])
    model = OpenSetDiscriminant(density=given).fit(table, y)
    means = np.stack([table[y == k].mean(axis=0) for k in (0, 1)])
    W = np.cov((table - means[y]).T, bias=True)
    new = rng.normal(size=(50, 2)) * 5
    for k in (0, 1):
        expected = stats.multivariate_normal(means[k], W).logpdf(new) - given.logpdf(new)
        np.testing.assert_allclose(model.evidence(new).llr(k, OTHER), expected, atol=1e-10)


@pytest.mark.parametrize("base", [LinearDiscriminant(), QuadraticDiscriminant()], ids=str)
@pytest.mark.parametrize("density", ["new class", "samples"])
def test_the_known_classes_keep_their_evidence(base, density):
    kept = Y < 2
    y = np.where(kept, Y, -1)
    rows = np.full(len(y), True) if density == "samples" else kept
    model = OpenSetDiscriminant(base, other=-1, density=density).fit(X[rows], y[rows])
    alone = base.fit(X[kept], Y[kept]).evidence(X)
    found = model.evidence(X).restrict([0, 1])
    np.testing.assert_array_equal(found.log_likelihoods, alone.log_likelihoods)
    assert model.classes_.tolist() == [-1, 0, 1]


def test_the_known_classes_of_a_cda_keep_their_evidence():
    pytest.importorskip("jax")
    base = deciban.CompositionalDiscriminantAnalysis(
        n_couplings=2, width=4, epochs=1, augment=1, random_state=0
    )
    model = OpenSetDiscriminant(base, other=-1).fit(X, Y)
    found, alone = model.evidence(X).restrict([0, 1, 2]), model.estimator_.evidence(X)
    np.testing.assert_allclose(found.llr(0, 2), alone.llr(0, 2), atol=1e-9)
    mean = np.logaddexp.reduce(model.log_densities(X)[:, 1:], axis=1)
    wanted = np.logaddexp.reduce(model.estimator_.log_densities(X), axis=1)
    np.testing.assert_allclose(mean, wanted, atol=1e-9)


def test_with_many_classes_the_new_class_is_the_two_covariance_predictive_density():
    rng = np.random.default_rng(1)
    between = np.array([4.0, 1.0])
    _, table, y = next(worlds(1, n_classes=3000, n_features=2, between=between, n=5, rng=rng))
    density = BroadDensity.of_new_class(Samples(table, y, np.ones(len(y))), 3000, 0.0)
    points = rng.normal(size=(100, 2)) * 3
    means = table.reshape(3000, 5, 2).mean(axis=1)
    W = np.cov((table - means[y]).T, bias=True)
    total = W + (np.cov(means.T) - W / 5) * (1 + 1 / 3000)
    expected = stats.multivariate_normal(table.mean(axis=0), total).logpdf(points)
    # Shrinkage of B and its degrees of freedom, some 3000, are what is left of the difference.
    np.testing.assert_allclose(density.log_density(points), expected, atol=0.05)


def test_the_density_of_few_samples_is_students_t():
    rng = np.random.default_rng(2)
    y = np.r_[np.arange(100) % 2, np.full(6, -1)]
    table = np.r_[rng.normal(size=(100, 1)) + y[:100, None], 10 + 4 * rng.normal(size=(6, 1))]
    model = OpenSetDiscriminant(other=-1, density="samples").fit(table, y)
    own = table[100:, 0]
    scale = np.sqrt((1 + 1 / 6) * own.var(ddof=1))
    exact = stats.t(5, loc=own.mean(), scale=scale)
    points = own.mean() + scale * np.linspace(-3, 3, 13)
    found = model.log_densities(points[:, None])[:, 0]
    np.testing.assert_allclose(found, exact.logpdf(points), atol=1e-9)
    grid = np.linspace(-400, 420, 40_001)
    total = np.exp(model.log_densities(grid[:, None])[:, 0]).sum() * (grid[1] - grid[0])
    np.testing.assert_allclose(total, 1, rtol=1e-3)


def test_shrinkage_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    for n, d in ((5, 3), (40, 6), (3, 10)):
        points = rng.normal(size=(n, d)) * np.arange(1, d + 1)
        S = np.cov(points.T, bias=True)
        np.testing.assert_allclose(oracle_shrinkage(S, n), oas(points)[1], rtol=1e-10)
    assert oracle_shrinkage(np.eye(2), 10) == 1.0


@pytest.mark.parametrize(("n_classes", "n_features", "between"), [(3, 1, 9.0), (6, 4, 2.0)])
def test_the_posterior_of_something_else_is_calibrated_over_worlds(n_classes, n_features, between):
    rng = np.random.default_rng(4)
    p = []
    setting = {"n_classes": n_classes, "n_features": n_features, "between": between, "rng": rng}
    for means, table, y in worlds(400, **setting):
        model = OpenSetDiscriminant(other=-1, p_other=0.5).fit(table, y)
        is_new = rng.random(20) < 0.5
        k = np.where(is_new, n_classes, rng.integers(n_classes, size=20))
        k_mean = means[k]
        k_mean[is_new] = rng.normal(size=(is_new.sum(), n_features)) * np.sqrt(between)
        new = k_mean + rng.normal(size=(20, n_features))
        p.append(np.column_stack([model.predict_proba(new)[:, 0], is_new]))
    p, truth = np.concatenate(p).T
    for low, high in ((0.0, 0.4), (0.4, 0.7), (0.7, 1.01)):
        rows = (p >= low) & (p < high)
        assert rows.sum() > 200
        assert abs(p[rows].mean() - truth[rows].mean()) < 0.06


def test_what_is_far_away_is_something_else_and_what_is_near_is_not():
    model = OpenSetDiscriminant(other=-1).fit(X, Y)
    for far in (1e3, 1e6, 1e100, 1e150):
        evidence = model.evidence(X[:3] + far)
        assert evidence.decide().tolist() == [-1] * 3
        assert (evidence.llr([0, 1, 2], -1) < -1000).all()
    assert (model.predict(X) == Y).mean() > 0.9
    with pytest.raises(ValueError, match="infinity"):
        model.evidence(np.full((1, 4), np.inf))


def quadrature(density, x):
    """Log-density of one point by SciPy's adaptive quadrature over the logarithm of the scale."""
    z = ((density.whitening(x[None]) - density.center) @ density.axes)[0]
    gamma = stats.gamma(density.degrees_of_freedom / 2, scale=2 / density.degrees_of_freedom)

    def log_f(t):
        V = density.within + density.variance / np.exp(t)[:, None]
        return stats.norm.logpdf(z, scale=np.sqrt(V)).sum(axis=1) + gamma.logpdf(np.exp(t)) + t

    grid = np.linspace(-60, 8, 6801)
    values = log_f(grid)
    top = values.max()
    around = grid[np.flatnonzero(values > top - 50)]
    found = integrate.quad(
        lambda t: np.exp(log_f(np.array([t]))[0] - top), around[0], around[-1],
        points=[grid[values.argmax()]], limit=500, epsabs=0, epsrel=1e-9,
    )  # fmt: skip
    return top + np.log(found[0]) + density.whitening.log_det


@pytest.mark.parametrize(
    ("n_classes", "n_features", "between"), [(2, 1, 4.0), (3, 4, 4.0), (5, 2, 0.01), (40, 5, 1.0)]
)
def test_the_density_of_a_new_class_is_that_of_quadrature_however_far(
    n_classes, n_features, between
):
    rng = np.random.default_rng(7)
    setting = {"n_classes": n_classes, "n_features": n_features, "between": between, "rng": rng}
    _, table, y = next(worlds(1, **setting))
    density = BroadDensity.of_new_class(Samples(table, y, np.ones(len(y))), n_classes, 0.0)
    away = rng.normal(size=n_features)
    points = np.array([0.0, 3.0, 30.0, 1000.0])[:, None] * away / np.linalg.norm(away)
    expected = [quadrature(density, x) for x in points]
    np.testing.assert_allclose(density.log_density(points), expected, rtol=0, atol=1e-5)


def test_far_points_are_something_else_beside_classes_of_different_width():
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(5), 100)
    width = np.array([1, 1, 1, 1, 6])[y][:, None]
    table = rng.normal(size=(5, 2))[y] + width * rng.normal(size=(500, 2))
    model = OpenSetDiscriminant(QuadraticDiscriminant(), other=-1).fit(table, y)
    for distance in (60, 600, 6e4):
        assert model.predict([[distance, distance]]).tolist() == [-1]


def test_far_points_are_something_else_beside_long_tails():
    pytest.importorskip("jax")
    rng = np.random.default_rng(9)
    y = np.repeat(np.arange(3), 100)
    table = np.exp(1.5 * rng.normal(size=(3, 2))[y] + 0.7 * rng.normal(size=(300, 2)))
    base = deciban.CompositionalDiscriminantAnalysis(
        n_couplings=2, width=4, epochs=2, random_state=0
    )
    model = OpenSetDiscriminant(base, other=-1).fit(table, y)
    for factor in (10, 1e3, 1e6):
        assert model.predict([table.max(axis=0) * factor]).tolist() == [-1]


def test_weights_are_repetitions():
    y = np.where(Y == 2, -1, Y)
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for density, at in (("samples", y > -2), ("new class", y >= 0)):
        model = OpenSetDiscriminant(other=-1, density=density)
        weighted = model.fit(X[at], y[at], weight[at]).log_densities(X)
        kept = rows[at[rows]]
        repeated = model.fit(X[kept], y[kept]).log_densities(X)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-8)


def test_units_and_the_order_of_features_do_not_matter():
    model = OpenSetDiscriminant(other=-1).fit(X, Y)
    turned = OpenSetDiscriminant(other=-1).fit(X[:, ::-1] * 1000 - 7, Y)
    llr = turned.evidence(X[:, ::-1] * 1000 - 7).llr(0, -1)
    np.testing.assert_allclose(llr, model.evidence(X).llr(0, -1), rtol=1e-7)


def test_a_prior_set_after_fit_takes_effect_and_leaves_the_evidence():
    model = OpenSetDiscriminant(LinearDiscriminant(prior="uniform"), other=-1).fit(X, Y)
    before = model.evidence(X)
    np.testing.assert_allclose(model.prior_, [0.2] + [0.8 / 3] * 3, rtol=1e-12)
    shares = model.class_counts_ / model.class_counts_.sum()
    np.testing.assert_allclose(shares, model.prior_, rtol=1e-12)
    model.set_params(p_other=0.5, estimator__prior=[0.5, 0.25, 0.25])
    np.testing.assert_allclose(model.prior_, [0.5, 0.25, 0.125, 0.125], rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), before.posterior(model.prior_), rtol=1e-12)
    np.testing.assert_array_equal(model.evidence(X).log_likelihoods, before.log_likelihoods)
    np.testing.assert_allclose(
        model.score_samples(X),
        np.logaddexp.reduce(model.log_densities(X) + np.log(model.prior_), axis=1),
        rtol=1e-12,
    )
    model.set_params(p_other=1)
    for attribute in ("class_counts_", "prior_"):
        with pytest.raises(InputError, match="p_other must lie between 0 and 1"):
            getattr(model, attribute)


def test_costs_of_an_open_set_give_the_decisions_and_their_cost():
    evidence = OpenSetDiscriminant(other=-1).fit(X[Y < 2], Y[Y < 2]).evidence(X)
    truth = np.where(Y == 2, -1, Y)
    costs = open_set_costs(evidence.classes, -1, cost_false_alarm=5, cost_confusion=2)
    prior = [0.2, 0.4, 0.4]
    decided = evidence.decide(costs, prior)
    place = {-1: 0, 0: 1, 1: 2}
    each = np.array([costs[place[t], place[c]] for t, c in zip(truth, decided, strict=True)])
    mean = sum(p * each[truth == k].mean() for k, p in zip((-1, 0, 1), prior, strict=True))
    assert expected_cost(truth, evidence, costs, prior=prior) == pytest.approx(mean, rel=1e-12)
    assert c_avg(truth, evidence, out_of_set=-1) < 0.2
    assert cross_entropy(truth, evidence, prior=prior) < 0.5


@pytest.mark.parametrize("names", [["a", "b", "c"], [1, 2, 3]])
@pytest.mark.parametrize("density", ["new class", "samples"])
def test_a_saved_model_is_the_same(names, density, tmp_path):
    y = np.array(names, dtype=object if density == "samples" else None)[Y]
    if density == "samples":
        y[Y == 2] = OTHER
    model = OpenSetDiscriminant(QuadraticDiscriminant(), density=density).fit(X, y)
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    assert repr(back) == repr(model)
    assert back.classes_.tolist() == model.classes_.tolist()
    for method in ("log_densities", "predict_proba", "predict", "outlier_score"):
        np.testing.assert_array_equal(getattr(back, method)(X), getattr(model, method)(X))


def test_unsound_files_and_densities_of_other_libraries_are_refused(tmp_path):
    path, kind = tmp_path / "model", "OpenSetDiscriminant"
    OpenSetDiscriminant().fit(X, Y).save(path)
    arrays, plain = files.read_arrays(path, [kind])
    for name in ("density_.variance", "density_.whitening.scale"):
        files.write_arrays(tmp_path / "edited", kind, arrays | {name: -arrays[name]}, plain)
        with pytest.raises(InputError, match="Cannot load edited"):
            deciban.load(tmp_path / "edited")
    given = OpenSetDiscriminant(density=KernelDensity().fit(X)).fit(X, Y)
    with pytest.raises(InputError, match="to be saved"):
        given.save(path)


def test_a_density_may_be_of_scipy_scikit_learn_or_a_function():
    kernel = KernelDensity(bandwidth=2.0).fit(X)
    for given in (kernel, kernel.score_samples):
        model = OpenSetDiscriminant(density=given).fit(X, Y)
        np.testing.assert_array_equal(model.log_densities(X)[:, -1], kernel.score_samples(X))
    one = OpenSetDiscriminant(density=stats.norm(0, 10)).fit(X[:, :1], Y)
    expected = stats.norm(0, 10).logpdf(X[:, 0])
    np.testing.assert_array_equal(one.log_densities(X[:, :1])[:, -1], expected)


def test_frames_with_gaps_and_categories_are_taken():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[3, "a"] = np.nan
    frame["kind"] = pd.Categorical(np.where(X[:, 0] > 6, "large", "small"))
    y = pd.Series(np.array(["x", "y", "other"])[Y], index=frame.index)
    model = OpenSetDiscriminant(other="other", density="samples").fit(frame, y[::-1])
    assert model.columns_.names == [*"abcd", "kind"]
    assert model.feature_names_in_.tolist() == [*"abcd", "kind"]
    assert (model.predict(frame) == y).mean() > 0.9


def test_rows_are_matched_by_index_columns_by_name_and_zero_weights_do_not_count():
    pd = pytest.importorskip("pandas")
    frame, model = pd.DataFrame(X, columns=list("abcd")), OpenSetDiscriminant(other=-1)
    weight = pd.Series(np.where(np.arange(150) % 5 == 0, 0.0, 1.0))
    inside = weight.to_numpy() > 0
    expected = model.fit(X[inside], Y[inside]).evidence(X)
    found = model.fit(frame, pd.Series(Y)[::-1], weight[::-1]).evidence(frame[list("dcba")])
    assert found.allclose(expected)
    for wrong, said in [
        ({"y": np.ma.masked_equal(Y, 1)}, "masked"),
        ({"y": [None, *Y[1:]]}, "row 0"),
    ]:
        with pytest.raises(InputError, match=said):
            model.fit(**{"X": X, "y": Y} | wrong)


def test_bad_input_is_refused_in_one_sentence():
    y = np.where(Y == 2, -1, Y)
    one = np.append(np.arange(60) % 2, -1)
    alike = np.vstack([X[:60], X[:1], X[:1]])
    for options, table, labels, words in [
        ({}, X, y, "y must not hold -1.*got 50. Pass density='samples'"),
        ({"density": "samples"}, X[:61], one, "two samples or more labeled -1; got 1"),
        ({"density": "samples"}, alike, np.append(one, -1), "samples labeled -1 are all alike"),
        ({"density": "wide"}, X, Y, "density must be one of new class, samples"),
        ({"density": 3}, X, Y, "density must be 'new class', 'samples', a function"),
        ({"p_other": 1.0}, X, Y, "p_other must lie between 0 and 1"),
        ({"estimator": KernelDensity()}, X, Y, "estimator must be a discriminant of deciban"),
    ]:
        with pytest.raises(InputError, match=words):
            OpenSetDiscriminant(other=-1, **options).fit(table, labels)
    for label in (None, np.nan, ["a"], np.array([1, 2])):
        with pytest.raises(InputError, match="other must be a label"):
            OpenSetDiscriminant(other=label).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OpenSetDiscriminant(other=-1, density="samples").fit(X, y[:120])


def test_a_density_that_does_not_take_the_features_is_refused_at_fit():
    kernel = KernelDensity().fit(X)
    for given, words in [
        (lambda rows: np.zeros(3), "one log-density for each of 2 samples"),
        (lambda rows: np.full(len(rows), np.nan), "with NaN"),
        (stats.multivariate_normal(np.zeros(3)), "rows of 4 features; got ValueError"),
        (stats.gaussian_kde(X.T).logpdf, "rows of 4 features; got ValueError"),
        (stats.gaussian_kde, "or an object with logpdf"),
        (clone(kernel), "NotFittedError.*sklearn.frozen.FrozenEstimator"),
    ]:
        with pytest.raises(InputError, match=words):
            OpenSetDiscriminant(density=given).fit(X, Y)


def test_a_frozen_density_of_scikit_learn_survives_a_clone():
    kernel = KernelDensity().fit(X)
    model = clone(OpenSetDiscriminant(density=FrozenEstimator(kernel))).fit(X, Y)
    np.testing.assert_array_equal(model.log_densities(X)[:, -1], kernel.score_samples(X))


def test_a_kernel_density_of_scipy_gets_as_many_rows_as_there_are_features():
    kernel = stats.gaussian_kde(X.T)
    model = OpenSetDiscriminant(density=kernel).fit(X, Y)
    for n in (1, 4, 10):
        found = model.log_densities(X[:n])[:, -1]
        np.testing.assert_array_equal(found, kernel.logpdf(X[:n].T))


@pytest.mark.parametrize("name", ["m", np.str_("m")])
def test_classes_are_sorted_so_that_scorers_of_scikit_learn_agree_with_the_model(name):
    y = np.array(["a", "m", "z"])[Y]
    model = OpenSetDiscriminant(other=name, density="samples").fit(X, y)
    assert model.classes_.tolist() == ["a", "m", "z"]
    p = model.predict_proba(X)
    assert (model.classes_[p.argmax(axis=1)] == y).mean() > 0.9
    mean = np.mean(np.log(p[np.arange(len(y)), Y]))
    assert get_scorer("neg_log_loss")(model, X, y) == pytest.approx(mean, rel=1e-12)
    assert get_scorer("roc_auc_ovr")(model, X, y) > 0.98
    calibrated = CalibratedEvidenceClassifier(OpenSetDiscriminant(other="m", density="samples"))
    assert (calibrated.fit(X, y).predict(X) == y).mean() > 0.9


def test_an_integer_of_numpy_as_the_name_is_saved(tmp_path):
    model = OpenSetDiscriminant(other=np.int64(1)).fit(X[Y != 1], Y[Y != 1])
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    assert back.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_a_density_of_samples_is_finite_for_features_beyond_the_squares_of_floats():
    model = OpenSetDiscriminant(other=2, density="samples").fit(X, Y)
    assert np.isfinite(model.density_.log_density(1e155 * X[:1])).all()


def test_a_dear_false_alarm_makes_the_decision_other():
    evidence = Evidence.from_likelihoods([[6, 1, 3]], classes=["a", "b", "other"])
    assert evidence.decide(open_set_costs(evidence.classes, "other")).tolist() == ["a"]
    dear = open_set_costs(evidence.classes, "other", cost_false_alarm=9)
    assert evidence.decide(dear).tolist() == ["other"]
    rows = evidence[[0, 0, 0]]
    assert expected_cost(["a", "b", "other"], rows, dear) == pytest.approx(2 / 3)


def test_bad_costs_are_refused():
    with pytest.raises(UnknownClassError, match="'none'"):
        open_set_costs(["a", "b"], "none")
    for wrong in (-1.0, np.inf, np.nan, "1"):
        with pytest.raises(InputError, match="cost_miss must be a finite number, 0 or more"):
            open_set_costs(["a", "b"], "b", cost_miss=wrong)
