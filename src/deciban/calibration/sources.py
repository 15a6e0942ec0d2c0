"""What a classifier, or a table of what one has said, says of the classes: log-posteriors."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from deciban._validation import is_number, quote_each, to_numpy
from deciban.calibration.scores import ordered_by_class
from deciban.evidence.bayes import require_probabilities
from deciban.exceptions import InputError

_METHODS = ("predict_log_proba", "predict_proba", "decision_function")
GIVEN = ("probabilities", "log_probabilities", "logits")


def log_posteriors(
    source: Any, X: Any, classes: tuple[Hashable, ...], response_method: str = "auto"
) -> np.ndarray:
    """Natural logarithms of posteriors, up to a constant for each row; -inf where one is zero."""
    if isinstance(source, str):
        return _from_table(source, X, classes)
    said = tuple(np.asarray(source.classes_).tolist())
    if said != classes:
        raise InputError(
            f"the estimator must know the classes of y, {quote_each(classes)}; it knows "
            f"{quote_each(said)}. Give every class more samples than there are folds, and a fitted "
            f"estimator the classes that it was fitted to."
        )
    method = _method(source, response_method)
    with np.errstate(divide="ignore"):
        said_of_X = np.asarray(getattr(source, method)(X), dtype=np.float64)
        if method == "predict_proba":
            return np.log(said_of_X)
    last = source.steps[-1][1] if isinstance(source, Pipeline) else source
    pairs = getattr(last, "decision_function_shape", None) == "ovo" and len(classes) > 2
    if said_of_X.shape[1:] not in ((), (len(classes),)) or (method[0] == "d" and pairs):
        raise InputError(
            f"{method} must give one column for each of {len(classes)} classes; "
            f"{type(last).__name__} does not. Pass decision_function_shape='ovr', if it has that."
        )
    if said_of_X.ndim == 1:  # a decision function of two classes: their log-odds
        return np.column_stack([np.zeros_like(said_of_X), said_of_X])
    return said_of_X


def _method(source: Any, response_method: str) -> str:
    """Which method to ask."""
    if response_method not in ("auto", *_METHODS):
        raise InputError(
            f"response_method must be auto, {', '.join(_METHODS)}; got {response_method!r}. "
            f"Choose one of these."
        )
    wanted = _METHODS if response_method == "auto" else (response_method,)
    there = [method for method in wanted if hasattr(source, method)]
    if not there:
        raise InputError(
            f"estimator must have {' or '.join(wanted)}; {type(source).__name__} has not. "
            f"Choose another classifier."
        )
    return there[0]


def _from_table(kind: str, X: Any, classes: tuple[Hashable, ...]) -> np.ndarray:
    table = to_numpy(ordered_by_class(X, classes), "X")
    if table.ndim != 2 or table.shape[1] != len(classes):
        raise InputError(
            f"X must hold {kind} of {len(classes)} classes, one column each; got shape "
            f"{table.shape}. For two classes "
            + (
                "np.column_stack([1 - p, p])."
                if kind == "probabilities"
                else "[0, x] for log-odds."
            )
        )
    if np.isnan(table).any() or (table == np.inf).any():
        raise InputError("X must hold no NaN and no +inf; it does. Drop those samples first.")
    if kind != "probabilities":
        return table
    require_probabilities(table, "X")
    with np.errstate(divide="ignore"):
        return np.log(table)


def zero_floor(log_p: np.ndarray, floor: float) -> float:
    """What stands for less: half of the smallest posterior that is not zero, or the floor, as log.

    Classifiers that count votes say zero where they mean «none of a hundred trees».
    """
    if not is_number(floor) or not 0 < floor < 1:
        raise InputError(f"floor must lie between 0 and 1; got {floor!r}. Give 1e-16.")
    below = log_p - log_p.max(axis=1, keepdims=True)
    smallest = float(below[np.isfinite(below)].min()) - float(np.log(2))
    return max(smallest, float(np.log(floor)))


def floored(log_p: np.ndarray, floor: float) -> np.ndarray:
    """Log-posteriors, from the best down to the floor."""
    return np.maximum(log_p - log_p.max(axis=1, keepdims=True), floor)


def fitted(estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray | None, rows: Any) -> Any:
    """A clone of the estimator, fitted to some of the samples."""
    model = clone(estimator)
    name = weight_parameter(model)
    options = {} if weight is None or name is None else {name: weight[rows]}
    return model.fit(_safe_indexing(X, rows), y[rows], **options)


def weight_parameter(estimator: Any) -> str | None:
    """What ``fit`` calls sample weights; of a pipeline, its last step's."""
    if isinstance(estimator, Pipeline):
        last, step = estimator.steps[-1]
        inner = weight_parameter(step)
        return None if inner is None else f"{last}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` takes sample weights."""
    return weight_parameter(estimator) is not None


def require_classifier(estimator: Any, fitted: bool) -> None:
    """Refuse what is not a classifier, or not a fitted one where it has to be."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InputError(
            f"estimator must be a scikit-learn classifier; got {estimator!r}. Choose one, or say "
            f"what X holds: {', '.join(GIVEN)}."
        )
    if fitted:
        check_is_fitted(estimator)


def warn_of_lost_weights(estimator: Any, weight: np.ndarray | None) -> None:
    """Say that an estimator takes no weights."""
    if weight is not None and not takes_weights(estimator):
        warnings.warn(
            f"sample_weight should reach the estimator; {type(estimator).__name__}.fit does not "
            f"take it. Only the calibrator uses it; choose an estimator that takes weights.",
            stacklevel=3,
        )
