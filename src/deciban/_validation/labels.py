"""Class labels: names for the classes, and a label, weight and index for each sample.

A label is any hashable value. Labels that are equal are the same class: 1, 1.0 and True are one
class, "1" is another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import (
    column_names,
    is_dask,
    is_frame,
    refuse_masked,
    refuse_rows,
    row_index,
    to_host,
    to_numpy,
)
from deciban._validation.scalars import quote, quote_each
from deciban.exceptions import InputError, UnknownClassError

# --- names of the classes ---------------------------------------------------------------


def as_labels(
    classes: Sequence[Hashable] | None, n_classes: int | None = None
) -> tuple[Hashable, ...]:
    """Distinct class labels, by default 0 to D - 1."""
    if classes is None:
        return tuple(range(n_classes or 0))
    text = isinstance(classes, str | bytes)
    if text or isinstance(classes, Set) or not isinstance(classes, Iterable):
        raise InputError(
            f"classes must be a list of labels, in the order of the columns; got {quote(classes)}. "
            f"Write a list, such as ['first', 'second']."
        )
    labels = tuple(classes.tolist() if hasattr(classes, "tolist") else classes)
    try:
        distinct = set(labels)
    except TypeError:
        raise InputError(
            f"classes must be hashable labels; got {quote(labels)}. Use text or numbers."
        ) from None
    if n_classes is not None and len(labels) != n_classes:
        raise InputError(
            f"classes must name each of the {n_classes} classes; got {len(labels)}. "
            f"Give one label for each class."
        )
    if len(distinct) != len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise InputError(
            f"classes must be distinct; got {quote(twice)} more than once. Rename one of them."
        )
    return labels


def index_of(label: Any, classes: tuple[Hashable, ...]) -> int:
    try:
        return classes.index(label)
    except ValueError:
        raise UnknownClassError(
            f"class must be one of {quote_each(classes)}; got {quote(label)}. "
            f"Check its spelling and its type.",
            label=label,
            classes=classes,
        ) from None


def index_pair(a: Any, b: Any, classes: tuple[Hashable, ...]) -> tuple[int, int]:
    i, j = index_of(a, classes), index_of(b, classes)
    if i == j:
        raise InputError(f"a and b must be two classes; got {quote(a)} twice. Name another class.")
    return i, j


def order_by_name(
    names: tuple[Hashable, ...] | None, classes: tuple[Hashable, ...], what: str
) -> list[int] | None:
    """Positions of the classes among column or row names; None if no reordering is needed.

    Names are compared as they are, then as text, since polars has text only. Tables without names
    (pandas writes 0 to D - 1) are in class order.
    """
    if names is None or names == classes:
        return None
    order = _positions(classes, names)
    if order is None:
        order = _positions([str(label) for label in classes], [str(name) for name in names])
    if order is None and names != tuple(range(len(classes))):
        raise InputError(
            f"{what} must be named after the classes {quote_each(classes)}; got "
            f"{quote_each(names)}. Rename them, or pass an array in the order of the classes."
        )
    return None if order == list(range(len(classes))) else order


def reorder_square(
    matrix: NDArray[np.float64], source: Any, classes: tuple[Hashable, ...], name: str
) -> NDArray[np.float64]:
    """A matrix over pairs of classes, reordered by the names in its source frame.

    Rows without names, as in polars, follow the order of the columns.
    """
    if not hasattr(source, "columns"):
        return matrix
    columns = order_by_name(column_names(source), classes, f"the columns of {name}")
    index = tuple(source.index) if hasattr(source, "index") else tuple(range(len(matrix)))
    named = hasattr(source, "index") and set(index) == set(classes)
    rows = columns
    if named or index != tuple(range(len(matrix))):
        rows = order_by_name(index, classes, f"the rows of {name}")
    matrix = matrix if columns is None else matrix[:, columns]
    return matrix if rows is None else matrix[rows]


def _positions(wanted: Sequence[Hashable], names: Sequence[Hashable]) -> list[int] | None:
    place = {name: k for k, name in enumerate(names)}
    if not len(wanted) == len(names) == len(place) or place.keys() != set(wanted):
        return None
    return [place[label] for label in wanted]


def label_array(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as a one-dimensional array that leaves each as it is: numbers among text stay numbers.

    NumPy's conversion would also cut trailing zero bytes, round large integers and split tuples.
    """
    if len({type(label) for label in labels}) == 1 and type(labels[0]) in {str, int, float, bool}:
        array = np.asarray(labels)
        if array.tolist() == list(labels):
            return array
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        array[i] = label
    return array


