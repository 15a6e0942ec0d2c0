"""How samples were drawn, and how to draw them again: one by one, in groups, or as pairs of items.

Comparisons of items share them: 320 items make 102,080 pairs, which are far from independent. A
resample draws the items with replacement, and a pair of items i and j is in it as often as
:math:`W_i W_j`, the product of how often each was drawn; a comparison of an item with itself as
often as :math:`W_i`. This counts what varies between pairs of the same items up to three times:
where each item stands in a few comparisons only, intervals are too wide rather than too narrow. An
item of one comparison of its class adds no dependence there and is left out of the product. Items
that same-source comparisons link are one source, which is drawn as a whole.
``benchmarks/intervals.py designs`` prints how often the intervals contain the truth.

References
----------
Owen (2007), The pigeonhole bootstrap. Owen and Eckles (2012), Bootstrapping data arrays of
arbitrary order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from deciban._validation.arrays import Floats, is_frame
from deciban._validation.labels import factorize_labels, read_labels
from deciban.exceptions import InputError
from deciban.metrics.intervals import JACKKNIFE, resample_classes
from deciban.metrics.labelled import split_by_class

Items = ArrayLike | tuple[ArrayLike, ArrayLike] | None  # two identifiers for each sample
_FEW_UNITS = 10
_REDRAWS = 100  # attempts to draw a resample that holds every class
_PROBE = 1000  # samples of a class, at least one of which most resamples hold
_AT_ONCE, _CHUNK = 64, 1 << 13  # resamples, and samples, whose weights are held in memory


@dataclass(frozen=True)
class Design:
    """Units of samples, and which of them are drawn together.

    A unit is a sample, or the samples in a bucket that belong to one class; ``mass`` counts them.
    ``left`` and ``right`` number what units share: groups, buckets, or both items (``n_units`` if a
    sample has one). Both are None if samples are drawn one by one. ``sizes`` are the numbers of
    things that are drawn together, apart for left and right if these are different things.
    """

    codes: NDArray[np.intp]  # class of each unit
    left: NDArray[np.intp] | None = None
    right: NDArray[np.intp] | None = None
    sizes: tuple[int, ...] = ()
    description: str = "samples were resampled within each class, as if they were independent"
    depends: bool = False  # whether samples share groups or items
    mass: Floats | None = None

    @property
    def n_units(self) -> int:
        return sum(self.sizes)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        return split_by_class(self.codes, int(self.codes.max()) + 1)

    @cached_property
    def counts(self) -> NDArray[Any]:
        """Number of samples in each class."""
        return np.bincount(self.codes, self.mass)

    def masses(self, rows: NDArray[np.intp]) -> Floats:
        """Number of samples in some units."""
        return np.ones(len(rows)) if self.mass is None else self.mass[rows]

    @cached_property
    def min_units(self) -> int:
        """Smallest number of groups or items in a class that are drawn together."""
        edges, found = np.cumsum([0, *self.sizes]), []
        for rows in self.rows_by_class:
            used = np.zeros(self.n_units + 1, dtype=bool)
            for side in self._sides:
                used[side[rows[self.masses(rows) > 0]]] = True
            counts = np.add.reduceat(used[:-1], edges[:-1], dtype=int)
            found.append(int(counts[counts > 0].min()))
        return min(found)

    @property
    def warning(self) -> str:
        """A note if there are too few groups or items, else empty."""
        if not self.depends or self.min_units >= _FEW_UNITS:
            return ""
        one = self.min_units == 1
        units = "group or item of a class is" if one else "groups or items of a class are"
        return f"Only {self.min_units} {units} resampled: intervals are too narrow."

    def select(self, rows: NDArray[Any], codes: NDArray[np.intp] | None = None) -> Design:
        """The design for some samples; all groups or items are drawn as before."""
        left, right = (None if x is None else x[rows] for x in (self.left, self.right))
        codes = self.codes[rows] if codes is None else codes
        return replace(self, codes=codes, left=left, right=right)

    def draw_rows(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Positions in one draw that holds every class."""
        if self.left is None:
            draw = [rows[rng.integers(len(rows), size=len(rows))] for rows in self.rows_by_class]
            return np.concatenate(draw)
        return np.repeat(np.arange(len(self.codes)), self.draw_counts(rng).astype(np.intp))

    def draw_counts(self, rng: np.random.Generator) -> Floats:
        """How often each sample is in one draw that holds every class."""
        if self.left is None:
            return np.bincount(self.draw_rows(rng), minlength=len(self.codes)).astype(float)
        for _ in range(_REDRAWS):
            counts = self._combine(self._draw(rng))
            if self._every_class(counts):
                return counts
        raise _loses_a_class()

    def _draw(self, rng: np.random.Generator) -> Floats:
        """How often each group or item is drawn; the last entry, always one, stands for none."""
        drawn = (np.bincount(rng.integers(n, size=n), minlength=n) for n in self.sizes)
        return np.concatenate([*drawn, [1]]).astype(float)

    @property
    def _sides(self) -> list[NDArray[np.intp]]:
        return [side for side in (self.left, self.right) if side is not None]

    def _combine(self, weights: Floats, rows: Any = slice(None)) -> Floats:
        """Weight of each unit: the product over its group or items."""
        return reduce(np.multiply, (weights[side[rows]] for side in self._sides))

    def _every_class(self, counts: NDArray[Any]) -> bool:
        return all(counts[r[:_PROBE]].any() or counts[r].any() for r in self.rows_by_class)

    def leave_out(self) -> Iterator[NDArray[np.bool_]]:
        """Masks for the samples that remain without one block, if every class has some."""
        block = self._blocks()
        for k in range(int(block.max()) + 1):
            rest = block != k if self.left is None else self._combine((block != k) * 1.0) > 0
            if self._every_class(rest):
                yield rest

    def _blocks(self) -> NDArray[np.intp]:
        """Block for each sample, or for each group or item with -1 for none."""
        if self.left is not None:
            return np.append(np.arange(self.n_units) % JACKKNIFE, -1)
        block = np.empty(len(self.codes), dtype=np.intp)
        block[np.argsort(self.codes, kind="stable")] = np.arange(len(self.codes)) % JACKKNIFE
        return block

    def resample_means(
        self, values: Sequence[Floats], n_resamples: int, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Sums of class means, for quantities on columns: in resamples, and without each block."""
        if self.left is None:
            return resample_classes(values, self.rows_by_class, n_resamples, rng)
        table = np.array(values)
        found: list[Floats] = []
        missing, left = n_resamples, _REDRAWS * n_resamples
        while missing:
            if left <= 0:
                raise _loses_a_class()
            width = min(missing, _AT_ONCE, left)
            means = self._means(table, np.column_stack([self._draw(rng) for _ in range(width)]))
            found.append(means)
            missing -= len(means)
            left -= width
        block = self._blocks()
        rest = (block[:, None] != np.arange(block.max() + 1)).astype(float)
        return np.concatenate(found), self._means(table, rest)

    def _means(self, values: Floats, weights: Floats) -> Floats:
        """Sums of class means for each column of weights that leaves every class some mass."""
        sums = np.zeros((len(values), weights.shape[1]))
        with_all = np.ones(weights.shape[1], dtype=bool)
        for rows in self.rows_by_class:
            total, mass = np.zeros_like(sums), np.zeros(weights.shape[1])
            for start in range(0, len(rows), _CHUNK):
                some = rows[start : start + _CHUNK]
                weight = self._combine(weights, some)
                total += _weighted_sums(values[:, some], weight)
                mass += self.masses(some) @ weight
            with_all &= mass > 0
            sums += total / np.where(mass > 0, mass, 1.0)
        return sums[:, with_all].T

    def folds(self, count: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Samples held out, and samples to fit to that share no group or item with them.

        Comparisons make a fold for each pair of blocks of items.
        """
        labels, (left, *_) = np.zeros(self.n_units, dtype=int), self._sides
        for k in np.argsort(-np.bincount(self.codes), kind="stable"):
            labels[left[self.codes == k]] = k
        order = np.random.default_rng(0).permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        block = np.empty(len(labels) + 1, dtype=np.intp)
        block[order] = np.arange(len(labels)) % count
        if len(self.sizes) == 2:  # items on the right have blocks of their own
            block[self.sizes[0] : -1] += count
        a = block[left]
        right = self.right
        b = a if right is None else np.where(right == self.n_units, a, block[right])
        low, high = np.minimum(a, b), np.maximum(a, b)
        for key in np.unique(low * 2 * count + high):
            i, j = divmod(int(key), 2 * count)
            yield (low == i) & (high == j), ~np.isin(a, [i, j]) & ~np.isin(b, [i, j])

    def effective_size(self, t: int, events: NDArray[Any], n_events: float | None = None) -> float:
        """Effective sample size of a class for the rate of an event.

        The variance of the rate is the sum of squared totals over groups or items. Without events,
        one more event makes the size about the number of groups. ``events`` are those in each unit
        of the class; if two systems cancel there, ``n_events`` counts samples with an event.
        """
        n = float(self.counts[t])
        if not self.depends:
            return n
        rows, mean = self.rows_by_class[t], float(np.sum(events, dtype=np.float64)) / n
        mass = self.masses(rows)
        gap = events - mean * mass
        total, used = (
            sum(np.bincount(side[rows], x, self.n_units + 1)[:-1] for side in self._sides)
            for x in (gap, mass)
        )
        n_used = int(np.count_nonzero(used))
        scale = n_used / max(n_used - len(self._sides) - 2, 1)  # about as wide as Student's
        shared = scale * float(np.sum(total**2)) + n / n_used
        n_events = float(np.abs(events).sum()) if n_events is None else n_events
        spread = float(gap @ gap) if self.mass is None else n_events - n * mean**2
        return n / max(shared / (spread + 1), 1.0)


def read_design(
    codes: NDArray[np.intp], groups: ArrayLike | None = None, items: Sequence[ArrayLike] = ()
) -> Design:
    """The design for groups, or for the two items in each comparison."""
    if groups is not None and len(items):
        raise InputError(
            "groups and items must not be given together; got both. Give the items of each "
            "comparison, or one group for each sample."
        )
    if groups is None:
        return _read_items(items, codes) if len(items) else Design(codes)
    left = _encode(read_labels(groups, len(codes), "groups"))
    sizes = np.bincount(left)
    description = f"{len(sizes):,} groups of {_range(sizes, 'sample')}; whole groups were resampled"
    return _make_design("groups", codes, left, None, (len(sizes),), description)


def split_items(items: Items) -> dict[str, Any]:
    """Both columns of items, by name."""
    given: Any = items
    if given is None:
        return {}
    if isinstance(given, tuple) and len(given) == 2:
        left, right = given
    elif is_frame(given) and len(getattr(given, "columns", ())) == 2:
        left, right = (given[name] for name in given.columns)
    elif np.ndim(given) == 2 and np.shape(given)[1] == 2:
        left, right = zip(*given, strict=True) if isinstance(given, list) else np.asarray(given).T
    else:
        raise InputError(
            f"items must hold two identifiers for each sample; got shape {np.shape(given)}. Give "
            f"an array of shape (n_samples, 2), or a pair of arrays: items=(left, right)."
        )
    return {"left items": left, "right items": right}


def _read_items(items: Sequence[ArrayLike], codes: NDArray[np.intp]) -> Design:
    both = _encode_items(items, len(codes))
    n_items = int(both.max()) + 1
    source = _find_sources(both, codes, n_items)
    left, right = np.split(both if source is None else source[both], 2)
    n_units = n_items if source is None else int(source.max()) + 1
    places = [np.bincount(side, minlength=n_units) for side in (left, right)]
    degree = places[0] + places[1] - np.bincount(left[left == right], minlength=n_units)
    use, on_right = f"each in {_range(degree, 'comparison')}", np.zeros(n_units, dtype=np.intp)
    if source is not None:
        description = f"{n_items:,} items of {n_units:,} sources, {use}; sources were resampled"
    elif n_items > 2 and degree.max() == len(codes):
        rest = _range(degree[degree < len(codes)], "comparison")
        one = f"one item in every comparison, {n_items - 1:,} others each in {rest}"
        description = f"{one}; the others were resampled"
    elif np.any((places[0] > 0) & (places[1] > 0)):
        description = f"{n_items:,} items, {use}; items were resampled on both sides"
    else:
        n_left, n_right = (np.count_nonzero(side) for side in places)
        description = (
            f"{n_left:,} items on the left and {n_right:,} on the right, {use}; both were resampled"
        )
        on_right = (places[1] > 0).astype(np.intp)
    pairs = [codes * len(degree) + side for side in (left, right)]  # of a class and an item
    times = np.bincount(np.concatenate(pairs))
    times -= np.bincount(pairs[0][left == right], minlength=len(times))
    alone = [times[pair] == 1 for pair in pairs]
    units = _number_units((left, right), alone, degree == len(codes), on_right)
    return _make_design("items", codes, *units, description)


def name_sources(items: Sequence[ArrayLike], codes: NDArray[np.intp]) -> list[Any]:
    """Sources in place of items, if the comparisons show them: a subsample may not."""
    both = _encode_items(items, len(codes))
    source = _find_sources(both, codes, int(both.max()) + 1)
    return list(items) if source is None else np.split(source[both], 2)


def _encode_items(items: Sequence[ArrayLike], n_samples: int) -> NDArray[np.intp]:
    """Numbers for the items on the left, then on the right."""
    columns = [read_labels(column, n_samples, "items") for column in items]
    if columns[0].dtype.kind != columns[1].dtype.kind:
        columns = [column.astype(object) for column in columns]  # 1 and "1" are two items
    return _encode(np.concatenate(columns))


def _find_sources(
    items: NDArray[np.intp], codes: NDArray[np.intp], n_items: int
) -> NDArray[np.intp] | None:
    """Sources of items, if comparisons of class 1 link items and no other comparison lies within.

    Too few sources to resample are taken as given.
    """
    if codes.max() != 1:
        return None
    (left, right), same = np.split(items, 2), codes == 1
    graph = coo_array((np.ones(same.sum()), (left[same], right[same])), shape=(n_items, n_items))
    n_sources, source = connected_components(graph, directed=False)
    n_linked = np.count_nonzero(np.bincount(source[left[same]]))
    linked = n_sources < n_items and np.array_equal(source[left] == source[right], same)
    return np.asarray(source, dtype=np.intp) if linked and n_linked >= _FEW_UNITS else None


def _number_units(
    sides: Sequence[NDArray[np.intp]],
    alone: Sequence[NDArray[np.bool_]],
    constant: NDArray[np.bool_],
    on_right: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None, tuple[int, ...]]:
    """Drop items that add no dependence: those in one comparison of a class, or in all."""
    left, right = sides
    only_left = (left == right) | ((alone[1] | constant[right]) & ~constant[left])
    only_right = (alone[0] | constant[left]) & ~only_left
    first = np.where(only_right, right, left)
    second = np.where(only_left | only_right, -1, right)
    used = np.unique(np.concatenate([first, second[second >= 0]]))
    used = used[np.argsort(on_right[used], kind="stable")]
    place = np.full(len(constant) + 1, len(used))
    place[used] = np.arange(len(used))
    sizes = tuple(int(n) for n in np.bincount(on_right[used]) if n)
    return place[first], place[second] if (second >= 0).any() else None, sizes


def _weighted_sums(values: Floats, weights: Floats) -> Floats:
    """Zero weight times infinity adds nothing."""
    if np.isfinite(values).all():
        return values @ weights
    with np.errstate(invalid="ignore"):
        terms = np.where(weights > 0, values[:, :, None] * weights, 0.0)
        return np.asarray(terms.sum(axis=1))


def _loses_a_class() -> InputError:
    return InputError(
        f"groups or items must be such that most resamples hold every class; {_REDRAWS} in a row "
        f"did not. Give more of them for the rarest class."
    )


def _encode(labels: np.ndarray) -> NDArray[np.intp]:
    if labels.dtype.kind in "US":  # a dictionary of text is far faster than sorting it
        labels = labels.astype(object)
    return factorize_labels(labels)[1]


def _range(sizes: np.ndarray, what: str) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    if low == high:
        return f"{low:,} {what}{'' if low == 1 else 's'}"
    return f"{low:,} to {high:,} {what}s"


def _make_design(name: str, *fields: Any) -> Design:
    design = replace(Design(*fields), depends=True)
    if design.n_units < 2:
        raise InputError(
            f"{name} must hold at least two {name}; got one. Give the unit that was sampled."
        )
    return design
