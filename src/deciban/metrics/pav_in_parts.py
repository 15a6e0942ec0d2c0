"""PAV of samples in partitions: exact blocks from sorted parts of the scores.

Each part of the samples is sorted and put aside as a run. Splitters divide the range of scores,
ties on one side, so that the scores of all runs between two of them fit into memory; these are
sorted and pooled. Blocks of neighboring ranges pool as their samples would, so that joined ranges
have the blocks of all samples, whatever the parts were. Masses are counts and therefore exact.

With three classes or more, scores are the LLRs of a pair of classes. Only samples that lie where
both classes do are sorted; beyond, LLRs tell the classes apart.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.multiclass import PairwiseCosts, tabulate_pairs
from deciban.metrics.partitions import FOLDS, Partitions, Rows, Tally, folds_of, require_counts
from deciban.metrics.pav import Cells, PooledBlocks, count_levels, count_runs, merge_near

_RANGE = 1 << 21  # scores of a range
_EVERY = 1 << 12  # scores of a run that one stands for in the choice of splitters
_MAX_SCORES = 1 << 31  # in the scratch folder at once

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as the built-in map
Pair = tuple[int, int]


# --- sorted runs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Sorted scores in memory or in a file, one group after another."""

    sizes: tuple[int, ...]
    where: Floats | str
    ends: Floats  # smallest and largest by group, (n_groups, 2); inf and -inf if it is empty
    some: Floats  # at regular ranks
    weight: float  # number of scores that each of them stands for
    start: int = 0  # in the file

    def groups(self) -> list[Floats]:
        """Sorted scores of each group; those in a file are read on demand."""
        whole, n = self.where, sum(self.sizes)
        if isinstance(whole, str):
            offset = self.start * np.dtype(np.float64).itemsize
            whole = np.memmap(whole, np.float64, "r", offset, (n,)) if n else np.empty(0)
        return np.split(whole, np.cumsum(self.sizes)[:-1])


