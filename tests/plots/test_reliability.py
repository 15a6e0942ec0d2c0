"""Reliability diagrams; the curves themselves are tested in tests/metrics."""

import numpy as np

from deciban import Evidence, plots


def test_ratios_are_of_the_class_that_they_favor(llrs):
    (curve,) = plots.ReliabilityDisplay.from_predictions(*llrs).curves
    (same,) = plots.ReliabilityDisplay.from_predictions(
        llrs[0], Evidence.from_llr(llrs[1]), pos_label=1
    ).curves
    assert curve.of == same.of == "1"
    np.testing.assert_array_equal(curve.observed, same.observed)


def test_each_class_can_have_its_curve(three):
    drawn = plots.ReliabilityDisplay.from_predictions(*three, kind="each", name="system")
    assert [curve.of for curve in drawn.curves] == ["Czech", "Polish", "Slovak"]
    labels = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert labels == ["system: Czech", "system: Polish", "system: Slovak"]
    assert drawn.histogram_ is None
    assert drawn.ax_.get_xlabel() == "posterior probability of each class"


def test_a_second_system_is_drawn_beside_the_first(three):
    y, evidence = three
    first = plots.ReliabilityDisplay.from_predictions(y, evidence, name="one")
    second = plots.ReliabilityDisplay.from_predictions(y, 3 * evidence, name="two", ax=first.ax_)
    assert first.histogram_ is not None
    assert second.histogram_ is None
    assert first.lines_[0].lines[0].get_color() != second.lines_[0].lines[0].get_color()


def test_a_prior_of_ratios_is_in_the_order_of_the_labels():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    llr = rng.normal(size=400) + y
    one = plots.ReliabilityDisplay.from_predictions(y, -llr, pos_label=0, prior=[0.9, 0.1])
    same = plots.ReliabilityDisplay.from_predictions(
        y, Evidence.from_llr(llr), pos_label=0, prior=[0.9, 0.1]
    )
    np.testing.assert_allclose(one.curves[0].predicted, same.curves[0].predicted)
