"""The test of calibration on evidence that is calibrated by construction, or off in a known way."""

import sys

import numpy as np
import pytest
from scipy.special import logsumexp

from deciban import CalibratedGaussian, Evidence, metrics

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["a", "b", "c"])
MODULE = sys.modules["deciban.metrics.calibration_test"]


def sampled(n=200, rng=0):
    l, y = FAMILY.sample([n] * 3, rng)
    return y, l


def mixture(n, rng):
    """Two narrow bumps against one wide one: LLRs that are calibrated and not Gaussian."""
    y = np.repeat([0, 1], n)
    x = np.where(y == 0, rng.choice([-2.0, 2.0], 2 * n) + 0.4 * rng.normal(size=2 * n),
                 1.5 * rng.normal(size=2 * n))  # fmt: skip
    bumps = np.logaddexp(-((x - 2) ** 2) / 0.32, -((x + 2) ** 2) / 0.32) - np.log(0.8)
    return y, Evidence.from_llr(-(x**2) / 4.5 - np.log(1.5) - bumps)


def test_calibrated_evidence_that_is_not_gaussian_is_accepted():
    p = [metrics.calibration_test(*mixture(150, np.random.default_rng(s)), n_draws=199).p_value
         for s in range(20)]  # fmt: skip
    assert np.mean(np.array(p) <= 0.05) <= 0.2  # 99.7 % of the time, at 5 %
    assert 0.2 < np.mean(p) < 0.8


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda l: 1.4 * l, "too strong"),
        (lambda l: l / 1.4, "too weak"),
        (lambda l: l + FAMILY.basis.contrast[1], "in favor of 'b'"),
        (lambda l: 2 * l / (1 + np.linalg.norm(l, axis=1, keepdims=True) / 2.8),
         "too strong where it is weak, too weak where it is strong"),
    ],
)  # fmt: skip
def test_each_fault_is_detected_and_named(fault, words):
    y, l = sampled(1200)
    found = metrics.calibration_test(y, FAMILY.evidence(fault(l)), n_draws=199)
    assert found.p_value == 1 / 200
    assert found.fault == words
    assert words in repr(found)
    assert (found.found > found.claimed) == (words != "too weak") or "where" in words


@pytest.mark.slow
@pytest.mark.parametrize("D", [2, 3, 10])
def test_level_and_power_by_simulation(D):
    # benchmarks/judgments.py tests has the long run: power is 75 % and more at 3 x 100.
    family = CalibratedGaussian.from_divergences(3.0 * (1 - np.eye(D)))
    p = np.empty((100, 2))
    for seed in range(100):
        l, y = family.sample([100] * D, rng=seed)
        for k, factor in enumerate((1.0, 1.3)):
            found = metrics.calibration_test(y, family.evidence(factor * l), n_draws=199)
            p[seed, k] = found.p_value
    level, power = np.mean(p <= 0.05, axis=0)
    assert level <= 0.12
    assert power >= (0.3 if D == 2 else 0.55)


def test_the_scores_are_the_slopes_of_the_log_likelihood():
    y, l = sampled(30)
    w, codes = FAMILY.evidence(l).log_likelihoods, np.searchsorted(["a", "b", "c"], y)
    w = w - w.max(axis=1, keepdims=True)
    prior = np.log([1 / 3] * 3)

    def log_likelihood(w):
        z = w + prior
        return np.sum(z[np.arange(90), codes] - logsumexp(z, axis=1))

    terms = MODULE._make_terms(w, np.full(3, 30.0))
    h = 1e-5
    slope = (log_likelihood((1 + h) * w) - log_likelihood((1 - h) * w)) / (2 * h)
    np.testing.assert_allclose(terms.scores[np.arange(90), codes, 0].sum(), slope, rtol=1e-6)
    bend = (log_likelihood((1 + 1e-3) * w) + log_likelihood((1 - 1e-3) * w)
            - 2 * log_likelihood(w)) / 1e-6  # fmt: skip
    np.testing.assert_allclose(terms.others[:, -3].sum(), -bend, rtol=1e-4)
    step = h * np.array([1.0, 0, 0])
    slope = (log_likelihood(w + step) - log_likelihood(w - step)) / (2 * h)
    np.testing.assert_allclose(30 - terms.others[:, 0].sum(), slope, rtol=1e-6)


