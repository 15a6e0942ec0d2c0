"""E-processes: sequential tests that stay valid under optional stopping; bets on the class mix.

A bet multiplies its wealth by an e-value at each step: a nonnegative number with mean at most one
under the hypothesis, whatever came before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats

LEAD = math.log(20)  # an alternative must lead the others by this much to be named
_MEMORIES = {False: (math.inf,), True: (100.0, 1000.0)}  # samples, without and with restarts


class EProcess:
    """The mean wealth of several bets, in nats, and the row at which it first reached 1 / alpha.

    Without ``restart`` each bet starts with wealth one: the wealth ever reaches ``1 / alpha`` with
    probability alpha at most (Ville's inequality). With it each bet also starts anew at every step,
    and wealth is summed over all starts, ``M_n = (M_(n-1) + 1) e_n`` (Shiryaev and Roberts): the
    mean number of steps to the first alarm is ``1 / alpha`` at least (Shin, Ramdas and Rinaldo,
    2023).
    """

    def __init__(self, share: Floats, alpha: float, restart: bool) -> None:
        self._log_share, self._limit, self._restart = np.log(share), -math.log(alpha), restart
        self.log_wealth = np.full(len(share), -np.inf if restart else 0.0)
        self.largest = -math.inf if restart else 0.0
        self.alarm: int | None = None

    @property
    def total(self) -> float:
        return float(np.logaddexp.reduce(self.log_wealth + self._log_share))

    def step(self, log_e: Floats, row: int) -> float:
        """Bet on samples up to this row; return the logarithm of the wealth."""
        if self._restart:
            self.log_wealth = np.logaddexp(self.log_wealth, 0.0)
        self.log_wealth = self.log_wealth + log_e
        total = self.total
        self.largest = max(self.largest, total)
        if self.alarm is None and total >= self._limit:
            self.alarm = row
        return total

    def to_plain(self) -> dict[str, Any]:
        log_wealth = self.log_wealth.tolist()
        return {"log_wealth": log_wealth, "largest": self.largest, "alarm": self.alarm}

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        self.log_wealth = read_numbers(plain["log_wealth"], self.log_wealth.shape)
        self.largest = float(read_numbers(plain["largest"], ()))
        self.alarm = read_row(plain["alarm"], n_rows)


class Cusum:
    """Log-likelihood ratios of alternatives, each summed from the row that makes it largest.

    This row estimates when the alternative became true (Page, 1954).
    """

    def __init__(self, n: int) -> None:
        self.sums, self._starts = np.zeros(n), np.zeros(n, dtype=np.int64)

    @property
    def is_likely(self) -> NDArray[np.bool_]:
        return np.asarray(self.sums >= self.sums.max() - LEAD)

    @property
    def best(self) -> int:
        # After a single extreme sample, an extreme alternative that seems to start with it leads.
        return int(np.argmin(np.where(self.is_likely, self._starts, np.iinfo(np.int64).max)))

    @property
    def since(self) -> int:
        return int(self._starts[self.best])

    def add(self, log_ratios: Floats, row: int) -> NDArray[np.bool_]:
        """Add the ratios of samples from this row on; return which sums start with them."""
        new = self.sums <= 0
        self._starts = np.where(new, row, self._starts)
        self.sums = np.where(new, 0.0, self.sums) + log_ratios
        return new

    def to_plain(self) -> dict[str, Any]:
        return {"sums": self.sums.tolist(), "starts": self._starts.tolist()}

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        self.sums = read_numbers(plain["sums"], self.sums.shape)
        starts = [read_row(one, n_rows + 1) for one in plain["starts"]]  # 0 before the first row
        self._starts = read_numbers(starts, self._starts.shape).astype(np.int64)


class MixProcess:
    r"""Bets that the class mix is the mix so far, as in the Dirichlet mixture.

    A label counts one, an unlabeled sample its posteriors. With a memory of m samples, older ones
    fade away. The e-value is the likelihood ratio of the new sample under both mixes,
    :math:`\sum_k \pi'_k w_k / \sum_k \pi_k w_k`. The mix since the change is dated until the alarm.
    """

    def __init__(self, prior: Floats, alpha: float, restart: bool) -> None:
        memories = np.array(_MEMORIES[restart])
        n = len(memories)
        self.bets, self._cusum = EProcess(np.full(n, 1 / n), alpha, restart), Cusum(n)
        self._prior, self._keep = prior, 1 - 1 / memories[:, None]
        self._pseudo = len(prior) / 2 * prior  # Krichevsky and Trofimov's, for a uniform prior
        self.counts, self._recent = np.zeros((n, len(prior))), np.zeros((n, len(prior)))

    def log_e(self, w: Floats) -> Floats:
        """Log e-values of a sample with these likelihoods, which is then counted."""
        joint = self.counts + self._pseudo
        joint = joint / joint.sum(axis=1, keepdims=True) * w
        likelihood = joint.sum(axis=1)
        self.counts = self._keep * self.counts + joint / likelihood[:, None]
        return np.asarray(np.log(likelihood) - math.log(float(self._prior @ w)))

    def update(self, values: Floats, code: int, row: int) -> None:
        """Bet on the sample at this row; the code is -1 without a label."""
        # A label is certain evidence.
        w = np.exp(values - values.max()) if code < 0 else np.eye(len(values))[code]
        log_e = self.log_e(w)
        if self.bets.alarm is None:
            self._recent[self._cusum.add(log_e, row)] = 0.0
        joint = (self._recent + self._pseudo) * w
        self._recent += joint / joint.sum(axis=1, keepdims=True)
        self.bets.step(log_e, row)

    @property
    def since(self) -> int | None:
        return None if self.bets.alarm is None else self._cusum.since

    def shares(self) -> Floats:
        counts = (self._recent + self._pseudo)[self._cusum.best]
        return np.asarray(counts / counts.sum())

    def to_plain(self) -> dict[str, Any]:
        return {
            "counts": self.counts.tolist(), "recent": self._recent.tolist(),
            "mix": self.bets.to_plain() | self._cusum.to_plain(),
        }  # fmt: skip

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        self.counts = read_numbers(plain["counts"], self.counts.shape, counts=True)
        self._recent = read_numbers(plain["recent"], self._recent.shape, counts=True)
        self.bets.restore(plain["mix"], n_rows)
        self._cusum.restore(plain["mix"], n_rows)


def read_numbers(values: Any, shape: tuple[int, ...], *, counts: bool = False) -> Floats:
    """Numbers of this shape without NaN; raise ValueError otherwise."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape or np.isnan(found).any():
        raise ValueError(f"numbers of shape {found.shape}, not {shape}")
    if counts and not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError("counts that are negative or infinite")
    return found


def read_row(value: Any, n_rows: int) -> int | None:
    """A row number below ``n_rows``, or None; raise ValueError otherwise."""
    if value is None or (type(value) is int and 0 <= value < n_rows):
        return value
    raise ValueError(f"{str(value)[:50]} is not a row")
