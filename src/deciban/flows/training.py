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
import optax

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
        steps = max(2, epochs * self.n_batches)
        rate = optax.warmup_cosine_decay_schedule(
            learning_rate / 25, learning_rate, max(1, steps // 10), steps
        )
        self._optimizer = optax.adamw(rate, weight_decay=weight_decay, mask=decays)
        epoch, init = self._epoch, self._optimizer.init
        if n_members > 1:
            epoch = jax.vmap(epoch, in_axes=(0, 0, None, 0, None))
            init = jax.vmap(init)
            score = None if score is None else jax.vmap(score, in_axes=(0, None))
        self._run_epoch, self._init = jax.jit(epoch), jax.jit(init)
        self._score = None if score is None else jax.jit(score)

    def start(self, params: Tree, held_out: Batch = None) -> State:
        """The state before the first epoch; the first parameters may stay the best."""
        score = np.full(self.n_members, np.inf)
        if self._score is not None:
            score = self._scores(params, held_out).mean(axis=1)
        return State(params, self._init(params), params, score, 1.0, 0, ())

    def run(self, state: State, data: Batch, held_out: Batch, key: jax.Array) -> Iterator[State]:
        """Yield the state after each of the remaining epochs."""
        while state.epoch < self.epochs:
            state = self._run_next_epoch(state, data, held_out, key)
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

    def _run_next_epoch(self, state: State, data: Batch, held_out: Batch, key: jax.Array) -> State:
        began = time.perf_counter()
        keys = jax.random.fold_in(key, state.epoch)
        if self.n_members > 1:
            keys = jax.random.split(keys, self.n_members)
        for _ in range(_RETRIES):
            params, optimizer, losses, skipped = self._run_epoch(
                state.params, state.optimizer, jnp.float32(state.factor), keys, data
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

    def _epoch(
        self, params: Tree, optimizer: Tree, factor: jax.Array, key: jax.Array, data: Batch
    ) -> tuple[Tree, Tree, jax.Array, jax.Array]:
        """All batches in random order; also the mean loss and the share of skipped steps."""
        n = jax.tree.leaves(data)[0].shape[0]
        shuffle, noise = jax.random.split(key)
        order = jax.random.permutation(shuffle, n)[: self.n_batches * self.batch_size]
        order = order.reshape(self.n_batches, self.batch_size)

        def step(carry: tuple[Tree, Tree], rows: Any) -> tuple[tuple[Tree, Tree], Any]:
            params, optimizer = carry
            rows, key = rows
            batch = jax.tree.map(lambda values: values[rows], data)
            loss, slope = jax.value_and_grad(self._loss)(params, batch, key)
            # A sum is finite where all of its terms are, unless it overflows: then clip could not.
            squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slope))
            usable = jnp.isfinite(loss) & jnp.isfinite(squares)
            shorter = jnp.minimum(1.0, self._clip / jnp.sqrt(squares))
            slope = jax.tree.map(lambda leaf: (shorter * leaf).astype(leaf.dtype), slope)
            updates, moved = self._optimizer.update(slope, optimizer, params)
            params = jax.tree.map(
                lambda p, u: jnp.where(usable, p + (factor * u).astype(p.dtype), p), params, updates
            )
            optimizer = jax.tree.map(lambda new, old: jnp.where(usable, new, old), moved, optimizer)
            return (params, optimizer), (jnp.where(usable, loss, 0.0), usable)

        keys = jax.random.split(noise, self.n_batches)
        (params, optimizer), (losses, usable) = jax.lax.scan(
            step, (params, optimizer), (order, keys)
        )
        used = jnp.maximum(usable.sum(), 1)
        return params, optimizer, losses.sum() / used, 1 - usable.mean()


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
