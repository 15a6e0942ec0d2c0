"""Averages of the family against exact integration and against simulation."""

import mpmath
import numpy as np
import pytest

from deciban import CalibratedGaussian
from deciban.reference.expectations import expected_softplus


def exact(d, log_odds=0.0):
    """The same integral with thirty digits, by Gauss-Legendre on short pieces."""
    mpmath.mp.dps = 30
    d, log_odds = mpmath.mpf(d), mpmath.mpf(log_odds)

    def term(l):  # without exp(-d / 4): mpmath's tolerance is absolute
        return mpmath.exp(l / 2 - l**2 / (4 * d)) * mpmath.log1p(mpmath.exp(-(l + log_odds)))

    centre = min(max(-log_odds, -d), d)
    width = min(mpmath.sqrt(2 * d), mpmath.mpf(4))
    pieces = [centre + width * k for k in range(-60, 61)]
    integral = mpmath.quad(term, pieces, method="gauss-legendre")
    return float(integral * mpmath.exp(-d / 4) / mpmath.sqrt(4 * mpmath.pi * d))


@pytest.mark.parametrize("d", [1e-8, 1e-3, 0.5, 3.28, 10.8, 100, 2000])
@pytest.mark.parametrize("log_odds", [0.0, -4.0, 1.5])
def test_the_quadrature_is_right_to_thirteen_digits(d, log_odds):
    np.testing.assert_allclose(expected_softplus(d, log_odds), exact(d, log_odds), rtol=1e-13)


def test_cllr_goes_from_one_bit_to_nothing():
    def cllr(d):
        return CalibratedGaussian.from_divergences([d]).expected_cllr(0, 1)

    np.testing.assert_allclose(cllr(1e-9), 1, atol=1e-8)
    assert cllr(1e5) == 0
    assert cllr(1e18) == 0
    values = [cllr(d) for d in (0.01, 0.1, 1, 10, 100)]
    assert values == sorted(values, reverse=True)


def test_cllr_is_the_average_cost_of_samples():
    family = CalibratedGaussian.from_divergences([3.0, 5.0, 4.0])
    llr = family.evidence(family.sample(0, rng=0, size=400_000)).llr(0, 2)
    cost = np.logaddexp(0, -llr) / np.log(2)
    error = cost.std() / np.sqrt(len(cost))
    assert abs(cost.mean() - family.expected_cllr(0, 2)) < 4 * error


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_two_classes_are_integrated_under_any_prior(prior):
    family = CalibratedGaussian.from_divergences([2.0])
    value, error = family.expected_cross_entropy(prior)
    assert error == 0
    weights = np.array([0.5, 0.5] if prior is None else prior)
    l, y = family.sample([300_000, 300_000], rng=0)
    losses = -family.evidence(l).log_posterior(prior)[np.arange(len(y)), y]
    simulated = sum(weights[k] * losses[y == k].mean() for k in range(2))
    np.testing.assert_allclose(value, simulated, rtol=0.01)


def test_two_classes_in_bits_cost_what_cllr_says():
    family = CalibratedGaussian.from_divergences([2.0])
    value = family.expected_cross_entropy(unit="bit").value
    np.testing.assert_allclose(value, family.expected_cllr(0, 1), rtol=1e-13)


def three_class_cross_entropy(family, prior, points=1201, margin=9):
    """By the trapezoidal rule in the plane, about each class."""
    total = 0.0
    for k in range(3):
        centres = np.linalg.solve(family.cholesky, (family.means - family.means[k]).T).T
        low, high = centres.min(axis=0) - margin, centres.max(axis=0) + margin
        axes = [np.linspace(low[i], high[i], points) for i in range(2)]
        white = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        scores = (family.means[k] + white @ family.cholesky.T) @ family.basis.contrast.T
        scores += np.log(prior)
        others = np.delete(scores - scores[:, [k]], k, axis=1)
        loss = np.logaddexp(0, np.logaddexp.reduce(others, axis=1))
        density = np.exp(-(white**2).sum(axis=1) / 2) / (2 * np.pi)
        area = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
        total += prior[k] * (density @ loss) * area
    return total


@pytest.mark.parametrize(
    ("divergences", "prior"),
    [
        ([3.0, 5.0, 4.0], [1 / 3, 1 / 3, 1 / 3]),
        ([0.1, 0.2, 0.15], [0.2, 0.5, 0.3]),
        pytest.param([40.0, 40.0, 40.0], [1 / 3, 1 / 3, 1 / 3], marks=pytest.mark.slow),
        pytest.param([100.0, 100.0, 100.0], [1 / 3, 1 / 3, 1 / 3], marks=pytest.mark.slow),
        ([12.0, 12.0, 12.0], [1 - 2e-6, 1e-6, 1e-6]),
    ],
)
def test_the_simulation_is_right_and_its_standard_error_is_honest(divergences, prior):
    family = CalibratedGaussian.from_divergences(divergences)
    exact = three_class_cross_entropy(family, np.array(prior))
    runs = [family.expected_cross_entropy(prior, n_samples=1500, rng=s) for s in range(50)]
    z = np.array([(run.value - exact) / run.standard_error for run in runs])
    assert abs(z.mean()) < 0.5
    assert 0.6 < z.std() < 1.4
    assert runs[0].standard_error < 0.008 * exact


def test_the_simulation_holds_where_the_cost_is_tiny():
    # The losses are 1e-15 beside weights of 1: least squares once dropped them, an error of 10 %.
    prior = np.array([1 - 2e-6, 1e-6, 1e-6])
    found = CalibratedGaussian.from_divergences([100.0] * 3).expected_cross_entropy(
        prior, n_samples=3000
    )
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    exact = sum(
        prior[i] * expected_softplus(100.0, np.log(prior[i] / prior[j])) for i, j in pairs
    )  # where one other class is near, no third one is
    np.testing.assert_allclose(found.value, exact, rtol=1e-5)
    assert found.standard_error < 1e-5 * exact


def test_the_simulation_is_reproducible_and_takes_a_prior_and_a_unit():
    family = CalibratedGaussian.from_divergences([3.0, 5.0, 4.0])
    assert family.expected_cross_entropy() == family.expected_cross_entropy(rng=0)
    prior = [0.98, 0.01, 0.01]
    nats = family.expected_cross_entropy(prior)
    bits = family.expected_cross_entropy(prior, unit="bit")
    np.testing.assert_allclose(np.array(nats) / np.log(2), bits, rtol=1e-12)
    entropy = -sum(p * np.log(p) for p in prior)
    assert 0 < nats.value < entropy


def test_many_classes_that_are_never_told_apart_cost_the_entropy_of_the_prior():
    family = CalibratedGaussian(1e-6 * np.eye(49))
    value, _ = family.expected_cross_entropy(n_samples=5000)
    np.testing.assert_allclose(value, np.log(50), atol=1e-3)
