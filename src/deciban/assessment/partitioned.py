"""Assessments and comparisons of samples in partitions, which need not fit into memory.

All partitions are read twice: to sort the LLRs of each, which gives PAV's blocks of all, and to sum
what samples cost before and after recalibration by these blocks, over bags of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import label_array
from deciban.assessment.assess import (
    MOST_TESTED,
    NOTABLE_GAP,
    OperatingPoints,
    assess,
    compare,
    differences_of,
    few_samples_note,
    make_assessment,
)
from deciban.assessment.results import Assessment, Comparison, Difference
from deciban.assessment.systems import Costs, Prior, Setting, make_setting, ruled_out_note
from deciban.assessment.two_classes import TwoClassSystem
from deciban.exceptions import InputError
from deciban.metrics.bags import N_BAGS, BagDesign, PartSums, ranks_of
from deciban.metrics.calibration_test import run_calibration_test
from deciban.metrics.intervals import Plan, Seed, make_plan
from deciban.metrics.labelled import Labelled
from deciban.metrics.llr_bags import N_SOME, Column, LlrBags, LlrMaps, Recorder, sum_columns
from deciban.metrics.partitions import Partitions, Rows, Tally, evidence_of
from deciban.metrics.reliability import worst_bin

IN_MEMORY = 500_000  # samples up to which all are collected
_FEWEST = 5000  # samples of a class to keep, if there are as many
_MASS = Column(0, "mass")

Estimate = Callable[[Sequence[TwoClassSystem], Plan], Any]


def assess_partitions(
    data: Partitions,
    *,
    prior: Prior = None,
    costs: Costs = None,
    operating_points: OperatingPoints = (),
    c_avg: bool = False,
    out_of_set: Hashable | None = None,
    p_out_of_set: float = 0.2,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Seed = 0,
    in_memory: int | None = None,
) -> tuple[Assessment, Labelled]:
    """Every metric of samples in partitions with its interval, and some of the samples.

    Values are those of :func:`deciban.assess`, and so are the intervals of up to ``in_memory``
    samples. Those of more samples rest on bags of samples (:mod:`deciban.metrics.bags`), and the
    test of calibration and the worst bin on half a million samples. Options are those of
    :func:`deciban.assess`.
    """
    detection = (operating_points, c_avg, out_of_set, p_out_of_set)
    if data.n_samples <= (IN_MEMORY if in_memory is None else in_memory):
        (labelled,), groups = collect(data)
        found = assess(
            label_array(data.classes)[labelled.codes], labelled.evidence, prior=prior, costs=costs,
            operating_points=operating_points, c_avg=c_avg, out_of_set=out_of_set,
            p_out_of_set=p_out_of_set, confidence=confidence, n_resamples=n_resamples,
            groups=groups, rng=rng,
        )  # fmt: skip
        return found, labelled
    setting = make_setting(prior, costs, data.classes, *detection)
    sums = _sum_up(data, setting, make_plan(confidence, n_resamples, rng), _estimate)
    (system,), plan, design, tally = sums.systems, sums.plan, sums.design, sums.tally
    some = sums.some[0]
    tests: dict[str, Any] = {}
    if plan.n_resamples:
        sizes = np.array([plan.effective_size(t, wrong) for t, wrong in enumerate(sums.wrong)])
        independent = min(1.0, *(sizes / some.counts))
        tests["worst_bin"] = worst_bin(
            some, gap=NOTABLE_GAP, confidence=plan.confidence, independent=independent
        )
        if not design.depends:
            draws = np.random.default_rng([plan.seed, 3])
            tests["calibration_test"] = run_calibration_test(
                some, min(plan.n_resamples, 999), draws
            )
    counts, n_infinite = tally.counts, tally.n_infinite
    return make_assessment(system, setting, plan, design, counts, n_infinite, **tests), some


def compare_partitions(
    data: Partitions,
    names: Sequence[str],
    *,
    prior: Prior = None,
    costs: Costs = None,
    operating_points: OperatingPoints = (),
    c_avg: bool = False,
    out_of_set: Hashable | None = None,
    p_out_of_set: float = 0.2,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    rng: Seed = 0,
    in_memory: int | None = None,
) -> Comparison:
    """Every metric of two or more systems on samples in partitions, and their differences.

    ``names`` are those of the systems; options are those of :func:`deciban.compare`.
    """
    detection = (operating_points, c_avg, out_of_set, p_out_of_set)
    if data.n_samples <= (IN_MEMORY if in_memory is None else in_memory):
        labelled, groups = collect(data)
        return compare(
            label_array(data.classes)[labelled[0].codes],
            {name: one.evidence for name, one in zip(names, labelled, strict=True)},
            prior=prior, costs=costs, operating_points=operating_points, c_avg=c_avg,
            out_of_set=out_of_set, p_out_of_set=p_out_of_set, confidence=confidence,
            n_resamples=n_resamples, groups=groups, rng=rng,
        )  # fmt: skip
    setting = make_setting(prior, costs, data.classes, *detection)
    found = _sum_up(data, setting, make_plan(confidence, n_resamples, rng), _estimate_differences)
    first, *others = found.systems
    counts = found.tally.counts
    notes = few_samples_note(data.classes, counts, found.plan)
    for name, system in zip(names, found.systems, strict=True):
        notes += [f"{name}: {note}" for note in system.notes]
    differences: list[Difference] = []
    with np.errstate(all="ignore"):
        for name, other in zip(names[1:], others, strict=True):
            intervals = first.estimates(found.plan, other) if found.plan.n_resamples else {}
            differences += differences_of((names[0], name), first, other, intervals)
    return Comparison(
        systems=tuple(names), classes=data.classes, counts=tuple(counts.tolist()),
        differences=tuple(differences), confidence=found.plan.confidence, warnings=tuple(notes),
        design=found.design.words if found.plan.n_resamples else "",
    )  # fmt: skip


def collect(data: Partitions) -> tuple[list[Labelled], NDArray[Any] | None]:
    """The samples in memory, with the evidence of each system; and their groups."""
    rows = data.collect()
    _, first, place = np.unique(rows.hashes, return_index=True, return_inverse=True)
    groups = np.argsort(np.argsort(first))[place]  # numbered as they come
    labelled = [Labelled(evidence_of(one, data.classes), rows.codes) for one in rows.evidence]
    return labelled, groups if data.grouped else None


class _Sums(NamedTuple):
    """Systems whose costs are known over bags, and some of the samples with each one's evidence."""

    systems: list[TwoClassSystem]
    plan: Plan
    design: BagDesign
    tally: Tally
    wrong: list[Floats]  # samples of each bag that point to the wrong class, by class
    some: list[Labelled]


