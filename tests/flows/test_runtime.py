"""How JAX runs: not in a forked process, and compiled in little time where it can be."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from deciban.flows import runtime

SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")  # JAX warns of the fork itself
import numpy as np
from deciban import CompositionalDiscriminantAnalysis
from deciban.exceptions import ForkedProcessError

X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
cda = CompositionalDiscriminantAnalysis(n_couplings=0, augment=0, epochs=0)
if sys.argv[1] == "after":
    cda.fit(X, y)
child = os.fork()
if child == 0:
    try:
        (cda.evidence(X) if sys.argv[1] == "after" else cda.fit(X, y).evidence(X))
        print("computed", flush=True)
    except ForkedProcessError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
cda.fit(X, y).evidence(X)  # the parent goes on
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("after", "'spawn' or 'forkserver'"),
        pytest.param("before", "computed", marks=pytest.mark.slow),
    ],
)
def test_a_fork_after_a_cda_was_used_is_an_error_at_once(when, said):
    command = [sys.executable, "-c", SCRIPT, when]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert said in done.stdout


@pytest.fixture
def quick_options(monkeypatch):
    def set_options(options):
        monkeypatch.setenv("XLA_FLAGS", "")  # what XLA read stays as it is
        monkeypatch.setattr(runtime, "_QUICK", options)
        runtime._quick_options.cache_clear()

    yield set_options
    runtime._quick_options.cache_clear()


@pytest.mark.parametrize("options", [{"no_such_option": 1}, {"xla_cpu_use_fusion_emitters": False}])
def test_options_that_this_jax_does_not_know_are_left_out(options, quick_options):
    quick_options(options)
    assert runtime.jit(lambda x: 2 * x, quick=True)(1.0) == 2
    assert set(runtime._quick_options()) == set(options) - {"no_such_option"}


def test_flags_of_the_user_are_left_as_they_are(quick_options, monkeypatch):
    quick_options({"xla_backend_optimization_level": 1})
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
    assert runtime._quick_options() == {}


@pytest.mark.parametrize("axes", [(0, None, 0), (0, 0, None)])
def test_a_loop_over_members_gives_what_vmap_gives(axes, rng, monkeypatch):
    values = [rng.normal(size=(3, 2) if axis == 0 else (2,)).astype(np.float32) for axis in axes]
    both = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        function = runtime.map_members(lambda a, b, c: (a * b + c, a.sum()), axes)
        monkeypatch.undo()
        both.append(jax.jit(function)(*values))
    for loop, vmap in zip(*both, strict=True):
        np.testing.assert_allclose(loop, vmap, rtol=1e-6)
