"""Costs and accuracy of evidence over any number of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._estimation import evidence_of
from deciban._validation.arrays import Floats, is_dask
from deciban.evidence import Unit, from_nats
from deciban.evidence.bayes import Prior, choose_least_cost, cost_matrix, log_prior
from deciban.metrics.costs import cost_of_blocks, softplus
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, open_labelled, read_labelled
from deciban.metrics.pav import pool


def cross_entropy(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Cross-entropy of the posteriors under a prior: the paper's C_mc for the uniform prior.

    :math:`-\sum_i \pi_i E_i \log P(i | x)`, with means over the samples in each class, so that the
    class mix of the samples does not matter. Evidence that says nothing costs the prior's entropy.

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

    See Also
    --------
    decompose, cllr, brier

    Examples
    --------
    >>> round(cross_entropy([0, 1, 2], [[0, 0, 0]] * 3, unit="bit"), 4)
    1.585
    """

    def log_loss(data: Labelled, prior: Floats) -> Floats:
        return -data.evidence.log_posterior(prior)[np.arange(len(data.codes)), data.codes]

    nats = _mean_cost(log_loss, y_true, log_likelihoods, prior, classes, sample_weight)
    return float(from_nats(nats, unit))


def brier(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Brier score of the posteriors under a prior, from 0 (perfect) to 2.

    :math:`\sum_i \pi_i E_i \sum_k (P(k | x) - [k = i])^2`, with means over the samples in each
    class. It is the sum over all classes, as in Brier (1950): for two, twice the squared error of
    one posterior.

    See Brier (1950), Verification of forecasts expressed in terms of probability.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.

    See Also
    --------
    cross_entropy : Unbounded: a class that is ruled out must not be true.

    Examples
    --------
    >>> brier([0, 1], [[0.0, 0.0], [0.0, 0.0]])
    0.5
    """

    def squared_error(data: Labelled, prior: Floats) -> Floats:
        error = data.evidence.posterior(prior)
        error[np.arange(len(error)), data.codes] -= 1
        return np.asarray((error**2).sum(axis=1))

    return _mean_cost(squared_error, y_true, log_likelihoods, prior, classes, sample_weight)


def accuracy(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    prior: Prior = None,
    costs: Any = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Fraction of correct decisions, each class counted by its prior.

    :math:`\sum_i \pi_i P(\mathrm{decide}\ i | i)`.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`. The uniform prior decides by maximum likelihood.
    costs : array of shape (n_classes, n_classes), optional
        As for :meth:`deciban.Evidence.decide`.

    See Also
    --------
    expected_cost, deciban.Evidence.decide

    Examples
    --------
    >>> accuracy([0, 1, 1], [[1, 0], [1, 0], [0, 1]])
    0.75
    """

    def is_correct(data: Labelled, prior: Floats) -> NDArray[np.bool_]:
        return _decide(data, prior, costs) == data.codes

    return _mean_cost(is_correct, y_true, log_likelihoods, prior, classes, sample_weight)


def expected_cost(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    costs: Any,
    *,
    prior: Prior = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Mean cost of the Bayes decisions under a prior and costs.

    :math:`\sum_i \pi_i E_i C_{i, d(x)}`, with the decision d(x) for a sample.

    Parameters
    ----------
    y_true, log_likelihoods, prior, classes, sample_weight
        As for :func:`cross_entropy`.
    costs : array of shape (n_classes, n_classes)
        ``costs[i, j]`` is the cost of deciding for class j when class i is true.

    See Also
    --------
    deciban.Evidence.decide, detection_cost

    Examples
    --------
    >>> expected_cost([0, 1, 1], [[1, 0], [1, 0], [0, 1]], [[0, 1], [1, 0]])
    0.25
    """

    def cost(data: Labelled, prior: Floats) -> Floats:
        C = cost_matrix(costs, data.classes)
        return np.asarray(C[data.codes, _decide(data, prior, costs)])

    return _mean_cost(cost, y_true, log_likelihoods, prior, classes, sample_weight)


def _decide(data: Labelled, prior: Floats, costs: Any) -> NDArray[np.intp]:
    return choose_least_cost(data.evidence.log_posterior(prior), data.classes, costs, None)


def _mean_cost(
    cost: Callable[[Labelled, Floats], NDArray[Any]],
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    prior: Prior,
    classes: Sequence[Hashable] | None,
    sample_weight: Weights,
) -> float:
    """Mean cost, each class counted by its prior."""
    data = open_labelled(y_true, log_likelihoods, classes, sample_weight)
    p = np.exp(log_prior(prior, data.classes, 1)[0])
    return float(p @ data.class_means(lambda part: cost(part, p)))


class PairwiseCosts(NamedTuple):
    """Cllr and Cllr_min for each pair of classes, in bits.

    Attributes
    ----------
    cllr, cllr_min : arrays of shape (n_classes, n_classes)
        Symmetric; the diagonal is NaN.

    See Also
    --------
    pairwise_cllr, deciban.plots.PairwiseDisplay

    Examples
    --------
    >>> pairwise_cllr([0, 1], [[0.0, -9.0], [-9.0, 0.0]]).cllr_min
    array([[nan,  0.],
           [ 0., nan]])
    """

    cllr: Floats
    cllr_min: Floats


def pairwise_cllr(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> PairwiseCosts:
    """Cllr and Cllr_min for each pair of classes, on the samples of these two.

    Parameters
    ----------
    y_true, log_likelihoods, classes, sample_weight
        As for :func:`cross_entropy`.

    See Also
    --------
    cllr, deciban.plots.PairwiseDisplay

    Examples
    --------
    >>> pairwise_cllr([0, 1], [[0.0, 0.0], [0.0, 0.0]]).cllr
    array([[nan,  1.],
           [ 1., nan]])
    """
    if is_dask(y_true, log_likelihoods):
        from deciban.metrics.dask_collections import open_collections
        from deciban.metrics.pav_in_parts import pairwise_costs_in_parts

        data = open_collections(y_true, [log_likelihoods], None, classes, sample_weight)
        return pairwise_costs_in_parts(data)[1][0]
    return pairwise_costs(read_labelled(y_true, log_likelihoods, classes, sample_weight))


def pairwise_costs(data: Labelled) -> PairwiseCosts:
    D = data.evidence.n_classes
    nats, smallest = np.empty((D, D)), np.empty((D, D))
    for k in range(D):
        llr = data.llr_of_class(k, range(D))
        nats[k] = np.average(softplus(-llr), axis=0, weights=data.shares_in_class(k))
        smallest[k] = llr.min(axis=0)

    def min_costs(pairs: list[tuple[int, int]]) -> Iterable[float]:
        return (cost_of_blocks(pool(data.pair(i, j))) for i, j in pairs)

    return tabulate_pairs(nats, smallest, min_costs)


def tabulate_pairs(
    nats: Floats, smallest: Floats, min_costs: Callable[[list[tuple[int, int]]], Iterable[float]]
) -> PairwiseCosts:
    """Costs from LLRs for each class (row) against each other one: their mean cost and minimum.

    ``min_costs`` gives Cllr_min for the pairs whose LLRs overlap; it is zero for all others.
    """
    actual, minimum = np.asarray(from_nats((nats + nats.T) / 2, "bit")), np.zeros_like(nats)
    pairs = [(i, j) for i, j in np.argwhere(np.triu(~(smallest > -smallest.T), 1)).tolist()]
    for (i, j), cost in zip(pairs, min_costs(pairs), strict=True):
        minimum[i, j] = minimum[j, i] = cost
    for table in (actual, minimum):
        np.fill_diagonal(table, np.nan)
    return PairwiseCosts(actual, minimum)


def make_evidence_scorer(
    metric: Callable[..., float] = cross_entropy, *, greater_is_better: bool = False, **options: Any
) -> Callable[..., float]:
    """Scorer for ``cross_val_score``, ``GridSearchCV`` and the like, from a metric.

    It takes estimators with a method ``evidence``, and pipelines that end with one. Their ``prior``
    does not matter: the metric has its own. Every class must occur in each test fold.

    Parameters
    ----------
    metric : callable ``metric(y_true, evidence, **options)``, default :func:`cross_entropy`
        Such as :func:`brier`, :func:`accuracy` or, for two classes, :func:`cllr`.
    greater_is_better : bool, default False
        False for costs: the score is then minus the cost.
    **options
        Passed on to the metric: ``prior``, ``pos_label``, ``unit``, ...

    Returns
    -------
    callable ``scorer(estimator, X, y)``

    See Also
    --------
    deciban.evidence_of : Gives the evidence to score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from deciban import QuadraticDiscriminant
    >>> grid = {"shrinkage": [0.0, 0.1]}
    >>> search = GridSearchCV(QuadraticDiscriminant(), grid, scoring=make_evidence_scorer())
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'shrinkage': 0.1}
    """
    return partial(_score, metric, 1 if greater_is_better else -1, options)


def _score(
    metric: Any, sign: int, options: Any, estimator: Any, X: Any, y: Any, **weights: Any
) -> float:
    return sign * metric(y, evidence_of(estimator, X), **options, **weights)
