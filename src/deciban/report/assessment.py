"""Every metric of a set of evidence, with its interval and what it means."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deciban._arrays import index_of, listed
from deciban.evidence import Evidence
from deciban.evidence.decisions import cost_matrix
from deciban.evidence.priors import log_prior
from deciban.exceptions import InputError
from deciban.metrics import pairwise_cllr
from deciban.metrics.trials import as_label_vector
from deciban.report import several_classes, two_classes
from deciban.report.intervals import Plan, Range, checked_plan, mean_ranges, ranges
from deciban.report.meanings import MEANINGS, SEVERAL_CLASSES, TWO_CLASSES
from deciban.report.two_classes import Point

_FEW = 30


@dataclass(frozen=True)
class Quantity:
    """A number with its interval.

    Attributes
    ----------
    key : str
        Stable, for programs.
    label : str
    value, low, high : float
        The ends are NaN where there is no interval.
    unit : str
        "bit", "nat", "ban", "fraction", "cost" or "".
    better : {"lower", "higher", ""}
    meaning : str
        One sentence for a reader in a hurry.
    """

    key: str
    label: str
    value: float
    low: float
    high: float
    unit: str
    better: str
    meaning: str


@dataclass(frozen=True)
class Assessment:
    """What a set of evidence is worth.

    Attributes
    ----------
    classes : tuple
    counts : tuple of int
        Samples of each class.
    quantities : tuple of Quantity
    pairwise_cllr, pairwise_cllr_min : arrays of shape (n_classes, n_classes)
        In bits; NaN on the diagonal.
    confidence : float
        Of the intervals.
    warnings : tuple of str
        What a reader should know before quoting a number.
    prior : tuple of float, optional
        Of the cross-entropy, the accuracy and the expected cost; None for the uniform one.
    """

    classes: tuple[Hashable, ...]
    counts: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    pairwise_cllr: np.ndarray
    pairwise_cllr_min: np.ndarray
    confidence: float
    warnings: tuple[str, ...]
    prior: tuple[float, ...] | None = None

    def __getitem__(self, key: str) -> Quantity:
        """A quantity by its key."""
        for quantity in self.quantities:
            if quantity.key == key:
                return quantity
        keys = [quantity.key for quantity in self.quantities]
        raise KeyError(f"key must be one of {', '.join(keys)}; got {key!r}")

    def difficulty(self) -> np.ndarray:
        """How hard each two classes are to tell apart: by Cllr_min, by Cllr where that ties."""
        least, cost = (
            np.nan_to_num(np.asarray(table, dtype=float), nan=0.0, posinf=1e3)
            for table in (self.pairwise_cllr_min, self.pairwise_cllr)
        )
        return np.asarray(least + 1e-6 * cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: NaN is None (null), infinities are "inf" and "-inf"."""
        return {
            "classes": [plain(label) for label in self.classes],
            "counts": list(self.counts),
            "confidence": self.confidence,
            "quantities": [
                {name: plain(value) for name, value in asdict(quantity).items()}
                for quantity in self.quantities
            ],
            "pairwise_cllr": [[plain(x) for x in row] for row in self.pairwise_cllr.tolist()],
            "pairwise_cllr_min": [
                [plain(x) for x in row] for row in self.pairwise_cllr_min.tolist()
            ],
            "warnings": list(self.warnings),
        }


def plain(value: Any) -> Any:
    """A label or number as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


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
    """Every metric that suits the evidence, with a bootstrap interval.

    Samples are drawn again within each class. Numbers are those of all samples; intervals of more
    than a few thousand come from bins of LLRs, or bags of samples, whose counts are drawn again.

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
    warnings = []
    rarest = int(np.argmin(counts))
    if counts[rarest] < _FEW and plan.n_resamples:
        warnings.append(
            f"Class {evidence.classes[rarest]!r} has only {counts[rarest]} samples: intervals are "
            f"rough."
        )
    judged = _of_two if evidence.n_classes == 2 else _of_several
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        quantities, pairwise, notes = judged(truth, evidence, point, plan)
    return Assessment(
        classes=evidence.classes, counts=tuple(counts.tolist()), quantities=quantities,
        pairwise_cllr=pairwise[0], pairwise_cllr_min=pairwise[1],
        confidence=plan.confidence, warnings=(*warnings, *notes),
        prior=tuple(np.asarray(point.prior, dtype=float).tolist()),
    )  # fmt: skip


_Judged = tuple[tuple[Quantity, ...], tuple[np.ndarray, np.ndarray], list[str]]


