"""What evidence takes: tables, ratios, names; what it can become and what it cannot."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, TypeGuard

import numpy as np

from deciban._validation import as_labels, column_names, to_numpy
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis


def ratios(llr: Any) -> np.ndarray:
    """One log-likelihood-ratio for each sample; infinite ones are allowed."""
    llr = to_numpy(llr, "llr")
    if llr.ndim == 2 and llr.shape[1] == 1:
        llr = llr[:, 0]
    if llr.ndim != 1:
        raise InputError(
            f"llr must have shape (n_samples,); got {llr.shape}. Give one ratio for each "
            f"sample; for more than two classes use Evidence(log_likelihoods)."
        )
    if np.isnan(llr).any():
        row = int(np.flatnonzero(np.isnan(llr))[0])
        raise InputError(
            f"llr must hold no NaN; sample {row} is NaN. Drop or impute it first.", rows=[row]
        )
    return llr


def is_number(value: object) -> TypeGuard[float]:
    """Whether something is a real number, of Python's or of NumPy's."""
    real = isinstance(value, int | float | np.integer | np.floating)
    return real and not isinstance(value, bool)


def require_table(values: np.ndarray, name: str, if_two_classes: str) -> None:
    """Refuse what is not one row a sample and one column a class."""
    if values.ndim != 2 or values.shape[1] < 2:
        remedy = f"Write [{name}] for one sample; {if_two_classes}."
        raise InputError(
            f"{name} must have shape (n_samples, n_classes) with two classes or more; got "
            f"{values.shape}. " + (remedy if values.ndim == 1 else "Put one sample on each row.")
        )


def labels_of(source: Any, classes: Sequence[Hashable] | None, n: int) -> tuple[Hashable, ...]:
    """The classes asked for, else the columns of a frame, else numbers."""
    return as_labels(column_names(source) if classes is None else classes, n)


def warn_of_probabilities(values: np.ndarray, name: str, instead: str) -> None:
    """Logarithms of likelihoods do not happen to lie in [0, 1] and sum to one in every row."""
    first = values[:1]
    if not np.isclose(first.sum(), 1) or first.min() < 0 or np.array_equal(first, first.round()):
        return
    if values.min() >= 0 and np.allclose(values.sum(axis=1), 1):
        warnings.warn(
            f"{name} should be logarithms; every row is positive and sums to one. If they are "
            f"probabilities, use Evidence.{instead}.",
            stacklevel=3,
        )


def require_reject_label(label: Hashable, cost: Any, classes: tuple[Hashable, ...]) -> None:
    """Refuse a label that could not be told from a class, or that nothing would use."""
    if cost is None and label is not None:
        raise InputError(
            "reject_label must come with a reject_cost; got none. Say what it costs not to decide."
        )
    if cost is not None and label in classes:
        raise InputError(
            f"reject_label must not be a class; got {label!r}. Choose another, such as None."
        )


def possible(log_likelihoods: np.ndarray) -> np.ndarray:
    """Refuse what a sum or a product has made of evidence where it cannot be evidence."""
    top = log_likelihoods.max(axis=1)
    rows = np.flatnonzero(top == -np.inf)
    if rows.size:
        raise ZeroPartsError(
            f"evidence must leave at least one class possible; row {rows[0]} rules out all. "
            f"Look for samples that contradict each other, or give zeros a small likelihood with "
            f"evidence.replace_zeros(log_delta=...).",
            rows=rows[:5].tolist(),
        )
    if not (top < np.inf).all():
        raise InputError("evidence must stay below 1e308 nats; it does not. Scale it down first.")
    return log_likelihoods


def aligned(basis: Basis | None, classes: tuple[Hashable, ...]) -> Basis | None:
    """A named basis in the order of the classes; an unnamed one as it is."""
    if not isinstance(basis, Basis) or basis.classes is None:
        return basis
    return basis.aligned_to(classes)
