"""Pool adjacent violators: the best monotone recalibration of a set of LLRs, and the ROC hull.

The two are the same thing: each block of equal recalibrated LLRs is an edge of the convex hull of
the ROC curve, with the LLR as the logarithm of its slope (Brümmer and du Preez, 2013).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from deciban._arrays import to_numpy
from deciban.metrics.trials import Trials, two_class_trials


@dataclass(frozen=True)
class PooledBlocks:
    """Blocks of samples that no monotone recalibration should tell apart, by rising LLR.

    Attributes
    ----------
    low, high : arrays of shape (n_blocks,)
        Smallest and largest LLR in each block.
    target, other : arrays of shape (n_blocks,)
        Which fraction of each class lies in the block; each sums to one.
    """

    low: np.ndarray
    high: np.ndarray
    target: np.ndarray
    other: np.ndarray

    @property
    def llr(self) -> np.ndarray:
        """Recalibrated LLR of each block, in nats; -inf or inf where one class is absent."""
        with np.errstate(divide="ignore"):
            return np.log(self.target) - np.log(self.other)

    def transform(self, llr: Any) -> np.ndarray:
        """Recalibrated LLRs; one that lies between two blocks goes to the upper."""
        at = np.searchsorted(self.high, to_numpy(llr, "llr"), side="left")
        return self.llr[np.minimum(at, len(self.high) - 1)]

    def hull(self) -> tuple[np.ndarray, np.ndarray]:
        """Miss and false-alarm rates at the corners of the ROC convex hull, by rising threshold."""
        p_miss = np.concatenate([[0.0], np.cumsum(self.target)])
        p_false_alarm = np.concatenate([np.cumsum(self.other[::-1])[::-1], [0.0]])
        p_miss[-1] = p_false_alarm[0] = 1.0  # what the sums are but for rounding
        return p_miss, p_false_alarm


def pav(
    y_true: Any, llr: Any, *, sample_weight: Any = None, pos_label: Hashable = 1
) -> PooledBlocks:
    """Pool adjacent violators: the monotone recalibration with the smallest cost.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favour of ``pos_label``; nats, or any score that rises with them.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    PooledBlocks

    Examples
    --------
    >>> blocks = pav([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0])
    >>> blocks.llr
    array([-inf,   0.,  inf])
    >>> blocks.transform([-2.0, -1.0, 0.0, 3.0])
    array([-inf,   0.,   0.,  inf])
    """
    return pool(two_class_trials(y_true, llr, sample_weight, pos_label))


def pool(trials: Trials) -> PooledBlocks:
    """Blocks of checked trials."""
    # Two sorts of numbers and a merge are far cheaper than one sort of positions.
    target, target_mass = trials.target.in_order()
    other, other_mass = trials.other.in_order()
    # Tied targets come before the others they tie with: that is a violation, so they are pooled.
    below = np.searchsorted(other, target, side="left")
    starts = np.flatnonzero(np.concatenate([[True], below[1:] != below[:-1]]))
    # Runs of one class alternate: others, targets, others, ..., targets, others.
    target_edges = np.append(starts, len(target))
    other_edges = np.concatenate([[0], below[starts], [len(other)]])
    mass = np.empty(2 * len(starts) + 1)
    mass[0::2] = np.diff(other_mass[other_edges])
    mass[1::2] = np.diff(target_mass[target_edges])
    kept = slice(0 if mass[0] > 0 else 1, len(mass) if mass[-1] > 0 else len(mass) - 1)
    is_target = (np.arange(len(mass)) % 2).astype(float)
    edges = isotonic_regression(is_target[kept], weights=mass[kept]).blocks + (kept.start or 0)
    first, last = edges[:-1], edges[1:] - 1
    return PooledBlocks(
        low=_at_runs(first, target, other, target_edges[:-1], other_edges[:-1]),
        high=_at_runs(last, target, other, target_edges[1:] - 1, other_edges[1:] - 1),
        target=np.add.reduceat(mass * is_target, first) / target_mass[-1],
        other=np.add.reduceat(mass * (1 - is_target), first) / other_mass[-1],
    )


def _at_runs(
    runs: np.ndarray,
    target: np.ndarray,
    other: np.ndarray,
    target_position: np.ndarray,
    other_position: np.ndarray,
) -> np.ndarray:
    """LLR at the given position of each run; odd runs are of targets."""
    odd = runs % 2 == 1
    result = np.empty(len(runs))
    result[odd] = target[target_position[runs[odd] // 2]]
    result[~odd] = other[other_position[runs[~odd] // 2]]
    return result
