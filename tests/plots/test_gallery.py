"""Scripts of the gallery run by themselves, without a warning, and each draws a picture."""

import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.rglob("plot_*.py"))
WITHOUT_PICTURE = {"plot_report.py"}


def test_no_two_scripts_have_the_same_name():
    assert len({path.name for path in SCRIPTS}) == len(SCRIPTS) > 30  # their links would collide


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws_its_picture(path, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("mpltern")
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(path), run_name="__main__")
        assert bool(plt.get_fignums()) == (path.name not in WITHOUT_PICTURE)
    finally:
        plt.close("all")
