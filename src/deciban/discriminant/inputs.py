"""What a discriminant analysis takes: features, classes, weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from deciban.calibration.base import require_two_classes, weights_of
from deciban.evidence.priors import chosen_prior


class Labelled(NamedTuple):
    """Features, the place of each sample's class among the classes, and weights."""

    X: np.ndarray
    truth: np.ndarray
    weight: np.ndarray


def read_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any = None
) -> Labelled:
    """Checked samples; sets ``classes_`` and ``prior_`` of the estimator."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=2)
    check_classification_targets(y)
    weight = weights_of(sample_weight, len(y))
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    estimator.classes_, truth = np.unique(y, return_inverse=True)
    require_two_classes(estimator.classes_)
    names = tuple(estimator.classes_.tolist())
    estimator.prior_ = chosen_prior(estimator.prior, names, np.bincount(truth, weights=weight))
    if class_weight is not None:
        weight = weight * compute_sample_weight(class_weight, y)
    return Labelled(X, truth, weight)
