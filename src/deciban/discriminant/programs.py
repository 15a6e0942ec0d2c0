"""The compiled programs of a CDA: its training, and what is computed of rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban.discriminant.objective import LossOptions, Model
from deciban.flows.training import Trainer, Training

_ROWS = (256, 4096)  # in a batch: each new shape would compile anew
_REFINEMENTS = 25


def in_batches(
    program: Callable[..., jax.Array], model: Model, params: Any, values: np.ndarray, dtype: Any
) -> np.ndarray:
    """A program of rows, in batches of few sizes, since each size compiles anew."""
    params = jax.tree.map(jnp.asarray, params)
    rows = _ROWS[0] if len(values) <= _ROWS[0] else _ROWS[1]
    results = []
    for start in range(0, max(1, len(values)), rows):  # no rows have columns too
        part = values[start : start + rows]
        padded = np.pad(part, ((0, rows - len(part)), (0, 0)))
        with jax.default_matmul_precision("highest"):  # accelerators round otherwise
            out = np.asarray(program(model, params, jnp.asarray(padded, dtype)))
        results.append(out[: len(part)].astype(np.float64))
    return np.concatenate(results)


@lru_cache(maxsize=32)
def trainer(
    model: Model, options: LossOptions, training: Training, n_samples: int, scored: bool
) -> Trainer:
    """One trainer for all fits of one size, as in a cross-validation: it is compiled once."""
    loss = partial(model.loss, options=options)
    return Trainer(loss, model.score if scored else None, training, n_samples, model.decays)


@partial(jax.jit, static_argnums=0)
def parts(model: Model, params: Any, x: jax.Array) -> jax.Array:
    """Evidence and, in the last column, what the log-densities of all classes share."""
    scores, common = model.parts(params, x)
    return jnp.concatenate([scores, common[:, None]], axis=1)


@partial(jax.jit, static_argnums=0)
def forward(model: Model, params: Any, x: jax.Array) -> jax.Array:
    """Base space of whitened features, added ones included."""
    return model.flow.forward(params["flow"], x)[0]


@partial(jax.jit, static_argnums=0)
def inverse(model: Model, params: Any, z: jax.Array) -> jax.Array:
    """Whitened features, added ones included, of base space."""
    return model.flow.inverse(params["flow"], z)[0]


@partial(jax.jit, static_argnums=0)
def at_ilr(model: Model, params: Any, z: jax.Array) -> jax.Array:
    """Whitened features whose evidence, with what is added at its centre, is the ILRL of z.

    The inverse map puts something into the added dimensions, which features cannot hold. From what
    it puts into the others, damped least squares (Levenberg, Marquardt) goes to the nearest
    features with the ILRL that is asked for.
    """
    k, d = model.n_classes - 1, z.shape[1] - model.n_added

    def gap(w: jax.Array, target: jax.Array) -> jax.Array:
        return model.flow.forward(params["flow"], jnp.pad(w, (0, model.n_added)))[0][:k] - target

    def one(w: jax.Array, target: jax.Array) -> jax.Array:
        def refined(_: Any, carry: Any) -> Any:
            w, damping = carry
            now, J = gap(w, target), jax.jacrev(gap)(w, target)
            G = J @ J.T
            ridge = damping * jnp.trace(G) / k * jnp.eye(k, dtype=w.dtype)
            new = w - J.T @ jnp.linalg.solve(G + ridge, now)
            better = jnp.sum(gap(new, target) ** 2) < jnp.sum(now**2)
            return jnp.where(better, new, w), jnp.where(better, damping / 5, damping * 5)

        return jax.lax.fori_loop(0, _REFINEMENTS, refined, (w, jnp.asarray(1e-3, w.dtype)))[0]

    start = model.flow.inverse(params["flow"], z)[0][:, :d]
    return jax.vmap(one)(start, z[:, :k])
