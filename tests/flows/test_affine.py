"""The first map: given exactly, inverted exactly, and left as it is by an optimizer's habits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deciban.exceptions import InputError
from deciban.flows import Flow, affine, double_precision

_forward, _inverse = jax.jit(affine.forward), jax.jit(affine.inverse)


@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 4), kind=st.sampled_from("grsp"))
@example(seed=0, d=2, kind="p")
def test_any_invertible_matrix_is_represented(seed, d, kind):
    rng = np.random.default_rng(seed)
    A = {
        "g": rng.normal(size=(d, d)),
        "r": np.linalg.qr(rng.normal(size=(d, d)))[0],
        "s": np.diag(rng.choice([-1e-9, 1e9], size=d)),
        "p": np.eye(d)[rng.permutation(d)],
    }[kind]
    x, b = rng.normal(size=(7, d)), rng.normal(size=d)
    with double_precision():
        params = affine.init(d, A, b, jnp.float64)
        z, log_det = _forward(params, x)
        back, log_det_back = _inverse(params, z)
    scale = np.abs(A).max()
    np.testing.assert_allclose(z, x @ A.T + b, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(A)[1], atol=1e-8)
    np.testing.assert_allclose(log_det_back, -log_det, atol=1e-13)
    rounding = 1e-14 * np.linalg.cond(A) * max(np.abs(z).max() / scale, 1)
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-10 + 100 * rounding)


def test_pivots_have_no_gradient_and_outlast_weight_decay(rng):
    A = np.array([[0.0, -2.0, 1.0], [3.0, 0.5, 0.0], [1.0, 1.0, -1.0]])
    x = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    params = affine.init(3, A, None, jnp.float32)
    slope = jax.grad(lambda p: jnp.sum(affine.forward(p, x)[0] ** 2))(params)
    np.testing.assert_array_equal(slope["pivots"], np.zeros(3))
    assert (np.abs(slope["offset"]) > 0).all()
    decayed = {**params, "pivots": params["pivots"] * 1e-3}
    np.testing.assert_array_equal(_forward(decayed, x)[0], _forward(params, x)[0])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], "matrix must be invertible; got one of rank 1 for 2 features"),
        ([[0.0, 0.0], [0.0, 1.0]], "matrix must be invertible; got one of rank 1"),
        ([[1.0, 2.0]], r"matrix must have shape \(2, 2\); got \(1, 2\)"),
        ([[1.0, np.nan], [0.0, np.inf]], "matrix must be finite; got 2 values that are not"),
    ],
)
def test_a_matrix_that_has_no_inverse_is_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        Flow(2).init(jax.random.key(0), matrix=matrix)


def test_an_offset_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"offset must have shape \(2,\); got \(3,\)"):
        Flow(2).init(jax.random.key(0), offset=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="offset must be finite"):
        Flow(2).init(jax.random.key(0), offset=[1.0, np.inf])
