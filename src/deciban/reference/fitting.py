"""Maximum likelihood for calibrated Gaussian families and for mixtures of them.

Under the constraint the log-density of class i is v_iᵀ l plus a term that is the same for every
class, see ``docs/ideas/closed-form.md``. The covariance therefore maximizes a function of the
pooled sample alone; with S and m its covariance and mean, and c = Vᵀ diag(V Σ Vᵀ), it minimizes

    tr(Σ⁻¹ S) + (m + c/2)ᵀ Σ⁻¹ (m + c/2) + tr(Σ) / D + log |Σ|.

Newton's method on the cone of covariances finds it: a step Y from Σ = L Lᵀ goes along
L exp(Y) Lᵀ, which stays positive definite, and seen through L⁻¹ every direction is of one size.

In a mixture the log-density of class i is v_iᵀ l + log Σ_k w_k h_k(l). EM fits each component to
the pooled sample, weighted by its shares, since h_k does not depend on the class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, expm, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg

from deciban.exceptions import ConvergenceError, InputError
from deciban.reference.family import center

_FLAT = 1e-10  # slope at which to stop; the loss is of the order of the number of classes
_ACCEPTED = 1e-5  # slope that is accepted where rounding allows no further step
_NEAR = 0.01  # squared distance of the mean from the one asked for, in standard deviations
_STEPS = 500
_STEPS_OF_EM = 20
_FLOOR = 1e-3  # smallest variance of a component, in units of the single family
_LEVEL = 1e-3  # gain in nats of the whole sample below which EM stops
_ROUNDS = 3000
_SPREADS = (2.0, 6.0)  # largest scale of the first starts; the smallest is one over it
_MOST = 8  # components that are tried by "auto"


def fit_covariance(
    l: np.ndarray,
    contrast: np.ndarray,
    weight: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Covariance of the family under which weighted ILRLs are most likely.

    With ``start``, the covariance after a few steps, under which they are at least as likely.
    """
    S = np.atleast_2d(np.cov(l, rowvar=False, bias=True, aweights=weight))
    m = np.average(l, axis=0, weights=weight)
    if len(contrast) == 2:
        q = float(S[0, 0] + m[0] ** 2)
        if not q > 0:
            raise InputError(
                "ilrls must not all be zero; they are. Give evidence that distinguishes classes."
            )
        return np.array([[2 * q / (1 + np.sqrt(1 + 2 * q))]])  # the root of Σ² / 2 + Σ = q
    if start is not None:
        best = _minimize(_Loss(np.linalg.cholesky(start), S, m, contrast), _STEPS_OF_EM)
        return best.L @ best.L.T
    rank = np.linalg.matrix_rank(S, rtol=1e-12, hermitian=True)
    if rank < len(S):
        raise InputError(
            f"ilrls must vary in all {len(S)} directions; got {len(l)} samples that vary in "
            f"{rank}. Give more samples, or drop classes that are never distinguished."
        )
    ends = [_minimize(_Loss(L, S, m, contrast)) for L in _starts(S, m, contrast)]
    minima = [end for end in ends if end.steepness < _ACCEPTED]
    if not minima:
        least = min(end.steepness for end in ends)
        raise ConvergenceError(
            f"the fit must reach a flat likelihood; its slope is still {least:.2g}. "
            f"Check the ILRLs for outliers, and for a mean that is far from their spread."
        )
    best = min(minima, key=lambda end: end.value)
    return best.L @ best.L.T


def _minimize(here: _Loss, steps: int = _STEPS) -> _Loss:
    for _ in range(steps):
        there = here.downhill() if here.steepness > _FLAT else None
        if there is None:
            break
        here = there
    return here


