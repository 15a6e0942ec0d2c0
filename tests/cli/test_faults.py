"""Data that must not change, files that must not be lost, and ways to leave."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from commands import runner
from deciban import LinearDiscriminant, cli
from deciban.cli.cells import Column, encode_labels
from deciban.exceptions import InputError, TableError

run = runner(120)
CARRIED = ["0001", "01234", "+4930", "12e4", "1.50", " x ", "True", "NULL", "=1+1", "é", "9" * 25]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of one feature and a calibrator of LLRs, with the table that they come from."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    x = rng.normal(2 * y, 1).round(3)
    pl.DataFrame({"class": y, "llr": x}).write_csv(folder / "t.csv")
    run("fit", folder / "t.csv", "--label", "class", "--model", "lda", "-o", folder / "m.deciban",
        "--validation", "0")  # fmt: skip
    run("calibrate", folder / "t.csv", "--truth", "class", "-o", folder / "c.deciban")
    return folder


@pytest.fixture
def folder(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "m.deciban", "c.deciban"):
        (tmp_path / name).write_bytes((models / name).read_bytes())
    return tmp_path


def words(*args):
    return [sys.executable, "-m", "deciban.cli", *map(str, args)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize(("command", "model"), [("predict", "m"), ("apply", "c")])
def test_what_is_only_carried_comes_out_byte_for_byte(folder, command, model, ending):
    rows = "".join(f"{cell},0.5,{cell}\n" for cell in CARRIED)
    (folder / "new.csv").write_text(f"id,llr,zip\n{rows}", encoding="utf-8")
    run(command, f"{model}.deciban", "new.csv", "-o", f"out.{ending}")
    read = {"jsonl": pl.read_ndjson, "parquet": pl.read_parquet}.get(ending, pl.read_csv)
    options = {"infer_schema": False} if ending in ("csv", "tsv") else {}
    if ending == "tsv":
        options["separator"] = "\t"
    out = read(f"out.{ending}", **options)
    assert out["id"].to_list() == CARRIED
    assert out["zip"].to_list() == CARRIED
    if command == "apply":
        assert set(out["llr"]) == {"0.5" if ending in ("csv", "tsv") else 0.5}


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["01", "1"], ("01", "1")),
        (["1", "2", "10"], (1, 2, 10)),
        (["-1", "1"], (-1, 1)),
        (["+1", "2"], ("+1", "2")),
        (["1.0", "2.0"], ("1.0", "2.0")),
        (["True", "False"], ("False", "True")),
        (["9" * 20, "1"], ("1", "9" * 20)),
    ],
)
def test_labels_of_text_are_the_text_unless_all_are_plain_whole_numbers(cells, labels):
    assert encode_labels(Column(pl.Series("y", cells), "t.csv"))[0] == labels


@pytest.mark.parametrize("positive", ["01", "1"])
def test_classes_that_differ_by_a_zero_stay_two_classes(folder, positive):
    (folder / "s.csv").write_text("y,llr\n" + "01,1\n1,-1\n01,2\n1,0.5\n" * 5)
    found = run("evaluate", "s.csv", "--truth", f"y={positive}", "--resamples", "0")
    assert "class 01: 10" in found.stdout
    assert "class 1: 10" in found.stdout
    (folder / "l.csv").write_text("y,01,1\n" + "01,1,0\n1,-1,0\n01,2,0\n1,0.5,0\n" * 5)
    found = run("evaluate", "l.csv", "--truth", f"y={positive}", "--resamples", "0")
    assert "class 01: 10" in found.stdout


@pytest.mark.parametrize("word", ["NA", " n/a", "NaN", "null"])
def test_a_missing_label_is_refused_with_its_rows(folder, word):
    text = (folder / "t.csv").read_text().splitlines()
    text[3], text[5] = f"{word},1.5", f"{word},2.5"
    (folder / "t.csv").write_text("\n".join(text))
    for command in (["fit", "t.csv", "--label", "class", "-o", "x", "--model", "lda"],
                    ["evaluate", "t.csv", "--truth", "class"]):  # fmt: skip
        with pytest.raises(TableError, match=r"rows 3, 5 hold '.*'\. Fill it in") as caught:
            run(*command)
        assert caught.value.rows == (2, 4)
        assert (caught.value.file, caught.value.column) == ("t.csv", "class")


def test_a_label_that_may_mean_nothing_is_noted(folder):
    text = (folder / "t.csv").read_text().replace("\n0,", "\nnone,")
    (folder / "t.csv").write_text(text)
    found = run("fit", "t.csv", "--label", "class", "-o", "x", "--model", "lda")
    assert "Note: 'none' is taken as a class" in found.stderr


def test_two_outputs_of_a_fit_are_never_one_file(folder):
    base = ("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "new.deciban")
    for report in ("new.deciban", "./new.deciban", folder / "new.deciban"):
        with pytest.raises(InputError, match=r"--report .* is (--output|an input) too"):
            run(*base, "--report", report)
    assert not (folder / "new.deciban").exists()
    with pytest.raises(InputError, match=r"--output .* is an input too"):
        run("predict", "m.deciban", "t.csv", "-o", "./t.csv", "--force")
    with pytest.raises(InputError, match=r"--report .* is (--output|an input) too"):
        run("evaluate", "t.csv", "--truth", "class", "--report", "t.csv", "--force")


def test_a_checkpoint_of_somebody_else_is_left_alone(folder):
    (folder / "q.deciban.checkpoint").write_text("mine")
    run("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "q.deciban")
    assert (folder / "q.deciban.checkpoint").read_text() == "mine"


def test_of_two_fits_to_one_new_file_one_is_told(folder, monkeypatch):
    fit = LinearDiscriminant.fit

    def overtaken(self, X, y):
        Path("q.deciban").write_text("the other's")
        return fit(self, X, y)

    monkeypatch.setattr(LinearDiscriminant, "fit", overtaken)
    with pytest.raises(InputError, match="must be a new file"):
        run("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "q.deciban")
    assert (folder / "q.deciban").read_text() == "the other's"


def test_a_private_file_stays_private_when_it_is_overwritten(folder):
    (folder / "out.csv").write_text("")
    (folder / "out.csv").chmod(0o600)
    run("predict", "m.deciban", "t.csv", "-o", "out.csv", "--force")
    assert (folder / "out.csv").stat().st_mode & 0o777 == 0o600


def test_held_out_evidence_is_computed_once(folder, monkeypatch):
    calls = []
    evidence = LinearDiscriminant.evidence
    monkeypatch.setattr(
        LinearDiscriminant, "evidence", lambda self, X: calls.append(len(X)) or evidence(self, X)
    )
    monkeypatch.setattr("deciban.report.page.report", lambda *a, **k: "<html></html>")
    run("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "q", "--report", "r.html")
    assert calls.count(24) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--validation", "0.995"], "--validation 0.995 leaves no row of class 0"),
        (["--validation", "0"], "needs rows to assess the model by. Give --validation 0.2."),
        (["--validation", "0.001"], "class 0 has 60 rows, of which --validation 0.001 sets none"),
    ],
)
def test_a_split_that_cannot_be_made_ends_in_a_sentence(folder, options, said):
    base = ("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "q", "--report", "r.html")
    with pytest.raises(InputError) as caught:
        run(*base, *options)
    assert said in str(caught.value)


def test_a_class_too_rare_for_a_report_is_named(folder):
    with open("t.csv", "a") as file:
        file.write("rare,0.5\nrare,0.7\n")
    base = ("fit", "t.csv", "--label", "class", "--model", "lda", "-o", "q", "--report", "r.html")
    with pytest.raises(
        InputError, match=r"class 'rare' has 2 rows.*Give --validation 0\.26, or leave out"
    ):
        run(*base)


# leaving


def main_with(monkeypatch, *args):
    monkeypatch.setattr(sys, "argv", ["deciban", *map(str, args)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code


def test_names_that_are_too_long_are_refused_in_a_short_sentence(folder, monkeypatch, capsys):
    long = "x" * 100_000
    for args in (["fit", "t.csv", "--label", "class", "--model", "lda", "-o", long],
                 ["predict", long, "t.csv", "-o", "x.csv"],
                 ["predict", "m.deciban", f"{long}.csv", "-o", "x.csv"],
                 ["fit", "t.csv", "--label", long, "-o", "x"],
                 ["predict", "m.deciban", "t.csv", "-o", "x.csv", "--prior", long],
                 ["fit", "t.csv", "--label", "class", "--epochs", "1", "-o", "x" * 250],
                 ["evaluate", "t.csv", "--truth", "class", "--costs", f"{long}>1=3"]):  # fmt: skip
        assert main_with(monkeypatch, *args) == 2, args[0]
        assert len(capsys.readouterr().err) < 1_100


def test_nothing_that_steers_a_terminal_is_printed(folder, monkeypatch, capsys):
    evil = "a\x1b[31m\x9b2J\u202e"
    (folder / "s.csv").write_text(f"y,llr\n{evil},1\nb,-1\n{evil},2\nb,0.5\n")
    base = ["s.csv", "--truth", "y=b", "--resamples", "0"]
    assert main_with(monkeypatch, "evaluate", *base) == 0
    assert main_with(monkeypatch, "evaluate", *base, "--json") == 0
    assert main_with(monkeypatch, "evaluate", f"{evil}.csv", "--truth", "y") == 2
    printed = "".join(capsys.readouterr())
    assert "\\u001b[31m" in printed
    assert not {"\x1b", "\x9b", "\u202e"} & set(printed)


@pytest.fixture
def survive(monkeypatch):
    """Let os._exit raise SystemExit with a text, which sys.exit(status) does not."""

    def leave(status):
        raise SystemExit(f"left with {status}")

    monkeypatch.setattr(os, "_exit", leave)
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_modules_load_is_one_word(monkeypatch, capsys, survive):
    def interrupted(name, *args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "deciban.cli.app")
        patch.setattr(sys, "argv", ["deciban", "example"])
        patch.setattr("builtins.__import__", interrupted)
        with pytest.raises(SystemExit) as left:
            cli.main()
    assert left.value.code == "left with 130"
    assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize(("raised", "status", "printed"),
                         [(KeyboardInterrupt(), 130, "Interrupted.\n"), (typer.Exit(130), 130, ""),
                          (cli.Terminated(signal.SIGTERM), 143, "")])  # fmt: skip
def test_a_signal_ends_the_process_at_once_since_jax_may_be_compiling(
    folder, monkeypatch, capsys, survive, raised, status, printed
):
    def interrupted(*args, **options):
        raise raised

    monkeypatch.setattr("deciban.cli.tables.open_table", interrupted)
    assert main_with(monkeypatch, "explain", "m.deciban", "t.csv") == f"left with {status}"
    assert capsys.readouterr().err == printed


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_signal_leaves_no_files_behind(folder, number):
    temporary = folder / "tmp"
    temporary.mkdir()
    program = subprocess.Popen(
        words("predict", "m.deciban", "-", "-o", "out.csv"), stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    program.stdin.write(b"llr\n" + b"1.5\n" * 1000)
    program.stdin.flush()
    # Not any file: Python probes the folder with one of its own, which a signal could leave.
    while not list(temporary.glob("deciban-*")):
        time.sleep(0.05)
    program.send_signal(number)
    assert program.wait(60) == 128 + number
    program.stdin.close()
    assert program.stderr.read() == b""
    program.stderr.close()
    assert list(temporary.iterdir()) == []
    assert not [path for path in folder.iterdir() if path.name.startswith((".", "out"))]


@pytest.mark.skipif(os.name == "nt", reason="pipes are those of POSIX")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["--help"], marks=pytest.mark.slow),
        pytest.param(["example", "scores.csv", "-o", "-"], marks=pytest.mark.slow),
        ["predict", "m.deciban", "t.csv", "-o", "-"],
    ],
)
def test_a_closed_pipe_gives_the_status_of_sigpipe(folder, command):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words(*command), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr


def test_a_closed_standard_input_is_refused(folder):
    shell = f"{' '.join(words('predict', 'm.deciban', '-', '-o', 'x.csv'))} <&-"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "standard input is closed. Name a file instead of -.\n"


@pytest.mark.parametrize("name", ["llr.xlsx", "llr"])
@pytest.mark.parametrize(("command", "model"), [("predict", "m"), ("apply", "c")])
def test_an_output_of_an_unknown_format_is_not_told_of_an_option_for_inputs(
    folder, command, model, name
):
    with pytest.raises(InputError, match=r"must end in \.csv") as caught:
        run(command, f"{model}.deciban", "t.csv", "-o", name)
    assert "--format" not in str(caught.value)


def test_one_row_is_a_row_and_the_only_bad_cell_is_not_one_of_many(folder):
    (folder / "one.csv").write_text("llr\n1.5\n")
    assert run("predict", "m.deciban", "one.csv", "-o", "p.csv").stderr.startswith("1 row: ")
    assert run("apply", "c.deciban", "one.csv", "-o", "a.csv").stderr.startswith("1 row calibrated")
    (folder / "bad.csv").write_text("llr\n1.5\nx\n")
    with pytest.raises(TableError, match=r"row 2 holds 'x'\. Correct"):
        run("apply", "c.deciban", "bad.csv", "-o", "b.csv")
    (folder / "bad.csv").write_text("llr\n1.5\nx\nx\n")
    with pytest.raises(TableError, match=r"row 2 holds 'x', one of 2 such\. Correct"):
        run("apply", "c.deciban", "bad.csv", "-o", "b.csv")
    (folder / "bad.csv").write_text('llr\n"1,5"\n"-0,5"\n')
    with pytest.raises(TableError, match=r"'1,5', one of 2 such\. It has decimal commas: save it"):
        run("apply", "c.deciban", "bad.csv", "-o", "b.csv")


@pytest.mark.parametrize(
    "command",
    [["evaluate"], pytest.param(["calibrate", "-o", "new.deciban"], marks=pytest.mark.slow)],
)
def test_a_table_from_a_pipe_is_called_standard_input(folder, command):
    text = (folder / "t.csv").read_bytes()
    done = subprocess.run(words(*command, "-", "--truth", "class"), input=text,
                          capture_output=True, check=True)  # fmt: skip
    assert done.stdout.startswith(b"standard input: class 0: 60; class 1: 60")
