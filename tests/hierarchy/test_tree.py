"""Trees of classes: posteriors of nodes, evidence at each node, and decisions at any level."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

import deciban as db
from deciban import Basis, Evidence, Hierarchy
from deciban.exceptions import InputError, UnknownClassError, ZeroPartsError
from tests.strategies import log_compositions, nested_lists, seeds

ANIMALS = {"mammal": ["cat", "dog"], "bird": {"raptor": ["owl", "hawk"], "wren": "wren"}}
CLASSES = ("cat", "dog", "owl", "hawk", "wren")


def shuffle(tree, rng):
    """The same tree with the children of each node in another order."""
    if not isinstance(tree, list):
        return tree
    return [shuffle(tree[k], rng) for k in rng.permutation(len(tree))]


# --- trees ------------------------------------------------------------------------------


def test_a_nested_mapping_is_a_tree_of_named_nodes():
    tree = Hierarchy(ANIMALS)
    assert tree.classes == CLASSES
    assert tree.inner_nodes == ("all", "mammal", "bird", "raptor")
    assert tree.nodes[:4] == ("all", "mammal", "cat", "dog")
    assert tree.children("bird") == ("raptor", "wren")
    assert tree.leaves("bird") == ("owl", "hawk", "wren")
    assert tree.leaves("cat") == ("cat",)
    assert (tree.parent("owl"), tree.parent("all")) == ("raptor", None)
    assert [tree.depth(node) for node in ("all", "bird", "wren", "owl")] == [0, 1, 2, 3]


@pytest.mark.parametrize("empty", [[], {}, ()])
def test_a_node_without_children_gets_advice_that_fits(empty):
    with pytest.raises(InputError, match=r"below 'bird'. Name its children, or leave"):
        Hierarchy({"mammal": ["cat", "dog"], "bird": empty})
    with pytest.raises(InputError, match=r"below 'bird'. Put a single child in the place"):
        Hierarchy({"mammal": ["cat", "dog"], "bird": ["owl"]})


def test_a_level_is_a_partition_that_evidence_can_be_grouped_by():
    tree = Hierarchy(ANIMALS)
    assert tree.level(1) == {"mammal": ["cat", "dog"], "bird": ["owl", "hawk", "wren"]}
    assert list(tree.level(2)) == ["cat", "dog", "raptor", "wren"]
    assert list(tree.level(9)) == list(CLASSES)
    grouped = Evidence(np.zeros((1, 5)), CLASSES).group(tree.level(2))
    assert grouped.classes == ("cat", "dog", "raptor", "wren")


def test_nodes_without_a_name_are_called_after_their_classes_as_groups_are():
    tree = Hierarchy([["a", "b"], ["c", ("d", "e")]])
    assert tree.inner_nodes == ("all", "a or b", "c, d or e", "d or e")
    assert Hierarchy(["a", {"x": ["b", "c"]}]).children("all") == ("a", "x")


@pytest.mark.parametrize("form", [list, np.array, pd.DataFrame, pl.DataFrame])
def test_pairs_of_child_and_parent_in_any_order_are_the_same_tree(form):
    tree = Hierarchy({"animal": ANIMALS})
    pairs = [(node, tree.parent(node)) for node in tree.nodes[1:]]
    if form is pl.DataFrame:
        pairs = {"child": [a for a, _ in pairs], "parent": [b for _, b in pairs]}
    assert Hierarchy.from_pairs(form(pairs)) == tree
    if form is list:
        again = Hierarchy.from_pairs(pairs[::-1])
        assert set(again.nodes) == set(tree.nodes)
        assert all(set(again.leaves(node)) == set(tree.leaves(node)) for node in tree.nodes)


def test_a_tree_of_a_linkage_and_one_of_a_thousand_levels():
    rng = np.random.default_rng(0)
    basis = Basis.from_linkage(linkage(rng.normal(size=(6, 2))))
    assert sorted(Hierarchy(basis.tree).classes) == list(range(6))
    deep = 0
    for k in range(1, 1001):
        deep = [deep, k] if k < 1000 else {"top": [deep, k]}
    tree = Hierarchy(deep)
    assert tree.depth(0) == 1000
    assert len(tree.classes) == 1001


def test_a_tree_cannot_be_changed_and_survives_pickling():
    tree = Hierarchy(ANIMALS)
    with pytest.raises(AttributeError):
        tree.nodes = ()
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert again != Hierarchy([["a", "b"], "c"])
    assert tree != "all"
    assert db.Hierarchy is Hierarchy


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": ["x", "y"], "b": ["y", "z"]}, "its own name; got 'y' twice"),
        ({"x": ["x", "y"], "z": "z"}, "its own name; got 'x' twice"),
        (["all", "b"], "its own name; got 'all' twice. Rename it; a root without"),
        ({"a": ["x"], "b": ["y", "z"]}, r"two children or more; got \['x'\] below 'a'"),
        ({"a": "x", "b": ["y", "z"]}, "two children or more; got 'x' below 'a'"),
        ([["x"], "y"], r"two children or more; got \['x'\]\. "),
        ("abc", "two children or more; got 'abc'"),
        ([], "two children or more"),
        (None, "two children or more"),
        ([{1, 2}, "x"], "a list, which has an order; got a set"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_sentence(tree, message):
    with pytest.raises(InputError, match=message):
        Hierarchy(tree)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("a", "r"), ("a", "s")], "one parent, another node; got 'a' and 's'"),
        ([("a", "r"), ("b", "s"), ("c", "r"), ("d", "s")], "one root .* got 'r', 's'"),
        ([("a", "b"), ("b", "a")], "one root .* got none"),
        ([("a", "r"), ("b", "r"), ("x", "y"), ("y", "x")], "got a circle"),
        ([("a", "b", "c")], "a child and its parent each"),
        ("ab", "a child and its parent each"),
        (7, "a child and its parent each"),
        ([], "a child and its parent each"),
    ],
)
def test_pairs_that_are_no_tree_are_refused_in_one_sentence(pairs, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_pairs(pairs)


def test_an_unknown_node_and_other_classes_are_refused():
    tree, other = Hierarchy(ANIMALS), Evidence(np.zeros((1, 2)), ["cat", "dog"])
    with pytest.raises(UnknownClassError, match=r"node must be one of .* got 'fish'"):
        tree.leaves("fish")
    with pytest.raises(InputError, match="over the same classes"):
        tree.posterior(other)
    with pytest.raises(InputError, match="over the same classes"):
        tree.evidence(other, "mammal")
    with pytest.raises(InputError, match="must have children; got 'cat'"):
        tree.evidence(Evidence(np.zeros((1, 5)), CLASSES), "cat")


# --- posteriors and evidence of nodes ---------------------------------------------------


@given(log_compositions(2), seeds)
def test_the_posterior_of_a_node_is_the_sum_over_its_classes(values, seed):
    rng = np.random.default_rng(seed)
    log_w, log_p = values
    evidence = Evidence(log_w)
    prior = np.exp(log_p[0] - log_p[0].max()) + 1e-9
    prior /= prior.sum()
    tree = Hierarchy(nested_lists(evidence.classes, rng))
    p = evidence.posterior(prior)
    found = tree.posterior(evidence, prior)
    for k, node in enumerate(tree.nodes):
        np.testing.assert_allclose(found[:, k], p[:, tree.leaves(node)].sum(axis=1), rtol=1e-10)


@given(log_compositions(2), seeds)
def test_probabilities_multiply_along_the_path_to_a_class(values, seed):
    log_w, log_p = values
    prior = np.exp(log_p[0] / 10)
    prior /= prior.sum()
    evidence = Evidence(log_w)
    tree = Hierarchy(nested_lists(evidence.classes, np.random.default_rng(seed)))
    label = tree.classes[-1]
    total, node = np.zeros(len(evidence)), label
    while (above := tree.parent(node)) is not None:
        children = tree.evidence(evidence, above, prior)
        mass = np.array([prior[list(tree.leaves(child))].sum() for child in children.classes])
        total += children.log_posterior(mass / mass.sum())[:, children.classes.index(node)]
        node = above
    np.testing.assert_allclose(total, evidence.log_posterior(prior)[:, label], rtol=1e-9, atol=1e-9)


@given(log_compositions(1), seeds)
def test_the_order_of_children_and_of_columns_does_not_matter(single, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence(single[0], [f"c{k}" for k in range(single[0].shape[1])])
    nested = nested_lists(evidence.classes, rng)
    tree, other = Hierarchy(nested), Hierarchy(shuffle(nested, rng))
    turned = evidence.restrict(rng.permutation(evidence.classes).tolist())
    first, second = tree.posterior(evidence), other.posterior(turned)
    leaves = {frozenset(other.leaves(node)): k for k, node in enumerate(other.nodes)}
    order = [leaves[frozenset(tree.leaves(node))] for node in tree.nodes]
    np.testing.assert_allclose(first, second[:, order], rtol=1e-12)


@given(log_compositions(2), seeds)
def test_grouping_twice_is_grouping_once(values, seed):
    log_w, log_p = values
    prior = np.exp(log_p[0] / 10)
    prior /= prior.sum()
    evidence = Evidence(log_w)
    tree = Hierarchy(nested_lists(evidence.classes, np.random.default_rng(seed)))
    once = evidence.group(tree.level(1), prior)
    fine = tree.level(2)
    mass = {name: prior[group].sum() for name, group in fine.items()}
    coarse = {
        name: [one for one, part in fine.items() if set(part) <= set(group)]
        for name, group in tree.level(1).items()
    }
    twice = evidence.group(fine, prior).group(coarse, mass)
    np.testing.assert_allclose(twice.log_likelihoods, once.log_likelihoods, rtol=1e-9, atol=1e-9)


def test_posteriors_of_nodes_do_not_underflow():
    tree = Hierarchy([["a", "b"], ["c", "d"]])
    evidence = Evidence(
        [[0.0, 0.0, -800.0, -800.0], [1e6, -np.inf, -np.inf, -np.inf]], list("abcd")
    )
    logs = dict(zip(tree.nodes, tree.log_posterior(evidence).T, strict=True))
    np.testing.assert_allclose(logs["c or d"], [-800.0, -np.inf], rtol=1e-15)
    np.testing.assert_allclose(logs["a or b"], 0.0, atol=1e-15)
    assert tree.decide(evidence).tolist() == ["a or b", "a"]
    with pytest.raises(ZeroPartsError, match="rules out all"):
        tree.evidence(evidence, "c or d")


def test_an_array_as_prior_is_in_the_order_of_the_evidence():
    tree = Hierarchy([["a", "b"], "c"])
    evidence = Evidence(np.zeros((1, 3)), ["c", "b", "a"])
    found = dict(zip(tree.nodes, tree.posterior(evidence, [0.7, 0.2, 0.1])[0], strict=True))
    assert found["c"] == pytest.approx(0.7, rel=1e-14)
    assert found["a or b"] == pytest.approx(0.3, rel=1e-14)


# --- decisions --------------------------------------------------------------------------


@given(log_compositions(1, rows=10, spread=4.0), seeds, st.floats(0.51, 0.999))
def test_the_answer_is_the_smallest_node_that_is_probable_enough(single, seed, confidence):
    evidence = Evidence(single[0])
    tree = Hierarchy(nested_lists(evidence.classes, np.random.default_rng(seed)))
    p = evidence.posterior()
    for row, answer in enumerate(tree.decide(evidence, confidence=confidence).tolist()):
        enough = {
            node: len(tree.leaves(node))
            for node in tree.nodes
            if p[row, list(tree.leaves(node))].sum() >= confidence
        }
        assert answer == min(enough, key=lambda node: enough[node])


@given(log_compositions(1, rows=10, spread=4.0), seeds, st.floats(0.0, 1.0))
def test_the_answer_of_least_cost_is_the_one_that_a_search_finds(single, seed, cost):
    evidence = Evidence(single[0])
    tree = Hierarchy(nested_lists(evidence.classes, np.random.default_rng(seed)))
    p, D = evidence.posterior(), evidence.n_classes

    def expected(row, node):
        held = p[row, list(tree.leaves(node))].sum()
        return held * cost * np.log(len(tree.leaves(node))) / np.log(D) + 1 - held

    for row, answer in enumerate(tree.decide(evidence, vague_costs=cost).tolist()):
        least = min(expected(row, node) for node in tree.nodes)
        assert expected(row, answer) == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_costs_of_the_limits_answer_with_the_root_or_with_the_best_of_all_classes():
    tree = Hierarchy(ANIMALS)
    evidence = Evidence.from_likelihoods([[0.3, 0.1, 0.2, 0.2, 0.2]], classes=CLASSES)
    free = dict.fromkeys(tree.inner_nodes, 0.0)
    dear = dict.fromkeys(tree.inner_nodes, 1.0)
    assert tree.decide(evidence, vague_costs=free).tolist() == ["all"]
    assert tree.decide(evidence, vague_costs=dear).tolist() == ["cat"]


def test_ties_at_the_confidence_are_accepted():
    tree = Hierarchy([["a", "b"], ["c", "d"]])
    evidence = Evidence.from_likelihoods([[0.5, 0.3, 0.1, 0.1]], classes=list("abcd"))
    assert tree.decide(evidence, confidence=0.8).tolist() == ["a or b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0.5}, "confidence must be above 0.5"),
        ({"confidence": 1.0}, "between 0 and 1, exclusive"),
        ({"vague_costs": 2.0}, "vague_costs must lie between 0, .* got 2"),
        ({"vague_costs": {"all": 0.2}}, "name every inner node and no other; it lacks 'mammal'"),
        ({"vague_costs": "much"}, "finite number"),
        ({"vague_costs": 0.5, "confidence": 0.95}, "must not come together"),
        (
            {"vague_costs": dict.fromkeys(["all", "mammal", "bird", "raptor", "cat"], 0.1)},
            "no other; it has 'cat'",
        ),
    ],
)
def test_options_of_decisions_that_mean_nothing_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Hierarchy(ANIMALS).decide(Evidence(np.zeros((1, 5)), CLASSES), **options)


@pytest.mark.parametrize("confidence", [0.7, 0.9, 0.99])
def test_answers_from_calibrated_evidence_are_right_as_often_as_they_say(confidence):
    rng = np.random.default_rng(3)
    tree = Hierarchy([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    prior = np.array([0.3, 0.05, 0.1, 0.1, 0.2, 0.05, 0.1, 0.1])
    y = rng.choice(8, 20_000, p=prior)
    centers = 1.2 * np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)]) * [1, 1.5, 2]
    x = centers[y] + rng.normal(size=(len(y), 3))
    evidence = Evidence(x @ centers.T - (centers**2).sum(axis=1) / 2)
    answers = tree.decide(evidence, prior, confidence=confidence)
    right = tree.contains(answers, y)
    error = np.sqrt(confidence * (1 - confidence) / len(y))
    assert right.mean() > confidence - 4 * error
    for answer in set(answers):  # also among those with the same answer
        same = answers == answer
        assert right[same].mean() > confidence - 4 * error * np.sqrt(len(y) / same.sum())
    # The posterior of the answers is the share of right ones.
    p = tree.posterior(evidence, prior)
    mean = np.mean([p[k, tree.nodes.index(answer)] for k, answer in enumerate(answers.tolist())])
    assert abs(right.mean() - mean) < 4 * error


@given(log_compositions(1, rows=10, spread=4.0), seeds)
def test_the_node_around_a_set_is_the_smallest_that_holds_all_of_it(single, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence(single[0])
    tree = Hierarchy(nested_lists(evidence.classes, rng))
    sets = evidence.prediction_set(0.2)
    for members, node in zip(sets, tree.enclose(sets).tolist(), strict=True):
        holding = [one for one in tree.nodes if set(members) <= set(tree.leaves(one))]
        assert node == min(holding, key=lambda one: len(tree.leaves(one)))


def test_sets_over_other_classes_are_refused():
    sets = Evidence(np.zeros((1, 2)), ["cat", "dog"]).prediction_set(0.1)
    with pytest.raises(InputError, match="sets must be over the classes"):
        Hierarchy(ANIMALS).enclose(sets)


def test_information_of_an_answer_is_how_far_the_prior_is_narrowed():
    tree = Hierarchy(ANIMALS)
    prior = {"cat": 0.5, "dog": 0.25, "owl": 0.125, "hawk": 0.0625, "wren": 0.0625}
    found = tree.information(["cat", "dog", "mammal", "bird", "all"], prior)
    np.testing.assert_allclose(found, [1, 2, -np.log2(0.75), 2, 0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(tree.information(["wren"], unit="nat"), np.log(5), rtol=1e-12)


def test_answers_that_are_no_nodes_are_refused():
    tree = Hierarchy(ANIMALS)
    assert tree.contains(["bird", "bird", "cat"], ["owl", "cat", "cat"]).tolist() == [1, 0, 1]
    with pytest.raises(UnknownClassError, match="answers must hold"):
        tree.contains(["fish"], ["cat"])
    with pytest.raises(InputError, match="one label for each of 2 samples"):
        tree.contains(["cat", "dog"], ["cat"])


# --- LLRs whatever the prior within groups ----------------------------------------------


@given(log_compositions(1), seeds)
def test_every_prior_within_groups_gives_an_llr_within_the_bounds(single, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence(single[0])
    D = evidence.n_classes
    cut = int(rng.integers(1, D))
    a, b = list(range(cut)), list(range(cut, D))
    low, high = evidence.llr_bounds(a, b)
    for _ in range(5):
        llr = evidence.llr(a, b, prior=rng.dirichlet(np.ones(D)) * (1 - 1e-6) + 1e-6 / D)
        assert (llr >= low - 1e-9).all()
        assert (llr <= high + 1e-9).all()
    corners = np.array([[evidence.llr(i, j) for i in a] for j in b])
    np.testing.assert_array_equal(low, corners.min(axis=(0, 1)))
    np.testing.assert_array_equal(high, corners.max(axis=(0, 1)))


def test_bounds_with_classes_that_are_ruled_out():
    evidence = Evidence.from_likelihoods(
        [[1, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 2, 0]], classes=list("abcd")
    )
    low, high = evidence.llr_bounds(["a", "b"], ["c", "d"])
    np.testing.assert_array_equal(low, [-np.inf, np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(high, [0, np.inf, -np.inf, np.inf])
    with pytest.raises(ZeroPartsError, match="must be positive"):
        evidence[1].llr_bounds("b", ["c", "d"])
    with pytest.raises(InputError, match="a and b must share no class"):
        evidence.llr_bounds(["a", "b"], ["b", "c"])


PAIRS = [("cat", "mammal"), ("dog", "mammal"), ("mammal", "animal"), ("owl", "animal")]


@pytest.mark.parametrize("empty", [None, float("nan"), "", " "])
def test_a_child_without_a_parent_is_the_root(empty):
    assert Hierarchy.from_pairs([("animal", empty), *PAIRS]) == Hierarchy.from_pairs(PAIRS)
    with pytest.raises(InputError, match="one root that has no parent; got 'cow', 'animal'"):
        Hierarchy.from_pairs([("cow", empty), *PAIRS])
    with pytest.raises(InputError, match="one parent, another node"):
        Hierarchy.from_pairs([(empty, "animal"), *PAIRS])


def test_a_child_that_is_its_own_parent_is_named():
    with pytest.raises(InputError, match="got 'cow' and 'cow'"):
        Hierarchy.from_pairs([*PAIRS, ("cow", "cow")])


def test_children_may_be_arrays_and_ranges():
    tree = Hierarchy({"a": np.array(["x", "y"]), "b": range(2), "c": [np.arange(2, 4), "z"]})
    assert tree == Hierarchy({"a": ["x", "y"], "b": [0, 1], "c": [[2, 3], "z"]})


def test_answers_with_long_names_do_not_take_the_room_of_the_longest_each():
    classes = [f"class {k}" for k in range(100)]
    tree = Hierarchy([classes[:50], classes[50:]])
    evidence = Evidence(np.where(np.arange(100) < 50, 0.0, -50.0)[None], classes)
    for answers in (tree.decide(evidence), tree.enclose(evidence.prediction_set(0.1))):
        assert answers.dtype == object
        assert answers.tolist() == [tree.nodes[1]]


def test_what_is_no_evidence_and_what_is_no_node_is_refused():
    tree = Hierarchy.from_pairs(PAIRS)
    for method in (tree.decide, tree.evidence, tree.posterior):
        with pytest.raises(InputError, match=r"evidence must be Evidence.*got ndarray"):
            method(np.zeros((1, 3)))
    with pytest.raises(InputError, match="node must be one of"):
        tree.leaves(["cat"])
