"""Displays of contributions: what is drawn is what the explanation says."""

import numpy as np
import pytest

from deciban import Evidence
from deciban.exceptions import InputError
from deciban.explanation import ShapleyCompositions
from deciban.plots import ShapleyDisplay

CLASSES = ("a", "b", "c")


def explanation(draws=None):
    base = Evidence([[0.5, 0.0, -0.5]], CLASSES)
    values = np.array([[[0.1, 0.0, -0.1], [2.0, -1.0, -1.0], [-1.0, 0.5, 0.5]]])
    return ShapleyCompositions(base, values, ("x", "y", "z"), draws)


def test_a_waterfall_goes_from_the_base_to_the_total_largest_step_first():
    found = explanation()
    display = ShapleyDisplay(found).plot(unit="nat")
    assert (display.a, display.b) == ("a", "b")
    assert display.names == ["y", "z", "x"]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bars_]
    np.testing.assert_allclose(ends, [(0.5, 3.5), (3.5, 2.0), (2.0, 2.1)], rtol=1e-12)
    np.testing.assert_allclose(ends[-1][1], found.total.llr("a", "b")[0], rtol=1e-12)
    assert display.ax_.get_xlabel() == "LLR of a against b (nat)"
    assert display.errors_ == []


def test_small_contributions_are_drawn_as_their_sum_with_its_own_error():
    rng = np.random.default_rng(0)
    draws = explanation().contributions + 0.1 * rng.normal(size=(30, 1, 3, 3))
    found = ShapleyCompositions(explanation().base, draws.mean(axis=0), ("x", "y", "z"), draws)
    display = ShapleyDisplay(found, a="c", b="a", max_features=2).plot()
    assert display.names == ["y", "2 others"]
    summed = (draws[:, 0, [0, 2], 2] - draws[:, 0, [0, 2], 0]).sum(axis=1)
    np.testing.assert_allclose(display.errors[1], summed.std(ddof=1) / np.sqrt(30), rtol=1e-12)
    assert len(display.errors_) == 1


def test_arrows_of_a_path_add_up_to_the_evidence():
    found = explanation()
    display = ShapleyDisplay(found).plot_path(unit="nat")
    assert len(display.arrows_) == 3
    np.testing.assert_allclose(display.arrows_[-1].xy, found.total.ilr()[0], rtol=1e-12)


def test_a_path_needs_three_classes_and_a_sample_that_exists():
    two = ShapleyCompositions(Evidence([[0.0, 0.0]]), np.zeros((1, 1, 2)), ("x",))
    with pytest.raises(InputError, match="three classes for a path; got 2"):
        ShapleyDisplay(two).plot_path()
    with pytest.raises(InputError, match="sample must be a whole number from 0 to 0"):
        ShapleyDisplay(two, sample=1)


def test_an_estimator_is_explained_and_drawn():
    display = ShapleyDisplay.from_estimator(
        lambda X: np.column_stack([X[:, 0], 0 * X[:, 0]]), [[2.0, 5.0]], [[1.0, 0.0]], unit="nat"
    )
    np.testing.assert_allclose(display.llrs, [1.0, 0.0], atol=1e-12)
