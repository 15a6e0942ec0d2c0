"""Where posteriors come from: a classifier, or a table of another model's output."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from deciban._validation.arrays import Floats, to_numpy
from deciban._validation.scalars import quote, quote_each, require_fraction, require_one_of
from deciban.calibration.scores import order_by_class
from deciban.evidence.bayes import require_probabilities
from deciban.exceptions import InputError

_METHODS = ("predict_log_proba", "predict_proba", "decision_function")
TABLES = ("probabilities", "log_probabilities", "logits")


def log_posteriors(
    source: Any, X: Any, classes: tuple[Hashable, ...], response_method: str = "auto"
) -> Floats:
    """Natural logarithms of posteriors, up to a constant for each row; -inf where one is zero."""
    if isinstance(source, str):
        return _from_table(source, X, classes)
    known = tuple(np.asarray(source.classes_).tolist())
    if known != classes:
        raise InputError(
            f"the estimator must know the classes of y, {quote_each(classes)}; it knows "
            f"{quote_each(known)}. Give every class more samples than there are folds, and a "
            f"fitted estimator the classes that it was fitted to."
        )
    method = _choose_method(source, response_method)
    with np.errstate(divide="ignore"):  # classifiers take logarithms of zero, too
        response = np.asarray(getattr(source, method)(X), dtype=np.float64)
        if method == "predict_proba":
            return np.log(response)
    steps = getattr(source, "steps", None)  # of a pipeline
    last = steps[-1][1] if steps else source
    pairs = getattr(last, "decision_function_shape", None) == "ovo" and len(classes) > 2
    if response.shape[1:] not in ((), (len(classes),)) or (method == _METHODS[-1] and pairs):
        raise InputError(
            f"{method} must give one column for each of {len(classes)} classes; "
            f"{type(last).__name__} does not. Pass decision_function_shape='ovr', if it has that."
        )
    if response.ndim == 1:  # a decision function of two classes: their log-odds
        return np.column_stack([np.zeros_like(response), response])
    return response


def _choose_method(source: Any, response_method: str) -> str:
    require_one_of(response_method, "response_method", ("auto", *_METHODS))
    wanted = _METHODS if response_method == "auto" else (response_method,)
    for method in wanted:
        if hasattr(source, method):
            return method
    raise InputError(
        f"estimator must have {' or '.join(wanted)}; {type(source).__name__} does not. "
        f"Choose another classifier."
    )


def _from_table(kind: str, X: Any, classes: tuple[Hashable, ...]) -> Floats:
    table = to_numpy(order_by_class(X, classes), "X")
    if table.ndim != 2 or table.shape[1] != len(classes):
        both = "np.column_stack([1 - p, p])" if kind == "probabilities" else "[0, x] for log-odds"
        raise InputError(
            f"X must hold {kind} of {len(classes)} classes, one column each; got shape "
            f"{table.shape}. For two classes give {both}."
        )
    if np.isnan(table).any() or (table == np.inf).any():
        raise InputError("X must not hold NaN or +inf; it does. Drop those samples first.")
    if kind != "probabilities":
        return table
    require_probabilities(table, "X")
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_floor(log_p: Floats, floor: float) -> float:
    """Logarithm below which posteriors are cut off, relative to the best of their row.

    Half of the smallest posterior above zero, or ``floor`` where that is larger: classifiers that
    count votes say zero where they mean "none of a hundred trees".
    """
    require_fraction(floor, "floor", remedy="Give 1e-16.")
    below = log_p - log_p.max(axis=1, keepdims=True)
    smallest = float(below[np.isfinite(below)].min()) - float(np.log(2))
    return max(smallest, float(np.log(floor)))


def apply_floor(log_p: Floats, floor: float) -> Floats:
    """Log-posteriors relative to the best of their row, cut off at the floor."""
    return np.maximum(log_p - log_p.max(axis=1, keepdims=True), floor)


def fit_clone(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None, rows: Any) -> Any:
    """Fit a clone of the estimator to some of the samples."""
    model = clone(estimator)
    name = weight_parameter(model)
    options = {} if weight is None or name is None else {name: weight[rows]}
    return model.fit(_safe_indexing(X, rows), y[rows], **options)


def weight_parameter(estimator: Any) -> str | None:
    """Name under which ``fit`` takes sample weights; for a pipeline, in its last step."""
    if getattr(estimator, "steps", None):
        last, step = estimator.steps[-1]
        inner = weight_parameter(step)
        return None if inner is None else f"{last}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def require_classifier(estimator: Any, fitted: bool) -> None:
    """Raise unless the estimator is a classifier, and a fitted one where it has to be."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InputError(
            f"estimator must be a scikit-learn classifier; got {quote(estimator)}. Choose one, or "
            f"say what X holds: {', '.join(TABLES)}."
        )
    if fitted:
        check_is_fitted(estimator)
