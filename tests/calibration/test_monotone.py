"""Monotone maps of any number of classes: PAV for two, gradients of convex functions for more."""

import numpy as np
import pytest

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban.calibration import MonotoneCalibrator
from deciban.exceptions import InputError, ZeroPartsError
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import pool_with_misleading

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])


def three(n, rng=0, bend=False):
    l, y = FAMILY.sample([n, n, n], rng)
    return l * np.linalg.norm(l, axis=1, keepdims=True) if bend else l, y


def pooled(llr, y):
    return pool_with_misleading(Trials(Scores(llr[y == 1]), Scores(llr[y == 0])))


@pytest.mark.parametrize("n", [1, 4, 40, 3000])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.1, 0.9]])
def test_for_two_classes_it_is_pav_also_between_the_samples(n, ties, prior):
    family = CalibratedGaussian.from_divergences([2.0])
    l, y = family.sample([n, n + 2], rng=n)
    llr = np.round(family.evidence(l).llr(1, 0), 0 if ties else 15)
    new = np.concatenate([llr, np.linspace(-20, 20, 1000)])
    calibrator = MonotoneCalibrator(prior=prior).fit(llr[:, None], y)
    found = calibrator.evidence(new[:, None]).llr(1, 0)
    np.testing.assert_allclose(found, pooled(llr, y).transform(new), atol=1e-12)


def test_scores_fall_into_the_block_that_they_were_pooled_in():
    rng, y = np.random.default_rng(1), np.arange(200) % 2
    thirds = rng.integers(-9, 10, (200, 2)) / 3 + np.column_stack([0 * y, y / 3])
    calibrator, llr = MonotoneCalibrator().fit(thirds, y), Evidence(thirds, [0, 1]).llr(1, 0)
    found = calibrator.evidence(thirds).llr(1, 0)
    np.testing.assert_allclose(found, calibrator.map_.transform(llr), atol=1e-12)


def test_new_evidence_keeps_its_order_in_pairs_and_in_cycles():
    l, y = three(30, bend=True)
    calibrator = MonotoneCalibrator().fit(FAMILY.evidence(l), y)
    new = np.concatenate([three(40, rng=1)[0], 100 * three(10, rng=2)[0]])
    out = calibrator.map_(new)
    pairs = ((out[:, None] - out) * (new[:, None] - new)).sum(axis=2)
    assert pairs.min() > -1e-5
    rng = np.random.default_rng(0)
    for _ in range(200):
        cycle = rng.permutation(len(new))[:5]
        assert (out[cycle] * (new[cycle] - new[np.roll(cycle, -1)])).sum() > -1e-5


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 0, 1]])
def test_neither_the_order_of_the_classes_nor_the_basis_matters(order):
    l, y = three(12)
    values = FAMILY.evidence(l).log_likelihoods
    plain = MonotoneCalibrator().fit(values, y).transform(values)
    # A new order of the classes is a rotation of the ILRLs.
    turned = MonotoneCalibrator().fit(values[:, order], np.argsort(order)[y])
    np.testing.assert_allclose(turned.transform(values[:, order]), plain[:, order], atol=1e-4)


def test_calibrated_evidence_stays_nearly_as_it_is_with_many_samples():
    l, y = three(4000)
    new, y_new = three(4000, rng=1)
    calibrator = MonotoneCalibrator().fit(FAMILY.evidence(l), y)
    excess = -calibrator.score(FAMILY.evidence(new), y_new) - metrics.cross_entropy(
        y_new, FAMILY.evidence(new)
    )
    assert excess < 0.005  # nats


def test_separable_classes_have_finite_evidence():
    l = np.repeat(10 * Basis.gram_schmidt(3).contrast, 5, axis=0)
    evidence, y = Evidence.from_ilr(l), np.repeat([0, 1, 2], 5)
    out = MonotoneCalibrator().fit(evidence, y).evidence(evidence)
    assert np.isfinite(out.log_likelihoods).all()
    assert (out.decide() == y).all()


