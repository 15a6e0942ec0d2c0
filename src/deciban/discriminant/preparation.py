"""What happens to features before a flow: long tails are drawn in, then they are whitened.

Trees do not care how a feature is scaled; flows do. A feature with values beyond six robust
standard deviations goes through :math:`m + b asinh((x - m) / b)`, which is the identity near its
median m and a logarithm beyond the bend b. The map is monotone, smooth and inverts exactly, so that
features, densities and evidence stay one model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats

_LONG = 6.0  # robust standard deviations beyond which a tail is long
_BEND = 2.0  # robust standard deviations at which it is drawn in
_TO_STANDARD = 1.4826  # times the median distance from the median is a normal's deviation


class Whitening(NamedTuple):
    """Features of unit covariance within the classes: ``(x - mean) / scale @ matrix.T``."""

    mean: Floats
    scale: Floats
    matrix: Floats
    inverse: Floats

    def __call__(self, X: Floats) -> Floats:
        """Whitened features."""
        return ((X - self.mean) / self.scale) @ self.matrix.T

    def undo(self, W: Floats) -> Floats:
        """Features of whitened ones."""
        return (W @ self.inverse.T) * self.scale + self.mean

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant, by which densities change."""
        return float(np.linalg.slogdet(self.matrix)[1] - np.log(self.scale).sum())


class Tails(NamedTuple):
    """Features with their long tails drawn in; where ``bend`` is infinite they are as they were."""

    center: Floats
    bend: Floats

    @classmethod
    def fit(cls, X: Floats) -> Tails:
        """The bends of features whose tails are long.

        Lumps are left out of the robust deviation: in a count that is mostly zero it is that of the
        others.
        """
        center = np.median(X, axis=0)
        away = np.abs(X - center)
        with np.errstate(invalid="ignore"):
            spread = np.array([np.median(a[a > 0]) if (a > 0).any() else 0.0 for a in away.T])
        spread = _TO_STANDARD * spread
        long = (spread > 0) & (away.max(axis=0) > _LONG * spread)
        return cls(center, np.where(long, _BEND * spread, np.inf))

    @classmethod
    def none(cls, d: int) -> Tails:
        """No change of d features."""
        return cls(np.zeros(d), np.full(d, np.inf))

    def __call__(self, X: Floats) -> Floats:
        """Features with tails drawn in."""
        return self._map(X, np.arcsinh)

    def undo(self, Y: Floats) -> Floats:
        """Features as they were. What lies beyond any number becomes infinite."""
        with np.errstate(over="ignore"):
            return self._map(Y, np.sinh)

    def log_slopes(self, X: Floats) -> Floats:
        """Logarithm of the slope of the whole map at each sample, by which densities change."""
        j = np.isfinite(self.bend)
        return -np.log(np.hypot(1.0, (X[:, j] - self.center[j]) / self.bend[j])).sum(axis=1)

    def _map(self, values: Floats, function: np.ufunc) -> Floats:
        j = np.isfinite(self.bend)
        if not j.any():
            return values
        values = values.copy()
        m, b = self.center[j], self.bend[j]
        values[:, j] = m + b * function((values[:, j] - m) / b)
        return values


class Preparation(NamedTuple):
    """Tails, then whitening: what a flow sees of features."""

    tails: Tails
    whitening: Whitening

    def __call__(self, X: Floats) -> Floats:
        """Prepared features."""
        return self.whitening(self.tails(X))

    def undo(self, W: Floats) -> Floats:
        """Features of prepared ones."""
        return self.tails.undo(self.whitening.undo(W))

    def log_slopes(self, X: Floats) -> Floats:
        """Logarithm of the determinant at each sample, by which densities change."""
        return self.tails.log_slopes(X) + self.whitening.log_det


register_value(Whitening, mean="d", scale="d", matrix="d d", inverse="d d")
register_value(Tails, center="d", bend="d")
register_value(Preparation, tails=Tails, whitening=Whitening)
