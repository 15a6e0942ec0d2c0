"""Map a function over items: in this process, in other processes or on a cluster.

Dask does the work, and repeats it if a worker is lost. Needs ``pip install 'deciban[scale]'`` for
more than this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, TypeVar

from deciban.exceptions import ClusterError, InputError, MissingExtraError

Item = TypeVar("Item")
Result = TypeVar("Result")

_PATIENCE = 5  # seconds for a scheduler to answer, and for its first worker
_AHEAD = 8  # items for each thread that wait or whose results do: memory stays flat
_SAME = ("deciban", "distributed", "numpy", "polars", "scipy")  # packages whose versions must agree
_ONE_CORE = {"POLARS_MAX_THREADS": "1"}  # Dask does the same for NumPy
_KEPT = 1 << 28  # bytes that a process keeps for its next part: to ask for them anew takes longer
_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": _KEPT, "MALLOC_MMAP_THRESHOLD_": _KEPT, "MALLOC_ARENA_MAX": 1,
}  # fmt: skip


class Workers:
    """Map a function over items, here in this process and one by one.

    Attributes
    ----------
    n : int
        Number of items processed at once.
    """

    n = 1

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items.

        The function goes to each worker once, including a model in a ``functools.partial``. It and
        the items must be picklable; it may be called again for an item on a lost worker.
        """
        return map(function, items)

    def require_files(self, paths: Iterable[str | os.PathLike[str]], remedy: str = "") -> None:
        """Require that every worker sees these files and folders as this process does."""


class _DaskWorkers(Workers):
    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self.n = sum(client.nthreads().values())

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        # The function is the result of a task, not scattered data: Dask can make it again.
        held = self._submit(_hold, function)
        waiting: deque[Any] = deque()
        try:
            for item in items:
                waiting.append(self._submit(_call, held, item))
                if len(waiting) >= _AHEAD * self.n:
                    yield from self._collect(waiting)
            while waiting:
                yield from self._collect(waiting)
        finally:
            waiting.clear()  # Dask drops what nobody waits for

    def _submit(self, *task: Any) -> Any:
        with self._connection(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # once
            return self._client.submit(*task, pure=False)

    def _collect(self, waiting: deque[Any]) -> list[Any]:
        """The first result, which must be awaited, and the others that are finished."""
        from distributed import KilledWorker

        results: list[Any] = []
        with self._connection():
            error = waiting[0].exception()
            if error is None:
                done = takewhile(lambda future: future.status == "finished", waiting)
                results = self._client.gather(list(done))
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"Several workers died of the same part, {error.last_worker.address} last. Give "
                f"workers more memory, or fewer threads."
            )
        if error is not None:
            raise error
        for _ in results:
            waiting.popleft()
        return results

    @contextmanager
    def _connection(self) -> Iterator[None]:
        from distributed import CancelledError
        from distributed.client import ClosedClientError

        try:
            yield
        except (CancelledError, ClosedClientError, OSError, AttributeError) as error:
            # A client that was closed in the middle of a call has no scheduler to ask.
            if isinstance(error, AttributeError) and self._client.scheduler is not None:
                raise
            raise ClusterError(
                f"The connection to the cluster at {self._address} was lost. Start it "
                f"again, and this command."
            ) from None

    def require_files(self, paths: Iterable[str | os.PathLike[str]], remedy: str = "") -> None:
        sizes = {os.path.abspath(path): _size(path) for path in paths}
        with self._connection():
            seen = self._client.run(_sizes, list(sizes))
        for worker, others in seen.items():
            for path, size in sizes.items():
                if others[path] != size:
                    what = "does not see it" if others[path] is None else "sees another file"
                    raise ClusterError(
                        f"{path} must be in a folder that all workers share; the worker at "
                        f"{worker} {what}. {remedy or 'Put it there, or mount the folder.'}"
                    )


