"""The run of a training: its progress bar, and its state on disk."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load, save

from deciban._persistence import files
from deciban._persistence.files import require_writable
from deciban.exceptions import CheckpointError, InputError
from deciban.flows.processes import check_same, from_first, is_first, together
from deciban.flows.training import State

_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
_SECONDS_IN_A_LOG = 5.0  # between two states of the bar, where each is one more line to read
_SHOWN = {"loss": "loss", "score": "C_mc", "best_score": "best"}


class Progress:
    """Epochs of a task, which begins with a compilation.

    Parameters
    ----------
    task : str
        What is being done.
    epochs, done : int
        Largest number of epochs, and number of those done before.
    verbose : bool
        Whether there is a bar.
    """

    def __init__(self, task: str, epochs: int, done: int, verbose: bool) -> None:
        self._bar: Any = None
        self._task, self._is_compiled = task, False
        if verbose:
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=epochs,
                initial=done,
                desc=f"compiling, then {task}",
                bar_format=_FORMAT,
                mininterval=0.1 if sys.stderr.isatty() else _SECONDS_IN_A_LOG,
            )

    def advance(self, share: float) -> None:
        if self._bar is None:
            return
        if not self._is_compiled:
            self._is_compiled = True
            self._bar.unpause()
            self._bar.set_description_str(self._task, refresh=False)
        self._bar.update(share)

    def show(self, record: dict[str, float]) -> None:
        if self._bar is not None:
            values = {label: f"{record[k]:.4g}" for k, label in _SHOWN.items() if k in record}
            self._bar.set_postfix(values, refresh=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.total = self._bar.n  # fewer epochs were enough
            self._bar.close()


_SECONDS = 2.0  # between two writes: an epoch may take less than a write


class Checkpoint:
    """A file that holds the state of a training run, for another run to continue from.

    Where several processes train together, the first one reads and writes it for all.

    Parameters
    ----------
    path : path or None
        None stores nothing.
    data : iterable of arrays
    settings : plain data
        Both must be those that the file was written for, by their digests.
    seed : int
    any_seed : bool, default False
        Whether the seed of the file takes the place of ``seed``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        data: Iterable[np.ndarray],
        settings: Any,
        seed: int,
        any_seed: bool = False,
    ) -> None:
        self.path, self.seed = None, seed
        self._written = 0.0
        self._stored: tuple[files.Arrays, files.Plain] | None = None
        if path is None and jax.process_count() == 1:
            return
        self.digests = {
            "data": _digest(*(np.ascontiguousarray(values).tobytes() for values in data)),
            "settings": _digest(json.dumps(settings).encode()),
        }
        for what, digest in self.digests.items():
            check_same(f"the {what} of fit", digest)
        with together():
            if path is not None and is_first():
                self._open(require_writable(path), any_seed)
        self.path = None if path is None else Path(path)
        self.seed = int(from_first(str(self.seed).encode()))
        self._stored = _share(self._stored)

    def _open(self, path: Path, any_seed: bool) -> None:
        self.path = path
        if not path.exists():
            return
        arrays, plain = files.read_arrays(path, ["checkpoint"])
        if any_seed and isinstance(plain.get("seed"), int):
            self.seed = plain["seed"]
        self._require_same(plain)
        self._stored = arrays, plain

    def _require_same(self, plain: dict[str, Any]) -> None:
        stored = plain.get("digests") or {}
        differ = [name for name, digest in self.digests.items() if stored.get(name) != digest]
        if plain.get("seed") != self.seed:
            differ.append("random_state")
        if differ:
            raise CheckpointError(
                f"checkpoint must be that of the same data and settings; {self.path} is of another "
                f"fit (with different {' and '.join(differ)}). Choose another path, or move "
                "the file away."
            )

    def save(self, state: State, force: bool = False) -> None:
        if self.path is None:
            return
        with together():
            if is_first() and (force or time.monotonic() - self._written >= _SECONDS):
                self._write(self.path, state)

    def _write(self, path: Path, state: State) -> None:
        arrays = {str(k): np.asarray(a) for k, a in enumerate(jax.tree.leaves(_arrays(state)))}
        plain = {
            "digests": self.digests,
            "seed": self.seed,
            "factor": state.factor,
            "epoch": state.epoch,
            "history": list(state.history),
        }
        files.write_arrays(path, "checkpoint", arrays, plain)
        self._written = time.monotonic()

    def restore(self, fresh: State) -> State:
        if self._stored is None:
            return fresh
        try:
            return _restore(fresh, *self._stored)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"checkpoint must be whole; a part of {self.path} is missing or does not fit "
                f"({error}). Choose another path, or move the file away."
            ) from None


def _share(
    stored: tuple[files.Arrays, files.Plain] | None,
) -> tuple[files.Arrays, files.Plain] | None:
    if jax.process_count() == 1:
        return stored
    arrays, plain = stored or ({}, None)
    plain = json.loads(from_first(json.dumps(plain).encode()))
    arrays = load(from_first(save(arrays)))
    return None if plain is None else (arrays, plain)


def _arrays(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in ("params", "optimizer", "average", "kept")}


def _restore(fresh: State, arrays: files.Arrays, plain: files.Plain) -> State:
    leaves, tree = jax.tree.flatten(_arrays(fresh))
    for k, leaf in enumerate(leaves):
        stored = arrays[str(k)]
        if stored.shape != leaf.shape or stored.dtype != leaf.dtype:
            raise ValueError(f"an array of shape {stored.shape}, not of {leaf.shape}")
        leaves[k] = jnp.asarray(stored) if isinstance(leaf, jax.Array) else stored
    return replace(
        fresh,
        **jax.tree.unflatten(tree, leaves),
        factor=float(plain["factor"]),
        epoch=int(plain["epoch"]),
        history=tuple(plain["history"]),
    )


def _digest(*parts: bytes) -> str:
    result = hashlib.sha256()
    for part in parts:
        result.update(str(len(part)).encode() + part)
    return result.hexdigest()
