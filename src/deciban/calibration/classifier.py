"""Any classifier as a source of calibrated evidence."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from deciban._estimation.classifier import EvidenceClassifierMixin
from deciban._estimation.samples import read_weights, require_two_classes
from deciban.calibration.affine import fresh_calibrator
from deciban.calibration.sources import (
    GIVEN,
    fitted,
    floored,
    log_posteriors,
    require_classifier,
    takes_weights,
    warn_of_lost_weights,
    zero_floor,
)
from deciban.evidence import Evidence
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError


class CalibratedEvidenceClassifier(EvidenceClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose answers are evidence: no training prior in them, and calibrated.

    The estimator is fitted on folds; what it says of the samples that were left out, with the class
    mix of its training samples taken out by Bayes' rule, is what the calibrator learns from. Then
    the estimator is fitted once more to all samples.

    Parameters
    ----------
    estimator : classifier, "probabilities", "log_probabilities" or "logits", optional
        Any scikit-learn classifier with ``predict_log_proba``, ``predict_proba`` or
        ``decision_function``; by default logistic regression. A string says that X itself holds
        what some other model has said, one column for each class: only the calibrator is fitted.
        Logits are log-probabilities up to a constant for each row.
    calibrator : calibrator, default AffineCalibrator()
    cv : int, cross-validation generator, iterable or "prefit", default 5
        "prefit" takes the estimator as it is, fitted elsewhere: fit this on samples that it has
        not seen, and say what it was trained on with ``training_prior``. Do not leave out one
        sample at a time: the class mix of the others then tells its class.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Of ``predict`` and ``predict_proba``. It never touches the evidence.
    training_prior : "empirical", "uniform", array of shape (n_classes,) or mapping
        The prior in the estimator's posteriors; by default ("empirical") the class mix of the
        samples that it was fitted to, or, where it was fitted elsewhere, of those in ``fit``. For
        an estimator with ``class_weight="balanced"`` it is "uniform".
    response_method : {"auto", "predict_log_proba", "predict_proba", "decision_function"}
        What to ask the estimator; "auto" takes the first that it has. Where its probabilities are
        often exactly 0 or 1, its decision function may say more.
    floor : float, default 1e-16
        Posteriors below this are taken for it. A classifier that says less does so by assumption,
        not from data, and a few such samples would outweigh all others in the calibrator. Exact
        zeros become half of the smallest posterior that is none, where that is more.
    n_jobs : int, optional
        Folds fitted at once, as in joblib; by default one.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all samples.
    calibrator_ : calibrator
    classes_ : array of shape (n_classes,)
    prior_ : array of shape (n_classes,)
    training_prior_ : array of shape (n_classes,)
        What is taken out of the posteriors of ``estimator_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from deciban.metrics import cllr
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedEvidenceClassifier(GaussianNB()).fit(X[::2], y[::2])
    >>> evidence = model.evidence(X[1::2])
    >>> raw = Evidence.from_log_posteriors(
    ...     model.estimator_.predict_log_proba(X[1::2]), model.training_prior_
    ... )
    >>> cllr(y[1::2], evidence) < cllr(y[1::2], raw) / 3
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        calibrator: Any = None,
        *,
        cv: Any = 5,
        prior: Any = "uniform",
        training_prior: Any = "empirical",
        response_method: str = "auto",
        floor: float = 1e-16,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.prior = prior
        self.training_prior = training_prior
        self.response_method = response_method
        self.floor = floor
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the estimator and the calibrator.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or whatever the estimator takes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        groups : array of shape (n_samples,), optional
            For a ``cv`` that keeps groups together, such as ``GroupKFold()``.
        """
        X, y = indexable(X, self._labels(y))
        if len(y) == 0:
            raise InputError("X must hold samples; got 0 sample(s). Give some of each class.")
        weight = None if sample_weight is None else read_weights(sample_weight, len(y))
        self.classes_, truth = np.unique(y, return_inverse=True)
        require_two_classes(self.classes_)
        mass = np.bincount(truth, weights=weight)
        self.prior_ = read_prior(self.prior, self._names(), mass)
        if not self._is_given():
            require_classifier(self._estimator(), fitted=self.cv == "prefit")
            if not takes_weights(self._estimator()):
                mass = np.bincount(truth)  # what it is fitted to
        self.training_prior_ = read_prior(self.training_prior, self._names(), mass)
        if self._is_given() or (isinstance(self.cv, str) and self.cv == "prefit"):
            self.estimator_ = self.estimator
            log_p = self._log_posteriors(self.estimator_, X)
            log_prior, rows = np.log(self.training_prior_), np.arange(len(y))
        else:
            log_p, log_prior, rows = self._cross_fitted(X, y, weight, groups)
        self._floor = zero_floor(log_p, self.floor)
        evidence = Evidence(floored(log_p, self._floor) - log_prior, self._names())
        calibrator = fresh_calibrator(self.calibrator)
        kept = (np.ones(len(y)) if weight is None else weight)[rows]
        kept = kept / np.bincount(rows, minlength=len(y))[rows]  # left out twice, counted once
        self.calibrator_ = calibrator.fit(evidence, y[rows], sample_weight=kept)
        return self

    def evidence(self, X: Any) -> Evidence:
        """Calibrated evidence over the classes."""
        check_is_fitted(self)
        log_p = floored(self._log_posteriors(self.estimator_, X), self._floor)
        return self.calibrator_.evidence(
            Evidence(log_p - np.log(self.training_prior_), self._names())
        )

    def _cross_fitted(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, groups: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-posteriors of left-out samples, the log-priors in them, and which samples they are.

        The estimator is fitted to all samples beside.
        """
        estimator = self._estimator()
        warn_of_lost_weights(estimator, weight)
        weight = weight if takes_weights(estimator) else None
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(fitted)(estimator, X, y, weight, kept)
            for kept in [*(kept for kept, _ in folds), np.arange(len(y))]
        )
        self.estimator_ = models.pop()
        log_p, log_prior = [], []
        for model, (kept, held_out) in zip(models, folds, strict=True):
            log_p.append(self._log_posteriors(model, _safe_indexing(X, held_out)))
            prior = self._fold_prior(y[kept], None if weight is None else weight[kept])
            log_prior.append(np.tile(np.log(prior), (len(held_out), 1)))
        rows = np.concatenate([held_out for _, held_out in folds])
        return np.concatenate(log_p), np.concatenate(log_prior), rows

    def _log_posteriors(self, source: Any, X: Any) -> np.ndarray:
        return log_posteriors(source, X, self._names(), self.response_method)

    def _fold_prior(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        mass = np.bincount(np.searchsorted(self.classes_, y), weights=weight)
        return read_prior(self.training_prior, self._names(), mass)

    def _labels(self, y: Any) -> np.ndarray:
        if y is None:
            raise InputError(
                "This CalibratedEvidenceClassifier estimator requires y to be passed, but the "
                "target y is None."
            )
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise InputError("y must hold no NaN and no infinity; it does. Drop those samples.")
        check_classification_targets(labels)
        return labels

    def _estimator(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _is_given(self) -> bool:
        if isinstance(self.estimator, str) and self.estimator not in GIVEN:
            raise InputError(
                f"estimator must be a classifier or one of {', '.join(GIVEN)}; got "
                f"{self.estimator!r}. Choose one of these."
            )
        return isinstance(self.estimator, str)

    def _names(self) -> tuple[Hashable, ...]:
        return tuple(self.classes_.tolist())

    @property
    def n_features_in_(self) -> int:
        """Number of features that the estimator saw in ``fit``."""
        check_is_fitted(self)
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features that the estimator saw in ``fit``, where they had names."""
        check_is_fitted(self)
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, str):
            return tags
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags
