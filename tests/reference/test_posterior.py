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


def plane(posterior, half_width=22, n=801):
    """A fine grid over the ILRs of posteriors of three classes, and the area of a cell."""
    axes = [np.linspace(c - half_width, c + half_width, n) for c in posterior.means.mean(axis=0)]
    z = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    area = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    return Evidence.from_ilr(z, posterior.family.basis).posterior(), area


def test_the_lebesgue_density_of_two_classes_is_logit_normal():
    d, p = 3.0, 0.02
    posterior = CalibratedGaussian.from_divergences([d]).with_prior([p, 1 - p])
    x = np.array([0.001, 0.3, 0.9])
    for k, center in enumerate((d, -d)):
        normal = norm(center + logit(p), np.sqrt(2 * d))
        expected = normal.logpdf(logit(x)) - np.log(x * (1 - x))  # the derivative of the logit
        found = posterior.log_density(np.column_stack([x, 1 - x]), "lebesgue")[:, k]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_lebesgue_density_of_three_classes_is_that_of_the_ilrs_times_the_jacobian(posterior):
    def coordinates(a, b):
        return ilr([a, b, 1 - a - b], posterior.family.basis)

    for a, b in ((0.2, 0.3), (0.9, 0.02), (0.05, 0.05)):
        h = 1e-6
        columns = [
            (coordinates(a + h, b) - coordinates(a - h, b)) / (2 * h),
            (coordinates(a, b + h) - coordinates(a, b - h)) / (2 * h),
        ]
        volume = np.log(abs(np.linalg.det(np.column_stack(columns))))
        p = [[a, b, 1 - a - b]]
        found = posterior.log_density(p, "lebesgue") - posterior.log_density(p)
        np.testing.assert_allclose(found, volume, atol=1e-6)


def test_bayes_rule_on_the_densities_gives_the_posterior_itself(posterior):
    p = posterior.sample([20, 20, 20], rng=3)[0]
    for measure in ("aitchison", "lebesgue"):
        joint = posterior.log_density(p, measure) + np.log(posterior.prior)
        found = np.exp(joint - posterior.log_marginal_density(p, measure)[:, None])
        np.testing.assert_allclose(found, p, rtol=1e-9)


@pytest.mark.parametrize("mass", [0.5, 0.95, 1 - 1e-6])
def test_a_region_of_two_classes_is_an_interval_of_normal_log_odds(mass):
    posterior = CalibratedGaussian.from_divergences([3.0]).with_prior([0.02, 0.98])
    expected = posterior.log_odds_distribution(0, 1).interval(mass)
    np.testing.assert_allclose(logit(posterior.region(0, mass)[:, 0]), expected, rtol=1e-9)


def test_a_region_holds_its_mass_and_its_boundary_has_one_density(posterior):
    drawn = posterior.sample("b", rng=5, size=40_000)
    assert posterior.contains(drawn, "b", 0.8).mean() == pytest.approx(0.8, abs=4 * 0.002)
    boundary = posterior.region("b", 0.8, n_points=50)
    assert np.ptp(posterior.log_density(boundary)[:, 1]) < 1e-9
    np.testing.assert_array_equal(boundary[0], boundary[-1])
    assert posterior.contains(posterior.region("b", 0.79), "b", 0.8).all()
    assert not posterior.contains(posterior.region("b", 0.81), "b", 0.8).any()


@pytest.mark.parametrize("prior", [0.5, 0.3, 1e-9])
@pytest.mark.parametrize("d", [1e-6, 3.0, 144.0])
def test_decision_rates_of_two_classes_are_normal_tails(d, prior):
    posterior = CalibratedGaussian.from_divergences([d]).with_prior([prior, 1 - prior])
    rates, error = posterior.decision_rates()
    odds = posterior.log_odds_distribution
    expected = [odds(0, 1).sf(0), odds(0, 1).cdf(0)], [odds(0, 1, 1).sf(0), odds(0, 1, 1).cdf(0)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)
    assert (error == 0).all()


def test_the_error_rate_at_even_odds_is_the_equal_error_rate():
    family = CalibratedGaussian.from_eers([1e-9])
    found = family.with_prior().expected_cost()
    np.testing.assert_allclose(found.value, 1e-9, rtol=1e-9)
    assert found.standard_error == 0


