"""What all displays share: estimators, axes, names, missing libraries."""

import re
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.linear_model import LogisticRegression

from deciban import Evidence, plots
from deciban.exceptions import InputError, MissingExtraError
from deciban.explanation import ShapleyCompositions
from deciban.metrics.reliability import reliability_curves
from deciban.plots._display import (
    COLORS,
    Display,
    color_of,
    dashes_of,
    mark_on_frame,
    marker_of,
    unused_colors,
)


class Speaker:
    """An estimator that gives evidence."""

    classes = (0, 1)

    def evidence(self, X):
        return Evidence.from_llr(np.ravel(X))


@pytest.mark.parametrize(
    "display",
    [
        plots.LLRHistogramDisplay,
        plots.PAVDisplay,
        plots.TippettDisplay,
        plots.DETDisplay,
        plots.EmpiricalCrossEntropyDisplay,
        plots.NormalizedBayesErrorDisplay,
        plots.ReliabilityDisplay,
        plots.PairwiseDisplay,
    ],
)
def test_an_estimator_with_evidence_is_drawn_as_its_evidence_is(display, llrs):
    y, llr = llrs
    made = display.from_estimator(Speaker(), llr, y)
    same = display.from_predictions(y, Evidence.from_llr(llr))
    assert getattr(made, "name", "Speaker") == "Speaker"
    for name, value in vars(same).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(made, name))


@pytest.mark.parametrize("name", [name for name in plots.__all__ if name.endswith("Display")])
def test_options_that_are_not_for_plot_are_those_that_a_display_computes_from(name):
    display = getattr(plots, name)
    sources = [display, display.compute, getattr(display, "_from_data", display)]
    if display is plots.ReliabilityDisplay:
        sources += [reliability_curves, Display.compute]
    accepted = {option for source in sources for option in signature(source).parameters}
    assert set(display.settings) <= accepted
    assert not set(display.settings) & set(signature(display.plot).parameters)


def test_an_estimator_without_evidence_is_to_be_wrapped():
    with pytest.raises(InputError, match=r"LogisticRegression has none\. Wrap it in"):
        plots.DETDisplay.from_estimator(LogisticRegression(), [[0.0]], [0])


def test_evidence_of_an_estimator_must_be_evidence():
    class Liar:
        def evidence(self, X):
            return np.asarray(X)

    with pytest.raises(InputError, match="must return Evidence; got ndarray"):
        plots.DETDisplay.from_estimator(Liar(), [[0.0]], [0])


def test_axes_must_be_axes(llrs, figures):
    with pytest.raises(InputError, match="ax must be matplotlib Axes; got Figure"):
        plots.DETDisplay.from_predictions(*llrs, ax=figures.figure())