def test_sums_have_the_moments_of_data_sets_drawn_sample_by_sample():
    _, l = sampled(40)
    w = FAMILY.evidence(l).log_likelihoods
    codes, ones, mass = np.repeat(np.arange(3), 40), np.ones(120), np.full(3, 40.0)
    world = MODULE._make_terms(MODULE._balance(w, ones, mass), mass)
    p = np.exp(world.log_p)
    np.testing.assert_allclose(p.sum(axis=0), mass, rtol=0.02)
    sums = MODULE._draw_data_sets(world, codes, ones, 4000, np.random.default_rng(0))
    rng, draws = np.random.default_rng(1), np.zeros((4000, sums.shape[1]))
    for j in range(3):
        x = np.hstack([world.scores[:, j], world.others])
        draws += rng.multinomial(40, p[:, j] / p[:, j].sum(), 4000) @ x
    error = np.maximum(draws.std(axis=0), 1e-9) / np.sqrt(2000)
    assert (np.abs(sums.mean(axis=0) - draws.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(np.std(sums, axis=0), np.std(draws, axis=0), rtol=0.1, atol=1e-9)


def test_classes_that_are_ruled_out_are_taken_at_their_word():
    y = np.repeat([0, 1], 20)
    right = Evidence.from_llr(np.where(y == 1, np.inf, -np.inf))
    assert metrics.calibration_test(y, right).p_value == 1
    assert "?" not in repr(metrics.calibration_test(y, right))  # no hint where nothing was found
    wrong = Evidence.from_llr(np.r_[np.inf, np.full(19, -np.inf), np.full(20, np.inf)])
    found = metrics.calibration_test(y, wrong)
    assert found.p_value == 1 / 1000
    assert found.fault == "too strong"
    assert "(too strong?)" in repr(found)
    assert found.found == np.inf
    impossible = Evidence(np.column_stack([np.zeros((40, 2)), np.full(40, -np.inf)]))
    assert metrics.calibration_test(np.arange(40) % 3, impossible).p_value == 1 / 1000


@pytest.mark.parametrize("size", [800.0, 1e308])
def test_extreme_evidence_is_right_or_wrong_without_overflow(size):
    y = np.repeat([0, 1], 20)
    llr = np.where(y == 1, size, -size)
    assert metrics.calibration_test(y, Evidence.from_llr(llr)).p_value == 1
    llr[0] = size
    assert metrics.calibration_test(y, Evidence.from_llr(llr)).p_value == 1 / 1000


def test_evidence_that_says_nothing_is_calibrated_unless_it_always_favors_a_class():
    y = np.arange(90) % 3
    silent = Evidence(np.full((90, 3), 0.1))
    assert metrics.calibration_test(y, silent).p_value == 1
    biased = Evidence(np.tile([0.7, 0.0, 0.0], (90, 1)))
    found = metrics.calibration_test(y, biased)
    assert found.p_value == found.offset == 1 / 1000


def test_one_sample_of_a_class_is_enough():
    assert 0 < metrics.calibration_test([0, 1, 1], [[1.0, 0], [0, 1], [1, 0]]).p_value <= 1


def test_the_result_depends_on_the_seed_alone():
    y, l = sampled(40)
    evidence = FAMILY.evidence(l)
    plain = metrics.calibration_test(y, evidence)
    assert metrics.calibration_test(y, evidence) == plain
    assert metrics.calibration_test(y, evidence, rng=1) != plain
    moved = evidence.log_likelihoods + np.linspace(0, 50, 120)[:, None]
    weighted = metrics.calibration_test(y, moved, sample_weight=np.full(120, 1e300))
    np.testing.assert_allclose(weighted.p_value, plain.p_value, atol=2e-3)
    turned = metrics.calibration_test(y, evidence.restrict(["c", "a", "b"]))
    np.testing.assert_allclose(turned.p_value, plain.p_value, atol=0.1)
    np.testing.assert_allclose(turned.claimed, plain.claimed)


def test_weights_lower_the_power_where_they_differ():
    y, l = sampled(200)
    evidence = FAMILY.evidence(1.3 * l)
    weight = np.where(np.random.default_rng(0).random(600) < 0.05, 100.0, 0.01)
    p = [metrics.calibration_test(y, evidence, sample_weight=w).p_value for w in (None, weight)]
    assert p[0] < 0.05 < p[1]
