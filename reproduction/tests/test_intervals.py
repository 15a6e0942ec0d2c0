"""Intervals: over draws, and over the samples of a test set."""

import numpy as np
import pytest

from deciban import metrics
from reproduction.intervals import exact, over_runs, over_samples


def test_single_runs_fall_into_the_interval_as_often_as_it_says():
    rng = np.random.default_rng(0)
    runs = np.exp(rng.normal(-3, 2.0, size=(20, 25)))
    found = over_runs("k", runs, "20 draws × 25 test sets")
    fresh = np.exp(rng.normal(-3, 2.0, size=100_000))
    assert np.mean((fresh >= found.low) & (fresh <= found.high)) == pytest.approx(0.95, abs=0.025)
    assert found.value == pytest.approx(runs.mean())
    assert found.how == "95 % of 500 runs (20 draws × 25 test sets)"


def test_runs_without_errors_give_an_interval_that_begins_at_zero():
    found = over_runs("k", [0.0] * 30 + [0.1] * 10, "test sets", described=True)
    assert found.low == 0.0
    assert found.high == pytest.approx(0.1)
    assert found.described


def test_samples_drawn_again_surround_the_number():
    y = np.repeat([0, 1], 200)
    llr = np.random.default_rng(0).normal(2 * y - 1, 1.4)
    found = over_samples("k", metrics.cllr, y, llr, times=100.0, n_resamples=200)
    assert found.value == pytest.approx(100 * metrics.cllr(y, llr))
    assert found.low < found.value < found.high


def test_what_a_formula_gives_has_no_width():
    found = exact("k", 2.0)
    assert (found.low, found.value, found.high) == (2.0, 2.0, 2.0)


def test_a_range_of_runs_holds_the_mean_also_where_errors_are_rare():
    rare = np.zeros(500)
    rare[:5] = 0.01  # fewer runs with an error than the range leaves out
    found = over_runs("key", rare, "runs")
    assert (found.low, found.value, found.high) == (0.0, 1e-4, 1e-4)
