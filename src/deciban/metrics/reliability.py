"""How far LLRs are from meaning what they say: devPAV and rates of misleading evidence."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_positive_number
from deciban.evidence import Unit, from_nats
from deciban.evidence.units import to_nats
from deciban.metrics.labelled import EvidenceLike, Trials, read_trials
from deciban.metrics.pav import pool

_ROUNDING = 1e-12  # nats, or relative: differences that say nothing


class MisleadingRates(NamedTuple):
    """Fractions of each class whose LLR points the wrong way by more than a given strength."""

    target: float
    other: float


def dev_pav(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    unit: Unit = "ban",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable = 1,
) -> float:
    """Mean distance between the LLRs and their recalibrated values, over the range of the LLRs.

    The line through the recalibrated LLRs of :func:`pav`, where they are finite, against the
    identity: the area between them, over the range of LLRs that it spans.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
    llr : array of shape (n_samples,), or Evidence over two classes
        In favor of ``pos_label``, in nats.
    unit : {"nat", "bit", "ban", "deciban"}, default "ban"
        Unit of the result; the literature has bans, logarithms to the base 10.
    sample_weight : array of shape (n_samples,), optional
    pos_label : label, default 1

    Returns
    -------
    float
        NaN where no LLR has a finite recalibrated value, as under perfect separation; infinite
        where an infinite LLR has a finite one.

    References
    ----------
    Vergeer, van Schaik and Sjerps (2021), Measuring calibration of likelihood-ratio systems.
    """
    trials = read_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return float(from_nats(deviation_from_pav(trials), unit))


def deviation_from_pav(trials: Trials) -> float:
    """DevPAV of trials that were read, in nats."""
    trials = _tie_rounding(trials)
    x = trials.distinct()
    y = pool(trials).transform(x)
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    if len(x) == 0:
        return float("nan")
    if not np.isfinite(x).all():
        return float("inf")
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()), 1.0)  # squares may overflow
    x, gap = x / scale, y / scale - x / scale
    width = float(x[-1] - x[0])
    area = float(np.sum(_area(gap[:-1], gap[1:]) * np.diff(x)))
    return scale * (area / width if width > 0 else float(abs(gap[0])))


def _tie_rounding(trials: Trials) -> Trials:
    """The same trials, with LLRs that differ only by rounding made equal.

    The order that rounding gives to tied samples would split them into blocks of one class.
    """
    x = trials.distinct()
    with np.errstate(invalid="ignore"):
        gap, size = np.diff(x), np.minimum(np.abs(x[:-1]), np.abs(x[1:]))
        apart = np.isinf(x[:-1]) | np.isinf(x[1:]) | (gap > _ROUNDING * np.maximum(size, 1))
    tied = x[np.concatenate([[True], apart])][np.concatenate([[0], np.cumsum(apart)])]
    target, other = (
        replace(scores, llr=tied[np.searchsorted(x, scores.llr)])
        for scores in (trials.target, trials.other)
    )
    return replace(trials, target=target, other=other)


def misleading_rates(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    strength: float = 0.0,
    unit: Unit = "nat",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable = 1,
) -> MisleadingRates:
    """Fractions of each class whose LLR supports the other class, by more than ``strength``.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`dev_pav`.
    strength : float, default 0
        How far past zero an LLR must lie to count.
    unit : {"nat", "bit", "ban", "deciban"}
        Unit of ``strength``.

    Examples
    --------
    >>> misleading_rates([1, 1, 0, 0], [2.0, -1.0, -3.0, -1.0])
    MisleadingRates(target=0.5, other=0.0)
    """
    require_positive_number(strength, "strength", or_zero=True)
    limit = to_nats(strength, unit)
    trials = read_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    return MisleadingRates(
        trials.target.mean(trials.target.llr < -limit), trials.other.mean(trials.other.llr > limit)
    )


def _area(left: Floats, right: Floats) -> Floats:
    """Mean absolute value of a line from one height to another, which may cross zero."""
    total = np.abs(left) + np.abs(right)
    crossing = (left * right < 0) & (total > 0)
    crossed = np.divide(left**2 + right**2, 2 * total, out=np.zeros_like(total), where=crossing)
    return np.where(crossing, crossed, total / 2)
