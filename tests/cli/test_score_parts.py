"""``deciban evaluate`` of Parquet files that are read in parts: the numbers of one table."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import deciban
from browser import unpack
from commands import runner
from deciban import _workers
from deciban.assessment import systems
from deciban.cli import score_parts, scores
from deciban.exceptions import ClusterError, InputError, TableError
from deciban.metrics import pav_in_parts

run = runner(160)
SIZES = {"a": 1500, "b": 0, "c": 700, "d": 800}  # rows of each file


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """3,000 trials in four files, one of which is empty and one without targets; and in one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(score_parts, "_ROWS", 600)
    monkeypatch.setattr(sys.modules["deciban.assessment.assess"], "IN_MEMORY", 0)
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
    options = ("--truth", "class", "--dcf", "10:1:0.01", "--prior", "empirical")
    one = evaluate("all.parquet", *options)
    for source in ("trials/*.parquet", "trials"):
        found = evaluate(source, *options)
        assert quantities(found, "meaning") == quantities(one, "meaning")
        expected = quantities(one, "value")
        assert quantities(found, "value") == pytest.approx(expected, rel=1e-12)
        assert found["counts"] == one["counts"]
        assert "buckets" in found["design"]
    assert len(found["provenance"]["inputs"]) == 4
    assert found["provenance"]["scores"][0]["rows_used"] == 3000
    assert any("speaker may name" in note for note in found["warnings"])


def test_workers_and_a_cluster_give_the_same_draws(folder, cluster, tmp_path):
    options = ("--truth", "class", "--group", "speaker")
    here = evaluate("trials/*.parquet", *options)
    there = evaluate("trials", *options, "--workers", cluster)
    ends = "value", "low", "high"
    assert quantities(there, *ends) == pytest.approx(quantities(here, *ends), rel=1e-12)
    assert "groups" in there["design"]
    assert not list(tmp_path.glob("deciban-*"))  # what was put aside is gone


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing_but_the_time(
    folder, cluster, tmp_path, monkeypatch
):
    options = ("--truth", "class")
    expected = evaluate("trials", *options)
    killed, read = tmp_path / "killed", scores.ScoreReader.__call__

    class Fatal(scores.ScoreReader):
        def __call__(self, part):
            import os
            import signal

            if part[0].start == 600 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return read(self, part)

    monkeypatch.setattr(scores, "ScoreReader", Fatal)
    found = evaluate("trials", *options, "--workers", cluster)
    assert killed.exists()
    ends = "value", "low", "high"
    assert quantities(found, *ends) == pytest.approx(quantities(expected, *ends), rel=1e-12)
    assert not list(tmp_path.glob("deciban-*"))


def test_a_scratch_folder_that_workers_do_not_share_is_refused(folder, cluster, monkeypatch):
    size = _workers._size
    unseen = lambda path: 1 if "deciban-" in path else size(path)  # noqa: E731
    monkeypatch.setattr(_workers, "_size", unseen)  # here, not on the workers
    with pytest.raises(ClusterError, match=r"folder that all workers share; .* Set TMPDIR"):
        evaluate("trials", "--truth", "class", "--workers", cluster)


def test_an_address_is_read_as_a_path_is(folder, tmp_path):
    expected = quantities(evaluate("trials", "--truth", "class"), "value")
    address = f"file://{tmp_path}/trials"
    assert quantities(evaluate(f"{address}/*.parquet", "--truth", "class"), "value") == expected
    one = quantities(evaluate(f"file://{tmp_path}/all.parquet", "--truth", "class"), "value")
    assert one == pytest.approx(expected, rel=1e-12)
    with pytest.raises(TableError, match="is not a complete Parquet file"):
        evaluate(f"{address}/none.parquet", "--truth", "class")
    with pytest.raises(TableError, match="matches no files"):
        evaluate(f"{address}/none*.parquet", "--truth", "class")


