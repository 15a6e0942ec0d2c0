"""Samples beyond memory: batches that come one after the other, or Parquet files."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.frames import is_table
from deciban._persistence.files import expand_name
from deciban._validation.arrays import import_frames
from deciban._validation.scalars import quote, quote_each, require_whole
from deciban.exceptions import InputError

_MOST_ROWS = 16_384  # of a Parquet file that are read at once
_LEAST_MEMORY = 2**24


class Piece(NamedTuple):
    """Some samples, with their numbers among all samples."""

    rows: NDArray[np.int64]
    X: Any
    y: Any
    weight: Any | None

    def without(self, rows: NDArray[np.int64]) -> Piece:
        """The piece without the samples with these sorted numbers."""
        kept = ~np.isin(self.rows, rows)
        return self if kept.all() else Piece(*(_at(one, kept) for one in self))


class Batches:
    """Samples for ``fit`` that are read batch by batch, several times.

    Parameters
    ----------
    source : callable or iterable
        A function that returns an iterator over the same batches, in the same order, at each call.
        A batch is ``(X, y)`` or ``(X, y, sample_weight)``, as ``fit`` takes them. Alternatively a
        sequence of batches, or an iterator, which is read once and kept on disk.
    memory : int, default 2**30
        Bytes for samples in memory at once; JAX and the model need more.

    See Also
    --------
    deciban.CompositionalDiscriminantAnalysis.fit : Takes them instead of arrays.
    deciban.LinearDiscriminant.partial_fit : Learns from batches that are read once.

    Examples
    --------
    >>> import numpy as np
    >>> from deciban.discriminant import Batches, CompositionalDiscriminantAnalysis
    >>> def draw():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(4):
    ...         y = rng.integers(2, size=6_000)
    ...         yield rng.normal(y[:, None], 1.0, size=(6_000, 2)), y
    >>> cda = CompositionalDiscriminantAnalysis(n_couplings=1, width=8, epochs=1, random_state=0)
    >>> cda.fit(Batches(draw)).class_counts_.sum()
    np.float64(24000.0)
    """

    def __init__(
        self, source: Callable[[], Iterable[Any]] | Iterable[Any], *, memory: int = 2**30
    ) -> None:
        self.memory = require_whole(memory, "memory", least=_LEAST_MEMORY)
        self.n_parts = 1  # that can be read separately
        self._left_out = np.zeros(0, dtype=np.int64)
        if not callable(source) and not isinstance(source, Iterable):
            raise InputError(
                f"source must be a function that yields batches, or an iterable; got "
                f"{quote(source)}. Give a function that yields (X, y)."
            )
        if isinstance(source, Iterator):
            source = _Spool(source)
        self._source = source

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        label: str,
        *,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        memory: int = 2**30,
    ) -> ParquetBatches:
        """The rows of Parquet files.

        Parameters
        ----------
        path : path or sequence of paths
            A file, a folder, or a pattern such as ``"train/*.parquet"``.
        label : str
            Class column.
        features : sequence of str, optional
            Feature columns, by default all others.
        weight : str, optional
            Weight column.
        memory : int, default 2**30
            As for :class:`Batches`.

        Returns
        -------
        Batches
        """
        return ParquetBatches(_find_files(path), label, features, weight, memory)

    def read(
        self, rng: np.random.Generator | None = None, part: int = 0, n_parts: int = 1
    ) -> Iterator[Piece]:
        """All samples as pieces, or those in one of several parts.

        With ``rng`` the order differs if the source allows it; parts are parts in that order.
        """
        for piece in self._read(rng, part, n_parts):
            left = piece.without(self._left_out) if len(self._left_out) else piece
            if len(left.rows):
                yield left

    def without(self, rows: NDArray[np.int64]) -> Self:
        """The same batches without the samples with these numbers."""
        new = copy.copy(self)
        vars(new)["_left_out"] = np.union1d(self._left_out, rows)
        return new

    def _read(self, rng: np.random.Generator | None, part: int, n_parts: int) -> Iterator[Piece]:
        start, source = 0, self._source
        for batch in source() if callable(source) else source:
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                raise InputError(
                    "A batch must be (X, y) or (X, y, sample_weight); got "
                    f"{quote(type(batch).__name__)}. Yield (X, y)."
                )
            X, y, *weight = batch
            n = len(X)
            if len(y) != n or any(one is not None and len(one) != n for one in weight):
                raise InputError(
                    f"A batch must have as many labels and weights as samples; got {n} samples and "
                    f"{len(y)} labels. Yield X and y from the same rows."
                )
            yield Piece(np.arange(start, start + n), X, y, weight[0] if weight else None)
            start += n


class ParquetBatches(Batches):
    """Rows in Parquet files, readable in any order."""

    def __init__(
        self,
        files: list[str],
        label: str,
        features: Sequence[str] | None,
        weight: str | None,
        memory: int,
    ) -> None:
        super().__init__((), memory=memory)
        pl = self._polars = import_frames("polars")
        self._label, self._weight = label, weight
        lengths: list[int] = []
        columns: list[str] = []
        for file in files:
            with self._reading(file):
                scan = pl.scan_parquet(file, glob=False)
                found = list(scan.collect_schema())
                lengths.append(int(scan.select(pl.len()).collect().item()))
            columns = columns or found
            wanted = {label, *(features or columns), *([weight] if weight else [])}
            absent = [name for name in wanted if name not in found]
            if absent:
                raise InputError(
                    f"{file} lacks {quote_each(sorted(absent), 5)}, which were requested or are in "
                    f"the first file. It has {quote_each(found, 10)}."
                )
        others = [name for name in columns if name not in (label, weight)]
        self._files, self._features = files, list(features or others)
        size = 8 * max(1, len(self._features))
        rows = max(256, min(_MOST_ROWS, self.memory // (64 * size)))
        first = np.cumsum([0, *lengths])
        self.n_rows = int(first[-1])
        self._slices = [
            (k, at, min(rows, length - at), int(first[k]) + at)
            for k, length in enumerate(lengths)
            for at in range(0, length, rows)
        ]
        self.n_parts = len(self._slices)

    def _read(self, rng: np.random.Generator | None, part: int, n_parts: int) -> Iterator[Piece]:
        order = np.arange(len(self._slices))
        order = order if rng is None else rng.permutation(order)
        sizes = np.array([n for _, _, n, _ in self._slices])[order]
        middle = np.cumsum(sizes) - sizes / 2
        for k in order[middle * n_parts // max(1, sizes.sum()) == part]:
            yield self._slice(*self._slices[k])

    def read_rows(self, rows: NDArray[np.int64]) -> Piece:
        """Rows by their sorted numbers, left out or not."""
        found = []
        for file, at, n, first in self._slices:
            own = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + n)]
            if len(own):
                piece = self._slice(file, at, n, first)
                found.append(Piece(*(_at(one, own - first) for one in piece)))
        return join_pieces(found)

    @contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        try:
            yield
        except (self._polars.exceptions.PolarsError, OSError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"Cannot read {file} as Parquet ({reason}). Write it again, or leave it out."
            ) from None

    def _slice(self, file: int, at: int, n: int, first: int) -> Piece:
        pl = self._polars
        names = [*self._features, self._label, *([self._weight] if self._weight else [])]
        with self._reading(self._files[file]):
            scan = pl.scan_parquet(self._files[file], glob=False).select(names)
            frame = scan.slice(at, n).collect()
        weight = frame[self._weight].to_numpy() if self._weight else None
        rows = np.arange(first, first + frame.height)
        return Piece(rows, frame.select(self._features), frame[self._label], weight)


def _find_files(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    several = [path] if isinstance(path, str | os.PathLike) else path
    files: list[str] = []
    for one in [os.fspath(each) for each in several]:
        found = expand_name(one)
        if not found:
            raise InputError(
                f"{one} not found: no Parquet file, folder or pattern matches. Check its spelling."
            )
        files += found
    return files


def join_pieces(pieces: list[Piece]) -> Piece:
    """One piece with the samples of all."""
    rows, tables, y, weights = (list(values) for values in zip(*pieces, strict=True))
    weight = None if weights[0] is None else np.concatenate(weights)
    concatenate: Any = np.concatenate
    if is_table(tables[0]):
        concatenate = import_frames(type(tables[0]).__module__.partition(".")[0]).concat
    return Piece(np.concatenate(rows), concatenate(tables), np.concatenate(y), weight)


def _at(values: Any, rows: NDArray[Any]) -> Any:
    """Rows from an array, frame or series, by numbers or flags; None stays None."""
    if values is None:
        return None
    module = type(values).__module__.partition(".")[0]
    if module == "polars":
        return values.filter(rows) if rows.dtype == bool else values[rows]
    return values[rows] if module != "pandas" else values.iloc[rows]


class _Spool:
    """An iterator's batches on disk, to be read again."""

    def __init__(self, batches: Iterator[Any]) -> None:
        folder = tempfile.mkdtemp(prefix="deciban-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._files: list[Path] = []
        for batch in batches:
            self._files.append(Path(folder) / str(len(self._files)))
            self._files[-1].write_bytes(pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL))

    def __call__(self) -> Iterator[Any]:
        for file in self._files:  # which this process has written
            yield pickle.loads(file.read_bytes())
