"""What it costs to import deciban and what it needs, each in a fresh interpreter."""

import argparse
import subprocess
import sys

from _timing import print_setting, race

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
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


if __name__ == "__main__":
    main()
