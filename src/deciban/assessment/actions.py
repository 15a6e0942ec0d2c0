"""What to do with evidence: use it, recalibrate it, get more samples, or do not use it.

The rule takes the intervals at the prior and costs that were asked for. Evidence is used as it is
if its whole interval lies below the cost of no evidence, if recalibration can save hardly anything,
and if no bin of posteriors is far from the frequency that it predicts. It is recalibrated if a loss
that matters is shown. Otherwise samples are too few to tell.

``benchmarks/judgments.py verdicts`` prints which actions known systems get, and how often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deciban._markup import number, percent, shorten
from deciban.assessment.quantities import cost_keys
from deciban.assessment.results import Assessment, Quantity
from deciban.metrics.reliability import ReliabilityBin

USE, RECALIBRATE = "use it", "recalibrate it"
MORE_SAMPLES, DO_NOT_USE = "get more samples", "do not use it"

SMALL = 0.02  # loss or gain that does not matter, as a share of the cost of no evidence
_TOLERATED = 0.05  # loss that must be ruled out before evidence is used as it is
_RARE, _UNLIKELY = 0.01, 0.05  # p-values that prove a fault, and that leave a doubt
_ENOUGH_ERRORS = 5  # expected or seen, to judge calibration by
_MANY = 20  # samples of each class, of which chance seldom makes any order


class Cost(NamedTuple):
    """The cost of evidence, its parts and the cost of no evidence, in one unit at one prior."""

    total: Quantity
    calibration: Quantity
    discrimination: Quantity
    no_evidence: float
    unit: str
    at: str  # the prior, as part of a sentence


class Conclusion(NamedTuple):
    """An action, a word on why, and the reason as a sentence."""

    action: str
    word: str
    reason: str


def cost_of(assessment: Assessment) -> Cost:
    """Cllr and its parts for two classes at even odds, else the cross-entropy at the prior."""
    prior = np.array(assessment.prior)
    in_bits = len(prior) == 2 and is_even(assessment)
    nothing = 1.0 if in_bits else float(-prior @ np.log(prior))
    total, calibration, rest = (find_quantity(assessment, key) for key in cost_keys(in_bits))
    return Cost(total, calibration, rest, nothing, total.unit, describe_prior(assessment))


def find_quantity(assessment: Assessment, key: str) -> Quantity:
    """A quantity, or one without a value if there is none with this key."""
    missing = Quantity(key, key, math.nan, math.nan, math.nan, "", "", "", math.nan)
    return next((q for q in assessment.quantities if q.key == key), missing)


def is_even(assessment: Assessment) -> bool:
    """Whether every class has the same prior probability."""
    return max(assessment.prior) - min(assessment.prior) < 1e-9


def describe_prior(assessment: Assessment) -> str:
    """The prior at which costs hold, as part of a sentence."""
    two = len(assessment.prior) == 2
    if is_even(assessment):
        return "at even prior odds" if two else "at the same prior for each class"
    if not two:
        return "at the prior given"
    return f"at a prior of {assessment.prior[1]:.4g} for {shorten(assessment.classes[1], 30)}"


def _between(q: Quantity, assessment: Assessment) -> str:
    level = f"{100 * assessment.confidence:g} % interval"
    return f"({level} {number(q.low)} to {number(q.high)})"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def conclude(assessment: Assessment) -> Conclusion:
    """What to do with the evidence, by the first rule that applies."""
    cost = cost_of(assessment)
    total, rest, nothing = cost.total, cost.discrimination, cost.no_evidence
    if math.isnan(total.low):
        return Conclusion("", "not known", "Without intervals, nothing follows from the numbers.")
    # What rules a class out is at fault whatever the number of samples.
    if not assessment.n_infinite and (too_few := _few_samples(assessment)):
        return Conclusion(MORE_SAMPLES, "cannot be judged", too_few)
    if rest.low >= (1 - SMALL) * nothing:
        removed = number(max(0.0, 1 - rest.low / nothing) * 100, 2)
        reason = (
            f"Even recalibrated, it removes at most {removed} % of the uncertainty about the "
            f"class, {number(nothing)} {cost.unit} {cost.at}."
        )
        return Conclusion(DO_NOT_USE, "says nothing", reason)
    if unhelpful := _unhelpful_decisions(assessment):
        return Conclusion(DO_NOT_USE, "changes no decision", unhelpful)
    if reversal := _reversal(assessment):
        return Conclusion(DO_NOT_USE, "points the wrong way", _sentence(reversal))
    faults, harm = miscalibration(assessment), total.low > nothing
    if harm and math.isfinite(total.value) and rest.high >= nothing:
        return Conclusion(DO_NOT_USE, "does harm", _sentence(faults[0]))
    if faults:
        word = "does harm as it is" if harm else "is miscalibrated"
        return Conclusion(RECALIBRATE, word, _sentence("; ".join(faults[:2])))
    if doubt := _doubt(assessment, cost):
        return Conclusion(MORE_SAMPLES, doubt[0], _sentence(doubt[1]))
    return Conclusion(USE, "can be taken at face value", _describe_use(assessment, cost))


def _describe_use(assessment: Assessment, cost: Cost) -> str:
    q, level = cost.total, f"{100 * assessment.confidence:g} %"
    share, low, high = (percent(1 - x / cost.no_evidence) for x in (q.value, q.high, q.low))
    tested = ""
    if (test := assessment.calibration_test) is not None:
        tested = f" There is no sign of miscalibration (p = {number(test.p_value, 2)})."
        if test.p_value < _RARE:
            p = number(test.p_value, 2)
            tested = f" That it is {test.fault} is real (p = {p}), but costs next to nothing."
    decisions = "".join(
        f" Decisions {where} cost {number(actual.value)} of what they cost without it "
        f"{_between(actual, assessment)}."
        for where, actual, _, _, asked in _decisions(assessment)
        if asked
    )
    return (
        f"It removes {share} of the uncertainty about the class ({level} interval {low} to {high}) "
        f"{cost.at}, and recalibration would save at most {number(cost.calibration.high, 2)} of "
        f"{number(q.value)} {cost.unit}.{decisions}{tested}"
    )


def _few_samples(assessment: Assessment) -> str:
    """Why nothing follows if chance alone often puts so few samples into any order."""
    rarest, next_rarest = sorted(assessment.counts)[:2]
    # With many samples the number of orders has a million digits: no need to count them.
    if rarest > _MANY or (
        math.comb(rarest + next_rarest, rarest) >= round(1 / (1 - assessment.confidence), 6)
    ):
        return ""
    return (
        f"With {rarest} and {next_rarest} samples of the rarest classes, chance alone explains any "
        f"order of the evidence."
    )


def _reversal(assessment: Assessment) -> str:
    """How the evidence shows that classes were swapped."""
    if len(assessment.classes) == 2:
        wrong = [find_quantity(assessment, f"misleading_{one}") for one in ("target", "other")]
        if min(q.low for q in wrong) <= 0.5:
            return ""
        rates = " and ".join(percent(q.value) for q in wrong)
        return (
            f"it points to the wrong class for {rates} of the samples of the two classes; check "
            f"which class it is in favor of"
        )
    accuracy = find_quantity(assessment, "accuracy")
    if not (is_even(assessment) and accuracy.high < assessment.prior[0]):
        return ""
    return (
        f"decisions by it are right in {percent(accuracy.value)} of cases, less often than "
        f"guesses; check that each column belongs to its class"
    )


def miscalibration(assessment: Assessment) -> list[str]:
    """Every way in which the samples show that the evidence is not calibrated."""
    cost, found = cost_of(assessment), []
    total, part, _, nothing, unit, at = cost
    if math.isinf(total.value):
        found.append("it ruled out the true class at least once, so its cost is infinite; bounds "
                     "would limit what it claims")  # fmt: skip
    elif total.low > nothing:
        found.append(
            f"{at}, it costs {number(total.value)} {unit} per sample "
            f"{_between(total, assessment)}, and no evidence would cost {number(nothing)}"
        )
    if part.low > SMALL / 4 * nothing or part.low > 0.2 * total.value:
        found.append(
            f"{at}, recalibration would save about {number(part.corrected)} of "
            f"{number(total.value)} {unit} per sample {_between(part, assessment)}"
        )
    if assessment.worst_bin is not None and assessment.worst_bin.p_value < _RARE:
        found.append(_describe_bin(assessment.worst_bin))
    found += _losing_decisions(assessment)
    test = assessment.calibration_test
    if test is not None and test.p_value < _RARE and part.corrected > SMALL * nothing:
        found.append(
            f"chance does not explain that it is {test.fault} (p = {number(test.p_value, 2)})"
        )
    if not found and assessment.n_infinite:
        found.append(
            f"LLRs rule a class out altogether ({assessment.n_infinite:,}), which no number of "
            f"samples can justify; bounds would limit what they claim"
        )
    return found


def _describe_bin(one: ReliabilityBin) -> str:
    return (
        f"posteriors of about {number(one.predicted, 2)} at an even prior came true in "
        f"{percent(one.observed)} of {one.n_samples:,} cases ({percent(one.low)} to "
        f"{percent(one.high)})"
    )


def _doubt(assessment: Assessment, cost: Cost) -> tuple[str, str] | None:
    """A word and a reason why samples are too few to use the evidence."""
    total, nothing = cost.total, cost.no_evidence
    if total.high >= nothing and _has_enough_errors(assessment):
        return "may do harm", (
            f"{cost.at}, it may cost more than no evidence, {number(total.value)} {cost.unit} "
            f"{_between(total, assessment)} of {number(nothing)}"
        )
    if doubt := calibration_doubt(assessment, cost):
        return doubt
    for where, actual, _, _, asked in _decisions(assessment):
        if asked and not actual.high < 1:
            return "may cost more", (
                f"decisions {where} may cost more than without it, {number(actual.value)} times as "
                f"much {_between(actual, assessment)}"
            )
    return None


def _has_enough_errors(assessment: Assessment) -> bool:
    return max(assessment.n_wrong, assessment.expected_wrong) >= _ENOUGH_ERRORS


def calibration_doubt(assessment: Assessment, cost: Cost) -> tuple[str, str] | None:
    """A word and a reason why samples are too few to call the evidence calibrated."""
    total, part, n = cost.total, cost.calibration, f"{sum(assessment.counts):,}"
    if not _has_enough_errors(assessment):
        return "cannot be judged", (
            f"{assessment.n_wrong or 'none'} of {n} decisions went wrong, and the evidence itself "
            f"predicts {number(assessment.expected_wrong, 2)}; harder samples would tell, too"
        )
    one, test = assessment.worst_bin, assessment.calibration_test
    if one is not None and one.p_value < _UNLIKELY:
        return "may be calibrated", f"{_describe_bin(one)}, which may be chance"
    calm = test is None or test.p_value >= _UNLIKELY
    gain = max(0.0, cost.no_evidence - cost.discrimination.corrected)
    tolerated = min((_TOLERATED if calm else SMALL) * cost.no_evidence, gain / 4)
    most = max(part.high, part.value)  # PAV's own value stays large if few samples are distinct
    if most <= tolerated and part.corrected <= total.value / 2:
        return None
    sign = "there is no sign of miscalibration, but " if calm and test is not None else ""
    return "may be calibrated", (
        f"{sign}these {n} samples do not rule out that recalibration would save "
        f"{number(min(most, total.value), 2)} of {number(total.value)} {cost.unit} {cost.at}"
    )


# --- decisions ----------------------------------------------------------------------------


class Decisions(NamedTuple):
    """Costs of decisions at one prior and costs; 1 is the cost of deciding without evidence."""

    where: str
    actual: Quantity
    least: Quantity
    loss: Quantity
    asked: bool  # whether the costs were asked for


def _decisions(assessment: Assessment) -> Iterator[Decisions]:
    prior, C = np.array(assessment.prior), assessment.costs
    for q in assessment.quantities:
        base, at, point = q.key.partition("@")
        if base == "expected_cost" and C is not None and len(prior) > 2:
            right = float(prior @ np.diag(C))
            unit, names = float((prior @ C).min()) - right, ("value", "low", "high", "corrected")
            q = replace(q, **{name: (getattr(q, name) - right) / unit for name in names})
        elif base != "detection_cost":
            continue
        where = f"at {point}" if point else describe_prior(assessment)
        if C is not None and not point:
            where += " and the costs given"
        least = find_quantity(assessment, f"min_{base}{at}{point}")
        loss = find_quantity(assessment, f"decision_loss{at}{point}")
        yield Decisions(where, q, least, loss, bool(point) or C is not None)


def _unhelpful_decisions(assessment: Assessment) -> str:
    """Why decisions that were asked for are the same without the evidence, even recalibrated."""
    asked = [one for one in _decisions(assessment) if one.asked]
    if not asked or not all(one.least.low >= 1 - SMALL for one in asked):
        return ""
    best = min(asked, key=lambda one: one.least.low)
    return (
        f"With the best threshold, decisions {best.where} cost at least {percent(best.least.low)} "
        f"of what they cost without it."
    )


def _losing_decisions(assessment: Assessment) -> list[str]:
    """How decisions show that the evidence is not calibrated."""
    found = []
    for where, actual, _, loss, _ in _decisions(assessment):
        cost = f"decisions {where} cost {number(actual.value)}"
        if actual.low > 1:
            found.append(f"{cost} times what they cost without it {_between(actual, assessment)}")
        elif loss.low > SMALL:
            found.append(
                f"{cost} of what they cost without it, of which recalibration would save about "
                f"{number(loss.corrected, 2)} {_between(loss, assessment)}"
            )
    return found
