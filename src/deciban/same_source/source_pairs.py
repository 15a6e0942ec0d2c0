"""Pairs of rows from the same source and from different sources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import align_by_index, factorize_labels, read_labels
from deciban._validation.scalars import Rng, as_generator, require_whole
from deciban.exceptions import InputError

Rows = NDArray[np.intp]
_MAX_PAIRS = 10**8  # pairs above which a limit must be given
_BLOCK = 1 << 22  # pairs held at once


class Pairs(NamedTuple):
    """Pairs of rows, and whether they come from the same source.

    Attributes
    ----------
    left, right : arrays of int of shape (n_pairs,)
        Rows on either side.
    y_true : array of shape (n_pairs,)
        1 for the same source, else 0.

    Examples
    --------
    >>> pairs(["a", "b", "a"]).y_true
    array([1, 0, 0])
    """

    left: Rows
    right: Rows
    y_true: NDArray[np.int_]


def pairs(
    source: ArrayLike, *, apart: ArrayLike | None = None, limit: int | None = None, rng: Rng = None
) -> Pairs:
    """Pairs of rows, same-source pairs first; each pair once, the earlier row on the left.

    Parameters
    ----------
    source : array of shape (n,)
        The source of each row.
    apart : array of shape (n,), optional
        A grouping, such as sessions or fragments. Rows in one group are never paired; if group
        numbers restart in each source, combine them with the source.
    limit : int, optional
        Largest number of pairs of each kind. If there are more, that many are drawn without
        replacement.
    rng : Generator, int or None

    Returns
    -------
    Pairs
        ``left``, ``right`` and ``y_true``, arrays of shape (n_pairs,).

    See Also
    --------
    deciban.SameSourceModel.llr : Compares the rows of each pair.

    Examples
    --------
    >>> left, right, y_true = pairs(["a", "b", "a"])
    >>> left, right, y_true
    (array([0, 0, 1]), array([2, 1, 2]), array([1, 0, 0]))
    """
    source, apart = align_by_index(source=source, apart=apart)
    s = factorize_labels(read_labels(source, name="source"))[1]
    n = len(s)
    g = np.arange(n) if apart is None else factorize_labels(read_labels(apart, n, "apart"))[1]
    limit = None if limit is None else require_whole(limit, "limit", least=1)
    rng, order = as_generator(rng), np.lexsort((g, s))
    s, g = s[order], g[order]
    cell = s * n + g
    cell_end, source_end = (np.searchsorted(x, x, side="right") for x in (cell, s))
    shared = _count_pairs(g) - _count_pairs(cell)  # pairs of two sources in one group
    same = _Candidates("the same source", cell_end, source_end - cell_end, g, 0)
    different = _Candidates("different sources", source_end, n - source_end, g, shared)
    found = [candidates.draw(limit, rng) for candidates in (same, different)]
    p, q = (order[np.concatenate(side)] for side in zip(*found, strict=True))
    y_true = np.repeat([1, 0], [len(left) for left, _ in found])
    return Pairs(np.minimum(p, q), np.maximum(p, q), y_true)


class _Candidates(NamedTuple):
    """Pairs of each position p with counts[p] positions from first[p] on, numbered row by row."""

    kind: str
    first: Rows
    counts: Rows
    group: Rows
    n_forbidden: int  # pairs within one group

    def draw(self, limit: int | None, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """All allowed pairs, or as many as the limit, drawn without replacement."""
        total = int(self.counts.sum())
        available = total - self.n_forbidden
        if not available or (limit is None and available > _MAX_PAIRS):
            remedy = "Give limit=100_000, for instance." if available else "Add rows."
            raise InputError(
                f"source must give from 1 to {_MAX_PAIRS:,} pairs of {self.kind}; it gives "
                f"{available:,}. {remedy}"
            )
        wanted = available if limit is None else min(limit, available)
        ranks = np.empty(0, dtype=np.intp)
        if 2 * wanted > available:  # go through all
            blocks = (np.arange(k, min(k + _BLOCK, total)) for k in range(0, total, _BLOCK))
            ranks = np.concatenate([self._allowed(block) for block in blocks])
        while len(ranks) < wanted:
            size = min(_BLOCK, int(1.1 * wanted * total / available) + 10)
            more = self._allowed(rng.integers(total, size=size))
            ranks = np.sort(np.concatenate([ranks, more]))  # np.unique hashes, which is slower
            ranks = ranks[np.diff(ranks, prepend=-1) > 0]
        if len(ranks) > wanted:
            ranks = np.sort(rng.choice(ranks, wanted, replace=False))
        return self._pairs(ranks)

    def _allowed(self, ranks: Rows) -> Rows:
        if not self.n_forbidden:
            return ranks
        p, q = self._pairs(ranks)
        return ranks[self.group[p] != self.group[q]]

    def _pairs(self, ranks: Rows) -> tuple[Rows, Rows]:
        ends = np.cumsum(self.counts)
        p = np.searchsorted(ends, ranks, side="right")
        return p, self.first[p] + ranks - (ends - self.counts)[p]


def _count_pairs(labels: Rows) -> int:
    n = np.unique(labels, return_counts=True)[1]
    return int(n @ (n - 1)) // 2
