"""Pool adjacent violators (PAV): the best monotone recalibration, and the ROC convex hull.

The two are the same: each block with one recalibrated LLR is an edge of the convex hull, and the
LLR is the logarithm of its slope (Brümmer and du Preez, 2013).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from deciban._validation.arrays import Floats, read_llrs
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.labelled import EvidenceLike, Trials, Weights, open_trials

_ROUNDING = 1e-12  # nats, or relative: smaller differences are taken for rounding


@dataclass(frozen=True)
class PooledBlocks:
    """Blocks that share a recalibrated LLR, by rising LLR.

    Attributes
    ----------
    low, high : arrays of shape (n_blocks,)
        Smallest and largest LLR in each block.
    target, other : arrays of shape (n_blocks,)
        Fraction of each class that lies in the block; each sums to one.

    See Also
    --------
    pav, deciban.plots.PAVDisplay

    Examples
    --------
    >>> blocks = pav([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> blocks.low, blocks.high
    (array([-2., -1.,  3.]), array([-2.,  0.,  3.]))
    """

    low: Floats
    high: Floats
    target: Floats
    other: Floats

    @property
    def llr(self) -> Floats:
        """Recalibrated LLR of each block, in nats; infinite if a class is absent."""
        with np.errstate(divide="ignore"):
            return np.log(self.target) - np.log(self.other)

    def transform(self, llr: ArrayLike) -> Floats:
        """Recalibrated LLRs, in nats, for an array of LLRs in the unit of the pooled ones.

        Between two blocks, the nearer one counts.
        """
        if isinstance(llr, Evidence):
            raise InputError("llr must be ratios; got Evidence. Pass evidence.llr(a, b).")
        edges = _between(self.high[:-1], self.low[1:])
        return self.llr[np.searchsorted(edges, read_llrs(llr), side="left")]

    def hull(self) -> tuple[Floats, Floats]:
        """``p_miss, p_false_alarm`` at the corners of the ROC convex hull, by rising threshold."""
        p_miss = np.concatenate([[0.0], np.cumsum(self.target)])
        p_false_alarm = np.concatenate([np.cumsum(self.other[::-1])[::-1], [0.0]])
        p_miss[-1] = p_false_alarm[0] = 1.0  # exactly
        return p_miss, p_false_alarm


def _between(below: Floats, above: Floats) -> Floats:
    """The last LLR that belongs to the lower block: half-way.

    An infinite LLR has its block to itself; zero is half-way between the two infinities.
    """
    with np.errstate(invalid="ignore"):
        middle = below / 2 + above / 2
    middle = np.where(np.isneginf(below) & np.isposinf(above), 0.0, middle)
    middle = np.where(np.isneginf(below) & np.isfinite(above), below, middle)
    return np.minimum(middle, np.nextafter(above, -np.inf))


def pav(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> PooledBlocks:
    r"""Pool adjacent violators: the monotone recalibration with the smallest cost.

    The LLR of a block is :math:`\log(P_1 / P_0)`, for the fractions of the two classes in it.

    See Brümmer and du Preez (2013), The PAV algorithm optimizes binary proper scoring rules.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`; nats, or any score that rises with them.

    See Also
    --------
    cllr_min, deciban.calibration.IsotonicCalibrator, deciban.plots.PAVDisplay

    Examples
    --------
    >>> blocks = pav([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> blocks.llr
    array([-inf,   0.,  inf])
    >>> blocks.transform([-2.0, -1.0, 0.0, 3.0])
    array([-inf,   0.,   0.,  inf])
    """
    return pool(open_trials(y_true, llr, sample_weight, pos_label))


class Cells(NamedTuple):
    """Masses of both classes in cells from ``low`` to ``high``, by rising LLR."""

    low: Floats
    high: Floats
    target: Floats
    other: Floats

    @classmethod
    def join(cls, parts: Sequence[Cells]) -> Cells:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def add_misleading(self, target: float = 1.0, other: float = 1.0) -> Cells:
        """Add these masses on the wrong side of all others."""
        ends = (-np.inf, -np.inf, target, 0.0), (np.inf, np.inf, 0.0, other)
        first, last = (Cells(*np.array(one)[:, None]) for one in ends)
        return Cells.join([first, self, last])

    def merge(self, starts: NDArray[np.intp]) -> Cells:
        """Merge the cells from each start to the next."""
        last = np.append(starts[1:], len(self.low)) - 1
        target, other = (np.add.reduceat(mass, starts) for mass in (self.target, self.other))
        return Cells(self.low[starts], self.high[last], target, other)

    def pool(self) -> Cells:
        """Merge cells into blocks with rising shares of targets.

        Pooling parts of the range first, then their blocks, gives the same blocks.
        """
        both = self.target + self.other
        if not both.all():
            return Cells(*(column[both > 0] for column in self)).pool()
        if len(both) < 2:
            return self
        starts = isotonic_regression(self.target / both, weights=both).blocks[:-1]
        pooled = self.merge(starts)
        while len(pooled.low) > 1:
            # Its means are rounded, which may leave blocks with the same share apart.
            p, q = pooled.target, pooled.other
            apart = (p[:-1] * q[1:] < p[1:] * q[:-1]) | (p[1:] * q[:-1] == 0)
            if apart.all():
                break
            pooled = pooled.merge(np.flatnonzero(np.append(True, apart)))
        return pooled

    def shares(self) -> PooledBlocks:
        p, q = self.target, self.other
        return PooledBlocks(self.low, self.high, p / p.sum(), q / q.sum())


def pool(trials: Any, *, levels: bool = False) -> PooledBlocks:
    """PAV blocks; with ``levels``, LLRs that differ only by rounding are tied."""
    if not isinstance(trials, Trials):
        from deciban.metrics.pav_in_parts import pool_partitions

        (pooled,), _ = pool_partitions(trials, n_some=1)
        return pooled.levels if levels else pooled.blocks
    return (count_levels if levels else count_runs)(trials).pool().shares()


def pool_with_misleading(trials: Trials) -> PooledBlocks:
    """PAV blocks with one misleading sample added to each class.

    They bound the LLRs by what the data can support: none is infinite.
    """
    added = (
        1.0 if side.weight is None else 1 / len(side.llr) for side in (trials.target, trials.other)
    )
    return count_runs(trials).add_misleading(*added).pool().shares()


def count_runs(trials: Trials) -> Cells:
    """Masses in runs with one class, by rising LLR."""
    # Tied targets come first: a violation, so they are pooled with the others they tie with.
    both, weight, order = trials.in_order
    is_target = order < len(trials.target.llr)
    first = np.append(True, is_target[1:] != is_target[:-1])[: len(both)]
    edges = np.append(np.flatnonzero(first), len(both))
    if weight is None:
        mass = np.diff(edges).astype(float)
    else:  # differences between running sums would lose small weights
        mass = np.add.reduceat(weight[order], edges[:-1])
    label = is_target[edges[:-1]].astype(float)
    ends = both[order[edges[:-1]]], both[order[edges[1:] - 1]]
    return Cells(*ends, mass * label, mass * (1 - label))


def count_levels(trials: Trials) -> Cells:
    """Masses at each LLR; LLRs that differ only by rounding are one.

    Otherwise rounding would put tied samples in an order, and split them into pure blocks.
    """
    both, weight, order = trials.in_order
    x, is_target = both[order], order < len(trials.target.llr)
    mass = np.ones(len(x)) if weight is None else weight[order]
    starts = np.flatnonzero(np.append(True, ~_near(x[:-1], x[1:]))[: len(x)])
    return Cells(x, x, mass * is_target, mass * ~is_target).merge(starts)


def merge_near(cells: Cells) -> Cells:
    """Merge neighbors whose ends differ only by rounding."""
    apart = ~_near(cells.high[:-1], cells.low[1:])
    return cells if apart.all() else cells.merge(np.flatnonzero(np.append(True, apart)))


def _near(below: Floats, above: Floats) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.maximum(np.minimum(np.abs(below), np.abs(above)), 1)
        return (above == below) | (np.isfinite(below) & (above - below <= _ROUNDING * size))


def pool_masses(target: Floats, other: Floats) -> PooledBlocks:
    """PAV blocks of cells whose positions stand for LLRs."""
    place = np.arange(len(target), dtype=float)
    return Cells(place, place, target, other).pool().shares()


def dev_pav(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    unit: Unit = "ban",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> float:
    """devPAV: mean distance between LLRs and their recalibrated values, over the LLR range.

    The area between the identity and the line through the finite recalibrated LLRs from
    :func:`pav`, divided by the LLR range that the line spans. It is NaN if no recalibrated value is
    finite, as under perfect separation, and infinite if an infinite LLR has a finite one.

    See Vergeer, van Schaik and Sjerps (2021), Measuring calibration of likelihood-ratio systems.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`.
    unit : {"nat", "bit", "ban", "deciban"}, default "ban"
        The literature has bans, logarithms to the base 10.

    See Also
    --------
    pav, cllr_cal

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1, 0, 1], [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
    >>> dev_pav(y, llr, unit="nat")
    1.0
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(from_nats(deviation_from_pav(pool(trials, levels=True)), unit))


def deviation_from_pav(blocks: PooledBlocks) -> float:
    """DevPAV of blocks pooled by levels, in nats; the line is level within a block."""
    y = blocks.llr
    finite = np.isfinite(y)
    x = np.column_stack([blocks.low, blocks.high])[finite].ravel()
    y = np.repeat(y[finite], 2)
    if len(x) == 0:
        return float("nan")
    if not np.isfinite(x).all():
        return float("inf")
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()), 1.0)  # squares may overflow
    x, gap = x / scale, y / scale - x / scale
    width = float(x[-1] - x[0])
    area = float(np.sum(_area(gap[:-1], gap[1:]) * np.diff(x)))
    return scale * (area / width if width > 0 else float(abs(gap[0])))


def _area(left: Floats, right: Floats) -> Floats:
    total = np.abs(left) + np.abs(right)
    crossing = (left * right < 0) & (total > 0)
    crossed = np.divide(left**2 + right**2, 2 * total, out=np.zeros_like(total), where=crossing)
    return np.where(crossing, crossed, total / 2)
