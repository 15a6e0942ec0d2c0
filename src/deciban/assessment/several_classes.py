"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from deciban._estimation.logistic import Scale
from deciban._validation.arrays import Floats
from deciban.assessment.quantities import Posteriors, base_key, posterior_costs
from deciban.assessment.systems import Setting, System, Words, difference_of
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import CLLR
from deciban.metrics.decomposition import PosteriorMap, gram_schmidt_ilr, split_folds
from deciban.metrics.designs import Design
from deciban.metrics.intervals import (
    EventCounts,
    Plan,
    count_events,
    hull,
    pooled_interval,
    sum_interval,
)
from deciban.metrics.labelled import Labelled
from deciban.metrics.llr_units import LlrSample
from deciban.metrics.multiclass import pairwise_costs
from deciban.metrics.partitions import Tally
from deciban.metrics.units import Columns, SampleCosts, UnitCosts, cost_columns, mean_intervals

_FOLDS = 5
_FOR_INTERVALS = ("saving", "least discrimination", "most calibration")  # not reported themselves
_DECISION_COSTS = ("expected_cost", "detection_cost", "c_avg", "c_primary")
_MAX_FULL = 20  # classes; the full matrix of a hundred has 10,000 entries and takes minutes
_SORTED_BY = 3  # columns of evidence that define an order of the samples


class SeveralClassSystem(System):
    """The evidence of one system over more than two classes.

    ``of_pair`` are the LLR costs for the worst pair of classes. ``needed`` is what recalibration
    takes, beside finite evidence.
    """

    def __init__(
        self,
        classes: tuple[Hashable, ...],
        setting: Setting,
        columns: Columns,
        design: Design,
        number: int,
        pairwise: PairwiseCosts,
        expected_wrong: float,
        notes: Iterable[str],
        of_pair: UnitCosts,
        needed: str = "two samples of each class",
    ) -> None:
        super().__init__(classes, setting, notes)
        self.columns, self.number = columns, number
        self.pairwise, self.expected_wrong, self.of_pair = pairwise, expected_wrong, of_pair
        self.changes: dict[str, str | None] = {}
        self.costs = UnitCosts.read(columns, design, number)
        if "saving" not in self.costs.actual:
            self.notes.append(
                f"Calibration and discrimination are not separated: that takes finite "
                f"log-likelihoods and {needed}."
            )
        elif self.costs.total("saving") < 0:  # recalibration that does not pay is not used
            self.changes = {"discrimination": "cross_entropy", "calibration": None}
            self.costs = UnitCosts.read(columns, design, number, changes=self.changes)
        keys = [key for key in self.costs.actual if key not in _FOR_INTERVALS]
        self.values = {key: self.costs.total(key) for key in keys}
        self.entropy = float(-setting.prior @ np.log(setting.prior))
        self.values["normalized_cross_entropy"] = self.values["cross_entropy"] / self.entropy
        self.n_wrong = int(sum(self.wrong(t).sum() for t in range(len(classes))))

    def wrong(self, t: int) -> Floats:
        return self.costs.wrong(t)

    def _beside(self, other: SeveralClassSystem) -> UnitCosts:
        """Costs with the samples that both systems have right."""
        return UnitCosts.read(
            self.columns, self.costs.design, self.number, other.number, self.changes
        )

    def values_beside(self, *others: Self) -> tuple[Words, list[dict[str, float]]]:
        """The worst pair is that with any of the systems."""
        words, values = super().values_beside(*others)
        cllrs = [system.pairwise.cllr for system in (self, *others)]
        i, j = worst_pair(np.max(cllrs, axis=0))
        for one, cllr in zip(values, cllrs, strict=True):
            one["worst_pair_cllr"] = float(cllr[i, j])
        return words | {"a": self.classes[i], "b": self.classes[j]}, values

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        if other is None:
            intervals = self._own_estimates(plan)
        else:
            both = self._beside(other).subtract(other._beside(self))
            systems = [self.costs, other.costs]
            intervals = mean_intervals(both, plan, systems)
            intervals["accuracy"] = self._accuracy_interval(plan, other)
            worst = _error_costs(self.setting, len(self.classes))
            for key in [key for key in intervals if key in self.costs.turned and has_sides(key)]:
                apart = self._cost_interval(both, key, worst[key], plan, other.number)
                intervals[key] = hull(intervals[key], apart)
            if not any(s.values.get("calibration") for s in (self, other)):
                intervals.pop("calibration", None)  # neither is recalibrated
        for key in _FOR_INTERVALS:
            intervals.pop(key, None)
        scaled = (end / self.entropy for end in intervals["cross_entropy"])
        intervals["normalized_cross_entropy"] = Interval(*scaled)
        return intervals

    def _own_estimates(self, plan: Plan) -> dict[str, Interval]:
        intervals = mean_intervals(self.costs, plan)
        intervals["accuracy"] = self._accuracy_interval(plan)
        if "saving" in intervals:
            _bound_calibration(intervals, self.values["calibration"])
        if "decision_loss" in intervals:
            worst = _error_costs(self.setting, len(self.classes))["expected_cost"]
            unit = _unit_of_costs(self.setting)
            seen = self._cost_interval(self.costs, "decision_loss", worst / unit, plan)
            intervals["decision_loss"] = hull(intervals["decision_loss"], seen)
        intervals["worst_pair_cllr"] = self._worst_pair_interval(plan)
        return intervals

    def _accuracy_interval(self, plan: Plan, other: Self | None = None) -> Interval:
        """By the samples that a system has right, or only one of two."""
        design, events = self.costs.design, []
        for t, rows in enumerate(design.rows_by_class):
            right = [self.costs.right[rows]]
            if other is not None:
                both = self._beside(other).right[rows] * 1
                right = [one.costs.right[rows] - both for one in (self, other)]
            events.append(count_events(float(self.setting.prior[t]), right, design, t))
        systems = [self] if other is None else [self, other]
        value = difference_of([s.values["accuracy"] for s in systems])
        interval = sum_interval(value, events, plan.confidence)
        if other is not None:
            return interval
        return hull(interval, pooled_interval(value, events, plan.confidence))

    def _cost_interval(
        self, costs: UnitCosts, key: str, worst: Floats, plan: Plan, beside: int | None = None
    ) -> Interval:
        """Interval by how often decisions cost more than other ones.

        The extra cost is the mean over those seen, or the worst possible if none was seen.
        """
        design, events = costs.design, []
        for t, rows in enumerate(design.rows_by_class):
            totals, numbers = (
                [self.columns[f"{kind}{side}", self.number, beside, key][rows]
                 for side in ("above", "below")]
                for kind in ("", "number ")
            )  # fmt: skip
            counts = [float(x.sum()) for x in numbers]
            weight = [
                float(total.sum()) / n if n else sign * worst[t]
                for sign, total, n in zip((1, -1), totals, counts, strict=True)
            ]
            signs = numbers[0] * 1.0 - numbers[1]
            size = design.effective_size(t, signs, sum(counts))
            scaled = np.array(counts) * (size / design.counts[t])
            events.append(EventCounts(np.array(weight), scaled, size))
        return sum_interval(costs.total(key), events, plan.confidence)

    def _worst_pair_interval(self, plan: Plan) -> Interval:
        """Wide enough for all pairs at once (Bonferroni), since the worst was chosen."""
        found = mean_intervals(self.of_pair, plan)
        value, low, high, _ = found["cllr"]
        if np.isinf(value):
            return Interval(value, low, high)
        tail = (1 - plan.confidence) / 2
        D = len(self.classes)
        factor = float(ndtri(tail / (D * (D - 1) / 2)) / ndtri(tail))
        return Interval(value, value - factor * (value - low), value + factor * (high - value))


