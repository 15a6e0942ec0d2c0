"""The state of a training run on disk, and its progress on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban.discriminant import storage
from deciban.exceptions import InputError
from deciban.flows.training import State

_SECONDS = 2.0  # between two writes: an epoch may take less than a write


class Keeper:
    """Keeps the state of a run in a file and takes it up from there."""

    def __init__(self, path: Any, fingerprint: str) -> None:
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._written = 0.0

    def keep(self, state: State, force: bool = False) -> None:
        """Write the state, unless it was written a moment ago."""
        if self.path is None or (time.monotonic() - self._written < _SECONDS and not force):
            return
        arrays: dict[str, np.ndarray] = {}
        for part in ("params", "optimizer", "best"):
            leaves = jax.tree.leaves(getattr(state, part))
            arrays |= {f"{part} {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
        arrays |= {"best_score": state.best_score, "best_epoch": state.best_epoch}
        plain = {"fingerprint": self.fingerprint, "factor": state.factor, "epoch": state.epoch}
        storage.write(self.path, "checkpoint", arrays, plain | {"history": list(state.history)})
        self._written = time.monotonic()

    def resumed(self, fresh: State) -> State:
        """The state in the file, or the fresh one where there is no file."""
        if self.path is None or not self.path.exists():
            return fresh
        arrays, plain = storage.read(self.path, "checkpoint")
        if plain.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"checkpoint must be that of the same data and settings; {self.path} is of another "
                f"fit. Delete it, or choose another path."
            )
        parts = {}
        for part in ("params", "optimizer", "best"):
            leaves, tree = jax.tree.flatten(getattr(fresh, part))
            stored = [
                jnp.asarray(arrays[f"{part} {k}"], leaf.dtype) for k, leaf in enumerate(leaves)
            ]
            parts[part] = jax.tree.unflatten(tree, stored)
        return replace(
            fresh,
            **parts,
            best_score=arrays["best_score"],
            best_epoch=arrays["best_epoch"],
            factor=float(plain["factor"]),
            epoch=int(plain["epoch"]),
            history=tuple(plain["history"]),
        )


@contextmanager
def progress(epochs: int, done: int, wanted: bool) -> Iterator[Callable[[State], None]]:
    """A bar with the loss, the cross-entropy of what was set aside, and the time left."""
    if not wanted:
        yield lambda state: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=epochs, initial=done, unit="epoch") as bar:

        def show(state: State) -> None:
            last = state.history[-1]
            said = {"loss": f"{last['loss']:.4g}"}
            if "score" in last:
                said |= {"C_mc": f"{last['score']:.4g}", "best": f"{last['best_score']:.4g}"}
            bar.set_postfix(said, refresh=False)
            bar.update()

        yield show
