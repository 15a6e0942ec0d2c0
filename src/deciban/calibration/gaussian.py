"""Generative recalibration: Gaussian densities of the ILRLs, and their likelihood function."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from deciban._persistence.registry import register
from deciban._validation.scalars import require_fraction, require_one_of
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.densities import gaussian_log_densities, moments_by_class
from deciban.metrics.labelled import Labelled
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

Covariance = Literal["shared", "separate"]


@register(_reader=ScoreReader, means_="D k", covariances_="D k k", _factors="D k k")
class GaussianCalibrator(Calibrator):
    """Evidence through the likelihood function of Gaussian densities of its ILRLs.

    With one covariance for all classes the map is affine, and its output is exactly a calibrated
    Gaussian family (``reference_``) where the assumption holds: the theorem of the paper. It needs
    less data than :class:`AffineCalibrator` there, and is worse where the assumption does not hold.

    Parameters
    ----------
    covariance : {"shared", "separate"}, default "shared"
        One covariance for all classes, or one for each; the latter makes a quadratic map.
    shrinkage : float, default 0
        From 0, for the covariance as it is, to 1, for that of a ball of the same mean variance.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Prior of ``predict_proba``; it is not part of the evidence.
    fuse : bool, optional
        Whether to fuse the columns by logistic regression, as for :class:`AffineCalibrator`.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_classes - 1)
        Means of the ILRLs before calibration, in the Gram-Schmidt basis.
    covariances_ : array of shape (n_classes, n_classes - 1, n_classes - 1)
    reference_ : CalibratedGaussian
        The family of the calibrated evidence, for a shared covariance.
    classes_, prior_ : arrays of shape (n_classes,)
    n_features_in_ : int

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
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        require_one_of(self.covariance, "covariance", get_args(Covariance))
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
        l = finite_ilr(samples.evidence)
        D = samples.evidence.n_classes
        moments = moments_by_class(l, samples.rows_by_class, samples.weights)
        self.means_, S = moments.means, moments.covariances(self.covariance == "shared")
        size = np.trace(S, axis1=1, axis2=2)[:, None, None] / (D - 1)
        self.covariances_ = (1 - self.shrinkage) * S + self.shrinkage * size * np.eye(D - 1)
        self._factors = self._cholesky(float((l * l).mean()))

    def _cholesky(self, scale: float) -> NDArray[np.float64]:
        least = float(np.linalg.eigvalsh(self.covariances_).min())
        if not least > 1e-13 * scale:
            raise InputError(
                f"X must vary within the classes in all {self.means_.shape[1]} directions of ILR "
                f"space; its smallest variance is {least:.2g}, its mean square {scale:.2g}. Give "
                f"more samples, or pass shrinkage if it varies in some directions."
            )
        return np.linalg.cholesky(self.covariances_)

    def _calibrate(self, evidence: Evidence) -> Evidence:
        log_f = gaussian_log_densities(finite_ilr(evidence), self.means_, self._factors)
        return Evidence(log_f, evidence.classes)

    @property
    def reference_(self) -> CalibratedGaussian:
        """The calibrated Gaussian family of the calibrated evidence."""
        if self.covariance != "shared":
            raise AttributeError("reference_ needs a shared covariance; this one is separate.")
        V = Basis.gram_schmidt(len(self.means_)).contrast
        z = solve_triangular(self._factors[0], self.means_.T @ V, lower=True)
        return CalibratedGaussian(z.T @ z, Basis(V, self.classes_.tolist()))

    def _finish_loading(self) -> None:
        super()._finish_loading()
        if not all(np.isfinite(array).all() for array in (self.means_, self._factors)):
            raise ValueError("numbers that are not finite")
        if not (np.diagonal(self._factors, axis1=1, axis2=2) != 0).all():
            raise ValueError("factors that are singular")
