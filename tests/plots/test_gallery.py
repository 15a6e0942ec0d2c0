"""The gallery: its page is what its script writes, and its pictures are there and small."""

import importlib.util
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
from PIL import Image

from deciban import plots

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_the_one_that_the_script_writes(script):
    assert (DOCS / "gallery.md").read_text() == script.make_page()


def test_every_example_has_a_small_picture(script):
    for example in script.EXAMPLES:
        assert 5_000 < (DOCS / "gallery" / f"{example.__name__}.png").stat().st_size < 80_000


def test_every_picture_is_sharp_on_a_screen_of_high_density(script):
    page = (DOCS / "gallery.md").read_text()
    for example in script.EXAMPLES:
        with Image.open(DOCS / "gallery" / f"{example.__name__}.png") as picture:
            assert picture.width == 2 * script.WIDTH
        assert f'<img src="gallery/{example.__name__}.png" width="{script.WIDTH}" alt="' in page


def test_the_prior_and_the_costs_of_the_family_do_not_cancel(script, monkeypatch):
    seen = {}
    monkeypatch.setattr(script, "CalibratedGaussian", MagicMock())
    monkeypatch.setattr(plots.ILRDisplay, "from_family", lambda *args, **kw: seen.update(kw))
    script.family(MagicMock(), None)
    # What missing each class costs: equal costs would leave the decisions to the likelihoods.
    missing = np.array(seen["prior"]) * np.max(seen["costs"], axis=1)
    assert np.ptp(np.log(missing)) > 2


def test_every_display_is_in_the_gallery():
    page = (DOCS / "gallery.md").read_text()
    for name in plots.__all__:
        assert name == "Reliability" or f"plots.{name}" in page
