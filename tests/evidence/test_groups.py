"""Groups of classes: composite hypotheses, their evidence and the words for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban import Evidence
from deciban.exceptions import InputError, UnknownClassError, ZeroPartsError
from deciban.simplex import logparts
from strategies import log_compositions

ABC = ["a", "b", "c"]


@st.composite
def partitions(draw, D):
    """At least two groups of the classes 0 to D - 1."""
    order = draw(st.permutations(range(D)))
    cuts = draw(st.lists(st.integers(1, D - 1), min_size=1, unique=True))
    return [[int(k) for k in part] for part in np.split(np.array(order), sorted(cuts))]


# --- laws -------------------------------------------------------------------------------


@given(log_compositions(1))
def test_groups_of_one_class_each_are_the_evidence_itself(single):
    (log_w,) = single
    evidence = Evidence(log_w)
    for groups in ([[k] for k in range(log_w.shape[1])], {k: k for k in range(log_w.shape[1])}):
        grouped = evidence.group(groups)
        assert grouped.classes == evidence.classes
        np.testing.assert_array_equal(grouped.log_likelihoods, log_w)


@given(st.data(), log_compositions(2))
def test_the_posterior_of_a_group_is_the_sum_of_its_members_posteriors(data, pair):
    log_w, log_prior = pair
    groups = data.draw(partitions(log_w.shape[1]))
    prior = np.exp(logparts.closure(log_prior[0] / 4))
    evidence = Evidence(log_w)
    of_groups = evidence.group(groups, prior).log_posterior([prior[at].sum() for at in groups])
    log_posterior = evidence.log_posterior(prior)
    expected = [np.logaddexp.reduce(log_posterior[:, at], axis=1) for at in groups]
    np.testing.assert_allclose(of_groups, np.transpose(expected), rtol=1e-9, atol=1e-9)


@given(st.data(), log_compositions(1))
def test_the_llr_of_two_groups_is_that_of_the_grouped_evidence(data, single):
    (log_w,) = single
    groups = data.draw(partitions(log_w.shape[1]))
    evidence = Evidence(log_w)
    grouped = evidence.group(dict(enumerate(groups)))
    np.testing.assert_array_equal(evidence.llr(groups[0], groups[1]), grouped.llr(0, 1))


@given(st.data(), log_compositions(1))
def test_support_against_the_group_of_the_best_class_is_at_most_its_dilution(data, single):
    # The mean over r members is at least the best one over r: without the best class, a group can
    # gain no more than that factor. A balance can gain any amount.
    (log_w,) = single
    groups = data.draw(partitions(log_w.shape[1]))
    evidence = Evidence(log_w)
    for i, best in enumerate(evidence.decide()):
        (home,) = (at for at in groups if best in at)
        for at in groups:
            if at is not home:
                assert evidence[i].llr(at, home)[0] <= np.log(len(home)) + 1e-9


@given(st.data(), log_compositions(1))
def test_groups_do_not_depend_on_the_order_of_the_classes(data, single):
    (log_w,) = single
    order = data.draw(st.permutations(range(log_w.shape[1])))
    groups = data.draw(partitions(log_w.shape[1]))
    here, there = Evidence(log_w), Evidence(log_w[:, order], classes=order)
    names = dict(enumerate(groups))
    assert there.group(names).allclose(here.group(names))


# --- values -----------------------------------------------------------------------------


def test_a_group_has_the_mean_of_its_members_likelihoods():
    evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], ABC)
    np.testing.assert_allclose(evidence.llr(["a", "b"], "c"), [np.log(4.5)], rtol=1e-14)
    weighted = evidence.llr(("a", "b"), "c", prior={"a": 0.1, "b": 0.3, "c": 0.6})
    np.testing.assert_allclose(weighted, [np.log(3.75)], rtol=1e-14)
    np.testing.assert_allclose(evidence.llr({"b", "a"}, "c", "bit"), [np.log2(4.5)], rtol=1e-14)
    np.testing.assert_allclose(evidence.llr(ABC, "c"), [np.log(10 / 3)], rtol=1e-14)
    assert evidence.llr("a", "a").tolist() == [0.0]


def test_each_sample_may_have_its_own_prior_within_the_groups():
    evidence = Evidence.from_likelihoods([[4, 1, 1], [4, 1, 1]], ABC)
    prior = np.array([[0.25, 0.25, 0.5], [0.1, 0.4, 0.5]])
    grouped = evidence.group({"ab": ["a", "b"], "c": "c"}, prior)
    np.testing.assert_allclose(np.exp(grouped.llr("ab", "c")), [2.5, 1.6], rtol=1e-14)


@pytest.mark.parametrize("offset", [0.0, -1e6, 1e6])
def test_groups_hold_at_extremes(offset):
    values = np.array([[-800.0, -801.0, 0.0, -np.inf], [-800.0, -np.inf, -1600.0, -np.inf]])
    evidence = Evidence(values + offset, [*ABC, "d"])
    expected = [-800 + np.log((1 + np.exp(-1)) / 2), 800 - np.log(2)]
    np.testing.assert_allclose(evidence.llr(["a", "b"], "c"), expected, rtol=1e-12)
    np.testing.assert_allclose(
        evidence.llr(["c", "d"], ["a", "b"]), -np.array(expected) - np.log(2), rtol=1e-12
    )
    assert evidence.llr(["a", "b", "c"], "d").tolist() == [np.inf, np.inf]
    np.testing.assert_array_equal(
        evidence.group((["a"], ["b", "c", "d"])).llr("a", "b, c or d") > 0, [False, True]
    )


def test_no_samples_have_groups_too():
    assert len(Evidence(np.empty((0, 3)), ABC).group((("a", "b"), "c"))) == 0


# --- names and words --------------------------------------------------------------------


def test_a_tuple_that_is_a_class_is_that_class_and_a_list_is_a_group():
    classes = [("en", "US"), ("en", "GB"), "en", "US"]
    evidence = Evidence.from_likelihoods([[8.0, 4.0, 2.0, 1.0]], classes)
    np.testing.assert_allclose(evidence.llr(("en", "US"), "US"), [np.log(8)])
    np.testing.assert_allclose(evidence.llr(["en", "US"], ("en", "GB")), [np.log(1.5 / 4)])
    grouped = evidence.group([[("en", "US"), ("en", "GB")], ["en", "US"]])
    assert grouped.classes == ("('en', 'US') or ('en', 'GB')", "en or US")
    assert evidence.group((("en", "US"), ("en", "GB"))).classes == (("en", "US"), ("en", "GB"))


def test_words_name_the_members_of_a_group():
    evidence = Evidence.from_likelihoods([[900.0, 100.0, 50.0, 1.0]], [*ABC, "d"])
    said = evidence.verbal(["a", "b", "c"], "d")[0]
    assert said == "moderately strong support for a, b or c over d"
    assert evidence.verbal(["b", "c"], "a")[0] == "moderate support for a over b or c"


def test_a_group_that_holds_the_decision_is_never_said_to_be_refuted():
    # Row 78 of iris under LDA: the balance put virginica 146 deciban above the other two, although
    # versicolor is the most likely class, since setosa is ruled out.
    evidence = Evidence([[-69.2, 0.0, -0.64]], ["setosa", "versicolor", "virginica"])
    assert evidence.decide()[0] == "versicolor"
    assert evidence.balance("virginica", unit="deciban")[0] > 100
    assert abs(evidence.llr("virginica", ["setosa", "versicolor"], "deciban")[0]) < 1
    said = evidence.verbal("virginica", ("setosa", "versicolor"))[0]
    assert said == "no support for either"


# --- faults -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: e.group([ABC]), "at least two that share no class"),
        (lambda e: e.group({"x": ["a", "b"], "y": ["b", "c"]}), "share no class"),
        (lambda e: e.group("ab"), "groups must be a mapping"),
        (lambda e: e.group([["a", "a"], "c"]), "each class once; got ['a', 'a']"),
        (lambda e: e.group({"x": [], "y": "a"}), "at least one class"),
        (lambda e: e.llr([], "a"), "at least one class"),
        (lambda e: e.llr("a", ["b", "c"], prior=[0.5, 0.5]), "prior must hold one probability"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused_in_a_sentence(call, said):
    with pytest.raises(InputError) as caught:
        call(Evidence([[0.0, 1.0, 2.0]], ABC))
    assert said in str(caught.value)


def test_unknown_members_and_groups_without_a_possible_class_are_refused():
    with pytest.raises(UnknownClassError):
        Evidence([[0.0, 1.0, 2.0]], ABC).llr(["a", "x"], "c")
    ruled_out = Evidence([[0.0, -np.inf, -np.inf]], ABC)
    with pytest.raises(ZeroPartsError, match="has zeros only"):
        ruled_out.llr("b", "c")
    with pytest.raises(ZeroPartsError, match="rules out all"):
        ruled_out.group(["b", "c"])
