"""Costs of single samples, and intervals of their means that allow for errors not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deciban.assessment.intervals import (
    Floats,
    Plan,
    bca_interval,
    resample_means,
    widened_percentiles,
)
from deciban.metrics import Interval
from deciban.metrics.labelled import split_by_class
from deciban.metrics.proportions import add_unseen, unseen_rate


@dataclass(frozen=True)
class SampleCosts:
    """What each sample adds to the quantities of one system, or to the differences of two.

    The prior is included: a quantity is the sum over the classes of means over their samples.

    Attributes
    ----------
    codes : array of shape (n_samples,)
        Positions of the true classes.
    n_classes : int
    of : dict of arrays of shape (n_samples,)
        ``saving`` is what recalibration saves, and may be below zero; ``calibration`` is zero
        where that does not pay.
    mirrored : dict of arrays of shape (n_samples,)
        The costs of a sample that is as sure of the runner-up as this one is of its class.
    right : array of shape (n_samples,)
        Whether the evidence supports the true class most.
    """

    codes: NDArray[np.intp]
    n_classes: int
    of: dict[str, Floats]
    mirrored: dict[str, Floats]
    right: NDArray[np.bool_]

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Number of samples of each class."""
        return np.bincount(self.codes, minlength=self.n_classes)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        """Positions of the samples of each class."""
        return split_by_class(self.codes, self.n_classes)

    def total(self, key: str) -> float:
        """A quantity of all samples."""
        return float(np.sum(np.bincount(self.codes, self.of[key]) / self.counts))

    def unseen_error_rates(self, confidence: float) -> Floats:
        """Upper bound on the error rate of each class, beyond the most that resamples contain."""
        wrong = np.bincount(self.codes[~self.right], minlength=self.n_classes)
        pairs = zip(wrong.tolist(), self.counts.tolist(), strict=True)
        return np.array([unseen_rate(k, n, confidence) for k, n in pairs])

    def unseen(self, key: str, rates: Floats) -> Floats:
        """What errors may add in each class, if they are more frequent by these rates.

        They are like those that were seen, and like one right sample turned around.
        """
        n_right = np.bincount(self.codes[self.right], minlength=self.n_classes)
        right, turned, seen = (
            np.asarray(np.bincount(self.codes[rows], values[rows], self.n_classes), dtype=float)
            for rows, values in (
                (self.right, self.of[key]),
                (self.right, self.mirrored[key]),
                (~self.right, self.of[key]),
            )
        )
        right, turned = (total / np.maximum(n_right, 1) for total in (right, turned))
        return np.asarray(rates * ((turned + seen) / (1 + self.counts - n_right) - right))

    def minus(self, other: SampleCosts) -> SampleCosts:
        """The costs that both systems have, less those of the other one."""
        of, mirrored = (
            {key: mine[key] - theirs[key] for key in mine if key in theirs}
            for mine, theirs in ((self.of, other.of), (self.mirrored, other.mirrored))
        )
        mirrored.pop("expected_cost", None)  # the worst that may be, which is the same for both
        return replace(self, of=of, mirrored=mirrored, right=self.right & other.right)


def mean_intervals(costs: SampleCosts, plan: Plan, *, paired: bool) -> dict[str, Interval]:
    """Intervals of the quantities of one system, or of their differences if ``paired``."""
    table = np.array([*costs.of.values()])
    by_class = [table[:, rows] for rows in costs.rows_by_class]
    drawn, left_out = resample_means(by_class, plan, leave_out=not paired)
    found = {}
    for k, key in enumerate(costs.of):
        value, level = costs.total(key), plan.confidence
        if paired:
            found[key] = widened_percentiles(value, drawn[:, k], level)
        else:
            found[key] = bca_interval(value, drawn[:, k], left_out[:, k], level)
    return found


def add_unseen_errors(
    found: dict[str, Interval], costs: SampleCosts, systems: list[SampleCosts], confidence: float
) -> None:
    """Widen intervals by errors that no resample contains, of all systems or of one alone."""
    shared = costs.unseen_error_rates(confidence)
    own = [np.maximum(0.0, s.unseen_error_rates(confidence) - shared) for s in systems]
    for key in costs.mirrored:
        extra = [costs.unseen(key, shared)]
        for sign, system, rates in zip((1.0, -1.0), systems, own, strict=False):
            extra.append(sign * system.unseen(key, rates))
        found[key] = add_unseen(found[key], np.concatenate(extra))
