"""The logistic cost: inner names, since every fit rests on its derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban import Basis, Evidence
from deciban._estimation.logistic import Design, LogisticCost
from strategies import seeds


@settings(max_examples=20)
@given(
    st.sampled_from([2, 3, 5]),
    st.sampled_from(["scalar", "diagonal", "full"]),
    st.sampled_from([1, 3]),
    st.sampled_from([0, 1, 3]),
    seeds,
)
def test_slope_and_curvature_are_those_of_differences(D, scale, n_vectors, n_covariates, seed):
    rng, n = np.random.default_rng(seed), 12
    covariates = np.vstack([np.ones(n), rng.normal(size=(2, n))])[:n_covariates]
    design = Design(rng.normal(size=(n_vectors, D - 1, n)), covariates)
    truth, weight = rng.integers(0, D, n), rng.dirichlet(np.ones(n))
    V, prior = Basis.gram_schmidt(D).contrast, np.log(rng.dirichlet(np.ones(D)))
    cost = LogisticCost(design, truth, weight, prior, V, scale, 0.1, 0.5)
    theta = rng.normal(size=cost.n_parameters)
    here = cost.at(theta)
    evidence = Evidence.from_ilr(design.ilr(theta, scale, D - 1))
    log_p = evidence.log_posterior(np.exp(prior))[np.arange(n), truth]
    pull = 0.1 * np.sum((theta - 0.5) ** 2)
    np.testing.assert_allclose(here.value, pull - weight @ log_p, rtol=1e-12)
    step = 1e-6
    for k, unit in enumerate(np.eye(len(theta))):
        ahead, behind = cost.at(theta + step * unit), cost.at(theta - step * unit)
        np.testing.assert_allclose(here.slope[k], (ahead.value - behind.value) / 2e-6, atol=1e-7)
        np.testing.assert_allclose(here.matrix[k], (ahead.slope - behind.slope) / 2e-6, atol=1e-6)
        np.testing.assert_allclose(here.matrix[k], here._times(unit), atol=1e-12)


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_slopes_of_samples_are_derivatives_of_their_ilrls(scale):
    rng = np.random.default_rng(0)
    design = Design(rng.normal(size=(2, 3, 7)), np.vstack([np.ones(7), rng.normal(size=7)]))
    direction = rng.normal(size=(3, 7))
    slopes = design.slopes(direction, scale)
    theta = rng.normal(size=len(slopes))
    along = np.einsum("in,ni->n", direction, design.ilr(theta, scale, 3))
    np.testing.assert_allclose(theta @ slopes, along)
