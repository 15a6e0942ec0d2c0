"""A browser for the tests of all folders: one process cannot drive two."""

import pytest

from browser import find_chromium, launch_chromium, quiet_page


@pytest.fixture(scope="session")
def browser():
    """A Chromium that Playwright drives."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium is installed")
    with launch_chromium(path) as running:
        yield running


@pytest.fixture
def page(browser):
    """An empty page; anything that it complains of fails the test."""
    with quiet_page(browser) as empty:
        yield empty
