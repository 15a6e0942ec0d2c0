"""A discriminant flow: its base density, the loss of its training, and a map of its residual.

A flow sends features to (l, r), and its evidence depends on l alone. An invertible map g(r; l)
gives another base space, (l, g(r; l)), with the same evidence, and can make the residual
independent from the class. It consists of couplings that read l beside one half of r, and is
trained last, by likelihood alone, without the noise and the cross-entropy that evidence needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.discriminant.initialization import Start
from deciban.discriminant.runs import Progress, interruptible
from deciban.flows import Flow, Params
from deciban.flows.couplings import Scaling, couple, init_layers
from deciban.flows.processes import decide
from deciban.flows.training import Layout, Trainer
from deciban.reference import CalibratedMixture

_EXACT = jax.lax.Precision.HIGHEST  # accelerators round the factors of a product otherwise
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
Batch = tuple[jax.Array, jax.Array, jax.Array]  # whitened features, codes of the classes, weights

# --- couplings of the residual ---
_WIDTH, _DEPTH = 128, 2
_SCALING = Scaling(log_scale_bound=1.0)  # more would send outliers far away
_LEARNING_RATE, _BATCH = 2e-3, 256
_STEPS, _MAX_EPOCHS = 2_000, 40  # more steps or wider networks learn the training samples instead
_PATIENCE = 5  # epochs without a better one
_HELD_OUT, _MAX_HELD_OUT = 0.1, 2_000  # share and number of samples to tell the best epoch by


def init_residual(
    rng: np.random.Generator, n_given: int, n_mapped: int, n_couplings: int, dtype: Any
) -> Params:
    """The identity's parameters; the ILRL is read in units of ``scale``, which is not learned."""
    couplings = []
    for k in range(n_couplings):
        seen, mapped = _halves(k, n_mapped)
        n_in, n_out = n_given + len(seen), len(mapped) * _SCALING.n_parameters
        layers = init_layers(rng, 1, n_in, n_out, _WIDTH, _DEPTH, dtype)
        couplings.append(jax.tree.map(lambda a: a[0], layers))
    return {"couplings": couplings, "scale": np.ones(n_given, dtype)}


def map_residual(
    params: Params, z: jax.Array, inverse: bool = False
) -> tuple[jax.Array, jax.Array]:
    """From (l, r) of shape (..., d) to (l, g(r; l)) or back, and log |det| of shape (...)."""
    n, order = len(params["scale"]), range(len(params["couplings"]))
    l, r = z[..., :n], z[..., n:]
    given = l / jax.lax.stop_gradient(params["scale"])
    elementwise = _SCALING.inverse if inverse else _SCALING.forward
    total = jnp.zeros(z.shape[:-1], z.dtype)
    for k in reversed(order) if inverse else order:
        seen, mapped = _halves(k, r.shape[-1])
        halves = jnp.concatenate([given, r[..., seen]], axis=-1), r[..., mapped]
        layers = params["couplings"][k]
        (_, moved), log_det = couple(layers, halves, elementwise)
        r = r.at[..., mapped].set(moved)
        total += log_det
    return jnp.concatenate([l, r], axis=-1), total


