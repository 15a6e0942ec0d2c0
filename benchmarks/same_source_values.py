"""Write the values of lir's two-level model, for tests that must not depend on it.

python benchmarks/same_source_values.py > tests/data/same_source_lir.json
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from lir.lrsystems.two_level import TwoLevelModelNormalKDE

SEED = 20261116


def simulate(rng, counts, spread):
    """Measurements with correlated features of different scales, rounded as a table would be."""
    m, d = len(counts), len(spread)
    source = np.repeat(np.arange(m), counts)
    mixing = (np.eye(d) + 0.3) * 10.0 ** np.arange(d)
    noise = rng.normal(size=(len(source), d))
    X = (rng.normal(size=(m, d)) * spread)[source] + noise
    return np.round(X @ mixing + 50, 6), source


def main():
    rng = np.random.default_rng(SEED)
    values = {"lir": version("lir"), "seed": SEED, "cases": {}}
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


if __name__ == "__main__":
    main()
