"""The samples an estimator learns from: features or scores, classes and weights, checked once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from deciban._validation.arrays import Floats, is_frame, refuse_masked, to_numpy
from deciban._validation.labels import align_by_index, read_labels, read_weights
from deciban._validation.scalars import quote_each
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError


class Samples(NamedTuple):
    """Features, the position of each sample's class among the classes, and weights."""

    X: Floats
    codes: NDArray[np.intp]
    weight: Floats


def read_samples(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None, **options: Any
) -> Samples:
    """Read the samples of ``fit`` that count, and set the estimator's ``classes_`` and ``prior_``.

    Rows of pandas objects are matched by their index. ``options`` go to scikit-learn's
    ``validate_data``.
    """
    X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
    require_numbers(X)
    labels = None if y is None else read_labels(y, name="y")
    X, y = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=2, **options)
    # scikit-learn turns numbers and NaN among text into text.
    classes, codes = encode_classes(y if labels is None or y.dtype.kind in "biuf" else labels)
    weight = read_weights(sample_weight, len(X), for_fit=True)
    weight = np.ones(len(X)) if weight is None else weight
    mass = np.bincount(codes, weights=weight)
    if not mass.all():
        raise InputError(
            f"sample_weight must be positive for some sample of every class; it is zero for all "
            f"samples of {quote_each(classes[mass == 0].tolist())}. Leave those samples out."
        )
    prior = read_prior(estimator.prior, tuple(classes.tolist()), mass)
    estimator.classes_, estimator.prior_ = classes, prior
    if not weight.all():
        counts = weight > 0
        X, codes, weight = X[counts], codes[counts], weight[counts]
    return Samples(X, codes, weight)


def encode_classes(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The sorted classes, and the position of each sample's class among them."""
    labels = read_labels(y, name="y")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y must be finite; it has infinity. Drop those samples first.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(
            f"y must hold labels of one type; got {quote_each(dict.fromkeys(labels.tolist()), 5)}. "
            f"Convert them all to text or to numbers."
        ) from None
    check_classification_targets(labels)
    if len(classes) < 2:
        raise InputError(
            f"y must hold at least two classes; got one class, {quote_each(classes.tolist())}. "
            f"Add samples of another."
        )
    return classes, codes


def require_numbers(X: Any) -> None:
    """Raise for masked values and for dates, which scikit-learn would read as numbers."""
    refuse_masked(X, "X")
    dtypes = getattr(X, "dtypes", ()) if is_frame(X) else [np.asarray(X).dtype]
    if any(str(dtype).lower().startswith(("date", "time", "duration")) for dtype in dtypes):
        to_numpy(X, "X")
