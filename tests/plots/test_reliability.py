"""Reliability: frequencies under the prior, intervals, and what is drawn."""

import numpy as np
import pytest
from scipy.stats import binomtest

from deciban import CalibratedGaussian, Evidence, plots
from deciban.exceptions import InputError
from deciban.metrics.proportions import wilson


def test_wilson_intervals_are_those_of_scipy():
    for k, n, confidence in ((0, 10, 0.95), (7, 10, 0.9), (40, 40, 0.99)):
        low, high = wilson(k, n, confidence)
        expected = binomtest(k, n).proportion_ci(confidence, method="wilson")
        assert (float(low), float(high)) == pytest.approx(tuple(expected), abs=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say_under_any_prior_and_any_mix(figures):
    family = CalibratedGaussian([[2.0]])
    held = []
    for seed in range(40):
        l, y = family.sample([6_000, 600], rng=seed)
        drawn = plots.ReliabilityDisplay.from_predictions(y, family.evidence(l), prior=[0.3, 0.7])
        (curve,) = drawn.curves
        held += ((curve.low <= curve.predicted) & (curve.predicted <= curve.high)).tolist()
        figures.close(drawn.figure_)
    # 400 intervals of 95 %: the standard error is 0.011.
    assert 0.91 < np.mean(held) < 0.99


def test_evidence_that_is_too_strong_is_not_reliable():
    family = CalibratedGaussian([[2.0]])
    l, y = family.sample([3_000, 3_000], rng=4)
    (curve,) = plots.ReliabilityDisplay.from_predictions(y, family.evidence(3 * l)).curves
    assert curve.of == "1"
    assert curve.count.sum() == 6_000
    low = curve.predicted < 0.4
    assert (curve.low[low] > curve.predicted[low]).all()
    assert (curve.high[curve.predicted > 0.6] < curve.predicted[curve.predicted > 0.6]).all()


def test_frequencies_and_posteriors_of_the_bins_are_weighted_by_the_prior():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.85, 0.15]])
    y = np.array(["a", "a", "b", "b", "b"])
    evidence = Evidence.from_posteriors(p, None, ["a", "b"])
    (curve,) = plots.ReliabilityDisplay.from_predictions(y, evidence, n_bins=1).curves
    assert curve.observed[0] == pytest.approx(0.5)  # three of five, but each class counts half
    expected = (0.1 + 0.2) / 4 + (0.7 + 0.9 + 0.15) / 6
    assert curve.predicted[0] == pytest.approx(expected)
    for bound, share in ((curve.low, 0), (curve.high, 1)):
        f = wilson(3, 5, 0.95)[share]  # three of five have the class
        odds = (f / (1 - f)) * (0.5 / 3) / (0.5 / 2)  # and each class counts half
        assert bound[0] == pytest.approx(odds / (1 + odds))
    weights = [1.0, 1.0, 1.0, 1.0, 2.0]
    (curve,) = plots.ReliabilityDisplay.from_predictions(
        y, evidence, n_bins=1, sample_weight=weights
    ).curves
    assert curve.predicted[0] == pytest.approx((0.1 + 0.2) / 4 + (0.7 + 0.9 + 0.3) / 8)


def test_ratios_are_of_the_class_that_they_favour(llrs):
    (curve,) = plots.ReliabilityDisplay.from_predictions(*llrs).curves
    (same,) = plots.ReliabilityDisplay.from_predictions(
        llrs[0], Evidence.from_llr(llrs[1]), pos_label=1
    ).curves
    assert curve.of == same.of == "1"
    np.testing.assert_array_equal(curve.observed, same.observed)


def test_of_many_classes_the_decided_one_is_drawn(three):
    y, evidence = three
    (curve,) = plots.ReliabilityDisplay.from_predictions(y, evidence, n_bins=1).curves
    posterior = evidence.posterior()
    right = np.array(evidence.classes)[posterior.argmax(axis=1)] == y
    by_class = [right[y == label].mean() for label in evidence.classes]
    assert curve.of == "the decided class"
    assert curve.observed[0] == pytest.approx(np.mean(by_class))


def test_each_class_can_have_its_curve(three):
    drawn = plots.ReliabilityDisplay.from_predictions(*three, kind="each", name="system")
    assert [curve.of for curve in drawn.curves] == ["Czech", "Polish", "Slovak"]
    labels = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert labels == ["system: Czech", "system: Polish", "system: Slovak"]
    assert drawn.histogram_ is None
    assert drawn.ax_.get_xlabel() == "posterior probability of each class"


def test_a_second_system_is_drawn_beside_the_first(three):
    y, evidence = three
    first = plots.ReliabilityDisplay.from_predictions(y, evidence, name="one")
    second = plots.ReliabilityDisplay.from_predictions(y, 3 * evidence, name="two", ax=first.ax_)
    assert first.histogram_ is not None
    assert second.histogram_ is None
    assert first.lines_[0].lines[0].get_color() != second.lines_[0].lines[0].get_color()


def test_posteriors_that_are_all_the_same_are_one_bin():
    flat = Evidence(np.zeros((6, 2)))
    (curve,) = plots.ReliabilityDisplay.from_predictions([0, 1, 0, 1, 0, 1], flat).curves
    assert curve.predicted == pytest.approx([0.5])
    assert curve.observed == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "all"}, "kind must be one of class, decided, each; got 'all'"),
        ({"n_bins": 0}, "n_bins must be a whole number, 1 or more; got 0"),
        ({"confidence": 95}, "confidence must lie between 0 and 1, exclusive; got 95"),
        ({"pos_label": "Sorbian"}, "class must be one of 'Czech'.*got 'Sorbian'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(wrong, message, three):
    with pytest.raises(InputError, match=message):
        plots.ReliabilityDisplay.from_predictions(*three, **wrong)


def test_bins_without_an_error_have_the_intervals_of_wilson():
    y = np.repeat([0, 1, 2], 30)
    evidence = Evidence(np.eye(3)[y] * np.linspace(2, 6, 90)[:, None])
    display = plots.ReliabilityDisplay.from_predictions(y, evidence, n_bins=3)
    (curve,) = display.curves
    low, high = wilson(curve.count, curve.count, 0.95)
    np.testing.assert_allclose(curve.low, low)
    np.testing.assert_allclose(curve.high, high)
