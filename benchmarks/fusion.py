"""What fusion, quality measures and the rule for missing systems gain, beside the floor.

All scores are simulated with known likelihood ratios, whose Cllr is the floor. Costs are those of
fresh samples, means over draws.
"""

import argparse

import numpy as np

from _timing import print_setting
from deciban.calibration import AffineCalibrator, FusionCalibrator
from deciban.metrics import cllr

N_TEST = 2000


def labels(n):
    return np.repeat([0, 1], n)


def two_systems(y, rng, shared=0.0):
    """Calibrated LLRs of two systems whose errors have a correlation, and those of both."""
    common, *own = rng.normal(size=(3, len(y)))
    a, b = (np.sqrt(shared) * common + np.sqrt(1 - shared) * one for one in own)
    d = 3.0  # nats, of each alone
    a, b = ((2 * y - 1) * d + np.sqrt(2 * d) * e for e in (a, b))
    return np.column_stack([a, b]), (a + b) / (1 + shared)


def mean_costs(run, n, draws):
    costs = [run(n, np.random.default_rng([seed, n])) for seed in range(draws)]
    return {name: np.mean([one[name] for one in costs]) for name in costs[0]}


def fuse(shared, n, rng):
    y, new = labels(n), labels(N_TEST)
    X, _ = two_systems(y, rng, shared)
    T, llr = two_systems(new, rng, shared)
    fused = FusionCalibrator().fit(X, y).evidence(T)
    alone = AffineCalibrator().fit(X[:, :1], y).evidence(T[:, :1])
    return {"floor": cllr(new, llr), "fused": cllr(new, fused), "one alone": cllr(new, alone),
            "added up": cllr(new, T.sum(axis=1))}  # fmt: skip


def quality(n, rng):
    """Scores are the true LLR divided by a scale between 0.25 and 1.75, linear in the duration."""

    def draw(y):
        duration = rng.uniform(0, 1, len(y))
        llr = rng.normal((2 * y - 1) * 3.0, np.sqrt(6.0))
        return np.column_stack([llr / (0.25 + 1.5 * duration), duration]), llr

    y, new = labels(n), labels(N_TEST)
    (X, _), (T, llr) = draw(y), draw(new)
    with_quality = FusionCalibrator(quality=1).fit(X, y).evidence(T)
    without = FusionCalibrator().fit(X[:, :1], y).evidence(T[:, :1])
    return {"floor": cllr(new, llr), "with quality": cllr(new, with_quality),
            "without": cllr(new, without)}  # fmt: skip


def missing(n, rng):
    """Each system is missing in 30 % of the samples; errors have a correlation of 0.7."""

    def draw(y):
        X, both = two_systems(y, rng, 0.7)
        which = rng.choice(3, len(y), p=[0.4, 0.3, 0.3])  # none, the first, the second
        llr = np.select([which == 1, which == 2], [X[:, 1], X[:, 0]], both)
        X[which == 1, 0], X[which == 2, 1] = np.nan, np.nan
        return X, llr

    y, new = labels(n), labels(N_TEST)
    (X, _), (T, llr) = draw(y), draw(new)
    adapted = FusionCalibrator(missing="adapt").fit(X, y).evidence(T)
    whole = ~np.isnan(X).any(axis=1)
    plain = FusionCalibrator().fit(X[whole], y[whole])
    neutral = plain.evidence(np.where(np.isnan(T), 0.0, T))
    return {"floor": cllr(new, llr), "adapt": cllr(new, adapted),
            "zero for a missing LLR": cllr(new, neutral)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 draws each")
    args = parser.parse_args()
    draws = 20 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"Cllr in bits, mean of {draws} draws")
    cases = {f"two systems, correlation {r:g}": (lambda n, rng, r=r: fuse(r, n, rng))
             for r in (0.0, 0.5, 1.0)}  # fmt: skip
    cases |= {"scale by duration": quality, "systems missing": missing}
    for title, run in cases.items():
        for n in (10, 30, 100, 1000):
            costs = mean_costs(run, n, draws)
            cells = "  ".join(f"{name} {cost:.3f}" for name, cost in costs.items())
            print(f"{title}, {n} per class: {cells}", flush=True)


if __name__ == "__main__":
    main()
