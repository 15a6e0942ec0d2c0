"""Populations: their densities, their samples, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from deciban import metrics
from deciban.datasets import circles, gaussians, moons, three_gaussians, two_gaussians
from deciban.exceptions import InputError

ALL = (moons, circles, two_gaussians, three_gaussians)


@pytest.mark.parametrize("make", ALL)
def test_samples_are_reproducible_and_of_every_class_alike(make):
    population = make()
    X, y = population.sample(601, random_state=3)
    again, y_again = population.sample(601, random_state=3)
    assert np.array_equal(X, again)
    assert np.array_equal(y, y_again)
    assert X.shape == (601, population.n_features)
    assert set(y) == set(population.classes)
    counts = np.unique(y, return_counts=True)[1]
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("make", ALL[:3])  # the fourth errs too rarely for a sample to tell
def test_the_true_densities_cost_less_than_the_same_evidence_weakened_or_exaggerated(make):
    population = make()
    X, y = population.sample(20_000, random_state=0)
    true = population.evidence(X).log_likelihoods
    cost = metrics.cross_entropy(y, population.evidence(X))
    assert cost < metrics.cross_entropy(y, 0.8 * true, classes=population.classes)
    assert cost < metrics.cross_entropy(y, 1.25 * true, classes=population.classes)


@pytest.mark.parametrize(
    ("make", "floor", "tolerance"),
    # The floors that a separate integration gave: Circles over 200,000 points, Moons over 40,000.
    [(circles, 0.026, 0.002), (moons, 0.113, 0.006)],
)
def test_the_floors_are_those_of_an_independent_computation(make, floor, tolerance):
    X, y = make().sample(50_000, random_state=1)
    assert metrics.cllr(y, make().evidence(X)) == pytest.approx(floor, abs=tolerance)


@pytest.mark.parametrize("point", [(0.3, 0.4), (1.1, -0.2), (0.0, 0.0)])
def test_the_density_of_circles_is_the_integral_over_the_circle(point):
    s = 0.15

    def density(r):
        def at(t):
            away = (point[0] - r * np.cos(t)) ** 2 + (point[1] - r * np.sin(t)) ** 2
            return np.exp(-away / 2 / s**2)

        return integrate.quad(at, 0, 2 * np.pi, epsabs=0, limit=200)[0]

    found = circles(noise=s, factor=0.4).evidence([point]).llr(1, 0)[0]
    assert found == pytest.approx(np.log(density(0.4) / density(1.0)), abs=1e-8)


@pytest.mark.parametrize("point", [(0.5, 0.25), (-0.6, 0.1), (1.5, 0.4)])
def test_the_density_of_moons_is_the_integral_over_the_half_circle(point):
    def density(center, sign, s=0.2):
        def at(t):
            x, y = center[0] + sign * np.cos(t), center[1] + sign * np.sin(t)
            return np.exp(-((point[0] - x) ** 2 + (point[1] - y) ** 2) / 2 / s**2)

        return integrate.quad(at, 0, np.pi, epsabs=0)[0]

    found = moons().evidence([point]).llr(1, 0)[0]
    expected = np.log(density((1.0, 0.5), -1) / density((0.0, 0.0), 1))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("noise", [1.0, 0.2, 0.05, 0.01])
def test_the_density_of_moons_is_exact_whatever_the_noise(noise):
    points = np.array([[0.0, 1.0 + noise], [1.0, 0.5], [0.5, 0.25], [2.0, 0.5 - noise], [0.0, 0.0]])
    t = (np.arange(400_000) + 0.5) / 400_000 * np.pi  # the midpoint rule, by brute force
    logs = []
    for center, sign in (((0.0, 0.0), 1), ((1.0, 0.5), -1)):
        x, y = center[0] + sign * np.cos(t), center[1] + sign * np.sin(t)
        away = (points[:, :1] - x) ** 2 + (points[:, 1:] - y) ** 2
        logs.append(logsumexp(-away / 2 / noise**2, axis=1))
    found = moons(noise).evidence(points).llr(1, 0)
    assert np.allclose(found, logs[1] - logs[0], rtol=0, atol=1e-4)  # the rule's error at 0.01


def test_the_evidence_of_circles_is_finite_with_little_noise_and_far_away():
    assert np.isfinite(circles(noise=1e-6).evidence([[0.3, 0.4]]).log_likelihoods).all()
    assert np.isfinite(circles().evidence([[1e9, 0.0]]).log_likelihoods).all()


def test_names_of_different_types_stay_what_they_are():
    population = gaussians(np.eye(2), [np.eye(2)] * 2, (0, "a"))
    X, y = population.sample(50, random_state=0)
    assert set(y) == {0, "a"}
    assert set(population.evidence(X).decide()) <= {0, "a"}
    paired = gaussians(np.eye(2), [np.eye(2)] * 2, (("a", 1), ("b", 2)))
    assert paired.sample(4, random_state=0)[1].shape == (4,)


def test_the_densities_of_gaussians_are_scipys():
    means, covariances = [[0.0, 1.0], [2.0, -1.0]], [[[2.0, 0.3], [0.3, 1.0]], np.eye(2)]
    X = np.random.default_rng(0).normal(size=(50, 2)) * 3
    found = gaussians(means, covariances, ["a", "b"]).evidence(X).llr("a", "b")
    logpdf = [multivariate_normal(m, S).logpdf(X) for m, S in zip(means, covariances, strict=True)]
    assert np.allclose(found, logpdf[0] - logpdf[1], rtol=0, atol=1e-10)


@given(st.floats(-1e150, 1e150), st.floats(-1e3, 1e3))
def test_evidence_is_finite_however_far_a_sample_lies(x, y):
    for make in (circles, two_gaussians):
        values = make().evidence([[x / 1e145, y]]).log_likelihoods
        assert np.isfinite(values).all()


def test_gaussians_with_equal_covariance_give_evidence_with_variance_twice_its_mean():
    population = gaussians([[0.0, 0.0], [2.0, 1.0]], [np.eye(2), np.eye(2)])
    X, y = population.sample(200_000, random_state=0)
    llr = population.evidence(X).llr(1, 0)[y == 1]
    assert llr.mean() == pytest.approx(2.5, abs=0.03)  # half the squared distance of the means
    assert llr.var() == pytest.approx(2 * 2.5, abs=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: moons().sample(1), "n_samples must be a whole number, 2 or more"),
        (lambda: moons().sample(True), "n_samples must be"),
        (lambda: three_gaussians().sample(2.5), "3 or more; got 2.5"),
        (lambda: moons(noise=0), "noise must be a finite number above 0; got 0"),
        (lambda: circles(noise=float("nan")), "noise must be a finite number above 0"),
        (lambda: moons(noise=1e-9), "noise must be at least 0.0001"),
        (lambda: circles(factor="0.5"), "factor must be at least 0"),
        (lambda: moons().evidence([[1e200, 0.0]]), "row 0 is too far away"),
        (lambda: gaussians([[0.0], [np.nan]], [[[1.0]]] * 2), "must be finite"),
        (lambda: circles(factor=1.0), "factor must be at least 0 and less than 1"),
        (lambda: moons().evidence([[1.0]]), r"X must have shape \(n_samples, 2\)"),
        (lambda: moons().evidence([[1.0, np.nan]]), "X must not contain NaN; row 0"),
        (lambda: gaussians([[0.0]], [[[1.0]]]), "at least two classes"),
        (lambda: gaussians([[0.0], [1.0]], [[[1.0]], [[0.0]]]), "number 1 is 0"),
        (
            lambda: gaussians(np.eye(2), [np.eye(2), [[1, 0.5], [0, 1]]]),
            "must be symmetric; number 1 is not",
        ),
        (lambda: gaussians(np.eye(2), [np.eye(2)] * 2, ["a", "a"]), "must be distinct; got 'a'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_what_cannot_be_sampled_from_or_evaluated_ends_in_a_sentence():
    for population in (moons(), three_gaussians()):
        X, _ = population.sample(30, np.random.default_rng(0))
        again, _ = population.sample(30, np.random.default_rng(0))
        assert (again == X).all()
        for random_state in ("seed", -1, 1.5):
            with pytest.raises(ValueError, match=r"seed|Seed"):
                population.sample(30, random_state)
        with pytest.raises(InputError, match="X must be"):
            population.evidence([["a", "b"]])
