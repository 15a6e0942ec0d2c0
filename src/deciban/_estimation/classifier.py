"""What every estimator that gives evidence can do with it: posteriors, decisions, a score."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from deciban._estimation.partitions import over_partitions
from deciban._validation.arrays import Floats
from deciban._validation.labels import align_by_index, encode_labels, read_labels, read_weights
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights, read_prior


class EvidenceClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """Posteriors, decisions and a score from ``evidence`` and ``prior_``.

    Of a Dask array or frame, ``evidence`` gives log-likelihoods as the same, a column for each
    class; of these, too, nothing is computed until it is asked for.
    """

    prior: Any
    classes_: NDArray[Any]
    class_counts_: Floats

    @property
    def prior_(self) -> Floats:
        """Probabilities of the classes that ``prior`` stands for now, of shape (n_classes,)."""
        return read_prior(self.prior, self._names(), self.class_counts_)

    def _names(self) -> tuple[Hashable, ...]:
        return tuple(self.classes_.tolist())

    def evidence(self, X: Any) -> Evidence:
        """Evidence that each sample gives about the classes."""
        raise NotImplementedError

    @over_partitions
    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the posterior probabilities under ``prior_``.

        Parameters
        ----------
        X : as in ``evidence``

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        evidence = self.evidence(X)
        return evidence.log_posterior(self.prior_)

    @over_partitions
    def predict_proba(self, X: Any) -> Floats:
        """Posterior probabilities under ``prior_``.

        Parameters
        ----------
        X : as in ``evidence``

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        evidence = self.evidence(X)
        return evidence.posterior(self.prior_)

    @over_partitions
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest posterior probability under ``prior_``.

        Parameters
        ----------
        X : as in ``evidence``

        Returns
        -------
        array of shape (n_samples,)
        """
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Minus the cross-entropy of the posteriors, in nats: larger is better.

        A proper score, so that a grid search finds the best evidence. Classes count by ``prior_``;
        those that do not occur in ``y`` do not count. For accuracy see
        :func:`deciban.metrics.accuracy`.

        Parameters
        ----------
        X : as in ``evidence``
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
        log_p = self.predict_log_proba(X)
        codes = encode_labels(read_labels(y, len(log_p), "y"), self.classes_.tolist(), "y")
        weight = read_weights(sample_weight, len(log_p), for_fit=True)
        share = balance_weights(codes, weight, self.prior_)
        with np.errstate(invalid="ignore"):
            terms = share * log_p[np.arange(len(codes)), codes]
        return float(np.sum(terms[share > 0]))
