"""Samples a second of a flow on this device, and the share of the roofline that its steps reach.

``--features 784 --couplings 12 --width 512 --batches 256 1024 4096 16384 65536`` is the flow that a
CDA has for MNIST on its pixels.

The roofline is what the device does here and now: the larger of the step's floating-point
operations over the speed of a large matrix product, and of the bytes that the compiled step reads
and writes over the speed of a copy.
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

from _timing import print_setting
from deciban.flows import Flow

STEPS = 10  # in one program, as in training


def seconds(run, rounds=8):
    jax.block_until_ready(run())
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def limits(size):
    """Floating-point operations and bytes a second."""
    a = jnp.ones((size, size), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    b = jnp.ones(8 * size**2, jnp.float32)
    copy = jax.jit(lambda b: b + 1)
    return 2 * size**3 / seconds(lambda: product(a)), 8 * b.size / seconds(lambda: copy(b))


def measure(kind, couplings, d, width, batch, flops, bandwidth):
    flow = Flow(d, couplings, kind, width)
    params = flow.init(jax.random.key(0))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(batch, d)), jnp.float32)

    def loss(params, x):
        z, log_det = flow.forward(params, x)
        return jnp.mean(0.5 * jnp.sum(z * z, axis=1) - log_det)

    def train(params, x):
        def step(params, _):
            slope = jax.grad(loss)(params, x)
            return jax.tree.map(lambda p, s: p - 1e-6 * s, params, slope), None

        return jax.lax.scan(step, params, None, length=STEPS)[0]

    cost = jax.jit(jax.value_and_grad(loss)).lower(params, x).compile().cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    n = sum(leaf.size for leaf in jax.tree.leaves(params))
    bound = max(6 * n * batch / flops, cost["bytes accessed"] / bandwidth)
    run = jax.jit(train)
    step = seconds(lambda: run(params, x)) / STEPS
    invert = seconds(lambda: flow.inverse(params, x))
    print(f"{kind} {d:4} features, width {width}, batch {batch:6}: {step * 1e3:8.2f} ms a step, "
          f"{bound / step:4.0%} of the roofline; {batch / step:.2e} samples/s training, "
          f"{batch / invert:.2e} inverting", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=8192, help="of the matrix in the limits")
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 65536])
    parser.add_argument("--kinds", nargs="+", default=["affine"])
    parser.add_argument("--features", type=int, nargs="+", default=[2, 40, 784])
    parser.add_argument("--couplings", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    args = parser.parse_args()
    print_setting("deciban", "jax")
    flops, bandwidth = limits(args.size)
    print(f"{jax.devices()[0].device_kind}: product {flops / 1e12:.2f} TFLOP/s, copy "
          f"{bandwidth / 1e12:.3f} TB/s")  # fmt: skip
    for kind in args.kinds:
        for batch in args.batches:
            for d in args.features:
                measure(kind, args.couplings, d, args.width, batch, flops, bandwidth)


if __name__ == "__main__":
    main()
