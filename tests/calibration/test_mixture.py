"""The affine map that makes evidence a mixture of calibrated families."""

import numpy as np
import pytest

from deciban import CalibratedGaussian, CalibratedMixture, metrics
from deciban.calibration import AffineCalibrator, GaussianCalibrator, MixtureCalibrator
from deciban.calibration.mixture import _Problem, _Start
from deciban.exceptions import InputError

MIXED = CalibratedMixture([np.diag([0.7, 0.5]), np.diag([8.0, 6.0])], [0.7, 0.3])
BENT = np.array([[2.0, 0.3], [-0.4, 1.5]])


def test_the_slope_of_the_likelihood_is_that_of_its_differences():
    rng = np.random.default_rng(0)
    x, codes, theta = rng.normal(size=(50, 2)), rng.integers(3, size=50), rng.normal(size=14) / 2
    start = _Start(np.eye(2), np.zeros(2), np.eye(2))
    problem = _Problem(x, codes, rng.dirichlet(np.ones(50)), start)
    step = 1e-6 * np.eye(14)
    differences = [(problem.loss(theta + e)[0] - problem.loss(theta - e)[0]) / 2e-6 for e in step]
    np.testing.assert_allclose(problem.loss(theta)[1], differences, atol=1e-8)


def test_the_likelihood_is_that_of_the_mixture_of_the_mapped_evidence():
    l, y = MIXED.sample([40, 40, 40], rng=0)
    calibrator = MixtureCalibrator(2).fit(MIXED.evidence(l @ BENT.T), y)
    mapped = calibrator.evidence(MIXED.evidence(l @ BENT.T))
    total = calibrator.reference_.log_likelihood(mapped, y)
    start = _Start(calibrator.matrix_, calibrator.offset_, np.eye(2))
    problem = _Problem(l @ BENT.T, y, np.full(120, 1 / 120), start)
    inverse = np.linalg.inv(calibrator.matrix_)
    factors = np.linalg.cholesky(inverse @ calibrator.covariances_ @ inverse.T)
    theta = np.concatenate(
        [calibrator.matrix_.ravel(), calibrator.offset_, *map(problem._pack, factors),
         np.log(calibrator.weights_)]
    )  # fmt: skip
    log_det = np.linalg.slogdet(calibrator.matrix_)[1]
    assert -problem.loss(theta)[0] == pytest.approx(total / 120 + log_det, abs=1e-9)


def test_map_and_mixture_are_recovered_from_many_samples():
    l, y = MIXED.sample([20_000] * 3, rng=0)
    calibrator = MixtureCalibrator().fit(MIXED.evidence(l @ BENT.T + 0.5), y)
    np.testing.assert_allclose(calibrator.matrix_ @ BENT, np.eye(2), atol=0.03)
    np.testing.assert_allclose(calibrator.weights_, MIXED.weights, atol=0.02)
    found = [one.covariance for one in calibrator.reference_.families]
    np.testing.assert_allclose(found, [one.covariance for one in MIXED.families], atol=0.3)


def test_one_component_is_the_gaussian_calibrator():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([4000] * 3, rng=0)
    evidence = family.evidence(l @ BENT.T)
    one = MixtureCalibrator(1).fit(evidence, y)
    plain = GaussianCalibrator(predictive=False).fit(evidence, y)
    np.testing.assert_allclose(one.transform(evidence), plain.transform(evidence), atol=0.1)
    assert MixtureCalibrator().fit(evidence, y).weights_.shape == (1,)


def test_weak_and_strong_evidence_are_recalibrated_better_than_by_one_family_or_none():
    costs = []
    for seed in range(5):
        (l, y), (new, y_new) = (MIXED.sample([n] * 3, rng=[seed, n]) for n in (200, 3000))
        given, fresh = (MIXED.evidence(x @ BENT.T) for x in (l, new))
        calibrators = MixtureCalibrator(), AffineCalibrator("full"), GaussianCalibrator()
        costs.append(
            [metrics.cross_entropy(y_new, c.fit(given, y).evidence(fresh)) for c in calibrators]
        )
    mixture, affine, gaussian = np.mean(costs, axis=0)
    assert mixture < affine < gaussian - 0.02


@pytest.mark.parametrize("n_components", [0, 1.5, "many"])
def test_a_number_of_components_that_is_none_is_refused(n_components):
    l, y = MIXED.sample([10] * 3, rng=0)
    with pytest.raises(InputError, match="n_components must be"):
        MixtureCalibrator(n_components).fit(MIXED.evidence(l), y)


def test_huge_evidence_is_taken():
    l, y = MIXED.sample([50] * 3, rng=0)
    plain = MixtureCalibrator(2).fit(MIXED.evidence(l), y).transform(MIXED.evidence(l))
    huge = MIXED.evidence(1e10 * l)
    np.testing.assert_allclose(MixtureCalibrator(2).fit(huge, y).transform(huge), plain, atol=1e-3)


def test_many_equal_scores_do_not_make_evidence_stronger():
    # Half of the samples say nothing. Their point mass once pulled the factor up to five.
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    x = np.where(rng.random(2000) < 0.5, 0.0, rng.normal(2 * y - 1, 1.4))[:, None]
    for X in (x, np.maximum(x, 0)):
        mixture, affine = (
            c.fit(X, y).score(X, y) for c in (MixtureCalibrator(), AffineCalibrator())
        )
        assert mixture > affine - 0.03


def test_class_means_that_coincide_have_hardly_any_evidence():
    calibrator = MixtureCalibrator().fit([[-1.0], [1.0], [-1.0], [1.0]] * 20, [0, 0, 1, 1] * 20)
    assert np.abs(calibrator.transform([[-1.0], [1.0]])).max() < 0.1
