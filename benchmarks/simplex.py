"""The geometry of 1,000,000 compositions of 10 parts, beside scikit-bio."""

import argparse

import numpy as np
from skbio.stats import composition

from _timing import print_setting, race
from deciban import simplex

TOLERANCE = 1e-12


def skbio_distance(x, y):
    """scikit-bio has no distance; this is the definition on its clr."""
    return np.linalg.norm(composition.clr(x) - composition.clr(y), axis=-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    x, y = rng.gamma(1.0, size=(2, args.rows, args.parts))
    z = simplex.ilr(x)
    contests = {
        "closure": (lambda: simplex.closure(x), lambda: composition.closure(x)),
        "clr": (lambda: simplex.clr(x), lambda: composition.clr(x)),
        "ilr": (lambda: simplex.ilr(x), lambda: composition.ilr(x)),
        "ilr_inv": (lambda: simplex.ilr_inv(z), lambda: composition.ilr_inv(z)),
        "distance": (lambda: simplex.distance(x, y), lambda: skbio_distance(x, y)),
    }

    print_setting("deciban", "scikit-bio", "numpy")
    print(
        f"{args.rows:,} x {args.parts}, seed {args.seed}, medians of {args.rounds} rounds in turn"
    )
    copy = 1e3 * race({"copy": x.copy}, args.rounds)["copy"]
    print(f"one copy of the data takes {copy:.1f} ms")
    print(
        f"{'':10}{'deciban':>10}{'in copies':>11}{'scikit-bio':>12}{'ratio':>8}{'difference':>13}"
    )
    for name, (ours, theirs) in contests.items():
        difference = float(np.abs(ours() - theirs()).max())
        if difference > TOLERANCE:
            raise SystemExit(f"{name} differs from scikit-bio by {difference:.2g}")
        taken = race({"ours": ours, "theirs": theirs}, args.rounds)
        mine, other = 1e3 * taken["ours"], 1e3 * taken["theirs"]
        times = f"{mine:7.1f} ms{mine / copy:11.1f}{other:9.1f} ms{other / mine:8.2f}"
        print(f"{name:10}{times}{difference:13.1e}")


if __name__ == "__main__":
    main()
