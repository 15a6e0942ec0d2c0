"""Samples beyond memory in bags: sums of costs that add up over partitions, and resamples of them.

A sample belongs to the bag that a hash of its group tells, or of its number where samples are
independent. Partitions agree on it without talking, and the sums of a bag do not depend on how the
samples were split. A resample takes each bag as often as a Poisson number of mean one tells: the
mean of resampled bags varies as much as the mean of resampled groups.

References
----------
Hanley and MacGibbon (2006), Creating non-parametric bootstrap samples using Poisson frequencies.
Chamandy et al. (2012), Estimating uncertainty for massive data streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import factorize_labels
from deciban.metrics.designs import FEW_UNITS, few_units_note
from deciban.metrics.labelled import split_by_class
from deciban.metrics.resampling import Resamples

Hashes = NDArray[np.uint64]

N_BAGS = 1 << 14
_FEWEST_BAGS = 1 << 9
_MOST_SUMS = 1 << 19  # of one cost: bags times classes
_JACKKNIFE = 200  # blocks of bags to leave out one by one
_AT_ONCE = 64  # resamples whose weights are held in memory


def hash_numbers(numbers: NDArray[Any]) -> Hashes:
    """Hashes of whole numbers (splitmix64)."""
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hash_labels(labels: NDArray[Any]) -> Hashes:
    """Hashes of labels by their text; those of text and of the number that it writes are one."""
    distinct, codes = factorize_labels(labels.astype(object))
    return hash_texts(map(_text, distinct))[codes]


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Hashes of texts."""
    digests = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(one, "little") for one in digests], dtype=np.uint64)


def _text(label: Any) -> str:
    """Text of a label, the same for numbers that are equal: 1, 1.0 and True."""
    is_whole = isinstance(label, float | np.floating | bool | np.bool_) and label % 1 == 0
    return str(int(label)) if is_whole else str(label)


def folds_of(hashes: Hashes) -> NDArray[np.int8]:
    """One of two folds for each sample."""
    return (hashes >> np.uint64(63)).astype(np.int8)


def count_bags(n_classes: int) -> int:
    """Number of bags, a power of two: fewer where classes are many, so that sums stay few."""
    most = _MOST_SUMS // n_classes
    return max(_FEWEST_BAGS, min(N_BAGS, 1 << (most.bit_length() - 1)))


def bags_of(hashes: Hashes, n_bags: int = N_BAGS) -> NDArray[np.intp]:
    """The bag of each sample."""
    return (hashes & np.uint64(n_bags - 1)).astype(np.intp)


def ranks_of(hashes: Hashes) -> Floats:
    """A number between 0 and 1 for each sample, which tells neither its fold nor its bag."""
    return ((hashes >> np.uint64(14)) & np.uint64((1 << 48) - 1)).astype(np.float64) / 2.0**48


class BagSums:
    """Sums over bags of each class, one class after the other, of a few samples or of many.

    ``places`` are those of the bags that have sums; None where all have.
    """

    def __init__(self, codes: NDArray[Any], hashes: Hashes, n_classes: int) -> None:
        n_bags = count_bags(n_classes)
        self._unit, self._n_units = codes * n_bags + bags_of(hashes, n_bags), n_classes * n_bags
        self.places: NDArray[np.intp] | None = None
        if len(codes) < self._n_units:
            self.places, self._unit = np.unique(self._unit, return_inverse=True)
            self._n_units = len(self.places)

    def __call__(self, values: NDArray[Any]) -> Floats:
        """Sums of the values of the samples."""
        return np.bincount(self._unit, values, self._n_units).astype(float)


class PartSums(NamedTuple):
    """Sums of several columns over bags of the samples of a part."""

    places: NDArray[np.intp] | None
    sums: Floats  # (n_columns, n_bags)

    def add_to(self, total: Floats) -> None:
        """Add these sums to those of all bags."""
        if self.places is None:
            total += self.sums
        else:
            total[:, self.places] += self.sums


@dataclass(frozen=True)
class BagDesign:
    """Bags of samples, of each class in turn, and whether samples share groups.

    It takes the place of a :class:`~deciban.metrics.designs.Design` of single samples.
    """

    mass: Floats  # number of samples in each bag, of each class in turn
    depends: bool = False  # whether samples share groups
    n_bags: int = N_BAGS

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Class of each bag."""
        return np.repeat(np.arange(len(self.mass) // self.n_bags), self.n_bags)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        """Positions of the bags of each class."""
        return split_by_class(self.codes, len(self.mass) // self.n_bags)

    @property
    def words(self) -> str:
        """What is resampled, for readers."""
        if not self.depends:
            return f"samples were resampled in {self.n_bags:,} bags, as if they were independent"
        return f"whole groups were resampled, in {self.n_bags:,} bags"

    @property
    def fewest_units(self) -> int:
        """Smallest number of bags that the samples of a class are in."""
        return min(int(np.count_nonzero(self.mass[rows])) for rows in self.rows_by_class)

    @property
    def caution(self) -> str:
        """What a reader should know where there are few groups, else nothing."""
        few = self.depends and self.fewest_units < FEW_UNITS
        return few_units_note(self.fewest_units) if few else ""

    def resample_means(
        self, values: Sequence[Floats], n_resamples: int, rng: np.random.Generator
    ) -> Resamples:
        """Sums over the classes of the means of what bags add to each quantity.

        Where a resample lacks a class, they are NaN.
        """
        table = np.stack([*values, self.mass]).reshape(len(values) + 1, -1, self.n_bags)
        by_bag = np.ascontiguousarray(table.reshape(-1, self.n_bags).T)
        drawn = []
        for start in range(0, n_resamples, _AT_ONCE):
            weights = rng.poisson(1.0, (min(_AT_ONCE, n_resamples - start), self.n_bags))
            sums = weights.astype(float) @ by_bag
            drawn.append(_means(sums.reshape(-1, *table.shape[:2])))
        blocks = np.stack([table[:, :, k::_JACKKNIFE].sum(axis=2) for k in range(_JACKKNIFE)])
        left_out = _means(table.sum(axis=2) - blocks)
        return Resamples(np.concatenate(drawn), left_out[~np.isnan(left_out).any(axis=1)])

    def effective_size_in(self, t: int, events: NDArray[Any], n_events: float) -> float:
        """How many independent samples of a class would tell as much about the rate of an event.

        ``events`` are sums over bags, in which those of two systems cancel; ``n_events`` is the
        number of samples with one.
        """
        mass = self.mass[self.rows_by_class[t]]
        n, n_used = float(mass.sum()), int(np.count_nonzero(mass))
        if not self.depends:
            return n
        mean = float(events.sum()) / n
        scale = n_used / max(n_used - 3, 1)  # about as wide as Student's interval
        shared = scale * float(np.sum((events - mean * mass) ** 2)) + n / n_used
        spread = n_events - n * mean**2
        return n / max(shared / (spread + 1), 1.0)


def _means(sums: Floats) -> Floats:
    """Sums over the classes of means, from sums of each quantity and, last, numbers of samples."""
    mass = sums[:, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((sums[:, :-1] / mass).sum(axis=2))
