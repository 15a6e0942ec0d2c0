"""Seconds of the geometry, metrics, imports and commands, beside peers where there are any.

python benchmarks/speed.py simplex|metrics|imports|cli [--help]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from lir.data.models import LLRData
from lir.metrics import cllr as lir_cllr
from llreval.cllr import cllr as llreval_cllr
from llreval.cllr import min_cllr
from llreval.pav_rocch import PAV
from scipy.optimize import isotonic_regression
from skbio.stats import composition

from _timing import measure_command, print_setting, race, run_part
from deciban import metrics, simplex

# simplex

TOLERANCE = 1e-12


def skbio_distance(x, y):
    """scikit-bio has no distance; this is the definition on its clr."""
    return np.linalg.norm(composition.clr(x) - composition.clr(y), axis=-1)


def simplex_part(arguments):
    """The geometry of 1,000,000 compositions of 10 parts, beside scikit-bio."""
    parser = argparse.ArgumentParser(description=simplex_part.__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)

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


# metrics


def draw(n, rng):
    """Calibrated LLRs of two balanced classes at an equal-error rate of 10 %."""
    y = np.arange(n) % 2
    mean = 3.28475
    return y, rng.normal(scale=np.sqrt(2 * mean), size=n) + mean * (2 * y - 1)


def scipy_cllr_min(y, llr):
    """The usual route: sort positions, isotonic regression, cost of the posteriors."""
    order = np.lexsort((-y, llr))
    label = y[order].astype(float)
    p = isotonic_regression(label).x
    n1 = label.sum()
    n0 = len(label) - n1
    with np.errstate(divide="ignore"):
        recalibrated = np.log(p) - np.log1p(-p) - np.log(n1 / n0)
    is_target = label == 1
    miss = np.logaddexp(0, -recalibrated[is_target]).mean()
    return (miss + np.logaddexp(0, recalibrated[~is_target]).mean()) / (2 * np.log(2))


def report(title, contestants, rounds):
    values = {name: run() for name, run in contestants.items()}
    if max(values.values()) - min(values.values()) > 1e-10:
        raise SystemExit(f"{title}: the results differ: {values}")
    taken = race(contestants, rounds)
    ours = taken.pop("deciban")
    others = "  ".join(f"{name} {1e3 * s:8.1f} ms ({s / ours:.2f}x)" for name, s in taken.items())
    print(f"{title:24}deciban {1e3 * ours:8.1f} ms  {others}")


def metrics_part(arguments):
    """Two-class metrics beside lir, llreval and scipy's isotonic regression, on one thread."""
    parser = argparse.ArgumentParser(description=metrics_part.__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    rng = np.random.default_rng(args.seed)
    print_setting("deciban", "lir", "llreval", "scipy", "numpy")
    print(f"seed {args.seed}, medians of {args.rounds} rounds in turn; the peers' time over ours")

    y, llr = draw(10**6, rng)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    metrics.empirical_cross_entropy_curve(y, llr)
    taken = time.perf_counter() - start
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"empirical cross-entropy curve at 1,000,000 x 101: {taken:.2f} s, {extra:.0f} MB more")
    ban = LLRData(features=llr[:, None] / np.log(10), labels=y)
    report(
        "Cllr at 1,000,000",
        {
            "deciban": lambda: metrics.cllr(y, llr),
            "lir": lambda: lir_cllr(ban),
            "llreval": lambda: float(llreval_cllr(llr[y == 1], llr[y == 0])),
        },
        args.rounds,
    )
    for n in args.sizes:
        y, llr = draw(n, rng)
        report(
            f"Cllr_min at {n:,}",
            {
                "deciban": lambda y=y, llr=llr: metrics.cllr_min(y, llr),
                "llreval": lambda y=y, llr=llr: float(min_cllr(PAV(llr, y))),
                "scipy": lambda y=y, llr=llr: scipy_cllr_min(y, llr),
            },
            args.rounds,
        )


# imports

STATEMENTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "scipy": "import scipy",
    "sklearn.base": "import sklearn.base",
    "parts of SciPy and scikit-learn": "import scipy.optimize, scipy.sparse.linalg, sklearn.base",
    "deciban": "import deciban",
    "deciban.simplex": "import deciban.simplex",
    "deciban, all of its names": "from deciban import *",
}


