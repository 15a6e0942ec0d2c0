"""The examples run as a user would run them, and leave what they promise."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.datasets import load_wine

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
    assert "held-out images of digits" in report
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", report)  # it loads nothing


@pytest.mark.parametrize(
    ("script", "picture", "says"),
    [
        ("same_source.py", "validation.png", "Supported by 4005 comparisons"),
        pytest.param(
            "classifier.py", "classifier.png", "missing a 0 costs 20", marks=pytest.mark.slow
        ),
    ],
)
def test_the_examples_for_two_audiences_run(script, picture, says, tmp_path):
    pytest.importorskip("matplotlib")
    done = run(ROOT / "examples" / script, "--output", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert says in done.stdout
    assert (tmp_path / "new" / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_model_is_trained_beside_the_workers_of_dask(tmp_path):
    pytest.importorskip("distributed")
    table, model = tmp_path / "wine.csv", tmp_path / "wine.deciban"
    load_wine(as_frame=True).frame.to_csv(table, index=False)
    options = "--label", "target", "--epochs", 2, "-o", model
    done = run(ROOT / "examples/dask_fit.py", table, *options)
    assert done.returncode == 0, done.stderr
    assert "from 142 rows of" in done.stdout
    assert model.exists()


SCRIPTS = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/*.py")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_uses_names_that_deciban_has(path):
    pytest.importorskip("jax")
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    modules = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "deciban":
            home = importlib.import_module(node.module)
            for alias in node.names:
                found = getattr(home, alias.name)
                modules |= {alias.name: found} if isinstance(found, ModuleType) else {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            assert module is None or hasattr(module, node.attr), f"{node.value.id}.{node.attr}"
