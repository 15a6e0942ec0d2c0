"""The calibrated Gaussian family at many classes: the closed form, and a fit."""

import argparse
import time

import numpy as np

from _timing import print_setting, race
from deciban import CalibratedGaussian


def random_covariance(D, rng):
    A = rng.normal(size=(D - 1, 2 * D))
    return A @ A.T / (2 * D)


def closed_form(covariance):
    family = CalibratedGaussian(covariance)
    return family.means, family.divergences


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--fit-classes", type=int, nargs="+", default=[3, 10, 50])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)

    print_setting("deciban", "numpy", "scipy")
    print(f"seed {args.seed}, medians of {args.rounds} rounds")
    print(f"{'classes':>8}{'means and divergences':>24}{'from divergences':>20}{'round trip':>13}")
    for D in args.classes:
        sigma = random_covariance(D, rng)
        delta = CalibratedGaussian(sigma).divergences
        error = np.abs(CalibratedGaussian.from_divergences(delta).covariance - sigma).max()
        taken = race(
            {
                "forward": lambda sigma=sigma: closed_form(sigma),
                "back": lambda delta=delta: CalibratedGaussian.from_divergences(delta),
            },
            args.rounds,
        )
        print(f"{D:8,}{taken['forward']:22.4f} s{taken['back']:18.4f} s{error:13.1e}")

    print(f"\n{'classes':>8}{'samples':>10}{'fit':>11}{'error of the covariance':>26}")
    for D in args.fit_classes:
        truth = CalibratedGaussian(4 * random_covariance(D, rng))
        l, y = truth.sample([2000] * D, rng)
        start = time.perf_counter()
        fitted = CalibratedGaussian.fit(l, y)
        taken = time.perf_counter() - start
        gap = np.linalg.norm(fitted.covariance - truth.covariance)
        error = gap / np.linalg.norm(truth.covariance)
        print(f"{D:8,}{len(l):10,}{taken:9.3f} s{error:26.1%}")


if __name__ == "__main__":
    main()
