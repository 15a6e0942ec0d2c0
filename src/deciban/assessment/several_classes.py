"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import numpy as np
from scipy.special import logsumexp, ndtri

from deciban.assessment.intervals import Floats, Plan
from deciban.assessment.sample_costs import SampleCosts, add_unseen_errors, mean_intervals
from deciban.assessment.systems import (
    Estimates,
    Setting,
    System,
    count_events,
    difference_of,
    ruled_out_note,
)
from deciban.assessment.two_classes import llr_costs
from deciban.evidence.bayes import choose_least_cost
from deciban.metrics import Interval
from deciban.metrics.decomposition import Family, recalibrate, split_folds
from deciban.metrics.labelled import Labelled
from deciban.metrics.multiclass import pairwise_costs
from deciban.metrics.proportions import (
    EventCounts,
    hull,
    pooled_interval,
    sum_interval,
)

_FOLDS = 5
_MOST_FULL = 20  # classes; the matrix of a hundred has 10,000 entries and takes minutes
_SORTED_BY = 3  # columns of evidence that put samples into an order of their own


class SeveralClassSystem(System):
    """The evidence of one system over more than two classes, and every quantity of it."""

    def __init__(self, data: Labelled, setting: Setting) -> None:
        self.data, self.setting = data, setting
        log_p = data.evidence.log_posterior(setting.prior)
        after = _recalibrated_posteriors(data, setting)
        self.costs = _sample_costs(data, log_p, after, setting)
        self.values = {key: self.costs.total(key) for key in self.costs.of if key != "saving"}
        self.entropy = float(-setting.prior @ np.log(setting.prior))
        self.values["normalized_cross_entropy"] = self.values["cross_entropy"] / self.entropy
        self.pairwise = pairwise_costs(data)
        self.n_wrong = int((~self.costs.right).sum())
        self.expected_wrong = _expected_errors(log_p)
        self.notes = ruled_out_note(np.isinf(self.costs.of["cross_entropy"]))
        if after is None:
            self.notes.append(
                "Calibration and discrimination are not separated: that takes finite "
                "log-likelihoods and two samples of each class."
            )
        self.words, (self.values,) = self._with_worst_pair(self)

    def values_beside(self, other: Self) -> tuple[dict[str, Hashable], list[dict[str, float]]]:
        """Words and values, of the pair of classes that costs the most with either system."""
        return self._with_worst_pair(self, other)

    def _with_worst_pair(
        self, *systems: SeveralClassSystem
    ) -> tuple[dict[str, Hashable], list[dict[str, float]]]:
        cost = np.max([s.pairwise.cllr for s in systems], axis=0)
        i, j = (int(k) for k in np.unravel_index(np.nanargmax(cost), cost.shape))
        names, nothing = self.data.evidence.classes, self.setting.cost_without_evidence
        words = {"a": names[i], "b": names[j], "nothing": nothing}
        return words, [
            s.values | {"worst_pair_cllr": float(s.pairwise.cllr[i, j])} for s in systems
        ]

    def estimates(self, plan: Plan, other: Self | None = None) -> Estimates:
        """Intervals of the quantities, or of their differences from those of another system."""
        costs = self.costs if other is None else self.costs.minus(other.costs)
        systems = (self,) if other is None else (self, other)
        found = mean_intervals(costs, plan, paired=other is not None)
        add_unseen_errors(found, costs, [s.costs for s in systems], plan.confidence)
        found["accuracy"] = _accuracy_interval(systems, plan)
        if len(systems) == 1:
            if "saving" in found:
                _bound_saving(found, self.values["calibration"])
            found["worst_pair_cllr"] = self._worst_pair_interval(plan)
        else:
            if "expected_cost" in found:
                apart = _cost_interval(costs, self.costs.mirrored["expected_cost"], plan)
                found["expected_cost"] = hull(found["expected_cost"], apart)
            if "calibration" in found and not any(s.values["calibration"] for s in systems):
                found["calibration"] = Interval(0.0)  # neither is recalibrated
        scaled = (end / self.entropy for end in found["cross_entropy"])
        found["normalized_cross_entropy"] = Interval(*scaled)
        return Estimates(found)

    def _worst_pair_interval(self, plan: Plan) -> Interval:
        """Interval of the Cllr of the pair that was chosen because it is the worst.

        It is wide enough for all pairs at once (Bonferroni).
        """
        i, j = np.unravel_index(np.nanargmax(self.pairwise.cllr), self.pairwise.cllr.shape)
        costs = llr_costs(self.data.pair(int(j), int(i)), Setting(np.array([0.5, 0.5])))
        found = mean_intervals(costs, plan, paired=False)
        add_unseen_errors(found, costs, [costs], plan.confidence)
        value, low, high, error = found["cllr"]
        if np.isinf(value):
            return Interval(value, low, high)
        tail = (1 - plan.confidence) / 2
        n_pairs = len(self.data.counts) * (len(self.data.counts) - 1) / 2
        factor = float(ndtri(tail / n_pairs) / ndtri(tail))
        return Interval(value, value - factor * (value - low), value + factor * (high - value),
                        error)  # fmt: skip


