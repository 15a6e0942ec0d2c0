"""Affine recalibration in ILR coordinates: temperature, diagonal and full."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import clone

from deciban._estimation.affine import fit_affine, fit_affine_in_parts, measure_scores
from deciban._estimation.linear import Uncertainty, uncertainty
from deciban._estimation.logistic import Design, LogisticCost, Scale, free_entries
from deciban._persistence.registry import register
from deciban._validation.arrays import Floats
from deciban._validation.labels import label_array
from deciban._validation.scalars import quote, require_one_of, require_positive_number
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import InputError
from deciban.metrics.dask_collections import open_collections
from deciban.metrics.labelled import Labelled
from deciban.metrics.partitions import Partitions, Rows, evidence_of, require_counts
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_SEPARABLE = 2e-5  # nats a sample
_MAX_PARAMETERS = 200  # whose covariance is stored
_MAX_SCORE = 1e140  # nats; the covariance has fourth powers of slopes
_FOR_UNCERTAINTY = 100_000  # samples, of many in partitions, that the covariance is estimated from


class SeparableWarning(UserWarning):
    """Classes without overlap, which do not limit an affine map."""


@register(_reader=ScoreReader, matrix_="k k", offset_="k", uncertainty_=Uncertainty | None)
class AffineCalibrator(Calibrator):
    """Evidence through the affine map of ILRLs with the smallest cross-entropy.

    The calibrated ILRL is :math:`A l + b`. The cross-entropy under ``prior`` is convex in A and b,
    and minimized by Newton's method. For two classes this is linear logistic regression, the
    calibration in speaker recognition; a scalar without offset is temperature scaling at the
    uniform prior.

    Few samples make that map overconfident, without limit if the classes do not overlap. By default
    the scalar map therefore has Jeffreys' prior (Firth's logistic regression for two classes), and
    a ridge holds a diagonal or full map near it, with weight 1.5 / n or 1.5 (D - 1) / n on squares
    relative to the scalar map, for D classes and n samples. The unit of the scores does not matter,
    and the effect vanishes with samples.

    Parameters
    ----------
    scale : {"scalar", "diagonal", "full"}, default "scalar"
        One factor for all ILR coordinates, one for each (in ``basis``), or a full matrix. Scalar
        and full maps do not depend on the basis.
    offset : bool, default True
        Fit an offset b.
    ridge : float, optional
        Weight of the squared distance from the identity map, added to the mean cross-entropy in
        nats, instead of the default: 0 for maximum likelihood, 0.001 to 0.1 for few samples that
        are nearly calibrated.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Weight of each class, and the prior in ``predict_proba``; it is not part of the evidence.
    basis : Basis, default Gram-Schmidt
        Basis of ``matrix_`` and ``offset_``; a named basis is matched with the classes by name.
    fuse : bool, optional
        Fuse the columns, scores from several systems, by logistic regression. By default columns
        are fused, with a warning, unless they are one per class or one LLR.

    Attributes
    ----------
    matrix_ : array of shape (n_classes - 1, n_classes - 1)
    offset_ : array of shape (n_classes - 1,)
    classes_, prior_ : arrays of shape (n_classes,)
    uncertainty_ : Uncertainty or None
        Covariance of the parameters, used by :meth:`interval`.
    n_features_in_ : int

    See Also
    --------
    GaussianCalibrator : Needs less data if the ILRLs in each class are Gaussian.
    CurvedCalibrator : A factor that depends on the strength of the evidence.
    BoundedCalibrator : Limits evidence to what the data support.

    References
    ----------
    Brümmer and van Leeuwen (2006), On calibration of language recognition scores. Firth (1993),
    Bias reduction of maximum likelihood estimates. Guo et al. (2017), On calibration of modern
    neural networks.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([2000, 2000, 2000], rng=0)
    >>> calibrator = AffineCalibrator().fit(family.evidence(3 * l), y)  # overconfident
    >>> bool(abs(3 * calibrator.matrix_[0, 0] - 1) < 0.05)
    True
    """

    def __init__(
        self,
        scale: Scale = "scalar",
        offset: bool = True,
        *,
        ridge: float | None = None,
        prior: Any = "uniform",
        basis: Basis | None = None,
        fuse: bool | None = None,
    ) -> None:
        self.scale = scale
        self.offset = offset
        self.ridge = ridge
        self.prior = prior
        self.basis = basis
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        require_one_of(self.scale, "scale", get_args(Scale))
        prior, basis = self.prior_, self._basis()
        l = finite_ilr(samples.evidence, basis)
        weight = balance_weights(samples.codes, samples.weight, prior)
        self.matrix_, self.offset_ = fit_affine(
            l, samples.codes, weight, np.log(prior), basis.contrast, self.scale,
            offset=self.offset, ridge=self.ridge or 0.0,
            class_sizes=samples.sizes if self.ridge is None else None,
        )  # fmt: skip
        fused = self._reader.fusion is not None
        self.uncertainty_ = None if fused else self._uncertainty(l, samples, samples.sizes)

    def _basis(self) -> Basis:
        return basis_for(self.basis, len(self.classes_)).align_to(self._names())

    def _fit_collections(self, X: Any, y: Any, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise InputError(
                "sample_weight must be left out with Dask collections; got one. Repeat samples."
            )
        columns = X.shape[1] if np.ndim(X) == 2 else 1
        self.fit_partitions(open_collections(y, [X]), columns)

    def fit_partitions(self, data: Partitions, n_columns: int = 1) -> Self:
        """Fit to partitioned scores: LLRs for two classes, or one column per class."""
        D = len(data.classes)
        if not (n_columns == D or (n_columns == 1 and D == 2)):
            raise InputError(
                f"X must have one column for each of {D} classes{' or one LLR' * (D == 2)} in "
                f"partitions; got {n_columns}. Compute it, to fuse scores."
            )
        require_one_of(self.scale, "scale", get_args(Scale))
        self.classes_, self.n_features_in_ = label_array(data.classes), n_columns
        basis = self._basis()

        def map_rows(function: Callable[[Floats, Any], Any]) -> Iterator[Any]:
            return data.map(partial(_call_with_ilr, function, basis, data.classes), "Fitting")

        extent = measure_scores(map_rows, D)
        require_counts(data.classes, extent.counts)
        self.class_counts_ = extent.counts.astype(float)
        self._reader = ScoreReader(self._names(), False)
        self.matrix_, self.offset_ = fit_affine_in_parts(
            map_rows, extent, self.prior_, basis.contrast, self.scale,
            offset=self.offset, ridge=self.ridge,
        )  # fmt: skip
        step = -(-int(extent.counts.sum()) // _FOR_UNCERTAINTY)
        found = [*data.map(partial(_take, step, data.classes), "Sampling")]
        values, codes = (np.concatenate(part) for part in zip(*found, strict=True))
        some = Labelled(Evidence.from_scores(values, data.classes), codes)
        l = finite_ilr(some.evidence, basis)
        self.uncertainty_ = self._uncertainty(l, some, self.class_counts_)
        return self

    def _uncertainty(self, l: Floats, samples: Labelled, sizes: Floats) -> Uncertainty | None:
        prior, offset = self.prior_, self.offset_[: l.shape[1] * self.offset]
        here = np.append(free_entries(self.matrix_, self.scale), offset)
        if len(here) > _MAX_PARAMETERS or np.abs(l).max() > _MAX_SCORE:
            return None
        weight = balance_weights(samples.codes, samples.weight, prior)
        cost = LogisticCost(
            self._design(l), samples.codes, weight, np.log(prior), self._basis().contrast,
            self.scale, self.ridge or 0.0,
        )  # fmt: skip
        return uncertainty(cost, here, sizes)

    def _design(self, l: Floats) -> Design:
        return Design(l.T[None], np.ones((int(self.offset), len(l))))

    def _interval(self, X: Any, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        if self.uncertainty_ is None:
            raise InputError(
                f"interval needs scores below {_MAX_SCORE:g} and {_MAX_PARAMETERS} parameters at "
                f"most; got {self.matrix_.size + self.offset_.size}. Use BootstrapCalibrator."
            )
        evidence = self._uncalibrated(X)
        basis = self._basis()
        design, along = self._design(finite_ilr(evidence, basis)), contrasts @ basis.contrast
        half = self.uncertainty_.half_widths(design, along, self.scale, confidence)
        center = self._calibrate(evidence).log_likelihoods @ contrasts.T
        return center - half, center + half

    def _fusion_ridge(self) -> float | None:
        ridge = self.ridge
        return None if ridge is None else require_positive_number(ridge, "ridge", or_zero=True)

    def _warn_about_fit(self, samples: Labelled) -> None:
        if self.ridge != 0:
            return
        log_p = self._calibrate(samples.evidence).log_posterior(self.prior_)
        if -float(log_p[np.arange(len(log_p)), samples.codes].mean()) < _SEPARABLE:
            warnings.warn(
                "the classes are separable in X, so that nothing limits the calibrated evidence of "
                "maximum likelihood. Leave ridge=0 out, or put the calibrator into "
                "BoundedCalibrator.",
                SeparableWarning,
                stacklevel=3,
            )

    def _calibrate(self, evidence: Evidence) -> Evidence:
        basis = self._basis()
        l = finite_ilr(evidence, basis) @ self.matrix_.T + self.offset_
        return Evidence.from_unbounded_ilr(l, basis, evidence.classes)


def _call_with_ilr(
    function: Callable[[Floats, Any], Any], basis: Basis, classes: tuple[Hashable, ...], rows: Rows
) -> Any:
    return function(finite_ilr(evidence_of(rows.evidence[0], classes), basis), rows.codes)


def _take(step: int, classes: tuple[Hashable, ...], rows: Rows) -> tuple[Floats, Any]:
    """A subsample with at least one sample of each class."""
    kept = (rows.hashes >> np.uint64(20)) % np.uint64(step) == 0
    for k in range(len(classes)):
        kept[np.flatnonzero(rows.codes == k)[:1]] = True
    return evidence_of(rows.evidence[0][kept], classes).log_likelihoods, rows.codes[kept]


def clone_calibrator(calibrator: Any) -> Any:
    """An unfitted clone, by default of an affine calibrator."""
    if calibrator is None:
        return AffineCalibrator()
    if not hasattr(calibrator, "evidence") or not hasattr(calibrator, "get_params"):
        raise InputError(
            f"calibrator must be an estimator of deciban.calibration; got {quote(calibrator)}. "
            f"Pass AffineCalibrator(), say."
        )
    return clone(calibrator)
