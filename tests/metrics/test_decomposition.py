"""Decomposition on data whose parts are known, and the solver behind it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban._estimation.affine import fit_affine
from deciban.exceptions import ConvergenceError, InputError, ZeroPartsError

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["a", "b", "c"])
RULED_OUT = Evidence.from_likelihoods([[1, 0, 1]] * 30, ["a", "b", "c"])
KNOWN = FAMILY.expected_cross_entropy(n_samples=200_000).value


def distorted(matrix, offset, n=4000, rng=0):
    l, y = FAMILY.sample([n, n, n], rng)
    return y, FAMILY.evidence(l @ np.transpose(matrix) + offset)


def test_calibrated_evidence_has_next_to_no_calibration_cost():
    y, evidence = distorted(np.eye(2), 0)
    parts = metrics.decompose(y, evidence)
    np.testing.assert_allclose(parts.total, metrics.cross_entropy(y, evidence), rtol=1e-12)
    np.testing.assert_allclose(parts.total, parts.calibration + parts.discrimination, rtol=1e-12)
    np.testing.assert_allclose(parts.discrimination, KNOWN, rtol=0.05)
    assert 0 <= parts.calibration < 0.002


@pytest.mark.parametrize(
    ("calibrator", "matrix", "offset"),
    [
        ("scalar", 3.0 * np.eye(2), [0.0, 0.0]),
        ("scalar", 0.3 * np.eye(2), [1.0, -2.0]),
        ("diagonal", np.diag([0.4, 3.0]), [0.5, 0.5]),
        ("full", np.array([[2.0, 0.5], [-0.8, 0.7]]), [-1.0, 1.0]),
    ],
)
def test_a_distortion_within_the_family_is_all_of_the_calibration_cost(calibrator, matrix, offset):
    y, evidence = distorted(matrix, offset)
    y_, calibrated = distorted(np.eye(2), 0)
    parts = metrics.decompose(y, evidence, calibrator=calibrator)
    undistorted = metrics.cross_entropy(y_, calibrated)
    np.testing.assert_allclose(parts.discrimination, undistorted, rtol=0.01)
    assert parts.calibration > 0.02


def test_few_samples_never_make_discrimination_worse_than_the_total():
    for seed in range(30):
        y, evidence = distorted(np.eye(2), 0, n=6, rng=seed)
        parts = metrics.decompose(y, evidence, cv=3)
        assert parts.discrimination <= parts.total
        assert parts.calibration >= 0


def test_monotone_recalibration_of_two_classes():
    pair = CalibratedGaussian.from_divergences([4.0])
    l, y = pair.sample([5000, 5000], rng=0)
    llr = pair.evidence(l).llr(1, 0)
    calibrated = metrics.cllr(y, llr)
    bent = Evidence.from_llr(np.arctan(llr / 2) + 1)  # no affine map takes this back
    pav, affine = (metrics.decompose(y, bent, calibrator=c, unit="bit") for c in ("pav", "full"))
    np.testing.assert_allclose(pav.total, metrics.cllr(y, bent), rtol=1e-12)
    np.testing.assert_allclose(pav.discrimination, calibrated, atol=0.01)
    assert pav.discrimination < affine.discrimination
    assert metrics.cllr_min(y, bent) < pav.discrimination  # which is not optimistic


def test_monotone_recalibration_takes_infinite_ratios_and_priors():
    llr = [-np.inf, -1.0, 2.0, 0.5, 1.0, np.inf] * 5
    y = [0, 0, 0, 1, 1, 1] * 5
    prior = [0.9, 0.1]
    parts = metrics.decompose(y, Evidence.from_llr(llr), calibrator="pav", prior=prior)
    np.testing.assert_allclose(
        parts.total, metrics.cross_entropy(y, Evidence.from_llr(llr), prior=prior)
    )
    assert 0 < parts.discrimination < parts.total < np.inf
    wrong = metrics.decompose(y, Evidence.from_llr(llr[::-1]), calibrator="pav", prior=prior)
    assert wrong.total == np.inf
    assert np.isfinite(wrong.discrimination)


def test_repeated_samples_do_not_leak_where_they_are_groups():
    rng = np.random.default_rng(0)
    y, llr = np.tile(np.arange(60) % 2, 5), np.tile(rng.normal(size=60), 5)
    evidence, groups = Evidence.from_llr(llr), np.tile(np.arange(60), 5)
    leaking = metrics.decompose(y, evidence, calibrator="pav")
    kept = metrics.decompose(y, evidence, calibrator="pav", groups=groups)
    assert kept.discrimination > leaking.discrimination + 0.02
    with pytest.raises(InputError, match="groups must leave every class"):
        metrics.decompose(y, evidence, groups=y)


def test_units_priors_and_names(rng):
    y, evidence = distorted(2 * np.eye(2), 0, n=300)
    prior = {"a": 0.7, "b": 0.2, "c": 0.1}
    nats = metrics.decompose(y, evidence, prior=prior)
    bits = metrics.decompose(y, evidence, prior=prior, unit="bit")
    np.testing.assert_allclose(np.array(nats) / np.log(2), bits, rtol=1e-12)
    np.testing.assert_allclose(nats.total, metrics.cross_entropy(y, evidence, prior=prior))
    turned = metrics.decompose(y, evidence.restrict(["c", "a", "b"]), prior=prior)
    np.testing.assert_allclose(turned.total, nats.total, rtol=1e-12)
    np.testing.assert_allclose(turned.discrimination, nats.discrimination, rtol=1e-2)


# --- the solver ------------------------------------------------------------------------------


def test_the_full_map_is_scikit_learns_logistic_regression(rng):
    y, evidence = distorted([[2.0, 0.5], [-0.8, 0.7]], [-1.0, 1.0], n=200)
    l = evidence.ilr()
    truth = np.searchsorted(["a", "b", "c"], y)
    weight = np.full(len(l), 1 / len(l))
    V = Basis.gram_schmidt(3).contrast
    fitted = fit_affine(l, truth, weight, np.log(np.full(3, 1 / 3)), V, "full")
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(l, truth)
    log_p = Evidence.from_ilr(fitted(l)).log_posterior()
    np.testing.assert_allclose(log_p, theirs.predict_log_proba(l), atol=1e-4)


def test_an_optimum_that_is_not_reached_is_said(monkeypatch):
    y, evidence = distorted(3 * np.eye(2), 0, n=50)
    monkeypatch.setattr("deciban._estimation.newton._STEPS", 1)
    with pytest.raises(ConvergenceError, match="after 1 steps it could still gain"):
        metrics.decompose(y, evidence)


@pytest.mark.slow
def test_hard_fits_reach_their_optimum():
    # Few samples, scaled and shifted: saturated posteriors and nearly separable folds.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        matrix = np.exp(rng.uniform(-2, 2)) * np.eye(2)
        y, evidence = distorted(matrix, 5 * rng.normal(size=2), n=int(rng.integers(5, 31)), rng=rng)
        for scale in ("scalar", "diagonal", "full"):
            assert metrics.decompose(y, evidence, calibrator=scale).calibration >= 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y, e: metrics.decompose(y, e, calibrator="magic"), InputError, "scalar, diagonal"),
        (lambda y, e: metrics.decompose(y, e, calibrator="pav"), InputError, "two classes; got 3"),
        (lambda y, e: metrics.decompose(y, e, cv=1), InputError, "2 or more; got 1"),
        (lambda y, e: metrics.decompose(y, e, cv=11), InputError, "rarest occurs 10 times"),
        (lambda y, e: metrics.decompose(y, RULED_OUT), ZeroPartsError, "positive for ilr"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    y, evidence = distorted(np.eye(2), 0, n=10)
    with pytest.raises(error, match=message):
        call(y, evidence)
