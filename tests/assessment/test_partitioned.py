"""Assessments of samples in partitions: those of the samples in memory, whatever the split."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban import CalibratedGaussian, Evidence, assess, compare, metrics
from deciban.assessment import systems
from deciban.assessment.assess import assess_partitions, compare_partitions
from deciban.metrics.decomposition import (
    PosteriorMap,
    fit_maps,
    gram_schmidt_ilr,
    improve_maps,
)
from deciban.metrics.designs import read_design
from deciban.metrics.labelled import Labelled
from deciban.metrics.partitions import Partitions, Rows, folds_of, hash_labels, hash_numbers
from deciban.metrics.units import Buckets, BucketSums, count_buckets


def split(y, llrs, edges=(), groups=None):
    """Samples in partitions that begin at these rows, and at the first."""
    starts = [0, *np.sort(edges).tolist(), len(y)]
    hashes = hash_numbers(np.arange(len(y))) if groups is None else hash_labels(np.asarray(groups))
    n = np.arange(len(y))
    parts = [
        Rows(y[a:b], tuple(x[a:b] for x in llrs), hashes[a:b], n[a:b]) for a, b in pairwise(starts)
    ]
    classes = tuple(range(max(2, *(x[:1].size for x in llrs))))
    return Partitions(classes, parts, lambda part: part, len(y), len(llrs), groups is not None)


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


OPTIONS_OF_THREE = {
    "prior": [0.5, 0.3, 0.2],
    "costs": [[0, 1, 2], [3, 0, 1], [1, 5, 0]],
    "operating_points": [(1, 1, 0.5), (1, 1, 0.1)],
    "c_avg": True,
}
HELD_OUT = {"discrimination", "calibration", "decision_loss"}  # by other folds than in memory
CASES = [(2, {}), (2, OPTIONS), (3, {}), (3, OPTIONS_OF_THREE)]


def draw_three(n, seed=0, scale=1.5):
    """Evidence over three classes that is too strong by half."""
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([n // 2, n // 3, n // 6], rng=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return y[order], family.evidence(scale * l).log_likelihoods[order]


def evidence_of(x):
    return Evidence.from_llr(x) if x.ndim == 1 else Evidence(x, range(x.shape[1]))


def assert_same_values(found, expected, n_classes):
    for key, value in values(expected).items():
        near = {"rel": 1e-12, "abs": 1e-15}
        if n_classes > 2 and key in HELD_OUT:
            near = {"abs": 0.01 if key == "decision_loss" else 2e-3}
        assert found[key].value == pytest.approx(value, **near, nan_ok=True), key
    for name in ("pairwise_cllr", "pairwise_cllr_min"):
        tables = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(*tables, rtol=1e-12, atol=1e-15)
    assert (found.counts, found.n_wrong) == (expected.counts, expected.n_wrong)
    assert found.n_infinite == expected.n_infinite
    assert found.expected_wrong == pytest.approx(expected.expected_wrong, rel=1e-12, abs=1e-12)


def assert_near_intervals(one, other):
    if np.isfinite(other.low):
        width = other.high - other.low
        assert abs(one.low - other.low) < 0.4 * width + 1e-9, one.key
        assert abs(one.high - other.high) < 0.4 * width + 1e-9, one.key


@pytest.mark.parametrize(("n_classes", "options"), CASES)
def test_values_are_those_in_memory(n_classes, options):
    y, x = draw(3000) if n_classes == 2 else draw_three(3000)
    expected = assess(y, evidence_of(x), n_resamples=0, **options)
    edges = np.random.default_rng(1).integers(3000, size=7)
    for cuts in ([], edges, np.arange(3000)[::30]):
        found, _ = assess_partitions(split(y, [x], cuts), n_resamples=0, in_memory=0, **options)
        assert_same_values(found, expected, n_classes)
        assert values(found).keys() == values(expected).keys()
        assert found.warnings == expected.warnings


@pytest.mark.parametrize("n_classes", [2, 3])
@settings(max_examples=25)
@given(st.data())
def test_values_of_ties_and_infinities_are_those_in_memory(n_classes, data):
    """With empty partitions, and partitions that lack a class."""
    scores = st.one_of(st.integers(-2, 2).map(float), st.just(-np.inf))
    if n_classes == 2:
        rows = st.one_of(scores, st.just(np.inf))
    else:
        rows = st.lists(scores, min_size=3, max_size=3).filter(lambda row: max(row) > -np.inf)
    x = np.array(data.draw(st.lists(rows, min_size=6, max_size=30)))
    labels = st.lists(st.integers(0, n_classes - 1), min_size=len(x), max_size=len(x))
    y = np.array(data.draw(labels))
    y[:n_classes] = range(n_classes)
    cuts = data.draw(st.lists(st.integers(0, len(y)), max_size=6))
    expected = assess(y, evidence_of(x), n_resamples=0)
    found, _ = assess_partitions(split(y, [x], cuts), n_resamples=0, in_memory=0)
    for key in values(found).keys() & values(expected).keys() - (
        HELD_OUT if n_classes > 2 else set()
    ):
        near = pytest.approx(expected[key].value, rel=1e-12, abs=1e-15, nan_ok=True)
        assert found[key].value == near, key
    np.testing.assert_allclose(found.pairwise_cllr_min, expected.pairwise_cllr_min, rtol=1e-12)
    assert found.n_infinite == expected.n_infinite


@pytest.mark.parametrize(("n_classes", "options"), [CASES[0], CASES[1], CASES[3]])
def test_intervals_do_not_depend_on_the_split_and_agree_with_those_in_memory(n_classes, options):
    y, x = draw(8000, 2) if n_classes == 2 else draw_three(9000, 2)
    one, other = (
        assess_partitions(split(y, [x], cuts), n_resamples=200, in_memory=0, **options)[0]
        for cuts in ([], np.random.default_rng(1).integers(len(y), size=20))
    )
    expected = assess(y, evidence_of(x), n_resamples=300, **options)
    for a, b, c in zip(one.quantities, other.quantities, expected.quantities, strict=True):
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9, abs=1e-12, nan_ok=True)
        assert_near_intervals(a, c)
    assert one.worst_bin == other.worst_bin
    assert one.action == expected.action


@pytest.mark.parametrize(("n_classes", "options"), [CASES[1], CASES[3]])
def test_differences_are_those_in_memory(n_classes, options):
    y, a = draw(8000, 4) if n_classes == 2 else draw_three(9000, 4)
    b = a + np.random.default_rng(5).normal(size=a.shape) / (n_classes - 1)
    data = split(y, [a, b], [5000, 5000, 7000])
    found = compare_partitions(data, ["a", "b"], n_resamples=300, in_memory=0, **options)
    both = {"a": evidence_of(a), "b": evidence_of(b)}
    expected = compare(y, both, n_resamples=300, **options)
    for one, other in zip(found.differences, expected.differences, strict=True):
        assert one.key == other.key
        held_out = n_classes > 2 and one.key in HELD_OUT
        near = {"abs": 2e-3} if held_out else {"rel": 1e-12, "abs": 1e-15}
        assert (one.a, one.b) == pytest.approx((other.a, other.b), **near)
        assert_near_intervals(one, other)
    if n_classes == 2:
        few = compare_partitions(data, ["a", "b"], n_resamples=20)
        assert few == compare(y, both, n_resamples=20)


def test_few_samples_are_collected_and_assessed_in_memory():
    y, llr = draw(500)
    groups = np.repeat(np.arange(100), 5)
    found, some = assess_partitions(split(y, [llr], [100, 200], groups), n_resamples=100)
    expected = assess(y, Evidence.from_llr(llr), groups=groups, n_resamples=100)
    assert repr(found.quantities) == repr(expected.quantities)
    assert some.numbers.tolist() == list(range(500))


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


def test_a_class_without_samples_is_named():
    y, llr = np.zeros(10, dtype=int), np.arange(10.0)
    with pytest.raises(ValueError, match="it lacks 1"):
        assess_partitions(split(y, [llr]), in_memory=0)


def test_calibrated_evidence_over_three_classes_is_not_recalibrated():
    y, table = draw_three(9000, 7, scale=1.0)
    found, _ = assess_partitions(split(y, [table], [2000]), n_resamples=100, in_memory=0)
    assert found["calibration"].value < 1e-3
    assert found["calibration"].low == 0
    assert found["cross_entropy"].value == pytest.approx(
        found["discrimination"].value + found["calibration"].value, rel=1e-12
    )


def test_maps_of_some_samples_become_those_of_all(monkeypatch):
    """Few errors in what is kept of the samples, and many among all of them."""
    monkeypatch.setattr(systems, "MAX_SUBSAMPLE", 3000)
    monkeypatch.setattr(systems, "MIN_SUBSAMPLE", 50)
    family = CalibratedGaussian.from_divergences([16.0, 17.0, 18.0])
    l, y = family.sample([20_000] * 3, rng=3)
    table = family.evidence(1.5 * l).log_likelihoods
    found, some = assess_partitions(split(y, [table], [30_000]), n_resamples=50, in_memory=0)
    assert 2500 < len(some.numbers) < 3500
    expected = assess(y, Evidence(table, [0, 1, 2]), n_resamples=50)
    for key in ("calibration", "discrimination"):
        assert found[key].value == pytest.approx(expected[key].value, abs=1e-4)


def test_huge_evidence_over_three_classes_is_judged():
    y, table = draw_three(600)
    table[3, 0] = -1e160
    found, _ = assess_partitions(split(y, [table]), n_resamples=0, in_memory=0)
    expected = assess(y, Evidence(table, [0, 1, 2]), n_resamples=0)
    assert found["cross_entropy"].value == pytest.approx(expected["cross_entropy"].value, rel=1e-12)


def test_many_classes_have_fewer_buckets():
    assert (count_buckets(2), count_buckets(32), count_buckets(33), count_buckets(1000)) == (
        16384, 16384, 8192, 512
    )  # fmt: skip
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 40
    table = rng.normal(size=(3000, 40)) + 3 * np.eye(40)[y]
    found, _ = assess_partitions(split(y, [table], [1000]), n_resamples=20, in_memory=0)
    expected = assess(y, Evidence(table, range(40)), n_resamples=20)
    assert found["cross_entropy"].value == pytest.approx(expected["cross_entropy"].value, rel=1e-12)
    width = expected["cross_entropy"].high - expected["cross_entropy"].low
    assert found["cross_entropy"].high == pytest.approx(expected["cross_entropy"].high, abs=width)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_evidence_of_few_groups_is_not_told_to_be_recalibrated(n_classes, monkeypatch):
    monkeypatch.setattr(systems, "MAX_SUBSAMPLE", 600)
    monkeypatch.setattr(systems, "MIN_SUBSAMPLE", 50)
    family = CalibratedGaussian.from_divergences(
        [3.0, 4.0, 5.0][: n_classes * (n_classes - 1) // 2]
    )
    for seed in range(4):
        l, y = family.sample([1500] * n_classes, rng=seed)
        evidence = family.evidence(l)
        values = evidence.llr(1, 0) if n_classes == 2 else evidence.log_likelihoods
        groups = y * 8 + np.random.default_rng(seed).integers(8, size=len(y))
        data = split(y, [values], [1000], groups)
        found, some = assess_partitions(data, n_resamples=50, in_memory=0)
        assert some.data.counts.min() > 100
        assert found.action != "recalibrate it"
        assert "cllr_cal" in values_of(found) or "calibration" in values_of(found)


def values_of(found):
    return {q.key for q in found.quantities}


def test_maps_count_samples_not_folds():
    """Nearly all samples are of one fold, and those of the other are unlike them."""
    y, table = draw_three(4500, 3)
    odd = np.arange(len(y)) < 45
    table[odd] *= -3
    by_fold = [label for label in range(1000) if hash_labels(np.array([label]))[0] >> 63]
    other = next(label for label in range(1000) if label not in by_fold)
    groups = np.where(odd, by_fold[0], other)
    data = split(y, [table], [2000], groups)
    found, _ = assess_partitions(data, n_resamples=20, in_memory=0)
    assert found["discrimination"].low < metrics.cross_entropy(y, table)
    samples, prior = Labelled(Evidence(table, [0, 1, 2]), y), np.full(3, 1 / 3)
    l = gram_schmidt_ilr(samples)
    maps = fit_maps(l, y, folds_of(hash_labels(groups)), prior)
    counts = np.array([np.bincount(y[~odd], minlength=3), np.bincount(y[odd], minlength=3)])
    (after,) = improve_maps(data, [maps], prior, counts)
    best = PosteriorMap.fit(l, y, prior, maps.scale)
    costs = [
        samples.mean_by_class(-one(l)[np.arange(len(y)), y]).mean() for one in (after.fitted, best)
    ]
    assert costs[0] == pytest.approx(costs[1], abs=1e-4)


def test_identical_systems_are_noticed():
    y, llr = draw(500)
    found = compare_partitions(split(y, [llr, llr], [200]), ["a", "b"], n_resamples=20, in_memory=0)
    assert found.warnings[0] == "a and b are the same evidence."
    assert {one.verdict for one in found.differences if one.key == "cllr"} == {
        one.verdict
        for one in compare(
            y, dict.fromkeys("ab", Evidence.from_llr(llr)), n_resamples=20
        ).differences
        if one.key == "cllr"
    }


def test_differences_of_groups_have_the_size_of_their_samples():
    rng = np.random.default_rng(0)
    groups, signs = np.repeat(np.arange(60), 1000), rng.integers(-1, 2, size=60_000)
    in_memory = read_design(np.zeros(60_000, dtype=int), groups).effective_size(0, signs)
    buckets, codes = Buckets(1, depends=True), np.zeros(60_000, dtype=int)
    buckets.add(BucketSums.of_samples({("signs",): signs}, codes, hash_labels(groups), 1))
    events, n_events = buckets.columns["signs",], np.abs(signs).sum()
    assert buckets.design.effective_size(0, events, n_events) > 0.5 * in_memory


def test_the_first_sample_that_rules_out_its_class_has_its_own_number():
    y, llr = draw(100)
    llr[60] = np.inf if y[60] == 0 else -np.inf
    rows = Rows(y, (llr,), hash_numbers(np.arange(100)), np.arange(0, 300, 3))  # others left out
    data = Partitions((0, 1), [rows.select(np.arange(100) < 50), rows.select(np.arange(100) >= 50)],
                      lambda part: part, 100)  # fmt: skip
    found, _ = assess_partitions(data, n_resamples=0, in_memory=0)
    assert found.warnings[0].startswith("Sample 181 rules out")


def test_intervals_of_infinite_llrs_in_parts_are_near_those_in_memory():
    y, llr = draw(3000)
    llr[np.flatnonzero(y == 0)[0]] = -np.inf
    expected = assess(y, Evidence.from_llr(llr), n_resamples=200)
    found, _ = assess_partitions(split(y, [llr], [700, 2000]), n_resamples=200, in_memory=0)
    assert values(found) == pytest.approx(values(expected), rel=1e-12, abs=1e-15)
    for key in ("cllr", "cllr_min", "cllr_cal"):
        ends = [(one[key].low, one[key].high) for one in (found, expected)]
        np.testing.assert_allclose(*ends, atol=0.02)
