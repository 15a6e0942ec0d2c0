"""PAV from sorted parts of the scores: the blocks of all of them, whatever the parts are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban import metrics
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.partitions import FOLDS
from deciban.metrics.pav import pool_with_misleading
from deciban.metrics.pav_in_parts import choose_splitters, pool_runs, sort_run, write_runs

SCORES = st.one_of(
    st.integers(-3, 3).map(float),  # ties
    st.sampled_from([-np.inf, np.inf, 1.0, 1.0 + 1e-13, 1.0 + 2e-12, 1.0 + 3e-12]),
    st.floats(-50, 50),
)


@st.composite
def labelled_scores(draw):
    rows = draw(st.lists(st.tuples(SCORES, st.booleans(), st.booleans()), min_size=2, max_size=40))
    llr, y, fold = (np.array(column) for column in zip(*rows, strict=True))
    y, fold = y.astype(int), fold.astype(int)
    y[:2] = 0, 1
    return y, llr, fold


def pool_in_parts(y, llr, fold, edges, size=3, folder=None):
    parts = np.split(np.arange(len(y)), np.sort(edges))
    runs = [sort_run(llr[rows], y[rows], fold[rows]) for rows in parts]
    if folder is not None:
        runs = [run for one in runs for run in write_runs([one], str(folder))]
    return pool_runs(runs, n_some=1000, size=size)


def assert_same(found, expected):
    for name in ("low", "high", "target", "other"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@given(labelled_scores(), st.lists(st.integers(0, 40), max_size=10), st.integers(1, 20))
def test_blocks_are_those_of_all_scores_whatever_the_parts(data, cuts, size):
    """Parts may be empty, lack a class, and hold ties and infinities."""
    y, llr, fold = data
    found = pool_in_parts(y, llr, fold, [min(cut, len(y)) for cut in cuts], size)
    assert_same(found.blocks, metrics.pav(y, llr))
    assert found.counts.sum(axis=1).tolist() == np.bincount(y).tolist()


@given(labelled_scores(), st.lists(st.integers(0, 40), max_size=10))
def test_folds_are_pooled_without_their_own_samples(data, cuts):
    y, llr, fold = data
    found = pool_in_parts(y, llr, fold, [min(cut, len(y)) for cut in cuts])
    for k in range(FOLDS):
        target, other = (llr[(fold != k) & (y == t)] for t in (1, 0))
        if len(target) and len(other):
            expected = pool_with_misleading(Trials(Scores(target), Scores(other)))
            assert_same(found.known[k], expected)
        else:
            assert found.known[k] is None


@given(labelled_scores(), st.lists(st.integers(0, 40), max_size=10), st.integers(1, 20))
def test_dev_pav_ties_rounding_across_ranges(data, cuts, size):
    from deciban.metrics.pav import deviation_from_pav

    y, llr, fold = data
    found = pool_in_parts(y, llr, fold, [min(cut, len(y)) for cut in cuts], size)
    expected = metrics.dev_pav(y, llr, unit="nat")
    assert deviation_from_pav(found.levels) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_a_thousand_small_parts_in_files_make_the_same_blocks(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=20_000)
    llr = np.round(rng.normal(2 * y - 1, 2), 3)
    fold = rng.integers(2, size=len(y))
    edges = np.sort(rng.integers(len(y), size=999))
    found = pool_in_parts(y, llr, fold, edges, 500, tmp_path)
    assert_same(found.blocks, metrics.pav(y, llr))


def test_scores_at_regular_ranks_do_not_depend_on_the_parts():
    rng = np.random.default_rng(1)
    y, fold = rng.integers(2, size=(2, 30_000))
    llr = rng.normal(size=len(y))
    one, other = (
        pool_in_parts(y, llr, fold, edges, 1000).some
        for edges in ([], rng.integers(30_000, size=9))
    )
    for a, b in zip(one, other, strict=True):
        assert 1000 <= len(a) <= 1200
        np.testing.assert_array_equal(a, b)


def test_ranges_have_about_the_size_asked_for():
    rng = np.random.default_rng(2)
    llr = np.sort(rng.normal(size=200_000))  # parts that are ranges of scores themselves
    y = rng.integers(2, size=len(llr))
    runs = [
        sort_run(llr[a : a + 20_000], y[a : a + 20_000], y[a : a + 20_000])
        for a in range(0, 200_000, 20_000)
    ]
    splitters = choose_splitters(runs, 30_000)
    every = np.concatenate([run.where for run in runs])
    sizes = np.diff(np.searchsorted(np.sort(every), splitters), prepend=0, append=len(every))
    assert len(sizes) == 7
    assert sizes.max() < 1.5 * 30_000
