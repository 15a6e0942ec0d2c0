"""Where logarithms, sums and exponentials go wrong first."""

import numpy as np
import pytest

from deciban import Evidence, simplex
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis, logparts


def test_likelihoods_of_e_minus_800_lose_nothing():
    log_x = np.array([[-800.0, -801.0, -803.0]])
    near_zero = log_x + 800
    np.testing.assert_allclose(logparts.ilr(log_x), logparts.ilr(near_zero), rtol=0, atol=1e-15)
    np.testing.assert_allclose(logparts.closure(log_x), logparts.closure(near_zero), rtol=1e-15)


def test_an_offset_of_a_million_nats_loses_nothing():
    log_x = np.array([[0.0, 0.25, -3.5]])  # exact in binary with an offset of 2**20
    shifted = log_x - 2**20
    for function in (logparts.ilr, logparts.clr, logparts.norm, logparts.closure):
        np.testing.assert_array_equal(function(shifted), function(log_x))


def test_the_log_of_a_part_next_to_one_keeps_its_digits():
    # log(1 / (1 + e^-50)) = -log1p(e^-50); a plain log-sum-exp gives 0.
    top = logparts.closure([0.0, -50.0])[0]
    np.testing.assert_allclose(top, -np.log1p(np.exp(-50.0)), rtol=1e-14)
    assert top < 0


def test_the_log_of_tied_parts_is_exact():
    np.testing.assert_array_equal(logparts.closure([-3.0, -3.0]), [-np.log(2), -np.log(2)])


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e300, 1.7e308])
def test_closure_neither_overflows_nor_underflows(scale):
    x = np.array([1.0, 1.0, 1.0, 1.0]) * scale
    np.testing.assert_allclose(simplex.closure(x), 0.25, rtol=1e-15)


def test_closure_of_tiny_single_precision_parts_is_right():
    x = np.array([1e-44, 3e-44], dtype=np.float32)
    result = simplex.closure(x)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, x.astype(float) / x.astype(float).sum(), rtol=1e-6)


def test_perturbation_does_not_underflow_on_the_way():
    x, y = [1.0, 1e-200], [1e-200, 1.0]
    np.testing.assert_allclose(simplex.perturb(x, y), [0.5, 0.5], rtol=1e-15)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([1, 1e-170, 1e-170], [1e-300, 1, 1e-200], [1e-130, 1, 1e-200]),
        ([1, 1e-200, 0], [0, 1e-200, 1], [0, 1, 0]),
        ([1e-320, 1.0], [1.0, 1e-320], [0.5, 0.5]),
    ],
)
def test_perturbation_of_extremes_is_right(x, y, expected):
    np.testing.assert_allclose(simplex.perturb(x, y), expected, rtol=1e-3)