def train_residual(
    Z: Floats, weight: Floats, n_given: int, n_couplings: int, dtype: str, seed: int, verbose: bool
) -> Params:
    """Parameters that make the residuals most likely.

    They are those of the best epoch on a tenth of the samples, at worst the identity.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(Z))
    aside, rows = np.split(order, [min(_MAX_HELD_OUT, round(_HELD_OUT * len(Z)))])
    aside = aside if len(aside) else rows
    data = Z.astype(dtype), (weight / weight.mean()).astype(dtype)
    batch = min(_BATCH, len(rows))
    n_batches = len(rows) // batch
    epochs = min(_MAX_EPOCHS, -(-_STEPS // n_batches))
    params = init_residual(rng, n_given, Z.shape[1] - n_given, n_couplings, dtype)
    spread = data[0][:, :n_given].std(axis=0)
    params["scale"] = np.where(spread > 0, spread, 1).astype(dtype)
    layout = Layout.of(params, jax.tree.map(lambda _: False, params))
    steps: Any = {"n_batches": n_batches, "batch_size": batch, "epochs": epochs}
    trainer = Trainer(_loss, layout, learning_rate=_LEARNING_RATE, divide=False, **steps)
    score = jax.jit(
        jax.vmap(lambda vectors, batch: _loss(layout.restore(vectors), {}, batch), (0, None))
    )
    unseen = data[0][aside], data[1][aside] / data[1][aside].sum()
    state = trainer.start(jax.tree.map(lambda a: a[None], params))
    best, least, best_epoch = state.params, float(score(state.params, unseen)[0]), 0
    options, data = {"weight_decay": np.zeros(1, dtype)}, trainer.spread.replicate(data)
    with (
        Progress("mapping the residual", epochs, 0, verbose) as progress,
        interruptible(lambda: "while mapping the residual"),
    ):
        while state.epoch < epochs and state.epoch - best_epoch < _PATIENCE:
            state = trainer.step(state, data, [rows], options, seed, progress.advance)
            now = float(decide(np.asarray(score(state.average, unseen)))[0])
            if now < least:
                best, least, best_epoch = state.average, now, state.epoch
    return layout.restore(tuple(np.asarray(vector)[0] for vector in best))


def _loss(params: Params, options: Any, batch: Any) -> jax.Array:
    """Weighted negative log-likelihood of residuals given the ILRL, in nats, up to a constant."""
    z, weight = batch
    mapped, log_det = map_residual(params, z)
    nats = 0.5 * jnp.sum(mapped[..., len(params["scale"]) :] ** 2, axis=-1) - log_det
    return jnp.sum(weight * nats)


def _halves(k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(k // 2).permutation(n).astype(np.int32)
    first, second = order[: n // 2], order[n // 2 :]
    return (second, first) if k % 2 and len(first) else (first, second)


@dataclass(frozen=True)
class Model:
    """A flow and its base density: a calibrated ILRL and a standard normal residual.

    It holds settings only and is hashable. ``contrast`` is the basis, as nested tuples.
    """

    flow: Flow
    contrast: tuple[tuple[float, ...], ...]
    n_added: int  # dimensions that are not features: independent standard normals

    @property
    def n_classes(self) -> int:
        return len(self.contrast)

    def init(self, key: jax.Array | int, start: Start | None = None, *, dtype: str) -> Params:
        """Parameters that start at an affine map and a covariance, by default the identity.

        ``log_mix`` is not learned: the log of the class mix.
        """
        matrix, offset, covariance = start or (None, None, np.eye(self.n_classes - 1))
        return {
            "flow": self.flow.init(key, matrix=matrix, offset=offset, dtype=dtype),
            "covariance": log_cholesky(covariance).astype(dtype),
            "log_mix": np.full(self.n_classes, -np.log(self.n_classes), dtype),
        }

    def decays(self, params: Params) -> Params:
        """True for the parameters that weight decay is meant for."""
        return {"flow": self.flow.decays(params["flow"]), "covariance": False, "log_mix": False}

    def finish(self, params: Params, matrix: Floats, offset: Floats, covariance: Floats) -> Params:
        dtype = params["covariance"].dtype
        return params | {
            "covariance": log_cholesky(covariance).astype(dtype),
            "finish": {"matrix": matrix.astype(dtype), "offset": offset.astype(dtype)},
        }

    def mix(self, params: Params, mixture: CalibratedMixture) -> Params:
        dtype = params["covariance"].dtype
        free = np.stack([log_cholesky(one.covariance) for one in mixture.families]).astype(dtype)
        log_weights = np.log(mixture.weights).astype(dtype)
        return params | {"mixture": {"covariances": free, "log_weights": log_weights}}

    def forward(self, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        z, log_det = self.flow.forward(params["flow"], x)
        if "finish" in params:
            F = params["finish"]["matrix"]
            z = jnp.matmul(z, F.T, precision=_EXACT) + params["finish"]["offset"]
            log_det += jnp.linalg.slogdet(F)[1]
        if "residual" in params:
            z, more = map_residual(params["residual"], z)
            log_det += more
        return z, log_det

    def inverse(self, params: Params, z: jax.Array) -> jax.Array:
        if "residual" in params:
            z, _ = map_residual(params["residual"], z, inverse=True)
        if "finish" in params:
            F, offset = params["finish"]["matrix"], params["finish"]["offset"]
            z = jnp.linalg.solve(F, (z - offset).T).T
        return self.flow.inverse(params["flow"], z)[0]

    def log_densities(self, params: Params, x: jax.Array) -> jax.Array:
        scores, common = self.parts_at(params, *self.forward(params, x))
        return scores + common[..., None]

    def parts_at(
        self, params: Params, z: jax.Array, log_det: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Log-densities in two parts: the evidence, (n, D), and the part all classes share, (n,).

        Far from the data the second is so large that their sum would have no digits for the first.
        """
        l, residual = z[..., : self.n_classes - 1], z[..., self.n_classes - 1 :]
        rest = -0.5 * jnp.sum(residual**2, axis=-1) - HALF_LOG_2PI * z.shape[-1] + log_det
        V = jnp.asarray(self.contrast, z.dtype)
        scores = l @ V.T
        # The first class gives the others: log f_i(l) = v_i'l + log h(l).
        if "mixture" in params:
            log_f = params["mixture"]["log_weights"][:, None] + jax.vmap(
                lambda free: _log_density_of_first(free, l, V)
            )(params["mixture"]["covariances"])
            log_f = jax.nn.logsumexp(log_f, axis=0)
        else:
            log_f = _log_density_of_first(params["covariance"], l, V)
        return scores, log_f + rest - scores[..., 0]

    def loss(self, params: Params, options: Params, batch: Batch) -> jax.Array:
        """Cross-entropy at the samples' own mix, and negative log-likelihood.

        With any other prior the class mix would find its way into the evidence.
        """
        x, truth, weight = batch
        log_f = self.log_densities(params, x)
        at = _at(truth, log_f)
        mix = jax.lax.stop_gradient(params["log_mix"])
        entropy = -_at(truth, jax.nn.log_softmax(log_f + mix, axis=1))
        share = options["entropy_share"]
        return jnp.sum(weight * (share * entropy - (1 - share) * at))

    def perturb(self, batch: Batch, key: jax.Array, options: Params) -> Batch:
        """The batch with added dimensions, and noise on its prepared features."""
        x, truth, weight = batch
        d = x.shape[1]
        x = jnp.pad(x, ((0, 0), (0, self.n_added)))
        sizes = jnp.where(np.arange(x.shape[1]) < d, options["noise"], 1.0).astype(x.dtype)
        return x + sizes * jax.random.normal(key, x.shape, x.dtype), truth, weight

    def ilr(self, params: Params, x: jax.Array) -> jax.Array:
        z, _ = self.forward(params, jnp.pad(x, ((0, 0), (0, self.n_added))))
        return z[..., : self.n_classes - 1]


