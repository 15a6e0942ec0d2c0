"""Reliability curves: frequencies under the prior, and their intervals."""

import numpy as np
import pytest
from scipy.stats import binom

from deciban import CalibratedGaussian, Evidence
from deciban.exceptions import InputError
from deciban.metrics import calibration_error
from deciban.metrics.intervals import wilson
from deciban.metrics.labelled import read_labelled
from deciban.metrics.reliability import reliability_curves, worst_bin


def only_curve(y_true, evidence, sample_weight=None, **options):
    data = read_labelled(y_true, evidence, sample_weight=sample_weight)
    (curve,) = reliability_curves(data, **options)
    return curve


def test_intervals_hold_the_truth_as_often_as_they_say_under_any_prior_and_any_mix():
    family = CalibratedGaussian([[2.0]])
    held = []
    for seed in range(40):
        l, y = family.sample([6_000, 600], rng=seed)
        curve = only_curve(y, family.evidence(l), prior=[0.3, 0.7])
        held += ((curve.low <= curve.predicted) & (curve.predicted <= curve.high)).tolist()
    # 400 intervals of 95 %: the standard error is 0.011.
    assert 0.91 < np.mean(held) < 0.99


def test_a_rare_class_does_not_make_calibrated_evidence_look_unreliable():
    family = CalibratedGaussian.from_divergences([3, 3, 3])
    held, p_values = [], []
    for seed in range(15):
        l, y = family.sample([2_000, 30, 2_000], rng=seed)
        data = read_labelled(y, family.evidence(l))
        (curve,) = reliability_curves(data)
        held += ((curve.low <= curve.predicted) & (curve.predicted <= curve.high)).tolist()
        assert ((curve.low <= curve.observed) & (curve.observed <= curve.high)).all()
        found = worst_bin(data, gap=0.03)
        p_values.append(1.0 if found is None else found.p_value)
    assert np.mean(held) > 0.93  # 0.41 where the bins had the weights of their own samples
    assert min(p_values) > 0.01
    bold = worst_bin(read_labelled(y, family.evidence(2 * l)), gap=0.03)
    assert bold.p_value < 1e-6


def test_frequencies_and_posteriors_of_the_bins_are_weighted_by_the_prior():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.85, 0.15]])
    y = np.array(["a", "a", "b", "b", "b"])
    evidence = Evidence.from_posteriors(p, None, ["a", "b"])
    curve = only_curve(y, evidence, n_bins=1)
    assert curve.observed[0] == pytest.approx(0.5)  # three of five, but each class counts half
    expected = (0.1 + 0.2) / 4 + (0.7 + 0.9 + 0.15) / 6
    assert curve.predicted[0] == pytest.approx(expected)
    for bound, share in ((curve.low, 0), (curve.high, 1)):
        f = wilson(3, 5, 0.95)[share]  # three of five have the class
        odds = (f / (1 - f)) * (0.5 / 3) / (0.5 / 2)  # and each class counts half
        assert bound[0] == pytest.approx(odds / (1 + odds))
    weights = [1.0, 1.0, 1.0, 1.0, 2.0]
    curve = only_curve(y, evidence, sample_weight=weights, n_bins=1)
    assert curve.predicted[0] == pytest.approx((0.1 + 0.2) / 4 + (0.7 + 0.9 + 0.3) / 8)


def test_of_many_classes_the_decided_one_is_taken():
    family = CalibratedGaussian.from_divergences([5, 4, 7], classes=["a", "b", "c"])
    for counts, error in (([50, 50, 50], 1e-9), ([40, 50, 60], 0.01)):
        l, y = family.sample(counts, rng=5)
        evidence = family.evidence(l)
        curve = only_curve(y, evidence, n_bins=1)
        right = np.array(evidence.classes)[evidence.posterior().argmax(axis=1)] == y
        by_class = [right[y == label].mean() for label in evidence.classes]
        assert curve.of == "the decided class"
        assert curve.observed[0] == pytest.approx(np.mean(by_class), abs=error)


def test_posteriors_that_are_all_the_same_are_one_bin():
    flat = Evidence(np.zeros((6, 2)))
    curve = only_curve([0, 1, 0, 1, 0, 1], flat)
    assert curve.predicted == pytest.approx([0.5])
    assert curve.observed == pytest.approx([0.5])


