"""Methods that map samples one by one, over the partitions of Dask arrays and frames."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deciban._validation.arrays import is_dask
from deciban.evidence import Evidence
from deciban.evidence.batch import import_frames
from deciban.exceptions import InputError

Result = TypeVar("Result")


def over_partitions(method: Callable[[Any, Any], Result]) -> Callable[[Any, Any], Result]:
    """Let a method take Dask arrays and frames, and give the same: nothing is computed yet.

    The method maps samples to log-likelihoods or probabilities of the classes, or to classes. Of a
    frame, the columns are then named after the classes.
    """

    @functools.wraps(method)
    def run(self: Any, X: Any) -> Any:
        return _map_partitions(self, method.__name__, X) if is_dask(X) else method(self, X)

    return run


def _map_partitions(model: Any, method: str, X: Any) -> Any:
    from dask.delayed import delayed

    check_is_fitted(model)
    if getattr(X, "ndim", None) != 2:
        raise InputError(
            f"X must have two dimensions, with one sample on each row; got "
            f"{getattr(X, 'ndim', type(X).__name__)}. Reshape it: x[:, None] for one feature."
        )
    classes = model.classes_
    empty = np.empty((0, len(classes)))
    if method == "predict":
        empty = np.empty(0, classes.dtype)
    # as a task, the model goes to each worker once, not with each partition
    given = {"model": delayed(model, traverse=False), "method": method, "empty": empty}
    if hasattr(X, "columns"):
        meta = _like_frame(empty, X._meta, classes)
        return X.map_partitions(_map_frame, **given, meta=meta)
    X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1}
    if empty.ndim == 2:
        shape = {"chunks": (X.chunks[0], (len(classes),))}
    return X.map_blocks(_map_rows, **given, dtype=empty.dtype, meta=empty, **shape)


def _map_rows(X: Any, model: Any, method: str, empty: np.ndarray) -> np.ndarray:
    if len(X) == 0:
        return empty
    found = getattr(model, method)(X)
    return np.asarray(found.log_likelihoods if isinstance(found, Evidence) else found)


def _map_frame(X: Any, model: Any, method: str, empty: np.ndarray) -> Any:
    return _like_frame(_map_rows(X, model, method, empty), X, model.classes_)


def _like_frame(values: np.ndarray, X: Any, classes: Any) -> Any:
    """Values with the index of a frame; of the columns, the names are the classes."""
    pd = import_frames("pandas")
    if values.ndim == 1:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=classes.tolist())