def has_sides(key: str) -> bool:
    """Whether a quantity is a decision cost, whose errors are counted."""
    return base_key(key) in _DECISION_COSTS or key == "decision_loss"


def worst_pair(cllr: Floats) -> tuple[int, int]:
    i, j = np.unravel_index(np.nanargmax(cllr), cllr.shape)
    return int(i), int(j)


def _bound_calibration(intervals: dict[str, Interval], saving: float) -> None:
    """Bound calibration and discrimination from both sides.

    A map learned from few samples does harm, however poor the calibration is. How much it may lose
    bounds the saving that so few samples cannot show. The other ends come from the map fitted to
    all samples, since a map fitted without the sample is not the best one.
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


def sample_costs(
    data: Labelled,
    log_p: Floats,
    recalibrated: tuple[Floats, Floats] | None,
    setting: Setting,
    folds: int = _FOLDS,
) -> SampleCosts:
    """Contributions of samples, before and after recalibration.

    ``recalibrated`` are posteriors by a map fitted without the sample, and by one fitted to all.
    The cost of the best map lies between theirs (:mod:`deciban.metrics.recalibration`), half-way
    for a fixed number of parameters.
    """
    share = 1 / (1 + folds / (folds - 1))  # of the excess on new samples that is optimism
    truth = data.codes
    given = Posteriors(log_p, truth, setting)
    actual, mirrored = posterior_costs(given)
    for key, detection in setting.languages.items():
        unit = 1.0 if key == "c_avg" else detection.no_evidence
        actual[key] = detection.sample_costs(data) / unit
    if len(setting.points) > 1:
        actual["c_primary"] = np.mean([actual[key] for key in setting.point_keys], axis=0)
    worst = _error_costs(setting, len(data.counts))
    mirrored |= {key: costs[truth] for key, costs in worst.items()}
    costs = SampleCosts(actual, mirrored, given.correct)
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


def _error_costs(setting: Setting, n_classes: int) -> dict[str, Floats]:
    """Cost of an error in each class, by key."""
    found = {}
    if setting.costs is not None:
        found["expected_cost"] = setting.prior * setting.costs.max(axis=1)
    for key, detection in setting.languages.items():
        unit = 1.0 if key == "c_avg" else detection.no_evidence
        found[key] = detection.error_costs(np.arange(n_classes)) / unit
    if len(setting.points) > 1:
        found["c_primary"] = np.mean([found[key] for key in setting.point_keys], axis=0)
    return found


def _unit_of_costs(setting: Setting) -> float:
    """Extra cost of the best decision without evidence."""
    costs = np.asarray(setting.costs)
    return float((setting.prior @ costs).min() - setting.prior @ np.diag(costs))


def expected_errors(log_p: Floats) -> float:
    """Number of wrong decisions that the posteriors predict."""
    others = log_p.copy()
    others[np.arange(len(log_p)), log_p.argmax(axis=1)] = -np.inf
    return float(np.exp(logsumexp(others, axis=1)).sum())


class FoldMaps(NamedTuple):
    """Affine maps fitted without each fold, and one fitted to all samples."""

    scale: Scale
    without: tuple[PosteriorMap, ...]
    fitted: PosteriorMap

    def apply(self, l: Floats, fold: NDArray[Any]) -> tuple[Floats, Floats]:
        """Log-posteriors held out, and by the map fitted to all."""
        return _hold_out(self.without, l, fold), self.fitted(l)


def fit_maps(
    l: Floats, codes: NDArray[np.intp], fold: NDArray[Any], prior: Floats
) -> FoldMaps | None:
    """A temperature or full matrices of ILRLs, whichever suits held-out samples better.

    None if a fold lacks a class, or no map has a finite cost.
    """
    parts = [fold != k for k in range(int(fold.max()) + 1)]
    if not all(np.bincount(codes[part], minlength=len(prior)).all() for part in parts):
        return None
    truth, counts = (np.arange(len(codes)), codes), np.bincount(codes)
    scales: list[Scale] = ["scalar", "full"] if len(prior) <= _MAX_FULL else ["scalar"]
    best, least = None, np.inf
    for scale in scales:
        without = tuple(PosteriorMap.fit(l[part], codes[part], prior, scale) for part in parts)
        sums = np.bincount(codes, -_hold_out(without, l, fold)[truth])
        if (cost := float(prior @ (sums / counts))) < least:
            best, least = (scale, without), cost
    return best and FoldMaps(*best, PosteriorMap.fit(l, codes, prior, best[0]))


def _hold_out(maps: Sequence[PosteriorMap], l: Floats, fold: NDArray[Any]) -> Floats:
    log_p = np.empty((len(l), l.shape[1] + 1))
    for k, one in enumerate(maps):
        if (rows := fold == k).any():
            log_p[rows] = one(l[rows])
    return log_p


def _recalibrated_posteriors(data: Labelled, prior: Floats) -> tuple[Floats, Floats] | None:
    """Held-out log-posteriors, and those by one map; None if nothing can be fitted.

    Folds are dealt to samples sorted by their evidence, so that their order does not matter.
    """
    fewest, values = int(data.counts.min()), data.evidence.log_likelihoods
    if fewest < 2 or np.isinf(values).any():
        return None
    order = np.lexsort([*values.T[:_SORTED_BY], data.codes])
    l, codes, back = gram_schmidt_ilr(data)[order], data.codes[order], np.argsort(order)
    fold = split_folds(codes, min(_FOLDS, fewest), None, 0)
    maps = fit_maps(l, codes, fold, prior)
    if maps is None:
        return None
    held_out, fitted = maps.apply(l, fold)
    return held_out[back], fitted[back]


def judge_posteriors(
    samples: Sequence[Labelled], tallies: Sequence[Tally], setting: Setting, design: Design
) -> list[SeveralClassSystem]:
    costs, errors = [], []
    for data in samples:
        log_p = data.evidence.log_posterior(setting.prior)
        recalibrated = _recalibrated_posteriors(data, setting.prior)
        costs.append(sample_costs(data, log_p, recalibrated, setting))
        errors.append(expected_errors(log_p))
    columns, systems = cost_columns(costs, has_sides), []
    for k, (data, tally) in enumerate(zip(samples, tallies, strict=True)):
        pairwise = pairwise_costs(data)
        rows, codes, pair = pair_columns(data, worst_pair(pairwise.cllr))
        of_pair = UnitCosts.read(pair, design.select(rows, codes), 0)
        systems.append(
            SeveralClassSystem(
                data.evidence.classes, setting, columns, design, k, pairwise, errors[k],
                tally.notes, of_pair,
            )
        )  # fmt: skip
    return systems


def pair_columns(
    data: Labelled, pair: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Columns]:
    """Rows of two classes, their codes, and LLR costs."""
    i, j = pair
    trials = data.pair(j, i)
    sample = LlrSample(trials.llr, trials.y_true)
    actual, mirrored = ({"cllr": sample.cost(CLLR, llr)} for llr in (sample.llr, -sample.llr))
    rows = np.concatenate([data.rows_by_class[k] for k in (j, i)])
    return rows, sample.codes, cost_columns([SampleCosts(actual, mirrored, sample.right(0.0))])
