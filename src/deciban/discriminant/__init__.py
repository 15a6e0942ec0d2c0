"""Discriminant analyses that give evidence: linear, quadratic and compositional (a flow)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deciban.discriminant.linear import LinearDiscriminant, QuadraticDiscriminant
from deciban.exceptions import MissingExtraError

if TYPE_CHECKING:
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis

__all__ = ["CompositionalDiscriminantAnalysis", "LinearDiscriminant", "QuadraticDiscriminant"]


def __getattr__(name: str) -> Any:
    if name == "CompositionalDiscriminantAnalysis":  # it needs JAX, which the others do not
        try:
            from deciban.discriminant import cda
        except ModuleNotFoundError as missing:
            raise MissingExtraError(
                f"{missing.name} must be installed for a CDA. Run: pip install 'deciban[flow]'",
                extra="flow",
            ) from missing
        return cda.CompositionalDiscriminantAnalysis
    raise AttributeError(f"module 'deciban.discriminant' has no attribute {name!r}")
