"""Intervals of many quantities at once, from resampled counts.

A resample of n samples is a multinomial draw of how often it contains each of them. Where samples
are held as counts (in bins of their LLR, or in bags of a few), only the counts are drawn again,
which takes no longer for ten million samples than for ten thousand.

Quantities such as Cllr_min need a correction, because PAV is judged on the samples that it was
fitted to. It fits their noise, too, and Cllr_min comes out too small. In a resample PAV fits that
noise and more: simulations show an additional decrease of a third to a half of the one that noise
causes in the samples, whatever their number. :func:`interval_of_underestimate` therefore moves the
percentiles of the resamples back by two to three times the additional decrease. This fails where
few samples are on the wrong side, since resamples cannot contain an error that was not seen. So the
pessimistic end of the interval comes from resamples with added misleading samples, one of each
class on average.

``benchmarks/intervals.py`` prints how often these intervals contain the true value: 93 to 100 % for
Gaussian LLRs, 20 to 500 samples per class and EERs of 4 to 31 %; at an EER of 0.3 %, where hardly
any error is expected, 84 % at worst. With heavy tails the interval of Cllr_cal does less well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from deciban._validation.arrays import Floats
from deciban._validation.scalars import as_generator, require_fraction, require_whole
from deciban.exceptions import InputError
from deciban.metrics import Interval
from deciban.metrics.bootstrap import Seed, bca, percentiles, seed_from

Counts = tuple[np.ndarray, ...]  # for each class, the number of samples in each bin or bag
Statistic = Callable[[Counts], Floats]

MISLEADING = 1.0  # mean number of misleading samples of each class added to a resample
_HIGHEST_CONFIDENCE = 0.99999
_BLOCKS = 200  # left out one at a time to find the skewness of the estimate
_LARGE = 200_000  # number of samples above which that skewness is negligible
_DRAWS = 1 << 18  # random numbers held in memory at once
_BAGS = 4096  # bags that stand for the samples of a large class where only means are needed


class Plan(NamedTuple):
    """How intervals are computed: their confidence level and the resamples behind them."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


def make_plan(confidence: float, n_resamples: int, rng: Seed) -> Plan:
    """Check the options of an assessment that concern its intervals."""
    require_fraction(confidence, "confidence")
    if confidence > _HIGHEST_CONFIDENCE:
        raise InputError(
            f"confidence must be at most {_HIGHEST_CONFIDENCE}; got {confidence!r}. Resamples "
            f"say nothing about rarer events."
        )
    if n_resamples != 0:
        require_whole(n_resamples, "n_resamples", 2, remedy="Give 1000, or 0 for no intervals.")
    as_generator(rng)
    return Plan(float(confidence), int(n_resamples), seed_from(rng))


class Resamples(NamedTuple):
    """Quantities (columns) of each resample, and of the samples without one block at a time."""

    drawn: Floats
    left_out: Floats


def resample(
    statistic: Statistic, counts: Counts, exact: Floats, plan: Plan, *, leave_out: bool = True
) -> Resamples:
    """Resample counts and compute the quantities of each resample.

    ``exact`` holds the quantities of the samples themselves. Counts in bins give slightly different
    ones; the difference is added to those of each resample. Only BCa needs ``leave_out``.
    """
    rng = np.random.default_rng(plan.seed)
    offset = exact - statistic(counts)
    offset = np.where(np.isfinite(offset), offset, 0.0)  # both may be infinite
    draws = (tuple(_draw(c, rng) for c in counts) for _ in range(plan.n_resamples))
    drawn = np.array([statistic(draw) for draw in draws])
    left_out = [statistic(rest) for rest in _leave_out(counts, rng)] if leave_out else []
    return Resamples(drawn + offset, np.array(left_out).reshape(-1, len(exact)))


