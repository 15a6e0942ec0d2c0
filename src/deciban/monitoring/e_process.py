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

_LEAD = math.log(20)  # of an alternative over others, for it to be named


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
        self.largest = -math.inf if restart else 0.0
        self.alarm: int | None = None

    @property
    def total(self) -> float:
        """Logarithm of the mean wealth."""
        return float(np.logaddexp.reduce(self.log_wealth + self._log_share))

    def step(self, log_e: Floats, row: int) -> float:
        """Bet on samples that end at this row; return the logarithm of the wealth."""
        if self._restart:
            self.log_wealth = np.logaddexp(self.log_wealth, 0.0)
        self.log_wealth = self.log_wealth + log_e
        total = self.total
        self.largest = max(self.largest, total)
        if self.alarm is None and total >= self._limit:
            self.alarm = row
        return total

    def to_plain(self) -> dict[str, Any]:
        """All that changes, as plain data."""
        return {
            "log_wealth": self.log_wealth.tolist(), "largest": self.largest, "alarm": self.alarm
        }  # fmt: skip

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        """Continue from plain data; raise ValueError where they do not fit."""
        self.log_wealth = read_numbers(plain["log_wealth"], self.log_wealth.shape)
        self.largest = float(read_numbers(plain["largest"], ()))
        self.alarm = read_row(plain["alarm"], n_rows)


class Cusum:
    """Log-likelihood ratios of alternatives, each summed from the row on that makes it largest.

    That row is the estimate of when the alternative became true (Page, 1954).
    """

    def __init__(self, n: int) -> None:
        self.sums, self._starts = np.zeros(n), np.zeros(n, dtype=np.int64)

    @property
    def since(self) -> int:
        """Where the sum starts that is the best to go by."""
        return int(self._starts[self.best])

    @property
    def best(self) -> int:
        """Of the sums that are about as large as the largest, the one that starts first.

        After a single extreme sample, an extreme alternative leads that seems to start with it.
        """
        return int(np.argmin(np.where(self.is_likely, self._starts, np.iinfo(np.int64).max)))

    @property
    def is_likely(self) -> NDArray[np.bool_]:
        """Which sums are about as large as the largest."""
        return np.asarray(self.sums >= self.sums.max() - _LEAD)

    def add(self, log_ratios: Floats, row: int) -> NDArray[np.bool_]:
        """Add the ratios of samples from this row on; return which sums start with them."""
        new = self.sums <= 0
        self._starts = np.where(new, row, self._starts)
        self.sums = np.where(new, 0.0, self.sums) + log_ratios
        return new

    def to_plain(self) -> dict[str, Any]:
        """All that changes, as plain data."""
        return {"sums": self.sums.tolist(), "starts": self._starts.tolist()}

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        """Continue from plain data; raise ValueError where they do not fit."""
        self.sums = read_numbers(plain["sums"], self.sums.shape)
        starts = [read_row(one, n_rows + 1) for one in plain["starts"]]  # 0 before the first row
        self._starts = read_numbers(starts, self._starts.shape).astype(np.int64)


