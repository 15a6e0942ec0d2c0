"""Logistic regression whose ILRLs are linear in its parameters: several systems, and covariates.

The ILRL of a sample is the sum of A_m l_m over its vectors l_m, with A_m a multiple of the
identity, diagonal or full, and of b_u times its covariate u. One vector and a constant are the case
of :mod:`deciban._estimation.affine`, which is faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from deciban._estimation.logistic import Scale
from deciban._estimation.newton import minimum
from deciban._persistence.registry import register_value

_BLOCK = 1 << 20  # numbers held at once
_FEWEST, _PER_CLASS = 3000, 50  # samples that are enough to estimate a covariance
_FIRST = 20_000  # samples that give a start near the optimum of many more
_STEPS = 2  # of Newton from an estimate to maximum likelihood, which is far where samples are few


class Features(NamedTuple):
    """Vectors of shape (n_samples, n_vectors, n_classes - 1) and covariates, the first constant."""

    vectors: np.ndarray
    covariates: np.ndarray

    def select(self, rows: slice) -> Features:
        """The samples of these rows."""
        return Features(self.vectors[rows], self.covariates[rows])

    def slopes(self, direction: np.ndarray, scale: Scale) -> np.ndarray:
        """Derivatives of each sample's ILRL along its direction, (n_samples, n_parameters)."""
        along = np.broadcast_to(direction, (len(self.vectors), direction.shape[-1]))
        path = {"scalar": "ni,nmi->nm", "diagonal": "ni,nmi->nmi", "full": "ni,nmj->nmij"}[scale]
        by_matrix = np.einsum(path, along, self.vectors).reshape(len(along), -1)
        by_offset = np.einsum("ni,nu->nui", along, self.covariates).reshape(len(along), -1)
        return np.concatenate([by_matrix, by_offset], axis=1)


class LinearMap(NamedTuple):
    """Matrices A_m of shape (n_vectors, k, k) and offsets b_u of shape (n_covariates, k)."""

    matrices: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_parameters(
        cls, theta: np.ndarray, n_vectors: int, k: int, n_covariates: int, scale: Scale
    ) -> LinearMap:
        """The map that the parameters of a fit stand for."""
        free, offsets = np.split(theta, [len(theta) - n_covariates * k])
        if scale == "full":
            A = free.reshape(n_vectors, k, k)
        else:
            A = free.reshape(n_vectors, 1 if scale == "scalar" else k)[:, :, None] * np.eye(k)
        return cls(A, offsets.reshape(n_covariates, k))

    def __call__(self, features: Features) -> np.ndarray:
        """ILRLs of the samples."""
        return (
            np.einsum("mij,nmj->ni", self.matrices, features.vectors)
            + features.covariates @ self.offsets
        )


class Uncertainty(NamedTuple):
    """Covariance of the parameters of a linear map, and its degrees of freedom."""

    covariance: np.ndarray
    degrees_of_freedom: float

    def half_widths(
        self, features: Features, directions: np.ndarray, scale: Scale, confidence: float
    ) -> np.ndarray:
        """Half the widths of intervals of ILRLs along directions, (n_samples, n_directions).

        The ILRL is linear in the parameters, so that the delta method is exact.
        """
        variance = np.empty((len(features.vectors), len(directions)))
        for k, direction in enumerate(directions):
            G = features.slopes(direction, scale)
            variance[:, k] = np.einsum("np,np->n", G @ self.covariance, G)
        t = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2))
        return t * np.sqrt(np.maximum(variance, 0.0))


register_value(Uncertainty, covariance="P P", degrees_of_freedom=float)


