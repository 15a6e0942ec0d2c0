"""``python -m reproduction``, as one types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reproduction.command import app
from reproduction.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]


def run(*args, **options):
    return CliRunner().invoke(app, [str(arg) for arg in args], **options)


def test_the_list_names_every_experiment():
    done = run("--list", env={"COLUMNS": "200"})
    assert done.exit_code == 0
    for experiment in EXPERIMENTS:
        assert experiment.name in done.output
    listed = json.loads(run("--list", "--json").stdout)
    assert [one["name"] for one in listed] == [experiment.name for experiment in EXPERIMENTS]
    assert all(one["seconds"] > 0 for one in listed)


def test_help_has_an_example_and_says_where_mnist_comes_from():
    done = run("--help", env={"COLUMNS": "120"})
    assert "python -m reproduction circles --quick" in done.output
    assert "DECIBAN_DATA" in done.output


def test_single_experiments_run_and_leave_a_page(tmp_path):
    output = tmp_path / "out"
    done = run("densities", "bayes", "--output", output)
    assert done.exit_code == 0, done.output
    assert "2 of 2 experiments finished" in done.output
    assert str(output / "index.html") in done.output
    numbers = json.loads((output / "results.json").read_text())["numbers"]
    assert {n["ours"]["verdict"] for n in numbers if n["ours"]} == {"matched"}
    assert (output / "work").is_dir()
    again = json.loads(run("densities", "--output", output, "--json").stdout)
    assert again["experiments"] == [{"name": "densities", "error": None}]


def test_without_mnist_a_line_says_how_to_get_it_and_the_others_run(tmp_path, monkeypatch):
    import sklearn.datasets

    def no_network(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    monkeypatch.setenv("DECIBAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DECIBAN_DATA", raising=False)
    done = run("tree", "mnist-40", "--quick", "--output", tmp_path / "out")
    assert done.exit_code == 1
    assert "Set DECIBAN_DATA to a folder" in " ".join(done.output.split())
    assert "1 of 2 experiments finished" in done.output
    assert "Not run: MNIST must be" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["circle"], "an experiment must be one of densities, "),
        pytest.param(
            ["tree", "--output", "{file}"], "--output must be a folder", marks=pytest.mark.slow
        ),
    ],
)
def test_what_cannot_be_run_is_one_line_and_status_two(tmp_path, words, start):
    file = tmp_path / "file"
    file.write_text("mine")
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", *(word.format(file=file) for word in words)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(start)
    assert done.stderr.count("\n") == 1
    assert file.read_text() == "mine"


def test_a_missing_package_is_named_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduction.command.find_spec", lambda name: None)
    done = run("tree", "--output", tmp_path / "out")
    assert "needs jax, jinja2, matplotlib" in str(done.exception)
    assert "make setup" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_an_interrupted_run_says_how_to_resume_it(monkeypatch, tmp_path):
    def stop(self, experiments):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.runner.Run.__call__", stop)
    done = run("tree", "-o", tmp_path)
    assert done.exit_code == 130
    assert "give the same command again" in " ".join(done.output.split())
