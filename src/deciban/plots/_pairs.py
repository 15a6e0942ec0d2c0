"""LLRs of two classes, from all the forms that a display takes them in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._validation import index_of, quote_each
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import (
    Trials,
    as_label_vector,
    as_weights,
    require_pos_label,
    two_class_trials,
)
from deciban.metrics.multiclass import labelled


@dataclass(frozen=True)
class Pair:
    """LLRs of ``pos_label`` against ``other_label`` with the truth, checked, in nats."""

    y_true: np.ndarray
    llr: np.ndarray
    weight: np.ndarray | None
    pos_label: Hashable
    other_label: Hashable

    @property
    def metric_arguments(self) -> dict[str, Any]:
        """What the metrics for two classes are called with."""
        return {"y_true": self.y_true, "llr": self.llr, "sample_weight": self.weight}

    @property
    def labels(self) -> dict[str, Any]:
        """The names of the classes, as displays take them."""
        return {"pos_label": self.pos_label, "other_label": self.other_label}


def pair_of(
    y_true: Any,
    llr: Any,
    pos_label: Hashable,
    other_label: Hashable | None,
    sample_weight: Any = None,
) -> Pair:
    """The samples of two classes with their LLRs, in favour of ``pos_label``.

    ``llr`` may be LLRs, log-likelihoods of two classes or more, or evidence. Where there are more
    classes, ``other_label`` says which other one is meant.
    """
    if not isinstance(llr, Evidence) and np.ndim(llr) == 2 and np.shape(llr)[1] > 1:
        llr = labelled(y_true, llr, None, None).evidence
    if isinstance(llr, Evidence) and other_label is None:
        _require_two_classes(llr, pos_label)
    if other_label is not None:
        pair = (other_label, pos_label)
        y_true, llr, sample_weight = _samples_of(y_true, llr, pair, sample_weight)
    trials = two_class_trials(y_true, llr, sample_weight, pos_label)
    if other_label is None:
        other_label = next(x for x in np.asarray(y_true).ravel().tolist() if x != pos_label)
    return _paired(trials, pos_label, other_label)


def _require_two_classes(evidence: Evidence, pos_label: Hashable) -> None:
    require_pos_label(evidence, pos_label)
    if evidence.n_classes > 2:
        others = [label for label in evidence.classes if label != pos_label]
        raise InputError(
            f"other_label must be given for evidence over {evidence.n_classes} classes; got none. "
            f"Choose one of {quote_each(others)}."
        )


def _samples_of(
    y_true: Any, llr: Any, pair: tuple[Hashable, Hashable], sample_weight: Any
) -> tuple[Any, Any, Any]:
    """The samples of these two classes."""
    labels = as_label_vector(y_true, len(llr))
    weights = as_weights(sample_weight, len(llr))
    rows = np.flatnonzero([label in pair for label in labels.tolist()])
    if isinstance(llr, Evidence):
        for label in dict.fromkeys(labels.tolist()):
            index_of(label, llr.classes)  # a label that is misspelt must not be left out quietly
        llr = llr[rows].restrict(list(pair))
    else:
        llr = np.asarray(llr)[rows]
    return labels[rows], llr, None if weights is None else weights[rows]


def _paired(trials: Trials, pos_label: Hashable, other_label: Hashable) -> Pair:
    target, other = trials.target, trials.other
    y_true = np.repeat([1, 0], [len(target.llr), len(other.llr)])
    weight = None
    if target.weight is not None and other.weight is not None:
        weight = np.concatenate([target.weight, other.weight])
    llr = np.concatenate([target.llr, other.llr])
    return Pair(y_true, llr, weight, pos_label, other_label)
