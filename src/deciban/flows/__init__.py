"""Invertible maps in JAX: an affine map, then couplings. They know nothing of classes.

>>> import jax
>>> from deciban.flows import Flow
>>> flow = Flow(n_features=2)
>>> params = flow.init(jax.random.key(0))
>>> z, log_det = flow.forward(params, [[1.0, 2.0]])
>>> z
Array([[1., 2.]], dtype=float32)
"""

from deciban.exceptions import MissingExtraError

try:
    import jax  # noqa: F401  (tried here, so that a missing one is named with its extra)
except ModuleNotFoundError as missing:
    raise MissingExtraError(
        f"{missing.name} must be installed for flows and a CDA. Run: pip install 'deciban[flow]'",
        extra="flow",
    ) from missing


from deciban.flows.flow import Flow, Params
from deciban.flows.runtime import double_precision, start_cache

start_cache()

__all__ = ["Flow", "Params", "double_precision"]
