"""Monotone maps of ILRLs: the best of all, or a smooth one that overfits less."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from deciban._estimation.affine import fit_affine
from deciban._estimation.convex_gradient import ConvexGradient, standardize
from deciban._estimation.monotone_exact import fit_exact, merge_points
from deciban._estimation.monotone_smooth import fit_smooth
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of

Method = Literal["auto", "exact", "smooth"]
_LEAST = 1e-300  # share of the misleading samples, so that every pool holds both classes


class MonotoneFit(NamedTuple):
    """A monotone map; ``gap`` bounds, in nats, what its cost exceeds the least by, if exact."""

    map: ConvexGradient
    gap: float | None
    violation: float  # largest of the constraints, in nats times the spread of the ILRLs


def fit_monotone(
    l: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    class_sizes: Floats,
    *,
    method: Method = "auto",
    misleading: float = 1.0,
) -> MonotoneFit:
    """The monotone map with the smallest weighted cross-entropy of the posteriors.

    ``weight`` sums to one, and to the prior within each class. ``class_sizes`` are the numbers of
    samples that ``misleading`` samples of each class are added to.
    """
    require_one_of(method, "method", get_args(Method))
    u, center, size = standardize(l, weight)
    added = np.maximum(misleading / (class_sizes + misleading), _LEAST)
    given = truth, weight, log_prior, contrast
    # Of three classes or more the best map of all overfits, however many samples there are.
    if method != "smooth" and len(log_prior) == 2:
        found = MonotoneFit(fit_pav(u, *given, added), 0.0, 0.0)
    else:
        start = fit_affine(u, *given, "scalar", class_sizes=class_sizes)
        if method == "exact":
            found = MonotoneFit(*fit_exact(u, *given, added, start)[:3])
        else:
            found = MonotoneFit(fit_smooth(u, *given, added, start), None, 0.0)
    return found._replace(map=found.map._replace(center=center, size=size))


def fit_pav(
    u: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    added: Floats,
) -> ConvexGradient:
    """The best monotone map for two classes: pool adjacent violators, at any number of samples."""
    points, mass = merge_points(u, truth, weight, 2)
    up = float(contrast[0, 0] - contrast[1, 0])  # LLR of class 0 per unit of the ILRL
    order = np.argsort(up * points[:, 0], kind="stable")
    points, mass = points[order, 0], mass[order] * (1 - added)
    far = np.diag(weight.sum() * np.exp(log_prior) * added)  # the misleading sample of each class
    mass = np.concatenate([far[:1], mass, far[1:]])
    total = mass.sum(axis=1)
    starts = isotonic_regression(mass[:, 0] / total, weights=total).blocks[:-1]
    pools = np.add.reduceat(mass, starts, axis=0)
    slopes = (np.log(pools[:, 0] / pools[:, 1]) - (log_prior[0] - log_prior[1])) / up
    # The ends lie infinitely far out; what lies between two pools goes to the nearer one.
    first = points[np.clip(starts - 1, 0, len(points) - 1)]
    last = points[np.clip(np.append(starts[1:], len(mass)) - 2, 0, len(points) - 1)]
    edges = last[:-1] / 2 + first[1:] / 2
    heights = np.append(0.0, np.cumsum((slopes[:-1] - slopes[1:]) * edges))
    return ConvexGradient(
        heights, slopes[:, None], (first / 2 + last / 2)[:, None], 0.0, 0.0,
        np.zeros((1, 1)), np.zeros(1), 1.0,
    )  # fmt: skip
