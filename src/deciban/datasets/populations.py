"""Populations with known densities: samples, and the evidence that no method can improve on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban.evidence import Evidence
from deciban.exceptions import InputError

Draw = Callable[[int, Any], tuple[np.ndarray, np.ndarray]]

_ARC_POINTS = 1001  # of the integral over half a circle; 4001 change an LLR by less than 1e-9
_ROWS = 2000  # of the samples times the points of the arc that are in memory at once

# Two Gaussians whose LDA and QDA come near the paper's, which does not print its own.
_TWO_MEANS = ((0.0, 0.0), (1.44, 1.64))
_TWO_COVARIANCES = (((1.0, 0.0), (0.0, 0.53)), ((0.29, -0.10), (-0.10, 0.21)))

# The paper's, from the comments in its source.
_THREE_MEANS = ((0.0, 5.0, 5.0, 5.0), (0.7, -0.4, 0.0, -1.0), (-3.0, 2.0, 2.0, 2.0))
_THREE_COVARIANCES = (
    ((1.32, -0.43, -0.61, -0.10), (-0.43, 2.24, 2.55, 0.66),
     (-0.61, 2.55, 2.97, 0.72), (-0.10, 0.66, 0.72, 0.22)),
    ((2.40, 0.57, 0.07, 1.19), (0.57, 1.06, 0.88, 0.48),
     (0.07, 0.88, 1.16, 0.63), (1.19, 0.48, 0.63, 1.13)),
    ((1.14, 1.00, 0.19, 0.30), (1.00, 1.85, 0.35, 0.68),
     (0.19, 0.35, 1.17, -0.80), (0.30, 0.68, -0.80, 1.07)),
)  # fmt: skip


@dataclass(frozen=True)
class Population:
    """Classes with known densities, as many samples of each as of the others.

    Attributes
    ----------
    name : str
    classes : tuple
    n_features : int

    Examples
    --------
    >>> X, y = circles().sample(1000, random_state=0)
    >>> circles().evidence(X).decide()[:5].tolist() == y[:5].tolist()
    True
    """

    name: str
    classes: tuple[Hashable, ...]
    n_features: int
    _draw: Draw = field(repr=False)
    _log_densities: Callable[[np.ndarray], np.ndarray] = field(repr=False)

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Samples in random order, and their classes.

        Parameters
        ----------
        n_samples : int
            In all, spread over the classes as evenly as it goes.
        random_state : int, RandomState instance or None
        """
        D = len(self.classes)
        whole = isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool)
        if not whole or n_samples < D:
            raise InputError(
                f"n_samples must be a whole number of at least {D}, one sample a class; got "
                f"{n_samples!r}. Give {D} or more."
            )
        return self._draw(int(n_samples), random_state)

    def log_likelihoods(self, X: Any) -> np.ndarray:
        """Logarithm of the density of each class, up to a constant that they share.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        x = np.asarray(X, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.n_features:
            raise InputError(
                f"X must have shape (n_samples, {self.n_features}); got {x.shape}. The "
                f"{self.name} have {self.n_features} features."
            )
        if not np.isfinite(x).all():
            rows = np.flatnonzero(~np.isfinite(x).all(axis=1))[:10]
            raise InputError(
                f"X must be finite; row {rows[0]} is not. Leave such rows out.", rows=rows.tolist()
            )
        return self._log_densities(x)

    def evidence(self, X: Any) -> Evidence:
        """The likelihood function of each sample: the best evidence that there is."""
        return Evidence(self.log_likelihoods(X), self.classes)


def moons(noise: float = 0.2) -> Population:
    """Two interleaving half circles with normal noise, as scikit-learn draws them.

    Parameters
    ----------
    noise : float, default 0.2
        Standard deviation.
    """
    noise = _positive("noise", noise)
    t = np.linspace(0, np.pi, _ARC_POINTS)
    arcs = (
        np.column_stack([np.cos(t), np.sin(t)]),
        np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)]),
    )
    log_weight = np.zeros_like(t)
    log_weight[[0, -1]] = np.log(0.5)  # the trapezoidal rule

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_moons

        return make_moons(n, noise=noise, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        from scipy.special import logsumexp

        out = np.empty((len(x), 2))
        for start in range(0, len(x), _ROWS):
            some = x[start : start + _ROWS, None]
            for k, arc in enumerate(arcs):
                away = ((some - arc) ** 2).sum(axis=2) / (2 * noise**2)
                out[start : start + _ROWS, k] = logsumexp(log_weight - away, axis=1)
        return out

    return Population("moons", (0, 1), 2, draw, log_densities)


def circles(noise: float = 0.1, factor: float = 0.5) -> Population:
    """A circle within a circle of radius 1, with normal noise, as scikit-learn draws them.

    The density at distance ρ from the centre is, with I₀ the modified Bessel function,
    proportional to exp(-(ρ² + r²) / 2s²) I₀(ρ r / s²).

    Parameters
    ----------
    noise : float, default 0.1
        Standard deviation s.
    factor : float, default 0.5
        Radius r of the inner circle, class 1.
    """
    noise = _positive("noise", noise)
    if not 0 <= factor < 1:
        raise InputError(f"factor must be at least 0 and less than 1; got {factor!r}. Give 0.5.")

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_circles

        return make_circles(n, noise=noise, factor=factor, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        from scipy.special import ive

        rho = np.linalg.norm(x, axis=1)
        radii = (1.0, factor)
        # ive is I0 with its exponential growth taken out, so that nothing overflows.
        parts = [np.log(ive(0, rho * r / noise**2)) - (rho - r) ** 2 / 2 / noise**2 for r in radii]
        return np.column_stack(parts)

    return Population("circles", (0, 1), 2, draw, log_densities)


def gaussians(
    means: Any, covariances: Any, classes: Sequence[Hashable] | None = None, name: str = "gaussians"
) -> Population:
    """A normal distribution for each class.

    Parameters
    ----------
    means : array of shape (n_classes, n_features)
    covariances : array of shape (n_classes, n_features, n_features)
        Positive definite.
    classes : sequence, optional
        Names; by default numbers from 0.
    name : str, default "gaussians"
    """
    mu, S = np.asarray(means, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
    if mu.ndim != 2 or len(mu) < 2 or S.shape != (*mu.shape, mu.shape[1]):
        raise InputError(
            f"means and covariances must have shapes (n_classes, n_features) and (n_classes, "
            f"n_features, n_features), for at least two classes; got {mu.shape} and {S.shape}. "
            f"Give one of each for each class."
        )
    D, d = mu.shape
    names = tuple(range(D)) if classes is None else tuple(classes)
    if len(names) != D or len(set(names)) != D:
        raise InputError(
            f"classes must be {D} different names; got {list(names)}. Name each class once."
        )
    if not np.allclose(S, S.transpose(0, 2, 1)):
        raise InputError("covariances must be symmetric; got others. Average each with its mirror.")
    least = np.linalg.eigvalsh(S)[:, 0]
    if not least.min() > 0:
        raise InputError(
            f"covariances must be positive definite; the smallest eigenvalue of number "
            f"{int(least.argmin())} is {least.min():.3g}. Add to its diagonal."
        )
    factors = np.linalg.cholesky(S)
    labels = np.array(names)

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.utils import check_random_state

        rng = check_random_state(random_state)
        k = rng.permutation(np.arange(n) % D)
        z = rng.normal(size=(n, d))
        return mu[k] + np.einsum("nij,nj->ni", factors[k], z), labels[k]

    def log_densities(x: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        out = np.empty((len(x), D))
        for k in range(D):
            z = solve_triangular(factors[k], (x - mu[k]).T, lower=True)
            out[:, k] = -0.5 * (z**2).sum(axis=0) - np.log(np.diag(factors[k])).sum()
        return out

    return Population(name, names, d, draw, log_densities)


def two_gaussians() -> Population:
    """Two Gaussians in the plane, of different covariance."""
    return gaussians(_TWO_MEANS, _TWO_COVARIANCES)


def three_gaussians() -> Population:
    """The paper's three Gaussians in four dimensions, of different covariance."""
    return gaussians(_THREE_MEANS, _THREE_COVARIANCES, (1, 2, 3), "three gaussians")


def _positive(name: str, value: Any) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < np.inf:
        raise InputError(f"{name} must be a positive number; got {value!r}. Give 0.1.")
    return float(value)
