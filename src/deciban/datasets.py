"""Populations with known densities: samples, and evidence that no method can improve on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import i0e, logsumexp

from deciban._validation.arrays import refuse_rows, require_finite, row_index, to_numpy
from deciban._validation.labels import as_labels, label_array
from deciban._validation.scalars import is_number, quote, require_positive_number, require_whole
from deciban.evidence import Evidence
from deciban.exceptions import InputError

__all__ = ["Population", "circles", "gaussians", "moons", "three_gaussians", "two_gaussians"]

Sampler = Callable[[int, np.random.RandomState], tuple[np.ndarray, np.ndarray]]

_NODES = 16  # of Gauss-Legendre quadrature, on each piece of arc as long as the noise
_CELLS = 4_000_000  # samples times nodes in memory at once
_MIN_NOISE = 1e-4  # of moons: with less, there would be too many nodes

# Results of LDA and QDA come close to the paper's, which does not print its parameters.
_TWO_MEANS = ((0.0, 0.0), (1.44, 1.64))
_TWO_COVARIANCES = (((1.0, 0.0), (0.0, 0.53)), ((0.29, -0.10), (-0.10, 0.21)))

# The paper's parameters, from comments in its source.
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
    """Classes with known densities and equal numbers of samples.

    Functions in :mod:`deciban.datasets` make populations.

    Attributes
    ----------
    name : str
    classes : tuple of labels
    n_features : int

    See Also
    --------
    gaussians : A population with your own means and covariances.
    deciban.CalibratedGaussian : A population of evidence rather than features.

    Examples
    --------
    >>> X, y = circles().sample(1000, random_state=0)
    >>> circles().evidence(X).decide()[:5].tolist() == y[:5].tolist()
    True
    """

    name: str
    classes: tuple[Hashable, ...]
    n_features: int
    _sample: Sampler = field(repr=False)
    _log_densities: Callable[[NDArray[np.float64]], NDArray[np.float64]] = field(repr=False)

    def sample(self, n_samples: int, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Samples in random order, and their classes.

        Parameters
        ----------
        n_samples : int
            Total for all classes, divided as evenly as possible.
        random_state : int, RandomState, Generator or None

        Returns
        -------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Examples
        --------
        >>> X, y = moons().sample(100, random_state=0)
        >>> X.shape, np.bincount(y)
        ((100, 2), array([50, 50]))
        """
        from sklearn.utils import check_random_state

        n_samples = require_whole(n_samples, "n_samples", least=len(self.classes))
        if isinstance(random_state, np.random.Generator):
            random_state = np.random.RandomState(random_state.bit_generator)
        return self._sample(n_samples, check_random_state(random_state))

    def evidence(self, X: ArrayLike) -> Evidence:
        """The likelihood function for each sample, which no method can improve on.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        Evidence

        Examples
        --------
        >>> population = gaussians([[0.0], [2.0]], [[[1.0]], [[1.0]]], classes=["low", "high"])
        >>> population.evidence([[0.0], [1.0]]).llr("low", "high")
        array([2., 0.])
        """
        x = to_numpy(X, "X")
        if x.ndim != 2 or x.shape[1] != self.n_features:
            raise InputError(
                f"X must have shape (n_samples, {self.n_features}); got {x.shape}. Give one row "
                f"per sample."
            )
        require_finite(np, x, "X")
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused below
            values = self._log_densities(x)
        far = ~np.isfinite(values).all(axis=1)
        must = "X must lie where the densities can be computed"
        refuse_rows(far, must, "is too far away", "Remove such rows.")
        return Evidence(values, self.classes).with_index(row_index(X))


