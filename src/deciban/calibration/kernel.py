"""Recalibration of two classes by kernel densities of their scores."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp

from deciban._persistence.registry import register
from deciban._validation import is_number
from deciban.calibration.isotonic import TwoClassCalibrator
from deciban.calibration.scores import Reader
from deciban.exceptions import InputError
from deciban.metrics.labelled import Scores, Trials

_GRID = 50  # steps a bandwidth on which many samples are gathered: 3e-5 of the density at most
_MANY = 4000
_BLOCK = 1 << 22  # numbers held at once


@register(
    _reader=Reader,
    _range=(float, float),
    bandwidths_="2",
    _centres=[("n", "n"), ("m", "m")],
)
class KernelDensityCalibrator(TwoClassCalibrator):
    """Evidence for two classes as the ratio of two kernel densities of the LLRs.

    Gaussian kernels. Beyond the outermost scores of the fit the LLR stays what it is there, since
    the wider density wins in the tails of both. It may still be more than the data can support: put
    it into :class:`BoundedCalibrator` for evidence to report.

    Parameters
    ----------
    bandwidth : "silverman", "scott" or float, default "silverman"
        In the unit of the LLRs; the rules give each class its own, by the number of its samples
        (the sum of their weights). Silverman's takes the smaller of
        the standard deviation and the scaled interquartile range, so that outliers do not widen it.
    prior : "uniform", "empirical", array of shape (2,) or mapping, default "uniform"
        Of ``predict_proba``. It is not part of the evidence.
    fuse : bool, optional
        Whether the columns are scores of several systems, to be fused by logistic regression. By
        default where they are not one for each class nor one LLR, with a warning.

    Attributes
    ----------
    bandwidths_ : array of shape (2,)
    classes_ : array of shape (2,)
    prior_ : array of shape (2,)
    n_features_in_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> llr = rng.normal(4 * y - 2, 2)
    >>> calibrator = KernelDensityCalibrator().fit(llr[:, None], y)
    >>> calibrator.evidence([[1.0]]).llr(1, 0).round(1)
    array([1.])
    """

    def __init__(
        self,
        bandwidth: Literal["silverman", "scott"] | float = "silverman",
        *,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.prior = prior
        self.fuse = fuse

    def _fit_llr(self, trials: Trials) -> None:
        both = (trials.other, trials.target)
        if not all(np.isfinite(scores.llr).all() for scores in both):
            raise InputError(
                "X must be finite for kernel densities; it has infinity. Use IsotonicCalibrator."
            )
        every = np.concatenate([scores.llr for scores in both])
        self._range = float(every.min()), float(every.max())
        rules = np.array([self._bandwidth(scores) for scores in both])
        rules = np.where(rules > 1e-12 * np.abs(every).max(), rules, 0.0)  # but for rounding
        if not rules.any():
            raise InputError(
                "X must vary within a class for a bandwidth; it does not. Give a bandwidth."
            )
        self.bandwidths_ = np.where(rules > 0, rules, rules.max())  # one sample has no spread
        self._centres = [
            _gathered(scores, h / _GRID) for scores, h in zip(both, self.bandwidths_, strict=True)
        ]

    def _calibrated_llr(self, llr: np.ndarray) -> np.ndarray:
        if not np.isfinite(llr).all():
            raise InputError("X must be finite for kernel densities; it has infinity. Bound it.")
        llr = np.clip(llr, *self._range)
        other, target = (
            _log_density(llr, centres, h)
            for centres, h in zip(self._centres, self.bandwidths_, strict=True)
        )
        return target - other

    def _bandwidth(self, scores: Scores) -> float:
        if is_number(self.bandwidth) and 0 < self.bandwidth < np.inf:
            return float(self.bandwidth)
        if self.bandwidth not in ("silverman", "scott"):
            raise InputError(
                f"bandwidth must be 'silverman', 'scott' or a positive number; got "
                f"{self.bandwidth!r}. Choose one of these."
            )
        w = _weight(scores)
        n = float(w.sum())
        sd = float(np.sqrt(np.cov(scores.llr, aweights=w, ddof=0)))
        if self.bandwidth == "scott":
            return 1.06 * sd * n**-0.2
        order = np.argsort(scores.llr)
        mass = np.cumsum(w[order]) / n
        low, high = scores.llr[order][np.searchsorted(mass, [0.25, 0.75])]
        return 0.9 * float(min(sd, (high - low) / 1.349) or sd) * n**-0.2


def _weight(scores: Scores) -> np.ndarray:
    return np.ones(len(scores.llr)) if scores.weight is None else scores.weight


def _gathered(scores: Scores, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres and their log weights; many are gathered on a fine grid, each on two points of it."""
    w = _weight(scores) / _weight(scores).sum()
    if len(scores.llr) <= _MANY:
        return scores.llr, np.log(w)
    at = (scores.llr - scores.llr.min()) / step
    low = np.floor(at)
    places, where = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
    mass = np.bincount(where, weights=np.concatenate([w * (low + 1 - at), w * (at - low)]))
    kept = mass > 0
    return scores.llr.min() + step * places[kept], np.log(mass[kept])


def _log_density(x: np.ndarray, centres: tuple[np.ndarray, np.ndarray], h: float) -> np.ndarray:
    """Logarithm of a kernel density; it does not underflow in the tails."""
    at, log_weight = centres
    density = np.empty(len(x))
    rows = max(1, _BLOCK // len(at))
    for start in range(0, len(x), rows):
        z = (x[start : start + rows, None] - at) / h
        density[start : start + rows] = logsumexp(log_weight - z * z / 2, axis=1)
    return density - np.log(h)
