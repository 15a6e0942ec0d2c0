"""``deciban monitor``: what it says, when it exits with 3, how it goes on, what it refuses."""

import json

import numpy as np
import polars as pl
import pytest

from commands import runner
from deciban import CalibratedGaussian
from deciban.exceptions import InputError, TableError
from deciban.monitoring import Monitor

run = runner(100, "monitor")


def run_to_alarm(*words):
    done = run(*words)
    assert done.exit_code == 3
    return done


CLASSES = np.array(["ant", "bee", "cat"])


@pytest.fixture
def write(tmp_path):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])

    def table(name, n, mix=None, factor=1.0, labels=True, seed=0):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, n, p=mix)
        noise = rng.multivariate_normal(np.zeros(2), family.covariance, n)
        values = family.evidence(family.means[y] + noise).log_likelihoods * factor
        truth = {"class": CLASSES[y]} if labels else {}
        scores = {label: values[:, k] for k, label in enumerate(CLASSES)}
        pl.DataFrame(truth | scores).write_csv(tmp_path / name)
        return tmp_path / name

    return table


def test_calibrated_rows_of_the_declared_mix_raise_no_alarm(write):
    done = run(write("calm.csv", 300), "--truth", "class")
    assert done.exit_code == 0
    assert "Calibration: no sign of drift" in done.stdout
    assert "Class mix: no sign of drift" in done.stdout
    assert "of the 20 decibans for an alarm)" in done.stdout
    assert "300 with a label; classes ant, bee, cat" in done.stdout
    assert "raising a false alarm is at most 0.01, for each of the two." in done.stdout
    assert "Note" not in done.stderr


def test_over_strong_evidence_exits_with_3_and_says_since_when(write):
    done = run_to_alarm(write("bold.csv", 600, factor=3.0), "--truth", "class", "--json")
    found = json.loads(done.stdout)
    assert found["moved"] == ["calibration"]
    assert found["calibration"]["fault"] == "too strong"
    assert found["calibration"]["factor"] < 0.6
    assert 1 <= found["calibration"]["since_row"] <= found["calibration"]["alarm_row"] <= 600
    assert found["calibration"]["largest_decibans"] >= 20


def test_later_tables_go_on_with_the_state_exactly_as_one_table_would(tmp_path, write):
    paths = write("one.csv", 101), write("two.csv", 120, mix=[0.8, 0.1, 0.1], seed=1)
    state = tmp_path / "monitor.json"
    run(paths[0], "--truth", "class", "--state", state)
    last = run_to_alarm(paths[1], "--truth", "class", "--state", state, "--json")
    pl.concat(map(pl.read_csv, paths)).write_csv(tmp_path / "all.csv")
    whole = run_to_alarm(tmp_path / "all.csv", "--truth", "class", "--json")
    assert json.loads(last.stdout) == json.loads(whole.stdout)
    assert json.loads(last.stdout)["mix"]["since_row"] > 80
    assert Monitor.load(state).state.n_samples == 221


def test_rows_without_labels_tell_about_the_mix_alone(write):
    path = write("new.csv", 300, mix=[0.7, 0.2, 0.1], labels=False)
    done = run_to_alarm(path, "--classes", "ant,bee,cat")
    assert "Calibration: cannot be judged without two labels or more." in done.stdout
    assert "Class mix: DRIFT" in done.stdout
    assert "Since then it has been about ant 6" in done.stdout
    done = run(path, "--classes", "ant,bee,cat", "--mix", "ant=0.7,bee=0.2")
    assert "Class mix: no sign of drift" in done.stdout


def test_empty_cells_are_labels_that_are_not_known(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("class,llr\n1,2.5\n,-1\n0,inf\n0,0.5\n")
    found = json.loads(run_to_alarm(path, "--truth", "class", "--json").stdout)
    assert (found["rows"], found["labeled"]) == (4, 3)
    assert found["calibration"]["largest_decibans"] == "inf"  # row 3 rules the true class out


def test_with_restarts_the_output_says_how_long_false_alarms_take(write):
    done = run(write("calm.csv", 300), "--truth", "class", "--restart")
    assert "after 10,000 rows on average, or later, for each of the two." in done.stdout
    assert "largest sum of e-values so far" in done.stdout
    assert "of the 40 decibans for an alarm)" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--truth", "class", "--alpha", "2"], "alpha must"),
        (["--truth", "class", "--state", "."], "--state"),
        (["--truth", "class", "--state", "no/m.json"], "--state"),
        (["--truth", "class", "--mix", "ant=0.5"], "--mix must name every class"),
        (["--truth", "class", "--key", "k.txt"], "Give one --truth or one --key"),
        (["--key", "k.txt"], "labels, not a key"),
        (
            ["--truth", "class", "--classes", "ant,bee"],
            "in class; the classes are ant, bee",
        ),
        ([], "no labels to tell the classes. Name them: --classes a,b"),
        (["--posteriors", "empirical"], "--posteriors must be .uniform"),
        (["--prior", "uniform"], "A declared class mix is --mix."),
    ],
)
def test_options_that_do_not_fit_are_refused_in_a_sentence(write, words, says):
    with pytest.raises(InputError, match=says):
        run(write("calm.csv", 30), *words)


