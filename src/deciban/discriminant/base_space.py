"""Base space (ILRL, residual): evidence, densities, samples and counterfactuals.

All follow from a map to base space, its inverse, and the calibrated family for the ILRL.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.classifier import EvidenceClassifierMixin, over_partitions
from deciban._estimation.columns import Columns
from deciban._estimation.samples import read_features
from deciban._validation.arrays import Floats, to_numpy
from deciban._validation.labels import index_of
from deciban._validation.scalars import quote, require_whole
from deciban.evidence import Evidence
from deciban.exceptions import InputError, UnreachableEvidenceWarning
from deciban.reference import CalibratedGaussian, CalibratedMixture
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_REACHED = 0.01  # nats between the evidence of features and the one requested: 1/23 deciban
_QUANTILES = 1001
_STEP, _LONGEST, _REFINEMENTS = 0.1, 10.0, 8  # in the ILRL, of the search for features


class DiscriminantMixin(EvidenceClassifierMixin):
    """Evidence and densities from a generative classifier."""

    n_features_in_: int
    columns_: Columns

    def _log_densities(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _log_likelihoods(self, X: Floats) -> Floats:
        """Log-densities up to a constant per sample."""
        return self._log_densities(X)

    def densities_at_evidence(self, features: Floats) -> Floats:
        """Log-densities whose differences are the evidence, for features that have been read."""
        evidence, densities = self._log_likelihoods(features), self._log_densities(features)
        # A flow's evidence with added dimensions is not the difference between its densities.
        with np.errstate(invalid="ignore"):
            level = logsumexp(densities, axis=1) - logsumexp(evidence, axis=1)
        return evidence + np.nan_to_num(level)[:, None]  # NaN: all densities are zero

    def log_densities(self, X: ArrayLike) -> Floats:
        """Log-density under each class, of shape (n_samples, n_classes)."""
        return self._log_densities(self._read(X))

    @over_partitions
    def evidence(self, X: ArrayLike) -> Evidence:
        """Evidence about the classes, for an array or frame of shape (n_samples, n_features).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> evidence = LinearDiscriminant().fit(X, y).evidence(X[50:51])
        >>> evidence.llr(1, 2, unit="deciban").round()
        array([40.])
        """
        return Evidence(self._log_likelihoods(self._read(X)), self._names())

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log-density under the mixture by ``prior_``, of shape (n_samples,)."""
        return self._log_mixture(self._read(X), self.prior_)

    def outlier_score(self, X: ArrayLike) -> Floats:
        """Fraction of samples in ``fit`` with a lower density, of shape (n_samples,).

        It is near zero for an outlier. If there are enough held-out samples, they count instead:
        training samples are often more likely than new ones, above all in small tables.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> LinearDiscriminant().fit(X, y).outlier_score([X[0] + 10])
        array([0.])
        """
        density = self._log_mixture(self._read(X), self._class_mix())
        return np.searchsorted(self._density_quantiles, density) / len(self._density_quantiles)

    def _class_mix(self) -> Floats:
        return self.class_counts_ / self.class_counts_.sum()

    def _log_mixture(self, X: Floats, prior: Floats) -> Floats:
        return np.asarray(logsumexp(self._log_densities(X) + np.log(prior), axis=1))

    def _remember_densities(self, X: Floats) -> None:
        quantiles = np.linspace(0, 1, _QUANTILES)
        self._density_quantiles = np.quantile(self._log_mixture(X, self._class_mix()), quantiles)

    def _read(self, X: ArrayLike) -> Floats:
        return read_features(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_sound(scale: Floats, quantiles: Floats, *others: Floats) -> None:
    """Raise ValueError if restored arrays cannot give evidence."""
    if not all(np.isfinite(array).all() for array in (scale, *others)):
        raise ValueError("numbers that are not finite")
    if not (scale > 0).all() or (np.diff(quantiles) < 0).any():
        raise ValueError("scales that are not positive, or quantiles that do not rise")


class BaseSpaceMixin(DiscriminantMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A base space (ILRL, residual), and the operations in it."""

    reference_: CalibratedGaussian | CalibratedMixture
    basis: Basis | None

    def _to_base(self, X: Floats, added: Floats | None = None) -> Floats:
        """Base space, by default with added dimensions at their center."""
        raise NotImplementedError

    def _from_base(self, Z: Floats) -> Floats:
        raise NotImplementedError

    def _features_at(self, Z: Floats) -> Floats:
        """Features with the ILRL in Z."""
        return self._from_base(Z)

    @property
    def covariance_(self) -> Floats:
        """ILRL covariance, the same for all classes."""
        if not isinstance(self.reference_, CalibratedGaussian):
            raise AttributeError("covariance_ needs base='gaussian'; see reference_.families.")
        return self.reference_.covariance

    @property
    def divergences_(self) -> Floats:
        """Kullback-Leibler divergences between the classes' ILRLs, in nats."""
        return self.reference_.divergences

    def transform(self, X: ArrayLike) -> Floats:
        """Base space, (n_samples, n_dimensions): the ILRL in n_classes - 1 columns, the residual.

        Added dimensions are at their center here, so the residual columns may depend on the class;
        those from :meth:`residual` do not.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = LinearDiscriminant().fit(X, y)
        >>> bool(np.allclose(lda.transform(X)[:, :2], lda.evidence(X).ilr()))
        True
        >>> bool(np.allclose(lda.inverse_transform(lda.transform(X)), X))
        True
        """
        return self._to_base(self._read(X))

    def residual(self, X: ArrayLike, random_state: int | RandomState | None = None) -> Floats:
        """The residual, (n_samples, n_dimensions - n_classes + 1): standard normal in every class.

        ``random_state`` seeds the values in added dimensions.
        """
        rows = self._read(X)
        shape = len(rows), self._n_base() - rows.shape[1]
        added = _generator(random_state).standard_normal(shape)
        return self._to_base(rows, added)[:, len(self.classes_) - 1 :]

    def inverse_transform(self, Z: ArrayLike) -> Floats:
        """Features at points in base space, as from :meth:`transform`; a frame gives a frame."""
        check_is_fitted(self)
        points = to_numpy(Z, "Z")
        if points.ndim != 2 or points.shape[1] != self._n_base():
            raise InputError(
                f"Z must have {self._n_base()} columns, the ILRL and the residual; got shape "
                f"{points.shape}. Pass the result of transform."
            )
        if not np.isfinite(points).all():
            raise InputError("Z must be finite; it holds NaN or infinity. Drop these rows.")
        return self.columns_.decode(self._from_base(points), Z)

    def sample(
        self,
        n: int = 1,
        label: Hashable | None = None,
        random_state: int | RandomState | None = None,
    ) -> tuple[Floats, NDArray[Any]]:
        """Draw samples and their classes, from one class or mixed by ``prior_``.

        Parameters
        ----------
        n : int, default 1
        label : class, optional
        random_state : int, RandomState instance or None

        Returns
        -------
        X : array of shape (n, n_features), or a frame if ``fit`` had one with non-numeric columns
        y : array of shape (n,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> lda = LinearDiscriminant().fit(*load_iris(return_X_y=True))
        >>> X, y = lda.sample(3, label=2, random_state=0)
        >>> X.shape, y
        ((3, 4), array([2, 2, 2]))
        """
        check_is_fitted(self)
        n = require_whole(n, "n")
        rng = _generator(random_state)
        if label is None:
            truth = rng.choice(len(self.classes_), size=n, p=self.prior_)
        else:
            truth = np.full(n, index_of(label, self._names()))
        noise = rng.standard_normal((n, self._n_base()))
        k = len(self.classes_) - 1
        l = self.reference_.place(truth, noise[:, :k], rng)
        features = self._from_base(np.hstack([l, noise[:, k:]]))
        return self.columns_.decode(features), self.classes_[truth]

    def interpolate(self, a: Hashable, b: Hashable, alphas: ArrayLike) -> Floats:
        """Features between the centers of class b (alpha 0) and class a (alpha 1).

        Their residual is zero. The LLR for a against b is (2 alpha - 1) times the divergence.

        Parameters
        ----------
        a, b : classes
        alphas : array of shape (n,)

        Returns
        -------
        array of shape (n, n_features)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> lda = LinearDiscriminant().fit(*load_iris(return_X_y=True))
        >>> path = lda.interpolate(2, 1, [0.0, 0.5, 1.0])
        >>> (lda.evidence(path).llr(2, 1) / lda.divergences_[2, 1]).round(6) + 0.0
        array([-1.,  0.,  1.])
        """
        check_is_fitted(self)
        start, end = (self.reference_.means[index_of(c, self._names())] for c in (b, a))
        alpha = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        if alpha.ndim != 1 or not np.isfinite(alpha).all():
            raise InputError(
                f"alphas must be a list of finite numbers; got {quote(alphas)}. Try [0, 0.5, 1]."
            )
        alpha = alpha[:, None]
        l = (1 - alpha) * start + alpha * end
        residual = np.zeros((len(l), self._n_base() - l.shape[1]))
        return self._features_with(np.hstack([l, residual]))

    def neutralize(self, X: ArrayLike) -> Floats:
        """Hide the class: the same samples with ILRL zero and their residual.

        The class is hidden from this model; another one may still find it, and features may leave
        their usual range. Only p - D + 1 dimensions remain, little for few features and many
        classes. With added dimensions, the result is the nearest features without evidence, and
        the residual is kept as far as possible. If there are none, as between three nested rings,
        the result has the least evidence, and an
        :class:`~deciban.exceptions.UnreachableEvidenceWarning` lists rows with more than 0.01 nat
        left.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = LinearDiscriminant().fit(X, y)
        >>> bool(lda.evidence(lda.neutralize(X)).strength().max() < 1e-6)
        True
        """
        check_is_fitted(self)
        return self._replace_ilr(X, np.zeros(len(self._names()) - 1))

    def convert(self, X: ArrayLike, to: Hashable) -> Floats:
        """Counterfactuals: the same samples with the ILRL at another class's center.

        The residual is kept. Rows that cannot carry this evidence within 0.01 nat cause an
        :class:`~deciban.exceptions.UnreachableEvidenceWarning`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from deciban import LinearDiscriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> lda = LinearDiscriminant().fit(X, y)
        >>> lda.predict(lda.convert(X[:3], to=1))
        array([1, 1, 1])
        """
        check_is_fitted(self)
        return self._replace_ilr(X, self.reference_.means[index_of(to, self._names())])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Column names for :meth:`transform`; ``input_features`` is ignored."""
        check_is_fitted(self)
        k = len(self.classes_) - 1
        names = [f"ilrl{i + 1}" for i in range(k)]
        names += [f"residual{i + 1}" for i in range(self._n_base() - k)]
        return np.array(names, dtype=object)

    def _choose_basis(self) -> Basis:
        names = self._names()
        return basis_for(self.basis, len(names)).align_to(names)

    def _n_base(self) -> int:
        return self.columns_.n_features

    def _replace_ilr(self, X: ArrayLike, l: Floats) -> Floats:
        Z = self._to_base(self._read(X))
        Z[:, : len(l)] = l
        return self._features_with(Z, X)

    def _features_with(self, Z: Floats, like: Any = None) -> Any:
        """Features with the ILRL in Z, and a warning about rows that miss it."""
        X = self._features_at(Z)
        left = np.full(len(X), np.inf)
        finite = np.isfinite(X).all(axis=1)
        k = len(self.classes_) - 1
        X[finite] = self._settle(X[finite], Z[finite])
        missing = (self._to_base(X[finite]) - Z[finite])[:, :k]
        left[finite] = np.ptp(missing @ self._choose_basis().contrast.T, axis=1)
        rows = np.flatnonzero(left > _REACHED)
        if len(rows):
            worst = rows[np.argmax(left[rows])]
            warnings.warn(
                UnreachableEvidenceWarning(
                    f"{len(rows)} of {len(X)} rows cannot carry the requested evidence: they miss "
                    f"it by up to {left[worst]:.3g} nat (row {worst}). Drop them: the attribute "
                    f"rows of this warning lists them.",
                    rows=rows,
                    left=left[rows],
                ),
                stacklevel=4,
            )
        return self.columns_.decode(X, like)

    def _settle(self, X: Floats, Z: Floats) -> Floats:
        """Features that a table can hold, with the ILRL in Z.

        Rounded categories change the ILRL; numbers make up for it. They come from the inverse at
        another ILRL, which Newton's method finds.
        """
        nearest, free = self.columns_.snap(X)
        if free.all():
            return X
        k = len(self.classes_) - 1

        def features_at(u: Floats) -> tuple[Floats, Floats]:
            features = np.where(free, self._from_base(np.hstack([u, Z[:, k:]])), nearest)
            return features, self._to_base(features)[:, :k] - Z[:, :k]

        u, X = Z[:, :k], nearest
        gap = self._to_base(X)[:, :k] - u
        for _ in range(_REFINEMENTS):
            new_X, now = features_at(u)
            rows = np.sum(now**2, axis=1) < np.sum(gap**2, axis=1)
            X[rows], gap[rows] = new_X[rows], now[rows]
            J = np.stack([features_at(u + e)[1] - now for e in _STEP * np.eye(k)], axis=2) / _STEP
            J_t = np.swapaxes(J, 1, 2)
            step = np.linalg.solve(J_t @ J + 1e-8 * np.eye(k), J_t @ now[:, :, None])[:, :, 0]
            length = np.linalg.norm(step, axis=1, keepdims=True)
            u = u - step * np.minimum(1, _LONGEST / np.maximum(length, _LONGEST))
        return X


def _generator(random_state: int | RandomState | None) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
