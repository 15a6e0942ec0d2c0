"""Evidence as a table for notebooks: whom each sample favors, how strongly, and posteriors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

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
    rows = _rows(log_likelihoods[:_MOST_ROWS], classes, every=bool(names))
    more = f"… and {n - _MOST_ROWS:,} more samples. " if n > _MOST_ROWS else ""
    note = (
        f"{more}The LLR is that of the favored class against the next, in the words of the ENFSI "
        f"scale; posteriors are at equal priors."
    )
    return represent(title, table("Evidence of the first samples", columns, rows), paragraph(note))


def _rows(
    log_likelihoods: Floats, classes: tuple[Hashable, ...], every: bool
) -> Iterator[list[Cell]]:
    order = np.argsort(-log_likelihoods, axis=1, kind="stable")
    posteriors = logparts.to_parts(log_likelihoods)
    for i, (first, second, *_) in enumerate(order.tolist()):
        a, b = (shorten(classes[k], 30) for k in (first, second))
        llr = log_likelihoods[i, first] - log_likelihoods[i, second]
        shown = range(len(classes)) if every else (first, second)
        yield [
            f"{i:,}",
            a if llr > 0 else "none",
            number(round(float(from_nats(llr, "deciban")), 1)),
            str(_SCALE.describe([llr], a, b)[0]),
            *(_bar(float(posteriors[i, k])) for k in shown),
        ]


def _bar(posterior: float) -> Shaded:
    return Shaded("under 0.01 %" if 0 < posterior < 1e-4 else percent(posterior), posterior)
