"""The state of a training run on disk, and its progress on the screen."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban._persistence import require_writable, tensors
from deciban.exceptions import InputError
from deciban.flows.training import State

_SECONDS = 2.0  # between two writes: an epoch may take less than a write


class Keeper:
    """Keeps the state of a run in a file and takes it up from there.

    Parameters
    ----------
    path : path or None
        None keeps nothing.
    marks : dict of str
        What the file must be of, such as a digest of the data, by name.
    seed : int
    free : bool, default False
        Whether the seed may give way to that of the file.
    """

    def __init__(self, path: Any, marks: dict[str, str], seed: int, free: bool = False) -> None:
        self.path = None if path is None else require_writable(path)
        self.marks, self.seed = marks, seed
        self._written = 0.0
        self._stored: Any = None
        if self.path is not None and self.path.exists():
            self._stored = tensors.read(self.path, "checkpoint")
            plain = self._stored[1]
            if free and isinstance(plain.get("seed"), int):
                self.seed = plain["seed"]
            self._require_same(plain)

    def _require_same(self, plain: dict[str, Any]) -> None:
        stored = plain.get("marks") or {}
        other = [name for name, mark in self.marks.items() if stored.get(name) != mark]
        if plain.get("seed") != self.seed:
            other.append("random_state")
        if other:
            raise InputError(
                f"checkpoint must be that of the same data and settings; {self.path} is of another "
                f"fit ({' and '.join(other)} differ). Delete it, or choose another path."
            )

    def keep(self, state: State, force: bool = False) -> None:
        """Write the state, unless it was written a moment ago."""
        if self.path is None or (time.monotonic() - self._written < _SECONDS and not force):
            return
        arrays: dict[str, np.ndarray] = {}
        for part in ("params", "optimizer", "best"):
            leaves = jax.tree.leaves(getattr(state, part))
            arrays |= {f"{part} {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
        arrays |= {"best_score": state.best_score, "best_epoch": state.best_epoch}
        plain = {"marks": self.marks, "seed": self.seed, "factor": state.factor,
                 "epoch": state.epoch}  # fmt: skip
        tensors.write(self.path, "checkpoint", arrays, plain | {"history": list(state.history)})
        self._written = time.monotonic()

    def resumed(self, fresh: State) -> State:
        """The state in the file, or the fresh one where there is no file."""
        if self._stored is None:
            return fresh
        try:
            return self._restored(fresh, *self._stored)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"checkpoint must be whole; a part of {self.path} is missing or does not fit "
                f"({error}). Delete it."
            ) from None

    def _restored(self, fresh: State, arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> Any:
        parts = {}
        for part in ("params", "optimizer", "best"):
            leaves, tree = jax.tree.flatten(getattr(fresh, part))
            stored = [_shaped(arrays[f"{part} {k}"], leaf) for k, leaf in enumerate(leaves)]
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


def _shaped(array: np.ndarray, like: Any) -> Any:
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"an array of shape {array.shape} where {like.shape} is needed")
    return jnp.asarray(array)


def digest(*values: Any) -> str:
    """A mark of arrays and text: the same only for the same values."""
    result = hashlib.sha256()
    for value in values:
        data = value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes()
        result.update(str(len(data)).encode() + data)
    return result.hexdigest()


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
