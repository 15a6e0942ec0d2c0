"""Systems under assessment: evidence of one method on samples whose true class is known.

A system holds the values of all quantities. It estimates their intervals or, given another system
on the same samples, those of the differences: its own values less the other's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._markup import number
from deciban._validation.arrays import Floats
from deciban.evidence.bayes import cost_matrix, log_prior
from deciban.exceptions import InputError
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.designs import Design
from deciban.metrics.detection import ErrorWeights, OperatingPoint, read_operating_points
from deciban.metrics.intervals import Plan, Seed, make_plan
from deciban.metrics.labelled import Labelled
from deciban.metrics.languages import LanguageDetection, make_detection
from deciban.metrics.partitions import Tally
from deciban.metrics.units import UnitCosts

Prior = ArrayLike | Mapping[Any, float] | None
Costs = ArrayLike | None
OperatingPoints = Iterable[OperatingPoint | tuple[float, float, float]]
Words = dict[str, Hashable]  # what is inserted into the texts on quantities: classes, numbers


class Setting(NamedTuple):
    """The prior for decisions, the costs of errors, and operating points."""

    prior: NDArray[np.float64]
    costs: NDArray[np.float64] | None = None
    points: tuple[OperatingPoint, ...] = ()
    languages: Mapping[str, LanguageDetection] = {}  # costs of three classes or more, by their key

    @property
    def is_even(self) -> bool:
        return bool(np.ptp(self.prior) < 1e-9)

    @property
    def log_odds(self) -> float:
        """Prior log-odds for class 1 out of two."""
        return math.log(self.prior[1]) - math.log(self.prior[0])

    @property
    def point_keys(self) -> list[str]:
        return [f"detection_cost@{point}" for point in self.points]

    @property
    def weights(self) -> dict[str, ErrorWeights]:
        """Error weights for two classes, by key: under the prior and costs, and at each point."""
        C = 1 - np.eye(2) if self.costs is None else self.costs
        other, target = np.log(self.prior) + np.log([C[0, 1] - C[0, 0], C[1, 0] - C[1, 1]])
        at_points = zip(self.point_keys, (point.weights for point in self.points), strict=True)
        return {"detection_cost": ErrorWeights(target, other), **dict(at_points)}


class Options(TypedDict, total=False):
    """Options of :func:`assess` and :func:`compare`; :func:`read_options` has their defaults."""

    prior: Prior
    costs: Costs
    operating_points: OperatingPoints
    c_avg: bool
    out_of_set: Hashable | None
    p_out_of_set: float
    confidence: float
    n_resamples: int
    rng: Seed


def read_options(
    classes: tuple[Hashable, ...],
    *,
    prior: Prior = None,
    costs: Costs = None,
    operating_points: OperatingPoints = (),
    c_avg: bool = False,
    out_of_set: Hashable | None = None,
    p_out_of_set: float = 0.2,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Seed = 0,
) -> tuple[Setting, Plan]:
    """Check the options of :func:`assess`."""
    plan = make_plan(confidence, n_resamples, rng)
    setting = Setting(
        np.exp(log_prior(prior, classes, 1)[0]), None, read_operating_points(operating_points)
    )
    if len(classes) > 2:
        points = [*setting.points, *([OperatingPoint()] if c_avg else [])]
        languages = [make_detection(point, classes, out_of_set, p_out_of_set) for point in points]
        keys = [*setting.point_keys, "c_avg"]
        setting = setting._replace(languages=dict(zip(keys, languages, strict=False)))
    elif c_avg or out_of_set is not None:
        name = "c_avg" if c_avg else "out_of_set"
        raise InputError(f"{name} must come with three classes or more; got two. Leave it out.")
    if costs is None:
        return setting, plan
    C = cost_matrix(costs, classes)
    too_cheap = np.argwhere((np.diag(C)[:, None] >= C) & ~np.eye(len(classes), dtype=bool))
    if len(too_cheap):
        i, j = too_cheap[0]
        raise InputError(
            f"costs must be higher for each error than for the right decision; deciding for "
            f"{classes[j]!r} when {classes[i]!r} is true costs {C[i, j]:g}, and the right "
            f"decision {C[i, i]:g}. Raise the first or lower the second."
        )
    return setting._replace(costs=C), plan


MAX_SUBSAMPLE = 500_000  # samples that tests of calibration see
MIN_SUBSAMPLE = 5000  # of each class, if there are as many


class System(ABC):
    """The evidence of one system on labelled samples, with every quantity."""

    values: dict[str, float]  # every quantity by its key, from the samples themselves
    pairwise: PairwiseCosts  # costs of each pair of classes
    n_wrong: int  # wrong decisions for the likeliest class under the prior
    expected_wrong: float  # wrong decisions that the posteriors themselves predict
    notes: list[str]  # what a reader should know about this evidence

    def __init__(
        self, classes: tuple[Hashable, ...], setting: Setting, notes: Iterable[str] = ()
    ) -> None:
        self.classes, self.setting, self.notes = classes, setting, [*notes]

    @property
    @abstractmethod
    def costs(self) -> UnitCosts:
        """What units cost; samples are right if their evidence points to their class."""

    @abstractmethod
    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        """Intervals of the values or differences, around unbiased estimates of them."""

    def values_beside(self, *others: Self) -> tuple[Words, list[dict[str, float]]]:
        """Text for labels, and the values of this system and of others."""
        other, target, *_ = self.classes
        words: Words = {"target": target, "other": other}
        if self.setting.costs is not None:
            words["no_evidence"] = number((self.setting.prior @ self.setting.costs).min())
        return words, [dict(system.values) for system in (self, *others)]


def difference_of(a: float, b: float) -> float:
    """Equal infinities do not differ."""
    return 0.0 if a == b else a - b


class Subsample(NamedTuple):
    """Some samples with the evidence of one system, and their numbers among all."""

    data: Labelled
    numbers: NDArray[np.int64]

    @staticmethod
    def share(counts: NDArray[Any]) -> Floats:
        """Fraction to keep in each class: half a million samples, but not too few of any."""
        fewest = min(MIN_SUBSAMPLE, MAX_SUBSAMPLE // len(counts))
        return np.maximum(MAX_SUBSAMPLE / counts.sum(), fewest / counts)


class Judged(NamedTuple):
    """Systems on the same units, and a subsample."""

    systems: Sequence[System]
    design: Design
    tallies: Sequence[Tally]
    plan: Plan
    some: Subsample
