"""The cost of LLRs, in bits: what it is, what is left after recalibration, and the difference."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban.evidence import from_nats
from deciban.metrics.labelled import EvidenceLike, Weights, open_trials
from deciban.metrics.pav import PooledBlocks, pool


@dataclass(frozen=True)
class LogCost:
    """The cost of the posterior of the true class, its negative logarithm, at prior log-odds.

    ``weight`` is the share of the first and of the second class in the mean.
    """

    log_odds: float
    weight: tuple[float, float]

    def __call__(self, llr: Floats, t: int) -> Floats:
        """What samples of the first (0) or second (1) class add."""
        log_odds = llr + self.log_odds
        return self.weight[t] * softplus(-log_odds if t else log_odds)


CLLR = LogCost(0.0, (float(from_nats(0.5, "bit")),) * 2)


def cllr(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    r"""Cost of LLRs, in bits: 0 is perfect, 1 is the cost of saying nothing.

    :math:`\frac{1}{2} (E_1 \log_2(1 + e^{-llr}) + E_0 \log_2(1 + e^{llr}))`, the means over the
    samples of each class: the cross-entropy at even odds.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``, in nats. Infinite LLRs cost what the formula says.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    float

    Warns
    -----
    ProbabilityWarning
        Where 20 numbers or more all lie between 0 and 1: they may be probabilities.

    See Also
    --------
    cllr_min : What is left after the best monotone recalibration.
    cllr_cal : The difference, which is what miscalibration costs.
    cross_entropy : The same for any number of classes and any prior.
    deciban.assess : All costs with intervals.

    References
    ----------
    Brümmer and du Preez (2006), Application-independent evaluation of speaker detection.

    Examples
    --------
    >>> cllr([1, 1, 0, 0], [0.0, 0.0, 0.0, 0.0])
    1.0
    >>> cllr([1, 0], [float("inf"), -3.0]) < cllr([1, 0], [float("-inf"), -3.0])
    True
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(trials.means([CLLR]).sum())


def cllr_min(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    """Cost of the LLRs after the best monotone recalibration, in bits: their discrimination.

    Found on the same samples by :func:`pav`, so it is optimistic where there are few.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`; only the order of the LLRs counts.

    Returns
    -------
    float
        0 where the LLRs separate the classes, 1 where they tell nothing.

    See Also
    --------
    cllr : Cost of the LLRs as they are.
    decompose : Discrimination that is fitted on folds, for any number of classes.

    Examples
    --------
    >>> cllr_min([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0])
    0.0
    """
    return cost_of_blocks(pool(open_trials(y_true, llr, sample_weight, pos_label)))


def cllr_cal(
    y_true: ArrayLike, llr: EvidenceLike, *, sample_weight: Weights = None, pos_label: Hashable = 1
) -> float:
    """Cost of the LLRs that recalibration takes away, in bits: ``cllr - cllr_min``.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`.

    Returns
    -------
    float
        Above 0 also where the LLRs are calibrated, since :func:`pav` fits noise, too.

    See Also
    --------
    calibration_test : Whether chance explains it.
    deciban.calibration.AffineCalibrator : Takes most of it away on new samples.

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-4.0, -1.0, 0.5, 3.0]
    >>> round(cllr_cal(y, llr), 4)
    0.3491
    >>> cllr_cal(y, llr) == cllr(y, llr) - cllr_min(y, llr)
    True
    """
    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(trials.means([CLLR]).sum()) - cost_of_blocks(pool(trials))


def cost_of_blocks(blocks: PooledBlocks) -> float:
    """Cllr of the recalibrated LLRs; a block of one class costs nothing."""
    both = (blocks.target > 0) & (blocks.other > 0)
    p, q = blocks.target[both], blocks.other[both]
    # The ratio could only overflow with 1e308 samples.
    return float(from_nats((p @ np.log1p(q / p) + q @ np.log1p(p / q)) / 2, "bit"))


def softplus(x: Floats) -> Floats:
    """log(1 + exp(x)), which neither overflows nor is clipped."""
    values = np.log1p(np.exp(-np.abs(x)))
    values += np.maximum(x, 0)
    return values
