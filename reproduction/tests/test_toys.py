"""The toy experiments from end to end, at a size that takes seconds."""

import json

import numpy as np
import pytest

from reproduction import toy_protocol
from reproduction.runner import Run
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


def test_settings_say_what_every_cda_is_fitted_with():
    for step in TwoClasses("moons").steps(quick=False):
        settings = json.loads(json.dumps(step.settings))
        assert settings["fits"]["described"]["preset"] == "paper"
        assert settings["seed"] == int(step.name.removeprefix("draw-"))


def test_ranges_are_percentiles_of_single_runs():
    text = toy_protocol.mean_and_range(np.arange(1001.0), ".0f")
    assert text == "500 (25 to 975)"
