"""A headless Chromium, for tests that look at a page as a reader's browser shows it."""

import os
import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium():
    """Path of an installed Chromium, or None; a failure where the environment requires one."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None and os.environ.get("DECIBAN_REQUIRE_BROWSER") == "1":
        pytest.fail(f"DECIBAN_REQUIRE_BROWSER is 1, but none of {', '.join(NAMES)} is on PATH.")
    return path


def open_page(chromium, path, profile, *options):
    """Return the page as HTML after its scripts have run, and what the browser logged."""
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={profile}", "--enable-logging=stderr", "--dump-dom", *options,
         path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr
