"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from deciban._validation.arrays import Floats
from deciban.assessment.quantities import Posteriors, base_key, posterior_costs
from deciban.assessment.systems import Judged, Setting, Subsample, System, Words, difference_of
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import CLLR
from deciban.metrics.decomposition import (
    MANY_FOLDS,
    FoldMaps,
    fit_maps,
    gram_schmidt_ilr,
    improve_maps,
    recalibrate_posteriors,
)
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
from deciban.metrics.languages import LanguageDetection
from deciban.metrics.multiclass import pairwise_costs
from deciban.metrics.partitions import FOLDS, Partitions, Rows, Tally, folds_of
from deciban.metrics.pav_in_parts import pairwise_costs_in_parts
from deciban.metrics.recalibration import LlrSample
from deciban.metrics.units import (
    Buckets,
    BucketSums,
    Columns,
    SampleCosts,
    UnitCosts,
    cost_columns,
    mean_intervals,
)

_FOR_INTERVALS = ("saving", "least discrimination", "most calibration")  # not reported themselves
_DECISION_COSTS = ("expected_cost", "detection_cost", "c_avg", "c_primary")


class SeveralClassSystem(System):
    """``of_pair`` are costs of the worst pair; ``needed`` says what recalibration takes."""

    def __init__(
        self,
        classes: tuple[Hashable, ...],
        setting: Setting,
        columns: Columns,
        design: Design,
        number: int,
        pairwise: PairwiseCosts,
        notes: Iterable[str],
        of_pair: UnitCosts,
        needed: str = "two samples of each class",
    ) -> None:
        super().__init__(classes, setting, notes)
        self.columns, self.design, self.number = columns, design, number
        self.pairwise, self.of_pair = pairwise, of_pair
        self.expected_wrong = float(columns["errors", number].sum())
        self.changes: dict[str, str | None] = {}
        costs = self._read()
        if "saving" not in costs.actual:
            self.notes.append(
                f"Calibration and discrimination are not separated: that takes finite "
                f"log-likelihoods and {needed}."
            )
        elif costs.total("saving") < 0:  # recalibration that does not pay is not used
            self.changes = {"discrimination": "cross_entropy", "calibration": None}
            costs = self.costs
        keys = [key for key in costs.actual if key not in _FOR_INTERVALS]
        self.values = {key: costs.total(key) for key in keys}
        self.entropy = float(-setting.prior @ np.log(setting.prior))
        self.values["normalized_cross_entropy"] = self.values["cross_entropy"] / self.entropy
        self.n_wrong = int(sum(costs.wrong(t).sum() for t in range(len(classes))))

    @cached_property
    def costs(self) -> UnitCosts:
        return self._read()

    def _read(self, beside: int | None = None) -> UnitCosts:
        """Costs; the right samples are those that another system has right, too."""
        return UnitCosts.read(self.columns, self.design, self.number, beside, self.changes)

    def values_beside(self, *others: Self) -> tuple[Words, list[dict[str, float]]]:
        """The worst pair is that with any of the systems."""
        words, values = super().values_beside(*others)
        cllrs = [system.pairwise.cllr for system in (self, *others)]
        i, j = _worst_pair(np.max(cllrs, axis=0))
        for one, cllr in zip(values, cllrs, strict=True):
            one["worst_pair_cllr"] = float(cllr[i, j])
        return words | {"a": self.classes[i], "b": self.classes[j]}, values

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        if other is None:
            intervals = self._own_estimates(plan)
        else:
            both = self._read(other.number).subtract(other._read(self.number))
            intervals = mean_intervals(both, plan, [self.costs, other.costs])
            intervals["accuracy"] = self._accuracy_interval(plan, other)
            worst = _error_costs(self.setting)
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
            worst = _error_costs(self.setting)["expected_cost"] / _unit_of_costs(self.setting)
            seen = self._cost_interval(self.costs, "decision_loss", worst, plan)
            intervals["decision_loss"] = hull(intervals["decision_loss"], seen)
        intervals["worst_pair_cllr"] = self._worst_pair_interval(plan)
        return intervals

    def _accuracy_interval(self, plan: Plan, other: Self | None = None) -> Interval:
        """By the samples that a system has right, or only one of two."""
        right = [self.costs.right]
        if other is not None:
            both = self._read(other.number).right * 1
            right = [one.costs.right - both for one in (self, other)]
        events = [
            count_events(float(self.setting.prior[t]), [x[rows] for x in right], self.design, t)
            for t, rows in enumerate(self.design.rows_by_class)
        ]
        value = self.values["accuracy"]
        if other is not None:
            value = difference_of(value, other.values["accuracy"])
            return sum_interval(value, events, plan.confidence)
        interval = sum_interval(value, events, plan.confidence)
        return hull(interval, pooled_interval(value, events, plan.confidence))

    def _cost_interval(
        self, costs: UnitCosts, key: str, worst: Floats, plan: Plan, beside: int | None = None
    ) -> Interval:
        """By how often decisions cost more, on average as much as seen, or at worst if unseen."""
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
        value, low, high, _ = mean_intervals(self.of_pair, plan)["cllr"]
        if np.isinf(value):
            return Interval(value, low, high)
        tail = (1 - plan.confidence) / 2
        D = len(self.classes)
        factor = float(ndtri(tail / (D * (D - 1) / 2)) / ndtri(tail))
        return Interval(value, value - factor * (value - low), value + factor * (high - value))


