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
    counts = [f"{n.min()} per bin" for n in (curve.count for curve in drawn.curves)]
    names = ["system: Czech", "system: Polish", "system: Slovak"]
    assert labels == [f"{name} ({n})" for name, n in zip(names, counts, strict=True)]
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


def draw_posteriors(p, seed=0, **options):
    """Reliability of a class that has these posteriors and is true as often as they say."""
    y = (np.random.default_rng(seed).random(len(p)) < p).astype(int)
    return plots.ReliabilityDisplay.from_predictions(y, np.log(p / (1 - p)), **options)


def test_points_far_apart_are_not_joined_by_a_line():
    p = np.concatenate([np.linspace(0.01, 0.2, 100), np.linspace(0.8, 0.99, 100)])
    drawn = draw_posteriors(p)
    x, y = drawn.lines_[0].lines[0].get_data()
    (gap,) = np.flatnonzero(np.isnan(x))
    assert np.isnan(y[gap])
    assert x[gap - 1] < 0.21 < 0.79 < x[gap + 1]
    np.testing.assert_array_equal(x[~np.isnan(x)], drawn.curves[0].predicted)


def test_points_are_not_joined_across_posteriors_that_do_not_occur():
    p = np.concatenate([np.linspace(0.36, 0.49, 100), np.linspace(0.61, 0.74, 100)])
    x, _ = draw_posteriors(p).lines_[0].lines[0].get_data()
    (gap,) = np.flatnonzero(np.isnan(x))
    assert x[gap - 1] < 0.5 < 0.6 < x[gap + 1]


def test_points_of_posteriors_everywhere_are_joined():
    x, _ = draw_posteriors(np.linspace(0.001, 0.999, 400)).lines_[0].lines[0].get_data()
    assert not np.isnan(x).any()


def test_the_legend_counts_the_samples_of_a_bin_and_tall_bars_their_share():
    p = np.concatenate([np.full(60, 0.02), np.linspace(0.1, 0.9, 342)])
    drawn = draw_posteriors(p, n_bins=4)
    count = drawn.curves[0].count
    first = drawn.ax_.get_legend().get_texts()[0].get_text()
    assert first == f"n = 402 ({count.min()} to {count.max()} per bin)"
    (text,) = drawn.ax_.texts
    assert text.get_text() == f"{100 * drawn.curves[0].histogram[0]:.0f}"
    assert drawn.curves[0].histogram[0] >= 0.1
