"""Samples in partitions that are read one at a time, here or by workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import factorize_labels
from deciban._workers import Workers
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, Terms, lacks_classes

FOLDS = 2  # samples are many: few folds are enough

Hashes = NDArray[np.uint64]
Result = TypeVar("Result")
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]  # what is done, and the number of parts


def hash_numbers(numbers: NDArray[Any]) -> Hashes:
    """Hashes for whole numbers (splitmix64)."""
    x = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hash_labels(labels: NDArray[Any]) -> Hashes:
    """Hashes by text; a number and the text that writes it have the same hash."""
    distinct, codes = factorize_labels(labels.astype(object))
    return hash_texts(map(_text, distinct))[codes]


def hash_texts(texts: Iterable[str]) -> Hashes:
    digests = (blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(one, "little") for one in digests], dtype=np.uint64)


def _text(label: Any) -> str:
    """The same text for equal numbers: 1, 1.0 and True."""
    is_whole = isinstance(label, float | np.floating | bool | np.bool_) and label % 1 == 0
    return str(int(label)) if is_whole else str(label)


def folds_of(hashes: Hashes) -> NDArray[np.int8]:
    """Fold 0 or 1 for each sample."""
    return (hashes >> np.uint64(63)).astype(np.int8)


class Rows(NamedTuple):
    """Samples in a partition."""

    codes: NDArray[np.intp]
    evidence: tuple[Floats, ...]  # of each system: LLRs in favor of class 1, or log-likelihoods
    hashes: Hashes  # of groups, or of sample numbers
    numbers: NDArray[np.int64]  # of the samples among all, from 0

    def subsample(self, share: Floats) -> Rows:
        """Deterministic subsample of each class, independent of partitioning and groups.

        Whole groups would leave a class with few groups all of its samples, or none.
        """
        bits = (hash_numbers(self.numbers) >> np.uint64(14)) & np.uint64((1 << 48) - 1)
        return self.select(bits.astype(np.float64) / 2.0**48 < share[self.codes])

    def labelled(self, classes: tuple[Hashable, ...], system: int = 0) -> Labelled:
        return Labelled(evidence_of(self.evidence[system], classes), self.codes)

    def select(self, kept: Any) -> Rows:
        evidence = tuple(one[kept] for one in self.evidence)
        return Rows(self.codes[kept], evidence, self.hashes[kept], self.numbers[kept])

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        codes, systems, hashes, numbers = zip(*parts, strict=True)
        evidence = tuple(np.concatenate(one) for one in zip(*systems, strict=True))
        return cls(np.concatenate(codes), evidence, np.concatenate(hashes), np.concatenate(numbers))


def evidence_of(values: Floats, classes: tuple[Hashable, ...]) -> Evidence:
    """Evidence from LLRs in favor of class 1, or from log-likelihoods on rows."""
    if values.ndim == 1:
        return Evidence.from_llr(values, classes[1], classes[0])
    return Evidence(values, classes)


def llr_of_two(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """LLRs in favor of class 1; a sample that rules out both classes misleads without limit."""
    with np.errstate(invalid="ignore", over="ignore"):
        llr = values[:, 1] - values[:, 0]
    return np.where(np.isnan(llr), np.where(codes == 1, -np.inf, np.inf), llr)


def _no_progress(results: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    return results


@dataclass(frozen=True)
class Partitions:
    """Samples in parts; parts and ``read`` are picklable if workers are processes."""

    classes: tuple[Hashable, ...]
    parts: Sequence[Any]
    read: Callable[[Any], Rows]
    n_samples: int
    n_systems: int = 1
    grouped: bool = False  # whether hashes are those of groups
    workers: Workers = field(default_factory=Workers)
    scratch: str | None = None  # a folder for temporary files that all workers see
    track: Track = _no_progress

    def map(self, function: Callable[[Rows], Result], what: str) -> Iterator[Result]:
        """Results for the parts that hold samples, in order."""
        found = self.map_items(partial(_call, self.read, function), self.parts, what)
        return (one for one in found if one is not None)

    def map_items(
        self, function: Callable[[Any], Result], items: Sequence[Any], what: str
    ) -> Iterator[Result]:
        """Results in order, with progress."""
        return iter(self.track(self.workers.map(function, items), what, len(items)))

    def class_means(self, cost: Callable[[Labelled], NDArray[Any]]) -> Floats:
        """Mean cost in each class, with the evidence of the first system."""
        return self._means(partial(_cost_labelled, cost, self.classes))[0]

    def means(self, costs: Sequence[Terms]) -> Floats:
        """Mean of each cost of LLRs in either class, (n_costs, 2)."""
        return self._means(partial(_cost_llrs, costs))

    def _means(self, costs: Callable[[Rows], Iterable[NDArray[Any]]]) -> Floats:
        found = [*self.map(partial(_sum_by_class, costs, len(self.classes)), "Summing")]
        counts = np.sum([n for _, n in found], axis=0)
        require_counts(self.classes, counts)
        return np.asarray(np.sum([sums for sums, _ in found], axis=0) / counts)

    @contextmanager
    def open_scratch(self) -> Iterator[str]:
        """A temporary folder that all workers see."""
        try:
            folder = tempfile.TemporaryDirectory(prefix="deciban-", dir=self.scratch)
        except OSError as error:
            raise InputError(
                f"the scratch folder must be one that can be written to; got {self.scratch} "
                f"({error.strerror}). Make it, or name another one."
            ) from None
        with folder as name:
            remedy = "Set TMPDIR to a folder that they share, or Dask's temporary-directory."
            self.workers.require_files([name], remedy)
            yield name

    def collect(self) -> Rows:
        return Rows.join([*self.map(_identity, "Reading")])


class Tally(NamedTuple):
    """Sample counts, and counts of infinite evidence and of samples that rule out the truth."""

    counts: NDArray[np.intp]
    n_infinite: int
    n_ruled_out: int
    first_ruled_out: int  # number of the first among all samples
    is_first: bool  # whether the evidence is that of the first system

    @property
    def notes(self) -> list[str]:
        n, first = self.n_ruled_out, f"{self.first_ruled_out + 1:,}"
        if n <= 1:
            return [f"Sample {first} rules out its true class: its cost is infinite."] * n
        return [
            f"{n:,} of {self.counts.sum():,} samples rule out their true class (the first is "
            f"sample {first}): their cost is infinite."
        ]

    @classmethod
    def add(cls, parts: Sequence[Tally]) -> Tally:
        counts, infinite, ruled_out, first, is_first = zip(*parts, strict=True)
        return cls(np.sum(counts, axis=0), sum(infinite), sum(ruled_out), min(first), all(is_first))

    @classmethod
    def of_rows(cls, rows: Rows, system: int) -> Self:
        values, codes = rows.evidence[system], rows.codes
        infinite: NDArray[Any] = np.isinf(values)
        if values.ndim == 1:
            wrong, n_classes = infinite & np.where(codes == 1, values < 0, values > 0), 2
        else:
            wrong, n_classes = infinite[np.arange(len(codes)), codes], values.shape[1]
            infinite = np.any(infinite, axis=1)
        first = rows.numbers[np.argmax(wrong)] if wrong.any() else np.iinfo(np.intp).max
        counts = np.bincount(codes, minlength=n_classes)
        is_first = np.array_equal(values, rows.evidence[0])
        return cls(counts, int(infinite.sum()), int(wrong.sum()), int(first), is_first)


def require_counts(classes: Sequence[Hashable], counts: NDArray[Any]) -> None:
    """Raise unless every class has samples."""
    missing = [label for label, n in zip(classes, counts, strict=True) if not n]
    if missing:
        raise lacks_classes(missing)


def _sum_by_class(
    costs: Callable[[Rows], Iterable[NDArray[Any]]], n_classes: int, rows: Rows
) -> tuple[Floats, NDArray[np.intp]]:
    counts = np.bincount(rows.codes, minlength=n_classes)
    sums = [np.bincount(rows.codes, x, n_classes) for x in costs(rows)]
    return np.array(sums, dtype=float), counts


def _cost_llrs(costs: Sequence[Terms], rows: Rows) -> Iterator[NDArray[Any]]:
    (llr,), codes = rows.evidence, rows.codes
    for cost in costs:
        yield np.where(codes == 1, cost(llr, 1), cost(llr, 0))


def _cost_labelled(
    cost: Callable[[Labelled], NDArray[Any]], classes: tuple[Hashable, ...], rows: Rows
) -> list[NDArray[Any]]:
    return [cost(rows.labelled(classes))]


def _call(
    read: Callable[[Any], Rows], function: Callable[[Rows], Result], part: Any
) -> Result | None:
    rows = read(part)
    return function(rows) if len(rows.codes) else None


def _identity(rows: Rows) -> Rows:
    return rows
