"""Training: what each member learns from, and that a run does not depend on being one run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deciban.exceptions import ConvergenceError
from deciban.flows.training import Trainer


def squares(params, batch, key, options):
    return jnp.mean((batch - params["weight"]) ** 2)


def trainer(**options):
    decays = lambda params: jax.tree.map(lambda _: True, params)  # noqa: E731
    defaults = {"n_batches": 4, "batch_size": 16, "learning_rate": 2e-3}
    return Trainer(squares, decays, **defaults | options)


def run(job, data, epochs, rows=None, state=None, members=1):
    """The state after so many epochs."""
    rows = [np.arange(data.shape[-2])] * members if rows is None else rows
    state = job.start({"weight": np.zeros((members, 1), np.float32)}) if state is None else state
    decay = {"weight_decay": np.zeros(members, np.float32)}
    while state.epoch < epochs:
        state = job.step(state, data, rows, decay, 0)
    return state


def data(center, n=64, seed=0):
    return np.random.default_rng(seed).normal(center, 1, size=(n, 1)).astype(np.float32)


def test_a_run_ends_where_it_would_have_ended_without_a_break():
    whole = run(trainer(epochs=6), data(1.0), 6)
    parts = run(trainer(epochs=6), data(1.0), 6, state=run(trainer(epochs=6), data(1.0), 3))
    np.testing.assert_array_equal(whole.average["weight"], parts.average["weight"])


def test_the_average_is_steadier_than_the_weights():
    job, states, state = trainer(learning_rate=0.3, batch_size=2), [], None
    for epoch in range(100, 140):
        state = run(job, data(1.0), epoch, state=state)
        states.append(state)
    last, mean = (
        np.std([getattr(s, of)["weight"] for s in states]) for of in ("params", "average")
    )
    assert mean < last / 2


def test_members_learn_from_their_own_rows_and_samples():
    samples = np.concatenate([data(0.0), data(5.0)])
    rows = [np.arange(64), np.arange(64, 128)]
    shared = run(trainer(learning_rate=0.1), samples, 60, rows, members=2)
    np.testing.assert_allclose(shared.average["weight"][:, 0], [0, 5], atol=0.5)
    own = np.stack([data(0.0), data(5.0)])
    own = run(trainer(learning_rate=0.1, own_data=True), own, 60, [np.arange(64)] * 2, members=2)
    np.testing.assert_allclose(own.average["weight"][:, 0], [0, 5], atol=0.5)


def test_gradients_are_shortened():
    far = data(1e3)
    moved = [
        float(run(trainer(learning_rate=0.1, clip=clip), far, 1).params["weight"][0, 0])
        for clip in (1e30, 1e-20)
    ]
    # Adam divides by the size of a gradient; one of 1e-20 is lost beside its epsilon.
    assert moved[0] > 1e-3
    assert abs(moved[1]) < 1e-10


def test_a_loss_that_is_never_finite_is_said_to_be():
    with pytest.raises(ConvergenceError, match="loss must stay finite"):
        run(trainer(), data(np.nan), 1)
