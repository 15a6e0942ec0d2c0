"""Flow: an affine map, then couplings with mixing in between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from deciban._validation.scalars import require_one_of, require_positive_number, require_whole
from deciban.exceptions import InputError
from deciban.flows import affine
from deciban.flows.couplings import Activation, couple, half_sizes, init_layers, join, split
from deciban.flows.elementwise import Scaling, Spline
from deciban.flows.runtime import require_dtype

Kind = Literal["affine", "spline"]
Mixing = Literal["none", "random", "linear"]
Params = dict[str, Any]
"""Nested dicts and lists of arrays: they pickle, store, and pass through any optimizer."""

_MOST_BINS = 500  # each has a smallest share, and they must leave some to be learned


@dataclass(frozen=True)
class Flow:
    """Invertible map :math:`z = c_m(... c_1(A x + b))`: an affine map, then couplings.

    The settings alone: immutable and hashable, so that a flow can be a static argument of
    ``jax.jit``. What is learned is in the parameters that ``init`` makes and that the other methods
    take first; ``jax.grad`` and ``jax.vmap`` (an ensemble: one more axis in front) apply to them.

    Parameters
    ----------
    n_features : int
        Number of features.
    n_couplings : int, default 6
        Number of couplings; they map one half of the features and the other in turn. With 0 there
        is the affine map alone.
    kind : {"affine", "spline"}, default "affine"
        What a coupling does to a feature: scale and shift it (RealNVP), or send it through a
        monotone rational-quadratic spline.
    width, depth : int, default 64 and 2
        Number of hidden units in each hidden layer, and number of hidden layers, of the network in
        each coupling.
    activation : {"silu", "relu", "gelu", "tanh"}, default "silu"
        Nonlinearity of the networks.
    mixing : {"random", "linear", "none"}, default "random"
        What comes between one pair of couplings and the next: a new split into halves, drawn from
        ``seed``; such a split and a learned linear map; or nothing.
    bins : int, default 8
        Number of bins of each spline.
    bound : float, default 8.0
        Half the width of the interval around zero on which splines act; outside they are the
        identity.
    log_scale_bound : float, default 3.0
        Bound on the log-scales of affine couplings, and on the log-slopes at the knots of splines.
    seed : int, default 0
        Seed of the splits into halves.
    affine : bool, default True
        Whether an affine map comes before the couplings. With hundreds of features it costs as much
        as several couplings of few hidden units.

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
    activation: Activation = "silu"
    mixing: Mixing = "random"
    bins: int = 8
    bound: float = 8.0
    log_scale_bound: float = 3.0
    seed: int = 0
    affine: bool = True

    def __post_init__(self) -> None:
        require_whole(self.n_features, "n_features", 1)
        require_whole(self.n_couplings, "n_couplings", 0)
        require_whole(self.width, "width", 1)
        require_whole(self.depth, "depth", 1)
        require_whole(self.seed, "seed", 0)
        require_whole(self.bins, "bins", 2, _MOST_BINS)
        require_positive_number(self.bound, "bound")
        require_positive_number(self.log_scale_bound, "log_scale_bound")
        require_one_of(self.kind, "kind", get_args(Kind))
        require_one_of(self.activation, "activation", get_args(Activation))
        require_one_of(self.mixing, "mixing", get_args(Mixing))
        if not self.affine and self.n_couplings == 0:
            raise InputError(
                "a Flow must have a map to learn; got no couplings and no affine map. Give it "
                "n_couplings of at least 1, or affine=True."
            )

    def init(
        self,
        key: jax.Array,
        *,
        matrix: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        dtype: DTypeLike = jnp.float32,
    ) -> Params:
        """Parameters of a flow that is an affine map and no more: :math:`z = A x + b`.

        Parameters
        ----------
        key : random key, as ``jax.random.key`` makes
        matrix : array of shape (d, d), default identity
            A, invertible. Features should vary about as much as one another and as z, or else one
            step size does not suit all parameters.
        offset : array of shape (d,), default zero
        dtype : float32 or float64, default float32
            Precision of the parameters and of everything computed from them. See
            ``double_precision``.
        """
        dtype = require_dtype(dtype)
        d = self.n_features
        if not self.affine and not (matrix is None and offset is None):
            raise InputError(
                "matrix and offset must be left out of a Flow without an affine map; got one of "
                "them. Make the Flow with affine=True."
            )
        keys = jax.random.split(key, max(self.n_couplings, 1))
        params: Params = {"couplings": []}
        for k in range(self.n_couplings):
            sizes = half_sizes(d)
            n_seen, n_mapped = reversed(sizes) if self._flips(k) else sizes
            n_out = n_mapped * self._elementwise().n_parameters
            layers = init_layers(keys[k], n_seen, n_out, self.width, self.depth, dtype)
            params["couplings"].append(layers)
        if self.affine:
            params["affine"] = affine.init(d, matrix, offset, dtype)
        if self.mixing == "linear":
            params["mixing"] = [jnp.zeros((d, d), dtype) for _ in _changes(self)]
        return params

    def forward(self, params: Params, x: Any) -> tuple[jax.Array, jax.Array]:
        """From x of shape (..., d) to z, and :math:`log |det dz/dx|` of shape (...)."""
        return _forward(self, params, self._read(params, x, "x"))

    def inverse(self, params: Params, z: Any) -> tuple[jax.Array, jax.Array]:
        """From z of shape (..., d) to x, and :math:`log |det dx/dz|` of shape (...)."""
        return _inverse(self, params, self._read(params, z, "z"))

    def decays(self, params: Params) -> Params:
        """True for the parameters that weight decay is meant for: the conditioners' weights.

        Decay of the others would pull the affine map away from where it started. It is what optax
        takes as a mask: ``optax.adamw(1e-3, weight_decay=0.1, mask=flow.decays)``.
        """
        return jax.tree_util.tree_map_with_path(
            lambda path, _: getattr(path[-1], "key", None) == "weight", params
        )

    def _elementwise(self) -> Scaling | Spline:
        if self.kind == "affine":
            return Scaling(self.log_scale_bound)
        return Spline(self.bins, self.bound, self.log_scale_bound)

    def _flips(self, k: int) -> bool:
        """Whether coupling k maps the first half; that of a single feature is empty."""
        return k % 2 == 1 and self.n_features > 1

    def _read(self, params: Params, values: Any, name: str) -> jax.Array:
        array = jnp.asarray(values, require_dtype(jax.tree.leaves(params)[0].dtype))
        if array.ndim == 0 or array.shape[-1] != self.n_features:
            raise InputError(
                f"{name} must have {self.n_features} features on its last axis; "
                f"got shape {array.shape}. Put one sample on each row."
            )
        return array


