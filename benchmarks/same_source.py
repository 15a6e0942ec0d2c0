"""Same source or not: speed beside lir's, and cost beside the floor on simulated sources."""

import argparse
import time

import numpy as np

from _timing import print_setting, race
from deciban import SameSourceModel, metrics
from deciban.calibration import AffineCalibrator
from deciban.same_source import pairs
from deciban.same_source.two_level import Sets, SourceDensity

try:
    from lir.lrsystems.two_level import TwoLevelModelNormalKDE
except ImportError:
    TwoLevelModelNormalKDE = None

LIR_PAIRS = 2000  # lir takes one pair after the other, so that fewer tell its speed


def measure(truth, n_sources, counts, rng):
    """Measurements of sources drawn from a mixture of normal densities; W is the identity."""
    d = len(truth.variance)
    centers = truth.centers[rng.integers(len(truth.centers), size=n_sources)]
    sources = centers + rng.normal(size=(n_sources, d)) * np.sqrt(truth.variance)
    source = np.repeat(np.arange(n_sources), rng.choice(counts, size=n_sources))
    return sources[source] + rng.normal(size=(len(source), d)), source


def print_speed(args, rng):
    truth = SourceDensity(np.zeros((1, args.features)), np.full(args.features, 2.0))
    X, source = measure(truth, args.sources, [1, 2, 4, 8], rng)
    print(f"\nFit: {len(X):,} measurements of {args.sources:,} sources, {args.features} features")
    for estimator in ("ml", "moments"):
        start = time.perf_counter()
        model = SameSourceModel(estimator=estimator).fit(X, source)
        taken = time.perf_counter() - start
        print(f"  {estimator:8} {taken:6.2f} s, {len(model.log_likelihoods_) - 1} steps of EM")
    n, items = args.items, X[rng.choice(len(X), args.items, replace=False)]
    print(f"All pairs of {n:,} items, medians of {args.rounds} rounds; {args.sources:,} kernels")
    models = {
        density: SameSourceModel(density=density, estimator="moments").fit(X, source)
        for density in ("normal", "kernel", "aitken-lucy")
    }
    runs = {name: lambda m=m: m.llr_matrix(items, items) for name, m in models.items()}
    for name, taken in race(runs, args.rounds).items():
        print(f"  deciban, {name:12} {taken:8.3f} s for {n * n:,} pairs")
    if TwoLevelModelNormalKDE is None:
        print("  lir is not installed")
        return
    lir = TwoLevelModelNormalKDE().fit_on_unpaired_instances(X, source)
    i, j = rng.integers(n, size=(2, LIR_PAIRS))
    start = time.perf_counter()
    lir.transform(items[i, None], items[j, None])
    taken = (time.perf_counter() - start) * n * n / LIR_PAIRS
    print(f"  lir                   {taken:8.0f} s for {n * n:,} pairs, from {LIR_PAIRS:,} of them")


def print_costs(args, rng):
    runs = args.runs
    print(
        f"\nCllr of single measurements, means of {runs} runs: {args.background} sources with 2 to"
    )
    print("5 measurements each to learn from, 2,000 pairs of each kind to test")
    print(f"{'between sources':>16}{'features':>10}{'floor':>9}", end="")
    print("".join(f"{name:>13}" for name in ("normal", "kernel", "aitken-lucy")))
    for d in (1, 2, 5, 10, 40):
        modes = np.zeros((2, d))
        modes[:, 0] = 6, -6
        variance = np.full(d, 4.0 if d < 5 else 1.0)
        for name, centers in (("normal", np.zeros((1, d))), ("bimodal", modes)):
            truth = SourceDensity(centers, variance)
            found = np.mean([costs(truth, args, rng) for _ in range(runs)], axis=0)
            print(f"{name:>16}{d:10}{found[0]:9.4f}" + "".join(f"{c:13.4f}" for c in found[1:]))


