"""Coupling: a network reads one half of the features and says how to map the other half."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from deciban.flows.elementwise import bound_softly

Activation = Literal["relu", "gelu", "silu", "tanh"]
Layers = list[dict[str, Any]]

# Inputs are read as if within ±16, small ones as they are. Outliers then do not drive all scales to
# their bounds at once, where several couplings together would no longer invert in float32.
_REACH = 16.0

_ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": jax.nn.relu,
    # The tanh approximation cubes its argument, and its gradient is NaN once that overflows.
    "gelu": lambda h: jax.nn.gelu(h, approximate=False),
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
}

Halves = tuple[jax.Array, jax.Array]
Elementwise = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


def couple(
    layers: Layers, halves: Halves, elementwise: Elementwise, activation: Activation, flip: bool
) -> tuple[Halves, jax.Array]:
    """Both halves, the second one mapped (with ``flip``, the first), and log |det| of shape (...).

    A single feature has nothing to be conditioned on; it is mapped with parameters of its own.
    """
    seen, mapped = halves[::-1] if flip else halves
    mapped, log_slopes = elementwise(mapped, _output(layers, seen, activation))
    # The slopes of a single scaled feature are the same for all samples, and have no axis.
    log_det = jnp.sum(jnp.broadcast_to(log_slopes, mapped.shape), axis=-1)
    return ((mapped, seen) if flip else (seen, mapped)), log_det


def half_sizes(n_features: int) -> tuple[int, int]:
    """Features in the first and in the second half."""
    return n_features // 2, n_features - n_features // 2


def split(x: jax.Array) -> Halves:
    """Both halves of the last axis. Between couplings they stay apart: joining them takes time."""
    first = half_sizes(x.shape[-1])[0]
    return x[..., :first], x[..., first:]


def join(halves: Halves) -> jax.Array:
    """Both halves in one array."""
    return jnp.concatenate(halves, axis=-1)


def init_layers(
    rng: np.random.Generator, count: int, n_in: int, n_out: int, width: int, depth: int, dtype: Any
) -> Layers:
    """Layers of perceptrons whose last one is zero, so that couplings are the identity at first.

    The first axis of each array is that of ``count`` perceptrons. With nothing to read
    (``n_in = 0``) there is only the last layer's bias: the output is learned, and the same for
    every sample. Drawn by NumPy: there is nothing to compile.
    """
    last_bias = np.zeros((count, n_out), dtype)
    if n_in == 0:
        return [{"bias": last_bias}]
    layers = []
    for size in [n_in] + [width] * (depth - 1):
        noise = rng.standard_normal((count, size + 1, width)).astype(dtype)
        weight = math.sqrt(2 / size) * noise[:, :-1]
        # Spread, not zero: with a single input all kinks would start at one point.
        layers.append({"weight": weight, "bias": noise[:, -1] / math.sqrt(size)})
    return [*layers, {"weight": np.zeros((count, width, n_out), dtype), "bias": last_bias}]


def _output(layers: Layers, x: jax.Array, activation: Activation) -> jax.Array:
    """Output of shape (..., n_out); of shape (n_out,) where there is nothing to read."""
    *hidden, last = layers
    if "weight" not in last:
        return last["bias"]
    x = bound_softly(x, _REACH)
    nonlinear = _ACTIVATIONS[activation]
    for layer in hidden:
        x = nonlinear(x @ layer["weight"] + layer["bias"])
    return x @ last["weight"] + last["bias"]