def _starts(S: np.ndarray, m: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
    """Cholesky factors of covariances to start from.

    Near calibration all lead to the one peak, which the second moments find. If the mean is far
    from the one they ask for, the likelihood has several peaks: then the covariances that ask for
    this very mean are tried too, and the highest peak that is reached is taken.
    """
    pooled = _from_pooled(S)
    shift = m + center(pooled, V)  # zero for calibrated, balanced classes
    starts = [_from_pooled(S + np.outer(shift, shift))]
    if shift @ np.linalg.solve(pooled, shift) > _NEAR:
        D = len(V)
        size = np.trace(pooled) / (D - 1)
        a = -2 * V @ m / (1 - 2 / D)  # diag(V Vᵀ diag(a) V Vᵀ) is (1 - 2/D) a, and a constant
        heights = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
        starts += [V.T @ ((a - a.min() + height * size)[:, None] * V) for height in heights]
        starts += [pooled, 0.1 * pooled]
    return [np.linalg.cholesky(sigma) for sigma in starts]


def _from_pooled(S: np.ndarray) -> np.ndarray:
    """Solve Σ + Σ² / D = S: the pooled covariance of balanced classes. Exact for two classes."""
    D = len(S) + 1
    values, vectors = np.linalg.eigh(S)
    return (vectors * (2 * values / (1 + np.sqrt(1 + 4 * values / D)))) @ vectors.T


class _Loss:
    """Twice the negative mean log-likelihood at Σ = L Lᵀ, less a constant."""

    def __init__(self, L: np.ndarray, S: np.ndarray, m: np.ndarray, contrast: np.ndarray) -> None:
        self.L, self.S, self.m, self.V = L, S, m, contrast
        V, D = contrast, len(contrast)
        P = cho_solve((L, True), np.eye(D - 1))
        u = P @ (m + center(L @ L.T, V))
        log_det = 2 * np.log(np.diag(L)).sum()
        self.value = float(np.sum(P * S) + np.sum((L.T @ u) ** 2) + np.sum(L**2) / D + log_det)
        gradient = P - P @ S @ P - np.outer(u, u) + V.T @ ((V @ u)[:, None] * V) + np.eye(D - 1) / D
        self.P, self.u = P, u
        self.slope = _symmetrize(L.T @ gradient @ L)
        self.steepness = float(np.abs(self.slope).max())

    def downhill(self) -> _Loss | None:
        """A lower point: Newton's, else down the slope; None if rounding hides any."""
        return self._search(self._newton_direction()) or self._search(-self.slope)

    def _search(self, Y: np.ndarray) -> _Loss | None:
        descent = float(np.sum(Y * self.slope))
        if not descent < 0:  # curvature of the wrong sign
            return None
        values, vectors = np.linalg.eigh(Y)
        step = min(1.0, 2.0 / float(np.abs(values).max()))
        rounding = 1e-14 * (1 + abs(self.value))
        for _ in range(30):
            growth = np.linalg.cholesky((vectors * np.exp(step * values)) @ vectors.T)
            there = _Loss(self.L @ growth, self.S, self.m, self.V)
            lower = there.value <= self.value + 1e-4 * step * descent
            level = there.value <= self.value + rounding and there.steepness < self.steepness / 2
            if lower or level:
                return there
            step /= 2
        return None

    def _newton_direction(self) -> np.ndarray:
        size = len(self.L)
        operator = LinearOperator((size**2, size**2), matvec=self._curvature, dtype=np.float64)
        accuracy = min(0.1, self.steepness)  # no more accurate than the step needs
        step, _ = cg(operator, -self.slope.ravel(), rtol=accuracy, maxiter=20 * size)
        return _symmetrize(step.reshape(size, size))

    def _curvature(self, y: np.ndarray) -> np.ndarray:
        L, S, P, V, u = self.L, self.S, self.P, self.V, self.u
        full = y.reshape(L.shape)
        Y = _symmetrize(full)
        X = L @ Y @ L.T
        dP = -P @ X @ P
        du = P @ (center(X, V) - X @ u)
        outer = np.outer(du, u) + np.outer(u, du)
        change = dP - dP @ S @ P - P @ S @ dP - outer + V.T @ ((V @ du)[:, None] * V)
        bent = _symmetrize(L.T @ change @ L) + _symmetrize(Y @ self.slope)
        # On what is not symmetric the identity acts, which keeps it out of the way.
        return (bent + (full - Y)).ravel()


def _symmetrize(M: np.ndarray) -> np.ndarray:
    return (M + M.T) / 2


class Components(NamedTuple):
    """Weights (K,) and covariances (K, D - 1, D - 1), and Σ log Σ_k w_k h_k(l) that they reach."""

    weights: np.ndarray
    covariances: np.ndarray
    log_likelihood: float


class MixtureFit:
    """EM for mixtures of families on weighted ILRLs, started from copies of the single family."""

    def __init__(
        self, l: np.ndarray, weight: np.ndarray, contrast: np.ndarray, rng: np.random.Generator
    ) -> None:
        self.l, self.weight, self.V, self.rng = l, weight, contrast, rng
        self.single = fit_covariance(l, contrast, weight)
        self.root = np.linalg.cholesky(self.single)

    def choose(self, n_starts: int) -> Components:
        """The mixture of the lowest BIC; components are added until it rises."""
        best = self.fit(1, n_starts)
        for n_components in range(2, _MOST + 1):
            found = self.fit(n_components, n_starts)
            if self._bic(found) >= self._bic(best):
                break
            best = found
        return best

    def _bic(self, found: Components) -> float:
        """Bayesian information criterion, but for a term that no mixture changes."""
        K, k, _ = found.covariances.shape
        n_parameters = K * k * (k + 1) // 2 + K - 1
        n_samples = float(self.weight.sum())
        return n_parameters * float(np.log(n_samples)) - 2 * found.log_likelihood

    def fit(self, n_components: int, n_starts: int) -> Components:
        """The best of several runs: from scaled copies of the single family, then bent ones."""
        if n_components == 1:
            log_likelihood = float(self.weight @ self._log_h(self.single))
            return Components(np.ones(1), self.single[None], log_likelihood)
        runs = [self._run(self._start(n_components, number)) for number in range(n_starts)]
        return max(runs, key=lambda run: run.log_likelihood)

    def _start(self, n_components: int, number: int) -> np.ndarray:
        """Geometric scales of the single family; from the third start on, bent as well."""
        spread = _SPREADS[number % len(_SPREADS)]
        scales = np.geomspace(1 / spread, spread, n_components)[:, None, None]
        start = scales * self.single
        if number < len(_SPREADS):
            return np.asarray(start)
        noise = self.rng.normal(size=start.shape)
        bends = expm((noise + noise.transpose(0, 2, 1)) / 4)
        return np.asarray(scales * (self.root @ bends @ self.root.T))

    def _log_h(self, covariance: np.ndarray) -> np.ndarray:
        """The part of the log-density that all classes share, log f_i(l) − v_iᵀ l."""
        D, L = len(self.V), np.linalg.cholesky(covariance)
        shift = center(covariance, self.V)
        white = solve_triangular(L, (self.l + shift).T, lower=True)
        log_det = 2 * np.log(np.diag(L)).sum() + (D - 1) * np.log(2 * np.pi)
        return np.asarray(-0.5 * (np.sum(white**2, axis=0) + np.trace(covariance) / D + log_det))

    def _run(self, sigmas: np.ndarray) -> Components:
        K = len(sigmas)
        weights, value = np.full(K, 1 / K), -np.inf
        for _ in range(_ROUNDS):
            log_joint = np.log(weights)[:, None] + [self._log_h(sigma) for sigma in sigmas]
            log_total = np.logaddexp.reduce(log_joint, axis=0)
            before, value = value, float(self.weight @ log_total)
            if value - before < _LEVEL:
                return Components(weights, sigmas, value)
            shares = np.exp(log_joint - log_total) * self.weight
            weights = np.maximum(shares.sum(axis=1), np.finfo(float).tiny)
            weights = weights / weights.sum()
            sigmas = np.array([self._improve(*pair) for pair in zip(shares, sigmas, strict=True)])
        raise ConvergenceError(
            f"the fit of {K} components must end within {_ROUNDS} steps; the likelihood still "
            f"grows by {value - before:.2g} nats. Ask for fewer components."
        )

    def _improve(self, share: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """A better covariance of one component; the same if it would fall onto a few samples."""
        if share.sum() <= len(sigma) + 1 or not (share @ self.l**2).any():  # all are zero
            return sigma
        there = fit_covariance(self.l, self.V, share, sigma)
        white = solve_triangular(self.root, there, lower=True).T
        white = solve_triangular(self.root, white, lower=True)
        return there if np.linalg.eigvalsh(white)[0] >= _FLOOR else sigma
