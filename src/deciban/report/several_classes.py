"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

import numpy as np

from deciban.evidence import Evidence
from deciban.evidence.decisions import least_cost
from deciban.metrics.decomposition import balanced, folds_of, judged
from deciban.metrics.multiclass import Labelled
from deciban.metrics.rates import wilson
from deciban.report.proportions import Rate
from deciban.report.two_classes import Point

_FOLDS = 5
_MOST_FULL = 20  # classes; the matrix of a hundred has 10,000 entries and takes minutes


def losses(truth: np.ndarray, evidence: Evidence, point: Point) -> dict[str, np.ndarray]:
    """Quantities that are sums, over the classes, of means: what each sample adds to its class's.

    The prior is in them: a quantity is the sum over the classes of these means.
    """
    log_p = evidence.log_posterior(point.prior)
    rows = np.arange(len(truth))
    share = point.prior[truth]
    D = evidence.n_classes
    found = {
        "cross_entropy": -share * log_p[rows, truth],
        "accuracy": share * (np.argmax(log_p, axis=1) == truth),
    }
    if point.costs is not None:
        decided = least_cost(log_p, tuple(range(D)), point.costs, None)
        found["expected_cost"] = share * point.costs[truth, decided]
    return found


def rates(truth: np.ndarray, evidence: Evidence, point: Point) -> dict[str, list[Rate]]:
    """What accuracy and expected cost are sums of: how often each class is decided how.

    Decisions that cost the same when a class is true are one.
    """
    log_p = evidence.log_posterior(point.prior)
    classes = tuple(range(evidence.n_classes))
    right = _decisions(truth, np.argmax(log_p, axis=1), len(classes)).diagonal()
    times = np.bincount(truth, minlength=len(classes))
    found = {"accuracy": [Rate(*one) for one in zip(point.prior, right, times, strict=True)]}
    if point.costs is not None:
        decided = _decisions(truth, least_cost(log_p, classes, point.costs, None), len(classes))
        found["expected_cost"] = [
            Rate(point.prior[i] * (level - C[i]), int(decided[i, level == C].sum()), int(times[i]))
            for i, C in enumerate(point.costs)
            for level in np.unique(C)
            if level != C[i]
        ]
    return found


def unseen(truth: np.ndarray, evidence: Evidence, point: Point, confidence: float) -> np.ndarray:
    """What wrong decisions may add to the cross-entropy, of each class that has none.

    They may be as frequent as the upper end of their rate, and as sure of the runner-up as the
    others are of the class.
    """
    log_p = evidence.log_posterior(point.prior)
    wrong = np.bincount(truth, np.argmax(log_p, axis=1) != truth, evidence.n_classes)
    extra = []
    for k in np.flatnonzero(wrong == 0):
        mine = log_p[truth == k]
        runner_up = np.partition(mine, -2, axis=1)[:, -2]
        rate = float(wilson(0, len(mine), confidence)[1])
        extra.append(rate * point.prior[k] * float(np.mean(mine[:, k]) - np.mean(runner_up)))
    return np.array(extra)


def _decisions(truth: np.ndarray, decided: np.ndarray, D: int) -> np.ndarray:
    """How often each class was decided for when each was true."""
    return np.bincount(truth * D + decided, minlength=D * D).reshape(D, D)


def recalibrated_losses(truth: np.ndarray, evidence: Evidence, point: Point) -> np.ndarray | None:
    """Losses of the samples after the best affine map, fitted without them, as in ``decompose``.

    Of a temperature and a full matrix, the one is taken that suits held-out samples better: few
    samples do not tell a matrix. None where nothing can be fitted: too few samples, or likelihoods
    of zero.
    """
    fewest = int(np.bincount(truth, minlength=evidence.n_classes).min())
    if fewest < 2 or np.isinf(evidence.log_likelihoods).any():
        return None
    data = Labelled(evidence, truth, None)
    weight = balanced(data, point.prior)
    folds = folds_of(truth, min(_FOLDS, fewest), None, 0)
    found = []
    for family in ("scalar", "full") if evidence.n_classes <= _MOST_FULL else ("scalar",):
        judge = judged(data, family, weight, np.log(point.prior))
        losses = np.empty(len(truth))
        for held_out in folds:
            losses[held_out] = judge(~held_out, held_out)
        found.append(losses)
    return point.prior[truth] * min(found, key=lambda losses: float(weight @ losses))


def by_class(values: dict[str, np.ndarray], truth: np.ndarray, D: int) -> list[np.ndarray]:
    """The values of the samples of each class, (n_quantities, n_samples of the class)."""
    table = np.array(list(values.values()))
    return [table[:, truth == k] for k in range(D)]
