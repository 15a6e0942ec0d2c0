"""Two-class metrics against peers, brute force and their definitions."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from deciban import CalibratedGaussian, Evidence, metrics
from deciban.exceptions import InputError, UnknownClassError

INF = np.inf
PEERS = json.loads((Path(__file__).parents[1] / "data" / "llr_peers.json").read_text())["cases"]


@st.composite
def trials(draw, most=60):
    """Labels of both classes, and LLRs that are often tied and sometimes infinite."""
    n = draw(st.integers(2, most))
    values = st.one_of(
        st.integers(-3, 3).map(float),
        st.floats(-50, 50, allow_nan=False).map(lambda value: round(value, 6)),
        st.sampled_from([-INF, INF, 0.0, 800.0, -800.0]),
    )
    llr = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = [0, 1]
    return y, llr


def softplus(x):
    return np.logaddexp(0, x)


# --- peers and definitions ---------------------------------------------------------------


@pytest.mark.parametrize("name", PEERS)
def test_llreval_and_lir_say_the_same(name):
    said = PEERS[name]
    y, llr = np.array(said["y"]), np.array(said["llr"])
    np.testing.assert_allclose(metrics.cllr(y, llr), said["llreval cllr"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(metrics.cllr(y, llr), said["lir cllr"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        metrics.cllr_min(y, llr), said["llreval cllr_min"], rtol=0, atol=1e-10
    )
    # llreval finds the equal-error rate by a line search that stops at about 1e-8.
    np.testing.assert_allclose(metrics.eer(y, llr), said["llreval eer"], rtol=0, atol=1e-8)
    if said["lir devpav"] is not None:
        np.testing.assert_allclose(metrics.dev_pav(y, llr), said["lir devpav"], atol=1e-10)


@given(trials())
def test_cllr_is_its_formula(data):
    y, llr = data
    expected = (softplus(-llr[y == 1]).mean() + softplus(llr[y == 0]).mean()) / (2 * np.log(2))
    np.testing.assert_allclose(metrics.cllr(y, llr), expected, rtol=1e-12)


@given(trials(most=9))
def test_no_monotone_recalibration_costs_less_than_cllr_min(data):
    y, llr = data
    values = np.unique(llr)
    best = INF
    for cuts in itertools.product([False, True], repeat=len(values) - 1):
        block = np.concatenate([[0], np.cumsum(cuts, dtype=int)])[np.searchsorted(values, llr)]
        p = np.bincount(block[y == 1], minlength=block.max() + 1) / (y == 1).sum()
        q = np.bincount(block[y == 0], minlength=block.max() + 1) / (y == 0).sum()
        with np.errstate(divide="ignore"):
            recalibrated = np.log(p) - np.log(q)
        if (recalibrated[1:] >= recalibrated[:-1]).all():
            best = min(best, metrics.cllr(y, recalibrated[block]))
    np.testing.assert_allclose(metrics.cllr_min(y, llr), best, atol=1e-12)


@given(trials())
def test_pooled_llrs_are_scikit_learns_isotonic_regression(data):
    y, llr = data
    finite = np.clip(llr, -1e4, 1e4)
    weight = np.where(y == 1, 1 / (y == 1).sum(), 1 / (y == 0).sum())
    fitted = IsotonicRegression().fit(finite, y, weight).predict(finite)
    with np.errstate(divide="ignore"):
        expected = np.log(fitted) - np.log1p(-fitted)
    np.testing.assert_allclose(
        np.clip(metrics.pav(y, llr).transform(llr), -30, 30), np.clip(expected, -30, 30), atol=1e-6
    )


@given(trials())
def test_the_parts_of_cllr_add_up_and_the_cost_of_recalibrated_llrs_is_the_minimum(data):
    y, llr = data
    total, least = metrics.cllr(y, llr), metrics.cllr_min(y, llr)
    np.testing.assert_allclose(
        metrics.cllr(y, metrics.pav(y, llr).transform(llr)), least, atol=1e-12
    )
    assert -1e-12 <= least <= 1 + 1e-12
    assert least <= total + 1e-12
    if np.isfinite(total):
        np.testing.assert_allclose(metrics.cllr_cal(y, llr), total - least, atol=1e-12)


@given(trials(), st.integers(0, 2**32 - 1))
def test_weights_are_repetitions(data, seed):
    y, llr = data
    times = np.random.default_rng(seed).integers(1, 4, size=len(y))
    again, repeated = np.repeat(y, times), np.repeat(llr, times)
    for metric in (metrics.cllr, metrics.cllr_min, metrics.eer, metrics.detection_cost):
        np.testing.assert_allclose(
            metric(y, llr, sample_weight=times), metric(again, repeated), rtol=1e-9, atol=1e-12
        )
    ours = metrics.det_curve(y, llr, sample_weight=times)
    for one, other in zip(ours, metrics.det_curve(again, repeated), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@given(trials())
def test_swapping_the_classes_and_the_sign_changes_nothing(data):
    y, llr = data
    for metric in (metrics.cllr, metrics.cllr_min, metrics.eer):
        np.testing.assert_allclose(metric(1 - y, -llr), metric(y, llr), atol=1e-12)


@given(trials())
def test_the_eer_is_on_the_hull_below_the_curve(data):
    y, llr = data
    rate = metrics.eer(y, llr)
    assert 0 <= rate <= 0.5 + 1e-12
    p_miss, p_false_alarm = metrics.pav(y, llr).hull()
    # Brümmer: the largest Bayes error over all priors.
    prior = np.linspace(0, 1, 2001)[:, None]
    worst = (prior * p_miss + (1 - prior) * p_false_alarm).min(axis=1).max()
    np.testing.assert_allclose(rate, worst, atol=1e-3)


@given(trials())
def test_error_rates_are_counts_at_each_threshold(data):
    y, llr = data
    p_miss, p_false_alarm, threshold = metrics.det_curve(y, llr)
    for k, t in enumerate(threshold[:-1]):
        assert p_miss[k] == pytest.approx((llr[y == 1] < t).mean(), abs=1e-12)
        assert p_false_alarm[k] == pytest.approx((llr[y == 0] >= t).mean(), abs=1e-12)
    assert (p_miss[-1], p_false_alarm[-1], threshold[-1]) == (1, 0, INF)
    fpr, tpr, falling = metrics.roc_curve(y, llr)
    np.testing.assert_array_equal(falling, threshold[::-1])
    np.testing.assert_allclose(tpr, 1 - p_miss[::-1])
    np.testing.assert_allclose(fpr, p_false_alarm[::-1])


# --- operating points and curves -----------------------------------------------------------


@given(trials(), st.floats(0.01, 0.99), st.floats(0.1, 10))
def test_detection_costs_are_what_the_decisions_cost(data, prior, cost_miss):
    y, llr = data
    evidence = Evidence.from_llr(llr)
    costs = [[0, 1], [cost_miss, 0]]
    decided = evidence.decide(costs, [1 - prior, prior])
    wrong = np.where(y == 1, cost_miss * (decided == 0), 1.0 * (decided == 1))
    expected = prior * wrong[y == 1].mean() + (1 - prior) * wrong[y == 0].mean()
    point = {"prior": prior, "cost_miss": cost_miss, "normalize": False}
    threshold = np.log(1 - prior) - np.log(prior * cost_miss)
    if not np.isclose(llr, threshold, atol=1e-9).any():
        np.testing.assert_allclose(metrics.detection_cost(y, llr, **point), expected, atol=1e-9)
    least = metrics.min_detection_cost(y, llr, **point)
    assert least <= metrics.detection_cost(y, llr, **point) + 1e-12
    rates = metrics.det_curve(y, llr)
    brute = (prior * cost_miss * rates.p_miss + (1 - prior) * rates.p_false_alarm).min()
    np.testing.assert_allclose(least, brute, atol=1e-12)


POINTS = [(10.0, 1.0, 0.01), (1.0, 1.0, 0.5), (1.0, 2.0, 0.005)]


@given(trials())
def test_c_primary_is_the_mean_of_costs_counted_by_hand(data):
    y, llr = data
    actual, minimum = [], []
    for c_miss, c_fa, p in POINTS:
        unit = min(c_miss * p, c_fa * (1 - p))
        costs = {
            t: (c_miss * p * np.mean(llr[y == 1] < t) + c_fa * (1 - p) * np.mean(llr[y == 0] >= t))
            / unit
            for t in [np.log(c_fa * (1 - p) / (c_miss * p)), *llr, np.nextafter(INF, 0)]
        }
        costs["none"] = c_miss * p / unit  # not even an infinite LLR is accepted
        actual.append(next(iter(costs.values())))
        minimum.append(min(costs.values()))
    points = [metrics.OperatingPoint(*POINTS[0]), *POINTS[1:]]
    assert metrics.c_primary(y, llr, points) == pytest.approx(np.mean(actual), abs=1e-9)
    found = metrics.c_primary(y, llr, points, minimum=True)
    assert found == pytest.approx(np.mean(minimum), abs=1e-9)


@given(trials())
def test_empirical_cross_entropy_is_cllr_at_even_odds(data):
    y, llr = data
    curve = metrics.empirical_cross_entropy_curve(y, llr, log_odds=[-2.0, 0.0, 2.0])
    np.testing.assert_allclose(curve.actual[1], metrics.cllr(y, llr), rtol=1e-12)
    np.testing.assert_allclose(curve.minimum[1], metrics.cllr_min(y, llr), atol=1e-12)
    np.testing.assert_allclose(curve.neutral[1], 1)
    assert (curve.minimum <= curve.actual + 1e-12).all()
    assert (curve.minimum <= curve.neutral + 1e-12).all()
    p = 1 / (1 + np.exp(-2.0))
    expected = p * softplus(-(llr[y == 1] + 2)).mean() + (1 - p) * softplus(llr[y == 0] + 2).mean()
    np.testing.assert_allclose(curve.actual[2], expected / np.log(2), rtol=1e-12)


@given(trials())
def test_bayes_error_is_the_detection_cost_over_priors(data):
    y, llr = data
    curve = metrics.normalized_bayes_error_curve(y, llr, log_odds=[-1.3, 0.0, 2.7])
    for k, lo in enumerate(curve.log_odds):
        prior = 1 / (1 + np.exp(-lo))
        np.testing.assert_allclose(
            curve.minimum[k], metrics.min_detection_cost(y, llr, prior=prior), atol=1e-12
        )
        if not np.isclose(llr, -lo, atol=1e-9).any():
            np.testing.assert_allclose(
                curve.actual[k], metrics.detection_cost(y, llr, prior=prior), atol=1e-12
            )
    assert len(metrics.normalized_bayes_error_curve(y, llr).log_odds) == 101


@given(trials())
def test_tippett_curves_are_counts(data):
    y, llr = data
    curve = metrics.tippett_curve(y, llr)
    other_kind = metrics.tippett_curve(y, llr, kind="misleading")
    np.testing.assert_array_equal(curve.llr, np.unique(llr))
    for k, value in enumerate(curve.llr):
        assert curve.target[k] == pytest.approx((llr[y == 1] >= value).mean(), abs=1e-12)
        assert curve.other[k] == pytest.approx((llr[y == 0] >= value).mean(), abs=1e-12)
        assert other_kind.target[k] == pytest.approx((llr[y == 1] <= value).mean(), abs=1e-12)


def test_a_calibrated_family_costs_what_it_should():
    family = CalibratedGaussian.from_eers([0.05])
    l, y = family.sample([100_000, 100_000], rng=0)
    llr = family.evidence(l).llr(1, 0)
    np.testing.assert_allclose(metrics.cllr(y, llr), family.expected_cllr(0, 1), rtol=0.02)
    assert metrics.cllr_cal(y, llr) < 0.002
    np.testing.assert_allclose(metrics.eer(y, llr), 0.05, atol=0.002)
    # Doubling them is over-confidence: it costs, discrimination stays.
    assert metrics.cllr_cal(y, 2 * llr) > 0.02
    np.testing.assert_allclose(metrics.cllr_min(y, 2 * llr), metrics.cllr_min(y, llr), atol=1e-12)
    assert metrics.dev_pav(y, 2 * llr) > 3 * metrics.dev_pav(y, llr)


# --- hazards ------------------------------------------------------------------------------


def test_perfect_separation_costs_nothing_and_warns_of_nothing():
    y, llr = [0, 0, 1, 1], [-3.0, -1.0, 1.0, 2.0]
    assert metrics.cllr_min(y, llr) == 0
    assert metrics.eer(y, llr) == 0
    assert metrics.min_detection_cost(y, llr) == 0
    assert np.isnan(metrics.dev_pav(y, llr))
    assert np.isnan(metrics.dev_pav(y, [-INF, -INF, INF, INF]))  # which are no ties of rounding
    np.testing.assert_array_equal(metrics.empirical_cross_entropy_curve(y, llr).minimum, 0)
    assert metrics.cllr(y, [-INF, -INF, INF, INF]) == 0


def test_a_target_at_minus_infinity_costs_infinitely():
    assert metrics.cllr([0, 1, 1], [-1.0, 2.0, -INF]) == INF
    assert metrics.cllr_cal([0, 1, 1], [-1.0, 2.0, -INF]) == INF
    assert np.isfinite(metrics.cllr_min([0, 1, 1], [-1.0, 2.0, -INF]))
    assert metrics.dev_pav([0, 1, 1, 0], [-1.0, 2.0, -INF, 3.0]) == INF


def test_llrs_that_are_all_tied_say_nothing():
    y = [0, 1, 0, 1, 1]
    assert metrics.cllr_min(y, [3.0] * 5) == 1
    assert metrics.eer(y, [3.0] * 5) == 0.5
    assert metrics.cllr(y, [0.0] * 5) == 1
    np.testing.assert_array_equal(metrics.pav(y, [3.0] * 5).llr, [0])


def test_series_are_paired_by_their_index(rng):
    pandas = pytest.importorskip("pandas")
    y, llr = pandas.Series(np.arange(30) % 2), pandas.Series(rng.normal(size=30))
    weight = pandas.Series(rng.uniform(1, 2, 30))
    shuffled = rng.permutation(30)
    expected = metrics.cllr(y.to_numpy(), llr.to_numpy(), sample_weight=weight.to_numpy())
    for other in (
        metrics.cllr(y, llr.iloc[shuffled], sample_weight=weight),
        metrics.cllr(y.iloc[shuffled], llr, sample_weight=weight.iloc[::-1]),
    ):
        np.testing.assert_allclose(other, expected, rtol=1e-12)
    with pytest.raises(InputError, match="y_true and llr must have the same index"):
        metrics.cllr(y, llr.set_axis(range(5, 35)))


def test_numbers_that_look_like_probabilities_cause_a_warning(rng):
    y, p = np.arange(40) % 2, rng.uniform(size=40)
    for metric in (metrics.cllr, metrics.cllr_cal, metrics.dev_pav, metrics.detection_cost):
        with pytest.warns(metrics.ProbabilityWarning, match="between 0 and 1, as probabilities"):
            metric(y, p)
    # The order is all that counts here, LLRs may be few, weak or none, and evidence is evidence.
    metrics.cllr_min(y, p)
    metrics.eer(y, p)
    metrics.cllr(y[:19], p[:19])
    metrics.cllr(y, np.zeros(40))
    metrics.cllr(y, p - 0.5)
    metrics.cllr(y, Evidence.from_llr(p))


def test_dev_pav_takes_llrs_that_differ_by_rounding_as_ties(rng):
    y = rng.integers(0, 2, 2000)
    llr = np.round(rng.normal(2 * y - 1, 2), 1)
    noisy = llr * (1 + rng.integers(-2, 3, 2000) * np.finfo(float).eps)
    assert len(np.unique(noisy)) > len(np.unique(llr))
    np.testing.assert_allclose(metrics.dev_pav(y, noisy), metrics.dev_pav(y, llr), rtol=1e-9)
    weight = {"sample_weight": rng.random(2000) + 0.1}
    expected = metrics.dev_pav(y, llr, **weight)
    np.testing.assert_allclose(metrics.dev_pav(y, noisy, **weight), expected, rtol=1e-9)


def test_evidence_and_labels_of_any_kind_are_taken(rng):
    llr = rng.normal(size=50)
    y = np.arange(50) % 2
    named = np.where(y == 1, "same", "other")
    evidence = Evidence.from_llr(llr, "same", "other")
    expected = metrics.cllr(y, llr)
    assert metrics.cllr(named, evidence, pos_label="same") == expected
    assert metrics.cllr(named, evidence.restrict(["same", "other"]), pos_label="same") == expected
    assert metrics.cllr(named.tolist(), llr[:, None], pos_label="same") == expected
    assert metrics.cllr(y.astype(bool), llr, pos_label=True) == expected
    assert metrics.cllr(named.astype(object), llr, pos_label="same") == expected


@pytest.mark.parametrize("factor", [1e-300, 1e-14, 1e14, 1e300])
def test_the_weight_of_one_class_against_the_other_does_not_matter(rng, factor):
    y = rng.integers(0, 2, 500)
    llr = rng.normal(size=500) + y
    weight = np.where(y == 1, 1.0, factor)
    for metric in (metrics.cllr, metrics.cllr_min, metrics.eer, metrics.dev_pav):
        np.testing.assert_allclose(
            metric(y, llr, sample_weight=weight), metric(y, llr), rtol=1e-10, atol=1e-12
        )


def test_small_weights_beside_large_ones_are_kept():
    weight = [1, 1e-15, 1, 1e-15, 1]
    rate = metrics.eer([1, 0, 1, 0, 1], [1.0, 2, 3, 4, 5], sample_weight=weight)
    np.testing.assert_allclose(rate, 0.4, atol=1e-12)
    heavy = metrics.cllr_min([1, 0, 1, 0], [1.0, 2, 3, 4], sample_weight=[1e17, 1, 1, 1])
    assert 0.9 < heavy <= 1
    assert np.isfinite(metrics.cllr([1, 0, 1, 0], [1.0, 2, 3, 4], sample_weight=[1e308] * 4))


def test_extreme_priors_have_their_limits():
    y, llr = [1, 0, 1, 0], [1.0, 2, 3, -4]
    far = metrics.normalized_bayes_error_curve(y, llr, log_odds=[-800.0, -40.0, 40.0, 800.0])
    np.testing.assert_allclose(far.actual[[0, 3]], far.actual[[1, 2]])
    np.testing.assert_allclose(far.minimum[[0, 3]], far.minimum[[1, 2]])
    sure = metrics.empirical_cross_entropy_curve(y, [-INF, 2, 3, -4], log_odds=[-800.0, 0.0])
    np.testing.assert_array_equal(sure.actual, [INF, INF])
    assert metrics.detection_cost([1, 0], [1.0, 2.0], prior=1e-300, cost_miss=1e-300) >= 0
    tiny = metrics.min_detection_cost(y, llr, cost_miss=1e-300, cost_false_alarm=1e300)
    assert tiny <= 1


def test_dev_pav_does_not_overflow():
    y, llr = [1, 0, 1, 0, 1], np.array([-1.0, 1, 3, 2, -2])
    large = metrics.dev_pav(y, 1e200 * llr)
    assert 1e199 < large < 1e201


def test_recalibration_takes_ratios_only():
    blocks = metrics.pav([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    with pytest.raises(InputError, match="NaN"):
        blocks.transform([np.nan])
    with pytest.raises(InputError, match="got Evidence"):
        blocks.transform(Evidence.from_llr([1.0]))


def test_a_tuple_may_be_a_label():
    y = np.empty(2, dtype=object)
    y[:] = [("a", 1), ("b", 2)]
    assert metrics.cllr(y, [5.0, -5.0], pos_label=("a", 1)) < 0.01


def test_missing_labels_are_refused():
    pandas = pytest.importorskip("pandas")
    for y in (
        pandas.Series(["a", None, "a"], dtype=object),
        pandas.Series(["a", None, "b"], dtype="string"),
        np.array(["a", np.nan, "b"], dtype=object),
        np.ma.array([1, 0, 0], mask=[0, 0, 1]),
    ):
        with pytest.raises(InputError, match="y_true must not contain"):
            metrics.cllr(y, [1.0, -1.0, 2.0], pos_label="a")


def test_inputs_are_never_modified(rng):
    y, llr = np.arange(20) % 2, rng.normal(size=20)
    before = y.copy(), llr.copy()
    for metric in (metrics.cllr, metrics.cllr_min, metrics.eer, metrics.pav, metrics.det_curve,
                   metrics.tippett_curve, metrics.empirical_cross_entropy_curve):  # fmt: skip
        metric(y, llr)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(llr, before[1])


def test_misleading_evidence_is_counted_past_a_strength():
    y, llr = [1, 1, 1, 1, 0, 0], np.array([1.0, -0.5, -3.0, 0.0, 3.0, -1.0])
    assert metrics.misleading_rates(y, llr) == (0.5, 0.5)
    assert metrics.misleading_rates(y, llr, strength=1, unit="ban") == (0.25, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.cllr([1, 1], [1.0, 2.0]), "both classes.*got 1"),
        (lambda: metrics.cllr(["a", "b"], [1.0, 2.0]), "pos_label 1; got 'a', 'b'"),
        (lambda: metrics.cllr([0, 1, 2], [1.0, 2.0, 3.0]), "two classes; got 0, 1, 2"),
        (lambda: metrics.cllr([0, 1], [1.0, np.nan]), "row 1 has 1 NaN"),
        (lambda: metrics.cllr([0, 1], [1.0, 2.0, 3.0]), r"each of 3 samples; got shape \(2,\)"),
        (lambda: metrics.cllr([0, np.nan], [1.0, 2.0]), "y_true must not contain NaN"),
        (lambda: metrics.cllr([0, 1], [[1.0, 2.0], [1.0, 2.0]]), r"shape \(n_samples,\)"),
        (lambda: metrics.cllr([0, 1], ["a", "b"]), "real numbers"),
        (lambda: metrics.cllr([0, 1], [1.0, 2.0], sample_weight=[1.0]), "one weight for each"),
        (lambda: metrics.cllr([0, 1], [1.0, 2.0], sample_weight=[1.0, 0.0]), "finite and positive"),
        (lambda: metrics.cllr([0, 1], Evidence(np.eye(3)[:2])), "over two classes; got 3"),
        (lambda: metrics.cllr([[1], [1, 0]], [1.0, 2.0]), "rows of different lengths"),
        (lambda: metrics.cllr([1, 2], Evidence(np.eye(2))), "0, 1 only; got 2"),
        (lambda: metrics.cross_entropy([1], 3.0), "must be a table"),
        (lambda: metrics.detection_cost([0, 1], [1.0, 2.0], prior=1.0), "between 0 and 1"),
        (lambda: metrics.detection_cost([0, 1], [1.0, 2.0], cost_miss=0), "cost_miss must be"),
        (lambda: metrics.c_primary([0, 1], [1.0, 2.0], []), "must hold a point"),
        (lambda: metrics.c_primary([0, 1], [1.0, 2.0], [(1, 2)]), "three numbers"),
        (lambda: metrics.c_primary([0, 1], [1.0, 2.0], [(1, 2, 0.5)] * 2), "1:2:0.5 is .* twice"),
        (lambda: metrics.tippett_curve([0, 1], [1.0, 2.0], kind="x"), "exceeding, misleading"),
        (lambda: metrics.misleading_rates([0, 1], [1.0, 2.0], strength=-1), "0 or more"),
        (lambda: metrics.empirical_cross_entropy_curve([0, 1], [1.0, 2.0], log_odds=[[0.0]]),
         "one-dimensional"),
        (lambda: metrics.empirical_cross_entropy_curve([0, 1], [1.0, 2.0], log_odds=[INF]),
         "log_odds must be finite"),
    ],
)  # fmt: skip
def test_bad_trials_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_unknown_pos_label_names_the_classes():
    with pytest.raises(UnknownClassError, match="'b', 'a'; got 1"):
        metrics.cllr(["a", "b"], Evidence.from_llr([1.0, 2.0], "a", "b"))
