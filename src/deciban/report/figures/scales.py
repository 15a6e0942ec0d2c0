"""Axes: which stretch of numbers, where the ticks are, and what they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from deciban.assessment.wording import number

_PERCENT = (0.001, 0.01, 0.1, 0.5, 2, 5, 10, 20, 40, 60, 80, 90, 95, 98, 99.5, 99.9)
_NEAREST = 0.085  # of the axis: ticks that are closer would touch
Ticks = tuple[tuple[float, str], ...]


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Axis:
    """An axis: its label with the unit, its range, its ticks, and how values lie along it."""

    label: str
    low: float
    high: float
    ticks: Ticks
    place: Callable[[Any], Any] = _same

    def along(self, values: Any) -> np.ndarray:
        """Where values lie, 0 at the low end and 1 at the high one; infinities far outside."""
        low, high = float(self.place(self.low)), float(self.place(self.high))
        at = (np.asarray(self.place(np.asarray(values, dtype=float))) - low) / (high - low)
        return np.clip(at, -9.0, 9.0)


def linear(label: str, low: float, high: float, *, room: float = 0.0, most: int = 7) -> Axis:
    """An axis from low to high with about as many ticks as are asked for, at round numbers."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = -1.0, 1.0
    if not high > low:
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    margin = room * (high - low)
    low, high = low - margin, high + margin
    return Axis(
        label, low, high, tuple((at, number(at, 6)) for at in round_numbers(low, high, most))
    )


def probits(label: str, low: float, high: float) -> Axis:
    """An axis of rates on which Gaussian scores give straight lines; ticks in percent."""
    axis = Axis(label, low, high, (), probit)
    ticks: list[tuple[float, str]] = []
    for p in _PERCENT:
        clear = not ticks or axis.along(p / 100) - axis.along(ticks[-1][0]) > _NEAREST
        if low <= p / 100 <= high and clear:
            ticks.append((p / 100, f"{p:g}"))
    return Axis(label, low, high, tuple(ticks), probit)


def probit(p: Any) -> np.ndarray:
    """Quantile of the standard normal distribution; rates of 0 and 1 lie far out."""
    return np.asarray(ndtri(np.clip(p, 1e-12, 1 - 1e-12)))


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten between two ends, at most so many.

    >>> round_numbers(0, 1, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (1, 2, 2.5, 5, 10, 20):
        first, last = (
            math.ceil(low / (step * power) - 1e-9),
            math.floor(high / (step * power) + 1e-9),
        )
        if last - first < most:
            # Rounded, since 3 * 0.2 is not 0.6.
            return [float(f"{k * step * power:.12g}") + 0.0 for k in range(first, last + 1)]
    return [low, high]  # pragma: no cover - a step of 20 always gives few enough


def central(values: np.ndarray, tail: float = 0.002) -> tuple[float, float]:
    """A range that holds all finite values, or all but the tails where those lie far out."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(q) for q in np.quantile(finite, [tail, 1 - tail]))
    reach = inner_high - inner_low
    return max(low, inner_low - reach / 2), min(high, inner_high + reach / 2)


def thinned(x: np.ndarray, y: np.ndarray, most: int = 400) -> np.ndarray:
    """Positions of at most so many points of a curve, even along its length, ends included.

    >>> thinned(np.arange(5.0), np.zeros(5), most=3)
    array([0, 2, 4])
    """
    if len(x) <= most:
        return np.arange(len(x))
    steps = _steps(x) + _steps(y)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0, length[-1], most)
    return np.unique(np.clip(np.searchsorted(length, wanted), 0, len(x) - 1))


def _steps(values: np.ndarray) -> np.ndarray:
    finite = values[np.isfinite(values)]
    width = float(np.ptp(finite)) if finite.size else 0.0
    steps = np.abs(np.diff(np.nan_to_num(values, posinf=0.0, neginf=0.0)))
    return steps / width if width > 0 else np.zeros_like(steps)
