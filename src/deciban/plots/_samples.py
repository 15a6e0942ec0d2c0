"""Samples to draw: evidence with or without the truth, a few of very many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_labelled

MOST = 2000  # samples of a class that are drawn; more would be a blot


def evidence_and_truth(
    y_true: Any, log_likelihoods: Any, classes: Sequence[Hashable] | None = None
) -> tuple[Evidence, np.ndarray]:
    """Evidence beside the position of the true class of each sample; all classes must occur."""
    data = read_labelled(y_true, log_likelihoods, classes)
    return data.evidence, data.codes


def positions_of(y_true: Any, evidence: Evidence) -> np.ndarray | None:
    """Position of the true class of each sample, or none; a class may have no samples."""
    if y_true is None:
        return None
    return read_labelled(y_true, evidence, every_class=False).codes


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
