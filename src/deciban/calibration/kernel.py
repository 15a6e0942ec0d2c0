"""Recalibration of two classes by kernel densities of their scores."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp

from deciban._persistence.registry import register
from deciban._validation.arrays import Floats
from deciban._validation.scalars import is_number, quote
from deciban.calibration.base import TwoClassCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, Scores, Trials

_GRID = 50  # grid points per bandwidth: the density changes by at most 3e-5 of its value
_MANY = 4000  # LLRs of a class above which they are binned
_BLOCK = 1 << 22  # numbers held at once
_BEYOND = 100  # power of ten of LRs that no number of samples can support


class UnsupportedEvidenceWarning(UserWarning):
    """LLRs are far beyond what any number of samples can support.

    Attributes
    ----------
    finding : str
        How many samples have such LLRs, and the most extreme one.
    """

    def __init__(self, finding: str) -> None:
        self.finding = finding
        super().__init__(
            f"X should give LRs that its samples can support; {finding}. Put the calibrator into "
            f"BoundedCalibrator."
        )


@register(
    _reader=ScoreReader, _range=(float, float), bandwidths_="2", _centers=[("n", "n"), ("m", "m")]
)
class KernelDensityCalibrator(TwoClassCalibrator):
    r"""Evidence for two classes as the ratio of two kernel densities of the LLRs.

    :math:`\log f_1(x) - \log f_0(x)`, where :math:`f_k` is the mean of Gaussian kernels at the LLRs
    of class k. Beyond the outermost scores of the fit the LLR stays what it is there, since in the
    tails the wider density always wins. It may still be more than the data can support, even
    10^-85,082: ``fit`` then warns (:class:`UnsupportedEvidenceWarning`). Put it into
    :class:`BoundedCalibrator` for evidence to report.

    Parameters
    ----------
    bandwidth : "silverman", "scott" or float, default "silverman"
        Bandwidth in the unit of the LLRs, or a rule that gives each class its own by the number of
        its samples (the sum of their weights). Silverman's rule takes the smaller of the standard
        deviation and the scaled interquartile range, so that outliers do not widen it.
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    bandwidths_ : array of shape (2,)
    classes_, prior_ : arrays of shape (2,)
    n_features_in_ : int

    See Also
    --------
    GaussianCalibrator : One Gaussian density for each class.
    BoundedCalibrator : Cuts off what the data do not support.

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

    def _fit_trials(self, trials: Trials, mass: Floats) -> None:
        every = trials.llr
        if not np.isfinite(every).all():
            raise InputError(
                "X must be finite for kernel densities; it has infinity. Use IsotonicCalibrator."
            )
        both = (trials.other, trials.target)
        self._range = float(every.min()), float(every.max())
        self.bandwidths_ = self._bandwidths(both, mass, float(np.abs(every).max()))
        self._centers = [
            _bin_centers(scores, h / _GRID)
            for scores, h in zip(both, self.bandwidths_, strict=True)
        ]

    def _warn_about_fit(self, samples: Labelled) -> None:
        first, second = samples.evidence.classes
        llr = samples.evidence.llr(second, first)
        # Beyond a few thousand samples the map is read off at the centers of the kernels.
        at = np.unique(np.clip(np.concatenate([c for c, _ in self._centers]), *self._range))
        found = np.interp(llr, at, self._calibrate_llr(at))
        bans = found / np.log(10)
        beyond = int(np.sum(np.abs(bans) > _BEYOND))
        if beyond:
            finding = (
                f"kernel densities give {beyond:,} of {len(bans):,} samples LRs beyond "
                f"10^{_BEYOND} or 10^-{_BEYOND}, up to 10^{bans[np.argmax(np.abs(bans))]:,.0f}"
            )
            warnings.warn(UnsupportedEvidenceWarning(finding), stacklevel=3)

    def _calibrate_llr(self, llr: Floats) -> Floats:
        if not np.isfinite(llr).all():
            raise InputError("X must be finite for kernel densities; it has infinity. Bound it.")
        llr = np.clip(llr, *self._range)
        other, target = (
            _log_density(llr, centers, h)
            for centers, h in zip(self._centers, self.bandwidths_, strict=True)
        )
        return target - other

    def _bandwidths(self, both: tuple[Scores, Scores], mass: Floats, largest: float) -> Floats:
        if is_number(self.bandwidth) and 0 < self.bandwidth < np.inf:
            return np.full(2, float(self.bandwidth))
        if self.bandwidth not in ("silverman", "scott"):
            raise InputError(
                f"bandwidth must be 'silverman', 'scott' or a positive number; got "
                f"{quote(self.bandwidth)}. Choose one of these."
            )
        rule, factor = (_silverman_spread, 0.9) if self.bandwidth == "silverman" else (_sd, 1.06)
        spread = np.array([rule(scores) for scores in both])
        spread[spread <= 1e-12 * largest] = 0.0  # rounding
        if not spread.any():
            raise InputError(
                "X must vary within a class for a bandwidth; it does not. Give a bandwidth."
            )
        h = factor * spread * mass**-0.2
        return np.where(h > 0, h, h.max())  # one sample has no spread


def _sd(scores: Scores) -> float:
    return float(np.sqrt(np.cov(scores.llr, aweights=_weight(scores), ddof=0)))


def _silverman_spread(scores: Scores) -> float:
    """The smaller of the standard deviation and the scaled interquartile range."""
    order, weight = np.argsort(scores.llr), _weight(scores)
    mass = np.cumsum(weight[order] / weight.max())  # equal weights sum without rounding
    quarters = np.array([0.25, 0.75]) * mass[-1] * (1 - 1e-12)
    low, high = scores.llr[order][np.searchsorted(mass, quarters)]
    sd = _sd(scores)
    return float(min(sd, (high - low) / 1.349) or sd)


def _weight(scores: Scores) -> Floats:
    return np.ones(len(scores.llr)) if scores.weight is None else scores.weight


def _bin_centers(scores: Scores, step: float) -> tuple[Floats, Floats]:
    """Centers of the kernels and their log weights.

    Many LLRs are binned on a fine grid, each shared between the two nearest points.
    """
    w = _weight(scores) / _weight(scores).sum()
    if len(scores.llr) <= _MANY:
        return scores.llr, np.log(w)
    at = (scores.llr - scores.llr.min()) / step
    low = np.floor(at)
    points, where = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
    mass = np.bincount(where, weights=np.concatenate([w * (low + 1 - at), w * (at - low)]))
    used = mass > 0
    return scores.llr.min() + step * points[used], np.log(mass[used])


def _log_density(x: Floats, centers: tuple[Floats, Floats], h: float) -> Floats:
    """Logarithm of a kernel density; it does not underflow in the tails."""
    at, log_weight = centers
    density = np.empty(len(x))
    rows = max(1, _BLOCK // len(at))
    for start in range(0, len(x), rows):
        z = (x[start : start + rows, None] - at) / h
        density[start : start + rows] = logsumexp(log_weight - z * z / 2, axis=1)
    return density - np.log(h)
