"""Two classes: all quantities of a set of LLRs, of the samples themselves and of bins of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deciban.assessment.intervals import Counts, summed
from deciban.assessment.proportions import Cells, unseen_rate
from deciban.evidence import from_nats
from deciban.metrics import dev_pav
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.detection import equal_errors
from deciban.metrics.labelled import read_trials
from deciban.metrics.pav import PooledBlocks, pool

BINS = 4096  # of the LLRs, about: far more than there are PAV blocks in any number of samples
FITTED = ("cllr_min", "cllr_cal", "eer", "min_detection_cost")  # by PAV, on what it judges
_SOME = 100_000  # samples that a mean is taken of where it need not be exact
_LARGEST = np.finfo(np.float64).max


class Point(NamedTuple):
    """Where decisions are made: the prior, and what is lost by each kind of error."""

    prior: np.ndarray
    costs: np.ndarray | None = None

    @property
    def log_odds(self) -> float:
        """Of the second class, before the evidence."""
        return math.log(self.prior[1]) - math.log(self.prior[0])

    @property
    def losses(self) -> tuple[float, float]:
        """Of a false alarm and of a miss, over those of the better decision without evidence."""
        C = 1 - np.eye(2) if self.costs is None else self.costs
        false_alarm = float(self.prior[0] * (C[0, 1] - C[0, 0]))
        miss = float(self.prior[1] * (C[1, 0] - C[1, 1]))
        unit = max(min(false_alarm, miss), max(false_alarm, miss) * 1e-300)
        return false_alarm / unit, miss / unit

    @property
    def threshold(self) -> float:
        """The LLR above which accepting is the better decision."""
        false_alarm, miss = self.losses
        return math.log(false_alarm) - math.log(miss)


class Step(NamedTuple):
    """A quantity that turns on which side of a limit an LLR is.

    Attributes
    ----------
    limit : float
    at_limit : bool
        Whether an LLR at the limit is above it.
    worth : array of shape (2, 2)
        What a sample adds to the mean of its class, by truth and by being above.
    """

    limit: float
    at_limit: bool
    worth: np.ndarray

    def above(self, llr: np.ndarray) -> np.ndarray:
        """Whether LLRs are above the limit."""
        return llr >= self.limit if self.at_limit else llr > self.limit

    def added(self, llr: np.ndarray, target: np.ndarray) -> np.ndarray:
        """What each sample adds."""
        return np.asarray(self.worth[target.astype(np.int8), self.above(llr).astype(np.int8)])

    def cells(self, llr: np.ndarray, target: np.ndarray) -> list[Cells]:
        """How often the samples of either class are above, and what that adds."""
        above = self.above(llr)
        gain = self.worth[:, 1] - self.worth[:, 0]
        return [
            Cells(gain[t : t + 1], np.array([above[target == t].sum()]), int((target == t).sum()))
            for t in (0, 1)
        ]


Column = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of LLRs and of whether they are targets'


def steps(point: Point) -> dict[str, Step]:
    """Rates of errors, and what decisions cost; an LLR on a threshold is accepted."""
    p, (false_alarm, miss), limit = point.prior, point.losses, point.threshold
    found = {
        "misleading_target": Step(0.0, True, np.array([[0.0, 0.0], [1.0, 0.0]])),
        "misleading_other": Step(0.0, False, np.array([[0.0, 1.0], [0.0, 0.0]])),
        "accuracy": Step(-point.log_odds, True, np.diag(p)),
        "detection_cost": Step(limit, True, np.array([[0.0, false_alarm], [miss, 0.0]])),
    }
    if point.costs is not None:
        found["expected_cost"] = Step(limit, True, p[:, None] * point.costs)
    return found


def columns(point: Point) -> dict[str, Column]:
    """Quantities that are means over one class plus means over the other."""
    log_odds = point.log_odds
    found: dict[str, Column] = {
        "cllr": lambda x, t: from_nats(softplus(np.where(t, -x, x)) / 2, "bit"),
        "cross_entropy": lambda x, t: (
            point.prior[t.astype(np.int8)] * softplus(np.where(t, -x - log_odds, x + log_odds))
        ),
    }
    return found | {key: step.added for key, step in steps(point).items()}


def unseen(
    llrs: list[np.ndarray], target: np.ndarray, point: Point, confidence: float
) -> dict[str, np.ndarray]:
    """What misleading LLRs may add to costs that are more frequent than in any resample.

    They are like those that were seen, and like one sound LLR with its sign turned. Of two systems,
    to the first less the second: what may mislead both, and what may mislead one alone.
    """
    found: dict[str, list[float]] = {"cllr": [], "cross_entropy": []}
    for t in (False, True):
        mine = [llr[target == t] for llr in llrs]
        sound = [x >= 0 if t else x <= 0 for x in mine]
        both = np.logical_and.reduce(sound)
        shared = unseen_rate(int((~both).sum()), len(both), confidence)
        for key, extra in found.items():
            cost = columns(point)[key]
            signs = (1.0, -1.0)[: len(mine)]
            gaps = [_turned(cost, x, both, t) for x in mine]
            extra.append(shared * sum(sign * gap for sign, gap in zip(signs, gaps, strict=True)))
            for sign, x, own in zip(signs, mine, sound, strict=True):
                rate = unseen_rate(int((~own).sum()), len(own), confidence) - shared
                extra.append(sign * max(0.0, rate) * _turned(cost, x, own, t))
    return {key: np.array(extra) for key, extra in found.items()}


def _turned(cost: Column, llr: np.ndarray, sound: np.ndarray, t: bool) -> float:
    """How much more a misleading LLR costs than a sound one."""
    if not sound.any():
        return 0.0
    some = llr[sound]
    some = some[:: max(1, len(some) // _SOME)]
    right, turned, seen = (cost(x, np.full(len(x), t)) for x in (some, -some, llr[~sound]))
    return float((np.mean(turned) + seen.sum()) / (1 + len(seen)) - np.mean(right))


def exact_values(llr: np.ndarray, target: np.ndarray, point: Point) -> dict[str, float]:
    """Every quantity, of the samples themselves."""
    n = np.bincount(target, minlength=2)
    values = {}
    for key, column in columns(point).items():
        totals = np.bincount(target, weights=column(llr, target), minlength=2)
        values[key] = float((totals / n).sum())
    blocks = pool(read_trials(target, llr, pos_label=True))
    fitted = _of_blocks(blocks, point, values["cllr"])
    return values | fitted | {"dev_pav": dev_pav(target, llr, pos_label=True)}


def _of_blocks(blocks: PooledBlocks, point: Point, cllr: float) -> dict[str, float]:
    p_miss, p_false_alarm = blocks.hull()
    false_alarm, miss = point.losses
    least = cost_of_blocks(blocks)
    return {
        "cllr_min": least,
        "cllr_cal": cllr - least,
        "eer": equal_errors(p_miss, p_false_alarm),
        "min_detection_cost": float(np.min(miss * p_miss + false_alarm * p_false_alarm)),
    }


class Binned:
    """LLRs in bins, with the means of all columns in each, so that counts give every quantity.

    Bins are quantiles, finer to the ends, where single LLRs matter; infinite LLRs, and those on
    which a decision turns, have bins of their own. Few samples have one for each distinct LLR.

    Attributes
    ----------
    place : array of shape (n_samples,)
        The bin of each sample.
    counts : (array, array)
        Of the samples in each bin that are not, and that are, of the second class.
    """

    def __init__(self, llr: np.ndarray, target: np.ndarray, point: Point, bins: int = BINS) -> None:
        edges = _edges(llr, (0.0, -point.log_odds, point.threshold), bins)
        place = np.searchsorted(edges, llr, side="right") - 1
        used = np.flatnonzero(np.bincount(place, minlength=len(edges)))
        renumbered = np.zeros(len(edges), dtype=np.int32)
        renumbered[used] = np.arange(len(used))
        self.place = renumbered[place]
        self.point, self.keys = point, tuple(columns(point))
        B = len(used)
        cell = self.place * np.int32(2) + target
        both = np.bincount(cell, minlength=2 * B).reshape(B, 2)
        self.counts: Counts = (both[:, 0], both[:, 1])
        sums = np.array(
            [
                np.bincount(cell, weights=column(llr, target), minlength=2 * B).reshape(B, 2)
                for column in columns(point).values()
            ]
        )
        means = np.divide(sums, both, out=np.zeros_like(sums), where=both > 0)
        self._means = (means[:, :, 0].copy(), means[:, :, 1].copy())

    def values(self, counts: Counts) -> dict[str, float]:
        """Every quantity but devPAV, of these counts."""
        share = [c / c.sum() for c in counts]
        linear = sum(summed(m, s) for m, s in zip(self._means, share, strict=True))
        values = dict(zip(self.keys, np.asarray(linear).tolist(), strict=True))
        return values | _of_blocks(_pooled(share[0], share[1]), self.point, values["cllr"])

    def doubted(self, counts: Counts, misleading: np.ndarray, cllr: float) -> dict[str, float]:
        """What PAV makes of these counts and of misleading samples of the first and second class.

        ``cllr`` is that of the counts alone: the added samples would make it infinite.
        """
        other, target = counts
        other = np.concatenate([[0.0], other, [misleading[0]]])
        target = np.concatenate([[misleading[1]], target, [0.0]])
        blocks = _pooled(other / other.sum(), target / target.sum())
        return _of_blocks(blocks, self.point, cllr)


def _edges(llr: np.ndarray, turning: tuple[float, ...], bins: int) -> np.ndarray:
    """Where bins begin, rising."""
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


def _pooled(other: np.ndarray, target: np.ndarray) -> PooledBlocks:
    """PAV blocks of bins; where they lie does not matter here."""
    from scipy.optimize import isotonic_regression

    both = target + other
    kept = both > 0
    p, q, both = target[kept], other[kept], both[kept]
    starts = isotonic_regression(p / both, weights=both).blocks
    return PooledBlocks(
        low=starts[:-1].astype(float),
        high=starts[1:] - 1.0,
        target=np.add.reduceat(p, starts[:-1]),
        other=np.add.reduceat(q, starts[:-1]),
    )
