"""One quick run of everything, shared by the slow tests that look at it."""

import warnings
from types import SimpleNamespace

import matplotlib as mpl
import pytest
from digit_files import write_digits
from typer.testing import CliRunner

from reproduction import mnist
from reproduction.command import app
from reproduction.experiments import EXPERIMENTS
from reproduction.step_cache import StepCache

mpl.use("Agg")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "quick_run" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
            if item.config.pluginmanager.hasplugin("xdist"):
                item.add_marker(pytest.mark.xdist_group("quick run"))  # one process runs it once


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory):
    """Everything, with scikit-learn's digits in place of MNIST: outcome, folder, arrays."""
    folder = tmp_path_factory.mktemp("quick-run")
    write_digits(folder)
    mnist.clear_cache()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from short fits, and from numba
        patch.setenv("DECIBAN_DATA", str(folder))
        done = CliRunner().invoke(app, ["--quick", "--output", str(folder / "out")])
        fingerprint = mnist.load_mnist().fingerprint()
    mnist.clear_cache()
    arrays = {}
    for experiment in EXPERIMENTS:
        steps = experiment.steps(quick=True)
        data = fingerprint if experiment.data else ""
        cache = StepCache(folder / "out" / "work" / "quick" / experiment.name, steps, data)
        arrays[experiment.name] = {step.name: cache.find(step)[0] for step in steps}
    return SimpleNamespace(done=done, out=folder / "out", arrays=arrays)
