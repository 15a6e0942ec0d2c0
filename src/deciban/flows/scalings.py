"""Scale and shift of each feature: the elementwise map of RealNVP (Dinh et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp


def softly_bounded(raw: jax.Array, bound: float) -> jax.Array:
    """Values within ±bound, with slope one at zero: :math:`b tanh(r / b)`."""
    return bound * jnp.tanh(raw / bound)


@dataclass(frozen=True)
class Scaling:
    """:math:`y = x exp(s) + t` with |s| below a bound; the identity where raw values are zero."""

    log_scale_bound: float

    @property
    def n_parameters(self) -> int:
        """Raw values for each feature."""
        return 2

    def forward(self, x: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The y and log dy/dx, both (..., m), from raw values (..., 2 m)."""
        s, t = self._scale_and_shift(raw)
        return x * jnp.exp(s) + t, s

    def inverse(self, y: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The x and log dx/dy, both (..., m)."""
        s, t = self._scale_and_shift(raw)
        return (y - t) * jnp.exp(-s), -s

    def _scale_and_shift(self, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        s, t = jnp.split(raw, 2, axis=-1)
        return softly_bounded(s, self.log_scale_bound), t
