"""--group and --items of evaluate and compare, and the question for them."""

import json

import numpy as np
import polars as pl
import pytest

from commands import runner
from deciban.cli.identifiers import design_note, find_identifiers
from deciban.exceptions import InputError

run = runner(160)


@pytest.fixture
def pairs(tmp_path):
    """All pairs of 30 items, whose effects make comparisons with an item alike."""
    rng = np.random.default_rng(0)
    i, j = (index.ravel() for index in np.indices((30, 30)))
    effect, same = rng.normal(size=30), (i == j).astype(int)
    frame = pl.DataFrame({
        "left": [f"g{k}" for k in i], "right": [f"g{k}" for k in j], "same": same,
        "llr": 4.0 * same - 2 + effect[i] + effect[j] + 0.2 * rng.normal(size=900),
    })  # fmt: skip
    path = tmp_path / "pairs.csv"
    frame.write_csv(path)
    return frame, path


def misleading(done):
    found = json.loads(done.stdout)
    return found, next(q for q in found["quantities"] if q["key"] == "misleading_other")


def test_items_are_resampled_on_both_sides_and_the_output_says_so(pairs, tmp_path):
    _, path = pairs
    report = tmp_path / "report.html"
    options = ("--truth", "same", "--resamples", "50")
    done = run("evaluate", path, *options, "--items", "left,right", "--report", report)
    words = "30 items, each in 59 comparisons; items were resampled on both sides"
    assert words in done.stdout
    assert words in report.read_text(encoding="utf-8")
    found, crossed = misleading(run("evaluate", path, *options, "--items", "left,right", "--json"))
    assert found["design"] == words
    assert found["warnings"] == []
    found, plain = misleading(run("evaluate", path, *options, "--json"))
    assert crossed["high"] - crossed["low"] > 2 * (plain["high"] - plain["low"])
    assert "Give --items left,right, or the columns of their sources" in found["warnings"][0]
    for option in ("--group", "--items"):  # half of the design is not enough
        found, _ = misleading(run("evaluate", path, *options, option, "left", "--json"))
        assert found["design"] == "30 groups of 30 samples; whole groups were resampled"
        assert "assume that groups by left are independent" in found["warnings"][0]


def test_systems_are_compared_by_their_items(pairs, tmp_path):
    frame, path = pairs
    other = tmp_path / "other.csv"
    frame.with_columns(pl.col("llr") * 2).write_csv(other)
    options = ("--truth", "same", "--resamples", "20")
    done = run("compare", path, other, *options, "--items", "left,right")
    assert "Intervals: 30 items" in done.stdout
    assert "Give --items left,right" in run("compare", path, other, *options).stderr


def test_trial_lists_ask_for_their_items_and_take_them(tmp_path):
    rng = np.random.default_rng(0)
    trials = [(f"m{k // 20}", f"s{k % 20}") for k in range(400)]
    for name, value in (
        ("scores", lambda k: rng.normal()),
        ("key", lambda k: "target" if k % 3 else "nontarget"),
    ):
        lines = [f"{m} {s} {value(k)}" for k, (m, s) in enumerate(trials)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    options = (
        "evaluate",
        tmp_path / "scores.txt",
        "--key",
        tmp_path / "key.txt",
        "--resamples",
        20,
    )
    assert "Give --items model,segment" in run(*options).stderr
    done = run(*options, "--items", "model,segment")
    assert "20 items on the left and 20 on the right, each in 20 comparisons" in done.stdout
    assert "Give --items" not in done.stderr


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["left", "right", "llr"], ["left", "right"]),
        (["Enroll", "Test", "label", "score"], ["Enroll", "Test"]),
        (["item_1", "item_2", "llr"], ["item_1", "item_2"]),
        (["id1", "id2", "llr"], ["id1", "id2"]),
        (["control", "recovered", "same_source", "log10_lr"], ["control", "recovered"]),
        (["known_file", "questioned_file", "llr"], ["known_file", "questioned_file"]),
        (["modelid", "segmentid", "score"], ["modelid", "segmentid"]),
        (["pane_1", "pane_2", "llr"], ["pane_1", "pane_2"]),
        (["control", "test", "trace", "llr"], []),  # which one is compared with the control?
        (["speaker_a", "speaker_b", "llr"], ["speaker_a", "speaker_b"]),
        (["class", "speaker", "ll_a", "ll_b"], ["speaker"]),
        (["x1", "x2", "class"], []),
        (["class", "a", "b", "llr"], []),
        (["sepal_length", "sepal_width", "species"], []),
        (["test", "llr", "class"], []),
        (["id", "class", "llr"], []),
    ],
)
def test_columns_that_name_items_or_groups_are_found_by_name(columns, expected):
    assert find_identifiers(columns) == expected


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"left": range(20), "right": range(20, 40)},  # no item recurs
        {"left": range(20), "right": range(20)},
        {"left": np.linspace(0, 1, 20), "right": np.zeros(20)},  # measurements
        {"speaker": range(20)},
        {"source": ["web", "phone"] * 10},  # a condition, too few for groups
    ],
)
def test_tables_without_shared_items_raise_no_question(columns):
    assert design_note(pl.DataFrame(columns)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--items", "left,left"), "--items with two different columns"),
        (("--items", "left,rigth"), "no column 'rigth', which --items needs"),
        (
            ("--group", "left", "--items", "left,right"),
            "--items with two different columns",
        ),
        (("--group", "hole"), "row 3 of 'hole' is empty"),
    ],
)
def test_designs_that_cannot_be_read_are_refused(options, message, pairs, tmp_path):
    frame, path = pairs
    hole = pl.Series([None if k == 2 else f"h{k % 40}" for k in range(900)])
    frame.with_columns(hole=hole).write_csv(path)
    with pytest.raises(InputError, match=message):
        run("evaluate", path, "--truth", "same", *options)
