"""``deciban compare``, as one types it."""

import json

import numpy as np
import polars as pl
import pytest

from commands import runner
from deciban import metrics
from deciban.exceptions import InputError

run = runner(100, "compare")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    a = rng.normal(2 * y - 1, 1) * 2
    b = 3 * (a + rng.normal(size=400))
    frames = [pl.DataFrame({"id": np.arange(400), "y": y, "llr": llr}) for llr in (a, b)]
    frames[0].write_csv(tmp_path / "a.csv")
    frames[1].write_csv(tmp_path / "b.csv")
    frames[1].sample(fraction=1.0, shuffle=True, seed=0).write_parquet(tmp_path / "b.parquet")
    return y, a, b, tmp_path


def test_the_better_system_is_named(files):
    y, a, b, folder = files
    done = run(folder / "a.csv", folder / "b.csv", "--truth", "y")
    line = next(line for line in done.stdout.splitlines() if line.startswith("Cllr "))
    assert f"{metrics.cllr(y, a) - metrics.cllr(y, b):.4f}" in line
    assert line.rstrip().endswith("A better")


def test_rows_are_matched_by_their_names(files):
    y, a, b, folder = files
    by_order = run(folder / "a.csv", folder / "b.csv", "--truth", "y", "--json")
    by_id = run(
        folder / "a.csv", folder / "b.parquet", "--truth", "y", "--id", "id", "--json",
    )  # fmt: skip
    first, second = (json.loads(done.stdout)["differences"][0] for done in (by_order, by_id))
    assert first["difference"] == pytest.approx(metrics.cllr(y, a) - metrics.cllr(y, b))
    assert first.pop("systems") == second.pop("systems") == ["A", "B"]
    assert first == pytest.approx(second)


def test_trial_lists_share_a_key(files):
    y, a, b, folder = files
    for name, llr in (("a", a), ("b", b)):
        lines = [f"m{i // 20} s{i % 20} {v}" for i, v in enumerate(llr)]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    key = [f"m{i // 20} s{i % 20} {'target' if v else 'nontarget'}" for i, v in enumerate(y)]
    (folder / "key.txt").write_text("\n".join(key))
    done = run(folder / "a.txt", folder / "b.txt", "--key", folder / "key.txt", "--json")
    found = json.loads(done.stdout)
    assert found["classes"] == ["nontarget", "target"]
    assert found["differences"][0]["b"] == pytest.approx(metrics.cllr(y, b))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("id,y,llr\n1,0,2\n2,1,3\n3,1,3\n", "", "has 2 rows and .* 3\\. Name"),
        ("id,y,llr\n1,1,2\n2,0,3\n", "", "differ in the truth of 2 rows"),
        ("id,y,llr\n1,0,2\n3,1,3\n", "--id id", "1 of .* are not in .*, and 1 of"),
        ("id,y,llr\n1,0,2\n1,1,3\n", "--id id", "1 row of 'id' is repeated"),
        ("id,y,llr\n1,0,2\n,1,3\n", "--id id", "1 row of 'id' is empty"),
        ("key,y,llr\n1,0,2\n2,1,3\n", "--id id", "no column 'id', which --id needs"),
    ],
)
def test_files_that_do_not_match_are_refused(tmp_path, text, options, words):
    (tmp_path / "a.csv").write_text("id,y,llr\n1,0,-1\n2,1,1\n")
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        run(tmp_path / "a.csv", tmp_path / "b.csv", "--truth", "y", *options.split())


def test_other_classes_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("y,a,b\na,0,-1\nb,1,1\n")
    (tmp_path / "b.csv").write_text("y,a,c\na,0,-1\nc,1,1\n")
    with pytest.raises(InputError, match="have different classes: a, b and a, c"):
        run(tmp_path / "a.csv", tmp_path / "b.csv", "--truth", "y")


def test_the_column_may_have_another_name_in_the_second_file(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    llr = rng.normal(2 * y - 1, 1)
    path = tmp_path / "both.csv"
    pl.DataFrame({"y": y, "raw": 4 * llr, "calibrated": 2 * llr}).write_csv(path)
    found = json.loads(run(path, path, "--truth", "y", "--llr", "raw,calibrated", "--json").stdout)
    by_key = {one["key"]: one for one in found["differences"]}
    assert by_key["cllr"]["a"] == pytest.approx(metrics.cllr(y, 4 * llr))
    assert by_key["cllr"]["b"] == pytest.approx(metrics.cllr(y, 2 * llr))
    with pytest.raises(InputError, match="one name, or 2 names; got 3"):
        run(path, path, "--truth", "y", "--llr", "raw,calibrated,y")


def test_any_number_of_systems_is_compared_with_the_first(files):
    y, _a, b, folder = files
    three = [folder / "a.csv", folder / "b.csv", folder / "a.csv"]
    done = run(*three, "--truth", "y", "--resamples", "50")
    assert "A − B" in done.stdout
    assert "A − C" in done.stdout
    found = json.loads(run(*three, "--truth", "y", "--json", "--resamples", "50").stdout)
    assert found["systems"] == ["A", "B", "C"]
    by_system = {tuple(one["systems"]): one for one in found["differences"] if one["key"] == "cllr"}
    assert by_system["A", "C"]["verdict"] == "same"
    assert by_system["A", "B"]["b"] == pytest.approx(metrics.cllr(y, b))
    with pytest.raises(InputError, match=r"two systems or more; got .*a\.csv alone"):
        run(folder / "a.csv", "--truth", "y")


def test_the_report_says_which_system_is_better_and_is_not_overwritten(files):
    *_, folder = files
    report = folder / "r.html"
    words = [folder / "a.csv", folder / "b.csv", "--truth", "y", "--report", report]
    assert f"Report: {report}" in run(*words, "--resamples", "50").stdout
    page = report.read_text()
    assert "A is better" in page
    assert "b.csv" in page
    assert "sha256" in page
    with pytest.raises(InputError, match="--force"):
        run(*words)
    run(*words, "--force", "--resamples", "50")
    with pytest.raises(InputError, match=r"--report .* too"):
        run(*words[:-1], folder / "b.csv", "--force")
