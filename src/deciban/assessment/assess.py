"""Every metric of a set of evidence, or of several on the same samples, with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.scalars import quote_each
from deciban.assessment.intervals import Plan, Rng, make_plan
from deciban.assessment.results import (
    SEVERAL_CLASSES,
    TWO_CLASSES,
    Assessment,
    Comparison,
    Difference,
    Quantity,
    difference,
    quantity,
)
from deciban.assessment.several_classes import SeveralClassSystem
from deciban.assessment.systems import (
    Costs,
    Estimates,
    Prior,
    Setting,
    System,
    difference_of,
    make_setting,
)
from deciban.assessment.two_classes import TwoClassSystem
from deciban.assessment.wording import number
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, read_labelled

_FEW = 30
_NOTABLE = 0.005  # correction of a quantity that is worth a note


def assess(
    y_true: ArrayLike,
    evidence: Evidence,
    *,
    prior: Prior = None,
    costs: Costs = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Rng = 0,
) -> Assessment:
    """Every metric that suits the evidence, with its interval.

    Samples are resampled within each class. Values are those of all samples; with more than a few
    thousand samples, intervals come from resampled bins of LLRs, or bags of samples. Error rates
    have Wilson's intervals, which hold where no error was seen. Quantities that PAV is fitted to
    and judged on, such as Cllr_min, come out too good from few samples: their intervals make up
    for it. devPAV has no interval, since resamples do not tell by how much it is too large.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    evidence : Evidence
        Of two classes, the second is the one that LLRs are in favor of.
    prior : array of shape (n_classes,) or mapping, default uniform
        Prior of the cross-entropy, the accuracy and the costs of decisions.
    costs : array of shape (n_classes, n_classes), optional
        ``costs[i, j]`` is the cost of deciding for class j when class i is true.
    confidence : float, default 0.95
        Confidence level of the intervals.
    n_resamples : int, default 1000
        Number of resamples; 0 for no intervals.
    rng : numpy Generator or seed, default 0

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
    _require_evidence(evidence, "evidence")
    codes = read_labelled(y_true, evidence, every_class=False).codes
    return assess_encoded(
        codes, evidence, prior=prior, costs=costs, confidence=confidence, n_resamples=n_resamples,
        rng=rng,
    )  # fmt: skip


def assess_encoded(codes: NDArray[np.intp], evidence: Evidence, **options: Any) -> Assessment:
    """:func:`assess` where the truth is given as positions among the classes."""
    setting, plan = _read_options(evidence.classes, **options)
    data = Labelled(evidence, codes).require_every_class()
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        system = _make_system(data, setting)
        estimates = system.estimates(plan) if plan.n_resamples else Estimates()
    quantities = tuple(
        quantity(key, estimates.interval(key, system.values[key]),
                 estimates.corrected.get(key, np.nan), system.words)
        for key in _keys(system.values)
    )  # fmt: skip
    notes = [*_few_samples_note(data, plan), *_bias_notes(quantities),
             *_below_chance_note(quantities, setting), *system.notes]  # fmt: skip
    return Assessment(
        classes=evidence.classes, counts=tuple(data.counts.tolist()), quantities=quantities,
        pairwise_cllr=system.pairwise.cllr, pairwise_cllr_min=system.pairwise.cllr_min,
        confidence=plan.confidence, warnings=tuple(notes), prior=tuple(setting.prior.tolist()),
        costs=setting.costs, n_infinite=int(np.isinf(evidence.log_likelihoods).any(axis=1).sum()),
        n_wrong=system.n_wrong, expected_wrong=system.expected_wrong,
    )  # fmt: skip


def compare(
    y_true: ArrayLike,
    systems: Mapping[str, Evidence],
    *,
    prior: Prior = None,
    costs: Costs = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Rng = 0,
) -> Comparison:
    """Every metric of two or more systems on the same samples, with the paired differences.

    Each further system is compared with the first. A resample takes the same samples for both, so
    that what makes samples hard for either cancels: this shows differences that two separate
    intervals would hide.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    systems : dict of Evidence by name
        Two or more, row by row of the same samples, over the same classes.
    prior, costs, confidence, n_resamples, rng
        As for :func:`assess`.

    Returns
    -------
    Comparison
        Differences are the first system's value less that of the further system.

    Examples
    --------
    >>> y = np.arange(400) % 2
    >>> llr = np.random.default_rng(0).normal(2 * y - 1, 1) * 2
    >>> systems = {"plain": Evidence.from_llr(llr), "overconfident": Evidence.from_llr(4 * llr)}
    >>> compare(y, systems, n_resamples=200)["cllr"].verdict
    'a better'
    """
    first = _require_systems(systems)
    codes = read_labelled(y_true, first, every_class=False).codes
    return compare_encoded(
        codes, systems, prior=prior, costs=costs, confidence=confidence, n_resamples=n_resamples,
        rng=rng,
    )  # fmt: skip