def test_bins_without_an_error_have_the_intervals_of_wilson():
    y = np.repeat([0, 1, 2], 30)
    evidence = Evidence(np.eye(3)[y] * np.linspace(2, 6, 90)[:, None])
    curve = only_curve(y, evidence, n_bins=3)
    low, high = wilson(curve.count, curve.count, 0.95)
    np.testing.assert_allclose(curve.low, low)
    np.testing.assert_allclose(curve.high, high)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "all"}, "kind must be one of class, decided, each; got 'all'"),
        ({"n_bins": 0}, "n_bins must be a whole number, 1 or more; got 0"),
        ({"confidence": 95}, "confidence must lie between 0 and 1, exclusive; got 95"),
        ({"pos_label": 7}, "class must be one of 0, 1; got 7"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(wrong, message):
    with pytest.raises(InputError, match=message):
        only_curve([0, 1], Evidence(np.zeros((2, 2))), **wrong)


def test_the_worst_bin_is_the_one_that_chance_explains_the_least():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    llr = rng.normal(4.0 * y - 2, 2.0)
    assert worst_bin(read_labelled(y, Evidence.from_llr(llr)), gap=1.0) is None
    data = read_labelled(y, Evidence.from_llr(llr + 1.5))
    found = worst_bin(data, gap=0.03)
    (curve,) = reliability_curves(data)
    k = int(np.flatnonzero(curve.predicted == found.predicted)[0])
    assert (found.observed, found.low, found.n_samples) == (curve.observed[k], curve.low[k], 100)
    # Classes of equal size: the test of the bin is the exact binomial one, for ten bins.
    tail = binom.cdf(found.observed * 100, 100, found.predicted)
    assert found.p_value == pytest.approx(min(1.0, 20 * tail), rel=1e-9)
    assert found.p_value < 1e-3
    fewer = worst_bin(data, gap=0.03, independent=0.1)  # groups of ten that are alike
    assert fewer.p_value > 0.05


def test_posteriors_of_few_values_have_bins_of_their_own():
    llr = np.repeat([-4.0, -1.0, 1.0, 4.0], 100)
    y = np.tile([0, 1], 200)
    (curve,) = reliability_curves(read_labelled(y, Evidence.from_llr(llr)))
    np.testing.assert_allclose(curve.predicted, 1 / (1 + np.exp([4.0, 1.0, -1.0, -4.0])))
    assert curve.count.tolist() == [100] * 4


# --- calibration error: bins by hand, smoothing by quadrature -------------------------------

KINDS = ("top-label", "classwise")
METHODS = ("smooth", "equal-mass", "equal-width")


def draw(n, factor, rng, D=3):
    family = CalibratedGaussian.from_divergences(4.0 * (1 - np.eye(D)))
    l, y = family.sample([n] * D, rng)
    return y, family.evidence(factor * l)


def test_bins_are_those_of_a_loop(rng):
    y, evidence = draw(40, 2.0, rng)
    p = evidence.posterior()
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    cell = np.minimum((top * 7).astype(int), 6)
    expected = sum(abs((right - top)[cell == b].sum()) for b in range(7)) / 120
    found = calibration_error(y, evidence, method="equal-width", n_bins=7)
    assert found == pytest.approx(expected)
    parts = np.array_split(np.argsort(top), 6)  # 20 samples each
    expected = sum(abs((right - top)[rows].sum()) for rows in parts) / 120
    found = calibration_error(y, evidence, method="equal-mass", n_bins=6)
    assert found == pytest.approx(expected, abs=0.01)  # samples on an edge
    each = []
    for k in range(3):
        cell = np.minimum((p[:, k] * 7).astype(int), 6)
        each.append(sum(abs(((y == k) - p[:, k])[cell == b].sum()) for b in range(7)) / 120)
    found = calibration_error(y, evidence, kind="classwise", method="equal-width", n_bins=7)
    assert found == pytest.approx(np.mean(each))


def test_the_smooth_error_is_the_fixed_point_of_its_definition(rng):
    y, evidence = draw(30, 3.0, rng)
    found = calibration_error(y, evidence)
    p = evidence.posterior().max(axis=1)
    gap = ((evidence.posterior().argmax(axis=1) == y) - p) / len(y)
    t = (np.arange(8192) + 0.5) / 8192
    kernel = 0
    for image in [s * p + 2 * shift for s in (1, -1) for shift in range(-3, 4)]:  # reflections
        kernel = kernel + np.exp(-((t[:, None] - image) ** 2) / (2 * found**2))
    density = kernel @ gap / (found * np.sqrt(2 * np.pi))
    assert np.abs(density).mean() == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_evidence_that_is_too_strong_is_further_off(kind, method, rng):
    rows = [draw(500, factor, rng) for factor in (1.0, 2.0, 5.0)]
    errors = [calibration_error(*row, kind=kind, method=method) for row in rows]
    assert errors[0] < errors[1] < errors[2] < 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_the_class_mix_does_not_matter_and_weights_are_repetitions(kind, method, rng):
    y, evidence = draw(30, 2.0, rng)
    times = np.where(y == 0, 3, 1)
    rows = np.arange(len(y)).repeat(times)
    options = {"kind": kind, "method": method, "prior": [0.2, 0.3, 0.5]}
    plain = calibration_error(y, evidence, **options)
    weighted = calibration_error(y, evidence, sample_weight=times, **options)
    assert weighted == pytest.approx(plain, abs=1e-8)
    if method != "equal-mass":  # whose bins count samples
        assert calibration_error(y[rows], evidence[rows], **options) == pytest.approx(plain)


@pytest.mark.parametrize("method", METHODS)
def test_certain_evidence_is_right_or_wrong(method):
    certain = Evidence.from_llr([np.inf, -np.inf])
    assert calibration_error([1, 0], certain, method=method) == 0
    assert calibration_error([0, 1], certain, method=method) == pytest.approx(1, abs=1e-3)


def test_calibrated_evidence_has_an_error_above_zero_that_grows_with_the_bins(rng):
    y, evidence = draw(100, 1.0, rng)
    few, many = (
        calibration_error(y, evidence, method="equal-mass", n_bins=n, kind="classwise")
        for n in (5, 60)
    )
    assert 0 < few < many / 2


def test_what_is_not_a_kind_or_a_method_is_refused():
    for option in ({"kind": "decided"}, {"method": "kernel"}, {"n_bins": 0}):
        with pytest.raises(InputError, match=next(iter(option))):
            calibration_error([0, 1], [[0.0, 1.0], [1.0, 0.0]], **option)
