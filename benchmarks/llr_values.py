"""Write the values of llreval and lir, for tests that must not depend on them.

python benchmarks/llr_values.py > tests/data/llr_peers.json
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from lir.algorithms.bayeserror import elub
from lir.data.models import LLRData
from lir.metrics import cllr as lir_cllr
from lir.metrics.devpav import devpav
from llreval.cllr import cllr, min_cllr
from llreval.pav_rocch import PAV, ROCCH

SEED = 20261115
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


def main():
    rng = np.random.default_rng(SEED)
    values = {"llreval": version("llreval"), "lir": version("lir"), "seed": SEED, "cases": {}}
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


if __name__ == "__main__":
    main()
