"""Read true classes together with evidence or LLRs.

Rows of pandas objects are matched by their index, columns by class names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats, column_names, is_dask, read_llrs
from deciban._validation.labels import (
    align_by_index,
    encode_labels,
    factorize_labels,
    read_labels,
    read_weights,
)
from deciban._validation.scalars import quote, quote_each
from deciban.evidence import Evidence
from deciban.exceptions import InputError, UnknownClassError

EvidenceLike = ArrayLike | Evidence  # LLRs, log-likelihoods, or evidence itself
Weights = ArrayLike | None
Terms = Callable[[Floats, int], NDArray[Any]]  # costs of LLRs in the first (0) or second (1) class
_FEW = 20  # with fewer samples, all LLRs may lie between 0 and 1 by chance


class ProbabilityWarning(UserWarning):
    """Numbers that should be LLRs look like probabilities or likelihood ratios."""


@dataclass(frozen=True)
class Scores:
    """LLRs in one class, with or without weights."""

    llr: Floats
    weight: Floats | None = None

    def mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weight))

    def below(self, at: Floats, *, inclusive: bool = False) -> Floats:
        """Fraction of the mass below each point, or up to it."""
        side: Literal["left", "right"] = "right" if inclusive else "left"
        if self.weight is None:  # sorting numbers is far faster than sorting positions
            return np.searchsorted(np.sort(self.llr), at, side) / len(self.llr)
        order = np.argsort(self.llr)
        mass = np.concatenate([[0.0], np.cumsum(self.weight[order])])
        return mass[np.searchsorted(self.llr[order], at, side)] / mass[-1]


@dataclass(frozen=True)
class Trials:
    """LLRs in favor of ``pos_label``, split by the true class; weights in each sum to one."""

    target: Scores
    other: Scores
    pos_label: Hashable = 1
    other_label: Hashable = 0

    def means(self, costs: Sequence[Terms]) -> Floats:
        """Mean of each cost over the others and over the targets, (n_costs, 2)."""
        sides = (self.other, 0), (self.target, 1)
        return np.array([[side.mean(cost(side.llr, t)) for side, t in sides] for cost in costs])

    @cached_property
    def in_order(self) -> tuple[Floats, Floats | None, NDArray[np.intp]]:
        """LLRs and weights, targets first, and the positions that sort them, tied targets first.

        Without weights the LLRs in each class are sorted first: sorting numbers and merging two
        runs is far faster than sorting positions.
        """
        weight = self.weight
        if weight is None:
            both = np.concatenate([np.sort(self.target.llr), np.sort(self.other.llr)])
        else:
            both = self.llr
        return both, weight, np.argsort(both, kind="stable")

    @property
    def llr(self) -> Floats:
        return np.concatenate([self.target.llr, self.other.llr])

    @property
    def y_true(self) -> NDArray[np.intp]:
        return np.repeat([1, 0], [len(self.target.llr), len(self.other.llr)])

    @property
    def weight(self) -> Floats | None:
        if self.target.weight is None or self.other.weight is None:
            return None
        return np.concatenate([self.target.weight, self.other.weight])


@dataclass(frozen=True)
class Labelled:
    """Evidence, and the position of each sample's true class among its classes."""

    evidence: Evidence
    codes: NDArray[np.intp]
    weight: Floats | None = None

    @property
    def classes(self) -> tuple[Hashable, ...]:
        return self.evidence.classes

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.bincount(self.codes, minlength=self.evidence.n_classes)

    @property
    def weights(self) -> Floats:
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @property
    def mass(self) -> Floats:
        D = self.evidence.n_classes
        return np.asarray(np.bincount(self.codes, self.weights, D), dtype=np.float64)

    @property
    def sizes(self) -> Floats:
        return class_sizes(self.codes, self.weights)

    @cached_property
    def rows_by_class(self) -> list[NDArray[np.intp]]:
        return split_by_class(self.codes, self.evidence.n_classes)

    def select(self, rows: NDArray[Any]) -> Labelled:
        weight = None if self.weight is None else self.weight[rows]
        return Labelled(self.evidence[rows], self.codes[rows], weight)

    def pair(self, a: int, b: int) -> Trials:
        """Trials of class ``a`` against class ``b``, by position, on the samples of both."""
        target, other = (
            Scores(sign * self.llr_of_class(k, [against])[:, 0], self.shares_in_class(k))
            for sign, k, against in ((1, a, b), (-1, b, a))
        )
        return Trials(target, other, self.evidence.classes[a], self.evidence.classes[b])

    def llr_of_class(self, k: int, against: Sequence[int]) -> Floats:
        """LLRs in favor of class k against other classes, on the samples of k."""
        rows, values = self.rows_by_class[k], self.evidence.log_likelihoods
        with np.errstate(invalid="ignore", over="ignore"):
            llr = values[rows, k][:, None] - values[np.ix_(rows, np.asarray(against))]
        # A sample that rules out its true class and the other class misleads without limit.
        return np.where(np.isnan(llr), -np.inf, llr)

    def shares_in_class(self, k: int) -> Floats | None:
        return None if self.weight is None else share_out(self.weight[self.rows_by_class[k]])

    def mean_by_class(self, values: NDArray[Any]) -> Floats:
        with np.errstate(invalid="ignore"):
            terms = self.weights * values
        return np.bincount(self.codes, terms, self.evidence.n_classes) / self.mass

    def class_means(self, cost: Callable[[Labelled], NDArray[Any]]) -> Floats:
        return self.mean_by_class(cost(self))


