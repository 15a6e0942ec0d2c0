"""Sets of classes that hold the true one with a stated probability."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from deciban._validation.labels import encode_labels, read_labels
from deciban._validation.scalars import quote_each
from deciban.exceptions import FewSamplesWarning

Floats = NDArray[np.float64]
_ROUNDING = 1e-12  # relative error of sums of probabilities


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(Sequence[tuple[Hashable, ...]]):
    """One set of classes for each sample: a sequence of tuples of labels.

    ``members`` and ``np.asarray`` have the same as truth values, (n_samples, n_classes).
    """

    members: NDArray[np.bool_]
    classes: tuple[Hashable, ...]

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of classes in each set."""
        return self.members.sum(axis=1)

    def contains(self, y_true: ArrayLike) -> NDArray[np.bool_]:
        """Whether each set holds the class of its sample; the mean is the coverage."""
        codes = encode_labels(read_labels(y_true, len(self)), self.classes)
        return self.members[np.arange(len(self)), codes]

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return PredictionSets(self.members[row], self.classes)
        return tuple(self.classes[k] for k in np.flatnonzero(self.members[row]))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.members, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shown = ", ".join("{" + ", ".join(map(str, one)) + "}" for one in self[:5])
        return f"PredictionSets of {len(self):,} samples: {shown}{', ...' * (len(self) > 5)}"


def smallest_sets(log_posterior: Floats, alpha: float) -> NDArray[np.bool_]:
    """The fewest classes whose posteriors sum to 1 - alpha; of those that tie, the first."""
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    mass = np.cumsum(np.exp(np.take_along_axis(log_posterior, order, axis=1)), axis=1)
    before = np.hstack([np.zeros((len(mass), 1)), mass[:, :-1]])
    members = np.empty(log_posterior.shape, dtype=bool)
    np.put_along_axis(members, order, before < (1 - alpha) * (1 - _ROUNDING), axis=1)
    return members


def conformal_sets(
    log_posterior: Floats,
    alpha: float,
    classes: tuple[Hashable, ...],
    scores: Floats,
    codes: NDArray[np.intp],
    prior: Floats | None,
) -> NDArray[np.bool_]:
    """Classes whose score, minus the log-posterior, is up to a threshold; the best is always in.

    ``scores`` are those of the true classes ``codes`` of labeled samples. The threshold is the k-th
    smallest of n, k = ceil((1 - alpha)(n + 1)), and infinity where k > n. With a prior, a sample
    counts as often as the prior says, relative to the share of its class; without one, each class
    has the threshold of its own samples.
    """
    counts = np.bincount(codes, minlength=len(classes))
    if prior is None:
        own = [np.sort(scores[codes == k]) for k in range(len(classes))]
        rank = np.ceil((1 - alpha) * (counts + 1) * (1 - _ROUNDING)).astype(int)
        few = rank > counts
        ends = [s[r - 1] if r <= len(s) else np.inf for s, r in zip(own, rank, strict=True)]
        threshold = np.array(ends)
    else:
        weight = len(codes) * prior / np.maximum(counts, 1)
        order = np.argsort(scores, kind="stable")
        mass = np.cumsum(weight[codes[order]])
        # The new sample, and classes that were not seen, may have any score.
        total = np.where(counts > 0, len(codes) + weight, np.inf)
        rank = np.searchsorted(mass, (1 - alpha) * total * (1 - _ROUNDING))
        few = rank == len(codes)
        threshold = np.append(scores[order], np.inf)[rank]
    if few.any():
        _warn_of_few([classes[k] for k in np.flatnonzero(few)], alpha, prior is None)
    members = -log_posterior <= threshold * (1 + _ROUNDING)
    members[np.arange(len(members)), log_posterior.argmax(axis=1)] = True
    return members


def _warn_of_few(classes: list[Hashable], alpha: float, by_class: bool) -> None:
    least = int(np.ceil((1 - alpha) / alpha - 1e-9))
    warnings.warn(
        FewSamplesWarning(
            f"calibration should hold {least} samples or more{' of each class' * by_class} at "
            f"alpha={alpha:g}, and more where their class mix is not the prior; for want of them, "
            f"every set holds {quote_each(classes)}.",
            classes=classes,
        ),
        stacklevel=4,
    )
