"""Two classes: every quantity of a set of LLRs, from the samples and from bins of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    smaller_by_fitting,
    weighted_sums,
    widened_percentiles,
)
from deciban.assessment.sample_costs import SampleCosts, add_unseen_errors
from deciban.assessment.systems import (
    Estimates,
    Setting,
    System,
    count_events,
    difference_of,
    ruled_out_note,
)
from deciban.evidence import from_nats
from deciban.metrics import PairwiseCosts
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.detection import equal_errors
from deciban.metrics.labelled import Labelled, Trials
from deciban.metrics.pav import PooledBlocks, pool, pool_masses
from deciban.metrics.proportions import EventCounts, sum_interval, wilson
from deciban.metrics.reliability import deviation_from_pav

BINS = 4096  # of the LLRs, about: far more than there are PAV blocks in any number of samples
_COARSE_BINS = 256  # of the LLRs of either of two systems, whose pairs of bins are counted
_MANY = 50_000  # samples from which on the bins of two systems are coarse
_FEW_CELLS = 1 << 20
_MEANS = ("cllr", "cross_entropy")
_FITTED = ("cllr_min", "cllr_cal", "eer", "min_detection_cost")  # by PAV, on what it judges
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

    def terms(self, llr: Floats, t: int) -> Floats:
        """What each sample of the first (0) or second (1) class adds."""
        return np.where(self.above(llr), self.worth[t, 1], self.worth[t, 0])

    def events(self, llrs: Sequence[Floats], t: int) -> EventCounts:
        """How often the LLR of the one system, or only that of either of two, is above."""
        gain = float(self.worth[t, 1] - self.worth[t, 0])
        return count_events(gain, [self.above(llr) for llr in llrs])


Terms = Callable[[Floats, int], Floats]  # of the LLRs of one class, and of its position


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


def cost_terms(setting: Setting) -> dict[str, Terms]:
    """Cllr and the cross-entropy: the mean over one class plus the mean over the other."""
    log_odds = setting.log_odds
    return {
        "cllr": lambda x, t: np.asarray(from_nats(softplus(-x if t else x) / 2, "bit")),
        "cross_entropy": lambda x, t: (
            setting.prior[t] * softplus(-x - log_odds if t else x + log_odds)
        ),
    }


class TwoClassSystem(System):
    """The LLRs of one system in favor of the second class, and every quantity of them."""

    def __init__(self, data: Labelled, setting: Setting) -> None:
        other, target = data.evidence.classes
        self.trials = trials = data.pair(1, 0)
        self.llrs, self.setting = (trials.other.llr, trials.target.llr), setting
        self.values = exact_values(trials, setting)
        self.words = {"target": target, "other": other, "nothing": setting.cost_without_evidence}
        ruled_out = np.isinf(data.evidence.log_likelihoods[np.arange(len(data.codes)), data.codes])
        self.notes = [*_score_notes(trials), *ruled_out_note(ruled_out)]
        tables = [
            np.array([[np.nan, self.values[key]], [self.values[key], np.nan]])
            for key in ("cllr", "cllr_min")
        ]
        self.pairwise = PairwiseCosts(*tables)
        accept = steps(setting)["accuracy"].above
        self.n_wrong = sum(int((accept(x) != t).sum()) for t, x in enumerate(self.llrs))
        self.expected_wrong = float(expit(-np.abs(trials.llr + setting.log_odds)).sum())

    def estimates(self, plan: Plan, other: Self | None = None) -> Estimates:
        """Intervals of the quantities, or of their differences from those of another system."""
        systems = (self,) if other is None else (self, other)
        values = {key: difference_of([s.values[key] for s in systems]) for key in self.values}
        found = _intervals_from_bins(systems, values, plan)
        costs = [llr_costs(s.trials, s.setting) for s in systems]
        gap = costs[0] if other is None else costs[0].minus(costs[1])
        add_unseen_errors(found.intervals, gap, costs, plan.confidence)
        for key, step in steps(self.setting).items():
            events = [step.events([s.llrs[t] for s in systems], t) for t in (0, 1)]
            found.intervals[key] = sum_interval(values[key], events, plan.confidence)
        return found


def _intervals_from_bins(
    systems: Sequence[TwoClassSystem], values: dict[str, float], plan: Plan
) -> Estimates:  # fmt: skip
    drawn, left_out = _resample(systems, values, plan)
    found, level = Estimates(), plan.confidence
    for k, key in enumerate((*_MEANS, *_FITTED)):
        value, resampled = values[key], drawn[:, k]
        if len(systems) == 2 and key in _FITTED and not any(s.values[key] for s in systems):
            continue  # neither has made an error that could be drawn
        if len(systems) == 2:
            found.intervals[key] = widened_percentiles(value, resampled, level)
        elif key in _MEANS:
            found.intervals[key] = bca_interval(value, resampled, left_out[:, k], level)
        else:
            correct = larger_by_fitting if key == "cllr_cal" else smaller_by_fitting
            misled = drawn[:, k + len(_FITTED)]
            found.intervals[key], found.corrected[key] = correct(value, resampled, misled, level)
    return found


def _resample(
    systems: Sequence[TwoClassSystem], values: dict[str, float], plan: Plan
) -> Resamples:  # fmt: skip
    """Quantities of resamples; those of one system also with misleading samples added."""
    first, paired = systems[0], len(systems) == 2
    bins = _COARSE_BINS if paired and len(first.trials.llr) > _MANY else BINS
    binned = [BinnedLlrs(s.llrs, s.setting, bins) for s in systems]
    cells = [JointBins(binned, t) for t in (0, 1)]
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
            misled = one.values_with_misleading(
                (in_bins[0], in_bins[1]), rng.poisson(MISLEADING, 2), of[0]["cllr"]
            )
            found += [misled[key] for key in _FITTED]
        return np.array(found)

    counts = tuple(cell.counts for cell in cells)
    return resample(statistic, counts, np.array(exact), plan, leave_out=not paired)


def llr_costs(trials: Trials, setting: Setting) -> SampleCosts:
    """What each LLR costs, and what it would cost with its sign turned."""
    target, other = trials.target.llr, trials.other.llr

    def costs(sign: float) -> dict[str, Floats]:
        return {
            key: np.concatenate([terms(sign * target, 1), terms(sign * other, 0)])
            for key, terms in cost_terms(setting).items()
        }

    right = np.concatenate([target >= 0, other <= 0])
    return SampleCosts(trials.y_true, 2, costs(1.0), costs(-1.0), right)


def exact_values(trials: Trials, setting: Setting) -> dict[str, float]:
    """Every quantity, from the samples themselves."""
    llrs = (trials.other.llr, trials.target.llr)
    every = cost_terms(setting) | {key: step.terms for key, step in steps(setting).items()}
    values = {
        key: float(sum(terms(x, t).mean() for t, x in enumerate(llrs)))
        for key, terms in every.items()
    }
    fitted = _fitted_values(pool(trials), setting, values["cllr"])
    return values | fitted | {"dev_pav": float(from_nats(deviation_from_pav(trials), "ban"))}


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
    """LLRs in bins, with the mean cost in each, so that counts give costs and what PAV fits.

    Bins are quantiles, finer towards the ends, where single LLRs matter; infinite LLRs have bins of
    their own. Few samples have one for each distinct LLR.

    Attributes
    ----------
    places : (array, array)
        The bin of each sample of the first and of the second class.
    n_bins : int
    """

    def __init__(self, llrs: tuple[Floats, Floats], setting: Setting, bins: int = BINS) -> None:
        both = np.concatenate(llrs)
        edges = _bin_edges(both, bins)
        place = np.searchsorted(edges, both, side="right")
        used, _ = _count_cells(place, len(edges) + 1)
        place = np.searchsorted(used, np.arange(len(edges) + 1))[place]
        self.places = (place[: len(llrs[0])], place[len(llrs[0]) :])
        self.n_bins, self._setting = len(used), setting
        self._means = [self._bin_means(llr, t) for t, llr in enumerate(llrs)]

    def _bin_means(self, llr: Floats, t: int) -> Floats:
        """Mean of each cost in each bin, (n_costs, n_bins)."""
        counts = np.bincount(self.places[t], minlength=self.n_bins)
        sums = np.array(
            [
                np.bincount(self.places[t], terms(llr, t), self.n_bins)
                for terms in cost_terms(self._setting).values()
            ]
        )
        return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)

    def values(self, counts: Counts) -> dict[str, float]:
        """Costs, and what PAV fits, of the counts of the first and of the second class."""
        shares = [c / c.sum() for c in counts]
        sums = sum(weighted_sums(m, s) for m, s in zip(self._means, shares, strict=True))
        values = dict(zip(_MEANS, np.asarray(sums).tolist(), strict=True))
        blocks = pool_masses(counts[1], counts[0])
        return values | _fitted_values(blocks, self._setting, values["cllr"])

    def values_with_misleading(
        self, counts: Counts, misleading: np.ndarray, cllr: float
    ) -> dict[str, float]:
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

    def __init__(self, systems: Sequence[BinnedLlrs], t: int) -> None:
        self._sizes = tuple(binned.n_bins for binned in systems)
        cell = np.ravel_multi_index(tuple(binned.places[t] for binned in systems), self._sizes)
        used, self.counts = _count_cells(cell, math.prod(self._sizes))
        self._places = np.unravel_index(used, self._sizes)

    def counts_in(self, k: int, counts: np.ndarray) -> Floats:
        """Counts of cells as counts of the bins of one system."""
        return np.asarray(np.bincount(self._places[k], counts, self._sizes[k]), dtype=np.float64)


def _count_cells(cell: NDArray[np.intp], n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells that occur, rising, and how often each does."""
    if n_cells > _FEW_CELLS:
        return np.unique(cell, return_counts=True)
    counts = np.bincount(cell, minlength=n_cells)  # far cheaper than sorting millions
    used = np.flatnonzero(counts)
    return used, counts[used]


