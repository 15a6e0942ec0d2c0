"""Bifurcation trees and maps of pairwise costs."""

from types import SimpleNamespace

import numpy as np
import pytest

from deciban import Basis, Evidence, metrics, plots
from deciban.exceptions import InputError


def texts_of(display):
    return [text.get_text() for text in display.texts_]


# --- trees ------------------------------------------------------------------------------


def test_the_balances_at_the_nodes_are_the_coordinates_of_the_evidence():
    basis = Basis.from_tree((("a", "b"), ("c", "d")))
    evidence = Evidence.from_likelihoods([[4.0, 1.0, 2.0, 3.0]], ["d", "c", "b", "a"])
    drawn = plots.BifurcationTreeDisplay(basis, evidence).plot()
    np.testing.assert_allclose(drawn.balances, evidence.ilr(basis)[0])
    decibans = 10 * evidence.ilr(basis)[0] / np.log(10)
    for k, value in enumerate(decibans):
        assert f"$l_{{{k + 1}}}$ {value:+.1f}".replace("-", "−") in texts_of(drawn)
    assert [f" {label}" in texts_of(drawn) for label in "abcd"] == [True] * 4
    assert "balances (deciban)" in drawn.ax_.get_xlabel()


def test_leaves_stand_in_the_order_of_the_tree_and_nodes_left_of_what_is_below():
    basis = Basis.from_tree((("b", "a"), "c"), classes=["a", "b", "c"])
    drawn = plots.BifurcationTreeDisplay(basis).plot()
    place = {text.get_text().strip(): text.get_position() for text in drawn.texts_}
    assert place["b"][1] < place["a"][1] < place["c"][1]  # the axis points down
    assert place["$l_{2}$"][0] < place["$l_{1}$"][0] < place["a"][0]
    assert len(drawn.lines_) == 4
    assert drawn.balances is None


def test_the_branch_that_the_evidence_supports_is_bold():
    basis = Basis.from_tree(("a", "b"))
    drawn = plots.BifurcationTreeDisplay(basis, Evidence.from_llr([-2.0], "a", "b")).plot()
    plus, minus = drawn.lines_
    assert minus.get_linewidth() > plus.get_linewidth()


def test_classes_that_are_ruled_out_give_infinite_balances_or_none():
    basis = Basis.from_tree((("a", "b"), ("c", "d")))
    evidence = Evidence([[0.0, -np.inf, -1.0, -np.inf]], ["a", "b", "c", "d"])
    drawn = plots.BifurcationTreeDisplay(basis, evidence).plot()
    np.testing.assert_array_equal(drawn.balances, [np.inf, np.inf, np.nan])
    assert "$l_{1}$ +∞" in texts_of(drawn)
    assert "$l_{3}$ ?" in texts_of(drawn)
    turned = Evidence([[-np.inf, 0.0, 0.0, 0.0]], ["a", "b", "c", "d"])
    assert "$l_{1}$ −∞" in texts_of(plots.BifurcationTreeDisplay(basis, turned).plot())


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
    np.testing.assert_allclose(drawn.balances, evidence.ilr()[0])
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
