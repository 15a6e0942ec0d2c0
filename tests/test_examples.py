"""The examples run as a user would run them, and leave what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_demo_leaves_a_page_to_open(tmp_path):
    pytest.importorskip("mpltern")
    done = run(ROOT / "examples/demo.py", "--output", tmp_path / "new" / "folder")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page = (tmp_path / "new" / "folder" / "index.html").read_text()
    assert "<svg" in page
    assert "weak support for Slovak over Czech" in page
    assert "<script" not in page
    png = (tmp_path / "new" / "folder" / "figure.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {
        "index.html",
        "figure.png",
    }
