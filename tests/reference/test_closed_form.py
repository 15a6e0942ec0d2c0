"""The closed form against the paper's own route, in its basis, and against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from deciban import Basis, CalibratedGaussian, Evidence
from deciban.reference.family import divergences
from strategies import bases, covariances, sizes


def a_matrix(D):
    """The paper's A, equation (A)."""
    A = np.zeros((D - 1, D - 1))
    for i in range(1, D):
        A[i - 1, i - 1] = 2 * np.sqrt((i + 1) / i)
        for j in range(1, i):
            A[i - 1, j - 1] = 2 / np.sqrt(j * (j + 1))
    return A


def b_matrix(D, corrected):
    """The paper's B, equation (B2), as printed or with its third case corrected."""
    blocks = np.zeros((D - 1, D - 1, D - 1))  # [b, i, j]
    for b in range(1, D):
        for i in range(1, D):
            for j in range(1, D):
                if i == j == b:
                    value = (b + 1) / b
                elif i == j and b < i:
                    value = 2 * np.sqrt((i + 1) / (i * b * (b + 1)))
                elif b < i and j < i:
                    root = np.sqrt((j + 1) * (b + 1))
                    value = 1 / (np.sqrt(j * b) * root) if corrected else 1 / (j * b * root)
                else:
                    value = 0.0
                blocks[b - 1, i - 1, j - 1] = value
    return np.concatenate(list(blocks), axis=1)


def means_by_the_papers_route(covariance, corrected):
    """Theorem 2: mu_1 = A^-1 B vec(Sigma), then the recursion for the other means."""
    D = len(covariance) + 1
    vec = covariance.reshape(-1, order="F")
    means = [np.linalg.solve(a_matrix(D), b_matrix(D, corrected) @ vec)]
    a = [np.sqrt((i + 1) / i) * np.eye(D - 1)[i - 1] for i in range(1, D)]
    for i in range(2, D + 1):
        mean = means[0] - covariance @ a[i - 2]
        for j in range(1, i - 1):
            mean = mean - covariance @ a[j - 1] / (j + 1)
        means.append(mean)
    return np.array(means)


def random_covariance(D, seed=0):
    A = np.random.default_rng(seed).normal(size=(D - 1, 2 * D))
    return A @ A.T / (2 * D)


@pytest.mark.parametrize("D", range(2, 21))
def test_the_papers_route_with_b_corrected_agrees_with_the_closed_form(D):
    sigma = random_covariance(D, seed=D)
    np.testing.assert_allclose(
        CalibratedGaussian(sigma).means,
        means_by_the_papers_route(sigma, corrected=True),
        rtol=0,
        atol=1e-10,
    )


@pytest.mark.parametrize("D", [2, 3])
def test_the_printed_b_agrees_up_to_three_classes(D):
    sigma = random_covariance(D)
    printed = means_by_the_papers_route(sigma, corrected=False)
    np.testing.assert_allclose(CalibratedGaussian(sigma).means, printed, rtol=0, atol=1e-10)


@pytest.mark.parametrize("D", [4, 5, 8])
def test_the_printed_b_disagrees_from_four_classes_on_and_breaks_idempotence(D):
    sigma = random_covariance(D) + 0.5 * np.ones((D - 1, D - 1))
    printed = means_by_the_papers_route(sigma, corrected=False)
    assert np.abs(CalibratedGaussian(sigma).means - printed).max() > 1e-3
    l = np.ones((1, D - 1))
    log_f = [multivariate_normal(mean, sigma).logpdf(l) for mean in printed]
    assert np.abs(Evidence([log_f]).ilr() - l).max() > 1e-3
    right = CalibratedGaussian(sigma).means
    log_f = [multivariate_normal(mean, sigma).logpdf(l) for mean in right]
    np.testing.assert_allclose(Evidence([log_f]).ilr(), l, atol=1e-10)


