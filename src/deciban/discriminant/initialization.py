"""The start for a discriminant analysis: prepared features, and LDA's exact ILRL and residual.

Flows, unlike trees, depend on the features' scale. A feature with values beyond six robust
standard deviations goes through :math:`m + b asinh((x - m) / b)`, which is the identity near its
median m and a logarithm beyond the bend b. The map is smooth and inverts exactly, so features,
densities and evidence stay one model.

With features whitened by the covariance within the classes and class means m_i on the rows of M,
the ILRL of linear discriminant analysis is affine, Vᵀ (M x - diag(M Mᵀ) / 2), and distributed as
the calibrated Gaussian family of covariance B Bᵀ, B = Vᵀ M. Directions orthogonal to B's rows are
standard normal whatever the class: the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from deciban._estimation.samples import Samples
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats
from deciban.discriminant.settings import Settings
from deciban.exceptions import InputError
from deciban.reference.family import covariance_of

FLOOR = 1e-6  # smallest eigenvalue relative to the largest: constant and collinear features
_ROUNDING = 1e-12  # spread below this share of a feature's size is rounding
_MIN_SINGULAR = 1.5  # smallest singular value of a CDA's discriminant block at the start
_NO_SINGULAR = 1e-9  # a singular value that is zero but for rounding
_MIN_SINGULAR_LDA = 1e-3  # the same for LDA itself, whose covariance must be of full rank
_BEYOND_CHANCE = 1.5  # multiple of what chance makes of the difference of means
_LONG = 6.0  # robust standard deviations beyond which a tail is long
_BEND = 2.0  # robust standard deviations at which it is drawn in
_TO_STANDARD = 1.4826  # times the median distance from the median is a normal's deviation


class Whitening(NamedTuple):
    """Features with unit covariance within classes: ``(x - mean) / scale @ matrix.T``."""

    mean: Floats
    scale: Floats
    matrix: Floats
    inverse: Floats

    def __call__(self, X: Floats) -> Floats:
        return ((X - self.mean) / self.scale) @ self.matrix.T

    def invert(self, W: Floats) -> Floats:
        return (W @ self.inverse.T) * self.scale + self.mean

    @property
    def log_det(self) -> float:
        return float(np.linalg.slogdet(self.matrix)[1] - np.log(self.scale).sum())


class Tails(NamedTuple):
    """Draws in the long tails of features; an infinite ``bend`` leaves a feature unchanged."""

    center: Floats
    bend: Floats

    @classmethod
    def fit(cls, X: Floats) -> Tails:
        """Bends for features with long tails; the robust deviation ignores values at the median."""
        center = np.median(X, axis=0)
        away = np.abs(X - center)
        with np.errstate(invalid="ignore"):
            spread = np.array([np.median(a[a > 0]) if (a > 0).any() else 0.0 for a in away.T])
        spread = _TO_STANDARD * spread
        long = (spread > 0) & (away.max(axis=0) > _LONG * spread)
        return cls(center, np.where(long, _BEND * spread, np.inf))

    @classmethod
    def none(cls, d: int) -> Tails:
        return cls(np.zeros(d), np.full(d, np.inf))

    def __call__(self, X: Floats) -> Floats:
        return self._map(X, np.arcsinh)

    def invert(self, Y: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return self._map(Y, np.sinh)

    def log_slopes(self, X: Floats) -> Floats:
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
    """Tails, then whitening: the input for a flow."""

    tails: Tails
    whitening: Whitening

    def __call__(self, X: Floats) -> Floats:
        return self.whitening(self.tails(X))

    def invert(self, W: Floats) -> Floats:
        return self.tails.invert(self.whitening.invert(W))

    def log_slopes(self, X: Floats) -> Floats:
        return self.tails.log_slopes(X) + self.whitening.log_det


register_value(Whitening, mean="d", scale="d", matrix="d d", inverse="d d")
register_value(Tails, center="d", bend="d")
register_value(Preparation, tails=Tails, whitening=Whitening)


class Start(NamedTuple):
    """An affine map from whitened features to base space, and its ILRL covariance."""

    matrix: Floats
    offset: Floats
    covariance: Floats

    def evidence(self, W: Floats, V: Floats) -> Floats:
        k = len(self.covariance)
        return (W @ self.matrix[:k, : W.shape[1]].T + self.offset[:k]) @ V.T

    def seen_through(self, change: Floats) -> Start:
        """The same evidence after another whitening; ``change`` maps its features back.

        The other rows are orthonormal in the couplings' input, so the features that vary most there
        are learned from first.
        """
        k, d = len(self.covariance), len(change)
        B = self.matrix[:k].copy()
        B[:, :d] = B[:, :d] @ change
        offset = np.where(np.arange(len(self.offset)) < k, self.offset, 0.0)
        return self._replace(matrix=np.vstack([B, null_space(B).T]), offset=offset)


class Moments(NamedTuple):
    center: Floats
    scale: Floats
    means: Floats
    within: Floats


class Totals:
    """Sums for moments, over samples in any number of parts.

    Means and scatter are combined as by Chan, Golub and LeVeque (1983), so that nothing cancels.
    ``origin`` is near the features and ``reach`` about their range, or squares would overflow.
    """

    def __init__(self, n_classes: int, origin: Floats, reach: Floats) -> None:
        d = len(origin)
        self._origin, self._unit = origin, np.maximum(reach, 1e-300)
        self._mass, self._means = np.zeros(n_classes), np.zeros((n_classes, d))
        self._scatter = np.zeros((d, d))

    def add(self, samples: Samples) -> None:
        codes, weight = samples.codes, samples.weight
        X = (samples.X - self._origin) / self._unit
        mass, means = np.zeros_like(self._mass), np.zeros_like(self._means)
        for k in np.unique(codes):
            own = codes == k
            mass[k] = weight[own].sum()
            means[k] = weight[own] @ X[own] / mass[k]
        away = X - means[codes]
        total = np.maximum(self._mass + mass, 1e-300)
        gap = means - self._means
        self._scatter += (away.T * weight) @ away + (gap.T * (self._mass * mass / total)) @ gap
        self._means += gap * (mass / total)[:, None]
        self._mass = self._mass + mass

    def moments(self) -> Moments:
        """Moments for features scaled by their spread within classes.

        Scaled by their total spread, classes beside a distant one would look like points. It scales
        features without spread within classes; constant features count as having unit spread, so
        that new values are read unchanged.
        """
        share = self._mass / self._mass.sum()
        center, within = share @ self._means, self._scatter / self._mass.sum()
        between = share @ (self._means - center) ** 2
        own = self._unit * np.sqrt(np.diag(within))
        total = self._unit * np.sqrt(np.diag(within) + between)
        size = np.maximum(np.abs(self._origin + self._unit * center), 1e-300)
        constant = total <= _ROUNDING * size
        scale = np.where(own > _ROUNDING * np.maximum(size, total), own, total)
        scale = np.where(constant, 1.0, scale)
        unit = self._unit / scale
        within = within * unit * unit[:, None]
        within[constant, :], within[:, constant] = 0.0, 0.0
        varies = np.any(np.diag(within) > _ROUNDING)
        within[constant, constant] = 1.0
        if not varies:
            raise InputError(
                "X must vary within classes; the samples of each class are all alike. Add samples."
            )
        means = (self._means - center) * unit
        return Moments(self._origin + self._unit * center, scale, means, within)


def class_moments(samples: Samples, n_classes: int) -> Moments:
    center = samples.weight @ samples.X / samples.weight.sum()
    totals = Totals(n_classes, center, np.abs(samples.X - center).max(axis=0))
    totals.add(samples)
    return totals.moments()


def shrink(within: Floats, shrinkage: float, largest: float | None = None) -> Floats:
    """A covariance shrunk towards a multiple of the identity.

    No eigenvalue is below ``FLOOR`` times the largest one, by default its own.
    """
    size = max(np.trace(within) / len(within), 1e-300)
    S = (1 - shrinkage) * within + shrinkage * (size * np.eye(len(within)))
    values, vectors = np.linalg.eigh(S)
    least = FLOOR * max(float(values[-1]) if largest is None else largest, 1e-300)
    if values[0] >= least:
        return S
    return (vectors * np.maximum(values, least)) @ vectors.T


def symmetric_whitening(moments: Moments, shrinkage: float) -> Whitening:
    """The whitening by the shrunk covariance within classes that changes features least."""
    values, vectors = np.linalg.eigh(shrink(moments.within, shrinkage))
    root = np.sqrt(values)
    matrix, inverse = (vectors / root) @ vectors.T, (vectors * root) @ vectors.T
    return Whitening(moments.center, moments.scale, matrix, inverse)


def initialize(samples: Samples, V: Floats, settings: Settings) -> tuple[Preparation, Start]:
    d = samples.X.shape[1]
    tails = Tails.fit(samples.X) if settings.draw_in_tails else Tails.none(d)
    samples = samples._replace(X=tails(samples.X))
    moments = class_moments(samples, len(V))
    shrinkage = ledoit_wolf(samples, moments)
    return start_at(tails, moments, shrinkage, len(samples.codes), V, settings)


def ledoit_wolf(samples: Samples, moments: Moments) -> float:
    from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import

    if samples.X.shape[1] == 1:
        return 0.0
    away = (samples.X - moments.center) / moments.scale - moments.means[samples.codes]
    return float(ledoit_wolf_shrinkage(away, assume_centered=True))


def start_at(
    tails: Tails, moments: Moments, shrinkage: float, n: int, V: Floats, settings: Settings
) -> tuple[Preparation, Start]:
    """The same from the moments of n samples after ``tails``.

    LDA's covariance has Ledoit and Wolf's shrinkage; without epochs the settings' shrinkage.
    """
    D, d = moments.means.shape
    if settings.epochs == 0 and not isinstance(settings.shrinkage, str):
        shrinkage = settings.shrinkage
    white = symmetric_whitening(moments, shrinkage)
    means = np.pad(moments.means @ white.matrix.T, ((0, 0), (0, settings.augment)))
    if settings.init == "paper":
        return Preparation(tails, white), _paper_start(means, V)
    if settings.epochs == 0:
        return Preparation(tails, white), linear_start(
            means, V, _MIN_SINGULAR_LDA, settings.augment
        )
    # The largest singular value of means that differ by chance alone is about this.
    chance = np.sqrt(D / n) * (np.sqrt(D - 1) + np.sqrt(d))
    start = linear_start(means, V, _MIN_SINGULAR, settings.augment, _BEYOND_CHANCE * chance)
    if isinstance(settings.shrinkage, str):
        return Preparation(tails, white), start
    seen = symmetric_whitening(moments, settings.shrinkage)
    return Preparation(tails, seen), start.seen_through(white.matrix @ seen.inverse)


def linear_start(
    means: Floats, V: Floats, floor: float = 0.0, n_added: int = 0, noise: float = 0.0
) -> Start:
    """LDA's solution for whitened class means, (D, d) with d >= D - 1.

    ``floor`` bounds the singular values of the discriminant block: coinciding class means would
    leave nothing to learn from. The last ``n_added`` columns are independent normals instead of
    features; they replace directions in which the means differ by no more than ``noise``, as a
    direction that chance has chosen among the features is hard to unlearn.
    """
    B = V.T @ means
    U, s, Wt = np.linalg.svd(B, full_matrices=False)
    raised = np.maximum(s, floor)
    share = np.where(s > max(noise, _NO_SINGULAR), 1.0, s / np.maximum(raised, 1e-300))
    for j, k in enumerate(reversed(range(max(0, len(Wt) - n_added), len(Wt)))):
        # This share of the direction is from the features, the rest from an added dimension.
        Wt[k] *= share[k]
        Wt[k, Wt.shape[1] - 1 - j] = np.sqrt(max(0.0, 1 - share[k] ** 2))
    B = (U * raised) @ Wt
    sigma = (U * raised**2) @ U.T
    G = V @ sigma @ V.T
    mu = sigma @ V.T - 0.5 * (V.T @ np.diag(G))[:, None]
    offset = mu.mean(axis=1) - B @ means.mean(axis=0)
    rest = null_space(Wt).T  # rows orthogonal to the discriminant ones, in the whitened space
    matrix = np.vstack([B, rest])
    return Start(matrix, np.concatenate([offset, np.zeros(len(rest))]), sigma)


def _paper_start(means: Floats, V: Floats) -> Start:
    """The paper's appendix: the identity, and the covariance for LDA's divergences."""
    n = means.shape[1]
    gaps = means[:, None, :] - means[None, :, :]
    sigma = covariance_of(0.5 * np.sum(gaps * gaps, axis=2), V)
    values, vectors = np.linalg.eigh(sigma)
    sigma = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    return Start(np.eye(n), np.zeros(n), sigma)
