"""Which actions known systems are given, and how often.

Calibrated evidence is drawn from the calibrated Gaussian family and then made too strong, too weak,
shifted, bent or reversed, so that what should be done with it is known. Useless evidence is drawn
regardless of the class, separated evidence never errs, and certain evidence rules classes out.
"""

import argparse
from collections import Counter
from itertools import product

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence, assess

ACTIONS = ("use it", "recalibrate it", "get more samples", "do not use it")
SIZES, PRIORS = (20, 100, 1000, 100_000), (0.5, 0.1, 0.001)


def draw_system(kind, n_classes, n_samples, seed):
    """Labels and log-likelihoods of a system of a known kind; n_samples of all classes together."""
    rng = np.random.default_rng([seed, n_classes, n_samples])
    counts = [n_samples // n_classes] * n_classes
    family = CalibratedGaussian(2.0 * np.eye(n_classes - 1))  # every pair has a divergence of 4
    l, y = family.sample(counts, rng=rng)
    y = np.asarray(y, dtype=int)
    w = family.evidence(l).log_likelihoods.copy()
    w -= w.mean(axis=1, keepdims=True)
    if kind == "too strong":
        w *= 3.0
    elif kind == "slightly too strong":
        w *= 1.5
    elif kind == "too weak":
        w /= 3.0
    elif kind == "shifted":
        w[:, -1] += 2.0
    elif kind == "wrong shape":
        w = 2.0 * np.sign(w) * np.sqrt(np.abs(w))  # too strong where weak, too weak where strong
    elif kind == "reversed":
        w = -w
    elif kind == "useless":
        w = w[rng.permutation(len(w))]
    elif kind == "nothing":
        w[:] = 0.0
    elif kind == "separated":
        w = 30.0 * np.eye(n_classes)[y] + rng.normal(size=w.shape)
    elif kind == "infinite":
        w = np.where(w < np.quantile(w, 0.1), -np.inf, w)
        w[np.arange(len(y)), y] = np.maximum(w[np.arange(len(y)), y], -5.0)
    elif kind == "infinite and wrong":
        w[0] = np.where(np.arange(n_classes) == (y[0] + 1) % n_classes, 0.0, -np.inf)
    return y, w


KINDS = (
    "calibrated", "slightly too strong", "too strong", "too weak", "shifted", "wrong shape",
    "reversed", "useless", "nothing", "separated", "infinite", "infinite and wrong",
)  # fmt: skip


def make_prior(of_last, n_classes):
    """The last class has this prior at even odds with each other class if it is 0.5."""
    if of_last == 0.5:
        return None
    return [(1 - of_last) / (n_classes - 1)] * (n_classes - 1) + [of_last]


def make_costs(n_classes):
    """Missing the last class costs ten times as much as any other error."""
    costs = 1.0 - np.eye(n_classes)
    costs[-1, :-1] = 10.0
    return costs


def count_actions(kind, n_classes, n_samples, of_last, with_costs, draws, resamples):
    found = Counter()
    for seed in range(draws):
        y, w = draw_system(kind, n_classes, n_samples, seed)
        one = assess(y, Evidence(w), prior=make_prior(of_last, n_classes), n_resamples=resamples,
                     costs=make_costs(n_classes) if with_costs else None)  # fmt: skip
        found[one.action] += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="draws of up to 1,000 samples")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--samples", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--quick", action="store_true", help="10 draws, no 100,000 samples")
    args = parser.parse_args()
    sizes = [n for n in args.samples if not (args.quick and n > 1000)]
    print_setting("deciban", "numpy", "scipy")
    print(f"{'':20} classes samples prior  costs  " + "  ".join(f"{a:>16}" for a in ACTIONS))
    for kind, D, n, prior, costs in product(args.kinds, args.classes, sizes, PRIORS, (False, True)):
        draws = max(2, (10 if args.quick else args.draws) // (50 if n > 1000 else 1))
        found = count_actions(kind, D, n, prior, costs, draws, args.resamples)
        shares = "  ".join(f"{100 * found[a] / draws:14.1f} %" for a in ACTIONS)
        print(
            f"{kind:20} {D:7} {n:7} {prior:5g} {'yes' if costs else 'no':>6}  {shares}", flush=True
        )


if __name__ == "__main__":
    main()
