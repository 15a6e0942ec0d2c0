"""Maximum likelihood under the constraint: against a closed form, the truth and every neighbour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban import Basis, CalibratedGaussian, Evidence
from deciban.exceptions import ConvergenceError, InputError, UnknownClassError
from deciban.reference.fitting import _Loss, _minimize, fit_covariance
from strategies import bases, covariances, seeds


@given(seeds, st.floats(0.01, 100))
@settings(max_examples=30)
def test_two_classes_have_a_closed_form(seed, scale):
    # The likelihood is flat where sigma^2 / 2 + sigma - mean(l^2) = 0.
    l = np.random.default_rng(seed).normal(scale=scale, size=(50, 1))
    fitted = fit_covariance(l, Basis.gram_schmidt(2).contrast)
    np.testing.assert_allclose(fitted, [[-1 + np.sqrt(1 + 2 * (l**2).mean())]], rtol=1e-10)


@pytest.mark.parametrize("D", [2, 3, 5, 10])
def test_the_truth_is_found_from_many_samples(D):
    A = np.random.default_rng(D).normal(size=(D - 1, D - 1))
    truth = CalibratedGaussian(A @ A.T + 0.2 * np.eye(D - 1))
    l, y = truth.sample([20_000] * D, rng=D)
    fitted = CalibratedGaussian.fit(l, y)
    scale = np.abs(truth.covariance).max()
    np.testing.assert_allclose(fitted.covariance, truth.covariance, atol=0.03 * scale)
    # Wilks: twice the gain over the truth is about chi-squared with D (D - 1) / 2 degrees.
    gain = 2 * (fitted.log_likelihood(l, y) - truth.log_likelihood(l, y))
    degrees = D * (D - 1) / 2
    assert 0 <= gain < degrees + 5 * np.sqrt(2 * degrees)


@given(st.data(), st.integers(2, 6), seeds)
@settings(max_examples=8)
def test_no_neighbor_is_more_likely(data, D, seed):
    rng = np.random.default_rng(seed)
    truth = CalibratedGaussian(data.draw(covariances(D)))
    l, y = truth.sample([40] * D, rng)
    l = 1.5 * l + 0.3 * rng.normal(size=D - 1)  # neither calibrated nor centered
    fitted = CalibratedGaussian.fit(l, y)
    best = fitted.log_likelihood(l, y)
    L = np.linalg.cholesky(fitted.covariance)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(5):
            A = L @ (np.eye(D - 1) + size * np.tril(rng.normal(size=(D - 1, D - 1))))
            assert CalibratedGaussian(A @ A.T).log_likelihood(l, y) <= best + 1e-6


@given(st.data(), st.integers(2, 8), seeds)
@settings(max_examples=15)
def test_the_basis_does_not_matter(data, D, seed):
    truth = CalibratedGaussian(data.draw(covariances(D)))
    l, y = truth.sample([60] * D, rng=seed)
    basis = Basis(data.draw(bases(D)).contrast)
    R = Basis.gram_schmidt(D).rotation_to(basis)
    here = CalibratedGaussian.fit(l, y)
    there = CalibratedGaussian.fit(l @ R, y, basis=basis)
    np.testing.assert_allclose(there.divergences, here.divergences, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("D", [3, 4, 5])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_the_highest_of_several_peaks_is_found(D, seed):
    # ILRLs with a mean that no calibrated family has: the likelihood has several peaks.
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(D - 1, D - 1))
    truth = CalibratedGaussian(A @ A.T + 0.1 * np.eye(D - 1))
    l, _ = truth.sample([10] * D, rng)
    l = l + 3
    V = Basis.gram_schmidt(D).contrast
    S, m = np.cov(l.T, bias=True), l.mean(axis=0)
    found = _Loss(np.linalg.cholesky(fit_covariance(l, V)), S, m, V).value
    for _ in range(15):
        A = np.exp(1.5 * rng.normal()) * rng.normal(size=(D - 1, D + 1))
        peak = _minimize(_Loss(np.linalg.cholesky(A @ A.T), S, m, V))
        assert peak.steepness > 1e-5 or peak.value > found - 1e-6


@pytest.mark.parametrize("D", [4, 6, 8])
def test_as_few_samples_as_classes_will_do(D):
    A = np.random.default_rng(D).normal(size=(D - 1, D - 1))
    truth = CalibratedGaussian(A @ A.T + 0.1 * np.eye(D - 1))
    l, y = truth.sample([1] * D, rng=D)
    fitted = CalibratedGaussian.fit(l, y)
    assert fitted.log_likelihood(l, y) >= truth.log_likelihood(l, y)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e12])
def test_one_sample_of_two_classes_will_do(scale):
    fitted = CalibratedGaussian.fit([[scale]], [0], classes=[0, 1])
    sigma = fitted.covariance[0, 0]
    np.testing.assert_allclose(sigma**2 / 2 + sigma, scale**2, rtol=1e-12)


def test_a_fit_that_cannot_be_finished_says_so(monkeypatch):
    monkeypatch.setattr("deciban.reference.fitting._STEPS", 30)
    l = 100 + 1e-3 * np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ConvergenceError, match="slope is still"):
        CalibratedGaussian.fit(l, np.arange(50) % 5)


def test_labels_change_the_likelihood_but_not_the_estimate():
    truth = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0])
    l, y = truth.sample([200, 200, 200], rng=0)
    right, wrong = CalibratedGaussian.fit(l, y), CalibratedGaussian.fit(l, (y + 1) % 3)
    np.testing.assert_array_equal(right.covariance, wrong.covariance)
    assert right.log_likelihood(l, y) > right.log_likelihood(l, (y + 1) % 3) + 1000


def test_evidence_is_taken_with_its_classes():
    truth = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=["c", "a", "b"])
    l, y = truth.sample([300, 300, 300], rng=0)
    evidence = truth.evidence(l)
    fitted = CalibratedGaussian.fit(evidence, y)
    assert fitted.classes == ("c", "a", "b")
    turned = CalibratedGaussian.fit(evidence, y, classes=["a", "b", "c"])
    assert turned.classes == ("a", "b", "c")
    order = [1, 2, 0]
    np.testing.assert_allclose(
        turned.divergences, fitted.divergences[np.ix_(order, order)], rtol=1e-8
    )
    np.testing.assert_allclose(
        turned.log_likelihood(evidence, y), fitted.log_likelihood(evidence, y), rtol=1e-9
    )


def test_the_constraint_can_be_tested_by_a_likelihood_ratio():
    """Over-confident ILRLs fit a free Gaussian far better than any calibrated one."""
    truth = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = truth.sample([500] * 3, rng=0)

    def free(l):
        means = np.array([l[y == k].mean(axis=0) for k in range(3)])
        S = (l - means[y]).T @ (l - means[y]) / len(l)
        return -len(l) / 2 * (np.log(np.linalg.det(2 * np.pi * S)) + 2)

    def gain(l):
        return 2 * (free(l) - CalibratedGaussian.fit(l, y).log_likelihood(l, y))

    assert 0 < gain(l) < 30  # chi-squared, 9 - 3 = 6 degrees of freedom
    assert gain(2 * l) > 300


def test_labels_may_be_text_and_a_class_may_be_missing():
    truth = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=["a", "b", "c"])
    l, y = truth.sample({"a": 50, "b": 50}, rng=0)
    assert CalibratedGaussian.fit(l, y, classes=["a", "b", "c"]).n_classes == 3
    assert CalibratedGaussian.fit(l, y.tolist(), basis=truth.basis).classes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CalibratedGaussian.fit([[1.0]], [0, 1]), r"each of 1 samples; got shape \(2,\)"),
        (lambda: CalibratedGaussian.fit(np.eye(2), [0, 1]), "for 2 classes; got.*as Evidence"),
        (lambda: CalibratedGaussian.fit([[0.0], [0.0]], [0, 1]), "must not all be zero"),
        (lambda: CalibratedGaussian.fit([[1.0], [1.0]], [[0, 1]]), "must be one row"),
        (lambda: CalibratedGaussian.fit(np.ones((5, 2)) * np.arange(5)[:, None], list("aabbc")),
         "got 5 samples that vary in 1"),
        (lambda: CalibratedGaussian.fit([[np.nan], [1.0]], [0, 1]), "must not contain NaN"),
        (lambda: CalibratedGaussian.fit([[2.0], [1.0]], [None, 1], classes=[0, 1]), "got None"),
        (lambda: CalibratedGaussian.fit([[1.0], [2.0]], [0, 0]), "at least 2"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_fitted_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_unknown_label_is_refused():
    with pytest.raises(UnknownClassError):
        CalibratedGaussian.fit(Evidence([[0.0, 1.0], [1.0, 0.0]]), ["x", "y"])


@pytest.mark.parametrize("D", [2, 3])
def test_ilrls_whose_squares_overflow_are_refused_without_a_warning(D):
    l = np.random.default_rng(0).normal(size=(9, D - 1))
    l[4] = -1e300
    with pytest.raises(InputError, match=r"ilrls must lie between.*row 4 reaches 1e\+300"):
        CalibratedGaussian.fit(l, np.arange(9) % D)