def class_sizes(codes: NDArray[np.intp], weight: Floats) -> Floats:
    """Effective number of samples in each class: weight two counts as two samples.

    Weights with a mean below one are relative: they are scaled to a mean of one.
    """
    mass = np.asarray(np.bincount(codes, weight), dtype=np.float64)
    with np.errstate(over="ignore"):
        return mass * max(1.0, len(codes) / float(mass.sum()))


def split_by_class(codes: NDArray[np.intp], n_classes: int) -> list[NDArray[np.intp]]:
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    return np.split(np.argsort(codes, kind="stable"), ends[:-1])


def read_labelled(
    y_true: ArrayLike,
    evidence: EvidenceLike,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
    *,
    every_class: bool = True,
) -> Labelled:
    """Read true classes and evidence, or log-likelihoods of shape (n_samples, n_classes).

    A frame whose columns are named after the classes is matched by name. By default the evidence
    has the ``classes``, else they are the sorted labels.
    """
    y_true, table, sample_weight = align_by_index(
        y_true=y_true, evidence=evidence, sample_weight=sample_weight
    )
    if not hasattr(table, "__len__"):
        raise InputError(
            f"log_likelihoods must be a table; got {quote(table)}. Put each sample on a row."
        )
    labels = read_labels(y_true, len(table))
    evidence = _as_evidence(table, classes, labels)
    weight = read_weights(sample_weight, len(labels))
    data = Labelled(evidence, encode_labels(labels, evidence.classes), weight)
    missing = [evidence.classes[k] for k in np.flatnonzero(data.counts == 0)]
    if missing and every_class:
        raise lacks_classes(missing)
    return data


