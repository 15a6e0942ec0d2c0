"""The calibrated Gaussian family: Theorems 1 and 2 of the paper, for any D and any basis."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from deciban._markup import Cell, Shaded, number, paragraph, percent, represent, shorten, table
from deciban._validation.arrays import Floats, freeze, to_numpy
from deciban._validation.labels import as_labels, index_of, index_pair
from deciban._validation.scalars import Rng, as_generator, quote, require_bool, require_whole
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior, log_prior
from deciban.exceptions import InputError, NotPositiveDefiniteError
from deciban.reference import expectations, family
from deciban.reference.expectations import Estimate
from deciban.reference.family import CalibratedFamily, read_ilrls, symmetrize
from deciban.reference.fitting import fit_covariance
from deciban.reference.posterior import PosteriorGaussian
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_MOST_CLASSES = 10  # that a notebook shows
_NEAREST_FLOOR = 1e-8  # smallest over largest eigenvalue of the nearest family


class CalibratedGaussian(CalibratedFamily):
    r"""ILRLs that are Gaussian under every class, and calibrated.

    Calibrated means that an ILRL is its own likelihood function. One covariance :math:`\Sigma`,
    shared by the classes, then fixes all means and divergences. With V the contrast of the basis,
    :math:`v_k` its row k and :math:`G = V \Sigma V^T`, the mean under class k is :math:`\mu_k =
    \Sigma v_k - \frac{1}{2} V^T \mathrm{diag}(G)`, and the divergence of a pair is :math:`d_{jk} =
    \frac{1}{2} (G_{jj} + G_{kk}) - G_{jk}`.

    Immutable. Build it from a covariance, with :meth:`from_divergences` or :meth:`from_eers`, or
    :meth:`fit` it to data.

    Parameters
    ----------
    covariance : array of shape (D - 1, D - 1)
        Covariance of the ILRL under each class; symmetric and positive definite.
    basis : Basis, default Gram-Schmidt
    classes : sequence of labels, default those of the basis, else 0 to D - 1

    Attributes
    ----------
    covariance, basis, classes
        The parameters; read-only.
    cholesky : array of shape (D - 1, D - 1)
        Lower triangular factor of the covariance.

    See Also
    --------
    deciban.calibration.GaussianCalibrator : Calibrates evidence by such a family.
    deciban.reference.PosteriorGaussian : The family under a prior.
    deciban.datasets.Population : Data whose true evidence is known.

    Examples
    --------
    >>> family = CalibratedGaussian.from_divergences([[0, 5, 4], [5, 0, 7], [4, 7, 0]])
    >>> family.eers.round(4)
    array([[0.5   , 0.0569, 0.0786],
           [0.0569, 0.5   , 0.0307],
           [0.0786, 0.0307, 0.5   ]])
    """

    covariance: Floats
    basis: Basis
    classes: tuple[Hashable, ...]
    cholesky: Floats

    def __init__(
        self,
        covariance: ArrayLike,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        sigma = np.atleast_2d(to_numpy(covariance, "covariance"))
        sigma = symmetrize(sigma, "covariance")
        D = len(sigma) + 1
        basis = basis_for(basis, D)
        labels = as_labels(basis.classes if classes is None else classes, D)
        basis = basis.align_to(labels)
        values = np.linalg.eigvalsh(sigma)
        if not family.is_positive(values):
            raise NotPositiveDefiniteError(
                f"covariance must be positive definite; its smallest eigenvalue is {values[0]:.6g} "
                f"beside a largest of {values[-1]:.6g}. Drop a class that is never "
                f"distinguished from another, or add to the diagonal.",
                smallest_eigenvalue=float(values[0]),
            )
        object.__setattr__(self, "covariance", freeze(sigma))
        object.__setattr__(self, "cholesky", freeze(np.linalg.cholesky(sigma)))
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "classes", labels)

    @classmethod
    def from_divergences(
        cls,
        delta: ArrayLike,
        nearest: bool = False,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        r"""The family with these divergences: :math:`\Sigma = -V^T \Delta V`.

        Parameters
        ----------
        delta : array of shape (D, D) or (D (D - 1) / 2,)
            Kullback-Leibler divergences in nats: a symmetric matrix with a zero diagonal, or its
            upper triangle row by row (d12, d13, ..., d23, ...), as in scipy's ``squareform``.
        nearest : bool, default False
            If no family has these divergences, take the one with the nearest covariance in the
            Frobenius norm, whose smallest eigenvalue is at least 1e-8 of the largest. Check its
            divergences: they differ from ``delta``. By default, raise.
        basis : Basis, default Gram-Schmidt
        classes : sequence of labels, optional
        """
        require_bool(nearest, "nearest")
        matrix, classes = family.read_pairwise(delta, classes, "delta")
        matrix = symmetrize(matrix, "delta")
        if np.any(np.diag(matrix) != 0):
            raise InputError("delta must have a zero diagonal: no class diverges from itself.")
        if np.any(matrix < 0):
            raise InputError(
                f"delta must not be negative; its smallest entry is {matrix.min():.6g}."
            )
        basis = basis_for(basis, len(matrix))
        basis = basis if classes is None else basis.align_to(classes)
        sigma = family.covariance_of(matrix, basis.contrast)
        values, vectors = np.linalg.eigh(sigma)
        if family.is_positive(values):
            return cls(sigma, basis)
        if not nearest or values[-1] <= 0:
            remedy = "Pass nearest=True for the nearest family."
            raise NotPositiveDefiniteError(
                f"delta must be the divergences of a calibrated Gaussian family: the smallest "
                f"eigenvalue of -V'ΔV must be positive; it is {values[0]:.6g}. "
                f"{remedy if values[-1] > 0 else 'Give divergences that are not all zero.'}",
                smallest_eigenvalue=float(values[0]),
            )
        values = np.maximum(values, _NEAREST_FLOOR * values[-1])
        return cls((vectors * values) @ vectors.T, basis)

    @classmethod
    def from_eers(
        cls,
        eers: ArrayLike,
        nearest: bool = False,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        r"""The family with these equal-error rates: divergence :math:`2 \Phi^{-1}(\mathrm{EER})^2`.

        Rates are above 0 and below 0.5; the diagonal of a matrix is not used. They are given as
        divergences are for :meth:`from_divergences`.

        >>> CalibratedGaussian.from_eers([0.01]).divergences[0, 1].round(4)
        np.float64(10.8238)
        """
        rates, classes = family.read_pairwise(eers, classes, "eers")
        np.fill_diagonal(rates, 0.25)
        symmetrize(rates, "eers")
        wrong = rates[~((rates > 0) & (rates < 0.5))]
        if wrong.size:
            raise InputError(
                f"eers must lie between 0 and 0.5, exclusive; got {wrong[0]:g}. Divide percentages "
                f"by 100; at 0.5 two classes are the same, at 0 they never meet."
            )
        delta = 2 * ndtri(rates) ** 2
        np.fill_diagonal(delta, 0.0)
        return cls.from_divergences(delta, nearest, basis, classes)

    @classmethod
    def fit(
        cls,
        ilrls: ArrayLike | Evidence,
        y_true: ArrayLike | Sequence[Hashable],
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        """The family under which labeled ILRLs are most likely.

        The means are functions of the covariance, so this is not the estimate of linear
        discriminant analysis. In a calibrated family an ILRL is its own likelihood function, so
        the labels do not change the estimate, only its :meth:`log_likelihood`. Compare that with a
        model without the constraint to see whether the ILRLs are calibrated.

        Parameters
        ----------
        ilrls : array of shape (n_samples, D - 1), or Evidence
        y_true : array of shape (n_samples,)
            The class of each sample; pandas objects are matched by their index.
        basis : Basis, default Gram-Schmidt
        classes : sequence of labels
            By default those of the evidence, else of a named basis, else the sorted labels.

        Examples
        --------
        >>> truth = CalibratedGaussian([[4.0]])
        >>> l, y = truth.sample([5000, 5000], rng=1)
        >>> CalibratedGaussian.fit(l, y).covariance.round(1)
        array([[4.]])
        """
        l, basis = family.read_labeled_ilrls(ilrls, y_true, basis, classes)
        return cls(fit_covariance(l, basis.contrast), basis)

    @cached_property
    def means(self) -> Floats:
        """Mean of the ILRL under each class, of shape (D, D - 1)."""
        return freeze(family.means(self.covariance, self.basis.contrast))

    @cached_property
    def divergences(self) -> Floats:
        """Kullback-Leibler divergence between each pair of classes, in nats; (D, D), symmetric."""
        return freeze(family.divergences(self.covariance, self.basis.contrast))

    @cached_property
    def eers(self) -> Floats:
        """Equal-error rate of each pair of classes, Φ(−√(d / 2)); (D, D), 0.5 on the diagonal."""
        return freeze(ndtr(-np.sqrt(self.divergences / 2)))

    def in_basis(self, basis: Basis) -> CalibratedGaussian:
        """The same family with its ILRLs in another basis."""
        basis = basis_for(basis, self.n_classes).align_to(self.classes)
        R = self.basis.rotation_to(basis)
        return CalibratedGaussian(R.T @ self.covariance @ R, basis)

    def llr_distribution(self, a: Hashable, b: Hashable, given: Hashable | None = None) -> Any:
        """Distribution of the LLR of ``a`` against ``b``, with variance :math:`2 d_{ab}`.

        It is a normal distribution of scipy.stats. Its mean is :math:`d_{ab}` if ``given`` is
        ``a``, the default, :math:`-d_{ab}` under ``b``, and :math:`d_{bk} - d_{ak}` under a class
        k.
        """
        from scipy.stats import norm  # half a second to import, and nothing else needs it

        i, j = index_pair(a, b, self.classes)
        k = i if given is None else index_of(given, self.classes)
        d = self.divergences
        return norm(loc=d[j, k] - d[i, k], scale=math.sqrt(2 * d[i, j]))

    def log_density(self, l: ArrayLike | Evidence) -> Floats:
        """Log-density of ILRLs under each class, (n_samples, D), by the Lebesgue measure."""
        l = read_ilrls(l, self.basis)
        D = self.n_classes
        # log f_i(l) = v_i'l + log h(l): one class gives the others. From the nearest one,
        # nothing large has to cancel.
        scores = l @ self.basis.contrast.T
        nearest = np.argmax(scores, axis=1)
        white = solve_triangular(self.cholesky, (l - self.means[nearest]).T, lower=True)
        log_f = -0.5 * np.sum(white**2, axis=0) - 0.5 * (
            2 * np.log(np.diag(self.cholesky)).sum() + (D - 1) * math.log(2 * math.pi)
        )
        return scores - np.max(scores, axis=1, keepdims=True) + log_f[:, None]

    def with_prior(self, prior: Prior = None) -> PosteriorGaussian:
        """The family in posterior space: the distribution of posteriors under this prior."""
        return PosteriorGaussian(self, prior)

    def expected_cllr(self, a: Hashable, b: Hashable) -> float:
        """Expected Cllr of the LLRs of two classes, in bits, by quadrature (about 1e-14)."""
        d = float(self.divergences[index_pair(a, b, self.classes)])
        return float(from_nats(expectations.expected_softplus(d), "bit"))

    def expected_cross_entropy(
        self, prior: Prior = None, *, unit: Unit = "nat", n_samples: int = 100_000, rng: Rng = 0
    ) -> Estimate:
        """Expected cross-entropy of the posterior, with its standard error; C_mc by default.

        Two classes are integrated, more are simulated with ``n_samples``.

        >>> family = CalibratedGaussian.from_eers([0.1])
        >>> round(family.expected_cross_entropy(unit="bit").value, 4)
        0.3456
        """
        p = np.exp(log_prior(prior, self.classes)[0])
        if self.n_classes == 2:
            d = float(self.divergences[0, 1])
            log_odds = math.log(p[0]) - math.log(p[1])
            losses = [expectations.expected_softplus(d, odds) for odds in (log_odds, -log_odds)]
            estimate = Estimate(float(p[0] * losses[0] + p[1] * losses[1]), 0.0)
        else:
            count = require_whole(n_samples, "n_samples", 4 * self.n_classes)
            estimate = expectations.simulate_cross_entropy(self, p, count, as_generator(rng))
        return Estimate(*(float(from_nats(number, unit)) for number in estimate))

    def place(self, at: NDArray[np.intp], noise: Floats, rng: np.random.Generator) -> Floats:
        """ILRLs of these classes, by position, from standard normals."""
        return self.means[at] + noise @ self.cholesky.T

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return CalibratedGaussian, (np.array(self.covariance), self.basis, self.classes)

    def __repr__(self) -> str:
        return f"<CalibratedGaussian of {self._describe()}>"

    def _repr_html_(self) -> str:
        """Divergences (nat) above the diagonal, equal-error rates below it, for notebooks."""
        D, divergences, eers = self.n_classes, self.divergences, self.eers
        names = [shorten(label, 30) for label in self.classes[:_MOST_CLASSES]]

        def cell(i: int, j: int) -> Cell:
            if i == j:
                return "–"
            d, eer = float(divergences[i, j]), float(eers[i, j])
            return Shaded(f"{number(d)} nat" if i < j else percent(eer, 3), tint=2 * eer)

        rows = [[name, *(cell(i, j) for j in range(len(names)))] for i, name in enumerate(names)]
        more = f"… and {D - len(names):,} more classes. " if len(names) < D else ""
        return represent(
            paragraph(f"of {D:,} classes", lead="Calibrated Gaussian family"),
            table("Divergences and equal-error rates", ["class", *names], rows),
            paragraph(
                f"{more}Above the diagonal: divergence in nats. Below it: equal-error rate. The "
                f"stronger the tint, the harder the pair is to tell apart."
            ),
        )


def align_families(
    families: Sequence[CalibratedGaussian], basis: Basis
) -> tuple[CalibratedGaussian, ...]:
    """The families in this named basis, with its order of classes."""
    for one in families:
        if {*one.classes} != {*(basis.classes or ())}:
            raise InputError(
                f"families must all have the classes {quote(basis.classes)}; got "
                f"{quote(one.classes)}. Build each of them with these classes."
            )
    return tuple(
        one if one.basis == basis else CalibratedGaussian(one.in_basis(basis).covariance, basis)
        for one in families
    )
