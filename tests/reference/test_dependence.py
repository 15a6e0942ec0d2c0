"""Fusion of calibrated evidence that is not independent."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban.exceptions import InputError, NotPositiveDefiniteError, ZeroPartsError
from deciban.reference import Dependence
from tests.strategies import bases, seeds

D574 = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=["a", "b", "c"])
D231 = CalibratedGaussian.from_divergences([2.0, 3.0, 1.0], classes=["a", "b", "c"])


def stacked_covariance(D, K, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(K * (D - 1), K * (D - 1) + 3))
    return A @ A.T / K


def draw(dependence, counts, rng):
    """Evidence of each system, and the labels, from the stacked normal itself."""
    K, k = len(dependence.families), dependence.families[0].n_classes - 1
    values, vectors = np.linalg.eigh(dependence.correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    codes = np.repeat(np.arange(k + 1), counts)
    white = (rng.normal(size=(len(codes), K * k)) @ root.T).reshape(-1, K, k)
    systems = []
    for a, family in enumerate(dependence.families):
        w, U = np.linalg.eigh(family.covariance)
        l = family.means[codes] + white[:, a] @ ((U * np.sqrt(w)) @ U.T)
        systems.append(family.evidence(l))
    return systems, np.array(dependence.families[0].classes)[codes]


@st.composite
def dependences(draw_from):
    D, K = draw_from(st.integers(2, 6)), draw_from(st.integers(2, 4))
    basis = draw_from(bases(D))
    covariance = stacked_covariance(D, K, draw_from(seeds))
    return Dependence.from_covariance(covariance, K, basis), covariance


def evidence_for(dependence, seed, n=5):
    D = dependence.families[0].n_classes
    rng = np.random.default_rng(seed)
    return [Evidence(rng.normal(scale=3, size=(n, D))) for _ in dependence.families]


@given(dependences(), seeds)
def test_without_correlation_the_fusion_is_the_sum(case, seed):
    dependence = Dependence(case[0].families, 0.0)
    a, *others = evidence_for(dependence, seed)
    assert a.add(*others, dependence=dependence).allclose(a.add(*others), 1e-12, 1e-11)
    np.testing.assert_allclose(dependence.double_counting(), 0, atol=1e-11)


@given(dependences(), seeds)
def test_llrs_are_those_of_the_stacked_normal_densities(case, seed):
    dependence, S = case
    systems = evidence_for(dependence, seed)
    basis = dependence.families[0].basis
    l = np.hstack([one.ilr(basis) for one in systems])
    M = np.hstack([one.means for one in dependence.families])
    log_f = np.stack([-np.einsum("ni,ni->n", l - m, np.linalg.solve(S, (l - m).T).T) / 2
                      for m in M], axis=1)  # fmt: skip
    fused = dependence.combine(*systems).log_likelihoods
    scale = 1e-9 * max(1, np.abs(log_f).max()) * np.linalg.cond(S) ** 0.5
    np.testing.assert_allclose(fused - fused[:, :1], log_f - log_f[:, :1], rtol=1e-8, atol=scale)


@given(dependences())
def test_the_fused_evidence_is_calibrated_and_has_the_divergences_of_the_stack(case):
    dependence, S = case
    M = np.hstack([one.means for one in dependence.families])
    gaps = M[:, None] - M[None]
    expected = np.einsum("ijk,ijk->ij", gaps, gaps @ np.linalg.inv(S)) / 2
    np.testing.assert_allclose(dependence.family.divergences, expected, rtol=1e-6, atol=1e-9)
    # The map takes the stacked mean of each class to the mean of that class in the fused family.
    means = [one.evidence(one.means) for one in dependence.families]
    found = dependence.combine(*means).ilr(dependence.family.basis)
    np.testing.assert_allclose(found, dependence.family.means, rtol=1e-6, atol=1e-7)
    k = S.shape[0] // len(means)
    A = np.concatenate([one.T for one in dependence.weights])
    assert A.shape == (len(S), k)
    np.testing.assert_allclose(A.T @ S @ A, dependence.family.covariance, rtol=1e-6, atol=1e-8)


@given(dependences(), seeds)
def test_no_system_knows_more_than_all(case, seed):
    for one in case[0].families:
        assert np.all(case[0].family.divergences >= one.divergences * (1 - 1e-9))


@given(st.floats(0.01, 50), st.floats(0.01, 50), st.floats(-0.95, 0.95))
def test_two_classes_have_the_closed_form(d1, d2, rho):
    families = [CalibratedGaussian.from_divergences([d]) for d in (d1, d2)]
    expected = (d1 + d2 - 2 * rho * np.sqrt(d1 * d2)) / (1 - rho**2)
    dependence = Dependence(families, rho)
    np.testing.assert_allclose(dependence.family.divergences[0, 1], expected, rtol=1e-10)
    found = dependence.double_counting("nat")[0, 1]
    np.testing.assert_allclose(found, d1 + d2 - expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(dependence.canonical_correlations(), [abs(rho)], atol=1e-12)


@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("correlation", [1.0, 1 - 1e-13, 1 - 1e-9])
def test_the_same_evidence_several_times_is_itself(copies, correlation):
    evidence = D574.evidence(D574.sample("b", rng=0, size=7))
    dependence = Dependence([D574] * copies, correlation)
    assert dependence.combine(*[evidence] * copies).allclose(evidence, 1e-7, 1e-7)
    twice = (copies - 1) * D574.divergences
    np.testing.assert_allclose(dependence.double_counting("nat"), twice, rtol=1e-7, atol=1e-7)


def test_a_third_system_beside_two_copies_adds_what_it_has():
    correlation = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    dependence = Dependence([D574, D574, D231], correlation)
    expected = D574.divergences + D231.divergences
    np.testing.assert_allclose(dependence.family.divergences, expected, rtol=1e-10, atol=1e-12)


def test_a_weak_system_that_shares_the_noise_gets_a_negative_weight():
    families = [CalibratedGaussian.from_divergences([d]) for d in (9.0, 1.0)]
    dependence = Dependence(families, 0.8)  # negative where 0.8 exceeds the root of 1 / 9
    assert dependence.weights[0, 0, 0] > 1 > 0 > dependence.weights[1, 0, 0]
    assert dependence.double_counting()[0, 1] < 0


@given(seeds, st.floats(-0.9, 0.99))
def test_basis_order_of_systems_and_order_of_classes_do_not_matter(seed, rho):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    turned = Basis(Basis.gram_schmidt(3).contrast @ Q)
    names = ["c", "a", "b"]
    order = [2, 0, 1]
    moved = CalibratedGaussian.from_divergences(
        D231.divergences[np.ix_(order, order)], classes=names
    )
    a, b = (Evidence(rng.normal(size=(4, 3)), ["a", "b", "c"]) for _ in range(2))
    expected = Dependence([D574, D231], rho).combine(a, b)
    in_basis = Dependence([D574.in_basis(turned.align_to(("a", "b", "c"))), moved], rho)
    assert in_basis.combine(a, b.restrict(names)).allclose(expected, 1e-8, 1e-8)
    assert (
        Dependence([moved, D574], rho)
        .combine(b, a)
        .restrict(["a", "b", "c"])
        .allclose(expected, 1e-8, 1e-8)
    )


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("families", [[D574, D231], [D574, D231, D574]])
def test_a_fit_finds_the_dependence(families, rho):
    truth = Dependence(families, rho)
    systems, y = draw(truth, [4000] * 3, np.random.default_rng(1))
    for known in (None, families):
        fitted = Dependence.fit(systems, y, known)
        # A correlation has a standard error of at most 1 / sqrt(12,000), about 0.009.
        assert np.abs(fitted.correlation - truth.correlation).max() < 0.05
        np.testing.assert_allclose(
            fitted.family.divergences, truth.family.divergences, rtol=0.1, atol=1e-12
        )


def test_a_fit_keeps_correlations_that_differ_by_direction():
    k = 2
    R = np.eye(2 * k)
    R[0, 2] = R[2, 0] = 0.9
    truth = Dependence([D574, D574], R)
    systems, y = draw(truth, [4000] * 3, np.random.default_rng(2))
    fitted = Dependence.fit(systems, y, [D574, D574])
    np.testing.assert_allclose(fitted.canonical_correlations(), [0.9, 0.0], atol=0.05)


@settings(deadline=None)
@given(seeds, st.integers(5, 20))
def test_a_fit_to_few_samples_gives_a_valid_dependence(seed, n):
    truth = Dependence([D574, D231], 0.7)
    systems, y = draw(truth, [n] * 3, np.random.default_rng(seed))
    fitted = Dependence.fit(systems, y)
    assert np.isfinite(fitted.combine(*systems).log_likelihoods).all()


def test_it_is_immutable_and_goes_through_pickle():
    dependence = Dependence([D574, D231], 0.5)
    with pytest.raises(AttributeError, match="immutable"):
        dependence.correlation = 0
    again = pickle.loads(pickle.dumps(dependence))
    np.testing.assert_array_equal(again.correlation, dependence.correlation)
    assert repr(again) == "<Dependence of 2 systems, 3 classes: canonical correlations up to 0.5>"


def test_divergences_from_1e_minus_6_to_1000_are_fused():
    families = [CalibratedGaussian.from_divergences([d]) for d in (1e-6, 1e3)]
    expected = (1e-6 + 1e3 - 2 * 0.3 * np.sqrt(1e-3)) / (1 - 0.09)
    found = Dependence(families, 0.3).family.divergences[0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_cannot_be_is_refused():
    unlike = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0])
    with pytest.raises(InputError, match="families must all have the classes"):
        Dependence([D574, unlike], 0.1)
    with pytest.raises(InputError, match="families must be two or more"):
        Dependence([D574], 0.1)
    with pytest.raises(InputError, match="must be a number, or have shape"):
        Dependence([D574, D231], np.eye(3))
    with pytest.raises(InputError, match="ones on its diagonal"):
        Dependence([D574, D231], 2 * np.eye(2))
    for rho in (1.2, -1.2):
        with pytest.raises(NotPositiveDefiniteError, match="no negative eigenvalue"):
            Dependence([D574, D231], rho)
    with pytest.raises(NotPositiveDefiniteError, match="infinite evidence"):
        Dependence([D574, D231], 1.0)
    with pytest.raises(InputError, match="Correct n_systems"):
        Dependence.from_covariance(np.eye(3), 2)


def test_systems_that_do_not_fit_are_refused():
    dependence = Dependence([D574, D231], 0.5)
    a = Evidence([[0.0, -1.0, 2.0]], ["a", "b", "c"])
    with pytest.raises(InputError, match="systems must be 2"):
        dependence.combine(a, a, a)
    with pytest.raises(InputError, match="same samples"):
        dependence.combine(a, Evidence.concatenate([a, a]))
    with pytest.raises(InputError, match="two or more of Evidence"):
        dependence.combine(a)
    with pytest.raises(ZeroPartsError):
        dependence.combine(a, Evidence([[0.0, -np.inf, 0.0]], ["a", "b", "c"]))
    with pytest.raises(InputError, match="families must hold one for each of 2"):
        Dependence.fit([a, a], ["a"], [D574] * 3)
    with pytest.raises(InputError, match=r"build Dependence\(families"):
        a.add(a, dependence=0.5)
    with pytest.raises(InputError, match="Give more samples, or pass a correlation"):
        Dependence.fit([a, a], ["a"], [D574, D231])


@pytest.mark.parametrize("factor", [1.001, 1.02, 1.1])
@pytest.mark.parametrize("covariance", [[[3.0]], [[3.0, 0.5], [0.5, 2.0]]])
def test_near_copies_are_not_told_apart_by_errors_of_estimation(factor, covariance):
    family = CalibratedGaussian(covariance)
    D = family.n_classes
    (l, y), (new, y_new) = (family.sample([n] * D, rng=n) for n in (100, 2500))
    both = Dependence.fit([family.evidence(l), family.evidence(factor * l)], y)
    fused = both.combine(family.evidence(new), family.evidence(factor * new))
    alone = metrics.cross_entropy(y_new, family.evidence(new))
    assert metrics.cross_entropy(y_new, fused) < 1.03 * alone  # the sum costs 1.2 times as much


def test_blocks_of_very_different_sizes_are_taken():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    S = (turn * np.array([1e-9, 1e3, 1.0, 2.0])) @ turn.T
    assert np.isfinite(Dependence.from_covariance(S, 2).family.covariance).all()


def test_no_samples_are_refused():
    empty = Evidence(np.empty((0, 2)))
    with pytest.raises(InputError, match="must have samples; got none"):
        Dependence.fit([empty, empty], [], [CalibratedGaussian([[2.0]])] * 2)


def test_evidence_about_other_classes_is_refused_by_their_names():
    both = Dependence([CalibratedGaussian.from_divergences([3.0])] * 2, 0.5)
    a = Evidence.from_llr([4.0], "x", "y")
    with pytest.raises(InputError, match="about the classes 0, 1 of the families; got 'y', 'x'"):
        a.add(a, dependence=both)
