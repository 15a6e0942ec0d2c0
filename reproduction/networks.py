"""A network with dropout, input noise and weight decay: the strongest of the other classifiers.

scikit-learn's networks have only the last of the three, and here they matter more than depth.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np


def regularized_posteriors(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    *,
    width: int,
    epochs: int,
    noise: float,
    dropout: float,
    decay: float,
    batch: int = 256,
    peak: float = 1e-3,
    seed: int = 0,
) -> np.ndarray:
    """Posteriors of test samples by a network with three hidden layers.

    Parameters
    ----------
    X, y : arrays of shape (n_samples, n_features) and (n_samples,)
        Standardized features, and classes numbered from 0.
    X_test : array of shape (n_test, n_features)
    width, epochs, batch : int
    noise, dropout, decay : float
        Standard deviation of the noise on the features, share of hidden units dropped in training,
        and decoupled weight decay.
    peak : float
        Largest learning rate of the one-cycle schedule.
    seed : int
    """
    import jax
    import jax.numpy as jnp
    import optax

    sizes = [X.shape[1], width, width, width, int(y.max()) + 1]
    params = _initialize(sizes, np.random.default_rng(seed))
    steps = len(y) // batch
    rate = optax.cosine_onecycle_schedule(max(1, epochs * steps), peak)
    optimizer = optax.adamw(rate, weight_decay=decay)

    def loss(params: Any, x: Any, labels: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        x = x + noise * jax.random.normal(first, x.shape)
        logits = _logits(params, x, dropout, second)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(state: Any, rows: Any, data: Any) -> Any:
        params, inner, key = state
        key, now = jax.random.split(key)
        gradient = jax.grad(loss)(params, data[0][rows], data[1][rows], now)
        change, inner = optimizer.update(gradient, inner, params)
        return (optax.apply_updates(params, change), inner, key), None

    @jax.jit
    def epoch(state: Any, order: Any, data: Any) -> Any:
        return jax.lax.scan(partial(step, data=data), state, order)[0]

    rng = np.random.default_rng(seed)
    data = jnp.asarray(X, jnp.float32), jnp.asarray(y)
    state = params, optimizer.init(params), jax.random.key(seed)
    for _ in range(epochs):
        order = rng.permutation(len(y))[: steps * batch].reshape(steps, batch)
        state = epoch(state, jnp.asarray(order), data)
    logits = _logits(state[0], jnp.asarray(X_test, jnp.float32), 0.0, state[2])
    z = np.asarray(logits, dtype=np.float64)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _initialize(sizes: list[int], rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """He initialization of the weights; offsets are zero."""
    import jax.numpy as jnp

    return [
        (jnp.asarray(rng.normal(0, (2 / n) ** 0.5, (n, m)), jnp.float32), jnp.zeros(m, jnp.float32))
        for n, m in pairwise(sizes)
    ]


def _logits(params: Any, x: Any, dropout: float, key: Any) -> Any:
    import jax

    for k, (weight, offset) in enumerate(params[:-1]):
        x = jax.nn.relu(x @ weight + offset)
        if dropout:
            keep = jax.random.bernoulli(jax.random.fold_in(key, k), 1 - dropout, x.shape)
            x = x * keep / (1 - dropout)
    weight, offset = params[-1]
    return x @ weight + offset
