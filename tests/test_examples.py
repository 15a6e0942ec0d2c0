"""The examples run as a user would run them, and leave what they promise."""

import re
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
    for name in ("figure.png", "learnt.png"):
        assert (tmp_path / "new" / "folder" / name).read_bytes().startswith(b"\x89PNG")
    moons = float(re.search(r"compositional</td><td>([0-9.]+)</td>", page)[1])
    best = float(re.search(r"the true densities</td><td>([0-9.]+)</td>", page)[1])
    assert moons < 1.1 * best
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {
        "index.html",
        "report.html",
        "figure.png",
        "learnt.png",
    }
    assert 'href="report.html"' in page
    report = (tmp_path / "new" / "folder" / "report.html").read_text()
    assert "Handwritten digits" in report
    assert "://" not in report.replace("http://www.w3.org/", "")


@pytest.mark.parametrize(
    ("script", "picture", "says"),
    [
        ("same_source.py", "validation.png", "Supported by 4005 comparisons"),
        ("classifier.py", "classifier.png", "an overlooked 0 costs 20"),
    ],
)
def test_the_examples_for_two_audiences_run(script, picture, says, tmp_path):
    pytest.importorskip("matplotlib")
    done = run(ROOT / "examples" / script, "--output", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert says in done.stdout
    assert (tmp_path / "new" / picture).read_bytes().startswith(b"\x89PNG")
