"""Pairs made from a table: against brute force, and without making those that are not wanted."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.exceptions import InputError
from deciban.same_source import pairs

rows_of_a_table = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25)


def all_pairs(source, apart, kind):
    """Every pair of rows of different groups, of the same source (kind 1) or not."""
    together = itertools.combinations(range(len(source)), 2)
    return {
        (i, j)
        for i, j in together
        if apart[i] != apart[j] and (source[i] == source[j]) == bool(kind)
    }


@given(rows_of_a_table, st.booleans())
def test_all_pairs_are_those_of_a_double_loop(rows, grouped):
    source = [s for s, _ in rows]
    group = [g for _, g in rows] if grouped else list(range(len(rows)))
    wanted = {kind: all_pairs(source, group, kind) for kind in (1, 0)}
    if not wanted[1] or not wanted[0]:
        with pytest.raises(InputError, match=r"source must give from 1 to .* it gives 0"):
            pairs(source, apart=group)
        return
    left, right, y_true = pairs(source, apart=group if grouped else None)
    assert len(left) == len(wanted[1]) + len(wanted[0])
    for kind in (1, 0):
        of_kind = y_true == kind
        found = zip(left[of_kind].tolist(), right[of_kind].tolist(), strict=True)
        assert set(found) == wanted[kind]


@given(rows_of_a_table, st.integers(1, 30), st.integers(0, 5))
def test_a_sample_has_distinct_allowed_pairs_and_as_many_as_there_are(rows, limit, seed):
    source, group = ([row[k] for row in rows] for k in (0, 1))
    wanted = {kind: all_pairs(source, group, kind) for kind in (1, 0)}
    if not wanted[1] or not wanted[0]:
        return
    left, right, y_true = pairs(source, apart=group, limit=limit, rng=seed)
    for kind in (1, 0):
        of_kind = y_true == kind
        found = set(zip(left[of_kind].tolist(), right[of_kind].tolist(), strict=True))
        assert found <= wanted[kind]
        assert len(found) == of_kind.sum() == min(limit, len(wanted[kind]))


def test_every_pair_is_equally_likely_to_be_drawn():
    source, group = [0, 0, 0, 1, 1, 2, 3], [0, 1, 2, 0, 1, 2, 0]
    wanted = all_pairs(source, group, 0)
    counts = dict.fromkeys(wanted, 0)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        left, right, y_true = pairs(source, apart=group, limit=4, rng=rng)
        for i, j in zip(left[y_true == 0].tolist(), right[y_true == 0].tolist(), strict=True):
            counts[i, j] += 1
    share = np.array(list(counts.values())) / 3000
    np.testing.assert_allclose(share, 4 / len(wanted), atol=0.045)  # four standard errors


def test_a_sample_of_five_billion_pairs_takes_little_memory():
    source = np.random.default_rng(0).integers(2000, size=100_000)
    tracemalloc.start()
    left, right, y_true = pairs(source, limit=10_000, rng=1)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert memory < 30e6
    np.testing.assert_array_equal(source[left] == source[right], y_true == 1)
    assert np.bincount(y_true).tolist() == [10_000, 10_000]
    assert (left < right).all()
    again = pairs(source, limit=10_000, rng=1)
    np.testing.assert_array_equal(again.left, left)


def test_more_than_a_hundred_million_pairs_are_refused_without_a_limit():
    with pytest.raises(
        InputError, match=r"to 100,000,000 pairs of different .* Give limit=100_000"
    ):
        pairs(np.arange(30_000) // 2)


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match=r"limit must be a whole number, 1 or more; got 0"):
        pairs([0, 0, 1], limit=0)
    with pytest.raises(InputError, match=r"apart must have one label for each of 3 samples"):
        pairs([0, 0, 1], apart=[0, 1])
    with pytest.raises(InputError, match=r"pairs of the same source; it gives 0\. Add rows\."):
        pairs(["a", "b"])
    source = pd.Series(["a", "a", "b"], index=[1, 2, 3])
    assert pairs(source, apart=pd.Series([0, 0, 1], index=[3, 2, 1])).y_true.tolist() == [1, 0]
