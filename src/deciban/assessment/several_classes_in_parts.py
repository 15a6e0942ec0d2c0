"""Three classes or more in partitions: sums over buckets of what samples cost.

The maps that recalibrate them are fitted to some of the samples, in two folds, and improved by
steps of Newton's with sums over all samples, of which two or three are enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import NewtonTerms, improve_affine, newton_terms
from deciban._estimation.logistic import AffineMap, Scale
from deciban._validation.arrays import Floats
from deciban.assessment.several_classes import (
    FoldMaps,
    SeveralClassSystem,
    expected_errors,
    fit_maps,
    has_sides,
    pair_columns,
    sample_costs,
    worst_pair,
)
from deciban.assessment.systems import Judged, Setting, Subsample
from deciban.metrics.decomposition import PosteriorMap, gram_schmidt_ilr
from deciban.metrics.partitions import FOLDS, Partitions, Rows, folds_of
from deciban.metrics.pav_in_parts import pairwise_costs_in_parts, tally_pairs
from deciban.metrics.units import Buckets, BucketSums, UnitCosts, cost_columns
from deciban.simplex import Basis

_LARGEST = 1e100  # nats; squares of larger ones overflow
_STEPS = 12  # of Newton's, each a pass over the samples; separable classes would take many

Pair = tuple[int, int]


def judge_posteriors_in_parts(data: Partitions, setting: Setting) -> Judged:
    pairs = tally_pairs(data)
    tallies, pairwise = [one.tally for one in pairs], pairwise_costs_in_parts(data, pairs)
    share = Subsample.share(tallies[0].counts)
    sampled = [*data.map(partial(_sample_rows, share=share), "Sampling")]
    by_fold = np.sum([one for _, one in sampled], axis=0)
    some = Rows.join([rows for rows, _ in sampled])
    fold = folds_of(some.hashes)
    maps: list[FoldMaps | None] = [None] * len(tallies)
    squares = [np.zeros(0)] * len(tallies)  # of the mean size of the ILRLs
    for k, tally in enumerate(tallies):
        if not tally.n_infinite and by_fold.all():
            samples = Subsample.of_rows(some, data.classes, k).data
            l = gram_schmidt_ilr(samples)
            maps[k] = fit_maps(l, samples.codes, fold, setting.prior)
            squares[k] = np.minimum(np.abs(l).mean(axis=0), _LARGEST) ** 2
    maps = improve_maps(data, maps, squares, setting.prior, by_fold)
    function = partial(
        _sum_rows, classes=data.classes, setting=setting, maps=maps,
        pairs=[worst_pair(one.cllr) for one in pairwise],
    )  # fmt: skip
    tables = [Buckets(n, data.grouped) for n in (len(data.classes), *(2 for _ in maps))]
    errors = np.zeros(len(maps))
    for part in data.map(function, "Summing"):
        for table, sums in zip(tables, part[0], strict=True):
            table.add(sums)
        errors += part[1]
    (columns, *_), (design, *_) = ([getattr(one, name) for one in tables]
                                   for name in ("columns", "design"))  # fmt: skip
    needed = "samples of each class in both halves, into which a hash divides them or their groups"
    with np.errstate(all="ignore"):
        systems = [
            SeveralClassSystem(
                data.classes, setting, columns, design, k, one, float(errors[k]), tally.notes,
                UnitCosts.read(table.columns, table.design, 0), needed,
            )
            for k, (tally, one, table) in enumerate(zip(tallies, pairwise, tables[1:], strict=True))
        ]  # fmt: skip
    return Judged(systems, design, tallies, some)


def _sample_rows(rows: Rows, share: Floats) -> tuple[Rows, NDArray[np.intp]]:
    """A subsample, and sample counts by fold and class."""
    place = folds_of(rows.hashes).astype(np.intp) * len(share) + rows.codes
    counts = np.bincount(place, minlength=FOLDS * len(share)).reshape(FOLDS, -1)
    return rows.subsample(share), counts


# --- maps that recalibrate ----------------------------------------------------------------


def improve_maps(
    data: Partitions,
    maps: Sequence[FoldMaps | None],
    squares: Sequence[Floats],
    prior: Floats,
    by_fold: NDArray[np.intp],
) -> list[FoldMaps | None]:
    """Newton steps over all samples, from maps for some of them.

    ``by_fold``, (n_folds, n_classes), are sample counts. All maps take each step in the same pass.
    """
    searches = {
        (k, fold): improve_affine(each.ilrl, one.scale, squares[k], _STEPS)
        for k, one in enumerate(maps)
        if one is not None
        for fold, each in enumerate((*one.without, one.fitted))
    }
    asked, found = {key: next(one) for key, one in searches.items()}, {}
    counts = by_fold.sum(axis=0)
    weights = prior / np.array([*(counts - by_fold), counts]).clip(1)
    scales: list[Scale] = ["scalar" if one is None else one.scale for one in maps]
    while asked:
        function = partial(
            _sum_terms, asked=asked, scales=scales, weights=weights, prior=prior,
            classes=data.classes,
        )  # fmt: skip
        terms: dict[tuple[int, int], NewtonTerms] = {}
        for part in data.map(function, "Fitting"):
            terms |= {key: terms[key] + one if key in terms else one for key, one in part.items()}
        new = {}
        for key in asked:
            try:
                new[key] = searches[key].send(terms[key])
            except StopIteration as end:
                found[key] = PosteriorMap(end.value, prior)
        asked = new
    return [
        one
        and one._replace(
            without=tuple(found[k, fold] for fold in range(FOLDS)), fitted=found[k, FOLDS]
        )
        for k, one in enumerate(maps)
    ]


def _sum_terms(
    rows: Rows,
    asked: Mapping[tuple[int, int], AffineMap],
    scales: Sequence[Scale],
    weights: Floats,
    prior: Floats,
    classes: tuple[Hashable, ...],
) -> dict[tuple[int, int], NewtonTerms]:
    """Newton terms at each map, over its samples."""
    fold, V = folds_of(rows.hashes), Basis.gram_schmidt(len(classes)).contrast
    ilrs = {k: gram_schmidt_ilr(rows.labelled(classes, k)) for k in {k for k, _ in asked}}
    with np.errstate(all="ignore"):  # squares of huge scores overflow: their step is not taken
        return {
            (k, j): newton_terms(
                ilrs[k][fold != j], rows.codes[fold != j], weights[j], np.log(prior), V, one,
                scales[k],
            )
            for (k, j), one in asked.items()
        }  # fmt: skip


# --- sums of costs ------------------------------------------------------------------------


def _sum_rows(
    rows: Rows,
    classes: tuple[Hashable, ...],
    setting: Setting,
    maps: Sequence[FoldMaps | None],
    pairs: Sequence[Pair],
) -> tuple[list[BucketSums], Floats]:
    """Costs by bucket, costs of the worst pairs, and expected errors."""
    fold, costs, of_pairs, errors = folds_of(rows.hashes), [], [], []
    with np.errstate(all="ignore"):
        for k, (one, pair) in enumerate(zip(maps, pairs, strict=True)):
            data = rows.labelled(classes, k)
            log_p = data.evidence.log_posterior(setting.prior)
            after = None if one is None else one.apply(gram_schmidt_ilr(data), fold)
            costs.append(sample_costs(data, log_p, after, setting, FOLDS))
            errors.append(expected_errors(log_p))
            order, codes, columns = pair_columns(data, pair)
            of_pairs.append(BucketSums.of_samples(columns, codes, rows.hashes[order], 2))
        columns = cost_columns(costs, has_sides)
        sums = BucketSums.of_samples(columns, rows.codes, rows.hashes, len(classes))
    return [sums, *of_pairs], np.array(errors)
