"""Whether evidence stays calibrated, and the class mix the declared one, while samples come in."""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._persistence.files import DECODING_ERRORS, require_writable, write_atomically
from deciban._persistence.registry import Decoder, Encoder
from deciban._validation.arrays import Floats, is_frame, to_host
from deciban._validation.labels import (
    align_by_index,
    as_labels,
    encode_labels,
    is_missing,
    read_labels,
)
from deciban._validation.scalars import require_bool, require_fraction
from deciban.evidence import Evidence
from deciban.evidence.bayes import Prior, log_prior
from deciban.exceptions import InputError
from deciban.metrics.labelled import EvidenceLike
from deciban.monitoring.e_process import (
    EProcess,
    Faults,
    MixBets,
    RecentMix,
    calibration_bets,
    calibration_shares,
    read_counts,
    read_numbers,
    read_row,
)

_KIND, _VERSION = "Monitor", 1
_ALPHA = {False: 0.01, True: 0.0001}  # without and with restarts
_MEMORIES = {False: (math.inf,), True: (100.0, 1000.0)}  # samples
_MOST_TABLES = 1000
_LEAST = 1e-200  # of the declared mix; products of less vanish


@dataclass(frozen=True)
class Watch:
    """What a monitor says about calibration, or about the class mix.

    Attributes
    ----------
    log_e : float
        Logarithm of the e-value after the last sample, in nats. With ``restart`` it is that of the
        sum of e-values over all starts, whose mean is at most the number of samples.
    largest : float
        Largest so far.
    alarm : int or None
        Row of the sample at which it first reached ``1 / alpha``; rows count from 0.
    since : int or None
        Row from which on things had changed, as estimated at the alarm.

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
    fault : str or None
        In which way evidence is probably off, as it looked at the alarm of calibration: "too
        strong", "too weak", "in favor of" or "against" a class, or "not clear" unless one of them
        is 20 times as likely as the others. It has no error rate. None without an alarm.
    factor : float or None
        Factor that would mend evidence that is too strong or too weak, from a coarse grid, as it
        looked at the alarm.
    shares : dict or None
        Class mix of the samples from ``mix.since`` on; None without an alarm of the mix.

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
    fault: str | None
    factor: float | None
    shares: dict[Hashable, float] | None

    @property
    def moved(self) -> tuple[str, ...]:
        """Which of "calibration" and "mix" have raised an alarm."""
        both = {"calibration": self.calibration, "mix": self.mix}
        return tuple(name for name, one in both.items() if one.alarm is not None)


class Monitor:
    r"""Watch whether evidence stays calibrated, and the class mix the declared one.

    Two e-processes, each with the error rate alpha. The one for *calibration* needs labels. Its
    bets are :math:`1 - b + b w_i / w_y`, whose mean under class y is one, on classes i that are
    favored, and bets on which of two neighboring samples has which of their two labels, as evidence
    times a factor says. It moves after every second labeled sample. The one for the *mix* uses
    labels alone where there are any, and needs calibrated evidence only for samples without:
    :math:`\sum_k \pi'_k w_k / \sum_k \pi_k w_k`.

    The error rate of calibration holds whatever the class mix is or does while evidence on a class
    has one distribution, and however that changes while the mix stays. Only where both differ from
    one sample to the next, as where two sources take turns, it does not: give each its own monitor.

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
        # NumPy's scalars cannot be saved.
        self.classes = tuple(
            one.item() if isinstance(one, np.generic) else one for one in as_labels(classes)
        )
        if len(self.classes) < 2:
            raise InputError(
                f"classes must be two or more; got {len(self.classes)}. Name every class."
            )
        self.prior = np.maximum(np.exp(log_prior(prior, self.classes)[0]), _LEAST)
        self.restart = require_bool(restart, "restart")
        alpha = _ALPHA[self.restart] if alpha is None else alpha
        self.alpha = require_fraction(alpha, "alpha", remedy="Give 0.01, for instance.")
        n = len(_MEMORIES[self.restart])
        shares = calibration_shares(len(self.classes)), np.full(n, 1 / n)
        self._calibration, self._mix = (EProcess(s, self.alpha, self.restart) for s in shares)
        self._begin()
        self._rows = self._labeled = 0
        self._waiting: tuple[int, list[float], int] | None = None  # row, evidence, class
        self._since: int | None = None
        self._fault: str | None = None
        self._factor: float | None = None
        # Checksums of the tables that `deciban monitor` has counted, the last ones of very many.
        self._tables: deque[str] = deque(maxlen=_MOST_TABLES)

    def _begin(self) -> None:
        memories = _MEMORIES[self.restart]
        self._bets, self._faults = MixBets(self.prior, memories), Faults(self.prior)
        self._recent = RecentMix(self.prior, len(memories))

    def __repr__(self) -> str:
        return f"Monitor of {len(self.classes)} classes after {self._rows:,} samples"

    def update(self, evidence: EvidenceLike, y_true: ArrayLike | None = None) -> MonitorState:
        """Go on with further samples, in the order in which they came.

        Parameters
        ----------
        evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
            The order of its rows counts; labels in pandas follow it by their index.
        y_true : array of shape (n_samples,), optional
            Entries that are None or NaN are labels that are not known. Whether a label is known
            must not depend on the evidence, and for the mix not on the class either.

        Returns
        -------
        MonitorState
        """
        evidence, y_true = align_by_index(evidence=evidence, y_true=y_true)
        if not isinstance(evidence, Evidence):
            evidence = Evidence(evidence, self.classes)
        values = evidence._columns_for(self.classes)
        codes = self._read_codes(y_true, len(values))
        values = values - values.max(axis=1, keepdims=True)
        for k, code in enumerate(codes.tolist()):
            row, log_e = self._rows + k, self._bets.log_e(values[k], code)
            dated = self._mix.alarm is not None
            self._recent.add(None if dated else log_e, values[k], code, row)
            self._mix.step(log_e, row)
        labeled = np.flatnonzero(codes >= 0)
        self._bet_on_calibration(labeled + self._rows, values[labeled], codes[labeled])
        self._rows += len(values)
        self._labeled += len(labeled)
        return self.state

    @property
    def state(self) -> MonitorState:
        """Where the monitor stands."""
        shares = since = None
        calibration, mix = self._calibration, self._mix
        if mix.alarm is not None:
            since = self._recent.cusum.since
            shares = dict(zip(self.classes, self._recent.shares().tolist(), strict=True))
        return MonitorState(
            n_samples=self._rows,
            n_labeled=self._labeled,
            calibration=Watch(
                calibration.total, calibration.largest, calibration.alarm, self._since
            ),
            mix=Watch(mix.total, mix.largest, mix.alarm, since),
            fault=self._fault,
            factor=self._factor,
            shares=shares,
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
            "counts": self._bets.counts.tolist(), "recent": self._recent.counts.tolist(),
            "label_counts": self._faults.counts.tolist(), "since": self._since,
            "fault": self._fault, "factor": self._factor, "tables": list(self._tables),
            "calibration": self._calibration.to_plain() | self._faults.cusum.to_plain(),
            "mix": self._mix.to_plain() | self._recent.cusum.to_plain(),
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
            what = "it is a folder" if os.path.isdir(path) else "there is none"
            raise InputError(f"{path} must be a file; {what}. Check its spelling.")
        try:
            plain = Decoder({}, _decode)(json.loads(Path(path).read_text(encoding="utf-8")))
            if (plain["kind"], plain["version"]) != (_KIND, _VERSION):
                raise ValueError(f"{plain['kind']} of version {plain['version']}")
            monitor = cls(
                plain["classes"], plain["prior"], alpha=plain["alpha"], restart=plain["restart"]
            )
            monitor.prior = np.maximum(read_numbers(plain["prior"], monitor.prior.shape), _LEAST)
            monitor._begin()
            monitor._restore(plain)
        except DECODING_ERRORS as error:
            raise InputError(
                f"{Path(path).name} must be a whole file of a monitor; it is not "
                f"({str(error)[:200]}). Start again with another file."
            ) from None
        return monitor

    def _restore(self, plain: dict[str, Any]) -> None:
        rows, labeled = plain["rows"], plain["labeled"]
        if not (type(rows) is type(labeled) is int and 0 <= labeled <= rows):
            raise ValueError("numbers of rows and labels that do not fit")
        self._rows, self._labeled = rows, labeled
        for name, counted in (("counts", self._bets), ("recent", self._recent)):
            counted.counts = read_counts(plain[name], counted.counts.shape)
        self._faults.counts = read_counts(plain["label_counts"], self._faults.counts.shape)
        for process, cusum, name in (
            (self._calibration, self._faults.cusum, "calibration"),
            (self._mix, self._recent.cusum, "mix"),
        ):
            process.restore(plain[name], rows)
            cusum.restore(plain[name], rows)
        self._since, self._fault = read_row(plain["since"], rows), plain["fault"]
        self._factor = plain["factor"]
        self._tables.extend(plain["tables"])
        texts = isinstance(self._fault, str | None) and all(
            isinstance(one, str) for one in self._tables
        )
        if not texts or not isinstance(self._factor, float | None):
            raise ValueError("a fault, a factor or a checksum of the wrong type")
        if plain["waiting"] is not None:
            row, values, code = plain["waiting"]
            values = read_numbers(values, self.prior.shape)
            known = type(code) is int and code in range(len(self.classes))
            if read_row(row, rows) is None or not known or values.max() != 0:
                raise ValueError("a sample that waits for the next is not whole")
            self._waiting = row, values.tolist(), code

    def _read_codes(self, y_true: Any, n: int) -> NDArray[np.intp]:
        codes = np.full(n, -1, dtype=np.intp)
        if y_true is None:
            return codes
        if isinstance(y_true, np.ma.MaskedArray):
            y_true = y_true.tolist()  # with None where it is masked
        elif is_frame(y_true):
            y_true = y_true.to_numpy()
        labels = np.asarray(to_host(y_true), dtype=object)
        read_labels(np.zeros(labels.shape), n)  # the same errors about shapes as elsewhere
        labels = labels.ravel()
        known = np.array([not is_missing(one) for one in labels], dtype=bool)
        if known.any():
            codes[known] = encode_labels(read_labels(labels[known]), self.classes)
        return codes

    def _bet_on_calibration(
        self, rows: NDArray[np.intp], values: Floats, codes: NDArray[np.intp]
    ) -> Floats:
        """Bet on samples two by two; one that is left over waits. Return the log-wealth."""
        if self._calibration.total == math.inf:
            return np.empty(0)
        if self._waiting is not None:
            row, own, code = self._waiting
            rows, codes = np.append(row, rows), np.append(code, codes)
            values = np.vstack([own, values])
        self._waiting = None
        ruled_out = values[np.arange(len(codes)), codes] == -np.inf
        # A sample that rules its class out need not wait: there is nothing left to win.
        n = int(np.argmax(ruled_out)) + 1 if ruled_out.any() else len(rows)
        pairs = n // 2
        log_e = calibration_bets(values[: 2 * pairs], codes[: 2 * pairs])
        steps = list(zip(log_e, (slice(2 * k, 2 * k + 2) for k in range(pairs)), strict=True))
        if n % 2 and ruled_out.any():
            steps.append((np.full(log_e.shape[1], np.inf), slice(n - 1, n)))
        elif n % 2:
            self._waiting = int(rows[-1]), values[-1].tolist(), int(codes[-1])
        return np.array([self._step(e, rows[k], values[k], codes[k]) for e, k in steps])

    def _step(
        self, log_e: Floats, rows: NDArray[np.intp], values: Floats, codes: NDArray[np.intp]
    ) -> float:
        """Bet on these samples, and name the fault at the alarm: what comes later may be mended."""
        total = self._calibration.step(log_e, int(rows[-1]))
        if self._fault is None:
            self._faults.add(values, codes, int(rows[0]))
            if self._calibration.alarm is not None:
                self._fault, self._factor = self._faults.name(self.classes)
                self._since = self._faults.cusum.since
        return total


def _encode(value: Any, path: str) -> Any:
    """Plain data as JSON has it; labels and infinite numbers as files of models write them."""
    if isinstance(value, dict):
        return {name: _encode(inner, f"{path}.{name}") for name, inner in value.items()}
    encoder = Encoder(lambda encoder, value, path: None)
    encoded = encoder(value, path)
    if encoder.arrays:  # which a file of JSON has no place for
        raise InputError(
            f"{path} must be text, numbers or truth values to be saved; got numbers of NumPy. "
            f"Convert them with .item() first."
        )
    return encoded


def _decode(decoder: Decoder, node: dict[str, Any]) -> Any:
    return {name: decoder(inner) for name, inner in node.items()}
