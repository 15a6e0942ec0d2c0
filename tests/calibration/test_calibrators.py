"""Calibrators against closed forms, peers and what they promise."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import floyd_warshall
from scipy.stats import gaussian_kde, multivariate_t
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from deciban import CalibratedGaussian, Evidence, metrics
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    BoundedCalibrator,
    CalibratedEvidenceClassifier,
    FusionCalibrator,
    GaussianCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    KernelDensityCalibrator,
    UnsupportedEvidenceWarning,
)
from deciban.exceptions import InputError
from strategies import seeds

PEERS = json.loads((Path(__file__).parents[1] / "data" / "llr_peers.json").read_text())["cases"]
FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
PAIR = CalibratedGaussian.from_divergences([4.0])


def distorted(matrix, offset=0.0, n=2000, rng=0):
    l, y = FAMILY.sample([n, n, n], rng)
    return FAMILY.evidence(l @ np.transpose(matrix) + offset), y


@pytest.mark.parametrize(
    ("scale", "matrix", "offset"),
    [
        ("scalar", 3.0 * np.eye(2), [0.0, 0.0]),
        ("diagonal", np.diag([0.4, 3.0]), [0.5, -0.5]),
        ("full", np.array([[2.0, 0.5], [-0.8, 0.7]]), [-1.0, 1.0]),
    ],
)
def test_an_affine_distortion_is_undone(scale, matrix, offset):
    evidence, y = distorted(matrix, offset)
    calibrator = AffineCalibrator(scale).fit(evidence, y)
    np.testing.assert_allclose(calibrator.matrix_ @ matrix, np.eye(2), atol=0.1)
    np.testing.assert_allclose(
        calibrator.matrix_ @ offset + calibrator.offset_, [0.0, 0.0], atol=0.15
    )


def test_two_classes_are_linear_logistic_regression():
    l, y = PAIR.sample([300, 700], rng=0)
    llr = PAIR.evidence(3 * l + 1).llr(1, 0)[:, None]
    ours = AffineCalibrator(prior="empirical", ridge=0).fit(llr, y)
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(llr, y)
    np.testing.assert_allclose(ours.predict_proba(llr), theirs.predict_proba(llr), atol=1e-5)


def test_a_temperature_without_offset_is_the_best_one():
    evidence, y = distorted(3 * np.eye(2))
    best = AffineCalibrator("scalar", offset=False).fit(evidence, y)
    np.testing.assert_array_equal(best.offset_, 0)
    at = {f: metrics.cross_entropy(y, evidence * (f * best.matrix_[0, 0])) for f in (0.99, 1, 1.01)}
    assert at[1] < min(at[0.99], at[1.01])


@pytest.mark.filterwarnings("ignore::deciban.calibration.SeparableWarning")
def test_a_strong_ridge_is_the_identity_and_a_weak_one_helps_with_few_samples():
    evidence, y = distorted(3 * np.eye(2), n=10)
    still = AffineCalibrator("full", ridge=1e9).fit(evidence, y)
    np.testing.assert_allclose(still.matrix_, np.eye(2), atol=1e-6)
    gains = []
    for seed in range(20):
        few, y_few = distorted(np.eye(2), n=8, rng=seed)
        new, y_new = distorted(np.eye(2), n=500, rng=1000 + seed)
        free, held = (AffineCalibrator("full", ridge=r).fit(few, y_few) for r in (0.0, 0.03))
        gains.append(held.score(new, y_new) - free.score(new, y_new))
    assert np.median(gains) > 0.01


def test_gaussian_densities_of_ilrls_are_discriminant_analysis():
    evidence, y = distorted(np.array([[2.0, 0.5], [-0.8, 0.7]]), n=100)
    l = evidence.ilr()
    uniform = np.full(3, 1 / 3)
    linear = LinearDiscriminantAnalysis(solver="lsqr", priors=uniform).fit(l, y)
    shared = GaussianCalibrator(predictive=False).fit(evidence, y)
    np.testing.assert_allclose(shared.predict_proba(evidence), linear.predict_proba(l), atol=1e-9)
    quadratic = QuadraticDiscriminantAnalysis(priors=uniform).fit(l, y)
    separate = GaussianCalibrator("separate", predictive=False).fit(evidence, y)
    # scikit-learn divides by n - 1
    np.testing.assert_allclose(
        separate.predict_proba(evidence), quadratic.predict_proba(l), atol=0.02
    )
    with pytest.raises(AttributeError, match="needs a shared covariance"):
        _ = separate.reference_


def test_the_likelihood_function_of_shared_gaussians_is_calibrated_and_stays_what_it_is():
    evidence, y = distorted(np.array([[2.0, 0.5], [-0.8, 0.7]]), [3.0, -1.0])
    plug_in = GaussianCalibrator(predictive=False)
    once = clone(plug_in).fit(evidence, y)
    calibrated = once.evidence(evidence)
    twice = clone(plug_in).fit(calibrated, y).evidence(calibrated)
    assert twice.allclose(calibrated, atol=1e-8)
    moments = calibrated.ilr()
    for k in range(3):
        np.testing.assert_allclose(
            moments[y == k].mean(axis=0), once.reference_.means[k], atol=1e-8
        )


def test_shrinkage_lets_few_samples_do():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 6)), np.arange(8) % 6
    assert np.isfinite(GaussianCalibrator(shrinkage=0.5).fit(X, y).transform(X)).all()


@given(seeds, st.integers(0, 3))
@settings(max_examples=30)
def test_isotonic_calibration_leaves_cllr_min(seed, digits):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(2, size=40)])
    llr = np.round(rng.normal(size=42) + y, digits)
    weight = rng.uniform(0.1, 3, size=42)
    calibrated = (
        IsotonicCalibrator().fit(llr[:, None], y, sample_weight=weight).evidence(llr[:, None])
    )
    np.testing.assert_allclose(
        metrics.cllr(y, calibrated, sample_weight=weight),
        metrics.cllr_min(y, llr, sample_weight=weight),
        atol=1e-12,
    )


def test_what_lies_between_two_blocks_goes_to_the_nearer():
    calibrator = IsotonicCalibrator().fit(
        [[-np.inf], [0.0], [2.0], [10.0], [np.inf]], [0, 1, 0, 1, 1]
    )
    llr = calibrator.evidence([[-np.inf], [-1e9], [5.9], [6.1], [1e300], [np.inf]]).llr(1, 0)
    np.testing.assert_allclose(llr[1:3], np.log(2 / 3))
    assert llr[0] == -np.inf
    assert (llr[3:] == np.inf).all()


def test_kernel_densities_are_scipys():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [80, 120])
    llr = rng.normal(3 * y - 1, 1 + y)
    for rule in ("silverman", "scott"):
        calibrator = KernelDensityCalibrator(rule).fit(llr[:, None], y)
        x = np.linspace(llr.min(), llr.max(), 50)
        other, target = (
            gaussian_kde(llr[y == k], h / llr[y == k].std(ddof=1)).logpdf(x)
            for k, h in enumerate(calibrator.bandwidths_)
        )
        ours = calibrator.evidence(x[:, None]).llr(1, 0)
        np.testing.assert_allclose(ours, target - other, atol=1e-9)
    with pytest.raises(ValueError, match="has infinity"):
        calibrator.evidence([[np.inf]])


def test_many_samples_are_gathered_without_loss(rng):
    y = np.repeat([0, 1], 6000)
    llr, weight, h = rng.normal(y), rng.uniform(size=12_000), 0.2
    calibrator = KernelDensityCalibrator(h).fit(llr[:, None], y, weight)
    x = np.linspace(-3, 4, 100)
    other, target = (
        np.exp(-(((x[:, None] - llr[y == k]) / h) ** 2) / 2) @ weight[y == k] / weight[y == k].sum()
        for k in (0, 1)
    )
    found = calibrator.evidence(x[:, None]).llr(1, 0)
    np.testing.assert_allclose(found, np.log(target / other), atol=4e-3)


@pytest.mark.parametrize("case", PEERS)
def test_bounds_are_lirs(case):
    said = PEERS[case]
    y, llr = np.array(said["y"]), np.array(said["llr"])
    bounds = BoundedCalibrator(IdentityCalibrator()).fit(llr[:, None], y).bounds_
    # lir looks at steps of 1e-4 bans, and goes one back.
    np.testing.assert_allclose([-bounds[0, 1], bounds[1, 0]], said["lir elub"], atol=7e-4)


def test_bounds_hold_on_new_samples_and_do_not_change_what_is_within():
    evidence, y = distorted(np.eye(2), n=100)
    bounded = BoundedCalibrator(AffineCalibrator("full")).fit(evidence, y)
    inside = bounded.calibrator_.evidence(evidence)
    out = bounded.evidence(Evidence.from_ilr(50 * evidence.ilr()))
    assert bounded.bounds_.max() <= np.log(101)
    best = out.log_likelihoods.argmax(axis=1)
    below = out.log_likelihoods.max(axis=1, keepdims=True) - out.log_likelihoods
    assert (below <= bounded.bounds_[best] + 1e-12).all()
    weak = np.abs(inside.log_likelihoods - inside.log_likelihoods.max(axis=1, keepdims=True))
    within = (weak <= bounded.bounds_[inside.log_likelihoods.argmax(axis=1)]).all(axis=1)
    assert 0.1 < within.mean() < 1
    assert bounded.evidence(evidence)[within].allclose(inside[within])


def test_bounded_isotonic_calibration_costs_little_on_new_samples():
    l, y = PAIR.sample([200, 200], rng=0)
    new, y_new = PAIR.sample([5000, 5000], rng=1)
    llr, llr_new = (PAIR.evidence(3 * x).llr(1, 0)[:, None] for x in (l, new))
    plain = IsotonicCalibrator().fit(llr, y)
    bounded = BoundedCalibrator(IsotonicCalibrator()).fit(llr, y)
    assert metrics.cllr(y_new, plain.evidence(llr_new)) == np.inf
    assert metrics.cllr(y_new, bounded.evidence(llr_new)) < PAIR.expected_cllr(0, 1) + 0.05


@pytest.mark.filterwarnings("ignore::deciban.calibration.SeparableWarning")
@pytest.mark.parametrize(
    "calibrator",
    [AffineCalibrator("full"), GaussianCalibrator(), BoundedCalibrator()],
    ids=str,
)
def test_a_thousand_samples_of_many_classes(calibrator):
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 25
    X = 4 * np.eye(25)[y] + rng.normal(size=(1000, 25))
    calibrated = calibrator.fit(X, y).evidence(X)
    assert metrics.accuracy(y, calibrated) > 0.9


# --- found by an expert -----------------------------------------------------------------------


@pytest.mark.parametrize("pi", [1e-3, 1e-5, 1e-7])
def test_the_optimum_is_found_under_a_nearly_sure_prior(pi):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 3000)
    llr = rng.normal(np.where(y, 10, -10), np.sqrt(20)) / 3
    prior = np.array([1 - pi, pi])
    fitted = AffineCalibrator(prior=prior, ridge=0).fit(llr[:, None], y)

    def cost(theta):
        log_odds = theta[0] * llr + theta[1] + np.log(pi / (1 - pi))
        miss, alarm = np.logaddexp(0, -log_odds[y == 1]), np.logaddexp(0, log_odds[y == 0])
        return miss.mean() + (1 - pi) / pi * alarm.mean()

    at = fitted.evidence([[0.0], [1.0]]).llr(1, 0)
    best = minimize(cost, [1.0, 0.0], method="Nelder-Mead", options={"maxiter": 4000})
    assert cost([at[1] - at[0], at[0]]) < best.fun * (1 + 1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_a_common_offset_of_the_scores_does_not_matter(offset):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    llr = rng.normal(np.where(y, 2, -2), 2)
    plain = AffineCalibrator().fit(llr[:, None], y).evidence(llr[:, None])
    moved = AffineCalibrator().fit(llr[:, None] + offset, y).evidence(llr[:, None] + offset)
    np.testing.assert_allclose(metrics.cllr(y, moved), metrics.cllr(y, plain), rtol=1e-4)


@pytest.mark.slow
def test_saturated_scores_of_digits_can_be_calibrated():
    X, y = load_digits(return_X_y=True)
    log_p = GaussianNB().fit(X[::2], y[::2]).predict_log_proba(X[1::2])  # down to -8e9
    with pytest.warns(UserWarning, match="held up by a few extreme scores. Bound the evidence"):
        AffineCalibrator("full", ridge=0).fit(log_p, y[1::2])
    parts = metrics.decompose(y[1::2], Evidence(log_p))
    assert parts.discrimination < parts.total / 100


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_scores_of_any_scale_reach_the_same_optimum(scale):
    rng = np.random.default_rng(1)
    y = np.arange(300) % 5
    X = 2 * np.eye(5)[y] + rng.normal(size=(300, 5))
    X[:3] *= 100  # outliers
    for kind in ("scalar", "diagonal", "full"):
        one, other = (AffineCalibrator(kind).fit(f * X, y) for f in (1.0, scale))
        np.testing.assert_allclose(other.score(scale * X, y), one.score(X, y), atol=1e-6)


def test_hundreds_of_classes_can_be_calibrated():
    rng = np.random.default_rng(0)
    y = np.arange(450) % 150
    X = 4 * np.eye(150)[y] + rng.normal(size=(450, 150))
    free, safe = (2 * AffineCalibrator(ridge=r).fit(2 * X, y).matrix_[0, 0] for r in (0, None))
    np.testing.assert_allclose(free, 4, rtol=0.5)
    assert 2 < safe < free  # three samples of a class say little


def test_infinite_ratios_alone_keep_their_sides():
    blocks = metrics.pav([0, 1], [-np.inf, np.inf])
    np.testing.assert_array_equal(blocks.transform([-np.inf, np.inf]), [-np.inf, np.inf])
    np.testing.assert_array_equal(blocks.transform([-1.0, 1.0]), [-np.inf, np.inf])
    above = np.nextafter(1, 2)
    near = metrics.pav([0, 1], [above, np.nextafter(above, 2)])
    np.testing.assert_array_equal(
        near.transform([above, np.nextafter(above, 2)]), [-np.inf, np.inf]
    )


def test_columns_named_by_equal_numbers_and_by_truth_are_matched():
    l, y = PAIR.sample([100, 100], rng=0)
    evidence = PAIR.evidence(l)
    expected = AffineCalibrator().fit(evidence, y).matrix_
    frame = evidence.to_pandas()
    for names, labels in (([0, 1], y.astype(float)), ([0.0, 1.0], y), ([False, True], y == 1)):
        named = frame.set_axis(names, axis=1).iloc[:, ::-1]
        calibrator = AffineCalibrator().fit(named, labels)
        np.testing.assert_allclose(calibrator.matrix_, expected)
        assert len(calibrator.evidence(named.iloc[:2])) == 2
    with pytest.raises(ValueError, match="of the classes 'a', 'b'; got 'a', 'bb'"):
        AffineCalibrator().fit(frame.set_axis(["a", "bb"], axis=1), np.where(y == 1, "b", "a"))


def test_samples_that_are_left_out_twice_count_once():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 1)) + 20 * y[:, None]
    often = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0)
    for cv in (5, often):
        model = CalibratedEvidenceClassifier(GaussianNB(), BoundedCalibrator(), cv=cv).fit(X, y)
        np.testing.assert_allclose(model.calibrator_.bounds_[1, 0], np.log(20), rtol=1e-6)


def test_scores_of_pairs_are_not_taken_for_scores_of_classes():
    X, y = make_blobs(90, centers=3, random_state=0)
    with pytest.raises(ValueError, match="one column for each of 3 classes; SVC does not"):
        CalibratedEvidenceClassifier(SVC(decision_function_shape="ovo")).fit(X, y)


def test_what_says_nothing_is_no_evidence():
    y = np.random.default_rng(0).integers(2, size=60)
    nothing = CalibratedEvidenceClassifier(DummyClassifier(strategy="prior"), cv=LeaveOneOut())
    llr = nothing.fit(np.zeros((60, 1)), y).evidence(np.zeros((1, 1))).llr(1, 0)
    np.testing.assert_allclose(llr, 0, atol=1e-6)


@pytest.mark.filterwarnings("ignore::deciban.calibration.UnsupportedEvidenceWarning")
def test_kernels_hold_beyond_the_outermost_scores_and_take_no_rounding_for_spread():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    llr = np.where(y, rng.normal(2, 1, 400), rng.normal(-2, 2, 400))
    far = KernelDensityCalibrator().fit(llr[:, None], y).evidence([[50.0], [1e200], [llr.max()]])
    np.testing.assert_allclose(far.llr(1, 0)[:2], far.llr(1, 0)[2])
    constant = np.where(y, rng.normal(2, 1, 400), 0.1)
    calibrator = KernelDensityCalibrator().fit(constant[:, None], y)
    assert calibrator.bandwidths_.min() > 0.01


def test_zero_and_tiny_posteriors_are_in_order():
    p = np.array([0.5, 1e-3, 1e-6, 1e-12, 1e-20, 0.0, 0.9, 0.99, 0.2])
    X, y = np.column_stack([1 - p, p]), [0, 0, 1, 0, 0, 0, 1, 1, 1]
    llr = CalibratedEvidenceClassifier("probabilities").fit(X, y).evidence(X).llr(1, 0)
    assert (np.diff(llr[np.argsort(p)]) >= 0).all()


def test_unweighted_quartiles_are_order_statistics_for_any_number_of_samples(rng):
    for n in range(3, 203, 5):
        llr = np.sort(rng.normal(size=n))
        exact = (llr[-(-3 * n // 4) - 1] - llr[-(-n // 4) - 1]) / 1.349
        for weight in (None, np.full(2 * n, 1 / 3)):
            X, y = np.tile(rng.permutation(llr), 2)[:, None], np.repeat([0, 1], n)
            h = KernelDensityCalibrator().fit(X, y, weight).bandwidths_
            size = n if weight is None else n / 3
            np.testing.assert_allclose(h, 0.9 * min(exact, llr.std()) * size**-0.2, rtol=1e-12)


def test_scores_of_three_classes_may_be_as_large_as_those_of_two():
    evidence, y = distorted(3 * np.eye(2), n=50)
    calibrated = AffineCalibrator().fit(evidence, y).transform([[1e13, 0.0, 1.0]])
    assert calibrated[0, 0] > 1e11
    assert np.isfinite(calibrated).all()


# --- few samples ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e6])
def test_two_classes_have_firths_logistic_regression_whatever_the_unit(factor):
    l, y = PAIR.sample([10, 10], rng=1)
    llr = PAIR.evidence(l).llr(1, 0)

    def cost(theta):  # Firth (1993): the likelihood times the root of the information's determinant
        z = theta[0] * llr + theta[1]
        p = 1 / (1 + np.exp(-z))
        x = np.column_stack([llr, np.ones(20)])
        penalty = np.linalg.slogdet((x * (p * (1 - p))[:, None]).T @ x)[1] / 2
        return np.logaddexp(0, np.where(y == 1, -z, z)).sum() - penalty

    best = minimize(cost, [1.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    scores = factor * (llr[:, None] + 2)
    calibrated = AffineCalibrator().fit(scores, y).evidence(scores).llr(1, 0)
    np.testing.assert_allclose(calibrated, best[0] * llr + best[1], atol=1e-5)


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_few_samples_cost_little_and_less_than_saying_nothing(scale):
    new, y_new = distorted(2 * np.eye(2), n=1000, rng=99)
    floor = metrics.cross_entropy(y_new, new * 0.5)
    costs = []
    for seed in range(30):
        few, y = distorted(2 * np.eye(2), n=5, rng=seed)
        costs.append(-AffineCalibrator(scale).fit(few, y).score(new, y_new))
    assert np.mean(costs) < 1.35 * floor
    assert np.mean(np.array(costs) > np.log(3)) <= 0.05


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_many_samples_give_maximum_likelihood(scale):
    evidence, y = distorted([[2.0, 0.3], [-0.4, 1.5]], [1.0, -1.0], n=30_000)
    safe, free = (AffineCalibrator(scale, ridge=r).fit(evidence, y) for r in (None, 0))
    np.testing.assert_allclose(safe.matrix_, free.matrix_, atol=1e-3)
    np.testing.assert_allclose(safe.offset_, free.offset_, atol=1e-3)


def test_no_ridge_is_hidden_in_a_fusion():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    systems = rng.normal(size=(400, 3)) * [1.0, 300.0, 1e-3] + np.outer(y, [2.0, 600.0, 1e-3])
    ours = AffineCalibrator(ridge=0, fuse=True).fit(systems, y).evidence(systems).llr(1, 0)
    z = (systems - systems.mean(axis=0)) / systems.std(axis=0)
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(z, y).decision_function(z)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_weights_count_samples_unless_they_are_below_one():
    few, y = distorted(np.eye(2), n=5)
    at = {w: AffineCalibrator().fit(few, y, np.full(15, w)).matrix_[0, 0] for w in (1e-3, 1, 4)}
    twice = Evidence(np.repeat(few.log_likelihoods, 4, axis=0))
    np.testing.assert_allclose(at[1e-3], at[1], rtol=1e-8)
    repeated = AffineCalibrator().fit(twice, np.repeat(y, 4)).matrix_[0, 0]
    np.testing.assert_allclose(at[4], repeated, rtol=1e-8)
    assert abs(at[4] - at[1]) > 0.01


@pytest.mark.parametrize("covariance", ["shared", "separate"])
def test_few_samples_have_students_predictive_density(covariance):
    evidence, y = distorted(np.eye(2), n=6)
    rows = np.flatnonzero((y < 2) | (np.arange(18) % 2 == 0))  # 6, 6 and 3 samples
    l, y = evidence.ilr()[rows], y[rows]
    calibrated = GaussianCalibrator(covariance).fit(evidence[rows], y)
    W = sum(np.cov(l[y == k].T, ddof=0) * (y == k).sum() for k in range(3))
    new = evidence.ilr() * 2
    expected = np.empty((18, 3))
    for k in range(3):
        n, own = (y == k).sum(), l[y == k]
        nu = 15 - 4 if covariance == "shared" else n - 2
        scatter = W if covariance == "shared" else np.cov(own.T, ddof=0) * n
        t = multivariate_t(own.mean(axis=0), (1 + 1 / n) * scatter / nu, nu)
        expected[:, k] = t.logpdf(new)
    assert calibrated.evidence(Evidence.from_ilr(new)).allclose(Evidence(expected), atol=1e-9)


def test_the_predictive_density_becomes_the_plugged_in_one():
    evidence, y = distorted(np.eye(2), n=30_000)
    predictive, plug_in = (
        GaussianCalibrator(predictive=p).fit(evidence, y).evidence(evidence[:500])
        for p in (True, False)
    )
    assert predictive.allclose(plug_in, atol=5e-3)


def test_divergences_of_few_samples_are_not_twice_what_they_are():
    family = CalibratedGaussian.from_divergences([4.0, 4.0, 4.0])
    found = {True: [], False: []}
    for seed in range(200):
        l, y = family.sample([5, 5, 5], rng=seed)
        for predictive, values in found.items():
            calibrator = GaussianCalibrator(predictive=predictive).fit(family.evidence(l), y)
            values.append(calibrator.reference_.divergences[0, 1])
    assert np.mean(found[False]) > 7
    np.testing.assert_allclose(np.mean(found[True]), 4, rtol=0.15)


# --- bounds -----------------------------------------------------------------------------------


@given(seeds, st.integers(2, 6))
@settings(max_examples=30)
def test_bounds_hold_for_every_pair_and_change_nothing_within(seed, D):
    rng = np.random.default_rng(seed)
    bounds = floyd_warshall(rng.exponential(2, size=(D, D)) * (1 - np.eye(D)))
    bounded = BoundedCalibrator(IdentityCalibrator()).fit(np.eye(D), np.arange(D))
    bounded.bounds_ = bounds
    values = 4 * rng.normal(size=(40, D))
    values[:5, 1:] = -np.inf
    out = bounded.evidence(values)
    differences = out.log_likelihoods[:, :, None] - out.log_likelihoods[:, None, :]
    assert (differences <= bounds + 1e-12).all()
    assert bounded.evidence(out).allclose(out, atol=1e-12)
    with np.errstate(invalid="ignore"):
        llr = values[:, :, None] - values[:, None, :]
    within = (np.nan_to_num(llr, nan=np.inf) <= bounds).all(axis=(1, 2))
    assert out[within].allclose(Evidence(values)[within], atol=1e-12)
    order = rng.permutation(D)
    bounded.bounds_ = bounds[np.ix_(order, order)]
    turned = bounded.evidence(values[:, order])
    assert turned.allclose(Evidence(out.log_likelihoods[:, order]), atol=1e-12)


def test_all_pairs_of_four_classes_stay_within_their_bounds():
    family = CalibratedGaussian.from_divergences([2.0, 9.0, 9.0, 9.0, 9.0, 4.0])
    l, y = family.sample([20, 60, 30, 200], rng=0)
    bounded = BoundedCalibrator().fit(family.evidence(l), y)
    out = bounded.evidence(family.evidence(20 * l)).log_likelihoods
    largest = (out[:, :, None] - out[:, None, :]).max(axis=0)
    assert (largest <= bounded.bounds_ + 1e-9).all()
    assert (largest > bounded.bounds_ - 1e-9)[~np.eye(4, dtype=bool)].mean() > 0.5


def test_the_inner_calibrator_takes_what_the_outer_one_takes():
    l, y = PAIR.sample([50, 50], rng=0)
    evidence = PAIR.evidence(l).rename(["no", "yes"])
    labels = np.array(["no", "yes"])[y]
    for X in (evidence, evidence.llr("yes", "no")[:, None], evidence.to_pandas().iloc[:, ::-1]):
        for inner in (None, BoundedCalibrator(KernelDensityCalibrator(), misleading=1e-3)):
            bounded = BoundedCalibrator(inner).fit(X, labels)
            bounded.calibrator_.evidence(X)  # it takes the same input
            again = bounded.calibrator_
            assert again.n_features_in_ == bounded.n_features_in_
    systems = np.column_stack([evidence.llr("yes", "no"), np.ones(100), np.arange(100) % 7])
    fused = BoundedCalibrator(fuse=True).fit(systems, labels)
    assert fused.calibrator_.evidence(systems).llr("yes", "no").std() > 0.1


def test_kernels_say_where_their_samples_cannot_support_them():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    x = rng.normal(100.0 * y, 1.0)[:, None]
    with pytest.warns(UnsupportedEvidenceWarning, match=r"200 of 200 samples .* up to 10\^-?\d+,"):
        KernelDensityCalibrator().fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoundedCalibrator(KernelDensityCalibrator()).fit(x, y)
        KernelDensityCalibrator().fit(rng.normal(0.5 * y, 1.0)[:, None], y)


def test_constant_scores_have_intervals_of_a_finite_width():
    calibrator = AffineCalibrator().fit(np.zeros((40, 1)), np.repeat([0, 1], 20))
    assert np.isfinite(calibrator.uncertainty_.covariance).all()
    assert np.isfinite(calibrator.interval([[0.0]], 1, 0)).all()


def test_a_fusion_is_bounded_after_it_and_not_within():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    systems = {"a": 2 * y - 1 + rng.normal(size=400), "b": rng.normal(size=400)}
    for X in (systems, np.column_stack(list(systems.values()))):
        with pytest.raises(InputError, match=r"must not be a FusionCalibrator"):
            BoundedCalibrator(FusionCalibrator()).fit(X, y)
    with pytest.raises(InputError, match=r"BootstrapCalibrator\. Turn them round"):
        BoundedCalibrator(BootstrapCalibrator(AffineCalibrator())).fit(systems["a"][:, None], y)
    with pytest.raises(InputError, match=r"X must be an array, .*; got dict\. For the scores"):
        AffineCalibrator().fit(systems, y)
    fused = FusionCalibrator().fit(systems, y).evidence(systems)
    bounded = BoundedCalibrator(IdentityCalibrator()).fit(fused, y)
    assert metrics.cllr(y, bounded.evidence(fused)) < metrics.cllr(y, fused) + 0.01
