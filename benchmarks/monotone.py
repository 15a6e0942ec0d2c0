"""What monotone maps of several classes learn, and what they take for knowledge.

    python benchmarks/monotone.py [--quick]

Calibrated Gaussian evidence with 4 nats between any two classes, as it is and bent (each ILRL times
half its length, which no affine map undoes). The cross-entropy on the samples of the fit, and on
fresh ones, of the smooth monotone map, beside scalar, full affine and curved maps; means over
draws. What is below the true cost on the samples of the fit is optimism.
"""

import argparse
import time

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian
from deciban.calibration import AffineCalibrator, CurvedCalibrator, MonotoneCalibrator
from deciban.metrics import cross_entropy

CALIBRATORS = {
    "scalar": AffineCalibrator(),
    "full": AffineCalibrator("full"),
    "curved": CurvedCalibrator(),
    "smooth": MonotoneCalibrator(),
}


def bend(family, l, bent):
    return family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True) / 2 if bent else l)


def judge(family, n, bent, draws):
    """Cost on the samples of the fit and on fresh ones, and seconds, of each calibrator."""
    D, found = family.n_classes, {}
    for draw in range(draws):
        rng = np.random.default_rng(100 + draw)  # not those that settings were chosen on
        (l, y), (fresh, y_fresh) = family.sample([n] * D, rng), family.sample([4000] * D, rng)
        X, X_fresh = bend(family, l, bent), bend(family, fresh, bent)
        found.setdefault("raw", []).append((np.nan, cross_entropy(y_fresh, X_fresh), 0.0))
        for name, calibrator in CALIBRATORS.items():
            start = time.perf_counter()
            calibrator.fit(X, y)
            taken = time.perf_counter() - start
            inside = cross_entropy(y, calibrator.evidence(X))
            fresh_cost = cross_entropy(y_fresh, calibrator.evidence(X_fresh))
            found.setdefault(name, []).append((inside, fresh_cost, taken))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one draw, small samples")
    args = parser.parse_args()
    quick = args.quick
    print_setting("deciban", "numpy", "scipy")
    for D in (3, 5, 10):
        family = CalibratedGaussian.from_divergences(np.full(D * (D - 1) // 2, 4.0))
        truth = family.expected_cross_entropy(rng=0).value
        for bent in (False, True):
            for n in (20, 100) if quick else (20, 100, 1000):
                found = judge(family, n, bent, 1 if quick else 3)
                cells = [
                    f"{name} {inside:.3f}/{fresh:.3f} ({taken:.1f} s)"
                    for name, (inside, fresh, taken) in found.items()
                ]
                what = "bent" if bent else "as it is"
                print(f"D={D} n={n} a class, {what}, true {truth:.3f}: {'; '.join(cells)}")


if __name__ == "__main__":
    main()