def test_a_cost_moves_the_threshold_as_prior_odds_do():
    family = CalibratedGaussian.from_eers([0.1])
    dear = family.with_prior().decision_rates({(0, 1): 9.0}).values
    np.testing.assert_allclose(dear, family.with_prior([0.9, 0.1]).decision_rates().values)


def test_rejection_of_two_classes_is_between_two_thresholds():
    posterior = CalibratedGaussian.from_eers([0.1]).with_prior([0.2, 0.8])
    odds = posterior.log_odds_distribution(0, 1)
    rates = posterior.decision_rates(reject_cost=0.1).values[0]
    expected = [odds.sf(logit(0.9)), odds.cdf(logit(0.1)), np.diff(odds.cdf(logit([0.1, 0.9])))[0]]
    np.testing.assert_allclose(rates, expected, rtol=1e-12)
    expected = 0.2 * (rates[1] + 0.1 * rates[2])
    other = posterior.decision_rates(reject_cost=0.1).values[1]
    expected += 0.8 * (other[0] + 0.1 * other[2])
    np.testing.assert_allclose(posterior.expected_cost(reject_cost=0.1).value, expected)


def test_a_decision_that_is_never_best_is_never_made():
    posterior = CalibratedGaussian.from_eers([0.1]).with_prior()
    rates = posterior.decision_rates([[0.0, 0.0], [1.0, 0.0]]).values  # the second costs nothing
    np.testing.assert_array_equal(rates, [[0, 1], [0, 1]])


COSTS = {("a", "b"): 3.0, ("c", "a"): 20.0}


@pytest.mark.parametrize(("costs", "reject"), [(None, None), (COSTS, None), (COSTS, 0.3)])
def test_rates_of_three_classes_are_those_of_integration(posterior, costs, reject):
    p, area = plane(posterior)
    density = np.exp(posterior.log_density(p)) * area
    chosen = Evidence.from_posteriors(p, posterior.prior, ["a", "b", "c"]).decide(
        costs, posterior.prior, reject_cost=reject
    )
    actions = ["a", "b", "c", None][: 4 if reject else 3]
    expected = np.array([[density[chosen == a, k].sum() for a in actions] for k in range(3)])
    found, error = posterior.decision_rates(costs, reject)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert (np.abs(found - expected) < 4 * error + 2e-3 * expected).all()  # the grid has cells
    assert (error < 0.06 * expected + 1e-9).all()
    C = 1.0 - np.eye(3)
    for (true, decided), each in (costs or {}).items():
        C["abc".index(true), "abc".index(decided)] = each
    C = C if reject is None else np.column_stack([C, np.full(3, reject)])
    cost = posterior.expected_cost(costs, reject)
    exact = posterior.prior @ (expected * C).sum(axis=1)
    assert abs(cost.value - exact) < 4 * cost.standard_error + 2e-3 * exact


def test_posteriors_of_three_classes_are_those_of_integration(posterior):
    p, area = plane(posterior)
    density = np.exp(posterior.log_density(p)) * area
    found, error = posterior.mean_posteriors()
    assert (np.abs(found - density.T @ p) < 4 * error + 1e-6).all()
    joint = posterior.prior[:, None] * found
    assert (np.abs(joint - joint.T) < 5 * posterior.prior[:, None] * (error + error.T)).all()
    found, error = posterior.exceedance_rates(0.9)
    expected = density.T @ (p >= 0.9)
    assert (np.abs(found - expected) < 4 * error + 2e-3 * expected).all()


def test_rare_errors_of_three_classes_keep_their_digits():
    # Classes far from a third one: the error between them is that of two classes, but for less
    # than a thousandth of it.
    delta = np.array([[0, 144, 900], [144, 0, 900], [900, 900, 0.0]])
    family = CalibratedGaussian.from_divergences(delta)
    found, _ = family.with_prior().decision_rates()
    np.testing.assert_allclose(found[0, 1], norm.sf(np.sqrt(72)), rtol=1e-3)


def test_mean_posteriors_of_two_classes_are_integrals():
    d, p = 3.0, 0.02
    posterior = CalibratedGaussian.from_divergences([d]).with_prior([p, 1 - p])
    found = posterior.mean_posteriors().values
    for k, center in enumerate((d, -d)):
        mean = quad(lambda z, c=center: expit(z + logit(p)) * norm(c, 6**0.5).pdf(z), -40, 40)[0]
        np.testing.assert_allclose(found[k], [mean, 1 - mean], rtol=1e-8)
    np.testing.assert_allclose(p * found[0, 1], (1 - p) * found[1, 0], rtol=1e-12)


