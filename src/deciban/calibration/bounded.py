"""Empirical lower and upper bounds: no more evidence than the data can support."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from deciban._persistence.registry import register
from deciban._validation import is_number
from deciban.calibration.affine import SeparableWarning, fresh_calibrator
from deciban.calibration.base import Calibrator
from deciban.calibration.scores import Reader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Scores


@register(_reader=Reader, calibrator_=Calibrator, bounds_="D D")
class BoundedCalibrator(Calibrator):
    """Calibrated evidence that is cut off where the data no longer support it.

    An LLR is supported while Bayes decisions that act on it cost less than decisions without any
    evidence, were there one more misleading sample of each class than there are (the empirical
    lower and upper bounds of Vergeer et al.). For more than two classes each two have their bound,
    found on the samples of these two, and no class is put further below the best one than the
    bound of these two allows. With many classes of few samples each that leaves little: the
    posterior of the best of D classes with n samples each stays below 1 / (1 + (D - 1) / (n + 1)).

    Parameters
    ----------
    calibrator : calibrator, default AffineCalibrator()
    misleading : float, default 1
        How many misleading samples of each class to reckon with. Weights count samples: a sample
        of weight two is two.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Of ``predict_proba``. It is not part of the evidence.
    fuse : bool, optional
        Whether the columns are scores of several systems, to be fused by logistic regression. By
        default where they are not one for each class nor one LLR, with a warning.

    Attributes
    ----------
    calibrator_ : calibrator
        Fitted; gives evidence without bounds.
    bounds_ : array of shape (n_classes, n_classes)
        ``bounds_[i, j]`` is the largest LLR of class i against class j, in nats; zero on the
        diagonal. An LLR of two classes lies between ``-bounds_[0, 1]`` and ``bounds_[1, 0]``.
    classes_ : array of shape (n_classes,)
    prior_ : array of shape (n_classes,)
    n_features_in_ : int

    References
    ----------
    Vergeer, van Es, de Jongh, Alberink and Stoel (2016), Numerical likelihood ratios outputted by
    LR systems are often based on extrapolation: when to stop extrapolating?

    Examples
    --------
    >>> from deciban.calibration import IsotonicCalibrator
    >>> llr, y = np.arange(-10.0, 10.0)[:, None], np.arange(20) >= 10
    >>> bounded = BoundedCalibrator(IsotonicCalibrator()).fit(llr, y)
    >>> bounded.evidence([[50.0]]).llr(True, False).round(3)  # log(10): one in ten may mislead
    array([2.303])
    """

    def __init__(
        self,
        calibrator: Any = None,
        *,
        misleading: float = 1.0,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.calibrator = calibrator
        self.misleading = misleading
        self.prior = prior
        self.fuse = fuse

    def _fit(self, evidence: Evidence, truth: np.ndarray, weight: np.ndarray) -> None:
        if not is_number(self.misleading) or not 0 < self.misleading < np.inf:
            raise InputError(
                f"misleading must be a positive number; got {self.misleading!r}. Give 1."
            )
        inner = fresh_calibrator(self.calibrator)
        labels = self.classes_[truth]
        with warnings.catch_warnings():  # what is separable is bounded here
            warnings.simplefilter("ignore", SeparableWarning)
            self.calibrator_ = inner.fit(evidence, labels, sample_weight=weight)
        calibrated = self.calibrator_.evidence(evidence)
        D = evidence.n_classes
        scores = [[_scores(calibrated, truth, weight, i, j, k) for k in (i, j)]
                  for i in range(D) for j in range(D) if i != j]  # fmt: skip
        self.bounds_ = np.zeros((D, D))
        self.bounds_[~np.eye(D, dtype=bool)] = [
            upper_bound(target, other, self.misleading) for target, other in scores
        ]

    def _calibrated(self, evidence: Evidence) -> Evidence:
        values = self.calibrator_.evidence(evidence).log_likelihoods
        values = values - values.max(axis=1, keepdims=True)
        best = values.argmax(axis=1)
        return Evidence(np.maximum(values, -self.bounds_[best]), evidence.classes)

    def _require_whole(self) -> None:
        super()._require_whole()
        inner = self.calibrator_
        fitted = "classes_" in vars(inner)
        if not fitted or inner.classes_.tolist() != self.classes_.tolist():
            raise ValueError("a calibrator of other classes")
        if inner.n_features_in_ != len(self.classes_):
            raise ValueError("a calibrator of other scores")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.calibrator, BaseEstimator):
            tags.classifier_tags = get_tags(self.calibrator).classifier_tags
        return tags


def upper_bound(target: Scores, other: Scores, misleading: float) -> float:
    """The LLR from which on decisions that act on LLRs would cost more than rejecting all.

    At the threshold t, in units of the cost of a miss, they cost P_miss(t) + e^t P_fa(t) with the
    misleading samples counted in; to reject all costs 1. Both rates only change where an LLR
    occurs, so that the first t at which the cost reaches 1 is found exactly.
    """
    n, m = _count(target), _count(other)
    both = np.concatenate([target.llr, other.llr])
    steps = np.unique(np.concatenate([[0.0], both[(both > 0) & (both < np.inf)]]))
    # The rates between two steps: a sample on the threshold is accepted, above it is not.
    p_hit = (1 - target.below(steps, inclusive=True)) * n / (n + misleading)
    p_false_alarm = ((1 - other.below(steps, inclusive=True)) * m + misleading) / (m + misleading)
    with np.errstate(divide="ignore"):
        crossing = np.log(p_hit) - np.log(p_false_alarm)
    k = int(np.argmax(crossing < np.append(steps[1:], np.inf)))
    return float(max(steps[k], crossing[k]))


def _scores(
    evidence: Evidence, truth: np.ndarray, weight: np.ndarray, i: int, j: int, k: int
) -> Scores:
    """LLRs of class i against class j on the samples of class k."""
    rows = np.flatnonzero(truth == k)
    return Scores(evidence[rows].llr(evidence.classes[i], evidence.classes[j]), weight[rows])


def _count(scores: Scores) -> float:
    return float(len(scores.llr) if scores.weight is None else scores.weight.sum())
