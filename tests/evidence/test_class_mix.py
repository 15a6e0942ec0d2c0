"""The class mix of unlabeled samples: against brute force, closed forms and simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest, chi2

from deciban import Evidence
from deciban.exceptions import InputError, UnknownClassError
from strategies import seeds


def draw(mix, n, strength, rng):
    y = rng.choice(len(mix), n, p=mix)
    x = rng.normal(size=(n, len(mix))) + strength * np.eye(len(mix))[y]
    return Evidence(strength * x)


def log_likelihood(evidence, shares):
    with np.errstate(divide="ignore"):
        terms = evidence.log_likelihoods + np.log(shares)
    return np.logaddexp.reduce(terms, axis=1).sum()


def test_the_shares_of_two_classes_are_those_of_a_search_by_golden_section(rng):
    evidence = draw([0.3, 0.7], 200, 1.0, rng)
    best = minimize_scalar(
        lambda s: -log_likelihood(evidence, [1 - s, s]), bounds=(0, 1), options={"xatol": 1e-10}
    )
    np.testing.assert_allclose(evidence.estimate_prior().shares[1], best.x, atol=1e-6)


@given(seeds, st.integers(2, 12), st.integers(1, 60), st.floats(0.1, 8))
def test_no_class_could_gain_share_at_the_maximum(seed, D, n, strength):
    rng = np.random.default_rng(seed)
    evidence = draw(rng.dirichlet(np.full(D, 0.5)), n, strength, rng)
    shares = evidence.estimate_prior().shares
    slope = (evidence.posterior() / (evidence.posterior() @ shares)[:, None]).mean(axis=0)
    assert slope.max() <= 1 + 1e-7  # the condition of Karush, Kuhn and Tucker
    np.testing.assert_allclose(slope[shares > 1e-6], 1, atol=1e-4)
    np.testing.assert_allclose(shares.sum(), 1)


def test_em_of_saerens_ends_where_the_estimate_is(rng):
    evidence = draw([0.6, 0.3, 0.1], 100, 2.0, rng)
    prior = np.full(3, 1 / 3)
    for _ in range(1000):
        prior = evidence.posterior(prior).mean(axis=0)
    np.testing.assert_allclose(evidence.estimate_prior().shares, prior, atol=1e-6)


def test_samples_that_name_their_class_are_counted():
    certain = Evidence.from_likelihoods(np.eye(3)[[0, 0, 0, 1]])
    found = certain.estimate_prior([0.5, 0.25, 0.25])
    np.testing.assert_allclose(found.shares, [0.75, 0.25, 0])
    assert found.shares[2] == found.low[2] == 0
    # The likelihood-ratio interval of a binomial number, 3 of 4.
    drop = [binom.logpmf(3, 4, 0.75) - binom.logpmf(3, 4, p) for p in (found.low[0], found.high[0])]
    np.testing.assert_allclose(drop, chi2.ppf(0.95, 1) / 2, rtol=1e-6)
    # None of 4: the share of which a sample of four holds none in 2.5 % of draws.
    np.testing.assert_allclose((1 - found.high[2]) ** 4, 0.025, rtol=1e-6)


def test_neutral_evidence_leaves_every_mix_possible():
    found = Evidence(np.zeros((5, 3))).estimate_prior([0.1, 0.2, 0.7])
    np.testing.assert_array_equal(found.low, 0)
    np.testing.assert_array_equal(found.high, 1)
    assert found.p_value == 1


def test_classes_that_evidence_does_not_tell_apart_share_in_any_way():
    llr = np.random.default_rng(0).normal(2, 2, size=200)
    found = Evidence(np.column_stack([0 * llr, llr, llr])).estimate_prior()
    assert (found.low[1:] == 0).all()
    assert (found.high[1:] > 0.8).all()


@pytest.mark.parametrize("size", [5.0, 800.0, 1e6])
def test_evidence_of_any_strength_has_an_estimate(size):
    evidence = Evidence.from_llr(size * np.array([1.0, 1.0, -1.0, np.inf]))
    found = evidence.estimate_prior([0.5, 0.5])
    assert 0.5 < found.shares[1] < 1
    assert (found.low <= found.shares).all()
    assert (found.shares <= found.high).all()
    np.testing.assert_allclose(found.low[0], 1 - found.high[1], atol=1e-8)


def test_one_sample_and_a_thousand_classes_have_intervals(rng):
    one = Evidence.from_llr([3.0]).estimate_prior([0.5, 0.5])
    assert one.shares.tolist() == [0, 1]
    assert one.low[1] < 0.1
    many = draw(np.full(1000, 0.001), 60, 2.0, rng).estimate_prior(np.full(1000, 0.001))
    np.testing.assert_allclose(many.shares.sum(), 1)
    assert np.mean((many.low <= 0.001) & (many.high >= 0.001)) > 0.95
    assert many.p_value > 0.01


def test_the_estimate_is_a_prior_that_rules_no_class_out():
    evidence = Evidence.from_likelihoods(np.eye(3)[[0, 0, 0, 1]], classes=["a", "b", "c"])
    found = evidence.estimate_prior()
    np.testing.assert_allclose(
        [found[c] for c in "abc"], [(3 + 1 / 3) / 5, (1 + 1 / 3) / 5, 1 / 15]
    )
    reordered = Evidence(np.zeros((1, 3)), classes=["c", "b", "a"])
    np.testing.assert_allclose(reordered.posterior(found)[0, ::-1], list(found.values()))
    with pytest.raises(UnknownClassError):
        found["d"]


def test_results_do_not_depend_on_the_order_of_classes(rng):
    evidence = draw([0.6, 0.3, 0.1], 50, 1.0, rng)
    found = evidence.estimate_prior()
    turned = evidence.restrict([2, 0, 1]).estimate_prior()
    for name in ("shares", "low", "high"):
        np.testing.assert_allclose(
            getattr(turned, name), getattr(found, name)[[2, 0, 1]], atol=1e-6
        )


def test_a_shift_is_found_and_no_shift_is_not(rng):
    evidence = draw([0.8, 0.1, 0.1], 500, 1.5, rng)
    assert evidence.estimate_prior([1 / 3] * 3).p_value == 0.001
    assert evidence.estimate_prior([0.8, 0.1, 0.1]).p_value > 0.01
    assert evidence.estimate_prior().p_value is None


def test_the_test_of_samples_that_name_their_class_is_the_exact_multinomial_one():
    for n_ones, n in ((3, 3), (7, 8), (16, 20)):
        evidence = Evidence.from_llr(np.where(np.arange(n) < n_ones, np.inf, -np.inf))
        expected = binomtest(n_ones, n).pvalue
        found = evidence.estimate_prior([0.5, 0.5], n_resamples=9999).p_value
        assert found == pytest.approx(expected, abs=0.015)


def test_a_shift_is_found_beside_a_class_that_hardly_ever_occurs(rng):
    evidence = draw([0.8, 0.2, 0.0], 300, 3.0, rng)
    rare = 1e-14
    assert evidence.estimate_prior([0.2 - rare, 0.8, rare]).p_value == 0.001
    assert evidence.estimate_prior([0.8 - rare, 0.2, rare]).p_value > 0.01


def test_a_class_that_every_sample_rules_out_has_no_share(rng):
    possible = draw([0.5, 0.5], 50, 2.0, rng).log_likelihoods
    found = Evidence(np.column_stack([possible, np.full(50, -np.inf)])).estimate_prior(
        [0.4, 0.4, 0.2]
    )
    assert found.shares[2] == 0
    np.testing.assert_allclose((1 - found.high[2]) ** 50, 0.025, rtol=1e-6)
    assert found.p_value < 0.05


def test_many_samples_are_tested_like_few(rng):
    evidence = draw([0.5, 0.3, 0.2], 20_000, 1.0, rng)
    assert evidence.estimate_prior([0.5, 0.3, 0.2]).p_value > 0.01
    assert evidence.estimate_prior([0.45, 0.33, 0.22]).p_value < 0.01


def test_a_long_estimate_prints_its_first_and_last_classes():
    text = repr(Evidence(np.zeros((2, 30))).estimate_prior())
    assert text.startswith("Class mix of 2 samples, 95 % intervals\n  0: 0.0333 (0.0000 to 1.0000)")
    assert "..." in text
    assert "29" in text


def test_an_empty_batch_has_no_class_mix():
    with pytest.raises(InputError, match="must hold samples"):
        Evidence(np.zeros((0, 2))).estimate_prior()


@pytest.mark.slow
@pytest.mark.parametrize("mix", [[0.5, 0.5], [0.02, 0.98], [0.2, 0.3, 0.5], [0.0, 0.3, 0.7]])
@pytest.mark.parametrize("strength", [0.7, 3.0])
def test_intervals_contain_the_mix_and_the_test_holds_its_level(mix, strength, rng):
    mix, held, rejected = np.array(mix), 0, 0
    for _ in range(300):
        found = draw(mix, 100, strength, rng).estimate_prior(
            mix if mix.min() > 0 else None, n_resamples=199, rng=rng
        )
        held += (found.low <= mix + 1e-9) & (mix <= found.high + 1e-9)
        rejected += found.p_value is not None and found.p_value <= 0.05
    assert held.min() >= 0.91 * 300  # 95 % less three standard errors
    assert rejected <= 0.09 * 300
