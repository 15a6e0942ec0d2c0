"""The class mix of samples without labels: its estimate, an interval of each share, shift."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of
from deciban.exceptions import ConvergenceError

_FLAT = 1e-10  # possible gain, in nats a sample, at which the maximum is reached
_NEARLY_FLAT = 1e-3
_HIDDEN = 1e-14  # gain that rounding hides: the step is the last
_STEPS = 500
_SINGULAR = 1e-12  # relative eigenvalue below which the evidence does not tell classes apart
_FEW = 2000  # samples of large influence that are drawn one by one
_SURE = 1e3  # nats beyond the limit of an interval


@dataclass(frozen=True, eq=False, repr=False)
class PriorEstimate(Mapping[Hashable, float]):
    """The class mix of unlabeled samples, which can be passed as a prior.

    As a mapping it gives each class its share with one sample of the uniform mix added,
    :math:`(n s_k + 1/D) / (n + 1)`, since a prior must not rule a class out.

    Attributes
    ----------
    classes, n_samples, confidence
        Labels of the classes, number of samples, confidence of the intervals.
    shares, low, high : arrays of shape (n_classes,)
        Maximum-likelihood estimates, which may be zero, and their intervals.
    p_value : float or None
        Tests whether the mix is the training prior, if one was given.

    See Also
    --------
    deciban.Evidence.estimate_prior : Returns it.

    Examples
    --------
    >>> from deciban import Evidence
    >>> mix = Evidence.from_llr([9.0, 9.0, 9.0]).estimate_prior()
    >>> mix.shares
    array([0., 1.])
    >>> dict(mix)
    {0: 0.125, 1: 0.875}
    """

    classes: tuple[Hashable, ...]
    shares: Floats
    low: Floats
    high: Floats
    confidence: float
    n_samples: int
    p_value: float | None

    def __getitem__(self, label: Hashable) -> float:
        share = float(self.shares[index_of(label, self.classes)])
        return (self.n_samples * share + 1 / len(self.classes)) / (self.n_samples + 1)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        rows = zip(self.classes, self.shares, self.low, self.high, strict=True)
        lines = [f"  {label}: {s:.4f} ({low:.4f} to {high:.4f})" for label, s, low, high in rows]
        if len(lines) > 20:
            lines[10:-10] = ["  ..."]
        samples = f"{self.n_samples:,} sample{'s' * (self.n_samples != 1)}"
        title = f"Class mix of {samples}, {100 * self.confidence:g} % intervals"
        shift = "" if self.p_value is None else f"; shift: p = {self.p_value:.3g}"
        return "\n".join([title + shift, *lines])


def estimate_shares(L: Floats) -> Floats:
    """Maximize the mean :math:`log sum_k s_k L_nk` by the constrained Newton method (Wang, 2007).

    Each step solves the quadratic approximation by nonnegative least squares, so that shares of
    zero are exact. The log-likelihood is concave, and the largest slope bounds the remaining gain.
    """
    shares = np.full(L.shape[1], 1 / L.shape[1])
    mixture = L @ shares
    for _ in range(_STEPS):
        S = L / mixture[:, None]
        slope = S.mean(axis=0)
        if slope.max() - 1 <= _FLAT:
            break
        step = _quadratic_maximum(S, shares * slope) - shares
        rise, along = slope @ step, L @ step / mixture
        while rise > _HIDDEN and _mean_log1p(along) < 0.1 * rise:
            step, rise, along = step / 2, rise / 2, along / 2
        if rise > -_HIDDEN:
            shares = np.maximum(shares + step, 0)
            mixture = L @ shares
        if rise <= _HIDDEN:
            break
    if slope.max() - 1 > _NEARLY_FLAT:
        raise ConvergenceError(
            f"the class mix must reach its maximum likelihood; {slope.max() - 1:.1g} nat a sample "
            f"are left to gain. Look for likelihoods that differ by hundreds of nats."
        )
    return shares


def _quadratic_maximum(S: Floats, otherwise: Floats) -> Floats:
    """Shares that maximize the quadratic approximation; those of an EM step if none are found."""
    from scipy.optimize import nnls  # a slow import, which evidence needs nowhere else

    A = S - 2
    if len(A) > A.shape[1]:  # a square root of the Gram matrix has the same least squares
        gram = A.T @ A
        scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        w, Q = np.linalg.eigh(gram / scale / scale[:, None])
        A = (np.sqrt(np.maximum(w, 0)) * Q).T * scale
    A = np.vstack([A / math.sqrt(len(S)), np.ones(A.shape[1])])
    try:
        found = nnls(A, np.append(np.zeros(len(A) - 1), 1.0), maxiter=30 * A.shape[1])[0]
    except RuntimeError:
        return otherwise
    return np.asarray(found / found.sum())


def _mean_log1p(x: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log1p(np.maximum(x, -1)).mean())


def share_intervals(L: Floats, shares: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Likelihood intervals of each share.

    The log-likelihood with the other classes in their estimated proportions, times the fraction of
    its curvature that is left when these vary too: exact if classes are told apart or samples
    are many. If no sample needs a class, the upper end is the share whose likelihood is that of
    the tail: the probability of seeing none of the class, if all of it would be told apart.
    """
    S = L / (L @ shares)[:, None]
    variance = _variances(S, shares)
    tail = (1 - confidence) / 2
    usual, none_seen = NormalDist().inv_cdf(1 - tail) ** 2 / 2, -math.log(tail)
    low, high = np.zeros(len(shares)), np.ones(len(shares))
    for k, share in enumerate(shares.tolist()):
        if share < 1:
            x = (S[:, k] - 1) / (1 - share)
            fraction = 1 / max(float(x @ x) * variance[k], 1.0) if x.any() else 0.0
            high[k] = _end(x, share, 1.0, fraction, usual if share > 0 else none_seen)
            low[k] = _end(x, share, 0.0, fraction, usual)
    if shares.max() == 1:
        low[shares == 1] = 1 - high[shares < 1].max()
    return low, high


