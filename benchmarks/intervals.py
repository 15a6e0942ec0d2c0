"""How often intervals contain the truth, for each kind of quantity and design.

python benchmarks/intervals.py metrics|llr|points|mix|sets|designs [--help]
"""

import argparse
import itertools
import time
import warnings
from functools import partial
from multiprocessing import Pool
from statistics import NormalDist, fmean

import numpy as np
from scipy import stats

from _timing import print_setting, run_part
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, assess, compare, metrics
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    FusionCalibrator,
    GaussianCalibrator,
)
from deciban.metrics import OperatingPoint, bootstrap, c_avg, cllr, detection_cost

# metrics

KEYS_METRICS = ("cllr", "cllr_min", "cllr_cal", "eer", "min_detection_cost", "accuracy")
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


def draw_metrics(shape, size, n_other, n_target, rng):
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


def truth_metrics(shape, size, distortion):
    y, llr = draw_metrics(shape, size, 1_000_000, 1_000_000, np.random.default_rng(99))
    bent, best = (
        assess(y, Evidence.from_llr(x), n_resamples=0) for x in (bend(llr, *distortion), llr)
    )
    values = {key: bent[key].value for key in KEYS_METRICS}
    values["cllr_min"], values["min_detection_cost"] = (
        best[key].value for key in ("cllr", "detection_cost")
    )
    values["cllr_cal"] = values["cllr"] - values["cllr_min"]
    return values


def intervals(case, resamples, seed):
    shape, size, distortion, n_other, n_target = case
    y, llr = draw_metrics(shape, size, n_other, n_target, np.random.default_rng([seed, n_target]))
    found = assess(y, Evidence.from_llr(bend(llr, *distortion)), n_resamples=resamples)
    return [(found[key].low, found[key].high) for key in KEYS_METRICS]


def coverage_metrics(args, pool):
    worst = dict.fromkeys(KEYS_METRICS, 1.0)
    for case in CASES:
        expected = truth_metrics(*case[:3])
        found = np.array(pool.map(partial(intervals, case, args.resamples), range(args.draws)))
        shares = []
        for k, key in enumerate(KEYS_METRICS):
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
    y, llr = draw_metrics("gauss", 27.84, 102_080, 320, np.random.default_rng(seed))
    llr = scale * llr + offset
    return metrics.bootstrap(metrics.cllr_cal, y, llr, n_resamples=resamples).low > 0


def power_metrics(args, pool):
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
    return [found[key].verdict.endswith("better") for key in KEYS_METRICS]


def equal(args, pool):
    for n in (40, 100, 500):
        found = pool.map(partial(separated, n, args.resamples), range(args.draws))
        rates = (
            f"{key} {100 * k:.0f} %"
            for key, k in zip(KEYS_METRICS, np.mean(found, axis=0), strict=True)
        )
        print(f"two equal systems, {n} per class, separated:", *rates, sep="  ", flush=True)


def metrics_part(arguments):
    """How often intervals contain the true value, and what they can tell apart.

    Three simulations, in which the truth is known:

    coverage
        Intervals of every quantity of two classes, for LLRs that are Gaussian, that have heavy
        tails or that take five values only; calibrated, too strong, too weak, shifted or bent;
        20 to 3,000 samples of a class. The costs of two million samples count as the true ones.
    several
        The same for three and five classes, whose recalibration is an affine map.
    power
        Few targets and many others, of which recalibration would save 0.0296 of 0.0460 bit: how
        often the interval of Cllr_cal excludes zero.
    equal
        Two systems that are equally good: how often ``compare`` calls one of them better.
    """
    parser = argparse.ArgumentParser(
        description=metrics_part.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["coverage", "several", "power", "equal"])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="20 draws")
    args = parser.parse_args(arguments)
    if args.quick:
        args.draws = 20
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.draws} draws, {args.resamples} resamples, nominal 95 %")
    with Pool(args.workers) as pool:
        for part in args.parts:
            PARTS[part](args, pool)


PARTS = {"coverage": coverage_metrics, "several": several, "power": power_metrics, "equal": equal}


# llr

SIZES_LLR = (10, 30, 100, 300)