# Compiled here too, so that a call outside of the caller's own jit is not run step by step. The
# couplings are unrolled: a scan over layers saves a third of a spline's compilation, at most, and
# asks for parameters in stacks.
@partial(jax.jit, static_argnums=0)
def _forward(flow: Flow, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    changes = _changes(flow)
    y, total = x, jnp.zeros((), x.dtype)
    if flow.affine:
        y, total = affine.forward(params["affine"], x)
    halves = split(y)
    elementwise = flow._elementwise().forward
    for k, layers in zip(range(flow.n_couplings), params["couplings"], strict=True):
        if k in changes:
            y = join(halves)[..., changes[k]]
            if flow.mixing == "linear":
                y, log_det = affine.multiply(params["mixing"][list(changes).index(k)], y)
                total += log_det
            halves = split(y)
        halves, log_det = couple(layers, halves, elementwise, flow.activation, flow._flips(k))
        total += log_det
    z = join(halves)
    if changes:
        z = z[..., _invert(_order(flow))]
    return z, jnp.broadcast_to(total, z.shape[:-1])


@partial(jax.jit, static_argnums=0)
def _inverse(flow: Flow, params: Params, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    changes = _changes(flow)
    halves = split(z[..., _order(flow)] if changes else z)
    total = jnp.zeros((), z.dtype)
    elementwise = flow._elementwise().inverse
    for k in reversed(range(flow.n_couplings)):
        layers = params["couplings"][k]
        halves, log_det = couple(layers, halves, elementwise, flow.activation, flow._flips(k))
        total += log_det
        if k in changes:
            y = join(halves)
            if flow.mixing == "linear":
                y, log_det = affine.solve(params["mixing"][list(changes).index(k)], y)
                total += log_det
            halves = split(y[..., _invert(changes[k])])
    x = join(halves)
    if flow.affine:
        x, log_det = affine.inverse(params["affine"], x)
        total += log_det
    return x, jnp.broadcast_to(total, x.shape[:-1])


@lru_cache(maxsize=64)
def _changes(flow: Flow) -> dict[int, np.ndarray]:
    """Permutation of the features before each coupling that has one: every second, not the first.

    Two couplings map all features; only then is a new split worth its while. (Reversal, as often
    used, would undo the alternation of the halves.)
    """
    if flow.mixing == "none":
        return {}
    rng = np.random.default_rng(flow.seed)
    # int32 is itself with and without double precision; JAX mixes the two up otherwise.
    return {
        k: rng.permutation(flow.n_features).astype(np.int32) for k in range(2, flow.n_couplings, 2)
    }


def _order(flow: Flow) -> np.ndarray:
    """Where each feature of the last coupling comes from: all permutations, one after another."""
    order = np.arange(flow.n_features, dtype=np.int32)
    for change in _changes(flow).values():
        order = order[change]
    return order


def _invert(permutation: np.ndarray) -> np.ndarray:
    return np.argsort(permutation).astype(np.int32)