@contextmanager
def open_workers(
    workers: int | str | None = None, packages: Sequence[str] = ()
) -> Iterator[Workers]:
    """Open workers for the duration of a context.

    Parameters
    ----------
    workers : int or str, optional
        Number of processes on this machine, or the address of a Dask scheduler, such as
        ``"tcp://host:8786"``. By default, the work is done in this process.
    packages : sequence of str
        Packages that every worker must have, in addition to deciban's own.
    """
    if workers is None:
        yield Workers()
        return
    if isinstance(workers, str) and workers.strip().lstrip("+-").isdigit():
        workers = int(workers)
    if isinstance(workers, int) and workers < 1:
        raise InputError(f"workers must be at least 1; got {workers}. Leave it out for none.")
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "Several workers need Dask's distributed, which is not installed. Run: pip install "
            "'deciban[scale]'",
            extra="scale",
        ) from None
    if isinstance(workers, str):
        with _connect(workers, packages) as connected:
            yield connected
    else:
        with (
            start_processes(workers) as local,
            _connect(local.scheduler_address, packages) as connected,
        ):
            yield connected


def start_processes(n: int) -> Any:
    """A local Dask cluster with ``n`` single-core processes."""
    from dask import config
    from distributed import LocalCluster

    before = "distributed.nanny.pre-spawn-environ"  # memory is set up before a process begins
    with config.set({before: config.get(before, {}) | _MEMORY}):
        return LocalCluster(
            n_workers=n, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, env=_ONE_CORE, preload=[__name__],
        )  # fmt: skip


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the process that collects results.

    Dask calls this in each process that :func:`start_processes` starts.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _connect(address: str, packages: Sequence[str]) -> Iterator[Workers]:
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    # A Client for an address where nothing answers waits for long, and complains when it is gone.
    # A notebook has an event loop of its own in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _require_scheduler(address)).result()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # what matters is an error below
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise ClusterError(
                f"The cluster at {address} has no workers. Start one with: dask worker {address}"
            ) from None
        versions: Any = client.get_versions(packages=[*_SAME, *packages])
        _require_versions(versions, packages)
        yield _DaskWorkers(client, address)


async def _require_scheduler(address: str) -> None:
    from distributed import rpc
    from distributed.security import Security

    why = "it is a Dask worker"
    try:
        arguments = Security().get_connection_args("client")
        async with asyncio.timeout(_PATIENCE), rpc(address, connection_args=arguments) as there:
            if (await there.identity())["type"] == "Scheduler":
                return
    except TimeoutError:
        why = f"nothing answered within {_PATIENCE} s"
    except (OSError, ValueError, TypeError) as error:  # not there, not an address, no certificate
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    raise ClusterError(
        f"workers must be a number of processes or the address of a Dask scheduler; got {address} "
        f"({why}). Start one with dask scheduler, and give the address that it prints."
    )


def _require_versions(found: Mapping[str, Any], packages: Sequence[str]) -> None:
    here = found["client"]["packages"]
    for worker, about in found["workers"].items():
        there = about["packages"]
        for name in ("python", *_SAME, *packages):
            ours, theirs = _short(here[name]), _short(there[name])
            if theirs is None and (ours is not None or name in packages):
                extra = "flow" if name == "jax" else "scale"
                raise ClusterError(
                    f"workers must have {name}; the worker at {worker} does not. Run there: pip "
                    f"install 'deciban[cli,{extra}]'"
                )
            if ours is not None and ours != theirs:
                raise ClusterError(
                    f"workers must have the same {name} as this process, {ours}; the worker at "
                    f"{worker} has {theirs}. Install one version everywhere."
                )


def _short(version: str | None) -> str | None:
    """The first three parts of a version: Python's "3.11.7.final.0" is 3.11.7."""
    return None if version is None else ".".join(version.split(".")[:3])


def _sizes(paths: Sequence[str]) -> dict[str, int | None]:
    return {path: _size(path) for path in paths}


def _size(path: str | os.PathLike[str]) -> int | None:
    try:
        return 0 if os.path.isdir(path) else os.stat(path).st_size
    except OSError:
        return None


def _hold(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)