def _draw(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of as many samples of a class as there are, drawn with replacement."""
    n = int(counts.sum())
    if (counts == 1).all():  # drawing samples is far cheaper than a binomial number for each
        return np.bincount(rng.integers(n, size=n), minlength=n)
    return rng.multinomial(n, counts / n)


def _leave_out(counts: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Counts without one block of samples at a time; each block has its share of every class."""
    n = int(sum(c.sum() for c in counts))
    if n > _LARGE:
        return
    n_blocks = min(_BLOCKS, n)
    owners, start = [], 0
    for c in counts:
        cell = np.repeat(np.arange(len(c)), c)
        block = (start + rng.permutation(len(cell))) % n_blocks
        owners.append((cell, block))
        start += len(cell)
    for k in range(n_blocks):
        rest = tuple(
            c - np.bincount(cell[block == k], minlength=len(c))
            for c, (cell, block) in zip(counts, owners, strict=True)
        )
        if all(c.sum() > 0 for c in rest):
            yield rest


def resample_means(by_class: list[Floats], plan: Plan, *, leave_out: bool = True) -> Resamples:
    """Resample quantities that are sums, over the classes, of means over their samples.

    ``by_class`` holds an array of shape (n_quantities, n_samples) for each class.
    """
    rng = np.random.default_rng(plan.seed)
    bags = [_bag_means(values, rng) for values in by_class]
    exact = np.sum([values.mean(axis=1) for values in by_class], axis=0)

    def statistic(counts: Counts) -> Floats:
        means = [weighted_sums(v, c) / c.sum() for v, c in zip(bags, counts, strict=True)]
        return np.asarray(np.sum(means, axis=0))

    ones = tuple(np.ones(values.shape[1], dtype=np.int64) for values in bags)
    if not all(np.isfinite(values).all() for values in bags):
        return resample(statistic, ones, exact, plan, leave_out=leave_out)
    # One class after the other, for all resamples at once: there may be a thousand small classes.
    drawn = sum(_resample_class(values, plan.n_resamples, rng) for values in bags)
    left_out = [statistic(rest) for rest in _leave_out(ones, rng)] if leave_out else []
    return Resamples(np.asarray(drawn), np.array(left_out).reshape(-1, len(exact)))


def _resample_class(values: Floats, times: int, rng: np.random.Generator) -> Floats:
    """Means of resampled columns, of shape (times, n_quantities)."""
    n = values.shape[1]
    block = max(1, _DRAWS // n)
    return np.concatenate(
        [
            values[:, rng.integers(n, size=(min(block, times - start), n))].mean(axis=2).T
            for start in range(0, times, block)
        ]
    )


def weighted_sums(values: Floats, counts: np.ndarray) -> Floats:
    """Sums of each row of values, weighted by counts; an infinity without a count adds nothing."""
    if np.isfinite(values).all():
        return np.asarray(values @ counts)
    return np.asarray(np.where(counts > 0, values * counts, 0.0).sum(axis=1))


def _bag_means(values: Floats, rng: np.random.Generator) -> Floats:
    """Means of random bags of samples, or the samples themselves where they are few.

    The mean of resampled bags varies as much as the mean of resampled samples.
    """
    n = values.shape[1]
    if n <= 2 * _BAGS:
        return values
    bag = rng.permutation(n) % _BAGS
    size = np.bincount(bag, minlength=_BAGS)
    return np.array([np.bincount(bag, weights=row, minlength=_BAGS) / size for row in values])


# --- from resamples to intervals ----------------------------------------------------------


def resampled_interval(
    value: float, drawn: Floats, left_out: Floats, confidence: float, *, paired: bool
) -> Interval:
    """Interval of a mean, or of the difference of two systems if ``paired``.

    A mean has a bias-corrected and accelerated interval, as in :func:`deciban.metrics.bootstrap`.
    The interval of a difference is widened, since PAV may have favored one system more. The shift
    from the samples to the resamples says which one, but only roughly by how much: two to five
    times the shift. ``benchmarks/intervals.py`` prints how often equal systems are separated.
    """
    drawn = drawn[~np.isnan(drawn)]
    if np.isinf(value):  # one infinite cost proves that the mean is infinite
        return Interval(value, value, value)
    if np.isnan(value) or len(drawn) == 0:
        return Interval(value)
    if not paired:
        return Interval(value, *bca(value, drawn, left_out, confidence))
    low, high = percentiles(drawn, confidence)
    if np.isfinite(drawn).all():
        shift = 5 * (float(np.mean(drawn)) - value)
        low, high = min(low, low - shift, value), max(high, high - shift, value)
    return Interval(value, low, high)


def interval_of_underestimate(
    value: float, drawn: Floats, misled: Floats, confidence: float
) -> Interval:
    """Interval of a quantity that comes out too small because PAV was fitted, such as Cllr_min.

    Its value is an estimate without that bias. ``drawn`` holds the quantity of each resample,
    ``misled`` that of the same resamples with misleading samples added.
    """
    if not np.isfinite([value, *drawn, *misled]).all():
        return Interval(value)
    excess = min(0.0, float(np.mean(drawn)) - value)
    low = float(np.quantile(drawn, (1 - confidence) / 2)) - 2 * excess
    high = float(np.quantile(misled, (1 + confidence) / 2)) - 3 * excess
    return Interval(value - 2 * excess, low, high)


def interval_of_overestimate(
    value: float, drawn: Floats, misled: Floats, confidence: float
) -> Interval:
    """Interval of a quantity that comes out too large because PAV was fitted, such as Cllr_cal."""
    corrected, low, high, _ = interval_of_underestimate(-value, -drawn, -misled, confidence)
    return Interval(-corrected, -high, -low)
