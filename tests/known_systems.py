"""Systems for which it is known what should be done with their evidence.

Calibrated evidence is drawn from the calibrated Gaussian family and then made too strong, too weak,
shifted, bent or reversed. Useless evidence is drawn regardless of the class, separated evidence
never errs, and infinite evidence rules classes out.
"""

import numpy as np

from deciban import CalibratedGaussian


def draw_system(kind, n_classes, n_samples, seed):
    """Labels and log-likelihoods of a system of a known kind; n_samples of all classes together."""
    rng = np.random.default_rng([seed, n_classes, n_samples])
    counts = [n_samples // n_classes] * n_classes
    family = CalibratedGaussian(2.0 * np.eye(n_classes - 1))  # every pair has a divergence of 4
    l, y = family.sample(counts, rng=rng)
    y = np.asarray(y, dtype=int)
    w = family.evidence(l).log_likelihoods.copy()
    w -= w.mean(axis=1, keepdims=True)
    if kind == "too strong":
        w *= 3.0
    elif kind == "slightly too strong":
        w *= 1.5
    elif kind == "too weak":
        w /= 3.0
    elif kind == "shifted":
        w[:, -1] += 2.0
    elif kind == "wrong shape":
        w = 2.0 * np.sign(w) * np.sqrt(np.abs(w))  # too strong where weak, too weak where strong
    elif kind == "reversed":
        w = -w
    elif kind == "useless":
        w = w[rng.permutation(len(w))]
    elif kind == "nothing":
        w[:] = 0.0
    elif kind == "separated":
        w = 30.0 * np.eye(n_classes)[y] + rng.normal(size=w.shape)
    elif kind == "infinite":
        w = np.where(w < np.quantile(w, 0.1), -np.inf, w)
        w[np.arange(len(y)), y] = np.maximum(w[np.arange(len(y)), y], -5.0)
    elif kind == "infinite and wrong":
        w[0] = np.where(np.arange(n_classes) == (y[0] + 1) % n_classes, 0.0, -np.inf)
    return y, w


KINDS = (
    "calibrated", "slightly too strong", "too strong", "too weak", "shifted", "wrong shape",
    "reversed", "useless", "nothing", "separated", "infinite", "infinite and wrong",
)  # fmt: skip


def make_prior(of_last, n_classes):
    """A prior with this probability of the last class; 0.5 stands for an even prior."""
    if of_last == 0.5:
        return None
    return [(1 - of_last) / (n_classes - 1)] * (n_classes - 1) + [of_last]


def make_costs(n_classes):
    """Missing the last class costs ten times as much as any other error."""
    costs = 1.0 - np.eye(n_classes)
    costs[-1, :-1] = 10.0
    return costs
