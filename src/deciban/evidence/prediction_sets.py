"""Sets of classes that hold the true one with a stated probability."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import align_by_index, encode_labels, read_labels
from deciban._validation.scalars import quote_each
from deciban.exceptions import FewSamplesWarning

_ROUNDING = 1e-12  # relative error of sums of probabilities


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(Sequence[tuple[Hashable, ...]]):
    """One set of classes for each sample: a sequence of tuples of labels.

    Attributes
    ----------
    members : array of bool of shape (n_samples, n_classes)
        Whether each class is in each set; also what ``np.asarray`` gives.
    classes : tuple of labels
    index : pandas Index of the samples, or None

    See Also
    --------
    deciban.Evidence.prediction_set, deciban.Evidence.confidence_set : Return it.

    Examples
    --------
    >>> from deciban import Evidence
    >>> sets = Evidence.from_likelihoods([[0.7, 0.3], [0.96, 0.04]]).prediction_set(0.1)
    >>> sets[0], sets[1], sets.sizes
    ((0, 1), (0,), array([2, 1]))
    >>> sets.contains([1, 1]).mean()
    np.float64(0.5)
    """

    members: NDArray[np.bool_]
    classes: tuple[Hashable, ...]
    index: Any = None

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of classes in each set."""
        return self.members.sum(axis=1)

    def contains(self, y_true: ArrayLike) -> NDArray[np.bool_]:
        """Whether each set holds the class of its sample; the mean is the coverage.

        A Series is matched by its index.
        """
        _, y_true = align_by_index(sets=self, y_true=y_true)
        codes = encode_labels(read_labels(y_true, len(self)), self.classes)
        return self.members[np.arange(len(self)), codes]

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            index = None if self.index is None else self.index[row]
            return PredictionSets(self.members[row], self.classes, index)
        return tuple(self.classes[k] for k in np.flatnonzero(self.members[row]))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.members, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shown = ", ".join("{" + ", ".join(map(str, one)) + "}" for one in self[:5])
        n, more = len(self), ", ..." * (len(self) > 5)
        return f"PredictionSets of {n:,} sample{'s' * (n != 1)}: {shown}{more}"


def smallest_sets(log_posterior: Floats, alpha: float) -> NDArray[np.bool_]:
    """The fewest classes whose posteriors sum to 1 - alpha; of those that tie, the first."""
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    mass = np.cumsum(np.exp(np.take_along_axis(log_posterior, order, axis=1)), axis=1)
    before = np.hstack([np.zeros((len(mass), 1)), mass[:, :-1]])
    members = np.empty(log_posterior.shape, dtype=bool)
    np.put_along_axis(members, order, before < (1 - alpha) * (1 - _ROUNDING), axis=1)
    return members


def conformal_sets(
    new: Floats,
    labeled: Floats,
    codes: NDArray[np.intp],
    classes: tuple[Hashable, ...],
    prior: Floats | None,
    alpha: float,
    by_class: bool,
) -> NDArray[np.bool_]:
    """Classes whose score, minus the log-posterior, is up to a threshold; the best is always in.

    The threshold is the k-th smallest of the scores of n labeled samples, k = ceil((1 - alpha)
    (n + 1)), and infinity if k > n. By class, each class has that of its own samples. With a
    prior, a sample counts as often as the prior says, relative to the share of its class. Without
    one, the prior is the class mix of the labeled samples and the new one, whose class is the one
    considered: all n + 1 are treated alike, which makes the coverage exact.
    """
    D, n, rows = len(classes), len(codes), np.arange(len(codes))
    counts = np.bincount(codes, minlength=D)
    base = np.log(counts + 1 / D if prior is None else prior)
    total, new_total = (np.logaddexp.reduce(x + base, axis=1)[:, None] for x in (labeled, new))
    scores, new_scores = (total - labeled - base)[rows, codes], new_total - new - base
    if by_class:
        threshold = np.array([_quantile(scores[codes == k], alpha) for k in range(D)])
        few = _rank(counts, alpha) > counts
    elif prior is None:
        more = np.log(counts + 1 / D + 1)
        changed = np.where(codes[:, None] == np.arange(D), more, base[codes, None])
        own = np.logaddexp(total, labeled) - labeled[rows, codes, None] - changed
        new_scores = np.logaddexp(new_total, new) - new - more
        threshold, few = _quantile(own, alpha), np.full(D, _rank(n, alpha) > n)
    else:
        weight = n * prior / np.maximum(counts, 1)
        order = np.argsort(scores, kind="stable")
        # The new sample, and classes without samples, may have any score.
        wanted = (1 - alpha) * np.where(counts > 0, n + weight, np.inf) * (1 - _ROUNDING)
        rank = np.searchsorted(np.cumsum(weight[codes[order]]), wanted)
        threshold, few = np.append(scores[order], np.inf)[rank], rank == n
    if few.any():
        least = int(np.ceil((1 - alpha) / alpha * (1 - _ROUNDING)))
        which = [classes[k] for k in np.flatnonzero(few)]
        sentence = (
            f"calibration should hold {least} samples or more{' of each class' * by_class} at "
            f"alpha={alpha:g}, and more where their class mix is not the prior; for want of them, "
            f"every set holds {quote_each(which)}."
        )
        warnings.warn(FewSamplesWarning(sentence, classes=which), stacklevel=3)
    members = new_scores <= threshold * (1 + _ROUNDING)
    members[np.arange(len(new)), (new + base).argmax(axis=1)] = True
    return members


def _rank(n: Any, alpha: float) -> Any:
    return np.ceil((1 - alpha) * (n + 1) * (1 - _ROUNDING)).astype(int)


def _quantile(scores: Floats, alpha: float) -> Floats:
    rank, nothing = _rank(len(scores), alpha), np.full(scores.shape[1:], np.inf)
    return np.sort(scores, axis=0)[rank - 1] if rank <= len(scores) else nothing
