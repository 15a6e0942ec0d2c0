"""Whether labels drawn from the evidence itself look like the true ones: no density is needed."""

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

_WEAKEST = -1e4  # nats below the best class, where log-likelihoods are cut: the posterior is zero
_PRIOR = 1.0  # information about every score: where classes are separated there is no other
_LEAST = 0.02  # smallest share of the information that is left, given the class proportions
_ROUNDS = 50  # most steps of Newton's method
_JUMP = 0.05  # standard deviations of the sum, above which a term is drawn by itself
# How often draws exceed 1 in each tail: of the factor, the offsets and the shape, which most
# faults do not change, so that it counts half.
_TAILS = (0.04, 0.04, 0.08, 0.02, 0.02)
_ROUNDING = 1e-9
_WORTH_A_HINT = 0.05  # largest p-value with which a fault is named
_LIGHTEST = 1e-12  # weight that counts as none


@dataclass(frozen=True)
class CalibrationTest:
    """Whether evidence is calibrated, and which way it is off if not.

    Attributes
    ----------
    statistic, p_value : float
        Largest of the scores, in units of what calibrated evidence rarely exceeds, and how often
        calibrated evidence reaches it, whatever its distribution is.
    scale, offset, shape : float
        p-values of single faults: the evidence is too strong or too weak as a whole, it favors a
        class whatever the sample is, or strong evidence is off in another way than weak evidence.
    fault : str
        The likeliest fault, such as "too strong", whether or not chance explains it.
    claimed, found : float
        Mean entropy of the posteriors at the class proportions of the samples, and their mean
        cross-entropy, in nats. Evidence that is too strong claims less than is found.
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
        fault = f" ({self.fault}?)" if self.p_value <= _WORTH_A_HINT else ""
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

    If the evidence is calibrated, the samples of a class are distributed as all samples are, each
    weighted with the posterior :math:`p(x)` of the class at the class proportions. Data sets are
    drawn accordingly, with as many samples of each class as there are, and compared with the true
    one by the scores (slopes of the log-likelihood) of three recalibrations: a factor,
    :math:`\sum_i \log w_{y_i} - E_{p(x_i)} \log w`; offsets, the count of each class less the sum
    of its posteriors; and a factor that grows with the entropy of the posterior. Each score is
    divided by its standard error, then by what draws rarely exceed, and the largest is compared
    with the largest of each draw.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur. Samples are taken to be independent.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        Classes may be ruled out.
    n_draws : int, default 999
        Number of data sets that are drawn; the p-value is at least ``1 / (1 + n_draws)``.
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0

    Returns
    -------
    CalibrationTest

    See Also
    --------
    idempotence : How far evidence is from calibrated, and where.
    decompose : What miscalibration costs.

    References
    ----------
    Prentice and Pyke (1979), Logistic disease incidence models and case-control studies.
    Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.

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
    """Test whether the evidence of samples that were read already is calibrated."""
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
    """Posteriors at the prior at which they sum to the number of samples of each class."""
    w, weight, mass = _read(data)
    return np.exp(_make_terms(_balance(w, weight, mass), mass).log_p)


def _read(data: Labelled) -> tuple[Floats, Floats, Floats]:
    """Log-likelihoods below the largest, weights with a mean of one, and their sums by class."""
    values = data.evidence.log_likelihoods
    weight = np.maximum(data.weights / data.weights.mean(), _LIGHTEST)
    with np.errstate(over="ignore"):
        w = np.maximum(values - values.max(axis=1, keepdims=True), _WEAKEST)
    return w, weight, np.bincount(data.codes, weight).astype(np.float64)


def _parts(scale: Floats, offset: Floats, shape: Floats) -> Floats:
    """Scores of factor, offsets and shape over what draws rarely exceed, (3, 1 + n_draws)."""
    tails = np.array([scale, -scale, offset, shape, -shape])
    limits = [np.quantile(tail, 1 - rare) for tail, rare in zip(tails, _TAILS, strict=True)]
    up, down, offset, more, less = tails / np.maximum(limits, 1e-4)[:, None]
    return np.array([np.maximum(up, down), offset, np.maximum(more, less)])


def _p_value(values: Floats) -> float:
    """How often a data set has a value as large as the true one, which is the first."""
    return float(np.mean(values >= values[0] - _ROUNDING * (1 + abs(values[0]))))


class _Terms(NamedTuple):
    """What each sample adds to the scores, and to the information about them.

    ``scores`` of shape (n_samples, n_classes, 2), by its class, are those of the factor and of the
    factor that grows with the entropy. The columns of ``others`` are the posteriors, the
    information about each offset, about each offset and either factor, and about the factors.
    """

    log_p: Floats
    entropy: Floats
    scores: Floats
    others: Floats


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
    """Scores of factor, offsets and shape over their standard errors, a data set on each row.

    The class proportions are those of the samples: what is known of the offsets by them (Prentice
    and Pyke, for each class and all others) lowers the variance.
    """
    (s, t), (ss, st, tt) = sums[:, :2].T, sums[:, -3:].T
    p, information, with_s, with_t = np.split(sums[:, 2:-3], 4, axis=1)

    def divide(score: Floats, information: Floats, known: Floats) -> Floats:
        # Sums that are drawn may be a little below zero.
        variance = np.maximum(np.maximum(information - known, _LEAST * information), 0.0)
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
    """Log-likelihoods with offsets such that the posteriors sum to the mass of each class.

    Offsets have a normal prior: where classes are separated, the sums hardly depend on them.
    """
    offset = np.zeros(len(mass))
    for _ in range(_ROUNDS):
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
    """Sums of scores and others of data sets with as many samples of each class."""
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

    Terms above the limit in one of the first columns are drawn one by one; the sum of the others,
    which are small against the standard deviation of the whole sum, is Gaussian.
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
