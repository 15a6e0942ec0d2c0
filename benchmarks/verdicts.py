"""Which actions known systems are given, and how often.

The systems are those of ``tests/known_systems.py``: calibrated, too strong, too weak, shifted, of
the wrong shape, reversed, useless, separated, or with infinite LLRs.
"""

import argparse
import sys
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from _timing import print_setting
from deciban import Evidence, assess

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # tests are not installed
from known_systems import KINDS, draw_system, make_costs, make_prior

ACTIONS = ("use it", "recalibrate it", "get more samples", "do not use it")
SIZES, PRIORS = (20, 100, 1000, 100_000), (0.5, 0.1, 0.001)


def count_actions(kind, n_classes, n_samples, of_last, with_costs, draws, resamples):
    found = Counter()
    for seed in range(draws):
        y, w = draw_system(kind, n_classes, n_samples, seed)
        one = assess(y, Evidence(w), prior=make_prior(of_last, n_classes), n_resamples=resamples,
                     costs=make_costs(n_classes) if with_costs else None)  # fmt: skip
        found[one.action] += 1
    return found


def print_actions(args, sizes):
    pooled = defaultdict(Counter)
    print(f"{'':20} classes samples prior  costs  " + "  ".join(f"{a:>16}" for a in ACTIONS))
    for kind, D, n, prior, costs in product(
        args.kinds, args.classes, sizes, args.priors, (False, True)
    ):
        draws = max(2, args.draws // (50 if n > 1000 else 1))
        found = count_actions(kind, D, n, prior, costs, draws, args.resamples)
        pooled[kind, n] += found
        shares = "  ".join(f"{100 * found[a] / draws:14.1f} %" for a in ACTIONS)
        print(
            f"{kind:20} {D:7} {n:7} {prior:5g} {'yes' if costs else 'no':>6}  {shares}", flush=True
        )
    print("classes, priors and costs together:")
    for (kind, n), found in pooled.items():
        shares = "  ".join(f"{100 * found[a] / found.total():14.1f} %" for a in ACTIONS)
        print(f"{kind:20} {'':7} {n:7} {'':5} {'':6}  {shares}")


def true_values(scale, prior):
    """Discrimination, calibration and decision loss of Gaussian LLRs that are scaled."""
    x, weight = np.polynomial.hermite_e.hermegauss(200)
    weight, log_odds = weight / weight.sum(), np.log(prior / (1 - prior))

    def cross_entropy(a):
        other, target = (np.logaddexp(0, t * (a * (2 * x - 2 * t) + log_odds)) for t in (1, -1))
        return weight @ ((1 - prior) * other + prior * target)

    def cost(a):  # of decisions at this prior, relative to the better one without evidence
        z = (-log_odds / a + np.array([2, -2])) / 2
        return ((1 - prior) * ndtr(-z[0]) + prior * ndtr(z[1])) / min(prior, 1 - prior)

    best = cross_entropy(1.0)
    total = cross_entropy(scale)
    return {"cross_entropy": total, "discrimination": best, "calibration": total - best,
            "decision_loss": cost(scale) - cost(1.0)}  # fmt: skip


def print_coverage(draws, resamples):
    """How often intervals at a prior contain the truth, of two classes of equal size."""
    print("classes samples prior factor: share of intervals with the truth")
    for n, prior, scale in product((100, 1000), PRIORS, (1.0, 3.0, 1 / 3)):
        truth, held = true_values(scale, prior), Counter()
        for seed in range(draws):
            y, w = draw_system("calibrated", 2, n, seed)
            found = assess(y, Evidence(scale * w), prior=[1 - prior, prior], n_resamples=resamples)
            for key, value in truth.items():
                held[key] += found[key].low - 1e-9 <= value <= found[key].high + 1e-9
        shares = ", ".join(f"{key} {100 * held[key] / draws:.1f} %" for key in truth)
        print(f"{2:7} {n:7} {prior:5g} {scale:6.3g}: {shares}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="draws of up to 1,000 samples")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--samples", type=int, nargs="+", default=SIZES)
    parser.add_argument("--priors", type=float, nargs="+", default=PRIORS)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--quick", action="store_true", help="10 draws, no 100,000 samples")
    parser.add_argument("--coverage", action="store_true", help="of intervals at a prior, only")
    args = parser.parse_args()
    sizes = [n for n in args.samples if not (args.quick and n > 1000)]
    print_setting("deciban", "numpy", "scipy")
    args.draws = 10 if args.quick else args.draws
    if args.coverage:
        print_coverage(args.draws, args.resamples)
    else:
        print_actions(args, sizes)


if __name__ == "__main__":
    main()
