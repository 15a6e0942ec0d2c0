"""Pool adjacent violators beyond memory: exact blocks from sorted parts of the scores.

Each part of the samples is sorted and put aside as a run. Splitters divide the range of scores,
ties on one side, so that the scores of all runs between two of them fit into memory: these are
sorted and pooled. Blocks of neighboring ranges pool as their samples would, so that the blocks of
the joined ranges are those of all samples, whatever the parts were. Masses are counts of samples
and therefore exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import Cells, PooledBlocks, count_levels, count_runs, merge_near

FOLDS = 2  # samples are many: few folds are enough
_RANGE = 1 << 21  # scores of a range
_EVERY = 1 << 12  # scores of a run that one stands for where splitters are chosen

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as the built-in map


@dataclass(frozen=True)
class Run:
    """Sorted scores of some samples, in memory or in a file: those of each class and fold in turn.

    ``start`` is the position of the first in its file. ``ends`` of shape (n_groups, 2) are the
    smallest and the largest of each, inf and -inf where there is none; ``some`` are scores at
    regular ranks, each of which stands for ``weight`` scores.
    """

    sizes: tuple[int, ...]
    where: Floats | str
    ends: Floats
    some: Floats
    weight: float
    start: int = 0

    def groups(self) -> list[Floats]:
        """Sorted scores of each class and fold; those of a file are read as they are needed."""
        whole, n = self.where, sum(self.sizes)
        if isinstance(whole, str):
            offset = self.start * np.dtype(np.float64).itemsize
            whole = np.memmap(whole, np.float64, "r", offset, (n,)) if n else np.empty(0)
        return np.split(whole, np.cumsum(self.sizes)[:-1])


def sort_run(llr: Floats, codes: NDArray[Any], folds: NDArray[Any], path: str | None = None) -> Run:
    """Sort LLRs in favor of the second class, and write them to a file if it is given."""
    group = codes * FOLDS + folds
    run = sort_groups([llr[group == k] for k in range(2 * FOLDS)])
    return run if path is None else write_runs([run], path)[0]


def sort_groups(groups: Sequence[Floats]) -> Run:
    """A run of the scores of several groups."""
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


def write_runs(runs: Sequence[Run], path: str) -> list[Run]:
    """The same runs, one after another in a file."""
    starts = np.cumsum([0, *(sum(run.sizes) for run in runs)]).tolist()
    try:
        with open(path, "wb") as file:
            for run in runs:
                file.write(np.asarray(run.where).data)  # unlike tofile, it says why it fails
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return [replace(run, where=path, start=k) for run, k in zip(runs, starts, strict=False)]


def choose_splitters(runs: Sequence[Run], size: int = _RANGE) -> Floats:
    """Rising scores that divide those of all runs into ranges of about this size or less."""
    total = sum(sum(run.sizes) for run in runs)
    if total <= size:
        return np.empty(0)
    some = np.concatenate([run.some for run in runs])
    weight = np.repeat([run.weight for run in runs], [len(run.some) for run in runs])
    order = np.argsort(some)
    ends = np.linspace(0, total, -(-total // size) + 1)[1:-1]
    places = np.searchsorted(np.cumsum(weight[order]), ends)
    return np.unique(some[order][np.minimum(places, len(some) - 1)])


def find_edges(run: Run, splitters: Floats) -> NDArray[np.intp]:
    """Where the ranges of each class and fold begin and end, of shape (n_ranges + 1, n_groups)."""
    inner = [np.searchsorted(scores, splitters, side="right") for scores in run.groups()]
    return np.vstack([np.zeros(len(inner), int), np.stack(inner, axis=1), run.sizes])


class PooledRange(NamedTuple):
    """Blocks of a range of scores.

    ``known`` are those of the samples outside each fold. The first and the last of the ``levels``
    are not pooled: rounding may tie them with those of the neighbors. ``some`` are scores at
    regular ranks, of each class and fold.
    """

    blocks: Cells
    known: tuple[Cells, ...]
    levels: Cells
    some: tuple[Floats, ...]


class Slice(NamedTuple):
    """Where the scores of a range lie in each run, and at which ranks some are taken."""

    runs: Sequence[Run]
    starts: NDArray[np.intp]  # (n_runs, n_groups)
    stops: NDArray[np.intp]
    ranks: NDArray[np.intp]  # of the first score, by group
    steps: NDArray[np.intp]


def _merge(part: Slice) -> list[Floats]:
    """Sorted scores of each group in a range."""
    pieces: list[list[Floats]] = [[] for _ in part.ranks]
    for run, starts, stops in zip(part.runs, part.starts, part.stops, strict=True):
        if (starts < stops).any():
            for held, scores, a, b in zip(pieces, run.groups(), starts, stops, strict=True):
                held.append(np.array(scores[a:b]))
    return [np.sort(np.concatenate(held)) if held else np.empty(0) for held in pieces]


def pool_range(part: Slice) -> PooledRange:
    """Sort and pool the scores of a range."""
    groups = _merge(part)
    some = tuple(
        scores[-rank % step :: step]
        for scores, rank, step in zip(groups, part.ranks, part.steps, strict=True)
    )
    trials = _trials(groups, range(FOLDS))
    levels = count_levels(trials)
    inner = Cells(*(column[1:-1] for column in levels)).pool()
    ends = (Cells(*(column[k : k + 1] for column in levels)) for k in (0, len(levels.low) - 1))
    if len(levels.low) > 1:
        first, last = ends
        levels = Cells.join([first, inner, last])
    known = tuple(
        count_runs(_trials(groups, [k for k in range(FOLDS) if k != fold])).pool()
        for fold in range(FOLDS)
    )
    return PooledRange(count_runs(trials).pool(), known, levels, some)


def pool_cells(part: Slice) -> Cells:
    """The blocks of a range alone, of runs whose groups are the two classes."""
    other, target = _merge(part)
    return count_runs(Trials(Scores(target), Scores(other))).pool()


def _trials(groups: Sequence[Floats], folds: Iterable[int]) -> Trials:
    other, target = (np.concatenate([groups[t * FOLDS + k] for k in folds]) for t in (0, 1))
    return Trials(Scores(target), Scores(other))


@dataclass(frozen=True)
class PooledRuns:
    """PAV's blocks of all scores of two classes, and what else their order tells.

    Attributes
    ----------
    counts : array of shape (2, n_folds)
        Number of samples of each class in each fold.
    blocks : PooledBlocks
        Those of all samples.
    levels : PooledBlocks
        The same where LLRs that differ by rounding only are tied.
    known : tuple of PooledBlocks
        Of the samples outside each fold and a misleading one of each class; None where the others
        lack a class.
    some : tuple of arrays
        LLRs at regular ranks, of each class and fold in turn.
    ends : array of shape (2, n_folds, 2)
        Smallest and largest LLR of each class in each fold; +inf and -inf where there is none.
    """

    counts: NDArray[np.intp]
    blocks: PooledBlocks
    levels: PooledBlocks
    known: tuple[PooledBlocks | None, ...]
    some: tuple[Floats, ...]
    ends: Floats


def pool_runs(
    runs: Sequence[Run], n_some: int, apply: Mapper = map, size: int = _RANGE
) -> PooledRuns:
    """Pool the scores of all runs; both classes must occur.

    ``n_some`` is the number of LLRs to keep of each class and fold, ``apply`` maps a function over
    runs and ranges, on workers where there are any.
    """
    counts = np.sum([run.sizes for run in runs], axis=0)
    slices = cut_ranges(runs, apply, size, np.maximum(counts // n_some, 1))
    ranges = [*apply(pool_range, slices)]
    groups = counts.reshape(2, FOLDS)
    others = (groups.sum(axis=1)[:, None] - groups).T
    ends = np.array([run.ends for run in runs]).reshape(-1, 2, FOLDS, 2)
    known = (
        Cells.join([one.known[k] for one in ranges]).add_misleading().pool().shares()
        if others[k].all()
        else None
        for k in range(FOLDS)
    )
    return PooledRuns(
        counts=groups,
        blocks=Cells.join([one.blocks for one in ranges]).pool().shares(),
        levels=merge_near(Cells.join([one.levels for one in ranges])).pool().shares(),
        known=tuple(known),
        some=tuple(np.concatenate(one) for one in zip(*(r.some for r in ranges), strict=True)),
        ends=np.stack([ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)], axis=-1),
    )


def cut_ranges(
    runs: Sequence[Run],
    apply: Mapper = map,
    size: int = _RANGE,
    steps: NDArray[np.intp] | None = None,
) -> list[Slice]:
    """Ranges of scores of about this size or less, none of them empty."""
    splitters = choose_splitters(runs, size)
    runs = [replace(run, some=np.empty(0)) for run in runs]  # they travel with each range
    if len(splitters):
        edges = np.stack([*apply(partial(find_edges, splitters=splitters), runs)])
    else:
        sizes = np.array([run.sizes for run in runs])
        edges = np.stack([np.zeros_like(sizes), sizes], axis=1)
    at = edges.sum(axis=0)
    steps = np.ones_like(at[0]) if steps is None else steps
    return [
        Slice(runs, edges[:, k], edges[:, k + 1], at[k], steps)
        for k in range(len(at) - 1)
        if (at[k] < at[k + 1]).any()
    ]
