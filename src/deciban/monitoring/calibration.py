"""Bets against calibration, given the labels, and the fault that they found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote
from deciban.metrics.labelled import EvidenceLike, read_labelled
from deciban.monitoring.e_process import LEAD, Cusum, EProcess, read_numbers, read_row

STAKES = (0.02, 0.1, 0.5)  # shares of the wealth that are put on a class
FACTORS = (0.25, 0.5, 0.67, 0.8, 1.25, 1.5, 2.0, 4.0)  # by which evidence may have to be multiplied
NOT_CLEAR = "not clear"
_N_STRONG = sum(factor < 1 for factor in FACTORS)
_OFFSETS = (0.5, 1.0, 1.5)  # nats by which evidence may favor a class
_MEMORY = 200  # labels whose mix predicts the next label
_MAX_NATS = 1e6  # more would overflow, and changes no bet


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationETest:
    """Evidence against calibration after each sample; stop whenever you like.

    Attributes
    ----------
    log_e : array of shape (n_samples,)
        Logarithm of the e-value after each sample, in nats; it moves at every second sample.
    p_value : float
        One over the largest e-value, at most one: valid although you looked all the time.
    fault : str or None
        As in :class:`MonitorState`; None if the p-value is above 0.05.
    since : int or None
        Estimated row from which on the evidence is off, if the p-value is 0.05 or less.

    See Also
    --------
    calibration_e_test : Returns it.

    Examples
    --------
    >>> calibration_e_test([0, 1], [[0.0, -9.0], [0.0, -9.0]])
    CalibrationETest: p = 0.00238 (too strong?) after 2 samples
    """

    log_e: Floats
    p_value: float
    fault: str | None
    since: int | None

    def __repr__(self) -> str:
        fault, n = "" if self.fault in (None, NOT_CLEAR) else f" ({self.fault}?)", len(self.log_e)
        samples = f"{n:,} sample{'s' * (n != 1)}"
        return f"CalibrationETest: p = {self.p_value:.3g}{fault} after {samples}"


def calibration_e_test(
    y_true: ArrayLike, evidence: EvidenceLike, *, classes: Sequence[Hashable] | None = None
) -> CalibrationETest:
    r"""Sequential test for calibration, valid at every stopping time.

    The e-process for calibration in :class:`Monitor`, without restarts: however often you look, the
    p-value for calibrated evidence is alpha or less with probability alpha at most, under the same
    condition. The result depends on the order of the samples.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        A class need not occur. There are no weights: a sample comes once.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        If it rules a true class out, the e-value is infinite.
    classes
        As for :func:`deciban.metrics.cross_entropy`.

    See Also
    --------
    deciban.metrics.calibration_test, Monitor

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([200, 200, 200], rng=0)
    >>> order = np.random.default_rng(0).permutation(600)
    >>> calibration_e_test(y[order], family.evidence(l[order])).p_value > 0.05
    True
    >>> calibration_e_test(y[order], family.evidence(2 * l[order])).fault
    'too strong'
    """
    data = read_labelled(y_true, evidence, classes, every_class=False)
    values, D = data.evidence.log_likelihoods, data.evidence.n_classes
    below = values - values.max(axis=1, keepdims=True)
    process = CalibrationProcess(data.classes, np.full(D, 1 / D), 0.05, restart=False)
    start = process.bets.total
    totals = process.update(np.arange(len(values)), below, data.codes)
    after_pairs = np.repeat(np.append(start, totals), 2)[1:]
    log_e = np.append(after_pairs, np.full(len(values), process.bets.total))[: len(values)]
    ruled_out = below[np.arange(len(values)), data.codes] == -np.inf
    log_e[np.logical_or.accumulate(ruled_out)] = np.inf  # such a sample does not wait for another
    p_value = math.exp(-max(process.bets.largest, 0.0))
    return CalibrationETest(log_e, p_value, process.fault, process.since)


class CalibrationProcess:
    """Bets on labeled samples two by two, and the fault at the alarm."""

    def __init__(
        self, classes: tuple[Hashable, ...], prior: Floats, alpha: float, restart: bool
    ) -> None:
        n = len(STAKES) * len(prior)  # half of the wealth is put on classes, half on factors
        shares = np.repeat([0.5 / n, 0.5 / len(FACTORS)], [n, len(FACTORS)])
        self.bets, self._faults = EProcess(shares, alpha, restart), Faults(prior)
        self._classes = classes
        self._waiting: tuple[int, list[float], int] | None = None  # row, evidence, class
        self.fault: str | None = None
        self.factor: float | None = None
        self.since: int | None = None

    def update(self, rows: NDArray[np.intp], values: Floats, codes: NDArray[np.intp]) -> Floats:
        """Log-wealth after each pair; a sample that is left over waits for the next one."""
        if self.bets.total == math.inf:
            return np.empty(0)
        if self._waiting is not None:
            row, own, code = self._waiting
            rows, codes = np.append(row, rows), np.append(code, codes)
            values = np.vstack([own, values])
        self._waiting = None
        ruled_out = values[np.arange(len(codes)), codes] == -np.inf
        # A sample that rules its class out need not wait: there is nothing left to win.
        n = int(np.argmax(ruled_out)) + 1 if ruled_out.any() else len(rows)
        paired = n - n % 2
        first, second = slice(0, paired, 2), slice(1, paired, 2)
        single = ratio_bets(values[:paired], codes[:paired])
        factors = factor_bets((values[first], codes[first]), (values[second], codes[second]))
        log_e = np.hstack([single[::2] + single[1::2], factors])
        steps = [(one, slice(2 * k, 2 * k + 2)) for k, one in enumerate(log_e)]
        if n % 2 and ruled_out.any():
            steps.append((np.full(log_e.shape[1], np.inf), slice(n - 1, n)))
        elif n % 2:
            self._waiting = int(rows[-1]), values[-1].tolist(), int(codes[-1])
        totals = []
        for e, k in steps:
            totals.append(self.bets.step(e, int(rows[k][-1])))
            if self.fault is None:  # what comes after the alarm may be repaired
                ratios = list(map(self._faults.log_ratios, values[k], codes[k].tolist()))
                self._faults.cusum.add(np.sum(ratios, axis=0), int(rows[k][0]))
                if self.bets.alarm is not None:
                    self.fault, self.factor = self._faults.name(self._classes)
                    self.since = self._faults.cusum.since
        return np.array(totals)

    def to_plain(self) -> dict[str, Any]:
        return {
            "waiting": self._waiting, "label_counts": self._faults.counts.tolist(),
            "since": self.since, "fault": self.fault, "factor": self.factor,
            "calibration": self.bets.to_plain() | self._faults.cusum.to_plain(),
        }  # fmt: skip

    def restore(self, plain: dict[str, Any], n_rows: int) -> None:
        faults = self._faults
        faults.counts = read_numbers(plain["label_counts"], faults.counts.shape, counts=True)
        self.bets.restore(plain["calibration"], n_rows)
        faults.cusum.restore(plain["calibration"], n_rows)
        self.since = read_row(plain["since"], n_rows)
        self.fault, self.factor = plain["fault"], plain["factor"]
        if not (isinstance(self.fault, str | None) and isinstance(self.factor, float | None)):
            raise ValueError("a fault or a factor of the wrong type")
        if plain["waiting"] is not None:
            row, values, code = plain["waiting"]
            values = read_numbers(values, faults.counts.shape)
            known = type(code) is int and code in range(len(values))
            if read_row(row, n_rows) is None or not known or values.max() != 0:
                raise ValueError("an incomplete sample that waits for the next")
            self._waiting = row, values.tolist(), code


def ratio_bets(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Log e-values :math:`1 - b + b w_i / w_y`, a column for each class i and stake b."""
    own = values[np.arange(len(codes)), codes][:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        # Calibrated evidence cannot rule the true class out.
        llr = np.where(own == -np.inf, np.inf, values - own)
    parts = [np.logaddexp(math.log1p(-stake), math.log(stake) + llr) for stake in STAKES]
    return np.hstack(parts)


def factor_bets(
    first: tuple[Floats, NDArray[np.intp]], second: tuple[Floats, NDArray[np.intp]]
) -> Floats:
    r"""Log e-values for pairs of samples, a column for each factor; 0 for pairs in one class.

    Given both samples and both labels, the labels stand as they do with probability :math:`s(d)`,
    the logistic function of the summed LLRs for each class against the other's. Evidence that
    should be multiplied by c says :math:`s(c d)`. The e-value is the ratio.
    """
    (x, a), (y, b) = first, second
    rows = np.arange(len(a))
    with np.errstate(invalid="ignore", over="ignore"):
        d = (x[rows, a] - x[rows, b]) + (y[rows, b] - y[rows, a])
    impossible = (x[rows, a] == -np.inf) | (y[rows, b] == -np.inf)
    d = np.clip(np.where(impossible, 0.0, d), -_MAX_NATS, _MAX_NATS)[:, None]
    log_e = np.logaddexp(0, -d) - np.logaddexp(0, -d * np.array(FACTORS))
    return np.where(impossible[:, None], np.inf, np.where((a == b)[:, None], 0.0, log_e))


class Faults:
    r"""Likelihoods of the labels if evidence has one of several faults: factors and offsets.

    Bets must hold whatever the mix does, and identify faults badly: overconfident evidence also
    makes bets on a class gain. Here the mix is that of the last labels, :math:`\pi`, and a label
    has the probability :math:`\pi_y w_y^c / \sum_k \pi_k w_k^c` if c would repair the evidence.
    """

    def __init__(self, prior: Floats) -> None:
        D = len(prior)
        self._pseudo, self.counts = D / 2 * prior, np.zeros(D)
        # With two classes, evidence against one is evidence in favor of the other.
        self._offsets = np.array(_OFFSETS + (() if D == 2 else tuple(-o for o in _OFFSETS)))
        self.cusum = Cusum(len(FACTORS) + D * len(self._offsets))

    def log_ratios(self, values: Floats, code: int) -> Floats:
        """Log-likelihood ratios of each fault against none; then count the sample."""
        counts = self.counts + self._pseudo
        self.counts = (1 - 1 / _MEMORY) * self.counts
        self.counts[code] += 1
        if values[code] == -np.inf:  # infinitely too strong: no factor repairs it
            return np.where(np.arange(len(self.cusum.sums)) < _N_STRONG, np.inf, 0.0)
        factors = np.array((1.0, *FACTORS))[:, None]
        joint = np.log(counts / counts.sum()) + factors * np.maximum(values, -_MAX_NATS)
        log_posteriors = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        by_offset = -np.log1p(np.expm1(-self._offsets)[:, None] * np.exp(log_posteriors[0]))
        by_offset[:, code] -= self._offsets
        by_factor = log_posteriors[1:, code] - log_posteriors[0, code]
        return np.append(by_factor, by_offset)

    def name(self, classes: tuple[Hashable, ...]) -> tuple[str, float | None]:
        """The likeliest fault if it leads clearly, and the mildest factor likely to repair it."""
        words = ["in favor of" if offset > 0 else "against" for offset in self._offsets]
        kinds = ["too strong" if factor < 1 else "too weak" for factor in FACTORS]
        kinds += [f"{word} {quote(label)}" for word in words for label in classes]
        sums = self.cusum.sums
        best = int(np.argmax(sums))
        others = [one for one, kind in zip(sums, kinds, strict=True) if kind != kinds[best]]
        if sums[best] - max(*others, 0.0) < LEAD:
            return NOT_CLEAR, None
        if best >= len(FACTORS) or sums[best] == np.inf:
            return kinds[best], None
        likely = np.array(FACTORS)[self.cusum.is_likely[: len(FACTORS)]]
        return kinds[best], float(likely[np.argmin(np.abs(np.log(likely)))])