def costs(truth, args, rng):
    """Cllr of the true model, and of the fitted ones."""
    X, source = measure(truth, args.background, [2, 3, 4, 5], rng)
    T, of = measure(truth, 2000, [2], rng)
    left, right, y_true = pairs(of, limit=2000, rng=rng)
    singles = Sets(T, np.ones(len(T)))
    found = [truth.llr(singles, singles, left, right)]
    found += [
        SameSourceModel(density=density).fit(X, source).llr(T[left], T[right])
        for density in ("normal", "kernel", "aitken-lucy")
    ]
    return [metrics.cllr(y_true, llr) for llr in found]


def print_few_sources(args, rng):
    """Cost of few sources, and what a calibrator that knows other sources saves of it."""
    d = 20
    truth = SourceDensity(np.zeros((1, d)), np.ones(d))
    print(f"\nCllr of single measurements, {d} features, means of {args.runs} runs: sources with 3")
    print("measurements each to learn from, as many to calibrate with, 2,000 pairs of each kind")
    print(f"{'sources':>10}{'floor':>9}{'ml':>9}{'corrected':>12}{'calibrated':>12}")
    for m in (25, 50, 100, 400):
        found = np.mean([costs_of_few(truth, m, rng) for _ in range(args.runs)], axis=0)
        print(f"{m:10}{found[0]:9.3f}{found[1]:9.3f}{found[2]:12.3f}{found[3]:12.3f}")


def costs_of_few(truth, m, rng):
    """Cllr of the true model, maximum likelihood, the corrected model, and after calibration."""
    X, source = measure(truth, m, [3], rng)
    ml, model = (SameSourceModel(estimator=e).fit(X, source) for e in ("ml", "corrected"))
    X, source = measure(truth, m, [3], rng)
    left, right, y_true = pairs(source, limit=20_000, rng=rng)
    calibrator = AffineCalibrator().fit(model.evidence(X[left], X[right]), y_true)
    T, of = measure(truth, 2000, [2], rng)
    left, right, y_true = pairs(of, limit=2000, rng=rng)
    singles, evidence = Sets(T, np.ones(len(T))), model.evidence(T[left], T[right])
    best, plain = truth.llr(singles, singles, left, right), ml.llr(T[left], T[right])
    every = (best, plain, evidence, calibrator.evidence(evidence))
    return [metrics.cllr(y_true, llr) for llr in every]


def print_enrolment(args, rng):
    """Several measurements of a known source against one: the size of the set counts."""
    k, d, n = 5, 10, 4000
    truth = SourceDensity(np.zeros((1, d)), np.ones(d))
    X, source = measure(truth, 2000, [3], rng)
    model = SameSourceModel().fit(X, source)
    T, _ = measure(truth, n, [k + 1], rng)
    sets = T.reshape(n, k + 1, d)
    left = np.concatenate([sets[:, :k], sets[:, :k]])
    right = np.concatenate([sets[:, k:], np.roll(sets[:, k:], 1, axis=0)])
    y_true = np.repeat([1, 0], n)
    single = [model.llr(left[:, i], right[:, 0]) for i in range(k)]
    print(f"\nCllr of {k} measurements against one, {d} features, {n:,} pairs of each kind")
    for name, llr in (
        ("the set", model.llr(left, right)),
        ("its mean, as a single measurement", model.llr(left.mean(axis=1), right[:, 0])),
        ("mean of the LLRs", np.mean(single, axis=0)),
        ("sum of the LLRs", np.sum(single, axis=0)),
        ("one measurement of it", single[0]),
    ):
        print(f"  {name:36}{metrics.cllr(y_true, llr):7.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--sources", type=int, default=2000)
    parser.add_argument("--background", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="two rounds and two runs")
    args = parser.parse_args()
    if args.quick:
        args.rounds = args.runs = 2
    rng = np.random.default_rng(args.seed)
    lir = () if TwoLevelModelNormalKDE is None else ("lir",)
    print_setting("deciban", "numpy", "scipy", *lir)
    print_speed(args, rng)
    print_costs(args, rng)
    print_enrolment(args, rng)
    print_few_sources(args, rng)


if __name__ == "__main__":
    main()
