"""The gallery: its page is what its script writes, and its pictures are there and small."""

import importlib.util
from pathlib import Path

import pytest

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


def test_every_display_is_in_the_gallery():
    page = (DOCS / "gallery.md").read_text()
    for name in plots.__all__:
        assert name == "Reliability" or f"plots.{name}" in page
