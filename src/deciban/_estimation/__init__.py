"""What estimators that give evidence share, and the convex fits behind them."""

from deciban._persistence.registry import register_value
from deciban.simplex import Basis

register_value(Basis, contrast="D k", classes=tuple | None)
