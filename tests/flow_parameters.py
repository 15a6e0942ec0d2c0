"""Parameters of flows as training might leave them: off the start in every direction."""

import jax
import numpy as np


def trained_like(flow, seed=0, scale=0.1, **options):
    # In NumPy: JAX would compile each operation for each shape.
    params = jax.tree.map(np.asarray, flow.init(jax.random.key(seed), **options))
    rng = np.random.default_rng(seed)

    def moved(path, leaf):
        if path[-1] == jax.tree_util.DictKey("pivots"):
            return leaf
        return leaf + rng.normal(scale=scale, size=leaf.shape).astype(leaf.dtype)

    return jax.tree_util.tree_map_with_path(moved, params)
