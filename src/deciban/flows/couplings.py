"""Couplings: a network reads half the features and sets an elementwise map for the other half.

Scale and shift is RealNVP's (Dinh et al., 2017). The splines are those of Durkan et al. (2019),
with the identity as tails. Within bin k, of width w, height h and mean slope s = h / w, with slopes
δ₀ and δ₁ at its ends and ξ = (x - x_k) / w the place in it,

    y = y_k + h (s ξ² + δ₀ ξ (1 - ξ)) / q,      q = s (ξ² + (1 - ξ)²) + (δ₀ + δ₁) ξ (1 - ξ),
    dy/dx = s² (δ₁ ξ² + 2 s ξ (1 - ξ) + δ₀ (1 - ξ)²) / q².

All terms of q and of the slope are positive as they stand here, so that nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Layers = list[dict[str, Any]]
Halves = tuple[jax.Array, jax.Array]
Elementwise = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]

_SMALLEST = 1e-3  # smallest bin, as a share of the whole range

# Networks read inputs as if within ±16, small ones unchanged. Outliers then do not drive all scales
# to their bounds at once, after which several couplings would no longer invert in float32.
_REACH = 16.0


def couple(
    layers: Layers, halves: Halves, elementwise: Elementwise, flip: bool = False
) -> tuple[Halves, jax.Array]:
    """Both halves, the second one mapped (with ``flip``, the first), and log |det|, (...)."""
    seen, mapped = halves[::-1] if flip else halves
    mapped, log_slopes = elementwise(mapped, _output(layers, seen))
    # The slopes of a single scaled feature are the same for all samples, and have no axis.
    log_det = jnp.sum(jnp.broadcast_to(log_slopes, mapped.shape), axis=-1)
    return ((mapped, seen) if flip else (seen, mapped)), log_det


def half_sizes(n_features: int) -> tuple[int, int]:
    return n_features // 2, n_features - n_features // 2


def split(x: jax.Array) -> Halves:
    first = half_sizes(x.shape[-1])[0]
    return x[..., :first], x[..., first:]


def init_layers(
    rng: np.random.Generator, count: int, n_in: int, n_out: int, width: int, depth: int, dtype: Any
) -> Layers:
    """``count`` perceptrons, on the first axis of each array, whose output is zero at first.

    Without inputs (``n_in = 0``) only the last bias remains: a learned output, the same for every
    sample. NumPy draws the weights, so there is nothing to compile.
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


def _output(layers: Layers, x: jax.Array) -> jax.Array:
    *hidden, last = layers
    if "weight" not in last:
        return last["bias"]
    x = bound_softly(x, _REACH)
    for layer in hidden:
        x = jax.nn.silu(x @ layer["weight"] + layer["bias"])
    return x @ last["weight"] + last["bias"]


def bound_softly(raw: jax.Array, bound: float) -> jax.Array:
    """Values within ±bound, with slope one at zero: :math:`b tanh(r / b)`."""
    return bound * jnp.tanh(raw / bound)


