"""How figures look: a sheet outside pyplot, colors for every kind of eye, and markers."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito (2008), without yellow, which is lost on white.
COLORS = ("#0072B2", "#D55E00", "#009E73")
MARKERS = ("o", "s", "^")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)))
REFERENCE = "0.45"  # gray of identities and boundaries


def new_figure(width: float, height: float) -> Any:
    """An empty figure, sizes in inches; pyplot does not know it, so it need not be closed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def use_plain_ticks(*axes: Any) -> None:
    """Label logarithmic axes with plain numbers, at 1, 2 and 5 of each decade."""
    for axis in axes:
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
