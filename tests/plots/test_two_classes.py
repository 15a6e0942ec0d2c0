"""Displays of LLRs: the data are those of the metrics, and infinite LLRs are drawn."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, metrics, plots
from deciban.exceptions import InputError, UnknownClassError
from deciban.metrics.intervals import wilson

LLR_DISPLAYS = [
    plots.LLRHistogramDisplay,
    plots.PAVDisplay,
    plots.TippettDisplay,
    plots.EmpiricalCrossEntropyDisplay,
    plots.NormalizedBayesErrorDisplay,
]
TWO_CLASS_DISPLAYS = [*LLR_DISPLAYS, plots.DETDisplay]


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def texts_of(display):
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    return ticks + [text.get_text() for text in display.ax_.texts]


# --- what all of them do ----------------------------------------------------------------


@pytest.mark.parametrize("display", TWO_CLASS_DISPLAYS)
@pytest.mark.parametrize("size", [(6.4, 4.8), (3.4, 2.8)])
def test_it_draws_into_the_axes_given(display, size, llrs, figures):
    fig, (left, right) = figures.subplots(2, figsize=size)
    drawn = display.from_predictions(*llrs, ax=right)
    assert drawn.ax_ is right
    assert drawn.figure_ is fig
    assert right.has_data()
    assert not left.has_data()
    fig.draw_without_rendering()


@pytest.mark.parametrize("display", TWO_CLASS_DISPLAYS)
def test_it_makes_a_figure_of_its_own_where_no_axes_are_given(display, llrs, figures):
    first, second = (display.from_predictions(*llrs) for _ in range(2))
    assert first.figure_ is not second.figure_
    assert len(figures.get_fignums()) == 2


@pytest.mark.parametrize("display", LLR_DISPLAYS)
@pytest.mark.parametrize("unit", ["nat", "bit", "ban", "deciban"])
def test_the_axis_of_log_ratios_names_its_unit(display, unit, llrs):
    ax = display.from_predictions(*llrs, unit=unit).ax_
    assert f"({unit})" in ax.get_xlabel()
    assert ax.get_ylabel().endswith(("(%)", "(bit)", "(ratio)", f"({unit})"))


@pytest.mark.parametrize("display", LLR_DISPLAYS)
def test_an_unknown_unit_is_refused_before_anything_is_drawn(display, llrs, figures):
    with pytest.raises(InputError, match="unit must be one of nat, bit, ban, deciban; got 'dB'"):
        display.from_predictions(*llrs, unit="dB")
    assert not figures.get_fignums()


@pytest.mark.parametrize("display", TWO_CLASS_DISPLAYS)
def test_a_pair_of_many_classes_is_drawn_on_its_own_samples(display, three):
    y, evidence = three
    drawn = display.from_predictions(y, evidence, pos_label="Czech", other_label="Slovak")
    rows = y != "Polish"
    alone = evidence[rows].restrict(["Slovak", "Czech"])
    same = display.from_predictions(y[rows], alone, pos_label="Czech")
    assert drawn.pos_label == "Czech"
    assert drawn.other_label == same.other_label == "Slovak"
    for name, value in vars(same).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(drawn, name))


@pytest.mark.parametrize("display", TWO_CLASS_DISPLAYS)
def test_log_likelihoods_of_two_classes_give_the_same_as_their_ratios(display, llrs):
    y, llr = llrs[0][3:140], llrs[1][3:140]
    y, llr = np.append(y, llrs[0][200:]), np.append(llr, llrs[1][200:])
    wide = display.from_predictions(y, np.column_stack([0 * llr, llr]))
    narrow = display.from_predictions(y, llr)
    for name, value in vars(narrow).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(wide, name))


def test_the_other_class_must_be_named_where_there_are_several(three):
    with pytest.raises(InputError, match=r"evidence must be over two classes; got 3.*other_label"):
        plots.DETDisplay.from_predictions(*three, pos_label="Czech")


def test_a_misspelt_label_is_not_left_out_quietly(three):
    y, evidence = three
    y = np.where(y == "Polish", "polish", y)
    with pytest.raises(UnknownClassError, match="got 'polish'"):
        plots.DETDisplay.from_predictions(y, evidence, pos_label="Czech", other_label="Slovak")


def test_scores_of_other_classes_are_left_out_where_the_other_is_named(llrs):
    y, llr = llrs
    more = plots.TippettDisplay.from_predictions(
        np.append(y, [7, 7]), np.append(llr, [50.0, -50.0]), other_label=0
    )
    np.testing.assert_array_equal(more.llr, metrics.tippett_curve(y, llr).llr)


def test_weights_stay_with_their_samples_where_classes_are_left_out(llrs):
    y, llr = llrs
    weight = np.linspace(1, 5, len(y))
    more = plots.TippettDisplay.from_predictions(
        np.append(7, y), np.append(0.3, llr), sample_weight=np.append(9.0, weight), other_label=0
    )
    expected = metrics.tippett_curve(y, llr, sample_weight=weight)
    np.testing.assert_allclose(more.target, expected.target)


# --- histogram --------------------------------------------------------------------------


def test_the_histogram_holds_every_sample_the_infinite_ones_in_bins_of_their_own(llrs):
    drawn = plots.LLRHistogramDisplay.from_predictions(*llrs, bins=12)
    for bars in drawn.bars_:
        assert sum(bar.get_height() for bar in bars) == pytest.approx(100)
    assert [len(bars) for bars in drawn.bars_] == [13, 14]  # targets have no -inf
    assert drawn.bars_[0][-1].get_height() == pytest.approx(100 * 2 / 150)
    assert {"−∞", "+∞"} <= set(texts_of(drawn))
    assert "1 (1.3 % at +∞)" in legend_of(drawn)
    assert "0 (0.8 % at −∞, 0.4 % at +∞)" in legend_of(drawn)


def test_finite_ratios_have_no_bins_at_infinity(llrs):
    y, llr = llrs
    drawn = plots.LLRHistogramDisplay.from_predictions(y[np.isfinite(llr)], llr[np.isfinite(llr)])
    assert not {"−∞", "+∞"} & set(texts_of(drawn))


def test_the_gaussian_is_the_calibrated_one_fitted_to_the_finite_ratios(llrs):
    y, llr = llrs
    finite = np.isfinite(llr)
    family = CalibratedGaussian.fit(Evidence.from_llr(llr[finite]), y[finite])
    drawn = plots.LLRHistogramDisplay.from_predictions(y, llr, unit="nat", bins=20)
    d = family.divergences[0, 1]
    assert drawn.divergence == pytest.approx(d)
    assert f"calibrated, d = {d:.3g} nat" in legend_of(drawn)
    x, density = drawn.lines_[0].get_data()
    width = drawn.bars_[0][0].get_width()
    fitted = norm(d, np.sqrt(2 * d))
    expected = 100 * (148 / 150) * (fitted.cdf(x + width / 2) - fitted.cdf(x - width / 2))
    np.testing.assert_allclose(density, expected, rtol=1e-9, atol=1e-12)


def test_the_gaussians_of_both_classes_are_within_the_view_whole():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], 500)
    llr = np.concatenate([rng.uniform(0, 300, 500), -rng.uniform(0, 4000, 500)])
    drawn = plots.LLRHistogramDisplay.from_predictions(y, llr, unit="nat")
    assert drawn.divergence > llr.max()  # so that bars alone would leave a curve outside
    low, high = drawn.ax_.get_xlim()
    for line, mean in zip(drawn.lines_, (drawn.divergence, -drawn.divergence), strict=True):
        x, share = line.get_data()
        assert low < x[share.argmax()] < high
        assert x[share.argmax()] == pytest.approx(mean, rel=0.01)
        assert share[[0, -1]].max() < 0.01 * share.max()


def test_the_share_of_a_gaussian_in_a_bin_is_at_most_the_whole_class():
    y, llr = [1, 1, 0, 0], [1000.0, 5000.0, -1000.0, -5000.0]
    drawn = plots.LLRHistogramDisplay.from_predictions(y, llr, unit="nat", bins=10)
    for line in drawn.lines_:
        assert 99 < line.get_ydata().max() <= 100


def test_infinite_ratios_have_their_bins_beyond_the_gaussians(llrs):
    drawn = plots.LLRHistogramDisplay.from_predictions(*llrs)
    reach = max(abs(line.get_xdata()).max() for line in drawn.lines_)
    assert drawn.bars_[0][-1].get_x() > reach


def test_a_sample_of_weight_two_counts_as_two_of_its_class(llrs):
    y, llr = llrs
    weight = np.where(np.arange(len(y)) % 150 == 0, 2.0, 1.0)  # one target and two others
    weighted = plots.LLRHistogramDisplay.from_predictions(y, llr, sample_weight=weight, bins=12)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = plots.LLRHistogramDisplay.from_predictions(y[twice], llr[twice], bins=12)
    for mine, theirs in zip(weighted.bars_, repeated.bars_, strict=True):
        heights = [[bar.get_height() for bar in bars] for bars in (mine, theirs)]
        np.testing.assert_allclose(*heights)
    assert weighted.divergence == pytest.approx(repeated.divergence, rel=0.01)


@pytest.mark.parametrize("llr", [[0.0, 0.0], [np.inf, -np.inf], [2.0, 2.0]])
def test_ratios_without_spread_are_drawn(llr):
    drawn = plots.LLRHistogramDisplay.from_predictions([1, 0], llr)
    assert sum(bar.get_height() for bar in drawn.bars_[0]) == pytest.approx(100)
    assert bool(drawn.lines_) == (llr == [2.0, 2.0])


@pytest.mark.parametrize("bins", [0, 2.5, True])
def test_the_number_of_bins_must_be_whole(bins, llrs):
    with pytest.raises(InputError, match="bins must be a whole number, 1 or more; got"):
        plots.LLRHistogramDisplay.from_predictions(*llrs, bins=bins)


# --- Tippett ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["exceeding", "misleading"])
def test_tippett_curves_are_those_of_the_metric_at_every_ratio(kind, llrs):
    drawn = plots.TippettDisplay.from_predictions(*llrs, kind=kind, unit="nat")
    curve = metrics.tippett_curve(*llrs, kind=kind)
    finite = np.isfinite(curve.llr)
    for line, share in zip(drawn.lines_, (curve.target, curve.other), strict=True):
        x, y = line.get_data()
        np.testing.assert_array_equal(x[1:-1], curve.llr[finite])
        np.testing.assert_allclose(y[1:-1], 100 * share[finite])


def test_tippett_curves_meet_the_frame_at_the_share_of_infinite_ratios(llrs):
    drawn = plots.TippettDisplay.from_predictions(*llrs)
    at = sorted((marker.get_xdata()[0], marker.get_ydata()[0]) for marker in drawn.edges_)
    expected = [(0, 100 - 100 * 2 / 250), (1, 100 * 1 / 250), (1, 100 * 2 / 150)]
    np.testing.assert_allclose(at, expected)
    assert {"−∞", "+∞"} <= set(texts_of(drawn))
    assert any("1.3 % at +∞" in text for text in legend_of(drawn))


def test_misleading_tippett_curves_show_infinite_ratios_too(llrs):
    drawn = plots.TippettDisplay.from_predictions(llrs[0], -llrs[1], kind="misleading")
    at = sorted((marker.get_xdata()[0], marker.get_ydata()[0]) for marker in drawn.edges_)
    # Targets at or below -inf: 2 of 150. Others at or above: all but one at -inf, two at +inf.
    np.testing.assert_allclose(at, [(0, 100 * 2 / 150), (0, 99.6), (1, 0.8)])
    assert any(text.startswith("1, ≤ x (1.3 % at −∞)") for text in legend_of(drawn))


@pytest.mark.parametrize("kind", ["exceeding", "misleading"])
def test_between_the_ratios_and_beyond_them_tippett_curves_are_what_they_say(kind, llrs):
    y, llr = llrs
    drawn = plots.TippettDisplay.from_predictions(y, llr, kind=kind, unit="nat")
    seen = np.unique(llr[np.isfinite(llr)])
    at = np.concatenate([[seen[0] - 9], (seen[1:] + seen[:-1]) / 2, [seen[-1] + 9]])
    for line, label in zip(drawn.lines_, (1, 0), strict=True):
        x, share = line.get_data()
        before = {"steps-pre": 0, "steps-post": -1}[line.get_drawstyle()]
        steps = share[np.searchsorted(x, at) + before]
        own = llr[y == label]
        below = kind == "misleading" and label == 1
        expected = [100 * np.mean(own <= t if below else own >= t) for t in at]
        np.testing.assert_allclose(steps, expected)


def test_targets_at_plus_infinity_keep_the_misleading_curve_from_the_top(llrs):
    drawn = plots.TippettDisplay.from_predictions(*llrs, kind="misleading")
    at = sorted((marker.get_xdata()[0], marker.get_ydata()[0]) for marker in drawn.edges_)
    np.testing.assert_allclose(at, [(0, 99.2), (1, 0.4), (1, 100 - 100 * 2 / 150)])


def test_ratios_that_are_all_infinite_are_drawn_on_the_frame():
    drawn = plots.TippettDisplay.from_predictions([1, 0], [np.inf, np.inf])
    assert [float(marker.get_ydata()[0]) for marker in drawn.edges_] == [100, 100]


def test_a_second_system_has_other_colors_and_widens_the_view(llrs):
    y, llr = llrs
    first = plots.TippettDisplay.from_predictions(y, llr, name="one")
    narrow = first.ax_.get_xlim()
    second = plots.TippettDisplay.from_predictions(y, 3 * llr, name="two", ax=first.ax_)
    colors = {line.get_color() for line in first.lines_ + second.lines_}
    assert len(colors) == 4
    assert second.ax_.get_xlim()[0] < narrow[0]
    assert second.ax_.get_xlim()[1] > narrow[1]
    assert sum(text.startswith(("one: ", "two: ")) for text in legend_of(second)) == 4


# --- PAV --------------------------------------------------------------------------------


def test_the_pav_line_is_the_recalibration_of_the_metric(llrs):
    drawn = plots.PAVDisplay.from_predictions(*llrs, unit="nat")
    blocks = metrics.pav(*llrs)
    finite = np.isfinite(blocks.llr)
    x, y = drawn.line_.get_data()
    np.testing.assert_allclose(y, np.repeat(blocks.llr[finite], 2))
    inside = np.isfinite(np.column_stack([blocks.low, blocks.high])[finite].ravel())
    np.testing.assert_allclose(
        x[inside], np.column_stack([blocks.low, blocks.high])[finite].ravel()[inside]
    )


def test_infinite_values_of_pav_lie_on_the_frame(llrs):
    drawn = plots.PAVDisplay.from_predictions(*llrs)
    assert "PAV (LLRs: 2 at −∞, 3 at +∞)" in legend_of(drawn)
    assert "infinite, on the frame" in legend_of(drawn)
    assert {"−∞", "+∞"} <= set(texts_of(drawn))
    corner = drawn.ax_.transAxes.transform((0, 0))  # -inf before and after
    points = [
        marker.get_transform().transform(np.column_stack(marker.get_data()))
        for marker in drawn.edges_
        if marker.get_marker() == "D"
    ]
    assert np.isclose(np.vstack(points), corner).all(axis=1).any()


def test_ratios_beyond_all_errors_do_not_squash_the_pav_plot():
    y, llr = [0, 0, 1, 0, 1, 1], [-900.0, -2.0, -1.0, 1.0, 2.0, 5000.0]
    drawn = plots.PAVDisplay.from_predictions(y, llr, unit="nat")
    assert drawn.ax_.get_xlim()[1] < 10


def test_a_reader_sees_in_the_pav_plot_that_ratios_are_too_strong(llrs):
    y, llr = llrs[0][np.isfinite(llrs[1])], 40 * llrs[1][np.isfinite(llrs[1])]
    drawn = plots.PAVDisplay.from_predictions(y, llr, unit="nat")
    ax = drawn.ax_
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_aspect() == 1
    assert "LLR too strong" in legend_of(drawn)
    after = drawn.line_.get_ydata()
    low, high = ax.get_xlim()
    # The line is far from the identity within the view, and fills more than a tenth of its height.
    assert after.max() < 0.6 * high
    assert np.ptp(after) > 0.1 * (high - low)
    shaded = drawn.too_strong_.get_paths()
    for sign in (1, -1):
        assert any(path.contains_point((0.8 * sign, 0.2 * sign)) for path in shaded)
        assert not any(path.contains_point((0.2 * sign, 0.8 * sign)) for path in shaded)
    notes = [note.get_text() for note in drawn.notes_]
    assert notes == [f"← from −{-llr.min():,.0f}", f"to {llr.max():,.0f} →"]


def test_ratios_within_the_view_of_a_pav_plot_need_no_note(llrs):
    y, llr = llrs
    finite = np.isfinite(llr)
    drawn = plots.PAVDisplay.from_predictions(y[finite], 0.2 * llr[finite])
    assert drawn.notes_ == []


def test_ratios_that_go_to_infinity_have_a_marker_and_no_note(llrs):
    drawn = plots.PAVDisplay.from_predictions(llrs[0], 40 * llrs[1])
    assert drawn.notes_ == []
    assert "infinite, on the frame" in legend_of(drawn)


def test_two_pav_curves_share_one_identity(llrs):
    first = plots.PAVDisplay.from_predictions(*llrs, name="one")
    second = plots.PAVDisplay.from_predictions(*llrs, name="two", ax=first.ax_)
    assert legend_of(second).count("identity") == 1
    assert first.line_.get_color() != second.line_.get_color()


# --- DET --------------------------------------------------------------------------------


def test_det_is_the_curve_of_the_metric_in_probits(llrs):
    drawn = plots.DETDisplay.from_predictions(*llrs, hull=True)
    rates = metrics.det_curve(*llrs)
    for drawn_at, rate in zip(
        drawn.line_.get_data(), (rates.p_false_alarm, rates.p_miss), strict=True
    ):
        inside = (rate > 0) & (rate < 1)
        np.testing.assert_allclose(drawn_at[inside], ndtri(rate[inside]))
    eer = metrics.eer(*llrs)
    assert drawn.eer == eer
    assert drawn.marker_.get_xdata()[0] == pytest.approx(ndtri(eer))
    assert f"EER {100 * eer:.2g} %" in legend_of(drawn)[0]
    assert "ROC hull" in legend_of(drawn)


def test_the_hull_passes_through_the_equal_error_rate_and_below_the_curve(llrs):
    drawn = plots.DETDisplay.from_predictions(*llrs, hull=True)
    x, y = drawn.hull_.get_data()
    eer = ndtri(drawn.eer)
    assert np.interp(eer, x[::-1], y[::-1]) == pytest.approx(eer, abs=0.02)
    p_miss, p_false_alarm = drawn.p_miss[1:-1], drawn.p_false_alarm[1:-1]
    from deciban.plots.discrimination import probit

    hull = np.interp(probit(p_false_alarm), x[::-1], y[::-1])
    assert (hull <= probit(p_miss) + 0.02).all()


def test_the_hull_is_straight_between_error_rates_and_drawn_without_gaps(llrs):
    drawn = plots.DETDisplay.from_predictions(*llrs, hull=True)
    x, y = drawn.hull_.get_data()
    corners_miss, corners_false_alarm = metrics.pav(*llrs).hull()
    on_hull = np.interp(norm.cdf(x), corners_false_alarm[::-1], corners_miss[::-1])
    inside = (np.abs(x) < 2) & (np.abs(y) < 2)
    np.testing.assert_allclose(norm.cdf(y)[inside], on_hull[inside], atol=1e-9)
    steps = np.hypot(np.diff(x), np.diff(y))
    assert steps[inside[1:] & inside[:-1]].max() < 0.4


def test_det_ticks_are_percentages(llrs):
    ax = plots.DETDisplay.from_predictions(*llrs).ax_
    for place, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        assert place == pytest.approx(ndtri(float(text.get_text()) / 100))


def test_perfect_separation_has_its_mark_on_the_frame():
    drawn = plots.DETDisplay.from_predictions([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])
    assert drawn.eer == 0
    assert drawn.marker_.get_xdata()[0] == drawn.ax_.get_xlim()[0]


@pytest.mark.parametrize("n", [(3, 3), (20, 60), (300, 30_000)])
def test_a_det_plot_without_errors_says_so_and_shows_how_large_they_may_be(n):
    y = np.repeat([1, 0], n)
    drawn = plots.DETDisplay.from_predictions(y, np.where(y == 1, 3.0, -3.0), name="new")
    miss, false_alarm = (wilson(0, k, 0.95)[1] for k in n)
    assert drawn.note_.get_text() == (
        f"new: no errors\nin {n[0]:,} + {n[1]:,} samples;\nwith 95 % confidence,\n"
        f"misses below {100 * miss:.2g} %\nand false alarms below {100 * false_alarm:.2g} %"
    )
    (path,) = drawn.bound_.get_paths()
    corner = path.vertices.max(axis=0)
    np.testing.assert_allclose(corner, ndtri([false_alarm, miss]))
    drawn.figure_.draw_without_rendering()
    text, axes = drawn.note_.get_window_extent(), drawn.ax_.get_window_extent()
    assert axes.x0 < text.x0 < text.x1 < axes.x1
    assert axes.y0 < text.y0 < text.y1 < axes.y1


def test_a_det_plot_without_errors_says_so_where_the_samples_were_not_counted():
    drawn = plots.DETDisplay(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), 0.0).plot()
    assert drawn.note_.get_text() == "no errors"
    assert drawn.bound_ is None


def test_a_det_plot_with_errors_has_no_note(llrs):
    drawn = plots.DETDisplay.from_predictions(*llrs)
    assert drawn.note_ is None
    assert drawn.bound_ is None


def test_a_hull_that_was_not_computed_is_not_drawn():
    drawn = plots.DETDisplay(np.array([0.0, 0.1, 1.0]), np.array([1.0, 0.1, 0.0]), 0.1)
    assert drawn.plot(hull=True).hull_ is None


# --- priors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("display", "metric"),
    [
        (plots.EmpiricalCrossEntropyDisplay, metrics.empirical_cross_entropy_curve),
        (plots.NormalizedBayesErrorDisplay, metrics.normalized_bayes_error_curve),
    ],
)
def test_curves_over_priors_are_those_of_the_metric(display, metric, llrs):
    y, llr = llrs
    weight = np.linspace(1, 2, len(y))
    drawn = display.from_predictions(y, llr, sample_weight=weight, log_odds=[-1.0, 0.0, 1.0])
    curve = metric(y, llr, sample_weight=weight, log_odds=[-1.0, 0.0, 1.0])
    np.testing.assert_allclose(drawn.actual, curve.actual)
    np.testing.assert_allclose(drawn.line_.get_xdata(), np.array([-1, 0, 1]) / np.log(10))
    np.testing.assert_allclose(drawn.minimum_.get_ydata(), curve.minimum)
    np.testing.assert_allclose(drawn.neutral_.get_ydata(), curve.neutral)


def test_an_infinite_cost_is_marked_on_the_frame(llrs):
    drawn = plots.EmpiricalCrossEntropyDisplay.from_predictions(*llrs)
    assert np.isinf(drawn.actual).all()
    assert "actual, infinite" in legend_of(drawn)
    assert (drawn.edges_[0].get_ydata() == 1).all()


def test_a_cost_above_the_view_is_marked_on_the_frame(llrs):
    y, llr = llrs
    llr = 40 * np.clip(llr, -10, 10)
    drawn = plots.EmpiricalCrossEntropyDisplay.from_predictions(y, llr, name="bold")
    assert drawn.actual.max() > drawn.ax_.get_ylim()[1]
    assert "bold: actual, above the frame" in legend_of(drawn)


def test_at_the_width_of_a_column_the_legend_has_room_above_the_curves(llrs, figures):
    y, llr = llrs
    fig, ax = figures.subplots(figsize=(3.4, 2.8), layout="constrained")
    llr = np.clip(llr, -9, 9)
    drawn = plots.EmpiricalCrossEntropyDisplay.from_predictions(y, llr, name="one", ax=ax)
    plots.EmpiricalCrossEntropyDisplay.from_predictions(y, llr / 2, name="two", ax=ax)
    fig.canvas.draw()
    bottom = ax.get_legend().get_window_extent().y0
    highest = max(drawn.actual.max(), drawn.neutral.max())
    assert ax.transData.transform((0, highest))[1] < bottom


# --- a million --------------------------------------------------------------------------


@pytest.mark.parametrize("display", [plots.TippettDisplay, plots.DETDisplay])
def test_a_long_curve_is_thinned_to_what_can_be_seen(display):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200_000)
    llr = rng.normal(np.where(y == 1, 2.0, -2.0), 2.0)
    drawn = display.from_predictions(y, llr)
    lines = getattr(drawn, "lines_", None) or [drawn.line_]
    for line in lines:
        assert 500 < len(line.get_xdata()) < 10_000
    if display is plots.TippettDisplay:
        x, share = lines[0].get_data()
        curve = metrics.tippett_curve(y, llr)
        whole = 100 * np.interp(x[1:-1] * np.log(10), curve.llr, curve.target)
        np.testing.assert_allclose(share[1:-1], whole, atol=0.2)


def test_labels_of_text_ask_for_the_positive_one():
    evidence = Evidence.from_llr([1.0, -1.0], "up", "down")
    with pytest.raises(UnknownClassError, match="Pass pos_label='up', or another"):
        plots.TippettDisplay.from_predictions(["up", "down"], evidence)


def test_a_pipeline_that_ends_in_evidence_gives_evidence():
    X, y = make_moons(100, noise=0.2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), LinearDiscriminant()).fit(X, y)
    display = plots.TippettDisplay.from_estimator(pipeline, X, y)
    assert display.figure_ is not None
