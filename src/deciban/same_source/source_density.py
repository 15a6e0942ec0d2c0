"""Densities for sets of measurements, and the likelihood ratio for one source against two.

In these coordinates the covariance within sources is the identity and the one between them is
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

Rows = NDArray[np.intp]
_BLOCK = 1 << 21  # numbers held at once
_MAX_TERMS = (
    1e6  # size of the terms of a sum, relative to the sum, above which too many digits are lost
)
_UNDERFLOW = 1e-280  # smallest sum of exponentials that has all its digits


class Sets(NamedTuple):
    """Means and sizes of sets: arrays of shape (n, d) and (n,)."""

    means: Floats
    counts: Floats

    def take(self, rows: Any) -> Sets:
        return Sets(self.means[rows], self.counts[rows])


@dataclass(frozen=True)
class SourceDensity:
    """A mixture of equally likely normal densities of the sources, all of one variance."""

    centers: Floats  # (n_kernels, d)
    variance: Floats  # (d,)

    def log_density(self, sets: Sets) -> Floats:
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

    def llr(self, a: Sets, b: Sets, i: Rows, j: Rows) -> Floats:
        """Log-likelihood ratios for sets i in a and sets j in b."""
        result = np.empty(len(i))
        for rows in _split(np.arange(len(i)), 8 * len(self.variance)):
            result[rows] = self._llr_of_pairs(a.take(i[rows]), b.take(j[rows]))
        return result

    def _llr_of_pairs(self, a: Sets, b: Sets) -> Floats:
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
        """Log-likelihood ratios for all sets in a against all in b.

        A kernel's exponent is a sum with one term for each side, so the mixture is a product of two
        matrices. Pairs that underflow or lose digits there are computed alone.
        """
        result = np.empty((len(a.counts), len(b.counts)))
        single = self.log_density(a)[:, None], self.log_density(b)
        for k, m in itertools.product(np.unique(a.counts), np.unique(b.counts)):
            spread, total = 1 / k + 1 / m, self.variance + 1 / (k + m)
            cross = 1 / spread - k * m / (k + m) ** 2 / total
            constant = len(total) * np.log(2 * np.pi * spread) + np.log(2 * np.pi * total).sum()
            columns, members = np.flatnonzero(b.counts == m), np.flatnonzero(a.counts == k)
            right, after, size = self._side(b.means[columns], m / (k + m), spread, total)
            for rows in _split(members, len(columns) + len(self.centers)):
                left, before, own = self._side(a.means[rows], k / (k + m), spread, total)
                mixture = left @ right.T / len(self.centers)
                with np.errstate(divide="ignore"):
                    block = np.log(mixture) + np.add.outer(before, after)
                block += (a.means[rows] * cross) @ b.means[columns].T - 0.5 * constant
                block -= single[0][rows] + single[1][columns]
                doubtful = np.add.outer(own, size) > _MAX_TERMS * (1 + np.abs(block))
                i, j = np.nonzero(doubtful | (mixture < _UNDERFLOW))
                i, j = rows[i], columns[j]
                result[np.ix_(rows, columns)] = block
                result[i, j] = self.llr(a, b, i, j)
        return result

    def _side(
        self, x: Floats, share: float, spread: float, total: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """One side's part in the joint density: kernels, offset, and the size of its terms."""
        exponent = (share * x / total) @ self.centers.T - 0.25 * self.centers**2 @ (1 / total)
        top = exponent.max(axis=1)
        square = 0.5 * x**2 @ (1 / spread + share**2 / total)
        return np.exp(exponent - top[:, None]), top - square, np.abs(top) + square


def _split(rows: Rows, width: int) -> list[Rows]:
    return np.array_split(rows, -(-len(rows) * width // _BLOCK)) if len(rows) else []
