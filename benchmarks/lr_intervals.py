"""How often the interval of one LLR contains the true LLR, by calibrator and number of samples.

Scores are calibrated LLRs through an affine map, which the calibrators must undo: the true LLR of
each new score is known. Coverage is the mean over new samples of both classes and over fits.
"""

import argparse
import warnings

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    FusionCalibrator,
    GaussianCalibrator,
)

SIZES = (10, 30, 100, 300)


def draw(family, n, rng):
    """Distorted evidence, true evidence and classes."""
    l, y = family.sample([n] * family.n_classes, rng)
    return family.evidence(2 * l + 0.5), family.evidence(l), y


def draw_systems(family, n, rng):
    """Two independent systems, one of them distorted: the true LLR is their sum."""
    one, y = family.sample([n] * family.n_classes, rng)
    two, _ = family.sample([n] * family.n_classes, rng)
    return {"a": family.evidence(2 * one), "b": family.evidence(two)}, family.evidence(one + two), y


def coverage(calibrator, draw, family, n, draws):
    held, width = [], []
    for seed in range(draws):
        rng = np.random.default_rng([seed, n])
        X, _, y = draw(family, n, rng)
        new, true, _ = draw(family, 50, rng)
        calibrator.fit(X, y)
        a, b = family.classes[1], family.classes[0]
        low, high = calibrator.interval(new, a, b)
        llr = true.llr(a, b)
        held.append(np.mean((low <= llr) & (llr <= high)))
        width.append(np.median(high - low))
    return 100 * np.mean(held), np.median(width)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--quick", action="store_true", help="40 fits each")
    args = parser.parse_args()
    draws = 40 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"{draws} fits each; nominal 95 %; in brackets the median width in nats")
    two = {d: CalibratedGaussian.from_divergences([d]) for d in (1.0, 4.0, 9.0)}
    three = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    cases = [(f"two classes, {d:g} nats", f, draw) for d, f in two.items()]
    cases.append(("three classes", three, draw))
    plain = [AffineCalibrator(), GaussianCalibrator(), FusionCalibrator()]
    for title, family, how in cases:
        for calibrator in plain:
            report(title, calibrator, how, family, draws)
    report("two systems, 2 × 4 nats", FusionCalibrator(), draw_systems, two[4.0], draws)
    report("two systems, three classes", FusionCalibrator(), draw_systems, three, draws)
    for inner in (AffineCalibrator(), GaussianCalibrator()):
        bootstrap = BootstrapCalibrator(inner, n_resamples=100)
        report("two classes, 4 nats", bootstrap, draw, two[4.0], draws // 5)


def report(title, calibrator, how, family, draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [coverage(calibrator, how, family, n, draws) for n in SIZES]
    cells = "  ".join(
        f"{n}: {held:.1f} % ({width:.2f})" for n, (held, width) in zip(SIZES, found, strict=True)
    )
    inner = getattr(calibrator, "calibrator", None)
    name = type(inner or calibrator).__name__.removesuffix("Calibrator").lower()
    name += " by bootstrap" * (inner is not None)
    print(f"{title:27s} {name:21s} {cells}", flush=True)


if __name__ == "__main__":
    main()