def open_labelled(
    y_true: ArrayLike,
    evidence: EvidenceLike,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> Any:
    """Read samples, or open Dask collections; both have ``classes`` and ``class_means``."""
    if is_dask(y_true, evidence):
        from deciban.metrics.dask_collections import open_collections

        return open_collections(y_true, [evidence], None, classes, sample_weight)
    return read_labelled(y_true, evidence, classes, sample_weight)


def lacks_classes(missing: Sequence[Hashable]) -> InputError:
    return InputError(
        f"y_true must hold every class; it lacks {quote_each(missing)}. Add samples of it, or "
        f"leave it out with evidence.restrict."
    )


def _as_evidence(table: Any, classes: Sequence[Hashable] | None, labels: NDArray[Any]) -> Evidence:
    if isinstance(table, Evidence):
        return table if classes is None else table.restrict(classes)
    if classes is None:
        found, _ = factorize_labels(labels)
        if not found:
            raise InputError("y_true must hold samples of every class; got none. Add samples.")
        names = column_names(table)
        numbered = names is None or names == tuple(range(len(names)))
        if not numbered and set(map(str, names or ())) != set(map(str, found)):
            return Evidence(table)  # columns without samples, or samples without a column
        try:
            classes = sorted(found) if numbered else found  # type: ignore[type-var]
        except TypeError:
            raise InputError(
                f"classes must be given where labels have no order; got {quote_each(found)}. "
                f"Pass classes in the order of the columns."
            ) from None
    return Evidence(table, classes)


def read_trials(
    y_true: ArrayLike,
    llr: EvidenceLike,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
    other_label: Hashable | None = None,
    *,
    in_nats: bool = False,
) -> Trials:
    """Read true classes and LLRs in favor of ``pos_label``; both classes must occur.

    The LLRs are against ``other_label``, by default the only other class; samples from further
    classes are left out. If values matter, not only their order (``in_nats``), numbers that look
    like probabilities raise a :class:`ProbabilityWarning`.
    """
    y_true, llr, sample_weight = align_by_index(y_true=y_true, llr=llr, sample_weight=sample_weight)
    if isinstance(llr, Evidence):
        other_label = _other_class(llr, pos_label, other_label)
        scores = llr.llr(pos_label, other_label)
    else:
        scores = read_llrs(llr)
        few_or_tied = len(scores) < _FEW or scores.min() == scores.max()
        if in_nats and not few_or_tied and scores.min() >= 0 and scores.max() <= 1:
            warnings.warn(
                "llr should be natural logarithms of likelihood ratios; all of them lie between 0 "
                "and 1, as probabilities do. Take the logarithm of the ratio first, or use "
                "Evidence.from_posteriors.",
                ProbabilityWarning,
                stacklevel=4,
            )
    labels = read_labels(y_true, len(scores))
    weight = read_weights(sample_weight, len(scores))
    classes = llr.classes if isinstance(llr, Evidence) else None
    rows, other_label = _rows_of_both(labels, pos_label, other_label, classes)
    target, other = (
        Scores(scores[one], None if weight is None else share_out(weight[one])) for one in rows
    )
    return Trials(target, other, pos_label, other_label)


def open_trials(
    y_true: ArrayLike,
    llr: EvidenceLike,
    sample_weight: Weights = None,
    pos_label: Hashable = 1,
    *,
    in_nats: bool = False,
) -> Any:
    """Read trials, or open Dask collections; both have ``means`` and can be pooled."""
    if is_dask(y_true, llr):
        from deciban.metrics.dask_collections import open_dask_trials

        return open_dask_trials(y_true, llr, sample_weight, pos_label)
    return read_trials(y_true, llr, sample_weight, pos_label, in_nats=in_nats)


def share_out(weight: Floats) -> Floats:
    """Weights that sum to one, however large or small they are."""
    weight = weight / weight.max()
    return weight / weight.sum()


def _other_class(evidence: Evidence, pos_label: Hashable, other_label: Hashable | None) -> Hashable:
    if pos_label not in evidence.classes:
        raise UnknownClassError(
            f"pos_label must be one of the classes {quote_each(evidence.classes)}; got "
            f"{quote(pos_label)}. Pass pos_label={quote(evidence.classes[1])}, or another class.",
            label=pos_label,
            classes=evidence.classes,
        )
    if other_label is not None:
        return other_label
    if evidence.n_classes != 2:
        raise InputError(
            f"evidence must be over two classes; got {evidence.n_classes}. "
            f"Choose two of them with evidence.restrict, or by other_label in a display."
        )
    return next(label for label in evidence.classes if label != pos_label)


def _rows_of_both(
    labels: NDArray[Any],
    pos_label: Hashable,
    other_label: Hashable | None,
    classes: tuple[Hashable, ...] | None,
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], Hashable]:
    is_target = _equal(labels, pos_label)
    if other_label is None and is_target.any():
        is_other = ~is_target
        first = labels[np.argmax(is_other) : np.argmax(is_other) + 1].tolist()[0]
        if not _equal(labels[is_other], first).all():
            raise InputError(
                f"y_true must hold two classes; got {_quote_distinct(labels)}. "
                f"Choose two of them, or use a metric for any number of classes."
            )
        other_label = first
    else:
        is_other = _equal(labels, other_label)
    if classes is not None and not (is_target | is_other).all():
        encode_labels(labels, classes)  # raises for a misspelled label
    if not (is_target.any() and is_other.any()):
        raise InputError(
            f"y_true must hold both classes, one of them pos_label {quote(pos_label)}; got "
            f"{_quote_distinct(labels)}. Add samples of the other class, or name the class that "
            f"the LLR favors as pos_label."
        )
    return (np.flatnonzero(is_target), np.flatnonzero(is_other)), other_label


def _equal(labels: NDArray[Any], label: Hashable) -> NDArray[np.bool_]:
    if labels.dtype == object:  # NumPy would compare with the entries of a tuple
        return np.array([one == label for one in labels.tolist()], dtype=bool)
    equal = np.asarray(labels == label, dtype=bool)
    # NumPy compares text with numbers as a whole.
    return equal if equal.shape == labels.shape else np.zeros(labels.shape, dtype=bool)


def _quote_distinct(labels: NDArray[Any]) -> str:
    return quote_each(dict.fromkeys(labels.tolist()), most=5)
