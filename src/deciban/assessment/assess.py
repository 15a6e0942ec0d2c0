"""Every metric of a set of evidence, with its interval and what it means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from deciban._validation import index_of, quote_each, read_labels
from deciban.assessment import optimism, several_classes, two_classes
from deciban.assessment.intervals import (
    NO_RANGE,
    Counts,
    Plan,
    Range,
    bca,
    checked_plan,
    mean_ranges,
    resampled,
)
from deciban.assessment.meanings import SEVERAL_CLASSES, TWO_CLASSES
from deciban.assessment.proportions import pooled_range, sum_range, wider, with_unseen
from deciban.assessment.quantities import Assessment, Quantity, described
from deciban.assessment.two_classes import Point
from deciban.assessment.wording import number
from deciban.evidence import Evidence
from deciban.evidence.decisions import cost_matrix
from deciban.evidence.priors import log_prior
from deciban.exceptions import InputError
from deciban.metrics import pairwise_cllr
from deciban.metrics.proportions import wilson

_FEW = 30
_TRIFLE = 0.005  # of a quantity that is corrected


def assess(
    y_true: Any,
    evidence: Evidence,
    *,
    prior: Any = None,
    costs: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Assessment:
    """Every metric that suits the evidence, with an interval.

    Samples are drawn again within each class. Numbers are those of all samples; intervals of more
    than a few thousand come from bins of LLRs, or bags of samples, whose counts are drawn again.
    Rates of errors have Wilson's intervals, which hold where no error was seen. What PAV makes of
    the samples that it judges, such as Cllr_min, comes out too good from few samples: intervals
    make up for it. There is none of devPAV, which is too large by an amount that resamples do not
    tell.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur.
    evidence : Evidence
        Of two classes, the second is the one that LLRs are in favour of.
    prior : array of shape (n_classes,) or mapping, default uniform
        Under which cross-entropy, accuracy and costs are taken.
    costs : array of shape (n_classes, n_classes), optional
        ``costs[i, j]`` is what it costs to decide for class j when class i is true.
    confidence : float, default 0.95
    n_resamples : int, default 1000
        0 for no intervals.
    seed : int, default 0

    Returns
    -------
    Assessment

    Examples
    --------
    >>> y = [0] * 50 + [1] * 50
    >>> found = assess(y, Evidence.from_llr(np.linspace(-3, 3, 100)), n_resamples=200)
    >>> found["cllr"].low < found["cllr"].value < found["cllr"].high
    True
    """
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"evidence must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )
    truth = codes_of(y_true, evidence.classes, len(evidence))
    return assess_codes(
        truth, evidence, prior=prior, costs=costs,
        plan=checked_plan(confidence, n_resamples, seed),
    )  # fmt: skip


def assess_codes(
    truth: np.ndarray, evidence: Evidence, *, prior: Any, costs: Any, plan: Plan
) -> Assessment:
    """:func:`assess` where the truth is positions among the classes."""
    counts = class_counts(truth, evidence.classes)
    point = operating_point(prior, costs, evidence.classes)
    judged = _of_two if evidence.n_classes == 2 else _of_several
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        found = judged(truth, evidence, point, plan)
    return Assessment(
        classes=evidence.classes, counts=tuple(counts.tolist()), quantities=found.quantities,
        pairwise_cllr=found.pairwise[0], pairwise_cllr_min=found.pairwise[1],
        confidence=plan.confidence,
        warnings=(*few_samples(counts, evidence.classes, plan), *found.notes),
        prior=tuple(np.asarray(point.prior, dtype=float).tolist()), costs=point.costs,
        infinite=int(np.isinf(evidence.log_likelihoods).any(axis=1).sum()),
        wrong=found.wrong, expected_wrong=found.expected_wrong,
    )  # fmt: skip


class _Judged(NamedTuple):
    quantities: tuple[Quantity, ...]
    pairwise: tuple[np.ndarray, np.ndarray]
    notes: list[str]
    wrong: int
    expected_wrong: float


def few_samples(counts: np.ndarray, classes: tuple[Hashable, ...], plan: Plan) -> list[str]:
    """A warning where the rarest class is too rare for intervals to hold what they promise."""
    rarest = int(np.argmin(counts))
    if counts[rarest] >= _FEW or plan.n_resamples == 0:
        return []
    few = "1 sample" if counts[rarest] == 1 else f"{counts[rarest]} samples"
    return [f"Class {classes[rarest]!r} has only {few}: intervals are rough."]


def _of_two(truth: np.ndarray, evidence: Evidence, point: Point, plan: Plan) -> _Judged:
    other, target = evidence.classes
    llr, is_target = evidence.llr(target, other), truth == 1
    values = two_classes.exact_values(llr, is_target, point)
    found = _two_class_ranges(llr, is_target, point, values, plan)
    named = {"target": target, "other": other, "nothing": _cost_of_nothing(point)}
    quantities = tuple(
        described(key, values[key], found.get(key, NO_RANGE), named)
        for key in TWO_CLASSES
        if key in values
    )
    pairs = tuple(_off_diagonal(values[key]) for key in ("cllr", "cllr_min"))
    notes = [*score_notes(llr, is_target, target, other), *_fitted_notes(quantities)]
    decided = two_classes.steps(point)["accuracy"].above(llr)
    doubt = expit(-np.abs(llr + point.log_odds))
    return _Judged(
        quantities,
        (pairs[0], pairs[1]),
        notes,
        int((decided != is_target).sum()),
        float(doubt.sum()),
    )


def _two_class_ranges(
    llr: np.ndarray, is_target: np.ndarray, point: Point, values: Mapping[str, float], plan: Plan
) -> dict[str, Range]:
    if plan.n_resamples == 0:
        return {}
    binned = two_classes.Binned(llr, is_target, point)
    keys = ("cllr", "cross_entropy", *two_classes.FITTED)
    # What is doubted is no value that bins could be off from.
    exact = np.array([values[key] for key in keys] + [np.nan] * len(two_classes.FITTED))
    rng = np.random.default_rng([plan.seed, 1])

    def statistic(counts: Counts) -> np.ndarray:
        of = binned.values(counts)
        doubted = binned.doubted(counts, rng.poisson(optimism.MISLEADING, 2), of["cllr"])
        return np.array([of[k] for k in keys] + [doubted[k] for k in two_classes.FITTED])

    resamples, left_out = resampled(statistic, binned.counts, exact, plan)
    found = {
        key: bca(values[key], resamples[:, k], left_out[:, k], plan.confidence)
        for k, key in enumerate(keys[:2])
    }
    for key, unseen in two_classes.unseen([llr], is_target, point, plan.confidence).items():
        found[key] = with_unseen(values[key], found[key], unseen)
    for k, key in enumerate(two_classes.FITTED, start=2):
        make = optimism.of_larger if key == "cllr_cal" else optimism.of_smaller
        doubted = resamples[:, k + len(two_classes.FITTED)]
        found[key] = make(values[key], resamples[:, k], doubted, plan.confidence)
    for key, step in two_classes.steps(point).items():
        found[key] = sum_range(values[key], step.cells(llr, is_target), plan.confidence)
    return found


def _cost_of_nothing(point: Point) -> str:
    """What the best decision without evidence costs, in words for a table."""
    return "" if point.costs is None else number(float((point.prior @ point.costs).min()))


def score_notes(
    llr: np.ndarray, is_target: np.ndarray, target: Hashable, other: Hashable
) -> list[str]:
    """What LLRs look like that were not meant to be given: ratios, reversed or impossible ones."""
    notes = []
    wrong = np.where(is_target, llr < 0, llr > 0)
    times = np.bincount(is_target, minlength=2)
    low, _ = wilson(np.bincount(is_target, weights=wrong, minlength=2), times, 0.95)
    if min(low) > 0.5:
        notes.append(
            f"The LLRs point the wrong way for most samples of both classes: they may be in favour "
            f"of {other!r} rather than of {target!r}. Check which class they are in favour of."
        )
    elif llr.min() >= 0 and llr.max() > 0:
        notes.append(
            "No LLR is below zero: if these are likelihood ratios, take their logarithms first."
        )
    return [*notes, *_ruled_out(np.isinf(llr) & wrong)]


def _ruled_out(where: np.ndarray) -> list[str]:
    """A note on samples whose cost is infinite."""
    if not where.any():
        return []
    first, count = int(np.argmax(where)) + 1, int(where.sum())
    if count == 1:
        return [f"Sample {first:,} rules out its true class: its cost is infinite."]
    return [
        f"{count:,} of {len(where):,} samples rule out their true class, sample {first:,} the "
        f"first: their cost is infinite."
    ]


def _of_several(truth: np.ndarray, evidence: Evidence, point: Point, plan: Plan) -> _Judged:
    names, evidence = evidence.classes, comparable(truth, evidence)
    costs, notes = several_classes.sample_costs(truth, evidence, point)
    totals = {key: costs.total(key) for key in costs.of}
    found = dict.fromkeys(totals, NO_RANGE)
    if plan.n_resamples:
        found = _several_ranges(costs, totals, plan)
        cells = several_classes.right_decisions(costs, point)
        found["accuracy"] = wider(
            sum_range(totals["accuracy"], cells, plan.confidence),
            pooled_range(totals["accuracy"], cells, plan.confidence),
        )
    if "saving" in totals:
        _set_calibration(totals, found)
    nothing = float(-point.prior @ np.log(point.prior))
    totals["normalized_cross_entropy"] = totals["cross_entropy"] / nothing
    found["normalized_cross_entropy"] = Range(*(x / nothing for x in found["cross_entropy"]))
    pairwise = pairwise_cllr(truth, evidence)
    i, j = (int(k) for k in np.unravel_index(np.nanargmax(pairwise.cllr), pairwise.cllr.shape))
    totals["worst_pair_cllr"] = float(pairwise.cllr[i, j])
    found["worst_pair_cllr"] = _worst_pair_range(truth, evidence, (i, j), plan)
    named = {"a": names[i], "b": names[j], "nothing": _cost_of_nothing(point)}
    quantities = tuple(
        described(key, totals[key], found[key], named) for key in SEVERAL_CLASSES if key in totals
    )
    return _Judged(
        quantities, (pairwise.cllr, pairwise.cllr_min),
        [*_below_chance(quantities, point), *_ruled_out(np.isinf(costs.of["cross_entropy"])),
         *notes],
        int((~costs.right).sum()), costs.expected_errors,
    )  # fmt: skip


def comparable(truth: np.ndarray, evidence: Evidence) -> Evidence:
    """The evidence with classes by number; none is ruled out beside a true one that is.

    What a sample that rules out its true class says of others that it rules out does not matter:
    its cost is infinite. But it must be told from nothing at all.
    """
    evidence = evidence.rename(range(evidence.n_classes))
    rows = np.flatnonzero(np.isneginf(evidence.log_likelihoods[np.arange(len(truth)), truth]))
    if not len(rows):
        return evidence
    values = evidence.log_likelihoods.copy()
    others = np.where(np.isneginf(values[rows]), -1e3, values[rows])
    others[np.arange(len(rows)), truth[rows]] = -np.inf
    values[rows] = others
    return Evidence(values, evidence.classes)


def _several_ranges(
    costs: several_classes.SampleCosts, totals: Mapping[str, float], plan: Plan
) -> dict[str, Range]:
    keys = list(costs.of)
    found = dict(zip(keys, mean_ranges(costs.by_class(keys), plan), strict=True))
    rates = costs.error_rates(plan.confidence)
    for key in costs.mirrored:
        found[key] = with_unseen(totals[key], found[key], costs.unseen(key, rates))
    return found


def _set_calibration(totals: dict[str, float], found: dict[str, Range]) -> None:
    """Cost = discrimination + calibration, where recalibration that does not pay is not used.

    A map that has to be learnt from few samples does harm, however poor the calibration is. What
    it may lose then tells how small a saving these samples cannot show.
    """
    saving = max(0.0, totals.pop("saving"))
    totals["calibration"] = saving
    totals["discrimination"] = totals["cross_entropy"] - saving
    found["calibration"] = found.pop("saving")
    low, high, _ = found["calibration"]
    if saving == 0 and not math.isnan(low):
        found["calibration"] = Range(0.0, min(max(high, -low), found["cross_entropy"].high))
        found["discrimination"] = found["cross_entropy"]


def _worst_pair_range(
    truth: np.ndarray, evidence: Evidence, worst: tuple[int, int], plan: Plan
) -> Range:
    """Interval of the Cllr of two classes that were chosen, of all pairs, because it is largest.

    It is as wide as it must be for all pairs to be held at once (Bonferroni).
    """
    if plan.n_resamples == 0:
        return NO_RANGE
    i, j = worst
    pair = (truth == i) | (truth == j)
    llr, is_target = evidence[pair].llr(j, i), truth[pair] == j
    even = Point(np.array([0.5, 0.5]))
    cost = two_classes.columns(even)["cllr"](llr, is_target)
    by_class = [cost[None, ~is_target], cost[None, is_target]]
    value = float(sum(c.mean() for c in by_class))
    unseen = two_classes.unseen([llr], is_target, even, plan.confidence)["cllr"]
    found = with_unseen(value, mean_ranges(by_class, plan)[0], unseen)
    if np.isinf(value):
        return found
    n_pairs = evidence.n_classes * (evidence.n_classes - 1) / 2
    tail = (1 - plan.confidence) / 2
    wider_by = float(ndtri(tail / n_pairs) / ndtri(tail))
    return Range(value - wider_by * (value - found.low), value + wider_by * (found.high - value))


def _below_chance(quantities: tuple[Quantity, ...], point: Point) -> list[str]:
    """A note where decisions are worse than guessing: columns may have been swapped."""
    accuracy = next(q for q in quantities if q.key == "accuracy")
    if not accuracy.high < float(point.prior.max()):
        return []
    return [
        "Decisions are right less often than guessing would be: check that each column of scores "
        "is that of its class, and that higher is likelier."
    ]


def _fitted_notes(quantities: tuple[Quantity, ...]) -> list[str]:
    """A note on quantities whose interval leaves them out by more than a trifle."""
    notes = []
    for q in quantities:
        if not (q.low <= q.value <= q.high) and abs(q.value - q.corrected) > _TRIFLE:
            size = "large" if q.value > q.high else "small"
            notes.append(
                f"{q.label} comes out too {size} from this few samples; {number(q.corrected)} is "
                f"nearer to the truth. Quote its interval."
            )
    return notes


def _off_diagonal(value: float) -> np.ndarray:
    return np.array([[np.nan, value], [value, np.nan]])


def operating_point(prior: Any, costs: Any, classes: tuple[Hashable, ...]) -> Point:
    """The prior and the costs, checked."""
    p = np.exp(log_prior(prior, classes, 1)[0])
    if costs is None:
        return Point(p)
    C = cost_matrix(costs, classes)
    right = np.diag(C)[:, None]
    wrong = np.argwhere((right >= C) & ~np.eye(len(classes), dtype=bool))
    if len(wrong):
        i, j = wrong[0]
        raise InputError(
            f"costs must be higher for each error than for the right decision; deciding for "
            f"{classes[j]!r} when {classes[i]!r} is true costs {C[i, j]:g}, deciding right "
            f"{C[i, i]:g}. Raise the one or lower the other."
        )
    return Point(p, C)


def codes_of(y_true: Any, classes: tuple[Hashable, ...], n_samples: int) -> np.ndarray:
    """Position of each label among the classes; sorting millions of words would take long."""
    labels = read_labels(y_true, n_samples)
    if labels.dtype == object or len(classes) > 20:
        place = {label: k for k, label in enumerate(classes)}
        codes = np.fromiter((place.get(label, -1) for label in labels.tolist()), np.int32)
    else:
        codes = np.full(len(labels), -1, dtype=np.int32)
        for k, label in enumerate(classes):
            codes[np.broadcast_to(labels == label, labels.shape)] = k
    if (codes < 0).any():
        index_of(labels.tolist()[int(np.argmin(codes))], classes)
    return codes


def class_counts(truth: np.ndarray, classes: tuple[Hashable, ...]) -> np.ndarray:
    """Samples of each class; each must have some."""
    counts = np.bincount(truth, minlength=len(classes))
    missing = [label for label, count in zip(classes, counts, strict=True) if count == 0]
    if missing:
        raise InputError(
            f"y_true must hold every class; it lacks {quote_each(missing)}. Add samples of it, or "
            f"leave it out with evidence.restrict."
        )
    return counts
