"""What figures are drawn on: none of pyplot's, so that none stays open."""

from __future__ import annotations

from typing import Any


def canvas(width: float, height: float) -> Any:
    """A figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
