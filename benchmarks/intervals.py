"""How often intervals contain the true value, and how often `compare` separates equal systems.

LLRs are calibrated and Gaussian; the costs of a million samples count as the true ones.
"""

import argparse

import numpy as np

from _timing import print_setting
from deciban import Evidence
from deciban.assessment import assess, compare

KEYS = ("cllr", "cllr_min", "cllr_cal", "eer", "min_detection_cost", "accuracy")


def llrs(y, divergence, rng):
    """Calibrated LLRs: their mean is half of their variance."""
    return rng.normal((2 * y - 1) * divergence / 2, np.sqrt(divergence))


def truth(divergence):
    """Every quantity of a million samples, on which PAV hardly overfits."""
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
            print(f"EER {100 * expected['eer']:.1f} %, {n} per class: {rates}", flush=True)


def equal_systems(args):
    for n in (40, 100, 500):
        separated = dict.fromkeys(KEYS, 0)
        for seed in range(args.draws):
            rng = np.random.default_rng([seed, n])
            y, shared = np.repeat([0, 1], n), rng.normal(size=2 * n)
            a, b = (
                Evidence.from_llr(4 * y - 2 + np.sqrt(2) * (shared + rng.normal(size=2 * n)))
                for _ in range(2)
            )
            found = compare(y, {"a": a, "b": b}, n_resamples=args.resamples)
            for key in KEYS:
                separated[key] += found[key].verdict.endswith("better")
        rates = "  ".join(f"{key} {100 * k / args.draws:.0f} %" for key, k in separated.items())
        print(f"two equal systems, {n} per class, separated: {rates}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=300)
    args = parser.parse_args()
    print_setting("deciban", "numpy", "scipy")
    coverage(args)
    equal_systems(args)


if __name__ == "__main__":
    main()
