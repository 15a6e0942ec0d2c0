"""One training step of a flow, forward and backward, and what it takes to compile it."""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from _timing import print_setting, race
from deciban.flows import Flow

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--mixing", default="random")
    args = parser.parse_args()
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


if __name__ == "__main__":
    main()