def _of_two(truth: np.ndarray, evidence: Evidence, point: Point, plan: Plan) -> _Judged:
    other, target = evidence.classes
    llr, is_target = evidence.llr(target, other), truth == 1
    values = two_classes.exact_values(llr, is_target, point)
    keys = [key for key in TWO_CLASSES if key in values]
    found = _two_class_ranges(llr, is_target, point, values, keys, plan)
    named = {"target": target, "other": other}
    quantities = tuple(
        described(key, values[key], found_range, named)
        for key, found_range in zip(keys, found, strict=True)
    )
    pairs = tuple(_off_diagonal(values[key]) for key in ("cllr", "cllr_min"))
    return quantities, (pairs[0], pairs[1]), _bias_notes(keys, found, named)


def _two_class_ranges(
    llr: np.ndarray,
    is_target: np.ndarray,
    point: Point,
    values: Mapping[str, float],
    keys: list[str],
    plan: Plan,
) -> list[Range]:
    exact = np.array([values[key] for key in keys])
    if plan.n_resamples == 0:
        return [Range(np.nan, np.nan)] * len(keys)
    binned = two_classes.Binned(llr, is_target, point)

    def statistic(counts: tuple[np.ndarray, ...]) -> np.ndarray:
        of_counts = binned.values(counts)
        return np.array([of_counts[key] for key in keys])

    overfitted = [k for k, key in enumerate(keys) if key == "cllr_cal"]
    return ranges(statistic, binned.counts, exact, plan, overfitted)


def _of_several(truth: np.ndarray, evidence: Evidence, point: Point, plan: Plan) -> _Judged:
    evidence, names = evidence.rename(range(evidence.n_classes)), evidence.classes
    values, notes = sample_values(truth, evidence, point)
    by_class = several_classes.by_class(values, truth, evidence.n_classes)
    totals = dict(zip(values, np.sum([v.mean(axis=1) for v in by_class], axis=0), strict=True))
    found = dict(zip(values, mean_ranges(by_class, plan), strict=True))
    pairwise = pairwise_cllr(truth, evidence)
    i, j = (int(k) for k in np.unravel_index(np.nanargmax(pairwise.cllr), pairwise.cllr.shape))
    pair = (truth == i) | (truth == j)
    totals["worst_pair_cllr"] = pairwise.cllr[i, j]
    found["worst_pair_cllr"] = _two_class_ranges(
        evidence[pair].llr(j, i), truth[pair] == j, Point(np.array([0.5, 0.5])),
        {"cllr": pairwise.cllr[i, j]}, ["cllr"], plan,
    )[0]  # fmt: skip
    named = {"a": names[i], "b": names[j]}
    quantities = tuple(
        described(key, float(totals[key]), found[key], named)
        for key in SEVERAL_CLASSES
        if key in totals
    )
    return quantities, (pairwise.cllr, pairwise.cllr_min), notes


def sample_values(
    truth: np.ndarray, evidence: Evidence, point: Point
) -> tuple[dict[str, np.ndarray], list[str]]:
    """What each sample adds to the quantities of several classes, and notes on what is left out."""
    values = several_classes.losses(truth, evidence, point)
    nothing = float(-point.prior @ np.log(point.prior))
    values["normalized_cross_entropy"] = values["cross_entropy"] / nothing
    after = several_classes.recalibrated_losses(truth, evidence, point)
    if after is None:
        return values, [
            "Calibration and discrimination are not told apart: that takes finite log-likelihoods "
            "and two samples of each class."
        ]
    if after.sum() == np.inf or _mean(after, truth) > _mean(values["cross_entropy"], truth):
        after = values["cross_entropy"]  # recalibration that does not pay is not used
    values["discrimination"] = after
    values["calibration"] = values["cross_entropy"] - after
    return values, []


def _mean(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sum(np.bincount(truth, weights=values) / np.bincount(truth)))


def described(key: str, value: float, interval: Range, named: Mapping[str, Hashable]) -> Quantity:
    """A quantity with its words."""
    words = MEANINGS[key]
    low, high = (end if math.isnan(end) else max(end, words.smallest) for end in interval[:2])
    return Quantity(
        key=key, label=words.label.format_map(named), value=float(value), low=float(low),
        high=float(high), unit=words.unit, better=words.better,
        meaning=words.meaning.format_map(named),
    )  # fmt: skip


def _bias_notes(keys: list[str], found: list[Range], named: Mapping[str, Hashable]) -> list[str]:
    biased = [key for key, interval in zip(keys, found, strict=True) if interval.biased]
    notes = []
    if "cllr_cal" in biased:
        notes.append(
            "Cllr_cal comes out too large from this few samples; its interval is corrected for "
            "that."
        )
    labels = [MEANINGS[key].label.format_map(named) for key in biased if key != "cllr_cal"]
    if labels:
        notes.append(
            f"Take the intervals of {', '.join(labels)} with care: what is fitted on the samples "
            f"that it judges is biased when they are drawn again."
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
    labels = as_label_vector(y_true, n_samples)
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
            f"y_true must hold every class; it lacks {listed(missing)}. Add samples of it, or "
            f"leave it out with evidence.restrict."
        )
    return counts
