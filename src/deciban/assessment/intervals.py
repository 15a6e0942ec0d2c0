"""Bootstrap intervals of many quantities at once, from resampled counts.

A resample of n samples is a multinomial draw of how often each is in it. Where samples are held as
counts (in bins of their LLR, say, or in bags of a few), only these are drawn again, which takes as
long for ten million samples as for ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from deciban._validation import is_number
from deciban.exceptions import InputError
from deciban.metrics.bootstrap import bca_tails

Counts = tuple[np.ndarray, ...]  # of each class, how many samples each of its cells holds
Statistic = Callable[[Counts], np.ndarray]

_MOST_CONFIDENT = 0.99999  # beyond that, no number of resamples tells
_BLOCKS = 200  # left out one by one for the skewness of the estimate
_LARGE = 200_000  # samples from which on that skewness is nothing beside the interval
_DRAWS = 1 << 18  # that are held at once
BAGS = 4096  # that stand for the samples of a class where only means are asked for


class Plan(NamedTuple):
    """How intervals are found."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


class Range(NamedTuple):
    """An interval; and, of a quantity that comes out too good or too bad, what it should be."""

    low: float
    high: float
    corrected: float = float("nan")


NO_RANGE = Range(float("nan"), float("nan"))


def checked_plan(confidence: float, n_resamples: int, seed: int) -> Plan:
    """A plan, or a sentence on what is wrong with it."""
    if not is_number(confidence) or not 0 < confidence <= _MOST_CONFIDENT:
        raise InputError(
            f"confidence must lie above 0 and be {_MOST_CONFIDENT} at most; got {confidence!r}. "
            f"Give 0.95."
        )
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or n_resamples < 0 or n_resamples == 1:
        raise InputError(
            f"n_resamples must be a whole number, 2 or more, or 0 for no intervals; got "
            f"{n_resamples!r}. Give 1000."
        )
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}. Give 0.")
    return Plan(float(confidence), int(n_resamples), int(seed))


class Resampled(NamedTuple):
    """What a statistic gives, of resamples and of the samples without one block at a time."""

    resamples: np.ndarray
    left_out: np.ndarray


def resampled(statistic: Statistic, counts: Counts, exact: np.ndarray, plan: Plan) -> Resampled:
    """A statistic of counts that are drawn again, (n_resamples, n_quantities).

    ``exact`` is what the statistic stands for, of the samples themselves: what cells make of it is
    corrected by the difference.
    """
    rng = np.random.default_rng(plan.seed)
    with np.errstate(invalid="ignore"):  # infinite costs of both
        off = exact - statistic(counts)
    off = np.where(np.isfinite(off), off, 0.0)
    resamples = np.array([statistic(drawn) for drawn in _draws(counts, plan.n_resamples, rng)])
    left_out = np.array([statistic(kept) for kept in _left_out(counts, rng)])
    return Resampled(resamples + off, left_out.reshape(-1, len(exact)))


def _draws(counts: Counts, times: int, rng: np.random.Generator) -> Iterator[Counts]:
    totals = [int(c.sum()) for c in counts]
    shares = [c / total for c, total in zip(counts, totals, strict=True)]
    singles = [bool((c == 1).all()) for c in counts]
    for _ in range(times):
        yield tuple(
            # Draws of single samples are far cheaper than a binomial number for each of them.
            np.bincount(rng.integers(n, size=n), minlength=n)
            if single
            else rng.multinomial(n, share)
            for n, share, single in zip(totals, shares, singles, strict=True)
        )


def _left_out(counts: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Counts without one block of samples at a time, each with its share of every class."""
    n = int(sum(c.sum() for c in counts))
    if n > _LARGE:
        return
    blocks = min(_BLOCKS, n)
    owners, start = [], 0
    for c in counts:
        cell = np.repeat(np.arange(len(c)), c)
        block = (start + rng.permutation(len(cell))) % blocks
        owners.append((cell, block))
        start += len(cell)
    for k in range(blocks):
        kept = tuple(
            c - np.bincount(cell[block == k], minlength=len(c))
            for c, (cell, block) in zip(counts, owners, strict=True)
        )
        if all(c.sum() > 0 for c in kept):
            yield kept


def bca(value: float, resamples: np.ndarray, left_out: np.ndarray, confidence: float) -> Range:
    """Bias-corrected and accelerated interval.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.
    """
    resamples = resamples[~np.isnan(resamples)]
    if np.isnan(value) or len(resamples) == 0:
        return NO_RANGE
    if np.isinf(value):  # one infinite cost proves that the mean is infinite
        return Range(value, value)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    adjusted, _ = bca_tails(tails, value, resamples, left_out)
    low, high = np.quantile(resamples, adjusted, method="inverted_cdf")
    return Range(float(low), float(high))


def mean_resamples(by_class: list[np.ndarray], plan: Plan) -> Resampled:
    """Resamples of sums, over the classes, of means over the samples of each.

    Parameters
    ----------
    by_class : list of arrays of shape (n_quantities, n_samples of the class)
    plan : Plan
    """
    rng = np.random.default_rng(plan.seed)
    bags = [_bagged(values, rng) for values in by_class]
    exact = np.sum([values.mean(axis=1) for values in by_class], axis=0)

    def statistic(counts: Counts) -> np.ndarray:
        return np.sum([summed(v, c) / c.sum() for v, c in zip(bags, counts, strict=True)], axis=0)

    ones = tuple(np.ones(values.shape[1], dtype=np.int64) for values in bags)
    if not all(np.isfinite(values).all() for values in bags):
        return resampled(statistic, ones, exact, plan)
    # Class by class for all resamples at once, which a thousand small classes need.
    resamples = sum(_resampled_means(values, plan.n_resamples, rng) for values in bags)
    left_out = np.array([statistic(kept) for kept in _left_out(ones, rng)])
    return Resampled(np.asarray(resamples), left_out.reshape(-1, len(exact)))


def _resampled_means(values: np.ndarray, times: int, rng: np.random.Generator) -> np.ndarray:
    """Means of values that are drawn again, (times, n_quantities)."""
    n = values.shape[1]
    block = max(1, _DRAWS // n)
    return np.concatenate(
        [
            values[:, rng.integers(n, size=(min(block, times - start), n))].mean(axis=2).T
            for start in range(0, times, block)
        ]
    )


def mean_ranges(by_class: list[np.ndarray], plan: Plan) -> list[Range]:
    """BCa intervals of sums, over the classes, of means over the samples of each."""
    if plan.n_resamples == 0:
        return [NO_RANGE] * len(by_class[0])
    exact = np.sum([values.mean(axis=1) for values in by_class], axis=0)
    found = mean_resamples(by_class, plan)
    return [
        bca(float(exact[k]), found.resamples[:, k], found.left_out[:, k], plan.confidence)
        for k in range(len(exact))
    ]


def summed(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of rows of values, weighted by counts; what has no count is infinite in vain."""
    infinite = ~np.isfinite(values)
    if not infinite.any():
        return values @ counts
    with np.errstate(invalid="ignore"):
        return np.where(infinite, np.where(counts > 0, values * counts, 0.0), values * counts).sum(
            axis=1
        )


def _bagged(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means of bags of samples, put together at random, where there are too many samples.

    The mean of bags that are drawn again spreads as that of samples does.
    """
    n = values.shape[1]
    if n <= 2 * BAGS:
        return values
    bag = rng.permutation(n) % BAGS
    size = np.bincount(bag, minlength=BAGS)
    return np.array([np.bincount(bag, weights=row, minlength=BAGS) / size for row in values])