# --- labels of the samples --------------------------------------------------------------

_FLOAT_AS_TEXT = np.dtype("U32")  # what NumPy makes of floats that stand among text


def read_labels(labels: Any, n_samples: int | None = None, name: str = "y_true") -> np.ndarray:
    """One label per sample, from a sequence, an array, a Series or a one-column table.

    NaN, None, NA, NaT and masked entries are refused, also among text. Mixed types give an object
    array.
    """
    array = _label_vector(labels, name)
    if n_samples is not None and len(array) != n_samples:
        raise InputError(
            f"{name} must have one label for each of {n_samples} samples; got shape "
            f"{array.shape}. Give one label for each sample."
        )
    rows = np.flatnonzero(_is_missing(array, name))
    if rows.size:
        raise InputError(
            f"{name} must not contain NaN or missing labels; got {quote(array[rows[0]])} in row "
            f"{rows[0]}. Drop these samples first.",
            rows=rows,
        )
    return array


def _label_vector(labels: Any, name: str) -> np.ndarray:
    refuse_masked(labels, name)
    if is_frame(labels) and hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    try:
        array = np.asarray(to_host(labels))
    except ValueError:
        raise InputError(
            f"{name} must be one row of labels; got rows of different lengths. Flatten it."
        ) from None
    if array.dtype.kind in "USf" and isinstance(labels, list | tuple) and array.ndim <= 2:
        flat = list(labels) if array.ndim == 1 else [label for row in labels for label in row]
        if array.ravel().tolist() != flat:  # NaN became 'nan', 1 became '1', or 2**53 + 1 even
            array = label_array(flat).reshape(array.shape)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"{name} must be one row of labels; got shape {array.shape}. "
            f"Give one label for each sample."
        )
    return array


def _is_missing(labels: np.ndarray, name: str) -> NDArray[np.bool_]:
    if labels.dtype.kind in "fcmM":
        return np.asarray(labels != labels)
    if labels.dtype == _FLOAT_AS_TEXT:
        return np.asarray(labels == "nan")
    if labels.dtype != object:
        return np.zeros(len(labels), dtype=bool)
    entries = labels.tolist()
    try:
        missing = {label for label in set(entries) if is_missing(label)}
    except TypeError:
        raise InputError(
            f"{name} must hold hashable labels; got a {type(entries[0]).__name__}. "
            f"Use text or numbers."
        ) from None
    if not missing:
        return np.zeros(len(labels), dtype=bool)
    return np.array([is_missing(label) for label in entries], dtype=bool)


def is_missing(label: Any) -> bool:
    """True for None, NaN, NA and NaT."""
    # pandas' NA answers a comparison with itself by NA, which has no truth value.
    missing = label is None or type(label).__name__ in {"NAType", "NaTType"}
    return missing or (isinstance(label, float | complex | np.generic) and bool(label != label))


def factorize_labels(labels: np.ndarray) -> tuple[list[Hashable], NDArray[np.intp]]:
    """Distinct labels, and each sample's position among them.

    They are sorted, or in order of appearance if they have no order, such as numbers and text.
    """
    if labels.dtype != object:
        distinct, codes = np.unique(labels, return_inverse=True)
        return distinct.tolist(), codes
    found: list[Any] = list(dict.fromkeys(labels.tolist()))
    with contextlib.suppress(TypeError):
        found = sorted(found)
    place = {label: k for k, label in enumerate(found)}
    return found, np.array([place[label] for label in labels.tolist()], dtype=np.intp)


def encode_labels(
    labels: np.ndarray, classes: Sequence[Hashable], name: str = "y_true"
) -> NDArray[np.intp]:
    """Each sample's position among the classes; an unknown label is an error."""
    found, codes = factorize_labels(labels)
    place = {label: k for k, label in enumerate(classes)}
    unknown = [label for label in found if label not in place]
    if unknown:
        raise UnknownClassError(
            f"{name} must hold the classes {quote_each(classes)} only; got {quote_each(unknown)}. "
            f"Check the spelling and the type, or drop these samples.",
            label=unknown[0],
            classes=tuple(classes),
        )
    return np.array([place[label] for label in found], dtype=np.intp)[codes]


