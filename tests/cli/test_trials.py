"""Trial lists as laboratories and challenges write them, through the commands that take scores."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from commands import runner
from deciban import metrics
from deciban.cli import text
from deciban.cli.trials import open_trial_list
from deciban.exceptions import InputError

run = runner(160)
N = 90
Y = (np.arange(N) % 3 == 0).astype(int)
SCORES = np.random.default_rng(0).normal(np.where(Y, 3.0, -3.0), 3).round(4)
PAIRS = [f"id{k % 9}/a.wav id{k % 9}/{k}.wav" for k in range(N)]
WORDS = np.array(["nontarget", "target"])[Y]
CLLR = pytest.approx(metrics.cllr(Y, SCORES))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("scores.txt", [f"{pair} {x}" for pair, x in zip(PAIRS, SCORES, strict=True)][::-1])
    write("key.txt", [f"{pair} {word}" for pair, word in zip(PAIRS, WORDS, strict=True)])
    return tmp_path


def write(name, lines):
    Path(name).write_text("\n".join(map(str, lines)) + "\n")


def cllr(*args):
    done = run("evaluate", *args, "--json", "--resamples", "0")
    return {q["key"]: q["value"] for q in json.loads(done.stdout)["quantities"]}["cllr"]


def said(*args):
    return run("evaluate", *args, "--resamples", "0").stdout


@pytest.mark.parametrize("separator", [" ", "\t", "  ", ","])
@pytest.mark.parametrize("layout", ["{y} {pair}", "{pair} {word}"])
def test_a_key_may_have_its_label_first_or_last(layout, separator):
    key = [layout.format(y=Y[k], pair=PAIRS[k], word=WORDS[k]) for k in range(N)]
    write("key.txt", [line.replace(" ", separator) for line in key])
    assert cllr("scores.txt", "--key", "key.txt") == CLLR


@pytest.mark.parametrize("layout", [
    "{y} {pair} {x}", "{pair} {x} {word}", "{pair} {word} {x}", "{y} {x}", "{x},{word}",
])  # fmt: skip
def test_a_list_with_labels_and_scores_needs_no_key(layout):
    write("t.txt", [layout.format(y=Y[k], pair=PAIRS[k], word=WORDS[k], x=SCORES[k])
                    for k in range(N)])  # fmt: skip
    assert cllr("t.txt") == CLLR
    assert "the fields are" in said("t.txt")


def test_scores_may_come_first_as_in_voxsrc_or_alone_in_the_order_of_the_key():
    write("first.txt", [f"{x} {pair}" for pair, x in zip(PAIRS, SCORES, strict=True)])
    assert cllr("first.txt", "--key", "key.txt") == CLLR
    write("alone.txt", [*SCORES, "", ""])
    assert cllr("alone.txt", "--key", "key.txt") == CLLR
    assert "matched with key.txt by their order" in said("alone.txt", "--key", "key.txt")
    write("alone.txt", SCORES[1:])
    with pytest.raises(InputError, match=r"has 89 scores and key.txt 90 trials, .* Give model and"):
        run("evaluate", "alone.txt", "--key", "key.txt")


@pytest.mark.parametrize("words", [
    ("0", "1"), ("FALSE", "TRUE"), ("NonTarget", "Target"), ("No", "YES"), ("different", "SAME"),
    ("non-target", "target"), ("impostor", "genuine"), ("-1", "1"), ("false", ("True", "TRUE")),
])  # fmt: skip
def test_the_words_of_a_key_tell_the_target_in_any_case(words):
    other, target = words
    spellings = [other, *([target] if isinstance(target, str) else target)]
    labels = [spellings[1 + k % (len(spellings) - 1)] if Y[k] else other for k in range(N)]
    write("key.txt", [f"{pair} {label}" for pair, label in zip(PAIRS, labels, strict=True)])
    write("t.csv", ["y,llr", *(f"{a},{x}" for a, x in zip(labels, SCORES, strict=True))])
    assert cllr("scores.txt", "--key", "key.txt") == CLLR
    assert cllr("t.csv", "--truth", "y") == CLLR
    assert f"positive class: {spellings[-1]}".lower() in said("t.csv", "--truth", "y").lower()


def test_scores_that_the_key_does_not_list_are_left_out_and_counted():
    write("key.txt", [f"{PAIRS[k]} {WORDS[k]}" for k in range(60)])
    part = pytest.approx(metrics.cllr(Y[:60], SCORES[:60]))
    assert cllr("scores.txt", "--key", "key.txt") == part
    assert "Left out: 30 of 90 scores" in said("scores.txt", "--key", "key.txt")


def test_rows_without_a_label_are_refused():
    labels = [*WORDS[:60], *[""] * 30]
    cells = zip(PAIRS, labels, SCORES, strict=True)
    lines = [f"{p},{a},{x}".replace(" ", ",") for p, a, x in cells]
    write("t.csv", ["file1,file2,label,score", *lines])
    for words in (["t.csv"], ["scores.txt", "--key", "t.csv"], ["t.csv", "--truth", "label"]):
        with pytest.raises(InputError, match=r"row 61 has one \(30 in all\)"):
            run("evaluate", *words)


def test_a_trial_counts_as_often_as_the_key_lists_it_but_has_one_label_and_one_score():
    lines = Path("scores.txt").read_text().splitlines()
    key = Path("key.txt").read_text().splitlines()
    write("scores.txt", [*lines, lines[0]])
    write("key.txt", [*key, key[0]])
    twice = metrics.cllr([*Y, Y[0]], [*SCORES, SCORES[0]])
    assert cllr("scores.txt", "--key", "key.txt") == pytest.approx(twice)
    assert "counts as often as the key lists it" in said("scores.txt", "--key", "key.txt")
    write("key.txt", [*key, f"{PAIRS[0]} nontarget"])
    with pytest.raises(InputError, match="several labels for 1 of 90 trials"):
        run("evaluate", "scores.txt", "--key", "key.txt")


def test_headers_survive_and_the_calibrated_scores_are_taken_and_named():
    rows = [f"{p}\ta\t{x}".replace(" ", "\t") for p, x in zip(PAIRS, SCORES, strict=True)]
    write("nist.tsv", ["modelid\tsegmentid\tside\tLLR", *rows])
    run("calibrate", "nist.tsv", "--key", "key.txt", "-o", "c.deciban")
    run("apply", "c.deciban", "nist.tsv", "-o", "out.tsv")
    out = pl.read_csv("out.tsv", separator="\t")
    assert out.columns == ["modelid", "segmentid", "side", "LLR", "calibrated_LLR"]
    assert cllr("out.tsv", "--key", "key.txt") == pytest.approx(
        metrics.cllr(Y, out["calibrated_LLR"].to_numpy())
    )
    text = said("out.tsv", "--key", "key.txt")
    assert "column calibrated_LLR; positive class: target" in text
    assert "--llr LLR takes those before calibration" in " ".join(text.split())
    assert cllr("out.tsv", "--key", "key.txt", "--llr", "LLR") == CLLR
    again = run("calibrate", "out.tsv", "--key", "key.txt", "-o", "d.deciban")
    assert "column LLR; positive class: target" in again.stdout
    with pytest.raises(InputError, match=r"calibrated_LLR in out\.tsv is there already"):
        run("apply", "c.deciban", "out.tsv", "-o", "more.tsv")


def test_tables_of_llrs_and_of_classes_are_taken_calibrated_after_apply():
    write("t.csv", ["y,llr", *(f"{y},{x}" for y, x in zip(Y, SCORES, strict=True))])
    columns = {"a": SCORES * 0, "b": SCORES, "y": np.array(["a", "b"])[Y]}
    pl.DataFrame(columns).write_csv("l.csv")
    for name in ("t", "l"):
        run("calibrate", f"{name}.csv", "--truth", "y", "-o", f"{name}.deciban")
        run("apply", f"{name}.deciban", f"{name}.csv", "-o", f"{name}-out.csv")
        assert cllr(f"{name}.csv", "--truth", "y") == CLLR
        assert cllr(f"{name}-out.csv", "--truth", "y") < metrics.cllr(Y, SCORES) - 0.01
        assert "calibrated" in said(f"{name}-out.csv", "--truth", "y")
    assert cllr("t-out.csv", "--truth", "y", "--llr", "llr") == CLLR
    assert cllr("l-out.csv", "--truth", "y", "--llr", "*") == CLLR


def test_systems_with_other_samples_are_not_compared():
    lines = [f"s{k},{Y[k]},{SCORES[k]}" for k in range(N)]
    write("a.csv", ["id,y,llr", *lines])
    write("b.csv", ["id,y,llr", *lines[10:]])
    with pytest.raises(InputError, match=r"10 of a\.csv are not in b\.csv, and 0 of"):
        run("compare", "a.csv", "b.csv", "--truth", "y", "--id", "id", "--resamples", "0")


@pytest.mark.parametrize(("name", "options", "words"), [
    ("vox.txt", (), r"has no label for each trial; its fields are label, model, segment"),
    ("vox.txt", ("--key", "vox.txt"), "holds trials with labels and no scores"),
    ("scores.txt", (), "has no label for each trial"),
    ("odd.csv", (), "--truth is missing. Name a column of odd.csv"),
    ("odd.csv", ("--key", "key.txt"), r"columns are one, two, cosine\. .*--llr"),
    ("lab.csv", ("--key", "key.txt"), "must have the columns model, segment and llr"),
    ("five.txt", ("--key", "key.txt"), r"columns model, segment and score; .* header"),
])  # fmt: skip
def test_a_list_that_lacks_something_is_told_what(name, options, words):
    write("vox.txt", [f"{y} {pair}" for y, pair in zip(Y, PAIRS, strict=True)])
    write("five.txt", [f"{pair} a b c" for pair in PAIRS])
    write("odd.csv", ["one,two,cosine", *(f"{p},1.5".replace(" ", ",") for p in PAIRS)])
    write("lab.csv", ["case,llr", *(f"{k},{x}" for k, x in enumerate(SCORES))])
    with pytest.raises(InputError, match=words):
        run("evaluate", name, *options)


def test_a_header_is_known_by_its_model_and_segment_and_the_missing_column_is_named():
    lines = Path("key.txt").read_text().splitlines()
    write("odd.txt", ["model segment true_label", *lines])
    words = "the columns model, segment and label; its columns are model, segment, true_label"
    with pytest.raises(InputError, match=words):
        run("evaluate", "scores.txt", "--key", "odd.txt")


def test_a_trial_list_may_be_compressed_or_read_in_pieces(monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 64)
    content = Path("scores.txt").read_bytes()
    Path("scores.txt.gz").write_bytes(gzip.compress(content))
    assert cllr("scores.txt.gz", "--key", "key.txt") == CLLR
    write("key.trl", [f" {line}  " for line in Path("key.txt").read_text().splitlines()])
    assert cllr("scores.txt", "--key", "key.trl") == CLLR


def test_further_columns_are_found_in_the_key_the_scores_or_the_names_of_the_trials():
    from deciban.cli.options import ScoreOptions
    from deciban.cli.scores import read_scores

    rows = [f"{pair} {x} c{k % 2}" for k, (pair, x) in enumerate(zip(PAIRS, SCORES, strict=True))]
    write("s.txt", ["modelid segmentid score channel", *rows])
    beside = [("--by", "channel"), ("--items", "model"), ("--id", None)]
    found = read_scores("s.txt", ScoreOptions(["key.txt"]), beside).beside
    assert found["channel"].to_list() == [f"c{k % 2}" for k in range(N)]
    assert found["model"].to_list() == [pair.split()[0] for pair in PAIRS]
    with pytest.raises(InputError, match=r"no column 'room', which --by needs, nor"):
        read_scores("s.txt", ScoreOptions(["key.txt"]), [("--by", "room")])


def test_lists_with_labels_are_compared_trial_by_trial():
    rows = [f"{Y[k]} {PAIRS[k]} {SCORES[k]}" for k in range(N)]
    write("a.txt", rows)
    write("b.txt", rows[::-1])
    done = run("compare", "a.txt", "b.txt", "--resamples", "10", "--json")
    assert {one["verdict"] for one in json.loads(done.stdout)["differences"]} <= {"same", ""}
    write("b.txt", [*rows[::-1], rows[0]])
    with pytest.raises(InputError, match=r"1 row of 'model', 'segment' is repeated"):
        run("compare", "a.txt", "b.txt")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_list_reads_as_its_lines_split(monkeypatch, data):
    name = st.text("abé/._-0", min_size=1, max_size=4)
    rows = data.draw(st.lists(st.tuples(name, name, st.integers(-99, 99)), min_size=1, max_size=9))
    gap = st.sampled_from([" ", "  ", "\t", " \t "])
    ending = data.draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\t\r\n"]))
    start = data.draw(st.sampled_from(["", " ", "\ufeff"]))
    lines = [f"{a}{data.draw(gap)}{b}{data.draw(gap)}{x}" for a, b, x in rows]
    assume(lines[0].count("\t") in (0, 1))  # two tabs are a table, whose cells may hold spaces
    monkeypatch.setattr(text, "BLOCK", data.draw(st.integers(1, 40)))
    Path("list.txt").write_bytes((start + ending.join(lines)).encode())
    found = open_trial_list("list.txt").read("score")
    assert found.rows() == [(a, b, float(x)) for a, b, x in rows]