def _log_density_of_first(free: jax.Array, l: jax.Array, V: jax.Array) -> jax.Array:
    """Log-density under a family's first class, up to a constant."""
    L = cholesky(free)
    VL = V @ L
    mu = (VL @ L.T)[0] - 0.5 * (V.T @ jnp.sum(VL**2, axis=1))
    white = solve_triangular(L, (l - mu).T, lower=True)
    return -0.5 * jnp.sum(white**2, axis=0) - jnp.trace(free)


def _at(truth: jax.Array, values: jax.Array) -> jax.Array:
    """The value for each sample's own class; a sum needs no gather and no scatter."""
    return jnp.sum(jnp.where(truth[:, None] == np.arange(values.shape[1]), values, 0.0), axis=1)


def log_cholesky(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A covariance as a matrix without constraints: its Cholesky factor, the diagonal as logs."""
    L = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
    return np.tril(L, -1) + np.diag(np.log(np.diag(L)))


def covariance_of(free: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The covariance behind a matrix that :func:`log_cholesky` made."""
    free = np.asarray(free, dtype=np.float64)
    L = np.tril(free, -1) + np.diag(np.exp(np.diag(free)))
    return L @ L.T


def cholesky(free: jax.Array) -> jax.Array:
    """The Cholesky factor behind a matrix that :func:`log_cholesky` made."""
    eye = np.eye(len(free), dtype=bool)
    return jnp.tril(free, -1) + jnp.where(eye, jnp.exp(jnp.where(eye, free, 0.0)), 0.0)
