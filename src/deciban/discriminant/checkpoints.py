"""The state of a training run on disk."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban._persistence import require_writable, tensors
from deciban.exceptions import InputError
from deciban.flows.training import State

_SECONDS = 2.0  # between two writes: an epoch may take less than a write


class Checkpoint:
    """A file that holds the state of a training run, for another run to continue from.

    Parameters
    ----------
    path : path or None
        None stores nothing.
    digests : dict of str
        Digests of the data and the settings, by name: those of the file must be the same.
    seed : int
    any_seed : bool, default False
        Whether the seed of the file takes the place of ``seed``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        digests: dict[str, str],
        seed: int,
        any_seed: bool = False,
    ) -> None:
        self.path = None if path is None else require_writable(path)
        self.digests, self.seed = digests, seed
        self._written = 0.0
        self._stored: tuple[tensors.Arrays, tensors.Plain] | None = None
        if self.path is not None and self.path.exists():
            self._stored = tensors.read(self.path, ["checkpoint"])
            plain = self._stored[1]
            if any_seed and isinstance(plain.get("seed"), int):
                self.seed = plain["seed"]
            self._require_same(plain)

    def _require_same(self, plain: dict[str, Any]) -> None:
        stored = plain.get("digests") or {}
        differ = [name for name, digest in self.digests.items() if stored.get(name) != digest]
        if plain.get("seed") != self.seed:
            differ.append("random_state")
        if differ:
            raise InputError(
                f"checkpoint must be that of the same data and settings; {self.path} is of another "
                f"fit ({' and '.join(differ)} differ). Delete it, or choose another path."
            )

    def save(self, state: State, force: bool = False) -> None:
        """Write the state, unless it was written a moment ago."""
        if self.path is None or (time.monotonic() - self._written < _SECONDS and not force):
            return
        arrays: tensors.Arrays = {}
        for part in ("params", "optimizer", "best"):
            leaves = jax.tree.leaves(getattr(state, part))
            arrays |= {f"{part} {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
        arrays["best_score"] = state.best_score
        plain = {
            "digests": self.digests,
            "seed": self.seed,
            "factor": state.factor,
            "epoch": state.epoch,
            "history": list(state.history),
        }
        tensors.write(self.path, "checkpoint", arrays, plain)
        self._written = time.monotonic()

    def restore(self, fresh: State) -> State:
        """The state in the file, or the fresh one where there is no file."""
        if self._stored is None:
            return fresh
        try:
            return _restore(fresh, *self._stored)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"checkpoint must be whole; a part of {self.path} is missing or does not fit "
                f"({error}). Delete it."
            ) from None


def _restore(fresh: State, arrays: tensors.Arrays, plain: tensors.Plain) -> State:
    parts = {}
    for part in ("params", "optimizer", "best"):
        leaves, tree = jax.tree.flatten(getattr(fresh, part))
        stored = [_require_like(arrays[f"{part} {k}"], leaf) for k, leaf in enumerate(leaves)]
        parts[part] = jax.tree.unflatten(tree, stored)
    return replace(
        fresh,
        **parts,
        best_score=arrays["best_score"],
        factor=float(plain["factor"]),
        epoch=int(plain["epoch"]),
        history=tuple(plain["history"]),
    )


def _require_like(array: np.ndarray, like: jax.Array) -> jax.Array:
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"an array of shape {array.shape}, not of {like.shape}")
    return jnp.asarray(array)


def compute_digest(*values: Any) -> str:
    """SHA-256 of arrays and text."""
    result = hashlib.sha256()
    for value in values:
        data = value.encode() if isinstance(value, str) else np.ascontiguousarray(value).tobytes()
        result.update(str(len(data)).encode() + data)
    return result.hexdigest()
