"""Processes that train one model together, by ``jax.distributed``.

Each runs the same program on the same samples. Process 0 reads and writes files, and decides
whenever rounding could lead processes to different decisions.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

from deciban import exceptions
from deciban.exceptions import DecibanError, InputError, LostProcessError

_SECONDS = 60.0  # in which all processes must have started
_MAX_BYTES = 4_000  # of an error that other processes are told
_RANKS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")  # where launchers tell the number


def join_processes(
    coordinator: str | None, processes: int | None, process: int | None = None
) -> None:
    """Join the processes that train together, before JAX computes anything.

    ``coordinator`` is the address of process 0 as the others reach it, ``process`` the number of
    this one, by default from Slurm or MPI.
    """
    if coordinator is None or processes is None:
        missing = "coordinator" if coordinator is None else "processes"
        raise InputError(
            "coordinator and processes must come together, so that the processes find one "
            f"another; {missing} is missing. Give coordinator node1:7000 and processes 2, say."
        )
    told = next((os.environ[name] for name in _RANKS if name in os.environ), None)
    if process is None and told is not None:
        process = int(told)
    if process is None or not 0 <= process < processes:
        raise InputError(
            f"process must be the number of this process, from 0 to {processes - 1}; got "
            f"{process}. Start one process with each number."
        )
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise InputError(
            f"coordinator must be a host and a port; got {coordinator!r}. Give node1:7000, say."
        )
    if process == 0:
        _check_free(int(port))
    else:
        _wait_for(host.strip("[]"), int(port))
    _initialize(coordinator, processes, process)
    with _quiet_stdout():
        check_same("the number of processes", str(processes))


def is_first() -> bool:
    return jax.process_index() == 0


@contextmanager
def together() -> Iterator[None]:
    """Run the body in every process; an error in one is raised in all of them."""
    error = None
    try:
        yield
    except LostProcessError:
        raise  # there is nobody left to tell
    except DecibanError as caught:
        error = caught
    if jax.process_count() > 1:
        for told in _gather("" if error is None else f"{type(error).__name__} {error}"):
            kind, _, message = told.partition(" ")
            if message and error is None:
                error = getattr(exceptions, kind, InputError)(message)
    if error is not None:
        raise error


@contextmanager
def in_company() -> Iterator[None]:
    """Raise a readable error if the connection to another process breaks in the body."""
    try:
        yield
    except DecibanError:
        raise
    except (RuntimeError, ValueError) as error:  # JAX's own are of both kinds
        if jax.process_count() == 1:
            raise
        raise LostProcessError(
            f"Lost the connection to another process ({str(error).splitlines()[0]}). Start all "
            "processes again: training goes on from its checkpoint."
        ) from error


def from_first(content: bytes) -> bytes:
    """The bytes that process 0 has."""
    if jax.process_count() == 1:
        return content
    from jax.experimental.multihost_utils import broadcast_one_to_all

    with in_company():
        size = int(broadcast_one_to_all(np.array(len(content), np.int32)))
        padded = np.zeros(size, np.uint8)
        if is_first():
            padded[:] = np.frombuffer(content, np.uint8)
        # Older versions of JAX give wider numbers than they are given.
        return np.asarray(broadcast_one_to_all(padded)).astype(np.uint8).tobytes()


def decide(values: np.ndarray) -> np.ndarray:
    """The array that process 0 has, of the same shape on all."""
    return np.frombuffer(from_first(values.tobytes()), values.dtype).reshape(values.shape).copy()


def check_same(name: str, digest: str) -> None:
    """Raise in all processes if one has other data than the first."""
    if jax.process_count() == 1:
        return
    digests = _gather(digest)
    others = [k for k, one in enumerate(digests) if one != digests[0]]
    if others:
        raise InputError(
            f"{name} must be the same in every process; process {others[0]} has another than "
            "process 0. Start all with the same arguments, on files that do not change."
        )


def _gather(text: str) -> list[str]:
    from jax.experimental.multihost_utils import process_allgather

    padded = np.zeros(_MAX_BYTES, np.uint8)
    content = np.frombuffer(text.encode()[:_MAX_BYTES], np.uint8)
    padded[: len(content)] = content
    with in_company():
        rows = np.asarray(process_allgather(padded)).reshape(-1, _MAX_BYTES)
    return [row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in rows]


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Discard stdout at the level of the system: gloo announces its connection there."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _check_free(port: int) -> None:
    with socket.socket() as probe, suppress(OverflowError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise InputError(
                f"Cannot open port {port} of coordinator ({error.strerror}). Give another port."
            ) from None


def _wait_for(host: str, port: int) -> None:
    """Wait for process 0, which may start a little later."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            return socket.create_connection((host, port), timeout=5).close()
        except OSError as error:
            if time.monotonic() >= end:
                raise InputError(
                    f"coordinator must be the address of process 0; nothing answers at "
                    f"{host}:{port} ({error.strerror or error}). Start process 0, or correct the "
                    "address."
                ) from None
        time.sleep(0.2)


def _initialize(coordinator: str, processes: int, process: int) -> None:
    def give_up() -> None:
        sys.stderr.write(
            f"Not all of {processes} processes came to {coordinator} in {_SECONDS:.0f} s. Start "
            "the others, or correct the number of processes.\n"
        )
        sys.stderr.flush()
        os._exit(2)

    # Past its own timeout, JAX ends the process with a trace of its C++ calls.
    timer = threading.Timer(_SECONDS, give_up)
    timer.daemon = True
    timer.start()
    config: Any = jax.config
    config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        seconds = int(_SECONDS) + 60
        jax.distributed.initialize(coordinator, processes, process, initialization_timeout=seconds)
        jax.process_count()  # the devices of all processes are known once all have come
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"A process must join the others once, before JAX computes anything; JAX says: "
            f"{reason} Start a new process."
        ) from None
    finally:
        timer.cancel()
