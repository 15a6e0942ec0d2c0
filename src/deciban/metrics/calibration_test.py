"""Test calibration by drawing labels from the evidence itself: no density is needed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote, require_whole
from deciban.metrics.intervals import Seed, seed_from
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled, share_out

_MIN_LOG = -1e4  # nats below the best class: lower log-likelihoods have posterior zero
_PRIOR = 1.0  # information about every score: separated classes give no other
_MIN_SHARE = 0.02  # smallest share of the information that is left, given the class proportions
_MAX_STEPS = 50
_JUMP = 0.05  # standard deviations of the sum; larger terms are drawn one by one
# How often draws exceed 1 in each tail: factor, offsets and shape. Most faults do not change the
# shape, so that it counts half.
_TAILS = (0.04, 0.04, 0.08, 0.02, 0.02)
_ROUNDING = 1e-9
_MAX_NAMED = 0.05  # largest p-value at which repr names the fault
_MIN_WEIGHT = 1e-12


@dataclass(frozen=True)
class CalibrationTest:
    """Result of a test for calibration: the p-value and the likeliest fault.

    Attributes
    ----------
    statistic, p_value : float
        Largest score, in units that calibrated evidence rarely exceeds, and how often calibrated
        evidence reaches it, whatever its distribution.
    scale, offset, shape : float
        p-values for single faults: the evidence is too strong or too weak overall, it favors a
        class whatever the sample, or strong evidence is off in another way than weak evidence.
    fault : str
        The likeliest fault, such as "too strong", even if chance explains it.
    claimed, found : float
        Mean entropy of the posteriors at the sample class proportions, and their mean
        cross-entropy, in nats. Overconfident evidence claims less than is found.
    n_draws : int

    See Also
    --------
    calibration_test : Returns it.

    Examples
    --------
    >>> calibration_test([0, 1, 0, 1], [[3, 0], [0, 3], [0, 3], [3, 0]], n_draws=99)
    CalibrationTest: p = 0.02 (too strong?), entropy claimed 0.191 nat, found 1.55 nat
    """

    statistic: float
    p_value: float
    scale: float
    offset: float
    shape: float
    fault: str
    claimed: float
    found: float
    n_draws: int

    def __repr__(self) -> str:
        fault = f" ({self.fault}?)" if self.p_value <= _MAX_NAMED else ""
        return (
            f"CalibrationTest: p = {self.p_value:.3g}{fault}, entropy claimed "
            f"{self.claimed:.3g} nat, found {self.found:.3g} nat"
        )


def calibration_test(
    y_true: ArrayLike,
    evidence: EvidenceLike,
    *,
    n_draws: int = 999,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
    rng: Seed = 0,
) -> CalibrationTest:
    r"""Test whether evidence is calibrated, for any number of classes and any distribution.

    If it is, the samples in a class are distributed as all samples are, each weighted with the
    posterior :math:`p(x)` of the class at the class proportions. Data sets are drawn accordingly,
    with the same class counts, and compared with the true one by the scores (slopes of the
    log-likelihood) for three recalibrations: a factor,
    :math:`\sum_i \log w_{y_i} - E_{p(x_i)} \log w`; offsets, class counts minus summed posteriors;
    and a factor that grows with the entropy of the posterior. Each score is divided by its standard
    error, then by a quantile over draws; the largest is compared with the largest in each draw.

    See Prentice and Pyke (1979), Logistic disease incidence models and case-control studies.
    Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur. Assumes independent samples.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        Classes may be ruled out.
    n_draws : int, default 999
        Data sets to draw; the p-value is at least ``1 / (1 + n_draws)``.
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0

    See Also
    --------
    idempotence, decompose

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([100, 100, 100], rng=0)
    >>> calibration_test(y, family.evidence(l)).p_value > 0.05
    True
    >>> found = calibration_test(y, family.evidence(2 * l))
    >>> found.p_value, found.fault
    (0.001, 'too strong')
    """
    require_whole(n_draws, "n_draws", 1)
    data = read_labelled(y_true, evidence, classes, sample_weight)
    return run_calibration_test(data, n_draws, np.random.default_rng([seed_from(rng), 3]))


def run_calibration_test(data: Labelled, n_draws: int, rng: np.random.Generator) -> CalibrationTest:
    rows, (w, weight, mass) = np.arange(len(data.codes)), _read(data)
    truth, world = _make_terms(w, mass), _make_terms(_balance(w, weight, mass), mass)
    seen = np.hstack([weight @ truth.scores[rows, data.codes], weight @ truth.others])
    drawn = _draw_data_sets(world, data.codes, weight, n_draws, rng)
    scale, offsets, shape = _standardize(np.vstack([seen, drawn]), mass)
    parts = _parts(scale, np.sqrt(np.sum(offsets**2, axis=1)), shape)
    statistic, share = parts.max(axis=0), weight / weight.sum()
    weak, strong = ("strong", "weak") if shape[0] < 0 else ("weak", "strong")
    faults = (
        "too strong" if scale[0] < 0 else "too weak",
        f"in favor of {quote(data.evidence.classes[int(np.argmin(offsets[0]))])}",
        f"too strong where it is {strong}, too weak where it is {weak}",
    )
    cost = -data.evidence.log_posterior(mass / mass.sum())[rows, data.codes]
    return CalibrationTest(
        statistic=float(statistic[0]),
        p_value=_p_value(statistic),
        scale=_p_value(parts[0]),
        offset=_p_value(parts[1]),
        shape=_p_value(parts[2]),
        fault=faults[int(parts[:, 0].argmax())],
        claimed=float(share @ truth.entropy),
        found=float(share @ cost),
        n_draws=n_draws,
    )


def balanced_posteriors(data: Labelled) -> Floats:
    """Posteriors at the prior at which they sum to the class counts."""
    w, weight, mass = _read(data)
    return np.exp(_make_terms(_balance(w, weight, mass), mass).log_p)


def _read(data: Labelled) -> tuple[Floats, Floats, Floats]:
    """Log-likelihoods below the largest, weights with mean one, and their sums by class."""
    values = data.evidence.log_likelihoods
    weight = np.maximum(data.weights / data.weights.mean(), _MIN_WEIGHT)
    with np.errstate(over="ignore"):
        w = np.maximum(values - values.max(axis=1, keepdims=True), _MIN_LOG)
    return w, weight, np.bincount(data.codes, weight).astype(np.float64)


def _parts(scale: Floats, offset: Floats, shape: Floats) -> Floats:
    """Scores for factor, offsets and shape, over quantiles of the draws, (3, 1 + n_draws)."""
    tails = np.array([scale, -scale, offset, shape, -shape])
    limits = [np.quantile(tail, 1 - rare) for tail, rare in zip(tails, _TAILS, strict=True)]
    up, down, offset, more, less = tails / np.maximum(limits, 1e-4)[:, None]
    return np.array([np.maximum(up, down), offset, np.maximum(more, less)])


def _p_value(values: Floats) -> float:
    """How often a data set reaches the value of the true one, which is the first."""
    return float(np.mean(values >= values[0] - _ROUNDING * (1 + abs(values[0]))))


class _Terms(NamedTuple):
    """Contributions of each sample to the scores and to their information."""

    log_p: Floats
    entropy: Floats
    scores: Floats  # by class, for the factor and the factor that grows with the entropy
    others: Floats  # posteriors; information: offsets, offsets with either factor, factors


def _make_terms(w: Floats, mass: Floats) -> _Terms:
    log_p = w + np.log(mass / mass.sum())
    log_p -= logsumexp(log_p, axis=1, keepdims=True)
    p = np.exp(log_p)
    entropy = -np.sum(p * log_p, axis=1)
    s = w - np.sum(p * w, axis=1, keepdims=True)
    t = s * (entropy / np.log(len(mass)))[:, None]
    factors = np.stack([np.sum(p * a, axis=1) for a in (s * s, s * t, t * t)], axis=1)
    others = np.concatenate([p, p * (1 - p), p * s, p * t, factors], axis=1)
    return _Terms(log_p, entropy, np.stack([s, t], axis=2), others)


def _standardize(sums: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Scores for factor, offsets and shape over their standard errors, a data set on each row.

    The class proportions are fixed, which lowers the variance (Prentice and Pyke, for each class
    against all others).
    """
    (s, t), (ss, st, tt) = sums[:, :2].T, sums[:, -3:].T
    p, information, with_s, with_t = np.split(sums[:, 2:-3], 4, axis=1)

    def divide(score: Floats, information: Floats, known: Floats) -> Floats:
        # Gaussian draws may be a little below zero.
        variance = np.maximum(np.maximum(information - known, _MIN_SHARE * information), 0.0)
        return np.asarray(score / np.sqrt(variance + _PRIOR))

    known = information**2 * (1 / mass + 1 / (mass.sum() - mass))
    slope = st / np.maximum(ss, _ROUNDING)
    with_rest = with_t - slope[:, None] * with_s
    return (
        divide(s, ss, with_s**2 @ (1 / mass)),
        divide(mass - p, information, known),
        divide(t - slope * s, tt - slope * st, with_rest**2 @ (1 / mass)),
    )


