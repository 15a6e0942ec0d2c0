"""Shared parts for estimators that give evidence, and the convex fits behind them."""

from __future__ import annotations

from typing import Any

from deciban._persistence.registry import register_value
from deciban._validation.arrays import row_index
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.simplex import Basis

register_value(Basis, contrast="D k", classes=tuple | None)


def evidence_of(estimator: Any, X: Any) -> Evidence:
    """Evidence from an estimator, a pipeline that ends in one, or a search.

    scikit-learn's ``Pipeline`` and ``GridSearchCV`` do not pass on a method named ``evidence``.

    Parameters
    ----------
    estimator : estimator with a method ``evidence``, or a Pipeline or search around one
    X : array of shape (n_samples, n_features), or anything the estimator takes

    Returns
    -------
    Evidence

    See Also
    --------
    deciban.calibration.CalibratedEvidenceClassifier : Gives evidence by a scikit-learn classifier.
    deciban.metrics.make_evidence_scorer : Scores estimators by their evidence in a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from deciban import LinearDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(PCA(3), LinearDiscriminant()).fit(X, y)
    >>> evidence_of(pipeline, X[:2]).decide()
    array([0, 0])
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "steps") and not hasattr(estimator, "evidence"):
        inner = evidence_of(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
        return inner if row_index(X) is None else inner.with_index(row_index(X))
    method = getattr(estimator, "evidence", None)
    if not callable(method):
        raise InputError(
            f"estimator must have a method evidence(X); {type(estimator).__name__} has none. "
            f"Wrap it in deciban.calibration.CalibratedEvidenceClassifier."
        )
    evidence = method(X)
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"estimator.evidence(X) must return Evidence; got {type(evidence).__name__}. "
            f"Return deciban.Evidence(log_likelihoods, classes)."
        )
    return evidence
