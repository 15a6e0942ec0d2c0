"""A calibrated Gaussian family as a table for notebooks."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from deciban._markup import Cell, Tint, number, paragraph, percent, represent, shorten, table

_MOST_CLASSES = 10


def represent_pairs(
    divergences: NDArray[np.float64], eers: NDArray[np.float64], classes: tuple[Hashable, ...]
) -> str:
    """HTML of a matrix: divergences (nat) above the diagonal, equal-error rates below it."""
    D = len(classes)
    names = [shorten(label, 30) for label in classes[:_MOST_CLASSES]]

    def cell(i: int, j: int) -> Cell:
        if i == j:
            return "–"
        d, eer = float(divergences[i, j]), float(eers[i, j])
        return Tint(f"{number(d)} nat" if i < j else percent(eer, 3), 2 * eer)

    rows = [[name, *(cell(i, j) for j in range(len(names)))] for i, name in enumerate(names)]
    more = f"… and {D - len(names):,} more classes. " if len(names) < D else ""
    return represent(
        paragraph(f"of {D:,} classes", lead="Calibrated Gaussian family"),
        table("Divergences and equal-error rates", ["class", *names], rows),
        paragraph(
            f"{more}Above the diagonal: divergence in nats. Below it: equal-error rate. The "
            f"stronger the tint, the harder the pair is to tell apart."
        ),
    )
