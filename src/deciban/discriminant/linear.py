"""Linear and quadratic discriminant analysis, in closed form."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.columns import Columns
from deciban._estimation.samples import Samples, condense, read_batch, read_table_samples
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_fraction
from deciban.discriminant.base_space import BaseSpaceMixin, DiscriminantMixin, check_sound
from deciban.discriminant.initialization import (
    FLOOR,
    Start,
    Whitening,
    class_moments,
    linear_start,
    shrink,
    symmetric_whitening,
)
from deciban.exceptions import InputError
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

Prior = ArrayLike | Mapping[Hashable, float]


@register(
    columns_=Columns, _whitening=Whitening, _means="D d", basis_=Basis, _density_quantiles="n",
    _past=Samples,
)  # fmt: skip
class LinearDiscriminant(PersistentMixin, BaseSpaceMixin):
    """Gaussian classes with one covariance: the closed form that a CDA starts from.

    The LLR for class i against j is :math:`(m_i - m_j)^T W^{-1} (x - (m_i + m_j) / 2)`, with class
    means m and the covariance W within classes.

    Parameters
    ----------
    shrinkage : float, default 0
        Shrinkage for the standardized features' covariance, from 0 (none) to 1 (the scaled
        identity).
    prior : "empirical", "uniform", array of shape (n_classes,) or mapping, default "empirical"
        Prior for ``predict`` and ``predict_proba``, by default the class mix in ``fit``. It does
        not affect the evidence and may be set after ``fit``.
    basis : Basis, default Gram-Schmidt
        Basis for the ILRL.

    Attributes
    ----------
    reference_ : CalibratedGaussian
        The evidence's family; needs at least n_classes - 1 features.
    covariance_, divergences_ : arrays
    classes_, class_counts_, prior_ : arrays of shape (n_classes,)
        Counts are sums of the weights in ``fit``.
    n_features_in_ : int
    columns_ : Columns
        Encoding of the columns of X; ``columns_.features`` names the features.

    See Also
    --------
    deciban.QuadraticDiscriminant : A covariance for each class.
    deciban.CompositionalDiscriminantAnalysis : Classes with any shape.
    deciban.calibration.CalibratedEvidenceClassifier : Evidence by any scikit-learn classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LinearDiscriminant().fit(X, y)
    >>> lda.divergences_.round(1)
    array([[ 0. , 45.8, 91.5],
           [45.8,  0. ,  8.8],
           [91.5,  8.8,  0. ]])
    """

    def __init__(
        self, *, shrinkage: float = 0.0, prior: Prior = "empirical", basis: Basis | None = None
    ) -> None:
        self.shrinkage = shrinkage
        self.prior = prior
        self.basis = basis

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to features and classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Missing values are allowed; in frames also categories, text, booleans and dates.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        samples = read_table_samples(self, X, y, sample_weight)
        self._past = condense(samples)
        self._solve()
        self._remember_densities(samples.X)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from another batch: the same model as from ``fit`` to all batches together.

        A batch may lack classes. Evidence needs a sample from each class, and two from one.
        Outliers are relative to the last batch.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,)
            All classes, needed in the first call.
        sample_weight : array of shape (n_samples,), optional
        """
        first = "_past" not in vars(self)
        batch = every = read_batch(self, X, y, classes, sample_weight, first=first)
        if not first:
            joined: Any = map(np.concatenate, zip(self._past, batch, strict=True))
            every = Samples(*joined)
        D = len(self.classes_)
        self.class_counts_ = np.bincount(every.codes, every.weight, D).astype(np.float64)
        self._past = condense(every)
        if self.class_counts_.all() and len(every.codes) > D:
            self._solve()
            self._remember_densities(batch.X)
        return self

    def _solve(self) -> None:
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
        moments = class_moments(self._past, len(self.classes_))
        self._whitening = symmetric_whitening(moments, self.shrinkage)
        self._means = moments.means @ self._whitening.matrix.T
        self.basis_ = self._choose_basis()

    def _require_solution(self) -> None:
        if "_means" not in vars(self):
            had = dict(zip(self._names(), self.class_counts_.tolist(), strict=True))
            raise InputError(
                f"Evidence needs samples of every class, and two of one; partial_fit had {had}. "
                f"Call it with more."
            )

    def _log_densities(self, X: Floats) -> Floats:
        self._require_solution()
        W = self._whitening(X)
        squares = np.stack([np.sum((W - m) ** 2, axis=1) for m in self._means], axis=1)
        return self._whitening.log_det - 0.5 * (squares + W.shape[1] * np.log(2 * np.pi))

    @property
    def reference_(self) -> CalibratedGaussian:  # type: ignore[override]
        """The calibrated Gaussian family for the evidence."""
        return CalibratedGaussian(self._start().covariance, self.basis_)

    def _start(self) -> Start:
        check_is_fitted(self)
        self._require_solution()
        D, d = self._means.shape
        if d < D - 1:
            raise InputError(
                f"A base space for {D} classes needs at least {D - 1} features; got {d}. Use "
                f"evidence alone, or drop classes."
            )
        return linear_start(self._means, self.basis_.contrast)

    def _to_base(self, X: Floats, added: Floats | None = None) -> Floats:
        start = self._start()
        return self._whitening(X) @ start.matrix.T + start.offset

    def _from_base(self, Z: Floats) -> Floats:
        start = self._start()
        if np.linalg.matrix_rank(start.matrix) < len(start.matrix):
            raise InputError(
                f"Cannot change the evidence: the class means differ in fewer than "
                f"{len(self.classes_) - 1} directions. Drop classes with the same mean."
            )
        W = np.linalg.solve(start.matrix, (Z - start.offset).T).T
        return self._whitening.invert(np.asarray(W, dtype=np.float64))

    def _finish_loading(self) -> None:
        whitening = self._whitening
        check_sound(whitening.scale, self._density_quantiles, self._means, whitening.matrix)
        codes = self._past.codes  # fewer classes than there are, and others, would be forgotten
        if codes.dtype.kind != "i" or set(codes.tolist()) != set(range(len(self.classes_))):
            raise ValueError("samples of other classes")
        check_sound(self._past.weight, self._density_quantiles, self._past.X)


