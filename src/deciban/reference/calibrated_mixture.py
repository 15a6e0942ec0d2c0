"""Mixtures of calibrated Gaussian families: calibrated, with heavier tails."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from deciban._validation.arrays import Floats, freeze, to_numpy
from deciban._validation.labels import index_pair, read_weights
from deciban._validation.scalars import Rng, as_generator, quote, require_whole
from deciban.evidence import Evidence, Unit
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError
from deciban.reference.calibrated_gaussian import CalibratedGaussian, align_families
from deciban.reference.expectations import Estimate
from deciban.reference.family import CalibratedFamily, read_ilrls, read_labeled_ilrls
from deciban.reference.fitting import MixtureFit
from deciban.simplex import Basis


@dataclass(frozen=True, eq=False)
class NormalMixture:
    r"""A mixture of normal distributions, :math:`\sum_k w_k N(m_k, s_k^2)`, as in scipy.stats.

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

    weights: Floats
    means: Floats
    scales: Floats

    def _standardize(self, x: ArrayLike) -> Floats:
        return (to_numpy(x, "x")[..., None] - self.means) / self.scales

    def logpdf(self, x: ArrayLike) -> Floats:
        """Log-density, of the shape of ``x``."""
        log_f = -0.5 * self._standardize(x) ** 2 - np.log(self.scales * math.sqrt(2 * math.pi))
        return np.asarray(logsumexp(log_f, axis=-1, b=self.weights))

    def pdf(self, x: ArrayLike) -> Floats:
        """Density, of the shape of ``x``."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of a number up to ``x``."""
        return np.asarray(ndtr(self._standardize(x)) @ self.weights)

    def sf(self, x: ArrayLike) -> Floats:
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

    def rvs(self, size: int = 1, random_state: Rng = None) -> Floats:
        """Draw ``size`` numbers."""
        rng = as_generator(random_state)
        at = rng.choice(len(self.weights), size=require_whole(size, "size"), p=self.weights)
        return rng.normal(self.means[at], self.scales[at])


