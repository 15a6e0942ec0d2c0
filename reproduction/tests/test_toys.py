"""The toy experiments from end to end, at a size that takes seconds."""

import json

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from deciban import LinearDiscriminant
from reproduction import toy_protocol
from reproduction.drawing import COLORS
from reproduction.plane_figures import _ground
from reproduction.runner import Run
from reproduction.three_gaussians import _eigen_components
from reproduction.two_classes import TwoClasses

TINY = toy_protocol.Scale(train=120, test=60, many=120, draws=1, epochs=1)


@pytest.fixture
def tiny(monkeypatch):
    """Tiny samples, and the fits of a second."""
    small = {"n_couplings": 1, "width": 4}
    cdas = {name: options | small for name, options in toy_protocol.CDAS.items()}
    monkeypatch.setattr(toy_protocol, "CDAS", cdas)
    monkeypatch.setattr(toy_protocol, "scale", lambda quick: TINY)
    monkeypatch.setattr("reproduction.two_classes.scale", lambda quick: TINY)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # from fits that are far too short
def test_circles_run_from_samples_to_a_page(tiny, tmp_path):
    (outcome,) = Run(tmp_path, tmp_path / "work", quick=True)([TwoClasses("circles")])
    assert outcome.error is None
    page = (tmp_path / "index.html").read_text()
    for name in ("training", "maps", "grid", "slice"):
        assert (tmp_path / "figures" / f"circles-{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"circles-{name}.png" in page
    numbers = json.loads((tmp_path / "results" / "circles.json").read_text())["numbers"]
    value = {(n["key"], n["described"]): n["value"] for n in numbers}
    assert value["many.circles.truth.over_floor", False] == 1.0
    for described in (True, False):
        assert value["table1.circles.cda.cllr_min", described] <= 1.0
    assert not list((tmp_path / "work").rglob("*.checkpoint"))


def test_the_ground_of_a_map_hides_the_points_of_no_class():
    def luminance(color):
        c = np.array(to_rgb(color))
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [
            0.2126,
            0.7152,
            0.0722,
        ]

    for ground in _ground()([0.0, 0.25, 0.5, 0.75, 1.0]):
        for color in COLORS[:2]:
            assert (luminance(ground[:3]) + 0.05) / (luminance(color) + 0.05) > 2


def test_settings_say_what_every_cda_is_fitted_with():
    for step in TwoClasses("moons").steps(quick=False):
        settings = json.loads(json.dumps(step.settings))
        assert settings["fits"]["described"]["preset"] == "paper"
        assert settings["seed"] == int(step.name.removeprefix("draw-"))


def test_ranges_are_percentiles_of_single_runs():
    text = toy_protocol.mean_and_range(np.arange(1001.0), ".0f")
    assert text == "500 (25 to 975)"


def test_the_cda_as_described_has_sizes_for_circles_that_leave_its_start():
    (circles,) = TwoClasses("circles").steps(quick=False)[:1]
    fit = circles.settings["fits"]["described"]
    assert (fit["n_couplings"], fit["learning_rate"], fit["epochs"]) == (16, 5e-3, 150)
    (moons,) = TwoClasses("moons").steps(quick=False)[:1]
    assert moons.settings["fits"]["described"]["n_couplings"] == "auto"


def test_eigen_components_separate_the_classes_in_two_dimensions_only():
    rng = np.random.default_rng(0)
    means = np.array([[0, 0, 0, 0], [4, 1, 0, 2], [1, 5, 2, 0.0]])
    y = np.repeat([1, 2, 3], 500)
    X = rng.normal(size=(1500, 4)) @ rng.normal(size=(4, 4)) + means[y - 1]
    components, centers = _eigen_components(X, y, X)
    residual = components - centers[y - 1]
    np.testing.assert_allclose(residual.T @ residual / (1500 - 3), np.eye(4), atol=1e-10)
    spread = centers.std(axis=0)
    assert spread[0] > spread[1] > 0.5
    np.testing.assert_allclose(centers[:, 2:], 0, atol=1e-6)
    lda = LinearDiscriminant().fit(X, y)
    nearest = ((components[:, None, :2] - centers[:, :2]) ** 2).sum(axis=-1).argmin(axis=1) + 1
    assert (nearest == lda.evidence(X).decide()).mean() > 0.999