def draw_llr(family, n, rng):
    """Distorted evidence, true evidence and classes."""
    l, y = family.sample([n] * family.n_classes, rng)
    return family.evidence(2 * l + 0.5), family.evidence(l), y


def draw_systems(family, n, rng):
    """Two independent systems, one of them distorted: the true LLR is their sum."""
    one, y = family.sample([n] * family.n_classes, rng)
    two, _ = family.sample([n] * family.n_classes, rng)
    return {"a": family.evidence(2 * one), "b": family.evidence(two)}, family.evidence(one + two), y


def coverage_llr(calibrator, draw_llr, family, n, draws):
    held, width = [], []
    for seed in range(draws):
        rng = np.random.default_rng([seed, n])
        X, _, y = draw_llr(family, n, rng)
        new, true, _ = draw_llr(family, 50, rng)
        calibrator.fit(X, y)
        a, b = family.classes[1], family.classes[0]
        low, high = calibrator.interval(new, a, b)
        llr = true.llr(a, b)
        held.append(np.mean((low <= llr) & (llr <= high)))
        width.append(np.median(high - low))
    return 100 * np.mean(held), np.median(width)


def llr_part(arguments):
    """How often the interval of one LLR contains the true LLR, by calibrator and number of
    samples.

    Scores are calibrated LLRs through an affine map, which the calibrators must undo: the true
    LLR of each new score is known. Coverage is the mean over new samples of both classes and
    over fits.
    """
    parser = argparse.ArgumentParser(description=llr_part.__doc__)
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--quick", action="store_true", help="40 fits each")
    args = parser.parse_args(arguments)
    draws = 40 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"{draws} fits each; nominal 95 %; in brackets the median width in nats")
    two = {d: CalibratedGaussian.from_divergences([d]) for d in (1.0, 4.0, 9.0)}
    three = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    cases = [(f"two classes, {d:g} nats", f, draw_llr) for d, f in two.items()]
    cases.append(("three classes", three, draw_llr))
    plain = [AffineCalibrator(), GaussianCalibrator(), FusionCalibrator()]
    for title, family, how in cases:
        for calibrator in plain:
            report(title, calibrator, how, family, draws)
    report("two systems, 2 × 4 nats", FusionCalibrator(), draw_systems, two[4.0], draws)
    report("two systems, three classes", FusionCalibrator(), draw_systems, three, draws)
    for inner in (AffineCalibrator(), GaussianCalibrator()):
        bootstrap = BootstrapCalibrator(inner, n_resamples=100)
        report("two classes, 4 nats", bootstrap, draw_llr, two[4.0], draws // 5)


def report(title, calibrator, how, family, draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [coverage_llr(calibrator, how, family, n, draws) for n in SIZES_LLR]
    cells = "  ".join(
        f"{n}: {held:.1f} % ({width:.2f})"
        for n, (held, width) in zip(SIZES_LLR, found, strict=True)
    )
    inner = getattr(calibrator, "calibrator", None)
    name = type(inner or calibrator).__name__.removesuffix("Calibrator").lower()
    name += " by bootstrap" * (inner is not None)
    print(f"{title:27s} {name:21s} {cells}", flush=True)


# points

POINTS = (OperatingPoint(10, 1, 0.01), OperatingPoint(1, 1, 0.05), OperatingPoint(1, 1, 0.005))


def true_cost(point, divergence):
    """Normalized detection cost of calibrated Gaussian LLRs."""
    target, other = (
        NormalDist(sign * divergence / 2, divergence**0.5).cdf(point.threshold) for sign in (1, -1)
    )
    miss, false_alarm = point.cost_miss * point.prior, point.cost_false_alarm * (1 - point.prior)
    return (miss * target + false_alarm * (1 - other)) / min(miss, false_alarm)


def two_classes(divergence, n_target, n_other, args):
    truth = {f"detection_cost@{point}": true_cost(point, divergence) for point in POINTS}
    truth["c_primary"] = fmean(truth.values())
    truth |= {f"min_{key}": value for key, value in truth.items()}
    held, width = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    y = np.repeat([1, 0], [n_target, n_other])
    for seed in range(args.draws):
        rng = np.random.default_rng([seed, n_target])
        llr = rng.normal((2 * y - 1) * divergence / 2, divergence**0.5)
        found = assess(y, Evidence.from_llr(llr), operating_points=POINTS,
                       n_resamples=args.resamples)  # fmt: skip
        for key, value in truth.items():
            held[key] += found[key].low <= value <= found[key].high
            width[key] += (found[key].high - found[key].low) / args.draws
    print(f"{n_target} targets, {n_other} others, true C_primary {truth['c_primary']:.3f}:")
    for key in truth:
        print(f"  {key:32} {100 * held[key] / args.draws:5.1f} %, mean width {width[key]:.3f}")


def five_classes(n, args):
    family = CalibratedGaussian.from_divergences(np.linspace(4, 8, 10), nearest=True)
    l, y = family.sample([200_000] * 5, rng=0)
    open_set = {"out_of_set": y.max()}
    truth = {p: c_avg(y, family.evidence(l), p_target=p, **open_set) for p in (0.5, 0.1)}
    held = dict.fromkeys(("C_avg", "open set at 1:1:0.1"), 0)
    for seed in range(args.draws):
        l, y = family.sample([n] * 5, rng=seed)
        found = assess(y, family.evidence(l), c_avg=True, operating_points=[(1, 1, 0.1)],
                       n_resamples=args.resamples, **open_set)  # fmt: skip
        pairs = ((found["c_avg"], truth[0.5]), (found["detection_cost@1:1:0.1"], truth[0.1] / 0.1))
        for name, (q, value) in zip(held, pairs, strict=True):
            held[name] += q.low <= value <= q.high
    rates = ", ".join(f"{name} {100 * k / args.draws:.1f} %" for name, k in held.items())
    print(f"five classes, {n} of each, true C_avg {truth[0.5]:.3f}: {rates}")


def points_part(arguments):
    """How often intervals of costs at operating points, of C_primary and of C_avg contain the
    truth.

    LLRs of two classes are calibrated and Gaussian, so that error rates are known in closed
    form and the Bayes threshold is the best. Five classes are those of a calibrated Gaussian
    family, whose C_avg on a million samples counts as the truth.
    """
    parser = argparse.ArgumentParser(description=points_part.__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="30 draws")
    args = parser.parse_args(arguments)
    args.draws = 30 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.draws} draws, nominal 95 %")
    for divergence in (6.0, 16.0):
        for n_target, n_other in ((100, 1000), (1000, 10_000)):
            two_classes(divergence, n_target, n_other, args)
    for n in (50, 200):
        five_classes(n, args)


# mix

SIZES_MIX = (30, 100, 1000, 10_000)
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


def draw_mix(mix, n, strength, rng):
    D = len(mix)
    y = rng.choice(D, n, p=mix)
    if np.isinf(strength):
        return Evidence.from_likelihoods(np.eye(D)[y])
    return Evidence(strength / np.sqrt(2) * features(y, D, strength, rng))


def measure_mix(mix, n, strength, draws, learn_from=0):
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
            evidence = draw_mix(mix, n, strength, rng)
        found = evidence.estimate_prior(mix if mix.min() > 0 else None, n_resamples=199, rng=rng)
        held += (found.low <= mix + 1e-9) & (mix <= found.high + 1e-9)
        width += float(np.mean(found.high - found.low))
        rejected += found.p_value is not None and found.p_value <= 0.05
    level = f"{100 * rejected / draws:3.0f} %" if mix.min() > 0 else "   – "
    mean, lowest = (100 * share / draws for share in (held.mean(), held.min()))
    return f"{mean:3.0f}/{lowest:3.0f} % (±{50 * width / draws:4.1f}), {level}"


def power_mix(draws):
    """How often a shift from even odds is found, two classes."""
    for share in (0.6, 0.8):
        for name, strength in STRENGTHS.items():
            cells = []
            for n in SIZES_MIX[:3]:
                rng = np.random.default_rng(n)
                mix = np.array([share, 1 - share])
                tests = (draw_mix(mix, n, strength, rng) for _ in range(draws))
                found = [e.estimate_prior([0.5, 0.5], n_resamples=199).p_value for e in tests]
                cells.append(f"{n}: {100 * np.mean(np.array(found) <= 0.05):3.0f} %")
            print(f"  {share:.0%} instead of 50 %, {name:8s} {'   '.join(cells)}", flush=True)


def mix_part(arguments):
    """How often intervals of Evidence.estimate_prior contain the true class mix, and level of its
    test.

    Evidence is the true log-likelihoods of Gaussian classes at equal distances, from weak (LLRs
    of 0.5 nat on average) to strong, or names the class outright. The class mix is drawn with
    the samples. Coverage is the mean over classes, and that of the class with the lowest.
    Level: how often p <= 0.05 against the true mix.
    """
    parser = argparse.ArgumentParser(description=mix_part.__doc__)
    parser.add_argument("--draws", type=int, default=400, help="of each cell; half at 10,000")
    parser.add_argument("--quick", action="store_true", help="50 draws, up to 1,000 samples")
    parser.add_argument("--classes", type=int, nargs="*", default=(2, 3, 10))
    args = parser.parse_args(arguments)
    sizes, draws = (SIZES_MIX[:3], 50) if args.quick else (SIZES_MIX, args.draws)
    print_setting("deciban", "numpy", "scipy")
    print(
        f"{draws} draws; 95 % intervals: coverage, mean/lowest (half width, points), level at 5 %"
    )
    for D in args.classes:
        for kind, mix in mixes(D).items():
            for name, strength in STRENGTHS.items():
                cells = [
                    f"{n}: " + measure_mix(mix, n, strength, draws if n < 10_000 else draws // 2)
                    for n in sizes
                ]
                print(f"{D:2d} classes, {kind:4s} {name:8s} {'   '.join(cells)}", flush=True)
    print("power of the test:")
    power_mix(draws)
    print("evidence of an LDA that learned from 60 or 600 samples, 3 classes, even, medium:")
    for learn_from in (60, 600):
        cells = [
            f"{n}: {measure_mix(np.full(3, 1 / 3), n, 2.0, draws, learn_from)}"
            for n in SIZES_MIX[:3]
        ]
        print(f"  {learn_from:4d} {'   '.join(cells)}", flush=True)


# sets

ALPHA, N_NEW = 0.1, 200
MIXES = {3: [0.6, 0.3, 0.1], 10: [0.28] + [0.08] * 9}


def draw_sets(mix, n, factor, rng, strength=1.5):
    y = rng.choice(len(mix), n, p=mix)
    x = rng.normal(size=(n, len(mix))) + strength * np.eye(len(mix))[y]
    return y, Evidence(factor * strength * x)


def measure_sets(D, n, factor, draws):
    """Coverage and mean size of each kind of sets; by class, the coverage of the lowest class."""
    rng = np.random.default_rng([D, n, int(10 * factor)])
    mix, other = np.array(MIXES[D]), np.array(MIXES[D])[::-1]
    held = {name: np.zeros(D) for name in ("posterior", "split", "shifted", "by class")}
    count = {name: np.zeros(D) for name in held}
    size = dict.fromkeys(held, 0.0)
    for _ in range(draws):
        calibration = draw_sets(mix, n, factor, rng)
        for name in held:
            y, new = draw_sets(other if name == "shifted" else mix, N_NEW, factor, rng)
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


def sets_part(arguments):
    """Coverage and size of Evidence.prediction_set, for evidence that is calibrated or not.

    Gaussian classes at equal distances; the evidence is the true log-likelihoods times a
    factor: 0.3 is too weak, 3 too strong. New samples have the class mix of the calibration
    samples, or another one.
    """
    parser = argparse.ArgumentParser(description=sets_part.__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="60 draws")
    args = parser.parse_args(arguments)
    draws = 60 if args.quick else args.draws
    warnings.simplefilter("ignore")
    print_setting("deciban", "numpy")
    print(f"{draws} draws, {N_NEW} new samples each; nominal 90 %: coverage (mean size)")
    for D in MIXES:
        for n in (30, 100, 1000):
            for factor in (0.3, 1.0, 3.0):
                title = f"{D:2d} classes, {n:4d} samples, factor {factor:3.1f}"
                print(f"{title}  {measure_sets(D, n, factor, draws)}", flush=True)


# designs

KEYS_DESIGNS = (
    *("cllr", "cllr_min", "cllr_cal", "eer"),
    *("misleading_target", "misleading_other", "accuracy", "min_detection_cost"),
)


def two_level_llr(x, y, noise):
    """LLR of two measurements whose sources are normal, with variance one in each dimension."""
    v = 1 + noise**2
    det = v * v - 1
    squares = x**2 + y**2
    return ((squares / v - (v * squares - 2 * x * y) / det - np.log(det / v**2)) / 2).sum(-1)


class Sources:
    """Comparisons of measurements by the two-level model."""

    def __init__(self, name, m, dimensions, noise, each=1):
        self.name = f"{name}, {m} sources"
        self.m, self.dimensions, self.noise, self.each = m, dimensions, noise, each

    def draw(self, rng):
        shape = (self.m, self.dimensions)
        source = rng.normal(size=shape)
        if self.each == 1:  # a reference and a questioned measurement of each source
            x, y = (source + self.noise * rng.normal(size=shape) for _ in range(2))
            i, j = (index.ravel() for index in np.indices((self.m, self.m)))
            llr = two_level_llr(x[i], y[j], self.noise)
            return (i == j).astype(int), llr, {"items": (i, j)}
        of = np.repeat(np.arange(self.m), self.each)  # every pair of measurements
        x = source[of] + self.noise * rng.normal(size=(len(of), self.dimensions))
        i, j = np.triu_indices(len(of), 1)
        llr = two_level_llr(x[i], x[j], self.noise)
        return (of[i] == of[j]).astype(int), llr, {"items": (i, j)}

    def draw_independent(self, n, rng):
        a, b = rng.normal(size=(2, n, self.dimensions))
        x, y, z = (s + self.noise * rng.normal(size=s.shape) for s in (a, a, b))
        return [two_level_llr(x, other, self.noise) for other in (y, z)]


class Effects:
    """LLRs with random effects of models and of segments, each segment spoken by a model.

    The effects shift the LLRs or, as quality does, scale their noise.
    """

    def __init__(self, name, m, each, shift, scale=0.0):
        self.name, self.m, self.each = f"{name}, {m} models", m, each
        self.shift, self.scale = shift, scale

    def llr(self, y, effect, rng):
        noise = np.exp(self.scale * effect) * rng.normal(size=len(effect))
        return 4.0 * y - 2 + self.shift * effect + noise

    def draw(self, rng):
        i, j = (index.ravel() for index in np.indices((self.m, self.m * self.each)))
        y = (j // self.each == i).astype(int)
        a, b = rng.normal(size=self.m), rng.normal(size=self.m * self.each)
        return y, self.llr(y, a[i] + b[j], rng), {"items": (i, j + self.m)}

    def draw_independent(self, n, rng):
        return [self.llr(y, rng.normal(size=(2, n)).sum(axis=0), rng) for y in (1, 0)]


class Groups:
    """Samples of both classes in groups, each with an effect of its own."""

    def __init__(self, name, m, each, effect):
        self.name, self.m, self.each, self.effect = f"{name}, {m} groups", m, each, effect

    def draw(self, rng):
        group = np.repeat(np.arange(self.m), self.each)
        y = np.arange(len(group)) % 2
        llr = 4.0 * y - 2 + self.effect * rng.normal(size=self.m)[group]
        return y, llr + rng.normal(size=len(y)), {"groups": group}

    def draw_independent(self, n, rng):
        sd = np.sqrt(1 + self.effect**2)
        return [rng.normal(mean, sd, n) for mean in (2.0, -2.0)]


class Disjoint(Sources):
    """Comparisons that share no item: the design must not widen the intervals."""

    def draw(self, rng):
        target, other = self.draw_independent(self.m, rng)
        y = np.repeat([1, 0], self.m)
        items = np.arange(4 * self.m).reshape(2, -1)
        return y, np.concatenate([target, other]), {"items": tuple(items)}


def designs(sizes):
    for m in sizes:
        yield Sources("reference and questioned, 3 dimensions", m, 3, 0.3)
        yield Sources("reference and questioned, few errors", m, 4, 0.18)
        yield Effects("models and segments that shift LLRs", m, 2, 0.7)
        yield Effects("models and segments of different quality", m, 2, 0.0, 0.3)
        yield Groups("one factor", m, 20, 1.0)
    yield Sources("every pair of three measurements each", 50, 2, 0.3, 3)
    yield Disjoint("no shared item", 100, 3, 0.3)


def truth_designs(design):
    """Every quantity of a million comparisons, on which PAV hardly overfits."""
    target, other = design.draw_independent(500_000, np.random.default_rng(0))
    llr, y = np.concatenate([target, other]), np.repeat([1, 0], 500_000)
    found = assess(y, Evidence.from_llr(llr), n_resamples=0)
    return {key: found[key].value for key in (*KEYS_DESIGNS, "detection_cost")}


def estimate(y, llr, args, **shared):
    """Intervals by their key."""
    shared["n_resamples"] = args.resamples
    if not args.unfitted:
        return assess(y, Evidence.from_llr(llr), **shared)
    return {f.__name__: bootstrap(f, y, llr, **shared) for f in (cllr, detection_cost)}


def coverage_designs(design, args):
    expected, keys = (
        truth_designs(design),
        ("cllr", "detection_cost") if args.unfitted else KEYS_DESIGNS,
    )
    held, width = ({naive: dict.fromkeys(keys, 0.0) for naive in (False, True)} for _ in range(2))
    for seed in range(args.draws):
        y, llr, shared = design.draw(np.random.default_rng([seed, design.m]))
        for naive in (False, True) if args.naive else (False,):
            found = estimate(y, llr, args, **({} if naive else shared))
            for key in keys:
                q = found[key]
                held[naive][key] += q.low - 5e-4 <= expected[key] <= q.high + 5e-4
                width[naive][key] += (q.high - q.low) / args.draws
    print(design.name)
    for key in keys:
        line = f"  {key:20} {expected[key]:8.4f}  {100 * held[False][key] / args.draws:5.1f} %"
        line += f"  mean width {width[False][key]:.4f}"
        if args.naive:
            rate = 100 * held[True][key] / args.draws
            line += f"   independent: {rate:5.1f} %  {width[True][key]:.4f}"
        print(line, flush=True)


def glass(args):
    """One file of the size of a glass collection, with and without its items."""
    y, llr, shared = Sources("", 320, 4, 0.18).draw(np.random.default_rng(3))
    for options in ({}, shared):
        start = time.perf_counter()
        found = assess(y, Evidence.from_llr(llr), **options)
        print(f"{found.design} ({time.perf_counter() - start:.1f} s)")
        for q in found.quantities:
            print(f"  {q.key:20} {q.value:8.4f}  {q.low:8.4f} to {q.high:8.4f}")


def designs_part(arguments):
    """How often intervals contain the truth where samples share groups or items.

    Each design is drawn again and again with fresh groups, sources and items; a million
    independent comparisons give the true values. `--glass` prints the intervals of one file of
    the size of a glass collection: 320 sources, 320 same-source and 102,080 different-source
    comparisons.
    """
    parser = argparse.ArgumentParser(description=designs_part.__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--naive", action="store_true", help="beside intervals without the design")
    parser.add_argument("--sizes", type=int, nargs="*", default=[40, 100, 320])
    parser.add_argument("--quick", action="store_true", help="40 draws of sizes 40 and 100")
    parser.add_argument("--unfitted", action="store_true", help="Cllr and detection cost only")
    parser.add_argument("--glass", action="store_true", help="only the file of 102,400 comparisons")
    args = parser.parse_args(arguments)
    if args.quick:
        args.draws, args.sizes = 40, [40, 100]
    print_setting("deciban", "numpy", "scipy")
    if args.glass:
        return glass(args)
    for design in designs(args.sizes):
        coverage_designs(design, args)
    return None


if __name__ == "__main__":
    run_part(
        metrics=metrics_part,
        llr=llr_part,
        points=points_part,
        mix=mix_part,
        sets=sets_part,
        designs=designs_part,
    )