def has_sides(key: str) -> bool:
    """Whether a quantity is a decision cost, whose errors are counted."""
    return base_key(key) in _DECISION_COSTS or key == "decision_loss"


def _worst_pair(cllr: Floats) -> tuple[int, int]:
    i, j = np.unravel_index(np.nanargmax(cllr), cllr.shape)
    return int(i), int(j)


def _bound_calibration(intervals: dict[str, Interval], saving: float) -> None:
    """Bound calibration and discrimination from both sides.

    How much a map learned from few samples may lose bounds the saving that they cannot show. The
    other ends come from the map fitted to all samples.
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


def _sample_costs(
    data: Labelled,
    log_p: Floats,
    recalibrated: tuple[Floats, Floats] | None,
    setting: Setting,
    folds: int,
) -> SampleCosts:
    """Contributions of samples, before and after recalibration.

    ``recalibrated`` are posteriors by a map fitted without the sample, and by one fitted to all;
    the best map costs between the two (:mod:`deciban.metrics.recalibration`).
    """
    share = 1 / (1 + folds / (folds - 1))  # of the excess on new samples that is optimism
    truth = data.codes
    given = Posteriors(log_p, truth, setting)
    actual, mirrored = posterior_costs(given)
    actual |= _detection_costs(setting, lambda detection: detection.sample_costs(data))
    mirrored |= {key: costs[truth] for key, costs in _error_costs(setting).items()}
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


def _error_costs(setting: Setting) -> dict[str, Floats]:
    """Cost of an error in each class, by key."""
    found = {}
    if setting.costs is not None:
        found["expected_cost"] = setting.prior * setting.costs.max(axis=1)
    codes = np.arange(len(setting.prior))
    return found | _detection_costs(setting, lambda detection: detection.error_costs(codes))


def _detection_costs(
    setting: Setting, cost: Callable[[LanguageDetection], Floats]
) -> dict[str, Floats]:
    found = {
        key: cost(one) / (1.0 if key == "c_avg" else one.no_evidence)
        for key, one in setting.languages.items()
    }
    if len(setting.points) > 1:
        found["c_primary"] = np.mean([found[key] for key in setting.point_keys], axis=0)
    return found


def _unit_of_costs(setting: Setting) -> float:
    """Extra cost of the best decision without evidence."""
    costs = np.asarray(setting.costs)
    return float((setting.prior @ costs).min() - setting.prior @ np.diag(costs))


def judge_posteriors(
    samples: Sequence[Labelled],
    tallies: Sequence[Tally],
    setting: Setting,
    plan: Plan,
    design: Design,
) -> list[System]:
    after = [recalibrate_posteriors(data, setting.prior) for data in samples]
    columns = _system_columns(samples, after, setting, MANY_FOLDS)
    systems: list[System] = []
    for k, (data, tally) in enumerate(zip(samples, tallies, strict=True)):
        pairwise = pairwise_costs(data)
        rows, codes, pair = _pair_columns(data, _worst_pair(pairwise.cllr))
        of_pair = UnitCosts.read(pair, design.select(rows, codes), 0)
        systems.append(
            SeveralClassSystem(
                data.classes, setting, columns, design, k, pairwise, tally.notes, of_pair
            )
        )
    return systems


def _system_columns(
    samples: Sequence[Labelled],
    recalibrated: Sequence[tuple[Floats, Floats] | None],
    setting: Setting,
    folds: int,
) -> Columns:
    costs, errors = [], {}
    for k, (data, after) in enumerate(zip(samples, recalibrated, strict=True)):
        log_p = data.evidence.log_posterior(setting.prior)
        costs.append(_sample_costs(data, log_p, after, setting, folds))
        others = log_p.copy()
        others[np.arange(len(log_p)), log_p.argmax(axis=1)] = -np.inf
        errors["errors", k] = np.exp(logsumexp(others, axis=1))  # as posteriors themselves predict
    return cost_columns(costs, has_sides) | errors


def _pair_columns(
    data: Labelled, pair: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Columns]:
    """Rows of two classes, their codes, and LLR costs."""
    i, j = pair
    trials = data.pair(j, i)
    sample = LlrSample(trials.llr, trials.y_true)
    actual, mirrored = ({"cllr": sample.cost(CLLR, llr)} for llr in (sample.llr, -sample.llr))
    rows = np.concatenate([data.rows_by_class[k] for k in (j, i)])
    return rows, sample.codes, cost_columns([SampleCosts(actual, mirrored, sample.right(0.0))])


# --- in partitions ----------------------------------------------------------------------------


def judge_posteriors_in_parts(data: Partitions, setting: Setting, plan: Plan) -> Judged:
    """The same; maps are fitted to a subsample in two folds, and improved over all samples."""
    tallies, pairwise = pairwise_costs_in_parts(data)
    share = Subsample.share(tallies[0].counts)
    sampled = [*data.map(partial(_sample_rows, share=share), "Sampling")]
    by_fold = np.sum([one for _, one in sampled], axis=0)
    some = Rows.join([rows for rows, _ in sampled])
    maps: list[FoldMaps | None] = [None] * len(tallies)
    for k, tally in enumerate(tallies):
        if not tally.n_infinite and by_fold.all():
            l = gram_schmidt_ilr(some.labelled(data.classes, k))
            maps[k] = fit_maps(l, some.codes, folds_of(some.hashes), setting.prior)
    maps = improve_maps(data, maps, setting.prior, by_fold)
    pairs = [_worst_pair(one.cllr) for one in pairwise]
    tables = [Buckets(n, data.grouped) for n in (len(data.classes), *(2 for _ in maps))]
    function = partial(_sum_rows, classes=data.classes, setting=setting, maps=maps, pairs=pairs)
    for part in data.map(function, "Summing"):
        for table, sums in zip(tables, part, strict=True):
            table.add(sums)
    columns, design = tables[0].columns, tables[0].design
    needed = "samples of each class in both halves, into which a hash divides them or their groups"
    with np.errstate(all="ignore"):
        systems = [
            SeveralClassSystem(
                data.classes, setting, columns, design, k, pairwise[k], tally.notes,
                UnitCosts.read(table.columns, table.design, 0), needed,
            )
            for k, (tally, table) in enumerate(zip(tallies, tables[1:], strict=True))
        ]  # fmt: skip
    subsample = Subsample(some.labelled(data.classes), some.numbers)
    return Judged(systems, design, tallies, plan, subsample)


def _sample_rows(rows: Rows, share: Floats) -> tuple[Rows, NDArray[np.intp]]:
    """A subsample, and sample counts by fold and class."""
    place = folds_of(rows.hashes).astype(np.intp) * len(share) + rows.codes
    counts = np.bincount(place, minlength=FOLDS * len(share)).reshape(FOLDS, -1)
    return rows.subsample(share), counts


def _sum_rows(
    rows: Rows,
    classes: tuple[Hashable, ...],
    setting: Setting,
    maps: Sequence[FoldMaps | None],
    pairs: Sequence[tuple[int, int]],
) -> list[BucketSums]:
    """Costs of all systems by bucket, and costs of the worst pair of each."""
    fold, samples = folds_of(rows.hashes), [rows.labelled(classes, k) for k in range(len(maps))]
    with np.errstate(all="ignore"):
        after = [
            one and one.apply(gram_schmidt_ilr(data), fold)
            for one, data in zip(maps, samples, strict=True)
        ]
        columns = _system_columns(samples, after, setting, FOLDS)
        sums = [BucketSums.of_samples(columns, rows.codes, rows.hashes, len(classes))]
        for data, pair in zip(samples, pairs, strict=True):
            order, codes, of_pair = _pair_columns(data, pair)
            sums.append(BucketSums.of_samples(of_pair, codes, rows.hashes[order], 2))
    return sums
