"""What a report is of: the truth beside the evidence, and the classes hardest to tell apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._validation import encode_labels, read_labels
from deciban.evidence import Evidence, from_nats
from deciban.exceptions import InputError

_MANY = 100_000  # LLRs above which costs over priors are taken of the means of small groups
_GROUPS = 20_000


@dataclass(frozen=True)
class Pair:
    """Samples of two classes: 1 where the first is true, and LLRs in its favour in nats."""

    y_true: np.ndarray
    llr: np.ndarray
    a: Hashable
    b: Hashable

    @property
    def decibans(self) -> np.ndarray:
        """The LLRs in decibans."""
        return np.asarray(from_nats(self.llr, "deciban"))

    def of(self, is_a: bool) -> np.ndarray:
        """The LLRs of one class, in decibans."""
        return self.decibans[self.y_true == int(is_a)]

    def grouped(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Truth, LLRs and weights; very many LLRs as the means of small groups of neighbours."""
        if len(self.llr) <= _MANY:
            return self.y_true, self.llr, None
        parts = [_groups(self.llr[self.y_true == k]) for k in (1, 0)]
        labels = np.repeat([1, 0], [len(llr) for llr, _ in parts])
        llrs, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return labels, llrs, weights


def _groups(llr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of neighbouring LLRs and how many each is of; infinite ones stay by themselves."""
    ends, size = np.unique(llr[np.isinf(llr)], return_counts=True)
    finite = np.sort(llr[np.isfinite(llr)])
    starts = np.arange(0, len(finite), max(1, len(finite) // _GROUPS))
    counts = np.diff(np.append(starts, len(finite)))
    means = np.add.reduceat(finite, starts) / counts if len(finite) else finite
    return np.concatenate([means, ends]), np.concatenate([counts, size]).astype(float)


@dataclass(frozen=True)
class Samples:
    """Evidence beside the position of the true class of each sample."""

    evidence: Evidence
    truth: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many samples each class has."""
        return np.bincount(self.truth, minlength=self.evidence.n_classes)

    def pair(self, a: int, b: int) -> Pair:
        """The samples of two classes, by position; an LLR favours the first."""
        names = self.evidence.classes
        rows = np.flatnonzero((self.truth == a) | (self.truth == b))
        mine = self.truth[rows] == a
        first, second = self.evidence.log_likelihoods[rows][:, [a, b]].T
        with np.errstate(invalid="ignore", over="ignore"):
            llr = first - second
        # What rules out its true class and the other, too, is as wrong as can be.
        llr = np.where(
            np.isneginf(first) & np.isneginf(second), np.where(mine, -1, 1) * np.inf, llr
        )
        return Pair(mine.astype(int), llr, names[a], names[b])

    def of_classes(self, positions: list[int]) -> Samples:
        """The samples of some classes, and what the evidence says of these alone.

        Evidence that rules all of them out says nothing of them; such samples are left out.
        """
        rows = np.flatnonzero(np.isin(self.truth, positions))
        values = self.evidence.log_likelihoods[rows][:, positions]
        said = np.isfinite(values).any(axis=1)
        place = np.full(self.evidence.n_classes, -1)
        place[positions] = np.arange(len(positions))
        names = [self.evidence.classes[k] for k in positions]
        return Samples(Evidence(values[said], names), place[self.truth[rows[said]]])

    def some(self, most: int, seed: int = 0) -> Samples:
        """At most so many samples by chance, each class with an equal share where it has it."""
        share = max(1, most // max(1, int((self.counts > 0).sum())))
        rng = np.random.default_rng(seed)
        groups = (np.flatnonzero(self.truth == k) for k in range(self.evidence.n_classes))
        kept = [g if len(g) <= share else rng.choice(g, share, replace=False) for g in groups]
        rows = np.sort(np.concatenate(kept))
        return Samples(self.evidence[rows], self.truth[rows])


def samples_of(truth: Any, evidence: Evidence) -> Samples:
    """Samples, checked; a class may have none."""
    return Samples(evidence, encode_labels(read_labels(truth, len(evidence)), evidence.classes))


def hardest(samples: Samples, cost: np.ndarray, most: int = 3) -> list[int]:
    """Positions of the classes hardest to tell apart: the worst pair first, in their order.

    The cost is of each two classes.
    """
    there = np.flatnonzero(samples.counts > 0).tolist()
    if len(there) < 2:
        raise InputError("truth must hold two classes; it holds fewer. Add samples of another.")
    pairs = [(cost[i, j], -i, -j) for i in there for j in there if i < j]
    _, i, j = max(pairs)
    chosen = [-i, -j]
    while len(chosen) < min(most, len(there)):
        rest = [k for k in there if k not in chosen]
        chosen.append(max(rest, key=lambda k: (float(cost[k, chosen].sum()), -k)))
    return chosen
