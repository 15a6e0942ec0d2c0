"""Posteriors, decisions and a score from evidence, in memory and over Dask partitions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from deciban._validation.arrays import Floats, import_frames, is_dask, row_index
from deciban._validation.labels import align_by_index, encode_labels, read_labels, read_weights
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights, read_prior
from deciban.exceptions import InputError

Result = TypeVar("Result")


def over_partitions(method: Callable[[Any, Any], Result]) -> Callable[[Any, Any], Result]:
    """Let a method take Dask arrays and frames, and return the same without computing.

    The method maps samples to classes, log-likelihoods or probabilities; the columns of a frame are
    then named after the classes. Evidence keeps a pandas index.
    """

    @functools.wraps(method)
    def run(self: Any, X: Any) -> Any:
        if is_dask(X):
            return _map_partitions(self, method.__name__, X)
        result: Any = method(self, X)
        tables = X.values() if isinstance(X, Mapping) else [X]
        index = next((table.index for table in tables if row_index(table) is not None), None)
        keep = index is not None and isinstance(result, Evidence)
        return result.with_index(index) if keep else result

    return run


def _map_partitions(model: Any, method: str, X: Any) -> Any:
    from dask.delayed import delayed

    check_is_fitted(model)
    if getattr(X, "ndim", None) != 2:
        raise InputError(
            f"X must have two dimensions, with one sample on each row; got "
            f"{getattr(X, 'ndim', type(X).__name__)}. Reshape it: x[:, None] for one feature."
        )
    D, is_predict = len(model.classes_), method == "predict"
    empty = np.empty(0, model.classes_.dtype) if is_predict else np.empty((0, D))
    # as a task, the model goes to each worker once, not with each partition
    given = {"model": delayed(model, traverse=False), "method": method, "empty": empty}
    if hasattr(X, "columns"):
        meta = _like_frame(empty, X._meta, model.classes_)
        return X.map_partitions(_map_rows, **given, meta=meta)
    X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1} if is_predict else {"chunks": (X.chunks[0], (D,))}
    return X.map_blocks(_map_rows, **given, dtype=empty.dtype, meta=empty, **shape)


def _map_rows(X: Any, model: Any, method: str, empty: np.ndarray) -> Any:
    found = getattr(model, method)(X) if len(X) else empty
    values = np.asarray(found.log_likelihoods if isinstance(found, Evidence) else found)
    return _like_frame(values, X, model.classes_) if hasattr(X, "columns") else values


def _like_frame(values: np.ndarray, X: Any, classes: Any) -> Any:
    """Values with a frame's index, and columns named after the classes."""
    pd = import_frames("pandas")
    if values.ndim == 1:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=classes.tolist())


class EvidenceClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """Posteriors, decisions and a score from ``evidence`` and ``prior_``.

    For a Dask array or frame, ``evidence`` returns log-likelihoods as the same type, one column per
    class, without computing them.
    """

    prior: Any
    classes_: NDArray[Any]
    class_counts_: Floats

    @property
    def prior_(self) -> Floats:
        """Class probabilities under ``prior``, of shape (n_classes,)."""
        return read_prior(self.prior, self._names(), self.class_counts_)

    def _names(self) -> tuple[Hashable, ...]:
        return tuple(self.classes_.tolist())

    def evidence(self, X: Any) -> Evidence:
        """Evidence about the classes from each sample."""
        raise NotImplementedError

    @over_partitions
    def predict_log_proba(self, X: Any) -> Floats:
        """Log posterior probabilities under ``prior_``, (n_samples, n_classes)."""
        return self.evidence(X).log_posterior(self.prior_)

    @over_partitions
    def predict_proba(self, X: Any) -> Floats:
        """Posterior probabilities under ``prior_``, (n_samples, n_classes)."""
        return self.evidence(X).posterior(self.prior_)

    @over_partitions
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest posterior probability under ``prior_``."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Minus the cross-entropy of the posteriors, in nats: larger is better.

        A proper score, so a grid search finds the best evidence. Classes count by ``prior_``,
        without those that do not occur in ``y``. For accuracy see :func:`deciban.metrics.accuracy`.
        """
        X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
        log_p = self.predict_log_proba(X)
        codes = encode_labels(read_labels(y, len(log_p), "y"), self.classes_.tolist(), "y")
        weight = read_weights(sample_weight, len(log_p), for_fit=True)
        share = balance_weights(codes, weight, self.prior_)
        with np.errstate(invalid="ignore"):
            terms = share * log_p[np.arange(len(codes)), codes]
        return float(np.sum(terms[share > 0]))
