"""Coverage and size of Evidence.prediction_set, for evidence that is calibrated or not.

Gaussian classes at equal distances; the evidence is the true log-likelihoods times a factor: 0.3 is
too weak, 3 too strong. New samples have the class mix of the calibration samples, or another one.
"""

import argparse
import warnings

import numpy as np

from _timing import print_setting
from deciban import Evidence

ALPHA, N_NEW = 0.1, 200
MIXES = {3: [0.6, 0.3, 0.1], 10: [0.28] + [0.08] * 9}


def draw(mix, n, factor, rng, strength=1.5):
    y = rng.choice(len(mix), n, p=mix)
    x = rng.normal(size=(n, len(mix))) + strength * np.eye(len(mix))[y]
    return y, Evidence(factor * strength * x)


def measure(D, n, factor, draws):
    """Coverage and mean size of each kind of sets; by class, the coverage of the lowest class."""
    rng = np.random.default_rng([D, n, int(10 * factor)])
    mix, other = np.array(MIXES[D]), np.array(MIXES[D])[::-1]
    held = {name: np.zeros(D) for name in ("posterior", "split", "shifted", "by class")}
    count = {name: np.zeros(D) for name in held}
    size = dict.fromkeys(held, 0.0)
    for _ in range(draws):
        calibration = draw(mix, n, factor, rng)
        for name in held:
            y, new = draw(other if name == "shifted" else mix, N_NEW, factor, rng)
            if name == "posterior":
                sets = new.prediction_set(ALPHA, mix)
            elif name == "by class":
                sets = new.prediction_set(ALPHA, calibration=calibration, by_class=True)
            else:  # where the mix is another one, it is known
                prior = other if name == "shifted" else None
                sets = new.prediction_set(ALPHA, prior, calibration=calibration)
            held[name] += np.bincount(y, sets.contains(y), D)
            count[name] += np.bincount(y, minlength=D)
            size[name] += sets.sizes.mean() / draws
    lowest = {"by class": np.min(held["by class"] / count["by class"])}
    coverage = {k: lowest.get(k, held[k].sum() / count[k].sum()) for k in held}
    return "   ".join(f"{k} {100 * coverage[k]:5.1f} % ({size[k]:.2f})" for k in held)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="60 draws")
    args = parser.parse_args()
    draws = 60 if args.quick else args.draws
    warnings.simplefilter("ignore")
    print_setting("deciban", "numpy")
    print(f"{draws} draws, {N_NEW} new samples each; nominal 90 %: coverage (mean size)")
    for D in MIXES:
        for n in (30, 100, 1000):
            for factor in (0.3, 1.0, 3.0):
                title = f"{D:2d} classes, {n:4d} samples, factor {factor:3.1f}"
                print(f"{title}  {measure(D, n, factor, draws)}", flush=True)


if __name__ == "__main__":
    main()
