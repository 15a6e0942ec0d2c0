"""``deciban explore``: what is read, what is refused, and what the page holds."""

import json
import re
import sys

import pytest

from commands import runner
from deciban.cli.outputs import require_outputs
from deciban.exceptions import InputError, MissingExtraError, TableError
from deciban.report.bundle import load_templates

run = runner(100, "explore")


def data_of(path):
    text = path.read_text()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("class,llr\n1,2.5\n0,-1\n1,inf\n0,0.5\n")
    return path


@pytest.fixture
def model(tmp_path, rng):
    from deciban import LinearDiscriminant

    pl = pytest.importorskip("polars")
    X = rng.normal(size=(60, 2)) + [[0, 0], [2, 0], [0, 3]] * 20
    frame = pl.DataFrame({"width": X[:, 0], "height": X[:, 1], "kind": ["a", "b", "c"] * 20})
    frame.write_csv(tmp_path / "features.csv")
    LinearDiscriminant().fit(frame.drop("kind"), frame["kind"]).save(tmp_path / "m.deciban")
    return tmp_path


def test_a_page_without_a_table_waits_for_one(tmp_path):
    path = tmp_path / "explorer.html"
    assert run("-o", path).stdout == f"Open {path}\n"
    assert "samples" not in data_of(path)


def test_the_page_holds_the_samples_of_a_table_and_is_not_overwritten(tmp_path, scores):
    path = tmp_path / "explorer.html"
    done = run(scores, "--truth", "class", "-o", path, "--json")
    assert json.loads(done.stdout) == {"written": str(path)}
    data = data_of(path)
    assert data["classes"] == ["0", "1"]
    assert data["samples"]["total"] == 4
    assert "<h1>scores.csv</h1>" in path.read_text()
    with pytest.raises(InputError, match="pass --force to overwrite"):
        run(scores, "--truth", "class", "-o", path)


def test_a_model_gives_evidence_neighbors_and_counterfactuals(model):
    path = model / "explorer.html"
    table = model / "features.csv"
    run(table, "--model", model / "m.deciban", "--truth", "kind", "-o", path)
    data = data_of(path)
    cases = data["cases"]
    assert data["classes"] == ["a", "b", "c"]
    assert cases["columns"] == ["width", "height"]
    assert len(cases["features"]) == len(cases["neighbors"]) == 60
    assert [len(one) for one in cases["counterfactuals"]] == [60, 60, 60]
    assert all(len(near) == 5 for near in cases["neighbors"])


def test_a_model_needs_no_truth(model):
    path = model / "explorer.html"
    run(model / "features.csv", "--model", model / "m.deciban", "-o", path)
    assert data_of(path)["samples"]["total"] == 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--model m.deciban", "Name the table"),
        ("--truth class", "Name the table"),
        ("{0} --model m.deciban --llr llr", "--model computes the scores"),
        ("{0} --truth class -o {0} --force", "is an input too"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path, scores, options, words):
    with pytest.raises(InputError, match=words):
        run("-o", tmp_path / "page.html", *options.format(scores).split())
    assert not (tmp_path / "page.html").exists()


def test_a_table_without_the_columns_is_refused_before_a_page_is_written(tmp_path, scores):
    with pytest.raises(TableError, match="has no column"):
        run(scores, "--truth", "kind", "-o", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_without_jinja2_a_page_is_refused_in_a_sentence_that_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    load_templates.cache_clear()
    with pytest.raises(MissingExtraError, match=r"^jinja2 must .* 'deciban\[report\]'$"):
        run("-o", tmp_path / "explorer.html")
    with pytest.raises(MissingExtraError):  # before the work that the page would show
        require_outputs({"--report": tmp_path / "report.html"})
