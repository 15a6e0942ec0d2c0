"""Monotone maps of ILRLs: gradients of convex functions, and steps of one coordinate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from deciban._validation.arrays import Floats

_BLOCK = 1 << 22  # numbers held at once
_ROUNDING = 1e-11  # spread of scores, relative to the largest, that counts as none


class ConvexGradient(NamedTuple):
    r"""The gradient of a convex function of :math:`u = (l - c) / s`.

    The function is :math:`T \log \sum_k \exp((a_k + b_k \cdot u) / T) + u^T R R^T u / 2`, and where
    T is zero the maximum of :math:`a_k + b_k \cdot u` instead of the first term. It is convex
    whatever the numbers are, so that its gradient is monotone.
    """

    intercepts: Floats
    slopes: Floats
    points: Floats  # where each slope was found, in units of u
    temperature: float
    tie: float  # difference below which functions tie; the slope of the nearest point counts then
    root: Floats
    center: Floats
    size: float

    def __call__(self, l: Floats) -> Floats:
        """Recalibrated ILRLs of samples on rows."""
        some = max(1, _BLOCK // len(self.intercepts))
        found = np.empty(l.shape)
        for start in range(0, len(l), some):
            rows = slice(start, start + some)
            u = l[rows] / self.size - self.center / self.size  # zero where the size is infinite
            found[rows] = self._slopes_at(u) + (u @ self.root) @ self.root.T
        return found

    def _slopes_at(self, u: Floats) -> Floats:
        height = self.intercepts + u @ self.slopes.T
        if self.temperature > 0:
            return softmax(height / self.temperature, axis=1) @ self.slopes
        tied = height >= height.max(axis=1, keepdims=True) - self.tie
        far = (self.points**2).sum(axis=1) - 2 * (u @ self.points.T)
        return self.slopes[np.where(tied, far, np.inf).argmin(axis=1)]


class Steps(NamedTuple):
    """A rising map of one coordinate: ``values[k]`` from ``edges[k - 1]`` to ``edges[k]``."""

    edges: Floats
    values: Floats

    def __call__(self, l: Floats) -> Floats:
        """Recalibrated ILRLs of samples on rows."""
        return self.values[np.searchsorted(self.edges, l[:, 0])][:, None]


def standardize(l: Floats, weight: Floats) -> tuple[Floats, Floats, float]:
    """Scores of mean zero and unit spread, their center and their size, however large they are."""
    unit = float(np.abs(l).max(initial=0.0)) or 1.0
    v = l / unit
    center = weight @ v
    size = float(np.sqrt(weight @ ((v - center) ** 2).mean(axis=1)))
    if size <= _ROUNDING:  # constants carry no evidence
        return np.zeros(l.shape), center * unit, np.inf
    return (v - center) / size, center * unit, size * unit
