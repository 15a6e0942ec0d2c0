"""What the family takes: matrices over pairs of classes, ILRLs, labels, counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from deciban._validation import column_names, index_of, require_finite, to_numpy
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.simplex import Basis

_SYMMETRY = 1e-8  # relative difference across the diagonal that counts as rounding


def as_ilrls(l: Any, basis: Basis) -> np.ndarray:
    """ILRLs in this basis, (n_samples, D - 1), from an array or from evidence."""
    if isinstance(l, Evidence):
        return l.ilr(basis)
    l = to_numpy(l, "l")
    D = basis.n_parts
    if l.ndim != 2 or l.shape[1] != D - 1:
        raise InputError(
            f"l must have shape (n_samples, {D - 1}), one ILRL a row, for {D} classes; got "
            f"{l.shape}. Write [l] for a single ILRL; likelihoods and posteriors come as Evidence."
        )
    require_finite(np, l, "l")
    return l


def label_row(labels: Any, n_samples: int) -> list[Hashable]:
    """One label for each sample."""
    if np.ndim(labels) != 1 or len(labels) != n_samples:
        raise InputError(
            f"labels must be a row that names the class of each of {n_samples} samples; got shape "
            f"{np.shape(labels)}. Give one label for each ILRL."
        )
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def sorted_labels(labels: list[Hashable]) -> list[Hashable]:
    """The distinct labels in order."""
    found = dict.fromkeys(labels)
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:  # numbers among text have no order but that of their first sight
        return list(found)


def positions(labels: list[Hashable], classes: tuple[Hashable, ...]) -> np.ndarray:
    """Position of the class of each sample."""
    known = {label: index_of(label, classes) for label in dict.fromkeys(labels)}
    return np.array([known[label] for label in labels], dtype=int)


def divergence_matrix(delta: Any, name: str) -> np.ndarray:
    """A matrix that could hold divergences: symmetric, not negative, zero on its diagonal."""
    delta = square(delta, name)
    require_finite(np, delta, name)
    if np.any(np.diag(delta) != 0):
        raise InputError(
            f"{name} must have a zero diagonal; it has not. A class does not diverge from itself."
        )
    delta = symmetric(delta, name)
    if np.any(delta < 0):
        raise InputError(
            f"{name} must not be negative; its smallest entry is {delta.min():.6g}. "
            f"Give Kullback-Leibler divergences in nats."
        )
    return delta


def square(values: Any, name: str) -> np.ndarray:
    """A square matrix from one, or from its upper triangle row by row."""
    M = np.array(to_numpy(values, name))
    if M.ndim == 2 and M.shape[0] == M.shape[1] >= 2:
        return M
    D = (1 + math.isqrt(1 + 8 * M.size)) // 2
    if M.ndim != 1 or M.size < 1 or M.size != D * (D - 1) // 2:
        raise InputError(
            f"{name} must have shape (D, D), or (D (D - 1) / 2,) for the upper triangle; got shape "
            f"{M.shape}. Give one number for each pair of classes."
        )
    square = np.zeros((D, D))
    square[np.triu_indices(D, 1)] = M
    return square + square.T


def symmetric(M: np.ndarray, name: str) -> np.ndarray:
    """The matrix, symmetric to the last bit."""
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape[0] < 1:
        raise InputError(
            f"{name} must be a square matrix; got shape {M.shape}. The covariance of D classes has "
            f"D - 1 rows and columns."
        )
    require_finite(np, M, name)
    gap = float(np.abs(M - M.T).max())
    if gap > _SYMMETRY * float(np.abs(M).max()):
        raise InputError(
            f"{name} must be symmetric; two entries across its diagonal differ by {gap:.2g}. "
            f"Average it with its transpose if that is rounding."
        )
    return (M + M.T) / 2


def is_positive(eigenvalues: np.ndarray) -> bool:
    """Whether rising eigenvalues are all above zero by more than rounding."""
    rounding = 16 * np.finfo(float).eps * len(eigenvalues) * abs(float(eigenvalues[-1]))
    return bool(eigenvalues[0] > rounding)


def generator(rng: Any) -> np.random.Generator:
    """A random generator from one, from a seed, or from nothing."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"rng must be a NumPy Generator, a seed or None; got {rng!r}. Give a whole number."
        ) from None


def count_of(value: Any, name: str, least: int = 0) -> int:
    """A whole number that is not too small."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(
            f"{name} must be whole numbers, {least} or more; got {value!r}. Give counts."
        )
    return int(value)


def counts_for(classes: tuple[Hashable, ...], label_or_counts: Any) -> list[int] | None:
    """How many samples of each class; None where what is given is a label."""
    names = column_names(label_or_counts)
    if names is not None:
        label_or_counts = dict(zip(names, label_or_counts.tolist(), strict=True))
    if isinstance(label_or_counts, Mapping):
        for label in label_or_counts:
            index_of(label, classes)
        label_or_counts = [label_or_counts.get(label, 0) for label in classes]
    elif not isinstance(label_or_counts, list | tuple | np.ndarray) or (
        isinstance(label_or_counts, tuple) and label_or_counts in classes
    ):
        return None
    if np.shape(label_or_counts) != (len(classes),):
        raise InputError(
            f"counts must hold one number for each of {len(classes)} classes; got shape "
            f"{np.shape(label_or_counts)}. Give as many counts as classes."
        )
    return [count_of(count, "counts") for count in label_or_counts]
