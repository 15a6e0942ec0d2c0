"""Linear maps for several vectors of scores and covariates: fits and their uncertainty."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from deciban._estimation.logistic import Design, LogisticCost, Scale, prior_entropy
from deciban._estimation.newton import minimum
from deciban._persistence.registry import register_value

_MIN_SAMPLES, _PER_CLASS = 3000, 50  # samples that are enough to estimate a covariance
_FIRST = 20_000  # samples that give a start near the optimum of many more
_STEPS = 2  # of Newton from an estimate to maximum likelihood, which is far where samples are few


def fit_linear(cost: LogisticCost) -> np.ndarray:
    """Parameters at the minimum; weights sum to one."""
    some = cost.thin_out(_FIRST)
    start = np.zeros(cost.n_parameters) if some is cost else fit_linear(some)
    # Under a nearly certain prior all costs are small; in units of its entropy they are not.
    unit = prior_entropy(cost.log_prior)
    cost = replace(cost, weight=cost.weight / unit, ridge=cost.ridge / unit)
    return minimum(cost.at, start, np.full(len(start), unit**-0.5))


class Uncertainty(NamedTuple):
    """Covariance of the parameters of a linear map, and its degrees of freedom."""

    covariance: np.ndarray
    degrees_of_freedom: float

    def half_widths(
        self, design: Design, directions: np.ndarray, scale: Scale, confidence: float
    ) -> np.ndarray:
        """Half widths of intervals for ILRLs along directions, (n_samples, n_directions).

        The ILRL is linear in the parameters, so the delta method is exact.
        """
        n = design.scores.shape[2]
        variance = np.empty((n, len(directions)))
        for k, direction in enumerate(directions):
            G = design.slopes(np.tile(direction[:, None], n), scale)
            variance[:, k] = np.einsum("pn,pn->n", self.covariance @ G, G)
        t = float(stdtrit(self.degrees_of_freedom, (1 + confidence) / 2))
        return t * np.sqrt(np.maximum(variance, 0.0))


register_value(Uncertainty, covariance="P P", degrees_of_freedom=float)


def uncertainty(cost: LogisticCost, theta: np.ndarray, sizes: np.ndarray) -> Uncertainty:
    r"""Covariance of the parameters near the minimum, over new draws of the samples.

    :math:`H^{-1} (J + \Lambda / N) H^{-1}` with the second derivatives H, those of the penalty
    :math:`\Lambda`, which counts as a prior, and the variance J of the slope when samples are drawn
    within each class: class frequencies are not estimated (Prentice and Pyke, 1979). Under the
    model the density of a class is that of all samples weighted by its posterior, which varies less
    than the few samples in the class. ``sizes`` counts the samples in each class.
    """
    P, D = len(theta), len(cost.V)
    prior = np.exp(cost.log_prior)
    share = prior**2 / sizes
    some = cost.thin_out(max(_MIN_SAMPLES, _PER_CLASS * D))
    for _ in range(_STEPS):  # away from a prior that holds theta back and makes H too large
        at = some.at(theta)
        theta = theta - _inverse(at.matrix) @ at.slope
    H, J, mean = np.zeros((P, P)), np.zeros((P, P)), np.zeros((D, P))
    posteriors = some.at(theta).p
    for rows in some.blocks():
        p, design = posteriors[:, rows], some.design.select(rows)
        for c, e in enumerate(np.eye(D)):  # slopes if c were the true class
            G = design.slopes(cost.V.T @ (p - e[:, None]), cost.scale)
            weight = some.weight[rows] * p[c]
            square = (weight * G) @ G.T
            H += square
            J += share[c] / prior[c] * square
            mean[c] += G @ weight / prior[c]
    J -= (mean.T * share) @ mean
    penalty = 2 * cost.ridge * np.eye(P)
    inverse = _inverse(H + penalty)
    C = inverse @ (J + penalty * share.sum()) @ inverse
    return Uncertainty((C + C.T) / 2, max(1.0, float(1 / share.sum()) - P))


def _inverse(H: np.ndarray) -> np.ndarray:
    """Pseudoinverse that does not depend on the units of the parameters."""
    unit = np.where(np.diag(H) > 0, np.sqrt(np.diag(H)), 1.0)  # constant scores have none
    return np.linalg.pinv(H / np.outer(unit, unit), hermitian=True) / np.outer(unit, unit)
