"""Two classes: every quantity of a set of LLRs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from deciban._validation.arrays import Floats
from deciban.assessment.quantities import llr_terms
from deciban.assessment.systems import Setting, System, note_ruled_out
from deciban.evidence import from_nats
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import cost_of_blocks
from deciban.metrics.designs import Design
from deciban.metrics.detection import equal_errors
from deciban.metrics.intervals import Plan
from deciban.metrics.labelled import Labelled
from deciban.metrics.llr_intervals import (
    BestSteps,
    LlrSample,
    LlrUnits,
    Parts,
    Step,
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
from deciban.metrics.pav import PooledBlocks, count_levels, deviation_from_pav
from deciban.metrics.proportions import wilson

_NOTHING = ((0.0, 0.0), (0.0, 0.0))


@dataclass(frozen=True)
class ExpectedError:
    """How likely it is, by its own LLR, that a sample is decided about wrongly."""

    log_odds: float

    def __call__(self, llr: Floats, t: int) -> Floats:
        """The smaller of the posteriors."""
        return np.asarray(expit(-np.abs(llr + self.log_odds)))


class TwoClassSystem(System):
    """The LLRs of one system in favor of the second class, and every quantity of them.

    ``levels`` are PAV's blocks of LLRs where those that differ by rounding only are tied.
    """

    def __init__(
        self,
        sample: LlrUnits,
        levels: PooledBlocks,
        setting: Setting,
        classes: tuple[Hashable, ...],
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(classes, setting, [*_score_notes(sample, classes), *notes])
        self.sample = sample
        self.values = exact_values(sample, levels, setting)
        off_diagonal = np.where(np.eye(2), np.nan, 1.0)
        tables = (self.values[key] * off_diagonal for key in ("cllr", "cllr_min"))
        self.pairwise = PairwiseCosts(*tables)
        accepted = [sample.events(llr_terms(setting)["accuracy"], t)[0].sum() for t in (0, 1)]
        self.n_wrong = int(accepted[0] + sample.counts[1] - accepted[1])
        self.expected_wrong = float(sample.column("as is", ExpectedError(setting.log_odds)).sum())

    @classmethod
    def of_samples(cls, data: Labelled, setting: Setting, design: Design | None = None) -> Self:
        """The system whose evidence on these samples is given."""
        trials = data.pair(1, 0)
        llr = np.empty(len(data.codes))
        for rows, values in zip(data.rows_by_class, (trials.other, trials.target), strict=True):
            llr[rows] = values.llr
        sample = LlrSample(llr, data.codes, design)
        levels = count_levels(trials).pool().shares()
        return cls(sample, levels, setting, data.evidence.classes, note_ruled_out(data))

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        """Intervals of the quantities, or of their differences from those of another system."""
        systems = [self] if other is None else [self, other]
        samples, setting = [s.sample for s in systems], self.setting
        at = llr_terms(setting)
        steps = {key: terms for key, terms in at.items() if isinstance(terms, Step)}
        means = {key: terms for key, terms in at.items() if key not in steps}
        intervals = mean_cost_intervals(samples, means, plan)
        intervals |= {key: step_interval(samples, step, plan) for key, step in steps.items()}
        best, rates = _best_steps(setting), {}
        if other is None:  # rates, which have Wilson's intervals; their differences do not
            del best["eer"]
            rates["eer"] = equal_error_interval(self.sample, plan)
            for key in [key for key in best if key != "min_c_primary"]:
                (step,) = best.pop(key)(self.sample)
                rates[key] = best_step_interval(self.sample, step, plan)
        intervals |= recalibrated_cost_intervals(samples, plan, best, _parts(setting)) | rates
        if other is None:
            self._add_rare_errors(intervals, plan)
        if other is not None and self.sample.same_fit(
            other.sample
        ):  # as where neither has an error
            seen = Interval(0.0, 0.0, 0.0) if self.values["cllr_min"] else Interval(0.0)
            fitted = {"cllr_min", "discrimination"} & self.values.keys()
            intervals |= dict.fromkeys([*fitted, *best], seen)
            intervals |= {_loss_key(key): intervals[key] for key in setting.weights}
        if len(setting.points) > 1:
            chosen = [steps[key] for key in setting.point_keys]
            intervals["c_primary"] = mean_step_interval(samples, chosen, plan)
        return intervals

    def _add_rare_errors(self, intervals: dict[str, Interval], plan: Plan) -> None:
        """Widen intervals for errors at the prior and costs that no resample may contain."""
        setting = self.setting
        for key in setting.weights:  # rates allow for them
            loss, least = _loss_key(key), intervals[f"min_{key}"].value
            most = max(intervals[loss].high, intervals[key].high - least)
            seen = saving_interval(self.sample, llr_terms(setting)[key], plan)
            intervals[loss] = intervals[loss]._replace(
                low=min(intervals[loss].low, seen.low), high=most
            )
        if not setting.is_even:  # at even odds, errors are LLRs of the wrong sign
            terms = {"cross_entropy": llr_terms(setting)["cross_entropy"]}
            rare = mean_cost_intervals([self.sample], terms, plan, -setting.log_odds)
            more = max(0.0, rare["cross_entropy"].high - intervals["cross_entropy"].high)
            for key in ("cross_entropy", "calibration"):
                intervals[key] = intervals[key]._replace(high=intervals[key].high + more)


def _best_steps(setting: Setting) -> dict[str, BestSteps]:
    """Quantities whose threshold is the best one, and the costs that they are the mean of."""
    at, points = llr_terms(setting), setting.point_keys
    by_key = {f"min_{key}": [at[key]] for key in setting.weights}
    if len(points) > 1:
        by_key["min_c_primary"] = [at[key] for key in points]
    given: dict[str, BestSteps] = {
        key: lambda _, chosen=chosen: chosen  # type: ignore[misc]
        for key, chosen in by_key.items()
    }
    return {"eer": lambda sample: [equal_error_step(sample)]} | given


def _parts(setting: Setting) -> Parts:
    """Costs under the prior and at the operating points, with what recalibration would save."""
    found, at = {}, llr_terms(setting)
    if "cross_entropy" in at:
        found[("discrimination", "calibration")] = at["cross_entropy"]
    return found | {(f"min_{key}", _loss_key(key)): at[key] for key in setting.weights}


def _loss_key(key: str) -> str:
    return key.replace("detection_cost", "decision_loss")


def exact_values(sample: LlrUnits, levels: PooledBlocks, setting: Setting) -> dict[str, float]:
    """Every quantity, from the samples themselves."""
    every = llr_terms(setting).items()
    values = {key: sample.total(sample.column("as is", terms)) for key, terms in every}
    if len(setting.points) > 1:
        values["c_primary"] = float(np.mean([values[key] for key in setting.point_keys]))
    fitted = _fitted_values(sample.blocks, setting, values)
    return values | fitted | {"dev_pav": float(from_nats(deviation_from_pav(levels), "ban"))}


def _fitted_values(
    blocks: PooledBlocks, setting: Setting, actual: dict[str, float]
) -> dict[str, float]:
    """Quantities that PAV is fitted for, given its blocks and the costs of the same samples."""
    hull, entropy = blocks.hull(), llr_terms(setting).get("cross_entropy")
    values = {"cllr_min": cost_of_blocks(blocks), "eer": equal_errors(*hull)}
    if entropy is not None:
        values["discrimination"] = mean_cost_of_blocks(blocks, entropy)
        values["calibration"] = actual["cross_entropy"] - values["discrimination"]
    for key, weights in setting.weights.items():
        values[f"min_{key}"] = float(np.min(weights.cost(*hull, True)))
        values[_loss_key(key)] = actual[key] - values[f"min_{key}"]
    values["cllr_cal"] = actual["cllr"] - values["cllr_min"]
    if len(setting.points) > 1:
        least = [values[f"min_{key}"] for key in setting.point_keys]
        values["min_c_primary"] = float(np.mean(least))
    return values


def _score_notes(sample: LlrUnits, classes: tuple[Hashable, ...]) -> list[str]:
    """A note on numbers that do not look like LLRs: likelihood ratios, or reversed LLRs."""
    negative, positive = Step(0.0, True, _NOTHING), Step(0.0, False, _NOTHING)
    other, target = sample.counts
    wrong = [target - sample.events(negative, 1)[0].sum(), sample.events(positive, 0)[0].sum()]
    low, _ = wilson(wrong, [target, other], 0.95)
    if min(low) > 0.5:
        return [
            f"The LLRs point the wrong way for most samples of both classes: they may be in favor "
            f"of {classes[0]!r} rather than of {classes[1]!r}. Check which class they are in favor "
            f"of."
        ]
    if sample.blocks.low[0] >= 0 and sample.blocks.high[-1] > 0:
        return ["No LLR is negative: if these are likelihood ratios, take their logarithms first."]
    return []