@dataclass(frozen=True)
class Scaling:
    """:math:`y = x exp(s) + t` with |s| below a bound; the identity for raw values of zero.

    ``forward`` gives y and log dy/dx, ``inverse`` x and log dx/dy, all (..., m), from (..., m) and
    raw values (..., 2 m).
    """

    log_scale_bound: float
    n_parameters: ClassVar[int] = 2

    def forward(self, x: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        s, t = self._scale_and_shift(raw)
        return x * jnp.exp(s) + t, s

    def inverse(self, y: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        s, t = self._scale_and_shift(raw)
        return (y - t) * jnp.exp(-s), -s

    def _scale_and_shift(self, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        s, t = jnp.split(raw, 2, axis=-1)
        return bound_softly(s, self.log_scale_bound), t


class _Bin(NamedTuple):
    x: jax.Array
    width: jax.Array
    y: jax.Array
    height: jax.Array
    left_slope: jax.Array
    right_slope: jax.Array


@dataclass(frozen=True)
class Spline:
    """A spline on [-bound, bound] for each feature; the identity for raw values of zero.

    Raw values for a feature are ``bins`` log-widths and log-heights, up to a constant each, and the
    log-slopes at the ``bins - 1`` inner knots. At ±bound the slope is one, as outside. ``forward``
    and ``inverse`` are those of :class:`Scaling`.
    """

    bins: int
    bound: float
    log_slope_bound: float

    @property
    def n_parameters(self) -> int:
        return 3 * self.bins - 1

    def forward(self, x: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        inside = jnp.abs(x) < self.bound
        inner = jnp.where(inside, x, 0.0)  # in the tails, any value that has a slope
        b = self._bin(inner, raw, by_height=False)
        xi = (inner - b.x) / b.width
        s = b.height / b.width
        # y - x instead of y: exactly zero for the spline that is the identity.
        bend = s * ((s - 1) * xi + (b.left_slope - 1) * (1 - xi))
        bend -= (b.left_slope + b.right_slope - 2 * s) * xi * (1 - xi)
        y = inner + ((b.y - b.x) + (inner - b.x) * bend / _denominator(b, s, xi, 1 - xi))
        return jnp.where(inside, y, x), jnp.where(inside, _log_slope(b, s, xi, 1 - xi), 0.0)

    def inverse(self, y: jax.Array, raw: jax.Array) -> tuple[jax.Array, jax.Array]:
        inside = jnp.abs(y) < self.bound
        inner = jnp.where(inside, y, 0.0)
        b = self._bin(inner, raw, by_height=True)
        s = b.height / b.width
        xi, rest = _place(b, s, (inner - b.y) / b.height)
        x = b.x + b.width * xi
        return jnp.where(inside, x, y), jnp.where(inside, -_log_slope(b, s, xi, rest), 0.0)

    def _bin(self, values: jax.Array, raw: jax.Array, *, by_height: bool) -> _Bin:
        """The bin for each value; all arrays have the values' shape."""
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

        def size(share: jax.Array) -> jax.Array:
            return 2 * self.bound * (_SMALLEST + self._free * share)

        def slope(raw: jax.Array) -> jax.Array:
            # Bounded on both sides, so that it inverts in float32 for any conditioner; one without
            # an inner knot, which leaves zero.
            return jnp.exp(bound_softly(raw, self.log_slope_bound))

        count = k[..., 0].astype(values.dtype)
        slopes = raw[..., 2 * K :]
        return _Bin(
            x=self._knot(count, below(widths)),
            width=size(at(widths, 0)),
            y=self._knot(count, below(heights)),
            height=size(at(heights, 0)),
            left_slope=slope(at(slopes, 1)),  # knot k stands left of bin k
            right_slope=slope(at(slopes, 0)),
        )

    def _inner_knots(self, shares: jax.Array) -> jax.Array:
        # As a product: a cumulative sum compiles to something slower.
        before = np.triu(np.ones((self.bins, self.bins - 1))).astype(shares.dtype)
        fixed = jax.lax.stop_gradient(shares)
        total = jnp.matmul(fixed, before, precision=jax.lax.Precision.HIGHEST)
        return self._knot(jnp.arange(1, self.bins, dtype=shares.dtype), total)

    def _knot(self, count: jax.Array, share: jax.Array) -> jax.Array:
        return 2 * self.bound * (_SMALLEST * count + self._free * share) - self.bound

    @property
    def _free(self) -> float:
        return 1 - self.bins * _SMALLEST


def _denominator(b: _Bin, s: jax.Array, xi: jax.Array, rest: jax.Array) -> jax.Array:
    return s * (xi * xi + rest * rest) + (b.left_slope + b.right_slope) * xi * rest


def _log_slope(b: _Bin, s: jax.Array, xi: jax.Array, rest: jax.Array) -> jax.Array:
    rise = b.right_slope * xi * xi + 2 * s * xi * rest + b.left_slope * rest * rest
    return jnp.log(rise * (s / _denominator(b, s, xi, rest)) ** 2)


def _place(b: _Bin, s: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """ξ and 1 - ξ at the share θ in a bin's height.

    The root of Durkan's quadratic, with a discriminant that is a sum of squares: with
    u = δ₀ (1 - θ) - δ₁ θ and R² = u² + 4 s² θ (1 - θ), ξ : 1 - ξ is 2 s θ : u + R.
    """
    u = b.left_slope * (1 - theta) - b.right_slope * theta
    product = 4 * s * s * theta * (1 - theta)
    large = jnp.where(u >= 0, u, -u) + jnp.sqrt(u * u + product)
    t = jnp.where(u >= 0, large, product / large)  # u + R, without taking large from large
    total = t + 2 * s * theta
    return 2 * s * theta / total, t / total
