"""The results that are committed: a full run, whole, and what the README says of it."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from deciban.paper.experiment import Measured
from deciban.paper.experiments import EXPERIMENTS
from deciban.paper.verdicts import printed_numbers, verdict

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
        ours = Measured(key, n["ours"], n["low"], n["high"], n["how"])
        assert n["verdict"] == verdict(printed, ours)
        assert n["printed"] == printed.text


def test_what_is_worse_has_a_cause_that_was_looked_into(results):
    for n in results["numbers"]:
        if n.get("verdict") == "worse":
            assert n.get("remark"), n["key"]


def test_the_front_page_counts_the_verdicts_as_they_are(results):
    counts = Counter(n["verdict"] for n in results["numbers"] if "verdict" in n)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    said = re.search(r"(\d+) numbers beaten, (\d+) matched, (\d+) worse, and for (\d+) why", text)
    assert [int(k) for k in said.groups()] == [
        counts[v] for v in ("beaten", "matched", "worse", "not comparable")
    ]


def test_every_picture_is_there_and_none_is_left_over():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((figures/[^)]+)\)", page))
    assert shown == {f"figures/{path.name}" for path in (FOLDER / "figures").iterdir()}
