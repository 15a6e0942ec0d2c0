"""Assessments of samples in partitions: those of the samples in memory, whatever the split."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban import Evidence, assess, compare
from deciban.assessment.partitioned import assess_partitions, compare_partitions
from deciban.metrics.bags import hash_labels, hash_numbers
from deciban.metrics.partitions import Partitions, Rows


def split(y, llrs, edges=(), groups=None):
    """Samples in partitions that begin at these rows, and at the first."""
    starts = [0, *np.sort(edges).tolist(), len(y)]
    hashes = hash_numbers(np.arange(len(y))) if groups is None else hash_labels(np.asarray(groups))
    parts = [Rows(y[a:b], tuple(x[a:b] for x in llrs), hashes[a:b], a) for a, b in pairwise(starts)]
    return Partitions((0, 1), parts, lambda part: part, len(y), len(llrs), groups is not None)


def draw(n, seed=0, target=0.3, scale=1.5):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < target).astype(int)
    y[:2] = 0, 1
    return y, scale * rng.normal((2 * y - 1) * 2, 2)


def values(found):
    return {q.key: q.value for q in found.quantities}


OPTIONS = {
    "prior": [0.9, 0.1],
    "costs": [[0, 1], [5, 0]],
    "operating_points": [(1, 1, 0.01), (10, 1, 0.01)],
}


@pytest.mark.parametrize("options", [{}, OPTIONS])
def test_values_are_those_in_memory(options):
    y, llr = draw(3000)
    expected = assess(y, Evidence.from_llr(llr), n_resamples=0, **options)
    edges = np.random.default_rng(1).integers(3000, size=7)
    for cuts in ([], edges, np.arange(3000)[::3]):
        found, _ = assess_partitions(split(y, [llr], cuts), n_resamples=0, in_memory=0, **options)
        assert values(found) == pytest.approx(values(expected), rel=1e-12, abs=1e-15)
        assert found.counts == expected.counts
        assert (found.n_wrong, found.n_infinite) == (expected.n_wrong, expected.n_infinite)
        assert found.warnings == expected.warnings


@settings(max_examples=25)
@given(st.data())
def test_values_of_ties_and_infinities_are_those_in_memory(data):
    """With empty partitions, and partitions that lack a class."""
    scores = st.one_of(st.integers(-2, 2).map(float), st.sampled_from([-np.inf, np.inf]))
    llr = np.array(data.draw(st.lists(scores, min_size=4, max_size=30)))
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(llr), max_size=len(llr))))
    y[:2] = 0, 1
    cuts = data.draw(st.lists(st.integers(0, len(y)), max_size=6))
    expected = assess(y, Evidence.from_llr(llr), n_resamples=0)
    found, _ = assess_partitions(split(y, [llr], cuts), n_resamples=0, in_memory=0)
    assert values(found) == pytest.approx(values(expected), rel=1e-12, abs=1e-15, nan_ok=True)
    assert found.warnings == expected.warnings


@pytest.mark.parametrize("options", [{}, OPTIONS])
def test_intervals_do_not_depend_on_the_split_and_agree_with_those_in_memory(options):
    y, llr = draw(8000, 2)
    one, other = (
        assess_partitions(split(y, [llr], cuts), n_resamples=200, in_memory=0, **options)[0]
        for cuts in ([], np.random.default_rng(1).integers(len(y), size=20))
    )
    expected = assess(y, Evidence.from_llr(llr), n_resamples=300, **options)
    for a, b, c in zip(one.quantities, other.quantities, expected.quantities, strict=True):
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9, abs=1e-12, nan_ok=True)
        if np.isfinite(c.low):
            width = c.high - c.low
            assert abs(a.low - c.low) < 0.4 * width + 1e-9, a.key
            assert abs(a.high - c.high) < 0.4 * width + 1e-9, a.key
    assert one.worst_bin == other.worst_bin
    assert one.action == expected.action


def test_few_samples_are_collected_and_assessed_in_memory():
    y, llr = draw(500)
    groups = np.repeat(np.arange(100), 5)
    found, some = assess_partitions(split(y, [llr], [100, 200], groups), n_resamples=100)
    expected = assess(y, Evidence.from_llr(llr), groups=groups, n_resamples=100)
    assert repr(found.quantities) == repr(expected.quantities)
    assert len(some.codes) == 500


def test_groups_widen_intervals_as_in_memory():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(400), 50)
    y = rng.integers(2, size=len(groups))
    llr = 2 * (2 * y - 1) + rng.normal(size=len(y)) + rng.normal(size=400)[groups] * 2
    evidence = Evidence.from_llr(llr)
    expected = assess(y, evidence, groups=groups, n_resamples=400)
    found, _ = assess_partitions(split(y, [llr], [7000], groups), n_resamples=400, in_memory=0)
    alone = assess(y, evidence, n_resamples=400)
    for key in ("cllr", "cllr_min", "eer", "misleading_target", "accuracy"):
        widths = [one[key].high - one[key].low for one in (found, expected, alone)]
        assert widths[0] == pytest.approx(widths[1], rel=0.3), key
        assert widths[0] > 1.5 * widths[2], key
    assert "groups" in found.design
    assert found.calibration_test is None


def test_differences_are_those_in_memory():
    y, a = draw(8000, 4)
    b = a + np.random.default_rng(5).normal(size=len(y))
    systems = {"a": Evidence.from_llr(a), "b": Evidence.from_llr(b)}
    data = split(y, [a, b], [5000, 5000, 7000])
    found = compare_partitions(data, ["a", "b"], n_resamples=300, in_memory=0, **OPTIONS)
    expected = compare(y, systems, n_resamples=300, **OPTIONS)
    for one, other in zip(found.differences, expected.differences, strict=True):
        assert one.key == other.key
        assert (one.a, one.b) == pytest.approx((other.a, other.b), rel=1e-12, abs=1e-15)
        if np.isfinite(other.low):
            width = other.high - other.low
            assert abs(one.low - other.low) < 0.4 * width + 1e-9, one.key
            assert abs(one.high - other.high) < 0.4 * width + 1e-9, one.key
    few = compare_partitions(data, ["a", "b"], n_resamples=20)
    assert few == compare(y, systems, n_resamples=20)


def test_a_class_without_samples_is_named():
    y, llr = np.zeros(10, dtype=int), np.arange(10.0)
    with pytest.raises(ValueError, match="it lacks 1"):
        assess_partitions(split(y, [llr]), in_memory=0)
