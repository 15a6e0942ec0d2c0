"""The calibrated Gaussian family in posterior space."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import kstest, multivariate_normal, norm

from deciban import Basis, CalibratedGaussian, Evidence
from deciban.exceptions import CromwellError, InputError
from deciban.simplex import ilr

PRIOR = {"a": 0.7, "b": 0.25, "c": 0.05}
D574 = np.array([[0, 5, 4], [5, 0, 7], [4, 7, 0.0]])


@pytest.fixture
def posterior():
    basis = Basis.from_tree(("a", ("b", "c")))
    family = CalibratedGaussian.from_divergences(D574, basis=basis, classes=["a", "b", "c"])
    return family.with_prior(PRIOR)


def test_two_classes_are_the_closed_form_of_log_odds():
    # LLR ~ N(d, 2d), so the log-odds are N(d + log(p / (1 - p)), 2d): a logit-normal posterior.
    d, p = 3.0, 0.02
    posterior = CalibratedGaussian.from_divergences([d]).with_prior([p, 1 - p])
    x = np.array([0.001, 0.3, 0.9])
    log_odds = logit(x)
    for k, center in enumerate((d, -d)):
        expected = norm(center + logit(p), np.sqrt(2 * d)).logpdf(log_odds) + 0.5 * np.log(2)
        found = posterior.log_density(np.column_stack([x, 1 - x]))[:, k]
        np.testing.assert_allclose(found, expected, rtol=1e-12)  # the ILR is the logit over √2
        found = posterior.log_odds_distribution(0, 1, given=k)
        np.testing.assert_allclose((found.mean(), found.var()), (center + logit(p), 2 * d))
        mean = quad(lambda z, c=center: expit(z + logit(p)) * norm(c, 6**0.5).pdf(z), -40, 40)[0]
        drawn = posterior.sample(k, rng=1, size=40_000)[:, 0]
        assert drawn.mean() == pytest.approx(mean, abs=4 * drawn.std() / 200)


def test_the_ilrs_are_normal_with_the_means_shifted_by_the_prior(posterior):
    family = posterior.family
    l = family.sample([3, 3, 3], rng=2)[0] + ilr(list(PRIOR.values()), family.basis)
    p = Evidence.from_ilr(l, family.basis).posterior()
    for k, mean in enumerate(posterior.means):
        expected = multivariate_normal(mean, family.covariance).logpdf(l)
        np.testing.assert_allclose(posterior.log_density(p)[:, k], expected, rtol=1e-10)
    np.testing.assert_allclose(
        posterior.means - family.means, np.tile(ilr(list(PRIOR.values()), family.basis), (3, 1))
    )


def test_given_the_posterior_each_class_has_the_probability_that_it_says(posterior):
    p = posterior.sample([20, 20, 20], rng=3)[0]
    joint = np.exp(posterior.log_density(p)) * posterior.prior
    np.testing.assert_allclose(joint / joint.sum(axis=1, keepdims=True), p, rtol=1e-9)


def test_the_density_integrates_to_one(posterior):
    axes = [np.linspace(center - 16, center + 16, 161) for center in posterior.means[1]]
    l = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    p = Evidence.from_ilr(l, posterior.family.basis).posterior()
    total = np.exp(posterior.log_density(p)[:, 1]).sum() * 0.2**2
    assert total == pytest.approx(1, abs=1e-7)


def test_drawn_posteriors_average_to_the_prior_and_have_normal_log_odds(posterior):
    n = 60_000
    counts = np.round(n * posterior.prior).astype(int)
    p, y = posterior.sample(counts, rng=4)
    error = p.std(axis=0) / np.sqrt(n)
    np.testing.assert_array_less(np.abs(p.mean(axis=0) - posterior.prior), 4 * error)
    for label in "abc":
        log_odds = np.log(p[y == label, 0] / p[y == label, 2])
        expected = posterior.log_odds_distribution("a", "c", given=label)
        assert kstest(log_odds, expected.cdf).pvalue > 1e-3
    assert posterior.sample("b", rng=0, size=2).shape == (2, 3)


def test_the_uniform_prior_shifts_nothing():
    family = CalibratedGaussian.from_divergences(D574)
    np.testing.assert_allclose(family.with_prior().means, family.means, atol=1e-14)
    odds = family.with_prior().log_odds_distribution(0, 2)
    assert (odds.mean(), odds.var()) == pytest.approx((4.0, 8.0))


def test_what_is_not_a_posterior_or_a_prior_is_refused(posterior):
    with pytest.raises(InputError, match="p must sum to one"):
        posterior.log_density([[0.5, 0.2, 0.1]])
    with pytest.raises(CromwellError):
        posterior.family.with_prior([0.5, 0.5, 0.0])
    with pytest.raises(InputError, match="must be two classes"):
        posterior.log_odds_distribution("a", "a")
