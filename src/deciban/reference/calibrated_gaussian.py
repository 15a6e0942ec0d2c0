"""The calibrated Gaussian family: Theorems 1 and 2 of the paper, for any D and any basis."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from scipy.linalg import solve_triangular

from deciban._validation import as_labels, column_names, freeze, index_of, label_array, to_numpy
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import log_prior
from deciban.exceptions import InputError, NotPositiveDefiniteError
from deciban.reference import closed_form, expectations
from deciban.reference.expectations import Estimate
from deciban.reference.fitting import fit_covariance
from deciban.reference.inputs import (
    as_ilrls,
    count_of,
    counts_for,
    divergence_matrix,
    generator,
    is_positive,
    label_row,
    positions,
    sorted_labels,
    square,
    symmetric,
)
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_NEAREST_FLOOR = 1e-8  # smallest over largest eigenvalue of the nearest family


class CalibratedGaussian:
    """ILRLs that are Gaussian under every class, and calibrated.

    Calibrated means that the likelihood function of the likelihood function is the likelihood
    function. One covariance, shared by the classes, then fixes every mean and every divergence.
    It is what the evidence of a good classifier is compared with.

    Immutable. Build it from a covariance, with :meth:`from_divergences` or :meth:`from_eers`, or
    :meth:`fit` it to data.

    Parameters
    ----------
    covariance : array of shape (D - 1, D - 1)
        Of the ILRL under each class; symmetric and positive definite.
    basis : Basis, default Gram-Schmidt
        The basis of the ILRLs.
    classes : sequence of labels, default those of the basis, else 0 to D - 1

    Attributes
    ----------
    covariance : array of shape (D - 1, D - 1), read-only
    cholesky : array of shape (D - 1, D - 1), read-only
        Its lower triangular factor.
    basis : Basis, over the classes
    classes : tuple of labels

    Examples
    --------
    >>> family = CalibratedGaussian.from_divergences([[0, 5, 4], [5, 0, 7], [4, 7, 0]])
    >>> family.eers.round(4)
    array([[0.5   , 0.0569, 0.0786],
           [0.0569, 0.5   , 0.0307],
           [0.0786, 0.0307, 0.5   ]])
    """

    covariance: np.ndarray
    basis: Basis
    classes: tuple[Hashable, ...]
    cholesky: np.ndarray

    def __init__(
        self,
        covariance: Any,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        sigma = symmetric(np.atleast_2d(to_numpy(covariance, "covariance")), "covariance")
        D = len(sigma) + 1
        basis = basis_for(basis, D)
        labels = as_labels(basis.classes if classes is None else classes, D)
        basis = basis.aligned_to(labels)
        values = np.linalg.eigvalsh(sigma)
        if not is_positive(values):
            raise NotPositiveDefiniteError(
                f"covariance must be positive definite; its smallest eigenvalue is {values[0]:.6g} "
                f"beside a largest of {values[-1]:.6g}. Drop a class that is never told apart, or "
                f"add to the diagonal.",
                smallest_eigenvalue=float(values[0]),
            )
        object.__setattr__(self, "covariance", freeze(sigma))
        object.__setattr__(self, "cholesky", freeze(np.linalg.cholesky(sigma)))
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "classes", labels)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a CalibratedGaussian is immutable; build a new one.")

    # --- ways in ----------------------------------------------------------------------

    @classmethod
    def from_divergences(
        cls,
        delta: Any,
        nearest: bool = False,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        """The family with these divergences: :math:`Sigma = -V^T Delta V`.

        Divergences belong to a family iff their square roots are the distances of D points in
        general position in D - 1 dimensions.

        Parameters
        ----------
        delta : array of shape (D, D) or (D (D - 1) / 2,)
            Kullback-Leibler divergences in nats: a symmetric matrix with a zero diagonal, or its
            upper triangle row by row (d12, d13, ..., d23, ...), as in scipy's ``squareform``.
        nearest : bool, default False
            What to do where no family has these divergences: raise, or take the family whose
            covariance is nearest in the Frobenius norm, in whatever basis, among those with a
            smallest eigenvalue of at least 1e-8 of the largest. Its divergences differ from
            the ones asked for: look at them.
        basis : Basis, default Gram-Schmidt
        classes : sequence of labels, optional

        Examples
        --------
        >>> CalibratedGaussian.from_divergences([6.0, 6.0, 6.0]).means[:2].round(3)
        array([[ 4.243,  2.449],
               [-4.243,  2.449]])
        """
        if not isinstance(nearest, bool):
            raise InputError(
                f"nearest must be True or False; got {nearest!r}. Pass classes by name."
            )
        classes = column_names(delta) if classes is None else classes
        delta = divergence_matrix(delta, "delta")
        basis = _over(basis, classes, len(delta))
        sigma = closed_form.covariance_of(delta, basis.contrast)
        values, vectors = np.linalg.eigh(sigma)
        if is_positive(values):
            return cls(sigma, basis)
        if not nearest or values[-1] <= 0:
            raise NotPositiveDefiniteError(
                f"delta must be the divergences of a calibrated Gaussian family: the smallest "
                f"eigenvalue of -V'ΔV must be positive; it is {values[0]:.6g}. "
                + (
                    "Pass nearest=True for the nearest family."
                    if values[-1] > 0
                    else "Give divergences that are not all zero."
                ),
                smallest_eigenvalue=float(values[0]),
            )
        values = np.maximum(values, _NEAREST_FLOOR * values[-1])
        return cls((vectors * values) @ vectors.T, basis)

    @classmethod
    def from_eers(
        cls,
        eers: Any,
        nearest: bool = False,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        """The family with these equal-error rates between each two classes.

        Parameters
        ----------
        eers : array of shape (D, D) or (D (D - 1) / 2,)
            Above 0 and below 0.5; the diagonal of a matrix is not used. The upper triangle is
            taken row by row, as by :meth:`from_divergences`.
        nearest, basis, classes
            As for :meth:`from_divergences`.

        Examples
        --------
        >>> CalibratedGaussian.from_eers([0.01]).divergences[0, 1].round(4)
        np.float64(10.8238)
        """
        classes = column_names(eers) if classes is None else classes
        rates = square(eers, "eers")
        np.fill_diagonal(rates, 0.25)
        symmetric(rates, "eers")
        wrong = rates[~((rates > 0) & (rates < 0.5))]
        if wrong.size:
            raise InputError(
                f"eers must lie between 0 and 0.5, exclusive; got {wrong[0]:g}. Divide percentages "
                f"by 100; at 0.5 two classes are the same, at 0 they never meet."
            )
        delta = closed_form.divergence_of_eer(rates)
        np.fill_diagonal(delta, 0.0)
        return cls.from_divergences(delta, nearest, basis, classes)

    @classmethod
    def fit(
        cls,
        ilrls: Any,
        labels: Any,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> CalibratedGaussian:
        """The family under which labelled ILRLs are most likely.

        The means are functions of the covariance, so this is not the estimate of linear
        discriminant analysis. It takes the ILRLs at their word: under the constraint an ILRL
        says itself how far it speaks for each class, and the labels do not change the estimate,
        only its :meth:`log_likelihood`. Compare that with a model without the constraint to see
        whether the ILRLs deserve it.

        Parameters
        ----------
        ilrls : array of shape (n_samples, D - 1), or Evidence
        labels : sequence of n_samples labels
        basis : Basis, default Gram-Schmidt
            The basis of the ILRLs, or the one to take from the Evidence.
        classes : sequence of labels, default those of the evidence, else the sorted labels

        Examples
        --------
        >>> truth = CalibratedGaussian([[4.0]])
        >>> l, y = truth.sample([5000, 5000], rng=1)
        >>> CalibratedGaussian.fit(l, y).covariance.round(1)
        array([[4.]])
        """
        labels = label_row(labels, len(ilrls))
        if classes is None:
            named = ilrls if isinstance(ilrls, Evidence) else basis
            classes = getattr(named, "classes", None) or sorted_labels(labels)
        if len(classes) < 2:
            raise InputError(
                f"labels must hold at least 2 classes; got {len(classes)}. Pass all of them as "
                f"classes if some have no sample."
            )
        basis = _over(basis, classes, len(classes))
        l = as_ilrls(ilrls, basis)
        positions(labels, as_labels(classes))
        return cls(fit_covariance(l, basis.contrast), basis)

    # --- what it is -------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """Number of classes, D."""
        return len(self.classes)

    @cached_property
    def means(self) -> np.ndarray:
        """Mean of the ILRL under each class; (D, D - 1)."""
        return freeze(closed_form.means(self.covariance, self.basis.contrast))

    @cached_property
    def divergences(self) -> np.ndarray:
        """Kullback-Leibler divergence between each two classes, in nats; (D, D), symmetric."""
        return freeze(closed_form.divergences(self.covariance, self.basis.contrast))

    @cached_property
    def eers(self) -> np.ndarray:
        """Equal-error rate between each two classes; (D, D), 0.5 on the diagonal."""
        return freeze(closed_form.eer_of_divergence(self.divergences))

    def in_basis(self, basis: Basis) -> CalibratedGaussian:
        """The same family with its ILRLs in another basis."""
        basis = basis_for(basis, self.n_classes).aligned_to(self.classes)
        R = self.basis.rotation_to(basis)
        return CalibratedGaussian(R.T @ self.covariance @ R, basis)

    def llr_distribution(self, a: Hashable, b: Hashable, given: Hashable | None = None) -> Any:
        """Distribution of the LLR of class ``a`` against class ``b``: normal, variance 2 d_ab.

        Parameters
        ----------
        a, b : labels
        given : label, default ``a``
            The class that is true. The mean is d_ab under a, -d_ab under b, and d_bk - d_ak
            under a class k.

        Returns
        -------
        scipy.stats frozen normal distribution

        Examples
        --------
        >>> llr = CalibratedGaussian.from_eers([0.1]).llr_distribution(0, 1)
        >>> bool(np.isclose(llr.var(), 2 * llr.mean()))
        True
        """
        from scipy.stats import norm  # half a second to import, and nothing else needs it

        i, j = self._pair(a, b)
        k = i if given is None else index_of(given, self.classes)
        d = self.divergences
        return norm(loc=d[j, k] - d[i, k], scale=math.sqrt(2 * d[i, j]))

    # --- points -----------------------------------------------------------------------

    def log_density(self, l: Any) -> np.ndarray:
        """Log-density of ILRLs under each class, with respect to the Lebesgue measure.

        Parameters
        ----------
        l : array of shape (n_samples, D - 1), or Evidence

        Returns
        -------
        array of shape (n_samples, D)
        """
        l = self._points(l)
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

    def log_density_on_simplex(
        self, x: Any, measure: Literal["aitchison", "lebesgue"] = "aitchison"
    ) -> np.ndarray:
        """Log-density of likelihood functions on the simplex, under each class.

        Parameters
        ----------
        x : array of shape (n_samples, D), or Evidence
            Likelihoods; strictly positive, any scale. Evidence holds their logarithms.
        measure : {"aitchison", "lebesgue"}
            The Aitchison measure is the one that the ILR carries over: the same density as in
            ILR space. The Lebesgue measure is that of the first D - 1 closed parts.

        Returns
        -------
        array of shape (n_samples, D)
        """
        if not isinstance(x, Evidence):
            if np.ndim(x) != 2:
                raise InputError(
                    f"x must have shape (n_samples, {self.n_classes}); got {np.shape(x)}. "
                    f"Write [x] for one likelihood function."
                )
            names = column_names(x)
            named = names is not None and names != tuple(range(self.n_classes))
            x = Evidence.from_likelihoods(x, names if named else self.classes)
        if measure not in ("aitchison", "lebesgue"):
            raise InputError(
                f"measure must be 'aitchison' or 'lebesgue'; got {measure!r}. Choose one of them."
            )
        log_f = self.log_density(x)
        if measure == "aitchison":
            return log_f
        log_x = x.log_posterior()  # closed, as the parts are
        return log_f - log_x.sum(axis=1, keepdims=True) - 0.5 * math.log(self.n_classes)

    def evidence(self, l: Any) -> Evidence:
        """The evidence in an ILRL. The family is calibrated: it is what the ILRL says it is."""
        return Evidence.from_ilr(self._points(l), self.basis, self.classes)

    def log_likelihood(self, ilrls: Any, labels: Any) -> float:
        """Log-likelihood of the family for labelled ILRLs, summed over the samples."""
        log_f = self.log_density(ilrls)
        at = positions(label_row(labels, len(log_f)), self.classes)
        return float(log_f[np.arange(len(log_f)), at].sum())

    @overload
    def sample(
        self, label_or_counts: str | int, rng: Any = None, *, size: int | None = None
    ) -> np.ndarray: ...

    @overload
    def sample(
        self,
        label_or_counts: Sequence[int] | Mapping[Any, int] | np.ndarray,
        rng: Any = None,
        *,
        size: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]: ...

    def sample(
        self, label_or_counts: Any, rng: Any = None, *, size: int | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Draw ILRLs.

        Parameters
        ----------
        label_or_counts : label, sequence of D counts, or mapping from labels to counts
        rng : numpy Generator, seed or None
        size : int, default 1
            How many, where a label is given; counts say it themselves.

        Returns
        -------
        array of shape (size, D - 1)
            Where a label is given.
        (array of shape (n, D - 1), array of n labels)
            Where counts are given, class after class.

        Examples
        --------
        >>> family = CalibratedGaussian([[2.0]], classes=["same", "other"])
        >>> family.sample("same", rng=0, size=3).shape
        (3, 1)
        >>> l, y = family.sample({"same": 2, "other": 1}, rng=0)
        >>> y.tolist()
        ['same', 'same', 'other']
        """
        rng = generator(rng)
        counts = counts_for(self.classes, label_or_counts)
        if counts is None:
            k = index_of(label_or_counts, self.classes)
            return self._draw(np.full(count_of(1 if size is None else size, "size"), k), rng)
        if size is not None:
            raise InputError(f"size must go with a label; got {size} with counts. Drop it.")
        at = np.repeat(np.arange(self.n_classes), counts)
        return self._draw(at, rng), label_array(self.classes)[at]

    # --- averages ---------------------------------------------------------------------

    def expected_cllr(self, a: Hashable, b: Hashable) -> float:
        """Expected Cllr of the LLRs of two classes, in bits, by quadrature (about 1e-14).

        Examples
        --------
        >>> round(CalibratedGaussian.from_eers([0.1]).expected_cllr(0, 1), 4)
        0.3456
        """
        i, j = self._pair(a, b)
        d = float(self.divergences[i, j])
        return float(from_nats(expectations.expected_softplus(d), "bit"))

    def expected_cross_entropy(
        self,
        prior: Any = None,
        *,
        unit: Unit = "nat",
        n_samples: int = 100_000,
        rng: Any = 0,
    ) -> Estimate:
        """Expected cross-entropy of the posterior; C_mc for the uniform prior.

        Parameters
        ----------
        prior : array of shape (D,) or mapping, default uniform
        unit : {"nat", "bit", "ban", "deciban"}
        n_samples : int
            For three classes or more, which are simulated. Two classes are integrated.
        rng : numpy Generator or seed, default 0

        Returns
        -------
        Estimate
            ``value`` and ``standard_error``; the latter is zero for two classes.

        Examples
        --------
        >>> family = CalibratedGaussian.from_eers([0.1])
        >>> round(family.expected_cross_entropy(unit="bit").value, 4)
        0.3456
        """
        p = np.exp(log_prior(prior, self.classes, 1)[0])
        if self.n_classes == 2:
            d = float(self.divergences[0, 1])
            estimate = Estimate(expectations.two_class_cross_entropy(d, p), 0.0)
        else:
            count = count_of(n_samples, "n_samples", least=4 * self.n_classes)
            rng = generator(rng)
            estimate = expectations.simulated_cross_entropy(self, p, count, rng)
        return Estimate(*(float(from_nats(number, unit)) for number in estimate))

    # --- inside -----------------------------------------------------------------------

    def _pair(self, a: Hashable, b: Hashable) -> tuple[int, int]:
        i, j = index_of(a, self.classes), index_of(b, self.classes)
        if i == j:
            raise InputError(f"a and b must be two classes; got {a!r} twice. Name another class.")
        return i, j

    def _points(self, l: Any) -> np.ndarray:
        return as_ilrls(l, self.basis)

    def _draw(self, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(at), self.n_classes - 1))
        return self.means[at] + noise @ self.cholesky.T

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return CalibratedGaussian, (np.array(self.covariance), self.basis, self.classes)

    def __repr__(self) -> str:
        upper = self.divergences[np.triu_indices(self.n_classes, 1)]
        low, high = f"{upper.min():.3g}", f"{upper.max():.3g}"
        span = low if low == high else f"{low} to {high}"
        return f"<CalibratedGaussian of {self.n_classes} classes: divergences {span} nat>"


def _over(basis: Basis | None, classes: Sequence[Hashable] | None, D: int) -> Basis:
    """The basis asked for, in the order of the classes asked for."""
    basis = basis_for(basis, D)
    return basis if classes is None else basis.aligned_to(as_labels(classes, D))
