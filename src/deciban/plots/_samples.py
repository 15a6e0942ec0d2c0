"""Samples to draw: evidence with or without the truth, a few of very many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from deciban._validation import index_of
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import as_label_vector
from deciban.metrics.multiclass import labelled

MOST = 2000  # samples of a class that are drawn; more would be a blot


def evidence_and_truth(
    y_true: Any, log_likelihoods: Any, classes: Sequence[Hashable] | None = None
) -> tuple[Evidence, np.ndarray]:
    """Evidence beside the position of the true class of each sample; all classes must occur."""
    data = labelled(y_true, log_likelihoods, classes, None)
    return data.evidence, data.truth


def positions_of(y_true: Any, evidence: Evidence) -> np.ndarray | None:
    """Position of the true class of each sample, or none; a class may have no samples."""
    if y_true is None:
        return None
    labels = as_label_vector(y_true, len(evidence)).tolist()
    known = {label: index_of(label, evidence.classes) for label in dict.fromkeys(labels)}
    return np.array([known[label] for label in labels], dtype=int)


def groups(truth: np.ndarray | None, n_samples: int, n_classes: int) -> list[np.ndarray]:
    """Rows of the samples of each class; all in one group where the truth is not known."""
    if truth is None:
        return [np.arange(n_samples)]
    return [np.flatnonzero(truth == k) for k in range(n_classes)]


def some_of(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many of the rows, by chance."""
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


def require_three(evidence: Evidence, what: str) -> None:
    """Refuse evidence that is not over three classes."""
    if evidence.n_classes != 3:
        raise InputError(
            f"evidence must be over three classes for {what}; got {evidence.n_classes}. Choose "
            f"three of them with evidence.restrict."
        )
