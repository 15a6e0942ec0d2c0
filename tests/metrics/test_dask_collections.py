"""Metrics of Dask arrays and frames: those of the same samples in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from deciban import Evidence, assess, compare, metrics
from deciban.metrics.partitions import hash_labels


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1000)
    y[300:500] = 0  # a partition without targets
    llr = np.round(rng.normal(2 * y - 1, 2), 2)
    llr[:3] = np.inf, -np.inf, 0.0
    return y, llr


def in_parts(*arrays, chunks=((300, 200, 0, 500),)):
    return [da.from_array(one, chunks=(1000,)).rechunk(chunks) for one in arrays]


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (metrics.cllr, {}),
        (metrics.cllr_min, {}),
        (metrics.cllr_cal, {}),
        (metrics.eer, {}),
        (metrics.dev_pav, {"unit": "nat"}),
        (metrics.detection_cost, {"prior": 0.1, "cost_miss": 3.0}),
        (metrics.min_detection_cost, {"prior": 0.1, "normalize": False}),
        (metrics.misleading_rates, {"strength": 1.0, "unit": "bit"}),
    ],
)
def test_metrics_of_dask_arrays_are_those_in_memory(samples, metric, options):
    y, llr = samples
    expected = metric(y, llr, **options)
    assert metric(*in_parts(y, llr), **options) == pytest.approx(expected, rel=1e-12)
    assert metric(*in_parts(1 - y, -llr), pos_label=0, **options) == pytest.approx(
        metric(1 - y, -llr, pos_label=0, **options), rel=1e-12
    )


def test_blocks_of_dask_arrays_are_those_in_memory(samples):
    y, llr = samples
    expected, found = metrics.pav(y, llr), metrics.pav(*in_parts(y, llr))
    for name in ("low", "high", "target", "other"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_assessments_of_dask_arrays_are_those_in_memory(samples):
    y, llr = samples
    other = llr / 2
    groups = np.arange(1000) // 10
    parts = in_parts(y, llr, other, groups)
    expected = assess(y, Evidence.from_llr(llr), groups=groups, n_resamples=20)
    found = assess(parts[0], parts[1], groups=parts[3], n_resamples=20)
    assert repr(found.quantities) == repr(expected.quantities)
    expected = compare(y, {"a": Evidence.from_llr(llr), "b": Evidence.from_llr(other)},
                       n_resamples=20)  # fmt: skip
    found = compare(parts[0], {"a": parts[1], "b": parts[2]}, n_resamples=20)
    assert repr(found.differences) == repr(expected.differences)


def test_log_likelihoods_of_dask_arrays_are_evidence():
    rng = np.random.default_rng(1)
    y = np.array(["ant", "bee", "cat"])[rng.integers(3, size=90)]
    values = rng.normal(size=(90, 3))
    expected = assess(y, Evidence(values, ["ant", "bee", "cat"]), n_resamples=10)
    given = [da.from_array(one, chunks=40) for one in (y, values)]
    assert repr(assess(*given, n_resamples=10).quantities) == repr(expected.quantities)


def test_partitions_that_do_not_match_are_refused(samples):
    y, llr = samples
    with pytest.raises(ValueError, match="both classes, one of them pos_label 2"):
        metrics.cllr(*in_parts(y, llr), pos_label=2)
    with pytest.raises(ValueError, match="sample_weight must be left out"):
        metrics.cllr(*in_parts(y, llr), sample_weight=y)
    with pytest.raises(ValueError, match="as many rows"):
        metrics.cllr(da.from_array(y[:-1], chunks=500), da.from_array(llr, chunks=500))
    with pytest.raises(ValueError, match="items must be left out"):
        assess(*in_parts(y, llr), items=(y, y))


def test_columns_of_dask_frames_are_matched_by_the_names_of_classes(samples):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    y, llr = samples[0][10:210], samples[1][10:210]
    frame = pd.DataFrame({"y": np.where(y, "same", "diff"), "same": llr / 2, "diff": -llr / 2})
    parts = dd.from_pandas(frame, npartitions=3)
    expected = assess(frame["y"].to_numpy(), Evidence.from_llr(llr, "same", "diff"), n_resamples=20)
    found = assess(parts["y"], parts[["same", "diff"]], n_resamples=20)
    assert repr(found.quantities) == repr(expected.quantities)
    assert metrics.cllr(parts["y"], parts["same"] * 2, pos_label="same") == pytest.approx(
        expected["cllr"].value, rel=1e-12
    )


@pytest.mark.parametrize(
    "curve", [metrics.empirical_cross_entropy_curve, metrics.normalized_bayes_error_curve]
)
def test_curves_of_dask_arrays_are_those_in_memory(samples, curve):
    y, llr = (one[3:] for one in samples)
    chunks = ((297, 200, 0, 500),)
    dy, dllr = (da.from_array(one, chunks=(997,)).rechunk(chunks) for one in (y, llr))
    for options in ({}, {"log_odds": [-50.0, 0.0, 3.0]}):
        expected, found = curve(y, llr, **options), curve(dy, dllr, **options)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.fixture(scope="module")
def languages():
    rng = np.random.default_rng(3)
    y = np.array(["cs", "pl", "sk", "hu"])[rng.integers(4, size=1000)]
    y[300:500] = "cs"
    table = np.round(rng.normal(size=(1000, 4)), 1)
    table[:4] = [[0, -np.inf, 0, 0], [0, 0, 0, -np.inf], [1, 1, 1, 1], [-np.inf, 0, 0, 0]]
    y[:4] = "cs", "cs", "pl", "sk"
    return y, table


COSTS = [[0, 1, 2, 1], [3, 0, 1, 1], [1, 5, 0, 1], [1, 1, 1, 0]]


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (metrics.cross_entropy, {"unit": "bit"}),
        (metrics.cross_entropy, {"prior": {"cs": 0.1, "hu": 0.2, "pl": 0.3, "sk": 0.4}}),
        (metrics.brier, {}),
        (metrics.accuracy, {"prior": [0.1, 0.2, 0.3, 0.4], "costs": COSTS}),
        (metrics.expected_cost, {"costs": COSTS}),
        (metrics.c_avg, {"p_target": 0.1}),
        (metrics.c_avg, {"out_of_set": "hu", "normalize": True}),
    ],
)
def test_metrics_of_several_classes_are_those_in_memory(languages, metric, options):
    y, table = languages
    found = metric(*in_parts(y), da.from_array(table, chunks=((300, 200, 0, 500), 4)), **options)
    assert found == pytest.approx(metric(y, table, **options), rel=1e-12)


def test_pairs_of_classes_of_dask_arrays_are_those_in_memory(languages):
    y, table = languages
    found = metrics.pairwise_cllr(*in_parts(y), da.from_array(table, chunks=(70, 2)).rechunk(
        ((300, 200, 0, 500), 4)))  # fmt: skip
    for one, other in zip(found, metrics.pairwise_cllr(y, table), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_weights_of_dask_arrays_are_refused(languages):
    y, table = languages
    with pytest.raises(ValueError, match="sample_weight must be left out"):
        metrics.cross_entropy(*in_parts(y), table, sample_weight=np.ones(1000))


# --- names and indices beside Dask --------------------------------------------------------


def test_names_decide_beside_dask(languages):
    """Evidence, pandas and polars beside Dask labels, and frames of metrics computed in memory."""
    y, table = languages
    names = ["cs", "hu", "pl", "sk"]
    (dy,) = in_parts(y)
    frame = pd.DataFrame(table, columns=names)[["sk", "cs", "pl", "hu"]]
    expected = metrics.brier(y, table)
    for given in (frame, pl.from_pandas(frame), Evidence(frame)):
        assert metrics.brier(dy, given) == pytest.approx(expected, rel=1e-12)
    found = compare(dy, {"a": Evidence(frame), "b": frame}, n_resamples=0)
    assert found["accuracy"].a == pytest.approx(metrics.accuracy(y, table), rel=1e-12)
    both = dd.from_pandas(frame.assign(label=y), npartitions=3)
    least = metrics.c_avg(both["label"], both[[*frame.columns]], minimum=True)
    assert least == pytest.approx(metrics.c_avg(y, table, minimum=True), rel=1e-12)


def test_evidence_beside_dask_labels_favors_its_own_classes(samples):
    y, llr = (one[3:] for one in samples)
    dy = da.from_array(y, chunks=300)
    reversed_evidence = Evidence.from_llr(llr, 0, 1)
    expected = metrics.cllr(y, reversed_evidence)
    assert metrics.cllr(dy, reversed_evidence) == pytest.approx(expected, rel=1e-12)


def test_rows_of_dask_frames_must_have_one_index(samples):
    y, llr = samples
    frame = pd.DataFrame({"y": y, "llr": llr})
    shuffled = frame["y"].sample(frac=1, random_state=1)
    with pytest.raises(ValueError, match="must have the same index in each partition"):
        metrics.cllr(
            dd.from_pandas(shuffled, npartitions=1, sort=False),
            dd.from_pandas(frame["llr"], npartitions=1),
        )


def test_what_dask_collections_cannot_mean_is_one_sentence(languages, samples):
    y, table = languages
    with pytest.raises(ValueError, match="evidence must have a column for each of 4 classes"):
        metrics.pairwise_cllr(*in_parts(y, samples[1]))
    mixed = np.array([1, "a"] * 500, dtype=object)
    with pytest.raises(ValueError, match="labels must have an order"):
        metrics.cross_entropy(*in_parts(mixed), da.from_array(table, chunks=(300, 4)))


def test_equal_groups_are_one_however_they_are_written():
    numbers = [hash_labels(np.array(one, dtype=object)) for one in ([1, 2], [1.0, 2.0], [True, 2])]
    assert numbers[0].tolist() == numbers[1].tolist() == numbers[2].tolist()
    assert hash_labels(np.array([0.0, -0.0], dtype=object))[0] == hash_labels(np.array([0]))[0]
    assert len(set(hash_labels(np.array([0.5, 1, "a", np.inf], dtype=object)).tolist())) == 4


def test_columns_of_small_files_have_the_partitions_of_their_frame(languages, tmp_path):
    """Dask joins small files where one column of few is read."""
    y, table = languages
    names = ["cs", "hu", "pl", "sk"]
    frame = pd.DataFrame(table, columns=names).assign(language=y)
    for k in range(5):
        frame[200 * k : 200 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    both = dd.read_parquet(tmp_path / "*.parquet")
    found = metrics.brier(both["language"], both[names])
    assert found == pytest.approx(metrics.brier(y, table), rel=1e-12)
    assess(both["language"], both[names], n_resamples=0)
