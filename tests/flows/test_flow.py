"""The chain as a whole: inverse, log-determinant, start, precision, JAX's transformations."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.exceptions import InputError
from deciban.flows import Flow, double_precision
from flow_parameters import trained_like

FLOWS = [
    Flow(1, 1, "affine", width=4),
    Flow(1, 1, "spline", width=4),
    Flow(2, 3, "affine", width=8, mixing="linear"),
    Flow(2, 2, "spline", width=8, depth=1),
    Flow(3, 3, "affine", width=8, depth=1),
    Flow(5, 3, "spline", width=8, mixing="linear", bins=5, bound=3.0),
    Flow(4, 0),
]
RICHEST = FLOWS[5]
AFFINE = Flow(4, 3, "affine", width=16)
SPLINE = Flow(4, 2, "spline", width=16, depth=1)

each_flow = pytest.mark.parametrize(
    "flow",
    [pytest.param(f, marks=pytest.mark.slow) if f in FLOWS[2:4] else f for f in FLOWS],
    ids=lambda f: f"{f.kind}-{f.n_features}",
)
each_kind = pytest.mark.parametrize("flow", [AFFINE, SPLINE], ids=["affine", "spline"])


def matrices(d, seed):
    return np.random.default_rng(seed).normal(size=(d, d))


def with_jacobians(flow):
    """z, log-determinant and Jacobian of each row, compiled as one."""

    def row(params, x):
        def twice(x):
            z, log_det = flow.forward(params, x)
            return z, (z, log_det)

        jacobian, (z, log_det) = jax.jacfwd(twice, has_aux=True)(x)
        return z, log_det, jacobian

    return jax.jit(jax.vmap(row, in_axes=(None, 0)))


@each_flow
def test_log_determinants_are_those_of_the_jacobian(flow, rng):
    x = rng.normal(scale=2, size=(7, flow.n_features))
    with double_precision():
        params = trained_like(
            flow, matrix=matrices(flow.n_features, 1), offset=x[0], dtype=jnp.float64
        )
        z, log_det, jacobians = with_jacobians(flow)(params, jnp.asarray(x))
        back, log_det_back = flow.inverse(params, z)
    assert log_det.shape == (7,)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(jacobians)[1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(log_det_back, -log_det, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-10)


@given(seed=st.integers(0, 10_000), scale=st.floats(0.001, 0.03), spread=st.floats(0.1, 50))
@settings(max_examples=25)
def test_the_inverse_undoes_the_map_and_the_map_the_inverse(seed, scale, spread):
    values = np.random.default_rng(seed).normal(scale=spread, size=(7, 5))
    with double_precision():
        params = trained_like(RICHEST, seed, scale, dtype=jnp.float64)
        z, there = RICHEST.forward(params, values)
        x, back = RICHEST.inverse(params, z)
        undone, _ = RICHEST.forward(params, RICHEST.inverse(params, values)[0])
    np.testing.assert_allclose(x, values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(undone, values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(there + back, 0, atol=1e-9)


@pytest.mark.parametrize("flow", [FLOWS[1], RICHEST, AFFINE, SPLINE])
def test_a_new_flow_is_exactly_the_identity(flow, rng):
    x = rng.normal(scale=3, size=(7, flow.n_features)).astype(np.float32)
    z, log_det = flow.forward(flow.init(jax.random.key(3)), x)
    np.testing.assert_array_equal(z, x)
    np.testing.assert_allclose(log_det, 0, atol=1e-5)


@each_kind
def test_the_couplings_add_nothing_to_the_affine_map_at_first(flow, rng):
    x, A, b = rng.normal(size=(7, 4)), matrices(4, 5), rng.normal(size=4)
    alone = Flow(4, 0)
    z, _ = flow.forward(flow.init(jax.random.key(0), matrix=A, offset=b), x)
    expected, _ = alone.forward(alone.init(jax.random.key(1), matrix=A, offset=b), x)
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_allclose(z, x @ A.T + b, atol=1e-5)


@each_kind
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_single_precision_inverts_ordinary_and_extreme_inputs(flow, size, rng):
    params = trained_like(flow, scale=0.03)
    x = (size * rng.normal(size=(7, 4))).astype(np.float32)
    z, _ = flow.forward(params, x)
    assert z.dtype == jnp.float32
    np.testing.assert_allclose(flow.inverse(params, z)[0] / size, x / size, atol=1e-4)


@each_kind
@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_values_and_gradients_are_finite_however_large_the_input(flow, direction, rng):
    params = trained_like(flow, scale=0.1)
    row = rng.normal(size=(7, 4))

    @jax.jit
    def gradients(params, x):
        def total(params, x):
            y, log_det = getattr(flow, direction)(params, x)
            return y.sum() + log_det.sum()

        return jax.value_and_grad(total, argnums=(0, 1))(params, x)

    for size in (0.0, 1.0, 1e4, 1e10, 1e20):
        for leaf in jax.tree.leaves(gradients(params, (size * row).astype(np.float32))):
            assert np.isfinite(leaf).all()


@each_kind
def test_gradients_are_those_of_finite_differences(flow, rng):
    with double_precision():
        params = trained_like(flow, scale=0.1, dtype=jnp.float64)
        x = jnp.asarray(rng.normal(size=(7, 4)))

        def loss(params):
            z, log_det = flow.forward(params, x)
            return jnp.mean(jnp.sum(z * z, axis=-1) / 2 - log_det)

        slope = jax.jit(jax.grad(loss))(params)
        direction = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape), params)
        direction["affine"]["pivots"] *= 0
        moved = [
            jax.tree.map(lambda p, v, h=h: p + h * v, params, direction) for h in (1e-6, -1e-6)
        ]
        expected = (loss(moved[0]) - loss(moved[1])) / 2e-6
        product = sum(
            np.vdot(a, b)
            for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(direction), strict=True)
        )
    np.testing.assert_allclose(product, expected, rtol=1e-6)


def test_an_ensemble_is_a_flow_with_one_more_axis(rng):
    flow = SPLINE
    x = rng.normal(size=(7, 4)).astype(np.float32)
    members = [trained_like(flow, seed, 0.03, matrix=matrices(4, seed)) for seed in range(3)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    z, log_det = jax.vmap(flow.forward, in_axes=(0, None))(together, x)
    x_back, _ = jax.vmap(flow.inverse)(together, z)
    for k, member in enumerate(members):
        expected, expected_log_det = flow.forward(member, x)
        np.testing.assert_allclose(z[k], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(log_det[k], expected_log_det, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(x_back[k], x, atol=2e-3)


def test_flows_of_different_seeds_start_with_different_weights():
    first, again, other = (
        AFFINE.init(key)["couplings"][0][0]["weight"] for key in (3, jax.random.key(3), 4)
    )
    assert not np.allclose(first, other)
    assert again.shape == first.shape
    np.testing.assert_array_equal(AFFINE.init(3)["couplings"][0][0]["weight"], first)


def test_a_flow_can_be_a_static_argument_and_compiles_once(rng):
    flow = Flow(4, 1, width=4)
    compiled = 0

    def forward(flow, params, x):
        nonlocal compiled
        compiled += 1
        return flow.forward(params, x)

    jitted = jax.jit(forward, static_argnums=0)
    params = flow.init(jax.random.key(0))
    for _ in range(2):
        same = Flow(**vars(flow))
        jitted(same, params, rng.normal(size=(7, 4)).astype(np.float32))
    assert compiled == 1


def test_samples_may_be_one_or_none_or_have_any_leading_axes(rng):
    params = trained_like(AFFINE, scale=0.1)
    x = rng.normal(size=(2, 3, 4)).astype(np.float32)
    z, log_det = AFFINE.forward(params, x)
    assert log_det.shape == (2, 3)
    back, _ = AFFINE.inverse(params, z)
    np.testing.assert_allclose(back, x, atol=1e-4)
    one, one_log_det = AFFINE.forward(params, x[1, 2])
    np.testing.assert_allclose(one, z[1, 2], atol=1e-5)
    np.testing.assert_allclose(one_log_det, log_det[1, 2], atol=1e-5)
    assert AFFINE.forward(params, x[:, :0])[0].shape == (2, 0, 4)
    assert AFFINE.inverse(params, x[:, :0])[0].shape == (2, 0, 4)


def test_parameters_are_plain_arrays_that_pickle(rng):
    params = jax.tree.map(jnp.asarray, trained_like(RICHEST))
    again = pickle.loads(pickle.dumps(params))
    as_numpy = jax.tree.map(np.asarray, params)
    x = rng.normal(size=(7, 5))
    z, _ = RICHEST.forward(params, x)
    np.testing.assert_array_equal(RICHEST.forward(again, x)[0], z)
    np.testing.assert_array_equal(RICHEST.forward(as_numpy, x)[0], z)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype(jnp.float32)}
    assert min(leaf.size for leaf in jax.tree.leaves(params)) > 0


def test_every_feature_depends_on_every_other_after_four_mixed_couplings():
    flow = Flow(6, 4, "affine", width=4, depth=1)
    params = trained_like(flow)
    _, _, jacobian = with_jacobians(flow)(params, np.ones((1, 6), np.float32))
    assert (np.abs(jacobian) > 0).all()


def test_halves_that_are_mixed_by_another_seed_are_other_halves():
    x = np.arange(12, dtype=np.float32)[None] / 10
    flows = [Flow(12, 3, width=4, depth=1, seed=seed) for seed in (0, 1)]
    params = trained_like(flows[0])
    first, second = (flow.forward(params, x)[0] for flow in flows)
    assert not np.allclose(first, second)


def test_only_the_weights_of_conditioners_decay():
    flow = Flow(3, 4, width=4, mixing="linear")
    params = flow.init(jax.random.key(0))
    mask = flow.decays(params)
    assert jax.tree.structure(mask) == jax.tree.structure(params)
    assert not any(jax.tree.leaves([mask["affine"], mask["mixing"]]))
    for layers in mask["couplings"]:
        assert layers == [{"weight": True, "bias": False}] * 3


def test_the_dtype_of_the_parameters_decides(rng):
    x = rng.normal(size=(7, 4))
    with double_precision():
        params = AFFINE.init(jax.random.key(0), dtype=jnp.float64)
        assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype(jnp.float64)}
        z, log_det = AFFINE.forward(params, x.astype(np.float32))
        assert z.dtype == log_det.dtype == jnp.float64
        single = AFFINE.init(jax.random.key(0))
        assert {leaf.dtype for leaf in jax.tree.leaves(single)} == {jnp.dtype(jnp.float32)}
        z, log_det = AFFINE.forward(single, x)
        assert z.dtype == log_det.dtype == jnp.float32
        with pytest.raises(InputError, match="dtype must be float32 or float64; got float16"):
            AFFINE.init(jax.random.key(0), dtype=jnp.float16)
    assert jnp.ones(1).dtype == jnp.float32  # the rest of the process sees no change


def test_float64_outside_of_double_precision_is_refused_not_rounded(rng):
    with pytest.raises(InputError, match="double_precision"):
        AFFINE.init(jax.random.key(0), dtype=jnp.float64)
    with double_precision():
        params = AFFINE.init(jax.random.key(0), dtype=jnp.float64)
    with pytest.raises(InputError, match="double_precision"):
        AFFINE.forward(params, rng.normal(size=(7, 4)))


@pytest.mark.parametrize("shape", [(), (3,), (5, 3)])
def test_values_with_another_number_of_features_are_refused(shape):
    params = AFFINE.init(jax.random.key(0))
    with pytest.raises(InputError, match=r"x must have 4 features on its last axis; got shape \("):
        AFFINE.forward(params, np.zeros(shape))
    with pytest.raises(InputError, match="z must have 4 features"):
        AFFINE.inverse(params, np.zeros(shape))
