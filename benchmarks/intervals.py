"""How often the intervals of the report hold the truth, and compare tells alike systems apart.

LLRs are calibrated Gaussian ones, whose true costs are those of a million samples.
"""

import argparse

import numpy as np

from _timing import print_setting
from deciban import Evidence
from deciban.assessment import assess, compare

KEYS = ("cllr", "cllr_min", "cllr_cal", "eer", "min_detection_cost", "accuracy")


def llrs(y, divergence, rng):
    """Calibrated: the mean is half of the variance."""
    return rng.normal((2 * y - 1) * divergence / 2, np.sqrt(divergence))


def truth(divergence):
    """Every quantity of very many samples; PAV takes next to nothing from them without cause."""
    y = np.repeat([0, 1], 500_000)
    found = assess(y, Evidence.from_llr(llrs(y, divergence, np.random.default_rng(0))),
                   n_resamples=0)  # fmt: skip
    return {key: found[key].value for key in KEYS}


def coverage(args):
    for divergence in (1.0, 4.0, 12.0, 30.0):
        expected = truth(divergence)
        for n in (20, 100, 500):
            held = dict.fromkeys(KEYS, 0)
            for seed in range(args.draws):
                y = np.repeat([0, 1], n)
                llr = llrs(y, divergence, np.random.default_rng([seed, n]))
                found = assess(y, Evidence.from_llr(llr), n_resamples=args.resamples)
                for key in KEYS:
                    near = found[key].low - 5e-4 <= expected[key] <= found[key].high + 5e-4
                    held[key] += near
            rates = "  ".join(f"{key} {100 * k / args.draws:.0f} %" for key, k in held.items())
            print(f"EER {100 * expected['eer']:.1f} %, {n} a class: {rates}", flush=True)


def alike(args):
    for n in (40, 100, 500):
        told = dict.fromkeys(KEYS, 0)
        for seed in range(args.draws):
            rng = np.random.default_rng([seed, n])
            y, shared = np.repeat([0, 1], n), rng.normal(size=2 * n)
            a, b = (
                Evidence.from_llr(4 * y - 2 + np.sqrt(2) * (shared + rng.normal(size=2 * n)))
                for _ in range(2)
            )
            found = compare(y, {"a": a, "b": b}, n_resamples=args.resamples)
            for key in KEYS:
                told[key] += found[key].verdict.endswith("better")
        rates = "  ".join(f"{key} {100 * k / args.draws:.0f} %" for key, k in told.items())
        print(f"two systems that are alike, {n} a class, told apart: {rates}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=300)
    args = parser.parse_args()
    print_setting("deciban", "numpy", "scipy")
    coverage(args)
    alike(args)


if __name__ == "__main__":
    main()
