"""The calibrated families: speed, precision of simulated costs, and mixtures.

python benchmarks/family.py speed|costs|mixtures [--help]
"""

import argparse
import time
from collections import Counter

import numpy as np
from scipy.stats import t as student_t
from sklearn.datasets import (
    load_iris,
    load_wine,
    make_circles,
    make_moons,
)
from sklearn.model_selection import train_test_split

from _timing import print_setting, race, run_part
from deciban import (
    Basis,
    CalibratedGaussian,
    CalibratedMixture,
    CompositionalDiscriminantAnalysis,
    Evidence,
    metrics,
)

# speed


def random_covariance(D, rng):
    A = rng.normal(size=(D - 1, 2 * D))
    return A @ A.T / (2 * D)


def closed_form(covariance):
    family = CalibratedGaussian(covariance)
    return family.means, family.divergences


def speed_part(arguments):
    """The calibrated Gaussian family at many classes: the closed form, and a fit."""
    parser = argparse.ArgumentParser(description=speed_part.__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--fit-classes", type=int, nargs="+", default=[3, 10, 50])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
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


# costs

SAMPLES = 3000
DEFAULT = 100_000  # samples of an error rate unless told otherwise
DIVERGENCES = (0.01, 0.1, 1.0, 4.0, 10.0, 30.0, 100.0)


def make_families(D, d, rng):
    """A family with equal divergences, and one of random points."""
    yield CalibratedGaussian.from_divergences(d * (1 - np.eye(D)))
    points = rng.normal(size=(D, D - 1)) * np.sqrt(d / (2 * (D - 1)))
    yield CalibratedGaussian.from_divergences(((points[:, None] - points) ** 2).sum(axis=-1))


def make_priors(D):
    """The uniform prior, and one that leaves a millionth to each class but the first."""
    rare = np.full(D, 1e-6)
    rare[0] = 1 - rare[1:].sum()
    return {"uniform": None, "rare": rare}


def largest_error(D, prior, runs):
    """Largest relative standard error, and the mean divergence where it occurs."""
    worst = 0.0, 0.0
    for d in DIVERGENCES:
        for seed in range(runs):
            for family in make_families(D, d, np.random.default_rng(seed)):
                found = family.expected_cross_entropy(prior, n_samples=SAMPLES, rng=seed)
                worst = max(worst, (found.standard_error / found.value, d))
    return worst


def check_error_rates(runs, classes):
    print(f"\nError rate of decisions, {DEFAULT:,} samples, {runs} runs, uniform prior")
    print(f"{'classes':>8}{'nat':>6}{'rate':>12}{'s.e.':>8}{'counting':>11}{'within 2 s.e.':>15}")
    for D in classes:
        for d in (1.0, 10.0, 30.0, 100.0):
            *_, family = make_families(D, d, np.random.default_rng(D))
            posterior = family.with_prior()
            truth = posterior.expected_cost(n_samples=30 * DEFAULT, rng=0)
            found = np.array(
                [posterior.expected_cost(n_samples=DEFAULT, rng=1 + k) for k in range(runs)]
            )
            near = np.abs(found[:, 0] - truth.value) < 2 * np.hypot(
                found[:, 1], truth.standard_error
            )
            error = np.median(found[:, 1]) / truth.value
            counting = np.sqrt((1 - truth.value) / (truth.value * DEFAULT))
            print(
                f"{D:8}{d:6g}{truth.value:12.2g}{error:8.1%}{counting:11.1%}{near.mean():15.1%}",
                flush=True,
            )


def costs_part(arguments):
    """How precise the simulated cross-entropy and error rate of a calibrated Gaussian family are.

        python benchmarks/family.py costs [--quick]

    Prints the largest standard error of the expected cross-entropy relative to the value, for 3
    to 40 classes: over equal divergences and over those of random points, from 0.01 to 100 nats
    on average, with 3,000 samples. Then the error rate of decisions: its relative standard
    error beside that of counting errors in as many samples, and how often the truth, from a run
    that is 30 times longer, lies within two standard errors.
    """
    parser = argparse.ArgumentParser(description=costs_part.__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 run instead of 5, up to 10 classes")
    quick = parser.parse_args(arguments).quick
    print(
        f"{SAMPLES:,} samples; largest standard error in % of the value, {1 if quick else 5} runs"
    )
    for D in (3, 5, 10) if quick else (3, 5, 10, 20, 40):
        cells = []
        for name, prior in make_priors(D).items():
            error, d = largest_error(D, prior, 1 if quick else 5)
            cells.append(f"{name} prior {100 * error:5.2f} (at {d:g} nat)")
        print(f"{D:3d} classes: {'; '.join(cells)}")
    check_error_rates(20 if quick else 200, (3, 10))


# mixtures


def scales(D):
    """Weak and strong evidence: two families of one shape."""
    narrow = 0.5 * np.eye(D - 1)
    return CalibratedMixture([narrow, 8 * narrow], [0.7, 0.3])


def shapes(D):
    """Two families that distinguish different classes."""
    first, second = np.ones(D - 1), np.ones(D - 1)
    first[0], second[-1] = 6.0, 6.0
    return CalibratedMixture([np.diag(first), np.diag(second) * 0.5], [0.5, 0.5])


def gaussian(D):
    return CalibratedMixture([2 * np.eye(D - 1)])


class Student:
    """Features with Student's t of 3 degrees of freedom; their true likelihood functions."""

    def __init__(self, D):
        self.basis = Basis.gram_schmidt(D)
        self.n_classes = D

    def sample(self, counts, rng):
        corners = 1.7 * self.basis.contrast
        y = np.repeat(np.arange(self.n_classes), counts)
        rng = np.random.default_rng(rng)
        x = corners[y] + rng.standard_t(3, size=(len(y), self.n_classes - 1))
        w = student_t.logpdf(x[:, None, :] - corners, 3).sum(axis=2)
        return w @ self.basis.contrast, y

    def log_likelihood(self, l, y):
        return np.nan


TRUTHS = {"Gaussian": gaussian, "scales": scales, "shapes": shapes, "Student": Student}


def fits(args):
    print("\nLog-likelihood of fresh samples in nats per sample, mean over runs: gain over one")
    print("Gaussian family; the error of its expected cross-entropy in %; components; seconds")
    head = ("truth (=best)", "auto", "err. one", "err. auto", "components", "seconds")
    print(f"{'':28}" + "".join(f"{name:>16}" for name in head))
    for name, make in TRUTHS.items():
        for D in args.classes:
            truth = make(D)
            l_new, y_new = truth.sample([20_000 // D] * D, rng=[9, D])
            evidence = Evidence.from_ilr(l_new)
            cost = metrics.cross_entropy(y_new, evidence)
            for n in args.samples:
                print_row(f"{name}, {D} classes, {n:5}", truth, l_new, y_new, cost, n // D, args)


def print_row(label, truth, l_new, y_new, cost, n, args):
    D = truth.n_classes
    counts, gains, best, errors, seconds = Counter(), [], [], [], []
    for run in range(args.runs):
        l, y = truth.sample([n] * D, rng=[run, n, D])
        start = time.perf_counter()
        mixture = CalibratedMixture.fit(l, y)
        seconds.append(time.perf_counter() - start)
        counts[len(mixture.families)] += 1
        one = CalibratedGaussian.fit(l, y)
        base = one.log_likelihood(l_new, y_new)
        gains.append((mixture.log_likelihood(l_new, y_new) - base) / len(y_new))
        best.append((truth.log_likelihood(l_new, y_new) - base) / len(y_new))
        found = [m.expected_cross_entropy(n_samples=4000)[0] for m in (one, mixture)]
        errors.append(100 * (np.array(found) / cost - 1))
    worse = np.mean(errors, axis=0)
    chosen = " ".join(f"{k}:{c}" for k, c in sorted(counts.items()))
    print(
        f"{label:28}{np.mean(best):16.4f}{np.mean(gains):16.4f}{worse[0]:16.1f}{worse[1]:16.1f}"
        f"{chosen:>16}{np.median(seconds):16.2f}",
        flush=True,
    )


def tails(args):
    print("\nVariance of the LLR over its mean (2 in one Gaussian family), and its maximum")
    for name, make in TRUTHS.items():
        for D in args.classes:
            truth = make(D)
            l, y = truth.sample([20_000] * D, rng=0)
            scores = (l @ truth.basis.contrast.T)[y == 0]
            llr = scores[:, 0] - scores[:, 1]
            print(f"{name}, {D} classes: {llr.var() / llr.mean():6.2f}, {llr.max():6.1f} nats")


def bases(args):
    print("\nMean log-density of fresh samples under a CDA, in nats: gain of base='mixture'")
    mixed = TRUTHS["scales"](3)
    for n in (300, 2000):
        gains = []
        for run in range(min(args.runs, 3)):
            (l, y), (new, y_new) = (mixed.sample([m] * 3, rng=[run, m]) for m in (n, 3000))
            gains.append(gain_of_mixture(l, y, new, y_new, run))
        print(f"scales, 3 classes, {n:5} of each: {np.mean(gains):6.3f}", flush=True)
    for name, make in (("moons", make_moons), ("circles", make_circles)):
        options = {"noise": 0.2} if name == "moons" else {"noise": 0.1, "factor": 0.5}
        X, y = make(4000, random_state=0, **options)
        print(f"{name}: {gain_of_mixture(X[:2000], y[:2000], X[2000:], y[2000:], 0):6.3f}")
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, X_new, y, y_new = train_test_split(*load(return_X_y=True), random_state=0)
        print(f"{name}: {gain_of_mixture(X, y, X_new, y_new, 0):6.3f}")


def gain_of_mixture(X, y, X_new, y_new, seed):
    models = [
        CompositionalDiscriminantAnalysis(base=base, epochs=30, random_state=seed).fit(X, y)
        for base in ("gaussian", "mixture")
    ]
    rows = np.arange(len(y_new)), y_new
    plain, mixed = (model.log_densities(X_new)[rows].mean() for model in models)
    return mixed - plain


def level(args):
    error = 196 * np.sqrt(0.05 * 0.95 / args.trials)
    print(f"\nFalse alarms of calibration_test at 5 %, {args.trials} trials (+-{error:.1f} %)")
    for name in ("Gaussian", "scales", "shapes"):
        for D in args.classes:
            truth = TRUTHS[name](D)
            for n in (100, 500):
                p = []
                for trial in range(args.trials):
                    l, y = truth.sample([n // D] * D, rng=[trial, n, D, 1])
                    found = metrics.calibration_test(y, truth.evidence(l), n_draws=99, rng=trial)
                    p.append(found.p_value)
                print(f"{name}, {D} classes, {n:4}: {100 * np.mean(np.array(p) <= 0.05):5.1f} %")


def mixtures_part(arguments):
    """Mixtures of calibrated families beside one family, and the calibration test under heavy
    tails.

    Which number of components does BIC find, and what does the mixture gain on fresh samples?
    The truth is known: one Gaussian family, a scale mixture, a mixture of two shapes, or
    Student's t.
    """
    parser = argparse.ArgumentParser(description=mixtures_part.__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--samples", type=int, nargs="+", default=[100, 1000], help="in all")
    parser.add_argument("--quick", action="store_true", help="3 runs, 60 trials, 2 and 3 classes")
    args = parser.parse_args(arguments)
    if args.quick:
        args.runs, args.trials, args.classes = 3, 60, [2, 3]
    print_setting("deciban", "numpy", "scipy")
    start = time.perf_counter()
    tails(args)
    fits(args)
    bases(args)
    level(args)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    run_part(speed=speed_part, costs=costs_part, mixtures=mixtures_part)
