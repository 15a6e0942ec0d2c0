"""Means over resamples of independent samples, class by class.

Every quantity that is resampled is a sum, over the classes, of means over their samples. Cllr is;
so are quantities for which a recalibration is fitted, such as Cllr_min, once the map is given
(:mod:`deciban.metrics.recalibration`). Large classes are resampled in bags of a few samples, which
takes no longer for ten million samples than for ten thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from deciban._validation.arrays import Floats

Rows = NDArray[np.intp]  # positions of samples

_BLOCKS = 200  # left out one at a time to find the skewness of the estimate
_LARGE = 200_000  # number of samples above which that skewness is negligible
_DRAWS = 1 << 18  # random numbers held in memory at once
_BAGS = 4096  # bags that stand for the samples of a large class


class Resamples(NamedTuple):
    """Quantities (columns) of each resample, and of the samples without one block at a time."""

    drawn: Floats
    left_out: Floats


def resample_means(
    values: Sequence[Floats], rows_by_class: Sequence[Rows], n_resamples: int, rng: Generator
) -> Resamples:
    """Resample quantities that are sums, over the classes, of means over their samples.

    ``values`` holds what each sample adds to each quantity.
    """
    bags = [_bag_means(values, rows, rng) for rows in rows_by_class]
    # One class after the other, all resamples at once: there may be a thousand small classes.
    drawn = sum(_resample_class(values, n_resamples, rng) for values in bags)
    return Resamples(np.asarray(drawn), _leave_out_blocks(bags, rng))


def _leave_out_blocks(by_class: list[Floats], rng: Generator) -> Floats:
    """The quantities without one block of samples at a time, which has its share of every class."""
    sizes = [values.shape[1] for values in by_class]
    n, n_quantities = sum(sizes), len(by_class[0])
    n_blocks = min(_BLOCKS, n) if n <= _LARGE else 0
    starts = np.cumsum(sizes) - sizes
    block_of = [
        (start + rng.permutation(size)) % max(n_blocks, 1)
        for start, size in zip(starts, sizes, strict=True)
    ]
    left_out = []
    for k in range(n_blocks):
        rest = [values[:, block != k] for values, block in zip(by_class, block_of, strict=True)]
        if all(values.shape[1] for values in rest):
            left_out.append(np.sum([values.mean(axis=1) for values in rest], axis=0))
    return np.array(left_out).reshape(-1, n_quantities)


def _resample_class(values: Floats, times: int, rng: Generator) -> Floats:
    """Means of resampled columns, of shape (times, n_quantities)."""
    n = values.shape[1]
    block = max(1, _DRAWS // n)
    return np.concatenate(
        [
            values[:, rng.integers(n, size=(min(block, times - start), n))].mean(axis=2).T
            for start in range(0, times, block)
        ]
    )


def _bag_means(values: Sequence[Floats], rows: Rows, rng: Generator) -> Floats:
    """Means of random bags of the samples of a class, or the samples where they are few.

    The mean of resampled bags varies as much as the mean of resampled samples.
    """
    n = len(rows)
    if n <= 2 * _BAGS:
        return np.array([one[rows] for one in values])
    bag = rng.permutation(n) % _BAGS
    size = np.bincount(bag, minlength=_BAGS)
    return np.array([np.bincount(bag, one[rows], _BAGS) / size for one in values])
