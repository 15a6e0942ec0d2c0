"""Beyond memory and beyond one process: seconds, peak memory, and what more workers gain."""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from _judging import coverage, judge
from _timing import print_setting
from _training import train
from cli import measure


def apply(args):
    """Rows per second of `deciban predict`, here and with one and two workers."""
    rng = np.random.default_rng(0)
    means = 1.5 * rng.normal(size=(3, 10))

    def draw(path, n):
        y = rng.integers(0, 3, n)
        X = rng.normal(size=(n, 10)) + means[y]
        columns = {"class": np.array(["a", "b", "c"])[y]} | {f"x{k}": X[:, k] for k in range(10)}
        pl.DataFrame(columns).write_parquet(path)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw(folder / "train.parquet", 10_000)
        for kind, n in {"lda": 2**23, "cda": 2**21}.items():
            n = n // 64 if args.quick else n
            model, new, out = (folder / f"{kind}{end}" for end in (".deciban", "-new", "-out"))
            measure("fit", folder / "train.parquet", "--label", "class", "--model", kind,
                    "-o", model)  # fmt: skip
            new.mkdir()
            for k in range(8):
                draw(new / f"{k}.parquet", n // 8)
            for workers in ((), ("--workers", 1), ("--workers", 2)):
                seconds, peak = measure("predict", model, new, "-o", f"{out}/", *workers)
                shutil.rmtree(out)
                print(f"predict, {kind}, {n:,} rows, {' '.join(map(str, workers)) or 'here':11}"
                      f"{seconds:8.1f} s, {n / seconds:12,.0f} rows per second, largest process "
                      f"{peak:6,.0f} MB", flush=True)  # fmt: skip


BENCHMARKS = (
    judge,
    coverage,
    apply,
    train,
)  # functions of the parsed arguments, each a subcommand of its name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for benchmark in BENCHMARKS:
        command = commands.add_parser(benchmark.__name__, help=benchmark.__doc__)
        command.set_defaults(run=benchmark)
        command.add_argument("--quick", action="store_true", help="a hundredth of the rows")
        command.add_argument("--folder", help="of trials, to keep them for another run")
    args = parser.parse_args()
    print_setting("deciban", "dask", "distributed", "polars", "numpy")
    args.run(args)


if __name__ == "__main__":
    main()
