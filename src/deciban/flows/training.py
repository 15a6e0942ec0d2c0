"""Training: whole epochs compiled as one program, and a state that can be stored.

It takes a loss of parameters and a batch, whatever they mean, and trains any number of members at
once, each with its own parameters, options and random numbers, and by choice its own samples. Each
epoch depends on the state before it and on the seed alone, so that a run that was interrupted ends
where it would have ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban.exceptions import ConvergenceError

Tree = Any
_RETRIES = 8  # halvings of the step size after failed epochs
_MOST_SKIPPED = 0.5  # share of an epoch's steps that may lack a finite gradient
_WARM_UP = 50  # steps in which a step size rises that stays then
_AVERAGED = 8.0  # the average is over about the last eighth of the steps


@dataclass(frozen=True)
class State:
    """State of a training run between epochs: arrays and numbers only, so that it can be stored.

    Arrays have the members on their first axis.
    """

    params: Tree
    optimizer: Tree
    average: Tree  # of the parameters over the last eighth of the steps
    kept: Tree  # what the caller keeps, as it likes
    factor: float  # of the step size, halved after failed epochs
    epoch: int
    history: tuple[dict[str, float], ...]


class Trainer:
    """Adam with decoupled weight decay, for a loss; the average of the weights is what counts.

    Parameters
    ----------
    loss : callable
        ``loss(params, batch, key, options)``: the mean loss of a batch, a pytree of arrays with one
        row for each sample. ``options`` are a dict of the member's own numbers.
    decays : callable
        ``decays(params)``: a pytree of bools, true for the parameters that weight decay is meant
        for. Its strength is the member's option ``weight_decay``.
    n_batches, batch_size : int
        Number of steps in each epoch, and number of samples in each step.
    learning_rate : float
        Highest step size.
    epochs : int, optional
        The step size rises over the first tenth of the steps of so many epochs, and then falls to
        zero. Without it, it stays where it is after 50 steps.
    own_data : bool, default False
        Whether each member has its own samples: arrays of shape (n_members, n_samples, ...).
    clip : float, default 1
        Largest norm of a gradient; longer ones are shortened to it.
    """

    def __init__(
        self,
        loss: Callable[[Tree, Tree, jax.Array, Tree], jax.Array],
        decays: Callable[[Tree], Tree],
        *,
        n_batches: int,
        batch_size: int,
        learning_rate: float,
        epochs: int | None = None,
        own_data: bool = False,
        clip: float = 1.0,
    ) -> None:
        self.n_batches, self.batch_size = n_batches, batch_size
        self._loss, self._decays, self._clip = loss, decays, clip
        self._learning_rate = learning_rate
        self._steps = None if epochs is None else max(2, epochs * n_batches)
        axes = (0, 0, 0, None, 0, 0, 0, 0 if own_data else None)
        self._run_epoch = jax.jit(jax.vmap(self._epoch, in_axes=axes))

    def start(self, params: Tree, kept: Tree = None) -> State:
        """The state before the first epoch."""
        leaves = jax.tree.leaves(params)
        members = leaves[0].shape[0]
        zeros = np.zeros((members, sum(leaf.size for leaf in leaves) // members), leaves[0].dtype)
        optimizer = {"mean": zeros, "square": zeros, "count": np.zeros(members, np.int32)}
        return State(params, optimizer, params, kept, 1.0, 0, ())

    def step(
        self, state: State, data: Tree, rows: Sequence[np.ndarray], options: Tree, seed: int
    ) -> State:
        """The state after another epoch; ``rows`` are the samples that each member learns from."""
        began = time.perf_counter()
        drawn = self._draw(np.random.default_rng([seed, state.epoch]), rows)
        factor = state.factor
        for _ in range(_RETRIES):
            params, optimizer, average, losses, skipped = self._run_epoch(
                state.params, state.optimizer, state.average, np.float32(factor), options, *drawn,
                data,
            )  # fmt: skip
            if bool(np.all(np.asarray(skipped) <= _MOST_SKIPPED)):
                break
            factor /= 2
        else:
            raise ConvergenceError(
                f"the loss must stay finite; it does not in epoch {state.epoch}, even with "
                f"{factor:.2g} times the learning rate. Lower learning_rate, or look for "
                f"extreme values among the features."
            )
        record = {"epoch": state.epoch, "loss": float(np.mean(losses)), "factor": factor}
        record["seconds"] = time.perf_counter() - began
        history = (*state.history, record)
        return State(params, optimizer, average, state.kept, factor, state.epoch + 1, history)

    def _draw(
        self, rng: np.random.Generator, rows: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows and a random key of each batch of an epoch; by NumPy, which compiles nothing."""
        M, count = len(rows), self.n_batches * self.batch_size
        order = np.stack([rng.permutation(some)[:count] for some in rows]).astype(np.int32)
        keys = rng.integers(2**32, size=(M, self.n_batches, 2), dtype=np.uint32)
        return order.reshape(M, self.n_batches, self.batch_size), keys

    def _epoch(
        self,
        params: Tree,
        optimizer: Tree,
        average: Tree,
        factor: jax.Array,
        options: Tree,
        rows: jax.Array,
        keys: jax.Array,
        data: Tree,
    ) -> tuple[Tree, Tree, Tree, jax.Array, jax.Array]:
        """All batches, in the order of their rows; also the mean loss and share of skipped steps.

        The parameters are one vector here: as many programs as arrays would have to be compiled.
        """
        decays = self._decays(params)
        vector, restore, n_decaying = _flatten(params, decays)

        def step(carry: tuple[Tree, Tree, Tree], drawn: Any) -> tuple[tuple[Tree, Tree, Tree], Any]:
            rows, key = drawn
            vector, optimizer, average = carry
            batch = jax.tree.map(lambda values: values[rows], data)
            key = jax.random.wrap_key_data(key, impl="threefry2x32")
            loss, slope = jax.value_and_grad(lambda v: self._loss(restore(v), batch, key, options))(
                vector
            )
            # A sum is finite where all of its terms are, unless it overflows: then clip could not.
            squares = jnp.sum(slope**2)
            usable = jnp.isfinite(loss) & jnp.isfinite(squares)
            shorter = jnp.minimum(1.0, self._clip / jnp.sqrt(squares)).astype(slope.dtype)
            decay = jnp.where(jnp.arange(vector.size) < n_decaying, options["weight_decay"], 0.0)
            moved, after = self._update(vector, optimizer, shorter * slope, factor, decay)
            share = (_AVERAGED / (optimizer["count"] + _AVERAGED)).astype(vector.dtype)
            new = (moved, after, average + share * (moved - average))
            carry = jax.tree.map(lambda a, b: jnp.where(usable, a, b), new, carry)
            return carry, (jnp.where(usable, loss, 0.0), usable)

        start = (vector, optimizer, _flatten(average, decays)[0])
        (vector, optimizer, mean), (losses, usable) = jax.lax.scan(step, start, (rows, keys))
        used = jnp.maximum(usable.sum(), 1)
        return restore(vector), optimizer, restore(mean), losses.sum() / used, 1 - usable.mean()

    def _update(
        self, vector: jax.Array, state: Tree, slope: jax.Array, factor: jax.Array, decay: jax.Array
    ) -> tuple[jax.Array, Tree]:
        """One step of Adam with decoupled weight decay."""
        count = state["count"] + 1
        mean = 0.9 * state["mean"] + 0.1 * slope
        square = 0.999 * state["square"] + 0.001 * slope**2
        root = jnp.sqrt(square / (1 - 0.999**count).astype(square.dtype)) + 1e-8
        direction = mean / ((1 - 0.9**count).astype(mean.dtype) * root)
        rate = (factor * self._rate(state["count"])).astype(vector.dtype)
        moved = {"mean": mean, "square": square, "count": count}
        return vector - rate * (direction + decay.astype(vector.dtype) * vector), moved

    def _rate(self, count: jax.Array) -> jax.Array:
        """Step size after so many steps."""
        if self._steps is None:
            return self._learning_rate * jnp.minimum(1.0, (count + 1) / _WARM_UP)
        warm = max(1, self._steps // 10)
        rising = 1 / 25 + (1 - 1 / 25) * count / warm
        place = jnp.clip((count - warm) / (self._steps - warm), 0, 1)
        return self._learning_rate * jnp.where(
            count < warm, rising, 0.5 + 0.5 * jnp.cos(jnp.pi * place)
        )


def _flatten(params: Tree, decays: Tree) -> tuple[jax.Array, Callable[[jax.Array], Tree], int]:
    """All parameters in one vector, those that decay first; the way back; how many decay."""
    leaves, tree = jax.tree.flatten(params)
    flags = jax.tree.leaves(decays)
    places = sorted(range(len(leaves)), key=lambda k: not flags[k])
    ends = np.cumsum([leaves[k].size for k in places])

    def restore(vector: jax.Array) -> Tree:
        parts = dict(zip(places, jnp.split(vector, ends[:-1]), strict=True))
        shaped = [parts[k].reshape(leaf.shape) for k, leaf in enumerate(leaves)]
        return jax.tree.unflatten(tree, shaped)

    vector = jnp.concatenate([leaves[k].ravel() for k in places])
    return vector, restore, sum(leaf.size for leaf, flag in zip(leaves, flags, strict=True) if flag)
