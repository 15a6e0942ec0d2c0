"""How often intervals of Evidence.estimate_prior contain the true class mix, and level of its test.

Evidence is the true log-likelihoods of Gaussian classes at equal distances, from weak (LLRs of 0.5
nat on average) to strong, or names the class outright. The class mix is drawn with the samples.
Coverage is the mean over classes, and that of the class with the lowest. Level: how often p <= 0.05
against the true mix.
"""

import argparse

import numpy as np

from _timing import print_setting
from deciban import Evidence, LinearDiscriminant

SIZES = (30, 100, 1000, 10_000)
STRENGTHS = {"weak": 1.0, "medium": 2.0, "strong": 5.0, "certain": np.inf}  # divergence: its square


def mixes(D):
    """An even mix, one with a rare class, and one that lacks a class."""
    few = np.full(D - 1, 1 / (D - 1))
    return {
        "even": np.full(D, 1 / D),
        "2 %": np.append(0.98 * few, 0.02),
        "none": np.append(few, 0),
    }


def features(y, D, strength, rng):
    return rng.normal(size=(len(y), D)) + strength / np.sqrt(2) * np.eye(D)[y]


def draw(mix, n, strength, rng):
    D = len(mix)
    y = rng.choice(D, n, p=mix)
    if np.isinf(strength):
        return Evidence.from_likelihoods(np.eye(D)[y])
    return Evidence(strength / np.sqrt(2) * features(y, D, strength, rng))


def measure(mix, n, strength, draws, learn_from=0):
    """Lowest coverage of a class, mean width, and level; in percent."""
    held, width, rejected = np.zeros(len(mix)), 0.0, 0
    rng = np.random.default_rng([n, len(mix), int(min(strength, 99) * 10), learn_from])
    for _ in range(draws):
        if learn_from:
            y = np.arange(learn_from) % len(mix)
            model = LinearDiscriminant().fit(features(y, len(mix), strength, rng), y)
            truth = rng.choice(len(mix), n, p=mix)
            evidence = model.evidence(features(truth, len(mix), strength, rng))
        else:
            evidence = draw(mix, n, strength, rng)
        found = evidence.estimate_prior(mix if mix.min() > 0 else None, n_resamples=199, rng=rng)
        held += (found.low <= mix + 1e-9) & (mix <= found.high + 1e-9)
        width += float(np.mean(found.high - found.low))
        rejected += found.p_value is not None and found.p_value <= 0.05
    level = f"{100 * rejected / draws:3.0f} %" if mix.min() > 0 else "   – "
    mean, lowest = (100 * share / draws for share in (held.mean(), held.min()))
    return f"{mean:3.0f}/{lowest:3.0f} % (±{50 * width / draws:4.1f}), {level}"


def power(draws):
    """How often a shift from even odds is found, two classes."""
    for share in (0.6, 0.8):
        for name, strength in STRENGTHS.items():
            cells = []
            for n in SIZES[:3]:
                rng = np.random.default_rng(n)
                mix = np.array([share, 1 - share])
                tests = (draw(mix, n, strength, rng) for _ in range(draws))
                found = [e.estimate_prior([0.5, 0.5], n_resamples=199).p_value for e in tests]
                cells.append(f"{n}: {100 * np.mean(np.array(found) <= 0.05):3.0f} %")
            print(f"  {share:.0%} instead of 50 %, {name:8s} {'   '.join(cells)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400, help="of each cell; half at 10,000")
    parser.add_argument("--quick", action="store_true", help="50 draws, up to 1,000 samples")
    parser.add_argument("--classes", type=int, nargs="*", default=(2, 3, 10))
    args = parser.parse_args()
    sizes, draws = (SIZES[:3], 50) if args.quick else (SIZES, args.draws)
    print_setting("deciban", "numpy", "scipy")
    print(
        f"{draws} draws; 95 % intervals: coverage, mean/lowest (half width, points), level at 5 %"
    )
    for D in args.classes:
        for kind, mix in mixes(D).items():
            for name, strength in STRENGTHS.items():
                cells = [
                    f"{n}: " + measure(mix, n, strength, draws if n < 10_000 else draws // 2)
                    for n in sizes
                ]
                print(f"{D:2d} classes, {kind:4s} {name:8s} {'   '.join(cells)}", flush=True)
    print("power of the test:")
    power(draws)
    print("evidence of an LDA that learned from 60 or 600 samples, 3 classes, even, medium:")
    for learn_from in (60, 600):
        cells = [f"{n}: {measure(np.full(3, 1 / 3), n, 2.0, draws, learn_from)}" for n in SIZES[:3]]
        print(f"  {learn_from:4d} {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
