"""Detect drift in calibration or class mix while samples come in."""

from __future__ import annotations

import json
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
from deciban._validation.arrays import is_frame, to_host
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
from deciban.monitoring.calibration import CalibrationProcess
from deciban.monitoring.e_process import MixProcess, read_numbers

_KIND, _VERSION = "Monitor", 1
_ALPHA = {False: 0.01, True: 0.0001}  # without and with restarts
_MAX_TABLES = 1000
_MIN_PRIOR = 1e-200  # products of smaller numbers vanish


@dataclass(frozen=True)
class Watch:
    """What a monitor says about calibration, or about the class mix.

    Attributes
    ----------
    log_e : float
        Logarithm of the e-value after the last sample, in nats. With ``restart`` e-values are
        summed over all starts, and the mean is at most the number of samples.
    largest : float
        Largest so far.
    alarm : int or None
        Row, from 0, at which it first reached ``1 / alpha``.
    since : int or None
        Estimated row of the change, made at the alarm.

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
    """The state of a monitor.

    Attributes
    ----------
    n_samples, n_labeled : int
    calibration, mix : Watch
    fault : str or None
        Likeliest fault at the alarm for calibration: "too strong", "too weak", "in favor of" or
        "against" a class, or "not clear" unless it is 20 times as likely as the others. It has no
        error rate. None without an alarm.
    factor : float or None
        Factor, from a coarse grid, that would have corrected the strength at the alarm.
    shares : dict or None
        Class mix from row ``mix.since`` on; None without an alarm for the mix.

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
        """Names of the alarms, "calibration" and "mix"."""
        both = {"calibration": self.calibration, "mix": self.mix}
        return tuple(name for name, one in both.items() if one.alarm is not None)