@given(st.data(), sizes)
def test_the_likelihood_function_of_the_likelihood_function_is_the_likelihood_function(data, D):
    # Densities from scipy, so that nothing of the closed form is used twice.
    basis = data.draw(bases(D))
    family = CalibratedGaussian(data.draw(covariances(D)), basis)
    l = np.random.default_rng(D).normal(scale=3, size=(4, D - 1))
    log_f = np.column_stack(
        [multivariate_normal(mean, family.covariance).logpdf(l) for mean in family.means]
    )
    np.testing.assert_allclose(Evidence(log_f).ilr(Basis(basis.contrast)), l, rtol=0, atol=1e-7)
    np.testing.assert_allclose(family.log_density(l), log_f, rtol=1e-9, atol=1e-7)


@given(st.data(), sizes)
def test_covariance_and_divergences_are_two_names_for_one_thing(data, D):
    basis = data.draw(bases(D))
    sigma = data.draw(covariances(D))
    family = CalibratedGaussian(sigma, basis)
    again = CalibratedGaussian.from_divergences(family.divergences, basis=basis)
    np.testing.assert_allclose(again.covariance, sigma, rtol=0, atol=1e-10)
    np.testing.assert_allclose(again.divergences, family.divergences, rtol=1e-9, atol=1e-11)
    by_rate = CalibratedGaussian.from_eers(family.eers, basis=basis)
    np.testing.assert_allclose(by_rate.divergences, family.divergences, rtol=1e-6, atol=1e-9)


@given(st.data(), sizes)
def test_divergences_are_those_of_gaussians_with_a_shared_covariance(data, D):
    family = CalibratedGaussian(data.draw(covariances(D)), data.draw(bases(D)))
    gap = family.means[:, None, :] - family.means[None, :, :]
    precision = np.linalg.inv(family.covariance)
    expected = 0.5 * np.einsum("ijk,kl,ijl->ij", gap, precision, gap)
    np.testing.assert_allclose(family.divergences, expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(family.divergences, family.divergences.T)
    np.testing.assert_array_equal(np.diag(family.divergences), 0)


@given(st.data(), sizes)
def test_the_mahalanobis_norm_of_every_mean_is_the_same(data, D):
    family = CalibratedGaussian(data.draw(covariances(D)), data.draw(bases(D)))
    norms = np.einsum("ij,jk,ik->i", family.means, np.linalg.inv(family.covariance), family.means)
    np.testing.assert_allclose(norms, norms[0], rtol=1e-7)


@given(st.data(), sizes)
def test_the_basis_does_not_matter(data, D):
    family = CalibratedGaussian(data.draw(covariances(D)), Basis(data.draw(bases(D)).contrast))
    other = Basis(data.draw(bases(D)).contrast)
    turned = family.in_basis(other)
    np.testing.assert_allclose(turned.divergences, family.divergences, rtol=1e-9, atol=1e-10)
    R = family.basis.rotation_to(turned.basis)
    np.testing.assert_allclose(family.means @ R, turned.means, atol=1e-9)
    l = np.random.default_rng(D).normal(size=(3, D - 1))
    np.testing.assert_allclose(turned.log_density(l @ R), family.log_density(l), atol=1e-8)


@given(st.data(), sizes)
def test_the_order_of_the_classes_does_not_matter(data, D):
    family = CalibratedGaussian(data.draw(covariances(D)))
    order = data.draw(st.permutations(range(D)))
    delta = family.divergences[np.ix_(order, order)]
    turned = CalibratedGaussian.from_divergences(delta, classes=order)
    l = family.means
    evidence = family.evidence(l)
    np.testing.assert_allclose(turned.log_density(evidence), family.log_density(l)[:, order],
                               rtol=1e-7, atol=1e-7)  # fmt: skip


@pytest.mark.parametrize("D", [2, 3, 4, 7])
def test_the_papers_m_is_invertible(D):
    """Sigma to divergences is a linear bijection: the paper leaves this open."""
    pairs = [(i, j) for i in range(D - 1) for j in range(i + 1)]
    columns = []
    V = Basis.gram_schmidt(D).contrast
    for i, j in pairs:
        unit = np.zeros((D - 1, D - 1))
        unit[i, j] = unit[j, i] = 1
        wide = 10 * np.eye(D - 1)  # the map is linear: differences of families give its columns
        delta = divergences(wide + unit, V) - divergences(wide, V)
        columns.append(delta[np.triu_indices(D, 1)])
    M = np.column_stack(columns)
    assert M.shape[0] == M.shape[1]
    assert np.linalg.cond(M) < 10 * D**2
