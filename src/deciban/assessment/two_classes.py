"""Two classes: every quantity of a set of LLRs, from the samples and from bins of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from deciban._validation.arrays import Floats
from deciban.assessment.intervals import (
    MISLEADING,
    Counts,
    Plan,
    Resamples,
    interval_of_overestimate,
    interval_of_underestimate,
    resample,
    resampled_interval,
    weighted_sums,
)
from deciban.assessment.sample_costs import SampleCosts, add_unseen_errors
from deciban.assessment.systems import Setting, System, count_events, difference_of
from deciban.evidence import from_nats
from deciban.metrics import Interval, PairwiseCosts
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.detection import equal_errors
from deciban.metrics.labelled import Labelled, Trials
from deciban.metrics.pav import PooledBlocks, pool, pool_masses
from deciban.metrics.proportions import EventCounts, sum_interval, wilson
from deciban.metrics.reliability import deviation_from_pav

BINS = 4096  # approximate number of bins of the LLRs: far more than PAV ever has blocks
_COARSE_BINS = 256  # the same for each of two systems, whose pairs of bins are counted
_MANY = 50_000  # number of samples above which the bins of two systems are coarse
_FEW_CELLS = 1 << 20
_MEANS = ("cllr", "cross_entropy")
_LARGEST = np.finfo(np.float64).max
Terms = Callable[[Floats, int], Floats]  # of the LLRs of the first (0) or second (1) class


class Step(NamedTuple):
    """A quantity that depends only on which side of a threshold each LLR lies.

    ``worth`` is what a sample adds to the mean of its class: true classes on rows, and a column
    each for LLRs below and above the threshold.
    """

    threshold: float
    inclusive: bool  # whether an LLR on the threshold counts as above it
    worth: Floats

    def above(self, llr: Floats) -> NDArray[np.bool_]:
        """Whether LLRs are above the threshold."""
        return llr >= self.threshold if self.inclusive else llr > self.threshold

    def terms(self, llr: Floats, t: int) -> Floats:
        """What each sample of the first (0) or second (1) class adds."""
        return np.where(self.above(llr), self.worth[t, 1], self.worth[t, 0])

    def events(self, llrs: Iterable[Floats], t: int) -> EventCounts:
        """Count the LLRs above the threshold, or those of one of two systems alone."""
        gain = float(self.worth[t, 1] - self.worth[t, 0])
        return count_events(gain, [self.above(llr) for llr in llrs])


def steps(setting: Setting) -> dict[str, Step]:
    """Error rates and costs of decisions; an LLR on a threshold is accepted."""
    p, losses = setting.prior, setting.losses
    found = {
        "misleading_target": Step(0.0, True, np.array([[0.0, 0.0], [1.0, 0.0]])),
        "misleading_other": Step(0.0, False, np.array([[0.0, 1.0], [0.0, 0.0]])),
        "accuracy": Step(-setting.log_odds, True, np.diag(p)),
    }
    for key, (false_alarm, miss, threshold) in losses.items():
        found[key] = Step(threshold, True, np.array([[0.0, false_alarm], [miss, 0.0]]))
    if setting.costs is not None:
        threshold = losses["detection_cost"].threshold
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
        super().__init__(data, setting)
        self.trials = trials = data.pair(1, 0)
        self.llrs = (trials.other.llr, trials.target.llr)
        self.values = exact_values(trials, setting)
        self.notes = [*_score_notes(trials), *self.notes]
        off_diagonal = np.where(np.eye(2), np.nan, 1.0)
        tables = (self.values[key] * off_diagonal for key in ("cllr", "cllr_min"))
        self.pairwise = PairwiseCosts(*tables)
        accept = steps(setting)["accuracy"].above
        self.n_wrong = sum(int((accept(x) != t).sum()) for t, x in enumerate(self.llrs))
        self.expected_wrong = float(expit(-np.abs(trials.llr + setting.log_odds)).sum())

    def estimates(self, plan: Plan, other: Self | None = None) -> dict[str, Interval]:
        """Intervals of the quantities, or of their differences from those of another system."""
        systems = [self] if other is None else [self, other]
        values = {key: difference_of([s.values[key] for s in systems]) for key in self.values}
        intervals = _intervals_from_bins(systems, values, plan)
        costs = [llr_costs(s.trials, s.setting) for s in systems]
        add_unseen_errors(intervals, costs, plan.confidence)
        for key, step in steps(self.setting).items():
            events = [step.events((s.llrs[t] for s in systems), t) for t in (0, 1)]
            intervals[key] = sum_interval(values[key], events, plan.confidence)
        if "c_primary" in values:
            intervals["c_primary"] = _primary_interval(systems, values["c_primary"], intervals)
        return intervals


def _primary_interval(
    systems: Sequence[TwoClassSystem], value: float, intervals: dict[str, Interval]
) -> Interval:
    """Interval of the mean cost over operating points.

    The distances to the ends at each point are added in quadrature, with the correlation of costs
    that rest on the same samples (Zou and Donner, 2008).
    """
    setting = systems[0].setting
    keys, at = setting.point_keys, steps(setting)
    covariance = np.zeros((len(keys), len(keys)))
    for t in (0, 1):
        of = [np.array([at[key].terms(s.llrs[t], t) for key in keys]) for s in systems]
        covariance += np.cov(of[0] if len(of) == 1 else of[0] - of[1], bias=True) / of[0].shape[1]
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    correlation = np.divide(covariance, scale, out=np.ones_like(scale), where=scale > 0)
    low, high = (np.array([intervals[key][end] for key in keys]) for end in (1, 2))
    middle = np.array([intervals[key].value for key in keys])
    down, up = (
        math.sqrt(max(0.0, d @ correlation @ d)) / len(keys) for d in (middle - low, high - middle)
    )
    return Interval(value, value - down, value + up)


def _intervals_from_bins(
    systems: Sequence[TwoClassSystem], values: dict[str, float], plan: Plan
) -> dict[str, Interval]:
    """Intervals of means and of what PAV is fitted for, from resampled bins."""
    drawn, left_out = _resample(systems, values, plan)
    paired, level = len(systems) == 2, plan.confidence
    fitted = _fitted_keys(systems[0].setting)
    intervals = {}
    for k, key in enumerate((*_MEANS, *fitted)):
        if paired and key in fitted and not any(s.values[key] for s in systems):
            continue  # neither has made an error that could be drawn
        if paired or key in _MEANS:
            intervals[key] = resampled_interval(
                values[key], drawn[:, k], left_out[:, k], level, paired=paired
            )
        else:
            estimate = interval_of_overestimate if key == "cllr_cal" else interval_of_underestimate
            misled = drawn[:, k + len(fitted)]
            intervals[key] = estimate(values[key], drawn[:, k], misled, level)
    return intervals


def _resample(
    systems: Sequence[TwoClassSystem], values: dict[str, float], plan: Plan
) -> Resamples:  # fmt: skip
    """Quantities of resamples; those of one system also with misleading samples added."""
    paired = len(systems) == 2
    bins = _COARSE_BINS if paired and len(systems[0].data.codes) > _MANY else BINS
    binned = [BinnedLlrs(s.llrs, s.setting, bins) for s in systems]
    cells = [JointBins(binned, t) for t in (0, 1)]
    fitted = _fitted_keys(systems[0].setting)
    exact = [values[key] for key in (*_MEANS, *fitted)]
    if not paired:  # with misleading samples there is no exact value
        exact += [math.nan] * len(fitted)
    rng = np.random.default_rng([plan.seed, 1])

    def statistic(counts: Counts) -> Floats:
        in_bins = [
            tuple(cell.counts_in(k, c) for cell, c in zip(cells, counts, strict=True))
            for k in range(len(systems))
        ]
        of = [one.values(c) for one, c in zip(binned, in_bins, strict=True)]
        found = [difference_of([v[key] for v in of]) for key in (*_MEANS, *fitted)]
        if not paired:
            misleading = rng.poisson(MISLEADING, 2)
            misled = binned[0].values_with_misleading(in_bins[0], misleading, of[0]["cllr"])
            found += [misled[key] for key in fitted]
        return np.array(found)

    counts = tuple(cell.counts for cell in cells)
    return resample(statistic, counts, np.array(exact), plan, leave_out=not paired)


def llr_costs(trials: Trials, setting: Setting) -> SampleCosts:
    """What each LLR costs, and what it would cost with the opposite sign."""
    target, other = trials.target.llr, trials.other.llr

    def costs(sign: float) -> dict[str, Floats]:
        return {
            key: np.concatenate([terms(sign * target, 1), terms(sign * other, 0)])
            for key, terms in cost_terms(setting).items()
        }

    right = np.concatenate([target >= 0, other <= 0])
    return SampleCosts(trials.y_true, costs(1.0), costs(-1.0), right)


def exact_values(trials: Trials, setting: Setting) -> dict[str, float]:
    """Every quantity, from the samples themselves."""
    llrs = (trials.other.llr, trials.target.llr)
    every = cost_terms(setting) | {key: step.terms for key, step in steps(setting).items()}
    values = {
        key: float(sum(terms(x, t).mean() for t, x in enumerate(llrs)))
        for key, terms in every.items()
    }
    if len(setting.points) > 1:
        values["c_primary"] = float(np.mean([values[key] for key in setting.point_keys]))
    fitted = _fitted_values(pool(trials), setting, values["cllr"])
    return values | fitted | {"dev_pav": float(from_nats(deviation_from_pav(trials), "ban"))}


def _fitted_keys(setting: Setting) -> list[str]:
    """Quantities that PAV is fitted for."""
    primary = ["min_c_primary"] if len(setting.points) > 1 else []
    return ["cllr_min", "cllr_cal", "eer", *(f"min_{key}" for key in setting.losses), *primary]


def _fitted_values(blocks: PooledBlocks, setting: Setting, cllr: float) -> dict[str, float]:
    """Quantities that PAV is fitted for, given its blocks and the Cllr of the same samples."""
    hull, least = blocks.hull(), cost_of_blocks(blocks)
    costs = [losses.least(*hull) for losses in setting.losses.values()]
    values = [least, cllr - least, equal_errors(*hull), *costs]
    if len(setting.points) > 1:
        values.append(float(np.mean(costs[1:])))
    return dict(zip(_fitted_keys(setting), values, strict=True))


class BinnedLlrs:
    """LLRs in bins, so that counts in bins are enough to compute costs and to fit PAV.

    Bins are quantiles, finer towards the ends, where single LLRs matter; infinite LLRs have bins of
    their own. Where samples are few, each distinct LLR has its own bin. ``places`` holds the bin of
    each sample of the first and of the second class.
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
        costs = [terms(llr, t) for terms in cost_terms(self._setting).values()]
        sums = np.array([np.bincount(self.places[t], cost, self.n_bins) for cost in costs])
        return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)

    def values(self, counts: Counts) -> dict[str, float]:
        """Means and quantities that PAV is fitted for, given the counts of both classes."""
        shares = [c / c.sum() for c in counts]
        sums = sum(weighted_sums(m, s) for m, s in zip(self._means, shares, strict=True))
        values = dict(zip(_MEANS, np.asarray(sums).tolist(), strict=True))
        blocks = pool_masses(counts[1], counts[0])
        return values | _fitted_values(blocks, self._setting, values["cllr"])

    def values_with_misleading(
        self, counts: Counts, misleading: np.ndarray, cllr: float
    ) -> dict[str, float]:
        """Quantities that PAV is fitted for, with misleading samples of both classes added.

        ``cllr`` is that of the counts alone: the added samples would make it infinite.
        """
        other = np.concatenate([[0.0], counts[0], [misleading[0]]])
        target = np.concatenate([[misleading[1]], counts[1], [0.0]])
        return _fitted_values(pool_masses(target, other), self._setting, cllr)


