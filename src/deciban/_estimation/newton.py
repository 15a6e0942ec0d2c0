"""Newton's method for convex functions, safeguarded.

Full Newton steps overshoot from the identity on ordinary data, and saturated posteriors leave no
curvature. Steps are therefore damped (Levenberg and Marquardt), more if they gain less than
promised.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from deciban.exceptions import ConvergenceError

_NEARLY_FLAT, _UNNOTICED = 1e-3, 1e-8  # gains accepted after many steps, with a warning or none
_ROUNDING = 1e-15  # relative error of a value
_LEAST = 1e-14  # smallest damping: it holds back parameters that separable classes pull away
_STEPS = 500

Point = Any  # has value, slope and curvature(), a matrix or its products with vectors


def minimum(
    at: Callable[[np.ndarray], Point],
    start: np.ndarray,
    size: np.ndarray,
    flat: float = 1e-11,
    perfect: float = 1e-5,
) -> np.ndarray:
    """Position of the minimum of a convex function.

    ``size`` is the root of the largest second derivative by each parameter: in these units
    curvature is about one at most, and a damping of one always gains. The search stops at a gain
    below ``flat`` nats or a value below ``perfect``: separable classes have no finite optimum.
    """
    steps = search(start, size, flat, perfect, _STEPS)
    asked = next(steps)
    while True:
        try:
            asked = steps.send(at(asked))
        except StopIteration as end:
            theta, promise = end.value
            break
    if promise > _NEARLY_FLAT:
        raise ConvergenceError(
            f"The recalibration did not converge: after {_STEPS} steps it could still gain "
            f"{promise:.2g} nat. Check the evidence for outliers, or use a smaller scale family."
        )
    if promise > _UNNOTICED:
        warnings.warn(
            f"the recalibration stopped {promise:.1g} short of its optimum, held up by a few "
            f"extreme scores. Bound the evidence first, or use a smaller scale family.",
            stacklevel=5,
        )
    return theta


def search(
    start: np.ndarray, size: np.ndarray, flat: float, perfect: float, most: int
) -> Generator[np.ndarray, Point, tuple[np.ndarray, float]]:
    """Search for the minimum in at most so many steps.

    Yields positions and takes the points there, so one pass over the samples can serve several
    searches. Returns the position and the gain that a further step promises, zero at the minimum.
    """
    theta, damping, promise = start, _LEAST, 0.0
    here = yield theta
    curvature = here.curvature()
    for _ in range(most):
        step = _damped_step(curvature, here.slope, size, damping)
        promise = -float(step @ here.slope)
        if promise < flat or here.value < perfect or not math.isfinite(promise):
            return theta, 0.0
        there = yield theta + step
        gain = here.value - there.value
        if gain >= 1e-4 * promise or (promise < 1e-6 and gain >= -_ROUNDING * abs(here.value)):
            theta, here = theta + step, there
            curvature = here.curvature()
        if gain > 0.25 * promise:
            damping = max(damping / 10, _LEAST)
        elif not gain >= 1e-4 * promise:
            damping = max(10 * damping, 1e-8)
    return theta, promise


def _damped_step(
    curvature: np.ndarray | LinearOperator, slope: np.ndarray, size: np.ndarray, damping: float
) -> np.ndarray:
    n = len(slope)
    if isinstance(curvature, np.ndarray):
        damped = curvature / np.outer(size, size) + damping * np.eye(n)
        return -np.linalg.solve(damped, slope / size) / size
    products = LinearOperator((n, n), matvec=lambda v: curvature @ (v / size) / size + damping * v)
    length = float(np.linalg.norm(slope / size))
    step, _ = cg(products, -slope / size, rtol=min(0.1, np.sqrt(length)), maxiter=250)
    return np.asarray(step) / size