def test_three_classes_of_many_files_are_those_of_one(folder, cluster, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=3000)
    table = rng.normal(size=(3000, 3)) + 2 * np.eye(3)[y]
    names = ["cs", "pl", "sk"]
    frame = pl.DataFrame({"language": np.array(names)[y], **dict(zip(names, table.T, strict=True))})
    (tmp_path / "languages").mkdir()
    for k in range(3):
        frame.slice(1000 * k, 1000).write_parquet(f"languages/{k}.parquet")
    frame.write_parquet("languages.parquet")
    options = ("--truth", "language", "--costs", "cs>sk=3")
    one = evaluate("languages.parquet", *options)
    here = evaluate("languages", *options)
    there = evaluate("languages", *options, "--workers", cluster)
    held_out = {"discrimination", "calibration", "decision_loss"}  # by other folds
    for (key, name), value in quantities(one, "value").items():
        near = {"abs": 0.01} if key in held_out else {"rel": 1e-12}
        assert quantities(here, "value")[key, name] == pytest.approx(value, **near)
    ends = "value", "low", "high"
    assert quantities(there, *ends) == pytest.approx(quantities(here, *ends), rel=1e-12)
    how = ("--truth", "language", "--method", "full", "--json", "--output")
    many = json.loads(run("calibrate", "languages", *how, "many.deciban").stdout)
    run("calibrate", "languages.parquet", *how, "o.deciban")
    expected, found = (deciban.load(f"{name}.deciban") for name in ("o", "many"))
    np.testing.assert_allclose(found.matrix_, expected.matrix_, rtol=1e-9)
    assert many["quantities"][0]["after"] < many["quantities"][0]["before"]


def test_posteriors_contain_the_prior_of_all_files(folder):
    share = (folder["class"] == "same").mean()
    odds = folder["llr"].to_numpy() + np.log(share / (1 - share))
    same = 1 / (1 + np.exp(-odds))
    both = folder.drop("llr").with_columns(same=pl.Series(same), diff=pl.Series(1 - same))
    for name, start in (("a", 0), ("b", 1500)):
        both.slice(start, 1500).write_parquet(f"posterior-{name}.parquet")
    options = ("--truth", "class", "--posteriors", "empirical")
    found = evaluate("posterior-*.parquet", *options)
    expected = quantities(evaluate("all.parquet", "--truth", "class"), "value")
    assert quantities(found, "value") == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_calibrator_is_kept_where_a_fold_lacks_a_class(folder):
    first = folder.with_row_index().filter((pl.col("class") == "diff") | (pl.col("index") == 1))
    assert set(first["class"]) == {"diff", "same"}
    first.drop("index").write_parquet("rare.parquet")
    options = ("rare.parquet", "--truth", "class", "--workers", 1, "-o", "rare.deciban", "--json")
    found = json.loads(run("calibrate", *options).stdout)
    assert found["quantities"][0]["after"] is None
    assert any("a fold cannot be fitted: y_true must hold every class" in n for n in found["notes"])
    assert deciban.load("rare.deciban").class_counts_[1] == 1


