"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Self

import numpy as np
from scipy.special import logsumexp, ndtri

from deciban._validation.arrays import Floats
from deciban.assessment.quantities import Posteriors, posterior_costs
from deciban.assessment.systems import Setting, System, Words, difference_of, note_ruled_out
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import CLLR
from deciban.metrics.decomposition import Family, recalibrate, split_folds
from deciban.metrics.intervals import Plan, hull
from deciban.metrics.labelled import Labelled
from deciban.metrics.llr_intervals import LlrSample
from deciban.metrics.multiclass import pairwise_costs
from deciban.metrics.proportions import (
    EventCounts,
    count_events,
    pooled_interval,
    sum_interval,
)
from deciban.metrics.sample_costs import SampleCosts, mean_intervals

_FOLDS = 5
_FOR_INTERVALS = ("saving", "least discrimination", "most calibration")  # not reported themselves
_DECISION_COSTS = ("expected_cost", "detection_cost", "c_avg", "c_primary")
PAIR = {"cllr": CLLR}  # what LLRs of a pair of classes cost
MOST_FULL = 20  # classes; the full matrix of a hundred has 10,000 entries and takes minutes
_SORTED_BY = 3  # columns of evidence that define an order of the samples


class SeveralClassSystem(System):
    """The evidence of one system over more than two classes, and every quantity of it.

    ``of_pair`` are the costs of the LLRs of the pair of classes that costs the most, and
    ``plan_of_pair`` makes the plan for its samples of that for all. ``needed`` says what
    recalibration takes, beside finite evidence.
    """

    def __init__(
        self,
        classes: tuple[Hashable, ...],
        setting: Setting,
        costs: SampleCosts,
        pairwise: PairwiseCosts,
        expected_wrong: float,
        notes: Iterable[str],
        of_pair: SampleCosts,
        plan_of_pair: Callable[[Plan], Plan],
        needed: str = "two samples of each class",
    ) -> None:
        super().__init__(classes, setting, notes)
        self.costs, self.pairwise, self.expected_wrong = costs, pairwise, expected_wrong
        self.of_pair, self.plan_of_pair = of_pair, plan_of_pair
        if "saving" not in costs.actual:
            self.notes.append(
                f"Calibration and discrimination are not separated: that takes finite "
                f"log-likelihoods and {needed}."
            )
        elif costs.total("saving") < 0:  # recalibration that does not pay is not used
            costs.replace_costs({"discrimination": "cross_entropy", "calibration": None})
        self.values = {key: costs.total(key) for key in costs.actual if key not in _FOR_INTERVALS}
        self.entropy = float(-setting.prior @ np.log(setting.prior))
        self.values["normalized_cross_entropy"] = self.values["cross_entropy"] / self.entropy
        self.n_wrong = int(sum(costs.wrong(t).sum() for t in range(len(classes))))

    @classmethod
    def of_samples(cls, data: Labelled, setting: Setting) -> Self:
        """The system whose evidence on these samples is given."""
        log_p = data.evidence.log_posterior(setting.prior)
        recalibrated = _recalibrated_posteriors(data, setting)
        pairwise = pairwise_costs(data)
        i, j = worst_pair(pairwise.cllr)
        trials = data.pair(j, i)
        rows = np.concatenate([data.rows_by_class[k] for k in (j, i)])
        return cls(
            data.evidence.classes, setting, sample_costs(data, log_p, recalibrated, setting),
            pairwise, expected_errors(log_p), note_ruled_out(data),
            LlrSample(trials.llr, trials.y_true).actual_costs(PAIR, 0.0),
            lambda plan: plan.select(rows, trials.y_true),
        )  # fmt: skip

    def values_beside(self, *others: Self) -> tuple[Words, list[dict[str, float]]]:
        """Words on the quantities, and their values for this system and for each of the others.

        The Cllr is that of the pair of classes that costs the most with any of the systems.
        """
        words, values = super().values_beside(*others)
        cllrs = [system.pairwise.cllr for system in (self, *others)]
        i, j = worst_pair(np.max(cllrs, axis=0))
        for one, cllr in zip(values, cllrs, strict=True):
            one["worst_pair_cllr"] = float(cllr[i, j])
        return words | {"a": self.classes[i], "b": self.classes[j]}, values

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        """Intervals of the quantities, or of their differences from those of another system."""
        systems = [self] if other is None else [self, other]
        intervals = mean_intervals([s.costs for s in systems], plan)
        intervals["accuracy"] = _accuracy_interval(systems, plan)
        if other is None:
            if "saving" in intervals:
                _bound_calibration(intervals, self.values["calibration"])
            if "decision_loss" in intervals:
                worst = self.costs.worst("expected_cost") / _unit_of_costs(self.setting)
                seen = _cost_interval("decision_loss", self.costs, worst, plan)
                intervals["decision_loss"] = hull(intervals["decision_loss"], seen)
            intervals["worst_pair_cllr"] = self._worst_pair_interval(plan)
        else:
            both = self.costs.subtract(other.costs)
            for key in [key for key in intervals if key in self.costs.mirrored and has_sides(key)]:
                apart = _cost_interval(key, both, self.costs.worst(key), plan)
                intervals[key] = hull(intervals[key], apart)
            if not any(s.values.get("calibration") for s in systems):
                intervals.pop("calibration", None)  # neither is recalibrated
        for key in _FOR_INTERVALS:
            intervals.pop(key, None)
        scaled = (end / self.entropy for end in intervals["cross_entropy"])
        intervals["normalized_cross_entropy"] = Interval(*scaled)
        return intervals

    def _worst_pair_interval(self, plan: Plan) -> Interval:
        """Interval of the Cllr of the pair that was chosen because it is the worst.

        It is wide enough for all pairs at once (Bonferroni).
        """
        found = mean_intervals([self.of_pair], self.plan_of_pair(plan))
        value, low, high, _ = found["cllr"]
        if np.isinf(value):
            return Interval(value, low, high)
        tail = (1 - plan.confidence) / 2
        D = len(self.classes)
        factor = float(ndtri(tail / (D * (D - 1) / 2)) / ndtri(tail))
        return Interval(value, value - factor * (value - low), value + factor * (high - value))


