"""The laws of the geometry, for compositions and bases of every kind, D from 2 to 50."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deciban import simplex
from deciban.simplex import Basis, logparts
from strategies import bases, log_compositions

numbers = st.floats(-3, 3)


def assert_close(actual, desired, atol=1e-10):
    np.testing.assert_allclose(actual, desired, rtol=1e-10, atol=atol)


def assert_same(log_x, log_y, atol=1e-10):
    """The same compositions, whatever constant each row carries."""
    assert_close(logparts.clr(log_x), logparts.clr(log_y), atol)


# --- the vector space -----------------------------------------------------------------


@given(log_compositions(2))
def test_perturbation_commutes(pair):
    x, y = pair
    assert_same(logparts.perturb(x, y), logparts.perturb(y, x))


@given(log_compositions(3))
def test_perturbation_is_associative(triple):
    x, y, z = triple
    assert_same(
        logparts.perturb(logparts.perturb(x, y), z), logparts.perturb(x, logparts.perturb(y, z))
    )


@given(log_compositions(1))
def test_the_uniform_composition_is_the_zero(single):
    (x,) = single
    assert_same(logparts.perturb(x, np.zeros_like(x)), x)


@given(log_compositions(1))
def test_the_inverse_of_a_composition_is_its_power_of_minus_one(single):
    (x,) = single
    assert_same(logparts.perturb(x, logparts.power(-1, x)), np.zeros_like(x))


@given(log_compositions(2), numbers)
def test_powering_distributes_over_perturbation(pair, a):
    x, y = pair
    assert_same(
        logparts.power(a, logparts.perturb(x, y)),
        logparts.perturb(logparts.power(a, x), logparts.power(a, y)),
        atol=1e-9,
    )


@given(log_compositions(1), numbers, numbers)
def test_powers_add_and_multiply(single, a, b):
    (x,) = single
    assert_same(
        logparts.power(a + b, x),
        logparts.perturb(logparts.power(a, x), logparts.power(b, x)),
        atol=1e-9,
    )
    assert_same(logparts.power(a * b, x), logparts.power(a, logparts.power(b, x)), atol=1e-9)
    assert_same(logparts.power(1, x), x)


@given(log_compositions(3), numbers)
def test_the_inner_product_is_symmetric_linear_and_positive(triple, a):
    x, y, z = triple
    scale = 1 + logparts.norm(x) * (1 + logparts.norm(y) + logparts.norm(z))
    assert_close(logparts.inner(x, y) / scale, logparts.inner(y, x) / scale)
    combined = logparts.perturb(logparts.power(a, y), z)
    expected = a * logparts.inner(x, y) + logparts.inner(x, z)
    assert_close(logparts.inner(x, combined) / scale, expected / scale)
    assert_close(logparts.norm(x) ** 2, logparts.inner(x, x))
    assert (logparts.norm(x) > 0).all()


@given(log_compositions(1))
def test_the_norm_is_the_papers_double_sum_with_2d_below(single):
    (x,) = single
    ratios = x[:, :, None] - x[:, None, :]
    assert_close(logparts.norm(x), np.sqrt((ratios**2).sum(axis=(1, 2)) / (2 * x.shape[1])))


@given(log_compositions(3))
def test_distance_is_a_metric_that_perturbation_leaves_alone(triple):
    x, y, z = triple
    d = logparts.distance
    assert_close(d(x, y), d(y, x))
    assert_close(d(x, x), 0)
    assert (d(x, z) <= d(x, y) + d(y, z) + 1e-9).all()
    assert_close(d(logparts.perturb(x, z), logparts.perturb(y, z)), d(x, y))


# --- coordinates ----------------------------------------------------------------------


@given(st.data(), log_compositions(2))
def test_ilr_is_an_isometry_in_every_basis(data, pair):
    x, y = pair
    basis = data.draw(bases(x.shape[1]))
    zx, zy = logparts.ilr(x, basis), logparts.ilr(y, basis)
    assert_close(np.linalg.norm(zx - zy, axis=1), logparts.distance(x, y))
    scale = 1 + logparts.norm(x) * logparts.norm(y)
    assert_close((zx * zy).sum(axis=1) / scale, logparts.inner(x, y) / scale)


@given(st.data(), log_compositions(2))
def test_ilr_turns_perturbation_into_a_sum_in_every_basis(data, pair):
    x, y = pair
    basis = data.draw(bases(x.shape[1]))
    total = logparts.ilr(logparts.perturb(x, y), basis)
    assert_close(total, logparts.ilr(x, basis) + logparts.ilr(y, basis))


@given(st.data(), log_compositions(1))
def test_every_transform_has_an_inverse(data, single):
    (x,) = single
    basis = data.draw(bases(x.shape[1]))
    reference = data.draw(st.integers(-x.shape[1], x.shape[1] - 1))
    closed = logparts.closure(x)
    assert_close(logparts.clr_inv(logparts.clr(x)), closed)
    assert_close(logparts.alr_inv(logparts.alr(x, reference), reference), closed)
    assert_close(logparts.ilr_inv(logparts.ilr(x, basis), basis), closed)
    z = logparts.ilr(x, basis)
    assert_close(logparts.ilr(logparts.ilr_inv(z, basis), basis), z)


@given(st.data(), log_compositions(1))
def test_rotations_take_coordinates_from_one_basis_to_another(data, single):
    (x,) = single
    here, there = data.draw(bases(x.shape[1])), data.draw(bases(x.shape[1]))
    R = Basis(here.contrast).rotation_to(Basis(there.contrast))
    assert_close(R @ R.T, np.eye(len(R)))
    assert_close(logparts.ilr(x, here) @ R, logparts.ilr(x, there))


@given(st.data(), log_compositions(1))
def test_scale_does_not_matter(data, single):
    (x,) = single
    basis = data.draw(bases(x.shape[1]))
    shifted = x + data.draw(st.floats(-500, 500))
    for function in (logparts.closure, logparts.clr, logparts.alr, logparts.norm):
        assert_close(function(shifted), function(x))
    assert_close(logparts.ilr(shifted, basis), logparts.ilr(x, basis))


@given(st.data(), log_compositions(2))
def test_the_order_of_the_parts_does_not_matter(data, pair):
    x, y = pair
    order = data.draw(st.permutations(range(x.shape[1])))
    x_, y_ = x[:, order], y[:, order]
    for function in (logparts.closure, logparts.clr):
        assert_close(function(x_), function(x)[:, order])
    assert_close(logparts.norm(x_), logparts.norm(x))
    assert_close(logparts.distance(x_, y_), logparts.distance(x, y))
    basis = data.draw(bases(x.shape[1]))
    named = Basis(basis.contrast, classes=range(x.shape[1]))
    assert_close(logparts.ilr(x_, named.align_to(order)), logparts.ilr(x, named))


# --- parts and log-parts --------------------------------------------------------------


@given(st.data(), log_compositions(2, spread=5.0))
def test_parts_and_log_parts_agree(data, pair):
    log_x, log_y = pair
    x, y = np.exp(log_x), np.exp(log_y)
    basis = data.draw(bases(x.shape[1]))
    a = data.draw(numbers)
    z = logparts.ilr(log_x, basis)
    assert_close(simplex.closure(x), np.exp(logparts.closure(log_x)))
    assert_close(simplex.perturb(x, y), np.exp(logparts.perturb(log_x, log_y)))
    assert_close(simplex.power(a, x), np.exp(logparts.power(a, log_x)))
    assert_close(simplex.inner(x, y), logparts.inner(log_x, log_y), atol=1e-8)
    assert_close(simplex.norm(x), logparts.norm(log_x))
    assert_close(simplex.distance(x, y), logparts.distance(log_x, log_y))
    assert_close(simplex.clr(x), logparts.clr(log_x))
    assert_close(simplex.alr(x, 0), logparts.alr(log_x, 0))
    assert_close(simplex.ilr(x, basis), z)
    assert_close(simplex.ilr_inv(z, basis), np.exp(logparts.ilr_inv(z, basis)))
    assert_close(simplex.clr_inv(log_x), np.exp(logparts.clr_inv(log_x)))
    assert_close(simplex.alr_inv(log_x, 1), np.exp(logparts.alr_inv(log_x, 1)))
    assert_close(simplex.mean(x), np.exp(logparts.mean(log_x)))
    assert_close(simplex.variance(x), logparts.variance(log_x), atol=1e-8)
    assert_close(simplex.variation_matrix(x), logparts.variation_matrix(log_x), atol=1e-8)
    assert_close(simplex.subcomposition(x, [1, 0]), np.exp(logparts.subcomposition(log_x, [1, 0])))
    groups = [[0], list(range(1, x.shape[1]))]
    assert_close(simplex.amalgamate(x, groups), np.exp(logparts.amalgamate(log_x, groups)))
