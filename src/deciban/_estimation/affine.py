"""Affine recalibration of ILRLs: multinomial logistic regression, solved by Newton's method.

The recalibrated ILRL is A l + b; A is a multiple of the identity, diagonal or full. The
prior-weighted cross-entropy is convex in A and b. With few samples its minimum is overconfident;
the terms that hold it back vanish with samples, in any unit of the scores. Samples are in memory,
or in parts with costs that add up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from deciban._estimation.logistic import (
    AffineMap,
    CostPoint,
    Design,
    LogisticCost,
    Scale,
    parameter_sizes,
    prior_entropy,
)
from deciban._estimation.newton import minimum, search

MapRows = Callable[[Callable[[np.ndarray, np.ndarray], Any]], Iterable[Any]]  # of ILRLs and classes

_PULL = 1.5  # ridge towards the scalar map, as if entries differed from its factor by 0.6 of it
_LARGE = 1e100  # scores
_MIN_SPREAD = 1e-11  # of scores, relative to the largest; less counts as none
_TYPICAL = 4000  # samples enough for a median
_NEAR = 1e-9  # nats; a map this near to the best one of many samples is good enough
_SMALLER = 2.0**-64  # exact, and sums of the largest numbers do not overflow


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
    """The affine map with the smallest weighted cross-entropy.

    ``weight`` sums to one. ``ridge`` weighs the squared distance from the identity map, or from
    zero if ``is_fusion``: a full map for any number of scores that are not ILR coordinates.

    With ``class_sizes``, the number of samples in each class, few samples do not make the map
    overconfident: a scalar map has Jeffreys' prior, half the log-determinant of the information
    (Firth, 1993), and a ridge holds the other parameters of a diagonal or full map near it. Both
    vanish with samples. Without ``class_sizes`` and ``ridge`` the map has maximum likelihood.
    """
    unit = prior_entropy(log_prior)
    largest = np.abs(l).max(axis=0)
    standardize = Standardization.choose(
        largest, weight @ l, has_offset=offset, has_ridge=ridge != 0
    )
    scores = standardize(l)
    standardize = standardize.drop_constants(np.abs(scores).max(axis=0), largest)
    scores[:, ~standardize.varies] = 0.0
    cost = LogisticCost(
        _design(scores, offset), truth, weight / unit, log_prior, contrast, scale, ridge / unit,
        0.0 if is_fusion else None,
    )  # fmt: skip
    return _solve(cost, class_sizes, standardize)


class Standardization(NamedTuple):
    """A unit and a center that make the optimum sharp, and a flag for scores that vary."""

    size: float
    center: np.ndarray
    varies: np.ndarray

    @classmethod
    def choose(
        cls, largest: np.ndarray, mean: np.ndarray, *, has_offset: bool, has_ridge: bool
    ) -> Self:
        """From the largest absolute value and the mean of each score.

        A common offset would blunt the optimum, and squares of huge scores overflow. A ridge pulls
        towards the identity in the original scores, and leaves no choice.
        """
        most = float(largest.max())
        size = 1.0 if has_ridge or most <= _LARGE else most
        center = mean / size if has_offset and not has_ridge else np.zeros(len(largest))
        return cls(size, center, np.ones(len(largest), dtype=bool))

    def drop_constants(self, spread: np.ndarray, largest: np.ndarray) -> Self:
        """Treat scores with a spread this small as constants."""
        return self._replace(varies=spread >= _MIN_SPREAD * np.maximum(1.0, largest / self.size))

    def __call__(self, l: np.ndarray) -> np.ndarray:
        """Standardized scores; constants carry no evidence and are zero."""
        return np.where(self.varies, l / self.size - self.center, 0.0)


def _design(l: np.ndarray, offset: bool) -> Design:
    return Design(np.ascontiguousarray(l.T)[None], np.ones((int(offset), len(l))))


def _solve(
    cost: LogisticCost, class_sizes: np.ndarray | None, standardize: Standardization
) -> AffineMap:
    theta = _minimize(cost) if class_sizes is None else _shrink(cost, class_sizes)
    matrix, b = AffineMap.from_parameters(theta, cost.scale, cost.k, has_offset=cost.n_offsets > 0)
    return AffineMap(matrix / standardize.size, b - matrix @ standardize.center)


def _minimize(cost: LogisticCost) -> np.ndarray:
    start = np.zeros(cost.n_parameters)
    if cost.center is not None:
        start += cost.center
    elif not cost.jeffreys:  # which is flat where all posteriors are saturated
        # The identity for weak scores, or zero for scores that are far too strong.
        start = min((cost.identity, start), key=lambda theta: cost.at(theta).value)
    # The curvature lacks that of the prior: steps fall short, so that the last ones count, too.
    limits = (1e-15, -np.inf) if cost.jeffreys else ()
    return minimum(cost.at, start, cost.size, *limits)


def _shrink(cost: LogisticCost, class_sizes: np.ndarray) -> np.ndarray:
    """Parameters with Jeffreys' prior and a ridge towards the scalar map."""
    D, P = len(class_sizes), cost.n_parameters
    # One over the number of samples, in units of the prior's entropy as the weights are.
    share = float((1 / class_sizes).sum()) / D**2 / np.log(D)
    # The mean square of a Gaussian with this mean size, which a few extreme scores change less.
    square = cost.mean_size**2 * np.pi / 2
    theta = _minimize(replace(cost, scale="scalar", jeffreys=share))
    if len(theta) == P:
        return theta
    n = P - cost.n_offsets  # parameters of the matrix
    anchor = np.concatenate([theta[0] * cost.identity[:n], theta[1:]])
    # Squares in units of the spread of the evidence, or of one nat where there is less.
    ridge = np.full(P, _PULL * n / cost.k * share / (1 + theta[0] ** 2 * square))
    ridge[:n] *= square
    return _minimize(replace(cost, ridge=ridge, center=anchor))


