"""Training: whole epochs compiled as one program, and a state that can be stored.

It takes a loss of parameters and a batch, and a score of parameters on held-out samples, whatever
they mean. Each epoch depends on the state before it and on the seed alone, so that a run that was
interrupted ends where it would have ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban.exceptions import ConvergenceError

Batch = Any
Tree = Any
_RETRIES = 8  # halvings of the step size after failed epochs
_FEW_HELD_OUT = 500  # samples to which the weights are often overfitted
_MOST_SKIPPED = 0.5  # share of an epoch's steps that may lack a finite gradient


@dataclass(frozen=True)
class State:
    """State of a training run between epochs: arrays and numbers only, so that it can be stored."""

    params: Tree
    optimizer: Tree
    best: Tree
    best_score: np.ndarray  # of each member; lower is better
    factor: float  # of the step size, halved after failed epochs
    epoch: int
    history: tuple[dict[str, float], ...]


class Trainer:
    """Adam with decoupled weight decay and a one-cycle step size, for a loss and a score.

    Parameters
    ----------
    loss : callable
        ``loss(params, batch, key)``: the mean loss of a batch, a pytree of arrays with one row for
        each sample.
    score : callable or None
        ``score(params, held_out)``: one value for each sample, whose mean should be low. Without it
        the last parameters are kept.
    decays : callable
        ``decays(params)``: a pytree of bools, true for the parameters that weight decay is meant
        for.
    n_samples : int
        Number of samples to train on.
    epochs, batch_size : int
        Number of passes over the samples, and number of samples in each step.
    learning_rate : float
        Highest step size; it rises over the first tenth of the steps and then falls to zero.
    weight_decay : float, default 0
    clip : float, default 1
        Largest norm of a gradient; longer ones are shortened to it.
    n_members : int, default 1
        Number of members trained at once, each with its own parameters and random numbers.
    """

    def __init__(
        self,
        loss: Callable[[Tree, Batch, jax.Array], jax.Array],
        score: Callable[[Tree, Batch], jax.Array] | None,
        decays: Callable[[Tree], Tree],
        n_samples: int,
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        weight_decay: float = 0.0,
        clip: float = 1.0,
        n_members: int = 1,
    ) -> None:
        self.epochs, self.n_members = epochs, n_members
        self.batch_size = min(batch_size, n_samples)
        self.n_batches = max(1, n_samples // self.batch_size)
        self._loss, self._clip = loss, clip
        self._learning_rate, self._weight_decay, self._decays = learning_rate, weight_decay, decays
        epoch = self._epoch
        if n_members > 1:
            epoch = jax.vmap(epoch, in_axes=(0, 0, None, 0, 0, None))
            score = None if score is None else jax.vmap(score, in_axes=(0, None))
        self._run_epoch = jax.jit(epoch)
        self._score = None if score is None else jax.jit(score)

    def start(self, params: Tree, held_out: Batch = None) -> State:
        """The state before the first epoch; the first parameters may stay the best."""
        score = np.full(self.n_members, np.inf)
        if self._score is not None:
            score = self._scores(params, held_out).mean(axis=1)
        leaves = jax.tree.leaves(params)
        shape = (self.n_members, -1) if self.n_members > 1 else (-1,)
        zeros = np.zeros(sum(leaf.size for leaf in leaves), leaves[0].dtype).reshape(shape)
        count = np.zeros(shape[:-1], np.int32)
        optimizer = {"mean": zeros, "square": zeros, "count": count}
        return State(params, optimizer, params, score, 1.0, 0, ())

    def run(self, state: State, data: Batch, held_out: Batch, seed: int) -> Iterator[State]:
        """Yield the state after each of the remaining epochs."""
        while state.epoch < self.epochs:
            state = self._run_next_epoch(state, data, held_out, seed)
            yield state

    def choose(self, state: State, held_out: Batch) -> Tree:
        """The parameters to keep.

        After all epochs, whose last steps are small, these are the last ones, unless the best ones
        are clearly better on the held-out samples: the best of many noisy scores is often that of
        an epoch in which the steps were still large. After an interruption they are the best ones.
        """
        if self._score is None:
            return state.params
        if state.epoch < self.epochs:
            return state.best
        loss = self._scores(state.params, held_out) - self._scores(state.best, held_out)
        n = loss.shape[1]
        standard_errors = 1 if n < _FEW_HELD_OUT else 2
        doubt = standard_errors * loss.std(axis=1) / n**0.5
        return _select(loss.mean(axis=1) <= doubt, state.params, state.best, len(loss))

    def _scores(self, params: Tree, held_out: Batch) -> np.ndarray:
        """Score of each member on each held-out sample, of shape (n_members, n)."""
        assert self._score is not None
        return np.atleast_2d(np.asarray(self._score(params, held_out), dtype=np.float64))

    def _run_next_epoch(self, state: State, data: Batch, held_out: Batch, seed: int) -> State:
        began = time.perf_counter()
        drawn = self._draw(np.random.default_rng([seed, state.epoch]), data)
        for _ in range(_RETRIES):
            params, optimizer, losses, skipped = self._run_epoch(
                state.params, state.optimizer, np.float32(state.factor), *drawn, data
            )
            if bool(np.all(np.asarray(skipped) <= _MOST_SKIPPED)):
                break
            state = replace(state, factor=state.factor / 2)
        else:
            raise ConvergenceError(
                f"the loss must stay finite; it does not in epoch {state.epoch}, even with "
                f"{state.factor:.2g} times the learning rate. Lower learning_rate, or look for "
                f"extreme values among the features."
            )
        record = {"epoch": state.epoch, "loss": float(np.mean(losses)), "factor": state.factor}
        state = self._next_state(state, params, optimizer, record, held_out)
        record["seconds"] = time.perf_counter() - began
        return state

    def _next_state(
        self, state: State, params: Tree, optimizer: Tree, record: dict[str, float], held_out: Batch
    ) -> State:
        best, best_score = params, state.best_score
        if self._score is not None:
            score = self._scores(params, held_out).mean(axis=1)
            better = score < state.best_score  # never for NaN
            best = _select(better, params, state.best, self.n_members)
            best_score = np.where(better, score, state.best_score)
            record |= {"score": float(np.mean(score)), "best_score": float(np.mean(best_score))}
        history = (*state.history, record)
        return State(params, optimizer, best, best_score, state.factor, state.epoch + 1, history)

    def _draw(self, rng: np.random.Generator, data: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Rows and a random key of each batch of an epoch; by NumPy, which compiles nothing."""
        n, members = jax.tree.leaves(data)[0].shape[0], (self.n_members,) * (self.n_members > 1)
        rows = np.stack([rng.permutation(n) for _ in range(self.n_members)]).astype(np.int32)
        rows = rows[:, : self.n_batches * self.batch_size]
        keys = rng.integers(2**32, size=(*members, self.n_batches, 2), dtype=np.uint32)
        return rows.reshape(*members, self.n_batches, self.batch_size), keys

    def _epoch(
        self,
        params: Tree,
        optimizer: Tree,
        factor: jax.Array,
        rows: jax.Array,
        keys: jax.Array,
        data: Batch,
    ) -> tuple[Tree, Tree, jax.Array, jax.Array]:
        """All batches, in the order of their rows; also the mean loss and share of skipped steps.

        The parameters are one vector here: as many programs as arrays would have to be compiled.
        """
        vector, restore, n_decaying = _flatten(params, self._decays(params))

        def step(carry: tuple[Tree, Tree], drawn: Any) -> tuple[tuple[Tree, Tree], Any]:
            rows, key = drawn
            batch = jax.tree.map(lambda values: values[rows], data)
            key = jax.random.wrap_key_data(key, impl="threefry2x32")
            loss, slope = jax.value_and_grad(lambda v: self._loss(restore(v), batch, key))(carry[0])
            # A sum is finite where all of its terms are, unless it overflows: then clip could not.
            squares = jnp.sum(slope**2)
            usable = jnp.isfinite(loss) & jnp.isfinite(squares)
            shorter = jnp.minimum(1.0, self._clip / jnp.sqrt(squares)).astype(slope.dtype)
            moved = self._update(*carry, shorter * slope, factor, n_decaying)
            carry = jax.tree.map(lambda new, old: jnp.where(usable, new, old), moved, carry)
            return carry, (jnp.where(usable, loss, 0.0), usable)

        (vector, optimizer), (losses, usable) = jax.lax.scan(
            step, (vector, optimizer), (rows, keys)
        )
        used = jnp.maximum(usable.sum(), 1)
        return restore(vector), optimizer, losses.sum() / used, 1 - usable.mean()

    def _update(
        self, vector: jax.Array, state: Tree, slope: jax.Array, factor: jax.Array, n_decaying: int
    ) -> tuple[jax.Array, Tree]:
        """One step of Adam with decoupled weight decay of the first parameters."""
        count = state["count"] + 1
        mean = 0.9 * state["mean"] + 0.1 * slope
        square = 0.999 * state["square"] + 0.001 * slope**2
        root = jnp.sqrt(square / (1 - 0.999**count).astype(square.dtype)) + 1e-8
        direction = mean / ((1 - 0.9**count).astype(mean.dtype) * root)
        decay = jnp.where(jnp.arange(vector.size) < n_decaying, self._weight_decay * vector, 0.0)
        rate = (factor * self._rate(state["count"])).astype(vector.dtype)
        moved = {"mean": mean, "square": square, "count": count}
        return vector - rate * (direction + decay), moved

    def _rate(self, count: jax.Array) -> jax.Array:
        """Step size: linear from a 25th over the first tenth of all steps, then half a cosine."""
        steps = max(2, self.epochs * self.n_batches)
        warm = max(1, steps // 10)
        rising = 1 / 25 + (1 - 1 / 25) * count / warm
        falling = 0.5 + 0.5 * jnp.cos(jnp.pi * jnp.clip((count - warm) / (steps - warm), 0, 1))
        return self._learning_rate * jnp.where(count < warm, rising, falling)


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


def _select(better: np.ndarray, new: Tree, old: Tree, n_members: int) -> Tree:
    """The new parameters of the members that are better, and the old ones of the others."""
    if better.all():
        return new
    if not better.any():
        return old
    flags = jnp.asarray(better)
    return jax.tree.map(
        lambda a, b: jnp.where(flags.reshape((n_members,) + (1,) * (a.ndim - 1)), a, b), new, old
    )
