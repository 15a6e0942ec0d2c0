"""What a discriminant analysis with a base space gives: evidence, densities, samples, changes.

The base space is (ILRL, residual). Everything here follows from a map to it, its inverse, and the
calibrated Gaussian family of the ILRL.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from deciban._estimation.classifier import EvidenceClassifierMixin
from deciban._validation import index_of
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis
from deciban.simplex.basis import align_basis

_QUANTILES = 1001


class DiscriminantMixin(EvidenceClassifierMixin):
    """Classes, evidence and densities of a generative classifier."""

    n_features_in_: int

    def _log_densities(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def log_densities(self, X: Any) -> np.ndarray:
        """Log-density of each sample under each class, (n_samples, n_classes)."""
        return self._log_densities(self._read(X))

    def evidence(self, X: Any) -> Evidence:
        """The evidence that each sample holds about the classes."""
        return Evidence(self.log_densities(X), self._names())

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-density of each sample under the classes mixed by ``prior_``."""
        return self._density(self._read(X))

    def _density(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(logsumexp(self._log_densities(X) + np.log(self.prior_), axis=1))

    def outlier_score(self, X: Any) -> np.ndarray:
        """Share of the samples of ``fit`` that are less likely: near zero for an outlier.

        Of those that were set aside, where there are enough; samples that were learnt from are
        often more likely than new ones, most of all in small tables.
        """
        density = self.score_samples(X)
        return np.searchsorted(self._density_quantiles, density) / len(self._density_quantiles)

    def _remember_densities(self, X: np.ndarray) -> None:
        density = self._density(X)
        self._density_quantiles = np.quantile(density, np.linspace(0, 1, _QUANTILES))

    def _names(self) -> tuple[Hashable, ...]:
        return tuple(self.classes_.tolist())

    def _read(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))


class BaseSpaceMixin(DiscriminantMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A base space (ILRL, residual) and what can be done there."""

    reference_: CalibratedGaussian
    basis: Basis | None

    def _to_base(self, X: np.ndarray, added: np.ndarray | None = None) -> np.ndarray:
        """Base space, with the dimensions that were added to the features at their centre."""
        raise NotImplementedError

    def _from_base(self, Z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _features_at(self, Z: np.ndarray) -> np.ndarray:
        """Features whose evidence is the ILRL of points in base space."""
        return self._from_base(Z)

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of the ILRL, the same under every class."""
        return self.reference_.covariance

    @property
    def divergences_(self) -> np.ndarray:
        """Kullback-Leibler divergences between the ILRLs of the classes, in nats."""
        return self.reference_.divergences

    def transform(self, X: Any) -> np.ndarray:
        """Base space: the ILRL in the first n_classes - 1 columns, then the residual.

        Where dimensions were added to the features, they are at their centre here. The other
        columns are then a function of the features that says something of the class; what says
        nothing is :meth:`residual`.
        """
        X = self._read(X)
        return self._to_base(X)

    def residual(self, X: Any, random_state: Any = None) -> np.ndarray:
        """What is left of each sample without its evidence: standard normal whatever the class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        random_state : int, RandomState instance or None
            Of the dimensions that were added to the features, if any: they are drawn.
        """
        X = self._read(X)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        added = rng.standard_normal((len(X), self._n_base() - X.shape[1]))
        return self._to_base(X, added)[:, len(self.classes_) - 1 :]

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Features of points in base space."""
        check_is_fitted(self)
        Z = np.asarray(Z, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._n_base():
            raise InputError(
                f"Z must have {self._n_base()} columns, the ILRL and the residual; got shape "
                f"{Z.shape}. Give what transform gives."
            )
        if not np.isfinite(Z).all():
            raise InputError("Z must be finite; it holds NaN or infinity. Drop these rows.")
        return self._from_base(Z)

    def sample(
        self, n: int = 1, label: Hashable | None = None, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples and their classes, of one class or mixed by ``prior_``.

        Parameters
        ----------
        n : int, default 1
        label : class, optional
        random_state : int, RandomState instance or None

        Returns
        -------
        tuple of array of shape (n, n_features) and array of shape (n,)
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n must be a whole number, 0 or more; got {n!r}. Give one.")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if label is None:
            truth = rng.choice(len(self.classes_), size=n, p=self.prior_)
        else:
            truth = np.full(n, index_of(label, self._names()))
        noise = rng.standard_normal((n, self._n_base()))
        k = len(self.classes_) - 1
        l = self.reference_.means[truth] + noise[:, :k] @ self.reference_.cholesky.T
        return self._from_base(np.hstack([l, noise[:, k:]])), self.classes_[truth]

    def interpolate(self, a: Hashable, b: Hashable, alphas: Any) -> np.ndarray:
        """Features on the way from the centre of class b (alpha 0) to that of class a (alpha 1).

        The residual is zero. The LLR of a against b is (2 alpha - 1) times their divergence.
        """
        check_is_fitted(self)
        start, end = (self.reference_.means[index_of(c, self._names())] for c in (b, a))
        alpha = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        if alpha.ndim != 1 or not np.isfinite(alpha).all():
            raise InputError(
                f"alphas must be finite numbers in one list; got {alphas!r}. Give for example "
                f"[0, 0.5, 1]."
            )
        alpha = alpha[:, None]
        return self._features_at(self._with_residual((1 - alpha) * start + alpha * end))

    def neutralize(self, X: Any) -> np.ndarray:
        """The same samples without evidence: ILRL zero, residual kept. The class is hidden.

        Where dimensions were added to the features, the features nearest to these whose evidence is
        zero; the residual is then kept as far as features can. It is hidden from this model:
        another one may still find it, and features may leave their usual range.
        """
        check_is_fitted(self)
        return self._with_ilr(X, np.zeros(len(self._names()) - 1))

    def convert(self, X: Any, to: Hashable) -> np.ndarray:
        """The same samples as of another class: its centre for the ILRL, residual kept."""
        check_is_fitted(self)
        return self._with_ilr(X, self.reference_.means[index_of(to, self._names())])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        k = len(self.classes_) - 1
        names = [f"ilrl{i + 1}" for i in range(k)]
        names += [f"residual{i + 1}" for i in range(self._n_base() - k)]
        return np.array(names, dtype=object)

    def _chosen_basis(self) -> Basis:
        names = self._names()
        return align_basis(self.basis, names) or Basis.gram_schmidt(len(names), names)

    def _n_base(self) -> int:
        return self.n_features_in_

    def _with_residual(self, l: np.ndarray) -> np.ndarray:
        return np.hstack([l, np.zeros((len(l), self._n_base() - l.shape[1]))])

    def _with_ilr(self, X: Any, l: np.ndarray) -> np.ndarray:
        Z = self._to_base(self._read(X))
        Z[:, : len(l)] = l
        return self._features_at(Z)
