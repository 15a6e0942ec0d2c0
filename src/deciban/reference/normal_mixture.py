"""A mixture of normal distributions of one number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from deciban._validation.arrays import to_numpy
from deciban._validation.scalars import Rng, as_generator, require_whole


@dataclass(frozen=True, eq=False)
class NormalMixture:
    r"""A mixture of normal distributions, :math:`\sum_k w_k N(m_k, s_k^2)`.

    Its methods are named as those of the frozen distributions of scipy.stats.

    Attributes
    ----------
    weights, means, scales : arrays of shape (n_components,)
        Weights that add up to 1, means and standard deviations.

    See Also
    --------
    deciban.CalibratedMixture.llr_distribution : Returns it.

    Examples
    --------
    >>> mixture = NormalMixture(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    >>> mixture.mean(), mixture.var(), round(float(mixture.cdf(0.0)), 3)
    (0.0, 2.0, 0.5)
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def _standardize(self, x: ArrayLike) -> NDArray[np.float64]:
        return (to_numpy(x, "x")[..., None] - self.means) / self.scales

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log-density, of the shape of ``x``."""
        log_f = -0.5 * self._standardize(x) ** 2 - np.log(self.scales * math.sqrt(2 * math.pi))
        return np.asarray(logsumexp(log_f, axis=-1, b=self.weights))

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Density, of the shape of ``x``."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Probability of a number up to ``x``."""
        return np.asarray(ndtr(self._standardize(x)) @ self.weights)

    def sf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Probability of a number above ``x``."""
        return np.asarray(ndtr(-self._standardize(x)) @ self.weights)

    def mean(self) -> float:
        """Mean of the distribution."""
        return float(self.weights @ self.means)

    def var(self) -> float:
        """Variance: the mean of the components' variances, and the variance of their means."""
        return float(self.weights @ (self.scales**2 + (self.means - self.mean()) ** 2))

    def std(self) -> float:
        """Standard deviation of the distribution."""
        return math.sqrt(self.var())

    def rvs(self, size: int = 1, random_state: Rng = None) -> NDArray[np.float64]:
        """Draw ``size`` numbers."""
        rng = as_generator(random_state)
        at = rng.choice(len(self.weights), size=require_whole(size, "size"), p=self.weights)
        return rng.normal(self.means[at], self.scales[at])
