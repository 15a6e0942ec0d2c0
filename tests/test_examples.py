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


@pytest.mark.slow
def test_the_demo_learns_evidence_as_good_as_the_true_densities(tmp_path):
    pytest.importorskip("mpltern")
    folder = tmp_path / "new" / "folder"
    done = run(ROOT / "examples/demo.py", "--output", folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    learned = float(re.search(r"compositional +([0-9.]+)", done.stdout)[1])
    best = float(re.search(r"the true densities +([0-9.]+)", done.stdout)[1])
    assert learned < 1.1 * best
    for name in ("demo.png", "learned.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    report = (folder / "report.html").read_text()
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
