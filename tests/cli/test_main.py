"""``deciban`` as a process: its version, and how it leaves."""

import sys
import warnings

import pytest
import typer.main
from typer.testing import CliRunner

import deciban
from deciban import cli
from deciban.cli.app import app
from deciban.exceptions import InputError


def test_the_version_is_printed():
    assert CliRunner().invoke(app, ["--version"]).output == f"deciban {deciban.__version__}\n"


def test_a_removed_command_says_what_to_do_instead():
    done = CliRunner().invoke(app, ["family", "--divergences", "5"])
    assert "CalibratedGaussian.from_divergences" in str(done.exception)


COMMANDS = typer.main.get_command(app).commands
RENAMED = {"as_json": "--json", "id_column": "--id", "every": "--all", "labels": "--truth",
           "scores": "--llr", "shared": "--group"}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("calibrate s.csv --truth y --posteriors auto --prior uniform -o c", "with --posteriors"),
        ("evaluate s.csv --truth y --positive=ill", "--truth result=ill"),
        ("predict m t.csv -o out/ --cluster tcp://here:1", "--workers tcp://host:8786"),
    ],
)
def test_a_removed_option_says_what_to_do_instead(line, words):
    with pytest.raises(InputError, match=words):
        CliRunner().invoke(app, line.split(), catch_exceptions=False)


def test_there_are_at_most_twelve_commands_of_at_most_fifteen_options():
    assert len(COMMANDS) <= 12
    for name, command in COMMANDS.items():
        options = [one for one in command.params if one.param_type_name == "option"]
        assert len(options) <= 15, name


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_called_after_its_parameter_in_small_letters(name):
    options = [one for one in COMMANDS[name].params if one.param_type_name == "option"]
    assert options
    for one in options:
        assert one.opts[0] == RENAMED.get(one.name, "--" + one.name.replace("_", "-"))
        assert all(text == text.lower() for text in (*one.opts, *one.secondary_opts))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_no_line_breaks_within_a_paragraph(name):
    assert "\n" not in COMMANDS[name].help.replace("\n\n", "")


@pytest.mark.parametrize("name", ["typer", "rich", "polars"])
def test_without_the_extra_the_command_names_it(monkeypatch, capsys, name):
    monkeypatch.setitem(sys.modules, "deciban.cli.app", None)
    real = __import__

    def missing(wanted, *args, **options):
        if wanted == "deciban.cli.app":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(wanted, *args, **options)

    monkeypatch.setattr("builtins.__import__", missing)
    assert main_with(monkeypatch, "example") == 2
    assert (
        f"{name}, which is not installed. Run: pip install 'deciban[cli]'"
        in capsys.readouterr().err
    )


def main_with(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["deciban", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code


def test_main_tells_refusals_and_faults_apart(monkeypatch, capsys):
    assert main_with(monkeypatch, "example", "flowers") == 2
    assert capsys.readouterr().err.startswith("NAME must be")

    def fault(*args, **options):
        raise ZeroDivisionError("by\nnought")

    monkeypatch.setattr("deciban.cli.app.app", fault)
    assert main_with(monkeypatch, "example") == 70
    message = capsys.readouterr().err
    assert "ZeroDivisionError: by nought" in message
    assert message.count("\n") == 1


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["deciban", "--debug", "example", "flowers"])
    with pytest.raises(InputError, match="NAME must be"):
        cli.main()
    monkeypatch.setattr("deciban.cli.app.app", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_a_warning_is_a_note_in_one_line(monkeypatch, capsys):
    def warn(*args, **options):
        warnings.warn("two\nlines \x1b[31m", stacklevel=1)

    monkeypatch.setattr("deciban.cli.app.app", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main_with(monkeypatch, "example") == 0
    assert capsys.readouterr().err == "Note: two lines \\u001b[31m\n"
