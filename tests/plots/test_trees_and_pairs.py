"""Bifurcation trees and maps of pairwise costs."""

from types import SimpleNamespace

import numpy as np
import pytest

from deciban import Basis, Evidence, metrics, plots
from deciban.exceptions import InputError


def texts_of(display):
    return [text.get_text() for text in display.texts_]


# --- trees ------------------------------------------------------------------------------


def test_the_nodes_show_the_llrs_of_their_groups():
    basis = Basis.from_tree((("a", "b"), ("c", "d")))
    evidence = Evidence.from_likelihoods([[4.0, 1.0, 2.0, 3.0]], ["d", "c", "b", "a"])
    drawn = plots.BifurcationTreeDisplay(basis, evidence).plot()
    np.testing.assert_allclose(drawn.llrs, np.log([3 / 2, 1 / 4, 1.0]), atol=1e-15)
    assert {"+1.8", "−6.0", "+0.0"} <= set(texts_of(drawn))
    assert [f" {label}" in texts_of(drawn) for label in "abcd"] == [True] * 4
    assert "LLR (deciban)" in drawn.ax_.get_xlabel()
    assert "equal weights" in drawn.ax_.get_xlabel()
    prior = {"a": 0.1, "b": 0.3, "c": 0.3, "d": 0.3}
    weighted = plots.BifurcationTreeDisplay.from_predictions(
        None, evidence, basis=basis, prior=prior
    )
    np.testing.assert_allclose(weighted.llrs[2], np.log(2.25 / 2.5))
    assert "weights by the prior" in weighted.ax_.get_xlabel()


def test_the_bold_branches_lead_to_the_most_likely_class_of_two_groups():
    # A class that is ruled out does not pull its group down, as it did with balances.
    basis = Basis.from_tree((("setosa", "versicolor"), "virginica"))
    evidence = Evidence([[-69.2, 0.0, -2.0]], basis.classes)
    drawn = plots.BifurcationTreeDisplay(basis, evidence).plot()
    bold = [line.get_linewidth() > 2 for line in drawn.lines_]
    assert bold == [False, True, True, False]


def test_leaves_stand_in_the_order_of_the_tree_and_nodes_left_of_what_is_below():
    basis = Basis.from_tree((("b", "a"), "c"), classes=["a", "b", "c"])
    drawn = plots.BifurcationTreeDisplay(basis).plot()
    place = {text.get_text().strip(): text.get_position() for text in drawn.texts_}
    assert place["b"][1] < place["a"][1] < place["c"][1]  # the axis points down
    assert place["$l_{2}$"][0] < place["$l_{1}$"][0] < place["a"][0]
    assert len(drawn.lines_) == 4
    assert drawn.llrs is None


def test_the_branch_that_the_evidence_supports_is_bold():
    basis = Basis.from_tree(("a", "b"))
    drawn = plots.BifurcationTreeDisplay(basis, Evidence.from_llr([-2.0], "a", "b")).plot()
    plus, minus = drawn.lines_
    assert minus.get_linewidth() > plus.get_linewidth()


def test_classes_that_are_ruled_out_give_infinite_llrs_or_none():
    basis = Basis.from_tree((("a", "b"), ("c", "d")))
    evidence = Evidence([[0.0, -1.0, -np.inf, -np.inf]], ["a", "b", "c", "d"])
    drawn = plots.BifurcationTreeDisplay(basis, evidence).plot()
    np.testing.assert_array_equal(drawn.llrs, [1.0, np.nan, np.inf])
    assert {"+∞", "?"} <= set(texts_of(drawn))
    turned = Evidence([[-np.inf, 0.0, 0.0, 0.0]], ["a", "b", "c", "d"])
    drawn = plots.BifurcationTreeDisplay(basis, turned).plot()
    assert "−∞" in texts_of(drawn)
    np.testing.assert_allclose(drawn.llrs, [-np.inf, 0, -np.log(2)], atol=1e-15)


def test_a_tree_of_many_classes_is_drawn():
    drawn = plots.BifurcationTreeDisplay(Basis.gram_schmidt(60)).plot()
    assert len(drawn.lines_) == 2 * 59


def test_a_tree_needs_a_partition_and_one_sample():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    with pytest.raises(InputError, match="basis must be a sequential binary partition"):
        plots.BifurcationTreeDisplay(Basis(Basis.gram_schmidt(3).contrast @ turn))
    with pytest.raises(InputError, match="evidence must be about one sample for a tree; got 2"):
        plots.BifurcationTreeDisplay(Basis.gram_schmidt(3), Evidence(np.zeros((2, 3))))


def test_a_tree_is_drawn_from_an_estimator_as_other_displays_are(figures):
    evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]])
    estimator = SimpleNamespace(evidence=lambda X: evidence)
    ax = figures.figure().add_subplot()
    drawn = plots.BifurcationTreeDisplay.from_estimator(estimator, [[0.0]], ax=ax, unit="bit")
    np.testing.assert_allclose(drawn.llrs, np.log([2, 4.5]))
    assert (drawn.ax_, drawn.figure_) == (ax, ax.figure)


# --- pairs ------------------------------------------------------------------------------


def test_the_map_has_the_costs_of_the_metric_on_its_two_sides(three):
    drawn = plots.PairwiseDisplay.from_predictions(*three)
    costs = metrics.pairwise_cllr(*three)
    shown = drawn.image_.get_array()
    assert shown[0, 2] == costs.cllr[0, 2]
    assert shown[2, 0] == costs.cllr_min[0, 2]
    assert shown.mask.diagonal().all()
    assert len(drawn.texts_) == 6
    assert f"{costs.cllr[0, 2]:.2f}".removeprefix("0") in texts_of(drawn)
    assert [text.get_text() for text in drawn.ax_.get_yticklabels()] == list(three[1].classes)
    assert drawn.colorbar_.ax.get_ylabel() == "cost of the LLRs (bit)"


def test_costs_above_one_bit_and_infinite_ones_are_shown():
    cllr = np.array([[np.nan, np.inf, 0.5], [np.inf, np.nan, 12.3], [0.5, 12.3, np.nan]])
    drawn = plots.PairwiseDisplay(cllr, np.minimum(cllr, 1.0), ["a", "b", "c"]).plot()
    assert texts_of(drawn) == ["∞", ".50", "1.00", "12", ".50", "1.00"]
    assert drawn.image_.get_clim() == (0, 1)
    assert drawn.colorbar_.extend == "max"


def test_a_hundred_classes_have_few_names_and_no_numbers():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(100), 4)
    evidence = Evidence(rng.normal(size=(400, 100)) + 3 * np.eye(100)[y])
    drawn = plots.PairwiseDisplay.from_predictions(y, evidence)
    assert drawn.texts_ == []
    assert len(drawn.ax_.get_xticks()) == 10
    assert drawn.image_.get_array().shape == (100, 100)


def test_numbers_can_be_asked_for_or_left_out(three):
    assert plots.PairwiseDisplay.from_predictions(*three, numbers=False).texts_ == []


def test_perfect_evidence_has_a_map_of_zeros():
    y = np.repeat([0, 1], 3)
    drawn = plots.PairwiseDisplay.from_predictions(y, Evidence.from_llr(np.where(y, 800.0, -800)))
    assert texts_of(drawn) == [".00", ".00"]


def test_costs_of_two_shapes_are_refused():
    with pytest.raises(InputError, match="square and of one shape; got"):
        plots.PairwiseDisplay(np.zeros((2, 2)), np.zeros((3, 3)))