class JointBins:
    """The samples of a class, counted by the bins that their LLRs of each system lie in.

    ``counts`` has an entry for each combination of bins that occurs.
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
    """Cells that occur, in rising order, and how often each does."""
    if n_cells > _FEW_CELLS:
        return np.unique(cell, return_counts=True)
    counts = np.bincount(cell, minlength=n_cells)  # far cheaper than sorting millions
    used = np.flatnonzero(counts)
    return used, counts[used]


def _bin_edges(llr: Floats, bins: int) -> Floats:
    """Lower edges of the bins, in rising order."""
    ordered = np.sort(llr)
    n = len(ordered)
    if n > bins:
        inner = np.linspace(0, n - 1, bins, dtype=np.int64)
        ends = np.unique(np.geomspace(1, n / bins + 1, bins // 64 + 2).astype(np.int64)) - 1
        ordered = ordered[np.concatenate([inner, ends, n - 1 - ends])]
    return np.unique(np.concatenate([ordered, [-np.inf, -_LARGEST, np.inf]]))


def _score_notes(trials: Trials) -> list[str]:
    """A note on numbers that do not look like LLRs: likelihood ratios, or reversed LLRs."""
    wrong = [np.sum(trials.target.llr < 0), np.sum(trials.other.llr > 0)]
    low, _ = wilson(wrong, [len(trials.target.llr), len(trials.other.llr)], 0.95)
    if min(low) > 0.5:
        return [
            f"The LLRs point the wrong way for most samples of both classes: they may be in favor "
            f"of {trials.other_label!r} rather than of {trials.pos_label!r}. Check which class "
            f"they are in favor of."
        ]
    if trials.llr.min() >= 0 and trials.llr.max() > 0:
        return ["No LLR is negative: if these are likelihood ratios, take their logarithms first."]
    return []
