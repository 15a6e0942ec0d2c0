"""Metrics of evidence as scorers for scikit-learn's cross-validation and searches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from deciban._estimation import evidence_of
from deciban.metrics.multiclass import cross_entropy


def make_evidence_scorer(
    metric: Callable[..., float] = cross_entropy, *, greater_is_better: bool = False, **options: Any
) -> Callable[..., float]:
    """A scorer for ``cross_val_score``, ``GridSearchCV`` and their like from a metric of evidence.

    It takes estimators with a method ``evidence``, and pipelines whose last step has one. Their
    ``prior`` does not matter: the metric has its own. Every class must occur in each test fold.

    Parameters
    ----------
    metric : callable ``metric(y_true, evidence, **options)``, default :func:`cross_entropy`
        Such as :func:`brier`, :func:`accuracy` or, for two classes, :func:`cllr`.
    greater_is_better : bool, default False
        Whether the metric is no cost; the score of a cost is minus the cost.
    **options
        Passed on to the metric: ``prior``, ``pos_label``, ``unit``, ...

    Returns
    -------
    callable ``scorer(estimator, X, y)``

    See Also
    --------
    deciban.evidence_of : The evidence that is scored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from deciban import QuadraticDiscriminant
    >>> grid = {"shrinkage": [0.0, 0.1]}
    >>> search = GridSearchCV(QuadraticDiscriminant(), grid, scoring=make_evidence_scorer())
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'shrinkage': 0.1}
    """
    return partial(_score, metric, 1 if greater_is_better else -1, options)


def _score(
    metric: Any, sign: int, options: Any, estimator: Any, X: Any, y: Any, **weights: Any
) -> float:
    return sign * metric(y, evidence_of(estimator, X), **options, **weights)
