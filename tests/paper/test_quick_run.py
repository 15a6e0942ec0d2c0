"""``deciban paper --quick``, the whole of it: on toys, and on digits of scikit-learn's as MNIST."""

import json

import pytest
from typer.testing import CliRunner

from deciban.cli.app import app
from deciban.paper import mnist
from deciban.paper.experiments import EXPERIMENTS
from digit_files import write_digits


@pytest.mark.filterwarnings("ignore")  # of short fits, and of numba
def test_a_quick_run_leaves_every_number_and_figure_of_the_paper(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    write_digits(tmp_path / "data")
    monkeypatch.setenv("DECIBAN_DATA", str(tmp_path / "data"))
    out = tmp_path / "out"
    mnist.forget()
    done = CliRunner().invoke(app, ["paper", "--quick", "--output", str(out)])
    mnist.forget()
    assert done.exit_code == 0, done.output
    assert f"{len(EXPERIMENTS)} of {len(EXPERIMENTS)} experiments run" in done.output
    results = json.loads((out / "results.json").read_text())
    for n in results["numbers"]:
        assert n["ours"] or n["described"], n["key"]
    others = {n["key"]: n["value"] for n in results["others"]}
    for name in ("moons", "circles"):  # even so, a CDA is far better than LDA
        assert others[f"many.{name}.cda.cllr"] < others[f"many.{name}.lda.cllr"] / 2
    page = (out / "index.html").read_text()
    for path in (out / "figures").iterdir():
        assert f"figures/{path.name}" in page
    for figure in [*range(1, 13), *range(13, 18)]:
        assert f"Figure {figure}" in page
