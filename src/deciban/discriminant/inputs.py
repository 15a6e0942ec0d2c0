"""What a discriminant analysis takes: features, classes, weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from deciban.calibration.base import require_two_classes, weights_of
from deciban.evidence.priors import chosen_prior
from deciban.exceptions import InputError


class Labelled(NamedTuple):
    """Features, the place of each sample's class among the classes, and weights."""

    X: np.ndarray
    truth: np.ndarray
    weight: np.ndarray


def read_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any = None
) -> Labelled:
    """Checked samples; sets ``classes_`` and ``prior_`` of the estimator, if all is well."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=2)
    X, y, weight = _counted(X, y, sample_weight)
    classes, truth = np.unique(y, return_inverse=True)
    require_two_classes(classes)
    names = tuple(classes.tolist())
    prior = chosen_prior(estimator.prior, names, np.bincount(truth, weights=weight))
    weight = weight * _class_weights(class_weight, y)
    estimator.classes_, estimator.prior_ = classes, prior
    return Labelled(X, truth, weight)


def read_more(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any = None
) -> Labelled:
    """Checked samples of a fitted estimator's classes, not of all of them perhaps."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, reset=False)
    X, y, weight = _counted(X, y, sample_weight)
    known = estimator.classes_
    if not np.isin(y, known).all():
        raise InputError(
            f"y must hold the classes {known.tolist()} only; got {np.unique(y).tolist()}. Fit anew."
        )
    return Labelled(X, np.searchsorted(known, y), weight * _class_weights(class_weight, y))


def _counted(X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    check_classification_targets(y)
    weight = weights_of(sample_weight, len(y))
    return X[weight > 0], y[weight > 0], weight[weight > 0]


def _class_weights(class_weight: Any, y: np.ndarray) -> np.ndarray:
    if class_weight is None:
        return np.ones(len(y))
    weight = compute_sample_weight(class_weight, y)
    if not np.all((weight > 0) & np.isfinite(weight)):
        raise InputError(
            f"class_weight must be positive numbers; got {class_weight!r}. Leave a class's samples "
            f"out to ignore it."
        )
    return np.asarray(weight)
