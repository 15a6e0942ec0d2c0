"""The spline by itself: edges of bins, the bound, extreme parameters, Durkan's formulas."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.flows import double_precision
from deciban.flows.couplings import Spline

SPLINE = Spline(bins=8, bound=3.0, log_slope_bound=3.0)
_values = jax.jit(SPLINE.forward)
_inverse = jax.jit(SPLINE.inverse)


def _gradients_of(run):
    """Gradients of the values and of the log-slopes, each by the inputs and by the raw values."""

    def both(x, raw):
        (y, _), pull = jax.vjp(run, x, raw)
        ones, zeros = jnp.ones_like(y), jnp.zeros_like(y)
        return pull((ones, zeros)), pull((zeros, ones))

    return jax.jit(both)


_value_gradients = _gradients_of(SPLINE.forward)
_inverse_gradients = _gradients_of(SPLINE.inverse)


def knots_of(raw, spline=SPLINE):
    """Knots and slopes of one feature from its raw values, by cumulative sums."""
    K, B = spline.bins, spline.bound

    def positions(logits):
        shares = np.exp(logits - logits.max())
        sizes = 1e-3 + (1 - 1e-3 * K) * shares / shares.sum()
        return np.concatenate([[-B], -B + 2 * B * np.cumsum(sizes)])

    slopes = np.exp(3 * np.tanh(raw[2 * K :] / 3))
    return positions(raw[:K]), positions(raw[K : 2 * K]), np.concatenate([[1], slopes, [1]])


def durkan(x, raw):
    """Their spline, value by value, in NumPy."""
    xs, ys, slopes = knots_of(raw)
    k = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, SPLINE.bins - 1)
    w, h = xs[k + 1] - xs[k], ys[k + 1] - ys[k]
    s, xi = h / w, (x - xs[k]) / w
    rise = s * xi**2 + slopes[k] * xi * (1 - xi)
    return ys[k] + h * rise / (s + (slopes[k + 1] + slopes[k] - 2 * s) * xi * (1 - xi))


@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0, 3))
@settings(max_examples=40)
def test_it_is_durkans_spline_and_inverts(seed, scale):
    rng = np.random.default_rng(seed)
    raw = rng.normal(scale=scale, size=(1, 23))
    x = rng.uniform(-3, 3, size=(9, 1))
    with double_precision():
        y, log_slope = _values(x, raw)
        back, log_slope_back = _inverse(y, raw)
    np.testing.assert_allclose(y, durkan(x, raw[0]), rtol=0, atol=1e-11)
    # What rounding of y costs in x is the larger, the flatter the spline is there.
    shift = (np.asarray(back) - x) * np.exp(np.asarray(log_slope))
    np.testing.assert_allclose(shift, 0, atol=1e-12)
    np.testing.assert_allclose(log_slope, -np.asarray(log_slope_back), rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_values_and_gradients_are_right_on_knots_and_at_the_bound(dtype, rng):
    raw = rng.normal(size=23)
    xs, ys, slopes = knots_of(raw)
    with double_precision() if dtype == jnp.float64 else nullcontext():
        x, row = jnp.asarray(xs[:, None], dtype), jnp.asarray(raw[None], dtype)
        tolerance = 1e-4 if dtype == jnp.float32 else 1e-10
        for values, expected, expected_slopes, run in (
            (x, ys, slopes, _values),
            (jnp.asarray(ys[:, None], dtype), xs, 1 / slopes, _inverse),
        ):
            result, log_slope = run(values, row)
            gradients = (_value_gradients if run is _values else _inverse_gradients)(values, row)
            derivative = gradients[0][0]
            np.testing.assert_allclose(result[:, 0], expected, rtol=0, atol=tolerance)
            np.testing.assert_allclose(np.exp(log_slope[:, 0]), expected_slopes, rtol=tolerance)
            np.testing.assert_allclose(derivative[:, 0], expected_slopes, rtol=tolerance)
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))


@pytest.mark.parametrize("x", [3.0, -3.0, 3.5, -1e4, 1e30])
def test_outside_it_is_the_identity(x, rng):
    raw = rng.normal(size=(1, 23)).astype(np.float32)
    for run in (_values, _inverse):
        y, log_slope = run(jnp.full((9, 1), x, jnp.float32), raw)
        np.testing.assert_array_equal(y, np.full((9, 1), x, np.float32))
        np.testing.assert_array_equal(log_slope, np.zeros((9, 1)))
    for gradients in (_value_gradients, _inverse_gradients):
        np.testing.assert_array_equal(gradients(y, raw)[0][0], np.ones((9, 1)))


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([10.0, 1e3, 1e6]))
@settings(max_examples=25)
def test_extreme_parameters_give_finite_increasing_values_and_finite_gradients(seed, scale):
    rng = np.random.default_rng(seed)
    raw = jnp.asarray(rng.normal(scale=scale, size=(1, 23)), jnp.float32)
    x = jnp.asarray(np.sort(rng.uniform(-3, 3, size=(9, 1)), axis=0), jnp.float32)
    for run, gradients in ((_values, _value_gradients), (_inverse, _inverse_gradients)):
        y, log_slope = run(x, raw)
        assert np.isfinite(log_slope).all()
        assert (np.diff(y[:, 0]) > -1e-5).all()
        assert (np.abs(y) < 3 + 1e-5).all()
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients(x, raw)))


def test_the_gradient_of_the_inverse_is_right_where_its_root_has_two_forms():
    with double_precision():  # half way up a bin of the identity both forms are the same
        width = 2 * SPLINE.bound / SPLINE.bins
        y = jnp.full((9, 1), width / 2)
        slope = _inverse_gradients(y, jnp.zeros((1, 23)))[0][0]
    np.testing.assert_allclose(slope, 1, atol=1e-12)
