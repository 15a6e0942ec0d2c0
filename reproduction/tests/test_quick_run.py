"""All of ``python -m reproduction --quick``, with scikit-learn's digits in the place of MNIST."""

import inspect
import json
import warnings

import numpy as np
import pytest
import test_mnist40
import test_mnist784
from digit_files import write_digits
from typer.testing import CliRunner

from deciban.cli.app import app
from reproduction import mnist
from reproduction.experiments import EXPERIMENTS
from reproduction.kept import Shelf


def run_of(folder):
    """The command's outcome, and the arrays of the experiments on digits."""
    (folder / "data").mkdir()
    write_digits(folder / "data")
    mnist.forget()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short fits, and of numba
        patch.setenv("DECIBAN_DATA", str(folder / "data"))
        done = CliRunner().invoke(app, ["paper", "--quick", "--output", str(folder / "out")])
        mark = mnist.load_mnist().fingerprint()
    mnist.forget()
    found = []
    for module in (test_mnist40, test_mnist784):
        experiment = module.EXPERIMENT
        steps = experiment.steps(quick=True)
        shelf = Shelf(folder / "out" / "work" / "quick" / experiment.name, steps, mark)
        found.append((module, {step.name: shelf.find(step)[0] for step in steps}))
    return done, found


def test_a_quick_run_leaves_every_number_and_figure_of_the_paper(tmp_path):
    """One test, since the run takes minutes: what the other files say of its arrays is here."""
    done, found = run_of(tmp_path)
    out = tmp_path / "out"
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
    for figure in range(1, 18):
        assert f"Figure {figure}" in page
    for module, arrays in found:
        given = {"results": arrays, "truth": arrays["data"]["truth"].astype(np.int64)}
        given["findings"] = module.EXPERIMENT.findings(arrays, quick=True)
        laws = [f for name, f in inspect.getmembers(module) if name.startswith("seen_")]
        assert len(laws) > 4
        for law in laws:
            law(**{name: given[name] for name in inspect.signature(law).parameters})
