"""Features to evidence: linear, quadratic and compositional (a flow) analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deciban.discriminant.batches import Batches
from deciban.discriminant.linear import LinearDiscriminant, QuadraticDiscriminant

if TYPE_CHECKING:
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis

__all__ = [
    "Batches",
    "CompositionalDiscriminantAnalysis",
    "LinearDiscriminant",
    "QuadraticDiscriminant",
]


def __getattr__(name: str) -> Any:
    if name == "CompositionalDiscriminantAnalysis":  # it needs JAX, which the others do not
        import deciban.flows  # noqa: F401  (names the extra where JAX is missing)
        from deciban.discriminant import cda

        return cda.CompositionalDiscriminantAnalysis
    raise AttributeError(f"module 'deciban.discriminant' has no attribute {name!r}")
