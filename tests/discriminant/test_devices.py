"""Training that is spread over several devices."""

import os
import subprocess
import sys

import pytest

SCRIPT = r"""
import re
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_wine

from deciban.discriminant import CompositionalDiscriminantAnalysis, programs
from deciban.flows.runtime import Spread
from deciban.flows.training import Layout, Trainer

X, y = load_wine(return_X_y=True)


def fit(**options):
    programs.make_trainer.cache_clear()
    rare = {"calibrate": False, "batch_size": options.pop("batch_size", "auto")}
    common = dict(n_couplings=1, width=8, random_state=0, dtype="float64", options=rare)
    return CompositionalDiscriminantAnalysis(**common | options).fit(X, y)


def compare(**options):
    both = fit(**options)
    with patch("jax.devices", lambda: jax.local_devices()[:1]):
        one = fit(**options)
    for a, b in zip(*map(jax.tree.leaves, (one._params, both._params)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    assert [list(r) for r in one.history_] == [list(r) for r in both.history_]
    np.testing.assert_allclose(*([r["loss"] for r in m.history_] for m in (one, both)), rtol=1e-9)


compare(epochs=3, batch_size=32, n_estimators=2)
with patch("deciban.discriminant.settings._FEW_STEPS", {500: 60}):
    compare()  # on folds

total = jax.jit(lambda x, rows: x[rows].sum())
for size, share in {32: 16, 33: 33}.items():  # of an odd number, each device does all
    spread = Spread(size)
    rows = spread.divide(np.zeros((3, size), np.int32))
    assert {shard.data.shape for shard in rows.addressable_shards} == {(3, share)}
    program = total.lower(spread.replicate(np.ones((64, 2))), rows).compile().as_text()
    assert ("all-reduce" in program) is (share < size)

# Each array that devices add up is a message: a step sends vectors, not every small array.
def loss(params, options, batch):
    x, weight = batch
    for k in range(6):
        x = jnp.tanh(x @ params[k])
    return jnp.sum(weight * x[:, 0])


matrices = [np.ones((4, 4), np.float32)] * 6
layout = Layout.of(matrices, [True] * 6)
trainer = Trainer(loss, layout, n_batches=1, batch_size=32, learning_rate=0.1)
vectors = tuple(v[0] for v in layout.flatten([matrix[None] for matrix in matrices]))
batch = np.ones((32, 4), np.float32), np.ones(32, np.float32)
step = jax.jit(trainer._sums)
given = trainer.spread.replicate((vectors, {}, batch))
text = step.lower(*given).compile().as_text()
results = [line.split(" all-reduce(")[0] for line in text.splitlines() if " all-reduce(" in line]
assert 1 <= sum(len(re.findall(r"f32\[", one)) for one in results) <= 4, results
assert "all-gather" not in text
mass, value, (slopes, _) = step(*given)
assert mass == 32
with patch("jax.devices", lambda: jax.local_devices()[:1]):
    alone = Trainer(loss, layout, n_batches=1, batch_size=32, learning_rate=0.1)
    _, expected, (slopes_alone, _) = alone._sums(vectors, {}, batch)
np.testing.assert_allclose(value, expected, rtol=1e-6)
np.testing.assert_allclose(slopes, slopes_alone, rtol=1e-5)
"""


@pytest.mark.slow
def test_two_devices_train_the_model_of_one():
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2"
    env = os.environ | {"XLA_FLAGS": flags}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=env)
