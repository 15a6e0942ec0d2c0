"""Costs of each pair of classes, of samples in partitions that need not fit into memory.

One pass counts samples and sums what they cost. It also finds where the LLRs of a pair overlap:
beyond, all samples of a class are told apart, and only those within are sorted and pooled.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deciban._validation.arrays import Floats
from deciban.evidence import from_nats
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.labelled import Labelled
from deciban.metrics.multiclass import PairwiseCosts
from deciban.metrics.partitions import Partitions, Rows, Tally, evidence_of, require_counts
from deciban.metrics.pav import Cells
from deciban.metrics.sorted_runs import Run, cut_ranges, pool_cells, sort_groups, write_runs

_MOST_SCORES = 1 << 31  # that lie in the scratch folder at once

Pair = tuple[int, int]


class PairTally(NamedTuple):
    """Numbers of samples, and the LLRs of each class (row) against each other one (column)."""

    tally: Tally
    costs: Floats  # sums of what LLRs cost, in nats
    smallest: Floats  # LLR; inf where there are no samples

    def add(self, other: PairTally) -> PairTally:
        """The tally of both."""
        smallest = np.minimum(self.smallest, other.smallest)
        return PairTally(Tally.add([self.tally, other.tally]), self.costs + other.costs, smallest)

    @property
    def cllr(self) -> Floats:
        """Cllr of each pair of classes, in bits."""
        means = self.costs / self.tally.counts[:, None]
        return np.asarray(from_nats((means + means.T) / 2, "bit"))


def tally_pairs(data: Partitions) -> list[PairTally]:
    """The tally of each system; every class must occur."""
    tallies: list[PairTally] = []
    for part in data.map(partial(_tally_rows, data.classes), "Counting"):
        tallies = [a.add(b) for a, b in zip(tallies, part, strict=True)] if tallies else part
    require_counts(data.classes, tallies[0].tally.counts)
    return tallies


def _tally_rows(classes: tuple[Any, ...], rows: Rows) -> list[PairTally]:
    return [_tally(classes, rows, values) for values in rows.evidence]


def _tally(classes: tuple[Any, ...], rows: Rows, values: Floats) -> PairTally:
    D = len(classes)
    costs, smallest = np.zeros((D, D)), np.full((D, D), np.inf)
    if not len(values):
        none = np.zeros(0, dtype=bool)
        return PairTally(Tally.of_rows(rows, values, D, none, none), costs, smallest)
    samples = Labelled(evidence_of(values, classes), rows.codes)
    for k in np.unique(rows.codes):
        llr = samples.llr_of_class(k, range(D))
        costs[k], smallest[k] = softplus(-llr).sum(axis=0), llr.min(axis=0)
    infinite = np.isinf(samples.evidence.log_likelihoods)
    wrong = infinite[np.arange(len(infinite)), rows.codes]
    tally = Tally.of_rows(rows, values, D, infinite.any(axis=1), wrong)
    return PairTally(tally, costs, smallest)


def pairwise_costs_in_parts(data: Partitions, tallies: Sequence[PairTally]) -> list[PairwiseCosts]:
    """Cllr and Cllr_min of each pair of classes, of each system."""
    return [_pairwise_costs(data, k, tally) for k, tally in enumerate(tallies)]


def _pairwise_costs(data: Partitions, system: int, tally: PairTally) -> PairwiseCosts:
    actual, minimum = tally.cllr, np.zeros_like(tally.costs)
    counts, smallest = tally.tally.counts, tally.smallest
    overlapping = [(i, j) for i, j in np.argwhere(np.triu(~(smallest > -smallest.T), 1)).tolist()]
    for pairs in _batches(overlapping, counts):
        for (i, j), cells in zip(pairs, _pool_pairs(data, system, pairs, smallest), strict=True):
            # What lies beyond the overlap is told apart: a cell of one class at either end.
            below, above = counts[j] - cells.other.sum(), counts[i] - cells.target.sum()
            ends = [
                Cells(*(np.array([float(x)]) for x in (at, at, target, other)))
                for at, target, other in ((-np.inf, 0, below), (np.inf, above, 0))
            ]
            blocks = Cells.join([ends[0], cells, ends[1]]).pool().shares()
            minimum[i, j] = minimum[j, i] = cost_of_blocks(blocks)
    for table in (actual, minimum):
        np.fill_diagonal(table, np.nan)
    return PairwiseCosts(actual, minimum)


def _batches(pairs: Sequence[Pair], counts: Any) -> Iterator[list[Pair]]:
    """Pairs whose scores lie in the scratch folder together."""
    batch: list[Pair] = []
    size = 0
    for i, j in pairs:
        n = int(counts[i] + counts[j])
        if batch and size + n > _MOST_SCORES:
            yield batch
            batch, size = [], 0
        batch.append((i, j))
        size += n
    if batch:
        yield batch


def _pool_pairs(
    data: Partitions, system: int, pairs: Sequence[Pair], smallest: Floats
) -> Iterator[Cells]:
    """Blocks of the LLRs of each pair that lie where both classes do."""
    with data.open_scratch() as folder:
        function = partial(_sort_pairs, folder, system, data.classes, pairs, smallest)
        by_part = [*data.map(function, "Sorting")]
        slices = [cut_ranges(runs) for runs in zip(*by_part, strict=True)]
        every = [one for some in slices for one in some]
        found = iter([*data.map_items(pool_cells, every, "Pooling")])
    for some in slices:
        yield Cells.join([next(found) for _ in some]).pool()


def _sort_pairs(
    folder: str,
    system: int,
    classes: tuple[Any, ...],
    pairs: Sequence[Pair],
    smallest: Floats,
    rows: Rows,
) -> list[Run]:
    """A run for each pair: LLRs in favor of its first class, of the second class and the first."""
    values = rows.evidence[system]
    samples = Labelled(evidence_of(values, classes), rows.codes) if len(values) else None
    runs = []
    for i, j in pairs:
        groups = [np.empty(0), np.empty(0)]
        if samples is not None:
            target, other = samples.llr_of_class(i, [j])[:, 0], -samples.llr_of_class(j, [i])[:, 0]
            groups = [other[other >= smallest[i, j]], target[target <= -smallest[j, i]]]
        runs.append(sort_groups(groups))
    return write_runs(runs, str(Path(folder, secrets.token_hex(8))))
