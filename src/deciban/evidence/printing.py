"""How evidence looks at a prompt."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from deciban.evidence.units import from_nats

_ROWS, _COLUMNS, _WIDTH = 10, 8, 12


def table(log_likelihoods: np.ndarray, classes: tuple[Hashable, ...]) -> str:
    """Decibans below the best class of each sample, as an aligned table."""
    n, D = log_likelihoods.shape
    title = (
        f"Evidence: {n:,} sample{'s' * (n != 1)}, {D:,} classes; "
        f"decibans below each sample's best class"
    )
    if n == 0:
        return title
    columns = _ends(D, _COLUMNS)
    rows = _ends(n, _ROWS)
    header = ["", *("..." if c is None else _short(str(classes[c])) for c in columns)]
    body = [_row(r, columns, log_likelihoods) for r in rows]
    widths = [max(len(line[k]) for line in [header, *body]) for k in range(len(header))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [header, *body]
    ]
    return "\n".join([title, *lines])


def _row(r: int | None, columns: list[int | None], log_likelihoods: np.ndarray) -> list[str]:
    if r is None:
        return ["..."] * (len(columns) + 1)
    below = from_nats(log_likelihoods[r] - log_likelihoods[r].max(), "deciban")
    return [str(r), *("..." if c is None else f"{below[c]:.1f}" for c in columns)]


def _ends(count: int, most: int) -> list[int | None]:
    if count <= most:
        return list(range(count))
    half = most // 2
    return [*range(half), None, *range(count - half, count)]


def _short(name: str) -> str:
    return name if len(name) <= _WIDTH else name[: _WIDTH - 1] + "…"