@pytest.mark.parametrize(
    ("module", "display", "library"),
    [
        ("matplotlib.pyplot", plots.DETDisplay, "matplotlib"),
        ("mpltern", plots.TernaryDisplay, "mpltern"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    module, display, library, llrs, three, monkeypatch
):
    monkeypatch.setitem(sys.modules, module, None)
    data = three if display is plots.TernaryDisplay else llrs
    with pytest.raises(MissingExtraError, match=rf"^{library} must be .*ban\[plot\]'$") as error:
        display.from_predictions(*data)
    assert error.value.extra == "plot"


def test_importing_and_computing_do_not_need_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import deciban.plots as p;"
        "print(p.LLRHistogramDisplay.compute([0, 1], [-1.0, 1.0]).divergence > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_colors_lines_and_markers_of_classes_differ():
    looks = {(color_of(k), marker_of(k)) for k in range(49)}
    assert len(looks) == 49
    assert len({(color_of(k), str(dashes_of(k))) for k in range(49)}) == 49


def test_colors_come_round_again_when_all_are_used(figures):
    ax = figures.figure().add_subplot()
    for color in COLORS:
        ax.plot([0, 1], color=color)
    assert unused_colors(ax, 2) == list(COLORS[:2])


def test_points_on_the_frame_stay_there_when_the_limits_change(figures):
    ax = figures.figure().add_subplot()
    (marker,) = mark_on_frame(ax, [np.inf, 0.0], [2.0, 0.0])
    ax.set(xlim=(-5, 7), ylim=(-100, 100))
    at = marker.get_transform().transform(np.column_stack(marker.get_data()))
    np.testing.assert_allclose(at[0], [ax.bbox.x1, ax.transData.transform((0, 2))[1]])


# --- names and numbers of users ---------------------------------------------------------

STRANGE = ("$x_{$", "$a$", "_b")
PAIR = {"pos_label": STRANGE[0], "other_label": STRANGE[2]}
EVERY_DISPLAY = [
    (plots.LLRHistogramDisplay, PAIR | {"name": "$s_{$"}),
    (plots.PAVDisplay, PAIR | {"name": "$s_{$"}),
    (plots.TippettDisplay, PAIR),
    (plots.DETDisplay, PAIR | {"name": "$s_{$", "hull": True}),
    (plots.EmpiricalCrossEntropyDisplay, PAIR | {"name": "$s_{$"}),
    (plots.NormalizedBayesErrorDisplay, PAIR | {"name": "$s_{$"}),
    (plots.ReliabilityDisplay, {"kind": "each", "name": "$s_{$"}),
    (plots.ReliabilityDisplay, {"pos_label": "$x_{$"}),
    (plots.PairwiseDisplay, {}),
    (plots.ILRDisplay, {}),
    (plots.TernaryDisplay, {}),
    (plots.IdempotenceDisplay, {"a": "$x_{$", "b": "_b", "density": "gaussian"}),
    (plots.IdempotenceDisplay, {"density": "gaussian"}),
]


def drawn_texts(display):
    """Texts of a figure without our own formulas; all dollar signs that are left are escaped."""
    display.figure_.draw_without_rendering()  # raises where matplotlib cannot read a formula
    texts = [text.get_text() for text in display.figure_.findobj(Text)]
    texts = [re.sub(r"\$(l_|C_)[^$]*\$", "", text) for text in texts]
    assert all(text.count("$") == text.count(r"\$") for text in texts)
    return [text.replace(r"\$", "$").replace("\u200b", "") for text in texts]


@pytest.mark.parametrize(("display", "options"), EVERY_DISPLAY)
def test_names_with_dollar_signs_are_drawn_as_they_are(display, options, family):
    l, y = family.sample([30, 30, 30], rng=1)
    evidence = Evidence(family.evidence(l).log_likelihoods, STRANGE)
    y = np.array(STRANGE)[[family.classes.index(label) for label in y]]
    texts = drawn_texts(display.from_predictions(y, evidence, **options))
    for name in (options["name"],) if "name" in options else STRANGE[:1]:
        assert any(name in text for text in texts)


def test_names_at_leaves_and_beside_arrows_are_drawn_as_they_are():
    evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], STRANGE)
    tree = plots.BifurcationTreeDisplay.from_predictions(None, evidence)
    assert {f" {name}" for name in STRANGE} <= set(drawn_texts(tree))
    plane = plots.ILRDisplay(evidence).plot_update([0.2, 0.3, 0.5], {"$p_{$": evidence})
    assert "+ $p_{$" in drawn_texts(plane)
    found = ShapleyCompositions(evidence, np.array([[[1.0, -2.0, 1.0]]]), ("$f_{$",))
    display = plots.ShapleyDisplay(found, b="_b")
    assert any("$f_{$" in text for text in drawn_texts(display.plot()))
    assert "+ $f_{$" in drawn_texts(display.plot_path())


def test_a_class_whose_name_starts_with_an_underscore_is_in_the_legend(llrs):
    y, llr = llrs
    evidence = Evidence.from_llr(llr, "_a", "b")
    y = np.where(y == 1, "_a", "b")
    display = plots.TippettDisplay.from_predictions(y, evidence, pos_label="_a")
    assert any(text.startswith("_a, ≥ x") for text in drawn_texts(display))
    assert len(display.ax_.get_legend().get_texts()) == 2


@pytest.mark.parametrize(
    "display",
    [
        plots.LLRHistogramDisplay,
        plots.PAVDisplay,
        plots.TippettDisplay,
        plots.DETDisplay,
        plots.EmpiricalCrossEntropyDisplay,
        plots.NormalizedBayesErrorDisplay,
        plots.ReliabilityDisplay,
    ],
)
def test_llrs_of_1e300_are_drawn(display):
    llr = [1.0, 2.0, 1e300, -1.0, -1.0, -2.0, -1e300, 1.0]
    display.from_predictions([1, 1, 1, 1, 0, 0, 0, 0], llr).figure_.draw_without_rendering()


def test_evidence_of_1e300_nats_is_drawn_in_the_plane():
    evidence = Evidence([[0.0, 1.0, 1e300], [1.0, 0.0, 2.0]])
    plots.ILRDisplay(evidence).plot().figure_.draw_without_rendering()
