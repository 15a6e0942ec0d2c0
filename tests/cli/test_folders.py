"""``deciban predict`` and ``apply`` into folders: parts, a manifest, and runs that go on."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import runner
from deciban import Evidence, LinearDiscriminant
from deciban._workers import open_workers
from deciban.calibration import AffineCalibrator, FusionCalibrator
from deciban.cli import outputs as folders
from deciban.cli.commands.predict import _Prediction
from deciban.cli.files import Part, find_files
from deciban.cli.outputs import split_files, write_output
from deciban.cli.score_columns import ScoreColumns
from deciban.exceptions import ClusterError, InputError, UnseenValueWarning

run = runner(100)
FILES = {"a": 500, "b": 0, "c": 120, "d": 80}  # rows of each


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model and a calibrator, and 700 rows in four files, one of which is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders, "_ROWS", 200)
    rng = np.random.default_rng(5)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 2)) + 2 * y[:, None]
    place = np.array(["here", "there"])[rng.integers(0, 2, 300)]
    train = pl.DataFrame({"x": X[:, 0], "z": X[:, 1], "place": place})
    LinearDiscriminant().fit(train, np.array(["no", "yes", "perhaps"])[y]).save("m.deciban")
    AffineCalibrator().fit(Evidence.from_llr(X[:, 0] - 2), (y > 1).astype(int)).save(
        "c.deciban", ScoreColumns("llr", ("x",)).to_dict()
    )
    rows = sum(FILES.values())
    whole = pl.DataFrame(
        {
            "id": range(rows),
            "x": rng.normal(size=rows),
            "z": rng.normal(size=rows),
            "place": np.array(["here", "there"])[rng.integers(0, 2, rows)],
        }
    )
    Path("new").mkdir()
    start = 0
    for name, n in FILES.items():
        whole.slice(start, n).write_parquet(f"new/{name}.parquet")
        start += n
    whole.write_parquet("whole.parquet")
    return tmp_path


def manifest():
    return json.loads(Path("out/manifest.json").read_text())


def parts():
    return sorted(path.name for path in Path("out").iterdir() if path.name != "manifest.json")


def stamps():
    return {name: os.stat(f"out/{name}").st_mtime_ns for name in parts()}


predict = partial(run, "predict", "m.deciban")
COMMANDS = {"predict": "m.deciban", "apply": "c.deciban"}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("source", ["new", "new/*.parquet", "whole.parquet"])
def test_many_parts_are_the_rows_of_one_table(folder, command, source):
    model = COMMANDS[command]
    one = run(command, model, "whole.parquet", "-o", "one.parquet", "--json")
    many = run(command, model, source, "-o", "out/", "--json")
    assert_frame_equal(pl.read_parquet("out/part-*.parquet"), pl.read_parquet("one.parquet"))
    told = [json.loads(done.stdout) for done in (one, many)]
    for found in told:
        found.pop("output")
        found.pop("provenance", None)
    assert told[0] == told[1]
    about = manifest()
    assert about["complete"]
    assert about["rows"] == 700
    assert [part["file"] for part in about["parts"]] == parts()
    rows = [200, 200, 100, 0, 120, 80] if "new" in source else [200, 200, 200, 100]
    assert [part["rows"] for part in about["parts"]] == rows
    assert [pl.read_parquet(f"out/{name}").height for name in parts()] == rows


def test_two_processes_write_what_one_writes(folder, cluster):
    predict("new", "-o", "one/")
    told = predict("new", "-o", "out/", "--workers", cluster)
    assert "700 rows" in told.stderr
    for name in parts():
        assert Path("out", name).read_bytes() == Path("one", name).read_bytes()
    run("apply", "c.deciban", "new", "-o", "calibrated/", "--workers", cluster)
    run("apply", "c.deciban", "whole.parquet", "-o", "one.parquet")
    assert_frame_equal(pl.read_parquet("calibrated/*.parquet"), pl.read_parquet("one.parquet"))


def test_a_run_goes_on_with_what_is_missing_and_leaves_the_rest(folder):
    first = json.loads(predict("new", "-o", "out/", "--json").stdout)
    whole, before = pl.read_parquet("out/*.parquet"), stamps()
    about = manifest()
    Path("out/part-00001.parquet").unlink()
    cut = Path("out/part-00004.parquet")  # as after a power cut
    cut.write_bytes(cut.read_bytes()[:100])
    pl.DataFrame({"decision": ["no"], "is_outlier": [False]}).write_parquet(
        "out/part-00005.parquet"
    )
    Path("out/.part-00001.parquet.abc").touch()  # of a worker that was killed
    Path("out/.part-00001.parquet.def").mkdir()
    again = json.loads(predict("new", "-o", "out/", "--json").stdout)
    assert again == first
    assert_frame_equal(pl.read_parquet("out/*.parquet"), whole)
    made = {name for name, at in stamps().items() if at != before[name]}
    assert made == {f"part-0000{k}.parquet" for k in (1, 4, 5)}
    assert manifest() == about


def test_a_killed_run_goes_on(folder):
    words = [sys.executable, "-c", SLOW, "predict", "m.deciban", "new", "-o", "out/"]
    killed = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        waited = time.monotonic()
        while not Path("out/part-00001.parquet").exists():
            assert killed.poll() is None
            assert time.monotonic() < waited + 60
            time.sleep(0.01)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    done = [name for name in parts() if name.startswith("part")]
    assert 2 <= len(done) < 6
    assert not manifest()["complete"]
    before = stamps()
    predict("new", "-o", "out/")
    assert {name: stamps()[name] for name in done} == {name: before[name] for name in done}
    predict("whole.parquet", "-o", "one.parquet")
    assert_frame_equal(pl.read_parquet("out/*.parquet"), pl.read_parquet("one.parquet"))
    assert len(parts()) == 6  # nothing half-written is left


SLOW = """
import time
from deciban.cli import main
from deciban.cli import outputs as folders

