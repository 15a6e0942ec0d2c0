"""``deciban example``, and that what it writes is what the other commands take."""

import json
import shlex

import polars as pl
import pytest
import typer.main

from commands import runner
from deciban.cli.app import app
from deciban.exceptions import InputError

run = runner(100)
EXAMPLES = json.loads(run("example", "--json").stdout)["examples"]
COMMANDS = typer.main.get_command(app).commands
PRINTED = {name: one.epilog.removeprefix("Example: ") for name, one in COMMANDS.items()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_name_the_files_are_listed_with_what_to_do(folder):
    done = run("example")
    for one in EXAMPLES:
        assert one["name"] in done.stdout
        assert f"    {one['command']}\n" in done.stdout
    assert not list(folder.iterdir())


def test_one_file_is_written_here_or_where_one_says(folder):
    run("example", "scores")
    here = (folder / "scores.csv").read_bytes()
    (folder / "sub").mkdir()
    run("example", "scores.csv", "-o", "sub")
    run("example", "scores.csv", "-o", "other.csv")
    assert (folder / "sub" / "scores.csv").read_bytes() == here
    assert (folder / "other.csv").read_bytes() == here
    assert run("example", "scores.csv", "-o", "-").stdout.encode() == here
    done = run("example", "scores.csv", "--force", "--json")
    assert json.loads(done.stdout) == {"written": ["scores.csv"]}


def test_nothing_is_written_over_and_all_or_none(folder):
    (folder / "key.txt").write_text("mine")
    with pytest.raises(InputError, match=r"key\.txt exists\. Choose another name, or pass --force"):
        run("example", "--all")
    assert [path.name for path in folder.iterdir()] == ["key.txt"]
    run("example", "--all", "--force")
    assert {path.name for path in folder.iterdir()} == {one["name"] for one in EXAMPLES}


def test_the_flowers_to_predict_are_not_among_those_to_learn_from(folder):
    run("example", "--all", "-o", "new/folder")
    old, new = (pl.read_csv(f"new/folder/{name}") for name in ("iris.csv", "iris-new.csv"))
    assert (old.height, new.height) == (144, 6)
    assert old["species"].value_counts()["count"].to_list() == [48, 48, 48]
    assert new.columns == old.columns[:-1]


@pytest.mark.parametrize(
    "text",
    [
        *dict.fromkeys(
            one["command"]
            for one in EXAMPLES
            if not one["command"].startswith(("deciban fit", "deciban predict"))
        ),
        *(PRINTED[name] for name in ("apply", "calibrate", "compare", "evaluate", "monitor")),
    ],
)
def test_commands_work_as_printed(folder, text):
    run("example", "--all")
    if text.startswith("deciban apply"):
        run(*shlex.split(PRINTED["calibrate"])[1:])
    assert run(*shlex.split(text)[1:]).exit_code == (3 if "monitor" in text else 0)


def test_example_scores_claim_too_much_and_calibration_helps(folder):
    run("example", "--all")
    for words in ("scores.csv --truth class", "languages.csv --truth truth",
                  "trials.txt --key key.txt"):  # fmt: skip
        done = run("calibrate", *words.split(), "-o", "c.deciban", "--json", "--force")
        total = json.loads(done.stdout)["quantities"][0]
        assert total["after"] < 0.85 * total["before"], words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("irs", "Did you mean 'iris"),
        ("iris --all", "Give NAME or --all"),
        ("-o x.csv", "--output needs the NAME"),
        ("iris -o none/x.csv", "folder that does not exist"),
        ("--all -o file", "With --all, --output must be a folder"),
        ("--all -o file/sub", "cannot be made"),
        ("--all -o -", "With --all, --output must be a folder"),
    ],
)
def test_what_cannot_be_used_is_refused(folder, options, words):
    (folder / "file").write_text("")
    with pytest.raises(InputError, match=words):
        run("example", *options.split())