def test_huge_and_constant_evidence_are_taken():
    l, y = three(10)
    plain = MonotoneCalibrator().fit(FAMILY.evidence(l), y).transform(FAMILY.evidence(l))
    huge = Evidence.from_ilr(1e11 * l)
    found = MonotoneCalibrator().fit(huge, y).transform(huge)
    np.testing.assert_allclose(found, plain, atol=1e-3)
    same = Evidence.from_ilr(np.ones_like(l))
    found = MonotoneCalibrator().fit(same, y).transform(same)
    np.testing.assert_allclose(found, 0, atol=1e-4)


def test_decompose_finds_the_loss_that_no_affine_map_saves():
    l, y = three(1000, bend=True)
    evidence = FAMILY.evidence(l)
    monotone, full = (
        metrics.decompose(y, evidence, calibrator=kind) for kind in ("monotone", "full")
    )
    assert monotone.total == full.total
    assert monotone.discrimination < full.discrimination - 0.01
    floor, _ = FAMILY.expected_cross_entropy(rng=0)
    assert monotone.discrimination > floor - 0.03  # three standard errors of 3,000 samples


def test_decompose_by_monotone_maps_is_that_by_pav_for_two_classes():
    family = CalibratedGaussian.from_divergences([3.0])
    l, y = family.sample([600, 300], rng=0)
    evidence = family.evidence(2 * l)
    pav, monotone = (metrics.decompose(y, evidence, calibrator=c) for c in ("pav", "monotone"))
    np.testing.assert_allclose(monotone, pav, atol=1e-12)


@pytest.mark.parametrize("misleading", [0, -1, np.inf, np.nan, "1"])
def test_numbers_of_misleading_samples_that_are_not_positive_are_refused(misleading):
    l, y = three(5)
    with pytest.raises(InputError, match="misleading must be a finite number above 0; got"):
        MonotoneCalibrator(misleading=misleading).fit(FAMILY.evidence(l), y)


def test_classes_that_are_ruled_out_are_refused():
    with pytest.raises(ZeroPartsError, match="row 0 has infinity"):
        MonotoneCalibrator().fit([[-np.inf, 0.0], [0.0, 1.0]], [0, 1])


def test_two_classes_are_pav_also_where_scores_span_many_decades():
    rng, y = np.random.default_rng(0), np.arange(600) % 2
    for score in (np.exp(15 * rng.normal(size=600)), rng.normal(size=600) + 1e12):
        found = MonotoneCalibrator().fit(score[:, None], y).evidence(score[:, None]).llr(1, 0)
        np.testing.assert_allclose(found, pooled(score, y).transform(score), atol=1e-10)


def test_reversed_evidence_is_hardly_worse_than_none():
    rng, y = np.random.default_rng(0), np.arange(30) % 3
    X = rng.normal(size=(30, 3)) - 2 * np.eye(3)[y]
    assert MonotoneCalibrator().fit(X, y).score(X, y) > -np.log(3) - 0.02


def test_the_order_of_the_samples_does_not_matter_and_weights_are_repetitions():
    l, y = three(40, bend=True)
    evidence, order = FAMILY.evidence(l), np.random.default_rng(0).permutation(120)
    plain = MonotoneCalibrator().fit(evidence, y).transform(evidence)
    shuffled = MonotoneCalibrator().fit(evidence[order], y[order]).transform(evidence)
    np.testing.assert_allclose(shuffled, plain, atol=0.02)
    counts = np.arange(120) % 3 + 1
    weighted = MonotoneCalibrator().fit(evidence, y, sample_weight=counts).transform(evidence)
    rows = np.repeat(np.arange(120), counts)
    repeated = MonotoneCalibrator().fit(evidence[rows], y[rows]).transform(evidence)
    np.testing.assert_allclose(weighted, repeated, atol=0.02)
