"""A system under assessment: its quantities, and intervals of them or of their differences."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.assessment.intervals import Plan
from deciban.assessment.wording import number
from deciban.evidence.bayes import cost_matrix, log_prior
from deciban.exceptions import InputError
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.proportions import EventCounts

Prior = ArrayLike | Mapping[Any, float] | None
Costs = ArrayLike | None


class Setting(NamedTuple):
    """The prior under which decisions are made, and what each error costs."""

    prior: NDArray[np.float64]
    costs: NDArray[np.float64] | None = None

    @property
    def log_odds(self) -> float:
        """Prior log-odds of the second of two classes."""
        return math.log(self.prior[1]) - math.log(self.prior[0])

    @property
    def losses(self) -> tuple[float, float]:
        """Losses by a false alarm and a miss, relative to the best decision without evidence."""
        C = 1 - np.eye(2) if self.costs is None else self.costs
        false_alarm = float(self.prior[0] * (C[0, 1] - C[0, 0]))
        miss = float(self.prior[1] * (C[1, 0] - C[1, 1]))
        unit = max(min(false_alarm, miss), max(false_alarm, miss) * 1e-300)
        return false_alarm / unit, miss / unit

    @property
    def threshold(self) -> float:
        """The LLR above which accepting the second class is the better decision."""
        false_alarm, miss = self.losses
        return math.log(false_alarm) - math.log(miss)

    @property
    def cost_without_evidence(self) -> str:
        """What the best decision without evidence costs, in words for a table."""
        return "" if self.costs is None else number(float((self.prior @ self.costs).min()))


def make_setting(prior: Prior, costs: Costs, classes: tuple[Hashable, ...]) -> Setting:
    """Check the prior and the costs."""
    p = np.exp(log_prior(prior, classes, 1)[0])
    if costs is None:
        return Setting(p)
    C = cost_matrix(costs, classes)
    too_cheap = np.argwhere((np.diag(C)[:, None] >= C) & ~np.eye(len(classes), dtype=bool))
    if len(too_cheap):
        i, j = too_cheap[0]
        raise InputError(
            f"costs must be higher for each error than for the right decision; deciding for "
            f"{classes[j]!r} when {classes[i]!r} is true costs {C[i, j]:g}, deciding right "
            f"{C[i, i]:g}. Raise the one or lower the other."
        )
    return Setting(p, C)


@dataclass
class Estimates:
    """Intervals by key, and corrected values of the quantities that are biased."""

    intervals: dict[str, Interval] = field(default_factory=dict)
    corrected: dict[str, float] = field(default_factory=dict)

    def interval(self, key: str, value: float) -> Interval:
        """The interval of a quantity, or only its value where there is none."""
        return self.intervals.get(key, Interval(value))._replace(value=value)


class System(ABC):
    """The evidence of one system beside the truth, and every quantity of it.

    Attributes
    ----------
    values : dict of float by key
        Every quantity, from the samples themselves.
    words : dict by name
        What is inserted into the words on quantities, such as names of classes.
    notes : list of str
    pairwise : PairwiseCosts
    n_wrong : int
        Number of wrong decisions for the likeliest class under the prior.
    expected_wrong : float
        Number of wrong decisions to be expected by the posteriors themselves.
    """

    values: dict[str, float]
    words: dict[str, Hashable]
    notes: list[str]
    pairwise: PairwiseCosts
    n_wrong: int
    expected_wrong: float

    @abstractmethod
    def estimates(self, plan: Plan, other: Self | None = None) -> Estimates:
        """Intervals of the quantities, or of their differences from those of another system."""

    def values_beside(self, other: Self) -> tuple[dict[str, Hashable], list[dict[str, float]]]:
        """Words on the quantities, and their values for this system and for another."""
        return self.words, [self.values, other.values]


def difference_of(values: Sequence[float]) -> float:
    """The value of one system, or that of the first less that of the second.

    Equal infinities do not differ.
    """
    if len(values) == 1:
        return values[0]
    a, b = values
    return 0.0 if a == b else a - b


def count_events(weight: float, happened: Sequence[NDArray[np.bool_]]) -> EventCounts:
    """Count an event among the samples of a class, or that it happened to one of two systems."""
    masks = [*happened]
    if len(masks) == 2:
        masks = [masks[0] & ~masks[1], masks[1] & ~masks[0]]
    weights = weight * np.array([1.0, -1.0][: len(masks)])
    return EventCounts(weights, np.array([mask.sum() for mask in masks]), len(masks[0]))


def ruled_out_note(where: NDArray[np.bool_]) -> list[str]:
    """A note on samples whose cost is infinite."""
    if not where.any():
        return []
    first, count = int(np.argmax(where)) + 1, int(where.sum())
    if count == 1:
        return [f"Sample {first:,} rules out its true class: its cost is infinite."]
    return [
        f"{count:,} of {len(where):,} samples rule out their true class, sample {first:,} the "
        f"first: their cost is infinite."
    ]
