"""``python -m reproduction``, as one types it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import deciban
from deciban import cli
from deciban.cli.app import app
from deciban.exceptions import InputError
from reproduction.experiments import EXPERIMENTS

run = CliRunner().invoke


def test_the_list_names_every_experiment():
    done = run(app, ["paper", "--list"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    for experiment in EXPERIMENTS:
        assert experiment.name in done.output
    listed = json.loads(run(app, ["paper", "--list", "--json"]).stdout)
    assert [one["name"] for one in listed] == [experiment.name for experiment in EXPERIMENTS]
    assert all(one["seconds"] > 0 for one in listed)


def test_the_version_is_printed():
    assert run(app, ["--version"]).output == f"deciban {deciban.__version__}\n"


def test_help_has_an_example_and_says_where_mnist_comes_from():
    done = run(app, ["paper", "--help"], env={"COLUMNS": "120"})
    assert "python -m reproduction circles --quick" in done.output
    assert "DECIBAN_DATA" in done.output


def test_single_experiments_run_and_leave_a_page(tmp_path):
    output = tmp_path / "out"
    done = run(app, ["paper", "densities", "families", "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "2 of 2 experiments run" in done.output
    assert str(output / "index.html") in done.output
    numbers = json.loads((output / "results.json").read_text())["numbers"]
    assert {n["ours"]["verdict"] for n in numbers if n["ours"]} == {"matched"}
    assert (output / "work").is_dir()


def test_without_mnist_a_line_says_how_to_get_it_and_the_others_run(tmp_path, monkeypatch):
    import sklearn.datasets

    def no_network(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    monkeypatch.setenv("DECIBAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DECIBAN_DATA", raising=False)
    done = run(app, ["paper", "tree", "mnist-40", "--quick", "--output", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "Set DECIBAN_DATA to a folder" in " ".join(done.output.split())
    assert "1 of 2 experiments run" in done.output
    assert "Not run: MNIST must be" in (tmp_path / "out" / "README.md").read_text()


def command(*args):
    code = "from deciban.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )


def test_what_is_refused_is_one_line_and_status_two(tmp_path):
    done = command("paper", "circle")
    assert done.returncode == 2
    assert done.stderr.startswith("an experiment must be one of densities, ")
    assert done.stderr.count("\n") == 1
    (tmp_path / "file").write_text("mine")
    done = command("paper", "tree", "--output", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "--output must be a folder" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_the_extra_the_command_names_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "deciban.cli.app", None)
    real = __import__

    def missing(wanted, *args, **options):
        if wanted == "deciban.cli.app":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(wanted, *args, **options)

    monkeypatch.setattr("builtins.__import__", missing)
    with pytest.raises(SystemExit, match=r"pip install 'deciban\[cli\]'"):
        cli.main()


def main_with(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["deciban", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code


def test_main_tells_refusals_and_faults_apart(monkeypatch, capsys):
    assert main_with(monkeypatch, "paper", "circle") == 2
    assert capsys.readouterr().err.startswith("an experiment must be one of")

    def fault(*args, **options):
        raise ZeroDivisionError("by\nnought")

    monkeypatch.setattr("deciban.cli.app.app", fault)
    assert main_with(monkeypatch, "paper") == 70
    told = capsys.readouterr().err
    assert "a fault of its own (ZeroDivisionError: by nought)" in told
    assert told.count("\n") == 1


def test_debug_shows_what_went_wrong(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["deciban", "--debug", "paper", "circle"])
    with pytest.raises(InputError, match="an experiment must be"):
        cli.main()
    monkeypatch.setattr("deciban.cli.app.app", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_an_interrupted_run_says_how_it_goes_on(monkeypatch, tmp_path):
    def stop(self, experiments):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.Run.__call__", stop)
    done = run(app, ["paper", "tree", "-o", str(tmp_path)])
    assert done.exit_code == 130
    assert "Give the same command again" in done.output
