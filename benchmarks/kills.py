"""A fit that is killed at random moments and started again must end with the same model.

A process fits with a checkpoint; another one kills it repeatedly after a random time, before its
first epoch or after some, and then lets it finish. The parameters are compared with those of an
uninterrupted fit, bit by bit.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from safetensors.numpy import load_file

from _timing import print_setting

FIT = """
import sys, deciban.discriminant.runs as checkpoints
from sklearn.datasets import load_digits
from deciban import CompositionalDiscriminantAnalysis
checkpoints._SECONDS = 0.0  # write after each epoch: more moments to be killed in
options = {"checkpoint": sys.argv[2]} if len(sys.argv) > 2 else {}
model = CompositionalDiscriminantAnalysis(epochs=400, random_state=0, **options)
model.fit(*load_digits(return_X_y=True)).save(sys.argv[1])
"""


def fit(*paths):
    return subprocess.Popen([sys.executable, "-c", FIT, *map(str, paths)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print_setting("deciban", "jax")
    rng = random.Random(args.seed)
    folder = Path(tempfile.mkdtemp())
    fit(folder / "whole").wait()
    start = time.perf_counter()
    run = fit(folder / "resumed", folder / "checkpoint")
    while not (folder / "checkpoint").exists():
        time.sleep(0.01)
    to_first_epoch = time.perf_counter() - start
    run.kill()
    run.wait()
    killed, ended, moved = 1, 0, 1
    for _ in range(args.kills - 1):
        before = (folder / "checkpoint").stat().st_mtime_ns
        run = fit(folder / "resumed", folder / "checkpoint")
        try:
            run.wait(to_first_epoch * rng.uniform(0.5, 1.3))
            ended += 1
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            killed += 1
        moved += (folder / "checkpoint").stat().st_mtime_ns != before
    fit(folder / "resumed", folder / "checkpoint").wait()
    whole, resumed = (load_file(folder / name) for name in ("whole", "resumed"))
    same = whole.keys() == resumed.keys() and all(
        whole[name].tobytes() == resumed[name].tobytes() for name in whole
    )
    print(f"{killed} kills, {moved} of them after some epochs, {ended} runs that were "
          f"already finished; same model: {same}")  # fmt: skip
    sys.exit(not same)


if __name__ == "__main__":
    main()