class Monitor:
    r"""Detect drift in calibration or class mix, with valid alarms at any time.

    Two e-processes, each with error rate alpha. *Calibration* needs labels. It bets on favored
    classes i, :math:`1 - b + b w_i / w_y`, with mean one under class y, and on which of two
    neighboring samples has which of their labels if evidence is multiplied by a factor. It moves
    after every second labeled sample. *Mix* uses the label of a sample if it is known, and needs
    calibrated evidence only otherwise: :math:`\sum_k \pi'_k w_k / \sum_k \pi_k w_k`.

    The error rate for calibration fails only if the class mix and the distribution of evidence on a
    class both change from one sample to the next, as when two sources take turns: give each its own
    monitor.

    See Ramdas, Grünwald, Vovk and Shafer (2023), Game-theoretic statistics and safe anytime-valid
    inference. Shin, Ramdas and Rinaldo (2023), E-detectors.

    Parameters
    ----------
    classes : sequence of labels
    prior : array of shape (n_classes,) or mapping, default uniform
        The declared class mix.
    alpha : float, default 0.01, with ``restart`` 0.0001
        Without ``restart``, the largest probability that a false alarm is ever raised, for each
        e-process.
    restart : bool, default False
        Look for a change at any time, also after a long calm. Then the mean number of samples to a
        false alarm is at least ``1 / alpha``, for each e-process.

    Attributes
    ----------
    tables : deque of str
        Checksums of the last 1,000 tables that the command line has counted; saved and loaded.

    See Also
    --------
    calibration_e_test, deciban.Evidence.estimate_prior, deciban.calibration.AffineCalibrator

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
        labels = as_labels(classes)  # NumPy's scalars cannot be saved
        self.classes = tuple(k.item() if isinstance(k, np.generic) else k for k in labels)
        if len(self.classes) < 2:
            got = len(self.classes)
            raise InputError(f"classes must be two or more; got {got}. Name every class.")
        self.prior = np.maximum(np.exp(log_prior(prior, self.classes)[0]), _MIN_PRIOR)
        self.restart = require_bool(restart, "restart")
        alpha = _ALPHA[self.restart] if alpha is None else alpha
        self.alpha = require_fraction(alpha, "alpha", remedy="Give 0.01, for instance.")
        self.tables: deque[str] = deque(maxlen=_MAX_TABLES)
        self._rows = self._labeled = 0
        self._begin()

    def _begin(self) -> None:
        self._calibration = CalibrationProcess(self.classes, self.prior, self.alpha, self.restart)
        self._mix = MixProcess(self.prior, self.alpha, self.restart)

    def __repr__(self) -> str:
        return f"Monitor of {len(self.classes)} classes after {self._rows:,} samples"

    def update(self, evidence: EvidenceLike, y_true: ArrayLike | None = None) -> MonitorState:
        """Continue with further samples, in the order in which they came.

        Parameters
        ----------
        evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
            The order of its rows counts; labels in pandas follow it by their index.
        y_true : array of shape (n_samples,), optional
            None or NaN is an unknown label. Whether a label is known must not depend on the
            evidence, and for the mix not on the class either.
        """
        evidence, y_true = align_by_index(evidence=evidence, y_true=y_true)
        if not isinstance(evidence, Evidence):
            evidence = Evidence(evidence, self.classes)
        values = evidence.columns_for(self.classes)
        codes = self._read_codes(y_true, len(values))
        values = values - values.max(axis=1, keepdims=True)
        for k, code in enumerate(codes.tolist()):
            self._mix.update(values[k], code, self._rows + k)
        at = np.flatnonzero(codes >= 0)
        self._calibration.update(at + self._rows, values[at], codes[at])
        self._rows += len(values)
        self._labeled += len(at)
        return self.state

    @property
    def state(self) -> MonitorState:
        """The state after the samples so far."""
        calibration, mix = (
            Watch(one.bets.total, one.bets.largest, one.bets.alarm, one.since)
            for one in (self._calibration, self._mix)
        )
        shares = None
        if self._mix.bets.alarm is not None:
            shares = dict(zip(self.classes, self._mix.shares().tolist(), strict=True))
        fault, factor = self._calibration.fault, self._calibration.factor
        return MonitorState(self._rows, self._labeled, calibration, mix, fault, factor, shares)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the monitor to a JSON file, completely or not at all."""
        plain: dict[str, Any] = {
            "kind": _KIND, "version": _VERSION, "classes": list(self.classes),
            "prior": self.prior.tolist(), "alpha": self.alpha, "restart": self.restart,
            "rows": self._rows, "labeled": self._labeled, "tables": list(self.tables),
        }  # fmt: skip
        plain |= self._calibration.to_plain() | self._mix.to_plain()
        text = json.dumps(_encode(plain, "monitor"), allow_nan=False)
        write_atomically(require_writable(path), text + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a monitor that continues exactly as the saved one; no code from the file is run."""
        if not os.path.isfile(path):
            what = "it is a folder" if os.path.isdir(path) else "there is none"
            raise InputError(f"{path} must be a file; {what}. Check its spelling.")
        try:
            plain = Decoder({}, _decode)(json.loads(Path(path).read_text(encoding="utf-8")))
            if (plain["kind"], plain["version"]) != (_KIND, _VERSION):
                raise ValueError(f"{plain['kind']} of version {plain['version']}")
            options = {name: plain[name] for name in ("classes", "prior", "alpha", "restart")}
            monitor = cls(**options)
            monitor._restore(plain)
        except DECODING_ERRORS as error:
            raise InputError(
                f"{Path(path).name} must be a whole file of a monitor; it is not "
                f"({str(error)[:200]}). Start again with another file."
            ) from None
        return monitor

    def _restore(self, plain: dict[str, Any]) -> None:
        # As saved, without the rounding of one more normalization.
        self.prior = np.maximum(read_numbers(plain["prior"], self.prior.shape), _MIN_PRIOR)
        self._begin()
        rows, labeled = plain["rows"], plain["labeled"]
        if not (type(rows) is type(labeled) is int and 0 <= labeled <= rows):
            raise ValueError("numbers of rows and labels that do not fit")
        self._rows, self._labeled = rows, labeled
        self._calibration.restore(plain, rows)
        self._mix.restore(plain, rows)
        self.tables.extend(plain["tables"])
        if not all(isinstance(one, str) for one in self.tables):
            raise ValueError("a checksum of the wrong type")

    def _read_codes(self, y_true: Any, n: int) -> NDArray[np.intp]:
        codes = np.full(n, -1, dtype=np.intp)
        if y_true is None:
            return codes
        if isinstance(y_true, np.ma.MaskedArray):
            y_true = y_true.tolist()  # masked entries become None
        elif is_frame(y_true):
            y_true = y_true.to_numpy()
        labels = np.asarray(to_host(y_true), dtype=object)
        read_labels(np.zeros(labels.shape), n)  # the same errors about shapes as elsewhere
        labels = labels.ravel()
        known = np.array([not is_missing(one) for one in labels], dtype=bool)
        if known.any():
            codes[known] = encode_labels(read_labels(labels[known]), self.classes)
        return codes


def _encode(value: Any, path: str) -> Any:
    """Plain data as JSON; labels and infinite numbers as in model files."""
    if isinstance(value, dict):
        return {name: _encode(inner, f"{path}.{name}") for name, inner in value.items()}
    encoder = Encoder(lambda encoder, value, path: None)
    encoded = encoder(value, path)
    if encoder.arrays:
        raise InputError(
            f"{path} must be text, numbers or truth values to be saved; got numbers of NumPy. "
            f"Convert them with .item() first."
        )
    return encoded


def _decode(decoder: Decoder, node: dict[str, Any]) -> Any:
    return {name: decoder(inner) for name, inner in node.items()}
