"""How often posteriors of a calibrated Gaussian family lead to what: exact for two classes.

For two classes the posterior log-odds are normal, and every rate is a difference of normal
distribution functions. For more classes rates are simulated where they are decided: samples lie
about the points where classes are equally good choices, and are weighted. Error rates of 1e-9 then
have about the same relative error as those of 0.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logit, ndtr

from deciban._validation.arrays import Floats
from deciban.evidence.bayes import Costs, choose_least_cost
from deciban.reference.expectations import Rivals, expected_rare_sigmoid, expected_sigmoid
from deciban.simplex import logparts

if TYPE_CHECKING:
    from deciban.reference.posterior import PosteriorGaussian


Outcome = Callable[[Floats, int], Floats]  # of log-posteriors, given the true class: (n, m)


class Rates(NamedTuple):
    """Rates under each class, with standard errors, which are zero where nothing is simulated.

    A standard error is that of the samples that were drawn. It is too small, and can be zero, for
    an outcome that hardly any of them has: draw more where a rate below ``10 / n_samples`` is not
    an error rate and matters.

    Attributes
    ----------
    values, standard_errors : arrays of shape (D, n_outcomes)
        The true class is on rows.

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
    rng: np.random.Generator,
) -> Rates:
    """Mean of outcomes under each class.

    ``log_odds[i, j]`` is the sum of a log-odds of class i to j and of what makes the outcome under
    i turn where it is minus the LLR. How often each other class wins such a comparison of two is
    known, and so is the mean of the weights; both take out noise. ``pattern(k)``, of shape (D, m),
    says which comparisons stand for which outcomes under class k.
    """
    family, D, log_p = posterior.family, posterior.family.n_classes, np.log(posterior.prior)
    count = math.ceil(n_samples / D)
    found = []
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

    def outcome(log_posterior: Floats, given: int) -> Floats:
        choice = choose_least_cost(log_posterior, classes, costs, reject_cost)
        return np.eye(actions)[choice]

    return outcome


def exact_decision_rates(posterior: PosteriorGaussian, C: Floats, outcome: Outcome) -> Floats:
    """Rates of actions for two classes; C holds the costs of each action under each class.

    Expected costs are linear in the posterior, so the choice changes only where two of them cross.
    """
    cuts = {-math.inf, math.inf}
    C = C / (np.abs(C).max() or 1.0)
    for a, b in itertools.combinations(range(C.shape[1]), 2):
        first, second = C[:, a] - C[:, b]
        if np.sign(first) * np.sign(second) < 0:
            cuts.add(math.log(-first / second))  # of the second class to the first
    edges = sorted(cuts)
    middles = np.array([_middle(low, high) for low, high in itertools.pairwise(edges)])
    chosen = outcome(-np.column_stack([np.logaddexp(0, middles), np.logaddexp(0, -middles)]), 0)
    return np.array([_masses(posterior, given, edges) @ chosen for given in range(2)])


def _middle(low: float, high: float) -> float:
    """A number between two others, of which one or both may be infinite."""
    if low == -math.inf:
        return high - 1 if high < math.inf else 0.0
    return (low + high) / 2 if high < math.inf else low + 1


def _masses(posterior: PosteriorGaussian, given: int, edges: list[float]) -> Floats:
    """Probability that the log-odds of the second class to the first lie between two edges."""
    d = float(posterior.family.divergences[0, 1])
    center = math.log(posterior.prior[1]) - math.log(posterior.prior[0]) + (d if given else -d)
    z = (np.array(edges) - center) / math.sqrt(2 * d)
    low, high = z[:-1], z[1:]
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def exact_exceedance_rates(posterior: PosteriorGaussian, threshold: float) -> Floats:
    """Rates at which the posterior of each of two classes reaches a threshold."""
    t = float(logit(threshold))
    rows = []
    for given in range(2):
        below = _masses(posterior, given, [-math.inf, -t, math.inf])[0]
        rows.append([below, _masses(posterior, given, [-math.inf, t, math.inf])[1]])
    return np.array(rows)


def exact_mean_posteriors(posterior: PosteriorGaussian) -> Floats:
    """Mean posterior of each of two classes under each of them."""
    d, log_p = float(posterior.family.divergences[0, 1]), np.log(posterior.prior)
    log_odds = [log_p[k] - log_p[1 - k] for k in range(2)]
    wrong = [expected_sigmoid(d, one) for one in log_odds]
    right = [
        1 - w if w < 0.5 else expected_rare_sigmoid(d, one)
        for w, one in zip(wrong, log_odds, strict=True)
    ]
    return np.array([[right[0], wrong[0]], [wrong[1], right[1]]])