@dataclass(frozen=True)
class LinearProblem:
    """Mean cross-entropy of the posteriors plus a penalty, by the parameters of a linear map.

    ``weight`` sums to one over all samples and to the prior over each class; ``penalty`` is that of
    the squared distance of each parameter from its ``center``, and ``sizes`` are the numbers of
    samples of the classes.
    """

    features: Features
    truth: np.ndarray
    weight: np.ndarray
    log_prior: np.ndarray
    V: np.ndarray
    scale: Scale
    penalty: np.ndarray
    sizes: np.ndarray
    center: np.ndarray | float = 0.0

    def fit(self) -> np.ndarray:
        """Parameters at the minimum."""
        # Under a nearly certain prior all costs are small; in units of its entropy they are not.
        unit = -float(np.exp(self.log_prior) @ self.log_prior)
        some = self._thin_out(_FIRST)
        start = np.zeros(len(self.penalty)) if some is self else some.fit()
        return minimum(partial(_At, self, unit), start, np.full(len(start), unit**-0.5))

    def posteriors(self, theta: np.ndarray, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Posteriors under the prior, and minus the logarithm of that of the true class."""
        features = self.features.select(rows)
        k = self.V.shape[1]
        sizes = features.vectors.shape[1], k, features.covariates.shape[1]
        z = LinearMap.from_parameters(theta, *sizes, self.scale)(features) @ self.V.T
        z += self.log_prior
        z -= z.max(axis=1, keepdims=True)
        total = np.log(np.exp(z).sum(axis=1))
        truth = self.truth[rows]
        return np.exp(z - total[:, None]), total - z[np.arange(len(truth)), truth]

    def blocks(self) -> Iterator[slice]:
        """Slices of rows that are held at once."""
        size = max(256, _BLOCK // (len(self.penalty) + len(self.V)))
        return (slice(start, start + size) for start in range(0, len(self.truth), size))

    def uncertainty(self, theta: np.ndarray) -> Uncertainty:
        r"""Covariance of the parameters near the minimum, over new draws of the samples.

        :math:`H^{-1} (J + \Lambda / N) H^{-1}` with H the second derivatives, :math:`\Lambda` those
        of the penalty, which counts as a prior, and J the variance of the slope when samples are
        drawn within each class: class frequencies are not estimated (Prentice and Pyke, 1979). The
        density of a class is, under the model, that of all samples weighted by its posterior: with
        few samples this varies less than the samples of the class alone.
        """
        P, D = len(theta), len(self.V)
        prior = np.exp(self.log_prior)
        share = prior**2 / self.sizes
        some = self._thin_out(max(_FEWEST, _PER_CLASS * D))
        for _ in range(_STEPS):  # away from a prior that holds theta back and makes H too large
            at = _At(some, 1.0, theta)
            theta = theta - _inverse(at.curvature()) @ at.slope
        H, J, mean = np.zeros((P, P)), np.zeros((P, P)), np.zeros((D, P))
        for c, weight, G in some.slopes_by_class(theta):
            square = (weight[:, None] * G).T @ G
            H += square
            J += share[c] / prior[c] * square
            mean[c] += weight @ G / prior[c]
        J -= (mean.T * share) @ mean
        penalty = np.diag(2 * self.penalty)
        inverse = _inverse(H + penalty)
        C = inverse @ (J + penalty * share.sum()) @ inverse
        return Uncertainty((C + C.T) / 2, max(1.0, float(1 / share.sum()) - P))

    def slopes_by_class(self, theta: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Posteriors of each class times the weights, and slopes of the cost if it is true."""
        for rows in self.blocks():
            p, _ = self.posteriors(theta, rows)
            features = self.features.select(rows)
            for c, e in enumerate(np.eye(len(self.V))):
                yield c, self.weight[rows] * p[:, c], features.slopes((p - e) @ self.V, self.scale)

    def _thin_out(self, most: int) -> LinearProblem:
        """Some of the samples of each class, with the weight of all of them."""
        step = -(-len(self.truth) // most)
        if step <= 1:
            return self
        order, counts = np.argsort(self.truth, kind="stable"), np.bincount(self.truth)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = order[rank % step == 0]
        truth, weight = self.truth[rows], self.weight[rows]
        whole, part = np.bincount(self.truth, self.weight), np.bincount(truth, weight)
        features = Features(*(array[rows] for array in self.features))
        return replace(self, features=features, truth=truth, weight=weight * (whole / part)[truth])


class _At:
    """The problem at one point, in units of the entropy of the prior."""

    def __init__(self, problem: LinearProblem, unit: float, theta: np.ndarray) -> None:
        self.problem, self.unit, self.theta = problem, unit, theta
        away = theta - problem.center
        self.slope = 2 * problem.penalty * away / unit
        self.value = float(self.slope @ away) / 2
        for rows in problem.blocks():
            p, cost = problem.posteriors(theta, rows)
            w = problem.weight[rows] / unit
            self.value += float(w @ cost)
            p[np.arange(len(p)), problem.truth[rows]] -= 1
            features = problem.features.select(rows)
            self.slope += w @ features.slopes(p @ problem.V, problem.scale)

    def curvature(self) -> np.ndarray:
        """The matrix of second derivatives."""
        total = np.diag(2 * self.problem.penalty)
        for _, share, G in self.problem.slopes_by_class(self.theta):
            total += (share[:, None] * G).T @ G
        return np.asarray(total / self.unit)


def _inverse(H: np.ndarray) -> np.ndarray:
    """Pseudoinverse of second derivatives, whatever the units of the parameters."""
    unit = np.where(np.diag(H) > 0, np.sqrt(np.diag(H)), 1.0)  # constant scores have none
    return np.linalg.pinv(H / np.outer(unit, unit), hermitian=True) / np.outer(unit, unit)