@pytest.mark.parametrize("a", [1e308, -1e308, 1e-300])
def test_no_exponent_is_too_large(a):
    result = simplex.power(a, [1.0, 1e300])
    np.testing.assert_allclose(result, {1e308: [0, 1], -1e308: [1, 0], 1e-300: [0.5, 0.5]}[a])
    assert np.isfinite(logparts.power(a, [0.0, 1.0])[1 if a > 0 else 0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_exponentials_are_taken_where_they_neither_overflow_nor_vanish(dtype):
    top = float(np.log(np.finfo(dtype).max))
    for offset in (-2 * top, -top, -0.95 * top, 0.95 * top, 1.05 * top, 2 * top):
        z = np.full(300, offset, dtype=dtype)
        np.testing.assert_allclose(simplex.clr_inv(z), 1 / 300, rtol=1e-2)
        assert simplex.clr_inv(z).dtype == dtype


def test_amalgamation_and_replacement_do_not_overflow():
    np.testing.assert_allclose(
        simplex.amalgamate([[1e308, 1e308, 1e308]], [[0, 1], [2]]), [[2 / 3, 1 / 3]]
    )
    r = simplex.replace_zeros([1e308, 1e308, 0], detection_limit=1e306)
    np.testing.assert_allclose(r[2], 0.65e306 / 1e308 / 2, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_norms_neither_overflow_nor_vanish(size):
    np.testing.assert_allclose(logparts.norm([0.0, size]), size / np.sqrt(2), rtol=1e-14)
    direction = Evidence([[size, 0.0]]).direction()
    np.testing.assert_allclose(direction, [[1.0]])


def test_precision_does_not_depend_on_which_part_is_far_away():
    for far in (-1e12, 1e12):
        for k in range(3):
            log_x = np.insert([0.1, 0.3], k, far)
            near = [i for i in range(3) if i != k]
            basis = Basis.comparing(near[0], near[1], classes=3)
            np.testing.assert_allclose(logparts.ilr(log_x, basis)[0], -0.2 / np.sqrt(2), rtol=1e-12)
            ratios = logparts.alr(log_x, near[1])  # to the far part, and the near one
            np.testing.assert_allclose(np.abs(ratios).min(), 0.2, rtol=1e-14)
            llr = Evidence([log_x]).llr(near[0], near[1])
            np.testing.assert_allclose(llr, [-0.2], rtol=1e-14)


def test_large_coordinates_come_back_through_log_parts():
    z = np.array([[2000.0, -1500.0, 10.0]])
    np.testing.assert_allclose(logparts.ilr(logparts.ilr_inv(z)), z, rtol=0, atol=1e-12)


def test_large_coordinates_give_closed_parts():
    x = simplex.ilr_inv([[2000.0, -1500.0, 10.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(x.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(x[1], 0.25, rtol=1e-15)


def test_a_thousand_parts_work(rng):
    log_x = rng.normal(scale=300, size=(4, 1000))
    basis = Basis.gram_schmidt(1000)
    z = logparts.ilr(log_x, basis)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), logparts.norm(log_x), rtol=1e-12)
    np.testing.assert_allclose(
        logparts.ilr_inv(z, basis), logparts.closure(log_x), rtol=1e-10, atol=1e-9
    )
    caterpillar = basis.tree
    assert Basis.from_tree(caterpillar) == Basis(basis.contrast, classes=range(1000))
    assert len(basis.draw().splitlines()) == 1999


@pytest.mark.parametrize(("D", "n"), [(2, 140_001), (10, 7_001), (31, 1_001), (200, 601)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_batches_have_no_seams(rng, D, n, dtype):
    # Long batches are multiplied a block of rows at a time; rows must not depend on it.
    x = rng.gamma(1.0, size=(n, D)).astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    pieces = np.concatenate([simplex.ilr(piece) for piece in np.array_split(x, 7)])
    np.testing.assert_allclose(simplex.ilr(x), pieces, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(simplex.closure(x).sum(axis=1), 1, rtol=tolerance)
    assert simplex.ilr(x).dtype == dtype


def test_a_single_composition_and_an_empty_batch_work():
    assert simplex.ilr([0.2, 0.3, 0.5]).shape == (2,)
    assert simplex.ilr(np.empty((0, 3))).shape == (0, 2)
    assert simplex.ilr_inv(np.empty((0, 2))).shape == (0, 3)
    assert simplex.closure(np.empty((0, 3))).shape == (0, 3)
    assert simplex.distance(np.empty((0, 3)), np.empty((0, 3))).shape == (0,)


def test_many_leading_axes_broadcast(rng):
    x, y = rng.gamma(1, size=(4, 1, 5)), rng.gamma(1, size=(3, 5))
    d = simplex.distance(x, y)
    assert d.shape == (4, 3)
    np.testing.assert_allclose(d[2, 1], simplex.distance(x[2, 0], y[1]), rtol=1e-12)


def test_zeros_stay_where_the_result_is_defined():
    np.testing.assert_array_equal(simplex.closure([0, 1, 1]), [0, 0.5, 0.5])
    np.testing.assert_array_equal(simplex.perturb([0, 1, 1], [1, 1, 0]), [0, 1, 0])
    np.testing.assert_array_equal(simplex.power(2, [0, 1, 1]), [0, 0.5, 0.5])
    np.testing.assert_array_equal(logparts.closure([-np.inf, 0, 0])[:1], [-np.inf])
    np.testing.assert_array_equal(logparts.power(2, [-np.inf, 0.0])[:1], [-np.inf])


@pytest.mark.parametrize(
    "call",
    [
        lambda: simplex.clr([[1, 1], [0, 1]]),
        lambda: simplex.ilr([[1, 1], [0, 1]]),
        lambda: simplex.norm([[1, 1], [0, 1]]),
        lambda: simplex.power(-1, [[1, 1], [0, 1]]),
        lambda: logparts.ilr([[0, 0], [-np.inf, 0]]),
        lambda: logparts.power(0, [[0, 0], [-np.inf, 0]]),
    ],
)
def test_zeros_are_refused_elsewhere_with_the_row_and_the_remedy(call):
    with pytest.raises(ZeroPartsError, match=r"row 1 has 1 zero.*replace_zeros") as caught:
        call()
    assert caught.value.rows == (1,)


def test_perturbing_contradictory_compositions_is_refused():
    with pytest.raises(InputError, match="in common"):
        simplex.perturb([0, 1], [1, 0])
    with pytest.raises(ZeroPartsError, match="in common"):
        logparts.perturb([-np.inf, 0], [0, -np.inf])


def test_one_exponent_for_each_composition():
    x = np.array([[1.0, 2.0], [1.0, 3.0]])
    np.testing.assert_allclose(
        simplex.power([2, -1], x), [[1 / 5, 4 / 5], [3 / 4, 1 / 4]], rtol=1e-14
    )


def test_inputs_are_never_modified(rng):
    x = rng.gamma(1, size=(5, 3))
    before = x.copy()
    for function in (
        simplex.closure, simplex.clr, simplex.ilr, simplex.alr, simplex.norm, simplex.mean,
        simplex.variation_matrix, simplex.replace_zeros, logparts.ilr, logparts.closure,
        simplex.clr_inv, simplex.ilr_inv,
    ):  # fmt: skip
        function(x)
        np.testing.assert_array_equal(x, before)
