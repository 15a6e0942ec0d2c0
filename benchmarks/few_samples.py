"""Calibrators fitted to few samples: cost on fresh samples over the cost of calibrated evidence.

Draws from calibrated Gaussian families whose floor, the cross-entropy of the family itself, is
known. Run it with OPENBLAS_NUM_THREADS=1.
"""

import argparse
import warnings

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence, metrics
from deciban.calibration import AffineCalibrator, BoundedCalibrator, GaussianCalibrator

AFFINE = {"ML": {"ridge": 0}, "ridge 0.01": {"ridge": 0.01}, "default": {}}
INPUTS = ("calibrated", "distorted")


def family_of(D, divergence):
    """A family whose classes are equally far from one another."""
    return CalibratedGaussian.from_divergences([float(divergence)] * (D * (D - 1) // 2))


def distortion(kind, scale, k, rng):
    """An affine map of ILRLs that the scale family can undo: a factor from 0.3 to 5, an offset."""
    if kind == "calibrated":
        return np.eye(k), np.zeros(k)
    matrix = np.exp(rng.uniform(np.log(0.3), np.log(5))) * np.eye(k)
    if scale == "diagonal":
        matrix = matrix * np.exp(0.5 * rng.normal(size=k))
    if scale == "full":
        matrix = matrix @ (np.eye(k) + 0.5 / np.sqrt(k) * rng.normal(size=(k, k)))
    return matrix, 2 * rng.normal(size=k)


class Contest:
    """Costs on fresh samples of calibrators that were fitted to the same few."""

    def __init__(self, D, divergence, seed):
        self.family, self.seed = family_of(D, divergence), seed
        self.nothing = np.log(D)
        self.l, self.y = self.family.sample([max(200, 4000 // D)] * D, rng=seed)
        self.floor = metrics.cross_entropy(self.y, self.family.evidence(self.l))

    def run(self, calibrators, n, runs, kind, scale="scalar", unit=1.0):
        """Ratios to the floor of each calibrator, and how often it is worse than nothing."""
        k = self.l.shape[1]
        costs = {name: [] for name in calibrators}
        for run in range(runs):
            rng = np.random.default_rng([self.seed, n, run])
            l, y = self.family.sample([n] * (k + 1), rng=rng)
            matrix, offset = distortion(kind, scale, k, rng)
            few, new = (Evidence.from_ilr(unit * (x @ matrix.T + offset)) for x in (l, self.l))
            for name, calibrator in calibrators.items():
                costs[name].append(-calibrator.fit(few, y).score(new, self.y))
        return {name: self.summary(np.array(values)) for name, values in costs.items()}

    def summary(self, costs):
        """Median and mean ratio to the floor, and the percentage worse than nothing."""
        worse = 100 * np.mean(costs > self.nothing)
        median, mean = np.median(costs) / self.floor, np.mean(costs) / self.floor
        return f"{median:6.2f} {min(mean, 999):7.2f} {worse:3.0f} %"


def show(label, found):
    print(
        f"{label:46}" + "".join(f"{'  ' + name + ' ' + text:>34}" for name, text in found.items())
    )


def affine(args):
    print("\nAffine: median and mean of cost / floor, and how often it exceeds saying nothing")
    for D in args.classes:
        for divergence in args.divergences:
            contest = Contest(D, divergence, args.seed)
            for scale in ("scalar", "diagonal", "full") if D > 2 else ("scalar",):
                blank = {name: AffineCalibrator(scale, **a) for name, a in AFFINE.items()}
                for kind in INPUTS:
                    for n in args.sizes:
                        label = f"D={D} {divergence:g} nat {scale} {kind} n={n}"
                        show(label, contest.run(blank, n, args.runs, kind, scale))


def units(args):
    print("\nAffine: calibrated evidence in another unit")
    for unit in (1e-3, 1e6):
        for D in args.classes[:2]:
            blank = {name: AffineCalibrator(**a) for name, a in AFFINE.items()}
            found = Contest(D, 3, args.seed).run(blank, 10, args.runs, "calibrated", unit=unit)
            show(f"D={D} 3 nat scalar x {unit:g} n=10", found)


def gaussian(args):
    print("\nGaussian: plugged in and predictive; and the mean divergence that each finds")
    blank = {p: GaussianCalibrator(predictive=p == "predictive") for p in ("plug-in", "predictive")}
    for D in args.classes:
        for divergence in args.divergences[-2:]:
            contest = Contest(D, divergence, args.seed)
            for n in args.sizes:
                found = contest.run(blank, n, args.runs, "calibrated")
                for name, calibrator in blank.items():
                    values = []
                    for run in range(args.runs):
                        l, y = contest.family.sample([n] * D, rng=[args.seed, n, run])
                        fitted = calibrator.fit(contest.family.evidence(l), y)
                        values.append(fitted.reference_.divergences[0, 1:].mean())
                    found[name] += f" d={np.mean(values):.2f}"
                show(f"D={D} {divergence:g} nat n={n}", found)


def bounds(args):
    print("\nBounds: pairs of classes whose LLR exceeds its bound on evidence 20 times as strong")
    for D in (4, 10):
        rng = np.random.default_rng(args.seed)
        A = rng.normal(size=(D - 1, D - 1))
        family = CalibratedGaussian(A @ A.T + np.eye(D - 1))
        l, y = family.sample(rng.integers(5, 200, size=D), rng=rng)
        fitted = BoundedCalibrator().fit(Evidence.from_ilr(l), y)
        strong = Evidence.from_ilr(20 * l)
        free = fitted.calibrator_.evidence(strong).log_likelihoods
        out = fitted.evidence(strong).log_likelihoods
        best = np.maximum(free - free.max(axis=1, keepdims=True), -fitted.bounds_[free.argmax(1)])
        for name, values in (("none", free), ("best class only", best), ("shortest paths", out)):
            largest = (values[:, :, None] - values[:, None, :]).max(axis=0)
            exceeded = int((largest > fitted.bounds_ + 1e-9).sum())
            print(f"D={D} {name:16} {exceeded:3} of {D * (D - 1)} pairs")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--divergences", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 50, 200])
    parser.add_argument("--quick", action="store_true", help="10 runs, D = 2 and 3, 5 and 20 each")
    args = parser.parse_args()
    if args.quick:
        args.classes, args.sizes, args.runs = [2, 3], [5, 20], 10
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.runs} runs, seed {args.seed}; n samples of each of D classes")
    warnings.simplefilter("ignore")
    for part in (affine, units, gaussian, bounds):
        part(args)


if __name__ == "__main__":
    main()
