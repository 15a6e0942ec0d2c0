"""What an assessment comes to, in words that a manager can act on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deciban.assessment.results import Assessment, Quantity
from deciban.assessment.wording import number, percent, shorten

_SMALL, _MODERATE = 0.02, 0.08  # calibration loss, as a share of the cost of no evidence
_SHARES = ((0.9, "nearly all of it"), (0.6, "most of it"), (0.4, "about half of it"),
           (0.1, "part of it"), (0.0, "very little of it"))  # fmt: skip
_ENOUGH_ERRORS = 5  # expected or seen, to judge calibration by
_FEW, _SOME = 30, 200  # samples of the rarest class


class Verdict(NamedTuple):
    """A finding: a number for a tile, a word on it, and the sentence that says what it means."""

    what: str
    big: str
    word: str
    tone: str  # "good", "fair", "poor" or ""
    range: str
    sentence: str


class Cost(NamedTuple):
    """The cost of evidence and its parts, and the cost of no evidence, all in one unit."""

    total: Quantity
    calibration: Quantity
    discrimination: Quantity
    nothing: float

    @property
    def unit(self) -> str:
        """The unit of all parts."""
        return self.total.unit


def _quantity(assessment: Assessment, key: str) -> Quantity:
    """A quantity, or one without a value where there is none of this key."""
    missing = Quantity(key, key, math.nan, math.nan, math.nan, "", "", "", math.nan)
    return next((q for q in assessment.quantities if q.key == key), missing)


def cost_of(assessment: Assessment) -> Cost:
    """Cllr and its parts in bits for two classes, else the cross-entropy and its parts."""
    two = len(assessment.classes) == 2
    keys = ("cllr", "cllr_cal", "cllr_min")
    if not two:
        keys = ("cross_entropy", "calibration", "discrimination")
    parts = [_quantity(assessment, key) for key in keys]
    prior = np.array(assessment.prior or [1 / len(assessment.classes)] * len(assessment.classes))
    return Cost(parts[0], parts[1], parts[2], 1.0 if two else float(-prior @ np.log(prior)))


def verdicts(assessment: Assessment) -> list[Verdict]:
    """Information, calibration, errors and samples, in this order."""
    judges = (information, calibration, errors, samples)
    return [judge(assessment) for judge in judges]


def information(assessment: Assessment) -> Verdict:
    """How much of the uncertainty about the class the evidence removes."""
    cost, what = cost_of(assessment), "information in the evidence"
    total, nothing = cost.total, cost.nothing
    if math.isnan(total.value):
        return Verdict(what, "–", "not known", "", "", "How much the evidence says is not known.")
    if math.isinf(total.value):
        return Verdict(what, "none", "worse than no evidence", "poor", "cost is infinite",
                       "At least once, the evidence ruled out the true class, so its cost is "
                       "infinite. Recalibration bounds what it can claim.")  # fmt: skip
    share, low, high = (_snap(1 - x / nothing) for x in (total.value, total.high, total.low))
    span = _span(low, high, assessment, _percent)
    unknown = _unseen_risk(assessment, share, low)
    if share > 0 and (not low < 0 or unknown):
        word = next(word for least, word in _SHARES if share >= least)
        tone = "good" if share >= 0.6 and not unknown else "fair" if share >= 0.1 else "poor"
        return Verdict(what, percent(share), word, tone, span,
                       f"The evidence removes {percent(share)} of the uncertainty about the class: "
                       f"from {number(nothing)} to {number(total.value)} {cost.unit} per sample."
                       f"{unknown}")  # fmt: skip
    return Verdict(what, *_judge_doubtful(cost, share, high, span))


def _judge_doubtful(cost: Cost, share: float, high: float, span: str) -> tuple[str, ...]:
    """The further parts of a verdict on evidence that may be worse than none."""
    costs = f"it costs {number(cost.total.value)} {cost.unit}, and no evidence costs "
    costs += number(cost.nothing)
    hidden = _after_recalibration(cost)
    if high < 0 or (math.isnan(high) and share < 0):
        return ("none", "worse than no evidence", "poor", span,
                f"As it stands, the evidence does more harm than good: {costs}.{hidden}"
                )  # fmt: skip
    if share >= _SMALL:
        return (percent(share), "not certain", "fair", span,
                f"The evidence seems to remove {percent(share)} of the uncertainty about the "
                f"class, but these samples do not rule out that it does harm: {costs}.{hidden}"
                )  # fmt: skip
    if hidden:
        return ("unsure", "not fit for use as it stands", "poor", span,
                f"As it stands, the evidence may do more harm than good: {costs}, and the "
                f"interval includes both.{hidden}")  # fmt: skip
    return ("none", "as good as none", "poor", span,
            f"The evidence says nothing that these samples could show: {costs}.")  # fmt: skip


def _unseen_risk(assessment: Assessment, share: float, low: float) -> str:
    """Why the evidence may be worth far less than was seen, though it does not claim too much."""
    if not low < 0.5 * share:
        return ""
    if assessment.n_infinite:
        return (
            f" But {assessment.n_infinite:,} samples rule a class out altogether: a wrong one "
            f"would have an infinite cost."
        )
    if assessment.n_wrong == 0:
        return " No decision was wrong, so the cost and the frequency of a wrong one are unknown."
    return ""


def _percent(share: float) -> str:
    return "below 0 %" if share < 0 else percent(share)


def _after_recalibration(cost: Cost) -> str:
    """What recalibration would bring, where that is something."""
    rest = cost.discrimination
    if not rest.corrected < (1 - _SMALL) * cost.nothing or rest.high >= cost.nothing:
        return ""
    return (
        f" Recalibrated, it would cost about {number(rest.corrected)} {cost.unit}, and remove "
        f"{percent(1 - rest.corrected / cost.nothing)} of the uncertainty."
    )


def calibration(assessment: Assessment) -> Verdict:
    """Whether the evidence means what it says, and what recalibration would save."""
    cost = cost_of(assessment)
    part, unit, what = cost.calibration, cost.unit, "lost to poor calibration"
    if math.isinf(cost.total.value) and math.isfinite(cost.discrimination.value):
        return Verdict(what, f"∞ {unit}", "poorly calibrated", "poor", "",
                       f"The evidence cannot be taken at its word: recalibrated, it would cost "
                       f"about {number(cost.discrimination.corrected)} {unit}.")  # fmt: skip
    if not (math.isfinite(part.value) and math.isfinite(cost.total.value)):
        return Verdict(what, "–", "not known", "", "",
                       "No single number says how well it is calibrated here; see reliability "
                       "below.")  # fmt: skip
    if 0 <= assessment.n_wrong < _ENOUGH_ERRORS and assessment.expected_wrong < _ENOUGH_ERRORS:
        seen = {0: "no decision was wrong", 1: "one decision was wrong"}.get(
            assessment.n_wrong,
            f"{assessment.n_wrong} of {sum(assessment.counts):,} decisions were wrong",
        )
        word, tone, sentence = "cannot be judged", "fair", (
            f"Too few errors to tell whether the evidence is calibrated: {seen}, and by its own "
            f"claims {number(assessment.expected_wrong, 2)} should have been. That takes more "
            f"samples, or harder ones."
        )  # fmt: skip
    else:
        word, tone, sentence = _judge_loss(cost)
        if tone == "good" and assessment.n_infinite:
            word, tone = "may be calibrated", "fair"
            sentence = (
                f"{assessment.n_infinite:,} samples rule a class out altogether, which no number "
                f"of samples supports; the others can be taken at their word."
            )
    span = _span(part.low, part.high, assessment, number)
    return Verdict(what, f"{number(part.corrected, 2)} {unit}", word, tone, span, sentence)


def _judge_loss(cost: Cost) -> tuple[str, str, str]:
    """A word, its tone and a sentence on a calibration loss that is known."""
    part, unit, total, nothing = cost.calibration, cost.unit, cost.total.value, cost.nothing
    loss, share = part.corrected / nothing, percent(part.corrected / max(total, 1e-300))
    saved = f"{number(part.corrected)} {unit} of {number(total)}, {share} of its cost"
    if math.isnan(part.low):
        sentence = f"Recalibration seems to save {saved}; without intervals that may be chance."
        return "not known", "", sentence
    large = part.low > 0.2 * total or part.corrected > 0.5 * total  # however small its cost is
    small = part.high <= max(_SMALL * nothing, min(_MODERATE / 2 * nothing, 0.1 * total))
    if loss <= _SMALL and small and not large:
        saving = f"about {saved}" if loss > _SMALL / 40 else "next to nothing"
        sentence = f"The evidence can be taken at its word: recalibration would save {saving}."
        return "well calibrated", "good", sentence
    if part.low / nothing <= _SMALL / 4 and not part.low > 0.2 * total:
        low, high = number(max(0.0, part.low)), number(min(part.high, total))
        return "may be calibrated", "fair", (
            f"Too few samples to tell whether the evidence is calibrated: recalibration may save "
            f"{low} to {high} {unit} of {number(total)}."
        )  # fmt: skip
    sentence = f"miscalibrated: recalibration, which is cheap, would save {saved}."
    if loss <= _MODERATE:
        return "nearly calibrated", "fair", f"The evidence is slightly {sentence}"
    return "poorly calibrated", "poor", f"The evidence is {sentence}"


def errors(assessment: Assessment) -> Verdict:
    """How often decisions by the evidence are wrong."""
    right, what = _quantity(assessment, "accuracy"), "wrong decisions"
    if not math.isfinite(right.value):
        return Verdict(what, "–", "not known", "", "", "How often it errs is not known.")
    low, high = (_snap(1 - x) for x in (right.high, right.low))
    rate = 1 - right.value if assessment.n_wrong > 0 else _snap(1 - right.value)
    span = _span(low, high, assessment, percent)
    if rate == 0 and assessment.n_wrong <= 0:
        bound = "" if math.isnan(high) else f", but the true rate may be up to {percent(high)}"
        return Verdict(what, "0 %", "none seen", "good", span,
                       f"No decision was wrong{bound}.")  # fmt: skip
    prior = assessment.prior or (1 / len(assessment.classes),)
    chance = 1 - max(prior)
    tone = "good" if rate <= 0.2 * chance else "fair" if rate <= 0.7 * chance else "poor"
    one_in = 1 / max(rate, 1e-300)
    often = "all of them" if rate == 1 else "most of them"
    if one_in >= 1.95:
        often = f"1 in {number(one_in, 2) if one_in < 5 else format(round(one_in), ',')}"
    even = max(prior) - min(prior) < 1e-9
    mix = "if all classes are equally frequent" if even else "with classes as frequent as the prior"
    best = "likelier" if len(assessment.classes) == 2 else "likeliest"
    return Verdict(what, percent(rate), often, tone, span,
                   f"Decisions for the {best} class are wrong in {percent(rate)} of cases "
                   f"({often}) {mix}; guessing would be wrong in {percent(chance)}."
                   f"{_where_errors_are(assessment)}")  # fmt: skip


def _where_errors_are(assessment: Assessment) -> str:
    """The errors of each of two classes, or the hardest pair of several."""
    names = [shorten(name, 30) for name in assessment.classes]
    if len(names) == 2:
        rates = [_quantity(assessment, f"misleading_{k}").value for k in ("target", "other")]
        if not all(map(math.isfinite, rates)):
            return ""
        return (
            f" The evidence points the wrong way for {percent(rates[0])} of {names[1]} and "
            f"{percent(rates[1])} of {names[0]}."
        )
    if not np.isfinite(assessment.pairwise_cllr).any():
        return ""
    difficulty = assessment.difficulty()
    i, j = sorted(np.unravel_index(np.argmax(difficulty), difficulty.shape))
    return f" Even after recalibration, {names[i]} and {names[j]} are hardest to tell apart."


def samples(assessment: Assessment) -> Verdict:
    """Whether there are samples enough to say all this."""
    total, rarest, D = sum(assessment.counts), min(assessment.counts), len(assessment.classes)
    if rarest < _FEW:
        word, tone = "too few to be sure", "poor"
    elif rarest < _SOME:
        word, tone = "enough for a rough answer", "fair"
    else:
        word, tone = "enough to say this", "good"
    name = shorten(assessment.classes[assessment.counts.index(rarest)], 30)
    each = f"{rarest:,} of them of {name}, the rarest class"
    if rarest == max(assessment.counts):
        each = f"{rarest:,} of each"
    intervals = (
        f"The {100 * assessment.confidence:g} % intervals cover chance in the choice of samples, "
        f"not samples of another kind."
    )
    if all(math.isnan(q.low) for q in assessment.quantities):
        intervals = "Without intervals, the influence of chance is not known."
    return Verdict("samples", f"{total:,}", word, tone, f"{rarest:,} of the rarest class",
                   f"This rests on {total:,} samples of {D} classes, {each}. {intervals}"
                   )  # fmt: skip


def _snap(share: float) -> float:
    """A share without what rounding leaves of zero."""
    return 0.0 if abs(share) < 1e-9 else share


def _span(low: float, high: float, assessment: Assessment, say: Callable[[float], str]) -> str:
    """An interval in words, or nothing where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{say(low)} to {say(high)} ({100 * assessment.confidence:g} %)"
