"""Verdicts on an assessment: a number, a word and a sentence that a manager can act on."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._markup import number, percent, shorten
from deciban.assessment.actions import (
    DO_NOT_USE,
    MORE_SAMPLES,
    RECALIBRATE,
    SMALL,
    USE,
    Cost,
    calibration_doubt,
    conclude,
    cost_of,
    describe_prior,
    find_quantity,
    is_even,
    miscalibration,
)
from deciban.assessment.results import Assessment, Quantity, Verdict
from deciban.metrics.designs import Design
from deciban.metrics.intervals import Plan

_MODERATE = 0.08  # calibration loss, as a share of the cost of no evidence
_TONES = {USE: "good", MORE_SAMPLES: "fair", RECALIBRATE: "fair", DO_NOT_USE: "poor", "": ""}
_SHARES = {0.9: "nearly all of it", 0.6: "most of it", 0.4: "about half of it", 0.1: "part of it",
           0.0: "very little of it"}  # fmt: skip
_MOST_REASONS = 3
FEW, _SOME = 30, 200  # samples of the rarest class; with fewer, intervals are rough
_NOTABLE = 0.005  # correction of a quantity that is worth a note


def verdicts(assessment: Assessment) -> list[Verdict]:
    """The action, then verdicts on information, calibration, errors and samples."""
    judges = (judge_action, judge_information, judge_calibration, judge_errors, judge_samples)
    return [judge(assessment) for judge in judges]


def judge_action(assessment: Assessment) -> Verdict:
    """The action at the prior and the costs."""
    action, word, reason = conclude(assessment)
    at = describe_prior(assessment) if assessment.costs is None else "at this prior and these costs"
    return Verdict("what to do", action.capitalize() or "–", word, _TONES[action], reason, at)


def judge_information(assessment: Assessment) -> Verdict:
    """How much uncertainty about the class the evidence removes."""
    cost, what = cost_of(assessment), "information in the evidence"
    total, nothing = cost.total, cost.no_evidence
    if math.isnan(total.value):
        return Verdict(what, "–", "not known", "", "How much the evidence says is not known.")
    if math.isinf(total.value):
        sentence = (
            "At least once, the evidence ruled out the true class, so its cost is infinite. "
            "Recalibration would limit what it claims."
        )
        return Verdict(what, "none", "worse than no evidence", "poor", sentence, "cost is infinite")
    share, low, high = (_snap(1 - x / nothing) for x in (total.value, total.high, total.low))
    interval = _interval(low, high, assessment, lambda x: "below 0 %" if x < 0 else percent(x))
    risk = _unseen_risk(assessment, share, low)
    if not (share > 0 and (not low < 0 or risk)):
        return Verdict(what, *_judge_doubtful(cost, share, high), interval)
    word = next(word for least, word in _SHARES.items() if share >= least)
    tone = "good" if share >= 0.6 and not risk else "fair" if share >= 0.1 else "poor"
    sentence = (
        f"The evidence removes {percent(share)} of the uncertainty about the class: from "
        f"{number(nothing)} to {number(total.value)} {cost.unit} per sample, "
        f"{cost.at}.{risk}"
    )
    return Verdict(what, percent(share), word, tone, sentence, interval)


def _judge_doubtful(cost: Cost, share: float, high: float) -> tuple[str, str, str, str]:
    costs = (
        f"{cost.at}, it costs {number(cost.total.value)} {cost.unit} per sample, and no evidence "
        f"would cost {number(cost.no_evidence)}"
    )
    remedy = _after_recalibration(cost)
    if high < 0 or (math.isnan(high) and share < 0):
        sentence = f"As it stands, the evidence does more harm than good: {costs}.{remedy}"
        return "none", "worse than no evidence", "poor", sentence
    if share >= SMALL:
        sentence = (
            f"The evidence seems to remove {percent(share)} of the uncertainty about the class, "
            f"but these samples do not rule out that it does harm: {costs}.{remedy}"
        )
        return percent(share), "not certain", "fair", sentence
    if remedy:
        sentence = (
            f"As it stands, the evidence may do more harm than good: {costs}. These samples are "
            f"too few to tell.{remedy}"
        )
        return "unclear", "not fit for use as it stands", "poor", sentence
    sentence = f"As far as these samples show, the evidence says nothing: {costs}."
    return "none", "as good as none", "poor", sentence


def _unseen_risk(assessment: Assessment, share: float, low: float) -> str:
    if not low < 0.5 * share:
        return ""
    if assessment.n_infinite:
        return (
            f" But LLRs rule a class out altogether ({assessment.n_infinite:,}); if that were "
            f"wrong once, the cost would be infinite."
        )
    if assessment.n_wrong == 0:
        return " No decision was wrong, so the frequency and cost of wrong decisions are unknown."
    return ""


def _after_recalibration(cost: Cost) -> str:
    rest = cost.discrimination
    if not rest.corrected < (1 - SMALL) * cost.no_evidence or rest.high >= cost.no_evidence:
        return ""
    return (
        f" Recalibrated, it would cost about {number(rest.corrected)} {cost.unit}, and remove "
        f"{percent(1 - rest.corrected / cost.no_evidence)} of the uncertainty."
    )


def judge_calibration(assessment: Assessment) -> Verdict:
    """Whether the evidence is calibrated, and how much recalibration would save."""
    cost = cost_of(assessment)
    part, unit, what = cost.calibration, cost.unit, "lost to poor calibration"
    if math.isinf(cost.total.value) and math.isfinite(cost.discrimination.value):
        sentence = (
            f"The evidence cannot be taken at face value: recalibrated, it would cost about "
            f"{number(cost.discrimination.corrected)} {unit}."
        )
        return Verdict(what, f"∞ {unit}", "poorly calibrated", "poor", sentence)
    if not (math.isfinite(part.value) and math.isfinite(cost.total.value)):
        sentence = "No single number says how well it is calibrated here; see reliability below."
        return Verdict(what, "–", "not known", "", sentence)
    word, tone, sentence = _judge_loss(assessment, cost)
    interval = _interval(part.low, part.high, assessment, number)
    return Verdict(what, f"{number(part.corrected, 2)} {unit}", word, tone, sentence, interval)


def _judge_loss(assessment: Assessment, cost: Cost) -> tuple[str, str, str]:
    part, unit, total, nothing = cost.calibration, cost.unit, cost.total.value, cost.no_evidence
    share = percent(part.corrected / max(total, 1e-300))
    saved = f"{number(part.corrected)} of {number(total)} {unit} ({share} of its cost)"
    if math.isnan(part.low):
        sentence = f"Recalibration seems to save {saved}, but without intervals that may be chance."
        return "not known", "", sentence
    if shown := miscalibration(assessment):
        sentence = f"The evidence is miscalibrated: {'; '.join(shown[:_MOST_REASONS])}."
        if part.corrected > _MODERATE * nothing or assessment.n_infinite:
            return "poorly calibrated", "poor", sentence
        return "miscalibrated", "fair", sentence
    if doubt := calibration_doubt(assessment, cost):
        word, reason = doubt
        sentence = f"Too few samples to tell whether the evidence is calibrated: {reason}."
        return word, "fair", sentence
    saving = f"about {saved}" if part.corrected > SMALL / 40 * nothing else "next to nothing"
    sentence = f"The evidence can be taken at face value: recalibration would save {saving}."
    return "well calibrated", "good", sentence


def judge_errors(assessment: Assessment) -> Verdict:
    """How often decisions are wrong or, with costs, how much they cost."""
    if assessment.costs is not None:
        return _judge_costs(assessment, assessment.costs)
    accuracy, what = find_quantity(assessment, "accuracy"), "wrong decisions"
    if math.isnan(accuracy.value):
        return Verdict(what, "–", "not known", "", "How often decisions are wrong is not known.")
    rate, low, high = 1 - accuracy.value, _snap(1 - accuracy.high), _snap(1 - accuracy.low)
    interval = _interval(low, high, assessment, percent)
    if assessment.n_wrong == 0 and _snap(rate) == 0:
        bound = "" if math.isnan(high) else f", but the true rate may be up to {percent(high)}"
        return Verdict(what, "0 %", "none seen", "good", f"No decision was wrong{bound}.", interval)
    chance = 1 - max(assessment.prior)
    tone = "good" if rate <= 0.2 * chance else "fair" if rate <= 0.7 * chance else "poor"
    one_in = 1 / max(rate, 1e-300)
    often = "all of them" if rate == 1 else "most of them"
    if one_in >= 1.95:
        often = f"1 in {number(one_in, 2) if one_in < 5 else format(round(one_in), ',')}"
    mix = "equally frequent" if is_even(assessment) else "as frequent as the prior says"
    best = "likelier" if len(assessment.classes) == 2 else "likeliest"
    sentence = (
        f"Picking the {best} class is wrong {percent(rate)} of the time ({often}) if classes are "
        f"{mix}; guessing would be wrong in {percent(chance)}.{_locate_errors(assessment)}"
    )
    return Verdict(what, percent(rate), often, tone, sentence, interval)


def _judge_costs(assessment: Assessment, costs: NDArray[np.float64]) -> Verdict:
    cost, what = find_quantity(assessment, "expected_cost"), "cost of a decision"
    without = float(np.min(np.asarray(assessment.prior) @ costs))
    sentence = (
        f"A decision costs {number(cost.value)} on average; the best decision without evidence "
        f"costs {number(without)}.{_locate_errors(assessment)}"
    )
    perfect = float(np.asarray(assessment.prior) @ costs.min(axis=1))  # costs however one decides
    saved = (without - cost.value) / (without - perfect) if without > perfect else math.nan
    word = f"{number(without)} without evidence"
    tone = "good" if saved >= 0.8 else "fair" if saved >= 0.3 else "poor"
    interval = _interval(cost.low, cost.high, assessment, number)
    return Verdict(what, number(cost.value), word, tone, sentence, interval)


def _locate_errors(assessment: Assessment) -> str:
    names = [shorten(name, 30) for name in assessment.classes]
    if len(names) == 2:
        rates = [find_quantity(assessment, f"misleading_{k}").value for k in ("target", "other")]
        return (
            f" The evidence points the wrong way for {percent(rates[0])} of class {names[1]} and "
            f"{percent(rates[1])} of class {names[0]}."
        )
    difficulty = assessment.difficulty()
    i, j = sorted(np.unravel_index(np.argmax(difficulty), difficulty.shape))
    return f" Even after recalibration, {names[i]} and {names[j]} are the hardest to tell apart."


def judge_samples(assessment: Assessment) -> Verdict:
    """Whether there are enough samples to say all this."""
    total, rarest = sum(assessment.counts), min(assessment.counts)
    word, tone = "enough to say this", "good"
    if conclude(assessment).action == MORE_SAMPLES:
        word, tone = "too few to be sure", "poor" if rarest < FEW else "fair"
    elif rarest < _SOME:
        word, tone = "enough for a rough answer", "fair"
    name = shorten(assessment.classes[assessment.counts.index(rarest)], 30)
    share = f"{rarest:,} of them of {name}, the rarest"
    if rarest == max(assessment.counts):
        share = f"{rarest:,} of each"
    intervals = (
        f"The {100 * assessment.confidence:g} % intervals allow for chance in the choice of "
        f"samples, but not for samples of another kind."
    )
    if all(math.isnan(q.low) for q in assessment.quantities):
        intervals = "Without intervals, the influence of chance is not known."
    classes = f"{len(assessment.classes)} classes"
    sentence = f"All this rests on {total:,} samples of {classes}, {share}. {intervals}"
    return Verdict("samples", f"{total:,}", word, tone, sentence, f"{rarest:,} of the rarest class")


def _snap(share: float) -> float:
    return 0.0 if abs(share) < 1e-9 else share


def _interval(low: float, high: float, assessment: Assessment, say: Callable[[float], str]) -> str:
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{say(low)} to {say(high)} ({100 * assessment.confidence:g} %)"


CRITERIA = ("criterion", "judged on", "found", "result")  # header of the rows below


def criteria_rows(criteria: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Each criterion, the number it is judged on, its value and the result."""
    rows = []
    for one in criteria:
        in_percent = one["criterion"].endswith("%")
        found = f"{float(one['found']) * (100 if in_percent else 1):.6g}{' %' * in_percent}"
        result = "pass" if one["passed"] else "FAIL"
        rows.append((one["criterion"], one["judged_on"], found, result))
    return rows