def test_the_order_of_the_classes_does_not_matter_to_rates(posterior):
    turned = CalibratedGaussian.from_divergences(
        D574[np.ix_([2, 0, 1], [2, 0, 1])], classes=["c", "a", "b"]
    ).with_prior(PRIOR)
    found, error = posterior.decision_rates(COSTS)
    again, again_error = turned.decision_rates(COSTS, rng=7)
    order = np.ix_([1, 2, 0], [1, 2, 0])
    assert (np.abs(again[order] - found) < 5 * (error + again_error[order])).all()


def test_many_classes_have_rates():
    family = CalibratedGaussian.from_divergences(np.full(30 * 29 // 2, 4.0))
    found = family.with_prior().decision_rates(n_samples=30_000).values
    assert found.shape == (30, 30)
    l, y = family.sample([2000] * 30, rng=0)
    accuracy = (family.evidence(l).decide() == y).mean()
    cost = family.with_prior().expected_cost(n_samples=30_000)
    assert abs(1 - cost.value - accuracy) < 4 * cost.standard_error + 4 * 0.002


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: p.region("a", 1.0), "mass must"),
        (lambda p: p.contains([[0.2, 0.3, 0.5]], "d"), "'d'"),
        (lambda p: p.exceedance_rates(0.0), "threshold must"),
        (lambda p: p.decision_rates(n_samples=3), "n_samples must"),
        (lambda p: p.log_density([[0.2, 0.3, 0.5]], "counting"), "measure must"),
        (lambda p: p.decision_rates(np.eye(2)), "costs must have shape"),
    ],
)
def test_bad_questions_get_one_sentence(posterior, call, sentence):
    with pytest.raises(InputError, match=sentence):
        call(posterior)


def test_regions_of_four_classes_have_no_boundary_to_draw():
    posterior = CalibratedGaussian.from_divergences(np.full(6, 4.0)).with_prior()
    with pytest.raises(InputError, match="two or three classes"):
        posterior.region(0)


def test_rare_right_decisions_are_drawn():
    # With this prior class 3 is hardly ever decided for, and its share was once 0 with no error.
    family = CalibratedGaussian.from_divergences([0.383, 0.366, 0.275, 0.311, 0.335, 0.344])
    prior = np.array([0.1994, 0.733, 0.0354, 0.0322])
    rates = family.with_prior(prior).decision_rates()
    l = family.sample(3, rng=0, size=1_000_000)
    expected = np.mean(family.evidence(l).decide(prior=prior) == 3)
    assert rates.standard_errors[3, 3] < 2e-5
    assert rates.values[3, 3] == pytest.approx(expected, abs=4e-5)


def test_the_mean_posterior_of_an_improbable_class_keeps_its_digits():
    # E_0[p_0] tends to (p_0 / p_1) E_0[w_0 / w_1] = 1e-20 exp(2 d) as the prior of class 0 does.
    posterior = CalibratedGaussian.from_divergences([3.0]).with_prior([1e-20, 1.0])
    assert posterior.mean_posteriors().values[0, 0] == pytest.approx(1e-20 * np.exp(6), rel=1e-9)


def test_costs_of_any_size_lead_to_the_same_decisions():
    pair = CalibratedGaussian.from_eers([0.1]).with_prior()
    tiny = pair.decision_rates(1e-170 * (1 - np.eye(2)), reject_cost=1.0).values
    np.testing.assert_allclose(tiny, [[0.9, 0.1, 0], [0.1, 0.9, 0]], atol=1e-12)
    three = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0]).with_prior()
    plain, huge = three.expected_cost(), three.expected_cost(1e300 * (1 - np.eye(3)))
    np.testing.assert_allclose(np.array(huge) / 1e300, plain, rtol=1e-12)


def test_its_representation_names_the_prior(posterior):
    assert repr(posterior) == "<PosteriorGaussian of 3 classes: prior 0.7, 0.25, 0.05>"


def test_text_is_a_prior_if_it_is_uniform():
    family = CalibratedGaussian.from_divergences([3.0])
    np.testing.assert_array_equal(family.with_prior("uniform").prior, [0.5, 0.5])
    with pytest.raises(InputError, match="prior must be 'uniform' or hold probabilities; got 'x'"):
        family.with_prior("x")
