"""LLRs of two classes, from all the forms that a display takes them in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._validation import quote_each
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_labelled, read_trials


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
        llr = read_labelled(y_true, llr).evidence
    if isinstance(llr, Evidence) and llr.n_classes > 2 and other_label is None:
        others = [label for label in llr.classes if label != pos_label]
        raise InputError(
            f"other_label must be given for evidence over {llr.n_classes} classes; got none. "
            f"Choose one of {quote_each(others)}."
        )
    trials = read_trials(y_true, llr, sample_weight, pos_label, other_label)
    return Pair(trials.y_true, trials.llr, trials.weight, pos_label, trials.other_label)
