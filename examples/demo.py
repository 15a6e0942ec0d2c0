"""Evidence that adds up, a calibrated family, and evidence learnt from data, as a page.

    python examples/demo.py --output build/demo

The same as ``deciban demo``; what it does is in ``deciban.report.demonstration``.
"""

import argparse
import sys
from pathlib import Path

from deciban.exceptions import DecibanError
from deciban.report.demonstration import demonstrate


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder to write")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    try:
        demonstrate(args.output, seed=args.seed, say=print)
    except DecibanError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
