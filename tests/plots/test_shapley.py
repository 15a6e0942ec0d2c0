"""Displays of contributions: what is drawn is what the explanation says."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from deciban import Evidence, LinearDiscriminant, shapley_compositions
from deciban.exceptions import InputError
from deciban.explanation import ShapleyCompositions
from deciban.plots import ShapleyDisplay
from deciban.plots._plane import extent

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


@pytest.mark.parametrize(("far", "shows_zero"), [(0.0, True), (1.0, True), (40.0, False)])
def test_the_frame_of_a_path_is_near_it_and_shows_zero_if_that_is_near(far, shows_zero):
    base = Evidence([[far, 0.0, -far]], CLASSES)
    found = ShapleyCompositions(base, explanation().contributions, ("x", "y", "z"))
    display = ShapleyDisplay(found).plot_path(unit="nat")
    limits = np.array([display.ax_.get_xlim(), display.ax_.get_ylim()])
    path = np.vstack([base.ilr(), [arrow.xy for arrow in display.arrows_]])
    assert ((limits[:, 0] < path) & (path < limits[:, 1])).all()
    assert ((limits[:, 0] < 0) & (limits[:, 1] > 0)).all() == shows_zero
    assert np.ptp(path, axis=0).max() > np.ptp(limits, axis=1).max() / 4


def test_a_path_without_length_has_a_frame():
    found = ShapleyCompositions(Evidence([[0.0, 0.0, 0.0]]), np.zeros((1, 1, 3)), ("x",))
    assert np.ptp(ShapleyDisplay(found).plot_path().ax_.get_xlim()) > 0


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


def extents(display):
    """Boxes of all texts within the axes, as drawn."""
    display.figure_.draw_without_rendering()
    return [extent(text) for text in display.ax_.texts if text.get_text()]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_names_along_a_path_do_not_overlap_and_stay_inside(load):
    X, y = load(return_X_y=True, as_frame=True)
    found = shapley_compositions(
        LinearDiscriminant(shrinkage=0.1).fit(X, y), X[100:101], X[::6], n_permutations=4
    )
    display = ShapleyDisplay(found).plot_path()
    assert len(display.arrows_) == min(5, X.shape[1])
    boxes, frame = extents(display), display.ax_.get_window_extent()
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    corners = [corner for box in boxes for corner in ((box.x0, box.y0), (box.x1, box.y1))]
    assert all(frame.contains(*corner) for corner in corners)


def test_rows_of_a_waterfall_keep_their_names_and_show_small_values():
    base = Evidence([[0.0, 0.0]], ["a", "b"])
    values = np.array([[[-0.02, 0.02], [0.01, -0.01]]])
    found = ShapleyCompositions(base, values, ("petal-length", 60 * "x"))
    display = ShapleyDisplay(found).plot(unit="ban")
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert texts[1] == "petal-length  +0.0174"
    assert (texts[0], texts[3]) == ("base  +0.0000", "total  +0.0087")
    assert texts[2].endswith("  −0.0087")
    assert max(len(line) for text in texts for line in text.split("\n")) < 45
    display.figure_.draw_without_rendering()
    width = display.ax_.get_window_extent().width / display.figure_.bbox.width
    assert width > 0.4


def test_whiskers_of_few_draws_are_as_wide_as_students_t_says():
    draws = explanation().contributions + np.array([-0.1, 0.1])[:, None, None, None] * [1, 0, -1]
    found = ShapleyCompositions(explanation().base, draws.mean(axis=0), ("x", "y", "z"), draws)
    display = ShapleyDisplay(found).plot(unit="nat")
    low, high = display.errors_[0].lines[2][0].get_segments()[0][:, 0]
    assert (high - low) / 2 == pytest.approx(12.7062 * display.errors[0], rel=1e-5)


def test_what_is_no_explanation_is_refused():
    with pytest.raises(InputError, match="explanation must be ShapleyCompositions; got Evidence"):
        ShapleyDisplay(explanation().total)
