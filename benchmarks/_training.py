"""Training over processes: samples a second of one process and of two, with one core each."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import deciban

FEATURES, CLASSES = 40, 10
LEARNED = 0.95 * 0.9  # share of the rows: the command sets some aside, and the fit a tenth


def _draw(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(CLASSES, FEATURES)) / 2
    y = rng.integers(CLASSES, size=rows)
    X = (rng.normal(size=(rows, FEATURES)) + means[y]).astype(np.float32)
    columns = {f"x{k}": X[:, k] for k in range(FEATURES)}
    pl.DataFrame({"class": y.astype(str), **columns}).write_parquet(path)


def _fit(table: Path, epochs: int, cores: list[int], *options: object) -> float:
    """Seconds of an epoch, the median of all but the first, with a process on each core."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        place = f"localhost:{probe.getsockname()[1]}"
    output = table.with_name("model.deciban")
    command = ["deciban.cli", "fit", table, "--label", "class", "-o", output, "--force", "--model",
               "cda", "--epochs", epochs, "--validation", 0.05, *options]  # fmt: skip
    processes = []
    for k, core in enumerate(cores):
        several = ["--coordinator", place, "--processes", len(cores), "--process", k]
        words = [sys.executable, "-m", *command, *(several if len(cores) > 1 else [])]
        processes.append(
            subprocess.Popen(
                ["taskset", "-c", str(core), *map(str, words)], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        )  # fmt: skip
    if any(process.wait() for process in processes):
        raise SystemExit("a fit failed")
    return statistics.median(epoch["seconds"] for epoch in deciban.load(output).history_[1:])


def train(args) -> None:
    """Train a CDA in one process and in two, one core each: what an epoch takes."""
    rows = 25_000 if args.quick else 40_000  # fewer would be fitted on folds
    rounds = 1 if args.quick else 2
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "train.parquet")
        _draw(table, rows)
        print(f"{rows:,} samples, {FEATURES} features, {CLASSES} classes")
        for batch in (256, 2048):
            found: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(rounds):  # in turns: machines are noisy
                for n, seconds in found.items():
                    seconds.append(_fit(table, 4, [*range(n)], "--batch-size", batch))
            epochs = {n: statistics.median(seconds) for n, seconds in found.items()}
            samples = LEARNED * rows // batch * batch
            for n, seconds in epochs.items():
                print(f"batch {batch:5}, processes {n}: {seconds:7.2f} s an epoch, "
                      f"{samples / seconds:9,.0f} samples per second", flush=True)  # fmt: skip
            print(f"batch {batch:5}: two processes are {epochs[1] / epochs[2]:.2f} times as fast")
