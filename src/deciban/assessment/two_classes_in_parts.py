"""Two classes in partitions: sums over bags of what LLRs cost, before and after recalibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from deciban._validation.arrays import Floats
from deciban.assessment.summed_systems import SummedSystems, select_some, share_to_keep
from deciban.assessment.systems import Setting, ruled_out_note
from deciban.assessment.two_classes import TwoClassSystem
from deciban.metrics.bags import N_BAGS, BagDesign, PartSums
from deciban.metrics.intervals import Plan
from deciban.metrics.llr_bags import N_SOME, Column, LlrBags, LlrMaps, Recorder, sum_columns
from deciban.metrics.partitions import Partitions, Rows

_MASS, _RIGHT = Column(0, "mass"), Column(0, "right")


def sum_two_classes(data: Partitions, setting: Setting, plan: Plan) -> SummedSystems:
    """The systems of samples that are read twice: to pool their LLRs, and to sum costs."""
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
    _ = asked[_MASS]
    with np.errstate(all="ignore"):
        first, *others = systems(asked, even)
        if plan.n_resamples:
            _ = asked[_RIGHT]
            trial = plan._replace(n_resamples=2, design=even)
            for beside in [[one] for one in others] or [[]]:
                first.estimates(trial, *beside)
    columns = [*asked]
    function = partial(_sum_rows, columns=columns, maps=maps, share=share_to_keep(counts))
    total, some = np.zeros((len(columns), 2 * N_BAGS)), []
    for part, rows in data.map(function, "Summing"):
        part.add_to(total)
        some.append(rows)
    sums = dict(zip(columns, total, strict=True))
    design = BagDesign(sums[_MASS], data.grouped)
    wrong = (sums[_MASS] - sums.get(_RIGHT, 0.0)).reshape(2, N_BAGS)
    with np.errstate(all="ignore"):
        found = systems(sums, design)
    plan = plan._replace(design=design)
    return SummedSystems(found, plan, design, tallies, [*wrong], Rows.join(some))


def _sum_rows(
    rows: Rows, columns: Sequence[Column], maps: Sequence[LlrMaps], share: Floats
) -> tuple[PartSums, Rows]:
    """Sums of columns over bags, and some of the samples."""
    with np.errstate(all="ignore"):
        sums = sum_columns(rows.evidence, rows.codes, rows.hashes, columns, maps)
    return sums, select_some(rows, share)
