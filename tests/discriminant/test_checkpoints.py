"""Training that is killed or interrupted, and goes on from its checkpoint."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import jax
import numpy as np
import pytest
from sklearn.datasets import load_iris

from deciban import Basis
from deciban._persistence import files
from deciban.discriminant import cda as cda_module
from deciban.discriminant.runs import Checkpoint
from deciban.exceptions import InputError, InterruptedFitWarning

CDA = cda_module.CompositionalDiscriminantAnalysis
SMALL = {"n_couplings": 2, "width": 8, "epochs": 3, "random_state": 0}
X, Y = load_iris(return_X_y=True)


@contextmanager
def interruption_after(epochs):
    """Ctrl-C after some epochs of the fit inside."""

    class Interrupting(Checkpoint):
        def save(self, state, force=False):
            super().save(state, force=True)
            if state.epoch == epochs and not force:
                raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cda_module, "Checkpoint", Interrupting)
        with pytest.warns(InterruptedFitWarning, match=f"interrupted after {epochs} of"):
            yield


def test_a_run_that_was_interrupted_ends_where_it_would_have_ended(tmp_path):
    options = SMALL | {"epochs": 12, "checkpoint": tmp_path / "half"}
    whole = CDA(**options | {"checkpoint": None}).fit(X, Y)
    with interruption_after(5):
        CDA(**options).fit(X, Y)
    again = CDA(**options).fit(X, Y)
    np.testing.assert_array_equal(
        again.evidence(X).log_likelihoods, whole.evidence(X).log_likelihoods
    )
    assert len(again.history_) == 12
    for one, other in zip(*map(jax.tree.leaves, (again._params, whole._params)), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.slow
def test_a_run_that_was_killed_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "run"
    script = (
        "import sys; from sklearn.datasets import load_iris\n"
        "from deciban.discriminant import CompositionalDiscriminantAnalysis as CDA\n"
        "import deciban.discriminant.runs as c; c._SECONDS = 0.0\n"
        "CDA(n_couplings=2, width=8, epochs=4000, random_state=0, checkpoint=sys.argv[1])"
        ".fit(*load_iris(return_X_y=True))\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script, str(path)], env=os.environ)
    for _ in range(1200):
        if path.exists():
            break
        time.sleep(0.1)
    time.sleep(0.3)
    run.send_signal(signal.SIGKILL)
    run.wait()
    with pytest.raises(InputError, match=r"is of another fit .*Choose another path"):
        CDA(checkpoint=path, **SMALL).fit(X, Y)


def test_checkpoints_of_other_fits_are_refused(tmp_path):
    options = SMALL | {"epochs": 2, "checkpoint": tmp_path / "run"}
    CDA(**options).fit(X, Y)
    for other, named in (
        ({"options": {"weight_decay": 0.9}}, "different settings"),
        ({"basis": Basis.gram_schmidt(3, [2, 0, 1])}, "different settings"),
        ({"random_state": 1}, "different random_state"),
    ):
        with pytest.raises(InputError, match=named):
            CDA(**options | other).fit(X, Y)
    with pytest.raises(InputError, match="different data"):
        CDA(**options).fit(X[::-1], Y)
    arrays, plain = files.read_arrays(tmp_path / "run", ["checkpoint"])
    del plain["kind"], plain["version"]
    files.write_arrays(tmp_path / "run", "checkpoint", dict(list(arrays.items())[1:]), plain)
    with pytest.raises(InputError, match=r"Cannot read .*run: a part"):
        CDA(**options).fit(X, Y)


def test_a_run_without_a_seed_resumes_with_its_own(tmp_path):
    options = SMALL | {"random_state": None, "checkpoint": tmp_path / "run"}
    with interruption_after(2):
        CDA(**options).fit(X, Y)
    assert len(CDA(**options).fit(X, Y).history_) == SMALL["epochs"]


def test_a_progress_bar_is_shown(capsys):
    CDA(verbose=1, **SMALL).fit(X, Y)
    shown = capsys.readouterr().err
    assert "C_mc" in shown
    assert "loss" in shown
    assert "compiling, then training" in shown
    assert "100%" in shown
