"""Runs: that go on, that survive a failure, and whose pages say what happened."""

import json

import numpy as np
import pytest
from PIL import Image

from deciban.exceptions import InputError
from reproduction import experiments as registry
from reproduction import markup, pages, results, runner
from reproduction.experiment import (
    Experiment,
    Figure,
    Findings,
    Measurement,
    Paragraph,
    Step,
    Table,
)
from reproduction.files import write_atomically
from reproduction.mnist_files import DataNotFoundError
from reproduction.runner import Run
from reproduction.step_cache import StepCache


def picture():
    from matplotlib.figure import Figure as Drawn

    drawn = Drawn(figsize=(2, 2))
    drawn.subplots().plot([0, 1], [0, 1])
    return drawn


class Small(Experiment):
    title, paper = "A small one", "Figure 0"

    def __init__(self, name="moons", seed=0, broken=None, key="table1.moons.cda.cllr"):
        self.name, self.seed, self.broken, self.key = name, seed, broken, key
        self.done = []

    def steps(self, quick):
        def first(path, earlier):
            self.done.append("first")
            return {"x": np.arange(3) + self.seed}

        def second(path, earlier):
            self.done.append("second")
            if self.broken:
                raise self.broken
            return {"y": earlier["first"]["x"] * 2.0}

        settings = {"seed": self.seed}
        return [Step("first", settings, first), Step("second", {}, second, after=("first",))]

    def findings(self, results, quick):
        value = float(results["second"]["y"].mean() / 20)
        blocks = [
            Paragraph("Some `code` and **strong** words <here>."),
            Table("Of | pipes.", ["a", "b"], [["1", "x | y"]]),
            Figure(f"{self.name}-a", "A line. More of it.", picture, "Figure 0"),
            Figure(f"{self.name}-b", "A line of points.", picture, form="png"),
        ]
        return Findings(
            blocks, [Measurement(self.key, value, value - 0.001, value + 0.001, "made")]
        )


@pytest.fixture
def several(monkeypatch):
    """Three experiments in the place of the paper's."""
    made = (Small("moons"), Small("circles", key="table1.circles.cda.cllr"), Small("gaussians"))
    monkeypatch.setattr(registry, "EXPERIMENTS", made)
    return made


class Watcher:
    def __init__(self):
        self.calls = []

    def begin(self, name, title):
        self.calls.append(("begin", name))

    def step(self, name, left, cached):
        self.calls.append((name, round(left, 3), cached))

    def end(self, name, error):
        self.calls.append(("end", name, error))


def result(folder, name="moons"):
    return json.loads((folder / "results" / f"{name}.json").read_text())


def test_a_run_writes_pages_figures_and_numbers_with_verdicts(several, tmp_path):
    outcomes = Run(tmp_path, tmp_path / "work")(several[:1])
    assert [o.error for o in outcomes] == [None]
    record = result(tmp_path)
    (number,) = record["numbers"]
    assert number["printed"] == "0.118"
    assert number["verdict"] == "beaten"  # 0.1 +- 0.001
    assert number["described"] is False
    assert record["settings"]["first"] == {"seed": 0}
    assert record["steps"]["first"]["versions"]["numpy"] == np.__version__
    page, read_me = ((tmp_path / n).read_text() for n in ("index.html", "README.md"))
    assert "<code>code</code> and <strong>strong</strong> words &lt;here&gt;" in page
    assert "figures/moons-a.svg" in page
    assert "x \\| y" in read_me
    assert (
        "| Table 1 | Cllr of CDA on Moons | bit | 0.118 | 0.1 (0.099 to 0.101) | beaten |"
        in read_me
    )
    assert "matplotlib" not in read_me
    table = json.loads((tmp_path / "results.json").read_text())
    assert len(table["numbers"]) == 127
    assert sum(n["ours"] is None for n in table["numbers"]) == 126


def test_what_was_done_is_not_done_again(several, tmp_path):
    run = Run(tmp_path, tmp_path / "work")
    run(several[:1])
    run(several[:1])
    assert several[0].done == ["first", "second"]


def test_another_seed_does_the_step_and_what_follows_from_it_again(several, tmp_path):
    run = Run(tmp_path, tmp_path / "work")
    run(several[:1])
    other = Small("moons", seed=1)
    run([other])
    assert other.done == ["first", "second"]
    assert result(tmp_path)["numbers"][0]["value"] == pytest.approx(0.2)