folders._ROWS, write = 200, folders._write_table
folders._write_table = lambda *a, **k: (time.sleep(0.1), write(*a, **k))[1]
main()
"""


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing_but_the_time(folder, cluster):
    killed = Path("killed").absolute()

    class Deadly:
        """Copies tables, and kills the first process that is in the middle of 120 rows."""

        counted = ()

        def open(self, source):
            from deciban.cli.tables import open_table

            return open_table(source)

        def frames(self, source):
            import os
            import signal

            for frame in self.open(source).batches(50):
                yield frame
                if source.rows == 120 and not killed.exists():
                    killed.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

        def summarize(self, frame):
            return {}

    job, plan = Deadly(), {"command": "copy", "model": "none", "settings": {}}
    files = split_files(job, find_files("new"), "out/")
    with open_workers(cluster) as workers:
        counts = write_output(workers, job, files, "out/", plan, force=False)
    assert killed.exists()
    assert counts == {"rows": 700}
    assert parts() == [f"part-0000{k}.parquet" for k in range(6)]
    assert_frame_equal(pl.read_parquet("out/*.parquet"), pl.read_parquet("whole.parquet"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["predict", "other.deciban", "new"], "with another model"),
        (["predict", "m.deciban", "new", "--outlier", "0"], "with other options"),
        (["predict", "m.deciban", "new", "--prior", "uniform"], "with other options"),
        (["predict", "m.deciban", "new", "--prior", "estimate"], "with other options"),
        (["predict", "m.deciban", "whole.parquet"], "from other files"),
        (["apply", "c.deciban", "new"], "by another command"),
    ],
    ids=lambda change: " ".join(change) if isinstance(change, list) else "",
)
def test_parts_of_another_run_are_kept_apart(folder, change, said):
    model = LinearDiscriminant.load("m.deciban")
    model.set_params(shrinkage=0.5).save("other.deciban")
    predict("new", "-o", "out/")
    before = stamps()
    with pytest.raises(InputError, match=f"holds parts that were made {said}. Name") as no:
        run(*change, "-o", "out/")
    assert "\n" not in str(no.value)
    assert stamps() == before
    run(*change, "-o", "out/", "--force")
    assert manifest()["complete"]
    assert not set(before.items()) & set(stamps().items())
    if "whole.parquet" in change:
        assert len(parts()) == 4


def test_an_input_that_was_changed_is_not_mixed_with_what_it_was(folder):
    predict("new", "-o", "out/")
    pl.read_parquet("new/c.parquet").reverse().write_parquet("new/c.parquet")
    with pytest.raises(InputError, match="from other files"):
        predict("new", "-o", "out/")


def test_an_input_that_changes_during_the_run_is_named(folder):
    part = Part("new/c.parquet", 100, 50)
    job = _Prediction(LinearDiscriminant.load("m.deciban"), 0, None, None)
    with pytest.raises(InputError, match=r"new/c.parquet changed while it was being read"):
        folders._write_table(job, part, "part.parquet", force=True)
    assert not Path("part.parquet").exists()


def test_the_class_mix_of_all_parts_is_estimated(folder, cluster):
    one = predict("whole.parquet", "-o", "one.parquet", "--prior", "estimate", "--json")
    many = predict("new", "-o", "out/", "--prior", "estimate", "--json", "--workers", cluster)
    told = [json.loads(done.stdout) for done in (one, many)]
    assert told[0].pop("output") != told[1].pop("output")
    assert told[0] == told[1]
    assert_frame_equal(pl.read_parquet("out/*.parquet"), pl.read_parquet("one.parquet"))


def test_scores_of_several_systems_in_one_table_are_fused_in_parts(folder):
    table = pl.read_parquet("whole.parquet")
    y = np.arange(700) % 2
    systems = {name: table[name].to_numpy() + y for name in ("x", "z")}
    fused = FusionCalibrator().fit(systems, y)
    columns = [{"scores": ScoreColumns("llr", (name,)).to_dict()["scores"]} for name in systems]
    fused.save("f.deciban", {**columns[0], "others": columns[1:]})
    run("apply", "f.deciban", "whole.parquet", "-o", "one.parquet", "--interval", "0.9")
    run("apply", "f.deciban", "new", "-o", "out/", "--interval", "0.9")
    assert_frame_equal(pl.read_parquet("out/*.parquet"), pl.read_parquet("one.parquet"))
    with pytest.raises(InputError, match="An output folder takes one table"):
        run("apply", "f.deciban", "new", "new", "-o", "other/")


def test_files_of_text_are_parts_of_their_own(folder):
    Path("text").mkdir()
    for name in "acd":
        pl.read_parquet(f"new/{name}.parquet").write_csv(f"text/{name}.csv")
    predict("text/*.csv", "-o", "out/")
    assert [pl.read_parquet(f"out/{name}").height for name in parts()] == [500, 120, 80]
    before = stamps()
    predict("text/*.csv", "-o", "out/")
    assert stamps() == before


def test_what_a_worker_notes_is_told_once(folder, cluster):
    odd = pl.read_parquet("new/c.parquet").with_columns(place=pl.lit("nowhere"))
    odd.write_parquet("new/c.parquet")
    with pytest.warns(UnseenValueWarning, match="nowhere") as told:
        predict("new", "-o", "out/", "--workers", cluster)
    assert len({str(one.message) for one in told}) == 1


def test_a_bad_cell_of_a_part_is_named_by_its_row_in_the_file(folder, cluster):
    table = pl.read_parquet("new/a.parquet")
    table = table.with_columns(x=pl.when(pl.col("id") == 450).then(1e200).otherwise("x"))
    table.write_parquet("new/a.parquet")
    with pytest.raises(InputError, match=r"x in new/a.parquet holds 1e\+200 in row 451"):
        predict("new", "-o", "out/", "--workers", cluster)
    assert not manifest()["complete"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["new", "-o", "out.csv"],
            "a folder, since new stands for several files; got out.csv",
        ),
        (["new/*.parquet", "-o", "out"], "--output must be a folder, since new/"),
        (
            ["whole.parquet", "-o", "o.csv", "--workers", "2"],
            "a folder, since several processes",
        ),
        (["new", "-o", "."], "--output . holds an input, new/a.parquet"),
        (["new", "-o", "new/out/"], "--output new/out/ is in new, the folder that is read"),
        (["new", "-o", "used/"], "--output used holds files and no manifest.json"),
        (["new", "-o", "damaged/"], "damaged/manifest.json is not a manifest"),
        (["new", "-o", "m.deciban/"], "--output m.deciban cannot be made"),
        (
            ["none/*.parquet", "-o", "out/"],
            r"none/\*.parquet matches no files",
        ),
        (["used", "-o", "out/"], "used contains no .parquet files"),
        (["odd/*.parquet", "-o", "out/"], "odd/b.parquet has other columns than odd/a.parquet"),
        (
            ["new", "-o", "out/", "--workers", "nonsense"],
            "the address of a Dask scheduler; got nonsense",
        ),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_cannot_be_done_ends_in_a_sentence_and_leaves_nothing(folder, words, said):
    for name in ("used", "damaged", "odd"):
        Path(name).mkdir()
    Path("used/mine.txt").touch()
    Path("damaged/manifest.json").write_text("{")
    table = pl.read_parquet("new/a.parquet")
    table.write_parquet("odd/a.parquet")
    table.select("id", "z", "x", "place").write_parquet("odd/b.parquet")
    before = sorted(folder.rglob("*"))
    with pytest.raises((InputError, ClusterError), match=said) as caught:
        predict(*words)
    assert "\n" not in str(caught.value)
    assert sorted(folder.rglob("*")) == before


def test_a_column_of_another_type_is_named(folder):
    table = pl.read_parquet("new/d.parquet").with_columns(pl.col("id").cast(pl.String))
    table.write_parquet("new/d.parquet")
    with pytest.raises(InputError, match=r"new/d.parquet has other columns .* id differs"):
        predict("new", "-o", "out/")


def test_a_folder_that_workers_do_not_share_is_refused_and_not_made(folder, cluster, monkeypatch):
    def sees_inputs_only(self, paths):
        for path in paths:
            if Path(path).name.startswith(".part-"):
                raise ClusterError("not shared")

    monkeypatch.setattr("deciban._workers._DaskWorkers.require_files", sees_inputs_only)
    with pytest.raises(ClusterError):
        predict("new", "-o", "out/", "--workers", cluster)
    assert not Path("out").exists()
