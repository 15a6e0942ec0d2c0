"""Write values of peers, for tests that must not depend on them.

python benchmarks/peer_values.py llr|same_source|scikit_bio [--help]
"""

import json
import sys
from importlib.metadata import version

import numpy as np
import skbio
from lir.algorithms.bayeserror import elub
from lir.data.models import LLRData
from lir.lrsystems.two_level import TwoLevelModelNormalKDE
from lir.metrics import cllr as lir_cllr
from lir.metrics.devpav import devpav
from llreval.cllr import cllr, min_cllr
from llreval.pav_rocch import PAV, ROCCH
from skbio.stats import composition

from _timing import run_part

# llr

SEED_LLR = 20261115
LN10 = np.log(10)  # lir takes logarithms to the base 10


def cases(rng):
    for name, shift, digits in (
        ("random", 1.0, 12),
        ("tied", 1.0, 0),
        ("half ties", 2.0, 1),
        ("weak", 0.2, 12),
        ("separated", 50.0, 12),
        ("reversed", -1.0, 12),
    ):
        y = np.repeat([0, 1], [70, 30])
        yield name, y, np.round(rng.normal(size=100) + shift * y, digits)
    llr = rng.normal(size=100) + y
    llr[[0, 1, 2]], llr[[97, 98, 99]] = -np.inf, np.inf  # certain and right
    yield "infinite", y, llr


def llr_part(arguments):
    """Write the values of llreval and lir, for tests that must not depend on them.

    python benchmarks/peer_values.py llr > tests/data/llr_peers.json
    """
    rng = np.random.default_rng(SEED_LLR)
    values = {"llreval": version("llreval"), "lir": version("lir"), "seed": SEED_LLR, "cases": {}}
    for name, y, llr in cases(rng):
        blocks = PAV(llr, y)
        values["cases"][name] = {
            "y": y.tolist(),
            "llr": llr.tolist(),
            "llreval cllr": float(cllr(llr[y == 1], llr[y == 0])),
            "llreval cllr_min": float(min_cllr(blocks)),
            "llreval eer": float(ROCCH(blocks).EER()),
            "lir cllr": float(lir_cllr(LLRData(features=llr[:, None] / LN10, labels=y))),
            "lir devpav": (
                None if name in ("separated", "infinite") else float(devpav(llr / LN10, y))
            ),
            "lir elub": [LN10 * bound for bound in elub(llr / LN10, y, step_size=1e-4)],
        }
    json.dump(values, sys.stdout, indent=1)
    print()


# same_source

SEED_SAME_SOURCE = 20261116


def simulate(rng, counts, spread):
    """Measurements with correlated features of different scales, rounded as a table would be."""
    m, d = len(counts), len(spread)
    source = np.repeat(np.arange(m), counts)
    mixing = (np.eye(d) + 0.3) * 10.0 ** np.arange(d)
    noise = rng.normal(size=(len(source), d))
    X = (rng.normal(size=(m, d)) * spread)[source] + noise
    return np.round(X @ mixing + 50, 6), source


def same_source_part(arguments):
    """Write the values of lir's two-level model, for tests that must not depend on it.

    python benchmarks/peer_values.py same_source > tests/data/same_source_lir.json
    """
    rng = np.random.default_rng(SEED_SAME_SOURCE)
    values = {"lir": version("lir"), "seed": SEED_SAME_SOURCE, "cases": {}}
    for name, counts, spread in (
        ("one feature", np.full(20, 3), [4.0]),
        ("three features", np.full(25, 4), [5.0, 2.0, 1.0]),
        ("unequal counts", rng.integers(1, 7, size=25), [3.0, 2.0]),
    ):
        X, source = simulate(rng, counts, spread)
        model = TwoLevelModelNormalKDE().fit_on_unpaired_instances(X, source)
        pairs = []
        for k, n in ((1, 1), (1, 3), (4, 2)):
            left = X[rng.integers(len(X), size=(8, k))]
            # Half of the pairs are near one another, as those of one source.
            near = left.mean(axis=1, keepdims=True) + 0.1 * X.std(axis=0) * rng.normal(
                size=(8, n, X.shape[1])
            )
            right = np.where(
                np.arange(8)[:, None, None] % 2, near, X[rng.integers(len(X), size=(8, n))]
            )
            left, right = np.round(left, 6), np.round(right, 6)
            llr = model.transform(left, right) * np.log(10)
            pairs.append({"left": left.tolist(), "right": right.tolist(), "llr": llr.tolist()})
        values["cases"][name] = {
            "X": X.tolist(),
            "source": source.tolist(),
            "within": model.mean_within_covars.tolist(),
            "between": model.between_covars.tolist(),
            "bandwidth": float(np.sqrt(model.kernel_bandwidth_sq)),
            "pairs": pairs,
        }
    json.dump(values, sys.stdout)
    print()


# scikit_bio

SEED_SCIKIT_BIO = 20261115


def scikit_bio_part(arguments):
    """Write the values of scikit-bio, for tests that must not depend on it.

        python benchmarks/peer_values.py scikit_bio > tests/data/scikit_bio.json

    It runs in its own process, since importing scikit-bio changes global settings of JAX.
    """
    rng = np.random.default_rng(SEED_SCIKIT_BIO)
    x, y = rng.gamma(0.7, size=(2, 6, 5))
    with_zeros = np.where(x < 0.25, 0.0, x)
    z = rng.normal(scale=3, size=(6, 4))
    signs = np.array([[1, 1, -1, -1, -1], [1, -1, 0, 0, 0], [0, 0, 1, 1, -1], [0, 0, 1, -1, 0]])
    basis = composition.sbp_basis(signs)
    values = {
        "scikit-bio": skbio.__version__,
        "seed": SEED_SCIKIT_BIO,
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
    run_part(llr=llr_part, same_source=same_source_part, scikit_bio=scikit_bio_part)
