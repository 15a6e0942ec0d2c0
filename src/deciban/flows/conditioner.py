"""Conditioner: the network that reads one half and says what happens to the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp

from deciban.flows.scalings import softly_bounded

Activation = Literal["relu", "gelu", "silu", "tanh"]
Layers = list[dict[str, jax.Array]]

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


# Compiled once for all couplings of a flow, with one draw: drawing layer by layer takes seconds.
@partial(jax.jit, static_argnums=(1, 2, 3, 4, 5))
def init(key: jax.Array, n_in: int, n_out: int, width: int, depth: int, dtype: Any) -> Layers:
    """Layers of a perceptron whose last one is zero, so that its output is zero at first.

    With nothing to read (``n_in = 0``) there is only the last layer's bias: the output is learnt,
    and the same for every sample.
    """
    if n_in == 0:
        return [{"bias": jnp.zeros(n_out, dtype)}]
    sizes = [n_in] + [width] * (depth - 1)
    noise = jax.random.normal(key, (sum(sizes) + depth, width), dtype)
    layers, start = [], 0
    for size in sizes:
        stop = start + size
        weight = math.sqrt(2 / size) * noise[start:stop]
        # Spread, not zero: with a single input all kinks would start at one point.
        layers.append({"weight": weight, "bias": noise[stop] / math.sqrt(size)})
        start = stop + 1
    return [*layers, {"weight": jnp.zeros((width, n_out), dtype), "bias": jnp.zeros(n_out, dtype)}]


def output(layers: Layers, x: jax.Array, activation: Activation) -> jax.Array:
    """Output of shape (..., n_out); of shape (n_out,) where there is nothing to read."""
    *hidden, last = layers
    if "weight" not in last:
        return last["bias"]
    x = softly_bounded(x, _REACH)
    nonlinear = _ACTIVATIONS[activation]
    for layer in hidden:
        x = nonlinear(x @ layer["weight"] + layer["bias"])
    return x @ last["weight"] + last["bias"]
