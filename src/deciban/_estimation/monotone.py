"""Monotone maps of ILRLs: the best of all, or a smooth one that overfits less."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._estimation.convex_gradient import ConvexGradient, standardize
from deciban._estimation.monotone_exact import fit_exact
from deciban._estimation.monotone_smooth import fit_smooth
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_one_of

Method = Literal["auto", "exact", "smooth"]
_FEW = 200  # samples of two classes up to which "auto" takes the best of all monotone maps


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
    added = misleading / (class_sizes + misleading)
    given = truth, weight, log_prior, contrast
    start = fit_affine(u, *given, "scalar", class_sizes=class_sizes)
    # Of three classes or more the best map of all overfits, however many samples there are.
    if method == "exact" or (method == "auto" and len(log_prior) == 2 and len(l) <= _FEW):
        found = MonotoneFit(*fit_exact(u, *given, added, start)[:3])
    else:
        found = MonotoneFit(fit_smooth(u, *given, added, start), None, 0.0)
    return found._replace(map=found.map._replace(center=center, size=size))