def sort_groups(groups: Sequence[Floats]) -> Run:
    runs = [np.sort(group) for group in groups]
    whole = np.concatenate(runs)
    some = np.concatenate([run[_EVERY // 2 :: _EVERY] for run in runs])
    if not len(some):
        some = whole[:1]
    return Run(
        sizes=tuple(map(len, runs)),
        where=whole,
        ends=np.array([(run[0], run[-1]) if len(run) else (np.inf, -np.inf) for run in runs]),
        some=some,
        weight=len(whole) / max(len(some), 1),
    )


def write_runs(runs: Sequence[Run], folder: str) -> list[Run]:
    """Write runs to a new file, one after another."""
    path = str(Path(folder, secrets.token_hex(8)))  # a worker that was lost may still write
    starts = np.cumsum([0, *(sum(run.sizes) for run in runs)]).tolist()
    try:
        with open(path, "wb") as file:
            for run in runs:
                file.write(np.asarray(run.where).data)  # unlike tofile, it says why it fails
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return [replace(run, where=path, start=k) for run, k in zip(runs, starts, strict=False)]


def choose_splitters(runs: Sequence[Run], size: int = _RANGE) -> Floats:
    """Rising scores that divide all runs into ranges of about this size at most."""
    total = sum(sum(run.sizes) for run in runs)
    if total <= size:
        return np.empty(0)
    some = np.concatenate([run.some for run in runs])
    weight = np.repeat([run.weight for run in runs], [len(run.some) for run in runs])
    order = np.argsort(some)
    ends = np.linspace(0, total, -(-total // size) + 1)[1:-1]
    places = np.searchsorted(np.cumsum(weight[order]), ends)
    return np.unique(some[order][np.minimum(places, len(some) - 1)])


def _find_edges(run: Run, splitters: Floats) -> NDArray[np.intp]:
    """Where the ranges in each group begin and end, (n_ranges + 1, n_groups)."""
    inner = [np.searchsorted(scores, splitters, side="right") for scores in run.groups()]
    return np.vstack([np.zeros(len(inner), int), np.stack(inner, axis=1), run.sizes])


class Slice(NamedTuple):
    """Where the scores in a range lie in each run, and at which ranks to take some."""

    runs: Sequence[Run]
    starts: NDArray[np.intp]  # (n_runs, n_groups)
    stops: NDArray[np.intp]
    ranks: NDArray[np.intp]  # of the first score, by group
    steps: NDArray[np.intp]

    def sort(self) -> list[Floats]:
        pieces: list[list[Floats]] = [[] for _ in self.ranks]
        for run, starts, stops in zip(self.runs, self.starts, self.stops, strict=True):
            if (starts < stops).any():
                for held, scores, a, b in zip(pieces, run.groups(), starts, stops, strict=True):
                    held.append(np.array(scores[a:b]))
        return [np.sort(np.concatenate(held)) if held else np.empty(0) for held in pieces]


def _cut_ranges(
    runs: Sequence[Run],
    apply: Mapper = map,
    size: int = _RANGE,
    steps: NDArray[np.intp] | None = None,
) -> list[Slice]:
    """Ranges of about this size at most, none of them empty."""
    splitters = choose_splitters(runs, size)
    runs = [replace(run, some=np.empty(0)) for run in runs]  # they travel with each range
    edges = np.stack([*apply(partial(_find_edges, splitters=splitters), runs)])
    at = edges.sum(axis=0)
    steps = np.ones_like(at[0]) if steps is None else steps
    return [
        Slice(runs, edges[:, k], edges[:, k + 1], at[k], steps)
        for k in range(len(at) - 1)
        if (at[k] < at[k + 1]).any()
    ]


# --- two classes in two folds -----------------------------------------------------------------


def _pool_range(part: Slice) -> tuple[Cells, list[Cells], Cells, list[Floats]]:
    """Blocks in a range of scores, those without each fold, levels, and scores at some ranks.

    The first and last levels are not pooled: rounding may tie them with those of the neighbors.
    """
    groups = part.sort()
    some = [
        scores[-rank % step :: step]
        for scores, rank, step in zip(groups, part.ranks, part.steps, strict=True)
    ]
    trials = _trials(groups, range(FOLDS))
    levels = count_levels(trials)
    inner = Cells(*(column[1:-1] for column in levels)).pool()
    ends = (Cells(*(column[k : k + 1] for column in levels)) for k in (0, len(levels.low) - 1))
    if len(levels.low) > 1:
        levels = Cells.join([next(ends), inner, next(ends)])
    known = (_trials(groups, [k for k in range(FOLDS) if k != fold]) for fold in range(FOLDS))
    without = [count_runs(one).pool() for one in known]
    return count_runs(trials).pool(), without, levels, some


def _trials(groups: Sequence[Floats], folds: Iterable[int]) -> Trials:
    other, target = (np.concatenate([groups[t * FOLDS + k] for k in folds]) for t in (0, 1))
    return Trials(Scores(target), Scores(other))


class PooledRuns(NamedTuple):
    """PAV blocks for two classes, and what else the order of the scores shows."""

    counts: NDArray[np.intp]  # (2, n_folds)
    blocks: PooledBlocks
    levels: PooledBlocks  # LLRs that differ only by rounding are tied
    known: tuple[PooledBlocks | None, ...]  # without each fold, with a misleading sample a class
    some: tuple[Floats, ...]  # LLRs at regular ranks in each class and fold
    ends: Floats  # the smallest and the largest, (2, n_folds, 2)


def sort_run(llr: Floats, codes: NDArray[Any], folds: NDArray[Any]) -> Run:
    """Sort LLRs in favor of class 1: those in each class and fold in turn."""
    group = codes * FOLDS + folds
    return sort_groups([llr[group == k] for k in range(2 * FOLDS)])


def pool_runs(
    runs: Sequence[Run], n_some: int, apply: Mapper = map, size: int = _RANGE
) -> PooledRuns:
    """Pool all runs, which hold both classes; keep ``n_some`` LLRs in each class and fold."""
    counts = np.sum([run.sizes for run in runs], axis=0)
    slices = _cut_ranges(runs, apply, size, np.maximum(counts // n_some, 1))
    blocks, without, levels, some = zip(*apply(_pool_range, slices), strict=True)
    groups = counts.reshape(2, FOLDS)
    others = (groups.sum(axis=1)[:, None] - groups).T
    ends = np.array([run.ends for run in runs]).reshape(-1, 2, FOLDS, 2)
    known = (
        Cells.join(one).add_misleading().pool().shares() if rest.all() else None
        for one, rest in zip(zip(*without, strict=True), others, strict=True)
    )
    return PooledRuns(
        counts=groups,
        blocks=Cells.join(blocks).pool().shares(),
        levels=merge_near(Cells.join(levels)).pool().shares(),
        known=tuple(known),
        some=tuple(np.concatenate(one) for one in zip(*some, strict=True)),
        ends=np.stack([ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)], axis=-1),
    )


def pool_partitions(data: Partitions, n_some: int) -> tuple[list[PooledRuns], list[Tally]]:
    """Pool the LLRs of each system, and count its samples."""
    with data.open_scratch() as folder:
        found = [*data.map(partial(_sort_rows, folder), "Sorting")]
        tallies = [Tally.add([part[k][1] for part in found]) for k in range(data.n_systems)]
        require_counts(data.classes, tallies[0].counts)
        pooled = [
            pool_runs(
                [part[k][0] for part in found],
                n_some,
                lambda function, items: data.map_items(function, [*items], "Pooling"),
            )
            for k in range(data.n_systems)
        ]
    return pooled, tallies


def _sort_rows(folder: str, rows: Rows) -> list[tuple[Run, Tally]]:
    fold, found = folds_of(rows.hashes), []
    for k, llr in enumerate(rows.evidence):
        (run,) = write_runs([sort_run(llr, rows.codes, fold)], folder)
        found.append((run, Tally.of_rows(rows, k)))
    return found


# --- pairs of classes -------------------------------------------------------------------------


def pairwise_costs_in_parts(data: Partitions) -> tuple[list[Tally], list[PairwiseCosts]]:
    """Counts, and Cllr and Cllr_min for each pair of classes, with each system."""
    tallies, costs = [], []
    parts = zip(*data.map(partial(_tally_rows, data.classes), "Counting"), strict=True)
    for k, found in enumerate(parts):
        tally, sums, smallest = zip(*found, strict=True)
        tallies.append(Tally.add(tally))
        costs.append((k, np.sum(sums, axis=0), np.min(smallest, axis=0)))
    counts = tallies[0].counts
    require_counts(data.classes, counts)
    return tallies, [_pairwise_costs(data, counts, *one) for one in costs]


def _tally_rows(classes: tuple[Any, ...], rows: Rows) -> list[tuple[Tally, Floats, Floats]]:
    """Counts, sums of LLR costs in nats and smallest LLRs: classes (rows) against each other."""
    D, found = len(classes), []
    for k in range(len(rows.evidence)):
        samples = rows.labelled(classes, k)
        costs, smallest = np.zeros((D, D)), np.full((D, D), np.inf)
        for t in np.unique(rows.codes):
            llr = samples.llr_of_class(t, range(D))
            costs[t], smallest[t] = softplus(-llr).sum(axis=0), llr.min(axis=0)
        found.append((Tally.of_rows(rows, k), costs, smallest))
    return found


def _pairwise_costs(
    data: Partitions, counts: NDArray[np.intp], system: int, costs: Floats, smallest: Floats
) -> PairwiseCosts:
    def min_costs(overlapping: list[Pair]) -> Iterator[float]:
        for pairs in _batches(overlapping, counts):
            pooled = _pool_pairs(data, system, pairs, smallest)
            for (i, j), cells in zip(pairs, pooled, strict=True):
                # The LLRs beyond the overlap are a cell of one class at either end.
                below, above = counts[j] - cells.other.sum(), counts[i] - cells.target.sum()
                ends = (-np.inf, -np.inf, 0.0, below), (np.inf, np.inf, above, 0.0)
                first, last = (Cells(*np.array(one)[:, None]) for one in ends)
                yield cost_of_blocks(Cells.join([first, cells, last]).pool().shares())

    return tabulate_pairs(costs / counts[:, None], smallest, min_costs)


def _batches(pairs: Sequence[Pair], counts: Any) -> Iterator[list[Pair]]:
    """Pairs whose scores are in the scratch folder together."""
    batch: list[Pair] = []
    for i, j in pairs:
        if batch and sum(counts[list(pair)].sum() for pair in [*batch, (i, j)]) > _MAX_SCORES:
            yield batch
            batch = []
        batch.append((i, j))
    if batch:
        yield batch


def _pool_pairs(
    data: Partitions, system: int, pairs: Sequence[Pair], smallest: Floats
) -> Iterator[Cells]:
    """Blocks for the LLRs of each pair where both classes overlap."""
    with data.open_scratch() as folder:
        function = partial(_sort_pairs, folder, system, data.classes, pairs, smallest)
        by_part = [*data.map(function, "Sorting")]
        slices = [_cut_ranges(runs) for runs in zip(*by_part, strict=True)]
        every = [one for some in slices for one in some]
        found = iter([*data.map_items(_pool_pair, every, "Pooling")])
    for some in slices:
        yield Cells.join([next(found) for _ in some]).pool()


def _pool_pair(part: Slice) -> Cells:
    other, target = part.sort()
    return count_runs(Trials(Scores(target), Scores(other))).pool()


def _sort_pairs(
    folder: str,
    system: int,
    classes: tuple[Any, ...],
    pairs: Sequence[Pair],
    smallest: Floats,
    rows: Rows,
) -> list[Run]:
    """A run for each pair: LLRs in favor of the first class, for class two and class one."""
    samples = rows.labelled(classes, system)
    runs = []
    for i, j in pairs:
        target, other = samples.llr_of_class(i, [j])[:, 0], -samples.llr_of_class(j, [i])[:, 0]
        groups = [other[other >= smallest[i, j]], target[target <= -smallest[j, i]]]
        runs.append(sort_groups(groups))
    return write_runs(runs, folder)
