"""Level, power and coverage of metrics.idempotence, by simulation.

False alarms of the test on calibrated samples, how often it detects three kinds of faults, and
how often the interval of the distance contains the true one.
"""

import argparse
import time

import numpy as np
from joblib import Parallel, delayed

from _timing import print_setting
from deciban import CalibratedGaussian
from deciban.metrics import idempotence

FAMILIES = {
    2: CalibratedGaussian.from_divergences([4.0]),
    3: CalibratedGaussian.from_divergences([3.0, 4.0, 5.0]),
    5: CalibratedGaussian.from_divergences(3.0 * (1 - np.eye(5))),
}


def overconfident(family, l, y):
    return 1.3 * l


def shifted(family, l, y):
    return l + 0.5 * family.basis.contrast[0]


def scaled_by_class(family, l, y):
    center = family.means[y]
    return center + np.where(y == 0, 1.35, 1.0)[:, None] * (l - center)


def p_value(family, fault, n, density, seed):
    l, y = family.sample([n] * family.n_classes, rng=seed)
    l = l if fault is None else fault(family, l, y)
    return idempotence(y, family.evidence(l), density=density, n_resamples=0, n_draws=99).p_value


def covers(family, factor, n, density, seed):
    l, y = family.sample([n] * family.n_classes, rng=seed)
    found = idempotence(y, family.evidence(factor * l), density=density, n_draws=0).distance
    # The likelihood function of factor * l is l.
    squares = np.trace(family.covariance) + np.mean(np.sum(family.means**2, axis=1))
    truth = abs(factor - 1) * np.sqrt(squares)
    return found.low <= truth <= found.high


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--samples", type=int, nargs="+", default=[100], help="of each class")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    print_setting("deciban", "numpy", "scipy")
    error = 196 * np.sqrt(0.05 * 0.95 / args.trials)
    print(f"{args.trials} trials of each; a rate near 5 % is known to +-{error:.1f} %")
    start = time.perf_counter()
    run = Parallel(n_jobs=args.jobs)
    print("rejections at 5 %                 calibrated  factor 1.3  shift 0.5  one class 1.35")
    for D, family in FAMILIES.items():
        for n in args.samples:
            for density in ("shared", "gaussian"):
                rates = []
                for fault in (None, overconfident, shifted, scaled_by_class):
                    p = run(
                        delayed(p_value)(family, fault, n, density, s) for s in range(args.trials)
                    )
                    rates.append(np.mean(np.array(p) <= 0.05))
                row = "  ".join(f"{100 * rate:9.1f}%" for rate in rates)
                print(f"{D} classes x {n:3}, {density:9}        {row}", flush=True)
    print("coverage of the 95 % interval of the distance, factor 1, 1.1 and 1.5")
    for D, family in FAMILIES.items():
        for n in args.samples:
            for density in ("shared", "gaussian"):
                held = [
                    np.mean(
                        run(delayed(covers)(family, f, n, density, s) for s in range(args.trials))
                    )
                    for f in (1.0, 1.1, 1.5)
                ]
                print(f"{D} classes x {n:3}, {density:9}        {held}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