def test_an_interrupted_run_goes_on_where_it_stopped(several, tmp_path):
    run = Run(tmp_path, tmp_path / "work")
    with pytest.raises(KeyboardInterrupt):
        run([Small("moons", broken=KeyboardInterrupt())])
    run(several[:1])
    assert several[0].done == ["second"]


def test_a_damaged_file_of_a_step_is_computed_again(several, tmp_path):
    run = Run(tmp_path, tmp_path / "work")
    run(several[:1])
    path = next((tmp_path / "work").rglob("first.npz"))
    path.write_bytes(path.read_bytes()[:50])
    run(several[:1])
    assert several[0].done == ["first", "second", "first"]


def test_an_experiment_that_fails_does_not_lose_the_others(several, tmp_path):
    broken = Small("moons", broken=InputError("x must be y; got z. Do w."))
    odd = Small("gaussians", broken=ZeroDivisionError("by nought"))
    outcomes = Run(tmp_path, tmp_path / "work")([broken, several[1], odd])
    assert [o.error for o in outcomes] == [
        "x must be y; got z. Do w.", None, "ZeroDivisionError: by nought"
    ]  # fmt: skip
    assert "Traceback" in (tmp_path / "errors" / "gaussians.txt").read_text()
    page = (tmp_path / "README.md").read_text()
    assert "Not run: x must be y; got z. Do w." in page
    assert result(tmp_path, "circles")["numbers"]
    Run(tmp_path, tmp_path / "work")([several[0]])  # mended
    assert not (tmp_path / "errors" / "moons.txt").exists()
    assert "x must be y" not in (tmp_path / "README.md").read_text()


def test_an_experiment_without_its_data_says_so_and_the_others_run(several, tmp_path, monkeypatch):
    def nowhere():
        raise DataNotFoundError("MNIST must be on this machine; it is not. Set DECIBAN_DATA.")

    monkeypatch.setattr(runner, "load_mnist", nowhere)
    needy = Small("gaussians")
    needy.data = "mnist"
    outcomes = Run(tmp_path, tmp_path / "work")([needy, several[0]])
    assert outcomes[0].error.startswith("MNIST must be on this machine")
    assert outcomes[1].error is None


def test_experiments_run_on_different_days_are_on_one_page(several, tmp_path):
    Run(tmp_path, tmp_path / "work")(several[:1])
    Run(tmp_path, tmp_path / "work")(several[1:2])
    table = json.loads((tmp_path / "results.json").read_text())
    assert [r["name"] for r in table["runs"]] == ["moons", "circles"]


def test_a_quick_run_has_no_verdicts_and_says_what_it_is(several, tmp_path):
    Run(tmp_path, tmp_path / "work", quick=True)(several[:1])
    assert "This is a quick run" in (tmp_path / "index.html").read_text()
    assert "verdict" not in result(tmp_path)["numbers"][0]


def test_quick_and_full_runs_do_not_mix_in_a_folder(several, tmp_path):
    Run(tmp_path, tmp_path / "work")(several[:1])
    before = (tmp_path / "README.md").read_text()
    with pytest.raises(InputError, match="has a full run of moons, and this run is quick"):
        Run(tmp_path, tmp_path / "work", quick=True)(several[1:2])
    assert (tmp_path / "README.md").read_text() == before


def test_a_run_that_fails_keeps_what_an_earlier_one_found(several, tmp_path):
    Run(tmp_path, tmp_path / "work")(several[:1])
    before = (tmp_path / "README.md").read_text()
    broken = Small("moons", seed=5, broken=InputError("no such thing."))
    (outcome,) = Run(tmp_path, tmp_path / "work")([broken])
    assert outcome.error == "no such thing."
    assert (tmp_path / "README.md").read_text() == before
    assert (tmp_path / "errors" / "moons.txt").exists()


@pytest.mark.parametrize("text", ["{ broken", "[]", '{"name": "circles"}', ""])
def test_a_damaged_record_of_another_experiment_is_left_out(several, tmp_path, text):
    write_atomically(tmp_path / "results" / "circles.json", text)
    Run(tmp_path, tmp_path / "work")(several[:1])
    assert "A small one" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("name", ["output", "work"])
def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(several, tmp_path, name):
    (tmp_path / "file").write_text("mine")
    folders = {"output": tmp_path / "out", "work": tmp_path / "work"}
    folders[name] = tmp_path / "file" / "below"
    with pytest.raises(InputError, match=f"--{name} must be a folder that can be written to"):
        Run(folders["output"], folders["work"])(several[:1])
    assert several[0].done == []


