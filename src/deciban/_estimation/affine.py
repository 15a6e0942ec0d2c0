"""The best affine recalibration of ILRLs: multinomial logistic regression, solved by Newton.

The recalibrated ILRL is A l + b with A a multiple of the identity, diagonal or full. The prior
weighted cross-entropy is convex in A and b. With few samples its minimum is far too confident;
what holds it back then vanishes with samples, and does not depend on the unit of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from deciban._estimation.logistic import (
    ROUNDING,
    SOME,
    AffineCost,
    AffineMap,
    PointOfCost,
    Scale,
    Standardization,
    sum_by_entry,
)
from deciban._estimation.newton import minimum, search
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


MapRows = Callable[[Callable[[np.ndarray, np.ndarray], Any]], Iterable[Any]]  # of ILRLs and classes

_NEAR = 1e-9  # nats; a map this near to the best one of many samples is good enough
_SMALLER = 2.0**-64  # exact, and sums of the largest numbers do not overflow


class Extent(NamedTuple):
    """Number of samples of each class, sums of their scores, and the largest of each score."""

    counts: np.ndarray
    sums: np.ndarray  # in units of 2**64
    largest: np.ndarray


def measure_scores(map_rows: MapRows, n_classes: int) -> Extent:
    """The extent of all samples."""
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
    """The map of :func:`~deciban._estimation.affine.fit_affine` for samples in parts.

    ``map_rows`` gives the result of a function of the ILRLs and the classes of each part;
    ``extent`` is that of all samples, with some of each class. Without a ``ridge``, the map is one
    that few samples support.
    """
    require_one_of(scale, "scale", get_args(Scale))
    counts, sums, largest = extent
    weight, log_prior = prior / counts, np.log(prior)
    unit = prior_entropy(log_prior)
    standardize = Standardization.choose(
        largest, weight @ sums / _SMALLER, has_offset=offset, has_ridge=bool(ridge)
    )
    step = max(1, int(counts.sum()) // SOME)
    found = [*map_rows(partial(_measure_spread, standardize, weight, step))]
    sizes, spreads, some = zip(*found, strict=True)
    standardize = standardize.drop_constants(np.max(spreads, axis=0), largest)
    scores = np.where(standardize.varies, np.concatenate(some), 0.0)
    cost = _CostInParts(
        np.ascontiguousarray(scores.T), np.zeros(len(scores), dtype=int), np.ones(len(scores)),
        log_prior, contrast, scale, offset, (ridge or 0.0) / unit,
        map_rows=map_rows, standardize=standardize, class_weight=weight / unit, mean=sum(sizes),
    )  # fmt: skip
    theta = solve(cost) if ridge is not None else solve_shrunk(cost, counts.astype(float))
    return standardize.undo(cost.map(theta))


def _measure_spread(
    standardize: Standardization, weight: np.ndarray, step: int, l: np.ndarray, truth: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Weighted sum of the sizes of standardized scores, the largest of each, and some of them."""
    away = standardize(l)
    sizes = np.abs(away)
    return float(weight[truth] @ sizes.mean(axis=1)), sizes.max(axis=0, initial=0.0), away[::step]


@dataclass(frozen=True)
class NewtonTerms:
    """Cross-entropy with its slope and curvature at an affine map; they add up over samples."""

    value: float
    slope: np.ndarray
    matrix: np.ndarray

    def curvature(self) -> np.ndarray:
        """The matrix of second derivatives."""
        return self.matrix

    def __add__(self, other: NewtonTerms) -> NewtonTerms:
        """The terms of both sets of samples."""
        matrix = self.matrix + other.matrix
        return NewtonTerms(self.value + other.value, self.slope + other.slope, matrix)


class _PartCost(NamedTuple):
    """What makes a cost of the samples of a part; it goes to workers."""

    standardize: Standardization
    weight: np.ndarray  # of a sample of each class
    log_prior: np.ndarray
    contrast: np.ndarray
    scale: Scale
    has_offset: bool

    def at(self, theta: np.ndarray, l: np.ndarray, truth: np.ndarray) -> PointOfCost:
        scores = np.ascontiguousarray(self.standardize(l).T)
        cost = AffineCost(
            scores, truth, self.weight[truth], self.log_prior, self.contrast, self.scale,
            self.has_offset, ridge=0.0,
        )  # fmt: skip
        return PointOfCost(cost, theta)

    def terms(self, theta: np.ndarray, l: np.ndarray, truth: np.ndarray) -> NewtonTerms:
        here = self.at(theta, l, truth)
        return NewtonTerms(here.value, here.slope, here.matrix)

    def slope_of_prior(
        self, theta: np.ndarray, jeffreys: float, inverse: np.ndarray,
        l: np.ndarray, truth: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        return self.at(theta, l, truth).slope_of_prior(jeffreys, inverse)


@dataclass(frozen=True)
class _CostInParts(AffineCost):
    """The cost of samples that are read part by part; ``l`` are the scores of some of them."""

    map_rows: MapRows = field(kw_only=True)
    standardize: Standardization = field(kw_only=True)
    class_weight: np.ndarray = field(kw_only=True)  # of a sample of each class
    mean: float = field(kw_only=True)

    @property
    def mass(self) -> float:
        return 1 / prior_entropy(self.log_prior)

    @property
    def mean_size(self) -> float:
        return self.mean

    def at(self, theta: np.ndarray) -> NewtonTerms:
        part = _PartCost(
            self.standardize, self.class_weight, self.log_prior, self.V, self.scale, self.has_offset
        )
        total = NewtonTerms(*self.penalty(theta), 2 * self.ridge * np.eye(len(theta)))
        for terms in self.map_rows(partial(part.terms, theta)):
            total += terms
        if self.jeffreys:
            value, inverse = self.jeffreys_prior(total.matrix)
            function = partial(part.slope_of_prior, theta, self.jeffreys, inverse)
            slope = np.sum([*self.map_rows(function)], axis=0)
            total += NewtonTerms(value, slope, np.zeros_like(inverse))
        return total


def newton_terms(
    l: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    log_prior: np.ndarray,
    contrast: np.ndarray,
    affine: AffineMap,
    scale: Scale,
) -> NewtonTerms:
    """The terms of some samples; ``weight`` is that of a sample of each class."""
    k = contrast.shape[1]
    as_it_is = Standardization(1.0, np.zeros(k), np.ones(k, dtype=bool))
    part = _PartCost(as_it_is, weight, log_prior, contrast, scale, has_offset=True)
    return part.terms(affine.parameters(scale), l, truth)


def improve_affine(
    start: AffineMap, scale: Scale, squares: np.ndarray, most: int
) -> Generator[AffineMap, NewtonTerms, AffineMap]:
    """Search for the best map from one that is near it; asks for the terms of maps.

    ``squares`` are those of the mean size of the scores, and ``most`` the largest number of steps.
    """
    k = len(start.offset)
    size = np.sqrt(np.append(sum_by_entry(squares, scale, k), np.ones(k)) + ROUNDING)
    steps = search(start.parameters(scale), size, _NEAR, 0.0, most)
    theta = next(steps)
    while True:
        terms = yield AffineMap.from_parameters(theta, scale, k)
        try:
            theta = steps.send(terms)
        except StopIteration as end:
            return AffineMap.from_parameters(end.value[0], scale, k)
