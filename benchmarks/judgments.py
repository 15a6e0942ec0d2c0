"""What tests, calibration errors and verdicts say of evidence that is known.

python benchmarks/judgments.py tests|errors|verdicts [--help]
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp, ndtr
from scipy.stats import t as student_t

from _timing import print_setting, run_part
from deciban import Basis, CalibratedGaussian, Evidence, assess
from deciban.metrics import calibration_error, calibration_test, decompose, idempotence

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # tests are not installed
from known_systems import KINDS, draw_system, make_costs, make_prior

# tests


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


WORLDS = (gaussian, strong, student, mixture, discrete)


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


def tests_part(arguments):
    """Level and power of metrics.calibration_test, and coverage of the distance of
    metrics.idempotence.

    Calibrated evidence of five kinds is made exactly: features are drawn from known densities,
    and the evidence is their true log-likelihoods.
    """
    parser = argparse.ArgumentParser(description=tests_part.__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--samples", type=int, nargs="+", default=[50, 200, 1000], help="in all")
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=100_000, help="of the first trial")
    parser.add_argument("--only", choices=["level", "power", "coverage"])
    parser.add_argument("--quick", action="store_true", help="200 trials, 300 samples")
    args = parser.parse_args(arguments)
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
        print("false alarms at 5 %        " + "".join(f"{k.__name__:>10}" for k in WORLDS))
        for D in args.classes:
            for n in args.samples:
                for unbalanced in (False, True):
                    counts = class_counts(D, n, unbalanced)
                    row = [rate(kind(D), counts, FAULTS["calibrated"]) for kind in WORLDS]
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


# errors

WAYS = {
    "5 bins": {"method": "equal-mass", "n_bins": 5},
    "15 bins": {"method": "equal-mass", "n_bins": 15},
    "15 equal widths": {"method": "equal-width", "n_bins": 15},
    "50 bins": {"method": "equal-mass", "n_bins": 50},
    "smooth": {"method": "smooth"},
}


def draw(family, n, factor, rng):
    l, y = family.sample([n // family.n_classes] * family.n_classes, rng)
    return y, family.evidence(factor * l)


def errors_part(arguments):
    """What metrics.calibration_error says of evidence whose true error is known.

    The evidence is Gaussian and calibrated, so that its true error is zero, or 1.5 times too
    strong, with the error of a million samples in brackets. Beside it: what `decompose` says
    that recalibration would save.
    """
    parser = argparse.ArgumentParser(description=errors_part.__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="20 draws, no truth of other evidence")
    args = parser.parse_args(arguments)
    draws = 20 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"mean of {draws} draws of a calibration error in percent")
    for D in (2, 10):
        family = CalibratedGaussian.from_divergences(4.0 * (1 - np.eye(D)))
        for kind in ("top-label", "classwise"):
            for factor in (1.0, 1.5):
                truth = draw(family, 1_000_000, factor, np.random.default_rng(1))
                for n in (100, 1000, 10_000):
                    rng = np.random.default_rng(n)
                    samples = [draw(family, n, factor, rng) for _ in range(draws)]
                    cells = []
                    for name, way in WAYS.items():
                        errors = [calibration_error(*one, kind=kind, **way) for one in samples]
                        cell = f"{name} {100 * np.mean(errors):4.1f}"
                        if factor != 1 and n == 10_000 and not args.quick:
                            cell += f" ({100 * calibration_error(*truth, kind=kind, **way):.1f})"
                        cells.append(cell)
                    saved = [decompose(*one).calibration for one in samples[:20]]
                    cells.append(f"decompose {np.mean(saved):.4f} nat")
                    title = f"{D:2d} classes, {kind}, factor {factor}, {n:6d} samples"
                    print(f"{title:46s} {'   '.join(cells)}", flush=True)


# verdicts


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


def verdicts_part(arguments):
    """Which actions known systems are given, and how often.

    The systems are those of ``tests/known_systems.py``: calibrated, too strong, too weak,
    shifted, of the wrong shape, reversed, useless, separated, or with infinite LLRs.
    """
    parser = argparse.ArgumentParser(description=verdicts_part.__doc__)
    parser.add_argument("--draws", type=int, default=200, help="draws of up to 1,000 samples")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--samples", type=int, nargs="+", default=SIZES)
    parser.add_argument("--priors", type=float, nargs="+", default=PRIORS)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--quick", action="store_true", help="10 draws, no 100,000 samples")
    parser.add_argument("--coverage", action="store_true", help="of intervals at a prior, only")
    args = parser.parse_args(arguments)
    sizes = [n for n in args.samples if not (args.quick and n > 1000)]
    print_setting("deciban", "numpy", "scipy")
    args.draws = 10 if args.quick else args.draws
    if args.coverage:
        print_coverage(args.draws, args.resamples)
    else:
        print_actions(args, sizes)


if __name__ == "__main__":
    run_part(tests=tests_part, errors=errors_part, verdicts=verdicts_part)
