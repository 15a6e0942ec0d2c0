"""Likelihood functions over any number of classes: what they cost and how often they are right."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats, is_dask
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior, choose_least_cost, cost_matrix, log_prior
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled
from deciban.metrics.pav import pool

# What each sample costs, given the positions of the true classes and the prior.
SampleCost = Callable[[Evidence, NDArray[np.intp], Floats], NDArray[Any]]


class PairwiseCosts(NamedTuple):
    """Cllr and Cllr_min of each pair of classes, in bits.

    Attributes
    ----------
    cllr, cllr_min : arrays of shape (n_classes, n_classes)
        Symmetric; the diagonal is NaN.

    See Also
    --------
    pairwise_cllr : Returns it.
    deciban.plots.PairwiseDisplay : Draws it.

    Examples
    --------
    >>> pairwise_cllr([0, 1], [[0.0, -9.0], [-9.0, 0.0]]).cllr_min
    array([[nan,  0.],
           [ 0., nan]])
    """

    cllr: Floats
    cllr_min: Floats


def cross_entropy(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Cross-entropy of the posteriors under a prior: the paper's C_mc for the uniform one.

    :math:`-\sum_i \pi_i E_i \log P(i | x)`, the means over the samples of each class, so that the
    class mix of the samples does not matter.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur.
    log_likelihoods : array of shape (n_samples, n_classes), or Evidence
        Or Dask collections, which need not fit into memory; ``y_true`` has the same partitions.
    prior : array of shape (n_classes,) or mapping, default uniform
    unit : {"nat", "bit", "ban", "deciban"}
    classes : sequence of labels, default those of the evidence, else the sorted labels
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float
        The entropy of the prior where the evidence says nothing.

    See Also
    --------
    decompose : Its parts: calibration and discrimination.
    cllr : Two classes at even odds, in bits.
    brier : Bounded, also where the true class is ruled out.

    Examples
    --------
    >>> round(cross_entropy([0, 1, 2], [[0, 0, 0]] * 3, unit="bit"), 4)
    1.585
    """
    nats = _mean_cost(_log_loss, y_true, log_likelihoods, prior, classes, sample_weight)
    return float(from_nats(nats, unit))


def _log_loss(evidence: Evidence, codes: NDArray[np.intp], prior: Floats) -> Floats:
    return -evidence.log_posterior(prior)[np.arange(len(codes)), codes]


