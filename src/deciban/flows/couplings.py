"""Coupling: one half of the features goes through, and says what happens to the other."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from deciban.flows import conditioner
from deciban.flows.conditioner import Activation, Layers
from deciban.flows.scalings import Scaling
from deciban.flows.splines import Spline


@dataclass(frozen=True)
class Coupling:
    """Elementwise map of the second or, where ``flipped``, of the first half of the features.

    A single feature has nothing to be conditioned on; it is mapped with parameters of its own.
    """

    n_features: int
    flipped: bool
    elementwise: Scaling | Spline
    width: int
    depth: int
    activation: Activation

    @property
    def _split(self) -> int:
        return self.n_features // 2

    def init(self, key: jax.Array, dtype: jnp.dtype) -> Layers:
        """Layers of the conditioner, for a coupling that is the identity."""
        n_in = self.n_features - self._split if self.flipped else self._split
        n_out = (self.n_features - n_in) * self.elementwise.n_parameters
        return conditioner.init(key, n_in, n_out, self.width, self.depth, dtype)

    def forward(self, layers: Layers, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The y of shape (..., d) and log |det dy/dx| of shape (...)."""
        seen, mapped = self._halves(x)
        raw = conditioner.output(layers, seen, self.activation)
        mapped, log_slopes = self.elementwise.forward(mapped, raw)
        return self._joined(seen, mapped, log_slopes)

    def inverse(self, layers: Layers, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The x of shape (..., d) and log |det dx/dy| of shape (...)."""
        seen, mapped = self._halves(y)
        raw = conditioner.output(layers, seen, self.activation)
        mapped, log_slopes = self.elementwise.inverse(mapped, raw)
        return self._joined(seen, mapped, log_slopes)

    def _halves(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        first, second = x[..., : self._split], x[..., self._split :]
        return (second, first) if self.flipped else (first, second)

    def _joined(
        self, seen: jax.Array, mapped: jax.Array, log_slopes: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        halves = (mapped, seen) if self.flipped else (seen, mapped)
        # The slopes of a single scaled feature are the same for all samples, and have no axis.
        log_slopes = jnp.broadcast_to(log_slopes, mapped.shape)
        return jnp.concatenate(halves, axis=-1), jnp.sum(log_slopes, axis=-1)
