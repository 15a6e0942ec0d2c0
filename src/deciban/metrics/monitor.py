"""Whether evidence stays calibrated, and the class mix the declared one, while samples come in."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._persistence.atomic import require_writable, write_atomically
from deciban._persistence.encoding import Decoder, Encoder
from deciban._persistence.tensors import DECODING_ERRORS
from deciban._validation.arrays import Floats
from deciban._validation.labels import as_labels, encode_labels, is_missing, read_labels
from deciban._validation.scalars import require_bool, require_fraction
from deciban.evidence import Evidence
from deciban.evidence.bayes import Prior, log_prior
from deciban.exceptions import InputError
from deciban.metrics.e_process import (
    EProcess,
    MixBets,
    calibration_bets,
    calibration_shares,
    name_fault,
    read_numbers,
    read_row,
)
from deciban.metrics.labelled import EvidenceLike

_KIND, _VERSION = "Monitor", 1
_ALPHA = {False: 0.01, True: 0.0001}  # without and with restarts
_MEMORIES = {False: (math.inf,), True: (100.0, 1000.0)}  # samples


@dataclass(frozen=True)
class Watch:
    """What a monitor says about calibration, or about the class mix.

    Attributes
    ----------
    log_e : float
        Logarithm of the e-value after the last sample, in nats.
    largest : float
        Largest so far.
    alarm : int or None
        Row of the sample at which it first reached ``1 / alpha``; rows count from 0.
    since : int or None
        Row from which on, by estimate, things had changed.

    See Also
    --------
    Monitor : Returns it.

    Examples
    --------
    >>> Monitor([0, 1]).update([[2.0, 0.0]], [0]).mix
    Watch(log_e=0.0, largest=0.0, alarm=None, since=None)
    """

    log_e: float
    largest: float
    alarm: int | None
    since: int | None


@dataclass(frozen=True)
class MonitorState:
    """Where a monitor stands.

    Attributes
    ----------
    n_samples, n_labeled : int
    calibration, mix : Watch
    fault : str
        In which way evidence is likeliest off, if it is: "too strong", "too weak" or "in favor of"
        a class.
    factor : float
        Factor that would mend it, from a coarse grid; 1 where the fault is another.
    shares : dict
        The class mix, as the best bet on it has it.

    See Also
    --------
    Monitor : Returns it.

    Examples
    --------
    >>> state = Monitor([0, 1]).update([[0.0, 0.0]] * 40, [1] * 40)
    >>> state.moved, state.mix.alarm, state.shares[1] > 0.9
    (('mix',), 9, True)
    """

    n_samples: int
    n_labeled: int
    calibration: Watch
    mix: Watch
    fault: str
    factor: float
    shares: dict[Hashable, float]

    @property
    def moved(self) -> tuple[str, ...]:
        """Which of "calibration" and "mix" have raised an alarm."""
        both = {"calibration": self.calibration, "mix": self.mix}
        return tuple(name for name, one in both.items() if one.alarm is not None)


class Monitor:
    r"""Watch whether evidence stays calibrated, and the class mix the declared one.

    Two e-processes, each with the error rate alpha. The one for *calibration* needs labels and
    holds whatever the class mix is or does. Its bets are :math:`1 - b + b w_i / w_y`, whose mean
    under class y is one, on classes i that are favored, and bets on which of two neighboring
    samples has which of their two labels, as evidence times a factor says. It moves after every
    second labeled sample. The one for the *mix* uses labels alone where there are any, and needs
    calibrated evidence only for samples without: :math:`\sum_k \pi'_k w_k / \sum_k \pi_k w_k`.

    Parameters
    ----------
    classes : sequence of labels
    prior : array of shape (n_classes,) or mapping, default uniform
        The declared class mix.
    alpha : float, default 0.01, with ``restart`` 0.0001
        Without ``restart``, the largest probability that an alarm is ever raised although nothing
        is wrong, for each of the two.
    restart : bool, default False
        Whether to look for a change at any time, also after a long calm. Then the mean number of
        samples to a false alarm is ``1 / alpha`` at least, for each of the two.

    See Also
    --------
    calibration_e_test : The same test of calibration for samples in memory.
    deciban.Evidence.estimate_prior : The new class mix with intervals.
    deciban.calibration.AffineCalibrator : Mends what has moved.

    References
    ----------
    Ramdas, Grünwald, Vovk and Shafer (2023), Game-theoretic statistics and safe anytime-valid
    inference. Shin, Ramdas and Rinaldo (2023), E-detectors.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0])
    >>> l, y = family.sample([500, 500], rng=0)
    >>> order = np.random.default_rng(0).permutation(1000)
    >>> l, y, monitor = l[order], y[order], Monitor([0, 1])
    >>> monitor.update(family.evidence(l), y).moved
    ()
    >>> state = monitor.update(family.evidence(3 * l), y)
    >>> state.moved, state.fault
    (('calibration',), 'too strong')
    """

    def __init__(
        self,
        classes: Sequence[Hashable],
        prior: Prior = None,
        *,
        alpha: float | None = None,
        restart: bool = False,
    ) -> None:
        self.classes = as_labels(classes)
        if len(self.classes) < 2:
            raise InputError(
                f"classes must be two or more; got {len(self.classes)}. Name every class."
            )
        self.prior = np.exp(log_prior(prior, self.classes)[0])
        self.restart = require_bool(restart, "restart")
        alpha = _ALPHA[self.restart] if alpha is None else alpha
        self.alpha = require_fraction(alpha, "alpha", remedy="Give 0.01, for instance.")
        memories = _MEMORIES[self.restart]
        shares = calibration_shares(len(self.classes)), np.full(len(memories), 1 / len(memories))
        self._calibration, self._mix = (EProcess(s, self.alpha, self.restart) for s in shares)
        self._bets = MixBets(self.prior, memories)
        self._rows = self._labeled = 0
        self._waiting: tuple[int, list[float], int] | None = None  # row, evidence, class

    def __repr__(self) -> str:
        return f"Monitor of {len(self.classes)} classes after {self._rows:,} samples"

    def update(self, evidence: EvidenceLike, y_true: ArrayLike | None = None) -> MonitorState:
        """Go on with further samples, in the order in which they came.

        Parameters
        ----------
        evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        y_true : array of shape (n_samples,), optional
            Entries that are None or NaN are labels that are not known. Whether a label is known
            must not depend on the evidence, and for the mix not on the class either.

        Returns
        -------
        MonitorState
        """
        if not isinstance(evidence, Evidence):
            evidence = Evidence(evidence, self.classes)
        values = evidence._columns_for(self.classes)
        codes = self._read_codes(y_true, len(values))
        values = values - values.max(axis=1, keepdims=True)
        for k, code in enumerate(codes.tolist()):
            self._mix.step(self._bets.log_e(values[k], code), self._rows + k, self._rows + k)
        labeled = np.flatnonzero(codes >= 0)
        self._bet_on_calibration(labeled + self._rows, values[labeled], codes[labeled])
        self._rows += len(values)
        self._labeled += len(labeled)
        return self.state

    @property
    def state(self) -> MonitorState:
        """Where the monitor stands."""
        fault, factor = name_fault(self._calibration.gains, self.classes)
        shares = self._bets.shares()[self._mix.best]
        return MonitorState(
            n_samples=self._rows,
            n_labeled=self._labeled,
            calibration=_watch(self._calibration),
            mix=_watch(self._mix),
            fault=fault,
            factor=factor,
            shares=dict(zip(self.classes, shares.tolist(), strict=True)),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor to a file of JSON, the whole of it or nothing.

        Parameters
        ----------
        path : path
        """
        plain: dict[str, Any] = {
            "kind": _KIND, "version": _VERSION, "classes": list(self.classes),
            "prior": self.prior.tolist(), "alpha": self.alpha, "restart": self.restart,
            "rows": self._rows, "labeled": self._labeled, "waiting": self._waiting,
            "counts": self._bets.counts.tolist(), "calibration": self._calibration.to_plain(),
            "mix": self._mix.to_plain(),
        }  # fmt: skip
        text = json.dumps(_encode(plain, "monitor"), allow_nan=False)
        write_atomically(require_writable(path), text + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a monitor from a file that :meth:`save` wrote; no code from the file is run.

        Parameters
        ----------
        path : path

        Returns
        -------
        Monitor
            It goes on exactly as the one that was saved.
        """
        if not os.path.isfile(path):
            raise InputError(f"{path} must be a file; there is none. Check its spelling.")
        try:
            plain = Decoder({}, _decode)(json.loads(Path(path).read_text(encoding="utf-8")))
            if (plain["kind"], plain["version"]) != (_KIND, _VERSION):
                raise ValueError(f"{plain['kind']} of version {plain['version']}")
            monitor = cls(
                plain["classes"], plain["prior"], alpha=plain["alpha"], restart=plain["restart"]
            )
            monitor.prior = read_numbers(plain["prior"], monitor.prior.shape)
            monitor._bets = MixBets(monitor.prior, _MEMORIES[monitor.restart])
            monitor._restore(plain)
        except DECODING_ERRORS as error:
            raise InputError(
                f"{Path(path).name} must be a whole file of a monitor; it is not "
                f"({str(error)[:200]}). Start again with another file."
            ) from None
        return monitor

    def _restore(self, plain: dict[str, Any]) -> None:
        self._rows, self._labeled = (read_row(plain[k]) or 0 for k in ("rows", "labeled"))
        self._bets.counts = read_numbers(plain["counts"], self._bets.counts.shape)
        if not (np.isfinite(self._bets.counts) & (self._bets.counts >= 0)).all():
            raise ValueError("counts that are negative or infinite")
        if self._labeled > self._rows:
            raise ValueError("more labels than rows")
        self._calibration.restore(plain["calibration"])
        self._mix.restore(plain["mix"])
        if plain["waiting"] is not None:
            row, values, code = plain["waiting"]
            values = read_numbers(values, self.prior.shape).tolist()
            known = type(code) is int and code in range(len(self.classes))
            if read_row(row) is None or not known:
                raise ValueError("a sample that waits for the next is not whole")
            self._waiting = row, values, code

    def _read_codes(self, y_true: Any, n: int) -> NDArray[np.intp]:
        codes = np.full(n, -1, dtype=np.intp)
        if y_true is None:
            return codes
        entries = y_true.tolist() if hasattr(y_true, "tolist") else list(y_true)
        known = np.array([not is_missing(one) for one in entries], dtype=bool)
        if len(known) != n:
            read_labels(y_true, n)  # an error that says so
        if known.any():
            some = read_labels([one for one in entries if not is_missing(one)])
            codes[known] = encode_labels(some, self.classes)
        return codes

    def _bet_on_calibration(
        self, rows: NDArray[np.intp], values: Floats, codes: NDArray[np.intp]
    ) -> Floats:
        """Bet on samples two by two; one that is left over waits. Return the log-wealth."""
        if self._waiting is not None:
            row, own, code = self._waiting
            rows, codes = np.append(row, rows), np.append(code, codes)
            values = np.vstack([own, values])
        pairs = len(rows) // 2
        log_e = calibration_bets(values[: 2 * pairs], codes[: 2 * pairs])
        ends = rows[: 2 * pairs].reshape(-1, 2).tolist()
        totals = [self._calibration.step(e, *end) for e, end in zip(log_e, ends, strict=True)]
        self._waiting = None
        if len(rows) % 2:
            self._waiting = int(rows[-1]), values[-1].tolist(), int(codes[-1])
        return np.array(totals)


def _watch(process: EProcess) -> Watch:
    return Watch(process.total, process.largest, process.alarm, process.since)


def _encode(value: Any, path: str) -> Any:
    """Plain data as JSON has it; labels and infinite numbers as files of models write them."""
    if isinstance(value, dict):
        return {name: _encode(inner, f"{path}.{name}") for name, inner in value.items()}
    return Encoder(lambda encoder, value, path: None)(value, path)


def _decode(decoder: Decoder, node: dict[str, Any]) -> Any:
    return {name: decoder(inner) for name, inner in node.items()}
