"""Compiled programs: training, and evaluation on rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.discriminant.model import HALF_LOG_2PI, Model, init_residual
from deciban.discriminant.settings import Settings
from deciban.exceptions import InputError
from deciban.flows import Params
from deciban.flows.runtime import check_unforked, double_precision, jit, map_members
from deciban.flows.training import Layout, Trainer, Vectors

_DENSITY_DRAWS = 16  # draws of added dimensions over which densities are averaged
_ROWS = (256, 4096)  # rows in a batch: each new shape compiles anew
_REFINEMENTS = 25
_RESIDUAL_SHARES = (0.5, 0.0)  # of the residual, where features do not reach an ILRL with all of it
_REACHED = 1e-3  # distance of an ILRL, in nats

Program = Callable[[Model, Params, Any], jax.Array]


@lru_cache(maxsize=32)
def make_trainer(model: Model, dtype: str, **options: Any) -> Trainer:
    quick = model.flow.has_small_kernels
    return Trainer(model.loss, _layout(model, dtype), perturb=model.perturb, quick=quick, **options)


@lru_cache(maxsize=32)
def ilr_program(model: Model, dtype: str, own_data: bool = False) -> Any:
    layout = _layout(model, dtype)

    def ilr(vectors: Vectors, x: jax.Array) -> jax.Array:
        return model.ilr(layout.restore(vectors), x)

    members = map_members(ilr, (0, 0 if own_data else None))
    return jit(members, quick=model.flow.has_small_kernels)


def select(flags: NDArray[np.bool_], new: Vectors, old: Vectors) -> Vectors:
    if flags.all():
        return new
    pairs = zip(new, old, strict=True)
    return tuple(np.where(flags[..., None], a, b) for a, b in pairs) if flags.any() else old


def _layout(model: Model, dtype: str) -> Layout:
    params = model.init(0, dtype=dtype)
    return Layout.of(params, model.decays(params))


@contextmanager
def use_precision(dtype: str) -> Iterator[None]:
    """Context in which JAX computes in this precision, in this thread alone."""
    check_unforked()
    with double_precision() if dtype == "float64" else nullcontext():
        yield


@dataclass(frozen=True)
class FittedFlows:
    model: Model
    settings: Settings
    params: Params  # of an ensemble with the members on the first axis

    def members(self) -> list[Params]:
        E = self.settings.n_estimators
        if E == 1:
            return [self.params]
        return [jax.tree.map(lambda a, e=e: a[e], self.params) for e in range(E)]

    def only_member(self) -> Params:
        """The parameters, unless this is an ensemble, which has no base space."""
        if self.settings.n_estimators > 1:
            raise InputError(
                f"An ensemble of {self.settings.n_estimators} flows has no base space. Fit with "
                "n_estimators=1."
            )
        return self.params

    def to_base(self, W: Floats) -> Floats:
        Z = self.base_of(self.only_member(), W)
        self._require_finite(Z)
        return Z

    def base_of(self, params: Params, W: Floats) -> Floats:
        """The same for any member."""
        n = self.model.flow.n_features
        if self.settings.calibrate:  # with any finish it is the program that gives evidence later
            params = {"finish": {"matrix": np.eye(n), "offset": np.zeros(n)}} | params
        return self._compute(_describe, params, W, slice(n))

    def from_base(self, Z: Floats) -> Floats:
        return self._compute(Model.inverse, self.only_member(), Z)

    def features_at(self, Z: Floats) -> Floats:
        """Whitened features with the ILRL in Z.

        Rows that miss it are tried again with less residual; the nearest attempt is kept.
        """
        best = self._compute(_at_ilr, self.only_member(), Z)
        Z = Z.copy()
        for share in _RESIDUAL_SHARES:
            rows = np.flatnonzero(~(best[:, -1] < _REACHED))  # also where it is NaN
            if not len(rows):
                break
            Z[rows, self.model.n_classes - 1 :] *= share
            again = self._compute(_at_ilr, self.only_member(), Z[rows])
            better = ~(again[:, -1] >= best[rows, -1]) & np.isfinite(again[:, -1])
            best[rows[better]] = again[better]
        return best[:, :-1]

    def log_likelihoods(self, W: Floats) -> Floats:
        """Centered evidence, with added dimensions at their center."""
        added = np.zeros((len(W), self.settings.augment))
        each = [self._parts(params, np.hstack([W, added]))[0] for params in self.members()]
        return sum(scores - scores.mean(axis=1, keepdims=True) for scores in each) / len(each)

    def log_densities(self, W: Floats) -> Floats:
        """Log-densities, averaged over draws of added dimensions and over members."""
        k = self.settings.augment
        draws = np.random.default_rng(0).standard_normal((_DENSITY_DRAWS if k else 1, k))
        pooled = np.full((len(W), self.model.n_classes), -np.inf)
        for params in self.members():
            for a in draws:
                scores, common = self._parts(params, np.hstack([W, np.tile(a, (len(W), 1))]))
                common = common + np.sum(0.5 * a**2 + HALF_LOG_2PI)
                pooled = np.logaddexp(pooled, scores + common[:, None])
        return pooled - np.log(len(draws) * self.settings.n_estimators)

    def _parts(self, params: Params, W: Floats) -> tuple[Floats, Floats]:
        out = self._compute(_describe, params, W, slice(self.model.flow.n_features, None))
        self._require_finite(out)
        return out[:, :-1], out[:, -1]

    def _require_finite(self, out: Floats) -> None:
        if not np.isfinite(out).all():
            row = int(np.flatnonzero(~np.isfinite(out).all(axis=1))[0])
            raise InputError(
                f"X must lie within reach of the training samples; row {row} is too far from them "
                f"for {self.settings.dtype}. Check its features, or fit with dtype='float64'.",
                rows=[row],
            )

    def _compute(
        self, program: Program, params: Params, values: Floats, columns: slice = slice(None)
    ) -> Floats:
        """Columns from a program, which takes rows in batches with few sizes."""
        compiled = _compile(program, self.model.flow.has_small_kernels)
        rows = _ROWS[0] if len(values) <= _ROWS[0] else _ROWS[1]
        results = []
        with use_precision(self.settings.dtype):
            params = jax.device_put(params)
            for start in range(0, max(1, len(values)), rows):  # without rows there are columns
                part = values[start : start + rows]
                padded = np.pad(part.astype(self.settings.dtype), ((0, rows - len(part)), (0, 0)))
                with jax.default_matmul_precision("highest"):  # accelerators round otherwise
                    out = np.asarray(compiled(self.model, params, padded))
                results.append(out[: len(part), columns].astype(np.float64))
        return np.concatenate(results)

    def check_consistent(self) -> None:
        """Raise ValueError unless the parameters have the shapes that the settings ask for.

        Sizes are compared with the arrays before anything is built: a file may claim sizes beyond
        any machine.
        """
        n, flow = self.model.flow.n_features, self.params["flow"]
        if flow["affine"]["factors"].shape[-2:] != (n, n):
            raise ValueError(f"not a map of {n} dimensions")
        E, K = self.settings.n_estimators, self.settings.n_couplings
        widths = [] if n == 1 else [self.settings.width] * self.settings.depth
        for flip, layers in zip(range(min(2, K)), flow["couplings"], strict=True):
            count = (E,) * (E > 1) + ((K + 1 - flip) // 2,)
            *hidden, last = [layer["bias"].shape for layer in layers]
            if hidden != [(*count, width) for width in widths] or last[:-1] != count:
                raise ValueError(f"{K} couplings with layers of shapes {hidden[:5]}, {last}")
        with use_precision(self.settings.dtype):
            expected = self.model.init(0, dtype=self.settings.dtype) | self._expected_parts(n)

        def check_like(leaf: Any, array: np.ndarray) -> None:
            shape = leaf.shape if E == 1 else (E, *leaf.shape)
            if array.shape != shape or array.dtype != leaf.dtype or not np.isfinite(array).all():
                raise ValueError(f"an array of shape {array.shape}, not of {shape}, or not finite")

        jax.tree.map(check_like, expected, self.params)  # raises if the trees differ

    def _expected_parts(self, n: int) -> Params:
        k, dtype, parts = self.model.n_classes - 1, self.settings.dtype, {}
        if "finish" in self.params:
            parts["finish"] = {"matrix": np.eye(n, dtype=dtype), "offset": np.zeros(n, dtype)}
        if "mixture" in self.params:
            K = len(self.params["mixture"]["log_weights"])
            covariances, log_weights = np.zeros((K, k, k), dtype), np.zeros(K, dtype)
            parts["mixture"] = {"covariances": covariances, "log_weights": log_weights}
        if "residual" in self.params:
            count = len(self.params["residual"]["couplings"])
            if count != self.settings.residual_couplings:
                raise ValueError(f"{count} couplings of the residual")
            parts["residual"] = init_residual(np.random.default_rng(0), k, n - k, count, dtype)
        return parts


@cache
def _compile(program: Program, quick: bool) -> Any:
    return jit(program, quick=quick, static_argnums=0)


def _describe(model: Model, params: Params, x: jax.Array) -> jax.Array:
    """Base space, evidence and, last, the common part in all classes' log-densities."""
    z, log_det = model.forward(params, x)
    scores, common = model.parts_at(params, z, log_det)
    return jnp.concatenate([z, scores, common[:, None]], axis=1)


