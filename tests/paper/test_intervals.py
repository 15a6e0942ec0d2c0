"""Intervals: over draws, and over the samples of a test set."""

import numpy as np
import pytest

from deciban import metrics
from deciban.paper.intervals import exact, over_draws, over_samples


def test_single_draws_fall_into_the_interval_as_often_as_it_says():
    rng = np.random.default_rng(0)
    draws = np.exp(rng.normal(-3, 0.4, size=(4000, 11)))
    inside = 0
    for row in draws:
        found = over_draws("k", row[:10])
        inside += found.low <= row[10] <= found.high
    assert inside / len(draws) == pytest.approx(0.95, abs=0.012)


def test_an_interval_of_positive_costs_stays_positive_and_others_are_linear():
    assert over_draws("k", [1e-5, 1e-2, 1e-3]).low > 0
    found = over_draws("k", [-1.0, 0.0, 1.0])
    assert found.low == pytest.approx(-found.high)
    assert found.value == pytest.approx(0.0)


def test_draws_that_agree_have_an_interval_of_no_width():
    found = over_draws("k", [0.0, 0.0])
    assert (found.low, found.high) == (0.0, 0.0)
    assert over_draws("k", [0.5]).how == "one draw: no interval"


def test_samples_drawn_again_surround_the_number():
    y = np.repeat([0, 1], 200)
    llr = np.random.default_rng(0).normal(2 * y - 1, 1.4)
    found = over_samples("k", metrics.cllr, y, llr, times=100.0, n_resamples=200)
    assert found.value == pytest.approx(100 * metrics.cllr(y, llr))
    assert found.low < found.value < found.high


def test_what_a_formula_gives_has_no_width():
    found = exact("k", 2.0)
    assert (found.low, found.value, found.high) == (2.0, 2.0, 2.0)
