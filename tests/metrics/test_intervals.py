"""Intervals of rates and of sums of rates."""

import numpy as np
import pytest

from deciban.metrics.intervals import (
    EventCounts,
    hull,
    pooled_interval,
    sum_interval,
    unseen_rate,
    wilson,
)


def test_rates_have_the_intervals_of_wilson():
    from scipy.stats import binomtest

    for happened, times in ((0, 40), (5, 9), (17, 40), (40, 40), (4, 100_000)):
        cells = EventCounts(np.array([1.0]), np.array([happened]), times)
        found = sum_interval(happened / times, [cells], 0.9)
        expected = binomtest(happened, times).proportion_ci(0.9, method="wilson")
        assert found[1:3] == pytest.approx(expected, abs=1e-12)
        turned = sum_interval(-happened / times, [cells._replace(weight=np.array([-1.0]))], 0.9)
        assert turned[1:3] == pytest.approx((-found.high, -found.low), abs=1e-12)
    low, high = wilson(np.array([0, 5]), np.array([5, 5]), 0.95)
    assert (low[0], high[1]) == (0.0, 1.0)


def test_rates_of_rare_events_are_covered_as_often_as_the_interval_says():
    from scipy.stats import binom

    for n in (20, 50, 200, 1000):
        k = np.arange(n + 1)
        low, high = wilson(k, n, 0.95)
        for expected in (0.06, 0.2, 0.5, 1.0, 2.5):  # events; Wilson's own covers 0.84 to 0.99
            rate = expected / n
            chance = binom.pmf(k, n, rate)
            assert chance[(low <= rate) & (rate <= high)].sum() > 0.92
    assert wilson(17, 20, 0.95) == pytest.approx([1 - end for end in wilson(3, 20, 0.95)[::-1]])
    assert wilson(19, 20, 0.95) == pytest.approx([1 - end for end in wilson(1, 20, 0.95)[::-1]])


def test_the_unseen_rate_starts_at_the_binomial_quantile_of_the_resamples():
    from scipy.stats import binom

    for happened, times in ((0, 7), (7, 7), (1, 2), (1, 1000), (3, 10), (400, 1000)):
        seen = binom.ppf(0.975, times, happened / times) / times
        expected = max(0.0, wilson(happened, times, 0.95)[1] - seen)
        assert unseen_rate(happened, times, 0.95) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_the_interval_of_a_mean_rate_over_many_small_classes_contains_it():
    held = 0
    for seed in range(200):
        right = np.random.default_rng(seed).binomial(2, 0.7, 200)  # of two samples a class
        cells = [EventCounts(np.array([1 / 200]), np.array([k]), 2) for k in right]
        value = float(right.mean() / 2)
        found = hull(sum_interval(value, cells, 0.95), pooled_interval(value, cells, 0.95))
        held += found.low <= 0.7 <= found.high
    assert held >= 184  # without pooling, 160
