"""Level, power and delay of e-values: calibration and class mix of streams, sets of classes.

Streams come from calibrated Gaussian families of 2, 3 and 10 classes, and from one of two classes
with heavy tails (LLRs of Cauchy densities). Level: how often an alarm is raised at any time within
n samples, at 5 %. Beside it, `calibration_test` on all samples at the end, and after every 100th
sample, which is not what it is for. Then which fault is named at the alarm, and how late the change
is dated.
"""

import argparse
from collections import Counter

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence
from deciban.metrics import calibration_test
from deciban.monitoring import Monitor

ALPHA = 0.05


def gaussian(D):
    family = CalibratedGaussian.from_divergences(np.full(D * (D - 1) // 2, 3.0))
    root = np.linalg.cholesky(np.atleast_2d(family.covariance))

    def draw(y, rng):
        l = family.means[y] + rng.normal(size=(len(y), D - 1)) @ root.T
        return family.evidence(l).log_likelihoods

    return draw


def cauchy(y, rng):
    x = rng.standard_cauchy(len(y)) + 2.0 * y
    return -np.log1p((x[:, None] - np.array([0.0, 2.0])) ** 2)


WORLDS = {"D = 2": (2, gaussian(2)), "D = 3": (3, gaussian(3)), "D = 10": (10, gaussian(10)),
          "D = 2, Cauchy": (2, cauchy)}  # fmt: skip


def changes(D):
    """Name, factor, offset and class mix of each stream."""
    even = np.full(D, 1 / D)
    shifted = np.append(0.7, np.full(D - 1, 0.3 / (D - 1))) if D < 10 else even * 0.9
    shifted[0] += 1 - shifted.sum()
    return {
        "nothing": (1.0, 0.0, even),
        "factor 1.5": (1.5, 0.0, even),
        "factor 0.67": (0.67, 0.0, even),
        "factor 3": (3.0, 0.0, even),
        "offset 1 nat": (1.0, np.eye(D)[0], even),
        "mix": (1.0, 0.0, shifted),
    }


def stream(world, change, n, rng):
    D, draw = WORLDS[world]
    factor, offset, mix = changes(D)[change]
    y = rng.choice(D, n, p=mix)
    return factor * draw(y, rng) + offset, y


def share(values):
    return f"{100 * np.mean(values):3.0f} %"


def delay(alarms):
    found = [row + 1 for row in alarms if row is not None]
    median = f" at {np.median(found):5.0f}" if found else " " * 9
    return share([row is not None for row in alarms]) + median


def print_alarms(n, draws):
    print(f"\nAlarms at {ALPHA:.0%} within {n} samples, median sample of the alarm ({draws} draws)")
    print(f"{'':15s}{'change':14s}{'calibration':>16s}{'mix, labels':>16s}{'mix, no labels':>16s}"
          f"{'test at end':>13s}{'test, peeking':>15s}")  # fmt: skip
    for world, (D, _) in WORLDS.items():
        for change in changes(D):
            found = {"calibration": [], "mix": [], "unlabeled": [], "end": [], "peeking": []}
            for seed in range(draws):
                rng = np.random.default_rng([seed, D])
                l, y = stream(world, change, n, rng)
                state = Monitor(range(D), alpha=ALPHA).update(l, y)
                found["calibration"].append(state.calibration.alarm)
                found["mix"].append(state.mix.alarm)
                found["unlabeled"].append(Monitor(range(D), alpha=ALPHA).update(l).mix.alarm)
                p = [
                    calibration_test(y[:k], Evidence(l[:k]), n_draws=199, rng=seed).p_value
                    for k in range(100, n + 1, 100)
                ]
                found["end"].append(p[-1] <= ALPHA)
                found["peeking"].append(min(p) <= ALPHA)
            cells = "".join(f"{delay(found[k]):>16s}" for k in ("calibration", "mix", "unlabeled"))
            print(f"{world:15s}{change:14s}{cells}{share(found['end']):>13s}"
                  f"{share(found['peeking']):>15s}", flush=True)  # fmt: skip


FAULTS = {  # factor, offset in favor of the first class, what to name
    "factor 1.5": (1.5, 0.0, "too strong"), "factor 2": (2.0, 0.0, "too strong"),
    "factor 3": (3.0, 0.0, "too strong"), "factor 0.67": (0.67, 0.0, "too weak"),
    "factor 0.5": (0.5, 0.0, "too weak"), "offset 0.7": (1.0, 0.7, "in favor of 0"),
    "offset 1": (1.0, 1.0, "in favor of 0"), "offset 1.5": (1.0, 1.5, "in favor of 0"),
}  # fmt: skip


def print_faults(n, calm, draws):
    print(
        f"\nFaults as named at the alarm within {n} samples after {calm} calm ones ({draws} draws,"
    )
    print("alpha 1 %): median sample of the alarm after the change, and of its date, 10 to 90 %")
    for D in (2, 3, 5):
        draw = gaussian(D)
        for name, (factor, offset, truth) in FAULTS.items():
            named, alarms, dates = Counter(), [], []
            for seed in range(draws):
                rng = np.random.default_rng([seed, D, 13])
                y = rng.choice(D, calm + n)
                l = draw(y, rng).copy()
                l[calm:] = factor * l[calm:] + offset * np.eye(D)[0]
                state = Monitor(range(D)).update(l, y)
                if state.calibration.alarm is not None and state.calibration.alarm >= calm:
                    named[state.fault] += 1
                    alarms.append(state.calibration.alarm - calm)
                    dates.append(state.calibration.since - calm)
            right, unclear = named.pop(truth, 0), named.pop("not clear", 0)
            low, median, high = np.percentile(dates or [np.nan], [10, 50, 90])
            print(f"D = {D}  {name:12s}{len(alarms):4d} alarms: {right:3d} right, {unclear:2d} not "
                  f"clear, {named.total():2d} wrong {dict(named) or ''}  alarm "
                  f"{np.median(alarms or [np.nan]):5.0f}, date {median:4.0f} "
                  f"({low:.0f} to {high:.0f})", flush=True)  # fmt: skip


def print_detection(n, draws):
    alpha = 0.001
    print(f"\nWith restarts and without, alpha = {alpha}: median number of samples to an alarm")
    print(f"after {n} calm ones, and alarms before ({draws} draws)")
    for change in ("nothing", "factor 1.5", "factor 0.67", "factor 3", "offset 1 nat", "mix"):
        line = f"D = 3  {change:14s}"
        for restart in (True, False):
            before, after = [0, 0], [[], []]
            for seed in range(draws):
                rng = np.random.default_rng([seed, 7])
                monitor = Monitor(range(3), alpha=alpha, restart=restart)
                monitor.update(*stream("D = 3", "nothing", n, rng))
                state = monitor.update(*stream("D = 3", change, 2 * n, rng))
                for k, watch in enumerate((state.calibration, state.mix)):
                    early = watch.alarm is not None and watch.alarm < n
                    before[k] += early
                    late = 2 * n if watch.alarm is None else watch.alarm + 1 - n
                    after[k] += [] if early else [late]
            text = (
                f"{what} {np.median(a) if a else np.nan:6.0f} ({share([b / draws])} before)"
                for what, b, a in zip(("calibration", "mix"), before, after, strict=True)
            )
            line += f"   {'restarts' if restart else 'none'}: {', '.join(text)}"
        print(line, flush=True)
    print(f"{2 * n} stands for no alarm.")


def print_run_length(draws):
    print(f"\nMean number of samples to a false alarm, restarts, D = 3 ({draws} draws)")
    for alpha in (0.01, 0.001):
        rows = [[], []]
        for seed in range(draws):
            rng, monitor = (
                np.random.default_rng([seed, 11]),
                Monitor(range(3), alpha=alpha, restart=True),
            )
            state = monitor.state
            while (
                None in (state.calibration.alarm, state.mix.alarm) and state.n_samples < 20 / alpha
            ):
                state = monitor.update(*stream("D = 3", "nothing", 200, rng))
            for k, watch in enumerate((state.calibration, state.mix)):
                rows[k].append(state.n_samples if watch.alarm is None else watch.alarm + 1)
        print(f"alpha = {alpha}: at least {1 / alpha:,.0f}; calibration {np.mean(rows[0]):,.0f}, "
              f"mix {np.mean(rows[1]):,.0f}", flush=True)  # fmt: skip


def print_sets(n):
    print("\nSets of classes at 10 %: coverage under an even mix, under another one, of the class")
    print(f"with the lowest, and mean size ({n} samples)")
    for world, (D, draw) in WORLDS.items():
        rng = np.random.default_rng(D)
        skew = np.append(0.9, np.full(D - 1, 0.1 / (D - 1)))
        y = {"own": rng.choice(D, n), "other": rng.choice(D, n, p=skew[::-1])}
        evidence = {name: Evidence(draw(one, rng)) for name, one in y.items()}
        labeled = rng.choice(D, 1000)
        calibration = (labeled, Evidence(draw(labeled, rng)))
        kinds = {
            "confidence": lambda e: e.confidence_set(0.1),
            "posterior": lambda e: e.prediction_set(0.1),
            "conformal": lambda e, c=calibration: e.prediction_set(0.1, calibration=c),
            "conformal by class": lambda e, c=calibration: e.prediction_set(
                0.1, calibration=c, by_class=True
            ),
        }
        for kind, make in kinds.items():
            sets = {name: make(one) for name, one in evidence.items()}
            held = {name: sets[name].contains(y[name]) for name in sets}
            lowest = min(held["own"][y["own"] == k].mean() for k in range(D))
            print(f"{world:15s}{kind:20s}{share(held['own'])} {share(held['other'])} "
                  f"{share(lowest)}   {sets['own'].sizes.mean():.2f}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print_setting()
    print_sets(2000 if quick else 20_000)
    print_alarms(500 if quick else 1000, 10 if quick else 60)
    for calm in (0, 500):
        print_faults(1500, calm, 5 if quick else 100)
    print_detection(1000, 5 if quick else 40)
    print_run_length(5 if quick else 40)


if __name__ == "__main__":
    main()
