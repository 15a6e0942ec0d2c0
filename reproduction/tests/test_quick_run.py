"""All of ``python -m reproduction --quick``, with scikit-learn's digits in place of MNIST."""

import json

from reproduction.experiments import EXPERIMENTS


def test_a_quick_run_finishes_every_experiment(quick_run):
    assert quick_run.done.exit_code == 0, quick_run.done.output
    finished = f"{len(EXPERIMENTS)} of {len(EXPERIMENTS)} experiments finished"
    assert finished in quick_run.done.output


def test_it_leaves_every_number_of_the_paper_and_a_cda_beats_lda(quick_run):
    results = json.loads((quick_run.out / "results.json").read_text())
    for n in results["numbers"]:
        assert n["ours"] or n["described"], n["key"]
    others = {n["key"]: n["value"] for n in results["others"]}
    for name in ("moons", "circles"):  # far better, even after a short fit
        assert others[f"many.{name}.cda.cllr"] < others[f"many.{name}.lda.cllr"] / 2


def test_its_page_shows_every_figure(quick_run):
    page = (quick_run.out / "index.html").read_text()
    for path in (quick_run.out / "figures").iterdir():
        assert f"figures/{path.name}" in page
    for figure in range(1, 18):
        assert f"Figure {figure}" in page
