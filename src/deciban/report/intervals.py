"""Bootstrap intervals of many quantities at once, from resampled counts.

A resample of n samples is a multinomial draw of how often each is in it. Where samples are held as
counts (in bins of their LLR, say, or in bags of a few), only these are drawn again, which takes as
long for ten million samples as for ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from deciban.evidence.inputs import is_number
from deciban.exceptions import InputError

Counts = tuple[np.ndarray, ...]  # of each class, how many samples each of its cells holds
Statistic = Callable[[Counts], np.ndarray]

_BLOCKS = 200  # left out one by one for the skewness of the estimate
_LARGE = 200_000  # samples from which on that skewness is nothing beside the interval
_BIASED = 1.5  # standard deviations between a quantity and the median of its resamples
BAGS = 4096  # that stand for the samples of a class where only means are asked for


class Plan(NamedTuple):
    """How intervals are found."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


class Range(NamedTuple):
    """An interval, and whether the quantity is biased under resampling."""

    low: float
    high: float
    biased: bool = False


def checked_plan(confidence: float, n_resamples: int, seed: int) -> Plan:
    """A plan, or a sentence on what is wrong with it."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}. Give 0.95.")
    whole = isinstance(n_resamples, int | np.integer) and not isinstance(n_resamples, bool)
    if not whole or n_resamples < 0 or n_resamples == 1:
        raise InputError(
            f"n_resamples must be a whole number, 2 or more, or 0 for no intervals; got "
            f"{n_resamples!r}. Give 1000."
        )
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}. Give 0.")
    return Plan(float(confidence), int(n_resamples), int(seed))


def ranges(
    statistic: Statistic,
    counts: Counts,
    exact: np.ndarray,
    plan: Plan,
    overfitted: Collection[int] = (),
) -> list[Range]:
    """BCa intervals of all that a statistic of counts gives; see ``without_optimism``.

    ``exact`` is what the statistic stands for, of the samples themselves: what cells make of it is
    corrected by the difference. ``overfitted`` are the positions of quantities such as Cllr_cal.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.
    """
    if plan.n_resamples == 0:
        return [Range(np.nan, np.nan)] * len(exact)
    rng = np.random.default_rng(plan.seed)
    with np.errstate(invalid="ignore"):  # infinite costs of both
        off = exact - statistic(counts)
    off = np.where(np.isfinite(off), off, 0.0)
    resamples = np.array([statistic(drawn) for drawn in _draws(counts, plan.n_resamples, rng)])
    left_out = np.array([statistic(kept) for kept in _left_out(counts, rng)])
    left_out = left_out.reshape(-1, len(exact))
    return [
        without_optimism(float(exact[k]), resamples[:, k] + off[k], plan.confidence)
        if k in overfitted
        else bca(float(exact[k]), resamples[:, k] + off[k], left_out[:, k], plan.confidence)
        for k in range(len(exact))
    ]


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

    Where it does not hold the value, as for what is fitted on the samples that it judges, the
    percentiles are moved back by twice what the resamples have more or less.
    """
    resamples = resamples[~np.isnan(resamples)]
    if np.isnan(value) or len(resamples) == 0:
        return Range(np.nan, np.nan)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    n = len(resamples)
    below = np.mean(resamples < value) + np.mean(resamples == value) / 2
    bias = float(ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n)))
    z = bias + ndtri(tails)
    adjusted = ndtr(bias + z / (1 - _acceleration(left_out) * z))
    low, high = np.quantile(resamples, adjusted, method="inverted_cdf")
    if not low <= value <= high and np.isfinite(resamples).all():
        excess = float(np.mean(resamples)) - value
        low, high = np.quantile(resamples, tails) - 2 * excess
    return Range(float(low), float(high), abs(bias) > _BIASED)


def without_optimism(value: float, resamples: np.ndarray, confidence: float) -> Range:
    """Percentiles moved back by three times what the resamples have more than the samples.

    What PAV takes from a resample beyond what it takes from the samples is about half of what it
    takes from these without cause, whatever their number, as simulation shows. So once
    brings the middle to the samples, and twice more to what fresh samples would have. The interval
    may leave the value out, which is too large by that much.
    """
    if not np.isfinite(value) or not np.isfinite(resamples).all():
        return bca(value, resamples, np.zeros(0), confidence)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(resamples, tails) - 3 * max(0.0, float(np.mean(resamples)) - value)
    return Range(float(low), float(high), not low <= value <= high)


def _acceleration(left_out: np.ndarray) -> float:
    if len(left_out) == 0 or not np.isfinite(left_out).all():
        return 0.0
    gap = left_out.mean() - left_out
    spread = float(np.sum(gap**2))
    if not 0 < spread < np.inf:
        return 0.0
    return float(np.nan_to_num(np.sum(gap**3) / (6 * spread**1.5), posinf=0.0, neginf=0.0))


def mean_ranges(by_class: list[np.ndarray], plan: Plan) -> list[Range]:
    """Intervals of sums, over the classes, of means over the samples of each.

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
    return ranges(statistic, ones, exact, plan)


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
