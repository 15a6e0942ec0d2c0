"""How often intervals contain the true value, and what they can tell apart.

Three simulations, in which the truth is known:

coverage
    Intervals of every quantity of two classes, for LLRs that are Gaussian, that have heavy tails or
    that take five values only; calibrated, too strong, too weak, shifted or bent; 20 to 3,000
    samples of a class. The costs of two million samples count as the true ones.
several
    The same for three and five classes, whose recalibration is an affine map.
power
    Few targets and many others, of which recalibration would save 0.0296 of 0.0460 bit: how often
    the interval of Cllr_cal excludes zero.
equal
    Two systems that are equally good: how often ``compare`` calls one of them better.
"""

import argparse
import itertools
from functools import partial
from multiprocessing import Pool

import numpy as np
from scipy import stats

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence, assess, compare, metrics

KEYS = ("cllr", "cllr_min", "cllr_cal", "eer", "min_detection_cost", "accuracy")
CHANCES = np.array([0.5, 0.25, 0.15, 0.07, 0.03])  # of five values under one class
AS_IS = (0.0, 1.0, 1.0)
# shape, divergence or shift, (offset, scale, exponent) of the map, other samples, targets
CASES = [
    *(("gauss", d, AS_IS, n, n) for d in (1.0, 4.0, 12.0, 30.0) for n in (20, 100, 500)),
    ("gauss", 4.0, (0.0, 2.0, 1.0), 50, 50),
    ("gauss", 4.0, (0.0, 0.5, 1.0), 200, 200),
    ("gauss", 4.0, (0.0, 1.0, 1.7), 200, 200),
    ("gauss", 12.0, (0.0, 4.0, 1.0), 100, 100),
    ("gauss", 12.0, (0.0, 1.5, 1.0), 3000, 30),
    ("gauss", 12.0, (1.0, 1.0, 1.0), 3000, 30),
    ("gauss", 4.0, AS_IS, 2000, 20),
    *(("t", d, AS_IS, n, n) for d, n in ((2.0, 30), (2.0, 200), (5.0, 200))),
    ("t", 2.0, (0.0, 1.0, 2.0), 200, 200),
    *(("five values", 0.0, AS_IS, n, n) for n in (30, 300)),
    ("five values", 0.0, (0.0, 2.0, 1.0), 300, 300),
]


def draw(shape, size, n_other, n_target, rng):
    """Classes, and calibrated LLRs in favor of the second."""
    y = np.repeat([0, 1], [n_other, n_target])
    if shape == "gauss":  # their mean is half of their variance
        return y, rng.normal((2 * y - 1) * size / 2, np.sqrt(size))
    if shape == "t":
        x, t = rng.standard_t(4, len(y)) + (2 * y - 1) * size, stats.t(4)
        return y, t.logpdf(x - size) - t.logpdf(x + size)
    x = np.where(y, rng.choice(5, len(y), p=CHANCES[::-1]), rng.choice(5, len(y), p=CHANCES))
    return y, np.log(CHANCES[::-1] / CHANCES)[x]


def bend(llr, offset, scale, exponent):
    return offset + scale * np.sign(llr) * np.abs(llr) ** exponent


def truth(shape, size, distortion):
    y, llr = draw(shape, size, 1_000_000, 1_000_000, np.random.default_rng(99))
    bent, best = (
        assess(y, Evidence.from_llr(x), n_resamples=0) for x in (bend(llr, *distortion), llr)
    )
    values = {key: bent[key].value for key in KEYS}
    values["cllr_min"], values["min_detection_cost"] = (
        best[key].value for key in ("cllr", "detection_cost")
    )
    values["cllr_cal"] = values["cllr"] - values["cllr_min"]
    return values


def intervals(case, resamples, seed):
    shape, size, distortion, n_other, n_target = case
    y, llr = draw(shape, size, n_other, n_target, np.random.default_rng([seed, n_target]))
    found = assess(y, Evidence.from_llr(bend(llr, *distortion)), n_resamples=resamples)
    return [(found[key].low, found[key].high) for key in KEYS]