def has_sides(key: str) -> bool:
    """Whether a quantity is what decisions cost, whose errors are counted."""
    return key.partition("@")[0] in _DECISION_COSTS or key == "decision_loss"


def worst_pair(cllr: Floats) -> tuple[int, int]:
    """Positions of the two classes whose LLRs cost the most."""
    i, j = np.unravel_index(np.nanargmax(cllr), cllr.shape)
    return int(i), int(j)


def _accuracy_interval(systems: Sequence[SeveralClassSystem], plan: Plan) -> Interval:
    """Interval from how often a system decides right, or how often only one of two does."""
    first = systems[0]
    events = []
    for t, n in enumerate(first.costs.counts):
        right = first.costs.right_events(t, *(s.costs for s in systems[1:]))
        events.append(count_events(float(first.setting.prior[t]), right, n, plan, t))
    value = difference_of([s.values["accuracy"] for s in systems])
    interval = sum_interval(value, events, plan.confidence)
    if len(systems) == 2:
        return interval
    return hull(interval, pooled_interval(value, events, plan.confidence))


def _bound_calibration(intervals: dict[str, Interval], saving: float) -> None:
    """Set the intervals of calibration and discrimination, given both bounds on the saving.

    A map that has to be learned from few samples does harm, however poor the calibration is. How
    much it may lose bounds the saving that these samples are too few to show. Nor is a map that was
    fitted without the sample the best one: the other ends come from the map fitted to all.
    """
    _, low, high, _ = intervals["saving"]
    if saving == 0 and not np.isnan(low):
        most = min(max(high, -low), intervals["cross_entropy"].high)
        intervals["calibration"] = Interval(0.0, 0.0, most)
    discrimination, calibration = intervals["discrimination"], intervals["calibration"]
    low = min(discrimination.low, intervals["least discrimination"].low)
    high = max(calibration.high, intervals["most calibration"].high)
    intervals["discrimination"] = discrimination._replace(low=low)
    intervals["calibration"] = calibration._replace(high=high)


