"""Two-class metrics beside lir, llreval and scipy's isotonic regression, on one thread."""

import argparse
import resource
import time

import numpy as np
from lir.data.models import LLRData
from lir.metrics import cllr as lir_cllr
from llreval.cllr import cllr as llreval_cllr
from llreval.cllr import min_cllr
from llreval.pav_rocch import PAV
from scipy.optimize import isotonic_regression

from _timing import print_setting, race
from deciban import metrics


def draw(n, rng):
    """Calibrated LLRs of two balanced classes at an equal-error rate of 10 %."""
    y = np.arange(n) % 2
    mean = 3.28475
    return y, rng.normal(scale=np.sqrt(2 * mean), size=n) + mean * (2 * y - 1)


def scipy_cllr_min(y, llr):
    """The usual route: sort positions, isotonic regression, cost of the posteriors."""
    order = np.lexsort((-y, llr))
    label = y[order].astype(float)
    p = isotonic_regression(label).x
    n1 = label.sum()
    n0 = len(label) - n1
    with np.errstate(divide="ignore"):
        recalibrated = np.log(p) - np.log1p(-p) - np.log(n1 / n0)
    is_target = label == 1
    miss = np.logaddexp(0, -recalibrated[is_target]).mean()
    return (miss + np.logaddexp(0, recalibrated[~is_target]).mean()) / (2 * np.log(2))


def report(title, contestants, rounds):
    values = {name: run() for name, run in contestants.items()}
    if max(values.values()) - min(values.values()) > 1e-10:
        raise SystemExit(f"{title}: the results differ: {values}")
    taken = race(contestants, rounds)
    ours = taken.pop("deciban")
    others = "  ".join(f"{name} {1e3 * s:8.1f} ms ({s / ours:.2f}x)" for name, s in taken.items())
    print(f"{title:24}deciban {1e3 * ours:8.1f} ms  {others}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    print_setting("deciban", "lir", "llreval", "scipy", "numpy")
    print(f"seed {args.seed}, medians of {args.rounds} rounds in turn; the peers' time over ours")

    y, llr = draw(10**6, rng)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    metrics.empirical_cross_entropy_curve(y, llr)
    taken = time.perf_counter() - start
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"empirical cross-entropy curve at 1,000,000 x 101: {taken:.2f} s, {extra:.0f} MB more")
    ban = LLRData(features=llr[:, None] / np.log(10), labels=y)
    report(
        "Cllr at 1,000,000",
        {
            "deciban": lambda: metrics.cllr(y, llr),
            "lir": lambda: lir_cllr(ban),
            "llreval": lambda: float(llreval_cllr(llr[y == 1], llr[y == 0])),
        },
        args.rounds,
    )
    for n in args.sizes:
        y, llr = draw(n, rng)
        report(
            f"Cllr_min at {n:,}",
            {
                "deciban": lambda y=y, llr=llr: metrics.cllr_min(y, llr),
                "llreval": lambda y=y, llr=llr: float(min_cllr(PAV(llr, y))),
                "scipy": lambda y=y, llr=llr: scipy_cllr_min(y, llr),
            },
            args.rounds,
        )


if __name__ == "__main__":
    main()