def coverage(args, pool):
    worst = dict.fromkeys(KEYS, 1.0)
    for case in CASES:
        expected = truth(*case[:3])
        found = np.array(pool.map(partial(intervals, case, args.resamples), range(args.draws)))
        shares = []
        for k, key in enumerate(KEYS):
            low, high = found[:, k].T
            share = np.mean((low - 5e-4 <= expected[key]) & (expected[key] <= high + 5e-4))
            worst[key] = min(worst[key], share)
            shares.append(f"{key} {100 * share:.0f} %")
        shape, size, distortion, n_other, n_target = case
        print(f"{shape} {size:g}, map {distortion}, {n_other} and {n_target}:", *shares, sep="  ",
              flush=True)  # fmt: skip
    print("worst:", *(f"{key} {100 * share:.0f} %" for key, share in worst.items()), sep="  ")


SEVERAL = ("cross_entropy", "discrimination", "calibration", "accuracy", "worst_pair_cllr")


def draw_several(n_classes, n, seed):
    """Classes and calibrated evidence, all pairs four nats apart."""
    family = CalibratedGaussian.from_divergences([4.0] * (n_classes * (n_classes - 1) // 2))
    l, y = family.sample([n] * n_classes, rng=seed)
    return y, family.evidence(l)


def intervals_of_several(n_classes, n, scale, resamples, seed):
    y, evidence = draw_several(n_classes, n, seed)
    found = assess(y, scale * evidence, n_resamples=resamples)
    return [(found[key].low, found[key].high) for key in SEVERAL]


def several(args, pool):
    for n_classes, scale in itertools.product((3, 5), (1.0, 2.0, 0.5)):
        y, evidence = draw_several(n_classes, 100_000, 99)
        found = assess(y, scale * evidence, n_resamples=0)
        expected = {key: found[key].value for key in SEVERAL}
        expected["discrimination"] = metrics.cross_entropy(y, evidence)
        expected["calibration"] = expected["cross_entropy"] - expected["discrimination"]
        for n in (20, 100, 400):
            run = partial(intervals_of_several, n_classes, n, scale, args.resamples)
            low, high = np.array(pool.map(run, range(args.draws // 2))).transpose(2, 1, 0)
            true = np.array([*expected.values()])[:, None]
            shares = np.mean((low - 5e-4 <= true) & (true <= high + 5e-4), axis=1)
            rates = (f"{key} {100 * k:.0f} %" for key, k in zip(SEVERAL, shares, strict=True))
            print(f"{n_classes} classes, {scale:g} times, {n} each:", *rates, sep="  ", flush=True)


def excludes_zero(scale, offset, resamples, seed):
    y, llr = draw("gauss", 27.84, 102_080, 320, np.random.default_rng(seed))
    llr = scale * llr + offset
    return metrics.bootstrap(metrics.cllr_cal, y, llr, n_resamples=resamples).low > 0


def power(args, pool):
    for words, scale, offset in (
        ("too strong", 4.73, 0.0), ("too weak", 0.364, 0.0),
        ("shifted up", 1.0, 3.34), ("shifted down", 1.0, -3.34), ("calibrated", 1.0, 0.0),
    ):  # fmt: skip
        run = partial(excludes_zero, scale, offset, args.resamples)
        share = np.mean(pool.map(run, range(max(10, args.draws // 4))))
        print(f"320 targets, 102,080 others, {words}: Cllr_cal above zero in {100 * share:.0f} %",
              flush=True)  # fmt: skip


def separated(n, resamples, seed):
    rng = np.random.default_rng([seed, n])
    y, shared = np.repeat([0, 1], n), rng.normal(size=2 * n)
    a, b = (
        Evidence.from_llr(4 * y - 2 + np.sqrt(2) * (shared + rng.normal(size=2 * n)))
        for _ in range(2)
    )
    found = compare(y, {"a": a, "b": b}, n_resamples=resamples)
    return [found[key].verdict.endswith("better") for key in KEYS]


def equal(args, pool):
    for n in (40, 100, 500):
        found = pool.map(partial(separated, n, args.resamples), range(args.draws))
        rates = (
            f"{key} {100 * k:.0f} %" for key, k in zip(KEYS, np.mean(found, axis=0), strict=True)
        )
        print(f"two equal systems, {n} per class, separated:", *rates, sep="  ", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["coverage", "several", "power", "equal"])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="20 draws")
    args = parser.parse_args()
    if args.quick:
        args.draws = 20
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.draws} draws, {args.resamples} resamples, nominal 95 %")
    with Pool(args.workers) as pool:
        for part in args.parts:
            PARTS[part](args, pool)


PARTS = {"coverage": coverage, "several": several, "power": power, "equal": equal}


if __name__ == "__main__":
    main()
