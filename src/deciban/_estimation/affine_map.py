"""Affine maps of ILRLs on rows, and the parameters that are free in them."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np

Scale = Literal["scalar", "diagonal", "full"]
_LARGE = 1e100  # scores
_ROUNDING = 1e-11  # spread of scores, relative to the largest, that counts as none


class AffineMap(NamedTuple):
    """Recalibration of ILRLs on rows: ``l @ matrix.T + offset``."""

    matrix: np.ndarray
    offset: np.ndarray

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Recalibrated ILRLs."""
        return l @ self.matrix.T + self.offset

    @classmethod
    def from_parameters(
        cls, theta: np.ndarray, scale: Scale, k: int, *, has_offset: bool = True
    ) -> Self:
        """The map to k coordinates with these free parameters: those of the matrix come first."""
        free, offset = np.split(theta, [len(theta) - k * has_offset])
        matrix = free.reshape(k, -1) if scale == "full" else np.eye(k) * free
        return cls(matrix, offset if has_offset else np.zeros(k))

    def parameters(self, scale: Scale) -> np.ndarray:
        """The free parameters of the matrix, then the offset."""
        return np.append(free_entries(self.matrix, scale), self.offset)


def free_entries(matrices: np.ndarray, scale: Scale) -> np.ndarray:
    """The entries of matrices of shape (..., k, k) that the scale leaves free."""
    entries = {
        "scalar": matrices[..., 0, 0],
        "diagonal": np.einsum("...ii->...i", matrices),
        "full": matrices,
    }
    return entries[scale]


def sum_by_entry(squares: np.ndarray, scale: Scale, k: int) -> np.ndarray:
    """Sums of squares of the scores that each free entry of a matrix of k rows multiplies."""
    sums = {"scalar": squares.sum(keepdims=True), "diagonal": squares, "full": np.tile(squares, k)}
    return sums[scale]


class Standardization(NamedTuple):
    """A unit and a center of scores with which the optimum is sharp, and which scores vary."""

    size: float
    center: np.ndarray
    varies: np.ndarray

    @classmethod
    def choose(
        cls, largest: np.ndarray, mean: np.ndarray, *, has_offset: bool, has_ridge: bool
    ) -> Self:
        """From the largest absolute value of each score and their means.

        A common offset of the scores would blunt the optimum, and squares of huge ones overflow. A
        ridge holds the map near the identity in the scores as they are, and leaves no choice.
        """
        most = float(largest.max())
        size = 1.0 if has_ridge or most <= _LARGE else most
        center = mean / size if has_offset and not has_ridge else np.zeros(len(largest))
        return cls(size, center, np.ones(len(largest), dtype=bool))

    def drop_constants(self, spread: np.ndarray, largest: np.ndarray) -> Self:
        """The same, where scores that vary no further than this from the center are constants."""
        return self._replace(varies=spread >= _ROUNDING * np.maximum(1.0, largest / self.size))

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Standardized scores; constants carry no evidence and are zero."""
        return np.where(self.varies, l / self.size - self.center, 0.0)

    def undo(self, affine: AffineMap) -> AffineMap:
        """The map of scores as they are, from that of standardized ones."""
        matrix, b = affine
        return AffineMap(matrix / self.size, b - matrix @ self.center)
