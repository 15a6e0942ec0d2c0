"""The cost after the best recalibration, bounded from both sides, and intervals from the bounds."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from deciban import metrics
from deciban.metrics.costs import CLLR
from deciban.metrics.designs import Design
from deciban.metrics.intervals import Plan
from deciban.metrics.llr_intervals import (
    equal_error_step,
    recalibrated_cost_intervals,
    unseen_cost,
)
from deciban.metrics.llr_units import LlrTerms, units_of_samples


def units_of(llr, y):
    def terms(maps):
        return LlrTerms(costs=[(CLLR, 0.0)], fitted=[CLLR, equal_error_step(maps)])

    (units,) = units_of_samples([llr], Design(y), terms)
    return units


def calibrated(n_other, n_target, divergence, seed):
    y = np.repeat([0, 1], [n_other, n_target])
    rng = np.random.default_rng(seed)
    return y, rng.normal((2 * y - 1) * divergence / 2, np.sqrt(divergence))


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "expected"), [(0.0, 1.0), (10.0, 3.0)])
def test_optimism_is_one_to_three_times_the_excess_on_new_samples(slope, expected):
    """Isotonic regression of steps, and of a line in noise: what the scaling argument says."""
    rng, n = np.random.default_rng(0), 20_000
    truth = slope * np.linspace(0, 1, n)
    optimism = excess = 0.0
    for _ in range(60):
        noise = rng.normal(size=n)
        fit = isotonic_regression(truth + noise).x
        excess += np.sum((fit - truth) ** 2)
        optimism += np.sum(noise**2) - np.sum((truth + noise - fit) ** 2)
    assert optimism / excess == pytest.approx(expected, rel=0.1)


def test_the_map_of_all_samples_costs_what_the_metrics_say():
    y, llr = calibrated(70, 40, 4.0, 0)
    units = units_of(llr, y)
    assert units.total(units.column("fitted", CLLR)) == pytest.approx(metrics.cllr_min(y, llr))
    step = equal_error_step(units.maps)
    assert units.total(units.column("fitted", step)) <= metrics.eer(y, llr) + 1e-12


def test_bounds_contain_the_true_cost_on_average():
    found = []
    for seed in range(60):
        y, llr = calibrated(60, 60, 4.0, seed)
        units = units_of(llr, y)
        bounds = [units.total(costs) for costs in units.bounds(CLLR)[:2]]
        # LLRs are calibrated: no map costs less, and Cllr has the chance of this draw in common.
        found.append([metrics.cllr_min(y, llr), *bounds, metrics.cllr(y, llr)])
    optimistic, lower, upper, truth = np.mean(found, axis=0)
    assert optimistic < lower < truth < upper + 0.02
    assert truth - lower < 0.7 * (truth - optimistic)


def test_bounds_do_not_depend_on_the_order_of_the_samples():
    y, llr = calibrated(50, 30, 4.0, 1)
    order = np.random.default_rng(0).permutation(80)
    a, b = units_of(llr, y), units_of(llr[order], y[order])
    for one, other in zip(a.bounds(CLLR)[:2], b.bounds(CLLR)[:2], strict=True):
        np.testing.assert_allclose(one[order], other, rtol=1e-9)


def test_separated_classes_prove_neither_errors_nor_miscalibration():
    for seed in range(20):
        y, llr = calibrated(100, 100, 30.0, seed)  # calibrated; most draws have no error
        found = recalibrated_cost_intervals([units_of(llr, y)], Plan(n_resamples=100))
        assert found["cllr_cal"].low <= 1e-3
        if metrics.cllr_min(y, llr) == 0:
            assert found["cllr_min"].low == 0 < found["cllr_min"].high


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples_of_a_class_have_an_interval(n):
    y, llr = calibrated(30, n, 4.0, 0)
    found = metrics.bootstrap(metrics.cllr_min, y, llr, n_resamples=50)
    assert found.low <= 0.5135 <= found.high


def test_infinite_llrs_are_recalibrated_by_pav_alone():
    y, llr = calibrated(50, 50, 4.0, 0)
    llr[:3], llr[-3:] = -np.inf, np.inf
    assert units_of(llr, y).bounds(CLLR).by != "affine"
    found = metrics.bootstrap(metrics.cllr_min, y, llr, n_resamples=50)
    assert 0 < found.low < found.value < found.high < 1
    llr[0] = np.inf  # rules out its class
    assert metrics.bootstrap(metrics.cllr_cal, y, llr, n_resamples=50).high == np.inf


def test_unseen_errors_raise_cllr_min_by_their_entropy():
    blocks = metrics.pav([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])
    rise = unseen_cost(blocks, np.array([0.0, 0.1]))
    # A tenth of the targets among the others: p log(1 + 1/p) + log(1 + p), halved, in bits.
    expected = (0.1 * np.log2(1 + 10) + np.log2(1.1)) / 2
    assert rise == pytest.approx([0.0, expected])


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "offset"), [(4.73, 0.0), (0.364, 0.0), (1.0, 3.34)])
def test_miscalibration_of_few_targets_and_many_others_is_found(scale, offset):
    """Cllr 0.0460, of which 0.0296 is lost by calibration."""
    excluded = 0
    for seed in range(10):
        y, llr = calibrated(102_080, 320, 27.84, seed)
        found = metrics.bootstrap(metrics.cllr_cal, y, scale * llr + offset, n_resamples=200)
        excluded += found.low > 0
    assert excluded >= 9


FITTED = [metrics.cllr_min, metrics.eer, metrics.min_detection_cost]


@pytest.mark.parametrize("metric", FITTED)
def test_llrs_that_point_the_wrong_way_are_as_good_as_none_at_both_ends(metric):
    y, llr = calibrated(100, 100, 4.0, 0)
    value, low, high, _ = metrics.bootstrap(metric, y, -llr, n_resamples=200)
    assert value == high == metric(y, 0 * llr)
    assert low > 0.9 * value


@pytest.mark.parametrize("metric", FITTED)
@pytest.mark.parametrize("size", [1e-300, 1e-6, 1e6, 1e300])
def test_intervals_after_recalibration_do_not_depend_on_the_unit_of_scores(metric, size):
    y, llr = calibrated(60, 40, 4.0, 1)
    expected = metrics.bootstrap(metric, y, llr, n_resamples=100)
    found = metrics.bootstrap(metric, y, size * llr, n_resamples=100)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_sample_of_each_class_tells_nothing_about_costs_after_recalibration():
    for metric, largest in ((metrics.cllr_min, 1.0), (metrics.eer, 0.5)):
        _, low, high, _ = metrics.bootstrap(metric, [0, 1], [-1.0, 1.0])
        assert (low, high) == (0.0, largest)
    assert metrics.bootstrap(metrics.cllr_cal, [0, 1], [-1.0, 1.0]).low == 0.0


def test_one_sample_of_a_class_does_not_show_that_errors_are_made():
    y, llr = np.repeat([0, 1], [100, 1]), np.append(np.linspace(-8, 0, 100), 3.0)
    for metric in FITTED:
        assert metrics.bootstrap(metric, y, llr).low == 0.0


@pytest.mark.parametrize("metric", [metrics.cllr, metrics.cllr_min, metrics.cllr_cal])
def test_an_llr_of_1e300_in_the_wrong_direction_has_a_finite_interval(metric):
    y, llr = calibrated(50, 50, 4.0, 2)
    llr[0] = 1e300
    value, low, high, _ = metrics.bootstrap(metric, y, llr, n_resamples=200)
    assert 0.0 <= low <= value <= high < np.inf


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1000, 5), (5, 1000)])
def test_errors_at_the_best_threshold_are_covered_where_a_class_has_five_samples(sizes):
    """LLRs of divergence 16: the equal-error rate is Phi(-2), and half the cost at even odds."""
    misses = {metrics.eer: 0, metrics.min_detection_cost: 0}
    for seed in range(150):
        y, llr = calibrated(*sizes, 16.0, seed)
        for metric, truth in ((metrics.eer, ndtr(-2)), (metrics.min_detection_cost, 2 * ndtr(-2))):
            interval = metrics.bootstrap(metric, y, llr, n_resamples=2)
            misses[metric] += not interval.low <= truth <= interval.high
    assert max(misses.values()) <= 0.1 * 150


def test_few_groups_do_not_prove_that_recalibration_saves_nothing():
    """Maps that are held out cost far more than those of the samples where groups differ."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(60), 50)
        y = group % 2
        llr = rng.normal((2 * y - 1) * 2.0, 2.0) + 1.5 * rng.normal(size=60)[group]
        found = metrics.bootstrap(metrics.cllr_cal, y, llr, groups=group, n_resamples=100)
        assert found.high > 0.5 * found.value
