"""Whether evidence is calibrated, sample by sample: a test that one may stop at any time."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban.metrics.labelled import EvidenceLike, read_labelled
from deciban.monitoring.e_process import NOT_CLEAR
from deciban.monitoring.monitor import Monitor


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationETest:
    """Evidence against calibration after each sample, at whatever sample one stops.

    Attributes
    ----------
    log_e : array of shape (n_samples,)
        Logarithm of the e-value after each sample, in nats; it moves at every second one.
    p_value : float
        One over the largest e-value, at most one: it holds although one has looked all the time.
    fault : str or None
        As in :class:`MonitorState`; None where the p-value is above 0.05.
    since : int or None
        Row from which on, by estimate, the evidence is off, where the p-value is 0.05 or less.

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
        fault = "" if self.fault in (None, NOT_CLEAR) else f" ({self.fault}?)"
        n = len(self.log_e)
        samples = f"{n:,} sample{'s' * (n != 1)}"
        return f"CalibrationETest: p = {self.p_value:.3g}{fault} after {samples}"


def calibration_e_test(
    y_true: ArrayLike, evidence: EvidenceLike, *, classes: Sequence[Hashable] | None = None
) -> CalibrationETest:
    r"""Test whether evidence is calibrated, sample by sample, valid at every stopping time.

    The e-process for calibration of :class:`Monitor`, without restarts: however often one looks,
    its p-value is alpha or less with probability alpha at most if the evidence is calibrated. That
    holds whatever the class mix does, unless the distribution of the evidence on a class differs
    together with the mix from one sample to the next. The result depends on the order of the
    samples.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        A class need not occur. There are no weights: a sample comes once.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        Evidence that rules a true class out is an e-value of infinity.
    classes
        As for :func:`deciban.metrics.cross_entropy`.

    Returns
    -------
    CalibrationETest

    See Also
    --------
    deciban.metrics.calibration_test : More power where the number of samples is fixed beforehand.
    Monitor : The same for samples that come in, and for the class mix.

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
    values = data.evidence.log_likelihoods
    monitor = Monitor(data.evidence.classes, alpha=0.05)
    below = values - values.max(axis=1, keepdims=True)
    start = monitor.state.calibration.log_e
    totals = monitor._bet_on_calibration(np.arange(len(values)), below, data.codes)
    state = monitor.state
    log_e = np.full(len(values), state.calibration.log_e)
    after_pairs = np.repeat(np.append(start, totals), 2)[1 : len(values) + 1]
    log_e[: len(after_pairs)] = after_pairs
    ruled_out = below[np.arange(len(values)), data.codes] == -np.inf
    log_e[np.logical_or.accumulate(ruled_out)] = np.inf  # such a sample does not wait for another
    p_value = math.exp(-max(state.calibration.largest, 0.0))
    return CalibrationETest(log_e, p_value, state.fault, state.calibration.since)