def test_settings_cannot_change_where_a_monitor_goes_on(tmp_path, write):
    path, state = write("calm.csv", 30), tmp_path / "m.json"
    run(path, "--truth", "class", "--state", state)
    for words in (("--alpha", "0.1"), ("--restart",), ("--mix", "ant=0.5,bee=0.3,cat=0.2"),
                  ("--classes", "ant,bee")):  # fmt: skip
        with pytest.raises(InputError, match=f"{words[0]} must be as in --state"):
            run(path, "--truth", "class", "--state", state, *words)
    before = state.read_bytes()
    path.write_text("class,ant,bee,cat\nant,0,0,0\ndog,0,0,0\n")
    with pytest.raises(TableError, match="the label 'dog' in class; the classes are ant, bee, cat"):
        run(path, "--truth", "class", "--state", state)
    assert state.read_bytes() == before


def test_the_same_command_goes_on_night_after_night(tmp_path, write):
    state = tmp_path / "m.json"
    words = ("--truth", "class", "--state", state, "--mix", "ant=0.3,bee=0.4,cat=0.3")
    words += ("--alpha", "0.02", "--classes", "ant,bee,cat")
    for night in (1, 2):
        path = write("calm.csv", 30, seed=night)
        found = json.loads(run(path, *words, "--json").stdout)
        assert found["rows"] == 30 * night


def test_a_fault_is_called_probable_and_is_null_without_labels(write):
    path = write("bold.csv", 600, factor=3.0)
    done = run_to_alarm(path, "--truth", "class")
    assert "Evidence is probably too strong: multiply it by about 0." in done.stdout
    assert "decibans; 20 raise an alarm). Evidence" in done.stdout
    unlabeled = run(write("new.csv", 60, labels=False), "--classes", "ant,bee,cat", "--json")
    found = json.loads(unlabeled.stdout)
    assert found["classes"] == ["ant", "bee", "cat"]
    assert found["calibration"]["fault"] is found["calibration"]["factor"] is None
    assert found["mix"]["shares"] is None


def test_no_older_table_is_counted_twice(tmp_path, write):
    paths, state = [write(f"{k}.csv", 30, seed=k) for k in range(3)], tmp_path / "m.json"
    words = ("--truth", "class", "--state", state)
    for path in paths:
        run(path, *words)
    for path in paths:
        with pytest.raises(TableError, match=r"has been counted in .* already"):
            run(path, *words)
    assert Monitor.load(state).state.n_samples == 90


def test_the_last_thousand_tables_are_known(tmp_path):
    monitor = Monitor([0, 1])
    monitor.tables.extend(map(str, range(1200)))
    monitor.save(tmp_path / "m.json")
    assert list(Monitor.load(tmp_path / "m.json").tables) == list(map(str, range(200, 1200)))


def test_a_table_is_not_counted_twice(tmp_path, write):
    path, state = write("calm.csv", 30), tmp_path / "m.json"
    words = ("--truth", "class", "--state", state)
    run(path, *words)
    with pytest.raises(TableError, match=r"has been counted in .* Give the rows"):
        run(path, *words)
    assert Monitor.load(state).state.n_samples == 30
    pl.read_csv(path).with_columns(date=pl.lit("2026-01-02")).write_csv(path)
    run(path, *words)
    assert Monitor.load(state).state.n_samples == 60


@pytest.mark.parametrize(
    ("first", "later", "more"),
    [
        (["0", "1"], ["0.0", "1.0"], ()),
        (["0.0", "1.0"], ["0", "1"], ()),
        ([0, 1], [0.0, 1.0], ()),
        ([True, False], ["True", "False"], ()),
        (["yes", "no"], [" yes", "no "], ()),
        (["true", "false"], ["True", "False"], ("--classes", "True,False")),
    ],
)
def test_labels_mean_the_same_in_first_and_later_tables(tmp_path, first, later, more):
    state, words = tmp_path / "m.json", ("--truth", "y", *more)
    for n, labels in enumerate((first, later)):
        path = tmp_path / f"{n}.parquet"
        pl.DataFrame({"y": [*labels, None], "llr": [0.5, -0.5, 0.1 * n]}).write_parquet(path)
        run(path, *words, "--state", state)
    found = Monitor.load(state)
    assert len(found.classes) == 2
    assert found.state.n_labeled == 4


def test_labels_that_are_equal_as_numbers_but_both_known_keep_apart(tmp_path):
    state, path = tmp_path / "m.json", tmp_path / "t.csv"
    for rest in ("", "1.0,0,0,0\n"):
        path.write_text("y,1,1.0,a\n1,0,0,0\n1.0,0,0,0\na,0,0,0\n" + rest)
        run(path, "--truth", "y", "--state", state)
    assert json.loads(state.read_text())["counts"] == [[2.0, 3.0, 2.0]]


def test_a_column_that_may_be_of_a_class_without_a_label_is_noted(tmp_path, write):
    path = write("calm.csv", 60)
    pl.read_csv(path).filter(pl.col("class") != "cat").write_csv(path)
    done = run(path, "--truth", "class")
    assert "classes ant, bee\n" in done.stdout
    assert "Note: Numbers in cat are not used." in done.stderr
    assert "Note" not in run(path, "--truth", "class", "--classes", "ant,bee").stderr


def test_a_table_whose_labels_are_all_empty_needs_the_classes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("class,llr\n,2.5\n ,-1\n")
    with pytest.raises(InputError, match="Name them: --classes a,b"):
        run(path, "--truth", "class")
    done = run(path, "--truth", "class", "--classes", "0,1")
    assert "2 rows in all, 0 with a label" in done.stdout
