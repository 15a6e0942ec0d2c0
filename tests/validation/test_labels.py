"""Labels, weights and indexes of samples: read once, the same way for everything."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from deciban._validation.labels import (
    align_by_index,
    column_order,
    encode_labels,
    factorize_labels,
    order_by_name,
    read_labels,
    read_weights,
)
from deciban.exceptions import InputError, UnknownClassError

MISSING = {
    "a list of text and nan": ["a", float("nan")],
    "a list of text and None": ["a", None],
    "an array made of such a list": np.array(["a", float("nan")]),
    "an object array with None": np.array(["a", None], dtype=object),
    "an object array with nan": np.array(["a", float("nan")], dtype=object),
    "floats with nan": np.array([1.0, np.nan]),
    "a pandas series with NA": pd.Series(["a", pd.NA], dtype="string"),
    "a pandas series with nullable integers": pd.Series([1, None], dtype="Int64"),
    "a pandas categorical with a missing code": pd.Series(pd.Categorical(["a", None])),
    "pandas dates with NaT": pd.Series([pd.Timestamp(0), pd.NaT]),
    "a polars series with null": pl.Series(["a", None]),
    "a table of one column": [["a"], [float("nan")]],
}


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)
def test_a_missing_label_is_refused_and_never_becomes_a_class(labels):
    with pytest.raises(InputError, match="y_true must not contain NaN or missing labels") as error:
        read_labels(labels)
    assert error.value.rows == (1,)


def test_masked_labels_are_refused():
    with pytest.raises(InputError, match="y must not contain masked values; got 1"):
        read_labels(np.ma.masked_array([0, 1], mask=[0, 1]), name="y")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", 1], ["a", 1]),
        ([["a"], ["b"]], ["a", "b"]),
        (pl.Series(["a", "b"]), ["a", "b"]),
        (pd.DataFrame({"label": ["a", "b"]}), ["a", "b"]),
        (pd.Series([True, False]), [True, False]),
        (np.array(["nan", "b"]), ["nan", "b"]),  # a class may be called so
        ((2.5, 1.0), [2.5, 1.0]),
    ],
)
def test_labels_are_read_as_they_are(labels, expected):
    read = read_labels(labels, 2)
    assert read.shape == (2,)
    assert read.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0], r"one label for each of 2 samples; got shape \(3,\)"),
        ([[0, 1], [1, 0]], r"one row of labels; got shape \(2, 2\)"),
        ([[0, 1], [1]], "rows of different lengths"),
        (1, r"one row of labels; got shape \(\)"),
        (np.array([[0], {}], dtype=object), "hashable labels; got a list"),
    ],
)
def test_what_is_not_a_row_of_labels_is_refused(labels, message):
    with pytest.raises(InputError, match=message):
        read_labels(labels, 2)


def test_labels_are_encoded_by_their_position_among_the_classes():
    labels = read_labels(["b", 1, "b", 2])
    assert factorize_labels(labels)[0] == ["b", 1, 2]
    assert factorize_labels(np.array(["b", "a"]))[0] == ["a", "b"]
    assert encode_labels(labels, [2, "b", 1]).tolist() == [1, 2, 1, 0]
    with pytest.raises(UnknownClassError, match="the classes 'b', 1 only; got 2") as error:
        encode_labels(labels, ["b", 1])
    assert error.value.label == 2


@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_only_ratios_of_weights_matter(factor):
    weights = read_weights(np.array([1.0, 2.0, 4.0]) * factor, 3)
    np.testing.assert_allclose(weights, [0.25, 0.5, 1.0], rtol=1e-12)


def test_a_positive_weight_stays_positive_beside_the_largest():
    assert (read_weights([1e-300, 1e300], 2) > 0).all()
    assert read_weights([0.0, 1e300], 2, for_fit=True).tolist() == [0.0, 1e12]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"one weight for each of 2 samples; got shape \(1,\)"),
        ([1.0, 0.0], "must be finite and positive; row 1 has 0"),
        ([np.nan, 1.0], "must be finite and positive; row 0 has nan"),
        (pd.to_datetime(["2020", "2021"]).to_series(), "numeric columns only"),
        (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "masked values; got 1"),
    ],
)
def test_weights_that_are_not_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        read_weights(weights, 2)


def test_zeros_only_are_not_weights():
    with pytest.raises(InputError, match="positive for some sample"):
        read_weights([0.0, 0.0], 2, for_fit=True)


def test_rows_with_the_same_index_in_another_order_are_matched_by_name():
    y = pd.Series([0, 1, 0], index=["a", "b", "c"])
    X = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, index=["c", "a", "b"])
    first, second, third = align_by_index(y=y, X=X, weight=[7, 8, 9])
    assert first is y
    assert second["x"].tolist() == [1.0, 2.0, 3.0]
    assert third == [7, 8, 9]  # without an index: by position


def test_rows_whose_indexes_differ_are_refused():
    y = pd.Series([0, 1], index=["a", "b"])
    with pytest.raises(InputError, match="y_true and evidence must have the same index; got 'a'"):
        align_by_index(y_true=y, evidence=pd.Series([0.0, 1.0], index=["a", "d"]))


@pytest.mark.parametrize(
    ("first", "second", "which"),
    [("ab", "aa", "evidence"), ("aa", "ab", "y_true"), ("aab", "aba", "y_true")],
)
def test_no_row_is_used_twice_where_an_index_repeats_labels(first, second, which):
    y = pd.Series(range(len(first)), index=list(first))
    evidence = pd.Series(np.arange(float(len(second))), index=list(second))
    with pytest.raises(InputError, match=f"same index.* got 'a' more than once in {which}"):
        align_by_index(y_true=y, evidence=evidence)


def test_equal_indexes_pass_with_their_repeated_labels():
    y, llr = pd.Series([0, 1], index=["a", "a"]), pd.Series([1.0, 2.0], index=["a", "a"])
    assert align_by_index(y=y, llr=llr)[1] is llr
    assert align_by_index(y=pl.Series([0, 1]), llr=llr)[1] is llr


@pytest.mark.parametrize(
    ("names", "classes", "order"),
    [
        (None, ("a", "b"), None),
        (("a", "b"), ("a", "b"), None),
        (("b", "a"), ("a", "b"), [1, 0]),
        (("1", "0"), (0, 1), [1, 0]),  # as text: polars has no other names
        ((0, 1), ("a", "b"), None),  # pandas' names for what has none
        ((0, 1), (1, 0), [1, 0]),  # but these are names
    ],
)
def test_names_decide_the_order(names, classes, order):
    assert order_by_name(names, classes, "the entries of prior") == order


def test_other_names_are_refused():
    with pytest.raises(InputError, match="named after the classes 'a', 'b'; got 'a', 'c'"):
        order_by_name(("a", "c"), ("a", "b"), "the entries of prior")


def test_columns_are_ordered_by_name_or_renamed_where_no_name_is_a_class():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["b", "a"])
    assert column_order(frame, None, 2, "X") == (("b", "a"), None)
    assert column_order(frame, ["a", "b"], 2, "X") == (("a", "b"), [1, 0])
    assert column_order(frame, ["x", "y"], 2, "X") == (("x", "y"), None)
    with pytest.raises(InputError, match="the columns of X must be named after"):
        column_order(frame, ["a", "c"], 2, "X")


def test_labels_of_lists_stay_as_they_are():
    assert read_labels(["a", "a\0"]).tolist() == ["a", "a\0"]
    assert read_labels([2**53 + 1, float(2**53)]).tolist() == [2**53 + 1, 2**53]
    assert read_labels(["a", b"a"]).tolist() == ["a", b"a"]
    assert read_labels([[1], [2.0]]).dtype == np.float64