def read_numbers(values: Any, shape: tuple[int, ...]) -> Floats:
    """Numbers of this shape, none of them NaN; raise ValueError otherwise."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != shape or np.isnan(found).any():
        raise ValueError(f"numbers of shape {found.shape}, not {shape}")
    return found


def read_counts(values: Any, shape: tuple[int, ...]) -> Floats:
    """Numbers of this shape, finite and not negative; raise ValueError otherwise."""
    found = read_numbers(values, shape)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError("counts that are negative or infinite")
    return found


def read_row(value: Any, n_rows: int) -> int | None:
    """The number of a row out of so many, or None; raise ValueError otherwise."""
    if value is None or (type(value) is int and 0 <= value < n_rows):
        return value
    raise ValueError(f"{str(value)[:50]} is not a row")


# --- bets against calibration, given the labels -----------------------------------------

STAKES = (0.02, 0.1, 0.5)  # shares of the wealth that are put on a class
FACTORS = (0.25, 0.5, 0.67, 0.8, 1.25, 1.5, 2.0, 4.0)  # by which evidence may have to be multiplied
_N_STRONG = sum(factor < 1 for factor in FACTORS)
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


# --- which fault it is -----------------------------------------------------------------

NOT_CLEAR = "not clear"
_OFFSETS = (0.5, 1.0, 1.5)  # nats by which evidence may favor a class
_MEMORY = 200  # labels whose mix is that of the next sample


class Faults:
    r"""How likely labels are if evidence has one of several faults: factors and offsets.

    Bets must hold whatever the mix does, and tell faults apart badly: evidence that is too strong
    makes bets on a class gain, too. Here the mix is that of the last labels, :math:`\pi`, and a
    label has the probability :math:`\pi_y w_y^c / \sum_k \pi_k w_k^c` if c would mend the evidence.
    """

    def __init__(self, prior: Floats) -> None:
        D = len(prior)
        self._pseudo, self.counts = D / 2 * prior, np.zeros(D)
        # Of two classes, evidence against the one is evidence in favor of the other.
        self._offsets = np.array(_OFFSETS + (() if D == 2 else tuple(-o for o in _OFFSETS)))
        self.cusum = Cusum(len(FACTORS) + D * len(self._offsets))

    def add(self, values: Floats, codes: NDArray[np.intp], row: int) -> None:
        """Go on with labeled samples, the first of them at this row."""
        log_ratios = list(map(self._log_ratios, values, codes.tolist()))
        self.cusum.add(np.sum(log_ratios, axis=0), row)

    def _log_ratios(self, values: Floats, code: int) -> Floats:
        """Log-likelihood ratios of each fault against none; the sample is then counted."""
        counts = self.counts + self._pseudo
        self.counts = (1 - 1 / _MEMORY) * self.counts
        self.counts[code] += 1
        if values[code] == -np.inf:  # it is infinitely too strong, and no factor mends it
            return np.where(np.arange(len(self.cusum.sums)) < _N_STRONG, np.inf, 0.0)
        factors = np.array((1.0, *FACTORS))[:, None]
        joint = np.log(counts / counts.sum()) + factors * np.maximum(values, -_FARTHEST)
        log_posteriors = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        by_offset = -np.log1p(np.expm1(-self._offsets)[:, None] * np.exp(log_posteriors[0]))
        by_offset[:, code] -= self._offsets
        by_factor = log_posteriors[1:, code] - log_posteriors[0, code]
        return np.append(by_factor, by_offset)

    def name(self, classes: tuple[Hashable, ...]) -> tuple[str, float | None]:
        """The likeliest fault if it is far ahead, and the mildest factor likely to mend it."""
        words = ["in favor of" if offset > 0 else "against" for offset in self._offsets]
        kinds = ["too strong" if factor < 1 else "too weak" for factor in FACTORS]
        kinds += [f"{word} {quote(label)}" for word in words for label in classes]
        sums = self.cusum.sums
        best = int(np.argmax(sums))
        others = [one for one, kind in zip(sums, kinds, strict=True) if kind != kinds[best]]
        if sums[best] - max(*others, 0.0) < _LEAD:
            return NOT_CLEAR, None
        if best >= len(FACTORS) or sums[best] == np.inf:
            return kinds[best], None
        likely = np.array(FACTORS)[self.cusum.is_likely[: len(FACTORS)]]
        return kinds[best], float(likely[np.argmin(np.abs(np.log(likely)))])


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
        w = _likelihoods(values, code)
        joint = self.shares() * w
        likelihood = joint.sum(axis=1)
        self.counts = self._keep * self.counts + joint / likelihood[:, None]
        return np.asarray(np.log(likelihood) - math.log(float(self._prior @ w)))


class RecentMix:
    """The class mix since it moved, as each of several bets against the declared one dates it."""

    def __init__(self, prior: Floats, n_bets: int) -> None:
        self._pseudo = len(prior) / 2 * prior
        self.cusum, self.counts = Cusum(n_bets), np.zeros((n_bets, len(prior)))

    def shares(self) -> Floats:
        """The class mix since then."""
        counts = (self.counts + self._pseudo)[self.cusum.best]
        return np.asarray(counts / counts.sum())

    def add(self, log_e: Floats | None, values: Floats, code: int, row: int) -> None:
        """Count the sample at this row; without ``log_e`` the date stays as it is."""
        if log_e is not None:
            self.counts[self.cusum.add(log_e, row)] = 0.0
        joint = (self.counts + self._pseudo) * _likelihoods(values, code)
        self.counts += joint / joint.sum(axis=1, keepdims=True)


def _likelihoods(values: Floats, code: int) -> Floats:
    """Likelihoods of one sample; a label is certain evidence."""
    return np.exp(values - values.max()) if code < 0 else np.eye(len(values))[code]
