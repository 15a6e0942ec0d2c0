"""Races in which contestants take turns and medians are compared."""

import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version


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
