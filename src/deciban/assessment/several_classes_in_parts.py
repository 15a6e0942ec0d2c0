"""Three classes or more in partitions: sums over bags of what samples cost.

The maps that recalibrate them are fitted to some of the samples, in two folds, and improved by one
step of Newton's with the sums over all: nearer to the best maps than intervals can tell.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import NewtonTerms, Scale
from deciban._validation.arrays import Floats
from deciban.assessment.several_classes import (
    MOST_FULL,
    PAIR,
    SeveralClassSystem,
    expected_errors,
    has_sides,
    sample_costs,
    worst_pair,
)
from deciban.assessment.summed_systems import SomeSamples, SummedSystems, select_some, share_to_keep
from deciban.assessment.systems import Setting, ruled_out_note
from deciban.metrics.bags import BagDesign, folds_of
from deciban.metrics.cost_bags import CostSums, TotalSums
from deciban.metrics.decomposition import PosteriorMap
from deciban.metrics.intervals import Plan
from deciban.metrics.labelled import Labelled
from deciban.metrics.llr_intervals import LlrSample
from deciban.metrics.pairs_in_parts import pairwise_costs_in_parts, tally_pairs
from deciban.metrics.partitions import Partitions, Rows, evidence_of
from deciban.metrics.sorted_runs import FOLDS

Pair = tuple[int, int]


class FoldMaps(NamedTuple):
    """Maps of one family: fitted without each fold in turn, and to all samples."""

    scale: Scale
    without: tuple[PosteriorMap, ...]
    fitted: PosteriorMap

    def apply(self, data: Labelled, fold: NDArray[np.int8]) -> tuple[Floats, Floats]:
        """Log-posteriors by the maps that were fitted without a sample, and by that of all."""
        held_out = np.empty((len(data.codes), data.evidence.n_classes))
        for k, one in enumerate(self.without):
            rows = np.flatnonzero(fold == k)
            if len(rows):
                held_out[rows] = one(data.select(rows))
        return held_out, self.fitted(data)

    def improve(self, by_fold: Sequence[NewtonTerms]) -> FoldMaps:
        """The maps after a step of Newton's from that of all samples, given the terms of folds."""
        rests = [[one for j, one in enumerate(by_fold) if j != k] for k in range(FOLDS)]
        *without, fitted = (
            self.fitted.improve(_add_terms(terms), self.scale) for terms in (*rests, by_fold)
        )
        return FoldMaps(self.scale, tuple(without), fitted)


def sum_several_classes(data: Partitions, setting: Setting, plan: Plan) -> SummedSystems:
    """The systems of samples in partitions, from what they cost."""
    pairs = tally_pairs(data)
    tallies, pairwise = [one.tally for one in pairs], pairwise_costs_in_parts(data, pairs)
    counts = tallies[0].counts
    function = partial(_sample_rows, share=share_to_keep(counts))
    sampled = [*data.map(function, "Sampling")]
    by_fold = np.sum([one for _, one in sampled], axis=0)
    some = Rows.join([rows for rows, _ in sampled])
    maps = [
        None
        if tally.n_infinite or not by_fold.all()
        else _fit_maps(
            SomeSamples.of_rows(some, data.classes, k).data, folds_of(some.hashes), setting.prior
        )
        for k, tally in enumerate(tallies)
    ]
    maps = _improve_maps(data, maps, setting.prior / by_fold.clip(1))
    worst = [worst_pair(one.cllr) for one in pairwise]
    total = _sum_costs(data, setting, maps, worst)
    systems = []
    for k, (tally, one) in enumerate(zip(tallies, pairwise, strict=True)):
        of_pair = total.pairs[k]
        note = ruled_out_note(tally.n_ruled_out, tally.first_ruled_out, int(counts.sum()))
        with np.errstate(all="ignore"):
            system = SeveralClassSystem(
                data.classes, setting, total.costs.of_system(k), one, float(total.errors[k]), note,
                of_pair.of_system(0), partial(_use_design, of_pair.design),
            )  # fmt: skip
        systems.append(system)
    design, first = total.costs.design, systems[0].costs
    wrong = [first.wrong(t) for t in range(len(counts))]
    return SummedSystems(systems, plan._replace(design=design), design, tallies, wrong, some)


def _use_design(design: BagDesign, plan: Plan) -> Plan:
    return plan._replace(design=design)


def _sample_rows(rows: Rows, share: Floats) -> tuple[Rows, NDArray[np.intp]]:
    """Some of the samples, and the number of all by fold and class."""
    place = folds_of(rows.hashes).astype(np.intp) * len(share) + rows.codes
    counts = np.bincount(place, minlength=FOLDS * len(share)).reshape(FOLDS, -1)
    return select_some(rows, share), counts


