"""Expected costs, and rates of decisions, in a calibrated Gaussian family.

Two classes are exact. For more, samples lie about the points at which classes are equally good
choices, and are weighted: error rates of 1e-9 then have about the relative error of those of 0.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit, ndtr

from deciban._validation.arrays import Floats
from deciban._validation.scalars import Rng, as_generator, require_whole
from deciban.evidence.bayes import Costs, choose_least_cost
from deciban.simplex import logparts

if TYPE_CHECKING:
    from deciban.reference.calibrated_gaussian import CalibratedGaussian
    from deciban.reference.posterior import PosteriorGaussian

_BLOCK = 1 << 20  # numbers held at once by the simulation
_MIXTURE = (0.4, 0.3, 0.3)  # samples about the mean of the class, half-way, and at corners
_SHIFTS = (-4.0, 1.0)  # of samples towards another class; away from it where k is improbable
_NEAREST = 12  # other classes whose corners are sampled


class Estimate(NamedTuple):
    """A number and its standard error, which is zero without simulation.

    See Also
    --------
    deciban.CalibratedGaussian.expected_cross_entropy : Returns it.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> CalibratedGaussian.from_eers([0.1]).expected_cross_entropy().standard_error
    0.0
    """

    value: float
    standard_error: float


def expected_softplus(d: float, log_odds: float = 0.0) -> float:
    """Mean of log(1 + exp(−(l + log_odds))) for an LLR l ~ N(d, 2d), by quadrature, in nats.

    The density is exp(−d/4) exp(l/2 − l²/4d) / √(4πd). With the first factor set apart, the
    rest is neither large nor small, and the trapezoidal rule converges geometrically on it: the
    result is right to about 1e-14 relative, even for e^-700.
    """
    return _integrate(d, log_odds, _log_softplus)


def expected_rare_sigmoid(d: float, log_odds: float) -> float:
    """Mean of 1 / (1 + exp(-(l + log_odds))) for an LLR l ~ N(d, 2d), if it is small."""
    step = min(0.5, 0.7 * math.sqrt(2 * d))
    reach = 12 * math.sqrt(2 * d)  # about d, where the density has its peak, and 3 d, as exp(l) f
    l = np.arange(d - reach, 3 * d + reach, step)
    log_terms = -((l - d) ** 2) / (4 * d) - np.logaddexp(0, -(l + log_odds))
    return float(np.exp(log_terms).sum()) * step / math.sqrt(4 * math.pi * d)


def _integrate(d: float, log_odds: float, log_loss: Callable[[np.ndarray], np.ndarray]) -> float:
    """Mean of a loss of −(l + log_odds) that falls as exp(−l) does, for an LLR l ~ N(d, 2d)."""
    if d > 4 * 800 and abs(log_odds) < d / 2:
        return 0.0  # less than the smallest number
    peak = min(max(-log_odds, -d), d)
    half_width = math.sqrt(180 * d)  # the integrand has fallen by e^-45 there
    step = min(0.5, 0.7 * math.sqrt(2 * d))
    count = math.ceil(half_width / step)
    l = peak + step * np.arange(-count, count + 1)
    log_terms = l / 2 - l**2 / (4 * d) + log_loss(-(l + log_odds))
    top = log_terms.max()
    log_integral = top + math.log(math.fsum(np.exp(log_terms - top))) + math.log(step)
    return math.exp(log_integral - d / 4 - 0.5 * math.log(4 * math.pi * d))


def _log_softplus(x: np.ndarray) -> np.ndarray:
    """log(log(1 + exp(x))), even if exp(x) underflows."""
    tail = x - np.exp(np.minimum(x, -30)) / 2
    return np.where(x < -30, tail, np.log(np.logaddexp(0, np.maximum(x, -30))))


def simulate_cross_entropy(
    family: CalibratedGaussian, prior: np.ndarray, n_samples: int, rng: np.random.Generator
) -> Estimate:
    """Expected cross-entropy by simulation, in nats.

    The loss under class k is log(1 + sum_j exp(log(p_j / p_k) - LLR_kj)). It is simulated near
    decisions: most samples of class k lie about the points at which one or two others are as
    likely as k, and are weighted accordingly. Two things whose means are known take out most of
    the noise that is left: the weights, and the sum of two-class losses, which is all of the loss
    wherever only one other class is near.
    """
    D = len(prior)
    count = math.ceil(n_samples / D)
    drawn, known = np.empty((D, count, 3)), np.empty((D, 2))
    for k in range(D):
        rivals = Rivals(family, k, np.log(prior[k]) - np.log(np.delete(prior, k)))
        blocks = []
        for llr, weight in rivals.draw(count, rng):
            odds = -(llr + rivals.log_odds)
            loss = np.logaddexp(0, np.logaddexp.reduce(odds, axis=1))
            losses = loss, np.logaddexp(0, odds).sum(axis=1), np.ones(len(llr))
            blocks.append(weight[:, None] * np.column_stack(losses))
        drawn[k] = np.concatenate(blocks)
        pairs = sum(map(expected_softplus, rivals.d.tolist(), rivals.log_odds.tolist()))
        known[k] = pairs, 1.0
    spread = (drawn - drawn.mean(axis=1, keepdims=True)) * prior[:, None, None]
    # Weights near 1 beside losses of 1e-15: unscaled, least squares would drop the losses.
    size = np.maximum(np.abs(spread).max(axis=(0, 1)), np.finfo(float).tiny)
    y, *columns = np.moveaxis(spread / size, 2, 0).reshape(3, -1)
    beta = np.linalg.lstsq(np.transpose(columns), y, rcond=None)[0] * size[0] / size[1:]
    steady = drawn[..., 0] - (drawn[..., 1:] - known[:, None, :]) @ beta
    value = float(prior @ steady.mean(axis=1))
    return Estimate(value, math.sqrt(float(prior**2 @ steady.var(axis=1, ddof=1)) / count))


class Rivals:
    """The other classes, seen from class k, at prior log-odds of k to each of them.

    A shift of the ILRL by sum_j c_j (mean_j - mean_k) has a density ratio to class k of
    exp(c'(d - LLR) - c'Γc/2) with Γ_jm = d_kj + d_km - d_jm: the LLRs are all that it needs.
    """

    def __init__(self, family: CalibratedGaussian, k: int, log_odds: np.ndarray) -> None:
        self.family, self.k, self.log_odds = family, k, log_odds
        self.others = np.delete(np.arange(family.n_classes), k)
        self.d = family.divergences[k, self.others]
        # Where class k and one other are equally likely: half-way, but for the prior.
        self.halfway = np.clip((1 + self.log_odds / self.d) / 2, *_SHIFTS)
        gamma = self.d[:, None] + self.d - family.divergences[np.ix_(self.others, self.others)]
        near = np.argsort(self.halfway**2 * self.d)[:_NEAREST]
        pairs = [list(pair) for pair in itertools.combinations(near, 2)]
        self.corners = np.zeros((len(pairs), len(self.d)))  # k and two others are equally likely
        for corner, pair in zip(self.corners, pairs, strict=True):
            shift = np.linalg.solve(gamma[np.ix_(pair, pair)], (self.d + self.log_odds)[pair])
            corner[pair] = np.clip(shift, *_SHIFTS)
        self.corner_energy = np.sum((self.corners @ gamma) * self.corners, axis=1) / 2

    def draw(self, count: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of LLRs of k against the others, (size, D - 1), and weights that make them k's."""
        block = max(1, _BLOCK // len(self.others))
        for start in range(0, count, block):
            yield self._draw_block(min(block, count - start), rng)

    def _draw_block(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        family, k, others = self.family, self.k, self.others
        kind = rng.choice(3, size=size, p=_MIXTURE)
        one = rng.integers(len(others), size=size)
        shift = np.where((np.arange(len(others)) == one[:, None]), self.halfway, 0.0)
        shift[kind == 0] = 0
        two = kind == 2
        shift[two] = self.corners[rng.integers(len(self.corners), size=int(two.sum()))]
        l = family.means[k] + shift @ (family.means[others] - family.means[k])
        l += rng.standard_normal(l.shape) @ family.cholesky.T
        scores = l @ family.basis.contrast.T
        llr = scores[:, [k]] - scores[:, others]
        away = self.d - llr
        to_halfway = self.halfway * away - self.halfway**2 * self.d
        to_corners = away @ self.corners.T - self.corner_energy
        log_density = math.log(_MIXTURE[0])
        for share, ratio in ((_MIXTURE[1], to_halfway), (_MIXTURE[2], to_corners)):
            mean = np.logaddexp.reduce(ratio, axis=1) + math.log(share / ratio.shape[1])
            log_density = np.logaddexp(log_density, mean)
        return llr, np.exp(-log_density)


Outcome = Callable[[Floats, int], Floats]  # of log-posteriors, given the true class: (n, m)


class Rates(NamedTuple):
    """Rates under each class, on rows, with standard errors, which are zero without simulation.

    A standard error is that of the drawn samples. It is too small, and can be zero, for an outcome
    that hardly any of them has: draw more if a rate below ``10 / n_samples`` is not an error rate
    and matters.

    See Also
    --------
    deciban.reference.PosteriorGaussian.decision_rates : Returns it.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> rates = CalibratedGaussian.from_eers([0.1]).with_prior().decision_rates()
    >>> rates.values.round(12)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """

    values: Floats
    standard_errors: Floats


def simulate_rates(
    posterior: PosteriorGaussian,
    outcome: Outcome,
    pattern: Callable[[int], Floats],
    log_odds: Floats,
    n_samples: int,
    rng: Rng,
) -> Rates:
    """Mean of outcomes under each class.

    ``log_odds[i, j]`` is the sum of a log-odds of class i to j and of what makes the outcome under
    i turn where it is minus the LLR. How often each other class wins such a comparison of two is
    known, and so is the mean of the weights; both take out noise. ``pattern(k)``, of shape (D, m),
    says which comparisons stand for which outcomes under class k.
    """
    family, D, log_p = posterior.family, posterior.family.n_classes, np.log(posterior.prior)
    n_samples, rng = require_whole(n_samples, "n_samples", 4 * D), as_generator(rng)
    count, found = math.ceil(n_samples / D), []
    for k in range(D):
        rivals = Rivals(family, k, np.delete(log_odds[k], k))
        alike = np.delete(pattern(k), k, axis=0)
        blocks = []
        for llr, weight in rivals.draw(count, rng):
            scores = np.insert(-llr, k, 0.0, axis=1) + log_p
            lost = (llr + rivals.log_odds < 0) @ alike
            values = np.hstack([outcome(np.asarray(logparts.closure(scores)), k), lost])
            blocks.append(weight[:, None] * np.column_stack([values, np.ones(len(llr))]))
        known = ndtr(-(rivals.d + rivals.log_odds) / np.sqrt(2 * rivals.d)) @ alike
        found.append(_steady_means(np.concatenate(blocks), known))
    return Rates(*(np.array(part) for part in zip(*found, strict=True)))


def _steady_means(drawn: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Means of m outcomes with standard errors, from columns of m outcomes, m controls and weights.

    The mean of the weights is one, and those of the controls are ``known``: each outcome is
    regressed on the weights and on its control.
    """
    m = len(known)
    mean, spread = drawn.mean(axis=0), drawn - drawn.mean(axis=0)
    a = spread[:, -1:]
    total = (a * a).sum()
    # Where a class is so rare that nothing is shifted towards it, all weights are one.
    slopes = (a * spread).sum(axis=0) / total if total > 1e-20 * len(a) else np.zeros(len(mean))
    mean, spread = (mean - slopes * (mean[-1] - 1))[:-1], (spread - a * slopes)[:, :-1]
    Y, B = spread[:, :m], spread[:, m:]
    size = (B * B).sum(axis=0)
    varies = size > 1e-20 * (drawn[:, m:-1] ** 2).sum(axis=0)
    gamma = np.where(varies, (B * Y).sum(axis=0) / np.where(varies, size, 1.0), 0.0)
    error = np.sqrt(((Y - B * gamma) ** 2).mean(axis=0) / (len(drawn) - 1))
    return mean[:m] - gamma * (mean[m:] - known), error


def decision_outcome(
    posterior: PosteriorGaussian, costs: Costs, reject_cost: float | None
) -> Outcome:
    """Which action is chosen: one column for each class, and one for rejection."""
    classes = posterior.family.classes
    actions = len(classes) + (reject_cost is not None)
    return lambda log_p, _: np.eye(actions)[choose_least_cost(log_p, classes, costs, reject_cost)]


def exact_decision_rates(posterior: PosteriorGaussian, C: Floats, outcome: Outcome) -> Rates:
    """Rates of actions for two classes; C holds the costs of each action under each class.

    Expected costs are linear in the posterior: the choice changes at their crossings.
    """
    cuts = {-math.inf, math.inf}
    C = C / (np.abs(C).max() or 1.0)
    for a, b in itertools.combinations(range(C.shape[1]), 2):
        first, second = C[:, a] - C[:, b]
        if np.sign(first) * np.sign(second) < 0:
            cuts.add(math.log(-first / second))  # of the second class to the first
    edges = sorted(cuts)
    inner = edges[1:-1]
    ends = [inner[0] - 2, *inner, inner[-1] + 2] if inner else [-1.0, 1.0]
    middles = np.convolve(ends, [0.5, 0.5], "valid")
    chosen = outcome(-np.column_stack([np.logaddexp(0, middles), np.logaddexp(0, -middles)]), 0)
    return _exact([_masses(posterior, given, edges) @ chosen for given in range(2)])


def _exact(rows: list[Any]) -> Rates:
    return Rates(np.array(rows), np.zeros((len(rows), len(rows[0]))))


def _masses(posterior: PosteriorGaussian, given: int, edges: list[float]) -> Floats:
    d = float(posterior.family.divergences[0, 1])
    center = math.log(posterior.prior[1]) - math.log(posterior.prior[0]) + (d if given else -d)
    z = (np.array(edges) - center) / math.sqrt(2 * d)
    low, high = z[:-1], z[1:]
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def exact_exceedance_rates(posterior: PosteriorGaussian, threshold: float) -> Rates:
    """Rates at which the posterior of each of two classes reaches a threshold."""
    t = float(logit(threshold))
    edges = [-math.inf, -t, math.inf], [-math.inf, t, math.inf]
    return _exact([[_masses(posterior, given, edges[k])[k] for k in (0, 1)] for given in (0, 1)])


def exact_mean_posteriors(posterior: PosteriorGaussian) -> Rates:
    """Mean posterior of each of two classes under each of them."""
    d, log_p = float(posterior.family.divergences[0, 1]), np.log(posterior.prior)
    log_odds = [log_p[k] - log_p[1 - k] for k in range(2)]
    wrong = [_integrate(d, one, lambda x: -np.logaddexp(0, -x)) for one in log_odds]
    right = [
        1 - w if w < 0.5 else expected_rare_sigmoid(d, one)
        for w, one in zip(wrong, log_odds, strict=True)
    ]
    return _exact([[right[0], wrong[0]], [wrong[1], right[1]]])
