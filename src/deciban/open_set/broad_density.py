"""The density of unknown classes: broad, and learned from few vectors.

Coordinates are those in which the covariance within the known classes is the identity, W = I.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from deciban._estimation.samples import Samples
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats
from deciban.discriminant.initialization import FLOOR, Whitening, class_moments, symmetric_whitening

_BLOCK = 1 << 21  # numbers held at once
_LARGEST = float(np.finfo(np.float64).max)
_NEGLIGIBLE = 30.0  # nats below the largest value of an integrand
_STEP = 0.4  # largest step of the integral over the logarithm of the scale
_SHELL = 2  # thickness of a shell of samples that share their nodes, in the same logarithm


class BroadDensity(NamedTuple):
    r"""Normal with covariance :math:`w I + B / \tau`, averaged over :math:`\tau`.

    :math:`\tau \sim \mathrm{Gamma}(\nu / 2, \nu / 2)` is the uncertainty about B's width: with
    w = 0 this is Student's t with :math:`\nu` degrees of freedom.
    """

    whitening: Whitening
    center: Floats
    axes: Floats  # eigenvectors of B, as columns
    variance: Floats  # eigenvalues of B
    within: float  # w
    degrees_of_freedom: float

    @classmethod
    def of_new_class(cls, samples: Samples, n_classes: int, shrinkage: float) -> Self:
        """Density of a new class, with a mean drawn like those of the known classes.

        Their means scatter by B + W / n; the latter part is removed.
        """
        moments = class_moments(samples, n_classes)
        whitening = symmetric_whitening(moments, shrinkage)
        sizes = np.bincount(samples.codes, samples.weight, n_classes)
        noise = float(np.mean(1 / np.maximum(sizes, 1.0)))
        means = moments.means @ whitening.matrix.T
        return cls._estimate(whitening, means, np.ones(n_classes), within=1.0, noise=noise)

    @classmethod
    def of_samples(cls, known: Samples, n_classes: int, others: Samples, shrinkage: float) -> Self:
        whitening = symmetric_whitening(class_moments(known, n_classes), shrinkage)
        return cls._estimate(whitening, whitening(others.X), others.weight, within=0.0, noise=0.0)

    @classmethod
    def _estimate(
        cls, whitening: Whitening, points: Floats, weight: Floats, within: float, noise: float
    ) -> Self:
        n, d = float(weight.sum()), points.shape[1]
        center = weight @ points / n
        away = points - center
        S = (away.T * weight) @ away / n
        rho = oracle_shrinkage(S, n)
        S = ((1 - rho) * S + rho * np.trace(S) / d * np.eye(d)) * n / (n - 1)
        values, axes = np.linalg.eigh(S)
        least = FLOOR * max(float(values[-1]), FLOOR)
        # A new draw is also away from the center by the error of the center itself.
        variance = np.maximum(values - noise, least) * (1 + 1 / n)
        free = min((n - 1) * d, (n - 1) / max(1 - rho, 1e-12) + 2)
        return cls(whitening, center, axes, variance, within, free)

    def log_density(self, X: Floats) -> Floats:
        if self.within == 0:
            return self._student(X) + self.whitening.log_det
        result = np.empty(len(X))
        size = max(1, _BLOCK // X.shape[1])
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            away = (self.whitening(X[rows]) - self.center) @ self.axes
            with np.errstate(over="ignore"):  # of features beyond 1e150
                result[rows] = self._average(away**2)
        return result + self.whitening.log_det

    def _average(self, squares: Floats) -> Floats:
        """Log of the mean over the scales, from squared coordinates.

        The farther a sample, the smaller the scales that matter: samples at about the same distance
        share their nodes.
        """
        squares = np.minimum(squares, _LARGEST)
        distance = np.minimum(squares @ (1 / self.variance), _LARGEST)
        shell = np.ceil(np.log1p(distance / self.degrees_of_freedom) / _SHELL)
        result = np.empty(len(squares))
        for one in np.unique(shell):
            own = np.flatnonzero(shell == one)
            log_V, log_weight = self._nodes(-_SHELL * float(one))
            constant = log_weight - 0.5 * (np.log(2 * np.pi) + log_V).sum(axis=1)
            precision = np.exp(-log_V).T
            for rows in np.array_split(own, 1 + len(own) * len(constant) // _BLOCK):
                logs = constant - 0.5 * squares[rows] @ precision
                top = np.maximum(logs.max(axis=1, keepdims=True), -_LARGEST)
                result[rows] = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
        return result

    def _nodes(self, turn: float) -> tuple[Floats, Floats]:
        r"""Log-variances at the nodes of the integral over :math:`t = \log \tau`, and log-weights.

        The integrand is smooth, and the trapezoidal rule converges exponentially with a step of the
        width of its peaks: with :math:`h = \nu / 2`, none has a curvature above h + 5 d / 8. For a
        sample at the squared distance q in units of B, the slope of its logarithm is at least
        :math:`h - e^t (h + q / 2)`, which is positive before the ``turn`` at
        :math:`-\log(1 + q / 2 h)`, and at most :math:`h + d / 2 - h e^t`.
        """
        h, d = self.degrees_of_freedom / 2, len(self.variance)
        rise, fall = _NEGLIGIBLE / h, _NEGLIGIBLE / (h + d / 2)
        low = turn - min(1 + rise, rise + np.sqrt(2 * rise))
        high = np.log1p(d / 2 / h) + min(np.sqrt(2 * fall), 1 + np.log1p(2 * fall))
        step = min(_STEP, 0.8 / np.sqrt(h + 5 / 8 * d))
        t = np.arange(low, high + step, step)
        log_V = np.logaddexp(np.log(self.within), np.log(self.variance) - t[:, None])
        return log_V, np.log(step) + h * np.log(h) - gammaln(h) + h * (t - np.exp(t))

    def _student(self, X: Floats) -> Floats:
        nu, d = self.degrees_of_freedom, len(self.variance)
        with np.errstate(over="ignore"):  # of features beyond 1e150
            squares = ((self.whitening(X) - self.center) @ self.axes) ** 2 @ (1 / self.variance)
        squares = np.minimum(squares, _LARGEST)
        constant = gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * np.log(nu * np.pi)
        log_f = constant - 0.5 * np.log(self.variance).sum()
        return np.asarray(log_f - (nu + d) / 2 * np.log1p(squares / nu))


register_value(
    BroadDensity, whitening=Whitening, center="d", axes="d d", variance="d", within=float,
    degrees_of_freedom=float,
)  # fmt: skip


def oracle_shrinkage(S: Floats, n: float) -> float:
    """Oracle approximating shrinkage for the covariance of n vectors (Chen et al., 2010).

    As in :func:`sklearn.covariance.oas`, without the terms 2 / d in their equation (23);
    benchmarks/leaves.py open_set finds it no worse.
    """
    d = len(S)
    squares, level = float(np.sum(S**2)), float(np.trace(S)) / d
    away = squares / d**2 - level**2 / d
    if d == 1 or away <= 0:
        return 1.0 if d > 1 else 0.0
    return min(1.0, (squares / d**2 + level**2) / ((n + 1) * away))