def heed_criteria(action: Verdict, criteria: Sequence[Mapping[str, Any]]) -> Verdict:
    """The action under acceptance criteria: evidence that fails one is not used."""
    if not criteria:
        return action
    failed = [row for row in criteria_rows(criteria) if row[-1] == "FAIL"]
    if not failed:
        return action._replace(sentence=f"{action.sentence} All acceptance criteria are met.")
    shown = [f"{name} was required of the {on}, which is {found}" for name, on, found, _ in failed]
    return action._replace(
        big="Do not use it",
        word=f"{len(failed)} of {len(criteria)} acceptance criteria failed",
        tone="poor",
        sentence=f"{'; '.join(shown)}. Apart from these criteria: {action.big.lower()}. "
        f"{action.sentence}",
    )


def apply_criteria(assessment: Assessment, criteria: Sequence[Mapping[str, Any]]) -> Assessment:
    """The assessment with the action that follows from acceptance criteria."""
    if not (criteria and assessment.action):  # without intervals there is none
        return assessment
    first, *others = assessment.verdicts
    action = heed_criteria(first, criteria)
    return replace(assessment, action=action.big.lower(), verdicts=(action, *others))


# --- notes --------------------------------------------------------------------------------


def few_samples_note(
    classes: tuple[Hashable, ...], counts: NDArray[Any], plan: Plan, design: Design
) -> list[str]:
    """A note if a class, or the groups or items that samples share, are few."""
    if plan.n_resamples and design.warning:
        return [design.warning]
    count = int(min(counts))
    if count >= FEW or plan.n_resamples == 0:
        return []
    few = "1 sample" if count == 1 else f"{count} samples"
    name = "Each class" if max(counts) == count else f"Class {classes[np.argmin(counts)]!r}"
    return [f"{name} has only {few}: intervals are rough."]


def note_doubts(quantities: tuple[Quantity, ...], prior: NDArray[np.float64]) -> list[str]:
    """Notes on quantities fitted by PAV, and on decisions that are worse than guessing."""
    notes = []
    for q in quantities:
        if not (q.low <= q.value <= q.high) and abs(q.value - q.corrected) > _NOTABLE:
            size = "large" if q.value > q.high else "small"
            notes.append(
                f"{q.label} is fitted to the samples that it judges and comes out too {size}; "
                f"{number(q.corrected)} is nearer to the truth. Quote its interval."
            )
    accuracy = next(q for q in quantities if q.key == "accuracy")
    if len(prior) > 2 and accuracy.high < float(prior.max()):  # systems of two note reversed LLRs
        notes.append(
            "Decisions are right less often than guesses would be: check that each column of "
            "scores belongs to its class, and that higher scores mean likelier classes."
        )
    return notes
