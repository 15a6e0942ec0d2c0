"""Three classes and more: the ILR plane, the simplex, idempotence."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.path import Path as MplPath

from deciban import Basis, CalibratedGaussian, CalibratedMixture, Evidence, metrics, plots
from deciban.exceptions import CromwellError, InputError
from deciban.plots._plane import boundaries, ellipse, kernel_contours
from deciban.simplex import ilr

COSTS = [[0, 4, 1], [4, 0, 4], [1, 4, 0]]


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# --- curves -----------------------------------------------------------------------------


def test_an_ellipse_holds_its_mass(family):
    edge = ellipse(family, 1, 0.9)
    l = family.sample("Polish", rng=1, size=20_000)
    white = np.linalg.solve(family.cholesky, (l - family.means[1]).T)
    radius = np.linalg.norm(np.linalg.solve(family.cholesky, (edge - family.means[1]).T), axis=0)
    assert np.ptp(radius) < 1e-9
    assert np.mean(np.linalg.norm(white, axis=0) < radius[0]) == pytest.approx(0.9, abs=0.01)


def test_a_mixture_has_no_ellipses(family):
    with pytest.raises(InputError, match="family must be a CalibratedGaussian"):
        ellipse(CalibratedMixture([family, family]), 1, 0.9)


def test_a_kernel_contour_holds_about_its_mass(rng):
    from matplotlib.path import Path

    points = rng.normal(size=(1500, 2))
    (curve,) = kernel_contours(points, 0.5, rng)
    assert Path(curve).contains_points(points).mean() == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("points", [np.zeros((3, 2)), np.outer(np.arange(9.0), [1, 2])])
def test_a_few_points_or_points_on_a_line_have_no_kernel_contour(points, rng):
    assert kernel_contours(points, 0.5, rng) == []


@pytest.mark.parametrize(("costs", "prior"), [(None, None), (COSTS, [0.2, 0.3, 0.5])])
def test_decisions_change_at_the_boundaries(costs, prior, family):
    curves = boundaries(family.basis, family.classes, 9.0, costs, prior)
    crossed = 0
    for curve in curves:
        for here, there in zip(curve[5:-5:7], curve[6:-4:7], strict=False):
            along = there - here
            across = 0.1 * np.array([-along[1], along[0]]) / max(np.linalg.norm(along), 1e-9)
            sides = Evidence.from_ilr([here + across, here - across], family.basis, family.classes)
            if np.linalg.norm(along) > 1e-6:
                crossed += len(set(sides.decide(costs, prior).tolist())) == 2
    assert crossed > 20
    middle = np.concatenate([curve[5:-5] for curve in curves])
    posterior = Evidence.from_ilr(middle, family.basis, family.classes).posterior(prior)
    risk = np.sort(posterior @ (1 - np.eye(3) if costs is None else np.array(COSTS)), axis=1)
    np.testing.assert_allclose(risk[:, 0], risk[:, 1], rtol=0.15)


# --- the plane --------------------------------------------------------------------------


def test_the_plane_shows_the_ilrls_of_each_class(three):
    y, evidence = three
    drawn = plots.ILRDisplay.from_predictions(y, evidence, unit="bit")
    l = evidence.ilr() / np.log(2)
    for k, label in enumerate(evidence.classes):
        np.testing.assert_allclose(drawn.samples_[k].get_offsets(), l[y == label])
    ax = drawn.ax_
    assert ax.get_xlabel() == "$l_{1}$ (bit): Czech (+) against Polish (−)"
    assert "(bit)" in ax.get_ylabel()
    assert np.abs(l).max() < ax.get_xlim()[1] == -ax.get_ylim()[0]
    assert {text.get_text() for text in ax.texts} >= set(evidence.classes)
    assert drawn.boundaries_
    assert not drawn.contours_


@pytest.mark.parametrize("contours", ["gaussian", "kernel"])
def test_contours_of_each_class_are_drawn_and_named(contours, three):
    drawn = plots.ILRDisplay.from_predictions(*three, contours=contours, masses=(0.5, 0.9))
    assert len(drawn.contours_) >= 6
    assert legend_of(drawn)[:2] == ["50 %", "90 %"]


def test_the_contours_of_a_family_are_its_own_in_the_basis_asked_for(three, family):
    basis = Basis.from_tree(("Czech", ("Slovak", "Polish")))
    drawn = plots.ILRDisplay.from_predictions(
        *three, basis=basis, family=family, contours="gaussian", masses=(0.9,)
    )
    expected = ellipse(family.in_basis(basis.align_to(family.classes)), 0, 0.9)
    np.testing.assert_allclose(np.column_stack(drawn.contours_[0].get_data()), expected)


def test_a_family_is_drawn_with_its_samples(family):
    drawn = plots.ILRDisplay.from_family(family, n_samples=30)
    assert [len(samples.get_offsets()) for samples in drawn.samples_] == [30, 30, 30]
    assert len(drawn.contours_) == 6


def test_evidence_that_rules_a_class_out_lies_on_the_frame_in_its_direction(three_with_zeros):
    y, evidence = three_with_zeros
    drawn = plots.ILRDisplay.from_predictions(y, evidence, contours="kernel")
    assert "2 infinite, on the frame" in legend_of(drawn)
    V = Basis.gram_schmidt(3).contrast
    against_polish, for_slovak = (2 * np.array(e.get_data())[:, 0] - 1 for e in drawn.edges_)
    np.testing.assert_allclose(against_polish, -V[1] / np.abs(V[1]).max(), atol=0.02)
    np.testing.assert_allclose(for_slovak, V[2] / np.abs(V[2]).max(), atol=0.02)
    assert sum(len(samples.get_offsets()) for samples in drawn.samples_) == len(y) - 2


def test_many_samples_are_thinned_out_and_always_in_the_same_way(three):
    first, again = (plots.ILRDisplay.from_predictions(*three, max_samples=10) for _ in range(2))
    for k in range(3):
        offsets = first.samples_[k].get_offsets()
        assert len(offsets) == 10
        np.testing.assert_array_equal(offsets, again.samples_[k].get_offsets())


def test_two_coordinates_of_more_classes_can_be_drawn(rng):
    y = np.repeat(np.arange(5), 8)
    evidence = Evidence(rng.normal(size=(40, 5)) + 3 * np.eye(5)[y])
    drawn = plots.ILRDisplay.from_predictions(
        y, evidence, coordinates=(3, 1), contours="gaussian", costs=None
    )
    np.testing.assert_allclose(drawn.samples_[2].get_offsets(), evidence.ilr()[y == 2][:, [3, 1]])
    assert drawn.ax_.get_xlabel().startswith("$l_{4}$ (nat)")
    assert drawn.boundaries_ == []
    assert {"0", "1", "2", "3", "4"} <= set(legend_of(drawn))


def test_samples_without_truth_are_gray_and_a_rotated_basis_has_short_labels(three):
    _, evidence = three
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    basis = Basis(Basis.gram_schmidt(3).contrast @ turn, evidence.classes)
    drawn = plots.ILRDisplay(evidence, basis=basis).plot()
    assert len(drawn.samples_) == 1
    assert drawn.ax_.get_xlabel() == "$l_{1}$ (nat)"


def test_long_names_leave_the_axes_their_coordinates():
    names = ["a" * 40, "b", "c"]
    drawn = plots.ILRDisplay(Evidence(np.zeros((1, 3)), names)).plot()
    assert drawn.ax_.get_xlabel() == "$l_{1}$ (nat)"


@pytest.mark.parametrize(
    ("evidence", "options", "message"),
    [
        (Evidence(np.zeros((1, 2))), {}, "three classes or more for a plane; got 2. Draw two"),
        (Evidence(np.zeros((1, 3))), {"coordinates": (0, 2)}, "coordinates must be two of 0 to 1"),
        (Evidence(np.zeros((1, 3))), {"coordinates": (1, 1)}, "coordinates must be two of 0 to 1"),
    ],
)
def test_what_has_no_plane_is_refused(evidence, options, message):
    with pytest.raises(InputError, match=message):
        plots.ILRDisplay(evidence, **options)


def test_contours_of_an_unknown_kind_are_refused(three):
    with pytest.raises(InputError, match="contours must be one of gaussian, kernel; got 'x'"):
        plots.ILRDisplay.from_predictions(*three, contours="x")


def test_weights_are_refused_where_they_cannot_be_drawn(three):
    with pytest.raises(InputError, match="sample_weight must be None"):
        plots.ILRDisplay.from_predictions(*three, sample_weight=np.ones(len(three[0])))


# --- updates ----------------------------------------------------------------------------


def test_an_update_walks_from_the_prior_to_the_posterior(three):
    _, evidence = three
    prior = [0.5, 0.3, 0.2]
    pieces = {"sounds": evidence[0], "words": evidence[1]}
    drawn = plots.ILRDisplay(evidence).plot_update(prior, pieces)
    total = evidence[0] + evidence[1]
    ends = [arrow.xy for arrow in drawn.arrows_]
    starts = [arrow.xyann for arrow in drawn.arrows_]
    np.testing.assert_allclose(starts[0], ilr(prior))
    np.testing.assert_allclose(starts[1], ends[0])
    np.testing.assert_allclose(ends[1], ilr(total.posterior(prior)[0]), atol=1e-9)
    assert np.abs(ends).max() < drawn.ax_.get_xlim()[1]
    texts = {text.get_text() for text in drawn.ax_.texts}
    assert {"prior", "posterior", "+ sounds", "+ words"} <= texts


def test_an_update_is_drawn_over_samples_in_their_unit_and_widens_the_view(three):
    y, evidence = three
    drawn = plots.ILRDisplay.from_predictions(y, evidence, unit="ban")
    before, ax = drawn.ax_.get_xlim()[1], drawn.ax_
    drawn.plot_update([0.2, 0.3, 0.5], [evidence[0] * 30, evidence[1]])
    assert drawn.ax_ is ax
    assert ax.get_xlim()[1] > before
    expected = (ilr([0.2, 0.3, 0.5]) + 30 * evidence[0].ilr()[0]) / np.log(10)
    np.testing.assert_allclose(drawn.arrows_[0].xy, expected)
    drawn.plot_update([0.2, 0.3, 0.5], evidence[0])
    assert len(drawn.arrows_) == 1


def test_an_update_takes_one_sample_for_each_piece_and_a_prior_without_zeros(three):
    _, evidence = three
    display = plots.ILRDisplay(evidence)
    with pytest.raises(InputError, match="about one sample in each piece; 'evidence' is not"):
        display.plot_update([0.2, 0.3, 0.5], evidence)
    with pytest.raises(CromwellError):
        display.plot_update([0.0, 0.5, 0.5], evidence[0])


# --- the simplex ------------------------------------------------------------------------


def test_the_triangle_shows_the_posteriors_under_the_prior(three_with_zeros):
    pytest.importorskip("mpltern")
    y, evidence = three_with_zeros
    prior = {"Czech": 0.2, "Polish": 0.3, "Slovak": 0.5}
    drawn = plots.TernaryDisplay.from_predictions(
        y, evidence, prior=prior, contours="kernel", costs=COSTS
    )
    np.testing.assert_allclose(drawn.posterior, evidence.posterior(prior))
    assert sum(len(samples.get_offsets()) for samples in drawn.samples_) == len(y)
    assert drawn.ax_.name == "ternary"
    assert drawn.ax_.get_tlabel() == "Czech"
    assert drawn.boundaries_
    assert legend_of(drawn) == ["50 %", "90 %"]
    drawn.figure_.draw_without_rendering()


def test_a_family_can_be_drawn_on_the_simplex(family):
    pytest.importorskip("mpltern")
    drawn = plots.TernaryDisplay.from_family(family, n_samples=20, decisions=False)
    assert len(drawn.contours_) == 6
    assert drawn.boundaries_ == []


def test_contours_on_the_simplex_are_moved_by_the_prior(three, family):
    pytest.importorskip("mpltern")
    prior = [0.8, 0.1, 0.1]
    drawn = plots.TernaryDisplay.from_predictions(
        *three, prior=prior, family=family, contours="gaussian", masses=(0.5,)
    )
    edge = family.evidence(ellipse(family, 1, 0.5)).posterior(prior)
    (expected,) = drawn.ax_.plot(*edge.T)
    np.testing.assert_allclose(drawn.contours_[1].get_data(), expected.get_data(), atol=1e-9)


def test_the_triangle_draws_samples_without_truth(three):
    pytest.importorskip("mpltern")
    drawn = plots.TernaryDisplay(three[1]).plot(max_samples=20)
    assert [len(samples.get_offsets()) for samples in drawn.samples_] == [20]


def test_the_triangle_needs_three_classes_and_ternary_axes(three, figures):
    pytest.importorskip("mpltern")
    with pytest.raises(InputError, match="three classes for a triangle; got 2"):
        plots.TernaryDisplay(Evidence(np.zeros((1, 2))))
    with pytest.raises(InputError, match="ax must be ternary axes; got rectilinear axes"):
        plots.TernaryDisplay.from_predictions(*three, ax=figures.figure().add_subplot())


# --- idempotence ------------------------------------------------------------------------


def test_the_pair_is_drawn_against_the_ratio_of_the_ratio(three):
    y, evidence = three
    again = evidence * 0.5
    drawn = plots.IdempotenceDisplay(evidence, again, "Czech", "Slovak", y_true=y).plot(
        unit="deciban", band=3
    )
    points = drawn.samples_[0].get_offsets()
    rows = y == "Czech"
    expected = [e[rows].llr("Czech", "Slovak", "deciban") for e in (evidence, again)]
    np.testing.assert_allclose(points, np.column_stack(expected))
    assert {"identity", "± 3 deciban", "Czech", "Polish", "Slovak"} == set(legend_of(drawn))
    assert drawn.ax_.get_ylabel() == "LLR of the LLR (deciban)"


def test_infinite_ratios_of_the_pair_are_drawn_on_the_frame():
    evidence = Evidence.from_llr([1.0, 2.0, np.inf, -1.0])
    again = Evidence.from_llr([1.0, np.inf, np.inf, -np.inf])
    drawn = plots.IdempotenceDisplay(evidence, again).plot()
    assert "samples (3 infinite, on the frame)" in legend_of(drawn)
    assert sum(len(marker.get_xdata()) for marker in drawn.edges_) == 3


def test_three_classes_are_arrows_from_the_evidence_to_the_evidence_of_it(three):
    y, evidence = three
    again = evidence * 0.5
    drawn = plots.IdempotenceDisplay(evidence, again, y_true=y).plot()
    arrows = drawn.arrows_
    np.testing.assert_allclose(np.column_stack([arrows.U, arrows.V]), -arrows.XY / 2, atol=1e-9)
    assert len(arrows.U) == 150
    assert drawn.ax_.get_xlabel().startswith("$l_{1}$ (nat)")


def test_arrows_to_and_from_infinity_are_shown(three_with_zeros):
    _, zeros = three_with_zeros
    values = zeros.log_likelihoods.copy()
    values[[0, -1]] = 0.0
    finite = Evidence(values, zeros.classes)
    towards = plots.IdempotenceDisplay(finite, zeros).plot()
    tips = towards.arrows_.XY + np.column_stack([towards.arrows_.U, towards.arrows_.V])
    assert np.isclose(np.abs(tips).max(axis=1), towards.ax_.get_xlim()[1]).sum() == 2
    away = plots.IdempotenceDisplay(zeros, finite).plot()
    assert "2 infinite, on the frame" in legend_of(away)


def test_the_metric_finds_the_evidence_of_the_evidence():
    family = CalibratedGaussian.from_divergences([5, 4, 7], classes=["Czech", "Polish", "Slovak"])
    l, y = family.sample([50, 50, 50], rng=0)
    evidence = family.evidence(2 * l)
    for density in ("shared", "gaussian", "kernel"):
        found = metrics.idempotence(y, evidence, density=density, n_resamples=0, n_draws=0)
        drawn = plots.IdempotenceDisplay.from_predictions(
            y, evidence, a="Czech", b="Polish", density=density, unit="nat"
        )
        assert drawn.again.allclose(found.again)
        assert drawn.ax_.get_xlabel() == "LLR of Czech against Polish (nat)"
    assert plots.IdempotenceDisplay.from_predictions(y, evidence).arrows_ is not None


@pytest.mark.parametrize("display", [plots.ILRDisplay, plots.TernaryDisplay])
def test_the_evidence_of_an_estimator_is_drawn(display, three):
    pytest.importorskip("mpltern")
    y, evidence = three
    estimator = SimpleNamespace(evidence=lambda X: evidence[X])
    drawn = display.from_estimator(estimator, np.arange(len(y)), y)
    assert drawn.evidence.allclose(evidence)
    assert len(drawn.samples_) == 3


@pytest.mark.parametrize(
    ("classes", "pair", "message"),
    [
        (4, (None, None), "a and b must be two classes for evidence over 4; got None and None"),
        (3, (0, None), "got 0 and None"),
        (3, (0, 0), "got 0 and 0"),
        (3, (0, 7), "class must be one of 0, 1, 2; got 7"),
    ],
)
def test_a_pair_must_be_named_in_full(classes, pair, message):
    evidence = Evidence(np.zeros((2, classes)))
    with pytest.raises(InputError, match=message):
        plots.IdempotenceDisplay(evidence, evidence, *pair)


def test_both_must_be_of_the_same_samples_and_a_band_has_a_width():
    evidence = Evidence.from_llr([1.0, 2.0])
    with pytest.raises(InputError, match="again must be evidence about the same 2 samples"):
        plots.IdempotenceDisplay(evidence, evidence[:1])
    with pytest.raises(InputError, match="band must be a finite number above 0; got 0"):
        plots.IdempotenceDisplay(evidence, evidence).plot(band=0)


def test_fitting_needs_no_truth(three):
    _, evidence = three
    drawn = plots.ILRDisplay(evidence).plot(contours="gaussian", masses=(0.9,))
    labels = [evidence.classes[0]] * len(evidence)
    expected = ellipse(CalibratedGaussian.fit(evidence, labels), 2, 0.9)
    np.testing.assert_allclose(np.column_stack(drawn.contours_[2].get_data()), expected)


@pytest.mark.parametrize("display", [plots.ILRDisplay, plots.TernaryDisplay])
def test_contours_of_a_family_are_those_of_the_class_of_their_name(display):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 9.0], classes=["a", "b", "c"])
    l, y = family.sample([500, 500, 500], rng=0)
    evidence = family.evidence(l).restrict(["c", "a", "b"])
    drawn = display(evidence, y, family=family)
    for k, _, curve in drawn._contours("gaussian", [0.9], np.random.default_rng(0)):
        points = evidence.ilr(drawn.basis)[y == evidence.classes[k]]
        inside = MplPath(curve).contains_points(points).mean()
        assert 0.85 < inside < 0.95
