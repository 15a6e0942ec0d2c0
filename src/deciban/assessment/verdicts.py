"""What an assessment comes to, in words that a manager can act on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deciban.assessment.results import Assessment, Quantity
from deciban.assessment.wording import number, percent, short

_WELL, _NEARLY = 0.02, 0.08  # calibration loss, as a share of what saying nothing costs
_SHARES = ((0.9, "nearly all of it"), (0.6, "most of it"), (0.4, "about half of it"),
           (0.1, "a part of it"), (0.0, "very little of it"))  # fmt: skip
_TOLD = 5  # errors that were to be expected, or were seen, from which calibration can be told
_FEW, _SOME = 30, 200  # samples of the rarest class


@dataclass(frozen=True)
class Verdict:
    """A finding: a number for a tile, a word on it, and the sentence that says what it means."""

    what: str
    big: str
    word: str
    tone: str  # "good", "fair", "poor" or ""
    range: str
    sentence: str


class Cost(NamedTuple):
    """The cost of evidence and its parts, and what saying nothing costs, all in one unit."""

    total: Quantity
    calibration: Quantity
    discrimination: Quantity
    nothing: float

    @property
    def unit(self) -> str:
        """The unit of them all."""
        return self.total.unit


def quantity(assessment: Assessment, key: str) -> Quantity:
    """A quantity, or one without a value where there is none of this key."""
    found = [q for q in assessment.quantities if q.key == key]
    return found[0] if found else Quantity(key, key, math.nan, math.nan, math.nan, "", "", "")


def cost_of(assessment: Assessment) -> Cost:
    """Cllr and its parts in bits for two classes, else the cross-entropy and its parts."""
    if len(assessment.classes) == 2:
        parts = [quantity(assessment, key) for key in ("cllr", "cllr_cal", "cllr_min")]
        return Cost(parts[0], parts[1], parts[2], 1.0)
    keys = ("cross_entropy", "calibration", "discrimination")
    parts = [quantity(assessment, key) for key in keys]
    relative = quantity(assessment, "normalized_cross_entropy").value
    known = math.isfinite(relative) and math.isfinite(parts[0].value) and relative > 0
    nothing = parts[0].value / relative if known else math.log(len(assessment.classes))
    return Cost(parts[0], parts[1], parts[2], nothing)


def verdicts(assessment: Assessment) -> list[Verdict]:
    """Information, calibration, errors and samples, in this order."""
    return [
        information(assessment),
        calibration(assessment),
        errors(assessment),
        samples(assessment),
    ]


def information(assessment: Assessment) -> Verdict:
    """How much of what could be known the evidence tells."""
    cost = cost_of(assessment)
    total, unit, nothing = cost.total, cost.unit, cost.nothing
    what = "information in the evidence"
    if math.isnan(total.value):
        return Verdict(what, "–", "not known", "", "", "How much the evidence tells is not known.")
    if math.isinf(total.value):
        return Verdict(what, "none", "worse than saying nothing", "poor", "cost is infinite",
                       "At least once, the evidence ruled out the class that was the true one, so "
                       "that its cost is infinite: no evidence may be this sure. Recalibrating it "
                       "bounds what it can say.")  # fmt: skip
    share, low, high = (_snapped(1 - x / nothing) for x in (total.value, total.high, total.low))
    span = _span(low, high, assessment.confidence, _percent_or_less)
    unknown = _unknown(assessment, share, low)
    if share > 0 and (not low < 0 or unknown):
        word = next(word for least, word in _SHARES if share >= least)
        tone = "good" if share >= 0.6 else "fair" if share >= 0.1 else "poor"
        tone = "fair" if unknown and tone == "good" else tone
        return Verdict(what, percent(share), word, tone, span,
                       f"The evidence tells {percent(share)} of what there is to know about the "
                       f"class: it brings the doubt down from {number(nothing)} to "
                       f"{number(total.value)} {unit} a sample, where 0 would be certainty."
                       f"{unknown}")  # fmt: skip
    costs = f"it costs {number(total.value)} {unit}, and saying nothing costs {number(nothing)}"
    hidden = _hidden(cost)
    if high < 0 or (math.isnan(high) and share < 0):
        return Verdict(what, "none", "worse than saying nothing", "poor", span,
                       f"As it stands, the evidence does more harm than good: {costs}.{hidden}"
                       )  # fmt: skip
    if share >= _WELL:
        return Verdict(what, percent(share), "not certain", "fair", span,
                       f"The evidence seems to tell {percent(share)} of what there is to know "
                       f"about the class, but these samples do not rule out that it does harm: "
                       f"{costs}.{hidden}")  # fmt: skip
    if hidden:
        return Verdict(what, "unsure", "not fit for use as it stands", "poor", span,
                       f"As it stands, the evidence may do more harm than good: {costs}, with an "
                       f"interval that holds both.{hidden}")  # fmt: skip
    return Verdict(what, "none", "as good as nothing", "poor", span,
                   f"The evidence tells nothing that these samples could show: {costs}."
                   )  # fmt: skip


def _unknown(assessment: Assessment, share: float, low: float) -> str:
    """Why the evidence may be worth far less than was seen, where it is not that it claims much."""
    if not low < 0.5 * share:
        return ""
    if assessment.n_infinite:
        return (
            f" But {assessment.n_infinite:,} samples rule a class out altogether: one that is "
            f"wrong would cost infinitely much."
        )
    if assessment.n_wrong == 0:
        return (
            " No decision was wrong, so that what a wrong one would cost, and how often, is not "
            "known."
        )
    return ""


def _percent_or_less(share: float) -> str:
    return "below 0 %" if share < 0 else percent(share)


def _hidden(cost: Cost) -> str:
    """What recalibration would bring to light, where that is something."""
    left = cost.discrimination
    if not left.corrected < 0.98 * cost.nothing or left.high >= cost.nothing:
        return ""
    return (
        f" Recalibrated, it would cost about {number(left.corrected)} {cost.unit}, and tell "
        f"{percent(1 - left.corrected / cost.nothing)} of what there is to know."
    )


def calibration(assessment: Assessment) -> Verdict:
    """Whether the evidence means what it says, and what calibration would save."""
    cost = cost_of(assessment)
    part, unit, what = cost.calibration, cost.unit, "lost to poor calibration"
    if math.isinf(cost.total.value) and math.isfinite(cost.discrimination.value):
        return Verdict(what, f"∞ {unit}", "poorly calibrated", "poor", "",
                       f"It cannot be taken at its word: recalibrated, it would cost about "
                       f"{number(cost.discrimination.corrected)} {unit}.")  # fmt: skip
    if not (math.isfinite(part.value) and math.isfinite(cost.total.value)):
        sentence = (
            "How well it is calibrated cannot be said in one number here; see reliability below."
        )
        return Verdict(what, "–", "not known", "", "", sentence)
    if 0 <= assessment.n_wrong < _TOLD and assessment.expected_wrong < _TOLD:
        wrong = f"{assessment.n_wrong} of {sum(assessment.counts):,} decisions were wrong"
        if assessment.n_wrong <= 1:
            wrong = "one decision was wrong" if assessment.n_wrong else "no decision was wrong"
        sentence = (
            f"Whether its strength is right cannot be told: {wrong}, and by its own claims "
            f"{number(assessment.expected_wrong, 2)} should have been. That takes more samples, or "
            f"harder ones."
        )
        span = _span(part.low, part.high, assessment.confidence, number)
        return Verdict(what, f"{number(part.corrected, 2)} {unit}", "cannot be told", "fair", span,
                       sentence)  # fmt: skip
    word, tone, sentence = _calibrated(cost)
    if tone == "good" and assessment.n_infinite:
        word, tone = "may be calibrated", "fair"
        sentence = (
            f"{assessment.n_infinite:,} of its samples rule a class out altogether, which no "
            f"number of samples supports; of the others it can be taken at its word."
        )
    span = _span(part.low, part.high, assessment.confidence, number)
    return Verdict(what, f"{number(part.corrected, 2)} {unit}", word, tone, span, sentence)


def _calibrated(cost: Cost) -> tuple[str, str, str]:
    """A word, its tone and a sentence on a calibration loss that is known."""
    part, unit, total, nothing = cost.calibration, cost.unit, cost.total.value, cost.nothing
    loss, share = part.corrected / nothing, percent(part.corrected / max(total, 1e-300))
    saved = f"{number(part.corrected)} {unit} of {number(total)}, {share} of its cost"
    if math.isnan(part.low):
        said = f"Recalibration seems to save {saved}; without intervals that may be chance."
        return "not known", "", said
    large = part.low > 0.2 * total or part.corrected > 0.5 * total  # however small its cost is
    small = part.high <= max(_WELL * nothing, min(_NEARLY / 2 * nothing, 0.1 * total))
    if loss <= _WELL and small and not large:
        much = f"about {saved}" if loss > _WELL / 40 else "next to nothing"
        said = f"It can be taken at its word: recalibration would save {much}."
        return "well calibrated", "good", said
    if part.low / nothing <= _WELL / 4 and not part.low > 0.2 * total:
        said = (
            f"It may or may not mean what it says, which takes more samples to tell: recalibration "
            f"may save {number(max(0.0, part.low))} to {number(min(part.high, total))} {unit} of "
            f"{number(total)}."
        )
        return "may be calibrated", "fair", said
    said = f"mean what it says: recalibration, which is cheap, would save {saved}."
    if loss <= _NEARLY:
        return "nearly calibrated", "fair", f"It does not quite {said}"
    return "poorly calibrated", "poor", f"It does not {said}"


def _snapped(share: float) -> float:
    """A share without what rounding leaves of zero."""
    return 0.0 if abs(share) < 1e-9 else share


def errors(assessment: Assessment) -> Verdict:
    """How often decisions by the evidence are wrong."""
    right, what = quantity(assessment, "accuracy"), "wrong decisions"
    if not math.isfinite(right.value):
        return Verdict(what, "–", "not known", "", "", "How often it errs is not known.")
    low, high = (_snapped(1 - x) for x in (right.high, right.low))
    rate = 1 - right.value if assessment.n_wrong > 0 else _snapped(1 - right.value)
    span = _span(low, high, assessment.confidence, percent)
    prior = assessment.prior or (1 / len(assessment.classes),)
    chance = 1 - max(prior)
    tone = "good" if rate <= 0.2 * chance else "fair" if rate <= 0.7 * chance else "poor"
    if rate == 0 and assessment.n_wrong <= 0:
        bound = "" if math.isnan(high) else f", but the true rate may be up to {percent(high)}"
        return Verdict(what, "0 %", "none seen", "good", span,
                       f"No decision was wrong{bound}.")  # fmt: skip
    one_in = 1 / max(rate, 1e-300)
    often = "all of them" if rate == 1 else "most of them"
    if one_in >= 1.95:
        often = f"1 in {number(one_in, 2) if one_in < 5 else format(round(one_in), ',')}"
    even = max(prior) - min(prior) < 1e-9
    mix = (
        "were all classes equally frequent" if even else "with classes as frequent as in the prior"
    )
    best = "likelier" if len(assessment.classes) == 2 else "likeliest"
    return Verdict(what, percent(rate), often, tone, span,
                   f"Decisions for the {best} class would be wrong in {percent(rate)} of cases "
                   f"({often}), {mix}; guessing would be wrong in {percent(chance)}."
                   f"{_where(assessment)}")  # fmt: skip


def _where(assessment: Assessment) -> str:
    """Where the errors are: by class for two, the hardest pair for more."""
    names = [short(name, 30) for name in assessment.classes]
    if len(names) == 2:
        rates = [quantity(assessment, f"misleading_{k}").value for k in ("target", "other")]
        if not all(map(math.isfinite, rates)):
            return ""
        return (
            f" The evidence points the wrong way for {percent(rates[0])} of {names[1]} and "
            f"{percent(rates[1])} of {names[0]}."
        )
    cost = np.asarray(assessment.pairwise_cllr, dtype=float)
    if not np.isfinite(cost).any():
        return ""
    i, j = np.unravel_index(np.argmax(assessment.difficulty()), cost.shape)
    two = f"{names[min(i, j)]} and {names[max(i, j)]}"
    return f" Hardest to tell apart, were they recalibrated, are {two}."


def samples(assessment: Assessment) -> Verdict:
    """Whether there are samples enough to say all this."""
    total, rarest = sum(assessment.counts), min(assessment.counts)
    tone, word = (
        ("poor", "too few to be sure")
        if rarest < _FEW
        else ("fair", "enough for a rough answer")
        if rarest < _SOME
        else ("good", "enough to say this")
    )
    name = short(assessment.classes[assessment.counts.index(rarest)], 30)
    each = f"of {name}, the rarest, there {'is' if rarest == 1 else 'are'} {rarest:,}"
    if rarest == max(assessment.counts):
        each = f"of each, there are {rarest:,}" if rarest > 1 else "of each, there is one"
    return Verdict("samples", f"{total:,}", word, tone, f"{rarest:,} of the rarest class",
                   f"All this rests on {total:,} samples of {len(assessment.classes)} classes; "
                   f"{each}.{_of_intervals(assessment)}")  # fmt: skip


def _of_intervals(assessment: Assessment) -> str:
    if all(math.isnan(q.low) for q in assessment.quantities):
        return " No interval tells what chance in the drawing of samples may do."
    return (
        f" Intervals hold {100 * assessment.confidence:g} % and tell what chance in the drawing of "
        f"samples may do, not what other samples than these would bring."
    )


def _span(low: float, high: float, confidence: float, say: object) -> str:
    """An interval in words, or nothing where there is none."""
    if math.isnan(low) or math.isnan(high) or not callable(say):
        return ""
    return f"{say(low)} to {say(high)} ({100 * confidence:g} %)"
