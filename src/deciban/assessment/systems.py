"""What :func:`assess` and :func:`compare` ask of a system under assessment.

A system is the evidence of one method beside the truth. It has the value of every quantity, and
estimates the intervals of these values; or, given another system on the same samples, the intervals
of the differences from it. Functions that take one system or two return, for two, what the first
has more than the second.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.assessment.intervals import Plan
from deciban.assessment.wording import number
from deciban.evidence.bayes import cost_matrix, log_prior
from deciban.exceptions import InputError
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.labelled import Labelled
from deciban.metrics.proportions import EventCounts

Prior = ArrayLike | Mapping[Any, float] | None
Costs = ArrayLike | None
Words = dict[str, Hashable]  # what is inserted into the texts on quantities: classes, numbers


class Setting(NamedTuple):
    """The prior under which decisions are made, and the costs of errors."""

    prior: NDArray[np.float64]
    costs: NDArray[np.float64] | None = None

    @property
    def log_odds(self) -> float:
        """Prior log-odds of the second of two classes."""
        return math.log(self.prior[1]) - math.log(self.prior[0])

    @property
    def losses(self) -> tuple[float, float]:
        """Costs of a false alarm and of a miss, relative to the best decision without evidence."""
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
    def cost_without_evidence(self) -> float:
        """The cost of the best decision without evidence, NaN where no costs are given."""
        return math.nan if self.costs is None else float((self.prior @ self.costs).min())


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
            f"{classes[j]!r} when {classes[i]!r} is true costs {C[i, j]:g}, and the right "
            f"decision {C[i, i]:g}. Raise the first or lower the second."
        )
    return Setting(p, C)


class System(ABC):
    """The evidence of one system beside the truth, and every quantity of it.

    Attributes
    ----------
    data : Labelled
    setting : Setting
    values : dict of float by key
        Every quantity, from the samples themselves.
    notes : list of str
        What a reader should know about this evidence.
    pairwise : PairwiseCosts
        Costs of each pair of classes.
    n_wrong : int
        Number of wrong decisions for the likeliest class under the prior.
    expected_wrong : float
        Number of wrong decisions that the posteriors themselves predict.
    """

    values: dict[str, float]
    pairwise: PairwiseCosts
    n_wrong: int
    expected_wrong: float

    def __init__(self, data: Labelled, setting: Setting) -> None:
        self.data, self.setting = data, setting
        at_truth = data.evidence.log_likelihoods[np.arange(len(data.codes)), data.codes]
        self.notes = _ruled_out_note(np.isinf(at_truth))

    @abstractmethod
    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        """Intervals of the quantities, or of their differences from those of another system.

        Quantities without an interval are left out. The value of an interval is corrected where
        that of the samples is biased.
        """

    def values_beside(self, *others: Self) -> tuple[Words, list[dict[str, float]]]:
        """Words on the quantities, and their values for this system and for each of the others."""
        other, target, *_ = self.data.evidence.classes
        nothing = number(self.setting.cost_without_evidence)
        words: Words = {"target": target, "other": other, "nothing": nothing}
        return words, [dict(system.values) for system in (self, *others)]


def difference_of(values: Sequence[float]) -> float:
    """The value of one system, or that of the first less that of the second.

    Equal infinities do not differ.
    """
    if len(values) == 1:
        return values[0]
    a, b = values
    return 0.0 if a == b else a - b


def count_events(weight: float, masks: Sequence[NDArray[np.bool_]]) -> EventCounts:
    """Count the samples of a class to which something happened, or only with one of two systems."""
    if len(masks) == 2:
        masks = [masks[0] & ~masks[1], masks[1] & ~masks[0]]
    weights = weight * np.array([1.0, -1.0][: len(masks)])
    return EventCounts(weights, np.array([mask.sum() for mask in masks]), len(masks[0]))


def _ruled_out_note(ruled_out: NDArray[np.bool_]) -> list[str]:
    first, count = int(np.argmax(ruled_out)) + 1, int(ruled_out.sum())
    if count == 0:
        return []
    if count == 1:
        return [f"Sample {first:,} rules out its true class: its cost is infinite."]
    return [
        f"{count:,} of {len(ruled_out):,} samples rule out their true class (the first is sample "
        f"{first:,}): their cost is infinite."
    ]
