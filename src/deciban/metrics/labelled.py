"""The truth beside the evidence: labelled samples, checked once."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._validation import index_of, quote_each, to_numpy
from deciban.evidence import Evidence
from deciban.evidence.inputs import ratios
from deciban.exceptions import InputError, UnknownClassError


class AlignmentWarning(UserWarning):
    """Two series with different indexes are paired by position."""


@dataclass(frozen=True)
class Scores:
    """LLRs of one class, with their weights or none."""

    llr: np.ndarray
    weight: np.ndarray | None = None

    def mean(self, values: np.ndarray) -> float:
        """Weighted mean of something that each LLR has."""
        return float(
            values.mean() if self.weight is None else np.average(values, weights=self.weight)
        )

    def in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted LLRs, and the mass before each position from 0 to n."""
        if self.weight is None:  # sorting numbers is far cheaper than sorting positions
            return np.sort(self.llr), np.arange(len(self.llr) + 1, dtype=float)
        order = np.argsort(self.llr)
        return self.llr[order], np.concatenate([[0.0], np.cumsum(self.weight[order])])

    def below(self, at: np.ndarray, *, inclusive: bool = False) -> np.ndarray:
        """Fraction of the mass below each point, or up to it."""
        llr, mass = self.in_order()
        return mass[np.searchsorted(llr, at, side="right" if inclusive else "left")] / mass[-1]


@dataclass(frozen=True)
class Trials:
    """LLRs of the two classes apart."""

    target: Scores
    other: Scores

    def distinct(self) -> np.ndarray:
        """All LLRs that occur, rising."""
        return np.unique(np.concatenate([self.target.llr, self.other.llr]))


def two_class_trials(
    y_true: Any, llr: Any, sample_weight: Any = None, pos_label: Hashable = 1
) -> Trials:
    """LLRs in favour of ``pos_label``, apart by the true class; both classes must be there."""
    warn_if_not_aligned(y_true, llr)
    other_label = None
    if isinstance(llr, Evidence):
        llr, other_label = _llr_of(llr, pos_label)
    scores = ratios(llr)
    weights = as_weights(sample_weight, len(scores))
    target, other = (
        Scores(scores[rows], None if weights is None else shares(weights[rows]))
        for rows in _rows_of_each(y_true, pos_label, other_label, len(scores))
    )
    return Trials(target, other)


def shares(weights: np.ndarray) -> np.ndarray:
    """Weights that sum to one, however large or small they are."""
    weights = weights / weights.max()
    return weights / weights.sum()


def require_pos_label(evidence: Evidence, pos_label: Hashable) -> None:
    """The class that evidence is in favour of must be one of its classes."""
    if pos_label not in evidence.classes:
        raise UnknownClassError(
            f"pos_label must be one of the classes {quote_each(evidence.classes)}; got "
            f"{pos_label!r}. Pass pos_label={evidence.classes[1]!r}, or the other one.",
            label=pos_label,
            classes=evidence.classes,
        )


def _llr_of(evidence: Evidence, pos_label: Hashable) -> tuple[np.ndarray, Hashable]:
    """LLRs in favour of one class, and the label of the other."""
    if evidence.n_classes != 2:
        raise InputError(
            f"evidence must be over two classes; got {evidence.n_classes}. "
            f"Choose two of them with evidence.restrict."
        )
    require_pos_label(evidence, pos_label)
    k = evidence.classes.index(pos_label)
    other = evidence.classes[1 - k]
    return evidence.llr(evidence.classes[k], other), other


def _rows_of_each(
    y_true: Any, pos_label: Hashable, other_label: Hashable, n_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the targets and of the others: NumPy picks by these faster than by masks."""
    labels = as_label_vector(y_true, n_samples)
    is_target = _equal(labels, pos_label)
    rows = np.flatnonzero(~is_target)
    others = labels[rows]
    if len(others) in (0, n_samples):
        raise InputError(
            f"y_true must hold both classes, one of them pos_label {pos_label!r}; got "
            f"{_some_of(labels)}. Add samples of the other class, or name the class that the LLR "
            f"favours as pos_label."
        )
    if other_label is not None:
        index_of(others.tolist()[0], (other_label, pos_label))
    if not _equal(others, others.tolist()[0]).all():
        raise InputError(
            f"y_true must hold two classes; got {_some_of(labels)}. "
            f"Choose two of them, or use a metric for any number of classes."
        )
    return np.flatnonzero(is_target), rows


def _equal(labels: np.ndarray, label: Hashable) -> np.ndarray:
    """Where the labels are this one."""
    if labels.dtype == object:  # NumPy would compare with the entries of a tuple
        return np.array([one == label for one in labels.tolist()], dtype=bool)
    equal = np.asarray(labels == label, dtype=bool)
    # NumPy compares text with numbers as a whole.
    return equal if equal.shape == labels.shape else np.zeros(labels.shape, dtype=bool)


def as_label_vector(y_true: Any, n_samples: int, name: str = "y_true") -> np.ndarray:
    """Labels as a vector with as many entries as there are samples, none of them missing."""
    if isinstance(y_true, np.ma.MaskedArray) and np.ma.is_masked(y_true):
        raise InputError(f"{name} must hold no masked labels; it does. Drop those samples first.")
    try:
        labels = np.asarray(y_true)
    except ValueError:
        raise InputError(
            f"{name} must be one row of labels; got a ragged list. Flatten it."
        ) from None
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n_samples,):
        raise InputError(
            f"{name} must have one label for each of {n_samples} samples; got shape "
            f"{labels.shape}. Give one label a sample."
        )
    if _any_missing(labels):
        raise InputError(
            f"{name} must hold no NaN and nothing missing; it does. Drop those samples first."
        )
    return labels


def _any_missing(labels: np.ndarray) -> bool:
    if labels.dtype.kind in "fcmM":
        return bool((labels != labels).any())
    if labels.dtype != object:
        return False
    distinct = set(labels.tolist())
    return any(x is None or type(x).__name__ in {"NAType", "NaTType"} or x != x for x in distinct)


def _some_of(labels: np.ndarray) -> str:
    return quote_each(list(dict.fromkeys(labels.tolist())), most=5)


def as_weights(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Positive weights, one for each sample, or none."""
    if sample_weight is None:
        return None
    weights = to_numpy(sample_weight, "sample_weight")
    if weights.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one weight for each of {n_samples} samples; got shape "
            f"{weights.shape}. Give one number a sample."
        )
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise InputError(
            "sample_weight must be positive and finite; some is not. Drop samples of weight zero."
        )
    return weights


def warn_if_not_aligned(first: Any, second: Any) -> None:
    """Say that pandas series with different indexes are paired by position."""
    here, there = getattr(first, "index", None), getattr(second, "index", None)
    equals = getattr(here, "equals", None)
    if callable(equals) and hasattr(there, "equals") and not equals(there):
        warnings.warn(
            "y_true and the evidence have different indexes; they are paired by position.",
            AlignmentWarning,
            stacklevel=4,
        )