class CalibratedMixture(CalibratedFamily):
    r"""A mixture of calibrated Gaussian families, which is calibrated itself, with heavier tails.

    The density of an ILRL l under class i is :math:`\sum_k w_k f_i^{(k)}(l)`, with weights that are
    the same for every class. Each component has the factor :math:`e^{v_i^T l}`, so the sum has it:
    :math:`f_i(l) = e^{v_i^T l} \sum_k w_k h_k(l)`, and the likelihood function of l is l.

    Immutable. Build it from families or their covariances, or :meth:`fit` it to data.

    Parameters
    ----------
    families : sequence of CalibratedGaussian, or array of shape (K, D - 1, D - 1)
        The components, or their covariances.
    weights : array of shape (K,), default equal weights
        Positive; divided by their sum.
    basis, classes : default those of the first family
        As for :class:`CalibratedGaussian`. All four are read-only attributes.

    See Also
    --------
    CalibratedGaussian : The components.
    deciban.metrics.calibration_test : Tests calibration without a family.

    Examples
    --------
    >>> weak, strong = (CalibratedGaussian.from_divergences([d]) for d in (1.0, 9.0))
    >>> mixture = CalibratedMixture([weak, strong], [0.75, 0.25])
    >>> mixture.divergences[0, 1].round(12)
    np.float64(3.0)
    >>> mixture.evidence([[1.5]]).ilr()
    array([[1.5]])
    """

    families: tuple[CalibratedGaussian, ...]
    weights: Floats

    def __init__(
        self,
        families: Sequence[CalibratedGaussian] | ArrayLike,
        weights: ArrayLike | None = None,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        components = _read_families(families, basis, classes)
        object.__setattr__(self, "families", components)
        object.__setattr__(self, "weights", freeze(_read_weights(weights, len(components))))
        object.__setattr__(self, "basis", components[0].basis)
        object.__setattr__(self, "classes", components[0].classes)

    @classmethod
    def fit(
        cls,
        ilrls: ArrayLike | Evidence,
        y_true: ArrayLike | Sequence[Hashable],
        n_components: int | Literal["auto"] = "auto",
        *,
        n_starts: int = 3,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
        rng: Rng = 0,
    ) -> CalibratedMixture:
        """The mixture under which ILRLs are most likely, by EM; components by mean variance.

        As for :meth:`CalibratedGaussian.fit`, the labels do not change the estimate. EM finds a
        local maximum; the best of several starts is taken. A component does not become narrower
        than 0.001 of the variance of the single family in any direction.

        Parameters
        ----------
        ilrls, y_true, basis, classes
            As for :meth:`CalibratedGaussian.fit`.
        n_components : int or "auto", default "auto"
            With "auto", components are added until the Bayesian information criterion (BIC) rises.
        n_starts : int, default 3
            The first two are scaled copies of the single family; further ones are drawn.
        sample_weight : array of shape (n_samples,), optional
            BIC counts the effective sample size (Kish).
        rng : numpy Generator or seed, default 0

        Examples
        --------
        >>> truth = CalibratedMixture([[[0.5]], [[8.0]]], [0.75, 0.25])
        >>> l, y = truth.sample([2000, 2000], rng=0)
        >>> CalibratedMixture.fit(l, y).weights.round(1)
        array([0.8, 0.2])
        """
        l, basis = read_labeled_ilrls(ilrls, y_true, basis, classes)
        starts, generator = require_whole(n_starts, "n_starts", 1), as_generator(rng)
        n = None if n_components == "auto" else require_whole(n_components, "n_components", 1)
        weight = read_weights(sample_weight, len(l), for_fit=True)
        weight = np.ones(len(l)) if weight is None else weight / weight.max()
        weight = weight * (weight.sum() / (weight @ weight))
        em = MixtureFit(l, weight, basis.contrast, generator)
        found = em.choose(starts) if n is None else em.fit(n, starts)
        order = np.argsort(np.trace(found.covariances, axis1=1, axis2=2), kind="stable")
        return cls(found.covariances[order], found.weights[order], basis)

    @cached_property
    def means(self) -> Floats:
        """Mean of the ILRL under each class, of shape (D, D - 1)."""
        return freeze(self._average([family.means for family in self.families]))

    @cached_property
    def divergences(self) -> Floats:
        """Divergence of each pair of classes, in nats, (D, D): the mean LLR, averaged likewise."""
        return freeze(self._average([family.divergences for family in self.families]))

    @cached_property
    def eers(self) -> Floats:
        """Equal-error rate of each pair, (D, D): that of every component is at an LLR of zero."""
        return freeze(self._average([family.eers for family in self.families]))

    def _average(self, values: Sequence[Any]) -> Floats:
        return np.tensordot(self.weights, np.array(values), axes=1)

    def in_basis(self, basis: Basis) -> CalibratedMixture:
        """The same mixture with its ILRLs in another basis."""
        turned = [family.in_basis(basis) for family in self.families]
        return CalibratedMixture(turned, self.weights)

    def llr_distribution(
        self, a: Hashable, b: Hashable, given: Hashable | None = None
    ) -> NormalMixture:
        """Distribution of the LLR of class ``a`` against ``b``: a mixture of normal distributions.

        Arguments are those of :meth:`CalibratedGaussian.llr_distribution`.
        """
        parts = [family.llr_distribution(a, b, given) for family in self.families]
        means, scales = np.array([(part.mean(), part.std()) for part in parts], dtype=float).T
        return NormalMixture(self.weights, freeze(means), freeze(scales))

    def log_density(self, l: ArrayLike | Evidence) -> Floats:
        """Log-density of ILRLs under each class, (n_samples, D), by the Lebesgue measure."""
        l = read_ilrls(l, self.basis)
        log_f = np.array([family.log_density(l) for family in self.families])
        return np.asarray(logsumexp(log_f + np.log(self.weights)[:, None, None], axis=0))

    def expected_cllr(self, a: Hashable, b: Hashable) -> float:
        """Expected Cllr of two classes in bits: the weighted mean of the components'."""
        index_pair(a, b, self.classes)
        costs = [family.expected_cllr(a, b) for family in self.families]
        return float(self.weights @ np.array(costs))

    def expected_cross_entropy(
        self, prior: Prior = None, *, unit: Unit = "nat", n_samples: int = 100_000, rng: Rng = 0
    ) -> Estimate:
        """Expected cross-entropy of the posterior, as for :class:`CalibratedGaussian`.

        A cost depends on the ILRL alone, whichever component it came from: its expectation is the
        weighted mean of the components', each simulated with ``n_samples``.
        """
        generator = as_generator(rng)
        values, errors = np.transpose([
            family.expected_cross_entropy(prior, unit=unit, n_samples=n_samples, rng=generator)
            for family in self.families
        ])  # fmt: skip
        return Estimate(float(self.weights @ values), float(np.linalg.norm(self.weights * errors)))

    def place(self, at: NDArray[np.intp], noise: Floats, rng: np.random.Generator) -> Floats:
        """ILRLs of these classes, by position, from standard normals."""
        component = rng.choice(len(self.weights), size=len(at), p=self.weights)
        l = np.empty(noise.shape)
        for k, family in enumerate(self.families):
            rows = component == k
            l[rows] = family.place(at[rows], noise[rows], rng)
        return l

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return CalibratedMixture, (self.families, np.array(self.weights))

    def __repr__(self) -> str:
        n = len(self.families)
        return f"<CalibratedMixture of {n} families, {self._describe()}>"


def _read_families(
    families: Any, basis: Basis | None, classes: Sequence[Hashable] | None
) -> tuple[CalibratedGaussian, ...]:
    given = list(families) if np.iterable(families) else []
    if not given:
        raise InputError(
            f"families must hold at least one family or covariance; got {quote(families)}."
        )
    read = [
        one if isinstance(one, CalibratedGaussian) else CalibratedGaussian(one, basis, classes)
        for one in given
    ]
    names = read[0].classes if classes is None else tuple(classes)
    return align_families(read, (read[0].basis if basis is None else basis).align_to(names))


def _read_weights(weights: ArrayLike | None, n_components: int) -> Floats:
    if weights is None:
        return np.full(n_components, 1 / n_components)
    values = to_numpy(weights, "weights")
    if values.shape != (n_components,) or not np.all((values > 0) & np.isfinite(values)):
        raise InputError(
            f"weights must hold {n_components} positive numbers, one for each family; got "
            f"{quote(values.tolist())}."
        )
    values = values / values.max()
    return np.asarray(values / values.sum())
