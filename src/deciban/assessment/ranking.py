"""Which of several systems is better, by how much, and whether the samples suffice to say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from deciban._markup import in_unit, number
from deciban.assessment.assess import compare
from deciban.assessment.quantities import cost_keys
from deciban.assessment.results import Comparison, Difference, Verdict
from deciban.evidence import Evidence

_MOST_TIMES = 100  # as many samples as there are: nobody collects more


class Ranking(NamedTuple):
    """The system that costs the least, and what that is worth.

    ``differences`` are those of the best system from each of the others; ``verdicts`` has the
    whole in one tile, ``sentences`` one for each of the others.
    """

    best: str
    differences: tuple[Difference, ...]
    verdict: Verdict
    sentences: tuple[str, ...]


def values_of(comparison: Comparison, key: str) -> dict[str, float]:
    """A quantity of each system that has it, by the system's name."""
    found = [one for one in comparison.differences if one.key == key]
    return {one.systems[0]: one.a for one in found} | {one.systems[1]: one.b for one in found}


def rank_systems(
    y_true: ArrayLike, systems: Mapping[str, Evidence], comparison: Comparison, **settings: Any
) -> Ranking:
    """Find the system that costs the least, and compare it with each of the others.

    ``settings`` are those with which the systems were compared: where the best of more than two is
    not the first, it is compared with the others, too.
    """
    key = cost_keys(len(comparison.classes) == 2).total
    costs = values_of(comparison, key)
    best = min(costs, key=costs.__getitem__)
    first, *_ = comparison.systems
    found = comparison.differences
    if best != first:
        found = tuple(_swap(one) for one in found if one.systems[1] == best)
        rest = {name: systems[name] for name in comparison.systems if name not in (first, best)}
        if rest:
            more = compare(y_true, {best: systems[best], **rest}, **settings)
            found += more.differences
    rivals = [name for name in comparison.systems if name != best]
    each = {name: {d.key: d for d in found if d.systems[1] == name} for name in rivals}
    n = sum(comparison.counts)
    sentences = [_compare_costs(each[name], key, comparison.confidence, n) for name in rivals]
    verdict = _headline(best, {name: each[name][key] for name in rivals})
    return Ranking(best, found, verdict, tuple(sentences))


def judge_calibration_gain(comparison: Comparison, folds: int) -> Verdict:
    """What calibration has changed: ``comparison`` is of the systems "before" and "after"."""
    keys = cost_keys(len(comparison.classes) == 2)
    one, part = comparison[keys.total], comparison[keys.calibration]
    before, after = (in_unit(value, one.unit) for value in (one.a, one.b))
    what = "What did calibration change?"
    costs = (
        f"Before calibration the scores cost {before} {one.unit} ({one.label}; lower is better), "
        f"after it {after}. {_describe_change(one, comparison.confidence)} The part that is due to "
        f"poor calibration went from {in_unit(part.a, part.unit)} to {in_unit(part.b, part.unit)}. "
        f"Each sample was calibrated by a fit to the others, in {folds} folds: calibration is "
        f"judged on samples that it had not seen."
    )
    if one.verdict == "after better":
        return Verdict(what, "It helps", "the evidence means more of what it says", "good", costs)
    if one.verdict == "before better":
        more = " There are too few samples, or the scores were calibrated already."
        return Verdict(what, "It does harm", "use the scores as they are", "poor", costs + more)
    if one.verdict == "same":
        return Verdict(what, "Nothing", "the scores were calibrated already", "", costs)
    if not one.verdict:
        return Verdict(what, f"{before} → {after} {one.unit}", "not tested for chance", "", costs)
    more = " The scores may be calibrated already, or the samples too few to tell."
    return Verdict(what, "No clear gain", "chance may explain the change", "fair", costs + more)


def _swap(one: Difference) -> Difference:
    """The same difference with the systems in the other order."""
    return replace(
        one, systems=one.systems[::-1], a=one.b, b=one.a, difference=0.0 - one.difference,
        low=0.0 - one.high, high=0.0 - one.low,
    )  # fmt: skip


def _headline(best: str, rivals: Mapping[str, Difference]) -> Verdict:
    what = "Which system is better?" if len(rivals) == 1 else "Which system is best?"
    found = {one.verdict for one in rivals.values()}
    if found == {"same"}:
        return Verdict(what, "No difference", "the systems give the same evidence", "", "")
    if "" in found:
        word = "whether by chance was not tested: no resamples were taken"
        return Verdict(what, f"{best} costs the least", word, "fair", "")
    equals = [name for name, one in rivals.items() if one.verdict != f"{best} better"]
    if not equals:
        big = f"{best} is better" if len(rivals) == 1 else f"{best} is the best"
        return Verdict(what, big, "these samples suffice to say so", "good", "")
    if len(equals) == len(rivals):
        return Verdict(what, "Cannot tell", "these samples do not suffice to say", "fair", "")
    big = " or ".join([best, *equals])
    return Verdict(what, big, "these samples do not suffice to say which of them", "fair", "")


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
    remedy = ""
    if 1 < times <= _MOST_TIMES:
        remedy = f" If the difference stays what it is, about {times} times as many would."
    return f"{sentence} These {n:,} samples do not suffice to tell which one is better.{remedy}"


def _describe_change(one: Difference, confidence: float) -> str:
    """The difference with its interval, and whether this contains zero."""
    size = f"The difference is {number(one.difference)} {one.unit}"
    if math.isnan(one.low):
        return f"{size}; without resamples it has no interval."
    includes = "includes" if one.low <= 0 <= one.high else "excludes"
    ends = f"{number(one.low)} to {number(one.high)}"
    return f"{size}, with a {100 * confidence:g} % interval from {ends}, which {includes} zero."


def _reason(found: Mapping[str, Difference], key: str) -> str:
    """Whether the better system tells the classes apart, or is calibrated, better."""
    best, rival = found[key].systems
    ours, theirs = f"{best} better", f"{rival} better"
    parts = cost_keys(key == "cllr")[:0:-1]
    apart, calibrated = (found[part].verdict if part in found else "" for part in parts)
    if calibrated == ours and apart == theirs:
        return (
            f" But {rival} tells the classes apart better: recalibrated, it may be the better one. "
            f"Recalibrate it and compare again."
        )
    if calibrated == ours and apart == ours:
        return (
            f" {best} tells the classes apart better and is better calibrated: recalibration would "
            f"improve {rival}, but not make up for all of it."
        )
    if apart == ours:
        return f" {best} tells the classes apart better: recalibrating {rival} would not change it."
    if calibrated == ours:
        return f" The difference is one of calibration: recalibrate {rival} and compare again."
    return ""
