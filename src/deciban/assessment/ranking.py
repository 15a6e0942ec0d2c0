"""Which of several systems is better, by how much, and whether the samples suffice to say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from deciban._markup import in_unit, number
from deciban.assessment.assess import compare
from deciban.assessment.quantities import cost_keys
from deciban.assessment.results import Comparison, Difference, Verdict
from deciban.evidence import Evidence

_MAX_TIMES = 100  # as many samples as there are: nobody collects more


def values_of(comparison: Comparison, key: str) -> dict[str, float]:
    """A quantity of each system that has it, by the system's name."""
    found = [one for one in comparison.differences if one.key == key]
    return {one.systems[0]: one.a for one in found} | {one.systems[1]: one.b for one in found}


def rank_systems(
    y_true: ArrayLike, systems: Mapping[str, Evidence], comparison: Comparison, **settings: Any
) -> tuple[Verdict, tuple[str, ...]]:
    """A verdict on the system that costs the least, and a sentence on each other system.

    If the best of more than two is not the first, it is compared with the others, too, under the
    ``settings`` of the comparison.
    """
    key, (first, *_) = cost_keys(len(comparison.classes) == 2)[0], comparison.systems
    costs = values_of(comparison, key)
    best = min(costs, key=costs.__getitem__)
    found = comparison.differences
    if best != first:
        found = tuple(_swap(one) for one in found if one.systems[1] == best)
        rest = {name: systems[name] for name in comparison.systems if name not in (first, best)}
        if rest:
            found += compare(y_true, {best: systems[best], **rest}, **settings).differences
    rivals = [name for name in comparison.systems if name != best]
    each = {name: {d.key: d for d in found if d.systems[1] == name} for name in rivals}
    n = sum(comparison.counts)
    sentences = [_compare_costs(each[name], key, comparison.confidence, n) for name in rivals]
    return _headline(best, {name: each[name][key] for name in rivals}), tuple(sentences)


def judge_calibration_gain(comparison: Comparison, folds: int) -> Verdict:
    """The effect of calibration, from a comparison of the systems "before" and "after"."""
    total, calibration, _ = cost_keys(len(comparison.classes) == 2)
    one, part = comparison[total], comparison[calibration]
    before, after = (in_unit(value, one.unit) for value in (one.a, one.b))
    costs = (
        f"Before calibration the scores cost {before} {one.unit} ({one.label}; lower is better), "
        f"after it {after}. {_describe_change(one, comparison.confidence)} The part that is due to "
        f"poor calibration went from {in_unit(part.a, part.unit)} to {in_unit(part.b, part.unit)}. "
        f"Each sample was calibrated by a fit to the others, in {folds} folds: calibration is "
        f"judged on samples that it had not seen."
    )
    big, word, tone, more = {
        "after better": ("It helps", "the evidence means more of what it says", "good", ""),
        "before better": ("It does harm", "use the scores as they are", "poor", " There are too "
                          "few samples, or the scores were calibrated already."),
        "same": ("Nothing", "the scores were calibrated already", "", ""),
        "": (f"{before} → {after} {one.unit}", "not tested for chance", "", ""),
        "cannot tell": ("No clear gain", "chance may explain the change", "fair", " The scores may "
                        "be calibrated already, or the samples too few to tell."),
    }[one.verdict]  # fmt: skip
    return Verdict("What did calibration change?", big, word, tone, costs + more)


def _swap(one: Difference) -> Difference:
    """The same difference with the systems in the other order."""
    return replace(
        one, systems=one.systems[::-1], a=one.b, b=one.a, difference=0.0 - one.difference,
        low=0.0 - one.high, high=0.0 - one.low,
    )  # fmt: skip


def _headline(best: str, rivals: Mapping[str, Difference]) -> Verdict:
    what = "Which system is better?" if len(rivals) == 1 else "Which system is best?"
    found = {one.verdict for one in rivals.values()}
    equals = [name for name, one in rivals.items() if one.verdict != f"{best} better"]
    suffice = "these samples do not suffice to say"
    if found == {"same"}:
        big, word, tone = "No difference", "the systems give the same evidence", ""
    elif "" in found:
        word = "whether by chance was not tested: no resamples were taken"
        big, tone = f"{best} costs the least", "fair"
    elif not equals:
        big = f"{best} is better" if len(rivals) == 1 else f"{best} is the best"
        word, tone = "these samples suffice to say so", "good"
    elif len(equals) == len(rivals):
        big, word, tone = "Cannot tell", suffice, "fair"
    else:
        big, word, tone = " or ".join([best, *equals]), f"{suffice} which of them", "fair"
    return Verdict(what, big, word, tone, "")


def _compare_costs(found: Mapping[str, Difference], key: str, confidence: float, n: int) -> str:
    """How the best system and another one differ in their costs, and why."""
    one = found[key]
    (best, rival), unit = one.systems, one.unit
    a, b = (in_unit(value, unit) for value in (one.a, one.b))
    sentence = f"{best} costs {a} {unit} and {rival} {b} {unit} ({one.label}; lower is better). "
    if one.verdict == "same":
        return f"{sentence}They do not differ in any resample."
    sentence += _describe_change(_swap(one), confidence)
    if one.verdict == f"{best} better":
        return f"{sentence} Chance does not explain this.{_reason(found, key)}"
    if not one.verdict:
        return sentence
    gain, half = abs(one.difference), (one.high - one.low) / 2
    times = math.ceil((half / gain) ** 2) if gain > 0 else math.inf
    remedy = f" If the difference stays what it is, about {times} times as many would."
    sentence += f" These {n:,} samples do not suffice to tell which one is better."
    return sentence + (remedy if 1 < times <= _MAX_TIMES else "")


def _describe_change(one: Difference, confidence: float) -> str:
    size = f"The difference is {number(one.difference)} {one.unit}"
    if math.isnan(one.low):
        return f"{size}; without resamples it has no interval."
    includes = "includes" if one.low <= 0 <= one.high else "excludes"
    ends = f"{number(one.low)} to {number(one.high)}"
    return f"{size}, with a {100 * confidence:g} % interval from {ends}, which {includes} zero."


def _reason(found: Mapping[str, Difference], key: str) -> str:
    """Whether the better system tells the classes apart, or is calibrated, better."""
    best, rival = found[key].systems
    ours = f"{best} better"
    _, *parts = cost_keys(key == "cllr")
    calibrated, apart = (found[part].verdict if part in found else "" for part in parts)
    if calibrated == ours and apart == f"{rival} better":
        return (
            f" But {rival} tells the classes apart better: recalibrated, it may be the better one. "
            f"Recalibrate it and compare again."
        )
    if apart == ours:
        lead = f" {best} tells the classes apart better"
        if calibrated != ours:
            return f"{lead}: recalibrating {rival} would not change it."
        return (
            f"{lead} and is better calibrated: recalibration would improve {rival}, but not make "
            f"up for all of it."
        )
    if calibrated == ours:
        return f" The difference is one of calibration: recalibrate {rival} and compare again."
    return ""
