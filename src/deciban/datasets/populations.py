"""Populations with known densities: samples, and the evidence that no method can improve on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban._validation import to_numpy
from deciban.evidence import Evidence
from deciban.exceptions import InputError

Draw = Callable[[int, Any], tuple[np.ndarray, np.ndarray]]

_NODES = 16  # of Gauss and Legendre, on each piece of an arc that is as long as the noise is wide
_CELLS = 4_000_000  # samples times nodes that are in memory at once
_LEAST_NOISE = 1e-4  # of moons: below, the nodes are too many

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
        random_state : int, RandomState, Generator or None
        """
        D = len(self.classes)
        whole = isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool)
        if not whole or n_samples < D:
            raise InputError(
                f"n_samples must be a whole number of at least {D}, one sample a class; got "
                f"{n_samples!r}. Give {D} or more."
            )
        return self._draw(int(n_samples), _random_state(random_state))

    def log_likelihoods(self, X: Any) -> np.ndarray:
        """Logarithm of the density of each class, up to a constant that they share.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        x = np.asarray(to_numpy(X, "X"), dtype=np.float64)
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
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            values = self._log_densities(x)
        told = np.isfinite(values).all(axis=1)
        if not told.all():
            far = np.flatnonzero(~told)[:10]
            raise InputError(
                f"X must lie where the densities can be computed; row {far[0]} is too far away. "
                f"Leave such rows out.",
                rows=far.tolist(),
            )
        return values

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
    if noise < _LEAST_NOISE:
        raise InputError(f"noise must be at least {_LEAST_NOISE:g}; got {noise!r}. Give 0.2.")
    t, log_weight = _half_circle(noise)
    arcs = (
        np.column_stack([np.cos(t), np.sin(t)]),
        np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)]),
    )
    n_rows = max(1, _CELLS // len(t))

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_moons

        return make_moons(n, noise=noise, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        from scipy.special import logsumexp

        out = np.empty((len(x), 2))
        for start in range(0, len(x), n_rows):
            rows = slice(start, start + n_rows)
            some = x[rows, None]
            for k, arc in enumerate(arcs):
                away = ((some - arc) ** 2).sum(axis=2) / (2 * noise**2)
                out[rows, k] = logsumexp(log_weight - away, axis=1)
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
    if not _is_number(factor) or not 0 <= factor < 1:
        raise InputError(f"factor must be at least 0 and less than 1; got {factor!r}. Give 0.5.")

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_circles

        return make_circles(n, noise=noise, factor=factor, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        from scipy.special import i0e

        rho = np.linalg.norm(x, axis=1)
        radii = (1.0, factor)
        # i0e is I0 with its exponential growth taken out, so that nothing overflows.
        parts = [np.log(i0e(rho * r / noise**2)) - (rho - r) ** 2 / 2 / noise**2 for r in radii]
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
    if not np.isfinite(mu).all() or not np.isfinite(S).all():
        raise InputError("means and covariances must be finite; got others. Correct them.")
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
    labels = _as_labels(names)

    def draw(n: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        rng = random_state
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


def _random_state(random_state: Any) -> np.random.RandomState:
    """What scikit-learn draws from, or a sentence on why nothing can be drawn from this."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    try:
        return check_random_state(random_state)
    except (ValueError, TypeError):
        raise InputError(
            f"random_state must be a whole number from 0 to 2^32 - 1, a RandomState, a Generator "
            f"or None; got {random_state!r}. Give 0."
        ) from None


def _half_circle(noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles from 0 to pi and the logarithms of their weights, fine enough for this noise."""
    pieces = int(np.ceil(np.pi / min(noise, 0.2)))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    width = np.pi / pieces
    t = (np.arange(pieces)[:, None] + (x + 1) / 2) * width
    return t.ravel(), np.log(np.tile(w / 2 * width, pieces))


def _as_labels(names: tuple[Hashable, ...]) -> np.ndarray:
    """An array of the names as they are: NumPy would make text of numbers beside text."""
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    plain = np.array(names) if len({type(name) for name in names}) == 1 else labels
    return plain if plain.ndim == 1 else labels


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _positive(name: str, value: Any) -> float:
    if not _is_number(value) or not 0 < value < np.inf:
        raise InputError(f"{name} must be a positive number; got {value!r}. Give 0.1.")
    return float(value)
