"""Bayes decisions and words for likelihood ratios."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban import Evidence, VerbalScale
from deciban.evidence import SCALES
from deciban.exceptions import InputError
from strategies import log_compositions, seeds


@given(log_compositions(1, rows=20, spread=5.0), seeds)
def test_decisions_minimise_the_expected_cost(single, seed):
    (log_w,) = single
    D = log_w.shape[1]
    costs = np.random.default_rng(seed).normal(size=(D, D))
    evidence = Evidence(log_w)
    expected = evidence.posterior() @ costs
    chosen = expected[np.arange(20), evidence.decide(costs)]
    np.testing.assert_allclose(chosen, expected.min(axis=1), rtol=1e-9, atol=1e-12)


@given(log_compositions(1, rows=20, spread=5.0), st.floats(0.01, 0.99))
def test_rejection_is_chows_rule(single, cost):
    # Chow (1970): with zero-one costs, reject where the largest posterior is below 1 - cost.
    (log_w,) = single
    evidence = Evidence(log_w)
    decided = evidence.decide(reject_cost=cost, reject_label="?")
    largest = evidence.posterior().max(axis=1)
    clear = np.abs(largest - (1 - cost)) > 1e-9
    np.testing.assert_array_equal((decided == "?")[clear], (largest < 1 - cost)[clear])


def test_without_costs_the_largest_posterior_wins_and_ties_go_to_the_first():
    evidence = Evidence.from_likelihoods([[0.3, 0.5], [0.5, 0.5]], classes=["a", "b"])
    assert evidence.decide().tolist() == ["b", "a"]
    assert evidence.decide(prior=[0.7, 0.3]).tolist() == ["a", "a"]
    zero_one = evidence.decide(costs=1 - np.eye(2))
    assert zero_one.tolist() == ["b", "a"]


def test_costs_have_the_truth_on_rows_and_the_decision_in_columns():
    evidence = Evidence.from_likelihoods([[0.8, 0.2]], classes=["healthy", "sick"])
    missing_the_sick_is_dear = [[0, 1], [10, 0]]
    assert evidence.decide(missing_the_sick_is_dear).tolist() == ["sick"]
    assert evidence.decide(np.transpose(missing_the_sick_is_dear)).tolist() == ["healthy"]


def test_what_a_truth_costs_whatever_is_decided_changes_nothing():
    evidence = Evidence.from_likelihoods([[0.8, 0.15, 0.05]])
    costs = np.array([[0, 1, 2], [3, 0, 1], [9, 9, 0.0]])
    shifted = costs + np.array([[1e6], [-5.0], [0.0]])
    assert evidence.decide(shifted) == evidence.decide(costs)
    assert evidence.decide(costs * 1e300) == evidence.decide(costs)
    assert evidence.decide(costs * 1e-300) == evidence.decide(costs)


def test_posteriors_of_e_minus_800_decide_where_nothing_else_does():
    # Class 0 is all but certain and costs nothing either way; 1 and 2 differ at e^-800.
    evidence = Evidence([[0.0, -801.0, -800.0], [0.0, -800.0, -801.0]])
    costs = np.array([[0, 0, 0], [9, 0, 1], [9, 1, 0.0]])
    assert evidence.decide(costs).tolist() == [2, 1]


@pytest.mark.parametrize("D", range(2, 30))
def test_ties_go_to_the_first_class_with_costs_as_without(D):
    even = Evidence(np.zeros((1, D)))
    assert even.decide(1 - np.eye(D)).tolist() == even.decide().tolist() == [0]


@pytest.mark.parametrize("cost", [0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4])
def test_a_class_comes_before_rejection_where_they_cost_the_same(cost):
    evidence = Evidence.from_likelihoods([[1 - cost, cost]], classes=["a", "b"])
    assert evidence.decide(reject_cost=cost).tolist() == ["a"]
    assert evidence.decide(reject_cost=cost * (1 - 1e-9)).tolist() == [None]


def test_costs_that_are_all_alike_decide_for_the_first_class():
    assert Evidence([[0.0, 5.0]]).decide(np.zeros((2, 2))).tolist() == [0]


def test_a_frame_of_costs_is_matched_by_name():
    pandas = pytest.importorskip("pandas")
    evidence = Evidence.from_likelihoods([[0.9, 0.1]], classes=["benign", "malignant"])
    costs = [[0, 100], [1, 0]]  # the truth malignant comes first here
    named = pandas.DataFrame(costs, index=["malignant", "benign"], columns=["malignant", "benign"])
    assert evidence.decide(named).tolist() == ["malignant"]
    assert evidence.decide(pandas.DataFrame([[0, 1], [100, 0]])).tolist() == ["malignant"]
    with pytest.raises(InputError, match="rows of costs must be named after the classes"):
        evidence.decide(named.rename(index={"benign": "good"}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reject_cost": -1}, "must not be negative"),
        ({"reject_cost": [0.1, 0.2]}, r"a finite number; got"),
        ({"reject_cost": 0.1, "reject_label": "a"}, "must not be a class; got 'a'"),
        ({"reject_label": "?"}, "must come with a reject_cost"),
    ],
)
def test_rejections_that_could_not_be_told_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Evidence.from_likelihoods([[0.9, 0.1]], classes=["a", "b"]).decide(**options)


def test_a_free_rejection_is_always_taken_and_a_dear_one_never():
    evidence = Evidence.from_likelihoods([[0.9, 0.1]], classes=["a", "b"])
    assert evidence.decide(reject_cost=0).tolist() == [None]
    assert evidence.decide(reject_cost=5).tolist() == ["a"]


# --- words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "word"),
    [
        # ENFSI guideline for evaluative reporting (2015), table of verbal equivalents.
        (1, None), (1.9, None), (2, "weak"), (9.9, "weak"), (10, "moderate"), (99, "moderate"),
        (100, "moderately strong"), (999, "moderately strong"), (1000, "strong"),
        (9999, "strong"), (10_000, "very strong"), (999_999, "very strong"),
        (1_000_000, "extremely strong"), (np.inf, "extremely strong"),
    ],
)  # fmt: skip
def test_the_enfsi_scale(ratio, word):
    evidence = Evidence.from_llr([np.log(ratio)], "prosecution", "defence")
    said = evidence.verbal("prosecution", "defence")[0]
    turned = Evidence.from_llr([-np.log(ratio)], "prosecution", "defence")
    if word is None:
        assert said == "no support for either"
    else:
        assert said == f"{word} support for prosecution over defence"
        assert (
            turned.verbal("prosecution", "defence")[0]
            == f"{word} support for defence over prosecution"
        )


@pytest.mark.parametrize(
    ("scale", "ratio", "word"),
    [
        ("jeffreys", 3, "barely any"), ("jeffreys", 4, "substantial"), ("jeffreys", 10, "strong"),
        ("jeffreys", 32, "very strong"), ("jeffreys", 100, "decisive"),
        ("kass-raftery", 2.9, "barely any"), ("kass-raftery", 3, "positive"),
        ("kass-raftery", 20, "strong"), ("kass-raftery", 150, "very strong"),
    ],
)  # fmt: skip
def test_scales_with_other_cuts(scale, ratio, word):
    assert Evidence.from_llr([np.log(ratio)]).verbal(1, 0, scale)[0].startswith(f"{word} support")


def test_every_scale_names_its_source():
    assert all(scale.source for scale in SCALES.values())


def test_ratios_that_are_not_numbers_get_no_words():
    with pytest.raises(InputError, match="must not contain NaN"):
        SCALES["enfsi"].describe([np.nan], "a", "b")
    with pytest.raises(InputError, match="scale, if not a VerbalScale, must be one of enfsi"):
        Evidence.from_llr([1.0]).verbal(1, 0, scale={"weak": 2})


def test_ones_own_scale_plugs_in():
    scale = VerbalScale("lab", (5, 50), ("fair", "good"))
    assert Evidence.from_llr([3.0]).verbal(1, 0, scale)[0] == "fair support for 1 over 0"
    assert hash(VerbalScale("lab", [5, 50], ["fair", "good"])) == hash(scale)


@pytest.mark.parametrize(
    ("cuts", "words"),
    [((), ()), ((2, 3), ("a",)), ((3, 2), ("a", "b")), ((0.5,), ("a",)), (("2",), ("a",))],
)
def test_bad_scales_are_refused(cuts, words):
    with pytest.raises(InputError, match="cuts"):
        VerbalScale("bad", cuts, words)
