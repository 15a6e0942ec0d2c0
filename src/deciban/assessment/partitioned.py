"""Assessments and comparisons of samples in partitions, which need not fit into memory.

Samples are read a few times: to find the maps that recalibrate them, such as PAV's blocks of the
LLRs of two classes, and to sum what they cost before and after recalibration, over bags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.labels import label_array
from deciban.assessment.assess import (
    NOTABLE_GAP,
    assess,
    compare,
    differences_of,
    few_samples_note,
    make_assessment,
    read_options,
    same_evidence_note,
)
from deciban.assessment.results import Assessment, Comparison, Difference
from deciban.assessment.several_classes_in_parts import sum_several_classes
from deciban.assessment.summed_systems import SomeSamples, SummedSystems
from deciban.assessment.systems import Setting
from deciban.assessment.two_classes_in_parts import sum_two_classes
from deciban.metrics.calibration_test import run_calibration_test
from deciban.metrics.intervals import Interval, Plan
from deciban.metrics.partitions import Partitions, Rows, evidence_of
from deciban.metrics.reliability import worst_bin

IN_MEMORY = 500_000  # samples up to which all are collected


def assess_partitions(
    data: Partitions, *, in_memory: int | None = None, **options: Any
) -> tuple[Assessment, SomeSamples]:
    """Every metric of samples in partitions with its interval, and some of the samples.

    Values are those of :func:`deciban.assess`, and so are the intervals of up to ``in_memory``
    samples. Those of more samples rest on bags of samples (:mod:`deciban.metrics.bags`), and the
    test of calibration and the worst bin on half a million samples. With three classes or more,
    calibration and discrimination are held out in two folds, not in five. Options are those of
    :func:`deciban.assess`.
    """
    if data.n_samples <= (IN_MEMORY if in_memory is None else in_memory):
        rows, groups = collect(data)
        some = SomeSamples.of_rows(rows, data.classes)
        y_true = label_array(data.classes)[rows.codes]
        return assess(y_true, some.data.evidence, groups=groups, **options), some
    setting, plan = read_options(data.classes, **options)
    sums = _sum_up(data, setting, plan)
    (system,), plan, design, tally = sums.systems, sums.plan, sums.design, sums.tallies[0]
    some = SomeSamples.of_rows(sums.some, data.classes)
    tests: dict[str, Any] = {}
    if plan.n_resamples:
        sizes = np.array([plan.effective_size(t, wrong) for t, wrong in enumerate(sums.wrong)])
        independent = min(1.0, *(sizes / some.data.counts))
        tests["worst_bin"] = worst_bin(
            some.data, gap=NOTABLE_GAP, confidence=plan.confidence, independent=independent
        )
        if not design.depends:
            draws = np.random.default_rng([plan.seed, 3])
            tests["calibration_test"] = run_calibration_test(
                some.data, min(plan.n_resamples, 999), draws
            )
    counts, n_infinite = tally.counts, tally.n_infinite
    return make_assessment(system, setting, plan, design, counts, n_infinite, **tests), some


def compare_partitions(
    data: Partitions,
    names: Sequence[str],
    *,
    in_memory: int | None = None,
    **options: Any,
) -> Comparison:
    """Every metric of two or more systems on samples in partitions, and their differences.

    ``names`` are those of the systems; options are those of :func:`deciban.compare`.
    """
    if data.n_samples <= (IN_MEMORY if in_memory is None else in_memory):
        rows, groups = collect(data)
        systems = {
            name: evidence_of(values, data.classes)
            for name, values in zip(names, rows.evidence, strict=True)
        }
        y_true = label_array(data.classes)[rows.codes]
        return compare(y_true, systems, groups=groups, **options)
    found = _sum_up(data, *read_options(data.classes, **options))
    first, *others = found.systems
    counts = found.tallies[0].counts
    notes = few_samples_note(data.classes, counts, found.plan)
    for name, system in zip(names, found.systems, strict=True):
        notes += [f"{name}: {note}" for note in system.notes]
    differences: list[Difference] = []
    with np.errstate(all="ignore"):
        for name, other, tally in zip(names[1:], others, found.tallies[1:], strict=True):
            intervals = first.estimates(found.plan, other) if found.plan.n_resamples else {}
            if tally.is_first:
                notes.insert(0, same_evidence_note(names[0], name))
                intervals = dict.fromkeys(intervals, Interval(0.0, 0.0, 0.0))
            differences += differences_of((names[0], name), first, other, intervals)
    return Comparison(
        systems=tuple(names), classes=data.classes, counts=tuple(counts.tolist()),
        differences=tuple(differences), confidence=found.plan.confidence, warnings=tuple(notes),
        design=found.design.words if found.plan.n_resamples else "",
    )  # fmt: skip


def collect(data: Partitions) -> tuple[Rows, NDArray[Any] | None]:
    """The samples in memory, and their groups."""
    rows = data.collect()
    _, first, place = np.unique(rows.hashes, return_index=True, return_inverse=True)
    groups = np.argsort(np.argsort(first))[place]  # numbered as they come
    return rows, groups if data.grouped else None


def _sum_up(data: Partitions, setting: Setting, plan: Plan) -> SummedSystems:
    return (sum_two_classes if len(data.classes) == 2 else sum_several_classes)(data, setting, plan)
