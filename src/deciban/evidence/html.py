"""Evidence as a table for notebooks: whom each sample favors, how strongly, and posteriors."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from deciban._markup import Cell, Shaded, number, paragraph, percent, represent, shorten, table
from deciban._validation.arrays import Floats
from deciban.evidence.units import SCALES, from_nats
from deciban.simplex import logparts

_MOST_ROWS, _MOST_CLASSES = 10, 6
_SCALE = SCALES["enfsi"]


def represent_rows(log_likelihoods: Floats, classes: tuple[Hashable, ...]) -> str:
    """HTML of the first rows of log-likelihoods over these classes."""
    n, D = log_likelihoods.shape
    title = paragraph(f"of {n:,} sample{'s' * (n != 1)} about {D:,} classes", lead="Evidence")
    if n == 0:
        return represent(title)
    names = [shorten(label, 30) for label in classes] if D <= _MOST_CLASSES else []
    columns = [
        "sample", "favored class", "LLR (deciban)", "in words",
        *(f"posterior of {name}" for name in names or ["favored", "next"]),
    ]  # fmt: skip
    order = np.argsort(-log_likelihoods, axis=1, kind="stable")
    rows: list[list[Cell]] = []
    for i, (first, second, *_) in enumerate(order[:_MOST_ROWS].tolist()):
        a, b = (shorten(classes[k], 30) for k in (first, second))
        llr = log_likelihoods[i, first] - log_likelihoods[i, second]
        posteriors = logparts.to_parts(log_likelihoods[i]).tolist()
        shown = posteriors if names else [posteriors[first], posteriors[second]]
        rows.append([
            f"{i:,}",
            a if llr > 0 else "none",
            number(round(float(from_nats(llr, "deciban")), 1)),
            str(_SCALE.describe([llr], a, b)[0]),
            *(Shaded("under 0.01 %" if 0 < p < 1e-4 else percent(p), p) for p in shown),
        ])  # fmt: skip
    more = f"… and {n - _MOST_ROWS:,} more samples. " if n > _MOST_ROWS else ""
    note = (
        f"{more}The LLR is that of the favored class against the next, in the words of the ENFSI "
        f"scale; posteriors are at equal priors."
    )
    return represent(title, table("Evidence of the first samples", columns, rows), paragraph(note))