def _accuracy_interval(systems: tuple[SeveralClassSystem, ...], plan: Plan) -> Interval:
    """Interval from how often a system decides right, or only one of two does."""
    first = systems[0]
    events = [
        count_events(float(p), [s.costs.right[rows] for s in systems])
        for p, rows in zip(first.setting.prior, first.costs.rows_by_class, strict=True)
    ]
    value = difference_of([s.values["accuracy"] for s in systems])
    interval = sum_interval(value, events, plan.confidence)
    if len(systems) == 2:
        return interval
    return hull(interval, pooled_interval(value, events, plan.confidence))


def _bound_saving(found: dict[str, Interval], calibration: float) -> None:
    """Set the interval of the calibration part, where recalibration does not pay.

    A map that has to be learned from few samples does harm, however poor the calibration is. How
    much it may lose then tells how small a saving these samples cannot show.
    """
    _, low, high, error = found.pop("saving")
    if calibration == 0 and not np.isnan(low):
        most = min(max(high, -low), found["cross_entropy"].high)
        found["calibration"] = Interval(0.0, 0.0, most, error)


def _cost_interval(costs: SampleCosts, worst: Floats, plan: Plan) -> Interval:
    """Interval from how often the decision of one system costs more than that of the other.

    It then costs as much more as it did on average, or the worst that it could.
    """
    events = []
    for rows in costs.rows_by_class:
        gaps, most = costs.of["expected_cost"][rows], worst[rows[0]]
        sides = (gaps[gaps > 0], gaps[gaps < 0])
        weight = [
            float(side.mean()) if len(side) else sign * most
            for sign, side in zip((1, -1), sides, strict=True)
        ]
        counts = np.array([len(side) for side in sides])
        events.append(EventCounts(np.array(weight), counts, len(gaps)))
    return sum_interval(costs.total("expected_cost"), events, plan.confidence)


def _sample_costs(
    data: Labelled, log_p: Floats, after: Floats | None, setting: Setting
) -> SampleCosts:  # fmt: skip
    """What each sample costs, with the posteriors as they are and after recalibration."""
    truth = data.codes
    prior, rows = setting.prior[truth], np.arange(len(truth))
    right = log_p.argmax(axis=1) == truth
    of = {"cross_entropy": -prior * log_p[rows, truth], "accuracy": prior * right}
    mirrored = {"cross_entropy": -prior * _runner_up(log_p)}
    if setting.costs is not None:
        decision = choose_least_cost(log_p, tuple(range(log_p.shape[1])), setting.costs, None)
        of["expected_cost"] = prior * setting.costs[truth, decision]
        mirrored["expected_cost"] = prior * setting.costs.max(axis=1)[truth]
    costs = SampleCosts(truth, log_p.shape[1], of, mirrored, right)
    if after is None:
        return costs
    of["discrimination"] = -prior * after[rows, truth]
    mirrored["discrimination"] = -prior * _runner_up(after)
    for part in (of, mirrored):
        part["saving"] = part["calibration"] = part["cross_entropy"] - part["discrimination"]
    if costs.total("saving") < 0:  # recalibration that does not pay is not used
        for part in (of, mirrored):
            part["discrimination"] = part["cross_entropy"]
            part["calibration"] = np.zeros(len(truth))
    return costs


def _expected_errors(log_p: Floats) -> float:
    """Number of wrong decisions to be expected by the posteriors."""
    others = log_p.copy()
    others[np.arange(len(log_p)), log_p.argmax(axis=1)] = -np.inf
    return float(np.exp(logsumexp(others, axis=1)).sum())


def _runner_up(log_p: Floats) -> Floats:
    return np.asarray(np.partition(log_p, -2, axis=1)[:, -2])


def _recalibrated_posteriors(data: Labelled, setting: Setting) -> Floats | None:
    """Log-posteriors after the best affine map, fitted without the sample, as in ``decompose``.

    Of a temperature and a full matrix, the one that suits held-out samples better: few samples do
    not determine a matrix. None where nothing can be fitted: too few samples, or likelihoods of
    zero. Folds are made of the samples in the order of their evidence, so that the order in which
    they come does not matter.
    """
    fewest, values = int(data.counts.min()), data.evidence.log_likelihoods
    if fewest < 2 or np.isinf(values).any():
        return None
    order = np.lexsort([*values.T[:_SORTED_BY], data.codes])
    data = data.select(order)
    at_truth = (np.arange(len(order)), data.codes)
    folds = split_folds(data.codes, min(_FOLDS, fewest), None, 0)
    families: tuple[Family, ...] = ("scalar", "full")
    candidates = []
    for family in families[: 2 if values.shape[1] <= _MOST_FULL else 1]:
        log_p = recalibrate(data, family, setting.prior, folds)
        candidates.append((float(setting.prior @ data.mean_by_class(-log_p[at_truth])), log_p))
    cost, best = min(candidates, key=lambda one: one[0])
    if not np.isfinite(cost):
        return None
    back = np.empty_like(best)
    back[order] = best
    return back
