"""Beyond memory and beyond one process: seconds, peak memory, and what more workers gain."""

import argparse

from _timing import print_setting

BENCHMARKS = ()  # functions of the parsed arguments, each a subcommand of its name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for benchmark in BENCHMARKS:
        command = commands.add_parser(benchmark.__name__, help=benchmark.__doc__)
        command.set_defaults(run=benchmark)
        command.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    args = parser.parse_args()
    print_setting("deciban", "dask", "distributed", "polars", "numpy")
    args.run(args)


if __name__ == "__main__":
    main()
