"""Generative recalibration under a mixture of calibrated families."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from deciban._estimation.convex_gradient import standardize
from deciban._persistence.registry import register
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_whole
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.gaussian import GaussianCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.reference import CalibratedMixture
from deciban.reference.closed_form import gram, offset
from deciban.reference.em import log_h
from deciban.simplex import Basis

_MOST = 4  # components that are tried by "auto"
_SAMPLES_EACH = 10  # samples for each parameter of a mixture that "auto" takes
_SPREAD = 4.0  # largest scale of a component at the start; the smallest is one over it
_FLOOR = 1e-3  # smallest variance of a component, in units of the variance within classes
_LEAST_SIGNAL = 1e-3  # at the start, in units of the spread within classes
_STEPS = 500


@register(_reader=ScoreReader, matrix_="k k", offset_="k", covariances_="K k k", weights_="K")
class MixtureCalibrator(Calibrator):
    r"""Evidence through the affine map that makes it a mixture of calibrated families.

    The ILRLs x of the scores become :math:`l = A x + b`, and their density under class i is
    :math:`|A| e^{v_i^T l} \sum_k w_k h_k(l)`, that of a :class:`deciban.CalibratedMixture`.
    Map and mixture are found together, by maximum likelihood: under the model, the evidence is
    calibrated by construction. Unlike :class:`GaussianCalibrator` it takes heavy tails, as of
    samples of good and of poor quality. Where the model holds, about a hundred samples of each
    class suffice to be as good as :class:`AffineCalibrator`, which learns the same map and assumes
    no distribution. Where it does not, as for the skewed scores of naive Bayes, it can be far
    worse: compare the two on held-out samples.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        With "auto", components are added until the Bayesian information criterion (BIC) rises or
        fewer than 10 samples are left for each parameter.
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    matrix_, offset_ : arrays of shape (D - 1, D - 1) and (D - 1,)
        A and b, in the Gram-Schmidt basis.
    reference_ : CalibratedMixture
        The family of the calibrated evidence.
    weights_, covariances_ : arrays of shape (n_components,) and (n_components, D - 1, D - 1)
        Of the families in ``reference_``.
    classes_, prior_ : arrays of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    GaussianCalibrator : One family, with densities that allow for few samples.
    deciban.CalibratedMixture : The model.

    References
    ----------
    van Leeuwen and Brümmer (2013), The distribution of calibrated likelihood-ratios in speaker
    recognition: one family and two classes.

    Examples
    --------
    >>> truth = CalibratedMixture([[[1.0]], [[16.0]]], [0.75, 0.25])  # weak and strong evidence
    >>> l, y = truth.sample([5000, 5000], rng=0)
    >>> calibrator = MixtureCalibrator().fit(truth.evidence(3 * l), y)
    >>> calibrator.matrix_.round(2)
    array([[0.33]])
    >>> calibrator.weights_.round(2)
    array([0.75, 0.25])
    """

    matrix_: Floats
    offset_: Floats
    covariances_: Floats
    weights_: Floats

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        auto = isinstance(self.n_components, str) and self.n_components == "auto"
        most = _MOST if auto else require_whole(self.n_components, "n_components", 1)
        share = samples.weights / samples.weights.max()
        share = share / share.sum()
        x, center, size = standardize(finite_ilr(samples.evidence), share)
        scaled = Evidence._from_ilr(x, None, samples.evidence.classes)
        single = GaussianCalibrator(predictive=False)
        try:
            single._fit(Labelled(scaled, samples.codes, samples.weight))
        except InputError as error:
            raise InputError(
                f"X must vary within the classes in all {x.shape[1]} directions of ILR space; it "
                f"does not. Give more samples, or use AffineCalibrator."
            ) from error
        problem = _Problem(x, samples.codes, share, _Start.of(single, self.classes_.tolist()))
        n = float(min(samples.sizes.sum(), 1e300))
        best = problem.solve(1)
        for n_components in range(2 if auto else most, most + 1):
            if auto and problem.n_parameters(n_components) > n / _SAMPLES_EACH:
                break
            found = problem.solve(n_components)
            if auto and problem.bic(found, n) >= problem.bic(best, n):
                break
            best = found
        order = np.argsort(np.trace(best.covariances, axis1=1, axis2=2), kind="stable")
        self.weights_, self.covariances_ = best.weights[order], best.covariances[order]
        self.matrix_ = best.matrix / size
        self.offset_ = best.offset - self.matrix_ @ center

    def _calibrate(self, evidence: Evidence) -> Evidence:
        l = finite_ilr(evidence) @ self.matrix_.T + self.offset_
        return Evidence._from_ilr(l, None, evidence.classes)

    @property
    def reference_(self) -> CalibratedMixture:
        """The mixture of calibrated families of the calibrated evidence."""
        V = Basis.gram_schmidt(len(self.classes_)).contrast
        return CalibratedMixture(self.covariances_, self.weights_, Basis(V, self.classes_.tolist()))

    def _finish_loading(self) -> None:
        super()._finish_loading()
        learned = (self.matrix_, self.offset_, self.covariances_, self.weights_)
        if not all(np.isfinite(array).all() for array in learned):
            raise ValueError("numbers that are not finite")
        if len(self.offset_) != len(self.classes_) - 1:
            raise ValueError("a map of another number of classes")
        if not (self.weights_ > 0).all() or not (np.linalg.eigvalsh(self.covariances_) > 0).all():
            raise ValueError("weights or covariances that are not positive")


class _Fitted(NamedTuple):
    matrix: Floats
    offset: Floats
    weights: Floats
    covariances: Floats
    loss: float  # negative mean log-likelihood, in nats


class _Start(NamedTuple):
    """The affine map of Gaussian densities with one covariance, and that covariance."""

    matrix: Floats
    offset: Floats
    within: Floats  # covariance of x within classes

    @classmethod
    def of(cls, single: GaussianCalibrator, classes: list[Any]) -> _Start:
        V = Basis.gram_schmidt(len(classes)).contrast
        M, S = single.means_, single.covariances_[0]
        B = V.T @ M + _LEAST_SIGNAL * np.linalg.cholesky(S)  # also where class means coincide
        matrix = np.linalg.solve(S, B.T).T
        squares = np.einsum("ij,ij->i", M, np.linalg.solve(S, M.T).T)
        return cls(matrix, -0.5 * V.T @ squares, S)


class _Problem:
    """The likelihood of affine maps and mixtures, by parameters without constraints.

    These are the matrix A and the offset of the map, for each component the Cholesky factor of its
    covariance S of x with the logarithms of its diagonal (that of l is A S A'), and the logarithms
    of the weights but for a constant. A floor on S cannot be evaded by a larger A: many equal
    scores would otherwise pull A up without end.
    """

    def __init__(self, x: Floats, codes: NDArray[np.intp], share: Floats, start: _Start) -> None:
        self.x, self.share, self.start = x, share, start
        self.V = Basis.gram_schmidt(x.shape[1] + 1).contrast
        self.v = self.V[codes]
        self.rows, self.columns = np.tril_indices(x.shape[1])

    def solve(self, n_components: int) -> _Fitted:
        """The most likely map and mixture, from scaled copies of the single family."""
        k, single = self.x.shape[1], np.linalg.cholesky(self.start.within).astype(np.float64)
        scales = np.geomspace(1 / _SPREAD, _SPREAD, n_components) if n_components > 1 else [1.0]
        factors = [self._pack(np.sqrt(scale) * single) for scale in scales]
        theta = np.concatenate(
            [self.start.matrix.ravel(), self.start.offset, *factors, np.zeros(n_components)]
        )
        low = np.full(theta.shape, -np.inf)
        floors = np.where(
            self.rows == self.columns, np.log(_FLOOR) / 2 + self._pack(single), -np.inf
        )
        low[k * k + k : len(theta) - n_components] = np.tile(floors, n_components)
        found = minimize(
            self.loss, theta, jac=True, method="L-BFGS-B", bounds=[(b, None) for b in low],
            options={"maxiter": _STEPS, "maxcor": 30},
        )  # fmt: skip
        A, b, M, log_w = self._unpack(found.x)
        L = A @ M
        return _Fitted(A, b, np.exp(log_w), L @ L.transpose(0, 2, 1), float(found.fun))

    def n_parameters(self, n_components: int) -> float:
        k = self.x.shape[1]
        return k * k + k + n_components * k * (k + 1) / 2 + n_components - 1

    def bic(self, found: _Fitted, n: float) -> float:
        return self.n_parameters(len(found.weights)) * float(np.log(n)) + 2 * n * found.loss

    def _pack(self, L: Floats) -> Floats:
        """A Cholesky factor as numbers without constraints."""
        values = L[self.rows, self.columns]
        return np.where(self.rows == self.columns, np.log(np.abs(values) + 1e-300), values)

    def _unpack(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        k, n = self.x.shape[1], len(self.rows)
        K = (len(theta) - k * k - k) // (n + 1)
        A, b, free, weights = np.split(theta, [k * k, k * k + k, k * k + k + K * n])
        free = np.where(self.rows == self.columns, np.exp(free.reshape(K, n)), free.reshape(K, n))
        L = np.zeros((K, k, k))
        L[:, self.rows, self.columns] = free
        return A.reshape(k, k), b, L, np.asarray(log_softmax(weights))

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Negative mean log-likelihood, and its slope."""
        A, b, factors, log_w = self._unpack(theta)
        V, share = self.V, self.share
        l = self.x @ A.T + b
        sigmas = [(A @ M) @ (A @ M).T for M in factors]
        log_joint = log_w[:, None] + [log_h(l, sigma, V) for sigma in sigmas]
        log_total = np.logaddexp.reduce(log_joint, axis=0)
        pieces = np.exp(log_joint - log_total) * share
        pull, slopes, slope_A = self.v * share[:, None], [], np.linalg.inv(A).T
        for M, sigma, piece in zip(factors, sigmas, pieces, strict=True):
            P = np.linalg.inv(sigma)
            u = (l + offset(gram(sigma, V), V) / 2) @ P
            pull -= piece[:, None] * u
            spread = (piece[:, None] * u).T @ u
            total, m = piece.sum(), piece @ u
            # d log h / dΣ, as in the fit of one family; Σ = A S A'.
            G = -0.5 * (
                total * (P + np.eye(len(P)) / len(V)) - spread + V.T @ ((V @ m)[:, None] * V)
            )
            slope_A = slope_A + 2 * G @ A @ M @ M.T
            own = 2 * (A.T @ G @ A @ M)[self.rows, self.columns]
            slopes.append(np.where(self.rows == self.columns, own * np.diag(M)[self.rows], own))
        own = np.einsum("nk,nk->n", self.v, l) + log_total
        value = -float(share @ own + np.linalg.slogdet(A)[1])
        slope_A = slope_A + pull.T @ self.x
        of_weights = pieces.sum(axis=1) - np.exp(log_w)
        return value, -np.concatenate([slope_A.ravel(), pull.sum(axis=0), *slopes, of_weights])