def _balance(w: Floats, weight: Floats, mass: Floats) -> Floats:
    """Add offsets that make the posteriors sum to the mass of each class.

    Offsets have a normal prior: for separated classes the sums hardly depend on them.
    """
    offset = np.zeros(len(mass))
    for _ in range(_MAX_STEPS):
        p = w + (offset + np.log(mass))
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        total = weight @ p
        information = np.diag(total + _PRIOR) - (p.T * weight) @ p
        step = np.linalg.solve(information, mass - total - _PRIOR * offset)
        offset += step / max(1.0, float(np.abs(step).max()))  # further steps may overshoot
        if np.abs(step).max() < 1e-5:
            break
    return np.asarray(w + offset)


def _draw_data_sets(
    world: _Terms, codes: NDArray[np.intp], weight: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Sums of scores and others for data sets with the same class counts."""
    D = world.log_p.shape[1]
    by_class = [weight[codes == j] for j in range(D)]

    def center(j: int, others: Floats) -> tuple[Floats, Floats, Floats]:
        share = share_out(weight * np.exp(world.log_p[:, j] - world.log_p[:, j].max()))
        x = np.hstack([world.scores[:, j], others])
        mean = share @ x
        x -= mean
        return share, x, mean

    variance = np.zeros(D + 2)  # of the scores
    for j, own in enumerate(by_class):
        share, x, _ = center(j, world.others[:, :D])
        variance += own @ own * np.einsum("i,ij,ij->j", share, x, x)
    sums = np.zeros((n_draws, 2 + world.others.shape[1]))
    for j, own in enumerate(by_class):
        share, x, mean = center(j, world.others)
        size = float(own @ own / own.sum())
        limit, rates = _JUMP / size * np.sqrt(variance), own.sum() / size * share
        sums += own.sum() * mean + size * _draw_sums(rates, x, limit, n_draws, rng)
    return sums


def _draw_sums(
    rates: Floats, x: Floats, limit: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Sums of terms that each occur at a rate: a compound Poisson distribution.

    Terms above the limit in a score column are drawn one by one. The others are small against the
    standard deviation of the sum: together they are Gaussian.
    """
    large = (np.abs(x[:, : len(limit)]) > limit).any(axis=1) & (rates > 0)
    small = np.where(large, 0.0, rates)
    mean, covariance = small @ x, (x.T * small) @ x
    values, vectors = np.linalg.eigh(covariance)
    # The symmetric root is unique, so that draws do not depend on the signs of eigenvectors.
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    sums = mean + rng.standard_normal((n_draws, len(mean))) @ root
    total = np.cumsum(rates[large])
    if len(total):
        events = rng.poisson(total[-1], n_draws)
        draw = np.repeat(np.arange(n_draws), events)
        rows = np.searchsorted(total[:-1], rng.random(len(draw)) * total[-1], side="right")
        sums += np.stack([np.bincount(draw, c[rows], n_draws) for c in x[large].T], axis=1)
    return np.asarray(sums)
