"""Monotone maps of any number of classes: PAV for two, gradients of convex functions for more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban._estimation.logistic import AffineMap
from deciban._estimation.monotone import fit_monotone
from deciban._estimation.monotone_exact import fit_exact
from deciban._estimation.monotone_smooth import _SmoothCost
from deciban.calibration import AffineCalibrator, MonotoneCalibrator
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import ConvergenceError, InputError, ZeroPartsError
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import add_misleading, pool

IDENTITY = {d: AffineMap(np.eye(d), np.zeros(d)) for d in (1, 2)}
FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])


def three(n, rng=0, bend=False):
    l, y = FAMILY.sample([n, n, n], rng)
    return l * np.linalg.norm(l, axis=1, keepdims=True) if bend else l, y


def cost_of(y, codes, prior, contrast):
    z = y @ contrast.T + np.log(prior)
    log_p = z - np.logaddexp.reduce(z, axis=1)[:, None]
    return -log_p[np.arange(len(codes)), codes]


def pooled(llr, y):
    return pool(add_misleading(Trials(Scores(llr[y == 1]), Scores(llr[y == 0]))))


@pytest.mark.parametrize("n", [1, 4, 40, 3000])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.1, 0.9]])
def test_for_two_classes_it_is_pav_also_between_the_samples(n, ties, prior):
    family = CalibratedGaussian.from_divergences([2.0])
    l, y = family.sample([n, n + 2], rng=n)
    llr = np.round(family.evidence(l).llr(1, 0), 0 if ties else 15)
    new = np.concatenate([llr, np.linspace(-20, 20, 1000)])
    for method in ("auto", "exact"):
        calibrator = MonotoneCalibrator(method, prior=prior).fit(llr[:, None], y)
        assert calibrator.gap_ == 0
        found = calibrator.evidence(new[:, None]).llr(1, 0)
        np.testing.assert_allclose(found, pooled(llr, y).transform(new), atol=1e-12)


def solve_two(llr, y, prior=(0.5, 0.5)):
    """What the solver for any number of classes gives for two, as LLRs of class 1."""
    V, prior = Basis.gram_schmidt(2).contrast, np.array(prior)
    l, added = llr[:, None] / (V[1] - V[0]), 1 / (np.bincount(y) + 1)
    weight = balance_weights(y, None, prior)
    ours = fit_exact(l, y, weight, np.log(prior), V, added, IDENTITY[1])
    return (ours.map(l) @ (V[1] - V[0])).ravel()


@pytest.mark.parametrize("n", [1, 4, 6, 25])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.1, 0.9]])
def test_the_general_solver_is_pav_for_two_classes(n, ties, prior):
    family = CalibratedGaussian.from_divergences([2.0])
    l, y = family.sample([n, n + 2], rng=n)
    llr = np.round(family.evidence(l).llr(1, 0), 0 if ties else 15)
    expected = pooled(llr, y).transform(llr)
    np.testing.assert_allclose(solve_two(llr, y, prior), expected, atol=1e-8)


def test_pools_that_tie_are_pooled_but_for_the_square_root_of_the_gap():
    # Of five and seven samples, two neighboring pools have the same share of either class. The
    # constraint between them holds with equality and at no price: the hard case of interior points.
    family = CalibratedGaussian.from_divergences([2.0])
    l, y = family.sample([5, 7], rng=5)
    llr = family.evidence(l).llr(1, 0)
    np.testing.assert_allclose(solve_two(llr, y), pooled(llr, y).transform(llr), atol=1e-5)


def test_the_general_solver_is_pav_of_hundreds_of_samples_but_for_the_root_of_the_gap():
    # Blocks of nearly the same LLR are told apart to about 1e-6 nat, the root of the gap.
    family = CalibratedGaussian.from_divergences([3.0])
    l, y = family.sample([100, 100], rng=1)
    llr = family.evidence(l).llr(1, 0)
    found, expected = solve_two(llr, y), pooled(llr, y).transform(llr)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert metrics.cllr(y, found) == pytest.approx(metrics.cllr(y, expected), abs=1e-9)


def misleading_cost(z, D, prior, contrast, share):
    """Cost of the misleading samples, at points that are infinitely far out."""
    total = 0.0
    for k in range(D):
        for j in set(range(D)) - {k}:
            total += prior[k] * share / (D - 1) * cost_of(z[j][None], [k], prior, contrast)[0]
    return total


@pytest.mark.parametrize("prior", [[1 / 3] * 3, [0.2, 0.3, 0.5]])
def test_no_monotone_map_that_a_general_solver_finds_costs_less(prior):
    D, d, prior = 3, 2, np.array(prior)
    l, y = three(3, rng=5)
    N, V = len(l), Basis.gram_schmidt(3).contrast
    weight, share = balance_weights(y, None, prior), 1 / 4
    n, m = np.nonzero(~np.eye(N, dtype=bool))

    def parts(x):
        Y, z, phi = np.split(x, [N * d, (N + D) * d])
        return Y.reshape(N, d), z.reshape(D, d), phi

    def total(x):
        Y, z, _ = parts(x)
        own = (1 - share) * weight @ cost_of(Y, y, prior, V)
        return own + misleading_cost(z, D, prior, V, share)

    def slacks(x):
        Y, z, phi = parts(x)
        tangents = phi[m] - phi[n] - np.einsum("nd,nd->n", Y[n], l[m] - l[n])
        own = np.einsum("jd,jd->j", z, V)
        return np.concatenate([tangents, *(own - np.vstack([Y, z]) @ V.T)])

    start = np.concatenate([(0.3 * l).ravel(), 3 * V.ravel(), 0.15 * (l**2).sum(axis=1)])
    rows = {"type": "ineq", "fun": slacks}
    found = minimize(
        total, start, constraints=rows, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12}
    )
    assert found.success
    ours = fit_exact(l, y, weight, np.log(prior), V, np.full(3, share), IDENTITY[2])
    # The values at infinity are not a part of the map: find the best for the values that are.
    Y = ours.map(l)
    top = (Y @ V.T).max(axis=0)
    far = minimize(
        lambda z: misleading_cost(z.reshape(D, d), D, prior, V, share),
        (2 * top[:, None] * V).ravel(),
        constraints={
            "type": "ineq",
            "fun": lambda z: np.concatenate(
                [
                    np.einsum("jd,jd->j", z.reshape(D, d), V) - top,
                    (np.einsum("jd,jd->j", z.reshape(D, d), V) - z.reshape(D, d) @ V.T).ravel(),
                ]
            ),
        },
        method="SLSQP",
        options={"ftol": 1e-13},
    )
    cost = (1 - share) * weight @ cost_of(Y, y, prior, V) + far.fun
    assert cost == pytest.approx(found.fun, abs=1e-5)  # the precision of SLSQP's differences


@pytest.mark.parametrize("method", ["exact", "smooth"])
def test_new_evidence_keeps_its_order_in_pairs_and_in_cycles(method):
    l, y = three(30, bend=True)
    calibrator = MonotoneCalibrator(method).fit(FAMILY.evidence(l), y)
    new = np.concatenate([three(40, rng=1)[0], 100 * three(10, rng=2)[0]])
    out = calibrator.map_(new)
    pairs = ((out[:, None] - out) * (new[:, None] - new)).sum(axis=2)
    assert pairs.min() > -1e-5
    rng = np.random.default_rng(0)
    for _ in range(200):
        cycle = rng.permutation(len(new))[:5]
        assert (out[cycle] * (new[cycle] - new[np.roll(cycle, -1)])).sum() > -1e-5


@settings(deadline=None, max_examples=8)
@given(st.permutations([0, 1, 2]), st.integers(0, 100))
def test_the_order_of_the_classes_and_the_basis_do_not_matter(order, seed):
    l, y = three(6, rng=seed)
    values = FAMILY.evidence(l).log_likelihoods
    plain = MonotoneCalibrator("exact").fit(values, y).transform(values)
    turned = MonotoneCalibrator("exact").fit(values[:, order], np.argsort(order)[y])
    # A reordering of the classes is a rotation of the ILRLs.
    np.testing.assert_allclose(turned.transform(values[:, order]), plain[:, order], atol=1e-4)


@pytest.mark.parametrize("method", ["exact", "smooth"])
def test_any_basis_gives_the_same_map(method):
    l, y = three(12)
    p, sizes = np.full(3, 1 / 3), np.full(3, 12.0)
    weight = balance_weights(y, None, p)
    V = Basis.gram_schmidt(3).contrast
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    plain = fit_monotone(l, y, weight, np.log(p), V, sizes, method=method).map(l)
    turned = fit_monotone(l @ R, y, weight, np.log(p), V @ R, sizes, method=method).map(l @ R)
    np.testing.assert_allclose(turned @ R.T, plain, atol=1e-4)


def test_no_symmetric_positive_map_costs_less_on_the_samples():
    # With hardly any misleading samples the map is that of the samples alone.
    l, y = three(20, bend=True)
    evidence = FAMILY.evidence(l)
    monotone = MonotoneCalibrator("exact", misleading=0.01).fit(evidence, y)
    V = Basis.gram_schmidt(3).contrast

    def cost(theta):
        root, offset = theta[:4].reshape(2, 2), theta[4:]
        return cost_of(l @ root @ root.T + offset, y, np.full(3, 1 / 3), V).mean()

    best = minimize(cost, np.array([0.5, 0, 0, 0.5, 0, 0])).fun
    assert -monotone.score(evidence, y) < best
    assert -monotone.score(evidence, y) < -AffineCalibrator(ridge=0).fit(evidence, y).score(
        evidence, y
    )


def test_calibrated_evidence_stays_nearly_as_it_is_with_many_samples():
    l, y = three(4000)
    new, y_new = three(4000, rng=1)
    calibrator = MonotoneCalibrator().fit(FAMILY.evidence(l), y)
    excess = -calibrator.score(FAMILY.evidence(new), y_new) - metrics.cross_entropy(
        y_new, FAMILY.evidence(new)
    )
    assert excess < 0.005  # nats


def test_the_slope_of_the_smooth_cost_is_that_of_its_differences():
    rng = np.random.default_rng(0)
    V, theta = Basis.gram_schmidt(3).contrast, rng.normal(size=4 + 8 + 4 + 1)
    cost = _SmoothCost(
        rng.normal(size=(7, 2)), rng.random((7, 3)), np.log([0.2, 0.3, 0.5]), V,
        rng.normal(size=17), rng.random(17),
    )  # fmt: skip
    step = 1e-6 * np.eye(17)
    differences = [(cost(theta + e)[0] - cost(theta - e)[0]) / 2e-6 for e in step]
    np.testing.assert_allclose(cost(theta)[1], differences, atol=1e-7)


def test_separable_classes_have_finite_evidence():
    l = np.repeat(10 * Basis.gram_schmidt(3).contrast, 5, axis=0)
    evidence, y = Evidence.from_ilr(l), np.repeat([0, 1, 2], 5)
    for method in ("exact", "smooth"):
        out = MonotoneCalibrator(method).fit(evidence, y).evidence(evidence)
        assert np.isfinite(out.log_likelihoods).all()
        assert (out.decide() == y).all()


def test_huge_and_constant_evidence_are_taken():
    l, y = three(10)
    for method in ("exact", "smooth"):
        plain = MonotoneCalibrator(method).fit(FAMILY.evidence(l), y).transform(FAMILY.evidence(l))
        huge = Evidence.from_ilr(1e11 * l)
        found = MonotoneCalibrator(method).fit(huge, y).transform(huge)
        np.testing.assert_allclose(found, plain, atol=1e-3)
        same = Evidence.from_ilr(np.ones_like(l))
        found = MonotoneCalibrator(method).fit(same, y).transform(same)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "magic"}, "auto, exact"), ({"misleading": 0}, "positive; got 0")],
)
def test_bad_options_are_refused(options, message):
    l, y = three(5)
    with pytest.raises(InputError, match=message):
        MonotoneCalibrator(**options).fit(FAMILY.evidence(l), y)


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


@pytest.mark.parametrize("distance", [1e-5, 1e-8, 1e-11])
def test_samples_that_nearly_coincide_are_taken_for_one(distance):
    l, y = three(10)
    l[1] = l[0] + distance
    assert MonotoneCalibrator("exact").fit(FAMILY.evidence(l), y).gap_ < 1e-8


def test_an_outlier_that_hides_the_others_is_refused_by_the_exact_map():
    l, y = three(10)
    l[0] *= 1e7
    with pytest.raises(ConvergenceError, match="must not hold outliers for the exact map"):
        MonotoneCalibrator("exact").fit(FAMILY.evidence(l), y)
