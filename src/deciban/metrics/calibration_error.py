"""How far posteriors are from relative frequencies, in bins or smoothed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import dct, idct
from scipy.optimize import brentq

from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of, require_whole
from deciban.evidence.bayes import Prior, balance_weights, log_prior
from deciban.metrics.labelled import EvidenceLike, Weights, read_labelled
from deciban.metrics.reliability import Kind, bins_of_equal_counts, predicted_events

_KINDS: dict[str, Kind] = {"top-label": "decided", "classwise": "each"}
_CELLS = 4096  # of the interval from 0 to 1: smaller widths are not smoothed


def calibration_error(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    kind: Literal["top-label", "classwise"] = "top-label",
    method: Literal["smooth", "equal-mass", "equal-width"] = "smooth",
    n_bins: int = 15,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Mean distance of posteriors from relative frequencies, between 0 and 1.

    In bins, :math:`\sum_b |\sum_{n \in b} v_n (e_n - p_n)|`, where p are the posteriors of an
    event, e is 1 where it happened, and the weights v give each class its prior and sum to one.
    Smoothed, the width s at which :math:`\int_0^1 |\sum_n v_n (e_n - p_n) K_s(t, p_n)| dt = s`,
    where K is the Gaussian kernel reflected at 0 and 1.

    All are above zero for calibrated evidence, the more so the fewer samples and the more bins, and
    say nothing about discrimination: prefer :func:`decompose` and :func:`calibration_test`.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.
    kind : {"top-label", "classwise"}
        Event: the class with the largest posterior is true; or each class is true, and the result
        is the mean over classes.
    method : {"smooth", "equal-mass", "equal-width"}
        Equal mass: bins that hold equally many samples.
    n_bins : int, default 15

    Returns
    -------
    float

    See Also
    --------
    decompose : What miscalibration costs.
    calibration_test : Whether chance explains the distance.
    deciban.plots.ReliabilityDisplay : Posteriors against frequencies.

    References
    ----------
    Błasiok and Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing.

    Examples
    --------
    >>> llr = [-1.0, 1.0, -1.0, 1.0]                  # right half of the time, and sure by 73 %
    >>> round(calibration_error([0, 0, 1, 1], [[0.0, x] for x in llr]), 4)
    0.2311
    """
    require_one_of(kind, "kind", _KINDS)
    require_one_of(method, "method", ("smooth", "equal-mass", "equal-width"))
    require_whole(n_bins, "n_bins", 1)
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    weight = balance_weights(data.codes, data.weight, p)
    errors = []
    for _, posterior, _, happened in predicted_events(data, p, _KINDS[kind], None):
        gap = weight * (happened - posterior)
        if method == "smooth":
            errors.append(_smooth_error(posterior, gap))
        elif method == "equal-mass":
            errors.append(np.abs(np.bincount(bins_of_equal_counts(posterior, n_bins), gap)).sum())
        else:
            errors.append(np.abs(_sum_in_cells(posterior, gap, n_bins)).sum())
    return float(np.mean(errors))


def _sum_in_cells(p: Floats, gap: Floats, n_cells: int) -> Floats:
    """Sums of the gaps in equal parts of the interval from 0 to 1."""
    cell = np.minimum((p * n_cells).astype(int), n_cells - 1)
    return np.bincount(cell, gap, n_cells).astype(np.float64)


def _smooth_error(p: Floats, gap: Floats) -> float:
    """The width at which the smoothed gaps are as large as the width."""
    waves = dct(_sum_in_cells(p, gap, _CELLS))  # cosines are what a reflected kernel only damps
    decay = (np.pi * np.arange(_CELLS)) ** 2 / 2

    def excess(width: float) -> float:
        return float(np.abs(idct(waves * np.exp(-decay * width**2))).sum()) - width

    return float(brentq(excess, 0.0, 1.0, xtol=1e-9)) if excess(0.0) > 0 else 0.0
