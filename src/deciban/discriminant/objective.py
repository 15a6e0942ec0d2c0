"""The base density of a discriminant flow, and the loss that its training minimizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from numpy.typing import NDArray

from deciban.discriminant.finish import Finish
from deciban.discriminant.initialization import Start
from deciban.discriminant.residual_flow import map_residual, restore_residual
from deciban.flows import Flow
from deciban.reference import CalibratedMixture

_EXACT = jax.lax.Precision.HIGHEST  # accelerators round the factors of a product otherwise
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
Params = dict[str, Any]
Batch = tuple[jax.Array, jax.Array, jax.Array]  # whitened features, codes of the classes, weights


@dataclass(frozen=True)
class Model:
    """A flow and the base density of its values: a calibrated ILRL and a standard normal residual.

    The settings alone, immutable and hashable. ``contrast`` is the basis, as nested tuples.
    """

    flow: Flow
    contrast: tuple[tuple[float, ...], ...]
    n_added: int  # dimensions that are not features: independent standard normals

    @property
    def n_classes(self) -> int:
        """Number of classes, D."""
        return len(self.contrast)

    def init(self, key: jax.Array | int, start: Start | None = None, *, dtype: str) -> Params:
        """Parameters that start at an affine map and a covariance, by default the identity.

        ``log_mix`` is not learned: the logarithm of the classes' shares of the training samples.
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

    def finish(self, params: Params, finish: Finish) -> Params:
        """Parameters of a trained flow with an affine map of the base space at its end."""
        dtype = params["covariance"].dtype
        return params | {
            "covariance": log_cholesky(finish.covariance).astype(dtype),
            "finish": {
                "matrix": finish.matrix.astype(dtype),
                "offset": finish.offset.astype(dtype),
            },
        }

    def mix(self, params: Params, mixture: CalibratedMixture) -> Params:
        """Parameters with a mixture of families in the place of the one that was trained."""
        dtype = params["covariance"].dtype
        covariances = [log_cholesky(one.covariance) for one in mixture.families]
        return params | {
            "mixture": {
                "covariances": np.stack(covariances).astype(dtype),
                "log_weights": np.log(mixture.weights).astype(dtype),
            }
        }

    def without_effect(self) -> Params:
        """A finish that changes nothing."""
        n = self.flow.n_features
        return {"finish": {"matrix": np.eye(n), "offset": np.zeros(n)}}

    def forward(self, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Base space of prepared features, and log |det|."""
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
        """Prepared features of points in base space."""
        if "residual" in params:
            z = restore_residual(params["residual"], z)
        if "finish" in params:
            F, offset = params["finish"]["matrix"], params["finish"]["offset"]
            z = jnp.linalg.solve(F, (z - offset).T).T
        return self.flow.inverse(params["flow"], z)[0]

    def log_densities(self, params: Params, x: jax.Array) -> jax.Array:
        """Log-density of each sample under each class, (n, D)."""
        scores, common = self.parts(params, x)
        return scores + common[..., None]

    def parts(self, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Log-densities in two parts: the evidence, (n, D), and what all classes share, (n,).

        Far from the data the second is so large that their sum would have no digits left for the
        first.
        """
        return self.parts_at(params, *self.forward(params, x))

    def parts_at(
        self, params: Params, z: jax.Array, log_det: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """The same from points in base space."""
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
        """Cross-entropy of the posteriors at the samples' own mix, and negative log-likelihood.

        At any other prior the mix of the classes would find its way into the evidence. ``options``
        have the share of the cross-entropy.
        """
        x, truth, weight = batch
        log_f = self.log_densities(params, x)
        at = _at(truth, log_f)
        mix = jax.lax.stop_gradient(params["log_mix"])
        entropy = -_at(truth, jax.nn.log_softmax(log_f + mix, axis=1))
        share = options["entropy_share"]
        return jnp.sum(weight * (share * entropy - (1 - share) * at))

    def perturb(self, batch: Batch, key: jax.Array, options: Params) -> Batch:
        """The batch with added dimensions, and noise on its prepared features.

        ``options`` have the standard deviation of the noise.
        """
        x, truth, weight = batch
        d = x.shape[1]
        x = jnp.pad(x, ((0, 0), (0, self.n_added)))
        sizes = jnp.where(np.arange(x.shape[1]) < d, options["noise"], 1.0).astype(x.dtype)
        return x + sizes * jax.random.normal(key, x.shape, x.dtype), truth, weight

    def ilr(self, params: Params, x: jax.Array) -> jax.Array:
        """ILRLs of prepared features, (n, D - 1), with added dimensions at their center."""
        z, _ = self.forward(params, jnp.pad(x, ((0, 0), (0, self.n_added))))
        return z[..., : self.n_classes - 1]


def _log_density_of_first(free: jax.Array, l: jax.Array, V: jax.Array) -> jax.Array:
    """Log-density of ILRLs under the first class of a family, but for a constant."""
    L = cholesky(free)
    VL = V @ L
    mu = (VL @ L.T)[0] - 0.5 * (V.T @ jnp.sum(VL**2, axis=1))
    white = solve_triangular(L, (l - mu).T, lower=True)
    return -0.5 * jnp.sum(white**2, axis=0) - jnp.trace(free)


def _at(truth: jax.Array, values: jax.Array) -> jax.Array:
    """The value of each sample's own class; as a sum, which needs no gather and no scatter."""
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
