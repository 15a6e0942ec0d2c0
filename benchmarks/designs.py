"""How often intervals contain the truth where samples share groups or items.

Each design is drawn again and again with fresh groups, sources and items; a million independent
comparisons give the true values. `--glass` prints the intervals of one file of the size of a glass
collection: 320 sources, 320 same-source and 102,080 different-source comparisons.
"""

import argparse
import time

import numpy as np

from _timing import print_setting
from deciban import Evidence, assess
from deciban.metrics import bootstrap, cllr, detection_cost

KEYS = ("cllr", "cllr_min", "cllr_cal", "eer", "misleading_target", "misleading_other", "accuracy",
        "min_detection_cost")  # fmt: skip


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


def truth(design):
    """Every quantity of a million comparisons, on which PAV hardly overfits."""
    target, other = design.draw_independent(500_000, np.random.default_rng(0))
    llr, y = np.concatenate([target, other]), np.repeat([1, 0], 500_000)
    found = assess(y, Evidence.from_llr(llr), n_resamples=0)
    return {key: found[key].value for key in (*KEYS, "detection_cost")}


def estimate(y, llr, args, **shared):
    """Intervals by their key."""
    shared["n_resamples"] = args.resamples
    if not args.unfitted:
        return assess(y, Evidence.from_llr(llr), **shared)
    return {f.__name__: bootstrap(f, y, llr, **shared) for f in (cllr, detection_cost)}


def coverage(design, args):
    expected, keys = truth(design), ("cllr", "detection_cost") if args.unfitted else KEYS
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--naive", action="store_true", help="beside intervals without the design")
    parser.add_argument("--sizes", type=int, nargs="*", default=[40, 100, 320])
    parser.add_argument("--quick", action="store_true", help="40 draws of sizes 40 and 100")
    parser.add_argument("--unfitted", action="store_true", help="Cllr and detection cost only")
    parser.add_argument("--glass", action="store_true", help="only the file of 102,400 comparisons")
    args = parser.parse_args()
    if args.quick:
        args.draws, args.sizes = 40, [40, 100]
    print_setting("deciban", "numpy", "scipy")
    if args.glass:
        return glass(args)
    for design in designs(args.sizes):
        coverage(design, args)
    return None


if __name__ == "__main__":
    main()
