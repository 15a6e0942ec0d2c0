"""Couplings that free the residual of the class and leave the evidence as it is.

A discriminant flow sends features to (l, r), and its evidence depends on l alone. A map g(r; l)
that is invertible for every l gives another base space, (l, g(r; l)), with the same evidence. Where
the distribution of r depends on l, and so on the class, g can take this out. It consists of
couplings that read l beside one half of r, and is trained by likelihood alone, without the noise on
features and the cross-entropy that the evidence needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from deciban._validation.arrays import Floats
from deciban.exceptions import InterruptedFitWarning
from deciban.flows import Params
from deciban.flows.couplings import Elementwise, couple, init_layers
from deciban.flows.elementwise import Scaling
from deciban.flows.processes import decide, is_first
from deciban.flows.training import Layout, Trainer

_WIDTH, _DEPTH = 128, 2
_SCALING = Scaling(log_scale_bound=1.0)  # more would send outliers far away
_LEARNING_RATE, _BATCH = 2e-3, 256
_STEPS, _MOST_EPOCHS = 2_000, 40  # more steps or wider networks learn the training samples instead
_PATIENCE = 5  # epochs without a better one
_HELD_OUT, _MOST_HELD_OUT = 0.1, 2_000  # share and number of samples to tell the best epoch by


def init_residual(
    rng: np.random.Generator, n_given: int, n_mapped: int, n_couplings: int, dtype: Any
) -> Params:
    """Parameters of the identity; the ILRL is read in units of ``scale``, which is not learned."""
    couplings = []
    for k in range(n_couplings):
        seen, mapped = _halves(k, n_mapped)
        n_in, n_out = n_given + len(seen), len(mapped) * _SCALING.n_parameters
        layers = init_layers(rng, 1, n_in, n_out, _WIDTH, _DEPTH, dtype)
        couplings.append(jax.tree.map(lambda a: a[0], layers))
    return {"couplings": couplings, "scale": np.ones(n_given, dtype)}


def map_residual(params: Params, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """From (l, r) of shape (..., d) to (l, g(r; l)), and log |det| of shape (...)."""
    return _run(params, z, range(len(params["couplings"])), _SCALING.forward)


def restore_residual(params: Params, z: jax.Array) -> jax.Array:
    """The (l, r) of (l, g(r; l))."""
    return _run(params, z, reversed(range(len(params["couplings"]))), _SCALING.inverse)[0]


def train_residual(
    Z: Floats,
    weight: Floats,
    n_given: int,
    n_couplings: int,
    dtype: str,
    seed: int,
    verbose: bool = False,
) -> Params:
    """Parameters that make the residuals of points in base space most likely.

    Those of the best epoch on a tenth of the samples, or of none: then the map is the identity.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(Z))
    aside, rows = np.split(order, [min(_MOST_HELD_OUT, round(_HELD_OUT * len(Z)))])
    aside = aside if len(aside) else rows
    data = Z.astype(dtype), (weight / weight.mean()).astype(dtype)
    batch = min(_BATCH, len(rows))
    n_batches = len(rows) // batch
    epochs = min(_MOST_EPOCHS, -(-_STEPS // n_batches))
    params = init_residual(rng, n_given, Z.shape[1] - n_given, n_couplings, dtype)
    spread = data[0][:, :n_given].std(axis=0)
    params["scale"] = np.where(spread > 0, spread, 1).astype(dtype)
    layout = Layout.of(params, jax.tree.map(lambda _: False, params))
    trainer = Trainer(
        _loss,
        layout,
        n_batches=n_batches,
        batch_size=batch,
        learning_rate=_LEARNING_RATE,
        epochs=epochs,
        divide=False,
    )
    score = jax.jit(
        jax.vmap(lambda vectors, batch: _loss(layout.restore(vectors), {}, batch), (0, None))
    )
    unseen = data[0][aside], data[1][aside] / data[1][aside].sum()
    state = trainer.start(jax.tree.map(lambda a: a[None], params))
    best, least, best_epoch = state.params, float(score(state.params, unseen)[0]), 0
    options, data = {"weight_decay": np.zeros(1, dtype)}, trainer.spread.replicate(data)
    with _progress(epochs, verbose) as advance:
        while state.epoch < epochs:
            state = trainer.step(state, data, [rows], options, seed)
            now = float(decide(np.asarray(score(state.average, unseen)))[0])
            if now < least:
                best, least, best_epoch = state.average, now, state.epoch
            elif state.epoch - best_epoch >= _PATIENCE:
                break
            advance()
    return layout.restore(tuple(np.asarray(vector)[0] for vector in best))


@contextmanager
def _progress(epochs: int, verbose: bool) -> Iterator[Callable[[], Any]]:
    """A function that advances a progress bar, and a warning where the user interrupts."""
    from tqdm.auto import tqdm

    try:
        with tqdm(
            total=epochs, desc="residual", unit="epoch", disable=not (verbose and is_first())
        ) as bar:
            yield bar.update
    except KeyboardInterrupt:
        if jax.process_count() > 1:
            raise
        warnings.warn(
            "fit was interrupted when only the residual was left to map; the best map so far is "
            "kept.",
            InterruptedFitWarning,
            stacklevel=5,
        )


def _loss(params: Params, options: Any, batch: Any) -> jax.Array:
    """Weighted negative log-likelihood of residuals given the ILRL, in nats, up to a constant."""
    z, weight = batch
    mapped, log_det = map_residual(params, z)
    nats = 0.5 * jnp.sum(mapped[..., len(params["scale"]) :] ** 2, axis=-1) - log_det
    return jnp.sum(weight * nats)


def _run(
    params: Params, z: jax.Array, order: Iterable[int], elementwise: Elementwise
) -> tuple[jax.Array, jax.Array]:
    n = len(params["scale"])
    l, r = z[..., :n], z[..., n:]
    given = l / jax.lax.stop_gradient(params["scale"])
    total = jnp.zeros(z.shape[:-1], z.dtype)
    for k in order:
        seen, mapped = _halves(k, r.shape[-1])
        halves = jnp.concatenate([given, r[..., seen]], axis=-1), r[..., mapped]
        (_, moved), log_det = couple(
            params["couplings"][k], halves, elementwise, "silu", flip=False
        )
        r = r.at[..., mapped].set(moved)
        total += log_det
    return jnp.concatenate([l, r], axis=-1), total


def _halves(k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the residual that coupling k reads, and those that it maps."""
    order = np.random.default_rng(k // 2).permutation(n).astype(np.int32)
    first, second = order[: n // 2], order[n // 2 :]
    return (second, first) if k % 2 and len(first) else (first, second)
