"""Bets against a hypothesis, whose wealth is evidence against it at whatever time one looks.

A bet multiplies its wealth by an e-value at each step: a nonnegative number whose mean is at most
one if the hypothesis holds, whatever came before.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote


class EProcess:
    """The mean wealth of several bets, in nats, and when it first reached ``1 / alpha``.

    Without ``restart`` each bet starts with wealth one: the wealth ever reaches ``1 / alpha`` with
    probability alpha at most (Ville's inequality). With it each bet also starts anew at every step,
    and the wealth is the sum over all starts, ``M_n = (M_(n-1) + 1) e_n`` (Shiryaev and Roberts):
    the mean number of steps to the first alarm is ``1 / alpha`` at least (Shin, Ramdas and Rinaldo,
    2023).
    """

    def __init__(self, share: Floats, alpha: float, restart: bool) -> None:
        self._log_share, self._limit, self._restart = np.log(share), -math.log(alpha), restart
        self.log_wealth = np.full(len(share), -np.inf if restart else 0.0)
        self.gains = np.zeros(len(share))  # log-wealth since the bet last had nothing to lose
        self._start = np.zeros(len(share), dtype=np.int64)  # row at which that was
        self.largest = -math.inf if restart else 0.0
        self.alarm: int | None = None
        self.since: int | None = None

    @property
    def total(self) -> float:
        """Logarithm of the mean wealth."""
        return float(np.logaddexp.reduce(self.log_wealth + self._log_share))

    @property
    def best(self) -> int:
        """Which bet has gained most since it last had nothing to lose."""
        return int(np.argmax(self.gains + self._log_share))

    def step(self, log_e: Floats, first: int, last: int) -> float:
        """Bet on the samples from row ``first`` to ``last``; return the logarithm of the wealth."""
        if self._restart:
            self.log_wealth = np.logaddexp(self.log_wealth, 0.0)
        self.log_wealth = self.log_wealth + log_e
        self._start = np.where(self.gains > 0, self._start, first)
        self.gains = np.maximum(self.gains, 0.0) + log_e
        total = self.total
        self.largest = max(self.largest, total)
        if self.alarm is None and total >= self._limit:
            self.alarm, self.since = last, int(self._start[self.best])
        return total

    def to_plain(self) -> dict[str, Any]:
        """All that changes, as plain data."""
        return {
            "log_wealth": self.log_wealth.tolist(), "run": self.gains.tolist(),
            "start": self._start.tolist(), "largest": self.largest, "alarm": self.alarm,
            "since": self.since,
        }  # fmt: skip

    def restore(self, plain: dict[str, Any]) -> None:
        """Continue from plain data; raise ValueError where they do not fit."""
        shape = self.log_wealth.shape
        self.log_wealth, self.gains = (
            read_numbers(plain[name], shape) for name in ("log_wealth", "run")
        )
        self._start = read_numbers(plain["start"], shape).astype(np.int64)
        self.largest = float(read_numbers(plain["largest"], ()))
        self.alarm, self.since = (read_row(plain[name]) for name in ("alarm", "since"))


def read_numbers(values: Any, shape: tuple[int, ...]) -> Floats:
    """Numbers of this shape, none of them NaN; raise ValueError otherwise."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape or np.isnan(found).any():
        raise ValueError(f"numbers of shape {found.shape}, not {shape}")
    return found


def read_row(value: Any) -> int | None:
    """A row number or None; raise ValueError otherwise."""
    if value is None or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{value!r} is not a row")


# --- bets against calibration, given the labels -----------------------------------------

STAKES = (0.02, 0.1, 0.5)  # shares of the wealth that are put on a class
FACTORS = (0.25, 0.5, 0.67, 0.8, 1.25, 1.5, 2.0, 4.0)  # by which evidence may have to be multiplied
_GAIN = math.log(20)  # of a bet on a factor, with which the fault is named after it
_FARTHEST = 1e6  # nats; more would overflow, and changes no bet


def ratio_bets(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Log e-values of :math:`1 - b + b w_i / w_y`, one column for each class i and stake b."""
    own = values[np.arange(len(codes)), codes][:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        # Evidence that rules the true class out is impossible if it is calibrated.
        llr = np.where(own == -np.inf, np.inf, values - own)
    parts = [np.logaddexp(math.log1p(-stake), math.log(stake) + llr) for stake in STAKES]
    return np.hstack(parts)


def factor_bets(
    first: tuple[Floats, NDArray[np.intp]], second: tuple[Floats, NDArray[np.intp]]
) -> Floats:
    r"""Log e-values of pairs of samples, one column for each factor; one where classes are equal.

    Given both samples and both labels, but not which belongs to which, calibrated evidence says
    that the labels stand as they do with probability :math:`s(d)`: s is the logistic function and d
    the sum of the LLRs of each sample, for its class against the other's. Evidence that should be
    multiplied by c says :math:`s(c d)`. The e-value is the ratio of the two.
    """
    (x, a), (y, b) = first, second
    rows = np.arange(len(a))
    with np.errstate(invalid="ignore", over="ignore"):
        d = (x[rows, a] - x[rows, b]) + (y[rows, b] - y[rows, a])
    impossible = (x[rows, a] == -np.inf) | (y[rows, b] == -np.inf)
    d = np.clip(np.where(impossible, 0.0, d), -_FARTHEST, _FARTHEST)[:, None]
    log_e = np.logaddexp(0, -d) - np.logaddexp(0, -d * np.array(FACTORS))
    return np.where(impossible[:, None], np.inf, np.where((a == b)[:, None], 0.0, log_e))


def calibration_shares(n_classes: int) -> Floats:
    """Shares of the wealth: half of it on classes, half on factors."""
    n = len(STAKES) * n_classes
    return np.repeat([0.5 / n, 0.5 / len(FACTORS)], [n, len(FACTORS)])


def calibration_bets(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Log e-values of the first and second sample, the third and fourth, and so on."""
    single = ratio_bets(values, codes)
    pairs = factor_bets((values[::2], codes[::2]), (values[1::2], codes[1::2]))
    return np.hstack([single[::2] + single[1::2], pairs])


def name_fault(gains: Floats, classes: tuple[Hashable, ...]) -> tuple[str, float]:
    """Which fault the bets point at, by what each has gained, and the factor that would mend it.

    A class that is favored leaves bets on factors alone, and not the other way round: strong
    evidence for wrong classes makes bets on these gain, too. So factors that gain come first.
    """
    on_classes, on_factors = np.split(gains, [len(STAKES) * len(classes)])
    if on_factors.max() < _GAIN:
        return f"in favor of {quote(classes[int(np.argmax(on_classes)) % len(classes)])}", 1.0
    factor = FACTORS[int(np.argmax(on_factors))]
    return "too strong" if factor < 1 else "too weak", factor


# --- bets against a class mix ----------------------------------------------------------


class MixBets:
    r"""Bets that the class mix is the one of the samples so far, as in the Dirichlet mixture.

    Labels count for one, and unlabeled samples for their posteriors. With a memory of m samples,
    older ones fade away; the e-value is the ratio of the likelihoods of the new sample under both
    mixes, :math:`\sum_k \pi'_k w_k / \sum_k \pi_k w_k`.
    """

    def __init__(self, prior: Floats, memories: tuple[float, ...]) -> None:
        self._prior, self._keep = prior, 1 - 1 / np.array(memories)[:, None]
        self._pseudo = len(prior) / 2 * prior  # Krichevsky and Trofimov's, where it is uniform
        self.counts = np.zeros((len(memories), len(prior)))

    def shares(self) -> Floats:
        """The class mix of each bet."""
        counts = self.counts + self._pseudo
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def log_e(self, values: Floats, code: int) -> Floats:
        """Log e-values of one sample, which is then counted; the code is -1 without a label."""
        w = np.exp(values - values.max()) if code < 0 else np.eye(len(values))[code]
        joint = self.shares() * w
        likelihood = joint.sum(axis=1)
        self.counts = self._keep * self.counts + joint / likelihood[:, None]
        return np.asarray(np.log(likelihood) - math.log(float(self._prior @ w)))
