"""Densities of sets of measurements, and the likelihood-ratio of one source against two.

All is in coordinates where the covariance within sources is the identity and that between them
diagonal. The mean z and the size k of a set are sufficient.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from deciban._validation.arrays import Floats

_BLOCK = 1 << 21  # numbers held at once
_CANCELLATION = 1e6  # size of the terms of a sum, relative to the sum, that costs too many digits
_UNDERFLOW = 1e-280  # smallest sum of exponentials that has all its digits


class Sets(NamedTuple):
    """Means and sizes of sets of measurements: arrays of shape (n, d) and (n,)."""

    means: Floats
    counts: Floats

    def take(self, rows: Any) -> Sets:
        """Some of the sets."""
        return Sets(self.means[rows], self.counts[rows])


@dataclass(frozen=True)
class SourceDensity:
    """A mixture of equally likely normal densities of the sources, all of one variance.

    Attributes
    ----------
    centers : array of shape (n_kernels, d)
    variance : array of shape (d,)
    """

    centers: Floats
    variance: Floats

    def log_density(self, sets: Sets) -> Floats:
        """Log-density of the mean of each set."""
        result = np.empty(len(sets.counts))
        for k in np.unique(sets.counts):
            total = self.variance + 1 / k
            centers = self.centers / np.sqrt(total)
            constant = np.log(len(centers)) + 0.5 * np.log(2 * np.pi * total).sum()
            members = np.flatnonzero(sets.counts == k)
            for rows in _split(members, len(centers)):
                squares = cdist(sets.means[rows] / np.sqrt(total), centers, "sqeuclidean")
                result[rows] = logsumexp(-0.5 * squares, axis=1) - constant
        return result

    def llr(self, a: Sets, b: Sets) -> Floats:
        """Log-likelihood-ratio of one source against two, for each set of a and its one of b."""
        k, m = a.counts[:, None], b.counts[:, None]
        squares = (a.means - b.means) ** 2
        if len(self.centers) == 1:  # the closed form is exact, however small the variance
            lam, both = self.variance, 1 + (k + m) * self.variance
            y, z = (sets.means - self.centers for sets in (a, b))
            rarity = y**2 / (1 + k * lam) + z**2 / (1 + m * lam)
            terms = np.log1p(k * m * lam**2 / both) + k * m * lam / both * (rarity - squares)
            return np.asarray(0.5 * terms.sum(axis=1))
        pooled = Sets((k * a.means + m * b.means) / (k + m), a.counts + b.counts)
        spread = 1 / k + 1 / m
        difference = -0.5 * np.sum(squares / spread + np.log(2 * np.pi * spread), axis=1)
        single = self.log_density(a) + self.log_density(b)
        return np.asarray(difference + self.log_density(pooled) - single)

    def llr_matrix(self, a: Sets, b: Sets) -> Floats:
        """Log-likelihood-ratios of all sets of a against all of b."""
        result = np.empty((len(a.counts), len(b.counts)))
        single = self.log_density(a), self.log_density(b)
        for k, m in itertools.product(np.unique(a.counts), np.unique(b.counts)):
            columns = np.flatnonzero(b.counts == m)
            members = np.flatnonzero(a.counts == k)
            for rows in _split(members, len(columns) + len(self.centers)):
                joint, doubtful = self._log_joint(a.means[rows], k, b.means[columns], m)
                block = joint - single[0][rows, None] - single[1][columns]
                result[np.ix_(rows, columns)] = block
                i, j = np.nonzero(~(doubtful < _CANCELLATION * np.maximum(1, np.abs(block))))
                for pairs in _split(np.arange(len(i)), a.means.shape[1]):
                    at = rows[i[pairs]], columns[j[pairs]]
                    result[at] = self.llr(a.take(at[0]), b.take(at[1]))
        return result

    def _log_joint(self, y: Floats, k: float, z: Floats, m: float) -> tuple[Floats, Floats]:
        """Log-density of all pairs of means if of one source, and the size of the terms in it.

        The exponent of a kernel is a sum of one term for each side, so that the mixture is a
        product of matrices. Where that underflows, the size is infinite.
        """
        spread, total = 1 / k + 1 / m, self.variance + 1 / (k + m)
        sides = []
        for x, share in ((y, k / (k + m)), (z, m / (k + m))):
            exponent = (share * x / total) @ self.centers.T - 0.25 * self.centers**2 @ (1 / total)
            most = exponent.max(axis=1)
            square = 0.5 * x**2 @ (1 / spread + share**2 / total)
            sides.append((np.exp(exponent - most[:, None]), most, square))
        (left, most_y, square_y), (right, most_z, square_z) = sides
        mixture = left @ right.T
        constant = y.shape[1] * np.log(2 * np.pi * spread) + np.log(2 * np.pi * total).sum()
        joint = (y * (1 / spread - k * m / (k + m) ** 2 / total)) @ z.T - 0.5 * constant
        with np.errstate(divide="ignore"):
            joint += np.log(mixture / len(self.centers))
        joint += np.add.outer(most_y - square_y, most_z - square_z)
        size = np.add.outer(np.abs(most_y) + square_y, np.abs(most_z) + square_z)
        return joint, np.where(mixture < _UNDERFLOW, np.inf, size)


def _split(rows: NDArray[np.intp], width: int) -> list[NDArray[np.intp]]:
    """Rows in blocks that hold few numbers at once."""
    return np.array_split(rows, -(-len(rows) * width // _BLOCK)) if len(rows) else []
