"""What JAX must not be asked for: work in a forked process."""

import os
import subprocess
import sys

import pytest

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
    ("when", "said"), [("after", "'spawn' or 'forkserver'"), ("before", "computed")]
)
def test_a_fork_after_a_cda_was_used_is_an_error_at_once(when, said):
    command = [sys.executable, "-c", SCRIPT, when]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert said in done.stdout
