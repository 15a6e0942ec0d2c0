"""Devices that a training is spread over: all of this process, and those of other processes.

The samples of each step are divided among the devices, and what is learned is on all of them. Each
device computes the slopes of its samples, and these are added up as whole vectors: a message
between processes takes its time, and XLA would send one for each array of parameters.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Tree = Any
_spec: Any = PartitionSpec  # JAX has no type for its arguments


class Spread:
    """Placement of arrays on all devices, for steps of a given number of samples.

    As many devices share a step as divide its samples evenly; the others do the same again.
    """

    def __init__(self, batch_size: int) -> None:
        devices = np.array(jax.devices())
        self.n_shares = math.gcd(batch_size, len(devices))
        self._mesh: Mesh | None = None
        if len(devices) > 1:
            self._mesh = Mesh(devices.reshape(self.n_shares, -1), ("batch", "copy"))

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``jax.jit`` for a program whose results are wanted on every device."""
        if self._mesh is None:
            return {}
        return {"out_shardings": NamedSharding(self._mesh, _spec())}

    def replicate(self, tree: Tree) -> Tree:
        """The arrays on every device."""
        if self._mesh is None:
            return jax.device_put(tree)
        return _place(tree, NamedSharding(self._mesh, _spec()))

    def divide(self, rows: Any) -> Any:
        """Rows of batches, which are on the last axis, divided among the devices."""
        if self._mesh is None:
            return rows
        spec = _spec(*[None] * (np.ndim(rows) - 1), "batch")
        return _place(rows, NamedSharding(self._mesh, spec))

    def add_up(self, function: Callable[..., Tree]) -> Callable[..., Tree]:
        """The sum over devices of a function, whose last argument is a batch that is divided."""
        if self.n_shares == 1:
            return function

        def run(*args: Tree) -> Tree:
            specs = (*(_spec() for _ in args[1:]), _spec("batch"))
            return _shard_map(add_here, self._mesh, specs, _spec())(*args)

        def add_here(*args: Tree) -> Tree:
            psum: Any = jax.lax.psum  # which has no types
            return psum(function(*args), "batch")

        return run

    def local(self, tree: Tree) -> Tree:
        """Arrays that are on every device, on the first one of this process."""
        if self._mesh is None:
            return tree
        return jax.tree.map(lambda array: array.addressable_data(0), tree)


def _shard_map(function: Callable[..., Tree], *places: Any) -> Callable[..., Tree]:
    names = ("mesh", "in_specs", "out_specs")
    options: dict[str, Any] = dict(zip(names, places, strict=True))
    if hasattr(jax, "shard_map"):
        return jax.shard_map(function, check_vma=False, **options)
    older = importlib.import_module("jax.experimental.shard_map")  # where it was before 0.6
    return older.shard_map(function, check_rep=False, **options)


def _place(tree: Tree, sharding: NamedSharding) -> Tree:
    def place(values: Any) -> jax.Array:
        whole = np.asarray(values)
        return jax.make_array_from_callback(whole.shape, sharding, lambda at: whole[at])

    return jax.tree.map(place, tree)
