"""For those who have a Dask cluster: train one model on all of its workers.

    python examples/dask_fit.py tcp://scheduler:8786 train.parquet --label class -o model.deciban

Dask starts the command `deciban fit` beside each worker; JAX connects the processes. All read the
table from a folder that they share, and process 0 writes the model there. Without the address of a
scheduler, two workers are started here. Options that are not named above go to `deciban fit`.
"""

import argparse
import socket
import subprocess
import sys

from dask.distributed import Client, LocalCluster
from dask.distributed import get_worker as this_worker


def find_address() -> str:
    """Host of this worker, as the others reach it, and a port that is free there."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return f"{this_worker().address.split('//')[-1].rsplit(':', 1)[0]}:{probe.getsockname()[1]}"


def train(command: list[str]) -> tuple[int, str]:
    """Run one process of the training; returns what it says at its end."""
    done = subprocess.run([sys.executable, "-m", "deciban.cli", *command], capture_output=True)
    return done.returncode, (done.stdout + done.stderr).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scheduler", nargs="?", help="address such as tcp://scheduler:8786")
    parser.add_argument("table", help="table to learn from")
    arguments, options = parser.parse_known_args()
    cluster = arguments.scheduler or LocalCluster(n_workers=2, threads_per_worker=1)
    with Client(cluster) as client:
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        address = client.submit(find_address, workers=workers[:1], pure=False).result()
        command = ["fit", arguments.table, *options, "--coordinator", address]
        jobs = [
            client.submit(
                train, [*command, "--processes", f"{k}/{len(workers)}"], workers=[worker],
                pure=False, retries=0,
            )
            for k, worker in enumerate(workers)
        ]  # fmt: skip
        results = client.gather(jobs)
    for status, said in results:
        if status:
            sys.exit(said)
    print(results[0][1], end="")


if __name__ == "__main__":
    main()
