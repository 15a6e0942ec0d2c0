"""Training: which parameters are kept, and that a run does not depend on being one run."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from deciban.exceptions import ConvergenceError
from deciban.flows.training import Trainer


def squares(params, batch, key):
    return jnp.mean((batch - params["weight"]) ** 2)


def each_square(params, held_out):
    return (held_out[:, 0] - params["weight"]) ** 2


def trainer(score=each_square, **options):
    decays = lambda params: jax.tree.map(lambda _: True, params)  # noqa: E731
    return Trainer(squares, score, decays, 64, **{"learning_rate": 2e-3} | options)


def run(job, data, aside):
    """The state after the last epoch."""
    *_, state = job.run(job.start(start(), aside), data, aside, 0)
    return state


def data(center, n=64, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(center, 1, size=(n, 1)), jnp.float32)


def start():
    return {"weight": jnp.zeros(1)}


def test_the_last_weights_are_kept_where_the_best_may_be_so_by_chance():
    job = trainer(epochs=40, batch_size=16, learning_rate=0.1)
    aside = data(1.0, seed=1)
    state = run(job, data(1.0), aside)
    assert state.best is not state.params
    assert job.choose(state, aside) is state.params


def test_the_best_weights_are_kept_where_they_are_better_beyond_doubt():
    job = trainer(epochs=40, batch_size=16, learning_rate=0.3)
    aside = data(1.0, n=500, seed=1)  # on the way to what is learned, which is 3
    state = run(job, data(3.0), aside)
    kept = job.choose(state, aside)
    np.testing.assert_array_equal(kept["weight"], state.best["weight"])
    assert abs(float(kept["weight"][0]) - 1) < 0.5 < abs(float(state.params["weight"][0]) - 1)


def test_a_run_that_was_interrupted_ends_with_the_best_weights():
    job = trainer(epochs=40, batch_size=16, learning_rate=0.1)
    aside = data(1.0, seed=1)
    state = run(job, data(1.0), aside)
    assert job.choose(replace(state, epoch=20), aside) is state.best


def test_without_held_out_samples_the_last_weights_are_kept():
    job = trainer(score=None, epochs=3, batch_size=16)
    state = run(job, data(1.0), None)
    assert job.choose(state, None) is state.params


def test_gradients_are_shortened():
    long = trainer(epochs=1, batch_size=64, learning_rate=0.1, clip=1e30)
    short = trainer(epochs=1, batch_size=64, learning_rate=0.1, clip=1e-20)
    far = data(1e3)
    moved = [float(run(job, far, far).params["weight"][0]) for job in (long, short)]
    # Adam divides by the size of a gradient; one of 1e-20 is lost beside its epsilon.
    assert moved[0] > 1e-3
    assert abs(moved[1]) < 1e-10


def test_a_loss_that_is_never_finite_is_said_to_be():
    job = trainer(epochs=2, batch_size=16)
    with pytest.raises(ConvergenceError, match="loss must stay finite"):
        run(job, data(np.nan), data(1.0))