def compare_encoded(
    codes: NDArray[np.intp], systems: Mapping[str, Evidence], **options: Any
) -> Comparison:
    """:func:`compare` where the truth is given as positions among the first system's classes."""
    evidence = _require_systems(systems)
    setting, plan = _read_options(evidence.classes, **options)
    data = Labelled(evidence, codes).require_every_class()
    notes = _few_samples_note(data, plan)
    differences: list[Difference] = []
    with np.errstate(all="ignore"):
        first = _make_system(data, setting)
        first_name, *others = systems
        notes += [f"{first_name}: {note}" for note in first.notes]
        for name in others:
            again = systems[name].restrict(evidence.classes)
            other = _make_system(Labelled(again, codes), setting)
            notes += [f"{name}: {note}" for note in other.notes]
            found = _differences((first_name, name), first, other, plan)
            if np.array_equal(evidence.log_likelihoods, again.log_likelihoods):
                notes.insert(0, f"{first_name} and {name} are the same evidence.")
                found = [_as_same(one) for one in found]
            differences += found
    return Comparison(
        systems=tuple(systems), classes=evidence.classes, counts=tuple(data.counts.tolist()),
        differences=tuple(differences), confidence=plan.confidence, warnings=tuple(notes),
    )  # fmt: skip


def _read_options(
    classes: tuple[Hashable, ...],
    *,
    prior: Prior = None,
    costs: Costs = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Rng = 0,
) -> tuple[Setting, Plan]:
    return make_setting(prior, costs, classes), make_plan(confidence, n_resamples, rng)


def _make_system(data: Labelled, setting: Setting) -> System:
    make = TwoClassSystem if data.evidence.n_classes == 2 else SeveralClassSystem
    return make(data, setting)


def _keys(values: Mapping[str, float]) -> list[str]:
    keys = TWO_CLASSES if "cllr" in values else SEVERAL_CLASSES
    return [key for key in keys if key in values]


def _differences(
    names: tuple[str, str], first: System, other: System, plan: Plan
) -> list[Difference]:  # fmt: skip
    estimates = first.estimates(plan, other) if plan.n_resamples else Estimates()
    words, (a, b) = first.values_beside(other)
    values = {key: (a[key], b[key]) for key in _keys(a) if key in b}
    return [
        difference(names, key, pair, estimates.interval(key, difference_of(pair)), words)
        for key, pair in values.items()
    ]


def _as_same(one: Difference) -> Difference:
    known = not np.isnan(one.low)
    return replace(one, low=0.0, high=0.0, verdict="same") if known else one


# --- checks and notes ---------------------------------------------------------------------


def _require_evidence(evidence: Evidence, name: str) -> None:
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"{name} must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )


def _require_systems(systems: Mapping[str, Evidence]) -> Evidence:
    """Check the systems of a comparison; the evidence of the first."""
    if not isinstance(systems, Mapping) or len(systems) < 2:
        got = f"{len(systems)}" if isinstance(systems, Mapping) else type(systems).__name__
        raise InputError(
            f"systems must map two or more names to Evidence; got {got}. Give {{name: evidence}}."
        )
    first_name, *others = systems
    first = systems[first_name]
    _require_evidence(first, f"system {first_name!r}")
    for name in others:
        other = systems[name]
        _require_evidence(other, f"system {name!r}")
        if len(other) != len(first):
            raise InputError(
                f"systems must hold the same samples; {first_name!r} has {len(first)} and "
                f"{name!r} {len(other)}. Match them first."
            )
        if set(other.classes) != set(first.classes):
            raise InputError(
                f"systems must have the same classes; {first_name!r} has "
                f"{quote_each(first.classes)} and {name!r} "
                f"{quote_each(other.classes)}. Restrict or rename those of one."
            )
    return first


def _few_samples_note(data: Labelled, plan: Plan) -> list[str]:
    rarest = int(np.argmin(data.counts))
    count = int(data.counts[rarest])
    if count >= _FEW or plan.n_resamples == 0:
        return []
    few = "1 sample" if count == 1 else f"{count} samples"
    return [f"Class {data.evidence.classes[rarest]!r} has only {few}: intervals are rough."]


def _below_chance_note(quantities: tuple[Quantity, ...], setting: Setting) -> list[str]:
    """A note where decisions are worse than guessing: columns may have been swapped."""
    accuracy = next(q for q in quantities if q.key == "accuracy")
    if len(setting.prior) == 2 or not accuracy.high < float(setting.prior.max()):
        return []
    return [
        "Decisions are right less often than guessing would be: check that each column of scores "
        "belongs to its class, and that higher means likelier."
    ]


def _bias_notes(quantities: tuple[Quantity, ...]) -> list[str]:
    """Notes on quantities that lie outside their interval, if the correction is notable."""
    notes = []
    for q in quantities:
        if not (q.low <= q.value <= q.high) and abs(q.value - q.corrected) > _NOTABLE:
            size = "large" if q.value > q.high else "small"
            notes.append(
                f"{q.label} comes out too {size} from this few samples; {number(q.corrected)} is "
                f"nearer to the truth. Quote its interval."
            )
    return notes