def test_a_checkpoint_that_cannot_be_read_is_started_again(tmp_path):
    def compute(path, earlier):
        if path.exists():
            raise InputError(f"{path.name} must be a whole deciban file; it cannot be read.")
        return {"x": np.ones(1)}

    step = Step("fit", {}, compute)
    cache = StepCache(tmp_path, [step])
    (tmp_path / f"fit-{cache._keys['fit']}.checkpoint").write_text("junk")
    assert cache.compute(step, {})[0]["x"] == 1.0


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY\x01\x00junk"])
def test_a_damaged_cache_file_is_computed_again(tmp_path, content):
    step = Step("fit", {}, lambda path, earlier: {"x": np.ones(1)})
    cache = StepCache(tmp_path, [step])
    (tmp_path / "fit.npz").write_bytes(content)
    assert cache.find(step) is None
    cache.compute(step, {})
    assert cache.find(step) is not None


def test_the_watcher_is_notified_of_every_step_and_of_the_work_left(several, tmp_path):
    watcher = Watcher()
    run = Run(tmp_path, tmp_path / "work", watcher=watcher)
    run(several[:1])
    run(several[:2])
    assert watcher.calls[:5] == [
        ("begin", "moons"), ("first", 1.0, False), ("second", 0.5, False),
        ("figures", 0.0, False), ("end", "moons", None),
    ]  # fmt: skip
    assert watcher.calls[6:8] == [("first", 1.0, True), ("second", 0.75, True)]


def test_figures_are_the_same_bytes_each_time(several, tmp_path):
    figures = Small().findings({"second": {"y": np.ones(3)}}, False).blocks[2:]
    for figure in figures:
        name, _ = runner.save(figure, tmp_path / "a")
        runner.save(figure, tmp_path / "b")
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_png_figure_has_twice_the_pixels_of_its_place_on_the_page(several, tmp_path):
    Run(tmp_path, tmp_path / "work")(several[:1])
    vector, pixels = [b for b in result(tmp_path)["blocks"] if b["kind"] == "figure"]
    assert vector["width"] is None
    with Image.open(tmp_path / pixels["file"]) as image:
        assert abs(image.width - 2 * pixels["width"]) <= 1
    tag = f'<img src="{pixels["file"]}" width="{pixels["width"]}" alt="A line of points."'
    for page in ("index.html", "README.md"):
        assert tag in (tmp_path / page).read_text()


def test_a_checkpoint_goes_once_its_step_is_done(tmp_path):
    def compute(path, earlier):
        path.write_text("half-way")
        return {"x": np.ones(1)}

    step = Step("fit", {}, compute)
    StepCache(tmp_path, [step]).compute(step, {})
    assert [p.name for p in tmp_path.iterdir()] == ["fit.npz"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page"
    write_atomically(path, "old")

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page"]


def test_what_is_worse_is_named_with_its_cause(several, tmp_path):
    Run(tmp_path, tmp_path / "work")([Small("circles", seed=30, key="mnist784.cda.c_mc")])
    records = results.read_records(tmp_path)
    blocks = pages.blocks_of_page(records, results.compare_numbers(records), quick=False)
    (table,) = [b for b in blocks if b.get("caption") == "Where we are worse, and why."]
    assert table["rows"][0][-1] == "(a)"
    (remark,) = [b["text"] for b in blocks if b.get("text", "").startswith("(a)")]
    assert "Trained by likelihood alone and without regularization" in remark


def test_text_that_came_from_elsewhere_cannot_break_a_page():
    blocks = [
        {"kind": "error", "text": "a\nb <script>x</script>"},
        {"kind": "table", "caption": "c", "header": ["h"], "rows": [["x\n| <b>"]]},
    ]
    markdown, page = markup.as_markdown(blocks), markup.as_html(blocks, "t")
    assert "<script>x" not in markdown + page
    assert "&lt;script&gt;x" in page
    assert "| x \\| &lt;b> |" in markdown


def test_links_lead_to_headings():
    blocks = [
        {"kind": "paragraph", "text": "[A (b)](#a-b)"},
        {"kind": "heading", "level": 2, "text": "A (b)"},
    ]
    page = markup.as_html(blocks, "t")
    assert "<a href='#a-b'>A (b)</a>" in page
    assert "<h2 id='a-b'>" in page


def test_an_unknown_experiment_is_refused_with_the_names_of_all():
    with pytest.raises(InputError, match="densities, simplex, tree"):
        registry.select_experiments(["circle"])
    assert [e.name for e in registry.select_experiments(["moons", "bayes"])] == [
        "bayes",
        "moons",
    ]
    assert registry.select_experiments([]) == list(registry.EXPERIMENTS)
