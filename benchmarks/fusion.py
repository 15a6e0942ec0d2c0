"""What fusion, quality measures and the rule for missing systems gain, beside the floor.

All scores are simulated with known likelihood ratios, whose Cllr is the floor. Costs are those of
fresh samples, means over draws.
"""

import argparse
import itertools
import warnings

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from _timing import print_setting
from deciban.calibration import (
    AffineCalibrator,
    FusionCalibrator,
    FusionWarning,
    IsotonicCalibrator,
)
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
        which = np.repeat([0, 1, 2], [4, 3, 3])[np.arange(len(y)) % 10]  # none, first, second
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


def pairs_of_classes():
    """Features and labels of two classes, from all data sets of scikit-learn and simulated ones."""
    for load in ("breast_cancer", "wine", "iris", "digits"):
        X, y = getattr(datasets, f"load_{load}")(return_X_y=True)
        for i, j in itertools.combinations(np.unique(y), 2):
            rows = np.isin(y, [i, j])
            yield StandardScaler().fit_transform(X[rows]), (y[rows] == j).astype(int)
    for seed in range(10):
        yield datasets.make_classification(
            400, 8, n_informative=4, random_state=seed, class_sep=0.5
        )
    yield datasets.make_moons(400, noise=0.2, random_state=0)
    yield datasets.make_circles(400, noise=0.1, factor=0.5, random_state=0)


def log_likelihoods(X, y, train):
    """Log-likelihoods, or log-posteriors, of both classes by each of seven models."""
    densities = (KernelDensity(bandwidth=0.5), KernelDensity(bandwidth=2.0),
                 GaussianMixture(1, reg_covar=0.05), GaussianMixture(2, reg_covar=0.05,
                                                                     random_state=0))  # fmt: skip
    for density in densities:
        yield np.column_stack([density.fit(X[train & (y == c)]).score_samples(X) for c in (0, 1)])
    bayes = GaussianNB(var_smoothing=1e-2, priors=[0.5, 0.5]).fit(X[train], y[train])
    yield bayes.predict_joint_log_proba(X)
    forest = RandomForestClassifier(50, random_state=0).fit(X[train], y[train])
    yield np.log(np.clip(forest.predict_proba(X), 1e-3, 1))
    yield LogisticRegression().fit(X[train], y[train]).predict_log_proba(X)


def is_taken_for_two_systems(values, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        IsotonicCalibrator().fit(values, y)
    return any(one.category is FusionWarning for one in caught)


def alarms():
    rng, found = np.random.default_rng(0), []
    for X, y in pairs_of_classes():
        train = rng.random(len(y)) < 0.5
        found += [
            is_taken_for_two_systems(values[rows], y[rows])
            for values in log_likelihoods(X, y, train)
            for rows in (train, ~train)
        ]
    print(f"log-likelihoods taken for two systems: {sum(found)} of {len(found)} tables")
    found = []
    for seed, shared, n in itertools.product(range(20), (0.0, 0.5), (50, 500)):
        y = labels(n)
        X, _ = two_systems(y, np.random.default_rng(seed), shared)
        found.append(is_taken_for_two_systems(X, y))
    print(f"two systems in the same unit seen as such: {sum(found)} of {len(found)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 draws each")
    args = parser.parse_args()
    draws = 20 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"Cllr in bits, mean of {draws} draws")
    alarms()
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
