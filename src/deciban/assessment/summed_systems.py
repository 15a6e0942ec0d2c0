"""Systems whose costs are known as sums over bags of samples, and some of the samples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.assessment.assess import MOST_TESTED
from deciban.assessment.systems import System
from deciban.metrics.bags import BagDesign, hash_numbers, ranks_of
from deciban.metrics.intervals import Plan
from deciban.metrics.labelled import Labelled
from deciban.metrics.partitions import Rows, Tally, evidence_of

_FEWEST = 5000  # samples of a class to keep, if there are as many


class SummedSystems(NamedTuple):
    """Systems over bags of samples, and some of the samples."""

    systems: Sequence[System]
    plan: Plan
    design: BagDesign
    tallies: Sequence[Tally]
    wrong: list[Floats]  # samples of each bag that point to a wrong class, by class
    some: Rows


class SomeSamples(NamedTuple):
    """Samples with the evidence of one system, and their numbers among all, from 0."""

    data: Labelled
    numbers: NDArray[np.int64]

    @classmethod
    def of_rows(cls, rows: Rows, classes: tuple[Hashable, ...], system: int = 0) -> SomeSamples:
        """The samples with the evidence of this system."""
        evidence = evidence_of(rows.evidence[system], classes)
        return cls(Labelled(evidence, rows.codes), rows.numbers)


def share_to_keep(counts: NDArray[Any]) -> Floats:
    """Fraction of each class to keep: half a million samples, but not too few of any class."""
    fewest = min(_FEWEST, MOST_TESTED // len(counts))
    return np.maximum(MOST_TESTED / counts.sum(), fewest / counts)


def select_some(rows: Rows, share: Floats) -> Rows:
    """Samples whose number tells so, whatever the split: this fraction of each class.

    Those of a group are not taken together: a class of few groups would have all samples or none.
    """
    return rows.select(ranks_of(hash_numbers(rows.numbers)) < share[rows.codes])