# --- samples in parts ------------------------------------------------------------------------


class Extent(NamedTuple):
    """Counts and score sums for each class, and the largest absolute scores."""

    counts: np.ndarray
    sums: np.ndarray  # in units of 2**64
    largest: np.ndarray


def measure_scores(map_rows: MapRows, n_classes: int) -> Extent:
    parts = zip(*map_rows(partial(_measure, n_classes)), strict=True)
    counts, sums, largest = (np.stack(column) for column in parts)
    return Extent(counts.sum(axis=0), sums.sum(axis=0), largest.max(axis=0))


def _measure(n_classes: int, l: np.ndarray, truth: np.ndarray) -> Extent:
    sums = np.stack([np.bincount(truth, _SMALLER * x, n_classes) for x in l.T], axis=1)
    counts = np.bincount(truth, minlength=n_classes)
    return Extent(counts, sums, np.abs(l).max(axis=0, initial=0.0))


def fit_affine_in_parts(
    map_rows: MapRows,
    extent: Extent,
    prior: np.ndarray,
    contrast: np.ndarray,
    scale: Scale,
    *,
    offset: bool = True,
    ridge: float | None = None,
) -> AffineMap:
    """The map of :func:`fit_affine` for samples in parts.

    ``map_rows`` yields a function's result for the ILRLs and classes in each part; ``extent``
    covers all samples. Without ``ridge`` the map is that with ``class_sizes``.
    """
    counts, sums, largest = extent
    weight, log_prior = prior / counts, np.log(prior)
    unit = prior_entropy(log_prior)
    standardize = Standardization.choose(
        largest, weight @ sums / _SMALLER, has_offset=offset, has_ridge=bool(ridge)
    )
    step = max(1, int(counts.sum()) // _TYPICAL)
    found = [*map_rows(partial(_measure_spread, standardize, weight, step))]
    sizes, spreads, some = zip(*found, strict=True)
    standardize = standardize.drop_constants(np.max(spreads, axis=0), largest)
    scores = np.where(standardize.varies, np.concatenate(some), 0.0)
    cost = _CostInParts(
        _design(scores, offset), np.zeros(0, int), np.full(1, 1 / unit), log_prior, contrast, scale,
        (ridge or 0.0) / unit, map_rows=map_rows, standardize=standardize,
        class_weight=weight / unit, mean=float(sum(sizes)),
    )  # fmt: skip
    return _solve(cost, counts.astype(float) if ridge is None else None, standardize)


def _measure_spread(
    standardize: Standardization, weight: np.ndarray, step: int, l: np.ndarray, truth: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Weighted sum of sizes, largest size of each score, and a subsample."""
    away = standardize(l)
    sizes = np.abs(away)
    return float(weight[truth] @ sizes.mean(axis=1)), sizes.max(axis=0, initial=0.0), away[::step]


@dataclass(frozen=True)
class NewtonTerms:
    """Cross-entropy, slope and curvature at an affine map; they add up over samples."""

    value: float
    slope: np.ndarray
    matrix: np.ndarray

    def curvature(self) -> np.ndarray:
        return self.matrix

    def __add__(self, other: NewtonTerms) -> NewtonTerms:
        matrix = self.matrix + other.matrix
        return NewtonTerms(self.value + other.value, self.slope + other.slope, matrix)


def _point_in_part(
    template: LogisticCost, standardize: Standardization, weight: np.ndarray, theta: np.ndarray,
    l: np.ndarray, truth: np.ndarray,
) -> CostPoint:  # fmt: skip
    design = _design(standardize(l), template.n_offsets > 0)
    return replace(template, design=design, truth=truth, weight=weight[truth]).at(theta)


def _terms_in_part(*args: Any) -> NewtonTerms:
    here = _point_in_part(*args)
    return NewtonTerms(here.value, here.slope, here.matrix)


def _prior_in_part(jeffreys: float, inverse: np.ndarray, *args: Any) -> np.ndarray:
    return _point_in_part(*args).slope_of_prior(jeffreys, inverse)


@dataclass(frozen=True)
class _CostInParts(LogisticCost):
    """The cost of samples in parts; its own design is a subsample."""

    map_rows: MapRows = field(kw_only=True)
    standardize: Standardization = field(kw_only=True)
    class_weight: np.ndarray = field(kw_only=True)
    mean: float = field(kw_only=True)

    @property
    def mean_size(self) -> float:
        return self.mean

    def at(self, theta: np.ndarray) -> NewtonTerms:  # type: ignore[override]
        empty = self.design.select(slice(0))
        template = LogisticCost(
            empty, self.truth, self.weight, self.log_prior, self.V, self.scale, 0.0
        )
        args = template, self.standardize, self.class_weight, theta
        total = NewtonTerms(*self.penalty(theta), 2 * self.ridge * np.eye(len(theta)))
        for terms in self.map_rows(partial(_terms_in_part, *args)):
            total += terms
        if self.jeffreys:
            value, inverse = self.jeffreys_prior(total.matrix)
            function = partial(_prior_in_part, self.jeffreys, inverse, *args)
            slope = np.sum([*self.map_rows(function)], axis=0)
            total += NewtonTerms(value, slope, np.zeros_like(inverse))
        return total


def newton_terms(
    l: np.ndarray, truth: np.ndarray, weight: np.ndarray, log_prior: np.ndarray,
    contrast: np.ndarray, affine: AffineMap, scale: Scale,
) -> NewtonTerms:  # fmt: skip
    """The terms for some samples; ``weight`` holds one weight per class."""
    cost = LogisticCost(_design(l, True), truth, weight[truth], log_prior, contrast, scale, 0.0)
    here = cost.at(affine.parameters(scale))
    return NewtonTerms(here.value, here.slope, here.matrix)


def improve_affine(
    start: AffineMap, scale: Scale, squares: np.ndarray, most: int
) -> Generator[AffineMap, NewtonTerms, AffineMap]:
    """Search for the best map from a start nearby; yields maps and takes their terms.

    ``squares`` are squared mean sizes of the scores; ``most`` limits the number of steps.
    """
    k = len(start.offset)
    size = np.sqrt(parameter_sizes(squares, scale, k, 1))
    steps = search(start.parameters(scale), size, _NEAR, 0.0, most)
    theta = next(steps)
    while True:
        terms = yield AffineMap.from_parameters(theta, scale, k)
        try:
            theta = steps.send(terms)
        except StopIteration as end:
            return AffineMap.from_parameters(end.value[0], scale, k)
