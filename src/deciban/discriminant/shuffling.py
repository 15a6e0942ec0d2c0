"""Samples of a stream in random order, from a buffer that has a share of the memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deciban.exceptions import InputError

_SHARE = 2  # the buffer has this part of the memory
_LEAST_CHUNKS = 2  # that a buffer must hold, or little would be shuffled

Arrays = tuple[np.ndarray, ...]


class Shuffle:
    """A buffer that is filled from one side, and from which samples are taken at random.

    Parameters
    ----------
    size : int
        Number of samples in each chunk that is taken.
    row_bytes : int
        Bytes of a sample.
    memory : int
        Bytes of all samples that may be in memory.
    """

    def __init__(self, size: int, row_bytes: int, memory: int) -> None:
        self._size = size
        self._most = memory // _SHARE // row_bytes
        if self._most < _LEAST_CHUNKS * size:
            least = _LEAST_CHUNKS * size * row_bytes * _SHARE
            raise InputError(
                f"memory must be at least {least:,} bytes for steps of this many samples; got "
                f"{memory:,}. Give more, or a smaller batch_size."
            )

    def __call__(self, samples: Iterator[Arrays], rng: np.random.Generator) -> Iterator[Arrays]:
        """Chunks of samples; the last ones, too few for a chunk, are left out."""
        buffer: Arrays | None = None
        n = 0
        for some in samples:
            if buffer is None:
                shapes = [(self._most, *array.shape[1:]) for array in some]
                buffer = tuple(
                    np.empty(shape, array.dtype) for shape, array in zip(shapes, some, strict=True)
                )
            start = 0
            while start < len(some[0]):
                stop = min(len(some[0]), start + self._most - n)
                for kept, array in zip(buffer, some, strict=True):
                    kept[n : n + stop - start] = array[start:stop]
                n, start = n + stop - start, stop
                if n == self._most:
                    yield self._take(buffer, n, rng)
                    n -= self._size
        while buffer is not None and n >= self._size:
            yield self._take(buffer, n, rng)
            n -= self._size

    def _take(self, buffer: Arrays, n: int, rng: np.random.Generator) -> Arrays:
        """A chunk of the first n samples; later ones move to where it was."""
        rows = rng.choice(n, self._size, replace=False)
        chunk = tuple(array[rows] for array in buffer)
        end = n - self._size
        free = rows[rows < end]
        moved = np.setdiff1d(np.arange(end, n), rows)
        for array in buffer:
            array[free] = array[moved]
        return chunk
