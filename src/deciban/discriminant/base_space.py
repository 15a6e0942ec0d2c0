"""Base space (ILRL, residual): the evidence, densities, samples and changes that it gives.

Everything here follows from a map to it, its inverse, and the calibrated Gaussian family of the
ILRL.
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

REACHED = 0.01  # nats that features may be away from the evidence asked for: 1/23 of a deciban
_QUANTILES = 1001
_STEP, _LONGEST, _REFINEMENTS = 0.1, 10.0, 8  # in the ILRL, of the search for features


class DiscriminantMixin(EvidenceClassifierMixin):
    """Classes, evidence and densities of a generative classifier."""

    n_features_in_: int
    columns_: Columns

    def _log_densities(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _log_likelihoods(self, X: Floats) -> Floats:
        """What the evidence is made of: log-densities, but for a constant of each sample."""
        return self._log_densities(X)

    def log_densities(self, X: ArrayLike) -> Floats:
        """Log-density of each sample under each class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._log_densities(self._read(X))

    @over_partitions
    def evidence(self, X: ArrayLike) -> Evidence:
        """Evidence that each sample gives about the classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        Evidence

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
        """Log-density of each sample under the classes mixed by ``prior_``.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._log_mixture(self._read(X), self.prior_)

    def outlier_score(self, X: ArrayLike) -> Floats:
        """Share of the samples of ``fit`` that are less likely: near zero for an outlier.

        Held-out samples are counted where there are enough: training samples are often more likely
        than new ones, most of all in small tables.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)

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


def require_sound(scale: Floats, quantiles: Floats, *others: Floats) -> None:
    """Raise ValueError where no evidence can come of restored arrays."""
    if not all(np.isfinite(array).all() for array in (scale, *others)):
        raise ValueError("numbers that are not finite")
    if not (scale > 0).all() or (np.diff(quantiles) < 0).any():
        raise ValueError("scales that are not positive, or quantiles that do not rise")


class BaseSpaceMixin(DiscriminantMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A base space (ILRL, residual) and what can be done there."""

    reference_: CalibratedGaussian | CalibratedMixture
    basis: Basis | None

    def _to_base(self, X: Floats, added: Floats | None = None) -> Floats:
        """Base space; added dimensions are at their center unless they are given."""
        raise NotImplementedError

    def _from_base(self, Z: Floats) -> Floats:
        raise NotImplementedError

    def _features_at(self, Z: Floats) -> Floats:
        """Features whose evidence is the ILRL of points in base space."""
        return self._from_base(Z)

    @property
    def covariance_(self) -> Floats:
        """Covariance of the ILRL, the same under every class."""
        if not isinstance(self.reference_, CalibratedGaussian):
            raise AttributeError("covariance_ needs base='gaussian'; see reference_.families.")
        return self.reference_.covariance

    @property
    def divergences_(self) -> Floats:
        """Kullback-Leibler divergences between the ILRLs of the classes, in nats."""
        return self.reference_.divergences

    def transform(self, X: ArrayLike) -> Floats:
        """Base space: the ILRL in the first n_classes - 1 columns, then the residual.

        Where dimensions were added to the features, they are at their center here, and the other
        columns are not independent of the class; those of :meth:`residual` are.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_dimensions)

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
        """What is left of each sample without its evidence: standard normal whatever the class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        random_state : int, RandomState instance or None
            Seed of the values drawn for added dimensions, if there are any.

        Returns
        -------
        array of shape (n_samples, n_dimensions - n_classes + 1)
        """
        rows = self._read(X)
        added = _generator(random_state).standard_normal(
            (len(rows), self._n_base() - rows.shape[1])
        )
        return self._to_base(rows, added)[:, len(self.classes_) - 1 :]

    def inverse_transform(self, Z: ArrayLike) -> Floats:
        """Features of points in base space; for a frame a frame.

        Parameters
        ----------
        Z : array of shape (n_samples, n_dimensions)

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        points = to_numpy(Z, "Z")
        if points.ndim != 2 or points.shape[1] != self._n_base():
            raise InputError(
                f"Z must have {self._n_base()} columns, the ILRL and the residual; got shape "
                f"{points.shape}. Give what transform gives."
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
        """Draw samples and their classes, of one class or mixed by ``prior_``.

        Parameters
        ----------
        n : int, default 1
        label : class, optional
        random_state : int, RandomState instance or None

        Returns
        -------
        tuple of array of shape (n, n_features) and array of shape (n,)
            A frame in the place of the former where ``fit`` had one with other than numbers.

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
        l = self.reference_._place(truth, noise[:, :k], rng)
        features = self._from_base(np.hstack([l, noise[:, k:]]))
        return self.columns_.decode(features), self.classes_[truth]

    def interpolate(self, a: Hashable, b: Hashable, alphas: ArrayLike) -> Floats:
        """Features between the center of class b (alpha 0) and that of class a (alpha 1).

        Their residual is zero. The LLR of a against b is (2 alpha - 1) times their divergence.

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
                f"alphas must be finite numbers in one list; got {quote(alphas)}. Give for example "
                f"[0, 0.5, 1]."
            )
        alpha = alpha[:, None]
        l = (1 - alpha) * start + alpha * end
        residual = np.zeros((len(l), self._n_base() - l.shape[1]))
        return self._features_with(np.hstack([l, residual]))

    def neutralize(self, X: ArrayLike) -> Floats:
        """The same samples without evidence: ILRL zero, residual kept. The class is hidden.

        It is hidden from this model: another one may still find it, and features may leave their
        usual range. Of p dimensions p - D + 1 are left, so that few features and many classes
        leave little. Where dimensions were added to the features, these are the nearest features
        whose evidence is zero, and the residual is kept as far as features can. Where none are
        found, as between three nested rings, they are those with the least evidence, and an
        :class:`~deciban.exceptions.UnreachableEvidenceWarning` lists the rows with more than 0.01
        nat left. A frame gives a frame.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)

        Returns
        -------
        array or frame of shape (n_samples, n_features)

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
        """The same samples as of another class: its center for the ILRL, residual kept.

        Rows whose features cannot be given this evidence, within 0.01 nat, cause an
        :class:`~deciban.exceptions.UnreachableEvidenceWarning`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        to : class

        Returns
        -------
        array or frame of shape (n_samples, n_features)

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
        """Names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : ignored
            As in scikit-learn's transformers.

        Returns
        -------
        array of str of shape (n_dimensions,)
        """
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
        """Features with the ILRL of points in base space, and a warning where they miss it."""
        X = self._features_at(Z)
        left = np.full(len(X), np.inf)
        finite = np.isfinite(X).all(axis=1)
        k = len(self.classes_) - 1
        X[finite] = self._settle(X[finite], Z[finite])
        missing = (self._to_base(X[finite]) - Z[finite])[:, :k]
        left[finite] = np.ptp(missing @ self._choose_basis().contrast.T, axis=1)
        rows = np.flatnonzero(left > REACHED)
        if len(rows):
            worst = rows[np.argmax(left[rows])]
            warnings.warn(
                UnreachableEvidenceWarning(
                    f"features must be able to carry the evidence that is asked for; {len(rows)} "
                    f"of {len(X)} rows miss it, by up to {left[worst]:.3g} nat (row {worst}). Drop "
                    f"them: the attribute rows of this warning lists them.",
                    rows=rows,
                    left=left[rows],
                ),
                stacklevel=4,
            )
        return self.columns_.decode(X, like)

    def _settle(self, X: Floats, Z: Floats) -> Floats:
        """Features that a table can hold, their numbers such that the ILRL is that of Z.

        What is lost where categories are rounded is made up for by numbers: they are taken from
        the inverse at another ILRL, which Newton's method finds.
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
