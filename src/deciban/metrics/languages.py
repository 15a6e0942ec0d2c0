"""Language detection: NIST's average cost, C_avg."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote, quote_each, require_fraction
from deciban.exceptions import InputError, UnknownClassError
from deciban.metrics.detection import OperatingPoint
from deciban.metrics.labelled import (
    EvidenceLike,
    Labelled,
    Scores,
    Trials,
    Weights,
    open_labelled,
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
    r"""NIST's C_avg: mean cost of detecting each language among the others.

    .. math:: \frac{1}{N} \sum_T \Big[ C_{miss} P_{target} P_{miss}(T) + C_{fa} \Big(
        \sum_{j \ne T} P_{nontarget} P_{fa}(T, j) + P_{oos} P_{fa}(T, oos) \Big) \Big]

    over the N target classes T. A sample is accepted as T if its detection LLR,
    :math:`\log p(x|T) - \log \sum_{j \ne T} p(x|j) P_j / (1 - P_{target})`, reaches the Bayes
    threshold :math:`\log [C_{fa} (1 - P_{target}) / (C_{miss} P_{target})]`. :math:`P_j` is
    :math:`P_{nontarget} = (1 - P_{target} - P_{oos}) / (N - 1)` for another target class and
    :math:`P_{oos}` for the out-of-set class, which is not a target itself. In a closed set, without
    this class, :math:`P_{oos}` is zero.

    See the 2009 NIST Language Recognition Evaluation Plan. NIST 2017 Language Recognition
    Evaluation Plan: its C_primary is the mean of the normalized cost at ``p_target`` 0.5 and 0.1.

    Parameters
    ----------
    y_true, log_likelihoods, classes, sample_weight
        As for :func:`cross_entropy`; two target classes or more.
    p_target : float, default 0.5
    cost_miss, cost_false_alarm : float, default 1
    out_of_set : label, optional
        The out-of-set class; like every class it has a column.
    p_out_of_set : float, default 0.2
        Its prior probability, in NIST's open set.
    normalize : bool, default False
        Divide by the cost of the better decision without evidence, as LRE 2017 and 2022 do, but
        earlier ones do not.
    minimum : bool, default False
        Take the threshold that is best for these samples, for each target class.

    See Also
    --------
    c_primary, cross_entropy

    Examples
    --------
    >>> c_avg(["en", "fr", "hi"], [[4, 0, 0], [0, 4, 0], [3, 0, 0]], classes=["en", "fr", "hi"])
    0.25
    """
    point = OperatingPoint(cost_miss, cost_false_alarm, p_target)
    open_samples = read_labelled if minimum else open_labelled
    data = open_samples(y_true, log_likelihoods, classes, sample_weight)
    detection = make_detection(point, data.classes, out_of_set, p_out_of_set)
    cost = detection.min_cost(data) if minimum else data.class_means(detection.sample_costs).sum()
    return float(cost / detection.no_evidence if normalize else cost)


class LanguageDetection(NamedTuple):
    """Detect each target class at an operating point."""

    point: OperatingPoint
    prior: Floats  # of each class when it is not the target
    targets: NDArray[np.intp]  # positions of the target classes

    @property
    def no_evidence(self) -> float:
        return math.exp(min(self.point.weights))

    def llr(self, log_likelihoods: Floats) -> Floats:
        """LLRs of each target class against all others, (n_samples, n_targets)."""
        rest = _log_sum_of_others(log_likelihoods + np.log(self.prior))[:, self.targets]
        return np.asarray(log_likelihoods[:, self.targets] - rest + math.log1p(-self.point.prior))

    def sample_costs(self, data: Labelled) -> Floats:
        """Cost of each sample; C_avg is the sum of the class means."""
        own = data.codes[:, None] == self.targets
        accepted = self.llr(data.evidence.log_likelihoods) >= self.point.threshold
        missed, wrong = (own & ~accepted).any(axis=1), (accepted & ~own).sum(axis=1)
        return self._costs(data.codes, missed, wrong)

    def error_costs(self, codes: NDArray[np.intp]) -> Floats:
        """Cost of each sample if it were accepted as one wrong class only."""
        missed = (codes[:, None] == self.targets).any(axis=1)
        return self._costs(codes, missed, np.ones(len(codes)))

    def _costs(
        self, codes: NDArray[np.intp], missed: NDArray[np.bool_], wrong: NDArray[Any]
    ) -> Floats:
        misses = self.point.cost_miss * self.point.prior * missed
        false_alarms = self.point.cost_false_alarm * self.prior[codes] * wrong
        return np.asarray((misses + false_alarms) / len(self.targets))

    def min_cost(self, data: Labelled) -> float:
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
            f"p_out_of_set must be below {rest:g}, since p_target is {point.prior:g}; got "
            f"{outside:g}. Lower one of them."
        )
    prior = np.where(is_target, (rest - outside) / (n_targets - 1), outside)
    return LanguageDetection(point, prior, np.flatnonzero(is_target))


def _log_sum_of_others(x: Floats) -> Floats:
    """Log-sum-exp over the other columns, for each column."""
    total = logsumexp(x, axis=1, keepdims=True)
    rest = total + np.log1p(-np.exp(np.minimum(x - total, -math.log(2))))
    # The largest term is left out of the sum instead: the difference would cancel.
    top, without = x.argmax(axis=1, keepdims=True), x.copy()
    np.put_along_axis(without, top, -np.inf, axis=1)
    np.put_along_axis(rest, top, logsumexp(without, axis=1, keepdims=True), axis=1)
    return rest
