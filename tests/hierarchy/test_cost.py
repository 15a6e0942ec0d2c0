"""Cross-entropy over a tree: the chain rule, weights, infinite costs, intervals."""

import numpy as np
import pytest
from hypothesis import given

from deciban import Evidence, Hierarchy, hierarchy, metrics
from deciban.exceptions import InputError
from tests.strategies import log_compositions, nested_lists, seeds

TREE = Hierarchy({"ab": ["a", "b"], "cd": ["c", "d"]})


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    y = rng.choice(list("abcd"), 200, p=[0.4, 0.3, 0.2, 0.1])
    return y, Evidence(rng.normal(size=(200, 4)) + 2 * (y[:, None] == list("abcd")), list("abcd"))


@given(log_compositions(2, rows=100, spread=50.0), seeds)
def test_the_parts_of_any_tree_sum_to_the_cross_entropy(values, seed):
    rng = np.random.default_rng(seed)
    evidence = Evidence(values[0])
    D = evidence.n_classes
    y, weight = np.arange(100) % D, rng.uniform(0.1, 2, 100)
    prior = np.exp(values[1][0] / 50)
    prior /= prior.sum()
    options = {"prior": prior, "sample_weight": weight}
    cost = hierarchy.hierarchical_cross_entropy(
        y, evidence, Hierarchy(nested_lists(range(D), rng)), **options
    )
    total = metrics.cross_entropy(y, evidence, **options)
    np.testing.assert_allclose(cost.total, total, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(cost.parts.sum(), total, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(cost.probabilities * cost.costs, cost.parts, rtol=1e-12)
    # Without evidence, too: the entropy of the prior.
    np.testing.assert_allclose(
        cost.probabilities @ cost.entropies, -prior @ np.log(prior), rtol=1e-12
    )


def test_the_cost_of_a_node_is_that_of_its_evidence_among_its_samples(data):
    y, evidence = data
    prior = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    cost = hierarchy.hierarchical_cross_entropy(y, evidence, TREE, prior=prior, unit="bit")
    assert cost.nodes == ("all", "ab", "cd")
    np.testing.assert_allclose(cost.probabilities, [1, 0.3, 0.7], rtol=1e-12)
    rows = np.isin(y, ["c", "d"])
    within = metrics.cross_entropy(
        y[rows], TREE.evidence(evidence[rows], "cd", prior), prior=[3 / 7, 4 / 7], unit="bit"
    )
    np.testing.assert_allclose(cost.costs[2], within, rtol=1e-12)
    # At the root, the samples of each class count by its prior within the group.
    loss = -TREE.evidence(evidence, prior=prior).log_posterior([0.3, 0.7]) / np.log(2)
    of_class = [loss[y == label, k].mean() for label, k in zip("abcd", (0, 0, 1, 1), strict=True)]
    np.testing.assert_allclose(cost.costs[0], [0.1, 0.2, 0.3, 0.4] @ np.array(of_class), rtol=1e-12)


def test_weights_are_repetitions_and_the_class_mix_does_not_matter(data):
    y, evidence = data
    times = np.arange(len(y)) % 3 + 1
    rows = np.arange(len(y)).repeat(times)
    weighted = hierarchy.hierarchical_cross_entropy(y, evidence, TREE, sample_weight=times)
    repeated = hierarchy.hierarchical_cross_entropy(y[rows], evidence[rows], TREE)
    np.testing.assert_allclose(weighted.parts, repeated.parts, rtol=1e-12)
    rows = np.concatenate([np.flatnonzero(y == "a").repeat(5), np.flatnonzero(y != "a")])
    mixed = hierarchy.hierarchical_cross_entropy(y[rows], evidence[rows], TREE)
    plain = hierarchy.hierarchical_cross_entropy(y, evidence, TREE)
    np.testing.assert_allclose(mixed.parts, plain.parts, rtol=1e-12)


def test_likelihoods_of_e_to_minus_800_are_told_apart_below_their_node():
    evidence = Evidence([[0.0, 0.0, -800.0, -801.0]] * 4, list("abcd"))
    cost = hierarchy.hierarchical_cross_entropy(list("abcd"), evidence, TREE)
    group = np.log1p(np.exp(-1))  # what c loses within its node; d loses one nat more
    np.testing.assert_allclose(cost.costs[1:], [np.log(2), group + 0.5], rtol=1e-12)
    assert cost.total == pytest.approx(metrics.cross_entropy(list("abcd"), evidence), rel=1e-14)


def test_a_true_class_that_is_ruled_out_costs_without_limit_where_that_happens():
    never = -np.inf
    table = [[0.0, 0, never, never], [0, 0, 0, 0], [0, 0, never, never], [0, 0, 0, never]]
    cost = hierarchy.hierarchical_cross_entropy(list("abcd"), Evidence(table, list("abcd")), TREE)
    assert cost.total == np.inf
    assert cost.parts[0] == np.inf  # c and d are both ruled out
    assert cost.parts[2] == np.inf  # d is, given that it is c or d
    table[3] = [0, 0, 0, 0]
    cost = hierarchy.hierarchical_cross_entropy(list("abcd"), Evidence(table, list("abcd")), TREE)
    assert cost.parts[0] == np.inf
    assert np.isfinite(cost.parts[1:]).all()


def test_the_cost_of_a_node_has_a_bootstrap_interval(data):
    y, evidence = data

    def within_ab(y_true, evidence):
        return hierarchy.hierarchical_cross_entropy(y_true, evidence, TREE).costs[1]

    value, low, high, _ = metrics.bootstrap(within_ab, y, evidence, n_resamples=200)
    assert low < value < high
    assert value == within_ab(y, evidence)


def test_what_is_no_hierarchy_is_refused(data):
    with pytest.raises(InputError, match="hierarchy must be a Hierarchy; got 'ab'"):
        hierarchy.hierarchical_cross_entropy(*data, "ab")
    with pytest.raises(InputError, match="over the same classes"):
        hierarchy.hierarchical_cross_entropy(*data, Hierarchy([["a", "b"], "c"]))
