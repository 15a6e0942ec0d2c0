# ruff: noqa: E402
"""The same flow in deciban and its peers, on one core: a training step and an inversion.

Eight couplings whose conditioners have two hidden layers of 128 rectified units (in deciban SiLU,
after an affine map), float32, batches of 512, Adam. Each library is used as its documentation
shows: PyTorch's run eagerly, flowjax with its compiled ``step``, deciban with its ``Trainer``.
Peers are handed batches that are shuffled already; deciban shuffles in its epoch.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before any library makes threads

import argparse
import time

import equinox as eqx
import flowjax.bijections
import flowjax.distributions
import flowjax.flows
import flowjax.train
import FrEIA.framework
import FrEIA.modules
import jax
import jax.numpy as jnp
import nflows.distributions
import nflows.flows
import nflows.nn.nets
import nflows.transforms
import normflows
import numpy as np
import optax
import torch
import zuko

from _timing import print_setting, race
from deciban.flows import Flow
from deciban.flows.training import Layout, Trainer

COUPLINGS, WIDTH, BATCH, BATCHES, BINS, BOUND, RATE = 8, 128, 512, 8, 8, 8.0, 1e-4


class Deciban:
    """Whole epochs are one program."""

    def __init__(self, kind, d, data):
        self.flow = Flow(d, COUPLINGS, kind, WIDTH, bins=BINS, bound=BOUND)
        options = {"n_batches": BATCHES, "batch_size": BATCH, "learning_rate": RATE, "epochs": 1}
        self.params = self.flow.init(0)
        layout = Layout.of(self.params, self.flow.decays(self.params))
        self.trainer = Trainer(self._loss, layout, **options)
        self.data, self.z = jnp.asarray(data), jnp.asarray(data[:BATCH])
        self.state = self.trainer.start(jax.tree.map(lambda a: a[None], self.params))

    def _loss(self, params, options, batch):
        x, weight = batch
        z, log_det = self.flow.forward(params, x)
        return jnp.sum(weight * (0.5 * jnp.sum(z * z, axis=1) - log_det))

    def epoch(self):
        rows, options = [np.arange(len(self.data))], {"weight_decay": np.zeros(1, np.float32)}
        samples = self.data, np.ones(len(self.data), np.float32)
        state = self.trainer.step(self.state, samples, rows, options, 1)
        jax.block_until_ready(state.params)

    def invert(self):
        jax.block_until_ready(self.flow.inverse(self.params, self.z))


class Flowjax:
    """The step that ``fit_to_data`` runs."""

    def __init__(self, kind, d, data):
        spline = flowjax.bijections.RationalQuadraticSpline(knots=BINS, interval=BOUND)
        flow = flowjax.flows.coupling_flow(
            jax.random.key(0),
            base_dist=flowjax.distributions.Normal(jnp.zeros(d)),
            transformer=spline if kind == "spline" else None,
            flow_layers=COUPLINGS,
            nn_width=WIDTH,
            nn_depth=2,
        )
        self.flow, self.optimizer = flow, optax.adam(RATE)
        self.params, self.static = eqx.partition(flow, eqx.is_inexact_array)
        self.first = self.optimizer.init(self.params)
        self.loss = flowjax.train.losses.MaximumLikelihoodLoss()
        self.batches = jnp.asarray(data).reshape(BATCHES, BATCH, d)
        self.z = self.batches[0]
        self.inverse = eqx.filter_jit(lambda flow, z: jax.vmap(flow.bijection.transform)(z))

    def epoch(self):
        params, state = self.params, self.first
        for k, x in enumerate(self.batches):
            params, state, _ = flowjax.train.train_utils.step(
                params, self.static, x, optimizer=self.optimizer, opt_state=state,
                loss_fn=self.loss, key=jax.random.key(k),
            )  # fmt: skip
        jax.block_until_ready(params)

    def invert(self):
        jax.block_until_ready(self.inverse(self.flow, self.z))


class Eager:
    """What the PyTorch libraries have in common."""

    def __init__(self, kind, d, data):
        self.model = self.build(kind, d)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=RATE)
        self.batches = torch.from_numpy(data).reshape(BATCHES, BATCH, d)
        self.z = self.batches[0]

    def epoch(self):
        for x in self.batches:
            self.optimizer.zero_grad()
            self.loss(x).backward()
            self.optimizer.step()

    def invert(self):
        with torch.no_grad():
            self.inverse(self.z)


class Zuko(Eager):
    def build(self, kind, d):
        options = {}
        if kind == "spline":
            options["univariate"] = lambda *phi: zuko.transforms.MonotonicRQSTransform(
                *phi, bound=BOUND
            )
            options["shapes"] = [(BINS,), (BINS,), (BINS - 1,)]
        return zuko.flows.NICE(d, transforms=COUPLINGS, hidden_features=(WIDTH, WIDTH), **options)

    def loss(self, x):
        return -self.model().log_prob(x).mean()

    def inverse(self, z):
        return self.model().transform.inv(z)


class Normflows(Eager):
    def build(self, kind, d):
        layers = []
        for k in range(COUPLINGS):
            if kind == "spline":
                layers.append(
                    normflows.flows.CoupledRationalQuadraticSpline(
                        d, 1, WIDTH, num_bins=BINS, tail_bound=BOUND, reverse_mask=k % 2 == 1
                    )
                )
            else:
                half = (d + 1) // 2
                net = normflows.nets.MLP([half, WIDTH, WIDTH, 2 * (d - half)])
                layers += [
                    normflows.flows.AffineCouplingBlock(net),
                    normflows.flows.Permute(d, mode="swap"),
                ]
        return normflows.NormalizingFlow(normflows.distributions.DiagGaussian(d), layers)

    def loss(self, x):
        return self.model.forward_kld(x)

    def inverse(self, z):
        return self.model.forward(z)


class WithoutContext(nflows.nn.nets.MLP):
    def forward(self, inputs, context=None):
        return super().forward(inputs)


class Nflows(Eager):
    def build(self, kind, d):
        def net(n_in, n_out):
            return WithoutContext([n_in], [n_out], [WIDTH, WIDTH])

        layers = []
        for k in range(COUPLINGS):
            mask = nflows.utils.create_alternating_binary_mask(d, even=k % 2 == 0)
            if kind == "spline":
                layers.append(
                    nflows.transforms.PiecewiseRationalQuadraticCouplingTransform(
                        mask, net, num_bins=BINS, tails="linear", tail_bound=BOUND
                    )
                )
            else:
                layers.append(nflows.transforms.AffineCouplingTransform(mask, net))
        return nflows.flows.Flow(
            nflows.transforms.CompositeTransform(layers),
            nflows.distributions.StandardNormal([d]),
        )

    def loss(self, x):
        return -self.model.log_prob(x).mean()

    def inverse(self, z):
        return self.model._transform.inverse(z)


class Freia(Eager):
    def build(self, kind, d):
        def net(n_in, n_out):
            return torch.nn.Sequential(
                torch.nn.Linear(n_in, WIDTH), torch.nn.ReLU(),
                torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
                torch.nn.Linear(WIDTH, n_out),
            )  # fmt: skip

        model = FrEIA.framework.SequenceINN(d)
        for _ in range(COUPLINGS):
            model.append(FrEIA.modules.AllInOneBlock, subnet_constructor=net)
        return model

    def loss(self, x):
        z, log_det = self.model(x)
        return (0.5 * torch.sum(z**2, 1) - log_det).mean()

    def inverse(self, z):
        return self.model(z, rev=True)


ALL = {
    "deciban": Deciban,
    "flowjax": Flowjax,
    "zuko": Zuko,
    "normflows": Normflows,
    "nflows": Nflows,
    "FrEIA": Freia,
}


def compare(kind, d, rounds):
    data = np.random.default_rng(0).normal(size=(BATCHES * BATCH, d)).astype(np.float32)
    made, first = {}, {}
    for name, maker in ALL.items():
        if kind == "spline" and name == "FrEIA":
            continue  # the release on PyPI has no splines
        made[name] = maker(kind, d, data)
        start = time.perf_counter()
        made[name].epoch()
        made[name].invert()
        first[name] = time.perf_counter() - start
    train = race({name: each.epoch for name, each in made.items()}, rounds)
    invert = race({name: each.invert for name, each in made.items()}, 4 * rounds)
    print(f"\n{kind} couplings, {d} features: ms (multiple of deciban's)")
    print(f"{'':10}{'training step':>18}{'inversion':>18}{'first calls':>14}")
    for name in made:
        print(
            f"{name:10}"
            f"{train[name] / BATCHES * 1e3:10.2f} ({train[name] / train['deciban']:4.2f})"
            f"{invert[name] * 1e3:11.2f} ({invert[name] / invert['deciban']:4.2f})"
            f"{first[name]:12.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--features", type=int, nargs="+", default=[2, 40, 784])
    parser.add_argument("--kinds", nargs="+", default=["affine", "spline"])
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_setting("deciban", "jax", "torch", *(name for name in ALL if name != "deciban"))
    print(f"one core, {COUPLINGS} couplings of 2 x {WIDTH}, batch {BATCH}; medians of "
          f"{args.rounds} rounds of {BATCHES} steps")  # fmt: skip
    for kind in args.kinds:
        for d in args.features:
            compare(kind, d, args.rounds)


if __name__ == "__main__":
    main()
