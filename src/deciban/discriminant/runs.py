"""The run of a training: its progress bar, interruptions by the user, and its state on disk."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load, save

from deciban._persistence import files
from deciban.exceptions import CheckpointError, InputError, InterruptedFitWarning
from deciban.flows.processes import check_same, from_first, is_first, together
from deciban.flows.training import State

_Stored = tuple[files.Arrays, files.Plain]
_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
_SECONDS_IN_A_LOG = 5.0  # between two states of the bar, each of which is a line there
_SHOWN = {"loss": "loss", "score": "C_mc", "best_score": "best"}
_SECONDS = 2.0  # between two checkpoints: an epoch may take less than a write


class Progress:
    """A progress bar over the epochs of a task, which begins with a compilation."""

    def __init__(self, task: str, epochs: int, done: int, verbose: bool) -> None:
        self._bar: Any = None
        self._task, self._is_compiled = task, False
        if verbose and is_first():
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=epochs,
                initial=done,
                desc=f"compiling, then {task}",
                bar_format=_FORMAT,
                mininterval=0.1 if sys.stderr.isatty() else _SECONDS_IN_A_LOG,
            )

    def advance(self, share: float) -> None:
        """Add a share of an epoch; the rate does not count the compilation."""
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

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.total = self._bar.n  # fewer epochs were enough
            self._bar.close()


@contextmanager
def interruptible(describe: Callable[[], str]) -> Iterator[None]:
    """Turn an interruption by the user into a warning, unless other processes wait for this one."""
    try:
        yield
    except KeyboardInterrupt:
        if jax.process_count() > 1:
            raise
        warnings.warn(
            f"fit was interrupted {describe()}; the best model so far is kept.",
            InterruptedFitWarning,
            stacklevel=6,
        )


class Checkpoint:
    """A file that holds the state of a training run, for another run to continue from.

    If several processes train together, the first one reads and writes it for all. The file must
    have been written for the same data and settings. With ``any_seed``, the seed in the file
    replaces ``seed``. A path of None stores nothing.
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
        self._stored: _Stored | None = None
        if path is None and jax.process_count() == 1:
            return
        self.digests = {
            "data": _digest(*(np.ascontiguousarray(values).tobytes() for values in data)),
            "settings": _digest(json.dumps(settings).encode()),
        }
        for name, digest in self.digests.items():
            check_same(f"the {name} of fit", digest)
        with together():
            if path is not None and is_first():
                self._open(files.require_writable(path), any_seed)
        self.path = None if path is None else Path(path)
        self.seed = int(from_first(str(self.seed).encode()))
        self._stored = _share(self._stored)

    def _open(self, path: Path, any_seed: bool) -> None:
        if not path.exists():
            return
        arrays, plain = files.read_arrays(path, ["checkpoint"])
        if any_seed and isinstance(plain.get("seed"), int):
            self.seed = plain["seed"]
        stored = plain.get("digests") or {}
        differ = [name for name, digest in self.digests.items() if stored.get(name) != digest]
        if plain.get("seed") != self.seed:
            differ.append("random_state")
        if differ:
            raise CheckpointError(
                f"checkpoint must be that of the same data and settings; {path} is of another fit "
                f"(with different {' and '.join(differ)}). Choose another path, or move the file "
                "away."
            )
        self._stored = arrays, plain

    def save(self, state: State, force: bool = False) -> None:
        if self.path is None:
            return
        with together():
            if is_first() and (force or time.monotonic() - self._written >= _SECONDS):
                leaves = enumerate(jax.tree.leaves(_arrays(state)))
                arrays = {str(k): np.asarray(a) for k, a in leaves}
                plain = {"digests": self.digests, "seed": self.seed, "factor": state.factor}
                plain |= {"epoch": state.epoch, "history": list(state.history)}
                files.write_arrays(self.path, "checkpoint", arrays, plain)
                self._written = time.monotonic()

    def restore(self, fresh: State) -> State:
        """The state in the file; without a file, the fresh one."""
        if self._stored is None:
            return fresh
        try:
            return _restore(fresh, *self._stored)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"Cannot read {self.path}: a part of the checkpoint is missing or does not fit "
                f"({error}). Choose another path, or move the file away."
            ) from None


def _share(stored: _Stored | None) -> _Stored | None:
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