def test_a_full_scratch_folder_is_named(folder, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("builtins.open", fail, raising=False)
    with pytest.raises(OSError, match=r"No space left on device: '/there/"):
        pav_in_parts.write_runs([], "/there")


def test_log_likelihoods_and_reversed_llrs_mean_the_same(folder, monkeypatch):
    values = folder.with_columns(same=pl.col("llr") / 2, diff=-pl.col("llr") / 2)
    values.drop("llr").write_parquet("both.parquet")
    folder.with_columns(llr=-pl.col("llr")).write_parquet("reversed.parquet")
    expected = quantities(evaluate("all.parquet", "--truth", "class"), "value")
    monkeypatch.setattr(score_parts, "LARGE", 0)  # one file, in parts all the same
    reverse = ("--truth", "class=diff")
    found = evaluate("reversed.parquet", *reverse)
    swapped = {
        (key.replace("target", "x").replace("other", "target").replace("x", "other"), name): value
        for (key, name), value in quantities(found, "value").items()
    }
    assert swapped == pytest.approx(expected, rel=1e-9)
    found = evaluate("both.parquet", "--truth", "class=same")
    assert quantities(found, "value") == pytest.approx(expected, rel=1e-9)


def test_a_report_has_the_numbers_of_all_and_the_figures_of_some(folder, monkeypatch):
    monkeypatch.setattr(systems, "MAX_SUBSAMPLE", 500)
    monkeypatch.setattr(systems, "MIN_SUBSAMPLE", 100)
    done = run("evaluate", "trials/*.parquet", "--truth", "class", "--report", "page.html")
    page = Path("page.html").read_text()
    assert "of 3,000 samples, chosen at random in each class" in page
    assert "<h1>trials/*.parquet</h1>" in page
    packed = re.search(r'"rows": ?(\{[^}]+\})', page)
    numbers = unpack(json.loads(packed[1]))
    assert 400 < len(numbers) < 900
    assert (np.diff(numbers) > 0).all()
    assert numbers[-1] > 2900  # rows of the table, not of those chosen
    assert "diff" in done.stdout


def test_rows_without_a_label_are_refused(folder):
    folder.with_columns(**{"class": pl.lit(None, pl.String)}).head(7).write_parquet(
        "trials/z.parquet"
    )
    with pytest.raises(TableError, match=r"row 1 has one \(7 in all\)"):
        evaluate("trials", "--truth", "class")


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
    run("calibrate", "trials", "--truth", "class=diff", "--output", "r.deciban")
    assert deciban.load("r.deciban").classes_.tolist() == ["diff", "same"]
    grouped = json.loads(
        run("calibrate", "trials", *options, "g.deciban", "--group", "speaker").stdout
    )
    assert "Rows of the same speaker were held out together." in grouped["notes"]
    assert grouped["quantities"][0]["after"] != many["quantities"][0]["after"]
    with pytest.raises(InputError, match="--method isotonic must come with one table"):
        run("calibrate", "trials", "--truth", "class", "-o", "x", "--method", "isotonic")
    with pytest.raises(InputError, match="Leave --resamples out; or give one table, without"):
        run("calibrate", "trials", "--truth", "class", "-o", "x", "--resamples", "200")
    with pytest.raises(InputError, match="--resamples must be 0, or at least 20; got -3"):
        run("calibrate", "trials", "--truth", "class", "-o", "x", "--resamples", "-3")


def test_a_calibrator_of_parts_that_makes_scores_worse_says_so(folder):
    # The best evidence there is: an affine map cannot gain, and half of the samples lose a little.
    rng = np.random.default_rng(3)
    y = rng.random(300) < 0.5
    llr = rng.normal(np.where(y, 2.0, -2.0), 2.0)
    pl.DataFrame({"class": y, "llr": llr}).write_parquet("best.parquet")
    options = ("--truth", "class", "--json", "-o", "best.deciban", "--workers", "1")
    found = json.loads(run("calibrate", "best.parquet", *options).stdout)
    cost = found["quantities"][0]
    said = any("makes these scores worse" in note for note in found["notes"])
    assert said is (cost["after"] > cost["before"]) is True


def test_faults_are_one_sentence(folder):
    with pytest.raises(InputError, match="--by needs a table read at once"):
        evaluate("trials/*.parquet", "--truth", "class", "--by", "speaker")
    with pytest.raises(TableError, match="matches no files"):
        evaluate("nothing/*.parquet", "--truth", "class")
    folder.write_csv("all.csv")
    with pytest.raises(TableError, match="is not Parquet"):
        evaluate("all.csv", "--truth", "class", "--workers", 2)
    with pytest.raises(InputError, match="--key takes scores in one file"):
        evaluate("trials/*.parquet", "--key", "all.csv")
    with pytest.raises(ClusterError, match="the address of a Dask scheduler"):
        evaluate("trials/*.parquet", "--truth", "class", "--workers", "tcp://127.0.0.1:1")
    folder.rename({"llr": "LLR"}).write_parquet("trials/e.parquet")
    with pytest.raises(TableError, match="has other columns than trials"):
        evaluate("trials/*.parquet", "--truth", "class")
    folder.with_columns(llr=pl.lit(float("nan"))).write_parquet("trials/e.parquet")
    with pytest.raises(TableError, match="row 1 holds nan"):
        evaluate("trials/*.parquet", "--truth", "class")
