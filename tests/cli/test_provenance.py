"""What a signed report needs: the record of a run, and acceptance criteria."""

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import deciban
from commands import runner
from deciban._persistence.registry import load_with_extra
from deciban.cli import main
from deciban.exceptions import InputError

run = runner(160)
BASE = ("evaluate", "t.csv", "--truth", "y", "--resamples", "20")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    y = np.arange(80) % 2
    llr = np.random.default_rng(0).normal(4 * y - 2, 2)
    lines = [f"{a},{x:.4f}" for a, x in zip(y, llr, strict=True)]
    Path("t.csv").write_text("\n".join(["y,llr", *lines]) + "\n")
    Path("prior.csv").write_text("class,p\n0,0.9\n1,0.1\n")
    return tmp_path


def sha256(name):
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_a_run_is_recorded_with_what_it_read_and_how():
    done = run(*BASE, "--prior", "prior.csv", "--json")
    record = json.loads(done.stdout)["provenance"]
    assert record["command"].startswith("deciban evaluate t.csv --truth y")
    assert record["date"] == "2023-11-14T22:13:20Z"
    assert record["versions"]["numpy"] == np.__version__
    assert record["inputs"] == [
        {"file": name, "sha256": sha256(name), "bytes": Path(name).stat().st_size}
        for name in ("t.csv", "prior.csv")
    ]
    (scores,) = record["scores"]
    assert (scores["rows_used"], scores["rows_left_out"]) == (80, {})
    assert (scores["columns"], scores["in_favor_of"]) == (["llr"], 1)
    assert record["settings"]["seed"] == 0
    assert (record["settings"]["resamples"], record["settings"]["confidence"]) == (20, 0.95)


def test_both_systems_of_a_comparison_are_recorded():
    text = Path("t.csv").read_text()
    Path("b.csv").write_text(text.replace("llr", "other"))
    done = run("compare", "t.csv", "b.csv", "--truth", "y", "--llr", "llr,other", "--resamples",
               "0", "--json")  # fmt: skip
    record = json.loads(done.stdout)["provenance"]
    assert [one["sha256"] for one in record["inputs"]] == [sha256("t.csv"), sha256("b.csv")]
    assert [one["columns"] for one in record["scores"]] == [["llr"], ["other"]]


def test_standard_input_is_hashed_as_it_was_read(monkeypatch):
    with open("t.csv") as file:
        monkeypatch.setattr(sys, "stdin", file)
        words = "deciban evaluate - --truth y --resamples 0 --json --report r.html"
        monkeypatch.setattr(sys, "argv", words.split())
        with pytest.raises(SystemExit) as left:
            main()
    assert left.value.code == 0
    assert sha256("t.csv") in Path("r.html").read_text()


def test_a_calibrator_carries_its_record_and_loads_like_one_without(monkeypatch):
    words = ("calibrate", "t.csv", "--truth", "y", "-o", "c.deciban")
    done = run(*words, "--json")
    _, extra = load_with_extra("c.deciban")
    record = extra["provenance"]
    assert record == json.loads(done.stdout)["provenance"]
    assert record["settings"]["estimator"] == "AffineCalibrator"
    assert (record["settings"]["method"], record["settings"]["ridge"]) == ("affine", None)
    assert record["inputs"][0]["sha256"] == sha256("t.csv")
    calibrator = deciban.load("c.deciban")
    calibrator.save("old.deciban", extra={"scores": extra["scores"]})
    outputs = []
    for name in ("c", "old"):
        words = ("apply", f"{name}.deciban", "t.csv", "-o", f"{name}.csv", "--json")
        inputs = json.loads(run(*words).stdout)["provenance"]["inputs"]
        assert [one["sha256"] for one in inputs] == [sha256(f"{name}.deciban"), sha256("t.csv")]
        outputs.append(Path(f"{name}.csv").read_bytes())
    assert outputs[0] == outputs[1]


def test_a_run_is_reproduced_bit_for_bit():
    made = []
    for _ in range(2):
        done = run(*BASE, "--report", "r.html", "--force", "--json")
        run("calibrate", "t.csv", "--truth", "y", "-o", "c.deciban", "--force")
        made.append((done.stdout, sha256("r.html"), sha256("c.deciban")))
    assert made[0] == made[1]


def test_the_column_of_conditions_is_among_the_settings():
    lines = Path("t.csv").read_text().splitlines()
    rows = [f"{line},{'ab'[k % 4 > 1]}" for k, line in enumerate(lines[1:])]
    Path("rooms.csv").write_text("\n".join([lines[0] + ",room", *rows]) + "\n")
    done = run("evaluate", "rooms.csv", *BASE[2:], "--by", "room", "--json")
    assert json.loads(done.stdout)["provenance"]["settings"]["by"] == "room"


def test_criteria_pass_or_fail_with_the_status_to_match():
    met = run(*BASE, "--require", "cllr<0.9", "--require", "eer<=50%")
    assert met.exit_code == 0
    assert met.stdout.count("pass") == 2
    missed = run(*BASE, "--require", "cllr<0.9,eer.high<0.0001,accuracy>0.5",
                 "--report", "r.html")  # fmt: skip
    assert missed.exit_code == 3
    assert "upper end of 95 % interval" in missed.stdout
    assert (missed.stdout.count("pass"), missed.stdout.count("FAIL")) == (2, 1)
    assert "\nDo not use it. eer.high<0.0001 was required" in missed.stdout  # as in the report
    told = json.loads(run(*BASE, "--require", "cllr<0", "--json").stdout)
    assert told["action"] == "do not use it"
    page = Path("r.html").read_text()
    assert "1 of 3 criteria failed." in page
    first_screen = page.split('id="criteria"')[0]
    assert "Do not use it" in first_screen
    assert "1 of 3 acceptance criteria failed" in first_screen
    in_percent = run(*BASE, "--require", "eer<=50%", "--report", "r.html", "--force")
    assert re.search(r"eer<=50%\s+value\s+[\d.]+ %\s+pass", in_percent.stdout)
    passed = Path("r.html").read_text()
    assert re.search(r"<td[^>]*>[\d.]+ %</td><td[^>]*>pass</td>", passed)
    assert "All acceptance criteria are met." in passed.split('id="criteria"')[0]
    assert "Provenance" in page
    assert "confidence 0.95, resamples 20, seed 0" in page
    found = json.loads(run(*BASE, "--require", "cllr<0.9", "--json").stdout)
    value = next(q["value"] for q in found["quantities"] if q["key"] == "cllr")
    assert found["criteria"] == [
        {"criterion": "cllr<0.9", "judged_on": "value", "found": value, "passed": True}
    ]


@pytest.mark.parametrize(("criterion", "words"), [
    ("cllrr<1", r"\(cllr, cllr_min, .*Did you mean 'cllr'"),
    ("cllr=1", "is not a criterion. Write a quantity.*'cllr<0.1'"),
    ("cllr<x", "is not a criterion. Write a quantity.*'cllr<0.1'"),
    ("dev_pav.high<1", "dev_pav has no interval"),
    ("eer<2", "eer, a fraction, .* Write eer<2% for percent"),
])  # fmt: skip
def test_a_criterion_that_cannot_be_judged_is_refused(criterion, words):
    with pytest.raises(InputError, match=words):
        run(*BASE, "--require", criterion)


def test_an_infinite_cost_fails_and_is_written_as_such():
    Path("t.csv").write_text("y,llr\n0,inf\n1,2\n0,-1\n1,1\n")
    done = run(*BASE, "--require", "cllr<1", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["criteria"][0]["found"] == "inf"
