"""How often intervals of costs at operating points, of C_primary and of C_avg contain the truth.

LLRs of two classes are calibrated and Gaussian, so that error rates are known in closed form and
the Bayes threshold is the best. Five classes are those of a calibrated Gaussian family, whose C_avg
on a million samples counts as the truth.
"""

import argparse
from statistics import NormalDist, fmean

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence
from deciban.assessment import assess
from deciban.metrics import OperatingPoint, c_avg

POINTS = (OperatingPoint(10, 1, 0.01), OperatingPoint(1, 1, 0.05), OperatingPoint(1, 1, 0.005))


def true_cost(point, divergence):
    """Normalized detection cost of calibrated Gaussian LLRs."""
    target, other = (
        NormalDist(sign * divergence / 2, divergence**0.5).cdf(point.threshold) for sign in (1, -1)
    )
    miss, false_alarm = point.cost_miss * point.prior, point.cost_false_alarm * (1 - point.prior)
    return (miss * target + false_alarm * (1 - other)) / min(miss, false_alarm)


def two_classes(divergence, n_target, n_other, args):
    truth = {f"detection_cost@{point}": true_cost(point, divergence) for point in POINTS}
    truth["c_primary"] = fmean(truth.values())
    truth |= {f"min_{key}": value for key, value in truth.items()}
    held, width = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    y = np.repeat([1, 0], [n_target, n_other])
    for seed in range(args.draws):
        rng = np.random.default_rng([seed, n_target])
        llr = rng.normal((2 * y - 1) * divergence / 2, divergence**0.5)
        found = assess(y, Evidence.from_llr(llr), operating_points=POINTS,
                       n_resamples=args.resamples)  # fmt: skip
        for key, value in truth.items():
            held[key] += found[key].low <= value <= found[key].high
            width[key] += (found[key].high - found[key].low) / args.draws
    print(f"{n_target} targets, {n_other} others, true C_primary {truth['c_primary']:.3f}:")
    for key in truth:
        print(f"  {key:32} {100 * held[key] / args.draws:5.1f} %, mean width {width[key]:.3f}")


def five_classes(n, args):
    family = CalibratedGaussian.from_divergences(np.linspace(4, 8, 10), nearest=True)
    l, y = family.sample([200_000] * 5, rng=0)
    open_set = {"out_of_set": y.max()}
    truth = {p: c_avg(y, family.evidence(l), p_target=p, **open_set) for p in (0.5, 0.1)}
    held = dict.fromkeys(("C_avg", "open set at 1:1:0.1"), 0)
    for seed in range(args.draws):
        l, y = family.sample([n] * 5, rng=seed)
        found = assess(y, family.evidence(l), c_avg=True, operating_points=[(1, 1, 0.1)],
                       n_resamples=args.resamples, **open_set)  # fmt: skip
        pairs = ((found["c_avg"], truth[0.5]), (found["detection_cost@1:1:0.1"], truth[0.1] / 0.1))
        for name, (q, value) in zip(held, pairs, strict=True):
            held[name] += q.low <= value <= q.high
    rates = ", ".join(f"{name} {100 * k / args.draws:.1f} %" for name, k in held.items())
    print(f"five classes, {n} of each, true C_avg {truth[0.5]:.3f}: {rates}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="30 draws")
    args = parser.parse_args()
    args.draws = 30 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.draws} draws, nominal 95 %")
    for divergence in (6.0, 16.0):
        for n_target, n_other in ((100, 1000), (1000, 10_000)):
            two_classes(divergence, n_target, n_other, args)
    for n in (50, 200):
        five_classes(n, args)


if __name__ == "__main__":
    main()
