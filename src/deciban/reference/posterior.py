"""The calibrated Gaussian family in posterior space: Bayes' rule shifts it by the prior."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaincinv, logit

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of, index_pair
from deciban._validation.scalars import Rng, require_fraction, require_whole
from deciban.evidence import Evidence
from deciban.evidence.bayes import Costs, Prior, action_costs, cost_matrix, log_prior
from deciban.exceptions import InputError
from deciban.reference import expectations as rates
from deciban.reference.expectations import Estimate, Rates

if TYPE_CHECKING:
    from deciban.reference.calibrated_gaussian import CalibratedGaussian


class PosteriorGaussian:
    r"""Posteriors of a calibrated Gaussian family under a prior.

    In ILR coordinates Bayes' rule is a sum: under each class the ILR of the posterior is normal,
    with the covariance of the family and the mean :math:`\mu_k + \mathrm{ilr}(\pi)` for the prior
    :math:`\pi`. It is calibrated as well: given its posterior, a sample has each class with that
    probability. Densities, regions, and rates of decisions follow, exact for two classes and
    simulated, with a standard error, for more.

    Attributes
    ----------
    family : CalibratedGaussian
    prior, means : arrays of shape (D,) and (D, D - 1)
        The prior, and the mean ILR of the posterior under each class.

    See Also
    --------
    deciban.CalibratedGaussian.with_prior : Makes it.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> posterior = CalibratedGaussian.from_eers([0.1]).with_prior([0.01, 0.99])
    >>> posterior.decision_rates({(0, 1): 99.0}).values.round(3)  # a miss costs 99 false alarms
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """

    def __init__(self, family: CalibratedGaussian, prior: Prior = None) -> None:
        self._log_prior = log_prior(prior, family.classes)[0]
        self.family, self.prior = family, np.exp(self._log_prior)
        self.means = family.means + self._log_prior @ family.basis.contrast

    def __repr__(self) -> str:
        shares = ", ".join(f"{p:.3g}" for p in self.prior[:5]) + ", …" * (len(self.prior) > 5)
        return f"<PosteriorGaussian of {len(self.prior)} classes: prior {shares}>"

    def log_density(
        self, posteriors: ArrayLike, measure: Literal["aitchison", "lebesgue"] = "aitchison"
    ) -> Floats:
        """Log-density of posteriors under each class, (n_samples, D).

        The Aitchison measure is the Lebesgue measure of the ILRs. The Lebesgue measure is that of
        the first D - 1 posteriors; that of two classes gives the logit-normal density.

        >>> from deciban import CalibratedGaussian
        >>> posterior = CalibratedGaussian.from_eers([0.1]).with_prior([0.01, 0.99])
        >>> np.exp(posterior.log_density([[0.3, 0.7]], "lebesgue")).round(3)
        array([[0.729, 0.017]])
        """
        evidence = Evidence.from_posteriors(posteriors, self.prior, self.family.classes)
        # The map from evidence to posteriors is a translation: only the Lebesgue measure sees it.
        log_f = self.family.log_density_on_simplex(evidence)
        if measure == "aitchison":
            return log_f
        on_evidence = self.family.log_density_on_simplex(evidence, measure)
        jacobian = evidence.log_posterior() - evidence.log_posterior(self.prior)
        return on_evidence + jacobian.sum(axis=1, keepdims=True)

    def log_marginal_density(
        self, posteriors: ArrayLike, measure: Literal["aitchison", "lebesgue"] = "aitchison"
    ) -> Floats:
        r"""Log-density of posteriors whatever the class: :math:`\log \sum_k \pi_k f_k(p)`."""
        joint = self.log_density(posteriors, measure) + self._log_prior
        return np.asarray(np.logaddexp.reduce(joint, axis=1))

    def contains(
        self, posteriors: ArrayLike, label: Hashable, mass: float = 0.95
    ) -> NDArray[np.bool_]:
        r"""Whether posteriors lie in the region that holds a share ``mass`` of a class.

        The region is the ellipsoid about the mean in ILR space,
        :math:`(z - m_k)^T \Sigma^{-1} (z - m_k) \le \chi^2_{D-1}(\mathrm{mass})`: of all regions
        with this mass, the smallest by the Aitchison measure.
        """
        k, radius = index_of(label, self.family.classes), self._radius(mass)
        evidence = Evidence.from_posteriors(posteriors, self.prior, self.family.classes)
        away = evidence.ilr(self.family.basis) - self.family.means[k]
        white = solve_triangular(self.family.cholesky, away.T, lower=True)
        return np.asarray(np.linalg.norm(white, axis=0) <= radius)

    def region(self, label: Hashable, mass: float = 0.95, n_points: int = 200) -> Floats:
        """Boundary of the region of :meth:`contains`, as posteriors, for two or three classes.

        The closed curve of three classes has shape (n_points, 3), and its last point is the first.
        The region of two classes has two ends, (2, 2).
        """
        k, radius = index_of(label, self.family.classes), self._radius(mass)
        D = self.family.n_classes
        if D > 3:
            raise InputError(
                f"region must be asked of two or three classes; got {D}. Use contains, or "
                f"restrict the evidence to three classes."
            )
        angles = np.linspace(0, 2 * np.pi, require_whole(n_points, "n_points", 4))
        circle = np.array([[-1.0], [1.0]])
        if D == 3:
            circle = np.column_stack([np.cos(angles), np.sin(angles)])
            circle[-1] = circle[0]
        l = self.family.means[k] + radius * circle @ self.family.cholesky.T
        p = self.family.evidence(l).posterior(self.prior)
        return p if D == 3 else p[np.argsort(p[:, 0])]

    def _radius(self, mass: float) -> float:
        """Radius of the ball that holds this share of a standard normal distribution."""
        require_fraction(mass, "mass")
        return float(np.sqrt(2 * gammaincinv((self.family.n_classes - 1) / 2, mass)))

    def decision_rates(
        self,
        costs: Costs = None,
        reject_cost: float | None = None,
        *,
        n_samples: int = 100_000,
        rng: Rng = 0,
    ) -> Rates:
        """How often each class is decided for under each class: a confusion matrix.

        Decisions are those of least expected cost under the prior, as by
        :meth:`deciban.Evidence.decide`, which explains ``costs`` and ``reject_cost``. The true
        class is on rows and the decision in columns, the last for rejection. Two classes are exact;
        more are simulated with ``n_samples``.
        """
        outcome = rates.decision_outcome(self, costs, reject_cost)
        if self.family.n_classes == 2:
            C = action_costs(costs, reject_cost, self.family.classes)
            return rates.exact_decision_rates(self, C, outcome)
        extra = np.ones((self.family.n_classes, int(reject_cost is not None)))
        values, error = rates.simulate_rates(
            self, outcome, lambda k: np.hstack([_lost_to_each(k, len(extra)), extra]),
            self._turning_log_odds(costs), n_samples, rng,
        )  # fmt: skip
        # What is missing to one goes to the actions in proportion to their variance.
        share = error**2 / np.maximum((error**2).sum(axis=1, keepdims=True), 1e-300)
        values = np.clip(values + share * (1 - values.sum(axis=1, keepdims=True)), 0.0, None)
        return Rates(values / values.sum(axis=1, keepdims=True), error)

    def expected_cost(
        self,
        costs: Costs = None,
        reject_cost: float | None = None,
        *,
        n_samples: int = 100_000,
        rng: Rng = 0,
    ) -> Estimate:
        """Mean cost of the decisions of :meth:`decision_rates`; by default the error rate."""
        C = action_costs(costs, reject_cost, self.family.classes)
        if self.family.n_classes == 2:
            found = self.decision_rates(costs, reject_cost).values
            return Estimate(float(self.prior @ (found * C).sum(axis=1)), 0.0)
        size = float(np.abs(C).max()) or 1.0  # squares of huge costs would overflow
        C = C / size
        right = np.diag(C[:, : len(C)])  # set apart, so that rare errors keep their digits
        choose = rates.decision_outcome(self, costs, reject_cost)
        regret = (C - right[:, None])[:, :, None]
        found, error = rates.simulate_rates(
            self, lambda log_p, k: choose(log_p, k) @ regret[k], lambda k: regret[k, : len(C)],
            self._turning_log_odds(costs), n_samples, rng,
        )  # fmt: skip
        value = float(self.prior @ (found[:, 0] + right))
        return Estimate(size * value, size * float(np.linalg.norm(self.prior * error[:, 0])))

    def exceedance_rates(
        self, threshold: float, *, n_samples: int = 100_000, rng: Rng = 0
    ) -> Rates:
        """How often the posterior of each class (columns) reaches a threshold, by class (rows).

        For three classes or more, the simulation misses events that hardly ever occur: a rate of
        zero with a standard error of zero means that none was drawn.
        """
        require_fraction(threshold, "threshold")
        if self.family.n_classes == 2:
            return rates.exact_exceedance_rates(self, threshold)
        log_odds = self._log_prior[:, None] - self._log_prior + logit(threshold)
        reached, D = np.log(threshold), self.family.n_classes
        return rates.simulate_rates(
            self, lambda log_p, _: log_p >= reached, lambda k: _lost_to_each(k, D), log_odds,
            n_samples, rng,
        )  # fmt: skip

    def mean_posteriors(self, *, n_samples: int = 100_000, rng: Rng = 0) -> Rates:
        r"""Mean posterior of each class (columns), under each class (rows).

        The prior makes it symmetric: :math:`\pi_i E_i[p_j] = \pi_j E_j[p_i]`.
        """
        if self.family.n_classes == 2:
            return rates.exact_mean_posteriors(self)
        D = self.family.n_classes
        return rates.simulate_rates(
            self, lambda log_p, _: np.exp(log_p), lambda k: _lost_to_each(k, D),
            self._turning_log_odds(None), n_samples, rng,
        )  # fmt: skip

    def _turning_log_odds(self, costs: Costs) -> Floats:
        """Log-odds between classes at which neither decision is better."""
        regret = cost_matrix(costs, self.family.classes)
        regret = regret - np.diag(regret)[:, None]
        both = (regret > 0) & (regret.T > 0)
        log_ratio = np.log(np.where(both, regret, 1.0)) - np.log(np.where(both, regret.T, 1.0))
        return self._log_prior[:, None] - self._log_prior + log_ratio

    def sample(self, label_or_counts: Any, rng: Rng = None, *, size: int | None = None) -> Any:
        """Draw posteriors, as :meth:`deciban.CalibratedGaussian.sample` draws ILRLs."""
        drawn: Any = self.family.sample(label_or_counts, rng, size=size)
        l, *labels = drawn if isinstance(drawn, tuple) else (drawn,)
        posteriors = self.family.evidence(l).posterior(self.prior)
        return (posteriors, *labels) if labels else posteriors

    def log_odds_distribution(self, a: Hashable, b: Hashable, given: Hashable | None = None) -> Any:
        """Distribution of the posterior log-odds of ``a`` to ``b``, a scipy.stats normal.

        It is the distribution of the LLR, shifted by the prior log-odds.
        """
        llr = self.family.llr_distribution(a, b, given)
        i, j = index_pair(a, b, self.family.classes)
        return llr.dist(llr.mean() + self._log_prior[i] - self._log_prior[j], llr.std())


def _lost_to_each(k: int, n_classes: int) -> Floats:
    """Losing to class j alone stands for outcome j, and losing to any class for that of class k."""
    pattern = np.eye(n_classes)
    pattern[:, k] = 1.0
    return pattern
