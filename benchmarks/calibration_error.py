"""What metrics.calibration_error says of evidence whose true error is known.

The evidence is Gaussian and calibrated, so that its true error is zero, or 1.5 times too strong,
with the error of a million samples in brackets. Beside it: what `decompose` says that recalibration
would save.
"""

import argparse

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian
from deciban.metrics import calibration_error, decompose

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="20 draws, no truth of other evidence")
    args = parser.parse_args()
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


if __name__ == "__main__":
    main()
