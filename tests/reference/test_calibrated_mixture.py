"""Mixtures of calibrated families: calibrated by construction, with exact divergences and costs."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from deciban import Basis, CalibratedGaussian, CalibratedMixture, metrics
from deciban.exceptions import DecibanError
from tests.strategies import bases, covariances

WEAK, STRONG = (CalibratedGaussian.from_divergences([d]) for d in (1.0, 9.0))
PAIR = CalibratedMixture([WEAK, STRONG], [0.75, 0.25])
NARROW = CalibratedGaussian.from_divergences([1.0, 2.0, 1.5], classes=["a", "b", "c"])
THREE = CalibratedMixture(
    [NARROW, CalibratedGaussian(6 * NARROW.covariance, NARROW.basis)], [0.6, 0.4]
)


@given(data=st.data(), D=st.integers(2, 6))
def test_the_likelihood_function_of_an_ilrl_is_the_ilrl(data, D):
    basis = data.draw(bases(D))
    mixture = CalibratedMixture(
        [data.draw(covariances(D)) for _ in range(3)], [1.0, 2.0, 0.5], basis
    )
    l = np.random.default_rng(0).normal(scale=3, size=(5, D - 1))
    f = mixture.log_density(l)
    scores = mixture.evidence(l).log_likelihoods
    np.testing.assert_allclose(f - f[:, :1], scores - scores[:, :1], rtol=0, atol=1e-9)


@given(data=st.data(), D=st.integers(2, 6))
def test_one_component_is_its_family(data, D):
    family = CalibratedGaussian(data.draw(covariances(D)), data.draw(bases(D)))
    mixture = CalibratedMixture([family])
    l = np.random.default_rng(0).normal(size=(4, D - 1))
    np.testing.assert_allclose(mixture.log_density(l), family.log_density(l), rtol=1e-13)
    for name in ("means", "divergences", "eers"):
        np.testing.assert_allclose(getattr(mixture, name), getattr(family, name), rtol=1e-13)


def test_divergence_is_the_integral_of_the_llr():
    llr = PAIR.llr_distribution(0, 1)
    other = PAIR.llr_distribution(1, 0, given=0)
    found = quad(lambda x: x * float(llr.pdf(x)), -60, 120, points=[0, 1, 9], limit=200)[0]
    assert PAIR.divergences[0, 1] == pytest.approx(found, rel=1e-9)
    assert other.mean() == pytest.approx(-found, rel=1e-9)
    density = quad(
        lambda x: 2**0.5 * x * float(np.exp(PAIR.log_density([[x]])[0, 0])), -60, 90,
        points=[0, 1, 6], limit=200,
    )  # fmt: skip
    assert density[0] == pytest.approx(PAIR.divergences[0, 1], rel=1e-9)


def test_equal_error_rate_is_that_of_an_llr_of_zero():
    rate = 0.75 * norm.cdf(-np.sqrt(0.5)) + 0.25 * norm.cdf(-np.sqrt(4.5))
    assert PAIR.eers[0, 1] == pytest.approx(rate, rel=1e-14)
    assert PAIR.llr_distribution(0, 1).cdf(0.0) == pytest.approx(rate, rel=1e-14)
    assert PAIR.llr_distribution(0, 1, given=1).sf(0.0) == pytest.approx(rate, rel=1e-14)


def test_expected_cllr_is_the_integral_of_the_cost():
    llr = PAIR.llr_distribution(0, 1)
    cost = quad(
        lambda x: np.logaddexp(0, -x) / np.log(2) * float(llr.pdf(x)), -60, 120,
        points=[0, 1, 9], limit=200,
    )[0]  # fmt: skip
    assert PAIR.expected_cllr(0, 1) == pytest.approx(cost, rel=1e-9)
    found = PAIR.expected_cross_entropy(unit="bit")
    assert found.value == pytest.approx(cost, rel=1e-9)
    assert found.standard_error == 0.0


def test_samples_have_the_means_the_divergences_and_the_expected_cost():
    l, y = THREE.sample([40_000] * 3, rng=0)
    codes = np.repeat(np.arange(3), 40_000)
    scores = THREE.evidence(l).log_likelihoods
    for i in range(3):
        error = 5 * l[codes == i].std(axis=0) / 200
        assert np.all(np.abs(l[codes == i].mean(axis=0) - THREE.means[i]) < error)
        llr = (scores[:, [i]] - scores)[codes == i]
        assert np.all(np.abs(llr.mean(axis=0) - THREE.divergences[i]) <= 5 * llr.std(axis=0) / 200)
    expected, error = THREE.expected_cross_entropy(n_samples=20_000)
    assert abs(metrics.cross_entropy(y, THREE.evidence(l)) - expected) < 0.01
    assert 0 < error < 0.01


def test_llrs_have_heavier_tails_than_those_of_the_gaussian_of_the_same_divergence():
    alone = CalibratedGaussian.from_divergences(PAIR.divergences).llr_distribution(0, 1)
    mixed = PAIR.llr_distribution(0, 1)
    assert mixed.mean() == pytest.approx(alone.mean())
    assert mixed.var() > 2 * alone.var()
    drawn = mixed.rvs(40_000, random_state=0)
    assert drawn.var() == pytest.approx(mixed.var(), rel=0.05)
    assert mixed.std() == pytest.approx(np.sqrt(mixed.var()))


def test_another_basis_changes_nothing_but_the_coordinates():
    basis = Basis.comparing("c", "a", classes=["a", "b", "c"])
    turned = THREE.in_basis(basis)
    l, y = THREE.sample([5, 5, 5], rng=0)
    evidence = THREE.evidence(l)
    np.testing.assert_allclose(turned.divergences, THREE.divergences, rtol=1e-12)
    assert turned.log_likelihood(evidence, y) == pytest.approx(THREE.log_likelihood(evidence, y))


def test_families_with_classes_in_another_order_are_matched_by_name():
    delta = NARROW.divergences[np.ix_([2, 0, 1], [2, 0, 1])]
    other = CalibratedGaussian.from_divergences(delta, classes=["c", "a", "b"])
    mixture = CalibratedMixture([NARROW, other])
    np.testing.assert_allclose(mixture.divergences, NARROW.divergences, rtol=1e-12)
    assert mixture.classes == ("a", "b", "c")


@pytest.mark.parametrize("mixture", [PAIR, THREE])
def test_the_fit_is_more_likely_than_the_truth_and_than_its_start(mixture):
    l, y = mixture.sample([200] * mixture.n_classes, rng=2)
    fitted = CalibratedMixture.fit(l, y, 2, basis=mixture.basis)
    sigma = CalibratedGaussian.fit(l, y, mixture.basis).covariance
    start = CalibratedMixture([sigma / 2, 2 * sigma], basis=mixture.basis)
    assert fitted.log_likelihood(l, y) > mixture.log_likelihood(l, y) - 1e-3
    assert fitted.log_likelihood(l, y) > start.log_likelihood(l, y)


def test_fit_recovers_the_mixture_and_bic_finds_its_number_of_components():
    l, y = THREE.sample([2000] * 3, rng=3)
    fitted = CalibratedMixture.fit(l, y)
    assert len(fitted.families) == 2
    np.testing.assert_allclose(fitted.weights, THREE.weights, atol=0.05)
    for found, true in zip(fitted.families, THREE.families, strict=True):
        np.testing.assert_allclose(found.divergences, true.divergences, rtol=0.12)
    gaussian, labels = NARROW.sample([300] * 3, rng=0)
    single = CalibratedMixture.fit(gaussian, labels)
    assert len(single.families) == 1
    np.testing.assert_allclose(
        single.families[0].covariance,
        CalibratedGaussian.fit(gaussian, labels).covariance,
        rtol=1e-12,
    )


def test_labels_do_not_change_the_fit():
    l, y = THREE.sample([50] * 3, rng=3)
    right, wrong = (CalibratedMixture.fit(l, labels, 2) for labels in (y, np.roll(y, 1)))
    np.testing.assert_array_equal(right.divergences, wrong.divergences)


def test_many_equal_samples_do_not_draw_a_component_onto_them():
    l = np.concatenate([np.zeros((50, 1)), PAIR.sample([50, 50], rng=0)[0]])
    fitted = CalibratedMixture.fit(l, np.arange(150) % 2, 2)
    single = CalibratedGaussian.fit(l, np.arange(150) % 2)
    assert fitted.families[0].covariance[0, 0] >= 0.001 * single.covariance[0, 0]


def test_far_ilrls_keep_their_likelihood_ratio():
    f = PAIR.log_density([[800.0], [-800.0]])
    np.testing.assert_allclose(f[:, 0] - f[:, 1], [800 * 2**0.5, -800 * 2**0.5], rtol=1e-10)


def test_it_is_immutable_and_comes_back_from_a_pickle():
    with pytest.raises(AttributeError, match="a CalibratedMixture is immutable"):
        PAIR.weights = [1.0]
    again = pickle.loads(pickle.dumps(THREE))
    np.testing.assert_array_equal(again.divergences, THREE.divergences)
    assert again.classes == THREE.classes
    assert repr(PAIR) == "<CalibratedMixture of 2 families, 2 classes: divergences 3 nat>"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CalibratedMixture([]), "at least one family"),
        (lambda: CalibratedMixture([WEAK, STRONG], [1.0]), "2 positive numbers"),
        (lambda: CalibratedMixture([WEAK, STRONG], [1.0, 0.0]), "2 positive numbers"),
        (lambda: CalibratedMixture([WEAK, NARROW]), "must all have the classes"),
        (lambda: CalibratedMixture.fit([[1.0], [2.0]], [0, 1], 0), "n_components must be"),
        (lambda: CalibratedMixture.fit([[1.0], [2.0]], [0, 1], 2, n_starts=0), "n_starts must be"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(build, message):
    with pytest.raises(DecibanError, match=message):
        build()


def test_many_ilrls_that_are_zero_are_a_component_of_their_own():
    l = [[0.0]] * 60 + [[4.0], [-4.0]] * 20
    fitted = CalibratedMixture.fit(l, [0, 1] * 50)
    assert fitted.weights[0] == pytest.approx(0.6, abs=0.1)
    assert fitted.families[0].covariance[0, 0] < 0.1


def test_weights_count_samples_and_hide_those_of_hardly_any_weight():
    l, y = THREE.sample([100, 100, 100], rng=0)
    weight = np.r_[np.ones(300), np.full(50, 1e-9)]
    junk = np.concatenate([l, 50.0 * np.random.default_rng(0).normal(size=(50, 2))])
    labels = np.concatenate([y, y[:50]])
    plain = CalibratedMixture.fit(l, y, 2, basis=THREE.basis)
    weighted = CalibratedMixture.fit(junk, labels, 2, basis=THREE.basis, sample_weight=weight)
    np.testing.assert_allclose(weighted.divergences, plain.divergences, rtol=1e-3)
    twice = CalibratedMixture.fit(np.repeat(l, 2, axis=0), np.repeat(y, 2), 2, basis=THREE.basis)
    np.testing.assert_allclose(twice.divergences, plain.divergences, rtol=1e-3)
