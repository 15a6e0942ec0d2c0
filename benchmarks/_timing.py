"""Races in which contestants take turns and medians are compared."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


def race(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each contestant, after a warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for round_number in range(rounds + 1):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            elapsed = time.perf_counter() - start
            if round_number:
                times[name].append(elapsed)
    return {name: statistics.median(taken) for name, taken in times.items()}


def print_setting(*packages: str) -> None:
    """Print the machine and the versions behind the numbers that follow."""
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {versions}")


def run_part(**parts: Callable[[list[str]], object]) -> None:
    """Run the part of a program that the first argument names, with the other arguments."""
    chosen, *arguments = sys.argv[1:] or ["--help"]
    if chosen not in parts:
        lines = (f"  {name:14}{part.__doc__.splitlines()[0]}" for name, part in parts.items())
        raise SystemExit("\n".join([f"usage: {sys.argv[0]} PART [--help]", *lines]))
    parts[chosen](arguments)


# A process counts as its peak what its parent held when it was started, and this one holds tables.
SMALL = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(status, time.perf_counter() - start, peak)
"""


def measure_command(*args):
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