def moons(noise: float = 0.2) -> Population:
    r"""Two interleaving half circles with normal noise, classes 0 and 1.

    The density at x is the mean of :math:`\exp(-|x - c(t)|^2 / 2s^2)` over the half circle
    :math:`c(t)`, by Gauss-Legendre quadrature.

    Parameters
    ----------
    noise : float, default 0.2
        Standard deviation s, at least 0.0001.

    See Also
    --------
    circles : Nested classes.

    Examples
    --------
    >>> population = moons()
    >>> population.evidence([[0.0, 1.0], [1.0, -0.5]]).decide()
    array([0, 1])
    """
    noise = require_positive_number(noise, "noise", remedy="Give 0.2.")
    if noise < _MIN_NOISE:
        raise InputError(f"noise must be at least {_MIN_NOISE:g}; got {noise!r}. Give 0.2.")
    t, log_weight = _half_circle(noise)
    x, y = np.cos(t), np.sin(t)
    arcs = np.column_stack([x, y]), np.column_stack([1 - x, 0.5 - y])
    n_rows = max(1, _CELLS // len(t))

    def sample(n: int, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_moons

        return make_moons(n, noise=noise, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        out = np.empty((len(x), 2))
        for start in range(0, len(x), n_rows):
            rows = slice(start, start + n_rows)
            some = x[rows, None]
            for k, arc in enumerate(arcs):
                away = ((some - arc) ** 2).sum(axis=2) / (2 * noise**2)
                out[rows, k] = logsumexp(log_weight - away, axis=1)
        return out

    return Population("moons", (0, 1), 2, sample, log_densities)


def circles(noise: float = 0.1, factor: float = 0.5) -> Population:
    r"""A circle, class 1, within a circle of radius 1, class 0, with normal noise.

    The density at distance ρ from the center is proportional to
    :math:`\exp(-(\rho^2 + r^2) / 2s^2) \, I_0(\rho r / s^2)` for radius r, with the modified
    Bessel function :math:`I_0`.

    Parameters
    ----------
    noise : float, default 0.1
        Standard deviation s.
    factor : float, default 0.5
        Radius r of the inner circle, class 1.

    See Also
    --------
    moons : Classes that interleave.

    Examples
    --------
    >>> circles().evidence([[0.0, 1.0], [0.0, 0.5]]).decide()
    array([0, 1])
    """
    noise = require_positive_number(noise, "noise", remedy="Give 0.1.")
    if not is_number(factor) or not 0 <= factor < 1:
        raise InputError(
            f"factor must be at least 0 and less than 1; got {quote(factor)}. Give 0.5."
        )

    def sample(n: int, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_circles

        return make_circles(n, noise=noise, factor=factor, random_state=random_state)

    def log_densities(x: np.ndarray) -> np.ndarray:
        rho = np.linalg.norm(x, axis=1)
        radii = (1.0, factor)
        # i0e is I0 without its exponential growth, so that nothing overflows.
        parts = [np.log(i0e(rho * r / noise**2)) - (rho - r) ** 2 / 2 / noise**2 for r in radii]
        return np.column_stack(parts)

    return Population("circles", (0, 1), 2, sample, log_densities)


def gaussians(
    means: ArrayLike,
    covariances: ArrayLike,
    classes: Sequence[Hashable] | None = None,
    name: str = "gaussians",
) -> Population:
    r"""A normal distribution :math:`N(\mu_k, S_k)` for each class.

    Parameters
    ----------
    means : array of shape (n_classes, n_features)
    covariances : array of shape (n_classes, n_features, n_features)
        Positive definite.
    classes : sequence, optional
        Class names, by default numbers from 0.
    name : str, default "gaussians"

    See Also
    --------
    deciban.QuadraticDiscriminant : Learns such classes from samples.

    Examples
    --------
    >>> population = gaussians([[0.0], [2.0]], [[[1.0]], [[4.0]]], classes=["narrow", "wide"])
    >>> population.evidence([[0.0], [2.0], [-4.0]]).decide().tolist()
    ['narrow', 'wide', 'wide']
    """
    mu, S = np.asarray(means, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
    if mu.ndim != 2 or len(mu) < 2 or S.shape != (*mu.shape, mu.shape[1]):
        raise InputError(
            f"means and covariances must have shapes (n_classes, n_features) and (n_classes, "
            f"n_features, n_features), for at least two classes; got {mu.shape} and {S.shape}."
        )
    if not np.isfinite(mu).all() or not np.isfinite(S).all():
        raise InputError("means and covariances must be finite; got NaN or infinity. Correct them.")
    D, d = mu.shape
    names = as_labels(classes, D)
    if not np.allclose(S, S.transpose(0, 2, 1)):
        k = int(np.abs(S - S.transpose(0, 2, 1)).max(axis=(1, 2)).argmax())
        raise InputError(
            f"covariances must be symmetric; number {k} is not. Average it with its transpose."
        )
    least = np.linalg.eigvalsh(S)[:, 0]
    if not least.min() > 0:
        raise InputError(
            f"covariances must be positive definite; the smallest eigenvalue of number "
            f"{int(least.argmin())} is {least.min():.3g}. Add to its diagonal."
        )
    factors = np.linalg.cholesky(S)
    labels = label_array(names)

    def sample(n: int, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        k = random_state.permutation(np.arange(n) % D)
        z = random_state.normal(size=(n, d))
        return mu[k] + np.einsum("nij,nj->ni", factors[k], z), labels[k]

    def log_densities(x: np.ndarray) -> np.ndarray:
        out = np.empty((len(x), D))
        for k in range(D):
            z = solve_triangular(factors[k], (x - mu[k]).T, lower=True)
            out[:, k] = -0.5 * (z**2).sum(axis=0) - np.log(np.diag(factors[k])).sum()
        return out

    return Population(name, names, d, sample, log_densities)


def two_gaussians() -> Population:
    """Two Gaussians in the plane with different covariances, classes 0 and 1.

    See Also
    --------
    gaussians : With your own means and covariances.

    Examples
    --------
    >>> two_gaussians().evidence([[0.0, 0.0]]).llr(1, 0).round(1)
    array([-15.4])
    """
    return gaussians(_TWO_MEANS, _TWO_COVARIANCES)


def three_gaussians() -> Population:
    """The paper's three Gaussians in four dimensions with different covariances, classes 1 to 3.

    See Also
    --------
    gaussians : With your own means and covariances.

    Examples
    --------
    >>> population = three_gaussians()
    >>> population.classes, population.n_features
    ((1, 2, 3), 4)
    """
    return gaussians(_THREE_MEANS, _THREE_COVARIANCES, (1, 2, 3), "three gaussians")


def _half_circle(noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Quadrature nodes from 0 to pi, and the logarithms of their weights."""
    pieces = int(np.ceil(np.pi / min(noise, 0.2)))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    width = np.pi / pieces
    t = (np.arange(pieces)[:, None] + (x + 1) / 2) * width
    return t.ravel(), np.log(np.tile(w / 2 * width, pieces))
