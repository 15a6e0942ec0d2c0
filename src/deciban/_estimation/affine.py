"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b. With few samples its minimum is far too confident;
what holds it back then vanishes with samples, and does not depend on the unit of the scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from deciban._estimation.affine_cost import AffineCost
from deciban._estimation.affine_map import AffineMap, Scale, Standardization
from deciban._estimation.newton import minimum
from deciban._validation.scalars import require_one_of

_PULL = 1.5  # ridge towards the scalar map, as if entries differed from its factor by 0.6 of it


def fit_affine(
    l: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    log_prior: np.ndarray,
    contrast: np.ndarray,
    scale: Scale,
    *,
    offset: bool = True,
    ridge: float = 0.0,
    class_sizes: np.ndarray | None = None,
    is_fusion: bool = False,
) -> AffineMap:
    """The affine map with the smallest weighted cross-entropy of the posteriors.

    ``weight`` sums to one. ``ridge`` is the weight of the squared distance of the parameters from
    the identity map without offset. ``is_fusion`` is for a full map of scores that are not ILR
    coordinates, of any number of columns; the distance is then that from zero.

    ``class_sizes``, the number of samples of each class, asks for a map that few samples support,
    whatever the unit of the scores: a scalar map has Jeffreys' prior, half the log-determinant of
    the information (Firth, 1993), and the further parameters of a diagonal or full map are held
    near it by a ridge. Both vanish with samples. Without ``class_sizes`` and ``ridge`` the map is
    that of maximum likelihood.
    """
    require_one_of(scale, "scale", get_args(Scale))
    unit = prior_entropy(log_prior)
    largest = np.abs(l).max(axis=0)
    standardize = Standardization.choose(
        largest, weight @ l, has_offset=offset, has_ridge=ridge != 0
    )
    scores = standardize(l)
    standardize = standardize.drop_constants(np.abs(scores).max(axis=0), largest)
    scores[:, ~standardize.varies] = 0.0
    cost = AffineCost(
        np.ascontiguousarray(scores.T),
        truth,
        weight / unit,
        log_prior,
        contrast,
        scale,
        offset,
        ridge / unit,
        np.zeros(contrast.shape[1] * (l.shape[1] + offset)) if is_fusion else None,
    )
    theta = solve(cost) if class_sizes is None else solve_shrunk(cost, class_sizes)
    return standardize.undo(cost.map(theta))


def prior_entropy(log_prior: np.ndarray) -> float:
    """Entropy of the prior in nats, the unit of costs here.

    Under a nearly certain prior all costs are small: in this unit the optimum is as sharp as ever.
    """
    return -float(np.exp(log_prior) @ log_prior)


def solve(cost: AffineCost) -> np.ndarray:
    """Parameters of the map with the smallest cost."""
    # The curvature lacks that of the prior: steps fall short, so that the last ones count, too.
    limits = (1e-15, -np.inf) if cost.jeffreys else ()
    return minimum(cost.at, cost.start(), cost.size, *limits)


def solve_shrunk(cost: AffineCost, class_sizes: np.ndarray) -> np.ndarray:
    """Parameters of the map that few samples support."""
    D, P = len(class_sizes), len(cost.identity)
    # One over the number of samples, in units of the prior's entropy as the weights are.
    share = float((1 / class_sizes).sum()) / D**2 / np.log(D)
    # The mean square of a Gaussian with this mean size, which a few extreme scores change less.
    square = cost.mean_size**2 * np.pi / 2
    theta = solve(replace(cost, scale="scalar", jeffreys=share))
    if len(theta) == P:
        return theta
    n = P - cost.k * cost.has_offset  # parameters of the matrix
    anchor = np.concatenate([theta[0] * cost.identity[:n], theta[1:]])
    # Squares in units of the spread of the evidence, or of one nat where there is less.
    ridge = np.full(P, _PULL * n / cost.k * share / (1 + theta[0] ** 2 * square))
    ridge[:n] *= square
    return solve(replace(cost, ridge=ridge, center=anchor))
