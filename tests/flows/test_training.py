"""Training: what each member learns from, and that a run does not depend on being one run."""

import jax.numpy as jnp
import numpy as np
import pytest

from deciban.exceptions import ConvergenceError
from deciban.flows import training
from deciban.flows.training import Layout, Trainer


def squares(params, options, batch):
    values, share = batch
    return jnp.sum(share * (values[:, 0] - params["weight"]) ** 2)


def trainer(**options):
    layout = Layout.of({"weight": np.zeros(1)}, {"weight": True})
    defaults = {"n_batches": 4, "batch_size": 16, "learning_rate": 2e-3}
    return Trainer(squares, layout, **defaults | options)


def run(job, data, epochs, rows=None, state=None, members=1, **options):
    """The state after so many epochs."""
    rows = [np.arange(data.shape[-2])] * members if rows is None else rows
    state = job.start({"weight": np.zeros((members, 1), np.float32)}) if state is None else state
    options["weight_decay"] = np.zeros(members, np.float32)
    while state.epoch < epochs:
        state = job.step(state, weigh(data), rows, options, 0)
    return state


def weigh(values):
    """The samples, with the same weight each."""
    return values, np.ones(values.shape[:-1], np.float32)


def data(center, n=64, seed=0):
    return np.random.default_rng(seed).normal(center, 1, size=(n, 1)).astype(np.float32)


def test_a_run_ends_where_it_would_have_ended_without_a_break():
    whole = run(trainer(epochs=6), data(1.0), 6)
    parts = run(trainer(epochs=6), data(1.0), 6, state=run(trainer(epochs=6), data(1.0), 3))
    np.testing.assert_array_equal(whole.average[0], parts.average[0])


def test_the_average_is_steadier_than_the_weights():
    job, states, state = trainer(learning_rate=0.3, batch_size=2), [], None
    for epoch in range(100, 140):
        state = run(job, data(1.0), epoch, state=state)
        states.append(state)
    last, mean = (np.std([getattr(s, of)[0] for s in states]) for of in ("params", "average"))
    assert mean < last / 2


def test_members_learn_from_their_own_rows_and_samples():
    samples = np.concatenate([data(0.0), data(5.0)])
    rows = [np.arange(64), np.arange(64, 128)]
    shared = run(trainer(learning_rate=0.1), samples, 60, rows, members=2)
    np.testing.assert_allclose(shared.average[0][:, 0], [0, 5], atol=0.5)
    own = np.stack([data(0.0), data(5.0)])
    own = run(trainer(learning_rate=0.1, own_data=True), own, 60, [np.arange(64)] * 2, members=2)
    np.testing.assert_allclose(own.average[0][:, 0], [0, 5], atol=0.5)


@pytest.mark.parametrize("quick", [True, False])
def test_members_that_rest_stay_as_they_are(quick):
    job, goes_on = trainer(quick=quick), np.array([1.0, 0.0, 1.0], np.float32)
    before = run(job, data(1.0), 2, members=3)
    after = run(job, data(1.0), 4, members=3, state=before, goes_on=goes_on)
    moved = [np.asarray(after.params[0] != before.params[0])[:, 0].tolist()]
    moved += [np.asarray(after.optimizer["count"] != before.optimizer["count"]).tolist()]
    assert moved == [[True, False, True]] * 2
    others = run(job, data(1.0), 4, members=3)
    np.testing.assert_array_equal(others.average[0][::2], after.average[0][::2])
    assert np.isfinite(after.history[-1]["loss"])


def test_gradients_are_shortened(monkeypatch):
    far, moved = data(1e3), []
    for norm in (1e30, 1e-20):
        monkeypatch.setattr(training, "_MAX_NORM", norm)
        moved.append(float(run(trainer(learning_rate=0.1), far, 1).params[0][0, 0]))
    # Adam divides by the size of a gradient; one of 1e-20 is lost beside its epsilon.
    assert moved[0] > 1e-3
    assert abs(moved[1]) < 1e-10


def test_a_loss_that_is_never_finite_is_said_to_be():
    with pytest.raises(ConvergenceError, match="The loss is not finite"):
        run(trainer(), data(np.nan), 1)


def test_only_what_decays_is_pulled_to_zero_and_steps_are_those_of_adam(monkeypatch):
    monkeypatch.setattr(training, "_MAX_NORM", 1e9)

    def loss(params, options, batch):
        return jnp.sum(params["a"] ** 2 + 3 * params["b"])

    first = {"a": np.full((1, 1), 2.0, np.float32), "b": np.full((1, 1), 5.0, np.float32)}
    layout = Layout.of({k: v[0] for k, v in first.items()}, {"a": True, "b": False})
    job = Trainer(loss, layout, n_batches=2, batch_size=1, learning_rate=0.1)
    rows, decay = [np.arange(2)], {"weight_decay": np.full(1, 0.5, np.float32)}
    state = job.step(job.start(first), weigh(data(0.0, n=2)), rows, decay, 0)
    a, b, mean, square = 2.0, 5.0, np.zeros(2), np.zeros(2)
    for t in (1, 2):  # Loshchilov and Hutter (2019), with the step size that rises over 50 steps
        slope = np.array([2 * a, 3.0])
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        move = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        a, b = a - 0.1 * t / 50 * (move[0] + 0.5 * a), b - 0.1 * t / 50 * move[1]
    np.testing.assert_allclose([state.params[0][0, 0], state.params[1][0, 0]], [a, b], rtol=1e-5)


def test_long_epochs_are_run_in_parts_that_are_reported(monkeypatch):
    once = run(trainer(n_batches=6, batch_size=8), data(1.0), 2)
    monkeypatch.setattr(training, "_STEPS", 2)
    job, shares = trainer(n_batches=7, batch_size=8), []
    assert job.n_batches == 4  # 4 calls of one step
    job = trainer(n_batches=6, batch_size=8)
    options = {"weight_decay": np.zeros(1, np.float32)}
    state = job.start({"weight": np.zeros((1, 1), np.float32)})
    for _ in range(2):
        state = job.step(state, weigh(data(1.0)), [np.arange(64)], options, 0, shares.append)
    np.testing.assert_allclose(shares, [1 / 3] * 6)
    np.testing.assert_allclose(state.average[0], once.average[0], rtol=1e-6)
    assert state.history[-1]["loss"] == pytest.approx(once.history[-1]["loss"])
