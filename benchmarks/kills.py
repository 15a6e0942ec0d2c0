"""A fit that is killed at random moments and started again must end with the same model.

A process fits with a checkpoint; another one kills it after a random time, again and again, and
then lets it end. The parameters are compared with those of a fit that was left alone, bit by bit.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _timing import print_setting

FIT = """
import sys, deciban.discriminant.checkpoints as checkpoints
from sklearn.datasets import load_digits
from deciban import CompositionalDiscriminantAnalysis
checkpoints._SECONDS = 0.0  # write after each epoch: more moments to be killed in
options = {"checkpoint": sys.argv[2]} if len(sys.argv) > 2 else {}
model = CompositionalDiscriminantAnalysis(epochs=150, random_state=0, **options)
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
    start = time.perf_counter()
    fit(folder / "whole").wait()
    whole = time.perf_counter() - start
    killed = ended = 0
    for _ in range(args.kills):
        run = fit(folder / "resumed", folder / "checkpoint")
        try:
            run.wait(rng.uniform(0.2, 0.9) * whole)
            ended += 1
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            killed += 1
    fit(folder / "resumed", folder / "checkpoint").wait()
    same = (folder / "whole").read_bytes() == (folder / "resumed").read_bytes()
    print(f"{killed} kills, {ended} runs that had nothing left to do; {whole:.0f} s a fit; "
          f"same model: {same}")  # fmt: skip
    sys.exit(not same)


if __name__ == "__main__":
    main()