def _bin_edges(llr: Floats, bins: int) -> Floats:
    """Where bins begin, rising."""
    ordered = np.sort(llr)
    n = len(ordered)
    if n > bins:
        inner = np.linspace(0, n - 1, bins, dtype=np.int64)
        ends = np.unique(np.geomspace(1, n / bins + 1, bins // 64 + 2).astype(np.int64)) - 1
        ordered = ordered[np.concatenate([inner, ends, n - 1 - ends])]
    return np.unique(np.concatenate([ordered, [-np.inf, -_LARGEST, np.inf]]))


def _score_notes(trials: Trials) -> list[str]:
    """Notes on numbers that do not look like LLRs: ratios, or reversed ones."""
    wrong = [np.sum(trials.target.llr < 0), np.sum(trials.other.llr > 0)]
    low, _ = wilson(wrong, [len(trials.target.llr), len(trials.other.llr)], 0.95)
    if min(low) > 0.5:
        return [
            f"The LLRs point the wrong way for most samples of both classes: they may be in favor "
            f"of {trials.other_label!r} rather than of {trials.pos_label!r}. Check which class "
            f"they are in favor of."
        ]
    if trials.llr.min() >= 0 and trials.llr.max() > 0:
        return ["No LLR is below zero: if these are likelihood ratios, take their logarithms "
                "first."]  # fmt: skip
    return []
