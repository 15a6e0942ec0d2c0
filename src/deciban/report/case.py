"""One page on one case, for a reader who is no statistician."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._markup import number, percent, shorten
from deciban._validation.scalars import quote
from deciban.calibration.bounded import upper_bound
from deciban.evidence import SCALES, Evidence, from_nats
from deciban.evidence.bayes import find_members, log_prior, pool_members
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, Scores, Trials, read_labelled
from deciban.report.bundle import describe_provenance, pack_samples, thin_samples, write_page

Group = Sequence[Hashable]
_BEFORE = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)  # priors of the table
_FEWEST_TIMES, _MOST_TIMES = 2, 1e6  # ratios that are worth a word, and that a reader can picture
_ROUNDING = 1e-6  # nats
_RARE = 0.01  # share of the training rows below which a row is unlike them


def case_report(
    evidence: Evidence,
    *,
    title: str,
    lead: str = "",
    groups: Sequence[tuple[Group, Group]] | None = None,
    prior: Any = None,
    weights: Any = None,
    interval: tuple[float, float] | None = None,
    validation: tuple[ArrayLike, Evidence] | None = None,
    measurements: Mapping[str, Any] | None = None,
    typicality: float | None = None,
    decision: Hashable | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """One page on one sample, as HTML that opens anywhere and loads nothing.

    It is written for readers who are no statisticians: the result in words, the posterior under a
    prior that the reader moves, and the limits.

    Parameters
    ----------
    evidence : Evidence
        One sample.
    title : str
    lead : str
        Description of the sample.
    groups : sequence of pairs of lists of classes, optional
        Further questions: each sets one group of classes against another. The first question is
        always the likeliest class against all others, unless there are two classes.
    prior : array or mapping, default uniform
        Prior for the posteriors.
    weights : array or mapping, default uniform
        Prior for the classes within a group.
    interval : tuple of two float, optional
        Interval for the LLR in favor of the second of two classes, in nats.
    validation : pair of true classes and Evidence, optional
        Labeled samples that the model has not seen.
    measurements : dict, optional
        Measurements on the sample, by name.
    typicality : float, optional
        Share of the training rows that are less likely than this one.
    decision : label, optional
        The decision under the costs that were given.
    provenance : dict, optional
        As for :func:`deciban.report.report`.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    deciban.Evidence.verbal : The words for the strength of evidence.
    report : A page on how good the evidence of many samples is.

    Examples
    --------
    >>> case = Evidence.from_llr([6.2], "same speaker", "another speaker")
    >>> page = case_report(case, title="Recording 17", lead="A telephone call of 40 seconds.")
    >>> page[:15], "moderately strong support" in page
    ('<!doctype html>', True)
    """
    if len(evidence) != 1:
        raise InputError(f"evidence must hold one sample; got {len(evidence)}. Select one.")
    if interval is not None and evidence.n_classes != 2:
        raise InputError("interval needs two classes; got more. Leave it out.")
    known = None
    if validation is not None:
        y_true, judged = validation
        known = read_labelled(y_true, judged.restrict(evidence.classes), every_class=False)
    questions = [
        _answer(evidence, target, other, weights, interval, known)
        for target, other in _questions(evidence, groups or ())
        if not np.isnan(_llr(evidence, target, other, weights)[0])  # rules out both: no answer
    ]
    classes, scale = [str(label) for label in evidence.classes], SCALES["enfsi"]
    numbers = [one["numbers"] for one in questions]
    pairs = zip(classes, evidence.posterior(prior)[0].tolist(), strict=True)
    posterior = dict(sorted(pairs, key=lambda pair: -pair[1]))
    context = {
        "kind": "What one case shows", "lead": lead, "questions": questions,
        "question_rows": [
            (one["target"], one["other"], number(one["deciban"]), one["words"]) for one in numbers
        ],
        "validated": known is not None, "before": [percent(p, 3) for p in _BEFORE],
        "decision": None if decision is None else str(decision),
        "posterior": [(shorten(name, 60), percent(p, 3)) for name, p in posterior.items()],
        "prior": _describe_prior(prior, evidence.classes),
        "unlike": _describe_typicality(typicality),
        "measurements": [(name, _plain(value)) for name, value in (measurements or {}).items()],
        "scale": scale.source, "provenance": describe_provenance(provenance),
    }  # fmt: skip
    values = {
        "classes": classes, "questions": numbers,
        "weights": _normalize(weights, evidence.classes),
        "samples": None if known is None else pack_samples(known, thin_samples(known)),
        "cuts": [math.log(cut) for cut in scale.cuts], "words": list(scale.words),
        "numbers": {
            "classes": classes, "log_likelihoods": evidence.log_likelihoods[0],
            "questions": numbers, "posterior": posterior, "provenance": provenance,
        },
    }  # fmt: skip
    return write_page("case", values, title=title, **context)


def _questions(
    evidence: Evidence, groups: Sequence[tuple[Group, Group]]
) -> list[tuple[list[Hashable], list[Hashable]]]:
    """Groups of classes to set against each other, each question once; the best class first."""
    classes, best = evidence.classes, int(np.argmax(evidence.log_likelihoods[0]))
    first = [classes[best]], [*classes[:best], *classes[best + 1 :]]
    pairs = [first, *((list(a), list(b)) for a, b in groups)]
    found: dict[frozenset[frozenset[Hashable]], tuple[list[Hashable], list[Hashable]]] = {}
    for pair in pairs:
        found.setdefault(frozenset(map(frozenset, pair)), pair)
    return list(found.values())


def _answer(
    evidence: Evidence, target: Group, other: Group, weights: Any,
    interval: tuple[float, float] | None, known: Labelled | None,
) -> dict[str, Any]:  # fmt: skip
    """What the sample says about one group of classes against another, in numbers and words."""
    llr = float(_llr(evidence, target, other, weights)[0])
    if llr < 0:  # readers take in what speaks for something more easily than what speaks against
        target, other, llr = other, target, -llr
    names = [_name(target), _name(other)]
    ends = None
    if interval is not None:
        ends = _favor(interval, evidence, list(target) == [evidence.classes[1]])
    ratio = _ratio(llr)
    found: dict[str, Any] = {
        "target": names[0], "other": names[1], "llr": llr, "interval": ends,
        "groups": [[evidence.classes.index(label) for label in group] for group in (target, other)],
        "deciban": float(from_nats(llr, "deciban")),
        "words": str(SCALES["enfsi"].describe([llr], *names)[0]),
    }  # fmt: skip
    if known is not None:
        found["support"] = _support(known, target, other, weights, llr)
    # What was not tested is not reckoned with: the posterior is then a lower bound.
    beyond = _is_beyond(found)
    found["usable"] = max(0.0, found["support"]["bound"]) if beyond else llr
    least = "at least " if beyond else ""
    odds = [math.log(p) - math.log1p(-p) + found["usable"] for p in _BEFORE]
    return {
        "numbers": found,
        "title": f"{names[0]}, or {names[1]}?",
        "sentence": _sentence(llr, *names),
        "words": found["words"][:1].upper() + found["words"][1:],
        "ratio": ratio,
        "deciban": number(found["deciban"]),
        "interval": _describe_interval(ends),
        "after": [_percent_after(x) for x in odds],
        "least": least,
        "usable": _ratio(found["usable"]),
        "limits": _describe_support(found, known) if known is not None else [],
        "caution": _caution(found),
    }


def _favor(interval: tuple[float, float], evidence: Evidence, second: bool) -> list[float]:
    """The interval in favor of the first or the second class."""
    low, high = interval
    other, favored = evidence.classes
    if not low - _ROUNDING <= float(evidence.llr(favored, other)[0]) <= high + _ROUNDING:
        raise InputError(
            f"interval must hold the LLR in favor of {quote(favored)}; got {low:g} to {high:g}. "
            f"Give the ends for that class, low first."
        )
    return [low, high] if second else [-high, -low]


def _support(
    known: Labelled, target: Group, other: Group, weights: Any, llr: float
) -> dict[str, Any]:
    """What samples whose class is known say about ratios like this one."""
    both = _llr(known.evidence, target, other, weights)
    mix = np.array(_normalize(weights, known.evidence.classes)) / np.maximum(known.counts, 1)
    sides, sizes = [], []
    for group, misled in ((target, -np.inf), (other, np.inf)):
        rows = np.isin(known.codes, find_members(list(group), known.evidence.classes))
        # A sample that rules out both groups, its own too, misleads without limit.
        scores = np.where(np.isnan(both[rows]), misled, both[rows])
        # The LLR mixes the classes of a group by their weights, and so must its samples be mixed.
        weight = mix[known.codes[rows]]
        sides.append(Scores(scores, weight))
        # As many samples as would tell as much if all counted alike.
        sizes.append(float(weight.sum() ** 2 / (weight @ weight)) if len(weight) else 0.0)
    ours, theirs = sides
    found: dict[str, Any] = {
        "n_target": len(ours.llr), "n_other": len(theirs.llr),
        "as_high": int((theirs.llr >= llr).sum()), "bound": None,
    }  # fmt: skip
    if len(ours.llr) and len(theirs.llr):
        found["bound"] = upper_bound(Trials(ours, theirs), sizes[0], sizes[1], 1.0)
    return found


def _llr(evidence: Evidence, target: Group, other: Group, weights: Any) -> NDArray[np.float64]:
    """LLRs of one group against another; NaN where both are ruled out."""
    p = log_prior(weights, evidence.classes)
    a, b = (
        pool_members(evidence.log_likelihoods, find_members(list(group), evidence.classes), p)
        for group in (target, other)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(a - b)


# --- words --------------------------------------------------------------------------------


def _name(group: Group) -> str:
    names = [shorten(label, 40) for label in group]
    if len(names) > 6:
        return f"one of {len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _ratio(llr: float) -> str:
    """The likelihood ratio with as many digits as a reader can use."""
    if 700 < llr < math.inf:  # beyond double precision, but not infinite
        power = str(int(min(llr, 1e6) / math.log(10)))
        return f"over 10{power.translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    return number(math.exp(llr), 2)


def _percent_after(log_odds: float) -> str:
    """A posterior in percent; what is not certain is not rounded to it."""
    if 36 < log_odds < math.inf:
        return percent(0.9999)
    return percent(1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0, 3)


def _is_beyond(found: Mapping[str, Any]) -> bool:
    """Whether the ratio is larger than what the tested samples support."""
    bound = found.get("support", {}).get("bound")
    return bound is not None and bound < found["llr"] - 1e-9


def _caution(found: Mapping[str, Any]) -> str:
    """What to quote in place of a ratio that was not tested."""
    if not _is_beyond(found):
        return ""
    bound = found["support"]["bound"]
    if bound < math.log(_FEWEST_TIMES):
        return "The samples that the model was tested on support no such ratio: do not rely on it."
    words = SCALES["enfsi"].describe([bound], found["target"], found["other"])[0]
    return (
        f"The samples that the model was tested on support ratios up to about {_ratio(bound)} "
        f"only: quote “more than {_ratio(bound)}”, which is at least {words}."
    )


def _sentence(llr: float, target: str, other: str) -> str:
    ratio = _ratio(llr)
    if llr == math.inf:
        return f"What was measured is possible if it is {target}, and impossible if it is {other}."
    if ratio == "1":
        return f"What was measured is as probable if it is {target} as if it is {other}."
    times = f"about {ratio} times" if llr < math.log(_MOST_TIMES) else "over a million times"
    return f"What was measured is {times} as probable if it is {target} as if it is {other}."


def _describe_interval(ends: list[float] | None) -> str:
    if ends is None:
        return ""
    low, high = (number(math.exp(min(end, 700)), 2) for end in ends)
    return f"The samples behind the model leave open a ratio from {low} to {high}."


def _describe_support(found: Mapping[str, Any], known: Labelled) -> list[str]:
    """How far the validation supports the ratio."""
    support, target, other = found["support"], found["target"], found["other"]
    n, m, ratio = support["n_target"], support["n_other"], _ratio(found["llr"])
    sentences = [
        f"The model was tested on {len(known.codes):,} samples whose class is known: {n:,} of "
        f"{target} and {m:,} of {other}."
    ]
    if m:
        high = "None" if support["as_high"] == 0 else f"{support['as_high']:,}"
        sentences.append(
            f"{high} of the {m:,} samples of {other} had a ratio of {ratio} or more for {target}, "
            f"as this case has."
        )
    if support["bound"] is None:
        return [*sentences, "Without samples of both, the test says nothing about this ratio."]
    bound = _ratio(support["bound"])
    sentences.append(
        _caution(found) or f"The test supports ratios for {target} up to about {bound}."
    )
    return sentences


def _describe_typicality(share: float | None) -> str:
    if share is None:
        return ""
    sentence = f"{percent(share)} of the rows that the model learned from are less likely than it."
    if share < _RARE:
        sentence += " It is unlike them: what the model says of it is an extrapolation."
    return sentence


def _describe_prior(prior: Any, classes: tuple[Hashable, ...]) -> str:
    if prior is None:
        return "each class equally probable before"
    pairs = zip(classes, _normalize(prior, classes), strict=True)
    shares = [f"{shorten(label, 30)} {percent(p, 3)}" for label, p in pairs]
    return "before: " + ", ".join(shares[:12]) + (", …" if len(shares) > 12 else "")


def _normalize(prior: Any, classes: tuple[Hashable, ...]) -> list[float]:
    if prior is None:
        return [1 / len(classes)] * len(classes)
    values = [prior[c] for c in classes] if isinstance(prior, Mapping) else list(prior)
    return [float(value) / sum(values) for value in values]


def _plain(value: Any) -> str:
    if value is None:
        return "missing"
    return number(value, 6) if isinstance(value, float) else str(value)
