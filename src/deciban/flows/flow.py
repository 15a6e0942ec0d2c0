"""Flow: an affine map, then couplings with mixing in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from deciban._validation.scalars import require_one_of, require_positive_number, require_whole
from deciban.exceptions import InputError
from deciban.flows import affine
from deciban.flows.couplings import (
    Halves,
    Layers,
    Scaling,
    Spline,
    couple,
    half_sizes,
    init_layers,
    split,
)
from deciban.flows.runtime import read_dtype

Kind = Literal["affine", "spline"]
Mixing = Literal["random", "linear"]
Params = dict[str, Any]
"""Nested dicts and lists of arrays: they pickle, store, and pass through any optimizer."""

_SMALL = 64  # features, and hidden units, of flows whose compilation takes longer than training
_MOST_BINS = 500  # each has a smallest share, and they must leave some to be learned


@dataclass(frozen=True)
class Flow:
    r"""Invertible map :math:`z = c_m(\cdots c_1(A x + b))`: an affine map, then couplings.

    A flow holds settings only: it is immutable and hashable, a static argument for ``jax.jit``. Its
    parameters come from ``init``, and the other methods take them first; ``jax.grad`` and
    ``jax.vmap`` (an ensemble: one more axis in front) apply to them.

    Parameters
    ----------
    n_features : int
    n_couplings : int, default 6
        Couplings map two halves in turn. With 0, only the affine map is left.
    kind : {"affine", "spline"}, default "affine"
        Couplings scale and shift each feature (RealNVP) or apply a monotone rational-quadratic
        spline.
    width, depth : int, default 64 and 2
        Hidden units per layer and hidden layers in each coupling's network.
    mixing : {"random", "linear"}, default "random"
        Between pairs of couplings: a new random split into halves, alone or with a learned linear
        map.
    bins : int, default 8
        Bins per spline.
    bound : float, default 8.0
        Splines act on [-bound, bound] and are the identity outside.
    log_scale_bound : float, default 3.0
        Bound on the log-scales of affine couplings and the log-slopes at the knots of splines.
    seed : int, default 0
        Seed for the splits into halves.

    See Also
    --------
    deciban.CompositionalDiscriminantAnalysis : A flow whose base space holds the evidence.
    deciban.flows.double_precision : Context for parameters in float64.

    Examples
    --------
    >>> import jax
    >>> flow = Flow(n_features=2, kind="spline")
    >>> params = flow.init(jax.random.key(0), matrix=[[2.0, 0.0], [0.0, 1.0]], offset=[1.0, 0.0])
    >>> z, log_det = flow.forward(params, [[1.0, 2.0]])
    >>> z
    Array([[3., 2.]], dtype=float32)
    >>> log_det.round(4)  # log 2
    Array([0.6931], dtype=float32)
    >>> x, _ = flow.inverse(params, z)
    >>> x.round(4)
    Array([[1., 2.]], dtype=float32)
    """

    n_features: int
    n_couplings: int = 6
    kind: Kind = "affine"
    width: int = 64
    depth: int = 2
    mixing: Mixing = "random"
    bins: int = 8
    bound: float = 8.0
    log_scale_bound: float = 3.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_features", "width", "depth"):
            require_whole(getattr(self, name), name, least=1)
        require_whole(self.n_couplings, "n_couplings", least=0)
        require_whole(self.seed, "seed", least=0)
        require_whole(self.bins, "bins", 2, _MOST_BINS)
        require_positive_number(self.bound, "bound")
        require_positive_number(self.log_scale_bound, "log_scale_bound")
        require_one_of(self.kind, "kind", get_args(Kind))
        require_one_of(self.mixing, "mixing", get_args(Mixing))

    def init(
        self,
        key: jax.Array | int,
        *,
        matrix: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        dtype: DTypeLike = jnp.float32,
    ) -> Params:
        """Parameters for a flow that starts as an affine map: :math:`z = A x + b`.

        Parameters
        ----------
        key : int or random key, as ``jax.random.key`` makes
            Seed for the networks' weights.
        matrix : array of shape (d, d), default identity
            A, invertible. One step size suits all parameters only if features and z vary alike.
        offset : array of shape (d,), default zero
        dtype : float32 or float64, default float32
            Precision for parameters and results; see ``double_precision``.
        """
        dtype = read_dtype(dtype)
        d = self.n_features
        seed = np.asarray(jax.random.key_data(key)) if isinstance(key, jax.Array) else key
        rng = np.random.default_rng(seed)
        params: Params = {"affine": affine.init(d, matrix, offset, dtype), "couplings": []}
        for flip in range(min(2, self.n_couplings)):
            sizes = half_sizes(d)
            n_seen, n_mapped = reversed(sizes) if _flips(self, flip) else sizes
            n_out = n_mapped * _elementwise(self).n_parameters
            count = (self.n_couplings + 1 - flip) // 2
            layers = init_layers(rng, count, n_seen, n_out, self.width, self.depth, dtype)
            params["couplings"].append(layers)
        if self.mixing == "linear" and self.n_couplings > 2:
            params["mixing"] = np.zeros(((self.n_couplings - 1) // 2, d, d), dtype)
        return params

    def forward(self, params: Params, x: Any) -> tuple[jax.Array, jax.Array]:
        r"""The z for x, (..., d), and :math:`\log |\det \partial z / \partial x|`, (...)."""
        return _forward(self, params, self._read(params, x, "x"))

    def inverse(self, params: Params, z: Any) -> tuple[jax.Array, jax.Array]:
        r"""The x for z, (..., d), and :math:`\log |\det \partial x / \partial z|`, (...)."""
        return _inverse(self, params, self._read(params, z, "z"))

    def decays(self, params: Params) -> Params:
        """Mask for weight decay: True for the conditioners' weights only.

        Other decay would pull the affine map away from its start. With optax:
        ``optax.adamw(1e-3, weight_decay=0.1, mask=flow.decays)``.
        """
        return jax.tree_util.tree_map_with_path(
            lambda path, _: getattr(path[-1], "key", None) == "weight", params
        )

    @property
    def has_small_kernels(self) -> bool:
        """Whether programs are many small kernels: see ``runtime.jit``."""
        return _is_small(self) and self.kind == "affine"

    def _read(self, params: Params, values: Any, name: str) -> jax.Array:
        array = jnp.asarray(values, read_dtype(jax.tree.leaves(params)[0].dtype))
        if array.ndim == 0 or array.shape[-1] != self.n_features:
            raise InputError(
                f"{name} must have {self.n_features} features on its last axis; "
                f"got shape {array.shape}. Put one sample on each row."
            )
        return array


def _elementwise(flow: Flow) -> Scaling | Spline:
    if flow.kind == "affine":
        return Scaling(flow.log_scale_bound)
    return Spline(flow.bins, flow.bound, flow.log_scale_bound)


def _flips(flow: Flow, k: int) -> bool:
    """Whether coupling k maps the first half; a single feature has none."""
    return k % 2 == 1 and flow.n_features > 1


def _is_small(flow: Flow) -> bool:
    """Whether compilation takes longer than training; couplings then run in a loop."""
    return flow.width <= _SMALL and flow.n_features <= _SMALL and flow.n_couplings > 3


# Compiled here too, so that a call outside of the caller's own jit is not run step by step.
@partial(jax.jit, static_argnums=0)
def _forward(flow: Flow, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    y, total = affine.forward(params["affine"], x)
    elementwise = _elementwise(flow).forward

    def pair(carry: _Carry, part: _Pair) -> tuple[_Carry, None]:
        halves, total = carry
        if part.order is not None:
            y = _permute(jnp.concatenate(halves, axis=-1), part.order)
            if part.mixing is not None:
                y, log_det = affine.multiply(part.mixing, y)
                total += log_det
            halves = split(y)
        for k, layers in enumerate(part.couplings):
            halves, log_det = couple(layers, halves, elementwise, _flips(flow, k))
            total += log_det
        return (halves, total), None

    halves, total = _run_pairs(flow, params, pair, (split(y), total))
    order = _as_order(flow, _invert(_last_order(flow)))
    z = _permute(jnp.concatenate(halves, axis=-1), order)
    return z, jnp.broadcast_to(total, z.shape[:-1])


@partial(jax.jit, static_argnums=0)
def _inverse(flow: Flow, params: Params, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    elementwise = _elementwise(flow).inverse

    def pair(carry: _Carry, part: _Pair) -> tuple[_Carry, None]:
        halves, total = carry
        for k, layers in reversed(list(enumerate(part.couplings))):
            halves, log_det = couple(layers, halves, elementwise, _flips(flow, k))
            total += log_det
        if part.order is not None:
            y = jnp.concatenate(halves, axis=-1)
            if part.mixing is not None:
                y, log_det = affine.solve(part.mixing, y)
                total += log_det
            halves = split(_permute(y, part.order, inverse=True))
        return (halves, total), None

    start = split(z[..., _last_order(flow)]), jnp.zeros((), z.dtype)
    halves, total = _run_pairs(flow, params, pair, start, reverse=True)
    x, log_det = affine.inverse(params["affine"], jnp.concatenate(halves, axis=-1))
    return x, jnp.broadcast_to(total + log_det, x.shape[:-1])


_Carry = tuple[Halves, jax.Array]


class _Pair(NamedTuple):
    """Two couplings, which together map all features (the last one may be alone), after mixing."""

    couplings: list[Layers]
    order: Any  # where each feature comes from: a permutation, or a matrix of zeros and ones
    mixing: Any


def _run_pairs(
    flow: Flow, params: Params, pair: Callable[..., Any], carry: _Carry, reverse: bool = False
) -> _Carry:
    """Run all pairs of couplings, unrolled or, for small flows, as a loop: it compiles faster."""
    n = (flow.n_couplings + 1) // 2
    together = flow.n_couplings // 2 if _is_small(flow) else 0
    parts = [_pair(flow, params, j) for j in range(together, n)]
    for part in reversed(parts) if reverse else []:
        carry, _ = pair(carry, part)
    if together:
        # Only products are kept: any other value for the gradient would be a program of its own.
        body = jax.checkpoint(pair, policy=jax.checkpoint_policies.dots_saveable, prevent_cse=False)
        halves, total = carry
        carry = halves, jnp.broadcast_to(total, halves[0].shape[:-1])
        carry, _ = jax.lax.scan(body, carry, _all_pairs(flow, params, together), reverse=reverse)
    for part in [] if reverse else parts:
        carry, _ = pair(carry, part)
    return carry


def _pair(flow: Flow, params: Params, j: int) -> _Pair:
    couplings = [
        jax.tree.map(lambda a: a[j], layers)
        for layers in params["couplings"][: flow.n_couplings - 2 * j]
    ]
    if j == 0:
        return _Pair(couplings, None, None)
    mixing = params["mixing"][j - 1] if flow.mixing == "linear" else None
    return _Pair(couplings, _orders(flow)[j], mixing)


def _all_pairs(flow: Flow, params: Params, n: int) -> _Pair:
    couplings = jax.tree.map(lambda a: a[:n], params["couplings"])
    mixing = None
    if flow.mixing == "linear":
        mixing = jnp.pad(params["mixing"], ((1, 0), (0, 0), (0, 0)))[:n]
    return _Pair(couplings, _as_order(flow, _orders(flow)[:n]), mixing)


def _as_order(flow: Flow, permutation: np.ndarray) -> np.ndarray:
    """Permutations for ``_permute``; a gather's gradient would be a slow loop."""
    return np.eye(flow.n_features, dtype=bool)[permutation] if _is_small(flow) else permutation


def _permute(y: jax.Array, order: Any, inverse: bool = False) -> jax.Array:
    if order.ndim == 1:
        return y[..., _invert(order) if inverse else order]
    return affine.product((order.T if inverse else order).astype(y.dtype), y)


@lru_cache(maxsize=64)
def _orders(flow: Flow) -> np.ndarray:
    """Feature order before each pair of couplings, which maps all features; first the identity."""
    rng = np.random.default_rng(flow.seed)
    drawn = [rng.permutation(flow.n_features) for _ in range(2, flow.n_couplings, 2)]
    # int32 is itself with and without double precision; JAX mixes the two up otherwise.
    return np.stack([np.arange(flow.n_features), *drawn]).astype(np.int32)


def _last_order(flow: Flow) -> np.ndarray:
    """The feature order after all permutations."""
    order: np.ndarray = reduce(np.take, _orders(flow))
    return order


def _invert(permutation: np.ndarray) -> np.ndarray:
    return np.argsort(permutation).astype(np.int32)
