"""Training: whole epochs compiled as one program, and a state that can be stored.

Any number of members train at once, each with its own parameters, options and random numbers, and
optionally its own samples. An epoch depends only on the state before it and on the seed, so an
interrupted run ends with the same result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban.exceptions import ConvergenceError
from deciban.flows.runtime import Spread, jit, map_members

Tree = Any
Vectors = tuple[Any, ...]
Report = Callable[[float], None]
_STEPS = 64  # at most, in one call of a program: so often progress is reported
_RETRIES = 8  # halvings of the step size after failed epochs
_MOST_SKIPPED = 0.5  # share of an epoch's steps that may lack a finite gradient
_WARM_UP = 50  # steps in which a step size rises that stays then
_MAX_NORM = 1.0  # of a gradient; a longer one is shortened
_AVERAGED = 8.0  # the average is over about the last eighth of the steps


@dataclass(frozen=True)
class Layout:
    """Parameters as two vectors, those that decay and the others: few arrays compile quickly."""

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]  # arrays of each vector; those of the first one decay

    @classmethod
    def of(cls, params: Tree, decays: Tree) -> Layout:
        leaves, tree = jax.tree.flatten(params)
        flags = jax.tree.leaves(decays)
        groups = tuple(tuple(k for k, f in enumerate(flags) if f is side) for side in (True, False))
        return cls(tree, tuple(leaf.shape for leaf in leaves), groups)

    def flatten(self, params: Tree) -> Vectors:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
        flat = [leaf.reshape(len(leaf), -1) for leaf in leaves]
        none = flat[0][:, :0]
        return tuple(np.hstack([none, *(flat[k] for k in group)]) for group in self.groups)

    def restore(self, vectors: Vectors) -> Tree:
        """The parameters in vectors on the last axis."""
        leaves: list[Any] = [None] * len(self.shapes)
        for group, vector in zip(self.groups, vectors, strict=True):
            start = 0
            for k in group:
                stop = start + math.prod(self.shapes[k])
                leaves[k] = vector[..., start:stop].reshape((*vector.shape[:-1], *self.shapes[k]))
                start = stop
        return jax.tree.unflatten(self.tree, leaves)


@dataclass(frozen=True)
class State:
    """State of a training run between epochs: arrays and numbers only, so that it can be stored.

    Arrays have the members on their first axis.
    """

    params: Vectors
    optimizer: dict[str, Any]
    average: Vectors  # of the parameters over the last eighth of the steps
    kept: Tree  # what the caller keeps, as it likes
    factor: float  # of the step size, halved after failed epochs
    epoch: int
    history: tuple[dict[str, float], ...]

    def record(self, **values: float) -> State:
        return replace(self, history=(*self.history[:-1], self.history[-1] | values))


class Trainer:
    """Adam with decoupled weight decay; the average of the weights is the result.

    ``loss(params, options, batch)`` is a weighted sum over the samples in a batch, which devices
    can share; it is divided by the sum of the weights. A batch is a tuple of arrays with one row
    per sample, weights last. ``options`` are the member's own numbers, among them ``weight_decay``
    and, unless all members train, ``goes_on``: zero for those that rest. With ``own_data``, arrays
    of samples have the members on their first axis. ``perturb(batch, key, options)`` adds noise.

    Epochs with more than 64 steps are divided into equal calls of one program, which may leave out
    up to 2 % of them. The step size rises over the first tenth of ``epochs``, then falls to zero;
    without ``epochs`` it stays constant. Devices share a step unless ``divide`` is false.
    """

    def __init__(
        self,
        loss: Callable[[Tree, Tree, Tree], jax.Array],
        layout: Layout,
        *,
        n_batches: int,
        batch_size: int,
        learning_rate: float,
        epochs: int | None = None,
        own_data: bool = False,
        perturb: Callable[[Tree, jax.Array, Tree], Tree] | None = None,
        divide: bool = True,
        quick: bool = False,
    ) -> None:
        self.layout, self.batch_size = layout, batch_size
        self._n_calls = -(-n_batches // _STEPS)
        self._n_steps = n_batches // self._n_calls  # in one call of a program
        self.call_size = self._n_steps * batch_size
        self.n_batches = n_batches = self._n_steps * self._n_calls
        self._perturb = perturb
        self._learning_rate = learning_rate
        self._steps = None if epochs is None else max(2, epochs * n_batches)
        axes = (0, None, 0, 0, 0, 0 if own_data else None)
        self.spread = Spread(batch_size if divide else 1)

        def add_up(vectors: Vectors, options: Tree, batch: Tree) -> Any:
            def total(vectors: Vectors) -> jax.Array:
                return loss(layout.restore(vectors), options, batch)

            return jnp.sum(batch[-1]), *jax.value_and_grad(total)(vectors)

        self._sums = self.spread.add_up(add_up)
        self._run_epoch = jit(map_members(self._epoch, axes), quick=quick, **self.spread.options)

    def start(self, params: Tree, kept: Tree = None) -> State:
        vectors = self.layout.flatten(params)
        zeros = tuple(map(np.zeros_like, vectors))
        optimizer = {"mean": zeros, "square": zeros, "count": np.zeros(len(vectors[0]), np.int32)}
        return State(vectors, optimizer, vectors, kept, 1.0, 0, ())

    def step(
        self,
        state: State,
        data: Tree,
        rows: Sequence[np.ndarray],
        options: Tree,
        seed: int,
        report: Report = lambda share: None,
    ) -> State:
        """The state after an epoch; ``rows`` are the samples that each member learns from.

        ``spread.replicate`` has placed ``data``; ``report`` gets each share of the epoch when done.
        """
        drawn = self._draw(np.random.default_rng([seed, state.epoch]), rows)
        calls = [(some, keys, data) for some, keys in zip(*drawn, strict=True)]
        return self._advance(state, lambda: calls, len(calls), options, report)

    def step_through(
        self,
        state: State,
        chunks: Callable[[], Iterator[Tree]],
        n_chunks: int,
        options: Tree,
        seed: int,
        report: Report = lambda share: None,
    ) -> State:
        """The state after an epoch over about ``n_chunks`` shuffled chunks of ``call_size``.

        While the program learns from a chunk, the next one is made.
        """
        members = [np.arange(self.call_size)] * len(state.params[0])

        def calls() -> Iterator[tuple[np.ndarray, np.ndarray, Tree]]:
            rng = np.random.default_rng([seed, state.epoch])
            for chunk in _ahead(chunks()):
                rows, keys = self._draw(rng, members, n_calls=1)
                yield rows[0], keys[0], self.spread.replicate(chunk)

        return self._advance(state, calls, n_chunks, options, report)

    def _advance(
        self,
        state: State,
        calls: Callable[[], Iterable[tuple[np.ndarray, np.ndarray, Tree]]],
        n_calls: int,
        options: Tree,
        report: Report,
    ) -> State:
        began = time.perf_counter()
        factor = state.factor
        start = state.params, state.optimizer, state.average
        first, options = self.spread.replicate((start, options))
        for _ in range(_RETRIES):
            now, found = first, []
            for some, keys, data in calls():
                now, losses, skipped = self._run_epoch(
                    now, np.float32(factor), options, self.spread.divide(some), keys, data
                )
                found.append((np.asarray(losses), np.asarray(skipped)))
                report(1 / n_calls)
            losses, skipped = np.mean(found, axis=0)
            if (skipped <= _MOST_SKIPPED).all():
                break
            report(-len(found) / n_calls)
            factor /= 2
        else:
            raise ConvergenceError(
                f"The loss is not finite in epoch {state.epoch}, even with {factor:.2g} times the "
                "learning rate. Lower learning_rate, or look for extreme values among the features."
            )
        record = {"epoch": state.epoch, "loss": float(np.nanmean(losses)), "factor": factor}
        record["seconds"] = time.perf_counter() - began
        history = (*state.history, record)
        params, optimizer, average = self.spread.local(now)
        return State(params, optimizer, average, state.kept, factor, state.epoch + 1, history)

    def _draw(
        self, rng: np.random.Generator, rows: Sequence[np.ndarray], n_calls: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (len(rows), n_calls or self._n_calls, self._n_steps)
        count = shape[1] * shape[2] * self.batch_size
        order = np.stack([rng.permutation(some)[:count] for some in rows]).astype(np.int32)
        keys = rng.integers(2**32, size=(*shape, 2), dtype=np.uint32)
        return np.moveaxis(order.reshape(*shape, self.batch_size), 1, 0), np.moveaxis(keys, 1, 0)

    def _epoch(
        self, start: Any, factor: Any, options: Tree, rows: Any, keys: Any, data: Tree
    ) -> tuple[Any, jax.Array, jax.Array]:
        """All batches in their order; also the mean loss and the share of skipped steps."""

        def step(carry: Any, drawn: Any) -> tuple[Any, Any]:
            rows, key = drawn
            batch = jax.tree.map(lambda values: values[rows], data)
            if self._perturb is not None:
                key = jax.random.wrap_key_data(key, impl="threefry2x32")
                batch = self._perturb(batch, key, options)
            mass, loss, slopes = self._sums(carry[0], options, batch)
            loss = loss / mass
            # A sum of finite terms is finite unless it overflows: then clipping could not help.
            squares = sum(jnp.sum((slope / mass) ** 2) for slope in slopes)
            usable = jnp.isfinite(loss) & jnp.isfinite(squares)
            shorter = jnp.minimum(1.0, _MAX_NORM / jnp.sqrt(squares)) / mass
            slopes = [jnp.where(usable, (shorter * s).astype(s.dtype), 0) for s in slopes]
            carry = self._update(carry, slopes, usable * factor, usable, options["weight_decay"])
            return carry, (jnp.where(usable, loss, 0.0), usable)

        def train() -> Any:
            carry, (losses, usable) = jax.lax.scan(step, start, (rows, keys))
            return carry, losses.sum() / jnp.maximum(usable.sum(), 1), 1.0 - usable.mean()

        def rest() -> Any:
            _, loss, skipped = jax.eval_shape(train)
            return start, jnp.full((), jnp.nan, loss.dtype), jnp.zeros((), skipped.dtype)

        if "goes_on" not in options:
            return train()
        return jax.lax.cond(options["goes_on"] > 0, train, rest)

    def _update(
        self, carry: Any, slopes: Sequence[jax.Array], factor: Any, usable: Any, decay: Any
    ) -> Any:
        """A step by Adam with decoupled weight decay, and the average; none if not usable."""
        vectors, state, average = carry
        count = state["count"] + 1
        rate = factor * self._rate(state["count"])
        numbers = (
            usable * 0.1,
            usable * 0.001,
            rate / (1 - 0.9**count),
            1 / (1 - 0.999**count),
            usable * _AVERAGED / (count - 1 + _AVERAGED),
        )
        out = []
        for k, slope in enumerate(slopes):
            vector, mean, square = vectors[k], state["mean"][k], state["square"][k]
            a, b, first, second, share = (number.astype(slope.dtype) for number in numbers)
            mean += a * (slope - mean)
            square += b * (slope**2 - square)
            moved = vector - first * mean / (jnp.sqrt(second * square) + 1e-8)
            if k == 0:
                moved -= (rate * decay).astype(slope.dtype) * vector
            out.append((moved, mean, square, average[k] + share * (moved - average[k])))
        moved, mean, square, average = zip(*out, strict=True)
        optimizer = {"mean": mean, "square": square, "count": state["count"] + usable}
        return moved, optimizer, average

    def _rate(self, count: jax.Array) -> jax.Array:
        if self._steps is None:
            return self._learning_rate * jnp.minimum(1.0, (count + 1) / _WARM_UP)
        warm = max(1, self._steps // 10)
        rising = 1 / 25 + (1 - 1 / 25) * count / warm
        place = jnp.clip((count - warm) / (self._steps - warm), 0, 1)
        return self._learning_rate * jnp.where(
            count < warm, rising, 0.5 + 0.5 * jnp.cos(jnp.pi * place)
        )


def _ahead(items: Iterator[Tree]) -> Iterator[Tree]:
    """Items from an iterator, each made while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item