@register(
    columns_=Columns, _center="d", _scale="d", _means="D d", _factors="D d d",
    _density_quantiles="n",
)  # fmt: skip
class QuadraticDiscriminant(PersistentMixin, DiscriminantMixin, BaseEstimator):  # type: ignore[misc]
    r"""Gaussian classes, each with its own covariance. It has no base space.

    The log-likelihood for class k is :math:`\log N(x; m_k, W_k)`.

    Parameters
    ----------
    shrinkage, prior
        As for :class:`LinearDiscriminant`; shrinkage applies to each class.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
    covariances_ : array of shape (n_classes, n_features, n_features)
    classes_, class_counts_, prior_, n_features_in_, columns_
        As for :class:`LinearDiscriminant`.

    See Also
    --------
    deciban.LinearDiscriminant : One covariance for all classes, which needs fewer samples.
    deciban.CompositionalDiscriminantAnalysis : Classes with any shape.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> QuadraticDiscriminant().fit(X, y).evidence(X[[0, 60]]).decide()
    array([0, 1])
    """

    def __init__(self, *, shrinkage: float = 0.0, prior: Prior = "empirical") -> None:
        self.shrinkage = shrinkage
        self.prior = prior

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to features and classes, as :meth:`deciban.LinearDiscriminant.fit` takes them."""
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
        samples = read_table_samples(self, X, y, sample_weight)
        D, d = len(self.classes_), samples.X.shape[1]
        moments = class_moments(samples, D)
        largest = float(np.linalg.eigvalsh(moments.within)[-1])
        self._center, self._scale = moments.center, moments.scale
        Z = (samples.X - moments.center) / moments.scale
        self._means, self._factors = moments.means, np.empty((D, d, d))
        for k in range(D):
            rows = samples.codes == k
            away = Z[rows] - moments.means[k]
            share = samples.weight[rows] / samples.weight[rows].sum()
            S = (away.T * share) @ away
            if self.shrinkage == 0 and np.linalg.eigvalsh(S)[0] < FLOOR * largest:
                warnings.warn(
                    f"The covariance of class {self.classes_[k]} is singular: its evidence will be "
                    f"far too strong. Pass shrinkage=0.1, drop features that follow from others, "
                    f"or give more samples.",
                    stacklevel=2,
                )
            self._factors[k] = np.linalg.cholesky(shrink(S, self.shrinkage, largest))
        self._remember_densities(samples.X)
        return self

    @property
    def means_(self) -> Floats:
        """Class means, of shape (n_classes, n_features)."""
        return self._means * self._scale + self._center

    @property
    def covariances_(self) -> Floats:
        """Class covariances, of shape (n_classes, n_features, n_features)."""
        return np.stack([self._scale[:, None] * (L @ L.T) * self._scale for L in self._factors])

    def _log_densities(self, X: Floats) -> Floats:
        Z = (X - self._center) / self._scale
        log_f = np.empty((len(Z), len(self._means)))
        for k, (m, L) in enumerate(zip(self._means, self._factors, strict=True)):
            white = solve_triangular(L, (Z - m).T, lower=True)
            log_f[:, k] = -0.5 * np.sum(white**2, axis=0) - np.log(np.diag(L)).sum()
        constant = np.log(self._scale).sum() + 0.5 * Z.shape[1] * np.log(2 * np.pi)
        return log_f - constant

    def _finish_loading(self) -> None:
        others = self._means, self._factors, self._center
        check_sound(self._scale, self._density_quantiles, *others)
        if not (np.diagonal(self._factors, axis1=1, axis2=2) != 0).all():
            raise ValueError("factors that are singular")
