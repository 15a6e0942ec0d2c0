"""Samples that an estimator learns from, checked once: features or scores, classes, weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from deciban._estimation.columns import Columns
from deciban._estimation.frames import is_table
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats, find_non_numbers, is_frame, refuse_masked, to_numpy
from deciban._validation.labels import (
    align_by_index,
    encode_labels,
    read_labels,
    weights_for_fit,
)
from deciban._validation.scalars import quote_each
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError


class Samples(NamedTuple):
    """Features, class positions and weights."""

    X: Floats
    codes: NDArray[np.intp]
    weight: Floats

    def at(self, rows: NDArray[Any]) -> Samples:
        return Samples(self.X[rows], self.codes[rows], self.weight[rows])


register_value(Samples, X="m d", codes=np.ndarray, weight="m")


def read_samples(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None, **options: Any
) -> Samples:
    """Samples of ``fit`` with a weight; sets ``classes_`` and ``class_counts_``.

    Rows are aligned already. ``options`` go to scikit-learn's ``validate_data``.
    """
    require_numbers(X)
    labels = None if y is None else read_labels(y, name="y")
    X, _ = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=2, **options)
    # Its labels are not used: it turns numbers and NaN among text into text.
    classes, codes = _encode(labels)
    weight = weights_for_fit(sample_weight, len(X))
    mass = np.bincount(codes, weights=weight)
    require_weight_of_every_class(classes, mass)
    read_prior(estimator.prior, tuple(classes.tolist()), mass)  # refused here, not in predict
    estimator.classes_, estimator.class_counts_ = classes, mass
    samples = Samples(X, codes, weight)
    return samples if weight.all() else samples.at(weight > 0)


def read_table_samples(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
) -> Samples:
    """Samples of ``fit`` from a frame or an array, as features; also sets ``columns_``."""
    X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
    columns = Columns.describe(X)
    codes = columns.read(X) if is_table(X) else X
    samples = read_samples(estimator, codes, y, sample_weight, ensure_all_finite="allow-nan")
    if is_table(X):
        validate_data(estimator, X, skip_check_array=True)  # the names of its columns
    estimator.columns_ = columns.learn_gaps(samples.X, samples.codes)
    return samples._replace(X=estimator.columns_.encode(samples.X))


def read_batch(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: ArrayLike | None, *, first: bool
) -> Samples:
    """Samples of ``partial_fit``; the first ones set ``classes_`` and ``columns_``."""
    X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
    if first and classes is None:
        raise InputError(
            "classes must name all classes in the first call of partial_fit; got none. Pass them, "
            "including those without samples so far."
        )
    known = estimator.classes_ if classes is None else encode_classes(classes)[0]
    if not first and known.tolist() != estimator.classes_.tolist():
        raise InputError(
            f"classes must be those of the first call of partial_fit, "
            f"{quote_each(estimator.classes_.tolist())}; got {quote_each(known.tolist())}."
        )
    if first:
        read_prior(estimator.prior, tuple(known.tolist()), np.ones(len(known)))
        columns = Columns.describe(X)
        table = columns.read(X) if is_table(X) else X
        require_numbers(table)
        options = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        estimator.columns_ = columns.learn_gaps(validate_data(estimator, table, **options))
        if is_table(X):
            validate_data(estimator, X, skip_check_array=True)  # the names of its columns
        estimator.classes_ = known
    X = read_features(estimator, X)
    codes = encode_labels(read_labels(y, len(X), "y"), known.tolist(), "y")
    weight = weights_for_fit(sample_weight, len(X))
    return Samples(X, codes, weight).at(weight > 0)


def condense(samples: Samples) -> Samples:
    """Few samples with the same class masses and means and the same scatter within classes.

    One at each class mean; in the largest class, pairs around it that carry the scatter.
    """
    X, weight = samples.X, samples.weight
    present, codes = np.unique(samples.codes, return_inverse=True)
    rows = [codes == k for k in range(len(present))]
    mass = np.bincount(codes, weights=weight)
    means = np.stack([weight[own] @ X[own] / m for own, m in zip(rows, mass, strict=True)])
    away = (X - means[codes]) * np.sqrt(weight)[:, None]
    spread = np.sqrt(np.einsum("nd,nd->d", away, away))
    away /= np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(away.T @ away)  # the scatter, scaled
    k, pairs = int(np.argmax(mass)), 2 * len(values)
    step = np.sqrt(np.maximum(values, 0) * len(values) / mass[k])[:, None] * vectors.T * spread
    return Samples(
        np.concatenate([np.delete(means, k, axis=0), means[k] + step, means[k] - step]),
        np.append(np.delete(present, k), np.full(pairs, present[k])),
        np.append(np.delete(mass, k), np.full(pairs, mass[k] / pairs)),
    )


def read_features(estimator: Any, X: Any) -> Floats:
    check_is_fitted(estimator)
    features: Floats = estimator.columns_.encode(read_codes(estimator, X))
    return features


def read_codes(estimator: Any, X: Any) -> Floats:
    """Codes for new samples, from which features are made; NaN for missing values."""
    columns = estimator.columns_
    if is_table(X):
        if not columns.names:
            validate_data(estimator, X, reset=False, skip_check_array=True)
        codes = check_array(columns.read(X), ensure_all_finite="allow-nan", input_name="X")
    else:
        columns.require_arrays()
        require_numbers(X)
        options = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        codes = validate_data(estimator, X, reset=False, **options)
    return np.asarray(codes)


def require_weight_of_every_class(classes: NDArray[Any], mass: NDArray[Any]) -> None:
    if not mass.all():
        raise InputError(
            f"sample_weight must be positive for some sample of every class; it is zero for all "
            f"samples of {quote_each(classes[mass == 0].tolist())}. Leave those samples out."
        )


def encode_classes(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The sorted classes, and each sample's position among them."""
    return _encode(read_labels(y, name="y"))


def _encode(labels: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("y must be finite; it has infinity. Drop those samples first.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(
            f"y must hold labels of one type; got {quote_each(dict.fromkeys(labels.tolist()), 5)}. "
            f"Convert them all to text or to numbers."
        ) from None
    try:
        check_classification_targets(labels)
    except (TypeError, ValueError):
        if labels.dtype.kind not in "SO":
            raise
        raise InputError(
            f"Unknown label type: y must hold text, or numbers of a NumPy type; got "
            f"{quote_each(classes.tolist(), 3)} of dtype {labels.dtype}. Convert them to text."
        ) from None
    if len(classes) < 2:
        got = f"one class, {quote_each(classes.tolist())}" if len(classes) else "no samples"
        raise InputError(
            f"y must hold at least two classes; got {got}. Add samples of another class."
        )
    return classes, codes


def require_numbers(X: Any) -> None:
    """Refuse masked values, dates and text, which scikit-learn would read as numbers."""
    refuse_masked(X, "X")
    if is_frame(X) and not is_table(X):
        dtypes, refused = [], True  # a series, or a frame that is not collected
    elif is_frame(X):
        dtypes = list(X.dtypes)
        kinds = ("date", "time", "duration", "str")
        refused = any(str(dtype).lower().startswith(kinds) for dtype in dtypes)
    else:
        dtypes = [np.asarray(X).dtype]
        refused = dtypes[0].kind in "mMUS"
    if refused or (object in dtypes and find_non_numbers(np.asarray(X, dtype=object))):
        to_numpy(X, "X")
