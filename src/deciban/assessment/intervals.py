"""Intervals of many quantities at once, from resampled counts.

A resample of n samples is a multinomial draw of how often each is in it. Where samples are held as
counts (in bins of their LLR, or in bags of a few), only the counts are drawn again, which takes as
long for ten million samples as for ten thousand.

Quantities such as Cllr_min, for which PAV is fitted to the samples that it is judged on, need a
correction. PAV fits the noise of the samples, too, so that they come out too small. In a resample
it fits that noise and more: simulations show that the additional decrease is a third to a half of
the one that noise causes in the samples, whatever their number. :func:`smaller_by_fitting`
therefore moves the percentiles of the resamples back by two to three times that decrease. This
fails where few samples are on the wrong side, since resamples cannot contain an error that was not
seen. So the pessimistic end of the interval comes from resamples with added misleading samples, one
of each class on average.

``benchmarks/intervals.py`` prints how often these intervals contain the true value: 93 to 100 % for
Gaussian LLRs, 20 to 500 samples per class and EERs of 4 to 31 %; at an EER of 0.3 %, where hardly
any error is expected, 84 % at worst. With heavy tails the interval of Cllr_cal does less well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.scalars import as_generator, require_fraction, require_whole
from deciban.exceptions import InputError
from deciban.metrics import Interval
from deciban.metrics.bootstrap import bca, percentiles, seed_from

Rng = np.random.Generator | int | None
Floats = NDArray[np.float64]
Counts = tuple[np.ndarray, ...]  # for each class, the number of samples in each of its cells
Statistic = Callable[[Counts], Floats]

MISLEADING = 1.0  # samples of each class that are added to a resample, on average
_HIGHEST_CONFIDENCE = 0.99999
_BLOCKS = 200  # left out one by one for the skewness of the estimate
_LARGE = 200_000  # samples from which on that skewness is nothing beside the interval
_DRAWS = 1 << 18  # held in memory at once
_BAGS = 4096  # that stand for the samples of a class where only means are needed


class Plan(NamedTuple):
    """How intervals are computed."""

    confidence: float = 0.95
    n_resamples: int = 1000
    seed: int = 0


def make_plan(confidence: float, n_resamples: int, rng: Rng) -> Plan:
    """Check the options of an assessment."""
    require_fraction(confidence, "confidence")
    if confidence > _HIGHEST_CONFIDENCE:
        raise InputError(
            f"confidence must be at most {_HIGHEST_CONFIDENCE}; got {confidence!r}. Resamples "
            f"tell nothing about rarer events."
        )
    if n_resamples != 0:
        require_whole(n_resamples, "n_resamples", 2, remedy="Give 1000, or 0 for no intervals.")
    as_generator(rng)
    return Plan(float(confidence), int(n_resamples), seed_from(rng))


class Resamples(NamedTuple):
    """Quantities of resamples, and of the samples without one block at a time.

    Both have shape (n_resamples or n_blocks, n_quantities).
    """

    drawn: Floats
    left_out: Floats


def resample(
    statistic: Statistic, counts: Counts, exact: Floats, plan: Plan, *, leave_out: bool = True
) -> Resamples:
    """Resample counts and compute a statistic of each resample.

    Parameters
    ----------
    statistic : callable
    counts : tuple of arrays
    exact : array of shape (n_quantities,)
        The statistic of the samples themselves. What cells make of it is corrected by the
        difference.
    plan : Plan
    leave_out : bool
        Whether to compute the statistic without one block at a time, too, as BCa needs it.
    """
    rng = np.random.default_rng(plan.seed)
    offset = exact - statistic(counts)
    offset = np.where(np.isfinite(offset), offset, 0.0)  # infinite costs of both
    drawn = np.array([statistic(one) for one in _draw(counts, plan.n_resamples, rng)])
    left_out = [statistic(rest) for rest in _leave_out(counts, rng)] if leave_out else []
    return Resamples(drawn + offset, np.array(left_out).reshape(-1, len(exact)))


def _draw(counts: Counts, times: int, rng: np.random.Generator) -> Iterator[Counts]:
    totals = [int(c.sum()) for c in counts]
    shares = [c / total for c, total in zip(counts, totals, strict=True)]
    single = [bool((c == 1).all()) for c in counts]
    for _ in range(times):
        yield tuple(
            # Draws of single samples are far cheaper than a binomial number for each of them.
            np.bincount(rng.integers(n, size=n), minlength=n)
            if is_single
            else rng.multinomial(n, share)
            for n, share, is_single in zip(totals, shares, single, strict=True)
        )


def _leave_out(counts: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Counts without one block of samples at a time, each with its share of every class."""
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
    """Resample sums, over the classes, of means over the samples of each class.

    Parameters
    ----------
    by_class : list of arrays of shape (n_quantities, n_samples of the class)
    plan : Plan
    leave_out : bool
        As for :func:`resample`.
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
    # Class by class for all resamples at once, which a thousand small classes need.
    drawn = sum(_resample_class(values, plan.n_resamples, rng) for values in bags)
    left_out = [statistic(rest) for rest in _leave_out(ones, rng)] if leave_out else []
    return Resamples(np.asarray(drawn), np.array(left_out).reshape(-1, len(exact)))


def _resample_class(values: Floats, times: int, rng: np.random.Generator) -> Floats:
    """Means of resampled columns, (times, n_quantities)."""
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
    """Means of random bags of samples, where there are too many samples.

    The mean of resampled bags spreads as that of resampled samples does.
    """
    n = values.shape[1]
    if n <= 2 * _BAGS:
        return values
    bag = rng.permutation(n) % _BAGS
    size = np.bincount(bag, minlength=_BAGS)
    return np.array([np.bincount(bag, weights=row, minlength=_BAGS) / size for row in values])


# --- from resamples to intervals ----------------------------------------------------------


def bca_interval(value: float, drawn: Floats, left_out: Floats, confidence: float) -> Interval:
    """Bias-corrected and accelerated interval, as in :func:`deciban.metrics.bootstrap`."""
    drawn = drawn[~np.isnan(drawn)]
    if not np.isfinite(value) or len(drawn) == 0:
        return _degenerate_interval(value)
    return Interval(value, *bca(value, drawn, left_out, confidence), float(np.std(drawn, ddof=1)))


def widened_percentiles(value: float, drawn: Floats, confidence: float) -> Interval:
    """Interval of the difference of two systems, of which PAV may have flattered one more.

    The shift from the samples to the resamples says which one, but only roughly by how much: two to
    five times the shift. ``benchmarks/intervals.py`` prints how often equal systems are separated.
    """
    drawn = drawn[~np.isnan(drawn)]
    if not np.isfinite(value) or len(drawn) == 0:
        return _degenerate_interval(value)
    low, high = percentiles(drawn, confidence)
    if np.isfinite(drawn).all():
        shift = 5 * (float(np.mean(drawn)) - value)
        low, high = min(low, low - shift, value), max(high, high - shift, value)
    return Interval(value, low, high, float(np.std(drawn, ddof=1)))


def _degenerate_interval(value: float) -> Interval:
    """No interval; but one infinite cost proves that the mean is infinite."""
    return Interval(value, value, value) if np.isinf(value) else Interval(value)


class Corrected(NamedTuple):
    """An interval, and the value without the bias of being judged on what it was fitted to."""

    interval: Interval
    corrected: float


def smaller_by_fitting(
    value: float, drawn: Floats, misled: Floats, confidence: float
) -> Corrected:  # fmt: skip
    """Interval of a quantity that comes out too small, such as Cllr_min.

    Parameters
    ----------
    value : float
        The quantity of the samples.
    drawn : array of shape (n_resamples,)
        The quantity of resamples.
    misled : array of shape (n_resamples,)
        The quantity of the same resamples with misleading samples added.
    confidence : float
    """
    if not (np.isfinite(value) and np.isfinite(drawn).all() and np.isfinite(misled).all()):
        return Corrected(Interval(value), value)
    excess = min(0.0, float(np.mean(drawn)) - value)
    low = float(np.quantile(drawn, (1 - confidence) / 2)) - 2 * excess
    high = float(np.quantile(misled, (1 + confidence) / 2)) - 3 * excess
    return Corrected(
        Interval(value, low, high, float(np.std(drawn, ddof=1))), value - 2 * excess
    )  # fmt: skip


def larger_by_fitting(value: float, drawn: Floats, misled: Floats, confidence: float) -> Corrected:
    """Interval of a quantity that comes out too large, such as Cllr_cal."""
    (_, low, high, error), corrected = smaller_by_fitting(-value, -drawn, -misled, confidence)
    return Corrected(Interval(value, -high, -low, error), -corrected)
