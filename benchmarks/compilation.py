"""What a first fit and a first evidence take, in fresh processes.

Without a cache of programs, with an empty one, and with one that an earlier process has filled.
Seconds on the clock and, in parentheses, of the processors, which other work on the machine hardly
changes; medians of several rounds. Each fit is one with the default settings. "again" is a second
fit in the same process, with another seed; "loaded" a new process that reads the model.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from _timing import print_setting

TABLES = {"iris": "load_iris", "wine": "load_wine", "breast cancer": "load_breast_cancer"}
PROCESS = """
import json, sys, time
laps, clock = {}, lambda: (time.perf_counter(), time.process_time())
def lap(name, since=[clock()]):
    now = clock()
    laps[name] = [now[0] - since[0][0], now[1] - since[0][1]]
    since[0] = now
import deciban, sklearn.datasets
X, y = getattr(sklearn.datasets, sys.argv[1])(return_X_y=True)
if sys.argv[2] == "fit":
    CDA = deciban.CompositionalDiscriminantAnalysis
    lap("import")
    cda = CDA(random_state=0).fit(X, y)
    lap("first fit")
    cda.evidence(X)
    lap("first evidence")
    CDA(random_state=1).fit(X, y)
    lap("again")
    cda.save(sys.argv[3])
else:
    cda = deciban.load(sys.argv[3])
    lap("import")
    cda.evidence(X[:100])
    lap("first evidence, loaded")
    cda.evidence(X[:100])
    lap("second evidence, loaded")
print(json.dumps(laps))
"""


def run(loader, task, model, cache):
    """Seconds of the parts of a fresh process."""
    environment = os.environ | {"DECIBAN_COMPILATION_CACHE": cache}
    command = [sys.executable, "-c", PROCESS, loader, task, model]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one table, one round")
    args = parser.parse_args()
    print_setting("deciban", "jax", "numpy")
    for name, loader in list(TABLES.items())[: 1 if args.quick else None]:
        taken = defaultdict(list)
        for _ in range(1 if args.quick else args.rounds):
            with tempfile.TemporaryDirectory() as folder:
                model, cache = (str(Path(folder) / part) for part in ("model", "cache"))
                for label, where in (("none", "0"), ("empty", cache), ("filled", cache)):
                    for task in ("fit", "loaded"):
                        for part, seconds in run(loader, task, model, where).items():
                            if part != "import" or task == "fit":
                                taken[part, label].append(seconds)
        print(f"\n{name}{'cache:':>24}{'none':>16}{'empty':>16}{'filled':>16}")
        for part in dict.fromkeys(part for part, _ in taken):
            cells = (
                map(statistics.median, zip(*taken[part, at], strict=True))
                for at in ("none", "empty", "filled")
            )
            print(f"{part:>28}" + "".join("{:>8.2f} ({:5.2f})".format(*cell) for cell in cells))


if __name__ == "__main__":
    main()
