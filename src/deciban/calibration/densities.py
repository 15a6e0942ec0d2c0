"""Recalibration by class densities: Gaussian, or kernel densities for two classes."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from deciban._persistence.registry import register
from deciban._validation.arrays import Floats
from deciban._validation.scalars import is_number, quote, require_fraction, require_one_of
from deciban.calibration.base import Calibrator, TwoClassCalibrator, finite_ilr
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.density_estimates import gaussian_log_densities, moments_by_class
from deciban.metrics.intervals import tails
from deciban.metrics.labelled import Labelled, Scores, Trials
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

Covariance = Literal["shared", "separate"]
_DRAWS = 500  # number of draws from the posterior for an interval
_BLOCK = 1 << 22  # numbers held at once


@register(
    _reader=ScoreReader, means_="D k", covariances_="D k k", degrees_of_freedom_="D",
    _factors="D k k", _sizes="D",
)  # fmt: skip
class GaussianCalibrator(Calibrator):
    r"""Evidence through Gaussian class densities of ILRLs.

    The density of class k is predictive, so the uncertainty of means and covariance from n samples
    is averaged out: Student's t with mean :math:`m_k` and scale :math:`(1 + 1/n_k) W / \nu`, with
    the scatter matrix W within the D classes and :math:`\nu = n - 2 (D - 1)`. Far from all samples
    its evidence is weak. With more samples it becomes Gaussian. With one covariance for all classes
    the map is then affine, and its output a calibrated Gaussian family (``reference_``) if the
    assumption holds. It then needs less data than :class:`AffineCalibrator`; otherwise it is worse.

    Parameters
    ----------
    covariance : {"shared", "separate"}, default "shared"
        One covariance for all classes, or one for each, which makes the map quadratic.
    shrinkage : float, default 0
        From 0, the covariance as it is, to 1, a ball with the same mean variance.
    predictive : bool, default True
        Use the predictive density. Otherwise maximum-likelihood means and covariances are plugged
        into the Gaussian density, which is overconfident for few samples.
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_classes - 1)
        Class means of ILRLs before calibration, in the Gram-Schmidt basis.
    covariances_ : array of shape (n_classes, n_classes - 1, n_classes - 1)
        Covariances of the class densities, or scale matrices of a t without covariance.
    degrees_of_freedom_ : array of shape (n_classes,)
        Degrees of the predictive densities; infinite if Gaussian.
    reference_ : CalibratedGaussian
        For a shared covariance, the calibrated family that the evidence approaches with more
        samples.

    See Also
    --------
    AffineCalibrator : Assumes no distribution.

    References
    ----------
    Geisser (1964), Posterior odds for multivariate normal classifications.

    Examples
    --------
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([2000, 2000, 2000], rng=0)
    >>> calibrator = GaussianCalibrator().fit(family.evidence(3 * l), y)
    >>> calibrator.reference_.divergences.round()
    array([[0., 3., 4.],
           [3., 0., 5.],
           [4., 5., 0.]])
    """

    def __init__(
        self,
        covariance: Covariance = "shared",
        *,
        shrinkage: float = 0.0,
        predictive: bool = True,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.predictive = predictive
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        require_one_of(self.covariance, "covariance", get_args(Covariance))
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
        l = finite_ilr(samples.evidence)
        k = l.shape[1]
        moments = moments_by_class(l, samples.rows_by_class, samples.weights)
        self.means_, S = moments.means, moments.covariances(self.covariance == "shared")
        size = np.trace(S, axis1=1, axis2=2)[:, None, None] / k
        S = (1 - self.shrinkage) * S + self.shrinkage * size * np.eye(k)
        self._sizes = samples.sizes
        nu, scale = self._predictive_spread(self._sizes)
        self.degrees_of_freedom_ = nu
        scaled, mean_square = scale[:, None, None] * S, float((l * l).mean())
        smallest = float(np.linalg.eigvalsh(scaled).min())
        if not smallest > 1e-13 * mean_square:
            raise InputError(
                f"X must vary within the classes in all {k} directions of ILR space; its smallest "
                f"variance is {smallest:.2g}, its mean square {mean_square:.2g}. Give more "
                f"samples, or pass shrinkage if it varies in some directions."
            )
        self._factors = np.linalg.cholesky(scaled)
        self.covariances_ = (scale / np.where(nu > 2, 1 - 2 / nu, 1.0))[:, None, None] * S

    def _predictive_spread(self, n: Floats) -> tuple[Floats, Floats]:
        """Degrees of freedom, and scale relative to the maximum-likelihood covariance."""
        D = len(n)
        if not self.predictive:
            return np.full(D, np.inf), np.ones(D)
        total, n_means = (n.sum(), D) if self.covariance == "shared" else (n, 1)
        # A ball has one variance, a whole covariance more to be found.
        nu = np.maximum(total - n_means - (1 - self.shrinkage) * (D - 2), np.ones(D))
        return nu, np.where(nu < np.inf, (1 + 1 / n) * (total / nu), 1.0)

    def _calibrate(self, evidence: Evidence) -> Evidence:
        """Student's log-densities, with the constant of the Gaussian."""
        l, log_2_pi = finite_ilr(evidence), np.log(2 * np.pi)
        k = l.shape[1]
        log_f = gaussian_log_densities(l, self.means_, self._factors)
        for j in np.flatnonzero(self.degrees_of_freedom_ < np.inf):
            nu = self.degrees_of_freedom_[j]
            top = -np.log(np.diag(self._factors[j])).sum() - k / 2 * log_2_pi
            square = 2 * (top - log_f[:, j])
            # At a million degrees the ratio of gamma functions is that of powers, but for rounding.
            ratio = gammaln((nu + k) / 2) - gammaln(nu / 2) - k / 2 * np.log(nu / 2)
            log_f[:, j] = top + (ratio if nu < 1e6 else 0.0) - (nu + k) / 2 * np.log1p(square / nu)
        return Evidence(log_f, evidence.classes)

    def _interval(self, X: Any, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Percentiles over the posterior of means and covariances."""
        evidence = self._uncalibrated(X)
        l, draws = finite_ilr(evidence), self._draw_parameters()
        value = self._calibrate(evidence).log_likelihoods @ contrasts.T
        low, high = np.empty_like(value), np.empty_like(value)
        step = max(1, _BLOCK // (_DRAWS * len(contrasts)))
        for rows in (slice(start, start + step) for start in range(0, len(l), step)):
            drawn = [gaussian_log_densities(l[rows], *one) @ contrasts.T for one in draws]
            low[rows], high[rows] = np.quantile(np.stack(drawn), tails(confidence), axis=0)
        # The predictive LLR may lie beyond most draws where samples are few.
        return np.minimum(low, value), np.maximum(high, value)

    def _draw_parameters(self) -> list[tuple[Floats, Floats]]:
        """Means and covariance factors from their posterior under Jeffreys' prior."""
        from scipy.stats import invwishart  # slow to import

        n, (D, k) = self._sizes, self.means_.shape
        shared = self.covariance == "shared"
        total = np.full(D, n.sum()) if shared else n
        degrees = total - (D if shared else 1)
        if not (degrees >= k).all():
            raise InputError(
                f"interval must have {k + 1} samples of a class or more; got {n.min():g}. Add some."
            )
        S = np.einsum("cij,ckj->cik", self._factors, self._factors)
        W = S * (total / self._predictive_spread(n)[1])[:, None, None]
        rng = np.random.default_rng(0)
        covariances = [
            invwishart.rvs(degrees[c], W[c], _DRAWS, rng).reshape(_DRAWS, k, k)
            for c in range(1 if shared else D)
        ]
        factors = np.linalg.cholesky(np.stack(covariances * (D if shared else 1), axis=1))
        z = rng.normal(size=(_DRAWS, D, k)) / np.sqrt(n)[:, None]
        return list(zip(self.means_ + np.einsum("bcij,bcj->bci", factors, z), factors, strict=True))

    @property
    def reference_(self) -> CalibratedGaussian:
        """The calibrated Gaussian family of the calibrated evidence."""
        if self.covariance != "shared":
            raise AttributeError("reference_ needs a shared covariance; this one is separate.")
        V = Basis.gram_schmidt(len(self.means_)).contrast
        L = np.linalg.cholesky(self.covariances_.mean(axis=0))
        z = solve_triangular(L, self.means_.T @ V, lower=True)
        return CalibratedGaussian(z.T @ z, Basis(V, self.classes_.tolist()))

    def _finish_loading(self) -> None:
        super()._finish_loading()
        learned = (self.means_, self.covariances_, self._factors)
        finite = all(np.isfinite(array).all() for array in learned)
        regular = np.diagonal(self._factors, axis1=1, axis2=2).all()
        if not (finite and regular and (self.degrees_of_freedom_ > 0).all()):
            raise ValueError("numbers that are not those of densities")


_GRID = 50  # grid points per bandwidth: the density changes by at most 3e-5 of its value
_MANY = 4000  # LLRs of a class above which they are binned
_BEYOND = 100  # power of ten of LRs that no number of samples can support


class UnsupportedEvidenceWarning(UserWarning):
    """LLRs far beyond what any number of samples can support.

    Attributes
    ----------
    finding : str
        The number of samples with such LLRs, and the most extreme LLR.
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
    r"""Evidence for two classes as the ratio of kernel densities of LLRs.

    :math:`\log f_1(x) - \log f_0(x)` with Gaussian kernels at the LLRs in each class. Beyond the
    outermost scores in ``fit`` the LLR stays constant, since in the tails the wider density always
    wins. It may still exceed what the data can support, even 10^-85,082: ``fit`` then warns
    (:class:`UnsupportedEvidenceWarning`). Put it into :class:`BoundedCalibrator` for evidence to
    report.

    Parameters
    ----------
    bandwidth : "silverman", "scott" or float, default "silverman"
        Bandwidth in the unit of the LLRs, or a rule based on each class's sum of weights.
        Silverman's rule takes the smaller of the standard deviation and the scaled interquartile
        range, so outliers do not widen it.
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    bandwidths_ : array of shape (2,)

    See Also
    --------
    GaussianCalibrator : One Gaussian density per class.

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
        steps = self.bandwidths_ / _GRID
        self._centers = [_bin_centers(*pair) for pair in zip(both, steps, strict=True)]

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
    return float(np.sqrt(np.cov(scores.llr, aweights=scores.weight, ddof=0)))


def _silverman_spread(scores: Scores) -> float:
    """The smaller of the standard deviation and the scaled interquartile range."""
    order, n = np.argsort(scores.llr), len(scores.llr)
    weight = np.ones(n) if scores.weight is None else scores.weight
    mass = np.cumsum(weight[order] / weight.max())  # equal weights sum without rounding
    quarters = np.array([0.25, 0.75]) * mass[-1] * (1 - 1e-12)
    low, high = scores.llr[order][np.searchsorted(mass, quarters)]
    sd = _sd(scores)
    return float(min(sd, (high - low) / 1.349) or sd)


def _bin_centers(scores: Scores, step: float) -> tuple[Floats, Floats]:
    """Kernel centers and log weights; many LLRs are shared between points on a fine grid."""
    n = len(scores.llr)
    w = np.full(n, 1 / n) if scores.weight is None else scores.weight / scores.weight.sum()
    if n <= _MANY:
        return scores.llr, np.log(w)
    at = (scores.llr - scores.llr.min()) / step
    low = np.floor(at)
    points, where = np.unique(np.concatenate([low, low + 1]), return_inverse=True)
    mass = np.bincount(where, weights=np.concatenate([w * (low + 1 - at), w * (at - low)]))
    used = mass > 0
    return scores.llr.min() + step * points[used], np.log(mass[used])


def _log_density(x: Floats, centers: tuple[Floats, Floats], h: float) -> Floats:
    """Log kernel density, without underflow in the tails."""
    at, log_weight = centers
    density = np.empty(len(x))
    rows = max(1, _BLOCK // len(at))
    for start in range(0, len(x), rows):
        z = (x[start : start + rows, None] - at) / h
        density[start : start + rows] = logsumexp(log_weight - z * z / 2, axis=1)
    return density - np.log(h)
