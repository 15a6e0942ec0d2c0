"""Assess evidence, or compare several systems on the same samples, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import is_dask
from deciban._validation.labels import align_by_index
from deciban._validation.scalars import quote_each
from deciban.assessment.actions import conclude
from deciban.assessment.quantities import reported_keys
from deciban.assessment.results import (
    Assessment,
    Comparison,
    Difference,
    make_difference,
    make_quantity,
)
from deciban.assessment.several_classes import judge_posteriors, judge_posteriors_in_parts
from deciban.assessment.systems import (
    Judged,
    Options,
    Subsample,
    difference_of,
    read_options,
)
from deciban.assessment.two_classes import judge_llrs, judge_llrs_in_parts
from deciban.assessment.verdicts import few_samples_note, note_doubts, verdicts
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics import Interval
from deciban.metrics.calibration_test import run_calibration_test
from deciban.metrics.designs import Design, Items, read_design, split_items
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.metrics.partitions import (
    Partitions,
    Rows,
    Tally,
    hash_numbers,
    llr_of_two,
    require_counts,
)
from deciban.metrics.reliability import worst_bin

IN_MEMORY = 500_000  # samples up to which these are units, and all are collected
_PART = 1 << 20  # samples of a part where they are more
_NOTABLE_GAP = 0.03  # between a posterior and the frequency of what it predicts


def assess(
    y_true: ArrayLike,
    evidence: Evidence,
    *,
    groups: ArrayLike | None = None,
    items: Items = None,
    **options: Unpack[Options],
) -> Assessment:
    """Compute every metric that suits the evidence, with its interval.

    Samples are resampled within each class, or by the groups or items that they share. Error rates
    have Wilson's intervals, which hold even if no error was seen. Few samples make quantities that
    are fitted by PAV, such as Cllr_min, too good: their intervals correct this. devPAV has none,
    since resamples do not tell by how much it is too large.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    evidence : Evidence, or a Dask array or frame
        With two classes, LLRs are in favor of the second. Of Dask, LLRs or log-likelihoods on rows,
        which need not fit into memory; ``y_true`` and ``groups`` have the same partitions then.
    prior : array of shape (n_classes,) or mapping, default uniform
        Prior of the cross-entropy, the accuracy and the costs of decisions.
    costs : array of shape (n_classes, n_classes) or dict, optional
        ``costs[i, j]`` is the cost of deciding for class j when class i is true; a mapping is that
        of :meth:`deciban.Evidence.decide`, such as ``{("ill", "well"): 100}``.
    operating_points : iterable of OperatingPoint, or of (cost_miss, cost_false_alarm, prior)
        Points at which to compute the actual and the minimum detection cost, under the keys
        ``detection_cost@10:1:0.01`` and ``min_detection_cost@10:1:0.01``, and their means
        ``c_primary`` and ``min_c_primary``, if there are several. With three classes or more, the
        actual costs are normalized :func:`~deciban.metrics.c_avg`, and there is no minimum.
    c_avg : bool, default False
        Whether to compute :func:`~deciban.metrics.c_avg` at even odds; three classes or more.
    out_of_set : label, optional
        The class that is not a target in the costs of detection.
    p_out_of_set : float, default 0.2
    confidence : float, default 0.95
        Confidence level of the intervals.
    n_resamples : int, default 1000
        Number of resamples; 0 for no intervals.
    groups : array of shape (n_samples,), optional
        Unit that was sampled, such as the speaker or the source: whole groups are resampled.
    items : array of shape (n_samples, 2), or a pair of arrays, optional
        Both items of each comparison, as for :func:`deciban.metrics.bootstrap`. Error rates have
        Wilson's intervals for the number of independent samples that would tell as much.
    rng : numpy Generator or seed, default 0

    Returns
    -------
    Assessment
        Quantities by key; ``list(assessment)`` names them. With two classes, such as "cllr" and
        "eer", the target is the second class (``evidence.restrict([other, target])`` changes it).
        With more, "normalized_cross_entropy" is 0 for perfect evidence and 1 for none.

    See Also
    --------
    deciban.compare : Two or more systems on the same samples.
    deciban.assessment.assess_by : Conditions of the samples, each assessed apart.
    deciban.metrics.bootstrap : The interval of one metric.
    deciban.report.report : The assessment as a page for the browser.

    Examples
    --------
    >>> y = [0] * 50 + [1] * 50
    >>> found = assess(y, Evidence.from_llr(np.linspace(-3, 3, 100)), n_resamples=200)
    >>> found["cllr"].low < found["cllr"].value < found["cllr"].high
    True
    """
    if is_dask(y_true, evidence):
        return assess_partitions(_open_partitions(y_true, [evidence], groups, items), **options)[0]
    check_evidence(evidence)
    data, design = _read_samples(y_true, evidence, groups, items)
    return _make_assessment(_judge_samples([data], design, options))


def assess_partitions(
    data: Partitions, *, in_memory: int | None = None, **options: Unpack[Options]
) -> tuple[Assessment, Subsample]:
    """Every metric for samples in partitions, and a subsample.

    Beyond ``in_memory`` samples, intervals rest on buckets (:mod:`deciban.metrics.units`), tests of
    calibration on half a million samples, and three classes or more are held out in two folds.
    """
    judged = _judge_partitions(data, in_memory, options)
    return _make_assessment(judged), judged.some


def _judge_partitions(data: Partitions, in_memory: int | None, options: Options) -> Judged:
    if data.n_samples > (IN_MEMORY if in_memory is None else in_memory):
        judge = judge_llrs_in_parts if len(data.classes) == 2 else judge_posteriors_in_parts
        return judge(data, *read_options(data.classes, **options))
    rows = data.collect()
    require_counts(data.classes, np.bincount(rows.codes, minlength=len(data.classes)))
    design = Design(rows.codes)
    if data.grouped:
        _, first, place = np.unique(rows.hashes, return_index=True, return_inverse=True)
        design = read_design(rows.codes, np.argsort(np.argsort(first))[place])  # as they come
    samples = [rows.labelled(data.classes, k) for k in range(data.n_systems)]
    some = Subsample(samples[0], rows.numbers)
    return _judge_samples(samples, design, options)._replace(some=some)


def _judge_samples(samples: Sequence[Labelled], design: Design, options: Options) -> Judged:
    """Samples are units unless they are many."""
    first, codes, n = samples[0], design.codes, len(design.codes)
    numbers, systems = np.arange(n), len(samples)
    values = tuple(one.evidence.log_likelihoods for one in samples)
    hashes = hash_numbers(numbers if design.left is None else design.left)
    rows = Rows(codes, values, hashes, numbers)
    if n > IN_MEMORY and design.right is None:
        if len(first.classes) == 2:
            rows = rows._replace(evidence=tuple(llr_of_two(one, codes) for one in values))
        parts = [slice(start, start + _PART) for start in range(0, n, _PART)]
        data = Partitions(first.classes, parts, rows.select, n, systems, grouped=design.depends)
        return _judge_partitions(data, 0, options)
    setting, plan = read_options(first.classes, **options)
    tallies = [Tally.of_rows(rows, k) for k in range(systems)]
    judge = judge_llrs if len(first.classes) == 2 else judge_posteriors
    with np.errstate(all="ignore"):  # costs of LLRs of 1e308 overflow, and are infinite
        judged = judge(samples, tallies, setting, plan, design)
    return Judged(judged, design, tallies, plan, Subsample(first, numbers))


def _make_assessment(judged: Judged) -> Assessment:
    (system,), design, (tally,), plan, (data, _) = judged
    setting = system.setting
    with np.errstate(all="ignore"):
        intervals = system.estimates(plan) if plan.n_resamples else {}
    words, (values,) = system.values_beside()
    quantities = tuple(
        make_quantity(key, values[key], intervals.get(key, Interval(values[key])), words)
        for key in reported_keys(values)
    )
    notes = [
        *few_samples_note(system.classes, tally.counts, plan, design),
        *note_doubts(quantities, setting.prior),
        *system.notes,
    ]
    tests: dict[str, Any] = {}
    if plan.n_resamples:
        costs = system.costs
        sizes = [design.effective_size(t, costs.wrong(t)) for t in range(len(system.classes))]
        tests["worst_bin"] = worst_bin(
            data, gap=_NOTABLE_GAP, confidence=plan.confidence,
            independent=min(1.0, *(np.array(sizes) / data.counts)),
        )  # fmt: skip
        if not design.depends:
            draws = np.random.default_rng([plan.seed, 3])
            tests["calibration_test"] = run_calibration_test(
                data, min(plan.n_resamples, 999), draws
            )
    found = Assessment(
        classes=system.classes, counts=tuple(tally.counts.tolist()), quantities=quantities,
        pairwise_cllr=system.pairwise.cllr, pairwise_cllr_min=system.pairwise.cllr_min,
        confidence=plan.confidence, warnings=tuple(notes), prior=tuple(setting.prior.tolist()),
        costs=setting.costs, n_infinite=tally.n_infinite,
        n_wrong=system.n_wrong, expected_wrong=system.expected_wrong,
        design=design.description if plan.n_resamples else "", **tests,
    )  # fmt: skip
    return replace(found, action=conclude(found).action, verdicts=tuple(verdicts(found)))


def compare(
    y_true: ArrayLike,
    systems: Mapping[str, Evidence],
    *,
    groups: ArrayLike | None = None,
    items: Items = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compute every metric of two or more systems on the same samples, and their differences.

    Each further system is compared with the first. A resample takes the same samples for both, so
    that the difficulty of single samples cancels: this shows differences that two separate
    intervals would hide.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes; every class must occur.
    systems : dict of Evidence by name
        Two or more, over the same classes, with the same samples on the same rows. Or Dask
        collections, as for :func:`assess`.
    prior, costs, operating_points, c_avg, out_of_set, p_out_of_set, confidence, n_resamples
    groups, items, rng
        As for :func:`assess`.

    Returns
    -------
    Comparison
        Differences are the value of the first system less that of the further one.

    See Also
    --------
    deciban.assess : One system.
    deciban.report.comparison_report : The comparison as a page for the browser.

    Examples
    --------
    >>> y = np.arange(400) % 2
    >>> llr = np.random.default_rng(0).normal(2 * y - 1, 1) * 2
    >>> systems = {"plain": Evidence.from_llr(llr), "overconfident": Evidence.from_llr(4 * llr)}
    >>> compare(y, systems, n_resamples=200)["cllr"].verdict
    'plain better'
    """
    if isinstance(systems, Mapping) and is_dask(y_true, *systems.values()):
        parts = _open_partitions(y_true, [*systems.values()], groups, items)
        return compare_partitions(parts, [*systems], **options)
    _require_systems(systems)
    named = {f"systems[{name!r}]": evidence for name, evidence in systems.items()}
    y_true, groups, *aligned = align_by_index(y_true=y_true, groups=groups, **named)
    data, design = _read_samples(y_true, aligned[0], groups, items)
    others = [one.restrict(data.classes) for one in aligned[1:]]
    samples = [data, *(Labelled(one, data.codes) for one in others)]
    return _make_comparison(_judge_samples(samples, design, options), [*systems])