def _estimate(systems: Sequence[TwoClassSystem], plan: Plan) -> None:
    systems[0].estimates(plan)


def _estimate_differences(systems: Sequence[TwoClassSystem], plan: Plan) -> None:
    for other in systems[1:]:
        systems[0].estimates(plan, other)


def _sum_up(data: Partitions, setting: Setting, plan: Plan, estimate: Estimate) -> _Sums:
    if len(data.classes) > 2:
        raise InputError(
            f"evidence over three classes or more must fit into memory; got {data.n_samples:,} "
            f"samples of {len(data.classes)} classes. Give two classes, or some of the samples."
        )
    pooled, tallies = data.pool(N_SOME)
    maps = [LlrMaps.fit(one) for one in pooled]
    counts = tallies[0].counts

    def systems(sums: Mapping[Column, Floats], design: BagDesign) -> list[TwoClassSystem]:
        return [
            TwoClassSystem(
                LlrBags(sums, design, one, k), one.pooled.levels, setting, data.classes,
                ruled_out_note(tally.n_ruled_out, tally.first_ruled_out, int(counts.sum())),
            )
            for k, (one, tally) in enumerate(zip(maps, tallies, strict=True))
        ]  # fmt: skip

    even = BagDesign(np.repeat(counts / N_BAGS, N_BAGS), data.grouped)
    asked = Recorder(even.mass)
    _, wrong = asked[_MASS], Column(0, "right")
    with np.errstate(all="ignore"):
        recorded = systems(asked, even)
        if plan.n_resamples:
            _ = asked[wrong]
            estimate(recorded, plan._replace(n_resamples=2, design=even))
    columns = [*asked]
    share = np.maximum(MOST_TESTED / counts.sum(), _FEWEST / counts)
    function = partial(_sum_rows, columns=columns, maps=maps, share=share)
    total, some = np.zeros((len(columns), 2 * N_BAGS)), []
    for part, rows in data.map(function, "Summing"):
        part.add_to(total)
        some.append(rows)
    sums = dict(zip(columns, total, strict=True))
    design = BagDesign(sums[_MASS], data.grouped)
    codes = np.concatenate([rows.codes for rows in some])
    evidence = zip(*(rows.evidence for rows in some), strict=True)
    by_class = (sums[_MASS] - sums.get(wrong, 0.0)).reshape(2, N_BAGS)
    with np.errstate(all="ignore"):
        found = systems(sums, design)
    return _Sums(
        found, plan._replace(design=design), design, tallies[0], [*by_class],
        [Labelled(evidence_of(np.concatenate(one), data.classes), codes) for one in evidence],
    )  # fmt: skip


def _sum_rows(
    rows: Rows, columns: Sequence[Column], maps: Sequence[LlrMaps], share: Floats
) -> tuple[PartSums, Rows]:
    """Sums of columns over bags, and some of the samples: those whose hash tells so."""
    with np.errstate(all="ignore"):
        sums = sum_columns(rows.evidence, rows.codes, rows.hashes, columns, maps)
    kept = ranks_of(rows.hashes) < share[rows.codes]
    evidence = tuple(one[kept] for one in rows.evidence)
    return sums, Rows(rows.codes[kept], evidence, rows.hashes[kept], rows.start)