def brier(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Brier score of the posteriors under a prior, from 0, which is perfect, to 2.

    :math:`\sum_i \pi_i E_i \sum_k (P(k | x) - [k = i])^2`, the means over the samples of each
    class: the sum over all classes, as Brier (1950) has it. For two it is twice the squared error
    of one posterior.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.

    Returns
    -------
    float

    See Also
    --------
    cross_entropy : Has no upper limit: what is ruled out must not be true.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> brier([0, 1], [[0.0, 0.0], [0.0, 0.0]])
    0.5
    """
    return _mean_cost(_squared_error, y_true, log_likelihoods, prior, classes, sample_weight)


def _squared_error(evidence: Evidence, codes: NDArray[np.intp], prior: Floats) -> Floats:
    error = evidence.posterior(prior)
    error[np.arange(len(error)), codes] -= 1
    return np.asarray((error**2).sum(axis=1))


def accuracy(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    costs: Any = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Fraction of right decisions, each class counted by its prior.

    :math:`\sum_i \pi_i P(\mathrm{decide}\ i | i)`.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`. The uniform prior decides by maximum likelihood.
    costs : array of shape (n_classes, n_classes), optional
        As for :meth:`deciban.Evidence.decide`.

    Returns
    -------
    float

    See Also
    --------
    expected_cost : Where errors do not all cost the same.
    deciban.Evidence.decide : The decisions.

    Examples
    --------
    >>> accuracy([0, 1, 1], [[1, 0], [1, 0], [0, 1]])
    0.75
    """
    is_right = partial(_is_right, costs)
    return _mean_cost(is_right, y_true, log_likelihoods, prior, classes, sample_weight)


def _is_right(
    costs: Any, evidence: Evidence, codes: NDArray[np.intp], prior: Floats
) -> NDArray[np.bool_]:
    return _decide(evidence, prior, costs) == codes


def expected_cost(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    costs: Any,
    *,
    prior: Prior = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Average cost of the Bayes decisions under a prior and costs.

    :math:`\sum_i \pi_i E_i C_{i, d(x)}`, with d(x) the decision for a sample.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.
    costs : array of shape (n_classes, n_classes)
        ``costs[i, j]`` is the cost of deciding for class j when class i is true.

    Returns
    -------
    float

    See Also
    --------
    deciban.Evidence.decide : The decisions.
    detection_cost : Two classes, normalized.

    Examples
    --------
    >>> expected_cost([0, 1, 1], [[1, 0], [1, 0], [0, 1]], [[0, 1], [1, 0]])
    0.25
    """
    cost = partial(_decision_cost, costs)
    return _mean_cost(cost, y_true, log_likelihoods, prior, classes, sample_weight)


def _decision_cost(
    costs: Any, evidence: Evidence, codes: NDArray[np.intp], prior: Floats
) -> Floats:
    C = cost_matrix(costs, evidence.classes)
    return np.asarray(C[codes, _decide(evidence, prior, costs)])


def pairwise_cllr(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> PairwiseCosts:
    """Cllr and Cllr_min of the LLRs of each pair of classes, on the samples of these two.

    Parameters
    ----------
    y_true, log_likelihoods, classes, sample_weight
        As for :func:`cross_entropy`.

    Returns
    -------
    PairwiseCosts

    See Also
    --------
    cllr : Cost for two classes.
    deciban.plots.PairwiseDisplay : Draws it.

    Examples
    --------
    >>> pairwise_cllr([0, 1], [[0.0, 0.0], [0.0, 0.0]]).cllr
    array([[nan,  1.],
           [ 1., nan]])
    """
    if is_dask(y_true, log_likelihoods):
        from deciban.metrics.dask_collections import open_collections
        from deciban.metrics.pairs_in_parts import pairwise_costs_in_parts, tally_pairs

        data = open_collections(y_true, [log_likelihoods], None, classes, sample_weight)
        return pairwise_costs_in_parts(data, tally_pairs(data))[0]
    return pairwise_costs(read_labelled(y_true, log_likelihoods, classes, sample_weight))


def pairwise_costs(data: Labelled) -> PairwiseCosts:
    """Cllr and Cllr_min of each pair of classes of samples that were read."""
    D = data.evidence.n_classes
    nats, smallest = np.empty((D, D)), np.empty((D, D))
    for k in range(D):
        llr = data.llr_of_class(k, range(D))
        nats[k] = np.average(softplus(-llr), axis=0, weights=data.shares_in_class(k))
        smallest[k] = llr.min(axis=0)
    actual = np.asarray(from_nats((nats + nats.T) / 2, "bit"))
    minimum = np.zeros((D, D))  # zero where the LLRs of the two classes do not overlap
    for i, j in np.argwhere(np.triu(~(smallest > -smallest.T), 1)).tolist():
        minimum[i, j] = minimum[j, i] = cost_of_blocks(pool(data.pair(i, j)))
    for table in (actual, minimum):
        np.fill_diagonal(table, np.nan)
    return PairwiseCosts(actual, minimum)


def _mean_cost(
    cost: SampleCost,
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    prior: Prior,
    classes: Sequence[Hashable] | None,
    sample_weight: Weights,
) -> float:
    """What samples cost on average, each class counted by its prior."""
    if is_dask(y_true, log_likelihoods):
        from deciban.metrics.dask_collections import open_collections

        parts = open_collections(y_true, [log_likelihoods], None, classes, sample_weight)
        p = np.exp(log_prior(prior, parts.classes, 1)[0])
        (means,) = parts.mean_by_class(partial(_cost_of_rows, cost, parts.classes, p))
        return float(p @ means)
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.evidence.classes, 1)[0])
    return float(p @ data.mean_by_class(cost(data.evidence, data.codes, p)))


def _cost_of_rows(
    cost: SampleCost, classes: tuple[Hashable, ...], prior: Floats, rows: Any
) -> list[NDArray[Any]]:
    from deciban.metrics.partitions import evidence_of

    return [cost(evidence_of(rows.evidence[0], classes), rows.codes, prior)]


def _decide(evidence: Evidence, prior: Floats, costs: Any) -> NDArray[np.intp]:
    """Position of the class to decide for, for each sample."""
    return choose_least_cost(evidence.log_posterior(prior), evidence.classes, costs, None)
