"""Programs of a training, compiled once for all fits of one size, as in a cross-validation."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from deciban.discriminant.objective import Model
from deciban.flows.runtime import jit, map_members
from deciban.flows.training import Layout, Trainer, Vectors


@lru_cache(maxsize=32)
def make_trainer(model: Model, dtype: str, **options: Any) -> Trainer:
    """A trainer of the flows of a model."""
    quick = model.flow.has_small_kernels
    return Trainer(model.loss, _layout(model, dtype), perturb=model.perturb, quick=quick, **options)


@lru_cache(maxsize=32)
def ilr_program(model: Model, dtype: str, own_data: bool = False) -> Any:
    """A function of vectors of parameters and of prepared features that gives ILRLs.

    With ``own_data``, each member has features of its own.
    """
    layout = _layout(model, dtype)

    def ilr(vectors: Vectors, x: jax.Array) -> jax.Array:
        return model.ilr(layout.restore(vectors), x)

    members = map_members(ilr, (0, 0 if own_data else None))
    return jit(members, quick=model.flow.has_small_kernels)


def select(flags: NDArray[np.bool_], new: Vectors, old: Vectors) -> Vectors:
    """The new vectors where flags of their first axes are true, and the old ones elsewhere."""
    if flags.all():
        return new
    pairs = zip(new, old, strict=True)
    return tuple(np.where(flags[..., None], a, b) for a, b in pairs) if flags.any() else old


def _layout(model: Model, dtype: str) -> Layout:
    params = model.init(0, dtype=dtype)
    return Layout.of(params, model.decays(params))
