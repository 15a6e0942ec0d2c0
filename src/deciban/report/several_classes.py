"""More than two classes: what each sample costs, before and after recalibration."""

from __future__ import annotations

import numpy as np

from deciban.evidence import Evidence
from deciban.evidence.decisions import least_cost
from deciban.metrics.decomposition import balanced, folds_of, judged
from deciban.metrics.multiclass import Labelled
from deciban.report.two_classes import Point

_FOLDS = 5


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


def recalibrated_losses(truth: np.ndarray, evidence: Evidence, point: Point) -> np.ndarray | None:
    """Losses of the samples after the best affine map, fitted without them, as in ``decompose``.

    None where it cannot be fitted: too few samples, or likelihoods of zero.
    """
    fewest = int(np.bincount(truth, minlength=evidence.n_classes).min())
    if fewest < 2 or np.isinf(evidence.log_likelihoods).any():
        return None
    data = Labelled(evidence, truth, None)
    judge = judged(data, "full", balanced(data, point.prior), np.log(point.prior))
    held_out_losses = np.empty(len(truth))
    for held_out in folds_of(truth, min(_FOLDS, fewest), None, 0):
        held_out_losses[held_out] = judge(~held_out, held_out)
    return point.prior[truth] * held_out_losses


def by_class(values: dict[str, np.ndarray], truth: np.ndarray, D: int) -> list[np.ndarray]:
    """The values of the samples of each class, (n_quantities, n_samples of the class)."""
    table = np.array(list(values.values()))
    return [table[:, truth == k] for k in range(D)]
