"""Coupling: one half of the features goes through, and says what happens to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from deciban.flows import conditioner
from deciban.flows.conditioner import Activation, Layers
from deciban.flows.scalings import Scaling
from deciban.flows.splines import Spline

Halves = tuple[jax.Array, jax.Array]
Elementwise = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


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

    def init(self, key: jax.Array, dtype: jnp.dtype) -> Layers:
        """Layers of the conditioner, for a coupling that is the identity."""
        sizes = half_sizes(self.n_features)
        n_in, n_mapped = sizes[::-1] if self.flipped else sizes
        n_out = n_mapped * self.elementwise.n_parameters
        return conditioner.init(key, n_in, n_out, self.width, self.depth, dtype)

    def forward(self, layers: Layers, x: Halves) -> tuple[Halves, jax.Array]:
        """Both halves of y, and log |det dy/dx| of shape (...)."""
        return self._applied(layers, x, self.elementwise.forward)

    def inverse(self, layers: Layers, y: Halves) -> tuple[Halves, jax.Array]:
        """Both halves of x, and log |det dx/dy| of shape (...)."""
        return self._applied(layers, y, self.elementwise.inverse)

    def _applied(
        self, layers: Layers, halves: Halves, elementwise: Elementwise
    ) -> tuple[Halves, jax.Array]:
        seen, mapped = halves[::-1] if self.flipped else halves
        raw = conditioner.output(layers, seen, self.activation)
        mapped, log_slopes = elementwise(mapped, raw)
        # The slopes of a single scaled feature are the same for all samples, and have no axis.
        log_det = jnp.sum(jnp.broadcast_to(log_slopes, mapped.shape), axis=-1)
        return ((mapped, seen) if self.flipped else (seen, mapped)), log_det


def half_sizes(n_features: int) -> tuple[int, int]:
    """Features in the first and in the second half."""
    return n_features // 2, n_features - n_features // 2


def split(x: jax.Array) -> Halves:
    """Both halves of the last axis. Between couplings they stay apart: joining them takes time."""
    first = half_sizes(x.shape[-1])[0]
    return x[..., :first], x[..., first:]


def joined(halves: Halves) -> jax.Array:
    """One array of both halves."""
    return jnp.concatenate(halves, axis=-1)
