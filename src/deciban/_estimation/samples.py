"""The samples an estimator learns from: features or scores, classes and weights, checked once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from deciban._validation import quote_each, to_numpy
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError


class Samples(NamedTuple):
    """Features, the position of each sample's class among the classes, and weights."""

    X: NDArray[np.float64]
    codes: NDArray[np.intp]
    weight: NDArray[np.float64]


def read_samples(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    **options: Any,
) -> Samples:
    """Read the samples of ``fit`` that count, and set the estimator's ``classes_`` and ``prior_``.

    ``options`` go to scikit-learn's ``validate_data``.
    """
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=2, **options)
    X, y, weight = _drop_weightless(X, y, sample_weight)
    classes, codes = np.unique(y, return_inverse=True)
    require_two_classes(classes)
    names = tuple(classes.tolist())
    prior = read_prior(estimator.prior, names, np.bincount(codes, weights=weight))
    weight = weight * _class_weights(class_weight, y)
    estimator.classes_, estimator.prior_ = classes, prior
    return Samples(X, codes, weight)


def read_more_samples(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
) -> Samples:
    """Read further samples for a fitted estimator; not every class need occur among them."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, reset=False)
    X, y, weight = _drop_weightless(X, y, sample_weight)
    codes = encode_as(estimator.classes_, y)
    return Samples(X, codes, weight * _class_weights(class_weight, y))


def require_two_classes(classes: NDArray[Any]) -> None:
    """Raise where all labels are the same."""
    if len(classes) < 2:
        raise InputError(
            f"y must hold at least two classes; got one class, {classes.tolist()[0]!r}. "
            f"Add samples of another."
        )


def encode_as(classes: NDArray[Any], y: ArrayLike) -> NDArray[np.intp]:
    """Position of each label among the classes."""
    labels = np.asarray(y).tolist()
    position = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in dict.fromkeys(labels) if label not in position]
    if unknown:
        raise InputError(
            f"y must hold only the classes {quote_each(classes.tolist())}; got "
            f"{quote_each(unknown)}. Drop those samples, or fit anew."
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def read_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Weights of the samples, some of which may be zero; ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = to_numpy(sample_weight, "sample_weight")
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one weight for each of {n_samples} samples; got shape "
            f"{weight.shape}. Give one number a sample."
        )
    if not np.isfinite(weight).all() or weight.min() < 0 or weight.max() == 0:
        raise InputError(
            "sample_weight must be finite, not negative, and positive for some sample; it is not. "
            "Give weights of zero or more."
        )
    return weight


def balance_weights(
    codes: NDArray[np.intp], weight: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights that give each class that occurs its prior probability; they sum to one."""
    mass = np.bincount(codes, weights=weight, minlength=len(prior))
    share = np.where(mass > 0, prior, 0.0) / np.where(mass > 0, mass, 1.0)
    return weight * (share / (share @ mass))[codes]


def _drop_weightless(
    X: NDArray[np.float64], y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """The samples of positive weight; every class must have some."""
    check_classification_targets(y)
    weight = read_weights(sample_weight, len(y))
    counts = weight > 0
    lost = set(y.tolist()) - set(y[counts].tolist())
    if lost:
        raise InputError(
            f"sample_weight must be positive for some sample of every class; it is zero for all "
            f"samples of {quote_each(sorted(lost, key=str))}. Leave those samples out."
        )
    return X[counts], y[counts], weight[counts]


def _class_weights(class_weight: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    if class_weight is None:
        return np.ones(len(y))
    weight = compute_sample_weight(class_weight, y)
    if not np.all((weight > 0) & np.isfinite(weight)):
        raise InputError(
            f"class_weight must be positive numbers; got {class_weight!r}. Leave a class's samples "
            f"out to ignore it."
        )
    return np.asarray(weight)
