"""Two classes: every quantity of a set of LLRs, from the samples and from bins of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from deciban.assessment.intervals import (
    MISLEADING,
    Counts,
    Floats,
    Plan,
    Resamples,
    bca_interval,
    larger_by_fitting,
    resample,
    resample_means,
    smaller_by_fitting,
    weighted_sums,
    widened_percentiles,
)
from deciban.assessment.systems import Estimates, Setting, System, difference_of, ruled_out_note
from deciban.evidence import Evidence, from_nats
from deciban.metrics import Interval, PairwiseCosts, dev_pav
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.detection import equal_errors
from deciban.metrics.labelled import read_trials
from deciban.metrics.pav import PooledBlocks, pool, pool_masses
from deciban.metrics.proportions import EventCounts, add_unseen, sum_interval, unseen_rate, wilson

BINS = 4096  # of the LLRs, about: far more than there are PAV blocks in any number of samples
_COARSE_BINS = 256  # of the LLRs of either of two systems, whose pairs of bins are counted
_MANY = 50_000  # samples from which on the bins of two systems are coarse
_FEW_CELLS = 1 << 20  # that are counted rather than sorted
_MEANS = ("cllr", "cross_entropy")
_FITTED = ("cllr_min", "cllr_cal", "eer", "min_detection_cost")  # by PAV, on what it judges
_SOME = 100_000  # samples that suffice for a mean that need not be exact
_LARGEST = np.finfo(np.float64).max
Mask = NDArray[np.bool_]


class Step(NamedTuple):
    """A quantity that depends only on which side of a threshold each LLR lies.

    Attributes
    ----------
    threshold : float
    inclusive : bool
        Whether an LLR on the threshold is above it.
    worth : array of shape (2, 2)
        What a sample adds to the mean of its class, by truth and by being above.
    """

    threshold: float
    inclusive: bool
    worth: Floats

    def above(self, llr: Floats) -> Mask:
        """Whether LLRs are above the threshold."""
        return llr >= self.threshold if self.inclusive else llr > self.threshold

    def terms(self, llr: Floats, is_target: Mask) -> Floats:
        """What each sample adds."""
        return np.asarray(self.worth[is_target.astype(np.int8), self.above(llr).astype(np.int8)])

    def events(self, llrs: Sequence[Floats], is_target: Mask) -> list[EventCounts]:
        """How often the LLR of the one system, or only that of either of two, is above."""
        above = [self.above(llr) for llr in llrs]
        if len(above) == 2:
            above = [above[0] & ~above[1], above[1] & ~above[0]]
        signs = np.array([1.0, -1.0][: len(above)])
        gain = self.worth[:, 1] - self.worth[:, 0]
        return [
            EventCounts(
                gain[t] * signs,
                np.array([one[is_target == t].sum() for one in above]),
                int((is_target == t).sum()),
            )
            for t in (0, 1)
        ]


Terms = Callable[[Floats, Mask], Floats]  # of LLRs, and of whether they are those of targets


def steps(setting: Setting) -> dict[str, Step]:
    """Error rates and costs of decisions; an LLR on a threshold is accepted."""
    p, (false_alarm, miss), threshold = setting.prior, setting.losses, setting.threshold
    found = {
        "misleading_target": Step(0.0, True, np.array([[0.0, 0.0], [1.0, 0.0]])),
        "misleading_other": Step(0.0, False, np.array([[0.0, 1.0], [0.0, 0.0]])),
        "accuracy": Step(-setting.log_odds, True, np.diag(p)),
        "detection_cost": Step(threshold, True, np.array([[0.0, false_alarm], [miss, 0.0]])),
    }
    if setting.costs is not None:
        found["expected_cost"] = Step(threshold, True, p[:, None] * setting.costs)
    return found


def mean_terms(setting: Setting) -> dict[str, Terms]:
    """Quantities that are the mean over one class plus the mean over the other."""
    log_odds = setting.log_odds
    found: dict[str, Terms] = {
        "cllr": lambda x, t: np.asarray(from_nats(softplus(np.where(t, -x, x)) / 2, "bit")),
        "cross_entropy": lambda x, t: (
            setting.prior[t.astype(np.int8)] * softplus(np.where(t, -x - log_odds, x + log_odds))
        ),
    }
    return found | {key: step.terms for key, step in steps(setting).items()}


class TwoClassSystem(System):
    """The LLRs of one system in favor of the second class, and every quantity of them."""

    def __init__(self, truth: NDArray[np.intp], evidence: Evidence, setting: Setting) -> None:
        other, target = evidence.classes
        self.llr, self.is_target, self.setting = evidence.llr(target, other), truth == 1, setting
        self.values = exact_values(self.llr, self.is_target, setting)
        self.words = {"target": target, "other": other, "nothing": setting.cost_without_evidence}
        self.notes = _score_notes(self.llr, self.is_target, target, other)
        tables = [
            np.array([[np.nan, self.values[key]], [self.values[key], np.nan]])
            for key in ("cllr", "cllr_min")
        ]
        self.pairwise = PairwiseCosts(*tables)
        accepted = steps(setting)["accuracy"].above(self.llr)
        self.n_wrong = int((accepted != self.is_target).sum())
        self.expected_wrong = float(expit(-np.abs(self.llr + setting.log_odds)).sum())

    def estimates(self, plan: Plan, other: Self | None = None) -> Estimates:
        """Intervals of the quantities, or of their differences from those of another system."""
        systems = (self,) if other is None else (self, other)
        values = {key: difference_of([s.values[key] for s in systems]) for key in self.values}
        resamples = _resample(systems, values, plan)
        if other is None:
            found = _own_intervals(values, resamples, plan)
        else:
            found = _paired_intervals(values, resamples, plan)
            for key in _FITTED:  # neither has made an error that could be drawn
                if self.values[key] == other.values[key] == 0:
                    found.intervals[key] = Interval(0.0)
        llrs = [s.llr for s in systems]
        unseen = _unseen(llrs, self.is_target, self.setting, plan.confidence)
        for key, extra in unseen.items():
            found.intervals[key] = add_unseen(found.intervals[key], extra)
        for key, step in steps(self.setting).items():
            events = step.events(llrs, self.is_target)
            found.intervals[key] = sum_interval(values[key], events, plan.confidence)
        return found


def _own_intervals(values: dict[str, float], resamples: Resamples, plan: Plan) -> Estimates:
    drawn, left_out = resamples
    found = Estimates()
    for k, key in enumerate(_MEANS):
        found.intervals[key] = bca_interval(
            values[key], drawn[:, k], left_out[:, k], plan.confidence
        )
    for k, key in enumerate(_FITTED, start=len(_MEANS)):
        correct = larger_by_fitting if key == "cllr_cal" else smaller_by_fitting
        misled = drawn[:, k + len(_FITTED)]
        found.intervals[key], found.corrected[key] = correct(
            values[key], drawn[:, k], misled, plan.confidence
        )
    return found


def _paired_intervals(values: dict[str, float], resamples: Resamples, plan: Plan) -> Estimates:
    return Estimates(
        {
            key: widened_percentiles(values[key], resamples.drawn[:, k], plan.confidence)
            for k, key in enumerate((*_MEANS, *_FITTED))
        }
    )


def _resample(
    systems: Sequence[TwoClassSystem], values: dict[str, float], plan: Plan
) -> Resamples:  # fmt: skip
    """Quantities of resamples; those of one system also with misleading samples added."""
    first, paired = systems[0], len(systems) == 2
    bins = _COARSE_BINS if paired and len(first.llr) > _MANY else BINS
    binned = [BinnedLlrs(s.llr, s.is_target, s.setting, bins) for s in systems]
    cells = [JointBins(binned, first.is_target == t) for t in (False, True)]
    keys = (*_MEANS, *_FITTED)
    exact = [values[key] for key in keys]
    if not paired:  # quantities with misleading samples have no exact value to be off from
        exact += [math.nan] * len(_FITTED)
    rng = np.random.default_rng([plan.seed, 1])

    def statistic(counts: Counts) -> Floats:
        of = []
        for k, one in enumerate(binned):
            in_bins = [cell.counts_in(k, c) for cell, c in zip(cells, counts, strict=True)]
            of.append(one.values((in_bins[0], in_bins[1])))
        found = [difference_of([v[key] for v in of]) for key in keys]
        if not paired:
            misled = one.misled((in_bins[0], in_bins[1]), rng.poisson(MISLEADING, 2), of[0]["cllr"])
            found += [misled[key] for key in _FITTED]
        return np.array(found)

    counts = tuple(cell.counts for cell in cells)
    return resample(statistic, counts, np.array(exact), plan, leave_out=not paired)


def _unseen(
    llrs: Sequence[Floats], is_target: Mask, setting: Setting, confidence: float
) -> dict[str, Floats]:  # fmt: skip
    """What misleading LLRs may add to costs, if they are more frequent than in any resample.

    They are like those that were seen, and like one sound LLR with its sign turned. Of two systems,
    what they may add to the difference: where both are misled, and where only one is.
    """
    found: dict[str, list[float]] = {key: [] for key in _MEANS}
    for t in (False, True):
        mine = [llr[is_target == t] for llr in llrs]
        sound = [x >= 0 if t else x <= 0 for x in mine]
        all_sound = np.logical_and.reduce(sound)
        shared = unseen_rate(int((~all_sound).sum()), len(all_sound), confidence)
        for key, extra in found.items():
            terms = mean_terms(setting)[key]
            signs = (1.0, -1.0)[: len(mine)]
            gaps = [_cost_of_turning(terms, x, all_sound, t) for x in mine]
            extra.append(shared * sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)))
            for sign, x, own in zip(signs, mine, sound, strict=True):
                rate = unseen_rate(int((~own).sum()), len(own), confidence) - shared
                extra.append(sign * max(0.0, rate) * _cost_of_turning(terms, x, own, t))
    return {key: np.array(extra) for key, extra in found.items()}


def _cost_of_turning(terms: Terms, llr: Floats, sound: Mask, t: bool) -> float:
    """How much more a misleading LLR costs than a sound one."""
    if not sound.any():
        return 0.0
    some = llr[sound]
    some = some[:: max(1, len(some) // _SOME)]
    right, turned, seen = (terms(x, np.full(len(x), t)) for x in (some, -some, llr[~sound]))
    return float((np.mean(turned) + seen.sum()) / (1 + len(seen)) - np.mean(right))


def cllr_interval(llr: Floats, is_target: Mask, plan: Plan) -> Interval:
    """Interval of the Cllr of LLRs, from the samples themselves."""
    even = Setting(np.array([0.5, 0.5]))
    cost = mean_terms(even)["cllr"](llr, is_target)
    by_class = [cost[None, ~is_target], cost[None, is_target]]
    drawn, left_out = resample_means(by_class, plan)
    value = float(sum(c.mean() for c in by_class))
    interval = bca_interval(value, drawn[:, 0], left_out[:, 0], plan.confidence)
    return add_unseen(interval, _unseen([llr], is_target, even, plan.confidence)["cllr"])


def exact_values(llr: Floats, is_target: Mask, setting: Setting) -> dict[str, float]:
    """Every quantity, from the samples themselves."""
    n = np.bincount(is_target, minlength=2)
    values = {}
    for key, terms in mean_terms(setting).items():
        totals = np.bincount(is_target, weights=terms(llr, is_target), minlength=2)
        values[key] = float((totals / n).sum())
    blocks = pool(read_trials(is_target, llr, pos_label=True))
    fitted = _fitted_values(blocks, setting, values["cllr"])
    return values | fitted | {"dev_pav": dev_pav(is_target, llr, pos_label=True)}


def _fitted_values(blocks: PooledBlocks, setting: Setting, cllr: float) -> dict[str, float]:
    p_miss, p_false_alarm = blocks.hull()
    false_alarm, miss = setting.losses
    least = cost_of_blocks(blocks)
    return {
        "cllr_min": least,
        "cllr_cal": cllr - least,
        "eer": equal_errors(p_miss, p_false_alarm),
        "min_detection_cost": float(np.min(miss * p_miss + false_alarm * p_false_alarm)),
    }


class BinnedLlrs:
    """LLRs in bins, with the mean of each term in each bin, so that counts give every quantity.

    Bins are quantiles, finer towards the ends, where single LLRs matter; infinite LLRs, and those
    on which a decision turns, have bins of their own. Few samples have one for each distinct LLR.

    Attributes
    ----------
    place : array of shape (n_samples,)
        The bin of each sample.
    n_bins : int
    """

    def __init__(self, llr: Floats, is_target: Mask, setting: Setting, bins: int = BINS) -> None:
        edges = _bin_edges(llr, (0.0, -setting.log_odds, setting.threshold), bins)
        place = np.searchsorted(edges, llr, side="right") - 1
        used = np.flatnonzero(np.bincount(place, minlength=len(edges)))
        renumbered = np.zeros(len(edges), dtype=np.int32)
        renumbered[used] = np.arange(len(used))
        self.place, self.n_bins = renumbered[place], len(used)
        self._setting, self._keys = setting, tuple(mean_terms(setting))
        cell = self.place * np.int32(2) + is_target
        counts = np.bincount(cell, minlength=2 * self.n_bins)
        sums = np.array(
            [
                np.bincount(cell, weights=terms(llr, is_target), minlength=2 * self.n_bins)
                for terms in mean_terms(setting).values()
            ]
        )
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        self._means = (means[:, 0::2].copy(), means[:, 1::2].copy())

    def values(self, counts: Counts) -> dict[str, float]:
        """Every quantity but devPAV, of the counts of the first and of the second class."""
        shares = [c / c.sum() for c in counts]
        sums = sum(weighted_sums(m, s) for m, s in zip(self._means, shares, strict=True))
        values = dict(zip(self._keys, np.asarray(sums).tolist(), strict=True))
        blocks = pool_masses(counts[1], counts[0])
        return values | _fitted_values(blocks, self._setting, values["cllr"])

    def misled(self, counts: Counts, misleading: np.ndarray, cllr: float) -> dict[str, float]:
        """What PAV makes of counts and of misleading samples of the first and second class.

        ``cllr`` is that of the counts alone: the added samples would make it infinite.
        """
        other = np.concatenate([[0.0], counts[0], [misleading[0]]])
        target = np.concatenate([[misleading[1]], counts[1], [0.0]])
        return _fitted_values(pool_masses(target, other), self._setting, cllr)


class JointBins:
    """The samples of a class, counted by the bins that their LLRs of each system lie in.

    Attributes
    ----------
    counts : array of shape (n_cells,)
        Number of samples in each combination of bins that occurs.
    """

    def __init__(self, systems: Sequence[BinnedLlrs], members: Mask) -> None:
        self._sizes = [binned.n_bins for binned in systems]
        places = tuple(binned.place[members].astype(np.int64) for binned in systems)
        cell = np.ravel_multi_index(places, tuple(self._sizes))
        if math.prod(self._sizes) <= _FEW_CELLS:
            every = np.bincount(cell, minlength=math.prod(self._sizes))
            used = np.flatnonzero(every)
            self.counts = every[used]
        else:
            used, self.counts = np.unique(cell, return_counts=True)
        self._places = np.unravel_index(used, tuple(self._sizes))

    def counts_in(self, k: int, counts: np.ndarray) -> Floats:
        """Counts of cells as counts of the bins of one system."""
        return np.asarray(np.bincount(self._places[k], counts, self._sizes[k]), dtype=np.float64)


def _bin_edges(llr: Floats, turning: tuple[float, ...], bins: int) -> Floats:
    """Where bins begin, rising; LLRs at which a decision turns have one of their own."""
    ordered = np.sort(llr)
    n = len(ordered)
    if n > bins:
        inner = np.linspace(0, n - 1, bins, dtype=np.int64)
        ends = np.unique(np.geomspace(1, n / bins + 1, bins // 64 + 2).astype(np.int64)) - 1
        ordered = ordered[np.concatenate([inner, ends, n - 1 - ends])]
    special = [-np.inf, -_LARGEST, np.inf]
    for t in turning:
        special += [t, np.nextafter(t, np.inf)]
    return np.unique(np.concatenate([ordered, special]))


def _score_notes(llr: Floats, is_target: Mask, target: Hashable, other: Hashable) -> list[str]:
    """Notes on numbers that do not look like LLRs: ratios, reversed or impossible ones."""
    notes = []
    wrong = np.where(is_target, llr < 0, llr > 0)
    times = np.bincount(is_target, minlength=2)
    low, _ = wilson(np.bincount(is_target, weights=wrong, minlength=2), times, 0.95)
    if min(low) > 0.5:
        notes.append(
            f"The LLRs point the wrong way for most samples of both classes: they may be in favor "
            f"of {other!r} rather than of {target!r}. Check which class they are in favor of."
        )
    elif llr.min() >= 0 and llr.max() > 0:
        notes.append(
            "No LLR is below zero: if these are likelihood ratios, take their logarithms first."
        )
    return [*notes, *ruled_out_note(np.isinf(llr) & wrong)]
