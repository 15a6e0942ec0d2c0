"""Two classes: every quantity of a set of LLRs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit

from deciban._validation.arrays import Floats
from deciban.assessment.quantities import llr_terms
from deciban.assessment.systems import Judged, Setting, Subsample, System
from deciban.evidence import from_nats
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import CLLR, cost_of_blocks
from deciban.metrics.designs import Design
from deciban.metrics.detection import equal_errors
from deciban.metrics.intervals import Plan, wilson
from deciban.metrics.labelled import Labelled, Terms
from deciban.metrics.llr_intervals import (
    EVEN_ERRORS,
    Parts,
    best_step_interval,
    equal_error_interval,
    equal_error_step,
    mean_cost_intervals,
    mean_cost_of_blocks,
    mean_step_interval,
    recalibrated_cost_intervals,
    saving_interval,
    step_interval,
)
from deciban.metrics.llr_units import LlrTerms, LlrUnits, Step, llr_columns, units_of_samples
from deciban.metrics.partitions import Partitions, Rows, Tally, folds_of
from deciban.metrics.pav import PooledBlocks, deviation_from_pav, pool
from deciban.metrics.pav_in_parts import pool_partitions
from deciban.metrics.recalibration import ENOUGH, Recalibrator
from deciban.metrics.units import Buckets, BucketSums, UnitCosts

_AT_ONCE = 1 << 17  # samples whose columns are held in memory


@dataclass(frozen=True)
class ExpectedError:
    """Probability, by its own LLR, that the decision on a sample is wrong."""

    log_odds: float

    def __call__(self, llr: Floats, t: int) -> Floats:
        return np.asarray(expit(-np.abs(llr + self.log_odds)))


class TwoClassSystem(System):
    """The LLRs of one system in favor of class 1; ``levels`` are PAV blocks for devPAV."""

    def __init__(
        self,
        units: LlrUnits,
        levels: PooledBlocks,
        setting: Setting,
        terms: dict[str, Any],
        classes: tuple[Hashable, ...],
        notes: Iterable[str],
    ) -> None:
        super().__init__(classes, setting, [*_score_notes(units, terms, classes), *notes])
        self.units, self.terms = units, terms
        self.values = _exact_values(units, levels, setting, terms)
        off_diagonal = np.where(np.eye(2), np.nan, 1.0)
        tables = (self.values[key] * off_diagonal for key in ("cllr", "cllr_min"))
        self.pairwise = PairwiseCosts(*tables)
        accepted = [units.events(terms["accuracy"], t)[0].sum() for t in (0, 1)]
        self.n_wrong = int(accepted[0] + units.design.counts[1] - accepted[1])
        self.expected_wrong = float(units.column("as is", ExpectedError(setting.log_odds)).sum())

    @property
    def costs(self) -> UnitCosts:
        return self.units.costs({}, 0.0)

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        systems = [self] if other is None else [self, other]
        units, setting = [s.units for s in systems], self.setting
        steps = {key: one for key, one in self.terms.items() if isinstance(one, Step)}
        means = {key: one for key, one in self.terms.items() if key not in steps}
        intervals = mean_cost_intervals(units, means, plan)
        intervals |= {key: step_interval(units, step, plan) for key, step in steps.items()}
        best, rates = _best_steps(setting, self.terms, units), {}
        if other is None:  # rates, which have Wilson's intervals; their differences do not
            del best["eer"]
            rates["eer"] = equal_error_interval(self.units, plan)
            for key in [key for key in best if key != "min_c_primary"]:
                ((step,),) = best.pop(key)
                rates[key] = best_step_interval(self.units, step, plan)
        parts = _parts(setting, self.terms)
        intervals |= recalibrated_cost_intervals(units, plan, best, parts) | rates
        if other is None:
            self._add_rare_errors(intervals, plan)
        first, last = (one.column("fitted", CLLR) for one in (units[0], units[-1]))
        if other is not None and np.array_equal(first, last):  # as where neither has an error
            seen = Interval(0.0, 0.0, 0.0) if self.values["cllr_min"] else Interval(0.0)
            fitted = {"cllr_min", "discrimination"} & self.values.keys()
            intervals |= dict.fromkeys([*fitted, *best], seen)
            intervals |= {_loss_key(key): intervals[key] for key in setting.weights}
        if len(setting.points) > 1:
            chosen = [steps[key] for key in setting.point_keys]
            intervals["c_primary"] = mean_step_interval(units, chosen, plan)
        return intervals

    def _add_rare_errors(self, intervals: dict[str, Interval], plan: Plan) -> None:
        """Widen intervals for errors that no resample may contain."""
        setting = self.setting
        for key in setting.weights:  # rates allow for them
            loss, least = _loss_key(key), intervals[f"min_{key}"].value
            most = max(intervals[loss].high, intervals[key].high - least)
            seen = saving_interval(self.units, self.terms[key], plan)
            intervals[loss] = intervals[loss]._replace(
                low=min(intervals[loss].low, seen.low), high=most
            )
        if not setting.is_even:  # at even odds, errors are LLRs of the wrong sign
            terms = {"cross_entropy": self.terms["cross_entropy"]}
            rare = mean_cost_intervals([self.units], terms, plan, -setting.log_odds)
            more = max(0.0, rare["cross_entropy"].high - intervals["cross_entropy"].high)
            for key in ("cross_entropy", "calibration"):
                intervals[key] = intervals[key]._replace(high=intervals[key].high + more)


def _best_steps(
    setting: Setting, at: Mapping[str, Any], units: Sequence[LlrUnits]
) -> dict[str, list[list[Step]]]:
    """Steps of each system at the best thresholds, by the key of their mean cost."""
    points = setting.point_keys
    best = {f"min_{key}": [at[key]] for key in setting.weights}
    if len(points) > 1:
        best["min_c_primary"] = [at[key] for key in points]
    eer = [[equal_error_step(one.maps)] for one in units]
    return {"eer": eer} | {key: [steps] * len(units) for key, steps in best.items()}


def _parts(setting: Setting, at: Mapping[str, Any]) -> Parts:
    """Costs after recalibration, with their savings."""
    found = {}
    if "cross_entropy" in at:
        found[("discrimination", "calibration")] = at["cross_entropy"]
    return found | {(f"min_{key}", _loss_key(key)): at[key] for key in setting.weights}


def _loss_key(key: str) -> str:
    return key.replace("detection_cost", "decision_loss")


def _exact_values(
    units: LlrUnits, levels: PooledBlocks, setting: Setting, terms: Mapping[str, Any]
) -> dict[str, float]:
    values = {key: units.total(units.column("as is", one)) for key, one in terms.items()}
    blocks, hull = units.blocks, units.blocks.hull()
    values |= {"cllr_min": cost_of_blocks(blocks), "eer": equal_errors(*hull)}
    values["cllr_cal"] = values["cllr"] - values["cllr_min"]
    if "cross_entropy" in terms:
        values["discrimination"] = mean_cost_of_blocks(blocks, terms["cross_entropy"])
        values["calibration"] = values["cross_entropy"] - values["discrimination"]
    for key, weights in setting.weights.items():
        values[f"min_{key}"] = float(np.min(weights.cost(*hull, True)))
        values[_loss_key(key)] = values[key] - values[f"min_{key}"]
    if len(setting.points) > 1:
        for least in ("", "min_"):
            costs = [values[least + key] for key in setting.point_keys]
            values[f"{least}c_primary"] = float(np.mean(costs))
    return values | {"dev_pav": float(from_nats(deviation_from_pav(levels), "ban"))}


def _score_notes(
    units: LlrUnits, at: Mapping[str, Any], classes: tuple[Hashable, ...]
) -> list[str]:
    """A note on likelihood ratios or reversed LLRs in place of LLRs."""
    other, target = units.design.counts
    wrong = [target - units.events(at["misleading_target"], 1)[0].sum(),
             units.events(at["misleading_other"], 0)[0].sum()]  # fmt: skip
    low, _ = wilson(wrong, [target, other], 0.95)
    if min(low) > 0.5:
        return [
            f"The LLRs point the wrong way for most samples of both classes: they may be in favor "
            f"of {classes[0]!r} rather than of {classes[1]!r}. Check which class they are in favor "
            f"of."
        ]
    if units.blocks.low[0] >= 0 and units.blocks.high[-1] > 0:
        return ["No LLR is negative: if these are likelihood ratios, take their logarithms first."]
    return []


# --- systems of samples, in memory and in partitions ------------------------------------------


def _declare(
    setting: Setting, at: Mapping[str, Any], intervals: bool, maps: Recalibrator
) -> LlrTerms:
    steps = [terms for terms in at.values() if isinstance(terms, Step)]
    actual = [*at.values(), ExpectedError(setting.log_odds)]
    if not intervals:
        return LlrTerms(actual, steps=steps)
    means = [terms for terms in at.values() if not isinstance(terms, Step)]
    parts = _parts(setting, at).values()
    costs = [(terms, 0.0) for terms in dict.fromkeys([*means, *parts])]
    if "cross_entropy" in at:
        costs.append((at["cross_entropy"], -setting.log_odds))
    fitted: list[Terms] = [CLLR, *parts, equal_error_step(maps), EVEN_ERRORS]
    savings = [at[key] for key in setting.weights]
    return LlrTerms(actual, costs, steps, [*dict.fromkeys(fitted)], savings)


def judge_llrs(
    samples: Sequence[Labelled],
    tallies: Sequence[Tally],
    setting: Setting,
    plan: Plan,
    design: Design,
) -> list[System]:
    trials, classes = [data.pair(1, 0) for data in samples], samples[0].evidence.classes
    llrs = [np.empty(len(design.codes)) for _ in samples]
    for llr, pair in zip(llrs, trials, strict=True):
        for rows, scores in zip(design.rows_by_class, (pair.other, pair.target), strict=True):
            llr[rows] = scores.llr
    terms = llr_terms(setting)
    declare = partial(_declare, setting, terms, bool(plan.n_resamples))
    units = units_of_samples(llrs, design, declare, fit=bool(plan.n_resamples))
    return [
        TwoClassSystem(one, pool(pair, levels=True), setting, terms, classes, tally.notes)
        for one, pair, tally in zip(units, trials, tallies, strict=True)
    ]


def judge_llrs_in_parts(data: Partitions, setting: Setting, plan: Plan) -> Judged:
    """Two passes: pool the LLRs, then sum the declared terms."""
    pooled, tallies = pool_partitions(data, n_some=ENOUGH)
    maps, counts = [Recalibrator.of_runs(one) for one in pooled], tallies[0].counts
    terms = llr_terms(setting)
    asked = [_declare(setting, terms, bool(plan.n_resamples), one) for one in maps]
    function = partial(_sum_llrs, terms=asked, maps=maps, share=Subsample.share(counts))
    buckets, some = Buckets(2, data.grouped), []
    for part, rows in data.map(function, "Summing"):
        buckets.add(part)
        some.append(rows)
    columns, design = buckets.columns, buckets.design
    with np.errstate(all="ignore"):
        systems = [
            TwoClassSystem(
                LlrUnits(columns, design, maps[k], k), pooled[k].levels, setting, terms,
                data.classes, tally.notes,
            )
            for k, tally in enumerate(tallies)
        ]  # fmt: skip
    rows = Rows.join(some)
    subsample = Subsample(rows.labelled(data.classes), rows.numbers)
    return Judged(systems, design, tallies, plan, subsample)


def _sum_llrs(
    rows: Rows, terms: Sequence[LlrTerms], maps: Sequence[Recalibrator], share: Floats
) -> tuple[BucketSums, Rows]:
    order = np.argsort(rows.codes, kind="stable")  # class by class, which is faster
    total = Buckets(2, depends=False)
    for some in np.split(order, range(_AT_ONCE, len(order), _AT_ONCE)):
        codes, hashes = rows.codes[some], rows.hashes[some]
        fold = folds_of(hashes)
        with np.errstate(all="ignore"):
            samples = [
                one.apply(llr[some], codes, [fold == 0, fold == 1])
                for llr, one in zip(rows.evidence, maps, strict=True)
            ]
            columns = llr_columns(samples, terms, maps)
        total.add(BucketSums.of_samples(columns, codes, hashes, 2))
    return total.sums, rows.subsample(share)