# --- maps that recalibrate ----------------------------------------------------------------


def _fit_maps(data: Labelled, fold: NDArray[np.int8], prior: Floats) -> FoldMaps | None:
    """Maps of the family that suits held-out samples better; None where a fold lacks a class."""
    parts = [data.select(np.flatnonzero(fold != k)) for k in range(FOLDS)]
    if any((part.counts == 0).any() for part in parts):
        return None
    rows = np.arange(len(data.codes))
    scales: list[Scale] = ["scalar", "full"] if len(prior) <= MOST_FULL else ["scalar"]
    best, least = None, np.inf
    for scale in scales:
        without = tuple(PosteriorMap.fit(part, prior, scale) for part in parts)
        maps = FoldMaps(scale, without, PosteriorMap.fit(data, prior, scale))
        held_out, _ = maps.apply(data, fold)
        cost = float(prior @ data.mean_by_class(-held_out[rows, data.codes]))
        if cost < least:
            best, least = maps, cost
    return best


def _improve_maps(
    data: Partitions, maps: Sequence[FoldMaps | None], weight: Floats
) -> list[FoldMaps | None]:
    """The maps after a step of Newton's with the sums over all samples.

    ``weight``, of shape (n_folds, n_classes), is that of a sample of each fold and class.
    """
    if not any(maps):
        return [*maps]
    function = partial(_sum_terms, classes=data.classes, maps=maps, weight=weight)
    sums = [
        [_add_terms(fold) for fold in zip(*one, strict=True)]
        for one in zip(*data.map(function, "Fitting"), strict=True)
    ]
    return [
        None if one is None else one.improve(folds) for one, folds in zip(maps, sums, strict=True)
    ]


def _sum_terms(
    rows: Rows, classes: tuple[Hashable, ...], maps: Sequence[FoldMaps | None], weight: Floats
) -> list[list[NewtonTerms]]:
    """Terms of Newton's step, of each system and fold."""
    fold, found = folds_of(rows.hashes), []
    for one, values in zip(maps, rows.evidence, strict=True):
        some = [np.flatnonzero(fold == k) for k in range(FOLDS)] if one is not None else []
        found.append(
            [
                one.fitted.newton_terms(
                    Labelled(evidence_of(values[at], classes), rows.codes[at]), one.scale, w
                )
                for at, w in zip(some, weight, strict=False)
                if one is not None
            ]
        )
    return found


def _add_terms(terms: Sequence[NewtonTerms]) -> NewtonTerms:
    return NewtonTerms(*(np.sum(column, axis=0) for column in zip(*terms, strict=True)))


# --- sums of costs ------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Sums of the costs of all systems, of the worst pair of each, and of expected errors."""

    costs: Any
    pairs: Sequence[Any]
    errors: Floats


def _sum_costs(
    data: Partitions, setting: Setting, maps: Sequence[FoldMaps | None], pairs: Sequence[Pair]
) -> _Sums:
    function = partial(_sum_rows, classes=data.classes, setting=setting, maps=maps, pairs=pairs)
    costs = TotalSums(len(data.classes), data.grouped)
    of_pairs = [TotalSums(2, data.grouped) for _ in pairs]
    errors = np.zeros(len(pairs))
    for part in data.map(function, "Summing"):
        if part is not None:
            costs.add(part.costs)
            for total, one in zip(of_pairs, part.pairs, strict=True):
                total.add(one)
            errors += part.errors
    return _Sums(costs, of_pairs, errors)


def _sum_rows(
    rows: Rows,
    classes: tuple[Hashable, ...],
    setting: Setting,
    maps: Sequence[FoldMaps | None],
    pairs: Sequence[Pair],
) -> _Sums | None:
    if not len(rows.codes):
        return None
    fold, costs, of_pairs, errors = folds_of(rows.hashes), [], [], []
    with np.errstate(all="ignore"):
        for one, values, (i, j) in zip(maps, rows.evidence, pairs, strict=True):
            data = Labelled(evidence_of(values, classes), rows.codes)
            log_p = data.evidence.log_posterior(setting.prior)
            after = None if one is None else one.apply(data, fold)
            costs.append(sample_costs(data, log_p, after, setting, FOLDS))
            errors.append(expected_errors(log_p))
            trials = data.pair(j, i)
            order = np.concatenate([data.rows_by_class[k] for k in (j, i)])
            of_pair = LlrSample(trials.llr, trials.y_true).actual_costs(PAIR, 0.0)
            of_pairs.append(CostSums.of_samples([of_pair], rows.hashes[order], 2))
        sums = CostSums.of_samples(costs, rows.hashes, len(classes), has_sides)
    return _Sums(sums, of_pairs, np.array(errors))
