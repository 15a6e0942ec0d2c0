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
from deciban.discriminant.base_space import BaseSpaceMixin, DiscriminantMixin, require_sound
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

    The LLR of class i against j is :math:`(m_i - m_j)^T W^{-1} (x - (m_i + m_j) / 2)`, with the
    means m of the classes and the covariance W within them.

    Parameters
    ----------
    shrinkage : float, default 0
        Shrinkage of the covariance of the standardized features, from 0 (none) to 1 (a multiple
        of the identity).
    prior : "empirical", "uniform", array of shape (n_classes,) or mapping, default "empirical"
        Prior of ``predict`` and ``predict_proba``, by default the class mix of the samples in
        ``fit``. It does not affect the evidence, and another one set after ``fit`` takes effect.
    basis : Basis, default Gram-Schmidt
        Basis of the ILRL.

    Attributes
    ----------
    reference_ : CalibratedGaussian
        The family of the evidence; needs at least n_classes - 1 features.
    covariance_, divergences_ : arrays
    classes_ : array of shape (n_classes,)
    class_counts_, prior_ : arrays of shape (n_classes,)
        Number of samples in ``fit`` (sum of their weights), and the prior in use.
    n_features_in_ : int
    columns_ : Columns
        How the columns of X become features; ``columns_.features`` names these.

    See Also
    --------
    deciban.QuadraticDiscriminant : A covariance for each class.
    deciban.CompositionalDiscriminantAnalysis : Classes of any shape.
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
            Missing values, and in frames categories, text, truth values and dates are allowed.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
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
        """Learn from another batch: the same model as of ``fit`` to all batches together.

        A batch may lack classes; there is evidence once each has had a sample, and one of them two.
        Outliers are relative to the last batch.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,)
            All classes, needed in the first call.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
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
        moments = class_moments(self._past, len(self.classes_))
        self._whitening = symmetric_whitening(moments, self.shrinkage)
        self._means = moments.means @ self._whitening.matrix.T
        self.basis_ = self._choose_basis()

    def _require_solution(self) -> None:
        if "_means" not in vars(self):
            had = dict(zip(self._names(), self.class_counts_.tolist(), strict=True))
            raise InputError(
                f"partial_fit must have had samples of every class, and two of one, before there "
                f"is evidence; it had {had}. Call it with more."
            )

    def _log_densities(self, X: Floats) -> Floats:
        self._require_solution()
        W = self._whitening(X)
        squares = np.stack([np.sum((W - m) ** 2, axis=1) for m in self._means], axis=1)
        return self._whitening.log_det - 0.5 * (squares + W.shape[1] * np.log(2 * np.pi))

    @property
    def reference_(self) -> CalibratedGaussian:  # type: ignore[override]
        """The calibrated Gaussian family of the evidence."""
        return CalibratedGaussian(self._start().covariance, self.basis_)

    def _start(self) -> Start:
        check_is_fitted(self)
        self._require_solution()
        D, d = self._means.shape
        if d < D - 1:
            raise InputError(
                f"X must have at least {D - 1} features for a base space of {D} classes; got {d}. "
                f"Use evidence alone, or drop classes."
            )
        return linear_start(self._means, self.basis_.contrast)

    def _to_base(self, X: Floats, added: Floats | None = None) -> Floats:
        start = self._start()
        return self._whitening(X) @ start.matrix.T + start.offset

    def _from_base(self, Z: Floats) -> Floats:
        start = self._start()
        if np.linalg.matrix_rank(start.matrix) < len(start.matrix):
            raise InputError(
                f"X must tell the classes apart for their evidence to be changed; their means "
                f"differ in fewer than {len(self.classes_) - 1} directions. Drop classes with the "
                f"same mean."
            )
        W = np.linalg.solve(start.matrix, (Z - start.offset).T).T
        return self._whitening.undo(np.asarray(W, dtype=np.float64))

    def _finish_loading(self) -> None:
        whitening = self._whitening
        require_sound(whitening.scale, self._density_quantiles, self._means, whitening.matrix)
        codes = self._past.codes  # fewer classes than there are, and others, would be forgotten
        if codes.dtype.kind != "i" or set(codes.tolist()) != set(range(len(self.classes_))):
            raise ValueError("samples of other classes")
        require_sound(self._past.weight, self._density_quantiles, self._past.X)


@register(
    columns_=Columns, _center="d", _scale="d", _means="D d", _factors="D d d",
    _density_quantiles="n",
)  # fmt: skip
class QuadraticDiscriminant(PersistentMixin, DiscriminantMixin, BaseEstimator):  # type: ignore[misc]
    r"""Gaussian classes, each with a covariance of its own. It has no base space.

    The log-likelihood of class k is :math:`\log N(x; m_k, W_k)`.

    Parameters
    ----------
    shrinkage : float, default 0
        Shrinkage of the covariance of each class, as for :class:`LinearDiscriminant`.
    prior : "empirical", "uniform", array of shape (n_classes,) or mapping, default "empirical"
        Prior of ``predict`` and ``predict_proba``, by default the class mix of the samples in
        ``fit``. It does not affect the evidence, and another one set after ``fit`` takes effect.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
    covariances_ : array of shape (n_classes, n_features, n_features)
    classes_ : array of shape (n_classes,)
    class_counts_, prior_ : arrays of shape (n_classes,)
        Number of samples in ``fit`` (sum of their weights), and the prior in use.
    n_features_in_ : int
    columns_ : Columns
        How the columns of X become features; ``columns_.features`` names these.

    See Also
    --------
    deciban.LinearDiscriminant : One covariance for all classes, which needs fewer samples.
    deciban.CompositionalDiscriminantAnalysis : Classes of any shape.

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
        """Fit to features and classes.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`deciban.LinearDiscriminant.fit`.

        Returns
        -------
        self
        """
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
            self._warn_of_rank(k, S, largest)
            self._factors[k] = np.linalg.cholesky(shrink(S, self.shrinkage, largest))
        self._remember_densities(samples.X)
        return self

    @property
    def means_(self) -> Floats:
        """Means of the classes, of shape (n_classes, n_features)."""
        return self._means * self._scale + self._center

    @property
    def covariances_(self) -> Floats:
        """Covariances of the classes, of shape (n_classes, n_features, n_features)."""
        return np.stack([self._scale[:, None] * (L @ L.T) * self._scale for L in self._factors])

    def _warn_of_rank(self, k: int, S: Floats, largest: float) -> None:
        if self.shrinkage == 0 and np.linalg.eigvalsh(S)[0] < FLOOR * largest:
            warnings.warn(
                f"the covariance of class {self.classes_[k]} does not have full rank: its "
                f"evidence will be far too strong. Pass shrinkage=0.1, drop features that follow "
                f"from others, or give more samples.",
                stacklevel=3,
            )

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
        require_sound(self._scale, self._density_quantiles, *others)
        if not (np.diagonal(self._factors, axis1=1, axis2=2) != 0).all():
            raise ValueError("factors that are singular")
