"""Figures 1 to 5 of the paper: closed form."""

import io
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from reproduction.experiment import Figure, Paragraph, Table
from reproduction.theory import Bayes, Densities, Families, Simplex, Tree
from reproduction.verdicts import printed_numbers, verdict

mpl.use("Agg")

EVERY = [Densities(), Simplex(), Tree(), Bayes(), Families()]


def arrays_of(experiment):
    (step,) = experiment.steps(quick=False)
    return step.compute(Path("unused"), {})


def findings_of(experiment):
    return experiment.findings({"closed-form": arrays_of(experiment)}, quick=False)


def figure_of(experiment):
    (figure,) = [block for block in findings_of(experiment).blocks if isinstance(block, Figure)]
    return figure


@cache
def drawn(experiment):
    """The picture, and the figures of pyplot that were open before and after it was drawn."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    return figure_of(experiment).draw(), before, plt.get_fignums()


def words_of(experiment):
    return " ".join(b.text for b in findings_of(experiment).blocks if isinstance(b, Paragraph))


of_each = pytest.mark.parametrize("experiment", EVERY, ids=lambda experiment: experiment.name)


@of_each
def test_every_printed_number_is_measured_and_matched(experiment):
    measured = {ours.key: ours for ours in findings_of(experiment).measurements}
    printed = {p.key: p for p in printed_numbers().values() if p.experiment == experiment.name}
    assert measured.keys() == printed.keys()
    for key, number in printed.items():
        assert verdict(number, measured[key]) == "matched", key


def test_the_paper_prints_numbers_for_two_of_the_five_figures():
    printed = [p.experiment for p in printed_numbers().values()]
    assert printed.count("densities") == 5
    assert printed.count("families") == 18


@of_each
def test_settings_are_json(experiment):
    for step in experiment.steps(quick=True):
        assert json.loads(json.dumps(step.settings)) == step.settings


@of_each
def test_each_picture_is_drawn_as_svg_and_nothing_in_it_is_cut_off(experiment):
    figure = figure_of(experiment)
    assert figure.form == "svg"
    assert figure.paper == experiment.paper
    picture, *_ = drawn(experiment)
    picture.savefig(out := io.BytesIO(), format="svg")
    assert b"</svg>" in out.getvalue()
    picture.draw_without_rendering()  # laid out again, at the resolution of the box
    box = picture.get_tightbbox()
    wide, high = picture.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= wide
    assert box.y1 <= high


@of_each
def test_drawing_leaves_no_figure_of_pyplot_open(experiment):
    _, before, after = drawn(experiment)
    assert after == before


def test_importing_the_experiments_does_not_import_matplotlib():
    code = "import sys, reproduction.theory; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- Figure 1 ---------------------------------------------------------------------------


def test_densities_integrate_to_one_and_their_tails_to_the_eer():
    found = arrays_of(Densities())
    l = found["llrs"]
    for eer, (under_1, under_2) in zip(found["eers"], found["densities"], strict=False):
        assert np.trapezoid(under_1, l) == pytest.approx(1, abs=2e-3)
        assert np.trapezoid(under_1[l <= 0], l[l <= 0]) == pytest.approx(eer, rel=1e-2)
        np.testing.assert_allclose(under_1, under_2[::-1], atol=1e-15)
        # Calibrated: the LLR of an LLR is the LLR.
        np.testing.assert_allclose(np.log(under_1 / under_2), l, atol=1e-9)


def test_the_erratum_says_the_area_below_the_curves_of_the_paper():
    said = [float(v) for v in re.findall(r"0\.\d{3}", words_of(Densities()))]
    x = np.linspace(-100, 100, 20_001)
    areas = [
        np.trapezoid(np.exp(-((x - mu) ** 2) / (4 * mu)) / (2 * mu * np.sqrt(2 * np.pi)), x)
        for mu in (10.8238, 3.28475)  # as in the LaTeX source
    ]
    assert said == pytest.approx(areas, abs=5e-4)


# --- Figures 2 to 4 ---------------------------------------------------------------------


def test_the_marks_of_the_rays_lie_on_the_simplex_and_on_their_rays():
    found = arrays_of(Simplex())
    np.testing.assert_allclose(found["closed"].sum(axis=1), 1)
    np.testing.assert_allclose(np.cross(found["closed"], found["likelihoods"]), 0, atol=1e-15)
    assert found["difference"] < 1e-14


def test_the_formula_of_the_coordinates_is_the_ilr():
    assert arrays_of(Tree())["difference"] < 1e-12
    assert "e-1" in words_of(Tree())


def test_the_tree_has_a_node_for_each_coordinate():
    texts = [text.get_text() for text in figure_of(Tree()).draw().axes[0].texts]
    nodes = [text for text in texts if text.startswith("$l_")]
    assert len(nodes) == len(arrays_of(Tree())["example"]) - 1
    # log(0.25 / 0.4) / √2 = −0.33
    assert "$l_{1}$ = −0.3" in nodes


def test_the_posterior_is_the_prior_moved_by_the_evidence():
    found = arrays_of(Bayes())
    # The coordinates of the paper's TikZ picture.
    expected = [[0.25, 0.75], [-0.5, -0.55], [-0.25, 0.2], [-0.25, 0.2]]
    np.testing.assert_allclose(found["ilrs"], expected, atol=1e-12)
    np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1)
    prior, likelihood, posterior, _ = found["probabilities"]
    # Odds, with no ILR: Bayes' rule for two hypotheses at a time.
    odds = (prior[0] / prior[1]) * (likelihood[0] / likelihood[1])
    assert posterior[0] / posterior[1] == pytest.approx(odds)
    assert max(found["difference"], found["of_many"]) < 1e-14


def test_the_table_of_bayes_has_equal_posteriors():
    (table,) = [block for block in findings_of(Bayes()).blocks if isinstance(block, Table)]
    assert all(len(row) == len(table.header) for row in table.rows)
    assert table.rows[2][1:] == table.rows[3][1:]


# --- Figure 5 ---------------------------------------------------------------------------


def test_equal_divergences_give_an_isotropic_covariance():
    covariance = arrays_of(Families())["covariances"][0]
    np.testing.assert_allclose(covariance, 6 * np.eye(2), atol=1e-12)


def test_each_row_of_families_is_titled_with_what_the_paper_prints():
    titles = [part.get_suptitle() for part in drawn(EVERY[-1])[0].subfigs]
    numbers = [
        (p.key.split(".")[1], float(p.text))
        for p in printed_numbers().values()
        if p.key.startswith("families.") and p.key.endswith(".eer")
    ]
    for row, title in zip("abc", titles, strict=True):
        assert title.startswith(f"({row})")
        assert [v for r, v in numbers if r == row] == [
            float(v) for v in re.findall(r"([\d.]+) %", title)
        ]
