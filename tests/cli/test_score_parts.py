"""``deciban evaluate`` of Parquet files that are read in parts: the numbers of one table."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import deciban
from commands import runner
from deciban.assessment import partitioned
from deciban.cli import score_parts
from deciban.cli.app import app
from deciban.exceptions import ClusterError, InputError, TableError

run = runner(app, 160)
SIZES = {"a": 1500, "b": 0, "c": 700, "d": 800}  # rows of each file


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """3,000 trials in four files, one of which is empty and one without targets; and in one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(score_parts, "_ROWS", 600)
    monkeypatch.setattr(partitioned, "IN_MEMORY", 0)
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.4
    y[1500:2200] = False
    llr = 1.3 * rng.normal(np.where(y, 1.5, -1.5), 1.8)
    frame = pl.DataFrame(
        {"class": np.where(y, "same", "diff"), "llr": llr, "speaker": rng.integers(60, size=3000)}
    )
    (tmp_path / "trials").mkdir()
    start = 0
    for name, n in SIZES.items():
        frame.slice(start, n).write_parquet(f"trials/{name}.parquet")
        start += n
    frame.write_parquet("all.parquet")
    return frame


def evaluate(*args):
    return json.loads(run("evaluate", *args, "--json", "--resamples", 40).stdout)


def quantities(found, *names):
    pairs = ((q, name) for q in found["quantities"] for name in names)
    return {(q["key"], name): q[name] for q, name in pairs if q[name] is not None}


def test_values_of_many_files_are_those_of_one(folder):
    options = ("--truth", "class", "--dcf", "10:1:0.01", "--at-prior", "empirical")
    one = evaluate("all.parquet", *options)
    for source in ("trials/*.parquet", "trials"):
        found = evaluate(source, *options)
        assert quantities(found, "meaning") == quantities(one, "meaning")
        expected = quantities(one, "value")
        assert quantities(found, "value") == pytest.approx(expected, rel=1e-12)
        assert found["counts"] == one["counts"]
        assert "bags" in found["design"]
    assert len(found["provenance"]["inputs"]) == 4
    assert found["provenance"]["scores"][0]["rows_used"] == 3000
    assert any("speaker may name" in note for note in found["warnings"])


def test_workers_and_a_cluster_give_the_same_draws(folder, cluster, tmp_path):
    options = ("--truth", "class", "--group", "speaker")
    here = evaluate("trials/*.parquet", *options)
    there = evaluate("trials", *options, "--cluster", cluster, "--scratch", tmp_path)
    ends = "value", "low", "high"
    assert quantities(there, *ends) == pytest.approx(quantities(here, *ends), rel=1e-12)
    assert "groups" in there["design"]
    assert not list(tmp_path.glob("deciban-*"))  # what was put aside is gone


def test_log_likelihoods_and_reversed_llrs_mean_the_same(folder, monkeypatch):
    values = folder.with_columns(same=pl.col("llr") / 2, diff=-pl.col("llr") / 2)
    values.drop("llr").write_parquet("both.parquet")
    folder.with_columns(llr=-pl.col("llr")).write_parquet("reversed.parquet")
    expected = quantities(evaluate("all.parquet", "--truth", "class"), "value")
    monkeypatch.setattr(score_parts, "LARGE", 0)  # one file, in parts all the same
    reverse = ("--truth", "class", "--positive", "diff")
    found = evaluate("reversed.parquet", *reverse)
    swapped = {
        (key.replace("target", "x").replace("other", "target").replace("x", "other"), name): value
        for (key, name), value in quantities(found, "value").items()
    }
    assert swapped == pytest.approx(expected, rel=1e-9)
    found = evaluate("both.parquet", "--truth", "class", "--positive", "same")
    assert quantities(found, "value") == pytest.approx(expected, rel=1e-9)


def test_a_report_has_the_numbers_of_all_and_the_figures_of_some(folder, monkeypatch):
    monkeypatch.setattr(partitioned, "MOST_TESTED", 500)
    monkeypatch.setattr(partitioned, "_FEWEST", 100)
    done = run("evaluate", "trials/*.parquet", "--truth", "class", "--report", "page.html")
    page = Path("page.html").read_text()
    assert "of 3,000 samples, chosen at random in each class" in page
    assert "diff" in done.stdout


def test_rows_without_a_label_are_left_out_where_that_is_asked_for(folder):
    gaps = folder.with_columns(
        pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("class")).alias("class")
    )
    gaps.write_parquet("trials/gaps.parquet")
    gaps.clear().write_parquet("trials/none.parquet")
    found = evaluate("trials/*s.parquet", "--truth", "class", "--subset")
    assert sum(found["counts"]) == 2000
    with pytest.raises(TableError, match="it has 1,000"):
        evaluate("trials/*s.parquet", "--truth", "class")


def test_a_calibrator_of_many_files_is_that_of_one(folder):
    options = ("--truth", "class", "--json", "--output")
    one = json.loads(run("calibrate", "all.parquet", *options, "one.deciban").stdout)
    many = json.loads(run("calibrate", "trials", *options, "many.deciban").stdout)
    for a, b in zip(one["quantities"], many["quantities"], strict=True):
        assert a["before"] == pytest.approx(b["before"], rel=1e-12)
        assert a["after"] == pytest.approx(b["after"], abs=0.01)
    assert many["formula"] == one["formula"]
    expected, found = (deciban.load(f"{name}.deciban") for name in ("one", "many"))
    np.testing.assert_allclose(found.matrix_, expected.matrix_, rtol=1e-9)
    np.testing.assert_allclose(found.offset_, expected.offset_, rtol=1e-9)
    run("calibrate", "trials", "--truth", "class", "--positive", "diff", "--output", "r.deciban")
    assert deciban.load("r.deciban").classes_.tolist() == ["diff", "same"]
    with pytest.raises(InputError, match="--method isotonic must come with one table"):
        run("calibrate", "trials", "--truth", "class", "-o", "x", "--method", "isotonic")


def test_faults_are_one_sentence(folder):
    with pytest.raises(InputError, match="--by must come with one table"):
        evaluate("trials/*.parquet", "--truth", "class", "--by", "speaker")
    with pytest.raises(TableError, match="must name files that exist"):
        evaluate("nothing/*.parquet", "--truth", "class")
    folder.write_csv("all.csv")
    with pytest.raises(TableError, match="must be Parquet"):
        evaluate("all.csv", "--truth", "class", "--workers", 2)
    with pytest.raises(InputError, match="--key and --nontarget-scores must be left out"):
        evaluate("trials/*.parquet", "--key", "all.csv")
    with pytest.raises(ClusterError, match="--cluster must be the address"):
        evaluate("trials/*.parquet", "--truth", "class", "--cluster", "tcp://127.0.0.1:1")
    folder.rename({"llr": "LLR"}).write_parquet("trials/e.parquet")
    with pytest.raises(TableError, match="must have the columns of trials"):
        evaluate("trials/*.parquet", "--truth", "class")
    folder.with_columns(llr=pl.lit(float("nan"))).write_parquet("trials/e.parquet")
    with pytest.raises(TableError, match="row 1 holds nan"):
        evaluate("trials/*.parquet", "--truth", "class")
