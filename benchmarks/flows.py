"""A flow on this device: steps, compilation, and the share of the roofline.

python benchmarks/flows.py steps|roofline [--help]
"""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

from _timing import print_setting, race, run_part
from deciban.flows import Flow

# steps

FEATURES, COUPLINGS, WIDTH, DEPTH, BATCH = 40, 12, 128, 2, 512


def compiled_step(flow, rng):
    """A step that is ready to run, and the seconds that it took to compile."""
    params = flow.init(jax.random.key(0))
    # Off the start, where splines are straight lines and log-scales zero.
    params = jax.tree.map(
        lambda leaf: leaf + jnp.asarray(rng.normal(scale=0.01, size=leaf.shape), leaf.dtype), params
    )
    x = jnp.asarray(rng.normal(size=(BATCH, FEATURES)), jnp.float32)

    def loss(params, x):
        z, log_det = flow.forward(params, x)
        return jnp.mean(-log_det + jnp.sum(z * z, axis=-1) / 2)

    start = time.perf_counter()
    step = jax.jit(jax.value_and_grad(loss)).lower(params, x).compile()
    taken = time.perf_counter() - start
    return lambda: jax.block_until_ready(step(params, x)), taken


def steps_part(arguments):
    """One training step of a flow, forward and backward, and what it takes to compile it."""
    parser = argparse.ArgumentParser(description=steps_part.__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--mixing", default="random")
    args = parser.parse_args(arguments)
    print_setting("deciban", "jax", "jaxlib")
    print(
        f"{FEATURES} features, {COUPLINGS} couplings of {DEPTH} x {WIDTH}, batch {BATCH}, "
        f"mixing {args.mixing}; medians of {args.rounds} rounds"
    )
    rng = np.random.default_rng(0)
    for kind in ("affine", "spline"):
        flow = Flow(FEATURES, COUPLINGS, kind, WIDTH, DEPTH, mixing=args.mixing)
        step, seconds = compiled_step(flow, rng)
        median = race({kind: step}, args.rounds)[kind]
        print(f"{kind:10}{median * 1e3:8.1f} ms a step{seconds:8.1f} s to compile")


# roofline

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


def roofline_part(arguments):
    """Samples a second of a flow on this device, and the share of the roofline that its steps
    reach.

    ``--features 784 --couplings 12 --width 512 --batches 256 1024 4096 16384 65536`` is the
    flow that a CDA has for MNIST on its pixels.

    The roofline is what the device does here and now: the larger of the step's floating-point
    operations over the speed of a large matrix product, and of the bytes that the compiled step
    reads and writes over the speed of a copy.
    """
    parser = argparse.ArgumentParser(description=roofline_part.__doc__)
    parser.add_argument("--size", type=int, default=8192, help="of the matrix in the limits")
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 65536])
    parser.add_argument("--kinds", nargs="+", default=["affine"])
    parser.add_argument("--features", type=int, nargs="+", default=[2, 40, 784])
    parser.add_argument("--couplings", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    args = parser.parse_args(arguments)
    print_setting("deciban", "jax")
    flops, bandwidth = limits(args.size)
    print(f"{jax.devices()[0].device_kind}: product {flops / 1e12:.2f} TFLOP/s, copy "
          f"{bandwidth / 1e12:.3f} TB/s")  # fmt: skip
    for kind in args.kinds:
        for batch in args.batches:
            for d in args.features:
                measure(kind, args.couplings, d, args.width, batch, flops, bandwidth)


if __name__ == "__main__":
    run_part(steps=steps_part, roofline=roofline_part)
