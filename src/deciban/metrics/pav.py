"""Pool adjacent violators: the best monotone recalibration of a set of LLRs, and the ROC hull.

The two are the same thing: each block of equal recalibrated LLRs is an edge of the convex hull of
the ROC curve, with the LLR as the logarithm of its slope (Brümmer and du Preez, 2013).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from deciban._validation.arrays import Floats
from deciban._validation.values import read_llrs
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import EvidenceLike, Scores, Trials, Weights, read_trials


@dataclass(frozen=True)
class PooledBlocks:
    """Blocks of samples that share one recalibrated LLR, by rising LLR.

    Attributes
    ----------
    low, high : arrays of shape (n_blocks,)
        Smallest and largest LLR in each block.
    target, other : arrays of shape (n_blocks,)
        Fraction of each class that lies in the block; each sums to one.
    """

    low: Floats
    high: Floats
    target: Floats
    other: Floats

    @property
    def llr(self) -> Floats:
        """Recalibrated LLR of each block, in nats; -inf or inf where one class is absent."""
        with np.errstate(divide="ignore"):
            return np.log(self.target) - np.log(self.other)

    def transform(self, llr: ArrayLike) -> Floats:
        """Recalibrated LLRs; one that lies between two blocks goes to the nearer."""
        if isinstance(llr, Evidence):
            raise InputError("llr must be ratios; got Evidence. Pass evidence.llr(a, b).")
        below, above = self.high[:-1], self.low[1:]
        edges = _between(below, above)
        return self.llr[np.searchsorted(edges, read_llrs(llr), side="left")]

    def hull(self) -> tuple[Floats, Floats]:
        """Miss and false-alarm rates at the corners of the ROC convex hull, by rising threshold."""
        p_miss = np.concatenate([[0.0], np.cumsum(self.target)])
        p_false_alarm = np.concatenate([np.cumsum(self.other[::-1])[::-1], [0.0]])
        p_miss[-1] = p_false_alarm[0] = 1.0  # what the sums are but for rounding
        return p_miss, p_false_alarm


def _between(below: Floats, above: Floats) -> Floats:
    """The last LLR that belongs to the lower of two blocks: half-way.

    Infinite LLRs have their block to themselves; zero is half-way between the two infinities.
    """
    with np.errstate(invalid="ignore"):
        middle = below / 2 + above / 2
    middle = np.where(np.isneginf(below) & np.isposinf(above), 0.0, middle)
    middle = np.where(np.isneginf(below) & np.isfinite(above), below, middle)
    return np.minimum(middle, np.nextafter(above, -np.inf))


def pav(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> PooledBlocks:
    """Pool adjacent violators: the monotone recalibration with the smallest cost.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``; nats, or any score that rises with them.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Examples
    --------
    >>> blocks = pav([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> blocks.llr
    array([-inf,   0.,  inf])
    >>> blocks.transform([-2.0, -1.0, 0.0, 3.0])
    array([-inf,   0.,   0.,  inf])
    """
    return pool(read_trials(y_true, llr, sample_weight, pos_label))


def add_misleading(trials: Trials) -> Trials:
    """The trials and one more of each class, on the wrong side of all others.

    Pooled with them, no LLR becomes infinite: it is as large as the data can support.
    """
    added = ((trials.target, -np.inf), (trials.other, np.inf))
    return Trials(*(_add_one(scores, llr) for scores, llr in added))


def _add_one(scores: Scores, llr: float) -> Scores:
    n = len(scores.llr)
    weight = None if scores.weight is None else np.append(scores.weight, 1 / n) * n / (n + 1)
    return Scores(np.append(scores.llr, llr), weight)


def pool(trials: Trials) -> PooledBlocks:
    """Blocks of trials that were read."""
    # Tied targets come before the others they tie with: that is a violation, so they are pooled.
    both, weight, order = trials.in_order
    is_target = order < len(trials.target.llr)
    changes = np.flatnonzero(is_target[1:] != is_target[:-1]) + 1
    edges = np.concatenate([[0], changes, [len(both)]])  # of runs of one class
    if weight is None:
        mass = np.diff(edges).astype(float)
    else:  # differences of a running sum would lose the small ones
        mass = np.add.reduceat(weight[order], edges[:-1])
    label = is_target[edges[:-1]].astype(float)
    return pool_masses(
        mass * label,
        mass * (1 - label),
        low=both[order[edges[:-1]]],
        high=both[order[edges[1:] - 1]],
    )


def pool_masses(
    target: Floats, other: Floats, low: Floats | None = None, high: Floats | None = None
) -> PooledBlocks:
    """Blocks of the masses of either class in cells of rising LLR.

    ``low`` and ``high`` are the ends of the cells, by default their positions.
    """
    low = np.arange(len(target), dtype=float) if low is None else low
    high = low if high is None else high
    both = target + other
    cells = np.flatnonzero(both)
    p, q, both = target[cells], other[cells], both[cells]
    starts = isotonic_regression(p / both, weights=both).blocks
    p, q = np.add.reduceat(p, starts[:-1]), np.add.reduceat(q, starts[:-1])
    return PooledBlocks(
        low=low[cells[starts[:-1]]],
        high=high[cells[starts[1:] - 1]],
        target=p / p.sum(),
        other=q / q.sum(),
    )
