"""Seconds and peak memory of the installed command, in a process of its own."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from _timing import print_setting


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


# A process counts as its peak what its parent held when it was started, and this one holds tables.
SMALL = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(status, time.perf_counter() - start, peak)
"""


def measure(*args):
    """Seconds and peak MB of a command; its output is discarded."""
    command = [sys.executable, "-c", SMALL, _command(), *map(str, args)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    status, seconds, peak = done.stdout.split()
    if status != "0":
        raise SystemExit(f"deciban {' '.join(map(str, args))} failed with status {status}")
    return float(seconds), float(peak)


def _command():
    beside = Path(sys.executable).with_name("deciban")
    found = beside if beside.exists() else shutil.which("deciban")
    if found is None:
        raise SystemExit("deciban must be installed: pip install 'deciban[cli]'")
    return str(found)


def evaluate(folder, args, rng):
    """Target: under 20 s and 4 GB for 10 million rows of two classes."""
    for labels in args.labels:
        path = folder / f"{labels}.parquet"
        table(path, args.rows, labels, rng)
        options = ["--positive", "same"] if labels == "text" else []
        seconds, peak = measure("evaluate", path, "--truth", "class", *options)
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
    seconds, peak = measure("fit", folder / "train.parquet", "--label", "class", "-o", model)
    print(f"fit, 10,000 rows of 10 features{seconds:8.1f} s{peak:8.0f} MB")
    n = args.rows // 10
    for rows in (n // 4, n):
        draw(folder / "new.parquet", rows)
        for share in (0.01, 0):
            words = ["predict", model, folder / "new.parquet", "-o", folder / "out.parquet",
                     "--outlier", share, "--force"]  # fmt: skip
            seconds, peak = measure(*words)
            print(f"predict, {rows:,} rows, --outlier {share:<5}{seconds:8.1f} s{peak:8.0f} MB, "
                  f"{60 * rows / seconds:,.0f} rows per minute", flush=True)  # fmt: skip


def start_up(folder, args, rng):
    """Target: under 0.4 s."""
    taken = sorted(measure("--help")[0] for _ in range(5))
    print(f"--help{taken[2]:10.2f} s, median of 5")


BENCHMARKS = {"help": start_up, "evaluate": evaluate, "predict": predict}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], default=[])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--labels", nargs="+", default=["int8", "bool", "text"])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print_setting("deciban", "polars", "numpy", "scipy")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or BENCHMARKS:
            BENCHMARKS[name](Path(folder), args, np.random.default_rng(args.seed))


if __name__ == "__main__":
    main()
