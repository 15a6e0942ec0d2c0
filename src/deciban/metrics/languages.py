"""Each of several languages detected among the others: NIST's average cost, C_avg."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from deciban._validation.arrays import Floats, is_dask
from deciban._validation.scalars import quote, quote_each, require_fraction
from deciban.exceptions import InputError, UnknownClassError
from deciban.metrics.detection import OperatingPoint
from deciban.metrics.labelled import (
    EvidenceLike,
    Labelled,
    Scores,
    Trials,
    Weights,
    read_labelled,
    share_out,
)
from deciban.metrics.pav import pool


def c_avg(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    *,
    p_target: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    out_of_set: Hashable | None = None,
    p_out_of_set: float = 0.2,
    normalize: bool = False,
    minimum: bool = False,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> float:
    r"""Average cost of detecting each class among the others, NIST's C_avg for languages.

    .. math:: \frac{1}{N} \sum_T \Big[ C_{miss} P_{target} P_{miss}(T) + C_{fa} \Big(
        \sum_{j \ne T} P_{nontarget} P_{fa}(T, j) + P_{oos} P_{fa}(T, oos) \Big) \Big]

    over the N target classes T. A sample is taken for T where its detection LLR,
    :math:`\log p(x|T) - \log \sum_{j \ne T} p(x|j) P_j / (1 - P_{target})`, reaches the Bayes
    threshold :math:`\log [C_{fa} (1 - P_{target}) / (C_{miss} P_{target})]`. :math:`P_j` is
    :math:`P_{nontarget} = (1 - P_{target} - P_{oos}) / (N - 1)` for another target class and
    :math:`P_{oos}` for the class of all that is out of the set, which is not a target itself.
    Without such a class (a closed set) :math:`P_{oos}` is zero.

    Parameters
    ----------
    y_true, log_likelihoods, classes, sample_weight
        As for :func:`cross_entropy`; two target classes or more.
    p_target : float, default 0.5
    cost_miss, cost_false_alarm : float, default 1
    out_of_set : label, optional
        The class of all that is out of the set; like every class it has a column.
    p_out_of_set : float, default 0.2
        Its prior probability, in NIST's open set.
    normalize : bool, default False
        Divide by the cost of the better decision without evidence. C_avg of LRE 2017 and 2022 is
        normalized, that of earlier ones is not.
    minimum : bool, default False
        Whether each target class has the threshold that is best for these samples.

    Returns
    -------
    float

    See Also
    --------
    c_primary : NIST's cost for two classes.
    cross_entropy : Cost over all priors, without a threshold.

    References
    ----------
    The 2009 NIST Language Recognition Evaluation Plan. NIST 2017 Language Recognition Evaluation
    Plan: its C_primary is the mean of the normalized cost at ``p_target`` 0.5 and 0.1.

    Examples
    --------
    >>> c_avg(["en", "fr", "hi"], [[4, 0, 0], [0, 4, 0], [3, 0, 0]], classes=["en", "fr", "hi"])
    0.25
    """
    point = OperatingPoint(cost_miss, cost_false_alarm, p_target)
    if is_dask(y_true, log_likelihoods) and not minimum:
        from deciban.metrics.dask_collections import open_collections

        parts = open_collections(y_true, [log_likelihoods], None, classes, sample_weight)
        detection = make_detection(point, parts.classes, out_of_set, p_out_of_set)
        of_rows = partial(_costs_of_rows, detection, parts.classes)
        cost = float(parts.mean_by_class(of_rows).sum())
    else:
        data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
        detection = make_detection(point, data.evidence.classes, out_of_set, p_out_of_set)
        cost = detection.least_cost(data) if minimum else detection.cost(data)
    return cost / detection.no_evidence if normalize else cost


def _costs_of_rows(
    detection: LanguageDetection, classes: tuple[Hashable, ...], rows: Any
) -> list[Floats]:
    from deciban.metrics.partitions import evidence_of

    return [detection.sample_costs(Labelled(evidence_of(rows.evidence[0], classes), rows.codes))]


class LanguageDetection(NamedTuple):
    """Detection of each target class at an operating point."""

    point: OperatingPoint
    prior: Floats  # of each class where it is not the target
    targets: NDArray[np.intp]  # positions of the target classes

    @property
    def no_evidence(self) -> float:
        """Cost of the better decision without evidence."""
        return math.exp(min(self.point.weights))

    def llr(self, log_likelihoods: Floats) -> Floats:
        """LLRs of each target class against all others, (n_samples, n_targets)."""
        rest = _log_sum_of_others(log_likelihoods + np.log(self.prior))[:, self.targets]
        return np.asarray(log_likelihoods[:, self.targets] - rest + math.log1p(-self.point.prior))

    def cost(self, data: Labelled) -> float:
        """C_avg of the decisions at the Bayes threshold."""
        return float(data.mean_by_class(self.sample_costs(data)).sum())

    def sample_costs(self, data: Labelled, *, of_error: bool = False) -> Floats:
        """What each sample adds to the mean of its class; C_avg is the sum of these means.

        With ``of_error``, what it would add if it were taken for one wrong class alone.
        """
        own = data.codes[:, None] == self.targets
        if of_error:
            missed, wrong = own.any(axis=1), np.ones(len(own))
        else:
            accepted = self.llr(data.evidence.log_likelihoods) >= self.point.threshold
            missed, wrong = (own & ~accepted).any(axis=1), (accepted & ~own).sum(axis=1)
        misses = self.point.cost_miss * self.point.prior * missed
        false_alarms = self.point.cost_false_alarm * self.prior[data.codes] * wrong
        return np.asarray((misses + false_alarms) / len(self.targets))

    def least_cost(self, data: Labelled) -> float:
        """C_avg with the best threshold for each target class."""
        llr, share = self.llr(data.evidence.log_likelihoods), data.weights / data.mass[data.codes]
        costs = []
        for column, k in zip(llr.T, self.targets, strict=True):
            own, weight = data.codes == k, share * self.prior[data.codes]
            other = Scores(column[~own], share_out(weight[~own]))
            hull = pool(Trials(Scores(column[own], share[own]), other)).hull()
            costs.append(np.min(self.point.weights.cost(*hull, normalize=False)))
        return float(np.mean(costs))


def make_detection(
    point: OperatingPoint,
    classes: tuple[Hashable, ...],
    out_of_set: Hashable | None = None,
    p_out_of_set: float = 0.2,
) -> LanguageDetection:
    """Check the class that is out of the set, and find the prior of each class."""
    if out_of_set is not None and out_of_set not in classes:
        raise UnknownClassError(
            f"out_of_set must be one of the classes {quote_each(classes)}; got "
            f"{quote(out_of_set)}. Add a column of its log-likelihoods.",
            label=out_of_set,
            classes=classes,
        )
    is_target = np.array([out_of_set is None or label != out_of_set for label in classes])
    n_targets, rest = int(is_target.sum()), 1 - point.prior
    if n_targets < 2:
        raise InputError(f"classes must hold two targets or more; got {n_targets}. Add one.")
    outside = 0.0 if out_of_set is None else require_fraction(p_out_of_set, "p_out_of_set")
    if outside >= rest:
        raise InputError(
            f"p_out_of_set must be below {rest:g}, what a p_target of {point.prior:g} leaves; got "
            f"{outside:g}. Lower one of them."
        )
    prior = np.where(is_target, (rest - outside) / (n_targets - 1), outside)
    return LanguageDetection(point, prior, np.flatnonzero(is_target))


def _log_sum_of_others(x: Floats) -> Floats:
    """Log-sum-exp over the other columns, of each column."""
    total = logsumexp(x, axis=1, keepdims=True)
    rest = total + np.log1p(-np.exp(np.minimum(x - total, -math.log(2))))
    # The largest term is left out of the sum instead: the difference would cancel.
    top, without = x.argmax(axis=1, keepdims=True), x.copy()
    np.put_along_axis(without, top, -np.inf, axis=1)
    np.put_along_axis(rest, top, logsumexp(without, axis=1, keepdims=True), axis=1)
    return rest