def _at_ilr(model: Model, params: Params, z: jax.Array) -> jax.Array:
    """Whitened features whose evidence, with added dimensions at their center, is the ILRL of z.

    The last column is the distance between the ILRLs. The inverse map also fills the added
    dimensions, which features cannot hold. Damped least squares (Levenberg, Marquardt) moves from
    the others to the nearest features with the ILRL of z.
    """
    k, d = model.n_classes - 1, z.shape[1] - model.n_added

    def gap(w: jax.Array, target: jax.Array) -> jax.Array:
        return model.forward(params, jnp.pad(w, (0, model.n_added)))[0][:k] - target

    def refine_one(w: jax.Array, target: jax.Array) -> jax.Array:
        def step(_: Any, carry: Any) -> Any:
            w, damping = carry
            now, J = gap(w, target), jax.jacrev(gap)(w, target)
            G = J @ J.T
            ridge = damping * jnp.trace(G) / k * jnp.eye(k, dtype=w.dtype)
            new = w - J.T @ jnp.linalg.solve(G + ridge, now)
            better = jnp.sum(gap(new, target) ** 2) < jnp.sum(now**2)
            return jnp.where(better, new, w), jnp.where(better, damping / 5, damping * 5)

        return jax.lax.fori_loop(0, _REFINEMENTS, step, (w, jnp.asarray(1e-3, w.dtype)))[0]

    start = model.inverse(params, z)[:, :d]
    w = jax.vmap(refine_one)(start, z[:, :k])
    left = jnp.linalg.norm(jax.vmap(gap)(w, z[:, :k]), axis=1)
    return jnp.concatenate([w, left[:, None]], axis=1)
