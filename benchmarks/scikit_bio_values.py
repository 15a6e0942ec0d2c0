"""Write the values of scikit-bio, for tests that must not depend on it.

    python benchmarks/scikit_bio_values.py > tests/data/scikit_bio.json

It runs in its own process, since importing scikit-bio changes global settings of JAX.
"""

import json
import sys

import numpy as np
import skbio
from skbio.stats import composition

SEED = 20261115


def main():
    rng = np.random.default_rng(SEED)
    x, y = rng.gamma(0.7, size=(2, 6, 5))
    with_zeros = np.where(x < 0.25, 0.0, x)
    z = rng.normal(scale=3, size=(6, 4))
    signs = np.array([[1, 1, -1, -1, -1], [1, -1, 0, 0, 0], [0, 0, 1, 1, -1], [0, 0, 1, -1, 0]])
    basis = composition.sbp_basis(signs)
    values = {
        "scikit-bio": skbio.__version__,
        "seed": SEED,
        "x": x,
        "y": y,
        "with_zeros": with_zeros,
        "z": z,
        "signs": signs,
        "closure": composition.closure(x),
        "perturb": composition.perturb(x, y),
        "power": composition.power(x, 1.7),
        "inner": np.diag(composition.inner(x, y)),
        "clr": composition.clr(x),
        "clr_inv": composition.clr_inv(composition.clr(y)),
        "alr": composition.alr(x, 2),
        "alr_inv": composition.alr_inv(z, 2),
        "ilr": composition.ilr(x),
        "ilr_inv": composition.ilr_inv(z),
        "sbp_basis": basis,
        "ilr_sbp": composition.ilr(x, basis),
        "ilr_inv_sbp": composition.ilr_inv(z, basis),
        "pairwise_vlr": composition.pairwise_vlr(x).data,
        "multi_replace": composition.multi_replace(with_zeros),
        "multi_replace_delta": composition.multi_replace(with_zeros, 0.01),
    }
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    json.dump(plain, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
