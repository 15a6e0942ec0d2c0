"""Likelihood functions over any number of classes: what they cost and how often they are right."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deciban._validation import column_names, index_of, quote_each
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.decisions import cost_matrix
from deciban.evidence.priors import log_prior
from deciban.exceptions import InputError
from deciban.metrics.costs import cost_of, cost_of_blocks
from deciban.metrics.labelled import (
    Scores,
    Trials,
    as_label_vector,
    as_weights,
    warn_if_not_aligned,
)
from deciban.metrics.pav import pool


@dataclass(frozen=True)
class Labelled:
    """Evidence beside the position of the true class of each sample."""

    evidence: Evidence
    truth: np.ndarray
    weight: np.ndarray | None

    def mean_by_class(self, values: np.ndarray) -> np.ndarray:
        """Weighted mean of the values over the samples of each class."""
        weight = np.ones(len(values)) if self.weight is None else self.weight / self.weight.max()
        D = self.evidence.n_classes
        with np.errstate(invalid="ignore"):
            total = np.bincount(self.truth, weights=weight * values, minlength=D)
        return total / np.bincount(self.truth, weights=weight, minlength=D)


class PairwiseCosts(NamedTuple):
    """Cllr and Cllr_min in bits of each two classes; (n_classes, n_classes), diagonal NaN."""

    cllr: np.ndarray
    cllr_min: np.ndarray


def cross_entropy(
    y_true: Any,
    log_likelihoods: Any,
    *,
    prior: Any = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Cross-entropy of the posteriors under a prior: the paper's C_mc for the uniform one.

    :math:`- sum_i p_i E_i log P(i | x)`, the means over the samples of each class, so that the
    class mix of the samples does not matter.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
    prior : array of shape (n_classes,) or mapping, default uniform
    unit : {"nat", "bit", "ban", "deciban"}
    classes : sequence of labels, default those of the evidence, else the sorted labels
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> round(cross_entropy([0, 1, 2], [[0, 0, 0]] * 3, unit="bit"), 4)
    1.585
    """
    data = labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    loss = -data.evidence.log_posterior(p)[np.arange(len(data.truth)), data.truth]
    return float(from_nats(p @ data.mean_by_class(loss), unit))


def accuracy(
    y_true: Any,
    log_likelihoods: Any,
    *,
    prior: Any = None,
    costs: Any = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Fraction of right decisions, each class counted by its prior.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`. The uniform prior decides by maximum likelihood.
    costs : array of shape (n_classes, n_classes), optional
        As for :meth:`Evidence.decide`.

    Examples
    --------
    >>> accuracy([0, 1, 1], [[1, 0], [1, 0], [0, 1]])
    0.75
    """
    data = labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    right = (_decided(data, costs, p) == data.truth).astype(float)
    return float(p @ data.mean_by_class(right))


def expected_cost(
    y_true: Any,
    log_likelihoods: Any,
    costs: Any,
    *,
    prior: Any = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> float:
    """Average cost of the Bayes decisions under a prior and costs.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.
    costs : array of shape (n_classes, n_classes)
        ``costs[i, j]`` is what it costs to decide for class j when class i is true.

    Examples
    --------
    >>> expected_cost([0, 1, 1], [[1, 0], [1, 0], [0, 1]], [[0, 1], [1, 0]])
    0.25
    """
    data = labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    C = cost_matrix(costs, data.evidence.classes)
    return float(p @ data.mean_by_class(C[data.truth, _decided(data, costs, p)]))


def pairwise_cllr(
    y_true: Any,
    log_likelihoods: Any,
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> PairwiseCosts:
    """Cllr and Cllr_min of the LLRs of each two classes, on the samples of these two.

    Parameters
    ----------
    y_true, log_likelihoods, classes, sample_weight
        As for :func:`cross_entropy`.

    Examples
    --------
    >>> pairwise_cllr([0, 1], [[0.0, 0.0], [0.0, 0.0]]).cllr
    array([[nan,  1.],
           [ 1., nan]])
    """
    data = labelled(y_true, log_likelihoods, classes, sample_weight)
    names, D = data.evidence.classes, data.evidence.n_classes
    actual, minimum = np.full((D, D), np.nan), np.full((D, D), np.nan)
    of_class = [_of_class(data, k) for k in range(D)]
    for i in range(D):
        for j in range(i):
            pair = Trials(*(_scores(of_class[k], i, j, names) for k in (i, j)))
            actual[i, j] = actual[j, i] = cost_of(pair)
            minimum[i, j] = minimum[j, i] = cost_of_blocks(pool(pair))
    return PairwiseCosts(actual, minimum)


def labelled(
    y_true: Any, log_likelihoods: Any, classes: Sequence[Hashable] | None, sample_weight: Any
) -> Labelled:
    """Evidence and truth, checked: every class must occur among the samples."""
    warn_if_not_aligned(y_true, log_likelihoods)
    if not hasattr(log_likelihoods, "__len__"):
        raise InputError(
            f"log_likelihoods must be a table; got {log_likelihoods!r}. Put one sample on each row."
        )
    n_samples = len(log_likelihoods)
    found, truth = _coded(as_label_vector(y_true, n_samples))
    names = column_names(log_likelihoods)
    if isinstance(log_likelihoods, Evidence):
        evidence = log_likelihoods if classes is None else log_likelihoods.restrict(classes)
    elif classes is None and names is not None and names != tuple(range(len(names))):
        evidence = Evidence(log_likelihoods)  # a frame: its columns are the classes
    else:
        evidence = Evidence(log_likelihoods, _in_order(found) if classes is None else classes)
    positions = [index_of(label, evidence.classes) for label in found]
    missing = [label for label in evidence.classes if label not in found]
    if missing:
        raise InputError(
            f"y_true must hold every class; it lacks {quote_each(missing)}. Add samples of it, or "
            f"leave it out with evidence.restrict."
        )
    return Labelled(evidence, np.array(positions)[truth], as_weights(sample_weight, n_samples))


def _coded(labels: np.ndarray) -> tuple[list[Hashable], np.ndarray]:
    """The distinct labels and the place of each label among them."""
    if labels.dtype != object:
        found, place = np.unique(labels, return_inverse=True)
        return found.tolist(), place
    distinct = list(dict.fromkeys(labels.tolist()))
    place_of = {label: k for k, label in enumerate(distinct)}
    return distinct, np.array([place_of[label] for label in labels.tolist()], dtype=np.intp)


def _in_order(labels: list[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        raise InputError(
            f"classes must be given where labels have no order; got {quote_each(labels)}. "
            f"Pass classes in the order of the columns."
        ) from None


def _decided(data: Labelled, costs: Any, prior: np.ndarray) -> np.ndarray:
    numbered = data.evidence.rename(range(data.evidence.n_classes))
    if costs is not None:
        costs = cost_matrix(costs, data.evidence.classes)
    return numbered.decide(costs, prior)


def _of_class(data: Labelled, k: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Log-likelihoods and weights of the samples of a class."""
    rows = np.flatnonzero(data.truth == k)
    weight = None if data.weight is None else data.weight[rows]
    return data.evidence.log_likelihoods[rows], weight


def _scores(
    of_class: tuple[np.ndarray, np.ndarray | None], i: int, j: int, names: tuple[Hashable, ...]
) -> Scores:
    values, weight = of_class
    with np.errstate(invalid="ignore", over="ignore"):
        llr = values[:, i] - values[:, j]
    if np.isnan(llr).any():  # both are ruled out, which is refused
        llr = Evidence(values, names).llr(names[i], names[j])
    return Scores(llr, weight)
