"""Samples beyond memory: a survey before training, and their random order in training.

The first pass finds the columns, their categories and the classes, the second draws a sample and
looks for gaps, the third adds up the moments. The sample fits into memory: the finish is learned
from it, and held-out samples come from it. It includes rare classes, with weights that restore each
class's share of all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from deciban._estimation.columns import Columns
from deciban._estimation.frames import is_table
from deciban._estimation.samples import (
    Samples,
    encode_classes,
    read_codes,
    require_numbers,
    require_weight_of_every_class,
)
from deciban._validation.arrays import Floats
from deciban._validation.labels import encode_labels, read_labels, weights_for_fit
from deciban.discriminant.batches import Batches, Piece
from deciban.discriminant.initialization import (
    Preparation,
    Start,
    Tails,
    Totals,
    ledoit_wolf,
    start_at,
)
from deciban.discriminant.settings import Settings
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError

_BUFFER_SHARE = 2  # the buffer has this part of the memory
_MIN_CHUNKS = 2  # that a buffer must hold, or little would be shuffled
_MAX_SAMPLED = 100_000
_SHARE = 8  # the sample has this part of the memory
_OF_EACH_CLASS = 20  # samples, where there are as many
_OF_EACH_GAP = 10  # samples that miss a value of a column
_ROWS = 8_192  # that are converted at once

Arrays = tuple[np.ndarray, ...]


class Shuffle:
    """A buffer for samples of ``row_bytes`` each, emptied at random in chunks of ``size``."""

    def __init__(self, size: int, row_bytes: int, memory: int) -> None:
        self._size = size
        self._capacity = memory // _BUFFER_SHARE // row_bytes
        if self._capacity < _MIN_CHUNKS * size:
            least = _MIN_CHUNKS * size * row_bytes * _BUFFER_SHARE
            raise InputError(
                f"memory must be at least {least:,} bytes for steps of this many samples; got "
                f"{memory:,}. Give more, or a smaller batch_size."
            )

    def __call__(self, samples: Iterator[Arrays], rng: np.random.Generator) -> Iterator[Arrays]:
        """Chunks of samples; the last ones, too few for a chunk, are left out."""
        buffer: Arrays = ()
        n = 0
        for some in samples:
            if not buffer:
                buffer = tuple(np.empty((self._capacity, *a.shape[1:]), a.dtype) for a in some)
            start = 0
            while start < len(some[0]):
                stop = min(len(some[0]), start + self._capacity - n)
                for kept, array in zip(buffer, some, strict=True):
                    kept[n : n + stop - start] = array[start:stop]
                n, start = n + stop - start, stop
                if n == self._capacity:
                    yield self._take(buffer, n, rng)
                    n -= self._size
        while n >= self._size:
            yield self._take(buffer, n, rng)
            n -= self._size

    def _take(self, buffer: Arrays, n: int, rng: np.random.Generator) -> Arrays:
        rows = rng.choice(n, self._size, replace=False)
        chunk = tuple(array[rows] for array in buffer)
        end = n - self._size
        free = rows[rows < end]
        moved = np.setdiff1d(np.arange(end, n), rows)
        for array in buffer:
            array[free] = array[moved]
        return chunk


class Survey:
    """Samples beyond memory, read for an estimator whose attributes it sets, as ``fit`` does.

    There are ``n`` samples with positive weight; ``mass`` is each class's total weight.
    """

    def __init__(self, estimator: Any, batches: Batches, seed: int) -> None:
        self._estimator, self._batches = estimator, batches
        self.memory, self.n_parts = batches.memory, batches.n_parts
        self._describe()
        self._take_sample(np.random.default_rng(seed))

    def _describe(self) -> None:
        estimator, columns, labels = self._estimator, None, []
        for piece in self._batches.read():
            if columns is None:
                options: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
                options = {"skip_check_array": True} if is_table(piece.X) else options
                if not is_table(piece.X):
                    require_numbers(piece.X)
                validate_data(estimator, piece.X, **options)
                columns = Columns.describe(piece.X)
            else:
                columns = columns.join(Columns.describe(piece.X))
            labels.append(np.unique(read_labels(piece.y, name="y")))
        if columns is None:
            raise InputError("batches must hold samples; there are none. Look at their source.")
        estimator.columns_ = columns
        estimator.classes_ = encode_classes(np.concatenate(labels))[0]

    def _take_sample(self, rng: np.random.Generator) -> None:
        """Count samples, and draw some at random; more with gaps show missing values."""
        estimator, D = self._estimator, len(self._estimator.classes_)
        self.n, self.mass, counts = 0, np.zeros(D), np.zeros(D)
        sample: _Sample | None = None
        low, high, gaps = np.zeros(0), np.zeros(0), []
        for rows, codes, classes, weight in self._read(self._batches.read()):
            if sample is None:
                d = codes.shape[1]
                sample = _Sample(min(_MAX_SAMPLED, max(self.memory // _SHARE // (8 * d), 1)))
                n_gaps = np.zeros(d)
                low, high = np.full((2, d), [[np.inf], [-np.inf]])
            self.n += len(rows)
            self.mass += np.bincount(classes, weights=weight, minlength=D)
            counts += np.bincount(classes, minlength=D)
            holes = np.isnan(codes)
            for k in np.flatnonzero(holes.any(axis=0) & (n_gaps < _OF_EACH_GAP)):
                some = np.flatnonzero(holes[:, k])[: int(_OF_EACH_GAP - n_gaps[k])]
                gaps.append(codes[some])
                n_gaps[k] += len(some)
            low = np.fmin(low, np.where(holes, np.inf, codes).min(axis=0))
            high = np.fmax(high, np.where(holes, -np.inf, codes).max(axis=0))
            sample.add(rng.random(len(rows)), rows, codes, classes, weight)
        if sample is None:
            raise InputError("sample_weight must be positive for some sample; it is zero for all.")
        require_weight_of_every_class(estimator.classes_, self.mass)
        read_prior(estimator.prior, tuple(estimator.classes_.tolist()), self.mass)
        estimator.class_counts_ = self.mass
        _, self._rows, codes, classes, weight = sample.take()
        ends = np.where(np.isfinite([low, high]), [low, high], np.nan)
        apart = np.concatenate([codes, *gaps, ends])
        several = np.append(classes, np.zeros(len(apart) - len(codes), dtype=np.intp))
        estimator.columns_ = columns = estimator.columns_.learn_gaps(apart, several)
        self._ends = columns.encode(ends)
        share = counts / np.maximum(np.bincount(classes, minlength=D), 1)
        weight = weight * (share * len(classes) / self.n)[classes]
        self.sample = Samples(columns.encode(codes), classes, weight)

    def prepare(
        self, left_out: NDArray[np.bool_], V: Floats, settings: Settings
    ) -> tuple[Preparation, Start]:
        """Preparation and start for a flow that learns from all other samples."""
        sample = self.sample
        tails = Tails.none(sample.X.shape[1])
        if settings.draw_in_tails:
            tails = Tails.fit(np.concatenate([sample.X, self._ends]))
        drawn = sample._replace(X=tails(sample.X))
        origin = drawn.X.mean(axis=0)
        totals = Totals(len(V), origin, np.abs(tails(self._ends) - origin).max(axis=0))
        n = 0
        for some in self.read(left_out):
            totals.add(some._replace(X=tails(some.X)))
            n += len(some.codes)
        moments = totals.moments()
        shrinkage = ledoit_wolf(drawn, moments) * len(sample.codes) / n
        return start_at(tails, moments, min(1.0, shrinkage), n, V, settings)

    @property
    def digests(self) -> list[np.ndarray]:
        """Arrays that differ between data sets."""
        return [*self.sample, self._rows, self._ends, self.mass, np.array(self.n)]

    def row_bytes(self, dtype: str) -> int:
        return np.dtype(dtype).itemsize * (self.sample.X.shape[1] + 1) + 4

    def read(self, left_out: NDArray[np.bool_], *order: Any) -> Iterator[Samples]:
        """Samples as features, without those left out."""
        batches = self._batches.without(np.sort(self._rows[left_out]))
        for _, codes, classes, weight in self._read(batches.read(*order)):
            yield Samples(self._estimator.columns_.encode(codes), classes, weight)

    def prepared(
        self, samples: Iterator[Samples], prepare: Preparation, dtype: str
    ) -> Iterator[Arrays]:
        """Samples for training, with mean weight one."""
        mean_weight = self.mass.sum() / self.n
        for some in samples:
            weight = (some.weight / mean_weight).astype(dtype)
            yield prepare(some.X).astype(dtype), some.codes.astype(np.int32), weight

    def _read(self, pieces: Iterator[Piece]) -> Iterator[tuple[Any, ...]]:
        """Numbers, codes, classes and weights for thousands of samples at once."""
        estimator = self._estimator
        classes = estimator.classes_.tolist()
        for piece in pieces:
            labels = encode_labels(read_labels(piece.y, len(piece.rows), "y"), classes, "y")
            weight = weights_for_fit(piece.weight, len(piece.rows))
            for at in range(0, len(piece.rows), _ROWS):
                some = slice(at, at + _ROWS)
                codes = read_codes(estimator, piece.X[some])
                counts = weight[some] > 0
                if counts.any():
                    parts = (piece.rows[some], codes, labels[some], weight[some])
                    yield parts if counts.all() else tuple(one[counts] for one in parts)


class _Sample:
    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, *arrays: np.ndarray) -> None:
        self._parts.append(arrays)
        self._size += len(arrays[0])
        if self._size > self._most + self._most // 4 + _ROWS:
            self._parts = [self.take()]
            self._size = len(self._parts[0][0])

    def take(self) -> tuple[np.ndarray, ...]:
        """Samples with the lowest random numbers, overall and per class, in their order."""
        arrays = tuple(map(np.concatenate, zip(*self._parts, strict=True)))
        order = np.argsort(arrays[0])
        classes = arrays[3][order]
        by_class = np.argsort(classes, kind="stable")
        counts = np.bincount(classes)
        rank = np.empty(len(order), dtype=np.intp)
        rank[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = order[(np.arange(len(order)) < self._most) | (rank < _OF_EACH_CLASS)]
        return tuple(array[kept] for array in arrays)