def _end(x: Floats, share: float, edge: float, fraction: float, limit: float) -> float:
    """Share at which the log-likelihood has dropped by the limit; the edge where it never does."""
    from scipy.optimize import brentq

    def excess(s: float) -> float:
        return min(-fraction * len(x) * _mean_log1p((s - share) * x), _SURE) - limit

    if share == edge or fraction == 0 or excess(edge) <= 0:
        return edge
    return float(brentq(excess, share, edge, xtol=1e-10))


def _variances(S: Floats, shares: Floats) -> Floats:
    """Variance of each share, the other positive ones unknown; huge if nothing determines it."""
    n, slope, H = len(S), S.mean(axis=0), S.T @ S
    some, none = np.flatnonzero(shares > 0), np.flatnonzero(shares == 0)
    scale = np.sqrt(shares[some])  # eigenvalues up to n, however small a share is
    w, Q = np.linalg.eigh(H[np.ix_(some, some)] * scale * scale[:, None])
    root = scale[:, None] * Q / np.sqrt(np.maximum(w, _SINGULAR * w[-1]))
    variance = np.empty(len(shares))
    variance[some] = (root**2).sum(axis=1) - shares[some] ** 2 / n
    left = np.diag(H)[none] - ((H[np.ix_(none, some)] @ root) ** 2).sum(axis=1)
    variance[none] = 1 / np.maximum(left + n * (1 - slope[none]) ** 2, _SINGULAR * w[-1])
    return variance


def shift_p_value(
    L: Floats, shares: Floats, prior: Floats, n_resamples: int, rng: np.random.Generator
) -> float:
    """How often samples of this class mix deviate as much from it as these: a score test.

    Under the prior each :math:`L_nk / sum_j p_j L_nj` has a mean of one. Resamples draw the
    samples with the weights that turn the estimated mix into the prior. If the samples lack part
    of a class, so that its weights sum to less than one, the rest is on samples that prove it.
    """
    n, null, mixture = len(L), L @ prior, L @ shares
    unseen = np.maximum(1 - (L / mixture[:, None]).mean(axis=0), 0)
    X = (np.vstack([L / null[:, None], np.diag(1 / prior)]) - 1) * np.sqrt(prior)
    rate = np.concatenate([null / mixture, n * prior * unseen])
    w, Q = np.linalg.eigh((X * rate[:, None]).T @ X)
    told = w > 1e-10 * max(w[-1], _SINGULAR)
    Z = X @ (Q[:, told] / np.sqrt(w[told]))
    order = np.argsort(-(Z**2).sum(axis=1), kind="stable")
    few, many = order[:_FEW], order[_FEW:]  # the sum of many small terms is Gaussian
    if len(many):
        counts = rng.poisson(rate[few], (n_resamples, len(few)))
        spread = (Z[many] * rate[many, None]).T @ Z[many]
        drawn = rng.multivariate_normal(np.zeros(len(spread)), spread, n_resamples, method="eigh")
    else:
        counts, drawn = rng.multinomial(n, rate[few] / rate.sum(), n_resamples), np.zeros(1)
    drawn = drawn + (counts - rate[few]) @ Z[few]
    statistic = float((Z[:n].sum(axis=0) ** 2).sum())
    as_far = (drawn**2).sum(axis=1) >= statistic * (1 - 1e-9)
    return float((1 + as_far.sum()) / (1 + n_resamples))
