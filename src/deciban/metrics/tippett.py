"""How often LLRs of each strength occur, and mislead."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of, require_positive_number
from deciban.evidence import Unit
from deciban.evidence.units import to_nats
from deciban.metrics.labelled import EvidenceLike, Weights, open_trials, read_trials


class TippettCurve(NamedTuple):
    """Fraction of each class on one side of each LLR that occurs.

    Attributes
    ----------
    llr : array of shape (n_levels,)
        Rising, in nats.
    target, other : arrays of shape (n_levels,)
        Fractions of ``pos_label`` and of the other class.

    See Also
    --------
    tippett_curve : Returns it.

    Examples
    --------
    >>> tippett_curve([0, 1], [-1.0, 2.0]).other
    array([1., 0.])
    """

    llr: Floats
    target: Floats
    other: Floats


def tippett_curve(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    kind: Literal["exceeding", "misleading"] = "exceeding",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> TippettCurve:
    """Cumulative distributions of the LLRs in each class, at each LLR that occurs.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`cllr`. Infinite LLRs are kept.
    kind : {"exceeding", "misleading"}
        ``exceeding``: for both classes, the fraction at or above each LLR. ``misleading``: for
        targets, the fraction at or below, so that the curves cross at equal errors.

    See Also
    --------
    misleading_rates, deciban.plots.TippettDisplay

    Examples
    --------
    >>> tippett_curve([0, 1, 0, 1], [-2.0, -1.0, 0.0, 3.0]).target
    array([1. , 1. , 0.5, 0.5])
    """
    require_one_of(kind, "kind", ("exceeding", "misleading"))
    trials = read_trials(y_true, llr, sample_weight, pos_label)
    at = np.unique(trials.llr)
    below = trials.target.below(at, inclusive=kind == "misleading")
    target = below if kind == "misleading" else 1 - below
    return TippettCurve(at, target, 1 - trials.other.below(at))


class MisleadingRates(NamedTuple):
    """Fraction of each class whose LLR supports the other class by more than a given strength.

    Attributes
    ----------
    target, other : float
        Fractions of ``pos_label`` and of the other class.

    See Also
    --------
    misleading_rates : Returns it.

    Examples
    --------
    >>> misleading_rates([1, 0], [-1.0, 3.0], strength=2).other
    1.0
    """

    target: float
    other: float


def misleading_rates(
    y_true: ArrayLike,
    llr: EvidenceLike,
    *,
    strength: float = 0.0,
    unit: Unit = "nat",
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
) -> MisleadingRates:
    """Rates of misleading evidence: LLRs that support the other class.

    Parameters
    ----------
    y_true, llr, sample_weight, pos_label
        As for :func:`tippett_curve`.
    strength : float, default 0
        How far past zero an LLR must lie to count.
    unit : {"nat", "bit", "ban", "deciban"}
        Unit of ``strength``.

    See Also
    --------
    tippett_curve : The same at every strength.

    Examples
    --------
    >>> misleading_rates([1, 1, 0, 0], [2.0, -1.0, -3.0, -1.0])
    MisleadingRates(target=0.5, other=0.0)
    """
    require_positive_number(strength, "strength", or_zero=True)
    limit = to_nats(strength, unit)

    def misleads(llr: Floats, t: int) -> Any:
        return llr < -limit if t else llr > limit

    trials = open_trials(y_true, llr, sample_weight, pos_label, in_nats=True)
    ((other, target),) = trials.means([misleads]).tolist()
    return MisleadingRates(target, other)
