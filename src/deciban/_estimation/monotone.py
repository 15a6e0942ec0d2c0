"""Monotone maps of ILRLs: the best of all, or a smooth one that overfits less."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from deciban._estimation.affine import fit_affine
from deciban._estimation.convex_gradient import ConvexGradient, Steps, standardize
from deciban._estimation.monotone_exact import fit_exact
from deciban._estimation.monotone_smooth import fit_smooth
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of

Method = Literal["auto", "exact", "smooth"]
_LEAST = 1e-300  # share of the misleading samples, so that every pool holds both classes
_ROUNDING = 1e-12  # least share of the others


class MonotoneFit(NamedTuple):
    """A monotone map; ``gap`` bounds, in nats, what its cost exceeds the least by, if exact."""

    map: ConvexGradient | Steps
    gap: float | None


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
    added = misleading / (class_sizes + misleading)
    added = np.clip(added, _LEAST, 1 - _ROUNDING)
    given = truth, weight, log_prior, contrast
    if method != "smooth" and len(log_prior) == 2:
        return MonotoneFit(fit_pav(l[:, 0], *given, added), 0.0)
    u, center, size = standardize(l, weight)
    start = fit_affine(u, *given, "scalar", class_sizes=class_sizes)
    # Of three classes or more the best map of all overfits, however many samples there are.
    if method == "exact":
        found = fit_exact(u, *given, added, start)
        return MonotoneFit(found.map._replace(center=center, size=size), found.gap)
    smooth = fit_smooth(u, *given, added, start)
    return MonotoneFit(smooth._replace(center=center, size=size), None)


def fit_pav(
    l: Floats,
    truth: NDArray[np.intp],
    weight: Floats,
    log_prior: Floats,
    contrast: Floats,
    added: Floats,
) -> Steps:
    """The best monotone map for two classes: pool adjacent violators, at any number of samples."""
    points, place = np.unique(l[weight > 0], return_inverse=True)
    mass = np.zeros((len(points), 2))
    np.add.at(mass, (place, truth[weight > 0]), weight[weight > 0])
    # The misleading sample of a class lies beyond all others, on the side of the other class.
    far, rising = np.diag(mass.sum(axis=0) * added), contrast[0, 0] > 0
    first, last = (far[:1], far[1:]) if rising else (far[1:], far[:1])
    mass = np.concatenate([first, mass * (1 - added), last])
    share = mass[:, 0 if rising else 1] / mass.sum(axis=1)
    starts = isotonic_regression(share, weights=mass.sum(axis=1)).blocks[:-1]
    pools = np.add.reduceat(mass, starts, axis=0)
    llr = np.log(pools[:, 0] / pools[:, 1]) - (log_prior[0] - log_prior[1])
    # What lies between two pools goes to the nearer one.
    inner = starts[1:]
    below, above = (points[np.clip(inner - k, 0, len(points) - 1)] for k in (2, 1))
    edges = np.minimum(below / 2 + above / 2, np.nextafter(above, -np.inf))
    edges = np.where(inner == 1, -np.inf, np.where(inner == len(mass) - 1, np.inf, edges))
    return Steps(edges, llr / (contrast[0, 0] - contrast[1, 0]))
