"""Level and power of metrics.calibration_test, and coverage of the distance of metrics.idempotence.

Calibrated evidence of five kinds is made exactly: features are drawn from known densities, and the
evidence is their true log-likelihoods.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp
from scipy.stats import t as student_t

from _timing import print_setting
from deciban import Basis, CalibratedGaussian, Evidence
from deciban.metrics import calibration_test, idempotence


def gaussian(D, divergence=3.0):
    family = CalibratedGaussian.from_divergences(divergence * (1 - np.eye(D)))
    return lambda y, rng: family.sample(np.bincount(y), rng)[0] @ family.basis.contrast.T


def strong(D):
    return gaussian(D, 12.0)


def student(D):
    """Student's t with 3 degrees of freedom around the corners of a simplex."""
    corners = 1.7 * Basis.gram_schmidt(D).contrast

    def evidence(y, rng):
        x = corners[y] + rng.standard_t(3, size=(len(y), D - 1))
        return student_t.logpdf(x[:, None, :] - corners, 3).sum(axis=2)

    return evidence


def mixture(D):
    """Three Gaussians of different widths for each class, in the plane."""
    centers = 2.2 * np.random.default_rng(3).normal(size=(D, 3, 2))
    width = np.array([0.4, 1.0, 2.0])

    def evidence(y, rng):
        part = rng.integers(3, size=len(y))
        x = centers[y, part] + width[part, None] * rng.normal(size=(len(y), 2))
        squares = ((x[:, None, None, :] - centers) ** 2).sum(axis=-1) / width**2
        return logsumexp(-squares / 2 - 2 * np.log(width), axis=2)

    return evidence


def discrete(D):
    """Eight outcomes, some of which are rare or impossible under some classes."""
    p = np.random.default_rng(5).dirichlet(np.full(8, 0.6), size=D)
    p = np.where(p < 0.003, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)

    def evidence(y, rng):
        with np.errstate(divide="ignore"):
            return np.log(p[:, (p[y].cumsum(axis=1) < rng.random((len(y), 1))).sum(axis=1)].T)

    return evidence


KINDS = (gaussian, strong, student, mixture, discrete)


def compress(w):
    """Strong evidence too weak, weak evidence too strong."""
    size = np.linalg.norm(w, axis=1, keepdims=True)
    return w * 2 / (1 + size / np.median(size))


FAULTS = {
    "calibrated": lambda w: w,
    "x 1.3": lambda w: 1.3 * w,
    "/ 1.3": lambda w: w / 1.3,
    "+ 0.5": lambda w: w + 0.5 * np.eye(w.shape[1])[0],
    "compressed": compress,
}


def class_counts(D, n, unbalanced=False):
    """Number of samples of each class; the last class has eight times as many as the first."""
    share = np.geomspace(1, 8, D) if unbalanced else np.ones(D)
    counts = np.maximum(2, n * share / share.sum()).astype(int)
    counts[-1] += n - counts.sum()
    return counts


def p_value(evidence, counts, fault, seed, n_draws):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    w = evidence(y, rng)
    w = fault(w - w.mean(axis=1, keepdims=True)) if fault is not FAULTS["calibrated"] else w
    return calibration_test(y, Evidence(w), n_draws=n_draws, rng=seed).p_value


def covers(family, factor, n, density, seed):
    l, y = family.sample([n] * family.n_classes, rng=seed)
    found = idempotence(y, family.evidence(factor * l), density=density, n_draws=0).distance
    # The likelihood function of factor * l is l.
    squares = np.trace(family.covariance) + np.mean(np.sum(family.means**2, axis=1))
    truth = abs(factor - 1) * np.sqrt(squares)
    return found.low <= truth <= found.high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--samples", type=int, nargs="+", default=[50, 200, 1000], help="in all")
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=100_000, help="of the first trial")
    parser.add_argument("--only", choices=["level", "power", "coverage"])
    parser.add_argument("--quick", action="store_true", help="200 trials, 300 samples")
    args = parser.parse_args()
    if args.quick:
        args.trials, args.samples = 200, [300]
    print_setting("deciban", "numpy", "scipy")
    error = 196 * np.sqrt(0.05 * 0.95 / args.trials)
    print(f"{args.trials} trials of each; a rate near 5 % is known to +-{error:.1f} %")
    run = Parallel(n_jobs=args.jobs)

    def rate(evidence, counts, fault):
        trials = range(args.seed, args.seed + args.trials)
        p = run(delayed(p_value)(evidence, counts, fault, s, args.draws) for s in trials)
        return f"{100 * np.mean(np.array(p) <= 0.05):10.1f}"

    start = time.perf_counter()
    if args.only in (None, "level"):
        print("false alarms at 5 %        " + "".join(f"{k.__name__:>10}" for k in KINDS))
        for D in args.classes:
            for n in args.samples:
                for unbalanced in (False, True):
                    counts = class_counts(D, n, unbalanced)
                    row = [rate(kind(D), counts, FAULTS["calibrated"]) for kind in KINDS]
                    name = "unbalanced" if unbalanced else "balanced"
                    print(f"{D:2} classes, {n:4}, {name:10}", *row, sep="", flush=True)
    if args.only in (None, "power"):
        print("rejections at 5 %          " + "".join(f"{name:>10}" for name in FAULTS))
        for D in args.classes:
            for n in args.samples:
                row = [rate(gaussian(D), class_counts(D, n), fault) for fault in FAULTS.values()]
                print(f"{D:2} classes, {n:4}, Gaussian  ", *row, sep="", flush=True)
    if args.only in (None, "coverage"):
        print("coverage of the 95 % interval of the distance, factor 1, 1.1 and 1.5; 100 a class")
        for D in (2, 3, 5):
            family = CalibratedGaussian.from_divergences(3.0 * (1 - np.eye(D)))
            for density in ("shared", "gaussian", "kernel"):
                trials = range(args.trials // 5)
                held = [
                    np.mean(run(delayed(covers)(family, f, 100, density, s) for s in trials))
                    for f in (1.0, 1.1, 1.5)
                ]
                row = "".join(f"{100 * share:10.1f}" for share in held)
                print(f"{D:2} classes, {density:10}      {row}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
