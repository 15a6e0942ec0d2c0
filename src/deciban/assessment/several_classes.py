"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from deciban.assessment.proportions import Cells, unseen_rate
from deciban.assessment.two_classes import Point
from deciban.evidence import Evidence
from deciban.evidence.decisions import least_cost
from deciban.metrics.decomposition import AffineJudge, balanced, folds_of
from deciban.metrics.labelled import Labelled

_FOLDS = 5
_MOST_FULL = 20  # classes; the matrix of a hundred has 10,000 entries and takes minutes
_SORTED_BY = 3  # columns of evidence that put samples into an order of their own


@dataclass(frozen=True)
class SampleCosts:
    """What each sample adds to the quantities of several classes.

    The prior is in it: a quantity is the sum over the classes of means over their samples.

    Attributes
    ----------
    truth : array of shape (n_samples,)
    of : dict of arrays of shape (n_samples,)
        ``saving`` is what recalibration saves; it may be below zero.
    mirrored : dict of arrays of shape (n_samples,)
        The same of a sample that is as sure of the runner-up as this one is of its class.
    right : array of shape (n_samples,)
        Whether the likeliest class is the true one.
    n_classes : int
    expected_errors : float
        How many decisions should be wrong, by the posteriors themselves.
    """

    truth: np.ndarray
    of: dict[str, np.ndarray]
    mirrored: dict[str, np.ndarray]
    right: np.ndarray
    n_classes: int
    expected_errors: float

    def total(self, key: str) -> float:
        """A quantity."""
        return class_means(self.of[key], self.truth)

    def by_class(self, keys: list[str]) -> list[np.ndarray]:
        """Of the samples of each class, (n_quantities, n_samples of the class)."""
        table = np.array([self.of[key] for key in keys])
        return [table[:, self.truth == k] for k in range(self.n_classes)]

    def error_rates(self, confidence: float) -> np.ndarray:
        """How much more often than in any resample decisions may be wrong, by class."""
        counts = np.bincount(self.truth, minlength=self.n_classes)
        wrong = np.bincount(self.truth[~self.right], minlength=self.n_classes)
        return np.array(
            [unseen_rate(int(k), int(n), confidence) for k, n in zip(wrong, counts, strict=True)]
        )

    def unseen(self, key: str, rates: np.ndarray) -> np.ndarray:
        """What wrong decisions may add that are more frequent than in any resample, by class.

        They are like those that were seen, and like one right decision turned around.
        """
        counts = np.bincount(self.truth, minlength=self.n_classes)
        wrong = np.bincount(self.truth[~self.right], minlength=self.n_classes)
        right, turned, seen = (
            np.bincount(self.truth[rows], values[rows], self.n_classes)
            for rows, values in (
                (self.right, self.of[key]),
                (self.right, self.mirrored[key]),
                (~self.right, self.of[key]),
            )
        )
        right, turned = (total / np.maximum(counts - wrong, 1) for total in (right, turned))
        return np.asarray(rates * ((turned + seen) / (1 + wrong) - right))


def class_means(values: np.ndarray, truth: np.ndarray) -> float:
    """Sum over the classes of means over their samples."""
    return float(np.sum(np.bincount(truth, weights=values) / np.bincount(truth)))


def sample_costs(
    truth: np.ndarray, evidence: Evidence, point: Point
) -> tuple[SampleCosts, list[str]]:
    """What each sample costs, and notes on what is left out."""
    log_p = evidence.log_posterior(point.prior)
    share, rows = point.prior[truth], np.arange(len(truth))
    decided = np.argmax(log_p, axis=1)
    right = decided == truth
    of = {"cross_entropy": -share * log_p[rows, truth], "accuracy": share * right}
    mirrored = {"cross_entropy": -share * _runner_up(log_p)}
    if point.costs is not None:
        chosen = least_cost(log_p, tuple(range(evidence.n_classes)), point.costs, None)
        of["expected_cost"] = share * point.costs[truth, chosen]
        mirrored["expected_cost"] = share * point.costs.max(axis=1)[truth]  # the worst that may be
    notes = []
    after = _recalibrated(truth, evidence, point)
    if after is None:
        notes.append(
            "Calibration and discrimination are not told apart: that takes finite log-likelihoods "
            "and two samples of each class."
        )
    else:
        of["discrimination"] = -share * after[rows, truth]
        mirrored["discrimination"] = -share * _runner_up(after)
        for costs in (of, mirrored):
            costs["saving"] = costs["cross_entropy"] - costs["discrimination"]
    others = log_p.copy()
    others[rows, decided] = -np.inf
    expected = float(np.exp(logsumexp(others, axis=1)).sum())
    return SampleCosts(truth, of, mirrored, right, evidence.n_classes, expected), notes


def _runner_up(log_p: np.ndarray) -> np.ndarray:
    return np.asarray(np.partition(log_p, -2, axis=1)[:, -2])


def _recalibrated(truth: np.ndarray, evidence: Evidence, point: Point) -> np.ndarray | None:
    """Log-posteriors after the best affine map, fitted without the sample, as in ``decompose``.

    Of a temperature and a full matrix, the one is taken that suits held-out samples better: few
    samples do not tell a matrix. None where nothing can be fitted: too few samples, or likelihoods
    of zero. Folds are those of the samples by size of their evidence, whatever their order.
    """
    fewest = int(np.bincount(truth, minlength=evidence.n_classes).min())
    if fewest < 2 or np.isinf(evidence.log_likelihoods).any():
        return None
    order = np.lexsort([*evidence.log_likelihoods.T[:_SORTED_BY], truth])
    truth, evidence = truth[order], evidence[order]
    data = Labelled(evidence, truth, None)
    weight, rows = balanced(data, point.prior), np.arange(len(truth))
    folds = folds_of(truth, min(_FOLDS, fewest), None, 0)
    found = []
    for family in ("scalar", "full") if evidence.n_classes <= _MOST_FULL else ("scalar",):
        judge = AffineJudge(data, family, weight, np.log(point.prior))
        log_p = np.empty((len(truth), evidence.n_classes))
        for held_out in folds:
            log_p[held_out] = judge.log_posteriors(~held_out, held_out)
        found.append((float(-weight @ log_p[rows, truth]), log_p))
    cost, best = min(found, key=lambda one: one[0])
    if not np.isfinite(cost):
        return None
    back = np.empty_like(best)
    back[order] = best
    return back


def right_decisions(costs: SampleCosts, point: Point) -> list[Cells]:
    """How often each class is decided right, which accuracy is a sum of."""
    times = np.bincount(costs.truth, minlength=costs.n_classes)
    right = np.bincount(costs.truth[costs.right], minlength=costs.n_classes)
    return [
        Cells(point.prior[k : k + 1], right[k : k + 1], int(times[k]))
        for k in range(costs.n_classes)
    ]
