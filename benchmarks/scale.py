"""Beyond memory and beyond one process: seconds, peak memory, and what more workers gain."""

import argparse
import importlib.util
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import deciban
from _timing import measure_command, print_setting

ROWS, FILE = 100_000_000, 1_000_000
_SORT = """
import sys, polars as pl
rows = pl.scan_parquet(sys.argv[1]).select("llr", "label").sort("llr")
rows.sink_parquet(sys.argv[2], engine="streaming")
"""
_LLREVAL = """
import sys, polars as pl
from llreval.cllr import cllr, min_cllr
from llreval.pav_rocch import PAV, ROCCH
table = pl.read_parquet(sys.argv[1])
y, llr = table["label"].to_numpy(), table["llr"].to_numpy()
pav = PAV(llr, y.astype(int))
print(cllr(llr[y], llr[~y]), min_cllr(pav), ROCCH(pav).EER())
"""
_SMALLER = 10_000_000  # trials that llreval, which holds all of them, still has room for


def write_trials(folder: Path, rows: int) -> None:
    """Trials in files of up to a million; 2 % are targets, and LLRs are too strong by a fifth."""
    folder.mkdir(parents=True, exist_ok=True)
    size = min(FILE, rows // 2)
    for k in range(rows // size):
        path = folder / f"{k:05}.parquet"
        if not path.exists():
            rng = np.random.default_rng(k)
            label = rng.random(size) < 0.02
            llr = 1.2 * rng.normal(np.where(label, 3.0, -3.0), 6**0.5)
            pl.DataFrame({"label": label, "llr": llr}).write_parquet(path)


def measure(*commands: list[str], **env: str) -> tuple[float, float]:
    """Seconds of commands at once, and the largest memory in GB of all that they start."""
    start = time.perf_counter()
    running = [
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, start_new_session=True, env=os.environ | env
        )
        for command in commands
    ]
    peak = 0.0
    while any(process.poll() is None for process in running):
        peak = max(peak, sum(_memory(process.pid) for process in running))
        time.sleep(0.2)
    if any(process.returncode for process in running):
        raise SystemExit(f"{' '.join(commands[0])} failed")
    return time.perf_counter() - start, peak


def _memory(session: int) -> float:
    """Proportional set size of the processes of a session, in GB: shared pages count once."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == session:
                lines = (path / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, ValueError):  # it has ended
            continue
    return total / 1e6


def _divide(folder: Path, halves: Path) -> list[str]:
    """Patterns of two folders with links to half of the files each."""
    shutil.rmtree(halves, ignore_errors=True)
    for k, file in enumerate(sorted(folder.glob("*.parquet"))):
        (halves / str(k % 2)).mkdir(parents=True, exist_ok=True)
        (halves / str(k % 2) / file.name).symlink_to(file.resolve())
    return [str(half / "*.parquet") for half in sorted(halves.iterdir())]


def judge(args) -> None:
    """Evaluate trials from Parquet files out of core, beside polars' sort and llreval.

    A sort of the same column by polars' streaming engine is about the least that it takes. llreval
    computes Cllr, Cllr_min and the EER, in memory and without intervals. Two commands at once, with
    half of the files each, tell what this machine gains by a second core.
    """
    rows = ROWS // 100 if args.quick else ROWS
    parent = Path(args.folder or tempfile.mkdtemp(prefix="deciban-trials-"))
    for n in dict.fromkeys((min(rows, _SMALLER), rows)):
        folder = parent / f"{n}"
        write_trials(folder, n)
        pattern, done = str(folder / "*.parquet"), str(parent / "sorted.parquet")
        rounds = 2 if n == ROWS else 1
        command = [sys.executable, "-m", "deciban.cli", "evaluate", pattern, "--truth", "label"]
        halves = _divide(folder, parent / "halves")
        contestants = {
            "deciban evaluate": [command],
            "deciban evaluate --workers 1": [[*command, "--workers", "1"]],
            "deciban evaluate --workers 2": [[*command, "--workers", "2"]],
            "two at once, half the files each": [
                [pattern_of if word == pattern else word for word in command]
                for pattern_of in halves
            ],
            "polars: sort by LLR, streaming": [[sys.executable, "-c", _SORT, pattern, done]],
        }
        if n <= _SMALLER and importlib.util.find_spec("llreval"):
            contestants["llreval: three of its metrics"] = [
                [sys.executable, "-c", _LLREVAL, pattern]
            ]
        print(f"{n:,} trials, {sum(f.stat().st_size for f in folder.glob('*')) / 1e9:.2f} GB")
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
        for _ in range(rounds):  # in turns: machines are noisy
            for name, commands in contestants.items():
                taken[name].append(measure(*commands, POLARS_MAX_THREADS="2"))
        print(f"{'':34}{'seconds':>16}{'peak GB':>9}")
        for name, found in taken.items():
            times = ", ".join(f"{seconds:.1f}" for seconds, _ in found)
            print(f"{name:34}{times:>16}{max(peak for _, peak in found):9.2f}", flush=True)
        one, two, here, at_once = (
            statistics.median(seconds for seconds, _ in taken[name])
            for name in [*contestants][1:3] + [*contestants][:4:3]
        )
        print(f"two workers are {one / two:.2f} times as fast as one; two independent commands are "
              f"{here / at_once:.2f} times as fast as one\n", flush=True)  # fmt: skip
        Path(done).unlink(missing_ok=True)
    if args.folder is None:
        shutil.rmtree(parent)


def coverage(args) -> None:
    """How often 95 % intervals contain the truth: of samples in buckets, and of single samples."""
    times = 10 if args.quick else 100
    _cover_two_classes(times)
    _cover_three_classes(times)


def _cover_two_classes(times: int) -> None:
    from deciban import CalibratedGaussian

    family = CalibratedGaussian.from_divergences([[0.0, 3.0], [3.0, 0.0]])
    cost, eer = family.expected_cllr(0, 1), float(family.eers[0, 1])
    truth = {"cllr": cost, "cllr_min": cost, "cllr_cal": 0.0, "eer": eer,
             "misleading_target": eer, "min_detection_cost": 2 * eer}  # fmt: skip
    for counts in ((1000, 100), (10_000, 1000), (50_000, 200)):
        _cover(family, counts, truth, times)


def _cover_three_classes(times: int) -> None:
    """Calibrated evidence, and evidence that is too strong by half; the truth is of 6e6 samples."""
    from deciban import CalibratedGaussian, metrics

    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([2_000_000] * 3, rng=0)
    best = metrics.cross_entropy(y, family.evidence(l))
    right = metrics.accuracy(y, family.evidence(l))
    for scale in (1.0, 1.5):
        total = metrics.cross_entropy(y, family.evidence(scale * l))
        truth = {"cross_entropy": total, "discrimination": best, "calibration": total - best,
                 "accuracy": right}  # fmt: skip
        for counts in ((500, 300, 200), (10_000, 6000, 300)):
            _cover(family, counts, truth, times, scale)


def _cover(family, counts, truth, times, scale=1.0) -> None:
    from deciban import assess
    from deciban.assessment.assess import assess_partitions
    from deciban.metrics.partitions import Partitions, Rows, hash_numbers

    held = {kind: dict.fromkeys(truth, 0) for kind in ("samples", "buckets")}
    classes = tuple(range(len(counts)))
    for seed in range(times):
        l, y = family.sample(counts, rng=seed)
        evidence = family.evidence(scale * l)
        values = evidence.llr(1, 0) if len(classes) == 2 else evidence.log_likelihoods
        numbers = np.random.default_rng(seed).permutation(len(y))
        rows = Rows(y, (values,), hash_numbers(numbers), numbers)
        data = Partitions(classes, [rows], lambda part: part, len(y))
        found = {
            "samples": assess(y, evidence, n_resamples=200, rng=seed),
            "buckets": assess_partitions(data, n_resamples=200, rng=seed, in_memory=0)[0],
        }
        for kind, one in found.items():
            for key, value in truth.items():
                held[kind][key] += one[key].low <= value <= one[key].high
    print(f"{'+'.join(f'{n:,}' for n in counts)} samples, evidence times {scale}")
    print(f"{'':10}" + "".join(f"{key:>20}" for key in truth))
    for kind, cells in held.items():
        line = "".join(f"{100 * count / times:18.1f} %" for count in cells.values())
        print(f"{kind:10}{line}", flush=True)


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
            measure_command("fit", folder / "train.parquet", "--label", "class", "--model", kind,
                    "-o", model)  # fmt: skip
            new.mkdir()
            for k in range(8):
                draw(new / f"{k}.parquet", n // 8)
            for workers in ((), ("--workers", 1), ("--workers", 2)):
                seconds, peak = measure_command("predict", model, new, "-o", f"{out}/", *workers)
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
        command = commands.add_parser(benchmark.__name__, help=benchmark.__doc__.replace("%", "%%"))
        command.set_defaults(run=benchmark)
        command.add_argument("--quick", action="store_true", help="a hundredth of the rows")
        command.add_argument("--folder", help="of trials, to keep them for another run")
    args = parser.parse_args()
    print_setting("deciban", "dask", "distributed", "polars", "numpy")
    args.run(args)


if __name__ == "__main__":
    main()
