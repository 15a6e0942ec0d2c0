"""Elementwise maps of couplings: scale and shift, and monotone rational-quadratic splines.

Scale and shift is RealNVP's (Dinh et al., 2017). The splines are those of Durkan et al. (2019),
with the identity as tails. Within bin k, of width w, height h and mean slope s = h / w, with slopes
δ₀ and δ₁ at its ends and ξ = (x - x_k) / w the place in it,

    y = y_k + h (s ξ² + δ₀ ξ (1 - ξ)) / q,      q = s (ξ² + (1 - ξ)²) + (δ₀ + δ₁) ξ (1 - ξ),
    dy/dx = s² (δ₁ ξ² + 2 s ξ (1 - ξ) + δ₀ (1 - ξ)²) / q².

All terms of q and of the slope are positive as they stand here, so that nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_SMALLEST = 1e-3  # smallest bin, as a share of the whole range


def bound_softly(raw: jax.Array, bound: float) -> jax.Array:
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
        return bound_softly(s, self.log_scale_bound), t


class _Bin(NamedTuple):
    """The bin that each value falls into; all arrays have the shape of the values."""

    x: jax.Array
    width: jax.Array
    y: jax.Array
    height: jax.Array
    left_slope: jax.Array
    right_slope: jax.Array


@dataclass(frozen=True)
class Spline:
    """A spline on [-bound, bound] for each feature; the identity where raw values are zero.

    Raw values for a feature are ``bins`` log-widths and log-heights, up to a constant each, and the
    log-slopes at the ``bins - 1`` inner knots. At ±bound the slope is one, as outside.
    """

    bins: int
    bound: float
    log_slope_bound: float

    @property
    def n_parameters(self) -> int:
        """Raw values for each feature."""
        return 3 * self.bins - 1

    def forward(self, x: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The y and log dy/dx, both (..., m), from raw values (..., m (3 bins - 1))."""
        inside = jnp.abs(x) < self.bound
        inner = jnp.where(inside, x, 0.0)  # where the tails apply, any value that has a slope
        b = self._bin(inner, raw, by_height=False)
        xi = (inner - b.x) / b.width
        s = b.height / b.width
        # y - x instead of y: exactly zero for the spline that is the identity.
        bend = s * ((s - 1) * xi + (b.left_slope - 1) * (1 - xi))
        bend -= (b.left_slope + b.right_slope - 2 * s) * xi * (1 - xi)
        y = inner + ((b.y - b.x) + (inner - b.x) * bend / _denominator(b, s, xi, 1 - xi))
        return jnp.where(inside, y, x), jnp.where(inside, _log_slope(b, s, xi, 1 - xi), 0.0)

    def inverse(self, y: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The x and log dx/dy, both (..., m)."""
        inside = jnp.abs(y) < self.bound
        inner = jnp.where(inside, y, 0.0)
        b = self._bin(inner, raw, by_height=True)
        s = b.height / b.width
        xi, rest = _place(b, s, (inner - b.y) / b.height)
        x = b.x + b.width * xi
        return jnp.where(inside, x, y), jnp.where(inside, -_log_slope(b, s, xi, rest), 0.0)

    def _bin(self, values: jax.Array, raw: jax.Array, *, by_height: bool) -> _Bin:
        K = self.bins
        raw = raw.reshape(*raw.shape[:-1], -1, self.n_parameters)
        widths = jax.nn.softmax(raw[..., :K])
        heights = jax.nn.softmax(raw[..., K : 2 * K])
        knots = self._inner_knots(heights if by_height else widths)
        k = jnp.sum(values[..., None] >= knots, axis=-1, keepdims=True)

        # Masked sums, not look-ups: their gradient is not a scatter, which is slow.
        def at(parts: jax.Array, first: int) -> jax.Array:
            places = np.arange(first, first + parts.shape[-1])
            return jnp.sum(jnp.where(places == k, parts, 0.0), axis=-1)

        def below(parts: jax.Array) -> jax.Array:
            return jnp.sum(jnp.where(np.arange(K) < k, parts, 0.0), axis=-1)

        count = k[..., 0].astype(values.dtype)
        slopes = raw[..., 2 * K :]
        return _Bin(
            x=self._knot(count, below(widths)),
            width=self._size(at(widths, 0)),
            y=self._knot(count, below(heights)),
            height=self._size(at(heights, 0)),
            left_slope=self._slope(at(slopes, 1)),  # knot k stands left of bin k
            right_slope=self._slope(at(slopes, 0)),
        )

    def _inner_knots(self, shares: jax.Array) -> jax.Array:
        # As a product: a cumulative sum compiles to something slower.
        before = np.triu(np.ones((self.bins, self.bins - 1)))
        total = jnp.matmul(
            jax.lax.stop_gradient(shares),
            before.astype(shares.dtype),
            precision=jax.lax.Precision.HIGHEST,
        )
        return self._knot(jnp.arange(1, self.bins, dtype=shares.dtype), total)

    def _knot(self, count: jax.Array, share: jax.Array) -> jax.Array:
        return 2 * self.bound * (_SMALLEST * count + self._free * share) - self.bound

    def _size(self, share: jax.Array) -> jax.Array:
        return 2 * self.bound * (_SMALLEST + self._free * share)

    def _slope(self, raw: jax.Array) -> jax.Array:
        # Bounded on both sides, so that it inverts in float32 whatever the conditioner says; one
        # where no inner knot was found, which leaves zero.
        return jnp.exp(bound_softly(raw, self.log_slope_bound))

    @property
    def _free(self) -> float:
        return 1 - self.bins * _SMALLEST


def _denominator(b: _Bin, s: jax.Array, xi: jax.Array, rest: jax.Array) -> jax.Array:
    return s * (xi * xi + rest * rest) + (b.left_slope + b.right_slope) * xi * rest


def _log_slope(b: _Bin, s: jax.Array, xi: jax.Array, rest: jax.Array) -> jax.Array:
    rise = b.right_slope * xi * xi + 2 * s * xi * rest + b.left_slope * rest * rest
    return jnp.log(rise * (s / _denominator(b, s, xi, rest)) ** 2)


def _place(b: _Bin, s: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """ξ and 1 - ξ at the share θ of a bin's height.

    The root of Durkan's quadratic, with a discriminant that is a sum of squares: with
    u = δ₀ (1 - θ) - δ₁ θ and R² = u² + 4 s² θ (1 - θ), ξ : 1 - ξ is 2 s θ : u + R.
    """
    u = b.left_slope * (1 - theta) - b.right_slope * theta
    product = 4 * s * s * theta * (1 - theta)
    large = jnp.where(u >= 0, u, -u) + jnp.sqrt(u * u + product)
    t = jnp.where(u >= 0, large, product / large)  # u + R, without taking large from large
    total = t + 2 * s * theta
    return 2 * s * theta / total, t / total
