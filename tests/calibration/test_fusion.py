"""Several systems, quality measures, and intervals of single LLRs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import CalibratedGaussian, Evidence, metrics
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    FusionCalibrator,
    FusionWarning,
    GaussianCalibrator,
    IsotonicCalibrator,
    KernelDensityCalibrator,
)
from deciban.exceptions import InputError

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["cat", "dog", "eel"])


@parametrize_with_checks([FusionCalibrator()])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def two_systems(n=1000, divergence=3.0, rng=0):
    """Independent calibrated LLRs of two systems."""
    rng = np.random.default_rng(rng)
    y = np.repeat([0, 1], n)
    a, b = (rng.normal((2 * y - 1) * divergence / 2, divergence**0.5) for _ in range(2))
    return a, b, y


def three_classes(n=200, rng=0):
    l, y = FAMILY.sample([n, n, n], rng)
    other, _ = FAMILY.sample([n, n, n], rng + 1)
    return FAMILY.evidence(2 * l), FAMILY.evidence(other), y


def test_two_systems_are_fused_by_logistic_regression():
    a, b, y = two_systems()
    X = np.column_stack([3 * a + 1, 0.1 * b])
    fused = FusionCalibrator(ridge=0, prior="empirical").fit(X, y)
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(fused.weights_, theirs.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(
        fused.evidence(X).llr(1, 0), theirs.decision_function(X), rtol=1e-4, atol=1e-4
    )
    costs = [metrics.cllr(y, e) for e in (a, b, fused.evidence(X))]
    assert costs[2] < 0.72 * min(costs[:2])


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_the_optimum_for_three_classes_is_that_of_a_general_optimizer(scale):
    weak = CalibratedGaussian.from_divergences([1.0, 1.2, 1.5])
    (la, y), (lb, _) = weak.sample([60] * 3, rng=0), weak.sample([60] * 3, rng=1)
    a, b = weak.evidence(la), weak.evidence(lb)
    fusion = FusionCalibrator(scale, ridge=0.0).fit({"a": a, "b": b}, y)
    size = {"scalar": 1, "diagonal": 2, "full": 4}[scale]

    def matrix(entries):
        return entries.reshape(2, 2) if scale == "full" else np.eye(2) * entries

    def cost(theta):
        A, B = matrix(theta[:size]), matrix(theta[size : 2 * size])
        l = la @ A.T + lb @ B.T + theta[2 * size :]
        return metrics.cross_entropy(y, Evidence.from_ilr(l, classes=a.classes))

    best = minimize(cost, np.full(2 * size + 2, 0.3), method="BFGS", options={"gtol": 1e-7})
    fused = fusion.evidence({"a": a, "b": b})
    np.testing.assert_allclose(metrics.cross_entropy(y, fused), best.fun, rtol=1e-6)
    np.testing.assert_allclose(fusion.offset_, best.x[2 * size :], atol=1e-3)
    assert fusion.weights_.shape == {"scalar": (2,), "diagonal": (2, 2), "full": (2, 2, 2)}[scale]


def test_a_system_fused_with_itself_does_not_count_twice():
    a, _, y = two_systems()
    once = FusionCalibrator().fit(a[:, None], y)
    twice = FusionCalibrator().fit(np.column_stack([a, a]), y)
    np.testing.assert_allclose(twice.weights_, once.weights_[0] / 2, rtol=1e-6)
    again = twice.evidence(np.column_stack([a, a]))
    assert again.allclose(once.evidence(a[:, None]), atol=1e-5)
    np.testing.assert_allclose(
        twice.interval(np.column_stack([a, a])), once.interval(a[:, None]), rtol=0.01
    )
    assert metrics.cllr(y, 2 * a) > 1.05 * metrics.cllr(y, a)  # what adding up would cost


def test_a_useless_system_gets_no_weight():
    a, _, y = two_systems(5000)
    noise = np.random.default_rng(1).normal(size=len(y))
    weights = FusionCalibrator().fit({"a": a, "noise": noise}, y).weights_
    np.testing.assert_allclose(weights, [1.0, 0.0], atol=0.1)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_the_unit_of_the_scores_does_not_matter(unit):
    a, b, y = two_systems(15)
    plain = FusionCalibrator().fit(np.column_stack([a, b]), y)
    scaled = FusionCalibrator().fit(np.column_stack([unit * a + 5 * unit, b]), y)
    expected = plain.evidence(np.column_stack([a, b]))
    assert scaled.evidence(np.column_stack([unit * a + 5 * unit, b])).allclose(expected, atol=1e-6)


def test_separable_classes_leave_finite_weights_without_a_hidden_ridge():
    X, y = np.array([[-2.0, -1.0], [-1.0, -3.0], [1.0, 2.0], [3.0, 1.0]]), [0, 0, 1, 1]
    fused = FusionCalibrator().fit(X, y)
    assert np.abs(fused.evidence(X).llr(1, 0)).max() < 8
    assert FusionCalibrator(ridge=0.0).fit(X, y).weights_.max() > 2 * fused.weights_.max()


def test_arrays_frames_mappings_and_evidence_say_the_same():
    a, b, y = three_classes()
    fused = FusionCalibrator().fit({"a": a, "b": b}, y)
    expected = fused.evidence({"b": b, "a": a})
    assert fused.systems_ == ("a", "b")
    stacked = np.column_stack([a.log_likelihoods, b.log_likelihoods + 7.0])
    plain = FusionCalibrator().fit(stacked, y)
    assert plain.systems_ == ("system 1", "system 2")
    assert plain.evidence(stacked).allclose(expected, atol=1e-7)
    turned = a.restrict(["eel", "cat", "dog"]).to_pandas()
    assert fused.evidence({"a": turned, "b": b}).allclose(expected)
    llr_a, llr_b, y = two_systems(100)
    frame = pd.DataFrame({"voice": llr_a, "face": llr_b})
    of_two = FusionCalibrator().fit(frame, y)
    assert of_two.systems_ == ("voice", "face")
    both = {"voice": np.column_stack([0 * llr_a, llr_a]), "face": pl.Series(llr_b)}
    assert of_two.evidence(frame).allclose(FusionCalibrator().fit(both, y).evidence(both))
    alone = Evidence.from_llr(llr_a)
    assert FusionCalibrator().fit(alone, y).evidence(alone).n_classes == 2


def test_what_does_not_fit_is_named():
    a, b, y = two_systems(20)
    fused = FusionCalibrator().fit({"a": a, "b": b}, y)
    with pytest.raises(InputError, match="NaN for 'b' in 40, in row 0 first"):
        fused.evidence({"a": a})
    with pytest.raises(InputError, match=r"systems 'a', 'b'; got 'c'"):
        fused.evidence({"a": a, "c": b})
    with pytest.raises(InputError, match=r"'b' must hold 1 number for each of 40 samples"):
        fused.evidence({"a": a, "b": b[:-1]})
    with pytest.raises(InputError, match="it lacks 'snr'"):
        FusionCalibrator(quality=["snr"]).fit({"a": a}, y)
    with pytest.raises(InputError, match="before 2 quality measures; got 2 columns"):
        FusionCalibrator(quality=2).fit(np.column_stack([a, b]), y)
    with pytest.raises(InputError, match="finite to be fused"):
        fused.evidence({"a": a, "b": np.full(40, np.inf)})
    b[3] = np.nan
    with pytest.raises(InputError, match="NaN for 'b' in 1, in row 3 first"):
        FusionCalibrator().fit({"a": a, "b": b}, y)
    with pytest.raises(InputError, match="one of error, adapt; got 'skip'"):
        FusionCalibrator(missing="skip").fit({"a": a, "b": b}, y)


def test_where_a_system_is_missing_the_others_take_over():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 4000)
    shared = rng.normal((2 * y - 1) * 2.0, 2.0)  # both systems see most of the same
    a, b = (shared + rng.normal(size=len(y)) for _ in range(2))
    lacks = rng.random((2, len(y))) < 0.3
    lacks[1] &= ~lacks[0]
    a[lacks[0]], b[lacks[1]] = np.nan, np.nan
    X = {"a": a, "b": b}
    fused = FusionCalibrator(missing="adapt").fit(X, y).evidence(X)
    for rows, alone in ((lacks[0], b), (lacks[1], a)):
        best = AffineCalibrator().fit(alone[rows][:, None], y[rows])
        floor = metrics.cllr(y[rows], best.evidence(alone[rows][:, None]))
        assert metrics.cllr(y[rows], fused[rows]) < 1.01 * floor
    with pytest.raises(InputError, match="NaN for all systems"):
        FusionCalibrator(missing="adapt").fit(X, y).evidence({"a": [np.nan], "b": [np.nan]})


def with_quality(n=3000, rng=0):
    """LLRs that grow with the duration, of which the scores do not know: score = LLR / s."""
    rng = np.random.default_rng(rng)
    y = np.repeat([0, 1], n)
    duration = rng.uniform(0, 1, 2 * n)
    divergence = 4.0
    llr = rng.normal((2 * y - 1) * divergence / 2, divergence**0.5)
    return llr / (0.5 + 2 * duration), duration, llr, y


def test_quality_measures_bring_the_cost_down_to_the_floor():
    score, duration, llr, y = with_quality()
    floor = metrics.cllr(y, llr)
    without = FusionCalibrator().fit({"score": score}, y).evidence({"score": score})
    X = {"score": score, "duration": duration}
    fusion = FusionCalibrator(quality=["duration"]).fit(X, y)
    assert metrics.cllr(y, without) > 1.05 * floor
    assert metrics.cllr(y, fusion.evidence(X)) < 1.01 * floor
    assert fusion.quality_weights_.shape == (1, 1)
    apart = np.array([duration.mean(), duration.mean() + duration.std()])
    at_zero = fusion.evidence({"score": np.zeros(2), "duration": apart}).ilr()
    np.testing.assert_allclose(at_zero[0], fusion.offset_)
    np.testing.assert_allclose(at_zero[1] - at_zero[0], fusion.quality_offsets_[0])
    # The true scale is 0.5 + 2 duration: 1.5 at the mean, 2 / sqrt(12) a standard deviation.
    np.testing.assert_allclose(fusion.weights_, [1.5], rtol=0.1)
    np.testing.assert_allclose(fusion.quality_weights_, [[2 / 12**0.5]], rtol=0.15)
    array = np.column_stack([score, duration])
    assert FusionCalibrator(quality=1).fit(array, y).evidence(array).allclose(fusion.evidence(X))
    frame = pl.DataFrame({"duration": duration, "score": score})
    by_name = FusionCalibrator(quality=["duration"]).fit(frame, y)
    assert by_name.evidence(frame).allclose(fusion.evidence(X))


def test_quality_beyond_the_range_of_the_fit_is_clipped():
    score, duration, _, y = with_quality(200)
    fusion = FusionCalibrator(quality=1).fit(np.column_stack([score, duration]), y)
    ends = fusion.evidence([[1.0, duration.max()], [1.0, 1e6]]).llr(1, 0)
    assert ends[0] == ends[1]


def test_quality_measures_work_for_three_classes():
    l, y = FAMILY.sample([800] * 3, rng=0)
    quality = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    X = {"score": FAMILY.evidence(l / quality[:, None]), "quality": quality}
    fusion = FusionCalibrator(quality=["quality"]).fit(X, y)
    without = FusionCalibrator().fit({"score": X["score"]}, y).evidence({"score": X["score"]})
    floor = metrics.cross_entropy(y, FAMILY.evidence(l))
    assert metrics.cross_entropy(y, fusion.evidence(X)) < 1.02 * floor
    assert metrics.cross_entropy(y, without) > 1.02 * floor


@pytest.mark.parametrize("kind", ["plain", "quality", "adapt", "scores"])
def test_a_fusion_comes_back_from_its_file(kind, tmp_path):
    a, b, y = three_classes(50)
    X, fusion = {"a": a, "b": b}, FusionCalibrator("diagonal")
    if kind == "quality":
        X, fusion = {**X, "q": np.arange(150.0)}, FusionCalibrator(quality=["q"])
    elif kind == "adapt":
        X = {"a": a.log_likelihoods.copy(), "b": b}
        X["a"][::3] = np.nan
        fusion = FusionCalibrator(missing="adapt")
    elif kind == "scores":
        X, fusion = np.random.default_rng(0).normal(size=(150, 4)), FusionCalibrator()
    fusion.fit(X, y).save(tmp_path / "fusion")
    back = deciban.load(tmp_path / "fusion")
    assert back.systems_ == fusion.systems_
    np.testing.assert_array_equal(back.transform(X), fusion.transform(X))
    np.testing.assert_array_equal(back.interval(X), fusion.interval(X))
    np.testing.assert_array_equal(back.weights_, fusion.weights_)


# --- two systems taken for two classes --------------------------------------------------------


def test_two_systems_in_two_columns_are_announced():
    a, b, y = two_systems(100)
    with pytest.warns(FusionWarning, match="as scores of two systems do. Use FusionCalibrator"):
        AffineCalibrator().fit(np.column_stack([a, b]), y)
    AffineCalibrator(fuse=False).fit(np.column_stack([a, b]), y)


def test_log_likelihoods_of_two_classes_are_not_taken_for_two_systems():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    sd = np.array([3.0, 1.0])
    x = rng.normal(0.0, sd[y][:, None], (400, 5))
    values = -(x**2).sum(axis=1)[:, None] / (2 * sd**2) - 5 * np.log(sd)
    # Both rise with class 1, whose samples are less spread.
    assert (values[y == 1].mean(axis=0) > values[y == 0].mean(axis=0)).all()
    AffineCalibrator().fit(values + rng.normal(size=(400, 1)), y)
    x, loudness = rng.normal(2 * y - 1, 1), rng.normal(0, 30, len(y))
    AffineCalibrator().fit(loudness[:, None] - (x[:, None] - [-1.0, 1.0]) ** 2 / 2, y)
    AffineCalibrator().fit(Evidence(np.column_stack([x, x + 0.01 * loudness])), y)


# --- intervals of single LLRs ------------------------------------------------------------------


def test_the_interval_of_two_classes_is_that_of_logistic_regression():
    a, _, y = two_systems(300)
    X = np.column_stack([np.ones(len(y)), a])
    calibrator = AffineCalibrator(ridge=0.0).fit(a[:, None], y)
    p = calibrator.predict_proba(a[:, None])[:, 1]
    covariance = np.linalg.inv(X.T @ (X * (p * (1 - p))[:, None]))
    covariance[0, 0] -= 2 / 300  # Prentice and Pyke: the class frequencies are not estimated
    new = np.array([-4.0, 0.0, 2.5])
    rows = np.column_stack([np.ones(3), new])
    error = np.sqrt(np.einsum("ni,ij,nj->n", rows, covariance, rows))
    low, high = calibrator.interval(new[:, None], confidence=0.9)
    np.testing.assert_allclose((high - low) / 2, 1.647 * error, rtol=0.002)  # t, 598 degrees
    llr = calibrator.evidence(new[:, None]).llr(1, 0)
    np.testing.assert_allclose((low + high) / 2, llr, atol=1e-12)


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_affine_maps_and_the_fusion_of_one_system_have_the_same_interval(scale):
    evidence, _, y = three_classes()
    affine = AffineCalibrator(scale, ridge=0.0).fit(evidence, y)
    fusion = FusionCalibrator(scale, ridge=0.0).fit(evidence, y)
    for classes in ((), ("dog", "eel")):
        ours, theirs = (c.interval(evidence[:20], *classes) for c in (affine, fusion))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    assert affine.interval(evidence)[0].shape == (600, 3)
    low, high = affine.interval(evidence, "cat", "dog")
    other = affine.interval(evidence, "dog", "cat")
    np.testing.assert_allclose([low, high], [-other[1], -other[0]], atol=1e-9)


def test_intervals_shrink_with_the_root_of_the_number_of_samples():
    few, many = (two_systems(n) for n in (200, 20_000))
    widths = []
    for a, _, y in (few, many):
        low, high = AffineCalibrator().fit(a[:, None], y).interval([[1.0], [5.0]])
        widths.append(high - low)
    np.testing.assert_allclose(widths[0] / widths[1], 10, rtol=0.15)


def test_weights_count_samples():
    a, _, y = two_systems(100)
    weighted = FusionCalibrator().fit(a[:, None], y, sample_weight=np.full(200, 2.0))
    repeated = FusionCalibrator().fit(np.tile(a, 2)[:, None], np.tile(y, 2))
    np.testing.assert_allclose(weighted.interval([[3.0]]), repeated.interval([[3.0]]), rtol=1e-6)


def test_a_calibrator_without_intervals_names_the_one_that_has_them():
    a, b, y = two_systems(50)
    with pytest.raises(InputError, match="Put it into BootstrapCalibrator"):
        IsotonicCalibrator().fit(a[:, None], y).interval(a[:, None])
    fused = AffineCalibrator(fuse=True).fit(np.column_stack([a, b]), y)
    with pytest.raises(InputError, match="Use FusionCalibrator"):
        fused.interval(np.column_stack([a, b]))
    with pytest.raises(InputError, match="confidence must"):
        AffineCalibrator().fit(a[:, None], y).interval(a[:, None], confidence=95)


def test_the_bootstrap_is_about_as_wide_as_the_delta_method():
    a, _, y = two_systems(300)
    new = np.array([[-3.0], [0.0], [4.0]])
    low, high = AffineCalibrator().fit(a[:, None], y).interval(new)
    bootstrap = BootstrapCalibrator(n_resamples=150).fit(a[:, None], y)
    below, above = bootstrap.interval(new)
    ratio = (above - below) / (high - low)  # it is rather too wide than too narrow
    assert (ratio > 0.9).all()
    assert (ratio < 1.6).all()
    assert bootstrap.evidence(new).allclose(AffineCalibrator().fit(a[:, None], y).evidence(new))


def test_the_bootstrap_draws_whole_groups_and_comes_back_from_its_file(tmp_path):
    a, _, y = two_systems(60)
    groups = np.arange(120) // 4
    a = a + np.random.default_rng(0).normal(0, 2, 30)[groups]  # what a group has in common
    plain, grouped = (
        BootstrapCalibrator(KernelDensityCalibrator(1.0), n_resamples=60).fit(
            a[:, None], y, groups=g
        )
        for g in (None, groups)
    )
    widths = [np.subtract(*b.interval([[0.5]])[::-1])[0] for b in (plain, grouped)]
    assert widths[1] > widths[0]
    grouped.save(tmp_path / "calibrator")
    back = deciban.load(tmp_path / "calibrator")
    np.testing.assert_array_equal(back.interval(a[:, None]), grouped.interval(a[:, None]))
    X = {"a": a, "b": a[::-1]}
    both = BootstrapCalibrator(FusionCalibrator(), n_resamples=20).fit(X, y)
    assert (both.interval(X)[0] < both.interval(X)[1]).all()


def test_the_interval_of_gaussian_densities_is_that_of_their_asymptotic_variance():
    n = 2000
    a, _, y = two_systems(n, divergence=2.0)
    calibrator = GaussianCalibrator().fit(a[:, None], y)
    # At the middle the LLR is d (x - m) / s2: its variance is that of the middle of the means.
    d, s2 = 2.0, 2.0
    low, high = calibrator.interval([[0.0]])
    expected = 2 * 1.96 * (d / s2) * np.sqrt(s2 / (2 * n))
    np.testing.assert_allclose(high - low, expected, rtol=0.15)


@pytest.mark.parametrize("covariance", ["shared", "separate"])
def test_gaussian_intervals_hold_their_value_and_come_back_from_their_file(covariance, tmp_path):
    evidence, _, y = three_classes(10)
    calibrator = GaussianCalibrator(covariance).fit(evidence, y)
    low, high = calibrator.interval(evidence, "eel", "cat")
    llr = calibrator.evidence(evidence).llr("eel", "cat")
    assert ((low <= llr) & (llr <= high)).all()
    calibrator.save(tmp_path / "calibrator")
    back = deciban.load(tmp_path / "calibrator").interval(evidence, "eel", "cat")
    np.testing.assert_array_equal(back, (low, high))


@pytest.mark.slow
@pytest.mark.parametrize(
    "calibrator", [AffineCalibrator(), FusionCalibrator(), GaussianCalibrator()], ids=str
)
def test_intervals_contain_the_true_llr_as_often_as_they_say(calibrator):
    held = []
    for seed in range(200):
        a, _, y = two_systems(30, rng=seed)
        low, high = calibrator.fit(2 * a[:, None] + 1, y).interval(2 * a[:, None] + 1)
        held.append(np.mean((low <= a) & (a <= high)))
    assert 0.93 < np.mean(held) < 0.98
