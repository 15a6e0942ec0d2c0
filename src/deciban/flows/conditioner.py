"""Conditioner: the network that reads one half and says what happens to the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

Activation = Literal["relu", "gelu", "silu", "tanh"]
Layers = list[dict[str, jax.Array]]

_ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": jax.nn.relu,
    # The tanh approximation cubes its argument, and its gradient is NaN once that overflows.
    "gelu": lambda h: jax.nn.gelu(h, approximate=False),
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
}


def init(key: jax.Array, n_in: int, n_out: int, width: int, depth: int, dtype: Any) -> Layers:
    """Layers of a perceptron whose last one is zero, so that its output is zero at first.

    With nothing to read (``n_in = 0``) there is only the last layer's bias: the output is learnt,
    and the same for every sample.
    """
    if n_in == 0:
        return [{"bias": jnp.zeros(n_out, dtype)}]
    layers = []
    for layer_key, fan_in in zip(
        jax.random.split(key, depth), [n_in] + [width] * (depth - 1), strict=True
    ):
        weight_key, bias_key = jax.random.split(layer_key)
        reach = 1 / math.sqrt(fan_in)
        layers.append(
            {
                "weight": jax.random.normal(weight_key, (fan_in, width), dtype)
                * (math.sqrt(2) * reach),
                # Spread, not zero: with a single input all kinks would start at one point.
                "bias": jax.random.uniform(bias_key, (width,), dtype, -reach, reach),
            }
        )
    return [*layers, {"weight": jnp.zeros((width, n_out), dtype), "bias": jnp.zeros(n_out, dtype)}]


def output(layers: Layers, x: jax.Array, activation: Activation) -> jax.Array:
    """Output of shape (..., n_out); of shape (n_out,) where there is nothing to read."""
    *hidden, last = layers
    if "weight" not in last:
        return last["bias"]
    nonlinear = _ACTIVATIONS[activation]
    for layer in hidden:
        x = nonlinear(x @ layer["weight"] + layer["bias"])
    return x @ last["weight"] + last["bias"]
