"""The values of scikit-bio's ``composition`` on the same data, to 1e-12.

``benchmarks/peer_values.py scikit_bio`` wrote them, with the version that the file names.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from deciban import simplex
from deciban.simplex import Basis

SAID = {
    key: np.array(value)
    for key, value in json.loads(
        (Path(__file__).parents[1] / "data" / "scikit_bio.json").read_text()
    ).items()
}
X, Y, Z = SAID["x"], SAID["y"], SAID["z"]
SBP = Basis.from_partition(SAID["signs"])

CALLS = {
    "closure": lambda: simplex.closure(X),
    "perturb": lambda: simplex.perturb(X, Y),
    "power": lambda: simplex.power(1.7, X),
    "inner": lambda: simplex.inner(X, Y),
    "clr": lambda: simplex.clr(X),
    "clr_inv": lambda: simplex.clr_inv(simplex.clr(Y)),
    "alr": lambda: simplex.alr(X, 2),
    "alr_inv": lambda: simplex.alr_inv(Z, 2),
    "ilr": lambda: simplex.ilr(X),
    "ilr_inv": lambda: simplex.ilr_inv(Z),
    "sbp_basis": lambda: SBP.contrast.T,
    "ilr_sbp": lambda: simplex.ilr(X, SBP),
    "ilr_inv_sbp": lambda: simplex.ilr_inv(Z, SBP),
    "pairwise_vlr": lambda: simplex.variation_matrix(X),
    "multi_replace": lambda: simplex.replace_zeros(SAID["with_zeros"]),
    "multi_replace_delta": lambda: simplex.replace_zeros(SAID["with_zeros"], delta=0.01),
}


@pytest.mark.parametrize("name", CALLS)
def test_scikit_bio_says_the_same(name):
    np.testing.assert_allclose(CALLS[name](), SAID[name], rtol=1e-12, atol=1e-12)


def test_distances_are_those_of_scikit_bios_clr():
    expected = np.linalg.norm(SAID["clr"] - simplex.clr(Y), axis=1)
    np.testing.assert_allclose(simplex.distance(X, Y), expected, rtol=1e-12)