def _cost_interval(key: str, costs: SampleCosts, worst: Floats, plan: Plan) -> Interval:
    """Interval from how often decisions cost more than other ones do.

    The extra cost is the mean of those seen, or the worst possible where none was seen.
    """
    events = []
    for t, n_samples in enumerate(costs.counts):
        totals, counts, signs = costs.sides(key, t)
        weight = [
            total / n if n else sign * worst[t]
            for sign, total, n in zip((1, -1), totals, counts, strict=True)
        ]
        size = plan.effective_size(t, signs, float(sum(counts)))
        events.append(EventCounts(np.array(weight), np.array(counts) * (size / n_samples), size))
    return sum_interval(costs.total(key), events, plan.confidence)


def sample_costs(
    data: Labelled,
    log_p: Floats,
    recalibrated: tuple[Floats, Floats] | None,
    setting: Setting,
    folds: int = _FOLDS,
) -> SampleCosts:
    """What each sample costs, with the posteriors as they are and after recalibration.

    ``recalibrated`` are the posteriors after a map that was fitted without the sample, and after
    one that was fitted to all. As of :mod:`deciban.metrics.recalibration`, the cost of the best map
    lies between theirs, half-way for a map with a given number of parameters.
    """
    share = 1 / (1 + folds / (folds - 1))  # of the excess on new samples that is optimism
    truth = data.codes
    given = Posteriors(log_p, truth, setting)
    actual, mirrored = posterior_costs(given)
    for key, detection in setting.languages.items():
        unit = 1.0 if key == "c_avg" else detection.no_evidence
        actual[key] = detection.sample_costs(data) / unit
        mirrored[key] = detection.sample_costs(data, of_error=True) / unit
    if len(setting.points) > 1:
        for part in (actual, mirrored):
            part["c_primary"] = np.mean([part[key] for key in setting.point_keys], axis=0)
    costs = SampleCosts(truth, actual, mirrored, given.correct)
    if recalibrated is None:
        return costs
    held_out, fitted = (Posteriors(one, truth, setting) for one in recalibrated)
    actual["discrimination"], mirrored["discrimination"] = held_out.surprise
    on_all, _ = fitted.surprise
    least = on_all + share * (actual["discrimination"] - on_all)
    actual["least discrimination"] = least
    actual["most calibration"] = actual["cross_entropy"] - least
    if (after := held_out.decision_costs) is not None:
        loss = actual["expected_cost"] - after[0]
        actual["decision_loss"] = loss / _unit_of_costs(setting)
    for part in (actual, mirrored):
        part["saving"] = part["calibration"] = part["cross_entropy"] - part["discrimination"]
    return costs


def _unit_of_costs(setting: Setting) -> float:
    """What the best decision without evidence costs more than right decisions do."""
    costs = np.asarray(setting.costs)
    return float((setting.prior @ costs).min() - setting.prior @ np.diag(costs))


def expected_errors(log_p: Floats) -> float:
    """Number of wrong decisions that the posteriors predict."""
    others = log_p.copy()
    others[np.arange(len(log_p)), log_p.argmax(axis=1)] = -np.inf
    return float(np.exp(logsumexp(others, axis=1)).sum())


def _recalibrated_posteriors(data: Labelled, setting: Setting) -> tuple[Floats, Floats] | None:
    """Log-posteriors after affine maps: one fitted without the sample, one fitted to all samples.

    The map is a temperature or a full matrix, whichever suits held-out samples better: few samples
    do not determine a matrix. None where nothing can be fitted: too few samples, or likelihoods of
    zero. Samples are sorted by their evidence before they are split into folds, so that the order
    in which they are given does not matter.
    """
    fewest, values = int(data.counts.min()), data.evidence.log_likelihoods
    if fewest < 2 or np.isinf(values).any():
        return None
    order = np.lexsort([*values.T[:_SORTED_BY], data.codes])
    data = data.select(order)
    folds = split_folds(data.codes, min(_FOLDS, fewest), None, 0)
    families: list[Family] = ["scalar", "full"] if values.shape[1] <= MOST_FULL else ["scalar"]
    candidates = {f: recalibrate(data, f, setting.prior, folds) for f in families}

    def cost(log_p: Floats) -> float:
        at_truth = log_p[np.arange(len(order)), data.codes]
        return float(setting.prior @ data.mean_by_class(-at_truth))

    best = min(families, key=lambda family: cost(candidates[family]))
    if not np.isfinite(cost(candidates[best])):
        return None
    fitted = recalibrate(data, best, setting.prior)
    back = np.argsort(order)
    return candidates[best][back], fitted[back]