def compare_partitions(
    data: Partitions,
    names: Sequence[str],
    *,
    in_memory: int | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Differences between systems, by name, for samples in partitions."""
    return _make_comparison(_judge_partitions(data, in_memory, options), names)


def _make_comparison(judged: Judged, names: Sequence[str]) -> Comparison:
    """Differences between the first system and each other one."""
    first, *others = judged.systems
    design, counts, plan = judged.design, judged.tallies[0].counts, judged.plan
    notes = few_samples_note(first.classes, counts, plan, design)
    for name, system in zip(names, judged.systems, strict=True):
        notes += [f"{name}: {note}" for note in system.notes]
    differences: list[Difference] = []
    for name, other, tally in zip(names[1:], others, judged.tallies[1:], strict=True):
        with np.errstate(all="ignore"):
            intervals = first.estimates(plan, other) if plan.n_resamples else {}
        if tally.is_first:
            notes.insert(0, f"{names[0]} and {name} are the same evidence.")
            intervals = dict.fromkeys(intervals, Interval(0.0, 0.0, 0.0))
        words, (a, b) = first.values_beside(other)
        for key in [key for key in reported_keys(a) if key in b]:
            value = difference_of(a[key], b[key])
            interval = intervals.get(key, Interval(value))._replace(value=value)
            pair = (names[0], name), key, (a[key], b[key])
            differences.append(make_difference(*pair, interval, words))
    return Comparison(
        systems=tuple(names), classes=first.classes, counts=tuple(counts.tolist()),
        differences=tuple(differences), confidence=plan.confidence, warnings=tuple(notes),
        design=design.description if plan.n_resamples else "",
    )  # fmt: skip


def _open_partitions(y_true: Any, systems: list[Any], groups: Any, items: Items) -> Partitions:
    from deciban.metrics.dask_collections import open_collections

    if items is not None:
        raise InputError(
            "items must be left out with Dask collections; got some. Give groups, or compute the "
            "arrays first."
        )
    return open_collections(y_true, systems, groups)


def _read_samples(
    y_true: ArrayLike, evidence: Evidence, groups: ArrayLike | None, items: Items
) -> tuple[Labelled, Design]:
    y_true, evidence, groups, *pair = align_by_index(
        y_true=y_true, evidence=evidence, groups=groups, **split_items(items)
    )
    data = read_labelled(y_true, evidence)
    return data, read_design(data.codes, groups, pair)


# --- checks and notes ---------------------------------------------------------------------


def check_evidence(evidence: Evidence, name: str = "evidence") -> None:
    """Raise unless this is Evidence."""
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"{name} must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )


def _require_systems(systems: Mapping[str, Evidence]) -> None:
    if not isinstance(systems, Mapping) or len(systems) < 2:
        got = f"{len(systems)}" if isinstance(systems, Mapping) else type(systems).__name__
        raise InputError(
            f"systems must map two or more names to Evidence; got {got}. Give {{name: evidence}}."
        )
    for name, evidence in systems.items():
        check_evidence(evidence, f"system {name!r}")
    (first_name, first), *others = systems.items()
    for name, other in others:
        if len(other) != len(first):
            raise InputError(
                f"systems must hold the same samples; {first_name!r} has {len(first)} and "
                f"{name!r} has {len(other)}. Match them first."
            )
        if set(other.classes) != set(first.classes):
            raise InputError(
                f"systems must have the same classes; {first_name!r} has "
                f"{quote_each(first.classes)} and {name!r} has {quote_each(other.classes)}. "
                f"Restrict or rename the classes of one."
            )
