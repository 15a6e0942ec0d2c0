"""The results that are committed: a full run, whole, and what the README says of it."""

import json
import re
from collections import Counter
from pathlib import Path
from shutil import copytree

import pytest

from reproduction.experiment import Measurement
from reproduction.experiments import EXPERIMENTS
from reproduction.pages import write_pages
from reproduction.verdicts import printed_numbers, verdict

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "paper"


@pytest.fixture(scope="module")
def results():
    return json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def test_they_are_of_a_full_run_of_every_experiment(results):
    assert results["quick"] is False
    assert [run["name"] for run in results["runs"]] == [e.name for e in EXPERIMENTS]
    assert not any(run["quick"] or "error" in run for run in results["runs"])


def test_every_printed_number_has_ours_and_the_verdict_that_follows(results):
    found = {n["key"]: n for n in results["numbers"]}
    for key, printed in printed_numbers().items():
        n = found[key]
        assert n["printed"] == printed.text
        assert n["ours"] or n["described"], key
        for name in ("ours", "described"):
            one = n[name]
            if one:
                ours = Measurement(key, one["value"], one["low"], one["high"], one["how"])
                assert one["verdict"] == verdict(printed, ours), key


def test_every_interval_holds_its_own_value(results):
    found = [n[name] for n in results["numbers"] for name in ("ours", "described") if n[name]]
    for one in [*found, *results["others"]]:
        slack = 1e-12 * abs(one["value"])
        assert one["low"] - slack <= one["value"] <= one["high"] + slack, one


def test_what_is_worse_has_a_cause_that_was_looked_into(results):
    for n in results["numbers"]:
        for name in ("ours", "described"):
            if n[name] and n[name]["verdict"] == "worse":
                assert n["remark"], n["key"]


def test_the_front_page_counts_the_verdicts_as_they_are(results):
    cda = [n["ours"]["verdict"] for n in results["numbers"] if n["group"] == "cda"]
    counts = Counter(cda)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"our CDA beats (\d+) of the paper's (\d+) CDA results and matches (\d+)", text
    )
    assert [int(k) for k in said.groups()] == [counts["beaten"], len(cda), counts["matched"]]
    assert counts["worse"] == 0


def test_every_picture_is_there_and_none_is_left_over():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"(?:\]\(|<img src=\")(figures/[^)\"]+)", page))
    assert shown == {f"figures/{path.name}" for path in (FOLDER / "figures").iterdir()}


@pytest.mark.parametrize("name", ["README.md", "index.html", "results.json"])
def test_the_pages_are_what_the_committed_records_give(name, tmp_path):
    copytree(FOLDER / "results", tmp_path / "results")
    write_pages(tmp_path, quick=False)
    written = (tmp_path / name).read_text("utf-8")
    link = '<link rel="stylesheet" href="../../reproduction/page.css">\n'
    written = re.sub(r"<style>.*?</style>\n", link, written, flags=re.DOTALL)
    assert written == (FOLDER / name).read_text("utf-8")
