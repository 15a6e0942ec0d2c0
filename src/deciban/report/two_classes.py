"""Two classes: all quantities of a set of LLRs, of the samples themselves and of bins of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deciban.evidence import from_nats
from deciban.metrics import dev_pav
from deciban.metrics.cost import cost_of_blocks, softplus
from deciban.metrics.pooling import PooledBlocks, pool
from deciban.metrics.trials import two_class_trials
from deciban.report.intervals import Counts, summed

BINS = 4096  # of the LLRs, about: far more than there are PAV blocks in any number of samples
FITTED = ("cllr_min", "eer", "min_detection_cost", "dev_pav")
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


Column = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of LLRs and of whether they are targets'


def columns(point: Point) -> dict[str, Column]:
    """Quantities that are means over one class plus means over the other."""
    log_odds, (false_alarm, miss), limit = point.log_odds, point.losses, point.threshold
    found: dict[str, Column] = {
        "cllr": lambda x, t: from_nats(softplus(np.where(t, -x, x)) / 2, "bit"),
        "misleading_target": lambda x, t: (t & (x < 0)).astype(float),
        "misleading_other": lambda x, t: (~t & (x > 0)).astype(float),
        "cross_entropy": lambda x, t: (
            point.prior[t.astype(np.int8)] * softplus(np.where(t, -x - log_odds, x + log_odds))
        ),
        "accuracy": lambda x, t: point.prior[t.astype(np.int8)] * ((x > -log_odds) == t),
        "detection_cost": lambda x, t: np.where(t, miss * (x < limit), false_alarm * (x >= limit)),
    }
    if point.costs is not None:
        C = point.prior[:, None] * point.costs
        found["expected_cost"] = lambda x, t: C[t.astype(np.int8), (x > limit).astype(np.int8)]
    return found


def exact_values(llr: np.ndarray, target: np.ndarray, point: Point) -> dict[str, float]:
    """Every quantity, of the samples themselves."""
    n = np.bincount(target, minlength=2)
    values = {}
    for key, column in columns(point).items():
        totals = np.bincount(target, weights=column(llr, target), minlength=2)
        values[key] = float((totals / n).sum())
    blocks = pool(two_class_trials(target, llr, pos_label=True))
    deviation = dev_pav(target, llr, pos_label=True)
    return values | _of_blocks(blocks, point, deviation, values["cllr"])


def _of_blocks(
    blocks: PooledBlocks, point: Point, deviation: float, cllr: float
) -> dict[str, float]:
    p_miss, p_false_alarm = blocks.hull()
    false_alarm, miss = point.losses
    least = cost_of_blocks(blocks)
    return {
        "cllr_min": least,
        "cllr_cal": cllr - least,
        "eer": float(np.interp(0.0, p_miss - p_false_alarm, p_miss)),
        "min_detection_cost": float(np.min(miss * p_miss + false_alarm * p_false_alarm)),
        "dev_pav": deviation,
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
        self._at = np.bincount(self.place, weights=llr, minlength=B) / both.sum(axis=1)
        sums = np.array(
            [
                np.bincount(cell, weights=column(llr, target), minlength=2 * B).reshape(B, 2)
                for column in columns(point).values()
            ]
        )
        means = np.divide(sums, both, out=np.zeros_like(sums), where=both > 0)
        self._means = (means[:, :, 0].copy(), means[:, :, 1].copy())

    def values(self, counts: Counts) -> dict[str, float]:
        """Every quantity, of these counts."""
        share = [c / c.sum() for c in counts]
        linear = sum(summed(m, s) for m, s in zip(self._means, share, strict=True))
        values = dict(zip(self.keys, np.asarray(linear).tolist(), strict=True))
        blocks, lengths, at = _pooled(share[0], share[1], self._at)
        deviation = _deviation(at, np.repeat(blocks.llr, lengths))
        return values | _of_blocks(blocks, self.point, deviation, values["cllr"])


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


def _pooled(
    other: np.ndarray, target: np.ndarray, at: np.ndarray
) -> tuple[PooledBlocks, np.ndarray, np.ndarray]:
    """PAV blocks of bins, how many bins each has, and where the bins are that are not empty."""
    from scipy.optimize import isotonic_regression

    both = target + other
    kept = both > 0
    p, q, both, at = target[kept], other[kept], both[kept], at[kept]
    starts = isotonic_regression(p / both, weights=both).blocks
    blocks = PooledBlocks(
        low=at[starts[:-1]],
        high=at[starts[1:] - 1],
        target=np.add.reduceat(p, starts[:-1]),
        other=np.add.reduceat(q, starts[:-1]),
    )
    return blocks, np.diff(starts), at


def _deviation(x: np.ndarray, y: np.ndarray) -> float:
    """DevPAV of binned LLRs, in bans."""
    finite = np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) == 0:
        return float("nan")
    if not np.isfinite(x).all():
        return float("inf")
    if len(x) == 1 or x[-1] == x[0]:
        return float(from_nats(abs(y[0] - x[0]), "ban"))
    gap = y - x
    left, right = gap[:-1], gap[1:]
    total = np.abs(left) + np.abs(right)
    with np.errstate(over="ignore", invalid="ignore"):  # LLRs of 1e200 have no squares
        crossed = (left**2 + right**2) / np.maximum(2 * total, np.finfo(float).tiny)
        height = np.where(left * right < 0, crossed, total / 2)
        return float(from_nats(height @ np.diff(x) / (x[-1] - x[0]), "ban"))