# --- weights and indexes of the samples -------------------------------------------------


_WEIGHT_LIMITS = 1e-12, 1e12  # of the largest weight: nobody counts more samples than that


def read_weights(
    sample_weight: Any, n_samples: int, *, for_fit: bool = False
) -> NDArray[np.float64] | None:
    """Sample weights, scaled so that the largest is 1; None without weights.

    So weights of 1e300 or 1e-300 neither overflow nor vanish in sums, and positive ones stay
    positive. Weights ``for_fit`` may be zero, and keep their scale within 1e-12 and 1e12: some
    estimators count samples by it.
    """
    if sample_weight is None:
        return None
    weights = to_numpy(sample_weight, "sample_weight")
    if weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    if weights.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one weight for each of {n_samples} samples; got shape "
            f"{weights.shape}. Give one number for each sample."
        )
    usable = np.isfinite(weights) & (weights >= 0 if for_fit else weights > 0)
    must = f"sample_weight must be finite and {'not negative' if for_fit else 'positive'}"
    refuse_rows(~usable, must, "has", "Drop this sample, or give it a weight.", values=weights)
    largest = weights.max(initial=0.0)
    if n_samples and largest == 0:
        raise InputError(
            "sample_weight must be positive for some sample; got zeros only. Give some weight."
        )
    smallest = np.where(weights > 0, np.finfo(np.float64).tiny, 0.0)
    relative = np.maximum(weights / (largest or 1.0), smallest)
    return relative * np.clip(largest, *_WEIGHT_LIMITS) if for_fit else relative


def weights_for_fit(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Ones by default."""
    weights = read_weights(sample_weight, n_samples, for_fit=True)
    return np.ones(n_samples) if weights is None else weights


def align_by_index(**named: Any) -> list[Any]:
    """Put the rows of arguments that describe the same samples in one order.

    pandas objects, and Evidence that came from them, follow the first one that has an index.
    Refused are indexes with different labels, and repeated labels unless the indexes are equal.
    Anything without an index is paired by position, and so are different lengths, for the caller to
    report. Dask collections are computed.

    >>> import pandas as pd
    >>> y, weight = pd.Series([0, 1], index=["a", "b"]), pd.Series([2.0, 1.0], index=["b", "a"])
    >>> align_by_index(y=y, weight=weight)[1].tolist()
    [1.0, 2.0]
    """
    named = {name: x.compute() if is_dask(x) else x for name, x in named.items()}
    indexes = {name: row_index(x) for name, x in named.items() if row_index(x) is not None}
    first = next(iter(indexes), "")
    for name, index in indexes.items():
        wanted = indexes[first]
        if len(index) != len(wanted) or index.equals(wanted):
            continue
        for which, one in ((first, wanted), (name, index)):
            if not one.is_unique:
                raise InputError(
                    f"{first} and {name} must have the same index, in one order where labels "
                    f"repeat; got {quote_each(one[one.duplicated()].unique(), 3)} more than once "
                    f"in {which}. Give each row its own label, or pass arrays to pair by position."
                )
        order = index.get_indexer(wanted)
        if (order < 0).any():
            raise InputError(
                f"{first} and {name} must have the same index; got {quote_each(wanted, 3)} and "
                f"{quote_each(index, 3)}. Select the rows of one by the index of the other, or "
                f"pass arrays to pair them by position."
            )
        rows = named[name]
        named[name] = rows.iloc[order] if is_frame(rows) else rows[order]
    return list(named.values())


def column_order(
    source: Any, classes: Sequence[Hashable] | None, n: int, name: str
) -> tuple[tuple[Hashable, ...], list[int] | None]:
    """Class labels for the columns of a table, and the column positions in class order.

    Without ``classes`` the columns name them. With ``classes`` a frame with these column names is
    reordered; one with none of them is renamed.
    """
    names = column_names(source)
    labels = as_labels(names if classes is None else classes, n)
    known = {*labels, *map(str, labels)}
    if classes is None or names is None or not any(x in known for x in names):
        return labels, None
    return labels, order_by_name(names, labels, f"the columns of {name}")
