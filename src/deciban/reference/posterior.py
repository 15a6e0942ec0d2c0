"""The calibrated Gaussian family in posterior space: Bayes' rule shifts it by the prior."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import index_pair
from deciban._validation.scalars import Rng
from deciban.evidence import Evidence
from deciban.evidence.bayes import Prior, log_prior

if TYPE_CHECKING:
    from deciban.reference.calibrated_gaussian import CalibratedGaussian


class PosteriorGaussian:
    r"""Posteriors of a calibrated Gaussian family under a prior.

    In ILR coordinates Bayes' rule is a sum: under each class the ILR of the posterior is normal,
    with the covariance of the family and the mean :math:`\mu_k + \mathrm{ilr}(\pi)` for the prior
    :math:`\pi`. It is calibrated as well: given its posterior, a sample has each class with the
    probability that the posterior says.

    Attributes
    ----------
    family : CalibratedGaussian
    prior : array of shape (D,)
    means : array of shape (D, D - 1)
        Mean of the ILR of the posterior under each class.

    See Also
    --------
    deciban.CalibratedGaussian.with_prior : Makes it.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> posterior = CalibratedGaussian.from_eers([0.1]).with_prior([0.01, 0.99])
    >>> posterior.sample(0, rng=0, size=2).shape
    (2, 2)
    """

    def __init__(self, family: CalibratedGaussian, prior: Prior = None) -> None:
        self._log_prior = log_prior(prior, family.classes)[0]
        self.family, self.prior = family, np.exp(self._log_prior)
        self.means = family.means + self._log_prior @ family.basis.contrast

    def log_density(self, posteriors: ArrayLike) -> NDArray[np.float64]:
        """Log-density of posteriors under each class.

        It is with respect to the Aitchison measure, which is the Lebesgue measure of the ILRs.

        Parameters
        ----------
        posteriors : array of shape (n_samples, D)

        Returns
        -------
        array of shape (n_samples, D)
        """
        evidence = Evidence.from_posteriors(posteriors, self.prior, self.family.classes)
        return self.family.log_density(evidence)

    def sample(self, label_or_counts: Any, rng: Rng = None, *, size: int | None = None) -> Any:
        """Draw posteriors, as :meth:`deciban.CalibratedGaussian.sample` draws ILRLs.

        Parameters
        ----------
        label_or_counts, rng, size
            As there.

        Returns
        -------
        array of shape (n_samples, D), for counts with the labels
        """
        drawn: Any = self.family.sample(label_or_counts, rng, size=size)
        l, *labels = drawn if isinstance(drawn, tuple) else (drawn,)
        posteriors = self.family.evidence(l).posterior(self.prior)
        return (posteriors, *labels) if labels else posteriors

    def log_odds_distribution(self, a: Hashable, b: Hashable, given: Hashable | None = None) -> Any:
        """Distribution of the posterior log-odds of ``a`` to ``b``, a scipy.stats normal.

        It is the distribution of the LLR, shifted by the prior log-odds.

        Parameters
        ----------
        a, b, given
            As for :meth:`deciban.CalibratedGaussian.llr_distribution`.

        Returns
        -------
        frozen distribution of scipy.stats
        """
        llr = self.family.llr_distribution(a, b, given)
        i, j = index_pair(a, b, self.family.classes)
        return llr.dist(llr.mean() + self._log_prior[i] - self._log_prior[j], llr.std())
