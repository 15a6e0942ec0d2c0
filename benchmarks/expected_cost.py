"""How precise the simulated cross-entropy and error rate of a calibrated Gaussian family are.

    python benchmarks/expected_cost.py [--quick]

Prints the largest standard error of the expected cross-entropy relative to the value, for 3 to 40
classes: over equal divergences and over those of random points, from 0.01 to 100 nats on average,
with 3,000 samples. Then the error rate of decisions: its relative standard error beside that of
counting errors in as many samples, and how often the truth, from a run that is 30 times longer,
lies within two standard errors.
"""

import argparse

import numpy as np

from deciban import CalibratedGaussian

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 run instead of 5, up to 10 classes")
    quick = parser.parse_args().quick
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


if __name__ == "__main__":
    main()