def imports_part(arguments):
    """What it costs to import deciban and what it needs, each in a fresh interpreter."""
    parser = argparse.ArgumentParser(description=imports_part.__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args(arguments)
    print_setting("deciban", "numpy", "scipy")
    print(f"medians of {args.rounds} rounds in turn, without the start of the interpreter")
    taken = race(
        {
            name: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
            for name, code in STATEMENTS.items()
        },
        args.rounds,
    )
    start = taken.pop("nothing")
    for name, seconds in taken.items():
        print(f"{name:40}{seconds - start:8.3f} s")


# cli


def table(path, n, labels, rng):
    """Calibrated LLRs of two classes at an equal-error rate of 10 %, as Parquet."""
    y = rng.random(n) < 0.5
    mean = 3.28475
    llr = rng.normal(scale=np.sqrt(2 * mean), size=n) + mean * (2 * y - 1)
    truth = {"int8": y.astype(np.int8), "bool": y, "text": pl.Series(y).cast(pl.Int8)}[labels]
    frame = pl.DataFrame({"class": truth, "llr": llr, "unused": rng.random(n)})
    if labels == "text":
        named = pl.when(pl.col("class") == 1).then(pl.lit("same")).otherwise(pl.lit("different"))
        frame = frame.with_columns(named.alias("class"))
    frame.write_parquet(path)


def evaluate(folder, args, rng):
    """Target: under 20 s and 4 GB for 10 million rows of two classes."""
    for labels in args.labels:
        path = folder / f"{labels}.parquet"
        table(path, args.rows, labels, rng)
        options = ["--positive", "same"] if labels == "text" else []
        seconds, peak = measure_command("evaluate", path, "--truth", "class", *options)
        print(f"evaluate, {args.rows:,} rows, {labels:5}{seconds:8.1f} s{peak:8.0f} MB")
        path.unlink()


def predict(folder, args, rng):
    """Target: a million rows a minute in constant memory; a CDA of ten features."""
    means = rng.normal(size=(3, 10))

    def draw(path, n):
        y = rng.integers(0, 3, n)
        X = rng.normal(size=(n, 10)) + 1.5 * means[y]
        columns = {"class": np.array(["a", "b", "c"])[y]} | {f"x{k}": X[:, k] for k in range(10)}
        pl.DataFrame(columns).write_parquet(path)

    draw(folder / "train.parquet", 10_000)
    model = folder / "model.deciban"
    seconds, peak = measure_command(
        "fit", folder / "train.parquet", "--label", "class", "-o", model
    )
    print(f"fit, 10,000 rows of 10 features{seconds:8.1f} s{peak:8.0f} MB")
    n = args.rows // 10
    for rows in (n // 4, n):
        draw(folder / "new.parquet", rows)
        for share in (0.01, 0):
            words = ["predict", model, folder / "new.parquet", "-o", folder / "out.parquet",
                     "--outlier", share, "--force"]  # fmt: skip
            seconds, peak = measure_command(*words)
            print(f"predict, {rows:,} rows, --outlier {share:<5}{seconds:8.1f} s{peak:8.0f} MB, "
                  f"{60 * rows / seconds:,.0f} rows per minute", flush=True)  # fmt: skip


def start_up(folder, args, rng):
    """Target: under 0.4 s."""
    taken = sorted(measure_command("--help")[0] for _ in range(5))
    print(f"--help{taken[2]:10.2f} s, median of 5")


BENCHMARKS = {"help": start_up, "evaluate": evaluate, "predict": predict}


def cli_part(arguments):
    """Seconds and peak memory of the installed command, in a process of its own."""
    parser = argparse.ArgumentParser(description=cli_part.__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], default=[])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--labels", nargs="+", default=["int8", "bool", "text"])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    print_setting("deciban", "polars", "numpy", "scipy")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or BENCHMARKS:
            BENCHMARKS[name](Path(folder), args, np.random.default_rng(args.seed))


if __name__ == "__main__":
    run_part(simplex=simplex_part, metrics=metrics_part, imports=imports_part, cli=cli_part)
