"""Couplings of the residual: a residual that does not tell the class, with the same evidence."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

import deciban
from deciban.discriminant import model as residual_flow
from deciban.flows import double_precision

CDA = deciban.CompositionalDiscriminantAnalysis


@pytest.mark.parametrize("n_mapped", [1, 5])
def test_the_map_of_the_residual_inverts_and_knows_its_determinant(n_mapped):
    rng = np.random.default_rng(0)
    forward = jax.jit(residual_flow.map_residual)
    inverse = jax.jit(partial(residual_flow.map_residual, inverse=True))
    with double_precision():
        params = residual_flow.init_residual(rng, 2, n_mapped, 2, np.float64)
        z = jnp.asarray(rng.normal(size=(6, 2 + n_mapped)))
        np.testing.assert_array_equal(forward(params, z)[0], z)
        params = jax.tree.map(lambda a: a + 0.2 * rng.normal(size=a.shape), params)
        out, log_det = forward(params, z)
        np.testing.assert_array_equal(out[:, :2], z[:, :2])
        assert np.abs(out - z).max() > 0.01
        np.testing.assert_allclose(inverse(params, out)[0], z, atol=1e-12)
        J = jax.vmap(jax.jacfwd(lambda x: forward(params, x)[0]))(z)
        np.testing.assert_allclose(np.linalg.slogdet(J)[1], log_det, atol=1e-10)


def two_classes(n, seed):
    """Classes apart in the first feature, and of different covariance in the others."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    noise = rng.normal(size=(n, 3))
    noise[:, 1] *= np.where(y == 1, 2.0, 0.5)
    noise[:, 2] += np.where(y == 1, 0.9, -0.9) * noise[:, 1]
    noise[:, 0] += 8 * y
    return noise, y


@pytest.mark.slow
def test_couplings_of_the_residual_take_the_class_out_and_leave_the_evidence():
    X, y = two_classes(2000, 0)
    new, truth = two_classes(2000, 1)
    options = {"n_couplings": 0, "augment": 0, "epochs": 0, "random_state": 0}
    before = CDA(residual_couplings=0, **options).fit(X, y)
    after = CDA(residual_couplings=4, **options).fit(X, y)
    np.testing.assert_array_equal(
        after.evidence(new).log_likelihoods, before.evidence(new).log_likelihoods
    )
    found = [
        cross_val_score(
            HistGradientBoostingClassifier(max_iter=20), model.residual(new), truth, cv=3
        ).mean()
        for model in (before, after)
    ]
    assert found[0] > 0.75
    assert found[1] < 0.56
    assert after.score_samples(new).mean() > before.score_samples(new).mean() + 0.3
    np.testing.assert_allclose(after.inverse_transform(after.transform(new)), new, atol=1e-3)
    np.testing.assert_allclose(after.evidence(after.neutralize(new)).llr(1, 0), 0, atol=0.01)


def test_couplings_of_the_residual_leave_the_evidence_and_outlast_a_file(tmp_path):
    X, y = two_classes(200, 0)
    cda = CDA(residual_couplings=2, n_couplings=0, augment=1, epochs=0, random_state=0).fit(X, y)
    cda.save(tmp_path / "model")
    loaded = deciban.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), cda.transform(X))
    np.testing.assert_array_equal(loaded.score_samples(X), cda.score_samples(X))
    plain = CDA(residual_couplings=0, n_couplings=0, augment=1, epochs=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        loaded.evidence(X).log_likelihoods, plain.evidence(X).log_likelihoods
    )
    assert not np.allclose(loaded.transform(X)[:, 1:], plain.transform(X)[:, 1:], atol=0.1)


def test_without_a_residual_or_a_base_space_there_is_nothing_to_map():
    X, y = two_classes(60, 0)
    options = {"n_couplings": 0, "epochs": 0, "random_state": 0, "residual_couplings": 2}
    only = CDA(augment=0, **options).fit(X[:, :1], y)
    assert only.transform(X[:, :1]).shape == (60, 1)
    several = CDA(n_estimators=2, **options).fit(X, y)
    assert len(several.evidence(X)) == 60
